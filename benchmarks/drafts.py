"""Tokens a second with a grammar's drafts and without: closed JSON schemas and tool calls, one text at a time.

    python benchmarks/drafts.py [--model SPEC] [--prompts N] [--rounds N] [--json FILE]

Sentences about made-up people and places, a schema for their facts, or a call of one of two tools with such arguments; the
likeliest tokens; JSON with any white space, and without. Both ways take turns, text by text, and of rounds the fastest
counts. Texts that differ between the two are counted: a forward pass of several tokens rounds otherwise than one of one, which
shows where two tokens are as likely.

The cost: with SmolLM2, 6 prompts, 2 rounds and one thread, 3 minutes on a quiet machine.
"""

import argparse
import json
from collections.abc import Sequence
from typing import Any

import psc
from psc.bench.measure import in_words, machine, table
from psc.generation.converted import prepared
from psc.generation.instructions import schema_instruction
from psc.generation.language_model import LanguageModel
from psc.generation.models import NAMED_MODELS, find_model
from psc.generation.writing import Sampling, Written, write

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "city": {"type": "string", "maxLength": 30},
        "occupation": {"enum": ["teacher", "engineer", "gardener", "other"]},
        "speaks_several_languages": {"type": "boolean"},
    },
    "required": ["name", "age", "city", "occupation", "speaks_several_languages"],
    "additionalProperties": False,
}
WEATHER = {
    "type": "object",
    "properties": {
        "location": {"type": "string", "maxLength": 30},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "number_of_days": {"type": "integer", "minimum": 1, "maximum": 14},
        "include_warnings": {"type": "boolean"},
    },
    "required": ["location", "unit", "number_of_days", "include_warnings"],
    "additionalProperties": False,
}
TOOLS = {"get_weather_forecast": WEATHER, "remember_person": PERSON}
NAMES = ("Maria", "Jonas", "Aiko", "Samuel", "Fatima", "Lucas", "Ingrid", "Omar")
CITIES = ("Lisbon", "Oslo", "Kyoto", "Nairobi", "Lyon", "Dublin", "Quito", "Lima")


def tool_calls(compiler: psc.GrammarCompiler) -> psc.CompiledGrammar:
    """A call of one of the tools, as Hermes and Qwen write it."""
    tags = [
        {
            "type": "tag",
            "begin": f'<tool_call>\n{{"name": "{name}", "arguments": ',
            "content": {"type": "json_schema", "json_schema": schema},
            "end": "}\n</tool_call>",
        }
        for name, schema in TOOLS.items()
    ]
    return compiler.compile_structural_tag(json.dumps({"type": "structural_tag", "format": {"type": "or", "elements": tags}}))


def cases(info: psc.TokenizerInfo, n: int) -> dict[str, tuple[psc.CompiledGrammar, str, list[str]]]:
    """Of each kind the grammar, the system prompt, and prompts."""
    compiler = psc.GrammarCompiler(info)
    people = [f"{NAMES[i % 8]} is {19 + 7 * i % 60}, teaches in {CITIES[i % 8]} and speaks English and German." for i in range(n)]
    weather = [f"What will the weather be in {CITIES[i % 8]} in the next {2 + i % 9} days?" for i in range(n)]
    schemas = json.dumps(TOOLS)
    return {
        "closed schema": (
            compiler.compile_json_schema(json.dumps(PERSON), any_whitespace=False),
            str(schema_instruction(json.dumps(PERSON)).system),
            people,
        ),
        "closed schema, any white space": (
            compiler.compile_json_schema(json.dumps(PERSON)),
            str(schema_instruction(json.dumps(PERSON)).system),
            people,
        ),
        "tool call": (
            tool_calls(compiler),
            f"Answer with a call of one of these tools, in JSON between <tool_call> and </tool_call>:\n{schemas}",
            weather,
        ),
    }


def measured(model: LanguageModel, info: psc.TokenizerInfo, case: tuple[Any, str, list[str]], rounds: int) -> list[dict[str, Any]]:
    """Both ways, in turns."""
    compiled, system, prompts = case
    ways = {
        drafts: {"drafts": drafts, "texts": 0, "tokens": 0, "passes": 0, "seconds": 0.0, "differ": 0} for drafts in (False, True)
    }
    for prompt in prompts:
        asked = model.chat_prompt(system, prompt)
        best: dict[bool, Written] = {}
        for _ in range(rounds):
            for drafts in ways:
                written = write(
                    model,
                    info,
                    asked,
                    compiled=compiled,
                    sampling=Sampling(max_tokens=160, temperature=0, seed=0),
                    drafts=drafts,
                    on_text=lambda _: None,
                )
                if drafts not in best or written.rest_s < best[drafts].rest_s:
                    best[drafts] = written
        for drafts, written in best.items():
            way = ways[drafts]
            way["texts"] += 1
            way["tokens"] += written.n_tokens - 1
            way["passes"] += written.n_passes - 1
            way["seconds"] += written.rest_s
            way["differ"] += written.text != best[False].text
    return list(ways.values())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=NAMED_MODELS[0].name)
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(arguments)
    with prepared(find_model(options.model), keep=True, progress=print) as files:
        model, info = LanguageModel(files, progress=print), psc.load_tokenizer(files.path)
    found = {kind: measured(model, info, case, options.rounds) for kind, case in cases(info, options.prompts).items()}
    print(in_words(machine()))
    head = ("", "drafts", "tokens", "forward passes", "tokens a second", "other texts")
    rows = [
        (
            kind,
            "yes" if way["drafts"] else "no",
            str(way["tokens"]),
            str(way["passes"]),
            f"{way['tokens'] / way['seconds']:.1f}",
            f"{way['differ']} of {way['texts']}",
        )
        for kind, ways in found.items()
        for way in ways
    ]
    print(table(head, rows))
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"machine": machine(), "found": found}, out, indent=1)


if __name__ == "__main__":
    main()
