"""Tools and tool choices as OpenAI's Chat Completions API has them, as records that check their fields.

The names and fields are XGrammar's and openai-python's. A function stands in ``function``; the flat form of the Responses API is
another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from psc.support.checked_record import CheckedRecord


@dataclass(init=False, kw_only=True)
class FunctionDefinition(CheckedRecord):
    """A function that a model may call."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    """The JSON schema of the arguments; None: any arguments."""
    strict: bool | None = None
    """False: any arguments, whatever the schema says."""


@dataclass(init=False, kw_only=True)
class FunctionToolParam(CheckedRecord):
    """A tool that is a function: ``{"type": "function", "function": {"name": …}}``."""

    type: Literal["function"] = "function"
    function: FunctionDefinition


@dataclass(init=False, kw_only=True)
class BuiltinToolParam(CheckedRecord):
    """A tool that the serving side has, such as a search."""

    type: str
    name: str | None = None
    """What the model calls it; None: as its ``type``."""
    parameters: dict[str, Any] | None = None
    """The JSON schema of the arguments; None: any arguments."""


@dataclass(init=False, kw_only=True)
class NamedToolChoiceFunction(CheckedRecord):
    """The function of a :class:`NamedToolChoiceParam`."""

    name: str


@dataclass(init=False, kw_only=True)
class NamedToolChoiceParam(CheckedRecord):
    """The choice of one function, which must be called."""

    type: Literal["function"] = "function"
    function: NamedToolChoiceFunction


@dataclass(init=False, kw_only=True)
class BuiltinToolChoiceParam(CheckedRecord):
    """The choice of one builtin tool by its type, which must be called."""

    type: str
    name: str | None = None
    """Not looked at."""


@dataclass(init=False, kw_only=True)
class AllowedToolRef(CheckedRecord):
    """A tool of an :class:`AllowedToolsParam`: a function by its name, or a builtin tool by its type."""

    type: str
    function: NamedToolChoiceFunction | None = None
    name: str | None = None
    """Not looked at."""


@dataclass(init=False, kw_only=True)
class AllowedToolsParam(CheckedRecord):
    """Some of the tools, and whether one of them must be called."""

    mode: Literal["auto", "required"]
    tools: list[AllowedToolRef]


@dataclass(init=False, kw_only=True)
class AllowedToolChoiceParam(CheckedRecord):
    """The choice among some of the tools."""

    type: Literal["allowed_tools"] = "allowed_tools"
    allowed_tools: AllowedToolsParam


ToolParam = FunctionToolParam | BuiltinToolParam
ToolChoiceOptionParam = Literal["none", "auto", "required"] | NamedToolChoiceParam | AllowedToolChoiceParam | BuiltinToolChoiceParam
