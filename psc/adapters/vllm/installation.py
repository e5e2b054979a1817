"""Puts psc's classes and functions where vLLM has its own, once in a process."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from psc._version import __version__
from psc.adapters.seams import NotAtWorkError
from psc.adapters.switches import REQUIRE, mode_of
from psc.adapters.vllm import SWITCH, reasoning
from psc.adapters.vllm.backend import SERVICES, PscBackend, vocabulary_of
from psc.adapters.vllm.configuration import options_of
from psc.adapters.vllm.drafts import propose_drafts
from psc.adapters.vllm.formats import MODULES, NAME, joins_constraints, taking_names
from psc.adapters.vllm.masks import MaskFilling
from psc.adapters.vllm.row_ids import why_no_row_ids
from psc.adapters.vllm.seams import Seams
from psc.adapters.vllm.validation import Validator
from psc.adapters.vllm.workers import mask_on_cpus, unfollow
from psc.errors import TokenizerError
from psc.serving import ServiceOptions

_log = logging.getLogger("psc.adapters.vllm")
_INSTALLED: Final = "_psc_originals"
"""Of vLLM's module: the names that psc has replaced."""
_PSCS: Final = ("auto", "xgrammar")
"""The names of backends that are psc's."""


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
    if reasoning.can_begin():
        put(manager, reasoning.NAME, reasoning.of_one_grammar(getattr(manager, reasoning.NAME)))
    if seams.fills_masks:
        original = manager.grammar_bitmask
        filling = MaskFilling(original, fills_drafts=seams.fills_drafts)

        @functools.wraps(original)
        def grammar_bitmask(self: Any, *arguments: Any, **named: Any) -> Any:
            return filling.grammar_bitmask(self, *arguments, **named)

        put(manager, "grammar_bitmask", grammar_bitmask)
    for module in filter(joins_constraints, MODULES):
        put(import_module(module), NAME, taking_names(getattr(import_module(module), NAME)))
    if problems := mask_on_cpus():
        _log.info("logits on a CPU are masked by vLLM's own function, which is slower: %s", "; ".join(problems))
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
    """Reads the vocabulary when the engine starts, and compiles the warm-up list.

    Raises:
        NotAtWorkError: the engine's configuration leaves psc out, and it is to start with psc only.
    """
    options = options_of(vllm_config)
    if mode_of(SWITCH) == REQUIRE and (reason := _why_not(options, manager, vllm_config)) is not None:
        raise NotAtWorkError(f"{SWITCH}={REQUIRE}, and psc is not at work: {reason}. Change that, or set {SWITCH}=1")
    if options is None:
        _log.info("psc is switched off by additional_config, so structured outputs are vLLM's own")
    elif vllm_config.model_config.skip_tokenizer_init:
        return
    elif _backend_name(vllm_config) in _PSCS:
        _log.info("psc %s serves structured outputs in the place of XGrammar; PSC_VLLM=0 switches it off", __version__)
        if options.mask_table_mb and (reason := why_no_row_ids(vllm_config)) is not None:
            _log.warning("workers are sent masks and not row ids: %s", reason)
        propose_drafts(options, vllm_config)
        SERVICES.begin(options, manager.tokenizer, vllm_config.model_config.get_vocab_size())


def _why_not(options: ServiceOptions | None, manager: Any, vllm_config: Any) -> str | None:
    """Why an engine has no grammars of psc's; None where it has. Reads the vocabulary, as the manager's thread does later."""
    if options is None:
        return "additional_config switches it off"
    if vllm_config.model_config.skip_tokenizer_init:
        return "the engine starts without a tokenizer"
    name = _backend_name(vllm_config)
    if name not in _PSCS:
        return f"structured_outputs_config.backend is {name}, and must be one of {', '.join(_PSCS)}"
    try:
        vocabulary_of(manager.tokenizer, vllm_config.model_config.get_vocab_size())
    except TokenizerError as e:
        return str(e)
    return None


def _backend_name(vllm_config: Any) -> str:
    return str(getattr(vllm_config.structured_outputs_config, "backend", "auto"))
