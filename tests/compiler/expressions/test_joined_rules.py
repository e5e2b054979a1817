"""Rule sets as rules of another one: the same language, the same terminals, and no two rules of one name."""

from __future__ import annotations

import json

import pytest

from psc.compiler.cfg.lowering import LoweredRules, lower
from psc.compiler.expressions.expression import EMPTY, Automaton, Chars, Choice, Literal, Reference, Repeat, RuleSet, Sequence
from psc.compiler.expressions.joined_rules import joined
from psc.compiler.frontends.ebnf import load_ebnf
from psc.compiler.frontends.front_end import NO_SETTINGS, Settings
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import GrammarError


def _joined(rules, parts, root="root") -> RuleSet:  # type: ignore[no-untyped-def]
    return joined(rules, parts, root, source="", source_name="<test>")


def _schema(schema: object, settings: Settings = NO_SETTINGS) -> RuleSet:
    rules = GrammarRequest.of("json_schema", json.dumps(schema), settings=settings).parse().rules
    assert rules is not None
    return rules


def test_rules_of_one_name_keep_apart() -> None:
    one = load_ebnf('root ::= "x" a\na ::= "1" | "(" a ")"', root="root", source_name="one")
    two = load_ebnf('root ::= "y" a\na ::= "2" | "[" a "]"', root="root", source_name="two")
    rules = {"root": Choice((Reference("one"), Reference("two"), Reference("a"))), "a": Literal("z")}
    whole = _joined(rules, {"one": one, "two": two})
    assert list(whole.rules) == ["root", "a", "one.root", "one.a", "two.root", "two.a"]
    assert whole.rules["root"] == Choice((Reference("one.root"), Reference("two.root"), Reference("a")))
    assert whole.rules["two.a"] == Choice((Literal("2"), Sequence((Literal("["), Reference("two.a"), Literal("]")))))
    assert whole.root == "root"


def test_every_kind_of_expression_is_copied() -> None:
    everything = {
        "r": Sequence((Literal("a"), Repeat(Reference("e"), 2, 5), Repeat(Chars(((97, 98), (100, 101))), 0, None), EMPTY)),
        "e": Choice((Automaton((False, True), ((0, 97, 99, 1), (1, 100, 100, 0))), Reference("r"))),
    }
    part = RuleSet(everything, "r", "", "", {})
    whole = _joined({"root": Reference("p")}, {"p": part})
    assert whole.rules["root"] == Reference("p.r")
    renamed = str(everything).replace("name='", "name='p.")
    assert str({name.removeprefix("p."): e for name, e in whole.rules.items() if name != "root"}) == renamed


def test_names_that_come_to_be_equal_are_numbered() -> None:
    part = RuleSet({"x": Literal("1")}, "x", "", "", {})
    whole = _joined({"p.x": Literal("2"), "root": Choice((Reference("p.x"), Reference("p")))}, {"p": part})
    assert whole.rules["root"] == Choice((Reference("p.x"), Reference("p.x~2")))


def test_the_root_may_be_a_part() -> None:
    part = RuleSet({"x": Literal("1")}, "x", "", "", {})
    assert _joined({}, {"p": part}, "p").root == "p.x"


def test_a_rule_and_a_part_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="'root' is a rule and a part"):
        _joined({"root": EMPTY}, {"root": RuleSet({"x": EMPTY}, "x", "", "", {})})


@pytest.mark.parametrize(
    ("rules", "part", "missing"),
    [
        ({"root": Sequence((Reference("p"), Reference("other")))}, {"x": Literal("1")}, "'other'"),
        ({"root": Reference("p")}, {"x": Reference("root")}, "'p.root'"),
    ],
)
def test_what_is_not_defined_is_told_by_its_name(rules, part, missing) -> None:  # type: ignore[no-untyped-def]
    whole = _joined(rules, {"p": RuleSet(part, "x", "", "", {})})
    with pytest.raises(GrammarError, match=f"rule {missing} is not defined"):
        lower(whole)


_OPEN = SchemaSettings(strict_mode=False)
_TWO_OBJECTS = {
    "type": "object",
    "properties": {"name": {"type": "object", "properties": {"a": {"type": "null"}, "names": True}}, "n": {"type": "integer"}},
}


def test_a_schema_lowers_as_it_does_alone() -> None:
    """Names of members that are not declared are one automaton for a whole schema, in the joined rules too."""
    alone = LoweredRules(_schema(_TWO_OBJECTS, _OPEN))
    whole = LoweredRules(_joined({}, {"p": _schema(_TWO_OBJECTS, _OPEN)}, "p"))
    assert [t.expression for t in whole.cfg.terminals] == [t.expression for t in alone.cfg.terminals]
    assert whole.cfg.productions == alone.cfg.productions
    limits = {"max_states": 100_000, "max_positions": 1_000_000, "max_steps": 100_000_000}
    assert whole.native.terminal_automaton(**limits).next.tobytes() == alone.native.terminal_automaton(**limits).next.tobytes()
    assert _n_nodes(whole) == _n_nodes(alone)


def _n_nodes(rules: LoweredRules) -> int:
    """How large a limit the terminals need to be read open."""
    return next(n for n in range(0, 100_000, 10) if rules.native.open_terminals(max_positions=n).is_sound)


def test_two_schemas_have_their_own_names() -> None:
    other = json.loads(json.dumps(_TWO_OBJECTS).replace('"n"', '"m"'))
    rules = {"root": Choice((Sequence((Literal("f"), Reference("f"))), Sequence((Literal("g"), Reference("g")))))}
    whole = LoweredRules(_joined(rules, {"f": _schema(_TWO_OBJECTS, _OPEN), "g": _schema(other, _OPEN), "h": _schema(True)}))
    # As from expressions, where no automaton is of several terminals.
    apart = LoweredRules(RuleSet(dict(whole.rule_set.rules), "root", "", "", {}))
    limits = {"max_states": 100_000, "max_positions": 1_000_000, "max_steps": 100_000_000}
    for part in ("next", "match_offsets", "matches"):
        of_whole = getattr(whole.native.terminal_automaton(**limits), part)
        assert of_whole.tobytes() == getattr(apart.native.terminal_automaton(**limits), part).tobytes()
    assert whole.cfg.productions == apart.cfg.productions


def test_equal_schemas_have_the_same_terminals() -> None:
    both = {"f": _schema(_TWO_OBJECTS, _OPEN), "g": _schema(_TWO_OBJECTS, _OPEN)}
    first, second = (
        LoweredRules(_joined({"root": Choice((Reference("f"), Sequence((Literal("g"), Reference(g)))))}, both)) for g in ("f", "g")
    )
    assert [t.expression for t in first.cfg.terminals] == [t.expression for t in second.cfg.terminals]
    assert _n_nodes(first) == _n_nodes(second)
