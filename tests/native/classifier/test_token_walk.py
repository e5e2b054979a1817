"""The lexer's arcs and the walk of a vocabulary over them: what a token does, against reading its bytes one by one."""

from __future__ import annotations

from collections import defaultdict

import pytest
from vocabularies import tokenizer

import psc
from psc._core import Machine
from psc.grammars.compiled_grammar import compile_ahead_of_time

# (grammar, what is read of the text from the start, byte by byte up to its end: the terminals, and those at the end)
ARCS = {
    "longest match": ('start: A | B\nA: "a"\nB: "ab"\n', b"aba", ["B"], [["A"]]),
    "fall-back over a terminal": ('start: ("a" | "abc" | "b" | "d")+\n', b"abd", ["A", "B", "D"], [[]]),
    "a number, not a range": ('start: N (".." N)?\nN: /[0-9]+(\\.[0-9]+)?/\n', b"1..2", ["N", "__ANON_0"], [["N"]]),
    "what is ignored": ('start: "a" "b"\n%ignore " "\n', b" a b ", ["A", "B"], [[]]),
}


def machine_of(text: str) -> tuple[Machine, list[str]]:
    compiled = compile_ahead_of_time(psc.Grammar.from_lark(text, lexer="basic"), tokenizer(["a"]))
    return compiled._machine, list(compiled.terminal_names)


@pytest.mark.parametrize("case", ARCS)
def test_arcs(case: str) -> None:
    text, read, terminals, at_end = ARCS[case]
    machine, names = machine_of(text)
    state, emitted = machine.lexer_start(0), []
    for byte in read:
        steps = [(symbols, to) for cls, symbols, to in machine.lexer_steps(state) if cls == machine.byte_class[byte]]
        assert len(steps) == 1, f"{byte:c} can be read in one way"
        emitted += [names[s] for s in steps[0][0]]
        state = steps[0][1]
    assert emitted == terminals
    assert sorted([names[s] for s in symbols] for symbols in machine.lexer_ends(state)) == at_end


def test_a_byte_that_nothing_reads_has_no_step() -> None:
    machine, _ = machine_of('start: "ab"\n')
    assert machine.byte_class[ord("x")] not in [cls for cls, _, _ in machine.lexer_steps(0)]


TOKENS = ["a", "b", "c", "ab", "abc", "aab", "bca", " ", " a", "1", ".", "..", "1.", "1..", ".5", "x", "abab", "cc", "c c", "ba "]
GRAMMARS = {
    "fall-back": 'start: ("a" | "abc" | "b" | "c")+\n%ignore " "\n',
    "numbers": 'start: (N | ".." | "a" | "b")+\nN: /[0-9]+(\\.[0-9]+)?/\n%ignore " "\n',
    "one long lexeme": "start: W+\nW: /[abc]+( [abc]+)*/\n",
}


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_what_tokens_do_from_each_state(grammar: str) -> None:
    """Where a token is refused at once, where it ends, and with which terminals, is what `lexer_steps` says of its bytes."""
    compiled = compile_ahead_of_time(psc.Grammar.from_lark(GRAMMARS[grammar], lexer="basic"), tokenizer(TOKENS))
    machine = compiled._machine
    reached: dict[int, bytes] = {machine.lexer_start(0): b""}
    todo = list(reached)
    n_tokens: dict[bool, int] = defaultdict(int)
    while todo:
        state = todo.pop()
        for token, text in enumerate(TOKENS):
            at: int | None = state
            for byte in text.encode():
                steps = [to for cls, _, to in machine.lexer_steps(at) if cls == machine.byte_class[byte]] if at is not None else []
                at = steps[0] if steps else None
            if at is not None and at not in reached:
                reached[at] = reached[state] + text.encode()
                todo.append(at)
            # Every string of these grammars' terminals is a text of theirs, so the lexer alone decides.
            matcher = psc.GrammarMatcher(compiled)
            assert matcher.accept_string(reached[state])
            readable = at is not None and bool(machine.lexer_ends(at) or machine.lexer_becomes(at))
            assert matcher.is_allowed(token) == readable, (reached[state], text)
            n_tokens[readable] += 1
    assert n_tokens[True] > 5
    assert n_tokens[False] > 5
