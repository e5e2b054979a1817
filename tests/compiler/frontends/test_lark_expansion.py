"""Productions and terminals of Lark files are Lark's own: the loader expands as Lark does, but knows sizes before."""

import re
from itertools import product
from pathlib import Path
from random import Random

import pytest
from lark.exceptions import LarkError
from lark.load_grammar import load_grammar
from lark_texts import CASES, random_rules

import psc
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.frontends.lark import expansion, loader
from psc.compiler.frontends.lark.loader import load_lark
from psc.support.regular_file import FileOrigin

BUNDLED = sorted((Path(psc.__file__).parent / "compiler" / "grammars").glob("*.lark"))


def expanded_by_lark(text: str, source_name: str) -> tuple[list[tuple[str, list[str], int]], list[tuple[str, str, int]]]:
    """Rules as (origin, symbols, priority) and terminals as (name, pattern, priority), by Lark's whole loader."""
    grammar, _used = load_grammar(text, source_name, [], False)
    terminals, rules, _ignored = grammar.compile(["start"], ())
    productions = [(str(r.origin.name), [str(s.name) for s in r.expansion], r.options.priority or 0) for r in rules]
    return productions, [(t.name, _with_flags_sorted(t.pattern.to_regexp()), t.priority) for t in terminals]


def _with_flags_sorted(pattern: str) -> str:
    """Lark writes nested flags in the order of a set."""
    return re.sub(r"(?:\(\?[a-z]:){2,}", lambda m: "".join(sorted(re.findall(r"\(\?[a-z]:", m.group()))), pattern)


def expanded_by_us(text: str, source_name: str) -> tuple[list[tuple[str, list[str], int]], list[tuple[str, str, int]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loader, "finished", lambda grammar: grammar)  # before what cannot finish is left out
        grammar = load_lark(text, source_name=source_name)
    names = [*[t.name for t in grammar.terminals], "$END", *grammar.nonterminals]
    productions = [(names[p.lhs], [names[s] for s in p.rhs], p.priority) for p in grammar.productions]
    return productions, [(t.name, t.pattern, t.priority) for t in grammar.terminals]


@pytest.mark.parametrize("name", CASES)
def test_expansion_is_larks(name: str) -> None:
    assert expanded_by_us(CASES[name], "<string>") == expanded_by_lark(CASES[name], "<string>")


@pytest.mark.parametrize("path", BUNDLED, ids=lambda p: p.stem)
def test_expansion_of_bundled_grammars_is_larks(path: Path) -> None:
    text = path.read_text().replace("// psc: lexer=basic, case=ascii", "// read as Lark does", 1)
    assert expanded_by_us(text, FileOrigin(str(path))) == expanded_by_lark(text, str(path))


def test_expansion_of_random_rules_is_larks() -> None:
    compared = 0
    for seed in range(40):
        text = random_rules(Random(seed))
        try:
            expected = expanded_by_lark(text, "<string>")
        except LarkError:
            with pytest.raises(psc.GrammarError):
                expanded_by_us(text, "<string>")
            continue
        compared += 1
        assert expanded_by_us(text, "<string>") == expected, text
    assert compared > 15


def test_groups_that_become_rules_keep_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the limit, `keep_all_actions` makes groups rules: the same texts are taken as where every choice is written out."""
    text = 'start: ("a" | "b" ["c"])? ("d"~0..2 | start "e")? ["a" ("b" | "f")] "d"*\n'
    written_out = load_lark(text, keep_all_actions=True)
    with monkeypatch.context() as m:
        m.setattr(expansion, "MAX_EXPANDED", 60)
        with pytest.raises(psc.ResourceLimitError, match="start"):
            load_lark(text)
        compact = load_lark(text, keep_all_actions=True)
    assert any("group" in name for name in compact.nonterminals)
    assert len(compact.productions) < len(written_out.productions)
    texts = ["".join(letters) for n in range(5) for letters in product("abcdef", repeat=n)]
    taken = [{t for t in texts if accepts(grammar, t.encode())} for grammar in (written_out, compact)]
    assert taken[0] == taken[1]
    assert 20 < len(taken[0]) < len(texts)


def accepts(grammar: Cfg, text: bytes) -> bool:
    """Whether the productions derive the text, whose terminals are single letters: an Earley parser without care for speed."""
    numbers = {ord(t.text or ""): i for i, t in enumerate(grammar.terminals)}
    first = len(grammar.terminals) + 1
    of: dict[int, list[tuple[int, ...]]] = {}
    for p in grammar.productions:
        of.setdefault(p.lhs, []).append(p.rhs)
    start = first + grammar.nonterminals.index(grammar.start)
    columns: list[set[tuple[int, tuple[int, ...], int, int]]] = [set() for _ in range(len(text) + 1)]
    columns[0] = {(start, rhs, 0, 0) for rhs in of[start]}
    for i, column in enumerate(columns):
        changed = True
        while changed:
            new = set()
            for lhs, rhs, dot, origin in column:
                if dot == len(rhs):
                    new |= {(a, b, c + 1, d) for a, b, c, d in columns[origin] if c < len(b) and b[c] == lhs}
                elif rhs[dot] >= first:
                    new |= {(rhs[dot], other, 0, i) for other in of.get(rhs[dot], ())}
                elif i < len(text) and numbers.get(text[i]) == rhs[dot]:
                    columns[i + 1].add((lhs, rhs, dot + 1, origin))
            changed = not new <= column
            column |= new
    return any(lhs == start and dot == len(rhs) and origin == 0 for lhs, rhs, dot, origin in columns[-1])
