"""What a small model writes with a grammar and without one: how much is valid, comes to its end, and is right.

    python benchmarks/quality.py [--model SPEC] [--prompts N] [--batch N] [--json FILE]

JSON: sentences about made-up people, and a schema for their facts. A text is valid where Python's parser reads it and each
member is of its type, and right where name, age and city are those of the sentence. Java: classes. A text is valid where the
bundled grammar takes it whole. Without psc the first code block of an answer counts too (`block valid`, `right`), as people
take it out. Prompts are those of `psc generate`, tokens the likeliest ones.

The cost: with SmolLM2, N = 10, 160 tokens and one thread, 8 minutes on a busy machine.
"""

import argparse
import json
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

import psc
from psc.adapters.transformers import GrammarLogitsProcessor
from psc.bench.measure import in_words, machine, table
from psc.compiler.grammars import bundled_description
from psc.generation.converted import prepared
from psc.generation.fences import FenceEnds
from psc.generation.instructions import Instruction, language_instruction, schema_instruction
from psc.generation.language_model import LanguageModel
from psc.generation.models import NAMED_MODELS, find_model
from psc.requests.json_schemas import BOUNDED

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "city": {"type": "string"},
        "likes": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
    },
    "required": ["name", "age", "city", "likes"],
    "additionalProperties": False,
}
NAMES = ("Maria", "Jonas", "Aiko", "Samuel", "Fatima", "Lucas", "Ingrid", "Omar", "Priya", "Tom")
CITIES = ("Lisbon", "Oslo", "Kyoto", "Nairobi", "Lyon", "Dublin", "Quito")
LIKES = ("sailing and old maps", "chess", "baking bread", "running and jazz", "gardening", "birds and long walks")
CLASSES = (
    *("bank account", "point with x and y", "stack of integers", "temperature converter", "library book", "student with grades"),
    *("shopping cart", "circle with area and perimeter", "queue of strings", "counter", "rectangle", "car with a speed", "clock"),
    *("linked list node", "matrix of doubles", "fraction", "phone book", "employee with a salary", "dice", "calculator"),
    *("playlist of songs", "binary tree", "date", "color with red, green and blue", "player with a score", "elevator", "message"),
    *("hotel room", "ticket", "pair of two values", "timer", "house with rooms", "dog that barks", "list of tasks", "coin"),
    *("complex number", "recipe with ingredients", "movie with a rating", "address", "train with wagons", "simple logger"),
    *("cache of strings", "vector with three components", "chess piece", "invoice", "range of integers", "password checker"),
    *("word counter", "traffic light", "vending machine"),
)


class Case:
    """A prompt, and what is right."""

    def __init__(self, prompt: str, facts: dict[str, Any]) -> None:
        self.prompt, self.facts = prompt, facts


def people(n: int) -> list[Case]:
    """Sentences about people."""
    cases = []
    for i in range(n):
        facts = {"name": NAMES[i % 10], "age": 19 + 7 * i % 60, "city": CITIES[i % 7]}
        cases.append(Case(f"{facts['name']} is {facts['age']}, lives in {facts['city']} and likes {LIKES[i % 6]}.", facts))
    return cases


def read_person(text: str) -> dict[str, Any] | None:
    """The JSON, where it fits the schema; written out, so that psc does not judge itself."""
    try:
        read = json.loads(text)
    except ValueError:
        return None
    if not isinstance(read, dict) or set(read) != set(SCHEMA["required"]):
        return None
    likes = read["likes"]
    fits = isinstance(read["name"], str) and type(read["age"]) is int and isinstance(read["city"], str) and isinstance(likes, list)
    return read if fits and len(likes) <= 5 and all(isinstance(one, str) for one in likes) else None


def block(text: str) -> str:
    """The first code block, or the text."""
    found = re.search(r"```\w*\n(.*?)```", text, re.S)
    return found[1] if found else text


class Writer:
    """Writes texts in batches."""

    def __init__(self, spec: str, batch: int, max_tokens: int) -> None:
        with prepared(find_model(spec), keep=True) as files:
            self.info = psc.load_tokenizer(files.path)
            self._model = LanguageModel(files, progress=lambda name: None)
        self._batch, self._max_tokens = batch, max_tokens

    def texts(
        self, told: Instruction, prompts: Sequence[str], compiled: psc.CompiledGrammar | None, report: Callable[[int], None]
    ) -> list[tuple[str, bool]]:
        """Each text, and whether it came to its end."""
        out = []
        for at in range(0, len(prompts), self._batch):
            out += self._some(told, prompts[at : at + self._batch], compiled)
            report(len(out))
        return out

    def _some(self, told: Instruction, prompts: Sequence[str], compiled: psc.CompiledGrammar | None) -> list[tuple[str, bool]]:
        stop = list(self.info.stop_token_ids)
        opening = told.opening if compiled else ""
        rows = [list(self._model.chat_prompt(told.system, prompt, opening)) for prompt in prompts]
        width = max(map(len, rows))
        ids = torch.tensor([[stop[0]] * (width - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        processors: list[Any] = [FenceEnds(self.info)] if opening else []
        if compiled is not None:
            processors.append(GrammarLogitsProcessor([compiled] * len(rows), tokenizer_info=self.info, eos_token_id=stop))
        options = {"max_new_tokens": self._max_tokens, "do_sample": False, "eos_token_id": stop, "pad_token_id": stop[0]}
        with torch.inference_mode():
            made = self._model.model.generate(input_ids=ids, attention_mask=mask, logits_processor=processors, **options)
        return [self._read(row) for row in made[:, width:].tolist()]

    def _read(self, tokens: list[int]) -> tuple[str, bool]:
        end = next((i for i, token in enumerate(tokens) if token in self.info.stop_token_ids), None)
        data = b"".join(map(self.info.token_bytes, tokens[:end]))
        return data.decode("utf-8", "replace"), end is not None


def measured(writer: Writer, what: str, cases: Sequence[Case], compiled: psc.CompiledGrammar) -> list[dict[str, Any]]:
    """With psc and without."""

    def fits(text: str, case: Case) -> tuple[bool, bool]:
        if what == "java":
            valid = psc.GrammarMatcher(compiled)
            return valid.accept_string(text) and valid.is_completed(), True
        read = read_person(text)
        return read is not None, read is not None and all(read[k] == v for k, v in case.facts.items())

    told = language_instruction("java", bundled_description("java")) if what == "java" else schema_instruction(json.dumps(SCHEMA))
    rows = []
    for held in (None, compiled):
        began = time.perf_counter()
        name = f"{what}, {'psc' if held else 'no grammar'}"
        texts = writer.texts(told, [c.prompt for c in cases], held, lambda n, name=name: print(f"{name}: {n}", flush=True))
        judged = [fits(text, case) for (text, _), case in zip(texts, cases, strict=True)]
        blocks = [fits(block(text), case) for (text, _), case in zip(texts, cases, strict=True)]
        row = {"what": name, "texts": len(texts), "finished": sum(end for _, end in texts), "valid": sum(v for v, _ in judged)}
        row |= {"block valid": sum(v for v, _ in blocks), "seconds": time.perf_counter() - began}
        row["right"] = None if what == "java" else sum(r for _, r in blocks)
        rows.append({**row, "written": [text for text, _ in texts]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=NAMED_MODELS[0].name)
    parser.add_argument("--prompts", type=int, default=50, choices=range(1, 51), metavar="N")
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    writer = Writer(arguments.model, arguments.batch, arguments.max_tokens)
    compiler = psc.GrammarCompiler(writer.info)
    person = compiler.compile_json_schema(SCHEMA, **BOUNDED)
    rows = measured(writer, "json", people(arguments.prompts), person)
    classes = [Case(f"A class for a {name}.", {}) for name in CLASSES[: arguments.prompts]]
    rows += measured(writer, "java", classes, compiler.compile_file("java"))
    print(in_words(machine()))
    shown = ("what", "texts", "finished", "valid", "block valid", "right")
    print(table(shown, [["" if row[k] is None else str(row[k]) for k in shown] for row in rows]))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
