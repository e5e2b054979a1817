"""Measure how long a catalogue takes from DDL to the first mask, just in time.

    python benchmarks/sql_catalog.py [--tables 50] [--columns 20] [--tokenizer qwen3] [--rounds 5] [--queries-only]

Catalogues are drawn: each table has an id, some have a name and a date, foreign ids, and other columns of one to three words of a
list. Each round is a process that has imported psc and made the vocabulary ready. It measures its first catalogue, another one, and
that one again, whose compiled grammar the compiler has kept. Nothing is stored. Times are of the processor, in ms, by stage, and
the sum by the clock. The first catalogue includes the import of the readers of DDL and of Lark's language.
"""

import argparse
import random
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import psc

WORDS = """account address amount author balance batch birth branch budget capacity category channel city client code color company
contact content cost country county course credit currency customer date day delivery department description detail device discount
district document duration email employee event family format gender grade height hire hotel income invoice item job language
latitude level license line list location longitude manager market member message method middle model month movie nation number
office opening option origin owner party payment percent phone place player policy position postal price product program project
province quantity rating region report result review role room route salary sale schedule school score season section sector
series service shift size source staff state station status stock store street student subject supplier support tax team
term ticket time title track type unit value vehicle vendor version visit volume wage website weight year zone""".split()  # noqa: SIM905


def catalogue(draw: random.Random, tables: int, columns: int) -> str:
    """The DDL of a drawn catalogue."""
    names: dict[str, None] = {}
    while len(names) < tables:
        names["_".join(draw.sample(WORDS, draw.randint(1, 2)))] = None
    listed = list(names)
    written = []
    for name in listed:
        of_table = dict.fromkeys([f"{name}_id"])
        of_table.update(dict.fromkeys(one for one in ("name", "created_at", "description") if draw.random() < 0.5))
        of_table.update(dict.fromkeys(f"{other}_id" for other in draw.sample(listed, min(2, tables))))
        while len(of_table) < columns:
            of_table["_".join(draw.sample(WORDS, draw.randint(1, 3)))] = None
        kinds = ",\n".join(f'  "{column}" {draw.choice(("INTEGER", "TEXT", "REAL"))}' for column in list(of_table)[:columns])
        written.append(f'CREATE TABLE "{name}" (\n{kinds}\n);\n')
    return "".join(written)


def stages(ddl: str, compiler: psc.GrammarCompiler, options: psc.CatalogOptions) -> dict[str, float]:
    """Milliseconds of each stage."""
    clock, started = [time.process_time()], time.perf_counter()
    text = psc.sql_catalog(ddl, options=options)
    clock.append(time.process_time())
    grammar = psc.Grammar.from_lark(text)
    clock.append(time.process_time())
    grammar.tables().make()
    clock.append(time.process_time())
    compiled = compiler.compile_grammar(grammar)
    matcher, mask = psc.GrammarMatcher(compiled), psc.allocate_token_bitmask(1, compiler.tokenizer_info.vocab_size)
    clock.append(time.process_time())
    matcher.fill_next_token_bitmask(mask)
    clock.append(time.process_time())
    named = ("DDL to text", "text to rules", "rules to tables", "tables to a machine", "first mask")
    found = {name: (b - a) * 1e3 for name, a, b in zip(named, clock, clock[1:], strict=False)}
    return {**found, "sum": (clock[-1] - clock[0]) * 1e3, "by the clock": (time.perf_counter() - started) * 1e3}


def process(chosen: argparse.Namespace, seed: int) -> dict[str, dict[str, float]]:
    """The stages of a process's first catalogue, of another one, and of that one again."""
    draw, options = random.Random(seed), psc.CatalogOptions(queries_only=chosen.queries_only)
    compiler = psc.GrammarCompiler(psc.load_tokenizer(chosen.tokenizer), store=False)
    ready = psc.GrammarMatcher(compiler.compile_regex("a"))
    ready.fill_next_token_bitmask(psc.allocate_token_bitmask(1, compiler.tokenizer_info.vocab_size))
    first, other = (catalogue(draw, chosen.tables, chosen.columns) for _ in range(2))
    return {name: stages(ddl, compiler, options) for name, ddl in (("first", first), ("another", other), ("again", other))}


def main() -> None:
    """Prints the stages, median and range."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--tokenizer", default="qwen3")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries-only", action="store_true")
    chosen = parser.parse_args()
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        rounds = [processes.submit(process, chosen, chosen.seed + i).result() for i in range(chosen.rounds)]
    print(f"{chosen.tables} tables of {chosen.columns} columns, {chosen.tokenizer}, {chosen.rounds} processes; ms, median (range)")
    for case in rounds[0]:
        print(f"\n{case}")
        for name in rounds[0][case]:
            values = [one[case][name] for one in rounds]
            print(f"  {name:20} {statistics.median(values):8.1f} ({min(values):.1f} to {max(values):.1f})")


if __name__ == "__main__":
    main()
