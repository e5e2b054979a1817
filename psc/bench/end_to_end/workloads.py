"""What is asked of the models: prompts, the texts that are forced, and the constraint in each engine's own language.

*json*: each request brings another schema, of tools as models are given them, objects closed, and arguments that are valid.
*java*, *go*, *sql*: a subset of the language that every engine takes (`psc.bench.end_to_end.grammars`), and texts of it without
comments, and with `as` before each alias.

The same seed gives the same works.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from psc.bench.end_to_end.grammars import common_grammar
from psc.bench.lark_dialects import for_llguidance
from psc.bench.sample_texts import TEXTS, java
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


_COMMENT: Final = re.compile(r"^[ \t]*(?://.*|/\*\*.*\*/)\n", re.M)
_ALIAS: Final = re.compile(r"((?:\bfrom| join) \w+) ([abc])\b")
_TOLD: Final = {
    "java": "Write a class in Java about {}. Answer with code only, without comments.",
    "go": "Write a program in Go about {}. Answer with code only, without comments.",
    "sql": "Write an SQL query about {}. Answer with SQL only.",
}
_ABOUT: Final = ("an order", "a customer", "shipping", "prices", "a stack", "a queue", "a matrix", "a library", "temperatures")


def constraints_of(language: str) -> dict[str, Constraint]:
    """The subset of a language in each engine's own."""
    grammar = common_grammar(language)
    lark = grammar.lark()
    return {"psc": {"grammar": lark}, "guidance": {"grammar": for_llguidance(lark)}, "xgrammar": {"grammar": grammar.ebnf()}}


def _code(language: str) -> Callable[[int, random.Random], list[Work]]:
    writers: dict[str, Callable[[random.Random], str]] = {**TEXTS, "java": lambda rng: java(rng, 2)}
    write = writers[language]

    def works(n: int, rng: random.Random) -> list[Work]:
        constraints = constraints_of(language)
        texts = [_ALIAS.sub(r"\1 as \2", _COMMENT.sub("", write(rng)).strip()) for _ in range(n)]
        return [Work(_TOLD[language].format(rng.choice(_ABOUT)), text, constraints) for text in texts]

    return works


LANGUAGES: Final[dict[str, Callable[[int, random.Random], list[Work]]]] = {
    "json": _json,
    **{name: _code(name) for name in ("java", "go", "sql")},
}
"""Name -> what makes its works."""
