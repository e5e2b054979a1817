"""A bundled grammar by its name where vLLM joins a request's constraint with its tools, or with the channels of gpt-oss.

vLLM makes one structural tag of both then. It takes a text without ``::=`` for Lark and has XGrammar read it, which knows no names:
the request would end with "Invalid grammar specification". The tag's format `grammar` takes such a name in psc.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from psc.adapters.seams import Seam, broken_seams
from psc.compiler.frontends.lookup import names_bundled

NAME: Final = "structured_outputs_to_format"
MODULES: Final = ("vllm.parser.abstract_parser", "vllm.parser.harmony")
"""Each has the function under its name. Releases that do not join the two have no such function."""


def joins_constraints(module: str) -> bool:
    """Whether vLLM's module has the function, as it was tested."""
    return not broken_seams(
        (Seam(f"{module}:{NAME}", ("params",), by_position=True), Seam("xgrammar.structural_tag:GrammarFormat"))
    )


def taking_names(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """vLLM's function, from a constraint to a format of structural tags, for bundled grammars too."""

    @functools.wraps(original)
    def structured_outputs_to_format(params: Any) -> Any:
        if params.grammar is not None and names_bundled(params.grammar):
            return import_module("xgrammar.structural_tag").GrammarFormat(grammar=params.grammar)
        return original(params)

    return structured_outputs_to_format
