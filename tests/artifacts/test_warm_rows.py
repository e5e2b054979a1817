"""Rows that texts met are named in an artifact, composed when it is loaded, and never other rows than a matcher composes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from not_closed import not_closed_bytes
from small_grammars import GRAMMARS
from vocabularies import byte_tokenizer

import psc
from psc._core import WarmRows, warm_tables
from psc.artifacts.format import Artifact, IntArray, decode, encode
from psc.artifacts.references import Reference
from psc.artifacts.store import Store
from psc.errors import ArtifactError
from psc.grammars.build_grammar import artifact_bytes
from psc.grammars.compiled_grammar import compiled_from_file
from psc.grammars.warm_texts import WarmText, rows_met
from psc.vocabulary.segment import Segmenter

INFO = byte_tokenizer("none", "é", " = ", '": ', "ab")
TEXTS = {
    "contextual": [b"a = none;\nb = (12);", b"ab=(a);"],
    "basic": [b"a = none;\nb = (12);", b"ab=(a);"],
    "ambiguous": [b"a+a(a)", b"(a)a+a"],
    "ebnf": [b"if a then 1 + 2", b"none"],
    "regex": [b"aababcc", b"ccc"],
    "json": [b'{"a": [1, null, "x"], "b": {}}', b"[[[]]]"],
}


PARTLY = " (partly closed)"
for _name in [*TEXTS]:
    TEXTS[_name + PARTLY] = TEXTS[_name]


@cache
def artifact(name: str) -> Artifact:
    grammar = GRAMMARS[name.removesuffix(PARTLY)]()
    return decode(not_closed_bytes(grammar, INFO, partly=True) if name.endswith(PARTLY) else artifact_bytes(grammar, INFO))


@cache
def warm(name: str) -> tuple[Mapping[str, IntArray], tuple[WarmText, ...]]:
    names = rows_met(artifact(name).arrays, artifact(name).metadata, INFO, [(str(t), t) for t in TEXTS[name]])
    return names.arrays, names.texts


def loaded(name: str, arrays: Mapping[str, IntArray], **options: int) -> psc.CompiledGrammar:
    """The artifact with these sections more, and what they name composed."""
    data = encode({**artifact(name).arrays, **arrays}, artifact(name).metadata)
    compiled = compiled_from_file(data, tokenizer_info=INFO, place="warm", **options)
    assert compiled.wait_until_warm(60)
    return compiled


def masks(compiled: psc.CompiledGrammar, texts: Sequence[bytes]) -> list[bytes]:
    """The mask before each byte of the texts, as far as the grammar takes them, and after the last."""
    out, matcher = [], psc.GrammarMatcher(compiled)
    for text in texts:
        matcher.reset()
        out.append(matcher.mask().tobytes())
        for byte in text:
            if not matcher.accept_token(byte):
                break
            out.append(matcher.mask().tobytes())
    return out


def composed(compiled: psc.CompiledGrammar) -> dict[str, list[int]]:
    return {name: array.tolist() for name, array in warm_tables(compiled._machine).items()}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_read_again_compose_nothing(name: str) -> None:
    arrays, texts = warm(name)
    compiled = loaded(name, arrays)
    before = composed(compiled)
    # Sets may have other numbers: those of the order in which they are gathered now.
    assert before["warm_row_state"] and {n: len(a) for n, a in before.items()} == {n: len(a) for n, a in arrays.items()}
    again = rows_met_again(compiled, [t for t, read in zip(TEXTS[name], texts, strict=True) if read.problem is None])
    assert again == before


def rows_met_again(compiled: psc.CompiledGrammar, texts: Sequence[bytes]) -> dict[str, list[int]]:
    matcher, segmenter = psc.GrammarMatcher(compiled), Segmenter(INFO)
    for text in texts:
        matcher.reset()
        for token in segmenter.segment(text):
            matcher.mask_row()
            assert matcher.accept_token(token)
        matcher.mask_row()
    return composed(compiled)


def test_unions_are_among_what_is_met() -> None:
    """Where several lexer states are possible at once, the mask is a union of rows."""
    assert any(len(warm(name)[0]["warm_union_first"]) for name in GRAMMARS)


@pytest.mark.parametrize("name", TEXTS)
def test_the_masks_are_the_same(name: str) -> None:
    texts = [*TEXTS[name], b"a", b"{", b"if none"]
    cold = compiled_from_file(encode(artifact(name).arrays, artifact(name).metadata), tokenizer_info=INFO, place="cold")
    assert masks(loaded(name, warm(name)[0]), texts) == masks(cold, texts)


@pytest.mark.parametrize("name", [*(n for n in TEXTS if n.startswith(("contextual", "ebnf", "json")))])
def test_altered_names_are_useless_at_worst(name: str) -> None:
    """Names in their ranges that are others: refused, or rows that nobody asks for, and never another mask."""
    rng = random.Random(name)
    want = masks(loaded(name, {}), TEXTS[name])
    n_loaded = 0
    for _ in range(30):
        arrays = {n: a.copy() for n, a in warm(name)[0].items()}
        for _ in range(rng.choice((1, 3, 30))):
            array = rng.choice([a for a in arrays.values() if len(a)])
            array[rng.randrange(len(array))] = rng.choice(
                (-1, 0, rng.randrange(len(array)), rng.randint(0, max(0, int(array.max()))))
            )
        try:
            compiled = loaded(name, arrays)
        except ArtifactError:
            continue
        n_loaded += 1
        assert masks(compiled, TEXTS[name]) == want
    assert n_loaded


NOT_NAMES = {
    "a set before itself": ("warm_set_before", [0], {"warm_set_emission": [1]}),
    "a set before a later one": ("warm_set_before", [1, -1], {"warm_set_emission": [1, 1]}),
    "too many sets": ("warm_set_before", [-1] * 8193, {"warm_set_emission": [0] * 8193}),
    "too many rows": ("warm_row_state", [0] * 8193, {"warm_row_set": [-1] * 8193}),
    "too many unions": (
        "warm_union_first",
        [0] * 8193,
        {"warm_union_second": [0] * 8193, "warm_row_state": [0], "warm_row_set": [-1]},
    ),
    "a union of itself": ("warm_union_first", [1], {"warm_union_second": [0], "warm_row_state": [0], "warm_row_set": [-1]}),
    "another union of itself": ("warm_union_second", [1], {"warm_union_first": [0], "warm_row_state": [0], "warm_row_set": [-1]}),
    "a state that is not there": ("warm_row_state", [10**6], {"warm_row_set": [-1]}),
    "an emission that is not there": ("warm_set_emission", [10**6], {"warm_set_before": [-1]}),
    "a set that is not there": ("warm_row_set", [0], {"warm_row_state": [0]}),
    "rows of two lengths": ("warm_row_set", [], {"warm_row_state": [0]}),
}


@pytest.mark.parametrize("what", NOT_NAMES)
def test_what_names_nothing_is_refused(what: str) -> None:
    table, values, others = NOT_NAMES[what]
    empty: dict[str, list[int]] = {name: [] for name in warm("json")[0]}
    arrays = {name: np.array(a, np.int32) for name, a in {**empty, **others, table: values}.items()}
    with pytest.raises(ArtifactError, match=f"'{table}'"):
        loaded("json", arrays)


def test_a_section_that_is_missing() -> None:
    for name in warm("json")[0]:
        with pytest.raises(ArtifactError, match=name):
            loaded("json", {n: a for n, a in warm("json")[0].items() if n != name})


def test_the_key_is_that_of_the_same_grammar_without() -> None:
    plain, more = (encode({**artifact("json").arrays, **arrays}, artifact("json").metadata) for arrays in ({}, warm("json")[0]))
    assert plain == artifact_bytes(GRAMMARS["json"](), INFO) != more
    assert Reference.of(decode(plain)).input_key == Reference.of(decode(more)).input_key


def test_an_artifact_travels_with_its_names() -> None:
    compiled = loaded("json", warm("json")[0])
    other = psc.CompiledGrammar.deserialize_json(compiled.serialize_json(), INFO)
    assert other.wait_until_warm(60) and composed(other) == composed(compiled)


def test_a_compiler_finds_it_in_the_store(tmp_path: Path) -> None:
    """The first time as a file, the second time as the copy that is mapped into memory."""
    store = Store(tmp_path)
    store.add(encode({**artifact("json").arrays, **warm("json")[0]}, artifact("json").metadata))
    for _ in range(2):
        compiled = psc.GrammarCompiler(INFO, store=store, registry=False, masks_ahead=8).compile_builtin_json_grammar()
        assert not compiled.is_lazy and compiled.wait_until_warm(60)
        assert len(composed(compiled)["warm_row_state"]) == len(warm("json")[0]["warm_row_state"])


def test_a_limit_on_memory_is_kept() -> None:
    """No more is composed in advance than half of the limit, so that what is asked for is not dropped for it."""
    full = loaded("json", warm("json")[0])
    limit = full._machine.cache_bytes
    few = loaded("json", warm("json")[0], cache_limit_bytes=limit)
    assert few._machine.cache_bytes <= limit
    assert len(composed(few)["warm_row_state"]) < len(composed(full)["warm_row_state"])


def test_a_few_at_a_time() -> None:
    data = encode(artifact("json").arrays, artifact("json").metadata)
    machine = compiled_from_file(data, tokenizer_info=INFO, place="cold")._machine
    assert WarmRows(machine).compose(1.0, 1 << 30) is False  # it names none
    named = Artifact({**artifact("json").arrays, **warm("json")[0]}, artifact("json").metadata, "", 0)
    rows = WarmRows(psc.CompiledGrammar.from_artifact(named, tokenizer_info=INFO)._machine)
    assert rows.compose(0.0, 1 << 30) is True and rows.n_composed == 0  # a set comes first
    while rows.compose(0.0, 1 << 30):
        pass
    assert rows.n_composed == len(warm("json")[0]["warm_row_state"]) + len(warm("json")[0]["warm_union_first"])


def test_a_machine_without_a_classifier_has_no_such_rows() -> None:
    compiled = compiled_from_file(not_closed_bytes(GRAMMARS["json"](), INFO), tokenizer_info=INFO, place="not closed")
    assert compiled.wait_until_warm()
    with pytest.raises(ValueError, match="no lexer that is closed"):
        WarmRows(compiled._machine)


def test_texts_that_cannot_be_read_to_their_end_do_not_keep_others_from_it() -> None:
    texts = [("a.json", b"[1, x]"), ("b.json", b""), ("c.json", b'["\xff"]'), ("d.json", b"[1]\n"), ("e.json", b"[1")]
    read = rows_met(artifact("json").arrays, artifact("json").metadata, INFO, texts).texts
    assert [t.problem for t in read][1:4] == ["b.json: the file is empty", "c.json: byte 0xff at offset 2 is not UTF-8", None]
    assert (read[0].problem or "").startswith("a.json:1:5: found 'x'")
    assert (read[4].problem or "").startswith("e.json:1:3: found end of file")
    assert [t.tokens for t in read] == [4, 0, 0, 3, 2]
