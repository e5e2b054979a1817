"""psc's peers as compilers of JSON schemas, behind one interface: from a schema's text to matchers, which share one mask.

Each is asked in the way that is fastest from Python, below what plugs it into engines. Outlines compiles a schema to a regular
expression and that to an automaton over tokens, so it takes schemas alone here. Formatron, an Earley recognizer, reads grammars in
a language of its own, and takes schemas of objects and arrays.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc.bench.engines import llguidance_tokenizer, xgrammar_compiler
from psc.bench.texts import Encode
from psc.vocabulary.tokenizer_info import TokenizerInfo

Bits = NDArray[np.int32]


@dataclass
class Matcher:
    """One text of a compiled schema."""

    mask: Callable[[], object]
    """Computes the mask into the array that all share."""
    accept: Callable[[int], object]


Compile = Callable[[str], Callable[[], Matcher]]
"""From a schema's text to a maker of matchers. Raises RuntimeError where the engine refuses it."""


def llguidance_engine(info: TokenizerInfo, bits: Bits, encode: Encode) -> Compile:
    """llguidance."""
    llguidance: Any = import_module("llguidance")
    tokenizer = llguidance_tokenizer(info, encode)

    def compile_schema(schema: str) -> Callable[[], Matcher]:
        source = llguidance.LLMatcher.grammar_from_json_schema(schema)

        def new() -> Matcher:
            matcher = llguidance.LLMatcher(tokenizer, source, log_level=0)
            if matcher.is_error():
                raise RuntimeError(matcher.get_error())
            return Matcher(lambda: matcher.unsafe_compute_mask_ptr(bits.ctypes.data, bits.nbytes), matcher.consume_token)

        new()
        return new

    return compile_schema


def xgrammar_engine(info: TokenizerInfo, bits: Bits, encode: Encode) -> Compile:
    """XGrammar, on one thread."""
    xgrammar: Any = import_module("xgrammar")
    torch: Any = import_module("torch")
    compiler = xgrammar_compiler(info)
    shared = torch.from_numpy(bits.reshape(1, -1))

    def compile_schema(schema: str) -> Callable[[], Matcher]:
        compiled = compiler.compile_json_schema(schema, strict_mode=False)

        def new() -> Matcher:
            matcher = xgrammar.GrammarMatcher(compiled)
            return Matcher(lambda: matcher.fill_next_token_bitmask(shared), matcher.accept_token)

        return new

    return compile_schema


def outlines_engine(info: TokenizerInfo, bits: Bits, encode: Encode) -> Compile:
    """outlines-core."""
    core: Any = import_module("outlines_core")
    regex_of = import_module("outlines_core.json_schema").build_regex_from_schema
    tokens: dict[bytes, list[int]] = {}
    for token, spelled in _spellings(info).items():
        tokens.setdefault(spelled, []).append(token)
    vocabulary = core.Vocabulary(info.stop_token_ids[0], tokens)

    def compile_schema(schema: str) -> Callable[[], Matcher]:
        try:
            index = core.Index(regex_of(schema), vocabulary)
        except ValueError as error:
            raise RuntimeError(str(error)) from error

        def new() -> Matcher:
            guide = core.Guide(index)

            def accept(token: int) -> bool:
                try:
                    guide.advance(token, return_tokens=False)
                except ValueError:
                    return False
                return True

            return Matcher(lambda: guide.write_mask_into(bits.ctypes.data, bits.size, bits.itemsize), accept)

        return new

    return compile_schema


def formatron_engine(info: TokenizerInfo, bits: Bits, encode: Encode) -> Compile:
    """Formatron."""
    kbnf: Any = import_module("kbnf")
    builder: Any = import_module("formatron.formatter").FormatterBuilder
    class_of = import_module("formatron.schemas.json_schema").create_schema
    spelled = _spellings(info)
    vocabulary = kbnf.Vocabulary(
        {token: kbnf.Token(text) for token, text in spelled.items()},
        {token: text.decode(errors="replace") for token, text in spelled.items()},
    )
    ended = np.zeros_like(bits)
    end = info.stop_token_ids[0]
    ended[end // 32] = np.uint32(1 << end % 32).astype(np.int32)

    def compile_schema(schema: str) -> Callable[[], Matcher]:
        made = builder()
        try:
            # It looks for both keywords, and does without them in no schema.
            named = {"$id": "https://example.org/schema", "$schema": "https://json-schema.org/draft/2020-12/schema"}
            made.append_str(f"{made.json(class_of({**json.loads(schema), **named}))}")
            first = made.build(vocabulary, str)._engine
        except Exception as error:  # of a dozen kinds, AssertionError and TypeError among them
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

        def new() -> Matcher:
            engine = copy.copy(first)

            def mask() -> None:
                if engine.is_finished():
                    bits[:] = ended
                else:
                    engine.compute_allowed_token_ids()
                    engine.fill_torch_bitmask(bits.ctypes.data)

            def accept(token: int) -> bool:
                try:
                    engine.try_accept_new_token(token)
                except ValueError:
                    return False
                return True

            return Matcher(mask, accept)

        return new

    return compile_schema


def _spellings(info: TokenizerInfo) -> dict[int, bytes]:
    """The tokens that are text."""
    special = set(info.special_token_ids)
    spelled = {token: info.token_bytes(token) for token in range(info.vocab_size) if token not in special}
    return {token: text for token, text in spelled.items() if text}


SCHEMA_PEERS: dict[str, Callable[[TokenizerInfo, Bits, Encode], Compile]] = {
    "llguidance": llguidance_engine,
    "xgrammar": xgrammar_engine,
    "outlines": outlines_engine,
    "formatron": formatron_engine,
}
"""Engine -> from a vocabulary, the shared mask and what tokenizes to its compiler."""
