"""Options of rules: limits on their texts, against looking at every text."""

import itertools
import random

import pytest
from oracle.expressions import matches

import psc
from psc.compiler.frontends.ebnf import load_ebnf
from psc.errors import GrammarError, ResourceLimitError

COMPILER = psc.GrammarCompiler(psc.TokenizerInfo([]), store=False, cache_enabled=False)


def texts_of(grammar: str, texts: list[str]) -> list[str]:
    """Those of the texts that are in a grammar's language."""
    compiled = COMPILER.compile_grammar(grammar)
    taken = []
    for text in texts:
        matcher = psc.GrammarMatcher(compiled, terminate_without_stop_token=True)
        if matcher.accept_string(text) and matcher.is_terminated():
            taken.append(text)
    return taken


STRINGS = r"""
root ::= "\"" body "\"" tail
body[excludes=("<|open|>", "ab")] ::= [^"\\]* | [^"\\]* "\\" esc body
esc ::= ["\\/bfnrt] | "u" [0-9a-fA-F]{4}
tail ::= "<|open|>" | ""
"""
MEANING = [  # grammar, texts of it, texts that are not
    ('root ::= value ">"\nvalue[max_chars=2] ::= [^]*', [">", "ab>", "中文>", ">>>"], ["abc>", "中文a>"]),
    ('root ::= value ">"\nvalue[max_chars=0] ::= [a-z]*', [">"], ["a>"]),
    ('root ::= o ">"\no[max_chars=3] ::= "x" i\ni[max_chars=5] ::= [^]*', ["xab>", "x>"], ["xabc>", ">"]),
    ('root ::= item ":" item\nitem[max_chars=2] ::= [a-z]*', ["ab:ab", ":"], ["abc:a", "a:abc"]),
    ("root[max_chars=1000001] ::= [a]*", ["", "a" * 99], ["b"]),
    ('root[max_chars=100] ::= ([a] | "bc")*', ["a" * 98 + "bc"], ["a" * 99 + "bc", "b"]),
    ('root[max_chars=7] ::= "<" ("ab" | "cd")* ">"', ["<>", "<abcd>"], ["<abcdab>", "<a>"]),
    ('root ::= s\ns[max_chars=2] ::= Substring("a", "b", "c")', ["", "ab", "bc"], ["abc", "ac"]),
    ('root[max_chars = 5 , excludes=("ab",)] ::= [a-z]*', ["axbxc"], ["axbxcd", "xab"]),
    (STRINGS, ['"xy"', '"axb"', '"x<|ope"<|open|>', '"\\u0061b"', '"a\\nb"'], ['"xaby"', '"x<|open|>"', '"\\"ab"']),
    ('root ::= "<" sub\nsub[excludes=("abc")] ::= ">" | [a-z] sub', ["<xyz>", "<abxc>"], ["<xabcx>", "<abc>"]),
    ('root ::= item ("," item)*\nitem[excludes=("ab")] ::= [a-z]+', ["a,b", "xa,bx"], ["xab,x", "x,ab"]),
    ('root[excludes=("ab")] ::= inner*\ninner[excludes=("ab")] ::= [a-z]', ["ba"], ["ab"]),
    ('root[excludes=("aa")] ::= inner*\ninner[excludes=("bb")] ::= [a-c]+', ["aba", "abab"], ["aa"]),
    ('root[excludes=("]", "\\"")] ::= [^]*', ["a[b"], ["a]b", '"']),
    ('root ::= r "z"\nr[lazy] ::= Substring("ab")', ["z"], ["abz"]),
    ('root ::= r "z"\nr[lazy] ::= [a-z]* "!" | "ab"', ["a!z", "!z", "abz"], ["a!!z", "ab!z"]),
    ('root ::= r "z"\nr[lazy, max_chars=2] ::= [a-y]* "!"', ["a!z", "!z"], ["aa!z", "z"]),
]


@pytest.mark.parametrize(("grammar", "inside", "outside"), MEANING)
def test_meaning(grammar: str, inside: list[str], outside: list[str]) -> None:
    assert texts_of(grammar, inside + outside) == inside
    assert texts_of(str(psc.Grammar.from_ebnf(grammar)), inside + outside) == inside


def _expression(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(7 if depth else 3)
    if kind == 0:
        return rng.choice(['"a"', '"ab"', '"ba"', '"b"', '""'])
    if kind == 1:
        return rng.choice(["[ab]", "[b]", "[a-b]"])
    if kind == 2:
        return rng.choice(["other", '"bb"'])
    if kind < 5:
        return f"{_expression(rng, depth - 1)} {_expression(rng, depth - 1)}"
    if kind < 6:
        return f"({_expression(rng, depth - 1)} | {_expression(rng, depth - 1)})"
    return f"({_expression(rng, depth - 1)}){rng.choice(['*', '+', '?', '{2}', '{1,3}', '{2,}'])}"


@pytest.mark.parametrize("seed", range(40))
def test_limits_are_as_defined(seed: int) -> None:
    rng = random.Random(seed)
    body, other = _expression(rng, 3), rng.choice(['"a"?', "[ab]{0,2}", '"b" other | "a"', '"ba"'])
    if rng.random() < 0.3:
        body = f'{body} | "b" limited'
    most = rng.choice([None, 0, 1, 2, 4, 5])
    excludes = rng.choice([[], ["ab"], ["aa", "bab"], ["b"]])
    lazy = rng.random() < 0.3
    options = ([f"max_chars={most}"] if most is not None else []) + (["lazy"] if lazy else [])
    options += [f"excludes=({', '.join(f'{chr(34)}{e}{chr(34)}' for e in excludes)})"] if excludes else []
    grammar = f'root ::= "<" limited ">" | "!"\nlimited%s ::= {body}\nother ::= {other}'
    plain = load_ebnf(grammar % "")
    texts = ["".join(t) for n in range(7) for t in itertools.product("ab", repeat=n)]
    expected: list[str] = []
    for text in texts:
        if matches(plain, f"<{text}>") and not any(e in text for e in excludes):
            expected.append(text)
    if lazy:
        every = set(expected)
        expected = [t for t in expected if not any(t[:n] in every for n in range(len(t)))]
    expected = [t for t in expected if most is None or len(t) <= most]
    found = texts_of(grammar % (f"[{', '.join(options)}]" if options else ""), ["!", *(f"<{t}>" for t in texts)])
    assert found == ["!", *(f"<{t}>" for t in expected)], grammar % options


@pytest.mark.parametrize("options", ["capture", 'capture="x y"', "temperature=0.6", "temperature=1e-2", "temperature=2, capture"])
def test_what_says_nothing_of_texts_changes_nothing(options: str) -> None:
    assert texts_of(f'root ::= "a" r\nr[{options}] ::= "x"+', ["ax", "axx", "a"]) == ["ax", "axx"]


def test_a_token_is_a_character_and_ends_what_is_excluded() -> None:
    info = psc.TokenizerInfo(["a", "b", "</s>"], stop_token_ids=[2])
    compiled = psc.GrammarCompiler(info, store=False).compile_grammar(
        'root[max_chars=3, excludes=("ab")] ::= ("a" | "b" | Token(0))*'
    )
    matcher = psc.GrammarMatcher(compiled)
    # Token 0 is the character "a" or the token itself, behind which "b" may come.
    for token in (0, 1, 0):
        assert matcher.accept_token(token)
    assert matcher.allowed_tokens().tolist() == [2]


REFUSED = [  # text, place, what the message says
    ('root[max_chars=-1] ::= "a"', "1:16", "non-negative number"),
    ('root[max_chars="a"] ::= "a"', "1:16", "non-negative number"),
    ('root[excludes=("a", "")] ::= [a-z]*', "1:21", "not empty"),
    ('root[excludes="a"] ::= [a-z]*', "1:15", "must be a tuple"),
    ('root[foo] ::= "a"', "1:6", "there is no rule option foo; there are max_chars, excludes, lazy, capture, temperature"),
    ('root[lazy, foo=1] ::= "a"', "1:16", "there is no rule option foo"),
    ('root[max_chars=1, max_chars=2] ::= "a"', "1:19", "max_chars= is given twice"),
    ('root[lazy=1] ::= "a"', "1:11", "the rule option lazy has no value: write [lazy]"),
    ('root[max_chars] ::= "a"', "1:6", "the rule option max_chars needs a value: [max_chars=…]"),
    ('root[temperature=-0.1] ::= "a"', "1:18", "finite non-negative"),
    ('root[temperature=1e999] ::= "a"', "1:18", "finite non-negative"),
    ('root[temperature=abc] ::= "a"', "1:18", "temperature=0.5"),
    ('root[temperature=true] ::= "a"', "1:18", "finite non-negative"),
    ('root[temperature="1"] ::= "a"', "1:18", "finite non-negative"),
    ('root[capture=""] ::= "a"', "1:14", "not empty"),
    ('root[capture=1] ::= "a"', "1:14", "a name in quotes"),
    ('root[max_chars=1] x ::= "a"', "1:1", "expected a rule"),
    ('a ::= "x"\nroot[max_chars=3] ::= "(" root ")" | "x"', "2:1", "'root' is recursive elsewhere"),
    ('root[max_chars=3] ::= a "x"\na ::= a "b" | "c"', "1:1", "'a' is recursive elsewhere"),
    ("root[lazy] ::= a\na[lazy] ::= root", "1:1", "need rules that do not need each other"),
]


@pytest.mark.parametrize(("text", "place", "message"), REFUSED)
def test_refusals_say_place_cause_and_way_out(text: str, place: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        load_ebnf(text, source_name="g.ebnf")
    assert str(caught.value).startswith(f"g.ebnf:{place}: ")
    assert message in str(caught.value)


def test_limits_of_states() -> None:
    with pytest.raises(ResourceLimitError, match="more than 100,000 states"):
        load_ebnf('root[max_chars=100000] ::= ([a] | "bc")*')
    with pytest.raises(ResourceLimitError, match="more than 100,000 states"):
        load_ebnf("root[lazy] ::= [a]{200000}")
    with pytest.raises(ResourceLimitError, match="nested more than 400 deep"):
        load_ebnf("root[lazy] ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(500)) + 'r500 ::= "a"')


@pytest.mark.parametrize(
    ("grammar", "place", "message"),
    [
        ('root[stop=(a, b), suffix=(a, b)] ::= "x"\na ::= "x"\nb ::= ""', "1:11", "exclude each other"),
        ('root[stop_capture="m"] ::= "x"', "1:19", "needs one of them"),
        ('root[stop=(a)] ::= "x"\na ::= "x"', "1:11", "must be two rules"),
        ('root[suffix=(a, b)] ::= "x"\na ::= "x"', "1:13", "must be two rules"),
        ('root[suffix="!"] ::= "x"', "1:13", "must be two rules"),
        ('root[stop=(a, a), stop_capture=m] ::= "x"\na ::= ""', "1:32", "stop_capture must be a name in quotes"),
    ],
)
def test_refusals_of_what_rules_end_with(grammar: str, place: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        load_ebnf(grammar, source_name="g.ebnf")
    assert str(caught.value).startswith(f"g.ebnf:{place}: ") and message in str(caught.value)
