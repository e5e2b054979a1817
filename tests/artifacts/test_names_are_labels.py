"""Names in an artifact are labels: whatever reads them opens no file that an artifact names, and does not even look for one."""

from __future__ import annotations

import contextlib
import json
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from planted_files import IMPORTS, SECRET, hostile_requests, names, nothing_of, plant, uses, with_names
from vocabularies import byte_tokenizer

import psc
from psc.artifacts.references import short_name
from psc.errors import PscError
from psc.grammars.recorded_tokenizer import recorded_tokenizer
from psc.playground.looking import BYTES, Choices, Looker


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder and the home of who reads an artifact; a pipe that is opened ends the test."""
    folder = tmp_path / "planted"
    plant(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "hub" / "models--org--name" / "refs").mkdir(parents=True)
    (tmp_path / "hub" / "models--org--name" / "snapshots").mkdir()

    def too_long(*_: object) -> None:
        raise AssertionError("a pipe was waited for")

    before = signal.signal(signal.SIGALRM, too_long)
    yield folder
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def use_all(path: Path) -> list[str]:
    """What was said of an artifact, within a minute."""
    signal.alarm(60)
    said = []
    try:
        readers = uses(path, byte_tokenizer())
    except PscError as e:  # half of a surrogate pair is no name
        return [str(e)]
    for use in readers:
        try:
            said.append(str(use()))
        except PscError as e:
            said.append(str(e))
    return said


@pytest.mark.parametrize("part", range(3))
def test_names_of_all_kinds(planted: Path, part: int) -> None:
    for i, name in list(enumerate(names(planted)))[part::3]:
        path = planted.parent / f"{i}.psc"
        path.write_bytes(with_names(name, name, closed=i % 2 == 0))
        with nothing_of(planted):
            said = use_all(path)
        assert not any(SECRET in text for text in said), name


@pytest.mark.parametrize("text", IMPORTS)
def test_texts_that_import(planted: Path, text: str) -> None:
    """A grammar's text is read again where nothing but the artifact says what it is called."""
    labels = ("x.lark", "./x.lark", str(planted / "x.lark"), "~/x.lark", "org/x.lark", "<string>", "sqlite", "../planted/x.lark")
    for i, name in enumerate(labels):
        path = planted.parent / "x.psc"
        path.write_bytes(with_names(name, "bytes", i % 2 == 0, text=text, language="lark", lexer="contextual", start="start"))
        with nothing_of(planted):
            said = use_all(path)
        assert not any(SECRET in answer for answer in said), name


@pytest.mark.parametrize("name", hostile_requests(Path()))
def test_texts_within_texts(planted: Path, name: str) -> None:
    request = hostile_requests(planted)[name]
    path = planted.parent / "x.psc"
    for closed in (True, False):
        for label in (str(planted / "x.lark"), "x.lark", "<union>"):
            path.write_bytes(with_names(label, "bytes", closed, **request))
            with nothing_of(planted):
                said = use_all(path)
            assert not any(SECRET in answer for answer in said)
    document = {"__VERSION__": "psc-1", "kind": "grammar", **request}
    with nothing_of(planted), contextlib.suppress(PscError):
        psc.Grammar.deserialize_json(json.dumps(document))


def test_a_page_s_text_imports_nothing(planted: Path) -> None:
    for text in IMPORTS:
        with nothing_of(planted), pytest.raises(PscError):
            Looker(Choices()).look({"grammar": {"language": "lark", "text": text}, "tokenizer": BYTES, "text": SECRET})


def test_files_that_a_program_names_are_read(planted: Path) -> None:
    """Also through a combination, and in another process."""
    info = byte_tokenizer()
    for origin in (str(planted / "x.lark"), "x.lark", "./x.lark", "~x.lark"):
        read = psc.Grammar.from_lark(IMPORTS[0], source_name=origin)
        both = psc.Grammar.union(read, psc.Grammar.from_lark('start: "x"'))
        for grammar in (read, both, pickle.loads(pickle.dumps(read)), pickle.loads(pickle.dumps(both))):
            matcher = psc.GrammarMatcher(psc.GrammarCompiler(info, store=False, registry=False).compile_grammar(grammar))
            assert matcher.accept_string(SECRET) and matcher.is_completed()
    (planted / "mine.lark").write_text(IMPORTS[5])
    compiled = psc.GrammarCompiler(info, store=False, registry=False).compile_file("mine.lark")
    assert psc.GrammarMatcher(compiled).find_jump_forward_string() == SECRET


def test_a_model_in_the_cache_is_found_by_its_id(planted: Path, tmp_path: Path) -> None:
    """By nothing else: not by a folder that is called so."""
    model = tmp_path / "hub" / "models--org--name"
    (model / "snapshots" / "abc").mkdir()
    (model / "refs" / "main").write_text("abc")
    spec = {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "decoder": {"type": "ByteLevel"}, "added_tokens": []}
    (model / "snapshots" / "abc" / "tokenizer.json").write_text(json.dumps(spec))
    described = {"tokenizer": {"name": "org/name", "fingerprint": "", "vocab_size": 1, "stop_token_ids": []}}
    with nothing_of(planted):
        assert recorded_tokenizer(described).decoded_vocab == [b"a"]
    assert short_name("org/name") == "name"
    for inside in ("..", "/dev/zero", str(planted / "org" / "name"), "../../../planted/org/name", "", "."):
        (model / "refs" / "main").write_text(inside)
        with nothing_of(planted), pytest.raises(PscError):
            recorded_tokenizer(described)
