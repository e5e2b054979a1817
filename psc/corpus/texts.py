"""The texts of a corpus: files, folders of files, files that are cut into several texts.

Cost: reading the files; a sample is drawn from their names, so that no other is read.
"""

from __future__ import annotations

import codecs
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Text:
    """One text; its name is the file's, with ``#`` and a number where the file was cut."""

    name: str
    data: bytes


def source_files(paths: Iterable[Path], suffix: str) -> Iterator[Path]:
    """The files named, and for each folder the files below it that end in ``suffix``, sorted."""
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*" + suffix) if p.is_file())
        else:
            yield path


def sampled(files: Iterable[Path], n: int | None, seed: int) -> list[Path]:
    """n files, drawn at random, the same ones for the same seed; without a number all, in their order."""
    chosen = list(files)
    return chosen if n is None or n >= len(chosen) else random.Random(seed).sample(chosen, n)


def read_texts(files: Iterable[Path], *, split: str | None = None, max_bytes: int | None = None) -> Iterator[Text]:
    r"""The texts of files.

    Args:
        files: which.
        split: cut each file after every occurrence of this text, in which ``\n`` and its like may be written.
            Blank pieces are left out.
        max_bytes: leave out longer texts.
    """
    mark = codecs.decode(split, "unicode_escape").encode() if split else None
    for file in files:
        data = file.read_bytes()
        if mark is None:
            texts = [Text(str(file), data)]
        else:
            *whole, last = data.split(mark)
            pieces = [*(piece + mark for piece in whole), last]
            texts = [Text(f"{file}#{i}", piece) for i, piece in enumerate(pieces) if piece.removesuffix(mark).strip()]
        yield from (text for text in texts if max_bytes is None or len(text.data) <= max_bytes)
