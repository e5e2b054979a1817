"""Transducers of terminals and of terminal sequences, and the acceptor of (stack, token class) pairs that they make.

    S_a = P_ε ∘ P̃_a ∘ P_ε            the step of terminal a; ⊥ is put under the stack first, and taken away at the end
    P_w = S_{w_1} ∘ ... ∘ S_{w_n}     the paper's equation 5, as P_ε changes no stable stack
    A_w = P_w without its output      the stacks on which w is viable
    A   = the union of all A_w B_v    for one lexer state q, w ∈ R_q(v); the paper's equation 6, a token class for v

Past the end of a lexeme, a contextual lexer continues from a start that depends on the stack. So a sequence may have a *condition*
between two terminals: a set of LR states, one of which must be on top. It is a factor of P_w too, the identity on such stacks.

A stack is read top first. Transducers take any sequence of LR states; the acceptor A only the stacks that the parser
can have when a step begins (`real_stacks`), because over the others determinization makes states that nothing visits.

For A, A_w is computed from the end of w, as the stacks that S_{w_1} takes into A_{w_2...w_n}. Composition is
associative, so this is the same set; sequences share their endings, and acceptors stay small where transducers grow.

Source: the paper, sections 3.4 and 3.5. Cost: A is determinized with the token classes behind the stack, so its states
remember every class already allowed. That can be exponential, and is why psc's own classifier is another machine.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence

import pynini

from psc._core import LrTables
from psc.compiler.paper.epsilon import epsilon_transducer
from psc.compiler.paper.pda import Pda, bottom_label, check_size, state_label
from psc.compiler.paper.realized import Condition, check_sequences
from psc.compiler.paper.realized import Sequence as Symbols
from psc.compiler.paper.terminal import terminal_transducer
from psc.ids import LrState, Terminal, TokenClass
from psc.support.cached_property import cached_property


def class_label(lr: LrTables, token_class: TokenClass) -> int:
    """The label of a token class: above those of the stack symbols and ⊥."""
    return bottom_label(lr) + 1 + token_class


def step_transducer(lr: LrTables, terminal: Terminal) -> pynini.Fst:
    """``S_a``: the reductions under lookahead `terminal`, then its shift.

    Raises:
        GrammarError: more than `MAX_LR_STATES` LR states, or a table that reduces without end.
        ValueError: no such terminal.
    """
    return _steps(lr).step(terminal).copy()


def sequence_transducer(lr: LrTables, symbols: Sequence[Terminal | Condition]) -> pynini.Fst:
    """``P_w``: one step after the other; of no terminals, the identity. Raises as `step_transducer`."""
    fst = _every_stack(lr)
    for symbol in symbols:
        fst = pynini.compose(fst, _steps(lr).step(symbol)).optimize()
    return fst


def sequence_acceptor(lr: LrTables, symbols: Sequence[Terminal | Condition]) -> pynini.Fst:
    """``A_w``, minimal and deterministic: the stacks on which `symbols` can be read. Raises as `step_transducer`."""
    return minimal(sequence_transducer(lr, symbols).project("input"))


def viable_stacks(lr: LrTables, symbols: Symbols) -> pynini.Fst:
    """The stacks of the parser on which `symbols` can be read, minimal and deterministic. Raises as `step_transducer`.

    Cost: two compositions for each ending of `symbols` that has not been used with this table.
    """
    return minimal(pynini.intersect(_steps(lr).real, _steps(lr).acceptor(symbols)))


def mask_acceptor(lr: LrTables, sequences: Mapping[Symbols, Collection[TokenClass]]) -> pynini.Fst:
    """The paper's acceptor for one lexer state, minimal and deterministic.

    Args:
        lr: the table.
        sequences: R_q, as the token classes that realize each sequence of terminals.

    Returns:
        An acceptor of every real stack followed by the label (see `class_label`) of one class that is allowed on it.

    Raises:
        GrammarError: too many sequences (see `realized`), or as `step_transducer`.
    """
    check_size(lr)
    check_sequences(len(sequences))
    steps = _steps(lr)
    classes_of: dict[bytes, set[TokenClass]] = {}
    acceptors: dict[bytes, pynini.Fst] = {}
    for symbols, classes in sequences.items():
        acceptor = steps.acceptor(symbols)
        key = acceptor.write_to_string()
        acceptors[key] = acceptor
        classes_of.setdefault(key, set()).update(classes)
    parts = []
    for key, acceptor in acceptors.items():
        viable = pynini.intersect(steps.real, acceptor)
        if viable.num_states() > 0 and classes_of[key]:
            parts.append(viable + _one_of(class_label(lr, c) for c in sorted(classes_of[key])))
    return minimal(union_of(parts))


def allowed_classes(fst: pynini.Fst, lr: LrTables, stack: Sequence[LrState]) -> set[TokenClass]:
    """The token classes that a `mask_acceptor` accepts after a stack of LR states, top first.

    None on a stack that is not real. Cost: linear in the stack and the arcs of the states passed.
    """
    state = fst.start()
    for symbol in stack:
        if state == pynini.NO_STATE_ID:
            return set()
        label = state_label(symbol)
        state = next((arc.nextstate for arc in fst.arcs(state) if arc.ilabel == label), pynini.NO_STATE_ID)
    if state == pynini.NO_STATE_ID:
        return set()
    first = class_label(lr, TokenClass(0))
    return {TokenClass(arc.ilabel - first) for arc in fst.arcs(state) if arc.ilabel >= first}


def real_stacks(lr: LrTables) -> pynini.Fst:
    """An acceptor of the stacks that the parser can have when a step begins: paths of the LR automaton, read backwards.

    A terminal led to the state on top, or it is the start state; state 0 is the bottom; the end has not been shifted.
    """
    below = _below(lr)
    fst = pynini.Fst()
    start = fst.add_state()
    fst.set_start(start)
    fst.add_states(lr.n_lr_states)  # LR state s is the machine's state s + 1, which is also its label
    fst.set_final(state_label(0))
    for state, accessing in enumerate(lr.accessing.tolist()):
        label = state_label(state)
        if accessing < lr.n_terminals and state != lr.end_state:
            fst.add_arc(start, pynini.Arc(label, label, None, label))
        for lower in map(state_label, below[state]):
            fst.add_arc(label, pynini.Arc(lower, lower, None, lower))
    return minimal(fst)


class _Steps:
    """The machines of one table, each built once."""

    def __init__(self, lr: LrTables) -> None:
        check_size(lr)
        self._lr = lr
        self._under = _bottom_added(lr)
        self._step: dict[Terminal | Condition, pynini.Fst] = {}
        self._acceptor: dict[Symbols, pynini.Fst] = {(): _every_stack(lr)}

    @cached_property
    def real(self) -> pynini.Fst:
        return real_stacks(self._lr)

    def step(self, symbol: Terminal | Condition) -> pynini.Fst:
        if symbol not in self._step:
            self._step[symbol] = (
                _stacks_with_top(self._lr, symbol) if isinstance(symbol, frozenset) else self._step_of_terminal(symbol)
            )
        return self._step[symbol]

    def _step_of_terminal(self, terminal: Terminal) -> pynini.Fst:
        pda = Pda(self._lr, terminal)
        p_epsilon, p_terminal = epsilon_transducer(pda), terminal_transducer(pda)
        # Optimized after each composition, so that the next one has little to do.
        fst = pynini.compose(self._under, p_epsilon).optimize()
        fst = pynini.compose(fst, p_terminal).optimize()
        fst = pynini.compose(fst, p_epsilon).optimize()
        return pynini.compose(fst, self._under.copy().invert()).optimize()

    def acceptor(self, symbols: Symbols) -> pynini.Fst:
        if symbols not in self._acceptor:
            into = pynini.compose(self.step(symbols[0]), self.acceptor(symbols[1:]))
            self._acceptor[symbols] = minimal(into.project("input"))
        return self._acceptor[symbols]


@functools.lru_cache(maxsize=4)
def _steps(lr: LrTables) -> _Steps:
    return _Steps(lr)


def minimal(fst: pynini.Fst) -> pynini.Fst:
    """The minimal deterministic acceptor of the same language."""
    return pynini.determinize(fst.rmepsilon()).minimize().arcsort("ilabel")


def union_of(parts: Sequence[pynini.Fst]) -> pynini.Fst:
    """What any of the parts accepts; nothing, if there are none."""
    if not parts:
        return _nothing()
    return pynini.union(*parts) if len(parts) > 1 else parts[0]


def _nothing() -> pynini.Fst:
    fst = pynini.Fst()
    fst.set_start(fst.add_state())
    return fst


def _every_stack(lr: LrTables) -> pynini.Fst:
    """Every sequence of LR states but the empty one."""
    fst = pynini.Fst()
    start, rest = fst.add_state(), fst.add_state()
    fst.set_start(start)
    fst.set_final(rest)
    for state in range(lr.n_lr_states):
        label = state_label(state)
        fst.add_arc(start, pynini.Arc(label, label, None, rest))
        fst.add_arc(rest, pynini.Arc(label, label, None, rest))
    return fst


def _stacks_with_top(lr: LrTables, tops: Condition) -> pynini.Fst:
    """Every sequence of LR states that begins with one of `tops`."""
    fst = pynini.Fst()
    start, rest = fst.add_state(), fst.add_state()
    fst.set_start(start)
    fst.set_final(rest)
    for top in sorted(tops):
        fst.add_arc(start, pynini.Arc(state_label(top), state_label(top), None, rest))
    for state in range(lr.n_lr_states):
        fst.add_arc(rest, pynini.Arc(state_label(state), state_label(state), None, rest))
    return fst


def _bottom_added(lr: LrTables) -> pynini.Fst:
    """Every stack in, the same stack and ⊥ out."""
    fst = _every_stack(lr)
    end = fst.add_state()
    rest = 1
    fst.set_final(rest, pynini.Weight.zero(fst.weight_type()))
    fst.set_final(end)
    fst.add_arc(rest, pynini.Arc(0, bottom_label(lr), None, end))
    return fst


def _one_of(labels: Iterable[int]) -> pynini.Fst:
    fst = pynini.Fst()
    start, end = fst.add_state(), fst.add_state()
    fst.set_start(start)
    fst.set_final(end)
    for label in labels:
        fst.add_arc(start, pynini.Arc(label, label, None, end))
    return fst


def _below(lr: LrTables) -> list[list[int]]:
    """For every LR state, the states that can lie directly under it."""
    below: list[set[int]] = [set() for _ in range(lr.n_lr_states)]
    offsets, actions, gotos = lr.action_offsets.tolist(), lr.actions.tolist(), lr.gotos.tolist()
    for state in range(lr.n_lr_states):
        first, last = offsets[state * lr.n_terminals], offsets[(state + 1) * lr.n_terminals]
        for action in actions[first:last]:
            if action % 2 == 0:
                below[action // 2].add(state)
        for to in gotos[state * lr.n_nonterminals : (state + 1) * lr.n_nonterminals]:
            if to >= 0:
                below[to].add(state)
    return [sorted(states) for states in below]
