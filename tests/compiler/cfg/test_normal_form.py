"""Any grammar without empty productions, unit cycles and useless symbols, of the same language."""

import itertools

from bounded import bounded
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle.derivation import check_normal_form, derives

from psc.compiler.cfg.grammar import Cfg, Production, Terminal
from psc.compiler.cfg.normal_form import normal_form
from psc.errors import GrammarError

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
