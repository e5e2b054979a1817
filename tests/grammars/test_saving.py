"""Artifacts of compiled grammars, grammars in other processes, and vocabularies that cannot write what a grammar asks for."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_grammars import compiled
from vocabularies import byte_tokenizer

import psc
from psc.serving import GrammarService

INFO = byte_tokenizer()
LARK = 'start: "a" WORD\n%import common.WORD\n'
GRAMMARS = {
    "ebnf": psc.Grammar.from_ebnf('root ::= "a" [0-9]*'),
    "regex": psc.Grammar.from_regex("(ab|c)+"),
    "json": psc.Grammar.builtin_json_grammar(),
    "lark": psc.Grammar.from_lark(LARK),
}


def assert_same(a: psc.CompiledGrammar, b: psc.CompiledGrammar, text: bytes) -> None:
    x, y = psc.GrammarMatcher(a), psc.GrammarMatcher(b)
    for byte in text:
        assert np.array_equal(x.mask(), y.mask())
        assert x.accept_string(bytes([byte])) == y.accept_string(bytes([byte]))


TEXTS = {"ebnf": b"a17", "regex": b"abcc", "json": b'{"a": [1]', "lark": b"aword"}


@pytest.mark.parametrize("name", GRAMMARS)
def test_what_was_built_just_in_time_is_saved_whole(name: str, tmp_path: Path) -> None:
    here = psc.GrammarCompiler(INFO, store=False).compile_grammar(GRAMMARS[name])
    assert here.is_lazy
    assert here.save(tmp_path / "g.psc") == tmp_path / "g.psc"
    assert here.is_lazy
    there = psc.load(tmp_path / "g.psc", tokenizer_info=INFO)
    assert not there.is_lazy
    assert_same(here, there, TEXTS[name])
    there.save(tmp_path / "again.psc")
    psc.compile_ahead_of_time(GRAMMARS[name], INFO).save(tmp_path / "ahead.psc")
    assert {p.read_bytes() for p in tmp_path.glob("*.psc")} == {(tmp_path / "g.psc").read_bytes()}


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(psc.ArtifactError, match="nothing was left behind"):
        compiled("json").save(tmp_path / "nowhere" / "g.psc")


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_compiled_grammar_can_be_pickled(name: str) -> None:
    lazy = psc.GrammarCompiler(INFO, store=False).compile_grammar(GRAMMARS[name])
    whole = psc.compile_ahead_of_time(GRAMMARS[name], INFO)
    for here in (lazy, whole):
        there = pickle.loads(pickle.dumps(here))
        assert there.is_lazy == here.is_lazy
        assert there.tokenizer_info == INFO
        assert_same(here, there, TEXTS[name])


def test_an_artifact_without_its_tokenizer_can_be_pickled(tmp_path: Path) -> None:
    compiled("json").save(tmp_path / "g.psc")
    here = psc.load(tmp_path / "g.psc")
    assert_same(here, pickle.loads(pickle.dumps(here)), TEXTS["json"])


def pickled(value: psc.GrammarCompiler) -> psc.GrammarCompiler:
    made: psc.GrammarCompiler = pickle.loads(pickle.dumps(value))
    return made


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize(
    "options", [{}, {"cache_enabled": False}, {"cache_limit_bytes": 1 << 20, "masks_ahead": 1, "max_threads": 2}]
)
def test_a_compiler_can_be_copied(
    copied: Callable[[psc.GrammarCompiler], psc.GrammarCompiler], options: dict[str, Any], tmp_path: Path
) -> None:
    """The copy has the vocabulary and the options, and caches for itself."""
    compiler = psc.GrammarCompiler(INFO, store=tmp_path, registry=False, **options)
    here = compiler.compile_grammar(GRAMMARS["json"])
    other = copied(compiler)
    there = other.compile_grammar(GRAMMARS["json"])
    assert there is not here and other.tokenizer_info == INFO and other.get_cache_size_bytes() >= 0
    assert all(getattr(other, name) == value for name, value in options.items())
    assert_same(here, there, TEXTS["json"])


@pytest.mark.parametrize("wrong", ["x", 3, True, object()])
def test_a_cancellation_of_a_wrong_type_is_named(wrong: Any) -> None:
    compiler = psc.GrammarCompiler(INFO, store=False, registry=False)
    compiler.compile_regex("a")
    tag = {"type": "structural_tag", "format": {"type": "any_text"}}
    calls: list[Callable[[], object]] = [
        lambda: compiler.compile_regex("a", cancellation=wrong),
        lambda: compiler.compile_grammar('root ::= "a"', cancellation=wrong),
        lambda: compiler.compile_json_schema("{}", cancellation=wrong),
        lambda: compiler.compile_structural_tag(tag, cancellation=wrong),
        lambda: compiler.compile_lark('start: "a"', cancellation=wrong),
        lambda: compiler.compile_builtin_json_grammar(cancellation=wrong),
        lambda: psc.compile_ahead_of_time(GRAMMARS["regex"], INFO, cancellation=wrong),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"^cancellation must be a psc\.Cancellation or None, not "):
            call()


@pytest.mark.parametrize("wrong", ["x", 3, object(), b"", ["a"]])
def test_arguments_of_wrong_types_are_named(wrong: Any) -> None:
    calls: dict[str, Callable[[], object]] = {
        "grammar must be a psc.Grammar": lambda: psc.compile_ahead_of_time(wrong, INFO),
        "tokenizer_info must be a psc.TokenizerInfo": lambda: psc.compile_ahead_of_time(GRAMMARS["regex"], wrong),
        "request must be a psc.GrammarRequest": lambda: psc.Grammar.parse(wrong),
        "options must be a psc.ServiceOptions or None": lambda: GrammarService(INFO, options=wrong),
        "the vocabulary must be a TokenizerInfo": lambda: psc.GrammarCompiler(wrong),
    }
    for message, call in calls.items():
        with pytest.raises(TypeError, match=f"^{message}, not {type(wrong).__name__}"):
            call()


def test_a_matcher_cannot_be_pickled() -> None:
    matcher = psc.GrammarMatcher(compiled("json"))
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"a GrammarMatcher cannot be pickled or copied: fork\(\)"):
            attempt(matcher)


NO_TEXT = "no text of the grammar can be written"
SOME = "Texts that need them are never allowed"
UNSPELLABLE = {
    "the whole text": ('root ::= "z"', ["a", "b"], NO_TEXT),
    "a part of every text": ('root ::= "a" ("b" | "b" x)\nx ::= x "a"? "z"', ["a"], NO_TEXT),
    "one way of two": ('root ::= x | y\nx ::= "a" x "a" | "a"\ny ::= "z" y "z" | "z"', ["a"], SOME),
    "a letter of a class": ("root ::= [a-z]+", ["a"], None),
    "half of a character": ('root ::= "é"', [b"\xc3", b"a"], NO_TEXT),
    "all there": ('root ::= "ab"', ["b", "a"], None),
}


@pytest.mark.parametrize(("text", "tokens", "said"), UNSPELLABLE.values(), ids=UNSPELLABLE)
def test_a_vocabulary_that_cannot_spell(
    text: str, tokens: list[str | bytes], said: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    info = psc.TokenizerInfo([*tokens, "</s>"])
    grammar = psc.GrammarCompiler(info, store=False).compile_grammar(text)
    ahead = psc.compile_ahead_of_time(psc.Grammar.from_ebnf(text), info)
    warned = [r.getMessage() for r in caplog.records if r.levelname == "WARNING" and r.name == "psc.compiler"]
    warned = [w for w in warned if "can never finish" not in w]
    assert [said is not None and said in w for w in warned] == [True] * (2 if said else 0)
    for each in (grammar, ahead):
        matcher, n = psc.GrammarMatcher(each), 0
        while not matcher.is_terminated() and n < 4 and matcher.mask().any():  # the first token allowed, again and again
            assert matcher.accept_token(int(np.flatnonzero(np.unpackbits(matcher.mask().view(np.uint8), bitorder="little"))[-1]))
            n += 1
        assert (not matcher.is_terminated() and n < 4) == (said == NO_TEXT)  # stuck, with an empty mask
