"""The files that a benchmark's command line names, as documents: all below a folder, a sample of them, or pieces of them.

The cost: reading files.
"""

import argparse
import codecs
import random
from pathlib import Path

from psc.bench.texts import json_documents
from psc.corpus.texts import Text, source_files


def add_corpus_options(options: argparse.ArgumentParser) -> None:
    """The command line's options that say which documents to take."""
    options.add_argument("paths", type=Path, nargs="*", metavar="FILE_OR_DIR", help="a folder is every file below it")
    options.add_argument("--suffix", metavar=".EXT", help="suffix of the files taken from folders (default .GRAMMAR)")
    options.add_argument("--sample", type=int, metavar="N", help="take N documents drawn at random")
    options.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the sample (default 0)")
    options.add_argument("--min-bytes", type=int, default=200, metavar="N", help="leave out shorter documents")
    options.add_argument("--max-bytes", type=int, default=100_000, metavar="N", help="leave out longer documents")
    options.add_argument("--split", metavar="TEXT", help=r"cut files into documents after each TEXT (';\n' for SQL)")
    options.add_argument("--json-documents", type=int, default=0, metavar="N", help="add N generated JSON documents")


def read_corpus(args: argparse.Namespace, suffix: str) -> list[Text]:
    """The documents that the options ask for. Exits when there are none."""
    files = list(source_files(args.paths, args.suffix or suffix))
    documents: list[Text] = []
    random.Random(args.seed).shuffle(files)
    wanted = args.sample if args.sample is not None else len(files) + (1 << 30)
    for file in files:
        if args.split is None and len(documents) >= wanted:
            break
        documents += (d for d in _cut(file, args.split) if args.min_bytes <= len(d.data) <= args.max_bytes)
    if len(documents) > wanted:
        documents = random.Random(args.seed).sample(documents, wanted)
    documents += json_documents(args.json_documents, args.seed)
    if not documents:
        where = " ".join(map(str, args.paths)) or "no paths given"
        raise SystemExit(f"no documents of {args.min_bytes} to {args.max_bytes} bytes, suffix {suffix}: {where}")
    return documents


def _cut(file: Path, split: str | None) -> list[Text]:
    data = file.read_bytes()
    if split is None:
        return [Text(str(file), data)]
    mark = codecs.decode(split, "unicode_escape").encode()
    parts = data.split(mark)
    return [Text(f"{file}#{i}", p + mark) for i, p in enumerate(parts) if p.strip()]
