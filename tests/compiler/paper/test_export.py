"""The machines of the paper as files: what is written, under which names, and pictures of it."""

import re
import shutil
from pathlib import Path

import pynini
import pytest
from small_transducers import (
    GRAMMARS,
    Case,
    compiled,
    live_states,
    named,
    names_of,
    outputs,
    pruned_sequences,
    reachable_stacks,
    step,
)

from psc.compiler import paper as transducers
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.paper import class_label
from psc.compiler.paper.picture import picture


@pytest.fixture(scope="module", params=GRAMMARS)
def case(request: pytest.FixtureRequest) -> Case:
    return named(request.param)


def exported(case: Case, directory: Path) -> list[Path]:
    sequences = {q: pruned_sequences(case, q) for q in range(case.lexer.n_states)}
    return transducers.export(directory, names_of(case.grammar), case.lr, sequences, class_bytes=case.representatives)


def test_export_writes_what_it_lists(case: Case, tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "down"
    files = exported(case, directory)
    assert sorted(files) == sorted(directory.iterdir())
    assert files[-1].name == "index.txt"
    index = files[-1].read_text()
    for file in files:
        if file.suffix == ".fst":
            assert f"{file.name}  " in index
            assert pynini.Fst.read(str(file)).verify()
    assert exported(case, directory) == files, "a second export replaces the first"
    assert sorted(files) == sorted(directory.iterdir())


def test_exported_steps_are_over_real_stacks(tmp_path: Path) -> None:
    case = named("precedence")
    exported(case, tmp_path)
    machine = pynini.Fst.read(str(tmp_path / "step_RPAR.fst"))
    terminal = next(t for t in range(case.lr.n_terminals) if case.grammar.symbol_name(t) == "RPAR")
    stacks = reachable_stacks(case.lr, 200)
    assert any(step(case.lr, stack, terminal) for stack in stacks)
    assert all(outputs(machine, stack) == step(case.lr, stack, terminal) for stack in stacks)


def test_exported_machines_are_the_machines(case: Case, tmp_path: Path) -> None:
    exported(case, tmp_path)
    tokens = pynini.SymbolTable.read_text(str(tmp_path / "tokens.syms"))
    stacks = pynini.SymbolTable.read_text(str(tmp_path / "stacks.syms"))
    assert stacks.num_symbols() == case.lr.n_lr_states + 1
    assert stacks.find(1) == "0/start"
    q = live_states(case)[0]
    machine = pynini.Fst.read(str(tmp_path / f"classifier_q{q}.fst"))
    assert pynini.equivalent(machine, transducers.mask_acceptor(case.lr, pruned_sequences(case, q)))
    used = {arc.ilabel for s in machine.states() for arc in machine.arcs(s)}
    assert all(tokens.member(label) for label in used)
    stop = len(case.representatives)
    assert tokens.find(class_label(case.lr, stop)) == f"class{stop}/stop"
    ignored = sum(t.ignored for t in case.grammar.terminals)
    assert len(list(tmp_path.glob("step_*.fst"))) == case.lr.n_terminals - ignored


def test_parallel_arcs_are_one_edge(tmp_path: Path) -> None:
    """Dozens of token classes lead from a state to the same other one; a page size would shrink them all."""
    case = named("right recursion")
    exported(case, tmp_path)
    machine = pynini.Fst.read(str(tmp_path / "classifier_q0.fst"))
    drawn = (tmp_path / "classifier_q0.dot").read_text()
    edges = re.findall(r"^  (\d+) -> (\d+) \[label = \"(.*)\"\];$", drawn, re.M)
    pairs = [(int(source), int(target)) for source, target, _ in edges]
    assert len(pairs) == len(set(pairs)) < sum(machine.num_arcs(s) for s in machine.states())
    assert set(pairs) == {(s, arc.nextstate) for s in machine.states() for arc in machine.arcs(s)}
    assert all(label.count("\\n") <= 6 for *_, label in edges)
    assert re.search(r"… and \d+ more", drawn)
    assert "size" not in drawn and "ratio" not in drawn


def test_drawn_names_are_quoted() -> None:
    symbols = pynini.SymbolTable()
    symbols.add_symbol("<eps>", 0)
    symbols.add_symbol('a"b\\x20', 1)
    fst = pynini.accep("[1]")
    drawn = picture(fst, symbols, title='t"')
    assert drawn is not None
    assert '[label = "a\\"b\\\\x20"]' in drawn and '"t\\""' in drawn
    assert picture(pynini.accep("a" * 200), symbols, title="long") is None


@pytest.mark.parametrize("dot", ["missing", "failing"])
def test_pictures_are_an_extra(dot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None if dot == "missing" else str(tmp_path / "no such program"))
    case = named("right recursion")
    suffixes = {file.suffix for file in exported(case, tmp_path / "out")}
    assert suffixes == {".fst", ".syms", ".dot", ".txt"}


def test_names_that_no_file_or_symbol_table_can_hold(tmp_path: Path) -> None:
    grammar = load_lark('start: A END x\nx: "b c"\nA: "a"\nEND: "e"\n', lexer="basic")
    case = compiled(grammar.source, [b"a", b"e", b"b", b" ", b"c", b"\t"])
    assert case.lr.n_terminals == len(grammar.terminals) + 1
    names = {file.name for file in exported(case, tmp_path)}
    assert {"step_A.fst", "step_END.fst", f"step_END_{grammar.end_terminal}.fst"} <= names
    assert "\\x20" in (tmp_path / "tokens.syms").read_text()


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_pictures_are_drawn(tmp_path: Path) -> None:
    case = named("right recursion")
    pictures = [file for file in exported(case, tmp_path) if file.suffix == ".svg"]
    assert pictures
    assert all("<svg" in file.read_text() for file in pictures)
