"""Patterns that list texts, against Python's parser of patterns and the expressions made with it."""

import importlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psc._core import build_terminal_automaton
from psc.compiler.terminals.programs import TerminalPrograms
from psc.compiler.terminals.regex import listed_texts, pattern_expression

parser: Any = importlib.import_module("re._parser")


def automaton_of(programs: TerminalPrograms) -> tuple[list[int], list[int]]:
    programs.finish()
    found = build_terminal_automaton(*programs.arrays(), max_states=1000, max_positions=10_000, max_steps=100_000)
    return found.next.tolist(), found.match_offsets.tolist()


LISTED = st.lists(
    st.tuples(
        st.sampled_from(["", '"', "[", "x", "`'"]),
        st.sampled_from(["", "i", "a", "ai"]),
        st.lists(st.text("aKs_$ |.\\é\u017f(", min_size=1, max_size=4), min_size=1, max_size=3),
        st.sampled_from(["", '"', "]", "x"]),
    ),
    min_size=1,
    max_size=3,
)


@given(LISTED, st.sampled_from(["", "i", "a"]))
def test_listed_texts_are_what_re_matches(parts: list[tuple[str, str, list[str], str]], around: str) -> None:
    alternatives = []
    for before, flags, texts, after in parts:
        listed = "|".join(map(re.escape, texts))
        group = f"(?{flags}:{listed})" if flags else re.escape(texts[0])
        alternatives.append(f"{re.escape(before)}{group}{re.escape(after)}")
    pattern = "|".join(alternatives)
    if around:
        pattern = f"(?{around}:{pattern})"
    found = listed_texts(pattern)
    if found is None:
        assert around or any(flags and "x" in before + after for before, flags, _, after in parts)
        return
    lengths = [len(text) for text, _ in found]
    assert (min(lengths), max(lengths)) == parser.parse(pattern).getwidth()
    programs = TerminalPrograms()
    programs.write_texts(found)
    expected = TerminalPrograms()
    expression = pattern_expression(pattern)
    assert expression is not None
    expected.write(expression)
    assert automaton_of(programs) == automaton_of(expected)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a|",
        "a||b",
        "(?i:a|)",
        "(?:a)",
        "[a]",
        "a+",
        "x(?i:a)",
        "(?i:a)(?i:b)",
        "a.",
        "(?x:a b)",
        r"\d",
        "^a",
        "a{2}",
        "(?i:a",
        "a\\",
    ],
)
def test_what_is_no_list_of_texts(pattern: str) -> None:
    assert listed_texts(pattern) is None
