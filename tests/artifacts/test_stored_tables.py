"""Every stored table is declared once: what follows from the declaration, for each field that there is."""

import re
from pathlib import Path

import numpy as np
import pytest
from small_grammars import GRAMMARS
from vocabularies import byte_tokenizer

import psc
from psc._core import Machine, stored_tables
from psc.artifacts.scalars import SCALARS, with_scalars, without_scalars
from psc.compiler.build import build

FIELDS = {name: (index, element) for fields in stored_tables().values() for name, index, element, _ in fields}
ARRAYS = [name for name in FIELDS if name not in SCALARS]

A_TABLE = re.compile("^table '")


@pytest.fixture(scope="module")
def stored() -> dict[str, object]:
    """Of a contextual grammar, which has conditions and starts."""
    result = build(GRAMMARS["contextual"]().to_cfg(), byte_tokenizer())
    assert set(result.arrays) == {*ARRAYS, "scalars"}
    tables = without_scalars(result.arrays)
    assert {name: array.tobytes() for name, array in with_scalars(tables).items()} == {
        name: np.asarray(array).tobytes() for name, array in result.arrays.items()
    }
    n_tokens = byte_tokenizer().vocab_size
    classes = np.full(n_tokens, -1, np.int32)
    classes[: len(tables["class_of_token"])] = tables["class_of_token"]
    return {**tables, "vocab_size": n_tokens, "class_of_token": classes, "stop_tokens": np.zeros(0, np.int32)}


def test_what_was_built_is_in_range(stored: dict[str, object]) -> None:
    Machine(stored)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_length_that_does_not_fit(stored: dict[str, object], name: str) -> None:
    array = np.asarray(stored[name])
    offsets = "begins" in FIELDS[name][1]
    more = (array[-1:] if len(array) else np.zeros(1, np.int32)) + (1 if offsets else 0)
    with pytest.raises(ValueError, match=A_TABLE):
        Machine({**stored, name: np.append(array, more).astype(array.dtype)})
    if len(array) > 1 and not (offsets and array[-1] == array[-2]):  # one empty list less does fit
        with pytest.raises(ValueError, match=A_TABLE):
            Machine({**stored, name: array[:-1].copy()})


@pytest.mark.parametrize("name", [name for name in ARRAYS if FIELDS[name][1] != "byte"])
def test_an_element_out_of_range(stored: dict[str, object], name: str) -> None:
    """The first, a middle and the last element, too small and too large."""
    array = np.asarray(stored[name])
    if not len(array):
        return
    for at in (0, len(array) // 2, len(array) - 1):
        for wrong in (-5, 2**31 - 1) if array.dtype == np.int32 else (255,):
            changed = array.copy()
            changed[at] = wrong
            # The last offset says how long the pool is, so it is the pool that is found to be of another length.
            found = A_TABLE if "begins" in FIELDS[name][1] else re.compile(f"^table '{name}' ")
            with pytest.raises(ValueError, match=found):
                Machine({**stored, name: changed})


@pytest.mark.parametrize("name", SCALARS)
def test_a_number_out_of_range(stored: dict[str, object], name: str) -> None:
    for wrong in (-2, 2**31 - 1):
        with pytest.raises(ValueError, match=A_TABLE):
            Machine({**stored, name: wrong})


def test_a_table_that_is_missing(stored: dict[str, object]) -> None:
    for name in FIELDS:
        with pytest.raises(KeyError, match=name):
            Machine({n: table for n, table in stored.items() if n != name})


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


def test_lr_tables_of_a_machine_are_those_of_the_artifact(stored: dict[str, object]) -> None:
    lr = Machine(stored).lr
    for name, array in lr.arrays().items():
        assert np.array_equal(array, np.asarray(stored[name]))
    assert psc._core.LrTables.from_arrays(stored).arrays().keys() == lr.arrays().keys()
