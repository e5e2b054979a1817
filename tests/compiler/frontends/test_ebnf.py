"""EBNF text to rule sets: what is taken, what it means, and what each refusal says."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.expressions import begins_one, matches

from psc import Grammar
from psc.compiler.expressions.expression import (
    EMPTY,
    Automaton,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    RuleSet,
    Sequence,
)
from psc.compiler.expressions.rule_sets import concat, to_ebnf, union, with_names_apart
from psc.compiler.frontends.ebnf import MAX_NESTING, MAX_REPEAT, MAX_TEXT, load_ebnf
from psc.compiler.frontends.lookup import find_grammar
from psc.errors import GrammarError
from psc.grammars.testing import _is_grammar_accept_string

MEANING = [  # body of the root, texts of it, texts that are not
    ('"a"', ["a"], ["", "aa"]),
    ('""', [""], ["a"]),
    ("", [""], ["a"]),
    ("()", [""], ["a"]),
    ('"a" | ', ["a", ""], ["b"]),
    ('| "a"', ["a", ""], ["b"]),
    ('("a" | ) "b"', ["ab", "b"], ["a", ""]),
    ('"a" "b" | "c"', ["ab", "c"], ["ac", "abc"]),
    ('"a" ("b" | "c")', ["ab", "ac"], ["a", "c"]),
    ('"a"\n  "b" # comment "\n  | "c"', ["ab", "c"], ["a"]),
    ('"a" |\r\n "b"\r\n', ["a", "b"], ["ab"]),
    ('"a"*', ["", "a", "aaa"], ["b"]),
    ('"a" *', ["", "a", "aaa"], ["a "]),
    ('"a"+', ["a", "aaa"], [""]),
    ('"a"?', ["", "a"], ["aa"]),
    ('"a"{2}', ["aa"], ["a", "aaa"]),
    ('"a"{2,}', ["aa", "aaaa"], ["a"]),
    ('"a"{2,-1}', ["aa", "aaaa"], ["a"]),  # as XGrammar prints an open bound
    ('"a"{ 1 , 2 }', ["a", "aa"], ["", "aaa"]),
    ('"a" {1,2}', ["a", "aa"], ["", "aaa"]),
    ('"a"{0}', [""], ["a"]),
    ('"a"{2}{2}', ["aaaa"], ["aa"]),
    ('"a"{ 1 , 2 } "b"{1, } "c" { 1 }', ["abc", "aabbbc"], ["aaabc", "ac"]),
    ('"ab"?*', ["", "abab"], ["a"]),
    ('"x" "ab"*', ["x", "xabab"], ["xab" + "x"]),  # a repetition is of the last item only
    (".", ["a", "\n", "é", "\U0001f600"], ["", "ab"]),
    ('"a" .', ["ab"], ["a"]),
    ("[a-c]", ["a", "b", "c"], ["d", "-"]),
    ("[^a-c]", ["d", "\n", "é", "\U0001f600"], ["a", "", "\ud800"]),
    ("[^]", ["a", "^", "]"], [""]),
    ("[-a]", ["-", "a"], ["b"]),
    ("[a-]", ["-", "a"], ["b"]),
    ("[a-c-e]", ["b", "-", "e"], ["d"]),
    ("[+--]", ["+", ",", "-"], ["."]),
    ("[a^]", ["a", "^"], ["b"]),
    (r"[a\]b]", ["a", "]", "b"], ["\\"]),
    (r"[\[\]\^\$\.\*\+\?\(\)\{\}\|\/\-\\]", list("[]^$.*+?(){}|/-\\"), ["a"]),
    (r"[\x41-\x43\u00e9\U0001F600]", ["A", "B", "é", "\U0001f600"], ["D"]),
    (r"[\n\t\r\0]", ["\n", "\t", "\r", "\0"], ["n", "0"]),
    ("[\"'.]", ['"', "'", "."], ["a"]),
    (r"[\U0000D7FF-\U0000E000]", ["\ud7ff", "\ue000"], ["\ud800"]),
    (r'"\n\t\r\a\b\f\v\e\0\\\"\'\?\/\[\]\-"', ["\n\t\r\a\b\f\v\x1b\0\\\"'?/[]-"], []),
    (r'"\x41\u0042\U00000043"', ["ABC"], []),
    (r'"\x414"', ["A4"], ["\u0414"]),  # two digits, as llama.cpp reads it
    (r'"\ud83d\ude00"', ["\U0001f600"], []),
    (r'"\\n"', ["\\n"], ["\n"]),
    ('"é#"', ["é#"], []),
    ('"a" (= "b")', ["a"], ["ab"]),
    ('"a" | "c" (= [b] | "c")', ["a", "c"], ["cb"]),
    ('root "a" | "b"', ["b", "baa"], ["a"]),
    ('"(" root ")" | "x"', ["x", "((x))"], ["((x)"]),
]


@pytest.mark.parametrize(("body", "inside", "outside"), MEANING)
def test_meaning(body: str, inside: list[str], outside: list[str]) -> None:
    rule_set = load_ebnf(f"root ::= {body}")
    assert [t for t in inside if not matches(rule_set, t)] == []
    assert [t for t in outside if matches(rule_set, t)] == []
    again = load_ebnf(to_ebnf(rule_set))
    assert [t for t in inside if not matches(again, t)] == []
    assert [t for t in outside if matches(again, t)] == []


def test_expressions() -> None:
    rule_set = load_ebnf('root ::= "a"? [b-d] | x-y.z{2,5} (_1 | "")\n\nx-y.z ::= .\n_1 ::= "é"\n')
    assert rule_set.rules == {
        "root": Choice(
            (
                Sequence((Repeat(Literal("a"), 0, 1), Chars(((98, 100),)))),
                Sequence((Repeat(Reference("x-y.z"), 2, 5), Choice((Reference("_1"), EMPTY)))),
            )
        ),
        "x-y.z": Chars(((0, 0xD7FF), (0xE000, 0x10FFFF))),
        "_1": Literal("é"),
    }
    assert rule_set.lines == {"root": 1, "x-y.z": 3, "_1": 4}


def test_the_root_is_named_by_the_caller() -> None:
    rule_set = load_ebnf('a ::= "x"\nb ::= a a', root="b")
    assert matches(rule_set, "xx") and not matches(rule_set, "x")


def test_a_rule_may_be_called_like_a_macro() -> None:
    assert matches(load_ebnf('root ::= Token ("a")\nToken ::= "t"'), "ta")


def test_regex_macro() -> None:
    pytest.importorskip("psc.compiler.frontends.regex")
    rule_set = load_ebnf(r'root ::= "<" Regex("\\d+|x") ">"')
    assert matches(rule_set, "<12>") and matches(rule_set, "<x>") and not matches(rule_set, "<>")
    with pytest.raises(GrammarError, match=r"<string>:1:16: "):
        load_ebnf('root ::= Regex("a**(")')


REFUSED = [  # text, place, what the message says
    ("", "", "there is no rule 'root' to start from, and no other rule; define root"),
    ('rot ::= "a"', "", "there is no rule 'root' to start from; the only rule is rot. Define it"),
    ('"a"', "1:1", "expected a rule"),
    ('::= "a"', "1:1", "::= must follow the name of a rule"),
    ('root ::= "a"\n\n  root ::= "b"', "3:3", "rule 'root' is defined twice, first in line 1"),
    ("root ::= itm\nitem ::= [a]", "1:10", "rule 'itm' is not defined; did you mean 'item'?"),
    ('root ::= a.b\na ::= "a"\nb ::= "b"', "1:10", "needs spaces around it"),
    ('root ::= "a" x ::= "b"', "1:14", "rule 'x' must begin on a line of its own"),
    ('root ::= "a', "1:10", 'no closing "'),
    ('root ::= "a\n"', "1:10", 'no closing "'),
    ("root ::= [a", "1:10", "no closing ]"),
    ("root ::= 'a'", "1:10", "double quotes"),
    (r'root ::= "ab\q"', "1:13", r"unknown escape \q"),
    (r'root ::= "\."', "1:11", r"unknown escape \."),
    (r"root ::= [a\q]", "1:12", r"unknown escape \q"),
    (r"root ::= [\d]", "1:11", "write the class out, as [0-9]"),
    (r'root ::= "\x4"', "1:11", "needs 2 hexadecimal digits"),
    (r'root ::= "\u12G4"', "1:11", "needs 4 hexadecimal digits"),
    (r'root ::= "\U0000041"', "1:11", "needs 8 hexadecimal digits"),
    (r'root ::= "\U00110000"', "1:11", "the last one is U+10FFFF"),
    (r'root ::= "\ud83d"', "1:11", "surrogate"),
    ("root ::= [xz-a]", "1:12", "the range z-a runs backwards"),
    ("root ::= []", "1:11", "an empty class matches nothing"),
    ('root ::= "a"{3,2}', "1:13", "lower bound above its upper bound"),
    ('root ::= "a"{,3}', "1:13", "for at most 5 write {0,5}"),
    ('root ::= "a"{x}', "1:13", "a repetition is written"),
    ('root ::= "a"}', "1:13", "no repetition to close"),
    (f'root ::= "a"{{{MAX_REPEAT + 1}}}', "1:13", f"{MAX_REPEAT:,}"),
    (f'root ::= "a"{{{"9" * 5000}}}', "1:13", f"{MAX_REPEAT:,}"),
    ('root ::= * "a"', "1:10", "nothing before * to repeat"),
    ('root ::= "a" | {2}', "1:16", "nothing before {2} to repeat"),
    ('root ::= ("a"', "1:10", "no closing )"),
    ('root ::= "a")', "1:13", "closes nothing"),
    ("root ::= ]", "1:10", "no character class to close"),
    ('root ::= "a" (= "b") "c"', "1:14", "end of a rule"),
    ('root ::= ("a" (= "b"))', "1:15", "end of a rule"),
    ('root ::= "a" (= "b"', "1:14", "no closing )"),
    ('root ::= "a" (= other)', "1:17", "rule 'other' is not defined"),
    ('root = "a"', "1:1", "expected a rule: name ::= …"),
    ('root ::= "a" = "b"', "1:14", "a rule is written name ::= …"),
    ('root ::= "a", "b"', "1:13", "',' means nothing here"),
    ('root ::= "a" // b', "1:14", "comments begin with #"),
    ('root ::= "a";', "1:13", "without a semicolon"),
    ('root ::= "a" & "b"', "1:14", "'&' means nothing here"),
    ('root[max_tokens=0] ::= "a"', "1:17", "max_tokens must be a number of tokens from 1 to 1,000,000"),
    ('root[spent=root] ::= "a"', "1:12", "spent must be a rule, beside max_tokens"),
    ('a ::= "x"\nroot[captures] ::= "a"', "2:6", "there is no rule option captures"),
]


@pytest.mark.parametrize(("text", "place", "message"), REFUSED)
def test_refusals_name_place_and_cause(text: str, place: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        load_ebnf(text, source_name="g.ebnf")
    assert str(caught.value).startswith(f"g.ebnf:{place}" if place else "g.ebnf: ")
    assert message in str(caught.value)


def test_limits_are_named() -> None:
    deep = "(" * MAX_NESTING + '"a"' + ")" * MAX_NESTING
    assert matches(load_ebnf(f"root ::= {deep}"), "a")
    with pytest.raises(GrammarError, match=f"1:{10 + MAX_NESTING}: groups are nested deeper than {MAX_NESTING}"):
        load_ebnf(f"root ::= {'(' * 10_000}x{')' * 10_000}\nx ::= [a]")
    with pytest.raises(GrammarError, match=f"{MAX_TEXT:,}"):
        load_ebnf("#" * (MAX_TEXT + 1))


@given(st.text(alphabet=st.sampled_from('abroot ::=\n"[]^-\\xu09(){}|*+?.,#='), max_size=60))
def test_no_text_does_anything_but_load_or_be_refused(text: str) -> None:
    for grammar in (text, 'root ::= "a"\n' + text, "root ::= " + text):
        try:
            rule_set = load_ebnf(grammar, source_name="name")
        except GrammarError as e:
            assert str(e).startswith("name:")
        else:
            assert begins_one(rule_set, "") in (True, False)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "g.gbnf"
    path.write_bytes('\ufeffroot ::= "é"\n'.encode())
    found = find_grammar(path)
    rule_set = found.request().parse().rules
    assert rule_set is not None and matches(rule_set, "é") and rule_set.source_name == str(path)
    path.write_bytes(b"root ::= \xff")
    with pytest.raises(GrammarError, match="not UTF-8 text"):
        found.request()
    path.unlink()
    with pytest.raises(GrammarError, match="cannot read the grammar"):
        found.request()


FIRST = 'root ::= "a" x | [b]\nx ::= "1" | "2" root'
SECOND = 'root ::= x x\nx ::= "c" | ""'


def test_union_and_concat_keep_rules_of_equal_names_apart() -> None:
    first, second = load_ebnf(FIRST), load_ebnf(SECOND)
    texts = ["", "b", "a1", "a2a1", "c", "cc", "bc", "a1cc", "cb", "b1"]
    either, both, twice = union([first, second]), concat([first, second]), concat([first, first])
    for text in texts:
        assert matches(either, text) == (matches(first, text) or matches(second, text))
        cuts = range(len(text) + 1)
        assert matches(both, text) == any(matches(first, text[:i]) and matches(second, text[i:]) for i in cuts)
        assert matches(twice, text) == any(matches(first, text[:i]) and matches(first, text[i:]) for i in cuts)
        assert matches(load_ebnf(both.source), text) == matches(both, text)
    assert both.source.splitlines()[both.lines["x_1"] - 1].startswith("x_1 ::= ")
    with pytest.raises(GrammarError, match="union needs at least one grammar"):
        union([])


def test_names_apart_never_capture() -> None:
    """A new name must not be one that the rule set has itself."""
    rule_set = with_names_apart(load_ebnf('root ::= x x_1\nx ::= "a"\nx_1 ::= "b"'), {"x", "root"})
    assert not rule_set.rules.keys() & {"x", "root"}
    assert matches(rule_set, "ab")


def test_printing_what_text_cannot_name_or_match() -> None:
    from psc.compiler.expressions.expression import NOTHING, RuleSet

    rule_set = RuleSet(
        {"a b": Literal("x"), "r": Choice((Reference("a b"), NOTHING, Chars(()), Reference("a_b"))), "a_b": EMPTY}, "r", "", "", {}
    )
    again = load_ebnf(to_ebnf(rule_set), root="r")
    assert [t for t in ("", "x", "y") if matches(again, t)] == ["", "x"]


def test_printing_of_deep_expressions() -> None:
    """Deeper than the parser's limit and than Python's stack."""
    from psc.compiler.expressions.expression import Expression, RuleSet

    e: Expression = Literal("a")
    for _ in range(3000):
        e = Choice((Sequence((Literal("b"), e)), Literal("c")))
    text = to_ebnf(RuleSet({"root": e}, "root", "", "", {}))
    again = load_ebnf(text)
    assert text.count("root") > 20  # cut into rules
    assert again.rules.keys() > {"root", "root_1"}


def test_parsing_is_fast_enough_to_be_done_for_each_request() -> None:
    """A thousand rules in well under a second: no step is quadratic."""
    import time

    rules = [f'r{i} ::= "a{i}" r{(i + random.Random(i).randrange(999)) % 1000} | [a-z]{{2,9}} "\\n"' for i in range(1000)]
    text = "root ::= r0\n" + "\n".join(rules)
    started = time.thread_time()
    load_ebnf(text)
    assert time.thread_time() - started < 1


def test_what_matches_no_text_is_not_printed() -> None:
    """A grammar that a front end made with alternatives that match nothing is read again, and compiled, as what is left of it."""
    letter = Chars(((97, 97),))
    rules: dict[str, Expression] = {
        "root": Choice((Reference("x"), Reference("dead"), Sequence((letter, Repeat(Reference("dead"), 0, None))))),
        "x": Sequence((Literal("x"), Repeat(Reference("user"), 0, 2))),
        "dead": Choice((Chars(()), Sequence((letter, Reference("user"))))),
        "user": Repeat(Automaton((False, False), ((0, 98, 98, 1),)), 1, None),
    }
    text = to_ebnf(RuleSet(rules, "root", "", "", {}))
    assert text == 'root ::= x | [a] ""\nx ::= "x" ""\n'
    for accepted, tried in ((True, ("x", "a")), (False, ("", "xa", "ab", "b"))):
        assert all(_is_grammar_accept_string(text, t) is accepted for t in tried)


def test_states_of_which_none_is_accepting_behind_are_not_printed() -> None:
    dead_end = Automaton((False, True, False), ((0, 97, 97, 1), (0, 98, 98, 2), (2, 98, 98, 2)))
    text = to_ebnf(RuleSet({"root": dead_end}, "root", "", "", {}))
    assert _is_grammar_accept_string(text, "a") and not _is_grammar_accept_string(text, "b", require_termination=False)


def test_a_rule_that_only_needs_itself_is_printed_as_it_was_written() -> None:
    rules: dict[str, Expression] = {"root": Choice((Literal("x"), Reference("loop"))), "loop": Reference("loop")}
    assert to_ebnf(RuleSet(rules, "root", "", "", {})) == 'root ::= "x" | loop\nloop ::= loop\n'


def test_a_grammar_that_matches_nothing_is_printed_as_a_rule_that_never_ends() -> None:
    text = to_ebnf(RuleSet({"root": Choice(())}, "root", "", "", {}))
    assert load_ebnf(text).root == "root"
    with pytest.raises(GrammarError, match="can never finish"):
        Grammar.from_ebnf(text).to_cfg()
