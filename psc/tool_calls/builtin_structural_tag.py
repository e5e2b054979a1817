"""The structural tag of a model's tool calls: what the model may write, given the tools and whether one must be called.

Which models there are and what they write: docs/tool-calls.md.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar

from psc.errors import InvalidStructuralTagError
from psc.support.readable import shortened
from psc.tool_calls.models.formats import FORMATS
from psc.tool_calls.models.harmony import harmony_tag
from psc.tool_calls.models.kimi_k3 import kimi_k3_tag
from psc.tool_calls.models.request import Reasoning, SimplifiedToolChoice, TagRequest, names_of, normalize_tool_choice
from psc.tool_calls.models.tool_names import ToolNameError
from psc.tool_calls.openai_tool_call_schema import (
    AllowedToolChoiceParam,
    BuiltinToolChoiceParam,
    BuiltinToolParam,
    FunctionToolParam,
    NamedToolChoiceParam,
)
from psc.tool_calls.structural_tag import StructuralTag

Builder = Callable[..., StructuralTag]
"""Takes ``tools``, ``builtin_tools``, ``tool_choice``, ``reasoning``, and by keyword the rest of `get_model_structural_tag`'s."""

_Builder = TypeVar("_Builder", bound=Builder)
_builders: dict[str, Builder] = {}
"""By the name of the model, registered ones too."""
_ALSO: Final = {"harmony": ("gptoss",), "cohere": ("command",)}
"""What models are called whose format has another name, as `_letters` has it."""
_OWN: dict[str, Builder] = {}
"""The builders of this module, by XGrammar's names for them: ``get_llama_structural_tag``."""


def get_model_structural_tag(
    model: str,
    tools: list[FunctionToolParam | BuiltinToolParam | dict[str, Any]] | None = None,
    tool_choice: str | dict[str, Any] | NamedToolChoiceParam | AllowedToolChoiceParam | BuiltinToolChoiceParam | None = "auto",
    reasoning: bool | Literal["enabled", "disabled", "auto"] = "enabled",
    force_reasoning: bool = False,
    any_order: bool = False,
    exclude_special_tokens: bool = True,
    max_whitespace_cnt: int | None = None,
    parallel_tool_calls: bool = True,
) -> StructuralTag:
    """What a model may write: reasoning, text, and calls of the tools in the form of its chat template.

    Args:
        model: ``"llama"``, ``"qwen_3"``, ``"harmony"``, …, or a name that was registered.
        tools: OpenAI's list of tools, ``{"type": "function", "function": {"name", "parameters"?, "strict"?}}``; or a tool that the
            serving side has, ``{"type", "name"?, "parameters"?}``. Arguments are free without parameters, or with ``strict`` false.
        tool_choice: ``"auto"`` or None: text and calls; ``"none"``: text; ``"required"``: at least a call; ``{"type": "function",
            "function": {"name"}}`` or ``{"type"}`` of another tool: the call of this one; ``{"type": "allowed_tools",
            "allowed_tools": {"mode", "tools"}}``: some of the tools.
        reasoning: ``"enabled"`` or True: the text begins inside reasoning; ``"disabled"`` or False: none; ``"auto"``: a whole block
            or none.
        force_reasoning: not looked at.
        any_order: whether arguments may come in any order.
        exclude_special_tokens: whether free text may not contain the model's markers.
        max_whitespace_cnt: how much white space there may be at one place of the arguments; None is no limit.
        parallel_tool_calls: whether there may be several calls.

    Raises:
        InvalidStructuralTagError: a ValueError; there is no such model (the message has near names), or an argument is wrong.

    Cost: linear in the tools, some microseconds each.
    """
    builder = _builders.get(model) if isinstance(model, str) else None
    if builder is None:
        near = _near(str(model))
        hint = f"; do you mean {' or '.join(map(repr, near))}?" if near else "."
        raise InvalidStructuralTagError(
            f"model: there is no format {shortened(repr(model), 60)}{hint} Unknown format type: the formats are "
            f"{', '.join(_builders)}; for another one write a structural tag, or register it (register_model_structural_tag)"
        )
    functions, builtins, choice = normalize_tool_choice(tools, tool_choice)
    if not isinstance(parallel_tool_calls, bool):
        raise InvalidStructuralTagError(f"parallel_tool_calls: must be true or false, not {parallel_tool_calls!r}")
    try:
        return builder(
            functions,
            builtins,
            choice,
            _reasoning(reasoning),
            any_order=any_order,
            exclude_special_tokens=exclude_special_tokens,
            max_whitespace_cnt=max_whitespace_cnt,
            parallel_tool_calls=parallel_tool_calls,
        )
    except ToolNameError as e:  # its index is among the tools that may be called
        raise e.at(names_of(tools).index(e.name)) from None


get_builtin_structural_tag = get_model_structural_tag
"""The older name."""


def register_model_structural_tag(name: str) -> Callable[[_Builder], _Builder]:
    """Makes the decorated function the one that `get_model_structural_tag` calls for a model.

    The function takes ``tools`` (functions), ``builtin_tools``, ``tool_choice`` (as `normalize_tool_choice` gives them) and
    ``reasoning`` (``"enabled"``, ``"disabled"`` or ``"auto"``), and by keyword the other arguments; it gives a ``StructuralTag``.
    A name that is registered already gets the new function.
    """

    def register(builder: _Builder) -> _Builder:
        _builders[name] = builder
        return builder

    return register


def _near(model: str) -> list[str]:
    """The formats that a name may mean: "Qwen/Qwen3-8B" those of Qwen's models, ``qwen_3`` first; else those spelled alike."""
    wanted = _letters(model[:200])
    by_letters = {_letters(name): name for name in _builders}
    family = [
        ours
        for ours, name in by_letters.items()
        if any(len(word) > 2 and word in wanted for word in (_letters(name.split("_")[0]), *_ALSO.get(name, ())))
    ]

    def likeness(ours: str) -> tuple[bool, float]:
        return ours in wanted, difflib.SequenceMatcher(None, ours, wanted).ratio()

    near = sorted(family, key=likeness, reverse=True)[:3] or difflib.get_close_matches(wanted, by_letters, n=3, cutoff=0.7)
    return [by_letters[ours] for ours in near]


def _letters(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _reasoning(given: object) -> Reasoning:
    if isinstance(given, bool):
        return "enabled" if given else "disabled"
    for known in ("enabled", "disabled", "auto"):
        if given == known:
            return known
    raise InvalidStructuralTagError(f"reasoning: must be 'enabled', 'disabled', 'auto', true or false, not {given!r}")


def _register(model: str, tag: Callable[[TagRequest], StructuralTag], reasoning: Reasoning = "enabled") -> None:
    default = reasoning

    def builder(
        tools: list[FunctionToolParam] | None = None,
        builtin_tools: list[BuiltinToolParam] | None = None,
        tool_choice: SimplifiedToolChoice = "auto",
        reasoning: Reasoning = default,
        any_order: bool = False,
        exclude_special_tokens: bool = True,
        max_whitespace_cnt: int | None = None,
        parallel_tool_calls: bool = True,
        **_: object,
    ) -> StructuralTag:
        return tag(
            TagRequest(
                functions=tuple(tools or ()),
                builtins=tuple(builtin_tools or ()),
                choice=tool_choice,
                reasoning=_reasoning(reasoning),
                any_order=any_order,
                exclude_special_tokens=exclude_special_tokens,
                max_whitespace_cnt=max_whitespace_cnt,
                parallel_tool_calls=parallel_tool_calls,
            )
        )

    builder.__name__ = builder.__qualname__ = f"get_{model}_structural_tag"
    builder.__doc__ = f"The structural tag of the model {model!r}, of arguments that `get_model_structural_tag` has normalized."
    _builders[model] = _OWN[builder.__name__] = builder


for _model, _format in FORMATS.items():
    _register(_model, _format.tag, "auto" if _model == "minimax_m3" else "enabled")
_register("harmony", harmony_tag)
_register("kimi_k3", kimi_k3_tag)


def __getattr__(name: str) -> Builder:
    """``get_MODEL_structural_tag`` of each model here: XGrammar has such functions. Registering a model does not change them."""
    if name not in _OWN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _OWN[name]
