"""Measure the time to the first mask over many EBNF grammars, each of which comes once, as requests bring them.

    python benchmarks/new_grammars.py --tokenizer SPEC [--grammars N] [--seed S] [--json FILE]

The idea: a server's requests bring grammars of a few forms (records, calls of tools, choices, small query languages, reports),
each with names, keys and literals of its own. So grammars are drawn from such forms, no two alike, and each is compiled once:
text to first mask. The engines take turns grammar by grammar in one process, in changing order; each reads the vocabulary once
before. What a figure of one grammar says is small; the percentiles over all of them are what a server sees.

The cost: some milliseconds a grammar and engine.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import psc
from psc.bench.engines import installed, llguidance_matcher, llguidance_tokenizer, warm_up
from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.sample_texts import words
from psc.bench.subjects import Subject
from psc.bench.texts import encoder

PERCENTILES = (50, 90, 99)


@dataclass(frozen=True)
class Vocabulary:
    """Where a grammar's names come from."""

    rng: random.Random

    def name(self) -> str:
        """A name that hardly ever comes twice."""
        return "_".join(self.rng.choice(words()) for _ in range(self.rng.randint(1, 2))) + str(self.rng.randrange(1000))

    def names(self, least: int, most: int) -> list[str]:
        """Different names."""
        return sorted({self.name() for _ in range(self.rng.randint(least, most))})


_TEXT = 'string ::= "\\"" ([^"\\\\\\n] | "\\\\" ["\\\\/bfnrt])* "\\""\n'
_NUMBER = 'number ::= "-"? [0-9]+ ("." [0-9]+)?\n'
_SPACE = "ws ::= [ \\n]*\n"


def quoted(text: str) -> str:
    """A literal of a JSON string with this text."""
    return f'"\\"{text}\\""'


def value(of: Vocabulary) -> str:
    """What a key may have."""
    kind = of.rng.randrange(5)
    if kind == 0:
        return "(" + " | ".join(quoted(n) for n in of.names(2, 6)) + ")"
    if kind == 1:
        return '("true" | "false" | "null")'
    if kind == 2:
        return '"[" ws (string (ws "," ws string)*)? ws "]"'
    return of.rng.choice(["string", "number"])


def record(of: Vocabulary) -> str:
    """A JSON object with fixed keys."""
    pairs = ' ws "," ws '.join(f'{quoted(name)} ws ":" ws {value(of)}' for name in of.names(3, 12))
    return f'root ::= "{{" ws {pairs} ws "}}"\n{_TEXT}{_NUMBER}{_SPACE}'


def tool_call(of: Vocabulary) -> str:
    """Free text, then a call of one of some tools."""
    tools = of.names(2, 8)
    calls = " | ".join(f"call{i}" for i in range(len(tools)))
    lines = [f'root ::= [^<]* "<{of.name()}>" ({calls}) "</call>"']
    for i, tool in enumerate(tools):
        pairs = ' "," '.join(f'{quoted(name)} ":" {value(of)}' for name in of.names(1, 4))
        lines.append(f'call{i} ::= "{tool}({{" {pairs} "}})"')
    return "\n".join(lines) + f"\n{_TEXT}{_NUMBER}{_SPACE}"


def choice(of: Vocabulary) -> str:
    """One of many phrases."""
    phrases = [" ".join([of.name(), *of.names(0, 3)]) for _ in range(of.rng.randint(3, 40))]
    return "root ::= " + " | ".join(f'"{p}"' for p in phrases) + "\n"


def query(of: Vocabulary) -> str:
    """A small query language over named tables and columns."""
    tables, columns, functions = of.names(2, 6), of.names(3, 12), of.names(1, 5)
    names = {"table": tables, "column": columns, "function": functions}
    lines = [f"{rule} ::= " + " | ".join(f'"{n}"' for n in choices) for rule, choices in names.items()]
    return (
        'root ::= "SELECT " term (", " term)* " FROM " table (" WHERE " condition)?\n'
        'condition ::= comparison ((" AND " | " OR ") comparison)*\n'
        'comparison ::= term (" = " | " < " | " > ") term | "(" condition ")"\n'
        'term ::= column | number | string | function "(" term (", " term)* ")"\n' + "\n".join(lines) + f"\n{_TEXT}{_NUMBER}"
    )


def report_form(of: Vocabulary) -> str:
    """Headed sections of lines, with dates and identifiers."""
    lines = ["root ::= " + " ".join(f"section{i}" for i in range(of.rng.randint(2, 6)))]
    for i in range(len(lines[0].split()) - 2):
        item = of.rng.choice(["[^\\n]+", 'date ": " [^\\n]*', 'id " " number', '[A-Za-z ,.]+ "!"?'])
        lines.append(f'section{i} ::= "## {of.name()}\\n" ("- " {item} "\\n"){of.rng.choice("*+")}')
    lines.append('date ::= [0-9]{4} "-" [0-9]{2} "-" [0-9]{2}')
    lines.append(f'id ::= "{of.name().upper()}-" [A-Z0-9]{{{of.rng.randint(2, 8)}}}')
    return "\n".join(lines) + "\n" + _NUMBER


FORMS: Sequence[Callable[[Vocabulary], str]] = (record, tool_call, choice, query, report_form)


def draw(n: int, seed: int) -> list[tuple[str, str]]:
    """Names of forms and grammars' texts; the same for the same seed."""
    rng = random.Random(seed)
    forms = [rng.choice(FORMS) for _ in range(n)]
    return [(form.__name__, form(Vocabulary(rng))) for form in forms]


def engines(spec: str) -> dict[str, Callable[[str], object]]:
    """Engine -> from a grammar's text to its first mask."""
    info = psc.load_tokenizer(spec)
    compiler = psc.GrammarCompiler(info, cache_enabled=False, store=False)
    warm_up(compiler)
    bitmask = psc.allocate_token_bitmask(1, info.vocab_size)
    found: dict[str, Callable[[str], object]] = {
        "psc": lambda text: psc.GrammarMatcher(compiler.compile_grammar(text)).fill_next_token_bitmask(bitmask)
    }
    if installed("llguidance") is not None:
        tokenizer = llguidance_tokenizer(info, encoder(spec, info)[1])

        def llguidance(text: str) -> None:
            matcher = llguidance_matcher(Subject("new", "new", "ebnf", text), tokenizer)
            matcher.unsafe_compute_mask_ptr(bitmask.ctypes.data, bitmask.nbytes)

        llguidance('root ::= "a"')
        found["llguidance"] = llguidance
    return found


def measure(grammars: Sequence[tuple[str, str]], by: dict[str, Callable[[str], object]]) -> list[dict[str, Any]]:
    """Seconds of every engine for every grammar, or why it was refused."""
    results = []
    for i, (form, text) in enumerate(grammars):
        reading: dict[str, Any] = {"form": form, "bytes": len(text)}
        order = list(by) if i % 2 else list(reversed(by))
        for name in order:
            began = time.perf_counter()
            try:
                by[name](text)
            except (RuntimeError, ValueError) as error:
                reading[name] = None
                reading[f"{name} refused"] = str(error)
                continue
            reading[name] = time.perf_counter() - began
        results.append(reading)
    return results


def print_tables(results: list[dict[str, Any]], names: Sequence[str]) -> None:
    """Percentiles of all grammars, and of each form, and their ratios."""
    print(f"Milliseconds from a new grammar's text to its first mask, {len(results)} grammars, each once:\n")
    both = [r for r in results if all(r[n] is not None for n in names)]
    rows = []
    for title in ("all", *(form.__name__ for form in FORMS)):
        chosen = [r for r in both if title in ("all", r["form"])]
        if not chosen:
            continue
        at = {n: np.percentile([r[n] for r in chosen], PERCENTILES) * 1e3 for n in names}
        row = [title, str(len(chosen)), *(number(float(x)) for n in names for x in at[n])]
        if len(names) > 1:
            row += [number(float(x)) for x in at[names[0]] / at[names[1]]]
        rows.append(row)
    head = ["grammars", "n", *(f"{n} p{p}" for n in names for p in PERCENTILES)]
    if len(names) > 1:
        head += [f"ratio p{p}" for p in PERCENTILES]
    print(table(head, rows))
    for n in names:
        refused = [r[f"{n} refused"] for r in results if r[n] is None]
        if refused:
            print(f"\n{n} refused {len(refused)}, which are left out; the first: {refused[0]}")


def main() -> None:
    """Parse the command line, draw, measure, print."""
    options = argparse.ArgumentParser(description="Measure text to first mask over many new EBNF grammars.")
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--grammars", type=int, default=1000, metavar="N", help="how many (default 1000)")
    options.add_argument("--seed", type=int, default=1, metavar="S", help="of the grammars (default 1)")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()
    by = engines(args.tokenizer)
    if "llguidance" not in by:
        print("llguidance: not installed", file=sys.stderr)
    results = measure(draw(args.grammars, args.seed), by)
    about = machine()
    if args.json != "-":
        print(f"{psc.load_tokenizer(args.tokenizer).name}; {in_words(about)}\n")
        print_tables(results, list(by))
    report({"benchmark": "new_grammars", **about, "results": results}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
