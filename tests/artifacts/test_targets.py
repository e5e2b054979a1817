"""Targets of arcs: a file has each once, and reading makes the tables again, or an error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_grammars import GRAMMARS
from vocabularies import byte_tokenizer

from psc.artifacts.format import decode, encode
from psc.artifacts.targets import SECTIONS, with_targets, without_targets
from psc.errors import ArtifactError
from psc.grammars.build_grammar import artifact_bytes

NUMBERS = st.integers(-1, 2**31 - 1) | st.integers(-1, 3)


@given(st.lists(st.tuples(NUMBERS, NUMBERS)))
def test_the_same_tables_come_back(arcs: list[tuple[int, int]]) -> None:
    columns = np.array(arcs, np.int32).reshape(-1, 2)
    tables = {"arc_emission": columns[:, 0], "arc_next": columns[:, 1], "other": np.arange(3, dtype=np.int32)}
    sections = with_targets(tables)
    assert sections.keys() == {"other", *SECTIONS}
    assert len(sections["target_next"]) == len(set(arcs))
    for again in (without_targets(sections), decode(encode(tables, {})).arrays):
        assert again.keys() == tables.keys()
        assert all(np.array_equal(again[name], tables[name]) and again[name].dtype == np.int32 for name in tables)


def test_targets_are_numbered_as_they_appear() -> None:
    sections = with_targets({"arc_emission": np.array([7, 2, 7, 2], np.int32), "arc_next": np.array([1, 9, 1, 8], np.int32)})
    assert {name: sections[name].tolist() for name in SECTIONS} == {
        "arc_target": [0, 1, 0, 2],
        "target_emission": [7, 2, 2],
        "target_next": [1, 9, 8],
    }


def test_an_artifact_has_them_in_the_place_of_the_tables() -> None:
    data = artifact_bytes(GRAMMARS["contextual"](), byte_tokenizer())
    header = data[16 : 16 + int.from_bytes(data[12:16], "little")]
    assert b'"arc_target"' in header and b'"arc_next"' not in header and b'"arc_emission"' not in header


@pytest.mark.parametrize(
    "sections",
    [
        {"arc_target": [1], "target_emission": [0], "target_next": [0]},
        {"arc_target": [-1], "target_emission": [0], "target_next": [0]},
        {"arc_target": [0, 1], "target_emission": [0, 0], "target_next": [0]},
        {"arc_target": [0], "target_emission": [], "target_next": [0]},
        {"arc_target": [0], "target_emission": [0]},
        {"arc_target": []},
    ],
)
def test_an_arc_without_a_target(sections: dict[str, list[int]]) -> None:
    data = encode({name: np.array(values, np.int32) for name, values in sections.items()}, {})
    with pytest.raises(ArtifactError, match="file: the tables are malformed: section 'arc_target'"):
        decode(data, origin="file")
