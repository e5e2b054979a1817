"""Count how many real files a Lark grammar parses, and say where the first failures are.

    python benchmarks/real_files.py GRAMMAR.lark FILES_OR_DIRS... [--sample N] [--seed S] [--failures K] [--suffix .EXT]

The idea: the bundled grammars claim to cover a language as it is written, so they are run, with Lark itself (LALR(1),
basic lexer), over whole source trees.  A folder stands for every file below it whose suffix is the grammar's name
(`java.lark` takes `*.java`) or the one given.  Each failure is printed as `file:line:col`, what was found there and the
terminals that were expected.

The cost: Lark lexes and parses some 100 to 300 KB a second on one core, hence `--sample`; a seed makes a sample
repeatable.  The exit status is 0 even when files fail, because a measurement is not a test.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

EXPECTED_SHOWN = 12


def source_files(paths: list[Path], suffix: str) -> Iterator[Path]:
    """Yield the files named, and for each folder the files below it that end in `suffix`, in sorted order."""
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*" + suffix) if p.is_file())
        else:
            yield path


def failure(parser: Lark, text: str) -> str | None:
    """Return None if `text` parses, else `line:col: what was found, what was expected`."""
    try:
        parser.parse(text)
    except UnexpectedCharacters as error:
        found = f"no terminal matches {text[error.pos_in_stream :][:20]!r}"
        return f"{error.line}:{error.column}: {found}; {expected(error.allowed or ())}"
    except UnexpectedToken as error:
        found = f"unexpected {error.token.type} {str(error.token)[:40]!r}"
        line, column = error.line, error.column
        if error.token.type == "$END":
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
        return f"{line}:{column}: {found}; {expected(error.accepts or error.expected)}"
    except UnexpectedInput as error:
        return f"{error.line}:{error.column}: {type(error).__name__}"
    return None


def expected(terminals: Iterable[str]) -> str:
    """Render a set of terminal names, cut to a readable length."""
    names = sorted(terminals)
    more = f" and {len(names) - EXPECTED_SHOWN} more" if len(names) > EXPECTED_SHOWN else ""
    return "expected " + " ".join(names[:EXPECTED_SHOWN]) + more


def main() -> None:
    """Parse the command line, run the files, print the failures and the count."""
    options = argparse.ArgumentParser(description="Count how many real files a Lark grammar parses.")
    options.add_argument("grammar", type=Path)
    options.add_argument("paths", type=Path, nargs="+", metavar="FILE_OR_DIR")
    options.add_argument("--sample", type=int, metavar="N", help="run N files drawn at random instead of all")
    options.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the sample (default 0)")
    options.add_argument("--failures", type=int, default=20, metavar="K", help="print the first K (default 20)")
    options.add_argument("--suffix", metavar=".EXT", help="suffix of the files taken from folders")
    args = options.parse_args()

    suffix: str = args.suffix or "." + args.grammar.stem
    files = list(source_files(args.paths, suffix))
    if not files:
        sys.exit(f"no files with suffix {suffix} under {' '.join(map(str, args.paths))}")
    if args.sample is not None and args.sample < len(files):
        files = random.Random(args.seed).sample(files, args.sample)

    parser = Lark.open(str(args.grammar), parser="lalr", lexer="basic", start="start")
    passed = failed = unreadable = characters = 0
    began = time.perf_counter()
    for path in files:
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            unreadable += 1
            print(f"{path}: not UTF-8: {error.reason} at byte {error.start}")
            continue
        characters += len(text)
        message = failure(parser, text)
        if message is None:
            passed += 1
            continue
        failed += 1
        if failed <= args.failures:
            print(f"{path}:{message}")
    seconds = time.perf_counter() - began

    total = passed + failed
    share = 100 * passed / total if total else 0.0
    print(f"{passed} of {total} files parse ({share:.2f} %), {failed} fail, {unreadable} not UTF-8")
    print(f"{characters:,} characters in {seconds:.1f} s")


if __name__ == "__main__":
    main()
