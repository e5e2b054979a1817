"""Measure grammars made to be expensive: does every compilation and every mask end within seconds, or name the limit that it met?

    python benchmarks/hostile_grammars.py [--random N] [--seed S] [--only NAME...] [--timeout S] [--jobs N] [--json FILE]

The idea: some grammars are ambiguous in as many ways as they can be (`r ::= r r r`), some have hundreds of symbols in a row that
may be empty, some repeat repetitions. A server that reads grammars of strangers must not hang on any of them. Each grammar is
compiled just in time, read along random walks with a mask before every token, and then compiled ahead of time, to its end or as far
as limits allow, in a process of its own that is ended when a phase does not come back. The named grammars are those that once took
minutes; `--random` adds random ones of 3 to 6 small rules over a few letters, with every kind of recursion, count and nesting.

The cost: seconds for each grammar at most, `--timeout` for each that hangs.
"""

import argparse
import math
import multiprocessing
import multiprocessing.connection
import random
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import psc
from psc.bench.measure import in_words, machine, number, report, table
from psc.grammars.compiled_grammar import compile_ahead_of_time
from psc.support.process_memory import peak_memory

WALKS, LONGEST_WALK = 3, 20
LONG_ENOUGH = 10.0  # seconds of walking, after which nothing new is learnt of a grammar


@dataclass(frozen=True)
class Hostile:
    """A grammar in EBNF."""

    name: str
    text: str


def _joined(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def _nested(depth: int) -> str:
    body = '"x"'
    for _ in range(depth):
        body = f'("x" | {body})+'
    return f"root ::= {body}\n"


def _doubling(levels: int) -> str:
    """Choices each of which holds the one before twice, written out: the text doubles with every level."""
    body = '"a"'
    for level in range(levels):
        body = f'({body} "{"bc"[level % 2]}" | {body})'
    return f"root ::= {body}\n"


def random_grammar(rng: random.Random, count: int) -> str:
    """EBNF of so many small rules; most are ambiguous, many may be empty, some never end."""
    names = ["root", *(f"r{i}" for i in range(1, count))]
    letters = rng.choice(["ab", "ab", "abc", "ab1", "a0 .", "abé"])
    repeats = ["", "", "", "", "", "?", "*", "+", "{2}", "{1,3}", "{0,2}", "{2,}", "{0,1}", "{3}"]

    def charset() -> str:
        if rng.random() < 0.15:
            return "."
        inside = "".join(rng.choice(letters) if rng.random() < 0.6 else f"a-{rng.choice('abc')}" for _ in range(rng.randint(1, 3)))
        return f"[{'^' if rng.random() < 0.25 else ''}{inside}]"

    def part(depth: int) -> str:
        kind = rng.random()
        if kind < 0.3:
            body = rng.choice(names)
        elif kind < 0.5:
            body = charset()
        elif kind < 0.75 or depth == 0:
            body = '"' + "".join(rng.choice(letters) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 4]))) + '"'
        else:
            body = f"({choice(depth - 1)})"
        return body + rng.choice(repeats)

    def sequence(depth: int) -> str:
        return " ".join(part(depth) for _ in range(rng.choice([1, 1, 2, 2, 3])))

    def choice(depth: int) -> str:
        return " | ".join(sequence(depth) for _ in range(rng.choice([1, 2, 2, 3])))

    return "".join(f"{name} ::= {choice(2)}\n" for name in names)


NAMED = (
    Hostile(
        "counted in counted",
        _joined(
            'root ::= "b" r1 r1* | [a-c]{1,3} r1+ | [^a] | r2',
            'r1 ::= ([a-c]{2} [aé] root | root{1,3}){2} [^ab.] ("" | r3 r3?) | [^é]{1,3}',
            r'r2 ::= "" | [^ab.]{2,} "b"{2,} ([^ab.]+ ("é"{0,2} "é漢"{1,3} | "aadd" "d"{2} | "é漢"* ".")+ "\u00E9b"*)*',
            'r3 ::= "a" (root{2,} | "" | [^é] root{0,2} "d"{2,}){2,} | "b" r3 root* | "d" [a-d] ("."{1,3}){0,1}',
        ),
    ),
    Hostile(
        "two or three of itself",
        _joined(
            'root ::= r1 ("a" ([a] "aa" [a-ba-b]) (. | "abb" | [ab]) root*)',
            r'r1 ::= r2 (([aa-\U00000062a]{2} | [\x61-\x61] "ba\u0061") [a-a\x61-ba])',
            r'r2 ::= ([\U00000061ab]{0,1} | ("a" | "baa" | [^a-a] | "\U00000061") | r2 | r1{2,3}) | r2 r2 # c',
        ),
    ),
    Hostile(
        "five or six in itself",
        _joined(
            r'root ::= (r1 | ((. r1 "\U00000062" "\U00000063" | r1 | "b" | root){5,6} | [a0] (r1 "1")*)) | root',
            r'r1 ::= ("c"{1,1})* | ("ab " | [ \x61] | "0") root | (r1 [1]){3} | (root "0a\u0063c"){2}',
        ),
    ),
    Hostile(
        "five roots in a row",
        _joined(
            r'root ::= root{5,5} ("\u0062" | root | "a") [a-aa-ba-b]{1,} [ba-aa-b]{0,3} | (r1 | [^a])* | [^a-\x62bb] | "abaa" # c',
            'r1 ::= r1 r1 r1 | (""{1}){0,} (r1 (root | [a-b] | root | "b")) # c',
            'r2 ::= "b" | [^baa]',
        ),
    ),
    Hostile(
        "rules that are each other",
        _joined(
            r'root ::= r1* ((("aa" | . | [^a] | "\u0062") | .) | ("" | "bbb" | [b-ba]) r5{1})',
            r'r1 ::= r2 ((([\U00000061\U00000061-b] "b")* | root ([^a-b] | [a-\u0061]) | "bb\x62a" | [aa-\u0062a-b]*)'
            r' | ([^a-ba-ba-b]+ [aaa-b] ("a" [aab] "ba" [a-\U00000061]) | [bba-b]* | "ab")) # c',
            "r2 ::= r3 | r5* # c",
            r'r3 ::= (([a-b\x80-\U0010ffff] "\U00000062\U00000061" | [^a-\u0062\x80-\U0010ffff]?) ((r4 "aa") ("bb" | r3) r5'
            r' ([^\U00000061aa] | .)) ([a\U00000061] [a-ba-ba] | "\u0062a"{0,3} | "aaaa") ("b" | "\u0061"){0,0}) r4',
            'r4 ::= ("bba" r5)* r5 # c',
            "r5 ::= root # c",
        ),
    ),
    Hostile(
        "400 rules in a row",
        _joined(*(f'r{i} ::= "<{i}>" root | ""' for i in range(400)), "root ::= " + " ".join(f"r{i}" for i in range(400))),
    ),
    Hostile(
        "400 rules down a chain",
        _joined("root ::= r0", *(f'r{i} ::= "<{i}>" root | "" | r{i + 1}' for i in range(400)), 'r400 ::= "x"'),
    ),
    Hostile("60 optional roots", "root ::= " + " ".join(['("a" root)?'] * 60) + "\n"),
    Hostile("200 optional roots", "root ::= " + " ".join(['("a" root)?'] * 200) + "\n"),
    Hostile("60 optional letters", "root ::= " + " ".join(['"a"?'] * 60) + "\n"),
    Hostile("repetition nested 199 deep", _nested(199)),
    Hostile("repetition nested 60 deep", _nested(60)),
    Hostile("doubling choice, 72 kB", _doubling(12)),
    Hostile("300 random rules", random_grammar(random.Random(1), 300)),
    Hostile("300 random rules, again", random_grammar(random.Random(2), 300)),
    Hostile("three of itself", 'root ::= root root root | "a" | ""\n'),
    Hostile("twelve of itself", "root ::= " + "root " * 12 + '| "a" | "b" | ""\n'),
    Hostile("itself counted", 'root ::= root{1,40} | "a" | [ab]{2} | ""\n'),
)


_ESCAPE = re.compile(r"\\(?:U\w{8}|u\w{4}|x\w\w|.)")
_WRITTEN = re.compile(r'"[^"]*"|\[[^]]*\]')


def vocabulary(text: str, rng: random.Random) -> psc.TokenizerInfo:
    """Tokens that fit the grammar: its letters, some bytes, and random strings of the letters."""
    written = "".join(_WRITTEN.findall(_ESCAPE.sub("", text)))
    letters = sorted({c for c in written if c not in '"[]^-'} | {"a", "b"})[:12]
    tokens = {c.encode() for c in letters} | {b"\xc3", b"\xa9", b"z"}
    while len(tokens) < len(letters) + 60:
        tokens.add("".join(rng.choice(letters) for _ in range(rng.randint(2, 5))).encode())
    return psc.TokenizerInfo.from_tokens([*sorted(tokens), b"<end>"], stop_token_ids=[len(tokens)])


@dataclass
class Found:
    """What one phase took; seconds of CPU time, of the longest single call and of all."""

    phase: str
    seconds: float
    longest: float
    outcome: str


PHASES = ("first mask", "walks", "ahead of time")


def phases(text: str, seed: int) -> Iterator[Found]:
    """Just in time to the first mask, then along walks, then ahead of time."""
    clock = time.process_time
    rng = random.Random(seed)
    info = vocabulary(text, rng)
    warm = psc.GrammarCompiler(info, store=False)
    psc.GrammarMatcher(warm.compile_grammar('root ::= "b"')).mask()
    compile_ahead_of_time(psc.Grammar.from_ebnf('root ::= "b"'), info)
    began = clock()
    try:
        compiled = psc.GrammarCompiler(info, store=False).compile_grammar(text)
        psc.GrammarMatcher(compiled).mask()
    except psc.PscError as error:
        yield Found("first mask", clock() - began, clock() - began, _in_short(error))
    else:
        yield Found("first mask", clock() - began, clock() - began, "")
        yield _walks(compiled, info, rng)
    began = clock()
    outcome = ""
    try:
        if compile_ahead_of_time(psc.Grammar.from_ebnf(text), info).is_lazy:
            outcome = _NOT_CLOSED
    except psc.PscError as error:
        outcome = _in_short(error)
    yield Found("ahead of time", clock() - began, clock() - began, outcome)


def _walks(compiled: psc.CompiledGrammar, info: psc.TokenizerInfo, rng: random.Random) -> Found:
    total = longest = 0.0
    outcome = ""
    for _ in range(WALKS):
        if total > LONG_ENOUGH:
            break
        matcher = psc.GrammarMatcher(compiled)
        try:
            for _ in range(LONGEST_WALK):
                if total > LONG_ENOUGH:
                    break
                began = time.process_time()
                bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[: info.vocab_size]
                choices = [int(t) for t in np.flatnonzero(bits) if t not in info.stop_token_ids]
                if choices:
                    matcher.accept_token(rng.choice(choices))
                took = time.process_time() - began
                total, longest = total + took, max(longest, took)
                if not choices:
                    break
        except psc.PscError as error:
            took = time.process_time() - began
            total, longest = total + took, max(longest, took)
            outcome = _in_short(error)
    return Found("walks", total, longest, outcome)


_NOT_CLOSED = "not closed: built just in time"


def _in_short(error: Exception) -> str:
    kind = "limit" if isinstance(error, psc.ResourceLimitError) else "refused"
    return f"{kind}: {str(error).splitlines()[0]}"[:90]


@dataclass
class Result:
    """All phases of a grammar; a phase that did not come back is missing."""

    found: dict[str, Found] = field(default_factory=dict)
    died: str = ""
    peak_mb: float = 0.0


def _child(pipe: multiprocessing.connection.Connection, text: str, seed: int, timeout: float) -> None:
    _let_live(timeout)
    for found in phases(text, seed):
        pipe.send((found, peak_memory() / 2**20))
        _let_live(timeout)
    pipe.send(None)


def _let_live(seconds: float) -> None:
    """For so many seconds of CPU time more, then the kernel ends this process: other work on the machine makes no difference."""
    limit = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def measure(text: str, seed: int, timeout: float, context: Any) -> Result:
    """The phases of a grammar in a process of its own."""
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, text, seed, timeout), daemon=True)
    process.start()
    theirs.close()
    result = Result()
    try:
        while True:
            try:
                message = ours.recv()
            except EOFError:
                process.join()
                hung = process.exitcode == -signal.SIGXCPU
                result.died = f"more than {timeout:.0f} s" if hung else f"its process died (exit status {process.exitcode})"
                break
            if message is None:
                break
            found, result.peak_mb = message
            result.found[found.phase] = found
    finally:
        process.kill()
        process.join()
    return result


def line(name: str, result: Result) -> list[str]:
    """A line of the table."""
    cells = [name]
    remarks = []
    for phase in PHASES:
        found = result.found.get(phase)
        cells.append("-" if found is None else number(found.seconds))
        if phase == "walks":
            cells.append("-" if found is None else number(found.longest))
        if found and found.outcome:
            remarks.append(f"{phase}: {found.outcome}")
    return [*cells, number(result.peak_mb), "; ".join([*remarks, *([result.died] if result.died else [])])]


def print_summary(results: list[Result], timeout: float) -> None:
    """How many random grammars did not end, were slow, met a limit, were refused."""
    done = [r for r in results if not all(f.outcome.startswith("refused") for f in r.found.values()) or r.died]
    rows = []
    for phase in PHASES:
        reached = [r for r in done if phase in r.found or r.died]
        hung = [r for r in reached if r.died and phase not in r.found and all(p in r.found for p in PHASES[: PHASES.index(phase)])]
        found = [r.found[phase] for r in reached if phase in r.found]
        slow = [sum(f.longest > s for f in found) + len(hung) for s in (1, 2, 5)]
        limited = sum(f.outcome.startswith("limit") for f in found)
        opened = sum(f.outcome == _NOT_CLOSED for f in found)
        took = sorted([f.longest for f in found] + [timeout] * len(hung))
        at = [number(took[int(share * (len(took) - 1))]) if took else "-" for share in (0.5, 0.99, 1)]
        rows.append([phase, str(len(took)), *at, *map(str, reversed(slow)), str(len(hung)), str(limited), str(opened)])
    print(f"{len(results)} random grammars, {len(results) - len(done)} refused (the root matches nothing):\n")
    over = [f"over {s} s" for s in (5, 2, 1)]
    print(table(["phase", "grammars", "median s", "p99 s", "worst s", *over, "hung", "limit named", "not closed"], rows))
    peaks = sorted(r.peak_mb for r in done) or [0.0]
    print(f"\nPeak memory of a process: p99 {number(peaks[int(0.99 * (len(peaks) - 1))])} MB, worst {number(peaks[-1])} MB.")
    print("Seconds are those of CPU time of the longest single call of a phase; of walks, of the longest step.")


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description="Measure grammars that are made to be expensive.")
    options.add_argument("--random", type=int, default=0, metavar="N", help="so many random grammars as well")
    options.add_argument("--seed", type=int, default=0, help="of the first random grammar (default 0)")
    options.add_argument("--only", nargs="+", metavar="NAME", help="of the named grammars, those with one of these in their names")
    options.add_argument("--no-named", action="store_true", help="random grammars only")
    options.add_argument("--timeout", type=float, default=20.0, metavar="S", help="of CPU time, for each phase (default 20)")
    options.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    options.add_argument("--show", type=float, default=2.0, metavar="S", help="print random grammars that take longer (default 2)")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["psc.grammars.grammar_compiler", "psc.compiler.cfg.lowering", "psc.compiler.frontends.ebnf"])
    named = [h for h in NAMED if not args.no_named and (not args.only or any(o in h.name for o in args.only))]
    drawn = []
    for i in range(args.random):
        rng = random.Random(args.seed + i)
        drawn.append(Hostile(f"random {args.seed + i}", random_grammar(rng, rng.randint(3, 6))))

    def run(hostile: Hostile) -> Result:
        result = measure(hostile.text, 1, args.timeout, context)
        print(hostile.name, result.died, file=sys.stderr, flush=True)
        return result

    with ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(run, [*named, *drawn]))
    about = machine()
    if args.json != "-":
        print(f"{in_words(about)}\n")
        head = ["grammar", "first mask s", "walks s", "longest step s", "ahead of time s", "peak MB", "remark"]
        if named:
            print(table(head, [line(h.name, r) for h, r in zip(named, results, strict=False)]))
            print()
        if drawn:
            of_drawn = results[len(named) :]
            print_summary(of_drawn, args.timeout)
            slow = [
                (h, r)
                for h, r in zip(drawn, of_drawn, strict=True)
                if r.died or any(f.longest > args.show for f in r.found.values())
            ]
            if slow:
                print()
                print(table(head, [line(h.name, r) for h, r in slow]))
    document = {
        h.name: {"text": h.text, "found": list(r.found.values()), "died": r.died, "peak MB": r.peak_mb}
        for h, r in zip([*named, *drawn], results, strict=True)
    }
    report({"benchmark": "hostile_grammars", **about, "results": document}, args.json)


if __name__ == "__main__":
    main()
