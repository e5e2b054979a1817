"""What a small model writes with a grammar and without one: how much is valid, comes to its end, and is right; and with peers.

    python benchmarks/quality.py [LANGUAGE …] [--model SPEC] [--prompts N] [--batch N] [--json FILE]

Prompts are of `psc.bench.prompts`. JSON: sentences about made-up people, and a schema for their facts. A text is valid where
Python's parser reads it and each member is of its type, and right where name, age and city are those of the sentence. Java, Go,
SQL, Python: small tasks. A text is valid where the bundled grammar, with any layout, takes it whole. Without psc the first code
block of an answer counts too (`block valid`, `right`), as people take it out. What stands around a prompt is that of
`psc generate`, and so is the bounded layout; tokens are the likeliest ones.

llguidance and XGrammar take part where they are installed, by what they make of the schema if nothing else is said, and of Java,
Go and SQL by the subset that all engines take (`psc.bench.end_to_end.grammars`). psc takes part with this subset, too.
"""

import argparse
import json
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from quality_peers import MaskedBy, peers_of

import psc
from psc.adapters.transformers import GrammarLogitsProcessor
from psc.bench.end_to_end.grammars import LANGUAGES as WITH_COMMON_GRAMMAR
from psc.bench.end_to_end.workloads import constraints_of
from psc.bench.measure import in_words, machine, table
from psc.bench.prompts import LANGUAGES, PERSON, Prompt, prompts_of
from psc.compiler.grammars import bundled_bounds_layout, bundled_description
from psc.generation.converted import prepared
from psc.generation.fences import FenceEnds
from psc.generation.instructions import Instruction, language_instruction, schema_instruction
from psc.generation.language_model import LanguageModel
from psc.generation.models import NAMED_MODELS, find_model
from psc.requests.json_schemas import BOUNDED

Held = Callable[[int], Any] | None
"""From the rows of a batch to a processor of their logits; None: the model writes as it likes."""


def read_person(text: str) -> dict[str, Any] | None:
    """The JSON, where it fits the schema; written out, so that psc does not judge itself."""
    try:
        read = json.loads(text)
    except ValueError:
        return None
    if not isinstance(read, dict) or set(read) != set(PERSON["required"]):
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

    def __init__(self, spec: str, batch: int, max_tokens: int, dtype: torch.dtype | None) -> None:
        with prepared(find_model(spec), keep=True) as files:
            self.spec = str(files.path)
            self.info = psc.load_tokenizer(files.path)
            self._model = LanguageModel(files, progress=lambda name: None)
        if dtype is not None:
            self._model.model.to(dtype)
        self._batch, self._max_tokens = batch, max_tokens

    def texts(self, told: Instruction, prompts: Sequence[str], held: Held, report: Callable[[int], None]) -> list[tuple[str, bool]]:
        """Each text, and whether it came to its end."""
        out = []
        for at in range(0, len(prompts), self._batch):
            out += self._some(told, prompts[at : at + self._batch], held)
            report(len(out))
        return out

    def _some(self, told: Instruction, prompts: Sequence[str], held: Held) -> list[tuple[str, bool]]:
        stop = list(self.info.stop_token_ids)
        opening = told.opening if held else ""
        rows = [list(self._model.chat_prompt(told.system, prompt, opening)) for prompt in prompts]
        width = max(map(len, rows))
        ids = torch.tensor([[stop[0]] * (width - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        processors: list[Any] = [FenceEnds(self.info)] if opening else []
        if held is not None:
            processors.append(held(len(rows)))
        options = {"max_new_tokens": self._max_tokens, "do_sample": False, "eos_token_id": stop, "pad_token_id": stop[0]}
        with torch.inference_mode():
            made = self._model.model.generate(input_ids=ids, attention_mask=mask, logits_processor=processors, **options)
        return [self._read(row) for row in made[:, width:].tolist()]

    def _read(self, tokens: list[int]) -> tuple[str, bool]:
        end = next((i for i, token in enumerate(tokens) if token in self.info.stop_token_ids), None)
        data = b"".join(map(self.info.token_bytes, tokens[:end]))
        return data.decode("utf-8", "replace"), end is not None


def contestants(writer: Writer, what: str, compiler: psc.GrammarCompiler) -> dict[str, Held]:
    """What holds the texts, by its name."""
    if what == "json":
        compiled = compiler.compile_json_schema(PERSON, **BOUNDED)
    else:
        compiled = compiler.compile_file(f"{what}?layout=bounded" if bundled_bounds_layout(what) else what)
    with_psc = {"psc": compiled}
    if what in WITH_COMMON_GRAMMAR:
        with_psc["psc, subset"] = compiler.compile_lark(constraints_of(what)["psc"]["grammar"])
    held: dict[str, Held] = {"no grammar": None, **{name: partial(_by_psc, writer.info, by) for name, by in with_psc.items()}}
    for name, new in peers_of(what, PERSON, writer.spec, writer.info).items():
        held[name] = lambda rows, new=new: MaskedBy(new, rows, writer.info)
    return held


def _by_psc(info: psc.TokenizerInfo, compiled: psc.CompiledGrammar, rows: int) -> GrammarLogitsProcessor:
    return GrammarLogitsProcessor([compiled] * rows, tokenizer_info=info, eos_token_id=list(info.stop_token_ids))


def measured(writer: Writer, what: str, n: int) -> list[dict[str, Any]]:
    """With each contestant and without any."""
    compiler, cases = psc.GrammarCompiler(writer.info), prompts_of(what, n)
    told = schema_instruction(json.dumps(PERSON)) if what == "json" else language_instruction(what, bundled_description(what))
    whole = None if what == "json" else compiler.compile_file(what)

    def fits(text: str, case: Prompt) -> tuple[bool, bool]:
        if whole is not None:
            valid = psc.GrammarMatcher(whole)
            return valid.accept_string(text) and valid.is_completed(), True
        read = read_person(text)
        return read is not None, read is not None and all(read[k] == v for k, v in case.facts.items())

    rows = []
    for by, held in contestants(writer, what, compiler).items():
        began = time.perf_counter()
        name = f"{what}, {by}"
        texts = writer.texts(told, [c.text for c in cases], held, lambda n, name=name: print(f"{name}: {n}", flush=True))
        judged = [fits(text, case)[0] for (text, _), case in zip(texts, cases, strict=True)]
        blocks = [fits(block(text), case) for (text, _), case in zip(texts, cases, strict=True)]
        ended = [end for _, end in texts]
        row = {"what": name, "texts": len(texts), "finished": sum(ended), "finished, valid": sum(map(min, ended, judged))}
        row |= {"valid": sum(judged), "block valid": sum(v for v, _ in blocks), "seconds": time.perf_counter() - began}
        row["right"] = None if what != "json" else sum(r for _, r in blocks)
        rows.append({**row, "written": [text for text, _ in texts]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=NAMED_MODELS[0].name)
    parser.add_argument("languages", nargs="*", choices=[*LANGUAGES, []], metavar="LANGUAGE", help=f"{', '.join(LANGUAGES)}; all")
    parser.add_argument("--prompts", type=int, default=200, choices=range(1, 201), metavar="N")
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--bfloat16", action="store_true", help="weights of this type, 3 times as fast where a CPU multiplies it")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    dtype = torch.bfloat16 if arguments.bfloat16 else None
    writer = Writer(arguments.model, arguments.batch, arguments.max_tokens, dtype)
    rows = [row for name in arguments.languages or LANGUAGES for row in measured(writer, name, arguments.prompts)]
    print(in_words(machine()))
    shown = ("what", "texts", "finished", "finished, valid", "valid", "block valid", "right")
    print(table(shown, [["" if row[k] is None else str(row[k]) for k in shown] for row in rows]))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
