"""The seams of vLLM: the names that are replaced or called, and whether this vLLM has them as they were tested.

vLLM has no registry of backends, so names in its modules are replaced. A release may move or change them. What is missing is said
by name, and then nothing is replaced: half of psc would be worse than none.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from psc._version import __version__
from psc.adapters.seams import Seam, broken_seams, installed_release, numbers_of

TESTED_FROM: Final = (0, 28, 0)
TESTED_BEFORE: Final = (0, 34, 0)
"""The releases of vLLM that psc was tested with: from the first, and before the second."""

_log = logging.getLogger("psc.adapters.vllm")

_OUTPUT = "vllm.v1.structured_output"
_XGRAMMAR = "vllm.v1.structured_output.backend_xgrammar"
_TYPES = "vllm.v1.structured_output.backend_types"


def _seam(path: str, parameters: tuple[str, ...]) -> Seam:
    """A function that psc calls, or that calls psc, by position."""
    return Seam(path, parameters, by_position=True)


_NEEDED: Final = (
    _seam(f"{_OUTPUT}:XgrammarBackend", ("vllm_config", "tokenizer", "vocab_size")),
    _seam(f"{_XGRAMMAR}:XgrammarBackend.compile_grammar", ("self", "request_type", "grammar_spec", "stop_token_ids")),
    _seam(f"{_XGRAMMAR}:XgrammarBackend.allocate_token_bitmask", ("self", "max_num_seqs")),
    _seam(f"{_XGRAMMAR}:validate_xgrammar_grammar", ("sampling_params",)),
    _seam(f"{_TYPES}:StructuredOutputBackend", ("vllm_config", "tokenizer", "vocab_size")),
    _seam(f"{_TYPES}:StructuredOutputGrammar.accept_tokens", ("self", "request_id", "tokens")),
    _seam(f"{_TYPES}:StructuredOutputGrammar.validate_tokens", ("self", "tokens")),
    _seam(f"{_TYPES}:StructuredOutputGrammar.rollback", ("self", "num_tokens")),
    _seam(f"{_TYPES}:StructuredOutputGrammar.fill_bitmask", ("self", "bitmask", "batch_index")),
    _seam(f"{_TYPES}:StructuredOutputGrammar.is_terminated", ("self",)),
    _seam(f"{_TYPES}:StructuredOutputGrammar.reset", ("self",)),
    Seam(f"{_TYPES}:StructuredOutputOptions.JSON"),
    Seam(f"{_TYPES}:StructuredOutputOptions.JSON_OBJECT"),
    Seam(f"{_TYPES}:StructuredOutputOptions.REGEX"),
    Seam(f"{_TYPES}:StructuredOutputOptions.GRAMMAR"),
    Seam(f"{_TYPES}:StructuredOutputOptions.CHOICE"),
    Seam(f"{_TYPES}:StructuredOutputOptions.STRUCTURAL_TAG"),
    Seam("vllm.exceptions:VLLMClientError"),
    Seam("vllm.exceptions:VLLMValidationError"),
    _seam("vllm.v1.engine.input_processor:InputProcessor.__init__", ("self", "vllm_config")),
    _seam(f"{_OUTPUT}:StructuredOutputManager.__init__", ("self", "vllm_config")),
)
_OF_MASKS: Final = (
    _seam(
        f"{_OUTPUT}:StructuredOutputManager.grammar_bitmask",
        ("self", "requests", "structured_output_request_ids", "scheduled_spec_decode_tokens"),
    ),
    Seam("vllm.config:VllmConfig.num_speculative_tokens"),
    Seam("vllm.config:ModelConfig.is_diffusion"),
)
_OF_DRAFTS: Final = (
    _seam(f"{_OUTPUT}:StructuredOutputManager._get_constraint_bounds", ("self", "request", "spec_tokens")),
    _seam(f"{_OUTPUT}:StructuredOutputManager._fill_bitmasks", ("self", "batch")),
    _seam(f"{_OUTPUT}:StructuredOutputManager._masked_reasoning_ends", ("self", "request")),
)
"""Of the rows of requests with drafts, or that reason. Releases before 0.33 have not all of these, and another order of rows."""
_ABSTRACT: Final = {"accept_tokens", "validate_tokens", "rollback", "fill_bitmask", "is_terminated", "reset"}
_ABSTRACT_OF_BACKENDS: Final = {"compile_grammar", "allocate_token_bitmask", "destroy"}


@dataclass(frozen=True)
class Seams:
    """The modules and classes of vLLM."""

    output: ModuleType
    """``vllm.v1.structured_output``."""
    xgrammar: ModuleType
    """Its module of the XGrammar backend."""
    input_processor: type[Any]
    """The class that reads requests in the process of the server."""
    fills_masks: bool
    """Whether the manager's filling of masks can be replaced where each request has one row, and always a grammar."""
    fills_drafts: bool
    """Whether it is as it was tested, so that it can be replaced everywhere."""


def find_seams() -> Seams | None:
    """Looks for all that is needed; None, with an error in the log, where something is missing."""
    missing = broken_seams(_NEEDED) or _new_abstract_methods(import_module(_TYPES))
    installed = installed_release("vllm")
    if missing:
        _log.error(
            "psc %s is not at work in vLLM %s, which uses its own backend: %s. psc was tested with vLLM %s; install one of "
            "these, or a newer psc; PSC_VLLM=0 silences this",
            __version__,
            installed,
            "; ".join(missing),
            _tested(),
        )
        return None
    if not TESTED_FROM <= numbers_of(installed) < TESTED_BEFORE:
        _log.warning("psc %s was tested with vLLM %s, and this is vLLM %s; its names fit", __version__, _tested(), installed)
    changed = broken_seams(_OF_MASKS)
    of_drafts = changed or broken_seams(_OF_DRAFTS)
    if of_drafts:
        where = "" if changed else "where there are drafts or a reasoning parser, "
        _log.warning("%smasks are filled by vLLM's own loop, which is slower: %s", where, "; ".join(of_drafts))
    return Seams(
        import_module(_OUTPUT),
        import_module(_XGRAMMAR),
        import_module("vllm.v1.engine.input_processor").InputProcessor,
        fills_masks=not changed,
        fills_drafts=not of_drafts,
    )


def _new_abstract_methods(types: ModuleType) -> list[str]:
    """The abstract methods that psc's classes would lack."""
    return [
        f"{cls.__module__}.{cls.__name__} asks for {', '.join(sorted(more))}, too"
        for cls, expected in ((types.StructuredOutputGrammar, _ABSTRACT), (types.StructuredOutputBackend, _ABSTRACT_OF_BACKENDS))
        if (more := set(cls.__abstractmethods__) - expected)
    ]


def _tested() -> str:
    return f">={'.'.join(map(str, TESTED_FROM))},<{'.'.join(map(str, TESTED_BEFORE))}"
