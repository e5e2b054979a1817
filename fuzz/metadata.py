"""Artifacts whose descriptions lie: `python -m fuzz.metadata --seconds 60 --seed 1`.

Names of grammars and tokenizers are paths, ids, pipes, devices and pieces of these; texts import files, in each language; other
entries are of other types, or gone. Everything that reads a description does so, in a folder and a home full of secrets. Nothing
there may be opened or looked for, nothing may hang, and no error may be raised but psc's own.

Cost: a case is one artifact and twenty readers, some 50 ms.
"""

from __future__ import annotations

import copy
import os
import tempfile
from pathlib import Path
from typing import Any

from planted_files import IMPORTS, SECRET, artifact, hostile_requests, lark, names, nothing_of, plant, uses
from vocabularies import byte_tokenizer

from fuzz.session import Case, main
from psc.artifacts.format import decode, encode
from psc.errors import PscError

_OTHERS: tuple[Any, ...] = (None, True, -1, 2**70, 1e308, "", "x", [], {}, [["a"]], {"name": "secret"}, "../secret", "/dev/zero")
_ENDS = ("", "/", ".lark", ".json", "@main", "\0", "/..", " ", "#x", "?x", ":1")
_BEGINS = ("", "./", "../", "file:", "file://", "~", "/", "//", "\\\\", "C:", "@", "<string>", "psc:")


def name(case: Case, folder: Path) -> str:
    """A name of one of the kinds, or of pieces of two."""
    rng, known = case.rng, names(folder)
    if rng.random() < 0.4:
        return rng.choice(known)
    middle = rng.choice(("", "/", "@", "../", f"/{rng.choice(known)[:60]}"))
    return rng.choice(_BEGINS) + rng.choice(known)[-60:] + middle + rng.choice(_ENDS)


def altered(case: Case, folder: Path) -> bytes:
    """An artifact with another description."""
    rng = case.rng
    found = decode(artifact(rng.random() < 0.5))
    metadata: dict[str, Any] = copy.deepcopy(dict(found.metadata))
    metadata["grammar"]["name"], metadata["tokenizer"]["name"] = name(case, folder), name(case, folder)
    how = rng.randrange(4)
    if how == 0:
        metadata["grammar"].update(lark(rng.choice(IMPORTS)))
    elif how == 1:
        metadata["grammar"].update(rng.choice(list(hostile_requests(folder).values())))
        if rng.random() < 0.5:
            metadata["grammar"]["origin"] = name(case, folder)
    elif how == 2:
        part = metadata[rng.choice(("grammar", "tokenizer"))]
        part[rng.choice(list(part))] = copy.deepcopy(rng.choice(_OTHERS))
    if rng.random() < 0.2:
        part = metadata[rng.choice(("grammar", "tokenizer"))]
        part.pop(rng.choice(list(part)))
    if rng.random() < 0.3:
        metadata[rng.choice(("file", "origin", "tokenizer_file", "path", "place"))] = name(case, folder)
    return encode(found.arrays, metadata)


def run_case(case: Case) -> None:
    with tempfile.TemporaryDirectory(prefix="psc-fuzz-") as own:
        folder, before = Path(own, "planted"), Path.cwd()
        plant(folder)
        os.environ.update(HOME=str(folder / "home"), HF_HUB_CACHE=str(Path(own, "hub")), PSC_STORE=str(Path(own, "store")))
        path = Path(own, "altered.psc")
        path.write_bytes(altered(case, folder))
        case.attach("artifact.psc", path.read_bytes())
        os.chdir(folder)
        try:
            with nothing_of(folder):
                read(case, path)
        finally:
            os.chdir(before)


def read(case: Case, path: Path) -> None:
    try:
        readers = uses(path, byte_tokenizer())
    except PscError as e:
        case.counts[f"refused: {type(e).__name__}"] += 1
        return
    for reader in readers:
        case.counts["reads"] += 1
        try:
            said = str(reader())
        except PscError as e:
            said = str(e)
            case.counts[type(e).__name__] += 1
        assert SECRET not in said, said[:500]


if __name__ == "__main__":
    main("metadata", __doc__.partition("\n")[0], run_case)
