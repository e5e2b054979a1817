"""Puts psc's classes and functions where vLLM has its own, once in a process."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Final

from psc._version import __version__
from psc.adapters.vllm.backend import SERVICES, PscBackend
from psc.adapters.vllm.configuration import options_of
from psc.adapters.vllm.masks import MaskFilling
from psc.adapters.vllm.row_ids import unfollow, why_no_row_ids
from psc.adapters.vllm.seams import Seams
from psc.adapters.vllm.validation import Validator

_log = logging.getLogger("psc.adapters.vllm")
_INSTALLED: Final = "_psc_originals"
"""Of vLLM's module: the names that psc has replaced."""


def install(seams: Seams) -> None:
    """Replaces vLLM's names. Called again, nothing changes."""
    if hasattr(seams.output, _INSTALLED):
        return
    originals: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    manager = seams.output.StructuredOutputManager
    backend = PscBackend.replacing(seams.xgrammar.XgrammarBackend)
    validator = Validator(seams.xgrammar.validate_xgrammar_grammar)
    put(seams.output, "XgrammarBackend", backend)
    put(seams.xgrammar, "XgrammarBackend", backend)
    put(seams.xgrammar, "validate_xgrammar_grammar", validator.validate)
    put(seams.input_processor, "__init__", _then(seams.input_processor.__init__, lambda _, config: validator.configure(config)))
    put(manager, "__init__", _then(manager.__init__, _begin))
    if seams.fills_masks:
        original = manager.grammar_bitmask
        filling = MaskFilling(original, fills_drafts=seams.fills_drafts)

        @functools.wraps(original)
        def grammar_bitmask(self: Any, *arguments: Any, **named: Any) -> Any:
            return filling.grammar_bitmask(self, *arguments, **named)

        put(manager, "grammar_bitmask", grammar_bitmask)
    setattr(seams.output, _INSTALLED, originals)


def uninstall(seams: Seams) -> None:
    """Puts vLLM's own names back; running engines keep theirs."""
    for owner, name, value in reversed(getattr(seams.output, _INSTALLED, [])):
        setattr(owner, name, value)
    if hasattr(seams.output, _INSTALLED):
        delattr(seams.output, _INSTALLED)
    unfollow()


def _then(constructor: Callable[..., None], also: Callable[[Any, Any], None]) -> Callable[..., None]:
    """A constructor that does something with the object and vLLM's configuration when it is done."""

    @functools.wraps(constructor)
    def construct(self: Any, vllm_config: Any, *arguments: Any, **named: Any) -> None:
        constructor(self, vllm_config, *arguments, **named)
        also(self, vllm_config)

    return construct


def _begin(manager: Any, vllm_config: Any) -> None:
    """Reads the vocabulary when the engine starts, and compiles the warm-up list."""
    options = options_of(vllm_config)
    if options is None:
        _log.info("psc is switched off by additional_config, so structured outputs are vLLM's own")
    elif vllm_config.model_config.skip_tokenizer_init:
        return
    elif getattr(vllm_config.structured_outputs_config, "backend", "auto") in ("auto", "xgrammar"):
        _log.info("psc %s serves structured outputs in the place of XGrammar; PSC_VLLM=0 switches it off", __version__)
        if options.mask_table_mb and (reason := why_no_row_ids(vllm_config)) is not None:
            _log.warning("workers are sent masks and not row ids: %s", reason)
        SERVICES.begin(options, manager.tokenizer, vllm_config.model_config.get_vocab_size())
