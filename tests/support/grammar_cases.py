"""The case tables in tests/exactness/cases/: grammars, the texts that they accept and refuse, and what is allowed after a prefix.

A table is TOML, one `[[case]]` after another::

    name = "dangling else"
    languages = ["keep all"]                    # keys of `languages.LANGUAGES`: how the grammar's text is read
    grammar = 'start: "i" start | "i" start "e" start | "x"'
    tokens = ["i", "e", "x", "ix"]              # the vocabulary of its masks; { hex = "c3" } is a part of a character
    accepts = ["x", "ixex"]                     # whole texts
    refuses = ["", "i", "ixexex"]               # texts that are no sentences: unfinished ones, and those that begin none
    allowed = [                                 # exactly these tokens after a prefix, and whether the text may end there
        { after = "ix", tokens = ["e"], stop = true },
    ]

`test_cases.py` runs every case in each of its languages through every engine. To add a case, add it to a table.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "exactness" / "cases"
_KEYS = {"name", "languages", "grammar", "tokens", "accepts", "refuses", "allowed"}
_ALLOWED_KEYS = {"after", "tokens", "stop"}


@dataclass(frozen=True)
class Allowed:
    """What a mask is after a prefix."""

    after: bytes
    tokens: frozenset[bytes]
    stop: bool
    """Whether the text may end."""


@dataclass(frozen=True)
class Case:
    """A grammar read as one language."""

    name: str
    language: str
    grammar: str
    tokens: tuple[bytes, ...]
    accepts: tuple[bytes, ...]
    refuses: tuple[bytes, ...]
    allowed: tuple[Allowed, ...]

    def __str__(self) -> str:
        return f"{self.language}: {self.name}"


def _bytes(written: Any) -> bytes:
    return bytes.fromhex(written["hex"]) if isinstance(written, dict) else written.encode()


def _allowed(written: Any) -> Allowed:
    assert set(written) == _ALLOWED_KEYS, written
    return Allowed(_bytes(written["after"]), frozenset(map(_bytes, written["tokens"])), written["stop"])


def _cases() -> Iterator[Case]:
    for path in sorted(_FOLDER.glob("*.toml")):
        for written in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            assert written["accepts"] and written["refuses"] and not set(written) - _KEYS, (path.name, written["name"])
            for language in written["languages"]:
                yield Case(
                    written["name"],
                    language,
                    written["grammar"],
                    tuple(map(_bytes, written["tokens"])),
                    tuple(map(_bytes, written["accepts"])),
                    tuple(map(_bytes, written["refuses"])),
                    tuple(map(_allowed, written.get("allowed", ()))),
                )


CASES = list(_cases())


@cache
def case(name: str, language: str) -> Case:
    """A case by its name."""
    (found,) = (c for c in CASES if (c.name, c.language) == (name, language))
    return found
