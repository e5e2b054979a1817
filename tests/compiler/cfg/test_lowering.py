"""Rule sets to grammars: the same language, terminals of a good size, and the normal form that generalized LR needs."""

import itertools
import json
import re

import numpy as np
import pytest
from bounded import bounded
from effort import examples
from hypothesis import example, given
from hypothesis import strategies as st
from oracle.derivation import check_normal_form, derives
from oracle.expressions import begins_one, matches, matches_any

from psc import _core
from psc.compiler.cfg.grammar import Cfg, Production
from psc.compiler.cfg.lowering import LoweredRules, TerminalLimits, lower
from psc.compiler.cfg.lr_tables import lr_tables
from psc.compiler.expressions.expression import (
    EMPTY,
    NOTHING,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    RuleSet,
    Sequence,
)
from psc.compiler.expressions.rule_sets import to_ebnf
from psc.compiler.expressions.words import RulePrograms, native_rules
from psc.compiler.frontends.ebnf import load_ebnf
from psc.compiler.grammars import bundled_text
from psc.compiler.terminals.python_pattern import python_pattern
from psc.errors import GrammarError

TEXTS = ["".join(t) for n in range(6) for t in itertools.product("ab", repeat=n)]
JSON = load_ebnf(bundled_text("json"))


def check_terminals(grammar: Cfg) -> None:
    """Each is used, matches something but not the empty text, and says the same as expression and as pattern."""
    assert grammar.lexer == "any" and grammar.keep_all_actions
    assert {s for p in grammar.productions for s in p.rhs if s < len(grammar.terminals)} == set(range(len(grammar.terminals)))
    assert len({t.name for t in grammar.terminals}) == len(grammar.terminals)
    for i, t in enumerate(grammar.terminals):
        assert t.expression is not None
        assert not re.fullmatch(t.pattern, "")
        assert t.pattern == python_pattern(t.expression)
        assert matches_any(RuleSet({"t": t.expression}, "t", "", "", {}))
        assert (t.priority, t.lark_order, t.rank, t.ignored, t.flags) == (0, i, i, False, frozenset())
        assert t.text == (t.expression.text if isinstance(t.expression, Literal) else None)


RULES = ("root", "x", "y", "z")
_ALONE = st.sampled_from([Literal("a"), Literal("b"), Literal("ab"), Literal("ba"), EMPTY, Chars(((97, 98),)), Chars(((98, 98),))])
_BOUNDS = st.sampled_from([(0, None), (1, None), (0, 1), (2, 3), (0, 3), (2, None), (2, 2), (1, 3), (3, 7), (0, 0), (1, 1)])


def _expressions(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(lambda parts: Sequence(tuple(parts))),
            st.lists(inner, min_size=1, max_size=3).map(lambda options: Choice(tuple(options))),
            st.tuples(inner, _BOUNDS).map(lambda t: Repeat(t[0], *t[1])),
        ),
        max_leaves=8,
    )


EXPRESSIONS = _expressions(st.one_of(_ALONE, st.sampled_from([Reference(name) for name in RULES])))
EXPRESSIONS_ALONE = _expressions(_ALONE)
"""Without references."""
RULE_SETS = st.lists(EXPRESSIONS, min_size=4, max_size=4).map(
    lambda bodies: RuleSet(dict(zip(RULES, bodies, strict=True)), "root", "", "random", {})
)
LIMITS = st.builds(
    TerminalLimits, size=st.sampled_from([1, 3, 400]), named_size=st.sampled_from([0, 3, 128]), counted=st.sampled_from([0, 2, 64])
)
R = Reference("root")
X = Reference("x")


def rule_set(root: Expression, x: Expression = EMPTY) -> RuleSet:
    return RuleSet({"root": root, "x": x}, "root", "", "example", {})


A, B = Literal("a"), Literal("b")


@examples(100)
@given(RULE_SETS, LIMITS, st.lists(st.sampled_from(TEXTS), min_size=12, max_size=12, unique=True))
@example(rule_set(Choice((R, A))), TerminalLimits(), ["", "a", "aa"])  # a cycle
@example(rule_set(Choice((X, A)), Choice((R, B))), TerminalLimits(), ["a", "b", "ab"])  # two rules that are each other
@example(rule_set(Choice((Sequence((R, R)), A, EMPTY))), TerminalLimits(), ["", "a", "aaa"])  # ambiguous without bound
@example(rule_set(Sequence((X, R, X, B)), Choice((EMPTY, A))), TerminalLimits(), ["b", "ab"])  # no end: only refused
@example(rule_set(Choice((Sequence((X, R, B)), A)), Choice((EMPTY, A))), TerminalLimits(), ["a", "ab", "aab"])  # hidden left
@example(rule_set(Sequence(tuple(Repeat(X, 0, 1) for _ in range(9))), A), TerminalLimits(0, 0), ["", "a", "aaaaa"])
@example(rule_set(Repeat(Repeat(X, 0, 3), 2, 5), Choice((EMPTY, Sequence((A, R, B)), B))), TerminalLimits(), ["", "bb", "ab"])
@bounded
def test_same_language(rules: RuleSet, limits: TerminalLimits, texts: list[str]) -> None:
    try:
        grammar = lower(rules, limits)
    except GrammarError as e:
        assert not matches_any(rules)
        assert "can never finish" in str(e) or "matches no text" in str(e)
        return
    assert matches_any(rules)
    check_normal_form(grammar)
    check_terminals(grammar)
    for text in ["", "a", "b", *texts]:
        assert derives(grammar, text) == matches(rules, text)


@given(RULE_SETS, st.lists(st.sampled_from(TEXTS), min_size=8, max_size=8))
@bounded
def test_printed_rules_are_the_same_language(rules: RuleSet, texts: list[str]) -> None:
    again = load_ebnf(to_ebnf(rules))
    for text in texts:
        assert matches(rules, text) == matches(again, text)
        assert begins_one(rules, text) == begins_one(again, text)


@given(EXPRESSIONS_ALONE, st.sampled_from(TEXTS))
@bounded
def test_oracle_and_patterns_agree_with_re(expression: Expression, text: str) -> None:
    assert matches(RuleSet({"t": expression}, "t", "", "", {}), text) == bool(re.fullmatch(python_pattern(expression), text))


def test_json_terminals() -> None:
    """A string, a number, white space and each keyword and mark is one terminal."""
    grammar = lower(JSON)
    names = {t.name for t in grammar.terminals}
    assert names == {"ws", "string", "number", *(f'"{text}"' for text in ("{", "}", "[", "]", ",", ":", "true", "false", "null"))}
    tables = lr_tables(grammar, keep_all=True)
    assert int((np.diff(tables.action_offsets) > 1).sum()) == 0
    check_normal_form(grammar)
    check_terminals(grammar)


VALUES = ["0", "-0", "-12.50e+3", "1E5", '""', r'"\"\\\/\b\f\n\r\tꯍ"', '"\x7f\u2028é😀"', "true", "false", "null", "[ ]", "{ }"]
NO_VALUES = [
    "",
    "01",
    "-",
    "1.",
    ".5",
    "1e",
    "+1",
    "tru",
    "'a'",
    '"',
    '"\t"',
    r'"\x41"',
    r'"\u12G4"',
    "[,]",
    "[1,]",
    '{"a"}',
    "{1:2}",
    "nan",
]


@pytest.mark.parametrize("text", [*VALUES, *NO_VALUES, '[1, {"a": [true\n,\t"b"]} ]', '{"a":1,\r\n"b" :{}}', '{"a":1,}'])
def test_json_is_what_json_is(text: str) -> None:
    any_value = lower(load_ebnf(JSON.source, root="value"))
    try:
        json.loads(text, parse_constant=lambda name: pytest.fail(name))
        valid = text.strip() == text
    except ValueError:
        valid = False
    assert derives(any_value, text) == valid
    assert derives(lower(JSON), text) == (valid and text[0] in "[{")
    assert derives(lower(JSON), f"[{text}]") == (valid or text == "")
    assert not derives(any_value, text + " ")


def terminals_of(text: str) -> dict[str, str]:
    return {t.name: t.pattern for t in lower(load_ebnf(text)).terminals}


def productions_of(text: str) -> list[str]:
    grammar = lower(load_ebnf(text))
    return [grammar.production_text(i) for i in range(len(grammar.productions))]


def test_what_is_regular_is_one_terminal() -> None:
    assert terminals_of('root ::= digit+ ("." digit+)? \ndigit ::= [0-9]') == {r"/[0-9]+(?:\.[0-9]+)?/": r"[0-9]+(?:\.[0-9]+)?"}


def test_rules_that_only_repeat_are_repetitions() -> None:
    text = 'root ::= "(" ws root ws ")" | digits\nws ::= [ \\n] ws | ""\ndigits ::= digits [0-9] | [1-9]'
    assert terminals_of(text) == {'"("': r"\(", "ws": r"[\n ]+", '")"': r"\)", "digits": "[1-9][0-9]*"}
    for body, inside in (('"a" root | "b" | root "c"', "a*bc*"), ('("a" root)?', "a*"), ('"x" ("a" root | "b")', "(xa)*xb")):
        grammar = lower(load_ebnf(f"root ::= {body}"))
        assert len(grammar.terminals) == 1
        for text in ("".join(t) for n in range(5) for t in itertools.product("abcx", repeat=n)):
            assert derives(grammar, text) == bool(re.fullmatch(inside, text))


def test_recursion_at_the_end_is_a_list_and_left_recursion_stays() -> None:
    """Right recursion over rules would grow the parser stack with the text."""
    text = 'root ::= s root | ""\ns ::= e ";"\ne ::= e "+" p | p\np ::= "a" | "(" root ")"'
    assert productions_of(text) == [
        "$root : root",
        "$root : (empty)",
        "root : root_1",
        "root_1 : s",
        "root_1 : root_1 s",
        's : e ";"',
        'e : e "+" p',
        "e : p",
        'p : "a"',
        'p : "(" root ")"',
        'p : "(" ")"',
    ]


def test_parts_written_in_place_are_joined_and_rules_stay_apart() -> None:
    text = 'root ::= "<" [a-z]+ ">" root? "</" name ">"\nname ::= [a-z]+'
    assert set(terminals_of(text).values()) == {"<[a-z]+>", r"<\/", "[a-z]+", ">"}


def test_large_rules_stay_made_of_the_terminals_of_others() -> None:
    fields = " ".join(f'"f{i}:" text ","' for i in range(20))
    names = terminals_of(f'root ::= {fields}\ntext ::= "<" [a-z]* ">"')
    assert "text" in names and len(names) == 22


def test_free_text_stays_a_terminal_of_its_own() -> None:
    """Most tokens of a vocabulary go on inside a quoted text; its states should not be copied into every rule that has one."""
    text = (
        r'root ::= "{name:" string ",age:" number "}"'
        + "\n"
        + r'string ::= "\"" [^"]* "\""'
        + "\nnumber ::= [0-9]+ frac?\nfrac ::= [.] [0-9]+"
    )
    assert list(terminals_of(text)) == ['"{name:"', "string", '",age:"', "number", '"}"']
    assert list(terminals_of(r'root ::= "\"" inside "\""' + '\ninside ::= [^"]*')) == ['/"[^"]*"/']


def test_equal_expressions_are_one_terminal() -> None:
    assert list(terminals_of('root ::= a root ")" | b ")" | "x" ("(" root ")")\na ::= [a]\nb ::= "a"').values()).count("a") == 1


def test_many_words_are_one_terminal() -> None:
    words = [f"word{i}" for i in range(100)]
    grammar = lower(load_ebnf('root ::= "(" root ")" | ' + " | ".join(f'"{w}"' for w in words)))
    assert len(grammar.terminals) == 3
    assert all(derives(grammar, w) for w in words[:5]) and not derives(grammar, "word")


def test_terminals_never_explode_when_made_deterministic() -> None:
    """Its automaton has a million states, so it is left to the parser, which follows several stacks."""
    assert len(lower(load_ebnf('root ::= [ab]* "a" [ab]{20}')).terminals) == 2
    assert len(lower(load_ebnf('root ::= [ab]* "a" [ab]{8}')).terminals) == 1  # 512 states


def _positions(e: Expression) -> tuple[int, int]:
    """Characters and classes of an expression with its counts written out, and those of its largest counted repetition."""
    match e:
        case Literal(text):
            return len(text), 0
        case Repeat(body, least, most):
            once, counted = _positions(body)
            written = once * (max(least, 1) if most is None else most)
            return written, max(counted, written)
        case Sequence(parts) | Choice(parts):
            each = [_positions(p) for p in parts]
            return sum([n for n, _ in each]), max([c for _, c in each], default=0)
    return 1, 0


@given(EXPRESSIONS_ALONE)
@bounded
def test_small_automata_are_called_small(expression: Expression) -> None:
    """Over two letters, and with few positions: none of these has more than 1,000 states, so each is one terminal."""
    positions, counted = _positions(expression)
    if positions <= 40 and counted <= 8 and matches_any(rule_set(expression)):
        assert len(lower(rule_set(expression)).terminals) <= 1


def test_deep_expressions_do_not_need_the_python_stack() -> None:
    e: Expression = A
    for _ in range(20_000):
        e = Choice((Sequence((B, e)), Literal("c")))
    grammar = lower(RuleSet({"root": e}, "root", "", "deep", {}))
    check_normal_form(grammar)
    chain: dict[str, Expression] = {f"r{i}": Sequence((A, Reference(f"r{i + 1}"))) for i in range(20_000)}
    grammar = lower(
        RuleSet(chain | {"r20000": Choice((A, Sequence((B, Reference("r0"))))), "root": Reference("r0")}, "root", "", "", {})
    )
    assert len(grammar.productions) == 20_003


def test_many_optional_parts_do_not_multiply() -> None:
    parts = " ".join(f"x{i}?" for i in range(60))
    rules = "\n".join(f'x{i} ::= "a{i}" | "{{{i}" root "}}"' for i in range(60))
    grammar = lower(load_ebnf(f"root ::= {parts}\n{rules}"))
    assert len(grammar.productions) < 600
    tables = lr_tables(grammar, keep_all=True)
    assert int((np.diff(tables.action_offsets) > 1).sum()) == 0
    for text in ("", "a0", "a0a59", "{3a1a2}a7", "a5{59}"):
        assert derives(grammar, text)
    assert not derives(grammar, "a1a0")


def test_a_literal_longer_than_any_terminal() -> None:
    grammar = lower(load_ebnf(f'root ::= "{"ab" * 30_000}"'))
    assert len(grammar.terminals) <= 2
    assert len(grammar.productions[0].rhs) == 60


def test_empty_root() -> None:
    grammar = lower(load_ebnf('root ::= ""'))
    assert (grammar.start, grammar.terminals, grammar.productions) == ("$root", (), (Production(1, (), 0),))
    assert lr_tables(grammar, keep_all=True).n_lr_states > 0


UNPRODUCTIVE = [
    ('root ::= "a" root', "g:1:1: rule 'root' can never finish: every alternative needs itself (root -> root)"),
    ('root ::= "b" a\na ::= "x" c\nc ::= "y" a', "g:2:1: rule 'a' can never finish: every alternative needs itself (a -> c -> a)"),
]


@pytest.mark.parametrize(("text", "message"), UNPRODUCTIVE)
def test_what_never_ends_is_refused(text: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        lower(load_ebnf(text, source_name="g"))
    assert str(caught.value).startswith(message)


def test_what_matches_nothing_is_refused() -> None:
    with pytest.raises(GrammarError, match=r"rule 'root' matches no text at all$"):
        lower(rule_set(Sequence((A, X)), NOTHING))
    with pytest.raises(GrammarError, match=r"rule 'root' matches no text at all$"):
        lower(rule_set(Chars(())))


def test_rules_that_never_end_but_are_not_needed_are_dropped() -> None:
    assert productions_of('root ::= "(" root ")" | "x" | a\na ::= "a" a') == ['root : "(" root ")"', 'root : "x"']


def test_undefined_rules_of_other_front_ends() -> None:
    with pytest.raises(GrammarError, match="example: rule 'rot' is not defined; did you mean 'root'"):
        lower(rule_set(Reference("rot")))


def test_the_limit_of_productions_is_named() -> None:
    rules = "\n".join(f'r{i} ::= "a" r{i + 1} | "x{i}"{{2,30000}} "{i}"' for i in range(4000))
    with pytest.raises(GrammarError, match="200,000 productions"):
        lower(load_ebnf(f'root ::= r0\n{rules}\nr4000 ::= "b" root'))


def test_a_rule_of_very_many_parts_needs_no_stack() -> None:
    """A hundred thousand items in one right-hand side, three of which are optional."""
    parts = [Reference("x"), Literal("-")] * 50_000 + [Repeat(X, 0, 1)] * 3
    grammar = lower(rule_set(Sequence(tuple(parts)), Choice((Sequence((A, X, B)), A))))
    assert max(len(p.rhs) for p in grammar.productions) == 100_001


MALFORMED = [
    ([0, 3, 97], "ends early"),
    ([0, 1, -1], "out of range"),
    ([1, 1, 98, 97], "not ascending"),
    ([2, 1], "out of range"),
    ([0, 0, 4, 3, 2], "a repetition"),
    ([4, 0, 1], "a repetition"),
    ([5, 7], "out of range"),
    ([8, 0], "no such code"),
    ([7, 1, 0, 2, 1, 0], "bounds of a length"),
    ([7, 1, 0, 0, -1, 4], "out of range"),
    ([7, 0, 0, 0, -1], "without states"),
    ([6, 0, 0], "without states"),
    ([6, 1, 1, 0, 0, 99, 97, 0], "arcs are not ascending"),
    ([6, 1, 1, 0, 0, 97, 99, 1], "out of range"),
    ([0, 0, 0, 0], "not one expression"),
]


@pytest.mark.parametrize(("words", "problem"), MALFORMED)
def test_words_that_are_no_rules_are_refused(words: list[int], problem: str) -> None:
    offsets = np.array([0, len(words)], np.int64)
    with pytest.raises(ValueError, match=problem):
        _core.RulePrograms(np.array(words, np.int64), offsets, ["root"], 0)


@given(EXPRESSIONS_ALONE)
@bounded
def test_expressions_come_back_from_words(expression: Expression) -> None:
    programs = RulePrograms.of({"t": expression})
    assert dict(programs) == {"t": expression}


def test_rules_that_are_no_grammar_have_no_tables() -> None:
    lowered = native_rules({"root": Reference("root")}, "root").lower(**vars(TerminalLimits()))
    assert lowered.way
    for ask in (
        lowered.lr_tables,
        lambda: lowered.open_terminals(max_positions=10),
        lambda: lowered.terminal_automaton(max_states=10, max_positions=10, max_steps=10),
    ):
        with pytest.raises(ValueError, match="no grammar"):
            ask()


def test_terminals_that_are_too_large_cannot_be_read_open() -> None:
    lowered = LoweredRules(RuleSet({"root": Literal("a" * 100)}, "root", "", "", {})).native
    assert lowered.open_terminals(max_positions=101).is_sound
    assert not lowered.open_terminals(max_positions=100).is_sound
