"""GrammarCompiler: one grammar is compiled once, what is kept is bounded, artifacts come first; and compiled grammars as JSON."""

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vocabularies import byte_tokenizer, tokenizer

import psc
from psc.compiler.pipeline import build
from psc.grammars import grammar_compiler
from psc.vocabulary.tokenizer_info import TokenizerInfo

INFO = byte_tokenizer()
EBNF = 'root ::= "[" (item ("," item)*)? "]"\nitem ::= [a-z]+ | "\\"" [^"]* "\\"" | root\n'
LARK = 'start: "if" NAME | NAME "=" NAME\nNAME: /[a-z]+/\n%ignore " "\n'
REGEX = r"(\d{1,3}\.){3}\d{1,3}"
AMBIGUOUS = 'start: e\ne: e "+" e | "x"\n'


def compiled(compiler: psc.GrammarCompiler, language: str) -> psc.CompiledGrammar:
    if language == "ebnf":
        return compiler.compile_grammar(EBNF)
    if language == "regex":
        return compiler.compile_regex(REGEX)
    if language == "json":
        return compiler.compile_builtin_json_grammar()
    if language == "keep all":
        return compiler.compile_lark(AMBIGUOUS, keep_all_actions=True)
    return compiler.compile_lark(LARK, lexer="basic" if language == "lark basic" else "contextual")


LANGUAGES = ["ebnf", "regex", "json", "lark", "lark basic", "keep all"]
TEXTS = {
    "ebnf": '[a,"b",[]]',
    "regex": "10.0.255.1",
    "json": '{"a": [1, null]}',
    "lark": "a = b",
    "lark basic": "if x",
    "keep all": "x+x+x",
}


def assert_same_masks(a: psc.CompiledGrammar, b: psc.CompiledGrammar, text: str) -> None:
    x, y = psc.GrammarMatcher(a), psc.GrammarMatcher(b)
    for byte in text.encode():
        assert np.array_equal(x.mask(), y.mask())
        assert x.accept_token(byte)
        assert y.accept_token(byte)
    assert np.array_equal(x.mask(), y.mask())
    assert x.is_completed()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_grammar_is_compiled_once(language: str) -> None:
    compiler = psc.GrammarCompiler(INFO)
    first = compiled(compiler, language)
    assert compiled(compiler, language) is first
    assert first.is_lazy
    assert first.tokenizer_info == INFO
    assert psc.GrammarMatcher(first).accept_string(TEXTS[language])
    compiler.clear_cache()
    assert compiler.get_cache_size_bytes() == 0
    assert compiled(compiler, language) is not first
    assert psc.GrammarMatcher(first).accept_string(TEXTS[language])
    assert compiled(psc.GrammarCompiler(INFO, cache_enabled=False), language) is not first


def test_options_and_roots_are_part_of_what_is_asked_for() -> None:
    compiler = psc.GrammarCompiler(INFO)
    assert compiler.compile_lark(LARK) is not compiler.compile_lark(LARK, lexer="basic")
    both = 'root ::= "a"\nother ::= "b"\n'
    assert psc.GrammarMatcher(compiler.compile_grammar(both)).accept_string("a")
    assert psc.GrammarMatcher(compiler.compile_grammar(both, root_rule_name="other")).accept_string("b")


def test_lexers_differ_where_they_should() -> None:
    compiler = psc.GrammarCompiler(INFO)
    assert psc.GrammarMatcher(compiler.compile_lark(LARK)).accept_string("if = x") is False  # "if" can be taken there, and wins
    names = 'start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "\n'
    for lexer, a_name in (("contextual", True), ("basic", False)):
        matcher = psc.GrammarMatcher(compiler.compile_lark(names, lexer=lexer))
        assert matcher.accept_string("if if")  # it may still become a longer name
        assert matcher.is_completed() is a_name


def test_several_threads_compile_one_grammar_once() -> None:
    compiler = psc.GrammarCompiler(INFO)
    results: list[psc.CompiledGrammar] = []
    threads = [threading.Thread(target=lambda: results.append(compiler.compile_grammar(EBNF))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 8
    assert len(set(map(id, results))) == 1


def test_an_error_is_not_kept() -> None:
    compiler = psc.GrammarCompiler(INFO)
    for _ in range(2):
        with pytest.raises(psc.GrammarError, match="nowhere"):
            compiler.compile_grammar("root ::= nowhere\n")
    assert compiler.get_cache_size_bytes() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((INFO, -2), "cache_limit_bytes=-2")],
)
def test_bad_arguments(arguments: tuple, message: str) -> None:
    info, *limit = arguments
    with pytest.raises(ValueError, match=message):
        psc.GrammarCompiler(info, **({"cache_limit_bytes": limit[0]} if limit else {}))
    with pytest.raises(TypeError, match="EBNF text or a Grammar"):
        psc.GrammarCompiler(INFO).compile_grammar(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="by its name or path, not by NoneType"):
        psc.GrammarCompiler(INFO).compile_file(None)  # type: ignore[arg-type]


def test_the_cache_stays_within_its_limit() -> None:
    limit = 400_000
    info = byte_tokenizer("of this test")  # grammars of other tests add to the index of a vocabulary that they share
    compiler = psc.GrammarCompiler(info, cache_limit_bytes=limit)
    free = psc.GrammarCompiler(info)
    largest = 0
    for i in range(30):
        text = EBNF.replace("[a-z]", f"[a-z{i % 10}]").replace("item", f"item{i}")
        bounded, whole = compiler.compile_grammar(text), free.compile_grammar(text)
        assert_same_masks(bounded, whole, TEXTS["ebnf"])
        largest = max(largest, compiler.get_cache_size_bytes())
    assert free.get_cache_size_bytes() > limit
    assert largest < 1.5 * limit  # what is being built comes on top


def test_what_is_never_dropped_counts() -> None:
    """A lexer that texts have built stays when masks are dropped, so grammars go instead."""
    schema = {"type": "object", "properties": {f"member_{i}": {"type": "string", "pattern": "^[a-z]{1,20}$"} for i in range(6)}}
    text = json.dumps({name: "abcdef" for name in schema["properties"]})
    info = byte_tokenizer("of this one")
    free = psc.GrammarCompiler(info, store=False).compile_json_schema(schema)
    before = free._machine.table_bytes
    assert psc.GrammarMatcher(free).accept_string(text)
    kept = free._machine.table_bytes
    assert kept > 2 * before
    free._machine.clear()
    assert free._machine.table_bytes == kept and free.memory_size_bytes >= kept
    limit = 6 * kept
    compiler = psc.GrammarCompiler(info, cache_limit_bytes=limit, store=False)
    for i in range(30):
        bounded = compiler.compile_json_schema({**schema, "title": str(i)})
        assert psc.GrammarMatcher(bounded).accept_string(text)
    compiler.compile_regex("a")
    assert compiler.get_cache_size_bytes() <= limit
    assert 1 < len(compiler._cache) < 7


@pytest.mark.parametrize("language", LANGUAGES)
def test_artifacts_come_first(language: str, tmp_path: Path) -> None:
    compiler = psc.GrammarCompiler(INFO, store=tmp_path)
    lazy = compiled(compiler, language)
    assert lazy.is_lazy
    path = compiler.finish(lazy).result(timeout=60)
    assert path.is_relative_to(tmp_path)
    stored = compiled(compiler, language)
    assert not stored.is_lazy
    assert not compiled(psc.GrammarCompiler(INFO, store=tmp_path), language).is_lazy
    assert_same_masks(stored, lazy, TEXTS[language])
    assert stored.grammar == lazy.grammar
    # Another vocabulary has artifacts of its own.
    assert compiled(psc.GrammarCompiler(tokenizer(["a", "x"]), store=tmp_path), language).is_lazy
    # What is damaged is set aside, and the grammar is built.
    for copy in (tmp_path / "mapped").iterdir():
        copy.write_bytes(copy.read_bytes()[:-100] + bytes(100))
    assert not compiled(psc.GrammarCompiler(INFO, store=tmp_path), language).is_lazy
    for copy in (tmp_path / "mapped").iterdir():
        copy.write_bytes(b"damaged")
    path.write_bytes(b"damaged")
    assert compiled(psc.GrammarCompiler(INFO, store=tmp_path), language).is_lazy
    assert not path.exists()


def test_finishing_needs_a_store() -> None:
    compiler = psc.GrammarCompiler(INFO, store=False)
    with pytest.raises(ValueError, match="store=False"):
        compiler.finish(compiler.compile_grammar(EBNF))


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_json_round_trip(language: str, stored: bool, tmp_path: Path) -> None:
    compiler = psc.GrammarCompiler(INFO, store=tmp_path)
    original = compiled(compiler, language)
    if stored:
        compiler.finish(original).result(timeout=60)
        original = compiled(compiler, language)
    text = original.serialize_json()
    back = psc.CompiledGrammar.deserialize_json(text, INFO)
    assert back.is_lazy is not stored
    assert back.serialize_json() == text
    assert_same_masks(original, back, TEXTS[language])


def test_bad_json() -> None:
    text = psc.GrammarCompiler(INFO).compile_grammar(EBNF).serialize_json()
    with pytest.raises(psc.InvalidJSONError):
        psc.CompiledGrammar.deserialize_json(text[:-1], INFO)
    with pytest.raises(psc.DeserializeFormatError, match="fingerprint"):
        psc.CompiledGrammar.deserialize_json(text, TokenizerInfo.from_tokens([b"a"]))
    document = json.loads(text)
    with pytest.raises(psc.DeserializeVersionError):
        psc.CompiledGrammar.deserialize_json(json.dumps({**document, "__VERSION__": "v16"}), INFO)
    with pytest.raises(psc.DeserializeFormatError):
        psc.CompiledGrammar.deserialize_json(json.dumps({k: v for k, v in document.items() if k != "grammar"}), INFO)


def test_a_grammar_is_described_when_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its names and productions as text are a third of the time to the first mask of a small grammar."""
    described = []
    whole = build.describe
    monkeypatch.setattr(build, "describe", lambda *given: described.append(given) or whole(*given))
    grammar = psc.GrammarCompiler(INFO, store=False).compile_grammar(EBNF)
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string("[a,") and matcher.mask_row() >= 0
    assert not described
    assert grammar.grammar_name == "<string>" and grammar.terminal_names[-1] == "$END"
    assert grammar.metadata["grammar"]["text"] == EBNF
    assert len(described) == 1


def in_threads(work: Callable[[int], None], n_threads: int) -> list[BaseException]:
    """What was raised, where threads call ``work`` with their number; they take turns as often as the interpreter can."""
    raised: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as e:
            raised.append(e)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(n_threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    return raised


def tag(begin: str) -> str:
    """A structural tag that is linked of two parts."""
    content = {"type": "json_schema", "json_schema": {"type": "integer"}}
    return json.dumps({"type": "structural_tag", "format": {"type": "tag", "begin": begin, "content": content, "end": "."}})


def test_threads_compile_finish_and_clear_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = grammar_compiler.artifact_bytes(psc.Grammar.from_ebnf(EBNF), INFO)
    monkeypatch.setattr(grammar_compiler, "artifact_bytes", lambda *of: artifact)
    compiler = psc.GrammarCompiler(INFO, store=tmp_path)
    assert compiler._lookup.store is not None
    reference = compiler._lookup.store.add(artifact)
    monkeypatch.setattr(compiler._lookup.store, "add", lambda artifact: reference)
    used = [compiler.compile_structural_tag(tag(f"<{number}>")) for number in range(300)]
    until = time.monotonic() + 2

    def work(number: int) -> None:
        for turn in itertools.takewhile(lambda _: time.monotonic() < until, itertools.count()):
            if number < 2:
                used.append(compiler.compile_structural_tag(tag(f"<{number} {turn}>")))
            elif number < 4:
                compiler.finish(compiler.compile_structural_tag(tag(f"<{number}>"))).result(timeout=5)
            else:
                compiler.clear_cache()
                time.sleep(0.1)

    assert in_threads(work, 5) == []


def test_a_grammar_that_cannot_be_dropped_is_an_error_of_finishing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = psc.GrammarCompiler(INFO, store=tmp_path)

    def refuse(compiled: psc.CompiledGrammar) -> None:
        raise MemoryError

    monkeypatch.setattr(compiler._cache, "drop", refuse)
    with pytest.raises(MemoryError):
        compiler.finish(compiler.compile_grammar(EBNF)).result(timeout=60)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.compile_json_schema('root ::= "a"'), "this looks like EBNF, which compile_grammar"),
        (lambda c: c.compile_json_schema("schema.json"), "this looks like a path: compile_file takes one"),
        (lambda c: c.compile_grammar("x.ebnf"), "this looks like a path"),
        (lambda c: c.compile_lark("grammars/x.lark"), "this looks like a path"),
        (lambda c: c.compile_grammar('{"type": "object"}'), "this looks like JSON: a schema is for compile_json_schema"),
        (lambda c: c.compile_json_schema({"type": "structural_tag", "format": {}}), "compiled by compile_structural_tag"),
        (lambda c: c.compile_json_schema({"type": "int"}), "there is no type 'int'; did you mean 'integer'?"),
        (lambda c: c.compile_json_schema({"type": "Strings"}), "there is no type 'Strings'; did you mean 'string'?"),
    ],
)
def test_what_was_given_to_the_wrong_call_is_named(call: Callable[[psc.GrammarCompiler], object], message: str) -> None:
    with pytest.raises(psc.GrammarError) as caught:
        call(psc.GrammarCompiler(INFO, store=False))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "pointer", "why"),
    [
        ({"properties": {"a": int}}, "#/properties/a", ", which has no type int"),
        ({"default": {1, 2}}, "#/default", ", which has no value of the type set"),
        ({"enum": [0, float("nan")]}, "#/enum/1", ", which has no number nan"),
        ({"properties": {("a",): {}}}, "#/properties", ": the name of a member is of the type tuple"),
    ],
)
def test_a_dictionary_that_is_no_json_is_refused_at_its_place(schema: Any, pointer: str, why: str) -> None:
    with pytest.raises(psc.GrammarError) as caught:
        psc.GrammarCompiler(INFO, store=False).compile_json_schema(schema)
    assert str(caught.value) == f"{pointer}: the schema is not JSON{why}" and caught.value.pointer == pointer


def test_a_schema_that_contains_itself_is_refused() -> None:
    schema: dict[str, Any] = {}
    schema["not"] = schema
    with pytest.raises(psc.GrammarError, match="nested too deep, or contains itself"):
        psc.GrammarCompiler(INFO, store=False).compile_json_schema(schema)
