"""Any grammar without empty productions, unit cycles and useless symbols, of the same language."""

import itertools
from dataclasses import replace

import pytest
from bounded import bounded
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle.derivation import check_normal_form, derives

from psc.compiler.cfg.grammar import Cfg, Production, Terminal
from psc.compiler.cfg.normal_form import normal_form, without_unproductive
from psc.errors import CompilationCancelledError, GrammarError
from psc.support.cancellation import Cancellation, obeying

TEXTS = ["".join(t) for n in range(6) for t in itertools.product("ab", repeat=n)]


def _grammar(productions: list[tuple[int, tuple[int, ...]]], nonterminals: int = 3) -> Cfg:
    """Over the terminals a (0) and b (1); the nonterminals are 3, 4, …, the first one the start."""
    terminals = tuple(
        Terminal(name=c, pattern=c, text=c, flags=frozenset(), priority=0, lark_order=i, rank=i, ignored=False, line=None)
        for i, c in enumerate("ab")
    )
    names = tuple("SXYZ"[:nonterminals])
    made = tuple(Production(lhs, rhs, 0) for lhs, rhs in productions)
    return Cfg(
        source="",
        source_name="plain",
        imports=(),
        start="S",
        terminals=terminals,
        nonterminals=names,
        productions=made,
        lexer="contextual",
        keep_all_actions=True,
    )


PLAIN = st.lists(
    st.tuples(st.integers(3, 5), st.lists(st.sampled_from([0, 1, 3, 4, 5]), max_size=5).map(tuple)), min_size=1, max_size=9
)


@examples(100)
@given(PLAIN, st.lists(st.sampled_from(TEXTS), min_size=6, max_size=6))
@bounded
def test_normal_form_of_any_grammar(productions: list[tuple[int, tuple[int, ...]]], texts: list[str]) -> None:
    before = _grammar(list(dict.fromkeys(productions)))
    try:
        after = normal_form(before)
    except GrammarError as e:
        assert not any(derives(before, t) for t in TEXTS)
        assert str(e).startswith("plain: rule ")
        return
    check_normal_form(after)
    assert (after.terminals, after.lexer, after.keep_all_actions) == (before.terminals, "contextual", True)
    for text in ["", *texts]:
        assert derives(before, text) == derives(after, text)


def test_normal_form_keeps_names() -> None:
    after = normal_form(_grammar([(3, (4, 0)), (3, ()), (4, (4, 1)), (4, (5,)), (5, (4,)), (5, (1,))]))
    assert [after.production_text(i) for i in range(len(after.productions))] == [
        "$S : S", "$S : (empty)", "S : X a", "X : X b", "X : b",
    ]  # fmt: skip


@examples(200)
@given(PLAIN, st.booleans())
def test_what_never_finishes_is_left_out(productions: list[tuple[int, tuple[int, ...]]], b_ignored: bool) -> None:
    grammar = _grammar(productions)
    grammar = replace(grammar, terminals=(grammar.terminals[0], replace(grammar.terminals[1], ignored=b_ignored)))
    finished = {0} if b_ignored else {0, 1}
    for _ in range(3):
        finished |= {lhs for lhs, rhs in productions if finished.issuperset(rhs)}
    try:
        kept = without_unproductive(grammar).productions
    except GrammarError:
        assert 3 not in finished
        return
    assert 3 in finished
    assert [(p.lhs, p.rhs) for p in kept] == [(lhs, rhs) for lhs, rhs in productions if finished.issuperset(rhs)]


def test_leaving_out_can_be_called_off() -> None:
    grammar = _grammar([(3, (0,))])
    cancellation = Cancellation()
    with obeying(cancellation), pytest.raises(CompilationCancelledError):
        cancellation.cancel()
        without_unproductive(grammar)
