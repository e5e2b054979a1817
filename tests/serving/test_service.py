"""The grammars of an engine's requests: kinds, validation, fallback, counters, warm-up, limits."""

import json
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from lark.load_grammar import PrepareLiterals
from vocabularies import byte_tokenizer

import psc
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import (
    CompilationCancelledError,
    GrammarError,
    InvalidStructuralTagError,
    PscError,
    ResourceLimitError,
    StoreError,
)
from psc.serving import REFUSALS, GrammarService, ServiceOptions
from psc.serving.deadlines import Deadlines
from psc.serving.handed_over import HandedOver
from psc.serving.kinds import KINDS, is_lark
from psc.serving.metrics_server import MetricsServer
from psc.serving.validation import ValidationCache, check_request

INFO = byte_tokenizer()
TAG = {
    "type": "structural_tag",
    "format": {"type": "tag", "begin": "<f>", "content": {"type": "regex", "pattern": "a+"}, "end": "</f>"},
}
LEGACY = {"structures": [{"begin": "<f>", "schema": {"type": "boolean"}, "end": "</f>"}], "triggers": ["<f>"]}


def service(**options: Any) -> GrammarService:
    return GrammarService(INFO, options=ServiceOptions.of(options, {}))


def takes(grammar: psc.CompiledGrammar, text: str) -> bool:
    matcher = psc.GrammarMatcher(grammar)
    return matcher.accept_string(text) and matcher.is_completed()


class TestKinds:
    @pytest.mark.parametrize(
        "kind, text, yes, no",
        [
            ("json", '{"type": "integer"}', "12", "x"),
            ("json_object", "", '{"a": [1]}', "[]"),
            ("json_object", "whatever", "{}", "1"),
            ("regex", "a+b", "aab", "a"),
            ("choice", '["one", "t\\"wo\\n", ""]', 't"wo\n', "on"),
            ("choice", '["one", "two", ""]', "", "o"),
            ("ebnf", 'root ::= "a" | "b"', "b", "c"),
            ("lark", 'start: "a" | "b"', "b", "c"),
            ("lark", 'start: "a" %json {"type": "boolean"}', "atrue", "a"),
            ("grammar", 'root ::= "a"', "a", "b"),
            ("grammar", 'start: "a"  // ::=', "a", "b"),
            ("grammar", "json", "[1]", "1"),
            ("structural_tag", json.dumps(TAG), "<f>aa</f>", "<f></f>"),
            ("structural_tag", json.dumps(LEGACY), "say <f>true</f>", "<f>x</f>"),
            ("structural_tag", json.dumps({"type": "structural_tag", **LEGACY}), "say <f>true</f>", "<f>x</f>"),
        ],
    )
    def test_each(self, kind: Any, text: str, yes: str, no: str) -> None:
        serving = service()
        serving.validate(kind, text)
        compiled = serving.compile(kind, text)
        assert takes(compiled, yes) and not takes(compiled, no)

    def test_all_are_there(self) -> None:
        assert set(KINDS) == {"json", "json_object", "regex", "choice", "ebnf", "lark", "grammar", "structural_tag"}

    @pytest.mark.parametrize("text", ["{", "{}", "[]", "[1]", '"a"', '["\\ud800"]'])
    def test_choices_that_are_none(self, text: str) -> None:
        for ask in (service().compile, service().validate):
            with pytest.raises(GrammarError, match="choice"):
                ask("choice", text)

    def test_no_such_kind(self) -> None:
        with pytest.raises(GrammarError, match="no kind of request 'xml'; there are json,"):
            service().compile("xml", "")  # type: ignore[arg-type]

    def test_lark_and_ebnf(self) -> None:
        assert is_lark('start: "a"') and not is_lark('root ::= "a"') and is_lark("start: A # ::=") and is_lark('start: "::="')
        assert is_lark('%ignore /::=/\nstart: "a"') and is_lark('start: "a"\n  | /::=#/') and is_lark("// a / b ::=\nstart: A")
        assert not is_lark('// a / b\nroot ::= [/] "//" [/]') and not is_lark("# a\nroot\n::= [^/]")

    def test_how_json_is_written(self) -> None:
        schema = '{"type": "array", "items": {"type": "boolean"}}'
        assert takes(service().compile("json", schema), "[ true ,\n false]")
        none = service(any_whitespace=False).compile("json", schema)
        assert takes(none, "[true,false]") and not takes(none, "[true, false]")
        spaced = service(any_whitespace=False, spaced=True).compile("json", schema)
        assert takes(spaced, "[true, false]") and not takes(spaced, "[true,false]")
        little = service(max_whitespace=1).compile("json", schema)
        assert takes(little, "[ true]") and not takes(little, "[  true]")


class TestValidation:
    def test_each_text_is_read_once(self) -> None:
        serving = service()
        for _ in range(3):
            serving.validate("regex", "a+")
            with pytest.raises(GrammarError, match="is not closed"):
                serving.validate("regex", "(a+")
        counted = serving.snapshot()
        assert counted["validations.regex"] == 2
        assert counted["validation_hits.regex"] == 2

    def test_an_error_is_the_callers_own(self) -> None:
        serving = service()
        errors = []
        for _ in range(2):
            with pytest.raises(GrammarError) as caught:
                serving.validate("regex", "(")
            errors.append(caught.value)
        assert errors[0] is not errors[1] and str(errors[0]) == str(errors[1])

    def test_two_that_ask_at_once(self) -> None:
        begun, go, read = threading.Semaphore(0), threading.Event(), []

        def check(kind: str, text: str) -> None:
            read.append(text)
            begun.release()
            assert go.wait(30)
            if text == "bad":
                raise GrammarError("it is bad")

        cache = ValidationCache(check, 8)
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(cache.validate, "regex", text) for text in ("good", "bad") for _ in range(4)]
            assert begun.acquire(timeout=30) and begun.acquire(timeout=30)
            go.set()
            failed = [f for f in asked if f.exception() is not None]
        assert sorted(read) == ["bad", "good"]
        assert len(failed) == 4 and all(str(f.exception()) == "it is bad" for f in failed)

    def test_what_is_no_fact_about_the_text_is_not_remembered(self) -> None:
        fails: list[type[Exception]] = [MemoryError, StoreError, CompilationCancelledError]

        def check(kind: str, text: str) -> None:
            if fails:
                raise fails.pop()

        cache = ValidationCache(check, 8)
        for error in reversed(fails[:]):
            with pytest.raises(error):
                cache.validate("regex", "a")
        assert not cache.validate("regex", "a")
        assert cache.validate("regex", "a")

    def test_memory_that_runs_out_within_a_terminal_is_not_remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def raising(*arguments: object) -> None:
            raise MemoryError

        serving = service()
        with monkeypatch.context() as patch:
            patch.setattr(PrepareLiterals, "literal", raising)
            with pytest.raises(MemoryError):
                serving.validate("lark", 'start: A\nA: "a" /b/')
        serving.validate("lark", 'start: A\nA: "a" /b/')

    def test_the_oldest_are_forgotten(self) -> None:
        read: list[str] = []
        cache = ValidationCache(lambda kind, text: read.append(text), 2)
        for text in "abacab":
            cache.validate("regex", text)
        assert read == ["a", "b", "c", "b"]

    def test_what_was_validated_is_not_read_again_to_be_compiled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read = []
        parse = GrammarRequest.parse
        monkeypatch.setattr(GrammarRequest, "parse", lambda request, names=None: read.append(request) or parse(request, names))
        serving = service()
        schema = '{"type": "integer", "minimum": 7}'
        serving.validate("json", schema)
        assert takes(serving.compile("json", schema), "7") and len(read) == 1
        assert takes(service().compile("json", schema), "8") and len(read) == 2  # handed over once

    def test_what_others_validate_is_not_held_forever(self) -> None:
        held = HandedOver(2)
        grammars = [psc.Grammar.from_json_schema({"const": i}) for i in range(3)]
        for grammar in grammars:
            held.give(grammar)
        assert [held.take(grammar.request) for grammar in grammars] == [None, *grammars[1:]]
        assert held.take(grammars[1].request) is None

    @pytest.mark.parametrize(
        "kind, text",
        [
            ("structural_tag", json.dumps({"type": "structural_tag", "format": {"type": "token", "token": "<nobody knows>"}})),
            ("grammar", 'root ::= Token("<nobody knows>") !<other> ExcludeToken(7, "x")'),
            ("grammar", 'start: <nobody_knows> <[7]> <[^8]> "x"'),
        ],
    )
    def test_without_a_vocabulary_tokens_are_not_looked_up(self, kind: Any, text: str) -> None:
        check_request(kind, text, ServiceOptions(), None)
        with pytest.raises(PscError, match="nobody"):
            check_request(kind, text, ServiceOptions(), INFO)

    @pytest.mark.parametrize(
        "kind, text",
        [
            ("structural_tag", "{}"),
            ("grammar", 'root ::= Token("x") y'),
            ("grammar", "start: <x> y"),
            ("grammar", "root ::= Token(-1)"),
        ],
    )
    def test_without_a_vocabulary_the_rest_is_read(self, kind: Any, text: str) -> None:
        with pytest.raises(PscError):
            check_request(kind, text, ServiceOptions(), None)


class TestFallback:
    def test_refusals_are_counted_and_told_once(self, caplog: pytest.LogCaptureFixture) -> None:
        serving = service(fallback="engine")
        for _ in range(3):
            assert serving.compile_or_fall_back("regex", "(", lambda: "theirs") == "theirs"
        assert serving.compile_or_fall_back("structural_tag", "{}", lambda: "theirs") == "theirs"
        assert isinstance(serving.compile_or_fall_back("regex", "a", lambda: "theirs"), psc.CompiledGrammar)
        told = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
        assert len(told) == 2 and "kind regex goes to the engine's own backend" in told[0] and "is not closed" in told[0]
        counted = serving.snapshot()
        assert counted["fallbacks.regex"] == 3 and counted["refused.regex"] == 3 and counted["fallbacks.structural_tag"] == 1

    def test_closed_by_default(self) -> None:
        with pytest.raises(GrammarError):
            service().compile_or_fall_back("regex", "(", lambda: "theirs")
        with pytest.raises(InvalidStructuralTagError):
            service().compile_or_fall_back("structural_tag", "{}", lambda: "theirs")

    def test_the_engines_refusal_is_shown(self) -> None:
        def theirs() -> str:
            raise KeyError("neither can they")

        with pytest.raises(KeyError, match="neither can they"):
            service(fallback="engine").compile_or_fall_back("regex", "(", theirs)


class TestCounters:
    def test_compilations_and_hits(self) -> None:
        serving = service()
        for _ in range(3):
            serving.compile("regex", "a+")
        counted = serving.snapshot()
        assert counted["compilations.regex"] == 1 and counted["cache_hits.regex"] == 2
        assert counted["compile_seconds.regex"] > 0 and counted["cache_bytes"] > 0

    def test_in_prometheus_format(self) -> None:
        serving = service()
        serving.compile("regex", "a+")
        serving.counters.add("masks", amount=7)
        text = serving.counters.prometheus_text()
        assert '# TYPE psc_compilations_total counter\npsc_compilations_total{kind="regex"} 1\n' in text
        assert "psc_masks_total 7\n" in text
        assert "# TYPE psc_failures_total counter\npsc_failures_total 0\n" in text, "an alarm sees the first one"
        assert "psc_refused_total" not in text, "whose kinds are not known before"

    def test_over_http(self) -> None:
        serving = service(metrics="0")
        serving.compile("regex", "a+")
        assert serving.metrics is not None
        address = f"http://127.0.0.1:{serving.metrics.port}"
        try:
            with urlopen(f"{address}/metrics", timeout=30) as answer:
                text = answer.read().decode()
            with pytest.raises(HTTPError, match="404"):
                urlopen(f"{address}/", timeout=30)
            # Another process of the engine takes the next port.
            other = MetricsServer(str(serving.metrics.port), lambda: "x 1\n")
            assert other.port > serving.metrics.port
            other.close()
        finally:
            serving.close()
        assert 'psc_compilations_total{kind="regex"} 1' in text and "psc_cache_bytes " in text


class TestLimits:
    def test_a_compilation_that_takes_too_long(self) -> None:
        large = json.dumps({"enum": [i * 7919 for i in range(1_000_000)]})
        serving = service(compile_timeout_s=0.25)
        with pytest.raises(ResourceLimitError, match=r"longer than 0\.25 s, the option compile_timeout_s"):
            serving.compile("json", large)
        assert serving.compile("regex", "a") and serving.snapshot()["refused.json"] == 1

    def test_deadlines_end_their_thread(self) -> None:
        deadlines = Deadlines(0.05)
        with deadlines.watch() as first, deadlines.watch() as second:
            pass
        with deadlines.watch() as late:
            end = time.monotonic() + 30
            while not late.cancelled and time.monotonic() < end:
                time.sleep(0.01)
            assert late.cancelled
        assert not first.cancelled and not second.cancelled
        while deadlines._thread is not None and time.monotonic() < end:
            time.sleep(0.01)
        assert deadlines._thread is None

    def test_what_is_kept_is_trimmed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("psc.serving.service._TRIM_EVERY_S", 0.0)
        serving = service(cache_mb=0)
        first = serving.compile("regex", "a+")
        serving.compile("regex", "b+")
        assert serving.compile("regex", "a+") is not first
        assert takes(first, "aa")

    @pytest.mark.parametrize("masks, has_first, visited", [(0, False, 0), (1, False, 1), (1, True, 0), (3, True, 3)])
    def test_masks_are_built_ahead_of_what_admission_made(self, masks: int, has_first: bool, visited: int) -> None:
        """By the thread as many as the options say; none where admission made the one that is wanted, none by compiling."""
        serving = service(masks_ahead=masks)
        compiled = serving.compile("json", '{"type": "array", "items": {"type": "string"}}')
        assert compiled._machine.counts()["visited_lexer_states"] == 0
        serving.build_ahead(compiled, has_first=has_first)
        assert compiled.wait_until_warm(60)
        assert compiled._machine.counts()["visited_lexer_states"] == visited


class TestArtifacts:
    def test_no_folder_is_touched_by_default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.delenv("PSC_STORE", raising=False)
        serving = service()
        serving.compile("lark", 'start: "a"')
        serving.compile("regex", "a")
        assert list(tmp_path.iterdir()) == []

    def test_a_read_only_store(self, tmp_path: Path) -> None:
        store = tmp_path / "store"
        maker = psc.GrammarCompiler(INFO, store=store)
        maker.finish(maker.compile_regex("ab+")).result(60)
        files = sorted(tmp_path.rglob("*"))
        for path in [*files, store]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        try:
            serving = service(store=str(store))
            assert not serving.compile("regex", "ab+").is_lazy
            assert takes(serving.compile("lark", 'start: "a"'), "a")
            assert serving.snapshot()["artifacts.regex"] == 1
        finally:
            for path in [store, *files]:
                path.chmod(0o755 if path.is_dir() else 0o644)


class TestWarmUp:
    def test_what_is_named_is_compiled(self, tmp_path: Path) -> None:
        schema, tag, ebnf = '{"type": "boolean"}', json.dumps(TAG), 'root ::= "a"'
        files = {"schema.json": schema, "tag.json": tag, "list.ebnf": ebnf}
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        serving = service(warm=["json", *(str(tmp_path / name) for name in files)])
        assert serving.wait_until_warm(60) and serving.warm_up_failures == {}
        assert serving.snapshot()["compilations.warm_up"] == 4
        for kind, text in (("json", schema), ("structural_tag", tag), ("ebnf", ebnf)):
            serving.compile(kind, text)  # type: ignore[arg-type]
        assert serving.snapshot()["cache_hits.json"] == 1
        assert serving.snapshot()["cache_hits.structural_tag"] == 1

    def test_what_is_broken_is_named(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "bad.ebnf").write_text("root ::= (")
        (tmp_path / "bytes.json").write_bytes(b"\xff")
        serving = service(warm=[str(tmp_path / "bad.ebnf"), "nothing.lark", str(tmp_path / "bytes.json"), "json"])
        assert serving.wait_until_warm(60)
        assert len(serving.warm_up_failures) == 3
        assert "bad.ebnf is not compiled in advance" in caplog.text and "nothing.lark: no such file" in caplog.text
        assert serving.snapshot()["compilations.warm_up"] == 1

    def test_refusals_are_what_psc_raises(self) -> None:
        assert GrammarError in REFUSALS and InvalidStructuralTagError in REFUSALS
