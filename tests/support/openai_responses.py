"""What the tests of the example server's Responses API ask for, and a check of calls."""

import json
import re
from typing import Any

from openai_serving import CALLS, MODEL, SCHEMAS

FUNCTIONS: list[Any] = [{"type": "function", "name": name, "parameters": schema} for name, schema in SCHEMAS.items()]
SUMS = 'start: NUMBER ("+" NUMBER)~1..3\nNUMBER: /[0-9]{1,2}/'
# The end of a call in the model's format may stand in the text of a custom tool, too.
PATTERN = '[ab]{2}"(\\}\n</tool_call>)?é[0-9]{2}'


def custom(name: str, syntax: str, definition: str) -> dict[str, Any]:
    return {"type": "custom", "name": name, "format": {"type": "grammar", "syntax": syntax, "definition": definition}}


CUSTOM = [custom("sum", "lark", SUMS), custom("code", "regex", PATTERN)]


def ask(client: Any, *, bias: int | None = None, seed: int = 1, **request: Any) -> Any:
    """A response, whole."""
    extra = {"seed": seed, **({} if bias is None else {"logit_bias": {str(CALLS): bias}})}
    return client.responses.create(**{"model": MODEL, "input": "Hello", "max_output_tokens": 900, "extra_body": extra, **request})


def text_format(schema: Any, **more: Any) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "name": "answer", "schema": schema, **more}}


def check_call(item: Any) -> None:
    """By a parser that is not psc's."""
    if item.type == "function_call":
        import jsonschema

        jsonschema.validate(json.loads(item.arguments), SCHEMAS[item.name])
    elif item.name == "sum":
        import lark

        lark.Lark(SUMS, parser="lalr").parse(item.input)
    else:
        assert item.name == "code" and re.fullmatch(PATTERN, item.input)
