"""Where vLLM is open to psc: the names that are replaced or called, and whether this vLLM has them as they were tested.

vLLM has no registry of backends, so names in its modules are replaced. A release may move or change them. What is missing is said
by name, and then nothing is replaced: half of psc would be worse than none.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, Final

from psc._version import __version__

TESTED_FROM: Final = (0, 33, 0)
TESTED_BEFORE: Final = (0, 34, 0)
"""The releases of vLLM that psc was tested with: from the first, and before the second."""

_log = logging.getLogger("psc.adapters.vllm")

_OUTPUT = "vllm.v1.structured_output"
_XGRAMMAR = "vllm.v1.structured_output.backend_xgrammar"
_TYPES = "vllm.v1.structured_output.backend_types"
_NEEDED: Final = (
    # module, name, the parameters that psc names or is called with
    (_OUTPUT, "XgrammarBackend", ("vllm_config", "tokenizer", "vocab_size")),
    (_XGRAMMAR, "XgrammarBackend.compile_grammar", ("self", "request_type", "grammar_spec", "stop_token_ids")),
    (_XGRAMMAR, "XgrammarBackend.allocate_token_bitmask", ("self", "max_num_seqs")),
    (_XGRAMMAR, "validate_xgrammar_grammar", ("sampling_params",)),
    (_TYPES, "StructuredOutputBackend", ("vllm_config", "tokenizer", "vocab_size")),
    (_TYPES, "StructuredOutputGrammar.accept_tokens", ("self", "request_id", "tokens")),
    (_TYPES, "StructuredOutputGrammar.validate_tokens", ("self", "tokens")),
    (_TYPES, "StructuredOutputGrammar.rollback", ("self", "num_tokens")),
    (_TYPES, "StructuredOutputGrammar.fill_bitmask", ("self", "bitmask", "batch_index")),
    (_TYPES, "StructuredOutputGrammar.is_terminated", ("self",)),
    (_TYPES, "StructuredOutputGrammar.reset", ("self",)),
    (_TYPES, "StructuredOutputOptions.JSON", None),
    (_TYPES, "StructuredOutputOptions.JSON_OBJECT", None),
    (_TYPES, "StructuredOutputOptions.REGEX", None),
    (_TYPES, "StructuredOutputOptions.GRAMMAR", None),
    (_TYPES, "StructuredOutputOptions.CHOICE", None),
    (_TYPES, "StructuredOutputOptions.STRUCTURAL_TAG", None),
    ("vllm.exceptions", "VLLMClientError", None),
    ("vllm.exceptions", "VLLMValidationError", None),
    ("vllm.v1.engine.input_processor", "InputProcessor.__init__", ("self", "vllm_config")),
    (_OUTPUT, "StructuredOutputManager.__init__", ("self", "vllm_config")),
)
_OF_MASKS: Final = (
    (
        _OUTPUT,
        "StructuredOutputManager.grammar_bitmask",
        ("self", "requests", "structured_output_request_ids", "scheduled_spec_decode_tokens"),
    ),
    (_OUTPUT, "StructuredOutputManager._get_constraint_bounds", ("self", "request", "spec_tokens")),
    (_OUTPUT, "StructuredOutputManager._fill_bitmasks", ("self", "batch")),
    (_OUTPUT, "StructuredOutputManager._masked_reasoning_ends", ("self", "request")),
)
_ABSTRACT: Final = {"accept_tokens", "validate_tokens", "rollback", "fill_bitmask", "is_terminated", "reset"}
_ABSTRACT_OF_BACKENDS: Final = {"compile_grammar", "allocate_token_bitmask", "destroy"}


@dataclass(frozen=True)
class Seams:
    """What was found."""

    output: ModuleType
    """``vllm.v1.structured_output``."""
    xgrammar: ModuleType
    """Its module of the XGrammar backend."""
    input_processor: type[Any]
    """The class that reads requests in the process of the server."""
    fills_masks: bool
    """Whether the manager's filling of masks is as it was tested, so that it can be replaced, too."""


def find_seams(find: Callable[[str], ModuleType] = import_module) -> Seams | None:
    """Looks for all that is needed; None, with an error in the log, where something is missing.

    Args:
        find: imports a module by its name.
    """
    missing = _missing(_NEEDED, find)
    installed = _version()
    if missing:
        _log.error(
            "psc %s is not at work in vLLM %s, which goes on with its own backend: %s. psc was tested with vLLM %s; install one of "
            "these, or a newer psc; PSC_VLLM=0 silences this",
            __version__,
            installed,
            "; ".join(missing),
            _tested(),
        )
        return None
    if not TESTED_FROM <= _numbers(installed) < TESTED_BEFORE:
        _log.warning("psc %s was tested with vLLM %s, and this is vLLM %s; its names fit", __version__, _tested(), installed)
    changed = _missing(_OF_MASKS, find)
    if changed:
        _log.warning("masks are filled by vLLM's own loop, which is slower: %s", "; ".join(changed))
    return Seams(find(_OUTPUT), find(_XGRAMMAR), find("vllm.v1.engine.input_processor").InputProcessor, fills_masks=not changed)


def _missing(needed: tuple[tuple[str, str, tuple[str, ...] | None], ...], find: Callable[[str], ModuleType]) -> list[str]:
    problems = []
    for module, name, parameters in needed:
        try:
            found: Any = find(module)
        except ImportError as e:
            problems.append(f"{module} cannot be imported ({e})")
            continue
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is None:
            problems.append(f"there is no {module}.{name}")
        elif parameters is not None and (there := _parameters(found))[: len(parameters)] != parameters:
            problems.append(f"{module}.{name} takes ({', '.join(there)}) and not ({', '.join(parameters)})")
    if not problems and needed is _NEEDED:
        problems = _new_abstract_methods(find(_TYPES))
    return problems


def _new_abstract_methods(types: ModuleType) -> list[str]:
    """What psc's classes would lack."""
    return [
        f"{cls.__module__}.{cls.__name__} asks for {', '.join(sorted(more))}, too"
        for cls, known in ((types.StructuredOutputGrammar, _ABSTRACT), (types.StructuredOutputBackend, _ABSTRACT_OF_BACKENDS))
        if (more := set(cls.__abstractmethods__) - known)
    ]


def _parameters(found: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(found).parameters)
    except (TypeError, ValueError):
        return ()


def _version() -> str:
    try:
        return version("vllm")
    except PackageNotFoundError:
        return "of an unknown version"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])


def _tested() -> str:
    return f">={'.'.join(map(str, TESTED_FROM))},<{'.'.join(map(str, TESTED_BEFORE))}"
