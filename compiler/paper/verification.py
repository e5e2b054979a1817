"""Whether a compiled classifier is the paper's construction: the same token classes on every stack, in every lexer state.

For a lexer state and a token class there are two sets of stacks. The paper's is the union of `A_w` over the sequences `w` that the
class realizes there (`realized`, `composition`). The classifier's is read off its tables: the stacks on whose way down a label is
emitted that stands for the class. Both become minimal deterministic acceptors over the stacks that the parser can have, and OpenFst
compares them. Classes with the same sequences and the same labels are compared once. So nothing is exponential in the number of
classes, as the acceptor of (stack, token class) pairs can be.

The tables are those that the artifact stores. Its lexer and its LR table are taken as given: what is proved is that the classifier,
its labels and its token sets say the same as they do.

Cost: a composition for each ending of a sequence, two small determinizations for each group of classes; a second or two for a small
grammar and a vocabulary of 150,000 tokens.
Source: "Parser Stack Classification", equations 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pynini

from psc._core import LrTables
from psc.compiler.paper.composition import minimal, real_stacks, union_of, viable_stacks
from psc.compiler.paper.pda import bottom_label, check_size, state_label
from psc.compiler.paper.realized import Sequences, realized_sequences
from psc.errors import GrammarError
from psc.ids import LexerState, LrState, TokenClass

Progress = Callable[[str, int, int], None]

_Labels = frozenset[int]
_ALWAYS = -1
"""Stands for a label that is emitted on every stack."""


@dataclass(frozen=True)
class Difference:
    """A stack on which the paper's construction and the classifier disagree about a token class."""

    lexer_state: LexerState
    token_class: TokenClass
    stack: tuple[LrState, ...]
    """LR states, top first."""
    allowed_by_paper: bool


@dataclass(frozen=True)
class Verification:
    """What was compared, and the first difference, if any."""

    lr_states: int
    lexer_states: int
    sequences: int
    """Different terminal sequences, over all lexer states."""
    token_classes: int
    comparisons: int
    """Of acceptors, after what is equal for many classes or lexer states was compared once."""
    difference: Difference | None


def verify(arrays: Mapping[str, Any], progress: Progress | None = None) -> Verification:
    """Compares the classifier of an artifact with the paper's construction.

    Args:
        arrays: the artifact's sections and scalars.
        progress: called as each lexer state begins.

    Raises:
        GrammarError: more than `MAX_LR_STATES` LR states or `MAX_SEQUENCES` sequences, a table that reduces without end, or a
            classifier that is closed over rests of sequences, as those of large grammars are.
    """
    if "lead_states" in arrays:
        raise GrammarError(
            "this artifact's classifier reads what follows a first terminal (it has leads, docs/internals.md), and the paper's "
            "construction whole sequences; verify a smaller grammar, or one for a smaller vocabulary"
        )
    lr = LrTables.from_arrays(dict(arrays))
    check_size(lr)
    found = realized_sequences(arrays, lr)
    paper, classifier = _Paper(lr), _Classifier(arrays, lr)
    equal: dict[tuple[frozenset[Any], _Labels], Difference | None] = {}
    n_classes = int(arrays["n_classes"]) + 1
    for i, (q, sequences) in enumerate(found.items()):
        if progress:
            progress("comparing with the paper's construction", i, len(found))
        labels = classifier.labels_of_classes(q)
        realizing = _by_class(sequences)
        for c in sorted(labels.keys() | realizing.keys()):
            key = frozenset(realizing.get(c, ())), labels.get(c, frozenset())
            if key not in equal:
                difference = _difference(paper.stacks(key[0]), classifier.stacks(key[1]))
                equal[key] = None if difference is None else Difference(q, c, *difference)
            if equal[key] is not None:
                return Verification(lr.n_lr_states, len(found), _count(found), n_classes, len(equal), equal[key])
    return Verification(lr.n_lr_states, len(found), _count(found), n_classes, len(equal), None)


def _count(found: Mapping[LexerState, Sequences]) -> int:
    return len(set().union(*found.values()))


def _by_class(sequences: Sequences) -> dict[TokenClass, set[Any]]:
    by_class: dict[TokenClass, set[Any]] = {}
    for sequence, classes in sequences.items():
        for c in classes:
            by_class.setdefault(c, set()).add(sequence)
    return by_class


def _difference(paper: pynini.Fst, classifier: pynini.Fst) -> tuple[tuple[LrState, ...], bool] | None:
    """A shortest stack that only one of the two accepts, and whether it is the paper's."""
    if pynini.equivalent(paper, classifier):
        return None
    for one, other, allowed_by_paper in ((paper, classifier, True), (classifier, paper, False)):
        alone = pynini.difference(one, other)
        if alone.num_states():
            path = pynini.shortestpath(alone).topsort()
            stack: list[LrState] = []
            state = path.start()
            while path.num_arcs(state):
                arc = next(iter(path.arcs(state)))
                stack.append(LrState(arc.ilabel - state_label(0)))
                state = arc.nextstate
            return tuple(stack), allowed_by_paper
    raise AssertionError("acceptors that are not equivalent, and do not differ")


class _Paper:
    """Sets of stacks by the sequences that they allow."""

    def __init__(self, lr: LrTables) -> None:
        self._lr = lr
        self._known: dict[frozenset[Any], pynini.Fst] = {}

    def stacks(self, sequences: frozenset[Any]) -> pynini.Fst:
        if sequences not in self._known:
            self._known[sequences] = minimal(union_of([viable_stacks(self._lr, w) for w in sequences]))
        return self._known[sequences]


class _Classifier:
    """Sets of stacks by the labels that the stored classifier emits on them."""

    def __init__(self, arrays: Mapping[str, Any], lr: LrTables) -> None:
        self._arrays = arrays
        self._real = real_stacks(lr)
        self._first_label = bottom_label(lr) + 1  # of the classifier's labels, behind those of stack symbols
        self._emitting = self._relation(lr)
        self._known: dict[_Labels, pynini.Fst] = {}

    def labels_of_classes(self, lexer_state: LexerState) -> dict[TokenClass, _Labels]:
        """Per token class, the labels that stand for it in a lexer state; a class that none stands for is not in it."""
        arrays = self._arrays
        first, last = arrays["meaning_offsets"][lexer_state : lexer_state + 2].tolist()
        labels: dict[TokenClass, set[int]] = {}
        for label, token_set in zip(
            arrays["meaning_labels"][first:last].tolist(), arrays["meaning_sets"][first:last].tolist(), strict=True
        ):
            for c in self._members(token_set):
                labels.setdefault(c, set()).add(label)
        for c in self._members(int(arrays["always"][lexer_state])):
            labels.setdefault(c, set()).add(_ALWAYS)
        return {c: frozenset(found) for c, found in labels.items()}

    def stacks(self, labels: _Labels) -> pynini.Fst:
        """The parser's stacks on which one of the labels is emitted."""
        if labels not in self._known:
            self._known[labels] = minimal(self._real if _ALWAYS in labels else self._stacks_of(labels))
        return self._known[labels]

    def _stacks_of(self, labels: _Labels) -> pynini.Fst:
        if not labels:
            return union_of([])
        erased = pynini.Fst()  # stack symbols stay, one of the labels ends the word and is dropped
        erased.add_states(2)
        erased.set_start(0)
        erased.set_final(1)
        for symbol in range(1, self._first_label):
            erased.add_arc(0, pynini.Arc(symbol, symbol, None, 0))
        for label in sorted(labels):
            erased.add_arc(0, pynini.Arc(self._first_label + label, 0, None, 1))
        return pynini.compose(self._emitting, erased.arcsort("ilabel")).project("output")

    def _members(self, token_set: int) -> list[TokenClass]:
        offsets = self._arrays["set_offsets"]
        members: list[TokenClass] = self._arrays["set_classes"][offsets[token_set] : offsets[token_set + 1]].tolist()
        return members

    def _relation(self, lr: LrTables) -> pynini.Fst:
        """An acceptor of every stack of the parser followed by one label that reading it emits."""
        arrays = self._arrays
        offsets, symbols, skips, targets, emissions = (
            arrays[name].tolist() for name in ("arc_offsets", "arc_symbol", "arc_skip", "arc_next", "arc_emission")
        )
        label_offsets, labels = arrays["label_offsets"].tolist(), arrays["labels"].tolist()
        every_symbol = [state_label(s) for s in range(lr.n_lr_states)]
        fst = pynini.Fst()
        fst.add_states(int(arrays["n_classifier_states"]))
        fst.set_start(int(arrays["start"]))
        end = fst.add_state()
        fst.set_final(end)
        rests: dict[int, int] = {}
        skipping: dict[tuple[int, int], int] = {}

        def rest(emission: int) -> int:
            """The state that reads what is left of the stack, then a label of the emission."""
            if emission not in rests:
                rests[emission] = state = fst.add_state()
                _add(fst, state, every_symbol, state)
                wanted = labels[label_offsets[emission] : label_offsets[emission + 1]]
                _add(fst, state, [self._first_label + label for label in wanted], end)
            return rests[emission]

        def after_skip(count: int, target: int) -> int:
            """The state that passes over `count` symbols before it is `target`."""
            if count == 0:
                return target
            if (count, target) not in skipping:
                skipping[count, target] = state = fst.add_state()
                _add(fst, state, every_symbol, after_skip(count - 1, target))
            return skipping[count, target]

        for state in range(int(arrays["n_classifier_states"])):
            for i in range(offsets[state], offsets[state + 1]):
                read = [state_label(symbols[i])]
                if label_offsets[emissions[i]] < label_offsets[emissions[i] + 1]:
                    _add(fst, state, read, rest(emissions[i]))
                _add(fst, state, read, after_skip(skips[i], targets[i]))
        any_label = pynini.Fst()
        any_label.add_states(2)
        any_label.set_start(0)
        any_label.set_final(1)
        _add(any_label, 0, range(self._first_label, self._first_label + int(arrays["n_labels"])), 1)
        pairs = (self._real + any_label).rmepsilon()
        return pynini.intersect(pairs, fst.arcsort("ilabel")).connect()


def _add(fst: pynini.Fst, source: int, labels: Sequence[int], target: int) -> None:
    for label in labels:
        fst.add_arc(source, pynini.Arc(label, label, None, target))
