"""Measure bounded repetition: how long `[a-z]{0,100000}` and `(item ","){5,5000}` take to compile, and what masks cost along
the way.

    python benchmarks/repetition.py --tokenizer SPEC [--engines E...] [--timeout S] [--json FILE]

The idea: a repetition's bounds must cost nothing until they are met, and then be exact. Each engine compiles each case in a
process of its own, reads up to just below the limit, and is timed at the beginning, after a thousand, and near the end; there
it is asked what the right answer is known of: whether the text may stop, and whether one more is refused. A process that does
not answer is ended.

The cost: seconds for psc; up to `--timeout` for each case and engine that hangs.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from operations import OPERATIONS, Operations

import psc
from psc.bench.isolated import Failed, reports
from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.subjects import Subject, ebnf, regex

ITEM = 'item ::= [0-9]{1,3} | "\\"" [a-z ]* "\\""\n'


@dataclass(frozen=True)
class Case:
    """A repetition: the text is `unit` again and again."""

    name: str
    subject: Subject
    unit: bytes
    least: int
    most: int


CASES = (
    Case("regex [a-z]{0,100000}", regex("[a-z]{0,100000}"), b"a", 0, 100_000),
    Case("EBNF [a-z]{0,100000}", ebnf("letters", "root ::= [a-z]{0,100000}\n"), b"a", 0, 100_000),
    Case("EBNF (item ','){5,5000}", ebnf("items", f'root ::= (item ","){{5,5000}}\n{ITEM}'), b"17,", 5, 5_000),
    Case("EBNF ([a-z]{1,64} '\\n'){1,1000}", ebnf("lines", 'root ::= ([a-z]{1,64} "\\n"){1,1000}\n'), b"abc\n", 1, 1_000),
)
FIGURES = ("compile ms", "first mask ms", "mask after 1,000", "mask near the end", "accept mean", "at the bounds")


def run(engine: str, case: Case, spec: str) -> Iterator[tuple[str, float | str]]:
    """The figures of a case, each as soon as it is known."""
    info = psc.load_tokenizer(spec)
    made = OPERATIONS[engine](info)
    made.compile(ebnf("trivial", 'root ::= "b"\n'))  # imports
    row = np.zeros(made.n_words, np.int32)
    began = time.perf_counter()
    made.compile(case.subject)
    seconds = time.perf_counter() - began
    yield "compile ms", seconds * 1e3
    began = time.perf_counter()
    matcher = made.new()
    made.fill(matcher, row)
    yield "first mask ms", (time.perf_counter() - began) * 1e3
    unit = tokens_of(case.unit, info)
    state = _Along(made, matcher, row, unit, info)
    wrong = []
    if case.least:
        state.read(case.least - 1)
        if state.may_stop():
            wrong.append(f"may stop after {case.least - 1}")
    state.read(min(1_000, case.most // 2))
    if case.least <= state.units and not state.may_stop():
        wrong.append(f"may not stop after {state.units}")
    yield "mask after 1,000", state.mask_us()
    state.read(case.most - 1)
    yield "mask near the end", state.mask_us()
    if not state.may_go_on():
        wrong.append(f"no more than {case.most - 1}")
    state.read(case.most)
    if state.may_go_on():
        wrong.append(f"more than {case.most}")
    if not state.may_stop():
        wrong.append(f"may not stop after {case.most}")
    yield "accept mean", state.accept_us()
    yield "at the bounds", ", ".join(wrong) or "right"


class _Along:
    """A matcher that reads units; masks are made every hundred, as decoding would, but only some are timed."""

    def __init__(self, made: Operations, matcher: Any, row: Any, unit: Sequence[int], info: psc.TokenizerInfo) -> None:
        self.units = 0
        self._made, self._matcher, self._row, self._unit = made, matcher, row, unit
        self._stop = info.stop_token_ids[0]
        self._seconds, self._tokens = 0.0, 0

    def read(self, up_to: int) -> None:
        began = time.perf_counter()
        while self.units < up_to:
            for token in self._unit:
                if not self._made.accept(self._matcher, token):
                    raise RuntimeError(f"refuses unit {self.units + 1}")
            self.units += 1
            self._tokens += len(self._unit)
        self._seconds += time.perf_counter() - began

    def accept_us(self) -> float:
        return self._seconds / self._tokens * 1e6

    def mask_us(self) -> float:
        """Of the mask here: the median of a few, each after a token more; the position stays."""
        took = []
        for _ in range(9):
            copy = self._made.fork(self._matcher)
            self._made.accept(copy, self._unit[0])
            began = time.perf_counter()
            self._made.fill(copy, self._row)
            took.append(time.perf_counter() - began)
        return float(np.median(took)) * 1e6

    def allowed(self, token: int) -> bool:
        self._made.fill(self._matcher, self._row)
        return bool(self._row[token >> 5] >> (token & 31) & 1)

    def may_stop(self) -> bool:
        return self.allowed(self._stop)

    def may_go_on(self) -> bool:
        return self.allowed(self._unit[0])


def tokens_of(text: bytes, info: psc.TokenizerInfo) -> list[int]:
    """The text, a token a byte: every engine then reads the same."""
    spelled = {bytes(info.token_bytes(int(i))): int(i) for i in reversed(info.text_token_ids)}
    return [spelled[text[i : i + 1]] for i in range(len(text))]


def measure(engine: str, case: Case, spec: str, timeout: float) -> dict[str, float | str]:
    """What is known of one engine and case."""
    found: dict[str, float | str] = {}
    try:
        for name, value in reports(run, engine, case, spec, timeout=timeout):
            found[name] = value
    except Failed as error:
        found["failed"] = str(error)
    return found


def print_table(results: dict[str, dict[str, dict[str, float | str]]]) -> None:
    """A line a case and engine."""
    rows = []
    for case, engines in results.items():
        for engine, found in engines.items():
            figures = [found.get(name) for name in FIGURES]
            words = [f if isinstance(f, str) else number(f) for f in figures]
            rows.append([case, engine, *words, str(found.get("failed", ""))])
    print(table(["case", "engine", *FIGURES, "remark"], rows))


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description="Measure bounded repetition.")
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--engines", nargs="+", choices=list(OPERATIONS), default=list(OPERATIONS), help="default: all")
    options.add_argument("--timeout", type=float, default=60.0, metavar="S", help="for each figure (default 60)")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    results: dict[str, dict[str, dict[str, float | str]]] = {}
    for case in CASES:
        for engine in args.engines:
            print(f"{case.name}: {engine}", file=sys.stderr, flush=True)
            try:
                version(engine)
            except PackageNotFoundError:
                if engine != "psc":
                    results.setdefault(case.name, {})[engine] = {"failed": "not installed"}
                    continue
            results.setdefault(case.name, {})[engine] = measure(engine, case, args.tokenizer, args.timeout)
    about = machine()
    if args.json != "-":
        print(f"{psc.load_tokenizer(args.tokenizer).name}; {in_words(about)}\n\nMasks and accepts in microseconds:\n")
        print_table(results)
    report({"benchmark": "repetition", **about, "results": results}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
