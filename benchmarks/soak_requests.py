"""The requests of `soak.py`: constraints of every kind, each with a check that only its own texts pass.

A request's number stands in its constraint, so that a text that another request's mask has shaped fails the check. Some requests
are for constraints that there are not, some for such that cost much.
"""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jsonschema
from hostile_grammars import NAMED

import psc

Compile = Callable[[psc.GrammarCompiler, psc.Cancellation], psc.CompiledGrammar]
Check = Callable[[str], bool]


@dataclass(frozen=True)
class Request:
    """What a client asks for.

    `refused` says that there is no such constraint. `cancel_after` is the number of tokens after which the client goes away, 0
    while the grammar is compiled.
    """

    kind: str
    compile: Compile
    check: Check | None = None
    refused: bool = False
    most_tokens: int = 200
    cancel_after: int | None = None
    seed: int = field(default=0)


def request(number: int, rng: random.Random) -> Request:
    """The request of a number: mostly of the kinds that servers get, one in eight malformed or hostile, one in ten given up."""
    chosen = rng.random()
    if chosen < 0.08:
        kind = _malformed
    elif chosen < 0.12:
        kind = _hostile
    else:
        kind = rng.choice(_KINDS)
    made = kind(number, rng)
    cancel_after = rng.choice((0, 0, 1, 5, 20)) if rng.random() < 0.1 else None
    return Request(
        made.kind, made.compile, made.check, made.refused, made.most_tokens, cancel_after if not made.refused else None, number
    )


def _schema(number: int, rng: random.Random) -> Request:
    """An object of some members; one request in two has a schema that some others have, but for the number."""
    schema = _object(random.Random(number % 40) if rng.random() < 0.5 else rng, 2)
    schema["properties"] = {"request": {"const": number}, **schema["properties"]}
    schema["required"] = ["request", *schema["required"]]
    options: dict[str, Any] = {"any_whitespace": False} if rng.random() < 0.3 else {}
    return Request(
        "JSON Schema",
        lambda compiler, cancellation: compiler.compile_json_schema(schema, cancellation=cancellation, **options),
        lambda text: jsonschema.Draft202012Validator(schema).is_valid(json.loads(text)),
        most_tokens=500,
    )


def _object(rng: random.Random, depth: int) -> dict[str, Any]:
    names = rng.sample(["name", "city", "days", "tags", "note", "price", "kind", "place", "open", "id"], rng.randint(1, 5))
    members = {name: _value(rng, depth) for name in names}
    return {"type": "object", "properties": members, "required": names[: rng.randint(0, 3)], "additionalProperties": False}


def _value(rng: random.Random, depth: int) -> dict[str, Any]:
    kinds: list[Callable[[], dict[str, Any]]] = [
        lambda: {"type": "string", "maxLength": rng.randint(3, 30)},
        lambda: {"type": "string", "pattern": f"^[a-z]{{1,{rng.randint(2, 9)}}}$"},
        lambda: {"type": "integer", "minimum": 0, "maximum": rng.randint(1, 10_000)},
        lambda: {"type": "boolean"},
        lambda: {"enum": [f"{rng.randrange(1000)}", None, rng.randrange(1000)]},
        lambda: {"type": "string", "format": "date"},
    ]
    if depth:
        kinds.append(lambda: _object(rng, depth - 1))
        kinds.append(lambda: {"type": "array", "items": _value(rng, depth - 1), "maxItems": rng.randint(1, 4)})
        kinds.append(lambda: {"anyOf": [_value(rng, depth - 1), _value(rng, depth - 1)]})
    return rng.choice(kinds)()


def _tools(number: int, rng: random.Random) -> Request:
    """A call of one of some tools that other requests have, and of one that has the request's number."""
    shared = [_object(random.Random(i), 1) for i in rng.sample(range(100), rng.randint(1, 20))]
    schemas = {f"tool_{i}": schema for i, schema in enumerate(shared)} | {f"only_{number}": _object(rng, 1)}
    tools: list[Any] = [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in schemas.items()]
    choice: Any = "required" if rng.random() < 0.5 else {"type": "function", "function": {"name": f"only_{number}"}}
    tag = psc.get_model_structural_tag("qwen_3", tools, choice, reasoning="disabled", parallel_tool_calls=False)

    def check(text: str) -> bool:
        found = re.fullmatch(r'<tool_call>\n\{"name": "(\w+)", "arguments": (.*)\}\n</tool_call>', text, re.DOTALL)
        valid = found is not None and jsonschema.Draft202012Validator(schemas[found[1]]).is_valid(json.loads(found[2]))
        return valid and (choice == "required" or (found is not None and found[1] == f"only_{number}"))

    return Request(
        "tool call",
        lambda compiler, cancellation: compiler.compile_structural_tag(tag, cancellation=cancellation),
        check,
        most_tokens=500,
    )


def _regex(number: int, rng: random.Random) -> Request:
    pattern = f"r{number}(-[a-z]{{2,{rng.randint(2, 8)}}}|=[0-9]+\\.[0-9]{{2}}){{1,{rng.randint(1, 5)}}}!"
    return Request(
        "regex",
        lambda compiler, cancellation: compiler.compile_regex(pattern, cancellation=cancellation),
        lambda text: re.fullmatch(pattern, text) is not None,
    )


def _choice(number: int, rng: random.Random) -> Request:
    choices = {f"{rng.choice(('yes', 'no', 'maybe', 'ja', '是'))} {number} {i}" for i in range(rng.randint(2, 60))}
    text = "root ::= " + " | ".join(json.dumps(c, ensure_ascii=False) for c in sorted(choices))
    return Request(
        "choice", lambda compiler, cancellation: compiler.compile_grammar(text, cancellation=cancellation), choices.__contains__
    )


def _ebnf(number: int, rng: random.Random) -> Request:
    most = rng.randint(2, 6)
    text = f'root ::= "{number}:" sum ("," sum){{0,{most}}} ";"\nsum ::= term (" + " term)*\nterm ::= [0-9]{{1,3}} | "(" sum ")"\n'

    def check(written: str) -> bool:
        body = written.removeprefix(f"{number}:").removesuffix(";")
        while "(" in body:
            inner = re.sub(r"\([0-9]{1,3}( \+ [0-9]{1,3})*\)", "1", body)
            if inner == body:
                return False
            body = inner
        one = r"[0-9]{1,3}( \+ [0-9]{1,3})*"
        return written.startswith(f"{number}:") and re.fullmatch(rf"{one}(,{one}){{0,{most}}}", body) is not None

    return Request("EBNF", lambda compiler, cancellation: compiler.compile_grammar(text, cancellation=cancellation), check)


def _lark(number: int, rng: random.Random) -> Request:
    word = "".join(rng.choices("abcdef", k=4))
    text = f'start: "{number}" item+ "end"\nitem: "{word}" NUMBER ";"\nNUMBER: /[0-9]{{1,4}}/\n'
    return Request(
        "Lark",
        lambda compiler, cancellation: compiler.compile_lark(text, cancellation=cancellation),
        lambda written: re.fullmatch(rf"{number}({word}[0-9]{{1,4}};)+end", written) is not None,
    )


def _structural_tag(number: int, rng: random.Random) -> Request:
    schema = _object(rng, 1)
    begin, end = f"<call={number}>", "</call>"
    tag = {"type": "tag", "begin": begin, "content": {"type": "json_schema", "json_schema": schema}, "end": end}
    document = {"type": "structural_tag", "format": {"type": "plus", "content": tag}}

    def check(text: str) -> bool:
        parts = text.split(begin)
        values = [json.loads(part.removesuffix(end)) for part in parts[1:]]
        return not parts[0] and bool(values) and all(jsonschema.Draft202012Validator(schema).is_valid(v) for v in values)

    return Request(
        "structural tag",
        lambda compiler, cancellation: compiler.compile_structural_tag(document, cancellation=cancellation),
        check,
        most_tokens=500,
    )


def _json_mode(number: int, rng: random.Random) -> Request:
    return Request(
        "JSON",
        lambda compiler, cancellation: compiler.compile_builtin_json_grammar(cancellation=cancellation),
        lambda text: json.loads(text) is not Ellipsis,
        most_tokens=300,
    )


def _malformed(number: int, rng: random.Random) -> Request:
    """What there is no grammar for."""
    schemas: list[Any] = [
        {"type": f"kind{number}"},
        {"$ref": f"#/$defs/{number}"},
        {"type": "string", "pattern": f"({number}"},
        {"minLength": "a"},
        '{"type": ',
        {"allOf": [{"const": number}, {"const": number + 1}]},
    ]
    texts = [f'root ::= "{number}', f"root ::= missing{number}", 'root ::= root "a"', "", f"root ::= [z-a] {number}"]
    ways: list[Compile] = [
        lambda compiler, cancellation: compiler.compile_json_schema(rng_schema, cancellation=cancellation),
        lambda compiler, cancellation: compiler.compile_grammar(rng_text, cancellation=cancellation),
        lambda compiler, cancellation: compiler.compile_regex(f"{number}(", cancellation=cancellation),
        lambda compiler, cancellation: compiler.compile_lark(f"start: A{number}", cancellation=cancellation),
        lambda compiler, cancellation: compiler.compile_structural_tag(
            {"format": {"type": f"{number}"}}, cancellation=cancellation
        ),
    ]
    rng_schema, rng_text = rng.choice(schemas), rng.choice(texts)
    return Request("malformed", rng.choice(ways), refused=True)


def _hostile(number: int, rng: random.Random) -> Request:
    """What costs much: it may be refused, or meet a limit; nothing is said of its texts."""
    deep: Any = {"type": "string"}
    for _ in range(rng.randint(50, 300)):
        deep = {"anyOf": [{"type": "array", "items": deep}, {"type": "object", "additionalProperties": {"const": number}}]}
    wide = {"type": "object", "properties": {f"member_{number}_{i}": {"type": "string", "maxLength": i} for i in range(1500)}}
    counted = {"type": "string", "minLength": 5_000, "maxLength": 1_000_000}
    unions = {"oneOf": [{"properties": {f"a{i}": {"enum": [i, number]}}, "minProperties": i % 4} for i in range(9)]}
    schema = rng.choice((deep, wide, counted, unions))
    text = f"# {number}\n" + rng.choice(NAMED).text
    ways: list[Compile] = [
        lambda compiler, cancellation: compiler.compile_json_schema(schema, cancellation=cancellation),
        lambda compiler, cancellation: compiler.compile_grammar(text, cancellation=cancellation),
        lambda compiler, cancellation: compiler.compile_regex(f"({number}|a|(a?){{1,50}}){{1,500}}", cancellation=cancellation),
    ]
    return Request("hostile", rng.choice(ways), most_tokens=15)


_KINDS = (_schema, _schema, _tools, _tools, _regex, _choice, _ebnf, _lark, _structural_tag, _json_mode)
