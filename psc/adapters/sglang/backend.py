"""SGLang's grammar backend over psc: the grammars of requests, of one scheduler process.

It is made from the engine's XGrammar backend, whose kernels and token filters it keeps, and replaces it wherever a grammar is
read: the tokenizer, compilation, masks. A grammar that psc refuses can go to the engine's own backend, which is then made.

Each rank of tensor parallelism has a backend, and all must come to the same answer. So nothing here depends on the time: the
engine's own limit of waiting holds, which the ranks agree upon, and a longer compilation is called off.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarStats,
    InvalidGrammarObject,
)
from sglang.srt.constrained.xgrammar_backend import TokenizerNotSupportedError, XGrammarGrammarBackend

from psc.adapters.sglang.compilations import CompilingExecutor, GrammarCache
from psc.adapters.sglang.grammar import PscGrammar
from psc.adapters.sglang.tokenizer import tokenizer_info
from psc.errors import ResourceLimitError, TokenizerError
from psc.grammars.compiled_grammar import CompiledGrammar
from psc.serving import REFUSALS, GrammarService, Kind, ServiceOptions
from psc.support.forks import new_lock
from psc.vocabulary.tokenizer_info import TokenizerInfo

_log = logging.getLogger("psc.adapters.sglang")
_ANY_JSON: Final = "$$ANY$$"


class PscGrammarBackend(XGrammarGrammarBackend):  # type: ignore[misc]  # the package is not typed
    """The grammars of a scheduler's requests.

    Args:
        tokenizer: the model's, of any class that the engine has.
        vocab_size: the width of the masks.
        model_eos_token_ids: tokens that end the text; None stands for the tokenizer's.
        any_whitespace: whether JSON may have white space anywhere.
        max_whitespace_cnt: its limit in one position.

    The other options are those of the environment, see `psc.serving.ServiceOptions`.

    Raises:
        TokenizerNotSupportedError: psc cannot read the tokenizer.
        OptionError: an option of the environment is malformed.
    """

    def __init__(
        self,
        tokenizer: Any,
        vocab_size: int,
        model_eos_token_ids: Sequence[int] | None = None,
        any_whitespace: bool = True,
        max_whitespace_cnt: int | None = None,
    ) -> None:
        # Not XGrammar's constructor, which reads the vocabulary for itself.
        BaseGrammarBackend.__init__(self)
        try:
            info = tokenizer_info(tokenizer, vocab_size, model_eos_token_ids)
        except TokenizerError as e:
            raise TokenizerNotSupportedError(f"psc: {e}") from e
        self._arguments: Final = {
            "tokenizer": tokenizer,
            "vocab_size": vocab_size,
            "model_eos_token_ids": model_eos_token_ids,
            "any_whitespace": any_whitespace,
        }
        if max_whitespace_cnt is not None:  # releases before 0.5.21 neither give nor take it
            self._arguments["max_whitespace_cnt"] = max_whitespace_cnt
        self.vocab_size = vocab_size
        self.any_whitespace = any_whitespace
        self.max_whitespace_cnt = max_whitespace_cnt
        self.override_stop_tokens = None
        self.service: Final = GrammarService(info, options=_options(any_whitespace, max_whitespace_cnt))
        self._framing = self.service
        self._framing_tokens: tuple[int, ...] = ()
        self._engine: XGrammarGrammarBackend | None = None
        self._engine_lock = new_lock()
        self.executor = CompilingExecutor(thread_name_prefix="psc compile")
        self.cache = GrammarCache(self.service.options.cache_mb << 20)

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        """The grammar of a JSON schema's text; of ``$$ANY$$``, any JSON value."""
        return self._serve("json", "{}" if key_string == _ANY_JSON else key_string, key_string)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        """The grammar of a regular expression."""
        return self._serve("regex", key_string, key_string)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        """The grammar of an EBNF text."""
        return self._serve("ebnf", key_string, key_string)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        """The grammar of a structural tag's JSON text, in either form."""
        return self._serve("structural_tag", self._tag_text(key_string), key_string)

    def reserve_framing_tokens(self, token_ids: Sequence[int]) -> None:
        """These tokens stand for themselves in framed grammars, and never for text."""
        self._framing_tokens = tuple(token_ids)
        info = self.service.tokenizer_info
        as_text = set(token_ids).intersection(info.text_token_ids.tolist())
        if as_text:
            without = TokenizerInfo.from_tokens(
                info.decoded_vocab,
                special_token_ids=[*info.special_token_ids, *as_text],
                stop_token_ids=info.stop_token_ids,
                name=info.name,
                vocab_type=info.vocab_type,
            )
            self._framing = GrammarService(without, options=dataclasses.replace(self.service.options, warm=(), metrics=None))

    def compile_framed_grammar(
        self, grammar: BaseGrammarObject, frame: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> BaseGrammarObject:
        """A grammar as the content of a structural tag, which the reasoning parser's format puts around it."""
        if not isinstance(grammar, PscGrammar):
            return self._engines_own().compile_framed_grammar(grammar, frame)
        try:
            text = json.dumps(frame({"type": "grammar", "grammar": str(grammar.ctx.grammar)}))
            compiled = self._framing.compile("structural_tag", text)
        except REFUSALS as e:
            return _refused("structural_tag", f"the grammar cannot be framed for the reasoning parser: {e}")
        return self._begin(compiled, text, "structural_tag")

    def reset(self) -> None:
        """Drops the cached grammars, for ``flush_cache``."""
        self.cache.clear()
        self.service.compiler.clear_cache()
        if self._engine is not None:
            self._engine.reset()

    def _serve(self, kind: Kind, text: str, key_string: str) -> BaseGrammarObject:
        def engine() -> BaseGrammarObject:
            return getattr(self._engines_own(), f"dispatch_{kind}")(key_string)

        try:
            made = self.service.compile_or_fall_back(kind, text, engine)
        except REFUSALS as e:
            return _refused(kind, str(e))
        return self._begin(made, key_string, kind) if isinstance(made, CompiledGrammar) else made

    def _begin(self, compiled: CompiledGrammar, text: str, kind: str) -> BaseGrammarObject:
        options, counters = self.service.options, self.service.counters
        grammar = PscGrammar(compiled, text, GrammarStats(dispatch_type=kind), counters, options.mask_steps)
        try:
            grammar.make_first_mask()
        except ResourceLimitError as e:
            return _refused(kind, f"its first mask cannot be made: {e}")
        self.service.build_ahead(compiled, has_first=True)
        return grammar

    def _engines_own(self) -> XGrammarGrammarBackend:
        """The engine's XGrammar backend, for grammars that psc refuses; made on first use."""
        with self._engine_lock:
            if self._engine is None:
                # Not by its name, which may stand for this class.
                self._engine = PscGrammarBackend.__bases__[0](**self._arguments)
                if self._framing_tokens:
                    self._engine.reserve_framing_tokens(self._framing_tokens)
            return self._engine

    def _tag_text(self, text: str) -> str:
        """A structural tag with a schema wherever the engine's clients leave one out; anything else is unchanged."""
        try:
            tag = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if not isinstance(tag, dict):
            return text
        if isinstance(tag.get("structures"), list):
            tag = _of_older_form(tag)
        else:
            self._sanitize_structural_format(tag.get("format"))
        return json.dumps(tag)


def _refused(kind: str, message: str) -> BaseGrammarObject:
    _log.warning("a request of the kind %s is refused: %s", kind, message)
    return InvalidGrammarObject(message)


def _options(any_whitespace: bool, max_whitespace: int | None) -> ServiceOptions:
    """The environment's options, those that the engine was started with, and no limit of time."""
    given: dict[str, object] = {"compile_timeout_s": 0}
    if not any_whitespace:
        given |= {"any_whitespace": False, "spaced": True}
    if max_whitespace is not None:
        given["max_whitespace"] = max_whitespace
    return ServiceOptions.of(given)


def _of_older_form(tag: dict[str, Any]) -> dict[str, Any]:
    structures = [s if isinstance(s, dict) else {} for s in tag["structures"]]
    tags = [
        {
            "type": "tag",
            "begin": s.get("begin"),
            "content": {"type": "json_schema", "json_schema": {} if s.get("schema") is None else s["schema"]},
            "end": s.get("end"),
        }
        for s in structures
    ]
    form = {
        "type": "triggered_tags",
        "triggers": tag.get("triggers"),
        "tags": tags,
        "at_least_one": tag.get("at_least_one", False),
    }
    return {"type": "structural_tag", "format": form}
