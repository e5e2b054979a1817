"""The paper's machines of a small grammar as files: OpenFst machines, symbol tables, pictures, and an index in words.

    step_<TERMINAL>.fst     S_a over the stacks that the parser can have, stack in, stack out
    classifier_q<N>.fst     the acceptor of (stack, token class) pairs of lexer state N
    stacks.syms             labels of stack symbols: <LR state>/<the symbol that leads into it>
    tokens.syms             the same and labels of token classes, which is what the classifiers read
    *.dot, *.svg            pictures of the machines that are small enough (`picture`); .svg where Graphviz's `dot` is installed
    index.txt               all this, with sizes

Files are made in a temporary folder inside the directory and moved into place one by one, `index.txt` last: a file that
is there is whole. Cost: that of `composition`; `dot` adds up to a second per picture.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynini

from psc._core import LrTables
from psc.compiler.cfg.grammar import END
from psc.compiler.paper.composition import class_label, mask_acceptor, real_stacks, step_transducer
from psc.compiler.paper.pda import check_size, state_label
from psc.compiler.paper.picture import MAX_DRAWN_EDGES, MAX_DRAWN_STATES, picture
from psc.compiler.paper.realized import Sequence as Symbols
from psc.compiler.paper.realized import check_sequences, class_bytes_of, realized_sequences
from psc.ids import LexerState, Terminal, TokenClass

_DOT_SECONDS = 20

Sequences = Mapping[Symbols, Collection[TokenClass]]
"""R_q: the token classes that realize each sequence of terminals."""


@dataclass(frozen=True)
class Names:
    """What a grammar's symbols are called."""

    grammar: str
    symbols: tuple[str, ...]
    """Terminals, the end of the text, nonterminals."""
    productions: tuple[str, ...]

    @classmethod
    def of(cls, grammar: Mapping[str, Any]) -> Names:
        """From an artifact's ``metadata["grammar"]``."""
        terminals = (t["name"] for t in grammar["terminals"])
        return cls(grammar["name"], (*terminals, END, *grammar["nonterminals"]), tuple(grammar["productions"]))


def export_artifact(directory: str | os.PathLike[str], arrays: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Path]:
    """Writes the machines of an artifact: of its LR table, and of its vocabulary in every lexer state.

    Args:
        directory: see :func:`export`, as for errors and the result.
        arrays: its sections and scalars.
        metadata: its metadata.
    """
    lr = LrTables.from_arrays(dict(arrays))
    check_size(lr)
    sequences = realized_sequences(arrays, lr)
    return export(directory, Names.of(metadata["grammar"]), lr, sequences, class_bytes=class_bytes_of(arrays))


def export(
    directory: str | os.PathLike[str],
    names: Names,
    lr: LrTables,
    sequences_by_lexer_state: Mapping[LexerState, Sequences],
    *,
    class_bytes: Sequence[bytes] = (),
) -> list[Path]:
    """Writes the machines of a grammar.

    Args:
        directory: made if it is not there; files of the same names are replaced, others are left alone.
        names: of the grammar and its symbols.
        lr: its table.
        sequences_by_lexer_state: R_q of every lexer state to write a classifier for; the empty ones are left out.
        class_bytes: what a token of each class spells, to name the classes by; without it they are numbered.

    Returns:
        The files written, `index.txt` last.

    Raises:
        GrammarError: more than `MAX_LR_STATES` LR states, or `MAX_SEQUENCES` sequences in all; nothing is written then.
        OSError: the directory cannot be written to.
    """
    check_size(lr)
    check_sequences(len(set().union(*sequences_by_lexer_state.values())))
    stacks = _stack_symbols(names, lr)
    tokens = _token_symbols(stacks, lr, sequences_by_lexer_state, class_bytes)
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix=".export-") as scratch:
        folder = _Folder(Path(scratch))
        folder.symbols("stacks.syms", stacks)
        folder.symbols("tokens.syms", tokens)
        possible = real_stacks(lr)
        steps, classifiers = [], []
        for terminal, name in enumerate(_file_names(names, lr)):
            fst = pynini.compose(possible, step_transducer(lr, Terminal(terminal))).optimize()
            if fst.num_states() > 0:
                steps.append(folder.machine(f"step_{name}", fst, stacks, names.symbols[terminal]))
        known: dict[frozenset[tuple[Symbols, frozenset[TokenClass]]], pynini.Fst] = {}
        for state, sequences in sorted(sequences_by_lexer_state.items()):
            if not sequences:
                continue
            content = frozenset((w, frozenset(classes)) for w, classes in sequences.items())
            if content not in known:
                known[content] = mask_acceptor(lr, sequences)
            meaning = f"lexer state {state}, {len(sequences)} sequences"
            classifiers.append(folder.machine(f"classifier_q{state}", known[content], tokens, meaning))
        folder.text("index.txt", _index(names, lr, steps, classifiers))
        for name in folder.names:
            os.replace(folder.path / name, target / name)
    return [target / name for name in folder.names]


class _Folder:
    """A folder being filled; it knows the names in the order of writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []
        self._dot = shutil.which("dot")

    def symbols(self, name: str, table: pynini.SymbolTable) -> None:
        table.write_text(str(self.path / name))
        self.names.append(name)

    def text(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")
        self.names.append(name)

    def machine(self, name: str, fst: pynini.Fst, symbols: pynini.SymbolTable, meaning: str) -> str:
        """Writes a machine, and its picture if that can be read; returns its line of the index."""
        fst.write(str(self.path / f"{name}.fst"))
        self.names.append(f"{name}.fst")
        states = fst.num_states()
        arcs = sum(fst.num_arcs(state) for state in fst.states())
        drawn = picture(fst, symbols, title=name)
        note = "no picture" if drawn is None else self._draw(name, drawn)
        return f"{name}.fst  {states} states, {arcs} arcs, {note}: {meaning}"

    def _draw(self, name: str, drawn: str) -> str:
        dot = self.path / f"{name}.dot"
        dot.write_text(drawn, encoding="utf-8")
        self.names.append(dot.name)
        if self._dot is None:
            return dot.name
        svg = dot.with_suffix(".svg")
        try:
            subprocess.run([self._dot, "-Tsvg", "-o", svg, dot], check=True, capture_output=True, timeout=_DOT_SECONDS)
        except (subprocess.SubprocessError, OSError):
            svg.unlink(missing_ok=True)  # the drawing is an extra: without it the .dot file remains
            return dot.name
        self.names.append(svg.name)
        return svg.name


def _stack_symbols(names: Names, lr: LrTables) -> pynini.SymbolTable:
    table = pynini.SymbolTable()
    table.add_symbol("<eps>", 0)
    for state, symbol in enumerate(lr.accessing.tolist()):
        name = names.symbols[symbol] if symbol >= 0 else "start"
        table.add_symbol(f"{state}/{_printable(name)}", state_label(state))
    return table


def _token_symbols(
    stacks: pynini.SymbolTable, lr: LrTables, by_lexer_state: Mapping[LexerState, Sequences], class_bytes: Sequence[bytes]
) -> pynini.SymbolTable:
    table = stacks.copy()
    stop: set[int] = set()
    classes: set[int] = set()
    for sequences in by_lexer_state.values():
        for terminals, members in sequences.items():
            classes.update(int(c) for c in members)
            # Only the class of the stop tokens ends the text.
            if terminals and terminals[-1] == lr.n_terminals - 1:
                stop.update(int(c) for c in members)
    for c in sorted(classes):
        name = f"class{c}"
        if c in stop:
            name += "/stop"
        elif c < len(class_bytes):
            name += "/" + _printable(repr(class_bytes[c])[1:])
        table.add_symbol(name, class_label(lr, TokenClass(c)))
    return table


def _printable(name: str) -> str:
    """The name with what ends a field of a symbol table spelled out."""
    return re.sub(r"\s", lambda m: f"\\x{ord(m[0]):02x}", name)


def _file_names(of: Names, lr: LrTables) -> list[str]:
    """Per terminal, its name as part of a file name, different from all others even where case does not count."""
    names: list[str] = []
    taken: set[str] = set()
    for terminal in range(lr.n_terminals):
        name = re.sub(r"[^A-Za-z0-9_]", "", of.symbols[terminal]) or "terminal"
        if name.casefold() in taken:
            name = f"{name}_{terminal}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _index(names: Names, lr: LrTables, steps: list[str], classifiers: list[str]) -> str:
    productions = [f"    {p}" for p in names.productions]
    return "\n".join(
        [
            f"The machines of {names.grammar} after 'Parser Stack Classification', in OpenFst's binary format.",
            "",
            f"{lr.n_lr_states} LR states, {lr.n_terminals} terminals with the end of the text, and these productions:",
            *productions,
            "",
            "stacks.syms  labels of stack symbols: LR state and the grammar symbol that leads into it",
            "tokens.syms  the same, and labels of token classes (tokens that no lexer state tells apart)",
            "",
            "Steps: for a terminal, stack in, stack out, both top first: the reductions before it, then its shift.",
            "Only over stacks that the parser can have. A terminal without an entry is taken by none of them.",
            *(f"  {line}" for line in steps),
            "",
            "Classifiers: for a lexer state, each stack (top first) followed by one token class that is allowed on it.",
            "Minimal, deterministic. Lexer states without an entry are those in which no token is possible.",
            *(f"  {line}" for line in classifiers),
            "",
            f"Drawn are machines of at most {MAX_DRAWN_STATES} states with {MAX_DRAWN_EDGES} edges; parallel arcs are one edge.",
            "To read one: fstprint --isymbols=stacks.syms --osymbols=stacks.syms step_X.fst",
            "             fstprint --acceptor --isymbols=tokens.syms classifier_q0.fst",
            "",
        ]
    )
