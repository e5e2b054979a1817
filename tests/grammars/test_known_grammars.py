"""Grammars that are known from before: their tables are those that parsing gives, and their text is not parsed again."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bounded import bounded
from effort import examples
from hypothesis import given
from strategies import grammars
from vocabularies import byte_tokenizer

import psc
from psc.artifacts.format import decode, encode
from psc.artifacts.store import Store
from psc.artifacts.table_cache import keep_within, read_tables, tables_path, write_tables
from psc.compiler.frontends import tables
from psc.compiler.frontends.lark import loader
from psc.compiler.frontends.lookup import find_grammar, with_bounded_layout
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.frontends.tables import CfgTables, GrammarTables
from psc.compiler.grammars import bundled_specs
from psc.compiler.pipeline.build import build
from psc.compiler.pipeline.stored_tables import from_arrays, to_arrays
from psc.errors import GrammarError
from psc.grammars import known_grammars

INFO = byte_tokenizer()
LARK = 'start: item ("," item)* [END]\nitem: NAME | "(" start ")"\nNAME: /[a-z]+/\nEND.2: "end"i\n%ignore " "\n'
"""No other test may read it: what is alive is known."""


def assert_equal(a: GrammarTables, b: GrammarTables) -> None:
    assert a.cfg == b.cfg
    for name in ("next", "accept", "match_offsets", "match_terminals"):
        ours, theirs = getattr(a.automaton, name), getattr(b.automaton, name)
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs), name
    ours, theirs = a.lr.arrays(), b.lr.arrays()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def there_and_back(ready: GrammarTables, request: GrammarRequest) -> GrammarTables:
    file = decode(encode(*to_arrays(ready)))
    return from_arrays(file.arrays, file.metadata, request)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that Lark's loader has been given."""
    texts: list[str] = []
    load = loader.load_lark

    def counted(text: str, **options: Any) -> Any:
        texts.append(text)
        return load(text, **options)

    monkeypatch.setattr(loader, "load_lark", counted)
    return texts


def test_bundled_tables_are_what_the_compiler_makes() -> None:
    made = known_grammars.bundled_tables()
    there = {path.name: path.read_bytes() for path in known_grammars._BUNDLED.glob("*")}
    assert there.keys() == made.keys(), "run python -m psc.grammars.known_grammars"
    for name, data in made.items():  # compressed bytes may differ between versions of the library
        ours, theirs = decode(there[name]), decode(data)
        assert ours.metadata == theirs.metadata, "run python -m psc.grammars.known_grammars"
        assert ours.arrays.keys() == theirs.arrays.keys()
        assert all(np.array_equal(ours.arrays[a], theirs.arrays[a]) for a in ours.arrays), (
            "run python -m psc.grammars.known_grammars"
        )


@pytest.mark.parametrize("name", dict.fromkeys([*bundled_specs(), *map(with_bounded_layout, bundled_specs())]))
def test_bundled_grammars_need_no_loader(name: str, parsed: list[str]) -> None:
    request = find_grammar(name).request()
    grammar = psc.Grammar.parse(request)
    compiled = psc.GrammarCompiler(INFO, store=False).compile_grammar(grammar)
    assert psc.GrammarMatcher(compiled).mask().any()
    assert parsed == []
    assert grammar.to_cfg() == psc.Grammar(request, request.parse()).to_cfg()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that are made, of terminals and productions."""
    names: list[str] = []

    def counting(name: str) -> None:
        make = getattr(tables, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            names.append(name)
            return make(*arguments, **options)

        monkeypatch.setattr(tables, name, counted)

    counting("terminal_automaton")
    counting("lr_tables")
    return names


@pytest.mark.parametrize("name", ["graphql", "java"])
def test_artifacts_are_built_of_stored_tables(name: str, parsed: list[str], made: list[str], tmp_path: Path) -> None:
    few = psc.TokenizerInfo.from_tokens([b"a", b"{", b"}"])  # whose artifact has a warning of terminals that it cannot write
    for info in (INFO, few):
        report = psc.compile_to_artifact(name, info, tmp_path / "stored.psc")
        assert made == [] and list(report.record["seconds"])[:2] == ["terminals", "LR tables"]
    assert parsed == []
    request = find_grammar(name).request()
    result = build(CfgTables(request.parse().cfg), few)
    assert made == ["terminal_automaton", "lr_tables"]
    assert (tmp_path / "stored.psc").read_bytes() == encode(result.arrays, result.metadata)
    if name == "java":
        assert result.metadata["counts"]["shift_reduce_conflicts_resolved"] > 0


def test_tables_are_made_once_for_machines_and_artifacts(made: list[str], tmp_path: Path) -> None:
    text = LARK.replace("item", "once")
    compiler = psc.GrammarCompiler(INFO, store=tmp_path)
    compiled = compiler.compile_lark(text)
    compiled.save(tmp_path / "saved.psc")
    psc.compile_ahead_of_time(compiled.grammar, byte_tokenizer(b"ab"))
    compiler.finish(compiled).result()
    assert made == ["terminal_automaton", "lr_tables"]


@pytest.mark.parametrize("options", [{}, {"start": "statement"}, {"lexer": "contextual"}, {"keep_all_actions": True}])
def test_other_options_are_another_grammar(options: dict[str, Any], parsed: list[str]) -> None:
    psc.Grammar.parse(find_grammar("go").request(**options))
    assert len(parsed) == (1 if options else 0)


@given(grammars(fancy=True))
@examples(30)
@bounded
def test_random_grammars_there_and_back(text: str) -> None:
    request = GrammarRequest.of("lark", text)
    try:
        ready = request.parse().tables()
        ready.make()
    except GrammarError:
        return
    assert_equal(there_and_back(ready, request), ready)


def test_what_is_alive_is_known(parsed: list[str]) -> None:
    text = LARK.replace("item", "alive")
    grammar = psc.Grammar.from_lark(text)
    ready = grammar.tables()
    again = psc.Grammar.from_lark(text)
    assert parsed == [text]
    assert again == grammar and again.tables() is ready
    named = psc.Grammar.from_lark(text, source_name="mine.lark")
    assert named.origin == "mine.lark" and len(parsed) == 2  # messages name the place
    assert psc.Grammar.from_lark(text, lexer="basic").to_cfg() != grammar.to_cfg()
    del grammar, again, ready, named
    gc.collect()
    psc.Grammar.from_lark(text)
    assert len(parsed) == 4


def test_a_store_knows_what_was_compiled(tmp_path: Path, parsed: list[str]) -> None:
    text = LARK.replace("item", "stored")

    def compiled() -> psc.CompiledGrammar:
        return psc.GrammarCompiler(INFO, store=tmp_path).compile_lark(text)

    first = compiled()
    assert len(parsed) == 1
    del first
    gc.collect()
    again = compiled()
    assert len(parsed) == 1
    assert again.is_lazy
    ours, theirs = psc.GrammarMatcher(again), psc.GrammarMatcher(psc.GrammarCompiler(INFO, store=False).compile_lark(text + "\n"))
    for byte in b"a,(b, c)end":
        assert np.array_equal(ours.mask(), theirs.mask())
        assert ours.accept_token(byte) and theirs.accept_token(byte)
    assert again.grammar.to_cfg() == loader.load_lark(text)
    parsed.clear()
    # A Grammar that was parsed elsewhere puts its tables there, too.
    other = Store(tmp_path / "other")
    psc.GrammarCompiler(INFO, store=other).compile_grammar(psc.Grammar.from_lark(text + " "))
    (kept,) = (other.root / "tables").iterdir()
    written = kept.stat().st_ino
    gc.collect()
    psc.GrammarCompiler(INFO, store=other).compile_grammar(psc.Grammar.from_lark(text + " "))
    assert kept.stat().st_ino == written  # what is there stays
    # What is damaged is not used, and is written again.
    (path,) = (tmp_path / "tables").iterdir()
    del again, ours, theirs
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for damaged in (b"", b"damaged", flipped, whole[:-64]):
        gc.collect()
        path.write_bytes(damaged)
        before = len(parsed)
        compiled()
        assert len(parsed) == before + 1
        assert len(path.read_bytes()) > 1000


def test_the_text_of_imports_counts(tmp_path: Path, parsed: list[str]) -> None:
    (tmp_path / "words.lark").write_text("WORD: /[a-z]+/\n")
    (tmp_path / "mine.lark").write_text("%import .words (WORD)\nstart: WORD\n")

    def pattern() -> str:
        grammar = psc.GrammarCompiler(INFO, store=tmp_path / "store").compile_file(tmp_path / "mine.lark").grammar
        return grammar.to_cfg().terminals[0].pattern

    assert (pattern(), len(parsed)) == ("[a-z]+", 1)
    gc.collect()
    assert (pattern(), len(parsed)) == ("[a-z]+", 1)
    gc.collect()
    (tmp_path / "words.lark").write_text("WORD: /[0-9]+/\n")
    assert (pattern(), len(parsed)) == ("[0-9]+", 2)


def test_a_store_that_cannot_be_written_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "tables").write_text("no folder")
    assert psc.GrammarCompiler(INFO, store=tmp_path).compile_lark(LARK.replace("item", "unwritten")).is_lazy


ALTERATIONS: list[Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = [
    lambda a: a[:-1],
    lambda a: np.concatenate([a, a[:1]]),
    lambda a: np.where(np.arange(len(a)) == len(a) // 2, 255 if a.dtype == np.uint8 else 2**31 - 1, a).astype(a.dtype),
    lambda a: np.where(np.arange(len(a)) == len(a) // 2, 0 if a.dtype == np.uint8 else -(2**31), a).astype(a.dtype),
]
FREE = {"terminal_numbers", "priority"}
"""Numbers that are no indices."""


def test_altered_tables_are_refused() -> None:
    request = GrammarRequest.of("lark", LARK)
    arrays, metadata = to_arrays(request.parse().tables())
    for name, array in arrays.items():
        for i, alter in enumerate(ALTERATIONS):
            altered = alter(array)
            if (name in FREE and i > 1) or (name == "byte_class" and i == 3) or (len(array) == 1 and i == 1):
                continue
            with pytest.raises(ValueError, match=r"."):
                from_arrays({**arrays, name: altered}, metadata, request)
    for name in (*metadata, *arrays):
        with pytest.raises(ValueError, match="malformed"):
            from_arrays({k: v for k, v in arrays.items() if k != name}, {k: v for k, v in metadata.items() if k != name}, request)
    with pytest.raises(ValueError, match="layout 0"):
        from_arrays(arrays, {**metadata, "layout": 0}, request)


def test_tables_take_a_limited_room(tmp_path: Path) -> None:
    array = {"a": np.zeros(1000, np.int32)}
    for i in range(6):
        write_tables(tmp_path, f"key{i}", array, {})
        os.utime(tables_path(tmp_path, f"key{i}"), (i, i))
    folder = tmp_path / "tables"
    keep_within(folder, max_files=4, max_bytes=1 << 20)
    assert sorted(p.name for p in folder.iterdir()) == [f"key{i}.1" for i in range(2, 6)]
    keep_within(folder, max_files=4, max_bytes=10_000)
    assert sorted(p.name for p in folder.iterdir()) == ["key4.1", "key5.1"]
    assert read_tables(tmp_path, "key4") is not None  # which is a use
    assert read_tables(tmp_path, "key3") is None
    store = Store(tmp_path)
    assert store.collect(max_age_s=3600).freed_bytes > 4000
    assert sorted(p.name for p in folder.iterdir()) == ["key4.1"]
    assert store.collect(max_bytes=100, dry_run=True).freed_bytes > 4000
    assert store.collect(max_bytes=1 << 20).kept_bytes > 4000
    assert store.collect(max_bytes=100).freed_bytes > 4000
    assert not list(folder.iterdir())


def test_a_request_of_another_text_is_not_served(parsed: list[str]) -> None:
    request = find_grammar("java").request()
    psc.Grammar.parse(replace(request, text=request.text + "\n"))
    assert len(parsed) == 1
