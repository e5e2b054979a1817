"""The command line's options that say which grammars to run over, and which texts of them.

The cost: reading files.
"""

import argparse
from pathlib import Path

from psc.bench.subjects import Subject, find_subject, own_names, texts_of
from psc.corpus.texts import Text
from psc.errors import BenchError

DEFAULT = ("builtin-json", *own_names(), "java", "go", "sql")
"""Every grammar that there are figures of."""


def add_subject_options(options: argparse.ArgumentParser, default: tuple[str, ...] = DEFAULT, documents: int = 20) -> None:
    """The command line's options that say what to run over."""
    options.add_argument("grammars", nargs="*", metavar="GRAMMAR", help=f"a bundled name or a path; default: {' '.join(default)}")
    options.add_argument("--corpus", nargs="+", default=[], metavar="GRAMMAR=PATH", help="take a grammar's texts from these files")
    options.add_argument(
        "--documents", type=int, default=documents, metavar="N", help=f"texts of each grammar (default {documents})"
    )
    options.add_argument("--max-bytes", type=int, default=40_000, metavar="N", help="leave out longer files (default 40000)")
    options.add_argument("--seed", type=int, default=0, metavar="S", help="of texts and samples (default 0)")
    options.set_defaults(default_grammars=default)


def chosen(args: argparse.Namespace) -> list[Subject]:
    """The grammars that the command line names."""
    return [find_subject(name) for name in args.grammars or args.default_grammars]


def documents_of(subject: Subject, args: argparse.Namespace) -> list[Text]:
    """The texts that the command line asks for. Exits when there are none."""
    paths = [Path(path) for name, _, path in (c.partition("=") for c in args.corpus) if name == subject.name]
    try:
        return texts_of(subject, args.documents, seed=args.seed, max_bytes=args.max_bytes, paths=paths)
    except BenchError as error:
        raise SystemExit(str(error)) from None
