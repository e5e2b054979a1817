"""A machine as a Graphviz drawing: parallel arcs are one edge with a few of their labels, and the page is as large as the drawing.

OpenFst's own drawing has an edge for each arc, which are dozens of token classes between the same two states, and scales all of it
to a letter page.

Cost: linear in the arcs.
"""

from __future__ import annotations

import pynini

MAX_DRAWN_STATES = 100
MAX_DRAWN_EDGES = 200
_MAX_LABELS = 6


def picture(fst: pynini.Fst, symbols: pynini.SymbolTable, *, title: str) -> str | None:
    """The text of a .dot file, or None for a machine that is too large to be looked at.

    Args:
        fst: an acceptor or transducer.
        symbols: the names of its labels, on both sides; label 0 is shown as ε.
        title: the drawing's caption.
    """
    if fst.num_states() > MAX_DRAWN_STATES:
        return None
    edges: dict[tuple[int, int], list[str]] = {}
    for state in fst.states():
        for arc in fst.arcs(state):
            labels = edges.setdefault((state, arc.nextstate), [])
            read, written = _name(symbols, arc.ilabel), _name(symbols, arc.olabel)
            labels.append(read if arc.ilabel == arc.olabel else f"{read} : {written}")
    if len(edges) > MAX_DRAWN_EDGES:
        return None
    lines = [f"digraph {_quoted(title)} {{", f"  label = {_quoted(title)}; labelloc = t; rankdir = LR; node [shape = circle];"]
    zero = pynini.Weight.zero(fst.weight_type())
    for state in fst.states():
        shape = "circle" if fst.final(state) == zero else "doublecircle"
        lines.append(f"  {state} [shape = {shape}{', style = bold' if state == fst.start() else ''}];")
    for (source, target), labels in edges.items():
        shown = labels[:_MAX_LABELS]
        if len(labels) > len(shown):
            shown.append(f"… and {len(labels) - len(shown)} more")
        lines.append(f"  {source} -> {target} [label = {_quoted(chr(10).join(shown))}];")
    return "\n".join([*lines, "}", ""])


def _name(symbols: pynini.SymbolTable, label: int) -> str:
    return "ε" if label == 0 else str(symbols.find(label))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
