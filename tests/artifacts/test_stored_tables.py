"""Every stored table is declared once: what follows from the declaration, for each field that there is."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
import pytest
from not_closed import not_closed_bytes
from small_grammars import GRAMMARS
from vocabularies import byte_tokenizer

import psc
from psc._core import Machine, stored_tables
from psc.artifacts.format import VERSION, decode
from psc.artifacts.scalars import SCALARS, with_scalars, without_scalars
from psc.grammars.build_grammar import artifact_bytes

FIELDS = {name: (index, element) for fields in stored_tables().values() for name, index, element, _ in fields}
GROUPS = {title: {f[0] for f in fields} for title, fields in stored_tables().items()}
IN_CLOSED: set[str] = set().union(*(GROUPS[f"the {g}"] for g in ("lexer", "LR tables", "stack classifier", "leads", "tokens")))
IN_OPEN = GROUPS["the terminals' automaton"] | GROUPS["the LR tables"] | GROUPS["the tokens"]
Closing = Literal["whole", "partly", "not"]
NAMES: dict[Closing, set[str]] = {"whole": IN_CLOSED, "partly": IN_CLOSED | GROUPS["the sequences"], "not": IN_OPEN}
"""What an artifact has, by how far it is closed."""

A_TABLE = re.compile("^table '")


Tables = dict[str, object]


def tables_of(closed: Closing) -> Tables:
    """Of a contextual grammar, which has conditions and starts; with leads."""
    grammar, info = GRAMMARS["contextual"](), byte_tokenizer()
    with mock.patch("psc.compiler.pipeline.build.MOST_WHOLE_SEQUENCES", 0):
        data = artifact_bytes(grammar, info) if closed == "whole" else not_closed_bytes(grammar, info, partly=closed == "partly")
    arrays = decode(data).arrays
    names = NAMES[closed]
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
def stored() -> dict[Closing, Tables]:
    """By how far they are closed."""
    return {closed: tables_of(closed) for closed in NAMES}


def made(closed: Closing, tables: Tables) -> Machine:
    return Machine.from_open_tables(tables, "contextual") if closed == "not" else Machine(tables)


CASES = [(closed, name) for closed, names in NAMES.items() for name in FIELDS if name in names]
EVERY_ARRAY = pytest.mark.parametrize(("closed", "name"), [c for c in CASES if c[1] not in SCALARS])
EVERY_NUMBER = pytest.mark.parametrize(("closed", "name"), [c for c in CASES if c[1] in SCALARS])


def test_what_was_built_is_in_range(stored: dict[Closing, Tables]) -> None:
    for closed, tables in stored.items():
        assert made(closed, tables).is_lazy is (closed != "whole")


@EVERY_ARRAY
def test_a_length_that_does_not_fit(stored: dict[Closing, Tables], closed: Closing, name: str) -> None:
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
def test_an_element_out_of_range(stored: dict[Closing, Tables], closed: Closing, name: str) -> None:
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
def test_a_number_out_of_range(stored: dict[Closing, Tables], closed: Closing, name: str) -> None:
    for wrong in (-2, 2**31 - 1):
        with pytest.raises(ValueError, match=A_TABLE):
            made(closed, {**stored[closed], name: wrong})


@pytest.mark.parametrize("closed", NAMES)
def test_a_table_that_is_missing(stored: dict[Closing, Tables], closed: Closing) -> None:
    for name in NAMES[closed]:
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
def test_tables_that_are_in_range_and_no_automaton(stored: dict[Closing, Tables], what: str) -> None:
    table, change = NO_AUTOMATON[what]
    tables = {name: array.copy() if isinstance(array, np.ndarray) else array for name, array in stored["not"].items()}
    change(tables)
    with pytest.raises(ValueError, match=f"^table '{table}' "):
        made("not", tables)


NO_SEQUENCES: dict[str, tuple[str, Callable[[Any], object]]] = {
    "an empty sequence that extends another": ("sequence_before", lambda a: a["sequence_before"].__setitem__(0, 1)),
    "an empty sequence that ends with a terminal": ("sequence_before", lambda a: a["sequence_end"].__setitem__(0, 0)),
    "a sequence that extends itself": ("sequence_before", lambda a: a["sequence_before"].__setitem__(1, 1)),
    "a second empty sequence": ("sequence_before", lambda a: a["sequence_before"].__setitem__(1, -1)),
    "a sequence without an end": ("sequence_before", lambda a: a["sequence_end"].__setitem__(1, -1)),
    "another number of labels": ("n_labels", lambda a: a.__setitem__("n_labels", a["n_labels"] + 1)),
    "LR states that fall": ("top_set_states", lambda a: a["top_set_states"].__setitem__(slice(None), 0)),
}


@pytest.mark.parametrize("what", NO_SEQUENCES)
def test_tables_that_are_in_range_and_no_sequences(stored: dict[Closing, Tables], what: str) -> None:
    table, change = NO_SEQUENCES[what]
    tables: dict[str, Any] = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in stored["partly"].items()}
    change(tables)
    with pytest.raises(ValueError, match=f"^table '{table}' "):
        made("partly", tables)


SETS = dict(sequence_set_offsets=[0, 0, 0, 1, 2], sequence_set_symbols=[0, 1], sequence_set_rests=[1, 2])
"""Of sequences: {0}, and {1 0}."""
NO_SETS = {
    "a set that is in itself": ("sequence_set_rests", dict(sequence_set_rests=[1, 3])),
    "a symbol twice in a set": (
        "sequence_set_symbols",
        dict(sequence_set_offsets=[0, 0, 0, 2, 2], sequence_set_symbols=[0, 0], sequence_set_rests=[0, 1]),
    ),
    "a set of nothing that has a sequence": ("sequence_set_offsets", dict(sequence_set_offsets=[0, 0, 1, 1, 2])),
    "sets inside each other without end": (
        "sequence_set_rests",
        dict(
            sequence_set_offsets=[0, 0, *range(5_001)],
            sequence_set_symbols=[0] * 5_000,
            sequence_set_rests=list(range(1, 5_001)),
        ),
    ),
}


@pytest.mark.parametrize("what", NO_SETS)
def test_tables_that_are_in_range_and_no_sets_of_sequences(stored: dict[Closing, Tables], what: str) -> None:
    """The classifier goes down a set by recursion."""
    table, wrong = NO_SETS[what]
    arrays = {name: np.array(values, np.int32) for name, values in SETS.items()}
    made("partly", {**stored["partly"], **arrays})
    with pytest.raises(ValueError, match=f"^table '{table}' "):
        made("partly", {**stored["partly"], **arrays, **{name: np.array(values, np.int32) for name, values in wrong.items()}})


READINGS = dict(
    warm_reading_before=[-1, 0],
    warm_reading_symbol=[0, 0],
    warm_set_before=[-1, 0],
    warm_set_emission=[0, 0],
    warm_set_reading=[0, 1],
)
NO_READINGS = {
    "a reading before itself": ("warm_reading_before", dict(warm_reading_before=[-1, 1])),
    "sets without readings": (
        "warm_set_reading",
        dict(warm_set_reading=[], warm_reading_before=[], warm_reading_symbol=[]),
    ),
    "a set without a reading": ("warm_set_reading", dict(warm_set_reading=[0])),
}


@pytest.mark.parametrize("what", NO_READINGS)
def test_warm_rows_that_no_reading_names(stored: dict[Closing, Tables], what: str) -> None:
    """In an artifact that is partly closed no emission has a number before it is built."""
    table, wrong = NO_READINGS[what]
    none: dict[str, list[int]] = {name: [] for name in GROUPS["the warm rows"] | GROUPS["the warm readings"]}

    def arrays(values: dict[str, list[int]]) -> Tables:
        return {**stored["partly"], **{name: np.array(column, np.int32) for name, column in {**none, **values}.items()}}

    made("partly", arrays(READINGS))
    with pytest.raises(ValueError, match=f"^table '{table}' "):
        made("partly", arrays({**READINGS, **wrong}))


@pytest.mark.parametrize("name", ["lead_states", "lead_terminals"])
def test_leads_that_are_not_in_order(stored: dict[Closing, Tables], name: str) -> None:
    """A lexer state that had one terminal as a lead over and over would make its masks cost as much as the table is long."""
    tables = stored["whole"]
    states, terminals = (np.asarray(tables[n]).copy() for n in ("lead_states", "lead_terminals"))
    assert len(states) > 1 and states[-1] > 0
    if name == "lead_states":
        states[0], states[1:] = states[-1], 0
    else:
        states[1], terminals[1] = states[0], terminals[0]
    with pytest.raises(ValueError, match=f"^table '{name}' is not sorted"):
        made("whole", {**tables, "lead_states": states, "lead_terminals": terminals})


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


def test_the_documentation_has_the_version() -> None:
    text = (Path(__file__).parents[2] / "docs" / "artifact-format.md").read_text()
    assert text.startswith(f"# Artifact format, version {VERSION}\n")
    assert f"| format version, little-endian: {VERSION} |" in text and f"psc reads version {VERSION} only" in text


@pytest.mark.parametrize("closed", NAMES)
def test_lr_tables_of_a_machine_are_those_of_the_artifact(stored: dict[Closing, Tables], closed: Closing) -> None:
    tables = stored[closed]
    lr = made(closed, tables).lr
    for name, array in lr.arrays().items():
        assert np.array_equal(array, np.asarray(tables[name]))
    assert psc._core.LrTables.from_arrays(tables).arrays().keys() == lr.arrays().keys()
