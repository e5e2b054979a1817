"""Names of members that are not declared: one automaton for all objects of a schema is the same as one for each."""

from __future__ import annotations

import numpy as np
import pytest
from json_schema.bytewise import accepts, compiled

from psc import _core
from psc.compiler.cfg.lowering import TerminalLimits
from psc.compiler.frontends.json_schema.front_end import schema_grammar
from psc.compiler.frontends.json_schema.settings import SchemaSettings

_LIMITS = vars(TerminalLimits())
_AUTOMATON = {"max_states": 100_000, "max_positions": 1_000_000, "max_steps": 100_000_000}


def _nested(*names: list[str]) -> str:
    inner = '{"type": "null"}'
    for some in names:
        inner = f'{{"type": "object", "properties": {{{", ".join(f"{chr(34)}{n}{chr(34)}: {inner}" for n in some)}}}}}'
    return inner


@pytest.mark.parametrize(
    "schema",
    [
        _nested(["a"], ["b"]),
        _nested(["name", "names", "nam"], ["name", "x/y"], ["", "n"]),
        _nested(["é", "a"], ["a", "b"], ["a", "c"]),
        _nested(["same", "other"], ["same", "other", "more"], ["same"]),
        '{"type": "object", "properties": {"a": {"type": "object", "properties": {"a": false, "b": true}}, "b": false}}',
    ],
)
def test_together_they_are_as_each_by_itself(schema: str) -> None:
    native = schema_grammar(schema, SchemaSettings(strict_mode=False), lambda _: None, "<test>").rules
    together = native.lower(**_LIMITS).terminal_automaton(**_AUTOMATON)
    words = _core.RulePrograms(native.words, native.offsets, native.names, native.root)
    apart = words.lower(**_LIMITS).terminal_automaton(**_AUTOMATON)
    for part in ("next", "match_offsets", "matches", "empty", "unmatched"):
        np.testing.assert_array_equal(getattr(together, part), getattr(apart, part))


@pytest.mark.parametrize(
    ("name", "is_other"),
    [
        (r"a", False),
        (r"\u0061", False),
        (r"b", True),
        (r"\u0062", False),
        (r"ab", True),
        (r"a\u0062", False),
        (r"aba\u0062", False),
        (r"x/y", False),
        (r"x\/y", False),
        (r"x\/z", True),
        (r"x/yz", True),
        (r"", True),
        (r"\n", True),
        (r"\u001f", True),
        (r"\u007f", True),
        (r"\u007e", False),
        (r"\u00e9", True),
        (r"\ud83d\ude00", True),
        (r"\ud83d", False),
        (r"\ude00", False),
        (r"z\ud83d\ude00", True),
        (r"z\ud83dx", False),
        (r"\uabcd\uD7FF\uE000", True),
        (r"\x", False),
    ],
)
def test_escapes_spell_no_declared_name(name: str, is_other: bool) -> None:
    """Printable ASCII stands for itself in names."""
    grammar = compiled({"type": "object", "properties": {"a": False, "x/y": False}, "additionalProperties": {"type": "null"}})
    assert accepts(grammar, f'{{"{name}": null}}') == is_other
