"""A compilation that another thread calls off: wherever it is, nothing half is kept, and nobody else is hurt."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vocabularies import byte_tokenizer

import psc
from psc import _core
from psc.artifacts.store import Store
from psc.grammars import cache, grammar_compiler

INFO = byte_tokenizer()
LARK = 'start: (word | number)+\nword: "if" NAME | NAME "=" number\nnumber: /[0-9]{1,3}/\nNAME: /[a-z]+/\n%ignore " "\n'
EBNF = 'root ::= "[" (item ("," item)*)? "]"\nitem ::= [a-z]{2,40} | "\\"" [^"]* "\\"" | root\n'
SCHEMA: Any = {
    "type": "object",
    "properties": {
        "at": {"type": "string", "format": "date"},
        "code": {"type": "string", "pattern": "^[A-Z]{2}(-[0-9]{1,4}){1,3}$", "maxLength": 9},
        "size": {"type": "number", "minimum": 0.5, "multipleOf": 0.25},
        "of": {"oneOf": [{"properties": {"k": {"const": i}, "v": {"type": "integer"}}, "required": ["k"]} for i in range(4)]},
        "tags": {"type": "array", "contains": {"enum": ["a", "b"]}, "maxContains": 2, "items": {"maxLength": 3}},
        "inner": {"$ref": "#"},
    },
    "required": ["at"],
    "unevaluatedProperties": False,
}
NEVER: Any = {"$ref": "https://example.com/other", "title": "not reached"}

Compile = Callable[[psc.GrammarCompiler, "psc.Cancellation | None"], psc.CompiledGrammar]
COMPILATIONS: dict[str, Compile] = {
    "schema": lambda compiler, c: compiler.compile_json_schema(SCHEMA, cancellation=c),
    "schema, any order": lambda compiler, c: compiler.compile_json_schema(SCHEMA, any_order=True, cancellation=c),
    "ebnf": lambda compiler, c: compiler.compile_grammar(EBNF, cancellation=c),
    "regex": lambda compiler, c: compiler.compile_regex(r"(a|b)*a(a|b){6}", cancellation=c),
    "lark": lambda compiler, c: compiler.compile_lark(LARK, cancellation=c),
    "json": lambda compiler, c: compiler.compile_builtin_json_grammar(cancellation=c),
    "file": lambda compiler, c: compiler.compile_file("json", cancellation=c),
    "grammar": lambda compiler, c: compiler.compile_grammar(psc.Grammar.from_ebnf(EBNF), cancellation=c),
    "ahead of time": lambda compiler, c: psc.compile_ahead_of_time(psc.Grammar.from_ebnf(EBNF), INFO, cancellation=c),
    "ahead of time, lexer": lambda compiler, c: psc.compile_ahead_of_time(psc.Grammar.from_lark(LARK), INFO, cancellation=c),
}


def after(looks: int) -> psc.Cancellation:
    """A cancellation that is called off by itself the so-manieth time that a compilation looks at it."""
    cancellation = psc.Cancellation()
    cancellation._flag = _core.Cancellation(after_checks=looks)
    return cancellation


def first_masks(compiled: psc.CompiledGrammar, steps: int = 12) -> list[np.ndarray[Any, Any]]:
    """The masks along the greatest allowed tokens."""
    matcher, masks = psc.GrammarMatcher(compiled), []
    while len(masks) < steps and not matcher.is_terminated():
        masks.append(np.copy(matcher.mask()))
        assert matcher.accept_token(int(matcher.allowed_tokens()[-1]))
    return masks


def same_masks(a: psc.CompiledGrammar, b: psc.CompiledGrammar) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(first_masks(a), first_masks(b), strict=True))


@pytest.mark.parametrize("name", COMPILATIONS)
def test_whichever_look_it_is_called_off_at_nothing_half_is_kept(name: str) -> None:
    compiler = psc.GrammarCompiler(INFO, store=False)
    expected = COMPILATIONS[name](psc.GrammarCompiler(INFO, store=False), None)
    looks, stopped = 0, 0
    while True:
        try:
            made = COMPILATIONS[name](compiler, after(looks))
            break
        except psc.CompilationCancelledError as e:
            assert str(e) == "the compilation was cancelled"
            assert compiler.get_cache_size_bytes() == 0
            stopped += 1
        looks += 1 + looks // 4
    assert stopped > 3
    assert same_masks(made, expected)


@pytest.mark.parametrize("name", COMPILATIONS)
def test_what_was_called_off_before_does_not_begin(name: str) -> None:
    compiler, cancellation = psc.GrammarCompiler(INFO, store=False), psc.Cancellation()
    assert not cancellation.cancelled
    COMPILATIONS[name](compiler, cancellation)  # one may be given to several
    cancellation.cancel()
    cancellation.cancel()
    assert cancellation.cancelled
    with pytest.raises(psc.CompilationCancelledError):
        COMPILATIONS[name](psc.GrammarCompiler(INFO, store=False), cancellation)
    COMPILATIONS[name](compiler, psc.Cancellation())


def test_from_another_thread() -> None:
    """The resolver waits in the middle of the schema, without which nothing would tell that the compilation has begun."""
    begun, cancellation = threading.Event(), psc.Cancellation()

    def resolver(uri: str) -> str:
        begun.set()
        while not cancellation.cancelled:
            pass
        return json.dumps(SCHEMA)

    def call_off() -> None:
        begun.wait()
        cancellation.cancel()

    thread = threading.Thread(target=call_off)
    thread.start()
    with pytest.raises(psc.CompilationCancelledError):
        psc.GrammarCompiler(INFO, store=False).compile_json_schema(NEVER, resolver=resolver, cancellation=cancellation)
    thread.join()
    assert not _core.obeys()  # the thread that was called off obeys nobody any more
    psc.GrammarCompiler(INFO, store=False).compile_json_schema(SCHEMA)


def test_a_cancellation_is_of_its_own_compilation() -> None:
    """One that is made inside of another, by the resolver, obeys its own; then the outer one goes on with its own."""
    compiler, inner = psc.GrammarCompiler(INFO, store=False), psc.Cancellation()
    inner.cancel()

    def resolver(uri: str) -> str:
        with pytest.raises(psc.CompilationCancelledError):
            compiler.compile_grammar(EBNF, cancellation=inner)
        return '{"type": "integer"}'

    compiled = compiler.compile_json_schema(NEVER, resolver=resolver, cancellation=psc.Cancellation())
    assert psc.GrammarMatcher(compiled).accept_string("12")


class _Held:
    """Holds up the first compilation behind its front end until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.waiting, self.go = threading.Event(), threading.Event(), threading.Event()
        self.calls = 0
        compile_just_in_time, wait = grammar_compiler.compile_just_in_time, cache.result_unless_cancelled

        def held(*args: Any, **kwargs: Any) -> psc.CompiledGrammar:
            self.calls += 1
            if self.calls == 1:
                self.entered.set()
                assert self.go.wait(60)
                _core.stop_if_cancelled()
            return compile_just_in_time(*args, **kwargs)

        def watched(*args: Any, **kwargs: Any) -> Any:
            self.waiting.set()
            return wait(*args, **kwargs)

        monkeypatch.setattr(grammar_compiler, "compile_just_in_time", held)
        monkeypatch.setattr(cache, "result_unless_cancelled", watched)


class _Thread(threading.Thread):
    """A compilation of one grammar in a thread, and how that went."""

    def __init__(self, compiler: psc.GrammarCompiler, cancellation: psc.Cancellation | None) -> None:
        super().__init__(daemon=True)
        self.result: object = None
        self._job = compiler, cancellation
        self.start()

    def run(self) -> None:
        compiler, cancellation = self._job
        try:
            self.result = compiler.compile_grammar(EBNF, cancellation=cancellation)
        except psc.PscError as e:
            self.result = e

    def outcome(self) -> object:
        self.join(60)
        return self.result


def test_who_waits_for_what_is_called_off_compiles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held, compiler = _Held(monkeypatch), psc.GrammarCompiler(INFO, store=False)
    cancellation = psc.Cancellation()
    first = _Thread(compiler, cancellation)
    assert held.entered.wait(60)
    second = _Thread(compiler, psc.Cancellation())
    assert held.waiting.wait(60)
    cancellation.cancel()
    held.go.set()
    assert isinstance(first.outcome(), psc.CompilationCancelledError)
    assert isinstance(second.outcome(), psc.CompiledGrammar)
    assert held.calls == 2
    assert compiler.compile_grammar(EBNF) is second.result


def test_who_waits_can_be_called_off_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    held, compiler = _Held(monkeypatch), psc.GrammarCompiler(INFO, store=False)
    first = _Thread(compiler, None)
    assert held.entered.wait(60)
    cancellation = psc.Cancellation()
    second = _Thread(compiler, cancellation)
    assert held.waiting.wait(60)
    cancellation.cancel()
    assert isinstance(second.outcome(), psc.CompilationCancelledError)  # while the first goes on
    held.go.set()
    assert isinstance(first.outcome(), psc.CompiledGrammar)
    assert compiler.compile_grammar(EBNF) is first.result


def test_what_is_finished_in_the_background_can_be_called_off(tmp_path: Path) -> None:
    compiler = psc.GrammarCompiler(INFO, store=tmp_path)
    compiled = compiler.compile_grammar(EBNF)
    with pytest.raises(psc.CompilationCancelledError):
        compiler.finish(compiled, cancellation=after(20)).result(60)
    assert not Store(tmp_path).references()
    assert compiler.finish(compiled, cancellation=psc.Cancellation()).result(60).is_file()


def test_waiting_for_a_registry_is_called_off(tmp_path: Path) -> None:
    asked, go, cancellation = threading.Event(), threading.Event(), psc.Cancellation()

    class Slow:
        urls = ("slow",)

        def pull(self, store: object, *, key: str) -> object:
            asked.set()
            assert go.wait(60)
            raise psc.RegistryNotFoundError("nobody has it")

        def problems(self) -> list[str]:
            return []

        def listed(self, grammar: str, tokenizer: str) -> list[object]:
            return []

    registry: Any = Slow()
    compiler = psc.GrammarCompiler(INFO, store=tmp_path, registry=registry, registry_patience_s=600)
    thread = _Thread(compiler, cancellation)
    assert asked.wait(60)
    cancellation.cancel()
    assert isinstance(thread.outcome(), psc.CompilationCancelledError)
    go.set()


@pytest.mark.parametrize(
    "text",
    [
        "start: " + '"a" ' * 40 + ")\n",
        'start: A B\nA: "a" /b+/i\nB: A "c" | "d".."e"\n',
        "start: A\nA: /" + "ab[c-e]?" * 200 + "/i\n",
    ],
    ids=["malformed", "terminals", "a long regex"],
)
def test_whatever_reads_a_lark_text_it_is_never_wrong_when_it_is_called_off(text: str) -> None:
    outcomes = set()
    for looks in [*range(120), *range(120, 6000, 97), 10**9]:
        try:
            psc.GrammarCompiler(INFO, store=False).compile_lark(text, cancellation=after(looks))
            outcomes.add("compiled")
        except psc.CompilationCancelledError:
            outcomes.add("called off")
        except psc.GrammarError as e:
            outcomes.add(str(e))
    assert "called off" in outcomes and len(outcomes) == 2, outcomes


_IMPORTS = """
import importlib, pkgutil
import psc
from psc import _core

cancellation = psc.Cancellation()
block = _core.Obeying(cancellation._flag)
block.__enter__()
cancellation.cancel()
for room in "artifacts", "compiler", "grammars", "requests", "rule_records", "support", "tool_calls", "vocabulary":
    path = importlib.import_module(f"psc.{room}").__path__
    for module in pkgutil.walk_packages(path, f"psc.{room}."):
        importlib.import_module(module.name)
print("imported")
"""


def test_no_import_is_called_off() -> None:
    """Another thread that imports the same module goes on with half of it: an ImportError of what nobody cancelled."""
    ran = subprocess.run([sys.executable, "-c", _IMPORTS], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout) == (0, "imported\n"), ran.stderr[-2000:]
