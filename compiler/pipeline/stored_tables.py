"""A grammar's tables as arrays and JSON, for a file.

The idea: the tables (`psc.compiler.frontends.tables`) depend on the grammar's text alone. Making them takes a front end, for Lark's
language a slow one; reading them back takes no front end at all, and gives the same values.

What is read back is checked before native code sees it: every index lies in its table. The file that the arrays come from must be
known to be whole.

Cost: 2 ms for a programming language to read back; 0.3 MB of arrays, 1.5 MB when read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from psc._core import ByteAutomaton, LrTables
from psc.artifacts.format import IntArray
from psc.artifacts.scalars import SCALARS
from psc.compiler.cfg.grammar import Cfg, Terminal
from psc.compiler.cfg.normal_form import production_arrays, productions_from
from psc.compiler.cfg.terminals import TerminalAutomaton
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.frontends.tables import CfgTables, GrammarTables

LAYOUT: Final = 2
"""The version of what `to_arrays` writes."""


def to_arrays(tables: GrammarTables) -> tuple[dict[str, IntArray], dict[str, Any]]:
    """The arrays and the JSON that `from_arrays` takes, without the text, which the caller has."""
    cfg, automaton = tables.cfg, tables.automaton
    terminals, columns_of_productions = cfg.terminals, production_arrays(cfg, cfg.productions)
    if any(t.expression is not None for t in terminals):
        raise ValueError("the front end gave expressions, which a file does not keep")
    columns, byte_class = _distinct_columns(automaton.next)
    lr = {f"lr_{name}": np.atleast_1d(np.asarray(array)) for name, array in tables.lr.arrays().items()}
    arrays: dict[str, IntArray] = {
        **lr,
        "byte_class": byte_class,
        "next": columns.reshape(-1),
        "accept": automaton.accept,
        "match_offsets": automaton.match_offsets,
        "match_terminals": automaton.match_terminals,
        "terminal_numbers": np.array(
            [(t.priority, t.lark_order, t.rank, t.ignored, t.line or 0) for t in terminals], np.int32
        ).reshape(-1),
        **columns_of_productions,
        "lhs": columns_of_productions["lhs"] + np.int32(cfg.first_nonterminal),
    }
    metadata = {
        "layout": LAYOUT,
        "terminals": [[t.name, t.pattern, t.text, "".join(sorted(t.flags))] for t in terminals],
        "nonterminals": list(cfg.nonterminals),
        "start": cfg.start,
        "asked_for": cfg.asked_for,
        "left_out": list(cfg.left_out),
        "imports": [list(i) for i in cfg.imports],
        "shift_reduce_resolved": tables.lr.shift_reduce_resolved,
        # They take longer than all else, and only artifacts need them.
        "warnings": vars(tables).get("warnings"),
    }
    return arrays, metadata


def _distinct_columns(following: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct columns of the table, in their order, and which of them each byte has.

    `np.unique(axis=1)` says `TypeError` where a signal's handler raises inside it.
    """
    # Big-endian numbers from 0 are ordered as their bytes are.
    keys = [row.tobytes() for row in (following.T + 1).astype(">u4")]
    distinct = sorted(set(keys))
    number = {key: i for i, key in enumerate(distinct)}
    columns = following[:, [keys.index(key) for key in distinct]]
    return columns, np.array([number[key] for key in keys], np.uint8)


def from_arrays(arrays: Mapping[str, IntArray], metadata: Mapping[str, Any], request: GrammarRequest) -> CfgTables:
    """The tables again.

    Args:
        arrays: as `to_arrays` gave them, with the next.
        metadata: JSON.
        request: the text, and where it is from.

    Raises:
        ValueError: they do not fit each other, or are of another layout.
    """
    try:
        if metadata["layout"] != LAYOUT:
            raise ValueError(f"layout {metadata['layout']}")
        cfg = _cfg(arrays, metadata, request)
        made = _automaton(arrays, cfg), _lr_tables(arrays, int(metadata["shift_reduce_resolved"]), cfg)
        warnings = metadata["warnings"]
        return CfgTables(cfg, made, None if warnings is None else tuple(map(str, warnings)))
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError) as e:
        raise ValueError(f"the tables of a grammar are malformed: {e!r}") from e


def _cfg(arrays: Mapping[str, IntArray], metadata: Mapping[str, Any], request: GrammarRequest) -> Cfg:
    numbers = arrays["terminal_numbers"].reshape(-1, 5).tolist()
    terminals = tuple(
        [
            Terminal(
                name=name,
                pattern=pattern,
                text=text,
                flags=frozenset(flags),
                priority=priority,
                lark_order=lark_order,
                rank=rank,
                ignored=bool(ignored),
                line=line or None,
            )
            for (name, pattern, text, flags), (priority, lark_order, rank, ignored, line) in zip(
                metadata["terminals"], numbers, strict=True
            )
        ]
    )
    _require(sorted(t.rank for t in terminals) == list(range(len(terminals))))
    nonterminals = tuple(metadata["nonterminals"])
    first, end = len(terminals) + 1, len(terminals) + 1 + len(nonterminals)
    lhs, rhs, offsets = arrays["lhs"], arrays["rhs"], arrays["rhs_offsets"]
    _require(_all_within(lhs, first, end) and _all_within(rhs, 0, end) and _are_offsets(offsets, len(lhs), len(rhs)))
    columns = (_words(lhs - first), _words(offsets), _words(rhs), _words(arrays["priority"]))
    productions = productions_from(columns, len(terminals))
    options = request.options
    return Cfg(
        source=request.text,
        source_name=request.origin,
        imports=tuple([(name, digest) for name, digest in metadata["imports"]]),
        start=metadata["start"],
        terminals=terminals,
        nonterminals=nonterminals,
        productions=productions,
        lexer=options.lexer,
        keep_all_actions=options.keep_all_actions,
        language=request.language,
        settings=options.settings.text,
        asked_for=metadata["asked_for"],
        left_out=tuple(metadata["left_out"]),
    )


def _automaton(arrays: Mapping[str, IntArray], cfg: Cfg) -> TerminalAutomaton:
    byte_class, accept = arrays["byte_class"], arrays["accept"]
    offsets, terminals = arrays["match_offsets"], arrays["match_terminals"]
    n_states, n_terminals = len(accept), len(cfg.terminals)
    columns = arrays["next"].reshape(n_states, -1)
    _require(n_states > 0 and len(byte_class) == 256 and _all_within(byte_class, 0, columns.shape[1]))
    _require(_all_within(columns, -1, n_states) and _all_within(accept, -1, n_terminals))
    _require(_are_offsets(offsets, n_states, len(terminals)) and _all_within(terminals, 0, n_terminals))
    following = np.ascontiguousarray(columns.astype(np.int32, copy=False)[:, byte_class])
    native = ByteAutomaton(following.reshape(-1), _words(offsets), _words(terminals))
    return TerminalAutomaton(native, _words(accept), _words(offsets), _words(terminals), cfg)


def _lr_tables(arrays: Mapping[str, IntArray], shift_reduce_resolved: int, cfg: Cfg) -> LrTables:
    found = {name.removeprefix("lr_"): array for name, array in arrays.items() if name.startswith("lr_")}
    stored = {name: int(array[0]) if name in SCALARS else array for name, array in found.items()}
    lr = LrTables.from_arrays(stored, shift_reduce_resolved)
    _require(lr.n_terminals == len(cfg.terminals) + 1 and lr.n_nonterminals >= len(cfg.nonterminals))
    return lr


def _words(array: IntArray) -> Any:
    return np.ascontiguousarray(array, np.int32)


def _all_within(array: IntArray, least: int, end: int) -> bool:
    return not array.size or (int(array.min()) >= least and int(array.max()) < end)


def _are_offsets(offsets: IntArray, n: int, total: int) -> bool:
    """Whether these are the beginnings of `n` lists in a table of `total` entries, and its end."""
    return len(offsets) == n + 1 and int(offsets[0]) == 0 and int(offsets[-1]) == total and bool((np.diff(offsets) >= 0).all())


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("the tables of a grammar do not fit each other")
