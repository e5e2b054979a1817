"""Texts that show which mask rows of an artifact are needed first: they are read token by token, and the rows noted.

A text is cut into the vocabulary's longest tokens, as `psc check` does it. A model's own tokenizer cuts elsewhere at times; of the
rows that its tokens meet in sources of the JDK, 99% are among those of the longest tokens. What is noted are names of rows, see
native/machine/warm_rows.hpp. Nothing of a text can be read back from them but which constructs occur.

Cost: some microseconds a token, and composing each row once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from psc._core import warm_tables
from psc.artifacts.format import Artifact, IntArray
from psc.errors import PscError
from psc.inspection.checking import Checker
from psc.runtime.compiled import LoadedGrammar
from psc.vocabulary.segment import Segmenter
from psc.vocabulary.tokenizer_info import TokenizerInfo


@dataclass(frozen=True)
class WarmText:
    """How a text was read."""

    name: str
    tokens: int
    """Those that the grammar took."""
    problem: str | None
    """Why it was not read to its end, with the place; None where it was."""
    built: int = 0
    """How many transitions of the classifier psc built for it, beyond those of the texts before; a token may need several."""


@dataclass(frozen=True)
class WarmRowNames:
    """The rows that texts use."""

    arrays: Mapping[str, IntArray]
    """The sections of an artifact that name them."""
    texts: tuple[WarmText, ...]

    @property
    def n_rows(self) -> int:
        """How many rows, and unions of rows, are named."""
        return len(self.arrays["warm_row_state"]) + len(self.arrays["warm_union_first"])

    @property
    def share_in_advance(self) -> float | None:
        """Of the tokens of the later half of the texts, those whose masks needed nothing that the texts before had not needed.

        It is a share, or less than it: a mask may need several things. None for a single text, 1.0 where the artifact is closed.
        """
        judged = self.texts[(len(self.texts) + 1) // 2 :]
        tokens = sum(text.tokens for text in judged)
        return 1 - min(tokens, sum(text.built for text in judged)) / tokens if tokens else None


def read_texts(files: Sequence[str | Path]) -> list[tuple[str, bytes]]:
    """The names and bytes of files; a folder is every file below it, in the order of their paths.

    Raises:
        PscError: one of them cannot be read.
    """
    out = []
    for given in map(Path, files):
        inside = sorted(p for p in given.rglob("*") if p.is_file()) if given.is_dir() else [given]
        if not inside:
            raise PscError(f"{given}: there is no text in this folder to warm the artifact with")
        for path in inside:
            try:
                out.append((str(path), path.read_bytes()))
            except OSError as e:
                raise PscError(f"{path}: cannot read the text to warm the artifact with: {e.strerror or e}") from e
    return out


def rows_met(
    arrays: Mapping[str, IntArray], metadata: Mapping[str, Any], tokenizer_info: TokenizerInfo, texts: Sequence[tuple[str, bytes]]
) -> WarmRowNames:
    """The names of the rows that texts meet. The same texts in the same order give the same names.

    Args:
        arrays: of an artifact that is closed, or partly closed.
        metadata: of the same.
        tokenizer_info: the vocabulary that it was compiled for.
        texts: names and bytes. One that the grammar refuses counts as far as it goes.
    """
    compiled = LoadedGrammar.from_artifact(Artifact(arrays, metadata, "", 0), tokenizer_info=tokenizer_info)
    checker = Checker(compiled, Segmenter(tokenizer_info))
    read, built = [], 0
    for name, data in texts:
        text = _read(checker, name, data)
        built_before, built = built, compiled._machine.counts().get("classifier_transitions", 0)
        read.append(replace(text, built=built - built_before))
    return WarmRowNames(warm_tables(compiled._machine), tuple(read))


def _read(checker: Checker, name: str, data: bytes) -> WarmText:
    if not data:
        return WarmText(name, 0, f"{name}: the file is empty")
    try:
        data.decode()
        check = checker.check_file(data)
    except UnicodeDecodeError as e:
        return WarmText(name, 0, f"{name}: byte 0x{data[e.start]:02x} at offset {e.start} is not UTF-8")
    except PscError as e:
        return WarmText(name, 0, f"{name}: {e}")
    if check.disagreement is not None:
        return WarmText(name, check.tokens, f"{name}: internal error of psc, please report it: {check.disagreement}")
    stop = check.stop
    return WarmText(name, check.tokens, None if stop is None else f"{name}:{stop.line}:{stop.column}: {stop.message()}")
