"""TensorRT-LLM's PyTorch backend with psc: :func:`install` replaces XGrammar's factory of matchers by psc's.

    from psc.adapters import tensorrt_llm

    tensorrt_llm.install()  # in each process that runs the model, before the engine is made

`guided_decoding_backend="xgrammar"` stays as it is. The options are those of the environment (`psc.serving.ServiceOptions`). No
time limits a compilation, because all ranks have to come to the same answer.

The engine compiles in its own loop, when a request's prompt is done: so a store with artifacts, and `PSC_WARM`, matter more.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, Final

from psc.adapters.guarded_matcher import GuardedMatcher, row_of
from psc.adapters.seams import Seam, require_seams
from psc.errors import needs_extra
from psc.grammars.compiled_grammar import CompiledGrammar
from psc.serving import GrammarService, Kind, ServiceOptions
from psc.support.cached_property import cached_property
from psc.vocabulary.tokenizer_info import TokenizerInfo

with needs_extra("tensorrt-llm"):
    from tensorrt_llm._torch.pyexecutor.grammar_matcher import GrammarMatcher, GrammarMatcherFactory

_DECODER: Final = "tensorrt_llm._torch.pyexecutor.guided_decoder"
_MATCHERS: Final = "tensorrt_llm._torch.pyexecutor.grammar_matcher"
SEAMS: Final = (
    Seam(f"{_DECODER}:XGrammarMatcherFactory", ("guided_decoding_config", "vocab_size_padded")),
    Seam(f"{_MATCHERS}:GrammarMatcher.accept_token", ("token_id",)),
    Seam(f"{_MATCHERS}:GrammarMatcher.fill_next_token_bitmask", ("next_token_bitmask", "index")),
    Seam(f"{_MATCHERS}:GrammarMatcherFactory.create", ("guided_decoding_params",)),
)
_KINDS: Final[dict[str, Kind]] = {
    "JSON": "json",
    "JSON_SCHEMA": "json",
    "REGEX": "regex",
    "EBNF_GRAMMAR": "ebnf",
    "STRUCTURAL_TAG": "structural_tag",
}


class PscMatcher(GuardedMatcher, GrammarMatcher):  # type: ignore[misc]  # the package is not typed
    """A request's matcher. Where it cannot go on it allows all text and accepts none of it, and the engine fails the request."""


class PscMatcherFactory(GrammarMatcherFactory):  # type: ignore[misc]
    """Makes the matchers of a model.

    Args:
        guided_decoding_config: has `encoded_vocab`, `tokenizer_str` and `stop_token_ids`.
        vocab_size_padded: width of the masks.
        max_num_draft_tokens: any number can be taken back.

    Raises:
        TokenizerError: psc cannot read the vocabulary.
        OptionError: an option of the environment is malformed.
    """

    original: type[Any]
    """The engine's own factory, for grammars that psc refuses; set by :func:`install`."""

    def __init__(self, guided_decoding_config: Any, vocab_size_padded: int, max_num_draft_tokens: int = 0) -> None:
        super().__init__()
        info = tokenizer_info(guided_decoding_config, vocab_size_padded)
        self.service: Final = GrammarService(info, options=dataclasses.replace(ServiceOptions.of(), compile_timeout_s=0))
        self._last_row: Final = row_of(info.text_token_ids, info.vocab_size)
        self._arguments: Final = (guided_decoding_config, vocab_size_padded, max_num_draft_tokens)

    def create(self, guided_decoding_params: Any) -> GrammarMatcher:
        """The matcher of a request.

        Args:
            guided_decoding_params: has `guide_type` and `guide`.

        Raises:
            REFUSALS: psc cannot serve it; the engine fails the request.
            ValueError: there is no such type.
        """
        name = str(guided_decoding_params.guide_type.name)
        kind = _KINDS.get(name)
        if kind is None:
            raise ValueError(f"there is no type of guide {name!r}; there are {', '.join(_KINDS)}")
        text = "{}" if name == "JSON" else guided_decoding_params.guide
        made = self.service.compile_or_fall_back(kind, text, lambda: self._engines_own.create(guided_decoding_params))
        if not isinstance(made, CompiledGrammar):
            return made
        self.service.build_ahead(made)
        return PscMatcher(made, self._last_row)

    @cached_property
    def _engines_own(self) -> Any:
        return self.original(*self._arguments)


class _TokenizerJson:
    """The text of a `tokenizer.json` as an object that psc reads."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_str(self) -> str:
        """The text."""
        return self._text


def tokenizer_info(guided_decoding_config: Any, vocab_size_padded: int) -> TokenizerInfo:
    """The vocabulary of the engine's configuration. Raises TokenizerError where psc cannot read it."""
    text, stops = guided_decoding_config.tokenizer_str, guided_decoding_config.stop_token_ids
    if text is not None and stops:
        return TokenizerInfo.from_huggingface(_TokenizerJson(text), vocab_size=vocab_size_padded, stop_token_ids=list(stops))
    spelling: dict[str, Any] = {} if text is None else dict(TokenizerInfo._detect_metadata_from_hf(text))
    return TokenizerInfo(
        guided_decoding_config.encoded_vocab, vocab_size=vocab_size_padded, stop_token_ids=stops or None, **spelling
    )


def install() -> None:
    """Replaces the engine's factory in this process. Called again, nothing changes.

    Raises:
        BrokenSeamError: the engine's names are not those that psc needs. Nothing is replaced then.
    """
    require_seams(SEAMS)
    decoder: Any = importlib.import_module(_DECODER)
    if decoder.XGrammarMatcherFactory is not PscMatcherFactory:
        PscMatcherFactory.original = decoder.XGrammarMatcherFactory
        decoder.XGrammarMatcherFactory = PscMatcherFactory
