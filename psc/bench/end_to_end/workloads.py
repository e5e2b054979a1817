"""What is asked of the models: prompts, the texts that are forced, and the constraint in each engine's own language.

*json*: each request brings another schema, of tools as models are given them, objects closed, and arguments that are valid.
*java*, *go*, *sql*: a subset of the language that every engine takes (`common_grammars`), and texts of it.

The same seed gives the same works.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from psc.bench.tool_requests import generated_tools

Constraint = dict[str, str]
"""As vLLM takes it: a kind and a text."""


@dataclass(frozen=True)
class Work:
    """A request."""

    prompt: str
    """What a user says to the model."""
    text: str
    """What the model is to write where the text is forced; valid."""
    constraints: Mapping[str, Constraint]
    """vLLM's backend -> what it is given."""


def works_of(language: str, n: int, seed: str) -> list[Work]:
    """`n` requests. Raises KeyError for a language that there is none of."""
    return LANGUAGES[language](n, random.Random(f"{language} {seed}"))


def _json(n: int, rng: random.Random) -> list[Work]:
    works: list[Work] = []
    while len(works) < n:
        for tool in generated_tools(min(n - len(works), 100), rng):
            schema = json.dumps(closed(tool.parameters))
            told = f"Call {tool.name}, with made-up arguments {', '.join(tool.parameters['properties'])}. Answer with JSON only."
            text = json.dumps(rng.choice(tool.arguments), ensure_ascii=False)
            works.append(Work(told, text, {name: {"json": schema} for name in ("psc", "guidance", "xgrammar")}))
    return works


def closed(schema: Any) -> Any:
    """A schema whose objects have the members that it names and no others: engines differ in what they take beside these."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items() if key != "description"}
    return {**found, "additionalProperties": False} if schema.get("type") == "object" else found


LANGUAGES: Final[dict[str, Callable[[int, random.Random], list[Work]]]] = {"json": _json}
"""Name -> what makes its works."""
