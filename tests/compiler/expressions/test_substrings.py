"""The automaton of a list's runs, against the runs written out; a compilation that is called off stops at its next state."""

from hypothesis import given
from hypothesis import strategies as st

from psc import _core
from psc.compiler.expressions.expression import Automaton
from psc.compiler.expressions.substrings import substring_automaton
from psc.errors import CompilationCancelledError
from psc.support.cancellation import Cancellation, obeying


def _texts(automaton: Automaton) -> set[str]:
    """All texts of an automaton without circles."""
    found, todo = set(), [(0, "")]
    while todo:
        at, text = todo.pop()
        if automaton.accepts[at]:
            found.add(text)
        todo += [(to, text + chr(first)) for source, first, last, to in automaton.arcs if source == at and first == last]
    return found


@given(st.lists(st.text("ab", max_size=3), max_size=5))
def test_its_texts_are_the_runs(items: list[str]) -> None:
    n = len(items) + 1
    assert _texts(substring_automaton(items)) == {"".join(items[i:j]) for i in range(n) for j in range(i, n)}


def _is_called_off(items: list[str], checks: int) -> bool:
    cancellation = Cancellation()
    cancellation._flag = _core.Cancellation(after_checks=checks)
    try:
        with obeying(cancellation):
            substring_automaton(items)
    except CompilationCancelledError:
        return True
    return False


def test_it_is_called_off_at_each_state() -> None:
    items = ["ab", "c", "d"]
    n = len(substring_automaton(items).accepts)
    assert [_is_called_off(items, checks) for checks in (0, 1, n, n + 1)] == [True, True, True, False]  # the first is of `obeying`
