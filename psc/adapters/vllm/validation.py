"""The validator that vLLM's server calls for each request, often on the thread that all requests share.

vLLM's own parses each request's grammar anew. Here a text is read once, and a long grammar not at all: the engine's threads compile
it, and a refusal there reaches the client as the same error, with the same message.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from vllm.exceptions import VLLMClientError, VLLMValidationError

from psc.adapters.vllm.configuration import options_of
from psc.errors import PscError
from psc.serving import Kind, ServiceOptions
from psc.serving.validation import ValidationCache, check_request

if TYPE_CHECKING:
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

READ_LATER_CHARACTERS: Final = 8192
"""Grammars in EBNF or Lark that are longer are read by the engine alone: parsing them takes tens of milliseconds."""


class RefusedRequestError(VLLMClientError):  # type: ignore[misc]
    """A request that psc refuses where vLLM would try other backends (``backend="auto"``): status 400, with psc's message.

    vLLM has one backend in an engine. Had the first request gone to another, psc could serve none after it.
    """


class Validator:
    """vLLM's validator by psc.

    Args:
        original: vLLM's own.
    """

    def __init__(self, original: Callable[[SamplingParams], None]) -> None:
        self._original: Final = original
        self._options: ServiceOptions | None = ServiceOptions()
        self._verdicts: ValidationCache
        self._use(ServiceOptions.of())

    def configure(self, vllm_config: Any) -> None:
        """Takes the options of an engine's configuration. Raises OptionError where they are wrong."""
        self._use(options_of(vllm_config))

    def validate(self, sampling_params: SamplingParams) -> None:
        """Reads the constraint of a request, and compiles nothing.

        Args:
            sampling_params: of the request; only read, unless vLLM's own validator takes it.

        Raises:
            VLLMValidationError: psc refuses it; the message says where and why.
            RefusedRequestError: the same, with ``backend="auto"``.
        """
        given = sampling_params.structured_outputs
        if given is None:
            return
        if self._options is None:
            return self._original(sampling_params)
        kind, text = constraint_of(given)
        if kind == "grammar" and len(text) > READ_LATER_CHARACTERS:
            return None
        try:
            self._verdicts.validate(kind, text)
        except (PscError, TypeError) as e:
            if self._options.fallback == "engine":
                return self._original(sampling_params)
            error = RefusedRequestError if given._backend == "auto" else VLLMValidationError
            raise error(f"Invalid structured outputs: {e}") from e
        return None

    def _use(self, options: ServiceOptions | None) -> None:
        if options == self._options and hasattr(self, "_verdicts"):
            return
        self._options = options
        if options is not None:
            self._verdicts = ValidationCache(lambda kind, text: check_request(kind, text, options, None), options.validations)


def constraint_of(given: StructuredOutputsParams) -> tuple[Kind, str]:
    """The kind and the text of a request's constraint, as its backend gets them.

    Raises:
        VLLMValidationError: there is none.
    """
    if given.regex is not None:
        return "regex", given.regex
    if given.choice is not None:
        return "choice", given.choice if isinstance(given.choice, str) else json.dumps(given.choice)
    if given.json is not None:
        return "json", given.json if isinstance(given.json, str) else json.dumps(given.json)
    if given.json_object:
        return "json_object", ""
    if given.grammar is not None:
        return "grammar", given.grammar
    if given.structural_tag is not None:
        return "structural_tag", given.structural_tag
    raise VLLMValidationError("Invalid structured outputs: the request has no constraint that psc knows")
