"""vLLM's manager of structured outputs over batches, with psc, XGrammar and llguidance as its backend, in one run.

    python benchmarks/serving.py --tokenizer SPEC [--schemas SCHEMAS.jsonl[.zst]] [--batches 1 64 256 512] [--json FILE]

The idea: requests are admitted (validated and compiled, each text cold) by vLLM's own code. Then a batch goes step by step: the
manager fills the masks of all its requests, and accepts for each the next token of a text that is valid for it. A request that has
ended begins anew. The first round meets masks for the first time; the second round has met them. The engines take turns in changing
order. A request counts only if all engines take it and its text. With drafts, a step is: validate eight drafts, fill nine masks,
accept nine tokens. What the manager's own code takes of that, without the masks, is measured with grammars that take everything. In
the end one request of a batch of 16 has a grammar that is made to be expensive.
Needs vLLM 0.33 (its Python part will do), XGrammar and llguidance, and no GPU.

The cost: some minutes; XGrammar's batches of 512 take most of it.
"""

import argparse
import json
import logging
import pickle
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hostile_grammars import NAMED as HOSTILE
from transformers import PreTrainedTokenizerFast
from vllm_manager import ENGINES, Manager

from psc.bench.maskbench import read
from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.sample_texts import sample_texts
from psc.bench.tool_requests import calls_of, generated_tools, request_of

DRAFTS = 8
_ASKED = "at most a fifth of XGrammar's"


@dataclass(frozen=True)
class Work:
    """A request: its constraint as vLLM has it, and the tokens of a text that is valid for it, with the end."""

    constraint: dict[str, Any]
    tokens: list[int]


@dataclass
class Times:
    """What one engine took, in microseconds."""

    admission: list[float] = field(default_factory=list)
    masks: dict[str, list[float]] = field(default_factory=dict)
    """Of `grammar_bitmask` for a batch, a step each, by the batch's name."""
    accept: dict[str, list[float]] = field(default_factory=dict)
    """Of a step's accepting, a token, likewise."""
    cpu: dict[str, list[float]] = field(default_factory=dict)
    """As `masks`, of all processors together, which other programs do not lengthen."""
    sent: dict[str, list[int]] = field(default_factory=dict)
    """Bytes that a step sends to a worker, likewise."""
    drafts: list[float] = field(default_factory=list)
    """Of a step with drafts, a request."""
    drafts_cpu: list[float] = field(default_factory=list)
    """Likewise, of all processors together."""
    drafts_parts: list[tuple[float, float, float]] = field(default_factory=list)
    """Of these, what validating took, masks, and accepting."""
    drafts_alone: list[float] = field(default_factory=list)
    """What the manager's own code takes to validate and to accept, with grammars that take everything."""


@dataclass
class Steps:
    """What steps of a batch took, in microseconds."""

    masks: list[float] = field(default_factory=list)
    masks_cpu: list[float] = field(default_factory=list)
    accept: list[float] = field(default_factory=list)
    """A token."""
    sent: list[int] = field(default_factory=list)
    """Bytes."""
    whole: list[float] = field(default_factory=list)
    """Validating, masks and accepting, a request."""
    whole_cpu: list[float] = field(default_factory=list)
    parts_cpu: list[tuple[float, float, float]] = field(default_factory=list)
    """Of it validating, masks and accepting."""


def schemas_of(path: Path, n: int, tokenizer: Any, rng: random.Random) -> list[Work]:
    """Schemas with a valid instance each."""
    entries = [e for e in read(path, 1) if any(t["valid"] for t in e["tests"])]
    rng.shuffle(entries)
    works = []
    for entry in entries[:n]:
        data = next(t["data"] for t in entry["tests"] if t["valid"])
        works.append(_work({"json": json.dumps(entry["schema"])}, json.dumps(data, ensure_ascii=False), tokenizer))
    return works


def tools_for(n: int, tokenizer: Any, rng: random.Random) -> list[Work]:
    """Requests of ten of a hundred tools each."""
    tools = generated_tools(100, rng)
    works = []
    for _ in range(n):
        drawn = rng.sample(tools, 10)
        works.append(_work({"json": request_of(drawn)}, calls_of(drawn, rng), tokenizer))
    return works


def java_for(n: int, tokenizer: Any) -> list[Work]:
    """Java by psc's own grammar, which the others take for their dialect of Lark or refuse."""
    from psc.compiler.grammars import bundled_path

    text = bundled_path("java").read_text()
    return [_work({"grammar": text}, source.decode(), tokenizer) for source in sample_texts("java", n, 0)]


def _work(constraint: dict[str, Any], text: str, tokenizer: Any) -> Work:
    return Work(constraint, [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id])


def admit(managers: dict[str, Manager], works: list[Work], times: dict[str, Times]) -> tuple[list[Work], dict[str, int]]:
    """Admits each request by each engine; gives those that all take, with their texts, and how many each refused."""
    taken, refused = [], dict.fromkeys(managers, 0)
    for i, work in enumerate(works):
        spent = {}
        for name in list(managers) if i % 2 else list(reversed(managers)):
            managers[name].switch()
            began = time.perf_counter()
            try:
                request = managers[name].admit(f"{name}{i}", **work.constraint)
                spent[name] = (time.perf_counter() - began) * 1e6
                grammar = request.structured_output_request.grammar
                if len(grammar.validate_tokens(work.tokens)) < len(work.tokens):
                    spent.pop(name)
            except Exception:
                pass
            if name not in spent:
                refused[name] += 1
        if len(spent) == len(managers):
            taken.append(work)
            for name, us in spent.items():
                times[name].admission.append(us)
    return taken, refused


def steps(manager: Manager, works: list[Work], n_steps: int, drafts: int) -> Steps:
    """Steps of a batch."""
    manager.switch()
    batch = {f"b{i}": manager.admit(f"b{i}", **work.constraint) for i, work in enumerate(works)}
    ids, at = list(batch), [0] * len(works)
    took = Steps()
    for _ in range(n_steps):
        next_tokens = [w.tokens[a : a + drafts + 1] for w, a in zip(works, at, strict=True)]
        began, began_cpu = time.perf_counter(), time.process_time()
        scheduled = {}
        if drafts:
            scheduled = {i: manager.manager.validate_tokens(batch[i], t[:drafts]) for i, t in zip(ids, next_tokens, strict=True)}
        middle, middle_cpu = time.perf_counter(), time.process_time()
        masks = manager.manager.grammar_bitmask(batch, ids, scheduled)
        filled, filled_cpu = time.perf_counter(), time.process_time()
        took.sent.append(len(pickle.dumps(masks, pickle.HIGHEST_PROTOCOL)))
        before_accept, before_accept_cpu = time.perf_counter(), time.process_time()
        for i, tokens in zip(ids, next_tokens, strict=True):
            if not manager.manager.accept_tokens(batch[i], tokens):
                raise SystemExit(f"{i}: a token of a valid text was refused")
        end, end_cpu = time.perf_counter(), time.process_time()
        took.masks.append((filled - middle) * 1e6)
        took.masks_cpu.append((filled_cpu - middle_cpu) * 1e6)
        took.accept.append((end - before_accept) * 1e6 / sum(map(len, next_tokens)))
        took.whole.append((end - before_accept + filled - began) * 1e6 / len(ids))
        parts = (middle_cpu - began_cpu, filled_cpu - middle_cpu, end_cpu - before_accept_cpu)
        took.whole_cpu.append(sum(parts) * 1e6 / len(ids))
        took.parts_cpu.append(tuple(part * 1e6 / len(ids) for part in parts))
        for k, work in enumerate(works):
            at[k] += len(next_tokens[k])
            if at[k] >= len(work.tokens):
                at[k] = 0
                batch[ids[k]].structured_output_request.grammar.reset()
    return took


class TakesAll:
    """A grammar that costs nothing."""

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """All of them."""
        return tokens

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Takes them."""
        return True


def manager_alone(manager: Manager, works: list[Work], n_steps: int) -> list[float]:
    """Processor time of the manager's own code in a step with drafts, a request in microseconds, without the masks."""
    manager.switch()
    batch = [manager.admit(f"a{i}", **work.constraint) for i, work in enumerate(works)]
    for request in batch:
        request.structured_output_request.grammar = TakesAll()
    tokens = [work.tokens[: DRAFTS + 1] for work in works]
    took = []
    for _ in range(n_steps):
        began = time.process_time()
        for request, of_request in zip(batch, tokens, strict=True):
            manager.manager.validate_tokens(request, of_request[:DRAFTS])
        for request, of_request in zip(batch, tokens, strict=True):
            manager.manager.accept_tokens(request, of_request)
        took.append((time.process_time() - began) * 1e6 / len(batch))
    return took


def main() -> None:
    """Parse the command line, run, print."""
    options = argparse.ArgumentParser(description="vLLM's manager over batches, with psc, XGrammar and llguidance.")
    options.add_argument("--tokenizer", required=True, type=Path, metavar="FILE", help="a tokenizer.json")
    options.add_argument(
        "--vocab-size", type=int, default=0, metavar="N", help="number of logits (default: the tokenizer's, by 128)"
    )
    options.add_argument("--eos", default="<|im_end|>", metavar="TOKEN", help="what ends a text (default: Qwen's)")
    options.add_argument("--schemas", type=Path, metavar="SCHEMAS", help="as psc bench maskbench reads them")
    options.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="E")
    options.add_argument("--batches", nargs="+", type=int, default=[1, 64, 256, 512], metavar="N")
    options.add_argument("--requests", type=int, default=400, metavar="N", help="of each kind, to be admitted (default 400)")
    options.add_argument("--steps", type=int, default=60, metavar="N", help="of a batch (default 60)")
    options.add_argument("--json", metavar="FILE", help="write all figures there")
    args = options.parse_args()
    logging.disable(logging.ERROR)
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(args.tokenizer), eos_token=args.eos)
    vocab_size = args.vocab_size or -(-len(tokenizer) // 128) * 128
    rng = random.Random(0)
    managers = {name: Manager(name, tokenizer, vocab_size, 0) for name in args.engines}
    speculating = {name: Manager(name, tokenizer, vocab_size, DRAFTS) for name in args.engines}
    for each in (*managers.values(), *speculating.values()):  # reads the vocabulary
        each.switch()
        each.admit("first", regex="a")
    kinds = {"tools": tools_for(args.requests, tokenizer, rng)}
    if args.schemas:
        kinds["schemas"] = schemas_of(args.schemas, args.requests, tokenizer, rng)
    document: dict[str, Any] = {"machine": machine(), "vocab_size": vocab_size, "kinds": {}}
    print(f"{in_words(document['machine'])}\n")
    for kind, works in kinds.items():
        times = {name: Times() for name in managers}
        taken, refused = admit(managers, works, times)
        print(f"## {kind}: {len(taken)} of {len(works)} requests that all take; refused: {refused}\n")
        measure(taken, managers, speculating, times, args)
        print_tables(times)
        document["kinds"][kind] = {name: vars(t) for name, t in times.items()}
    if "psc" in managers:
        java = java_for(64, tokenizer)
        took = steps(managers["psc"], java, args.steps, 0)
        masks, accept = (number(float(np.median(t))) for t in (took.masks, took.accept))
        print(f"Java, 64 requests, psc: {masks} us a step, {accept} us a token\n")
        document["java"] = vars(took)
        document["hostile"] = hostile_batch(managers["psc"], taken)
    report(document, args.json)


def hostile_batch(manager: Manager, works: list[Work]) -> dict[str, float]:
    """Prints how long a batch of 16 takes in which one request has a grammar that means harm, each of some: processor time."""
    manager.switch()
    batch = {f"h{i}": manager.admit(f"h{i}", **work.constraint) for i, work in enumerate(works[:15])}
    masks = manager.manager.grammar_bitmask
    rng = random.Random(0)
    alone: list[float] = []
    for _ in range(50):
        began = time.process_time()
        masks(batch, list(batch), {})
        alone.append((time.process_time() - began) * 1e3)
    worst: dict[str, float] = {}
    said = []
    for hostile in HOSTILE:
        try:
            among = {**batch, "hostile": manager.admit("hostile", grammar=hostile.text)}
        except Exception as e:
            said.append(f"{hostile.name}: refused at admission ({str(e).splitlines()[0]})")
            continue
        grammar = among["hostile"].structured_output_request.grammar
        took = []
        for _ in range(100):
            began = time.process_time()
            row = masks(among, list(among), {})[-1]
            took.append((time.process_time() - began) * 1e3)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            if not manager.manager.accept_tokens(among["hostile"], [int(rng.choice(allowed))]):
                break
        worst[hostile.name] = max(took)
        said.append(f"{hostile.name}: {number(max(took))} ({'failed' if grammar.failed else 'not failed'} after {len(took)} steps)")
    print(f"A batch of 15, psc: {number(max(alone))} ms of processor time a step at most; with one hostile request as well:")
    print("".join(f"  {line}\n" for line in said))
    return worst


def measure(
    taken: list[Work], managers: dict[str, Manager], speculating: dict[str, Manager], times: dict[str, Times], args: Any
) -> None:
    """All batches, the engines taking turns."""
    for turn, size in enumerate(args.batches):
        batch = [taken[i % len(taken)] for i in range(size)]
        for name in list(managers) if turn % 2 else list(reversed(managers)):
            for met in ("first", "again"):
                took = steps(managers[name], batch, args.steps, 0)
                times[name].masks[f"{size} {met}"] = took.masks
                times[name].cpu[f"{size} {met}"] = took.masks_cpu
                times[name].accept[f"{size} {met}"] = took.accept
                times[name].sent[f"{size} {met}"] = took.sent
    for name in managers:
        batch = [taken[i % len(taken)] for i in range(64)]
        for _ in range(2):
            took = steps(speculating[name], batch, args.steps // 2, DRAFTS)
            times[name].drafts, times[name].drafts_cpu, times[name].drafts_parts = took.whole, took.whole_cpu, took.parts_cpu
        times[name].drafts_alone = manager_alone(speculating[name], batch, args.steps // 2)


def print_tables(times: dict[str, Times]) -> None:
    """Percentiles, and the ratios to XGrammar's."""
    print("Admission, validated and compiled, ms:\n")
    rows = [[name, *(number(float(p) / 1e3) for p in np.percentile(t.admission, (50, 90, 99, 100)))] for name, t in times.items()]
    print(table(["engine", "p50", "p90", "p99", "max"], rows))
    print(f"\nMasks of a batch, us a step (asked of 256: {_ASKED}), and processor time; accepting, us a token:\n")
    rows = []
    for batch in next(iter(times.values())).masks:
        theirs = times.get("xgrammar", Times())
        wall, cpu = (float(np.median(x.get(batch, [np.nan]))) for x in (theirs.masks, theirs.cpu))
        for name, t in times.items():
            p50, p99 = (float(p) for p in np.percentile(t.masks[batch], (50, 99)))
            own = float(np.median(t.cpu[batch]))
            figures = (p50, p99, p50 / wall, own, own / cpu, float(np.median(t.accept[batch])), float(np.median(t.sent[batch])))
            rows.append([batch, name, *map(number, figures)])
    print(table(["batch", "engine", "p50", "p99", "of XGrammar's", "CPU p50", "of XGrammar's", "accept", "bytes sent"], rows))
    print(f"\n{DRAFTS} drafts: validate, fill, accept, us a request, and processor time:\n")
    rows = [
        [
            name,
            *(
                number(float(p))
                for p in (
                    *np.percentile(t.drafts, (50, 99)),
                    np.median(t.drafts_cpu),
                    *np.median(np.array(t.drafts_parts), axis=0),
                    np.median(t.drafts_alone),
                )
            ),
        ]
        for name, t in times.items()
    ]
    print(table(["engine", "p50", "p99", "CPU p50", "validate", "fill", "accept", "the manager's own"], rows))
    print()


if __name__ == "__main__":
    sys.exit(main())
