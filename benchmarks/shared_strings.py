"""Measure what grammars share: the inside of a JSON string is walked over the vocabulary once, whatever the grammar around it.

    python benchmarks/shared_strings.py --tokenizer SPEC [--grammars N] [--json FILE]

The idea: fifty grammars of tool calls, each with its own keys, types and nesting, all with JSON strings inside. For each: the
time to compile it, to its first mask, and of the first visits inside a string: the mask after the quote, and after a few
characters. The first grammar pays for the string, the others find it. The same fifty are then compiled with nothing shared
between any two, for comparison.

The cost: fifty small grammars twice, some seconds.
"""

import argparse
import gc
import random
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import psc
from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.sample_texts import words
from psc.grammars.build_grammar import shared_vocabulary

STRING = """string ::= "\\"" ([^"\\\\\\x00-\\x1f] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
"""


@dataclass(frozen=True)
class Visit:
    """Milliseconds that one grammar took, and how many fragments the vocabulary knew then."""

    compile: float
    first_mask: float
    string: float
    fragments: int


def grammar(n: int) -> tuple[str, str]:
    """The text of a grammar that is like no other, and the beginning of a text of it, up to the quote of a string."""
    rng = random.Random(n)
    keys = rng.sample(words(), rng.randint(3, 6))
    types = ["string", *(rng.choice(["string", "number", "list", "flag"]) for _ in keys[1:])]
    members = ' ", " '.join(f'"\\"{key}\\": " {kind}' for key, kind in zip(keys, types, strict=True))
    tool, most = f"{rng.choice(words())}{n}", rng.randint(2, 9)
    rules = (
        f'root ::= "{{\\"tool\\": \\"{tool}\\", " members "}}"\n'
        f"members ::= {members}\n"
        f'list ::= "[" (string (", " string){{0,{most}}})? "]"\n'
        'flag ::= "true" | "false"\n'
    )
    return rules + STRING, f'{{"tool": "{tool}", "{keys[0]}": "'


def visit(text: str, prefix: str, info: psc.TokenizerInfo) -> Visit:
    """Compiles a grammar and goes into its first string."""
    began = time.perf_counter()
    compiled = psc.GrammarCompiler(info, cache_enabled=False, store=False).compile_grammar(text)
    made = time.perf_counter()
    matcher = psc.GrammarMatcher(compiled)
    matcher.mask_row()
    first = time.perf_counter()
    if not matcher.accept_string(prefix):
        raise RuntimeError(f"the grammar refuses {prefix!r}:\n{text}")
    entered = time.perf_counter()
    for piece in ("", "In", " M\u00fcnchen \\", "n"):
        if not matcher.accept_string(piece):
            raise RuntimeError(f"the grammar refuses {piece!r} inside a string")
        matcher.mask_row()
    left = time.perf_counter()
    fragments = shared_vocabulary(info).n_fragments
    return Visit(1e3 * (made - began), 1e3 * (first - made), 1e3 * (left - entered), fragments)


def measure(n: int, info: psc.TokenizerInfo, shared: bool) -> list[Visit]:
    """All grammars one after the other; not shared, the vocabulary forgets between any two."""
    visits = []
    kept = shared_vocabulary(info)
    for i in range(n):
        if not shared:
            del kept
            gc.collect()
            kept = shared_vocabulary(info)
        visits.append(visit(*grammar(i), info))
    del kept
    gc.collect()
    return visits


def print_table(results: dict[str, list[Visit]]) -> None:
    """The first grammar, and the median of the rest."""
    rows = []
    for name, visits in results.items():
        for which, some in (("the first", visits[:1]), (f"the other {len(visits) - 1}, median", visits[1:])):
            figures = [float(np.median([getattr(v, f) for v in some])) for f in ("compile", "first_mask", "string")]
            rows.append([name, which, *map(number, figures), str(some[-1].fragments)])
    print(table(["vocabulary", "grammars", "compile ms", "first mask ms", "masks in the string ms", "fragments in the end"], rows))


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description="Measure what grammars of one vocabulary share.")
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--grammars", type=int, default=50, metavar="N", help="default 50")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    info = psc.load_tokenizer(args.tokenizer)
    psc.GrammarMatcher(psc.GrammarCompiler(info, store=False).compile_grammar('root ::= "a"')).mask_row()  # imports
    results = {
        "shared": measure(args.grammars, info, shared=True),
        "forgotten each time": measure(args.grammars, info, shared=False),
    }
    about: dict[str, Any] = machine()
    if args.json != "-":
        print(f"{args.grammars} grammars, {info.name} ({info.vocab_size:,}); {in_words(about)}\n")
        print_table(results)
    document = {name: [asdict(v) for v in visits] for name, visits in results.items()}
    report({"benchmark": "shared_strings", **about, "results": document}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
