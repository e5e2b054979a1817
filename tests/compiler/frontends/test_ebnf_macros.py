"""Macros of XGrammar's EBNF and the tokens of llama.cpp's GBNF: what they mean, and what each refusal says."""

import itertools
import random

import numpy as np
import pytest

import psc
from psc.compiler.expressions.rule_sets import concat, to_ebnf, union
from psc.compiler.frontends.ebnf import load_ebnf, macros, vocabulary_tokens
from psc.errors import GrammarError, ResourceLimitError

NO_TOKENS = psc.GrammarCompiler(psc.TokenizerInfo([]), store=False, cache_enabled=False)


def texts_of(grammar: str | psc.Grammar, texts: list[str]) -> list[str]:
    """Those of the texts that are in a grammar's language."""
    compiled = NO_TOKENS.compile_grammar(grammar)
    taken = []
    for text in texts:
        matcher = psc.GrammarMatcher(compiled, terminate_without_stop_token=True)
        if matcher.accept_string(text) and matcher.is_terminated():
            taken.append(text)
    return taken


TAGS = 'one ::= "abcd" [p]*\ntwo ::= "efg" [t]*\n'
MEANING = [  # root, other rules, texts of it, texts that are not
    (
        'TagDispatch(("tag1", one), ("tag2", two))',
        TAGS,
        ["", "x", "tag", "tag1abcd", "tag1abcdppp", "tag1abcdtag2efg", "tag1abcd qq tag2efgt x", "ttag1abcd", "tatag2efg"],
        ["tag1", "tag1abc", "tag1efg", "tag1abcdtag2"],
    ),
    (
        'TagDispatch(("tag1", one), ("tag2", two), loop_after_dispatch=false)',
        TAGS,
        ["", "x", "xtag1abcd", "tag2efgttt"],
        ["tag1abcdpx", "tag1abcdtag2efg", "tag2efgx"],
    ),
    (
        'TagDispatch(("tag1", one), excludes=("bad", "xx",))',
        TAGS,
        ["ba", "tag1abcdqq", "tag1abcdpx", "batag1abcd"],
        ["bad", "xbad", "tag1abcdbad", "xxtag1abcd", "tag1bad"],
    ),
    ('TagDispatch(("tag1", one), excludes=("pp"))', TAGS, ["tag1abcdppp"], ["pp", "tag1abcdxpp"]),  # only of free text
    ('TagDispatch(("t", one), ("t", two))', TAGS, ["tabcd", "tefg", "tabcdxtefg"], ["tx"]),
    ('TagDispatch(("abc", one), ("b", two))', TAGS, ["befg", "abefg"], ["abcabcd", "ab"]),  # the first occurrence
    ('TagDispatch(("bc", one), ("abc", two))', TAGS, ["abcabcd", "abcefg", "bcabcd"], ["bcefg"]),  # both end at one place
    ('TagDispatch(("a", one), stop_eos=false, stops=("END", "E!"))', TAGS, ["END", "xE!", "aabcdxEND"], ["", "x", "aabcd", "ENDx"]),
    ('TagDispatch(("a", one), stop_eos=true, stop_str=("END"))', TAGS, ["", "END", "x", "aabcdEND"], ["ENDx", "aabc"]),
    ('TagDispatch(("a", one), stop_eos=false, stops=("E"), loop_after_dispatch=false)', TAGS, ["xE", "aabcd"], ["", "x", "aabcdE"]),
    ('TagDispatch(excludes=("ab"))', "", ["", "ba", "a"], ["ab", "xab"]),
    ('"<" TagDispatch(("t", two)) ">"', TAGS, ["<>", "<>>", "<tefg>"], ["<t>", "<"]),
    ('Substring("abc", "de", "fg")', "", ["", "abc", "de", "defg", "abcdefg"], ["ab", "abcfg", "deabc"]),
    ('Substring("a", "", "b", "a", "b")', "", ["", "ab", "ba", "abab"], ["aa", "abba"]),
    ('"x" Substring("\\n", "é") "y"', "", ["xy", "x\ny", "x\néy"], ["xé\ny"]),
    ("Substring()", "", [""], ["a"]),
    ('Regex("[0-9]{2}")', "", ["12"], ["1", "123"]),
    (r'Regex("\\S+", json_string=true)', "", ["a!c", "é"], ['a"b', "a\\b", "a b", "\x01", ""]),
    (r'Regex("a|\"|b\\\\", json_string=true)', "", ["a"], ['"', "b\\"]),
    (r'Regex("\\S+", json_string=false)', "", ['a"b'], []),
    ('Regex("a.b", flags="i")', "", ["axb", "AXB"], ["a\nb"]),
    ('Regex("a.b", flags="sui")', "", ["a\nB"], ["ab"]),
    ('Regex("a.b|c", flags="")', "", ["axb", "c"], ["A.b", "a\nb"]),
    ('Regex("a|b", flags="i", json_string=true)', "", ["a", "B"], ["c"]),
]


@pytest.mark.parametrize(("root", "rules", "inside", "outside"), MEANING, ids=[m[0] for m in MEANING])
def test_meaning(root: str, rules: str, inside: list[str], outside: list[str]) -> None:
    text = f"root ::= {root}\n{rules}"
    assert texts_of(text, inside + outside) == inside
    printed = str(psc.Grammar.from_ebnf(text))
    assert texts_of(printed, inside + outside) == inside


class Dispatch:
    """The definition of TagDispatch, one place after the other; every tag's rule is the text ``()``."""

    def __init__(self, triggers: list[str], excludes: list[str], loops: bool) -> None:
        self._triggers, self._excludes, self._loops = triggers, excludes, loops

    def takes(self, text: str) -> bool:
        end = next((i for i in range(len(text) + 1) if self._ends_with_one(text[:i])), None)
        if end is None:
            return True
        if any(text[:end].endswith(e) for e in self._excludes) or not text.startswith("()", end):
            return False
        rest = text[end + 2 :]
        return self.takes(rest) if self._loops else not rest

    def _ends_with_one(self, text: str) -> bool:
        return any(text.endswith(t) for t in self._triggers + self._excludes)


@pytest.mark.parametrize("seed", range(12))
def test_dispatches_are_as_defined(seed: int) -> None:
    rng = random.Random(seed)

    def words(most: int) -> list[str]:
        return ["".join(rng.choice("ab") for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(0, most))]

    triggers = words(3) or ["a"]
    excludes = [e for e in words(2) if not any(e in t for t in triggers)]
    loops = rng.random() < 0.7
    quoted = ", ".join(f'"{e}"' for e in excludes)
    options = f"loop_after_dispatch={str(loops).lower()}, excludes=({quoted})"
    tags = "".join(f'("{t}", tag), ' for t in triggers)
    texts = ["".join(t).replace("x", "()") for n in range(7) for t in itertools.product("abx", repeat=n)]
    oracle = Dispatch(triggers, excludes, loops)
    assert texts_of(f'root ::= TagDispatch({tags}{options})\ntag ::= "()"', texts) == [t for t in texts if oracle.takes(t)]


@pytest.mark.parametrize("seed", range(20))
def test_substrings_are_those_of_neighbouring_pieces(seed: int) -> None:
    rng = random.Random(seed)
    pieces = ["".join(rng.choice("ab") for _ in range(rng.randrange(4))) for _ in range(rng.randrange(5))]
    expected = {"".join(pieces[i:j]) for i in range(len(pieces) + 1) for j in range(i, len(pieces) + 1)}
    texts = ["".join(t) for n in range(8) for t in itertools.product("ab", repeat=n)]
    arguments = ", ".join(f'"{piece}"' for piece in pieces)
    assert texts_of(f"root ::= Substring({arguments})", texts) == [t for t in texts if t in expected]


# ---------------------------------------------------------------------------------------------------------------------
# Tokens

VOCABULARY = ["<s>", "</s>", "aa", "bb", "cc", "<t>", "a", "b"]
INFO = psc.TokenizerInfo(VOCABULARY, vocab_size=9, special_token_ids=[0, 1], stop_token_ids=[1])
STOP, PADDING = 1, 8
EVERY = {0, 2, 3, 4, 5, 6, 7}


def matcher_of(grammar: str | psc.Grammar) -> psc.GrammarMatcher:
    return psc.GrammarMatcher(psc.GrammarCompiler(INFO, store=False).compile_grammar(grammar))


def allowed(matcher: psc.GrammarMatcher) -> set[int]:
    return set(matcher.allowed_tokens().tolist())


STEPS = [  # root, other rules, token accepted -> what is allowed then; None at first
    ("Token(2, 4, 2)", "", [(None, {2, 4}), (4, {STOP})]),
    ('Token(2) "bb"', "", [(None, {2}), (2, {3, 7}), (7, {7}), (7, {STOP})]),
    ('Token(2) | "b"', "", [(None, {2, 7}), (2, {STOP})]),
    ('Token("aa") Token("<s>") Token("<t>")', "", [(None, {2}), (2, {0}), (0, {5}), (5, {STOP})]),
    ("ExcludeToken(2, 3)", "", [(None, EVERY - {2, 3}), (5, {STOP})]),
    ("ExcludeToken()", "", [(None, EVERY)]),
    ("ExcludeToken(2)* Token(2)", "", [(None, EVERY), (0, EVERY), (2, {STOP})]),
    ("<[2]> <s> <t>", "", [(None, {2}), (2, {0}), (0, {5})]),
    ("!<[2]>", "", [(None, EVERY - {2})]),
    ("!<t>* <t>", "", [(None, EVERY), (0, EVERY), (5, {STOP})]),
    ("<[2-4,6]>", "", [(None, {2, 3, 4, 6})]),
    ("!<[0-4, 6]>", "", [(None, {5, 7})]),
    ("[a-c]+ Token(5)", "", [(None, {2, 3, 4, 6, 7}), (6, {2, 3, 4, 5, 6, 7}), (5, {STOP})]),
    ("TokenTagDispatch(excludes=(4,))", "", [(None, EVERY - {4} | {STOP}), (0, EVERY - {4} | {STOP})]),
    (
        "TokenTagDispatch((5, tag), excludes=(4))",
        'tag ::= "aa"',
        [(None, EVERY - {4} | {STOP}), (5, {2, 6}), (6, {6}), (6, EVERY - {4} | {STOP})],
    ),
    ("TokenTagDispatch((5, tag), loop_after_dispatch=false)", 'tag ::= "b"', [(3, EVERY | {STOP}), (5, {7}), (7, {STOP})]),
    (
        'TokenTagDispatch(("<t>", tag), (5, other), (2, tag))',
        'tag ::= "b"\nother ::= "a"',
        [(5, {6, 7}), (6, EVERY | {STOP}), (2, {7})],
    ),
    ('"b" TokenTagDispatch((5, tag), excludes=(4)) "b"', "tag ::= Token(0)", [(7, EVERY - {4}), (5, {0}), (0, EVERY - {4})]),
]


@pytest.mark.parametrize(("root", "rules", "steps"), STEPS, ids=[s[0] for s in STEPS])
def test_tokens(root: str, rules: str, steps: list[tuple[int | None, set[int]]]) -> None:
    text = f"root ::= {root}\n{rules}"
    compiled = psc.GrammarCompiler(INFO, store=False).compile_grammar(text)
    for grammar in (text, str(compiled.grammar)):
        matcher = matcher_of(grammar)
        for token, expected in steps:
            assert token is None or matcher.accept_token(token)
            assert allowed(matcher) == expected, token
            bits = matcher.mask()
            assert [bool(bits[i // 32] >> i % 32 & 1) for i in range(9)] == [matcher.fork().accept_token(i) for i in range(9)]


def test_tokens_are_no_text() -> None:
    matcher = matcher_of('root ::= Token(2) "b"')
    assert not matcher.accept_string("aa")
    assert matcher.accept_token(2) and matcher.accept_string("b") and matcher.is_completed()


def test_grammars_of_tokens_combine() -> None:
    ids, others = psc.Grammar.from_ebnf("root ::= Token(2)"), psc.Grammar.from_ebnf('root ::= ExcludeToken(2) | "b"')
    matcher = matcher_of(psc.Grammar.concat(ids, others))
    assert allowed(matcher) == {2} and matcher.accept_token(2) and allowed(matcher) == EVERY - {2}
    assert allowed(matcher_of(psc.Grammar.union(ids, others))) == EVERY
    again = psc.Grammar.deserialize_json(others.serialize_json())
    assert again == others and allowed(matcher_of(again)) == EVERY - {2}


PRINTED = [
    "Token(2, 4)",
    "ExcludeToken(2, 9)",
    "ExcludeToken()",
    "(ExcludeToken(3) | [a-z])*",
    "<[0-30,40]>",
    "<[7-8,100-1000]> [a-c]",
    "TokenTagDispatch((5, tag), excludes=(4))",
]


@pytest.mark.parametrize("body", PRINTED)
def test_tokens_are_printed_so_that_they_are_read_again(body: str) -> None:
    rules = load_ebnf(f'root ::= {body}\ntag ::= "x"')
    again = load_ebnf(to_ebnf(rules))
    assert dict(again.rules) == dict(rules.rules)
    assert again.reads_names and union([again]).reads_names and concat([rules, again]).reads_names


REFUSED = [  # text, place, what the message says
    ("root ::= Token()", "1:10", "Token needs the id of a token"),
    ("root ::= Token(1", "1:10", "Token(… has no closing )"),
    ("root ::= Token(1,,2)", "1:18", "nothing before this comma"),
    ("root ::= Token(1 2)", "1:18", "expected a comma or ) before 2"),
    ("root ::= Token(-1)", "1:16", "token -1 is out of range; ids are from 0 to 1,048,575"),
    ("root ::= Token(1048576)", "1:16", "token 1048576 is out of range"),
    ("root ::= Token(a)", "1:16", "named by its id, or by its text in quotes"),
    ("root ::= Token(true)", "1:16", "named by its id, or by its text in quotes"),
    ("root ::= Token((1))", "1:16", "named by its id, or by its text in quotes"),
    ("root ::= Token([a])", "1:16", "[a] is no argument"),
    ("root ::= Token(1, x=2)", "1:21", "Token() does not accept named arguments, such as x"),
    ("root ::= Token(1, x=)", "1:21", "x= has no value"),
    ('root ::= Token("t")', "1:16", "needs a tokenizer"),
    ("root ::= <think>", "1:10", "needs a tokenizer"),
    ("root ::= !<think>", "1:10", "token '<think>' is named by its text"),
    ("root ::= <[]>", "1:10", "must hold ids of tokens"),
    ("root ::= <[1,x]>", "1:10", "must hold ids of tokens"),
    ("root ::= <[3-1]>", "1:10", "the range 3-1 runs backwards"),
    ("root ::= <[3-9999999]>", "1:10", "token 9999999 is out of range"),
    ("root ::= < a>", "1:10", "is written <[id]> or <name>"),
    ('root ::= !"a"', "1:10", "! stands before a token"),
    ("root ::= Token(" + "(" * 2000, "1:116", "nested more than 100 deep"),
    ("root ::= TokenTagDispatch((3, t), excludes=(4, 3))\nt ::= [a]", "1:48", "token 3 begins a tag and is excluded"),
    ("root ::= TokenTagDispatch(3)", "1:27", "must be a tuple of what it begins with and a rule"),
    ("root ::= TokenTagDispatch((3, t))", "1:31", "rule 't' is not defined"),
    ('root ::= TagDispatch(("", t))\nt ::= "a"', "1:23", "a text in quotes that is not empty"),
    ('root ::= TagDispatch((3, t))\nt ::= "a"', "1:23", "a text in quotes that is not empty"),
    ('root ::= TagDispatch(("a", t))', "1:28", "rule 't' is not defined"),
    ('root ::= TagDispatch("a", t)\nt ::= "a"', "1:22", "must be a tuple of what it begins with and a rule"),
    ('root ::= TagDispatch(("a" t))\nt ::= "a"', "1:27", "expected a comma or ) before t"),
    ('root ::= TagDispatch(("a", t), stops=true)\nt ::= "a"', "1:38", "stops must be a tuple"),
    ('root ::= TagDispatch(("a", t), stops=("", "b"))\nt ::= "a"', "1:39", "texts in quotes that are not empty"),
    ('root ::= TagDispatch(("a", t), stop_eos=false)\nt ::= "a"', "1:10", "could never end"),
    ('root ::= TagDispatch(("a", t), stop_eos=1)\nt ::= "a"', "1:41", "must be a boolean"),
    (
        'root ::= TagDispatch(("a", t), no=1)\nt ::= "a"',
        "1:35",
        "TagDispatch does not support the named argument no; it has stop_eos",
    ),
    ('root ::= TagDispatch(("a", t), stops=("b"), stops=("c"))\nt ::= "a"', "1:45", "stops= is given twice"),
    (
        'root ::= TagDispatch(("abc", t), excludes=("ab"))\nt ::= "a"',
        "1:10",
        "Exclude string must not be a prefix. 'abc' contains the excluded 'ab'",
    ),
    ("root ::= Regex()", "1:10", "exactly one string argument"),
    ('root ::= Regex("a", "b")', "1:10", "exactly one string argument"),
    ("root ::= Regex(a)", "1:16", "must be a string literal"),
    ('root ::= Regex("a", foo=true)', "1:25", "Regex does not support the named argument foo; it has json_string, flags"),
    ('root ::= Regex("a", flags=1)', "1:27", "flags must be a string"),
    ('root ::= Regex("a", flags="im")', "1:27", "regular-expression flag 'm' is not supported; there are i, s, u"),
    ('root ::= Regex("a", json_string="yes")', "1:33", "json_string must be a boolean"),
    ('root ::= "a" Regex("+a")', "1:20", "nothing before it to repeat"),
    ('root ::= Substring("a", x=1)', "1:27", "Substring() does not accept named arguments, such as x"),
    ('root ::= Substring("a", 1)', "1:25", "texts in quotes"),
]


@pytest.mark.parametrize(("text", "place", "message"), REFUSED)
def test_refusals_say_place_cause_and_way_out(text: str, place: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        load_ebnf(text, source_name="g.ebnf")
    assert str(caught.value).startswith(f"g.ebnf:{place}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("Token(9)", "token 9 is out of range; ids are from 0 to 8"),
        ("Token(8)", "id 8 is padding"),
        ("<[4-9]>", "token 9 is out of range"),
        ("ExcludeToken(9)", "token 9 is out of range"),
        ("TokenTagDispatch(excludes=(9))", "token 9 is out of range"),
        ('Token("no")', "the vocabulary has no token 'no'"),
        ("</t>", "did you mean '</s>'"),
    ],
)
def test_tokens_that_the_vocabulary_has_not(body: str, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        matcher_of(f"root ::= {body}")
    if '"' not in body and body != "</t>":
        with pytest.raises(GrammarError, match=message):
            matcher_of(psc.Grammar.from_ebnf(f"root ::= {body}"))


def test_a_bitmask_of_tokens_is_that_of_the_mask() -> None:
    matcher = matcher_of("root ::= !<[2]>+")
    bitmask = np.zeros((1, 1), np.int32)
    assert matcher.fill_next_token_bitmask(bitmask)
    assert bitmask[0, 0] == sum(1 << i for i in EVERY - {2})


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(macros, "MAX_ARCS", 5_000)
    monkeypatch.setattr(vocabulary_tokens, "MAX_EXCLUDED", 30_000)
    tags = ", ".join(f'("<{i * i * 7919 % 1_000_003:06}>", tag)' for i in range(40))
    with pytest.raises(ResourceLimitError, match=r"1:10: TagDispatch: .* 5,000 arcs, which is the limit"):
        load_ebnf(f"root ::= TagDispatch({tags})\ntag ::= [a]")
    excluded = " ".join(f"!<[{i}-9999]>" for i in range(5))
    with pytest.raises(ResourceLimitError, match="more than 30,000 times"):
        load_ebnf(f"root ::= {excluded}")
    assert load_ebnf("root ::= " + " ".join(f"<[{i}-1000000]>" for i in range(200))).reads_names
