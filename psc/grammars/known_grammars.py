"""Grammars whose tables are known from before, so that their text need not be parsed: in this process, bundled, or in a store.

The idea: the tables that a grammar has for any vocabulary are a function of what the key of its artifacts is made of (text, texts
imported, options, compiler), the vocabulary left out. Under that key they are found here. Bundled grammars have theirs in the
package: ``python -m psc.grammars.known_grammars`` writes them, and a test compares them with what the compiler makes.

Cost: 0.1 ms to look, 3 ms to read the tables of a programming language, where parsing and making them takes 40.
Weighed and dropped: no tables in git (30 files, 1.9 MB). On a busy machine the first use of a grammar in a process without a store
takes 0.16 s (go) to 0.8 s (python) longer then, import of Lark included. Tables made for a wheel need the compiled core
and its dependencies where the wheel is built.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from psc.artifacts.format import Artifact, decode, encode
from psc.artifacts.table_cache import read_tables, write_tables
from psc.compiler import grammars
from psc.compiler.frontends.request import GrammarKey, GrammarRequest
from psc.errors import ArtifactError, ResourceLimitError
from psc.support.forks import new_lock

if TYPE_CHECKING:
    from psc.artifacts.store import Store
    from psc.compiler.frontends.parsed import ParsedGrammar

_log = logging.getLogger("psc.compiler")
_BUNDLED = Path(grammars.__file__).parent / "tables"
_in_use: WeakValueDictionary[tuple[GrammarKey, str, str], ParsedGrammar] = WeakValueDictionary()
_lock = new_lock()


def find(request: GrammarRequest, store: Store | None = None) -> ParsedGrammar | None:
    """The grammar of a request, if its tables are stored.

    Args:
        request: for the grammar.
        store: where they may lie, beside this process and the package.
    """
    key = _key(request)
    if key is None:
        return None
    name = (key, request.text, request.origin)
    with _lock:
        known = _in_use.get(name)
    if known is not None:
        return known
    digest = _digest(key)
    for stored in (_bundled(digest), None if store is None else read_tables(store.root, digest)):
        found = None if stored is None else _read(stored, request)
        if found is not None:
            with _lock:
                return _in_use.setdefault(name, found)
    return None


def remember(request: GrammarRequest, parsed: ParsedGrammar, store: Store | None = None) -> None:
    """Notes a grammar with its tables for as long as somebody uses it; and longer in a store.

    Args:
        request: for the grammar.
        parsed: what was read.
        store: where its tables are to be stored.

    Raises:
        GrammarError: it has no tables.
    """
    key = _key(request)
    if key is None or key.imports != parsed.imports:  # a file that was imported has another text by now
        return
    with _lock:
        _in_use[key, request.text, request.origin] = parsed
    if store is not None:
        from psc.compiler.pipeline.stored_tables import to_arrays

        tables = parsed.tables()
        if any(t.expression is not None for t in tables.cfg.terminals):  # of an indenter, which a file does not keep
            return
        tables.make()
        try:
            arrays, metadata = to_arrays(tables)
        except ResourceLimitError as e:
            _log.info("%s: its tables are not stored: %s", parsed.source_name, e)
        else:
            write_tables(store.root, _digest(key), arrays, metadata)


def _key(request: GrammarRequest) -> GrammarKey | None:
    if not request.front_end.keeps_tables or not isinstance(request.text, str):
        return None
    key = request.key()
    return None if key is None or key.names_tokens else key  # what names tokens has no tables whatever the vocabulary


def _digest(key: GrammarKey) -> str:
    from psc.compiler.pipeline.stored_tables import LAYOUT

    return key.without_vocabulary(LAYOUT)


def _bundled(digest: str) -> Artifact | None:
    path = _BUNDLED / f"{digest}.tables"
    try:
        return decode(path.read_bytes(), origin=str(path))
    except FileNotFoundError:
        return None
    except (OSError, ArtifactError) as e:
        _log.warning("the tables of a bundled grammar cannot be read, so its text is parsed: %s", e)
        return None


def _read(stored: Artifact, request: GrammarRequest) -> ParsedGrammar | None:
    from psc.compiler.frontends.parsed import ParsedCfg
    from psc.compiler.pipeline.stored_tables import from_arrays

    try:
        return ParsedCfg(from_arrays(stored.arrays, stored.metadata, request))
    except ValueError as e:
        _log.warning("%s: its tables are not used, and its text is parsed: %s", request.origin, e)
        return None


def bundled_tables() -> dict[str, bytes]:
    """What the compiler makes of the bundled grammars whose tables are kept, those with bounded layout among them: names of files,
    and what belongs into them."""
    from psc.compiler.frontends.lookup import find_grammar, with_bounded_layout
    from psc.compiler.pipeline.build import make_tables
    from psc.compiler.pipeline.stored_tables import to_arrays

    made = {}
    names = grammars.bundled_specs()
    for name in dict.fromkeys([*names, *map(with_bounded_layout, names)]):
        request = find_grammar(name).request()
        key = _key(request)
        if key is not None:
            tables = request.parse().tables()
            make_tables(tables)
            made[f"{_digest(key)}.tables"] = encode(*to_arrays(tables))
    return made


def write_bundled_tables(folder: Path = _BUNDLED) -> None:
    """Writes the files that `bundled_tables` says, and removes others."""
    folder.mkdir(exist_ok=True)
    made = bundled_tables()
    for path in folder.glob("*.tables"):
        if path.name not in made:
            path.unlink()
    for name, data in made.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    write_bundled_tables()
