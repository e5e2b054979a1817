"""Every stored table is declared once: what follows from the declaration, for each field that there is."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from not_closed import not_closed_bytes
from small_grammars import GRAMMARS
from vocabularies import byte_tokenizer

import psc
from psc._core import Machine, stored_tables
from psc.artifacts.format import decode
from psc.artifacts.scalars import SCALARS, with_scalars, without_scalars
from psc.grammars.build_grammar import artifact_bytes

FIELDS = {name: (index, element) for fields in stored_tables().values() for name, index, element, _ in fields}
GROUPS = {title: {f[0] for f in fields} for title, fields in stored_tables().items()}
IN_CLOSED: set[str] = set().union(*(GROUPS[f"the {g}"] for g in ("lexer", "LR tables", "stack classifier", "leads", "tokens")))
IN_OPEN = GROUPS["the terminals' automaton"] | GROUPS["the LR tables"] | GROUPS["the tokens"]
"""What an artifact has, and one that is not closed."""

A_TABLE = re.compile("^table '")


Tables = dict[str, object]


def tables_of(closed: bool) -> Tables:
    """Of a contextual grammar, which has conditions and starts; with leads."""
    with mock.patch("psc.compiler.pipeline.build.MOST_WHOLE_SEQUENCES", 0):
        arrays = decode((artifact_bytes if closed else not_closed_bytes)(GRAMMARS["contextual"](), byte_tokenizer())).arrays
    names = IN_CLOSED if closed else IN_OPEN
    assert set(arrays) == {*names.difference(SCALARS), "scalars"}
    tables = without_scalars(arrays)
    assert {name: array.tobytes() for name, array in with_scalars(tables).items()} == {
        name: np.asarray(array).tobytes() for name, array in arrays.items()
    }
    n_tokens = byte_tokenizer().vocab_size
    classes = np.full(n_tokens, -1, np.int32)
    classes[: len(tables["class_of_token"])] = tables["class_of_token"]
    kept = {name: table for name, table in tables.items() if name in names}
    return {**kept, "vocab_size": n_tokens, "class_of_token": classes, "stop_tokens": np.zeros(0, np.int32)}


@pytest.fixture(scope="module")
def stored() -> dict[bool, Tables]:
    """By whether they are closed."""
    return {closed: tables_of(closed) for closed in (True, False)}


def made(closed: bool, tables: Tables) -> Machine:
    return Machine(tables) if closed else Machine.from_open_tables(tables, "contextual")


CASES = [(closed, name) for closed, names in ((True, IN_CLOSED), (False, IN_OPEN)) for name in FIELDS if name in names]
EVERY_ARRAY = pytest.mark.parametrize(("closed", "name"), [c for c in CASES if c[1] not in SCALARS])
EVERY_NUMBER = pytest.mark.parametrize(("closed", "name"), [c for c in CASES if c[1] in SCALARS])


def test_what_was_built_is_in_range(stored: dict[bool, Tables]) -> None:
    for closed, tables in stored.items():
        assert made(closed, tables).is_lazy is not closed


@EVERY_ARRAY
def test_a_length_that_does_not_fit(stored: dict[bool, Tables], closed: bool, name: str) -> None:
    tables = stored[closed]
    array = np.asarray(tables[name])
    offsets = "begins" in FIELDS[name][1]
    more = (array[-1:] if len(array) else np.zeros(1, np.int32)) + (1 if offsets else 0)
    with pytest.raises(ValueError, match=A_TABLE):
        made(closed, {**tables, name: np.append(array, more).astype(array.dtype)})
    # One empty list less does fit, and so does one less of what is ignored.
    if len(array) > 1 and not (offsets and array[-1] == array[-2]) and name != "ignored_terminals":
        with pytest.raises(ValueError, match=A_TABLE):
            made(closed, {**tables, name: array[:-1].copy()})


@EVERY_ARRAY
def test_an_element_out_of_range(stored: dict[bool, Tables], closed: bool, name: str) -> None:
    """The first, a middle and the last element, too small and too large."""
    tables = stored[closed]
    array = np.asarray(tables[name])
    if not len(array) or FIELDS[name][1] == "byte":
        return
    for at in (0, len(array) // 2, len(array) - 1):
        for wrong in (-5, 2**31 - 1) if array.dtype == np.int32 else (255,):
            changed = array.copy()
            changed[at] = wrong
            # The last offset says how long the pool is, so it is the pool that is found to be of another length.
            found = A_TABLE if "begins" in FIELDS[name][1] else re.compile(f"^table '{name}' ")
            with pytest.raises(ValueError, match=found):
                made(closed, {**tables, name: changed})


@EVERY_NUMBER
def test_a_number_out_of_range(stored: dict[bool, Tables], closed: bool, name: str) -> None:
    for wrong in (-2, 2**31 - 1):
        with pytest.raises(ValueError, match=A_TABLE):
            made(closed, {**stored[closed], name: wrong})


@pytest.mark.parametrize("closed", [True, False])
def test_a_table_that_is_missing(stored: dict[bool, Tables], closed: bool) -> None:
    for name in IN_CLOSED if closed else IN_OPEN:
        with pytest.raises(KeyError, match=name):
            made(closed, {n: table for n, table in stored[closed].items() if n != name})


NO_AUTOMATON: dict[str, tuple[str, Callable[[Any], object]]] = {
    "a state without runs": ("run_bytes", lambda a: a["run_offsets"].__setitem__(1, 0)),
    "runs that do not begin at 0": ("run_bytes", lambda a: a["run_bytes"].__setitem__(0, 1)),
    "runs that fall": ("run_bytes", lambda a: a["run_bytes"].__setitem__(1, 0)),
    "an arc into the start": ("run_next", lambda a: a["run_next"].__setitem__(slice(None), 0)),
    "a lexeme without text": ("match_offsets", lambda a: a["match_offsets"].__setitem__(1, a["match_offsets"][-1])),
    "the end of the text as a lexeme": ("match_terminals", lambda a: a["match_terminals"].__setitem__(-1, a["n_terminals"] - 1)),
    "a terminal that is before itself": (
        "ranked_terminals",
        lambda a: a["ranked_terminals"].__setitem__(0, a["ranked_terminals"][1]),
    ),
    "the end of the text ignored": ("ignored_terminals", lambda a: a["ignored_terminals"].__setitem__(0, a["n_terminals"] - 1)),
}


@pytest.mark.parametrize("what", NO_AUTOMATON)
def test_tables_that_are_in_range_and_no_automaton(stored: dict[bool, Tables], what: str) -> None:
    table, change = NO_AUTOMATON[what]
    tables = {name: array.copy() if isinstance(array, np.ndarray) else array for name, array in stored[False].items()}
    change(tables)
    with pytest.raises(ValueError, match=f"^table '{table}' "):
        made(False, tables)


@pytest.mark.parametrize("name", ["lead_states", "lead_terminals"])
def test_leads_that_are_not_in_order(stored: dict[bool, Tables], name: str) -> None:
    """A lexer state that had one terminal as a lead over and over would make its masks cost as much as the table is long."""
    tables = stored[True]
    states, terminals = (np.asarray(tables[n]).copy() for n in ("lead_states", "lead_terminals"))
    assert len(states) > 1 and states[-1] > 0
    if name == "lead_states":
        states[0], states[1:] = states[-1], 0
    else:
        states[1], terminals[1] = states[0], terminals[0]
    with pytest.raises(ValueError, match=f"^table '{name}' is not sorted"):
        made(True, {**tables, "lead_states": states, "lead_terminals": terminals})


def test_the_documentation_lists_them() -> None:
    """The page has exactly these lines; a failure shows what to put there."""
    lines = []
    for title, fields in stored_tables().items():
        lines += [f"### {title[0].upper()}{title[1:]}", ""]
        lines += ["| name | one for each | element | meaning |", "| --- | --- | --- | --- |"]
        for name, index, element, meaning in fields:
            lines.append(f"| `{name}` | {index.removeprefix('Per ')} | {element} | {meaning} |")
        lines.append("")
    page = Path(__file__).parents[2] / "docs" / "artifact-format.md"
    assert "\n".join(lines) in page.read_text()


@pytest.mark.parametrize("closed", [True, False])
def test_lr_tables_of_a_machine_are_those_of_the_artifact(stored: dict[bool, Tables], closed: bool) -> None:
    tables = stored[closed]
    lr = made(closed, tables).lr
    for name, array in lr.arrays().items():
        assert np.array_equal(array, np.asarray(tables[name]))
    assert psc._core.LrTables.from_arrays(tables).arrays().keys() == lr.arrays().keys()
