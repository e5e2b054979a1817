"""Where compilers find artifacts: keys that need no parsing, the store, registries that are slow, silent or have nothing."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from registries import server
from vocabularies import byte_tokenizer

import psc
from psc.artifacts.input_key import input_key_of
from psc.artifacts.references import Reference
from psc.artifacts.registry.registries import Registries
from psc.artifacts.store import Store
from psc.compiler.frontends.lark.imports import find_imports
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.grammars import bundled_specs
from psc.compiler.pipeline.build import describe
from psc.errors import RegistryError, RegistryNotFoundError, StoreError
from psc.grammars.build_grammar import artifact_bytes
from psc.grammars.grammar import Grammar
from psc.support.regular_file import FileOrigin

INFO = byte_tokenizer()
LARK = 'start: "a" WORD\n%import common.WORD\n%import common.WS\n%ignore WS\n'


def lark(text: str, **options: Any) -> GrammarRequest:
    return GrammarRequest.of("lark", text, **options)


def key_of(request: GrammarRequest, fingerprint: str = INFO.fingerprint) -> str:
    key = request.key()
    assert key is not None
    return key.with_vocabulary(fingerprint)


SOURCES = {
    "ebnf": GrammarRequest.of("ebnf", 'root ::= "a" rest\nrest ::= [0-9]*\n'),
    "another root": GrammarRequest.of("ebnf", 'top ::= "a"?\n', start="top"),
    "an expression": GrammarRequest.of("regex", r"\d{2,4}(ab|c)?"),
    "lark": lark(LARK),
    "basic": lark(LARK, lexer="basic"),
    "all actions": lark('begin: x x\nx: "a" | x "b" x | \n', start="begin", keep_all_actions=True),
    **{name: find_grammar(name).request() for name in bundled_specs()},
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_key_is_the_same_of_text_of_a_grammar_and_of_an_artifact(source: GrammarRequest) -> None:
    key = key_of(source)
    grammar = Grammar.parse(source)
    assert key == grammar.key.with_vocabulary(INFO.fingerprint)
    assert key == input_key_of(describe(grammar.to_cfg(), INFO))


def test_everything_that_matters_is_in_the_key() -> None:
    sources = [
        *SOURCES.values(),
        lark(LARK + "\n"),
        lark(LARK, start="other"),
        GrammarRequest.of("ebnf", r"\d{2,4}(ab|c)?"),
    ]
    keys = {key_of(s, fingerprint) for s in sources for fingerprint in ("0" * 64, "1" * 64)}
    assert len(keys) == 2 * len(sources)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "a.lark").write_text(
        "%import common.LETTER\n  %import .lib.c (y, Z)\n// %import .missing.x\n%import . b . x -> w\nstart: w y Z LETTER\n"
    )
    (tmp_path / "b.lark").write_text('%import python.NAME\nx: "x" NAME\n')
    (tmp_path / "lib" / "c.lark").write_text('%import .d.Z\ny: "y" Z\n')
    (tmp_path / "lib" / "d.lark").write_text('Z: "z"\n')
    return tmp_path


def test_imports_are_those_that_lark_reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = find_grammar(folder / "a.lark").request()
    found = find_imports(source.text, source.origin)
    assert found is not None
    assert [name for name, _ in found] == ["<lark>/common.lark", "<lark>/python.lark", "b.lark", "lib/c.lark", "lib/d.lark"]
    assert found == Grammar.parse(source).imports
    # The key does not depend on where the grammar lies or from where it is named.
    monkeypatch.chdir(folder)
    assert key_of(find_grammar("a.lark").request(), "0" * 64) == key_of(source, "0" * 64)
    assert find_imports(source.text, FileOrigin("a.lark")) == found == Grammar.parse(find_grammar("./a.lark").request()).imports
    (folder / "lib" / "d.lark").write_text('Z: "zz"\n')
    assert key_of(source, "0" * 64) != key_of(find_grammar("b.lark").request(), "0" * 64)
    assert find_imports(source.text, FileOrigin("a.lark")) != found
    (folder / "lib" / "d.lark").unlink()
    assert find_imports(source.text, FileOrigin("a.lark")) is None


def test_lark_is_not_imported_to_find_what_its_library_imports() -> None:
    program = """
import sys
from psc.compiler.frontends.lark.imports import find_imports
found = find_imports("%import lark.RULE\\n%import python.NAME\\n", "<string>")
assert [name for name, _ in found] == ["<lark>/common.lark", "<lark>/lark.lark", "<lark>/python.lark"], found
assert find_imports("%import nosuch.X\\n", "<string>") is None
assert "lark" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


class Shelf:
    """A registry of one artifact, which answers when it is let."""

    def __init__(self, data: bytes | None, error: Exception | None = None) -> None:
        self.data, self.error = data, error
        self.open = threading.Event()
        self.open.set()
        self.asked: list[str] = []

    def pull(self, store: Store, *, key: str) -> Reference:
        self.asked.append(key)
        assert self.open.wait(60)
        if self.error is not None:
            raise self.error
        if self.data is None:
            raise RegistryNotFoundError(key)
        return store.add(self.data)

    def problems(self) -> list[str]:
        return []

    def listed(self, grammar: str, tokenizer: str) -> list[Reference]:
        return []

    @property
    def urls(self) -> list[str]:
        return ["shelf"]


def test_a_registry_is_asked_when_the_store_has_nothing(tmp_path: Path) -> None:
    source = SOURCES["ebnf"]
    shelf = Shelf(artifact_bytes(Grammar.parse(source), INFO))
    compiler = psc.GrammarCompiler(INFO, store=tmp_path, registry=shelf, registry_patience_s=60)
    compiled = compiler.compile_grammar(source.text)
    assert not compiled.is_lazy
    assert shelf.asked == [key_of(source)]
    again = psc.GrammarCompiler(INFO, store=tmp_path, registry=shelf).compile_grammar(source.text)
    assert not again.is_lazy and len(shelf.asked) == 1
    assert psc.CompiledGrammar.deserialize_json(compiled.serialize_json(), INFO).grammar == again.grammar


def test_nobody_waits_for_a_slow_registry_and_what_arrives_is_used(tmp_path: Path) -> None:
    source = SOURCES["ebnf"]
    shelf = Shelf(artifact_bytes(Grammar.parse(source), INFO))
    shelf.open.clear()
    compiler = psc.GrammarCompiler(INFO, store=tmp_path, registry=shelf, registry_patience_s=0.01)
    assert compiler.compile_grammar(source.text).is_lazy
    assert compiler.compile_grammar('root ::= "other"').is_lazy
    assert len(shelf.asked) == 1  # silent: not asked for the second
    shelf.open.set()
    for thread in threading.enumerate():
        if thread.name == "psc download":
            thread.join(60)
    assert not compiler.compile_grammar(source.text).is_lazy


def test_a_registry_that_has_nothing_is_not_asked_again_at_once(tmp_path: Path) -> None:
    shelf = Shelf(None)
    compiler = psc.GrammarCompiler(INFO, store=tmp_path, registry=shelf, registry_patience_s=60, cache_enabled=False)
    for _ in range(3):
        assert compiler.compile_regex("a+").is_lazy
    assert len(shelf.asked) == 1
    assert compiler.compile_regex("b+").is_lazy
    assert len(shelf.asked) == 2


def test_a_registry_that_cannot_be_reached_is_a_warning(tmp_path: Path) -> None:
    shelf = Shelf(None, RegistryError("connection refused"))
    compiler = psc.GrammarCompiler(INFO, store=tmp_path, registry=shelf, registry_patience_s=60)
    with pytest.warns(RuntimeWarning, match="connection refused") as caught:
        assert compiler.compile_regex("a+").is_lazy
        for thread in threading.enumerate():
            if thread.name == "psc download":
                thread.join(60)
    assert caught[0].filename == __file__  # who asked, not the thread that found out
    assert "built" not in str(caught[0].message)
    assert compiler.compile_regex("b+").is_lazy
    assert len(shelf.asked) == 1


def test_a_store_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    """Which does not put the blame on the registry."""
    shelf = Shelf(None, StoreError("blobs/x: cannot write the file: No space left on device"))
    compiler = psc.GrammarCompiler(INFO, store=tmp_path, registry=shelf, registry_patience_s=60)
    with pytest.warns(RuntimeWarning, match="psc cannot keep an artifact here.*No space left") as caught:
        assert compiler.compile_regex("a+").is_lazy
    assert "registry" not in str(caught[0].message)


def test_a_store_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    key = key_of(SOURCES["ebnf"])
    (tmp_path / "keys" / f"{key}.json").mkdir(parents=True)
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        assert psc.GrammarCompiler(INFO, store=tmp_path).compile_grammar(SOURCES["ebnf"].text).is_lazy


def test_an_artifact_needs_no_import_of_lark(folder: Path, tmp_path: Path) -> None:
    """Bundled grammars and those with imports are found by their text: a serving host imports no parser for them."""
    store = Store(tmp_path / "store")
    for spec in ("json", str(folder / "a.lark")):
        store.add(artifact_bytes(Grammar.parse(find_grammar(spec).request()), INFO))
    program = f"""
import sys
sys.path[:0] = {[p for p in sys.path if p]!r}
import psc
from vocabularies import byte_tokenizer
compiler = psc.GrammarCompiler(byte_tokenizer(), store={str(store.root)!r})
for spec in ("json", {str(folder / "a.lark")!r}):
    compiled = compiler.compile_file(spec)
    assert not compiled.is_lazy
    assert psc.GrammarMatcher(compiled).mask() is not None
assert compiler.compile_file("java").is_lazy  # psc has the tables of the bundled grammars
assert "lark" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_compile_file_finds_what_the_command_line_does(tmp_path: Path) -> None:
    compiler = psc.GrammarCompiler(INFO, store=tmp_path)
    assert compiler.compile_file("sql").grammar.lexer == "basic"
    (tmp_path / "g.ebnf").write_text('top ::= "x"')
    assert compiler.compile_file(tmp_path / "g.ebnf", start="top").grammar.root == "top"
    with pytest.raises(psc.GrammarError, match=r"jsom.*Did you mean 'json'"):
        compiler.compile_file("jsom")


def test_registries_are_asked_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = SOURCES["an expression"]
    Store(tmp_path / "registry").add(artifact_bytes(Grammar.parse(source), INFO))
    (tmp_path / "empty" / "keys").mkdir(parents=True)
    (tmp_path / "bad" / "keys").mkdir(parents=True)
    (tmp_path / "bad" / "keys" / f"{key_of(source)}.json").write_text("<html>")
    folders = [str(tmp_path / name) for name in ("empty", "bad", "registry")]
    with pytest.warns(RuntimeWarning, match=r"bad/keys.*HTML"):
        assert not psc.GrammarCompiler(INFO, store=tmp_path / "a", registry=folders).compile_regex(source.text).is_lazy
    monkeypatch.setenv("PSC_REGISTRY", f"{folders[0]},{folders[2]}")
    assert not psc.GrammarCompiler(INFO, store=tmp_path / "b").compile_regex(source.text).is_lazy
    assert psc.GrammarCompiler(INFO, store=tmp_path / "c", registry=False).compile_regex(source.text).is_lazy
    assert psc.GrammarCompiler(INFO, store=tmp_path / "d", registry=folders[0]).compile_regex(source.text).is_lazy


def test_a_registry_over_http(tmp_path: Path) -> None:
    source = SOURCES["lark"]
    with server(tmp_path / "registry") as url:
        Store(tmp_path / "registry").add(artifact_bytes(Grammar.parse(source), INFO))
        compiler = psc.GrammarCompiler(INFO, store=tmp_path / "store", registry=url, registry_patience_s=60)
        assert not compiler.compile_lark(source.text).is_lazy
    # Gone; what was downloaded stays, and nobody waits for the rest.
    again = psc.GrammarCompiler(INFO, store=tmp_path / "store", registry=url, registry_patience_s=60)
    assert not again.compile_lark(source.text).is_lazy
    with pytest.warns(RuntimeWarning, match="asks none again"):
        assert again.compile_regex("a").is_lazy


@pytest.mark.parametrize("how", ["argument", "several", "environment", "folder", "object"])
def test_without_a_store_downloads_are_kept_while_the_compiler_lives(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "registry"
    Store(root).add(artifact_bytes(Grammar.parse(SOURCES["an expression"]), INFO))
    Store(root).write_index()
    monkeypatch.setenv("PSC_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    caplog.set_level("INFO", "psc.artifacts")
    with server(root) as url:
        if how == "environment":
            monkeypatch.setenv("PSC_REGISTRY", url)
        registry: Any = {"argument": url, "several": ["http://127.0.0.1:9", url], "environment": None, "folder": str(root)}.get(how)
        if how == "object":
            registry = Registries([url])
        compiler = psc.GrammarCompiler(INFO, store=False, registry=registry, registry_patience_s=20)
        with warnings.catch_warnings():
            warnings.simplefilter("error" if how != "several" else "ignore")
            compiled = compiler.compile_grammar(SOURCES["an expression"])
            assert not compiled.is_lazy
            compiler.clear_cache()
            again = compiler.compile_grammar(SOURCES["an expression"])
        assert not again.is_lazy and pickle.loads(pickle.dumps(compiled)).fingerprint == INFO.fingerprint
        assert compiler.compile_grammar(SOURCES["ebnf"]).is_lazy, "which the registry does not have"
    assert "downloads are kept" in caplog.text and not (tmp_path / "store").exists()
    with pytest.raises(ValueError, match="store=False"):
        compiler.finish(compiled)
    assert len(list((tmp_path / "tmp").iterdir())) == 1
    del compiler, compiled, again
    gc.collect()
    assert not list((tmp_path / "tmp").iterdir())


def test_without_a_store_a_dead_registry_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in ("http://127.0.0.1:9", str(tmp_path / "no-such-folder"), ["http://127.0.0.1:9", str(tmp_path / "neither")]):
        with pytest.warns(RuntimeWarning, match="no registry answered"):
            assert psc.GrammarCompiler(INFO, store=False, registry=registry).compile_grammar(SOURCES["an expression"]).is_lazy
    monkeypatch.setenv("PSC_REGISTRY", "http://127.0.0.1:9")
    with pytest.warns(RuntimeWarning, match="no registry answered"):
        assert psc.GrammarCompiler(INFO, store=False).compile_grammar(SOURCES["an expression"]).is_lazy
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert psc.GrammarCompiler(INFO, store=False, registry=False).compile_grammar(SOURCES["an expression"]).is_lazy


def test_without_a_store_and_a_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> str:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.warns(RuntimeWarning, match="set TMPDIR"):
        compiler = psc.GrammarCompiler(INFO, store=False, registry="http://127.0.0.1:9")
    assert compiler.compile_grammar(SOURCES["an expression"]).is_lazy


MODES = [(0o777, True), (0o1777, True), (0o702, True), (0o775, False), (0o755, False), (0o700, False)]


@pytest.mark.parametrize(("mode", "warns"), MODES)
def test_a_store_that_everybody_may_write(mode: int, warns: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store").chmod(mode)
    psc.GrammarCompiler(INFO, store=tmp_path / "store", registry=False)
    assert caplog.text.count("may write into this store") == warns
    psc.GrammarCompiler(INFO, store=tmp_path / "absent", registry=False)
    psc.GrammarCompiler(INFO, store="/dev/null", registry=False)
    assert caplog.text.count("may write into this store") == warns
