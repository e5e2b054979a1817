"""The paper's construction, with OpenFst, against a simulation of the LR table, and the stack classifier against it.

The classifier is compared as a language: for every lexer state, its tables become an acceptor of (stack, token class)
pairs, which must be equivalent to the paper's acceptor over all stacks that the LR automaton allows.
"""

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pynini
import pytest
import strategies
from bounded import bounded
from effort import examples
from hypothesis import assume, given
from small_transducers import (
    GRAMMARS,
    RIGHT_RECURSION,
    Case,
    compiled,
    labels_of,
    live_states,
    named,
    names_of,
    outputs,
    pruned_sequences,
    reachable_stacks,
    step,
)

from psc._core import LrTables
from psc.compiler import paper as transducers
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.lr_tables import lr_tables
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.paper import class_label, state_label
from psc.errors import GrammarError


@pytest.fixture(scope="module", params=GRAMMARS)
def case(request: pytest.FixtureRequest) -> Case:
    return named(request.param)


def random_stacks(lr: LrTables, count: int, seed: int) -> list[tuple[int, ...]]:
    """Half of them any sequences of LR states, half possible ones."""
    rng = random.Random(seed)
    stacks = [tuple(rng.randrange(lr.n_lr_states) for _ in range(rng.randint(1, 8))) for _ in range(count // 2)]
    real = reachable_stacks(lr, 4 * count)
    return stacks + rng.sample(real, min(len(real), count // 2))


def deterministic(fst: pynini.Fst) -> pynini.Fst:
    return pynini.determinize(fst.rmepsilon()).minimize()


def meaning(arrays: dict[str, np.ndarray], lexer_state: int, label: int) -> int:
    """The set of token classes that a label stands for in a lexer state; 0, the empty one, if it stands for nothing."""
    first, end = arrays["meaning_offsets"][lexer_state : lexer_state + 2]
    found = {int(k): int(v) for k, v in zip(arrays["meaning_labels"][first:end], arrays["meaning_sets"][first:end], strict=True)}
    return found.get(int(label), 0)


def emitted_classes(arrays: dict[str, np.ndarray], lexer_state: int, emission: int) -> set[int]:
    classes: set[int] = set()
    for label in arrays["labels"][arrays["label_offsets"][emission] : arrays["label_offsets"][emission + 1]]:
        classes |= members(arrays, meaning(arrays, lexer_state, label))
    return classes


def members(arrays: dict[str, np.ndarray], token_set: int) -> set[int]:
    return set(arrays["set_classes"][arrays["set_offsets"][token_set] : arrays["set_offsets"][token_set + 1]].tolist())


def classifier_acceptor(lr: LrTables, arrays: dict[str, np.ndarray], lexer_state: int) -> pynini.Fst:
    """The classifier of one lexer state as an acceptor: real stacks, each followed by a class that reading it emits."""
    fst = pynini.Fst()
    everything = [state_label(s) for s in range(lr.n_lr_states)]
    fst.add_states(arrays["n_classifier_states"])
    fst.set_start(arrays["start"])
    end = fst.add_state()
    fst.set_final(end)
    rests: dict[frozenset[int], int] = {}

    def rest(classes: frozenset[int]) -> int:
        """The state that reads whatever is left of the stack, then one of the classes."""
        if classes not in rests:
            rests[classes] = state = fst.add_state()
            for label in everything:
                fst.add_arc(state, pynini.Arc(label, label, None, state))
            for c in sorted(classes):
                fst.add_arc(state, pynini.Arc(class_label(lr, c), class_label(lr, c), None, end))
        return rests[classes]

    offsets = arrays["arc_offsets"]
    for state in range(arrays["n_classifier_states"]):
        for i in range(offsets[state], offsets[state + 1]):
            label = state_label(int(arrays["arc_symbol"][i]))
            classes = frozenset(emitted_classes(arrays, lexer_state, arrays["arc_emission"][i]))
            if classes:
                fst.add_arc(state, pynini.Arc(label, label, None, rest(classes)))
            at, readable = state, [label]
            for _ in range(arrays["arc_skip"][i]):
                skipped = fst.add_state()
                add_arcs(fst, at, readable, skipped)
                at, readable = skipped, everything
            add_arcs(fst, at, readable, int(arrays["arc_next"][i]))
    fst.add_arc(fst.start(), pynini.Arc(0, 0, None, rest(frozenset(members(arrays, arrays["always"][lexer_state])))))
    return real_pairs(lr, fst)


def add_arcs(fst: pynini.Fst, source: int, labels: Sequence[int], target: int) -> None:
    for label in labels:
        fst.add_arc(source, pynini.Arc(label, label, None, target))


def real_pairs(lr: LrTables, fst: pynini.Fst) -> pynini.Fst:
    """The part of an acceptor of pairs that lies over the parser's own stacks; minimal and deterministic."""
    any_class = pynini.Fst()
    any_class.add_states(2)
    any_class.set_start(0)
    any_class.set_final(1)
    labels = {arc.ilabel for state in fst.states() for arc in fst.arcs(state)}
    add_arcs(any_class, 0, sorted(label for label in labels if label >= class_label(lr, 0)), 1)
    pairs = (transducers.real_stacks(lr) + any_class).rmepsilon()
    return deterministic(pynini.intersect(pairs, fst.copy().rmepsilon().arcsort()))


def run_classifier(arrays: dict[str, np.ndarray], lexer_state: int, stack: tuple[int, ...]) -> set[int]:
    """What the classifier's tables allow on one stack."""
    classes = members(arrays, arrays["always"][lexer_state])
    state, at = arrays["start"], 0
    while state != 0 and at < len(stack):
        first, last = arrays["arc_offsets"][state : state + 2]
        hits = np.flatnonzero(arrays["arc_symbol"][first:last] == stack[at])
        if len(hits) == 0:
            break
        arc = first + hits[0]
        classes |= emitted_classes(arrays, lexer_state, arrays["arc_emission"][arc])
        state = arrays["arc_next"][arc]
        at += 1 + int(arrays["arc_skip"][arc])
    return classes


def realizable_sequences(case: Case, lexer_state: int) -> dict[tuple[int, ...], set[int]]:
    """By lexing every class of tokens; all sequences, whatever the parser says of them."""
    lexer = case.lexer.arrays()
    offsets, pool = lexer["emission_offsets"], lexer["emission_symbols"]
    sequences: dict[tuple[int, ...], set[int]] = {}

    def emission(number: int) -> tuple[int, ...]:
        return tuple(pool[offsets[number] : offsets[number + 1]].tolist())

    def spelled(a_set: int) -> list[tuple[int, ...]]:
        """Every sequence of a set; set 1 is the empty sequence alone."""
        edges = range(lexer["future_offsets"][a_set], lexer["future_offsets"][a_set + 1])
        return [()] * (a_set == 1) + [
            (int(lexer["future_symbols"][e]), *rest) for e in edges for rest in spelled(int(lexer["future_sets"][e]))
        ]

    for c, token in enumerate(case.representatives):
        state, emitted = lexer_state, ()
        for byte in token:
            cell = state * lexer["n_byte_classes"] + int(lexer["byte_class"][byte])
            state = lexer["lexer_next"][cell]
            if state < 0:
                break
            emitted += emission(lexer["lexer_emit"][cell])
        else:
            for future in spelled(int(lexer["futures"][state])):
                sequences.setdefault(emitted + future, set()).add(c)
    for end in lexer["ends"][lexer["end_offsets"][lexer_state] : lexer["end_offsets"][lexer_state + 1]]:
        ending = (*emission(end), case.lr.n_terminals - 1)
        sequences.setdefault(ending, set()).add(len(case.representatives))
    return sequences


def assert_equivalent(case: Case, lexer_states: Sequence[int]) -> int:
    """Checks the classifier against the paper's acceptor; returns in how many of the states some token is allowed.

    The paper's side takes R_q as the test computes it, so that what the compilation leaves out counts too, unless that
    is very much: where lexemes fall back on each other, a state has thousands of sequences that no parser accepts.
    """
    arrays = case.classifier
    stacks = reachable_stacks(case.lr, 60)
    compared = 0
    for q in lexer_states:
        sequences = realizable_sequences(case, q)
        paper = transducers.mask_acceptor(case.lr, sequences if len(sequences) < 300 else pruned_sequences(case, q))
        classifier = classifier_acceptor(case.lr, arrays, q)
        assert pynini.equivalent(real_pairs(case.lr, paper), classifier)
        assert pynini.equivalent(paper, classifier), "mask_acceptor accepts more than real stacks"
        for stack in stacks:
            assert run_classifier(arrays, q, stack) == transducers.allowed_classes(paper, case.lr, stack)
        compared += classifier.num_states() > 1
    return compared


def test_step_is_one_step_of_the_table(case: Case) -> None:
    shifted = 0
    for terminal in range(case.lr.n_terminals):
        fst = transducers.step_transducer(case.lr, terminal)
        for stack in random_stacks(case.lr, 60, terminal):
            expected = step(case.lr, stack, terminal)
            assert outputs(fst, stack) == expected
            shifted += len(expected)
    assert shifted > case.lr.n_terminals


def test_sequence_is_one_step_after_the_other(case: Case) -> None:
    rng = random.Random(1)
    for length in (0, 1, 2, 3, 5):
        terminals = tuple(rng.randrange(case.lr.n_terminals) for _ in range(length))
        fst = transducers.sequence_transducer(case.lr, terminals)
        acceptor = transducers.sequence_acceptor(case.lr, terminals)
        for stack in random_stacks(case.lr, 40, length):
            expected = {stack}
            for terminal in terminals:
                expected = {after for before in expected for after in step(case.lr, before, terminal)}
            assert outputs(fst, stack) == expected
            assert bool(outputs(acceptor, stack)) == bool(expected)


def test_mask_acceptor_is_the_union_of_the_papers_parts(case: Case) -> None:
    """Equation 6, with each A_w by the composition of equation 5."""
    q = max(live_states(case), key=lambda q: len(case.sequences.of_state(q)))
    parts = []
    for terminals, classes in pruned_sequences(case, q).items():
        label = pynini.union(*(labels_of([class_label(case.lr, c)]) for c in sorted(classes)))
        parts.append(transducers.sequence_acceptor(case.lr, terminals) + label)
    literal = real_pairs(case.lr, pynini.union(*parts))
    assert pynini.equivalent(literal, transducers.mask_acceptor(case.lr, pruned_sequences(case, q)))


def test_classifier_is_equivalent_to_the_papers_acceptor(case: Case) -> None:
    live = live_states(case)
    assert assert_equivalent(case, range(case.lexer.n_states)) == len(live) > 0


def test_sequences_left_out_are_viable_on_no_stack(case: Case) -> None:
    stacks = transducers.real_stacks(case.lr)
    for q in live_states(case):
        pruned, every = pruned_sequences(case, q), realizable_sequences(case, q)
        assert {w: every.get(w) for w in pruned} == pruned
        for terminals in every.keys() - pruned.keys():
            viable = pynini.intersect(stacks, transducers.sequence_acceptor(case.lr, terminals))
            assert viable.num_states() == 0


def test_some_sequences_are_left_out() -> None:
    """So that the test above has something to look at."""
    case = named("json")
    assert len(pruned_sequences(case, 0)) < len(realizable_sequences(case, 0))


@pytest.mark.parametrize("table", ["arc_next", "arc_skip", "arc_emission", "arc_symbol"])
def test_damaged_classifier_is_not_equivalent(table: str) -> None:
    """The comparison itself: one wrong entry in the arcs that leave the start state must show."""
    case = named("json")
    arrays = case.classifier
    papers = {q: transducers.mask_acceptor(case.lr, pruned_sequences(case, q)) for q in live_states(case)}
    noticed = 0
    first, last = arrays["arc_offsets"][arrays["start"] : arrays["start"] + 2]
    for i in range(first, last):
        values = arrays[table].copy()
        wrong = {"arc_next": 0, "arc_skip": values[i] + 1, "arc_emission": 0, "arc_symbol": case.lr.end_state}
        values[i] = wrong[table]
        damaged = {**arrays, table: values}
        noticed += any(not pynini.equivalent(papers[q], classifier_acceptor(case.lr, damaged, q)) for q in papers)
    assert noticed > 0


def test_real_stacks_are_those_of_the_parser(case: Case) -> None:
    acceptor = transducers.real_stacks(case.lr)
    stacks = reachable_stacks(case.lr, 300)
    assert all(outputs(acceptor, stack) == {stack} for stack in stacks)
    assert not any(outputs(acceptor, stack[:-1]) for stack in stacks if len(stack) > 1)


@pytest.mark.parametrize("name", ["dangling else", "unbounded pops"])
def test_cells_with_several_actions(name: str) -> None:
    case = named(name, keep_all=True)
    assert_equivalent(case, live_states(case))


def test_both_sides_of_a_conflict_are_followed() -> None:
    case = named("dangling else", keep_all=True)
    names = [case.grammar.symbol_name(t) for t in range(case.lr.n_terminals)]
    text = [names.index(n) for n in ("IF", "NAME", "IF", "NAME", "NAME", "EQUAL", "NAME", "SEMICOLON", "ELSE")]
    stacks = {(0,)}
    for terminal in text[:-1]:
        stacks = {after for stack in stacks for after in step(case.lr, stack, terminal)}
    [before] = stacks
    after = outputs(transducers.step_transducer(case.lr, text[-1]), before)
    assert after == step(case.lr, before, text[-1])
    assert len(after) == 2


RANDOM = examples(30)


@RANDOM
@given(strategies.grammars(), strategies.vocabularies(max_size=15))
@bounded
def test_random_grammars(text: str, tokens: list[bytes]) -> None:
    try:
        case = compiled(text, tokens)
    except GrammarError:  # psc refuses some grammars that Lark takes
        return
    assert_equivalent(case, live_states(case)[:6])


@RANDOM
@given(strategies.grammar_texts(), strategies.vocabularies(max_size=15))
@bounded
def test_random_grammars_with_cells_of_several_actions(text: str, tokens: list[bytes]) -> None:
    try:
        grammar = load_lark(text, lexer="basic")
        assume(not derives_itself(grammar))
        lr = lr_tables(grammar, keep_all=True)
        for terminal in range(lr.n_terminals):
            transducers.step_transducer(lr, terminal)  # refuses tables that reduce without end
        case = compiled(text, tokens, keep_all=True)
    except GrammarError:
        return
    assert_equivalent(case, live_states(case)[:6])


def derives_itself(grammar: Cfg) -> bool:
    """Whether some nonterminal derives just itself: with every action kept, the parser can then go round for ever."""
    empty: set[int] = set()
    while more := {p.lhs for p in grammar.productions if empty.issuperset(p.rhs)} - empty:
        empty |= more
    alone: dict[int, set[int]] = {p.lhs: set() for p in grammar.productions}
    for p in grammar.productions:
        alone[p.lhs] |= {symbol for i, symbol in enumerate(p.rhs) if empty.issuperset(p.rhs[:i] + p.rhs[i + 1 :])}
    for _ in alone:
        for symbols in alone.values():
            symbols |= {further for symbol in symbols for further in alone.get(symbol, ())}
    return any(nonterminal in symbols for nonterminal, symbols in alone.items())


def test_reductions_without_end_are_refused() -> None:
    """Hidden left recursion: the empty rule can be reduced again and again before `b`."""
    lr = lr_tables(load_lark('start: e start "a" | "b"\ne:\n', lexer="basic"), keep_all=True)
    with pytest.raises(GrammarError, match="without end"):
        transducers.step_transducer(lr, 1)


def test_large_grammars_are_refused(tmp_path: Path) -> None:
    words = " ".join(f'"w{i}"' for i in range(220))
    grammar = load_lark(f"start: {words}\n", lexer="basic")
    lr = lr_tables(grammar)
    for build in (
        lambda: transducers.step_transducer(lr, 0),
        lambda: transducers.mask_acceptor(lr, {}),
        lambda: transducers.export(tmp_path / "out", names_of(grammar), lr, {}),
    ):
        with pytest.raises(ValueError, match=r"at most 200 LR states.* has 22\d"):
            build()
    assert not (tmp_path / "out").exists()


def test_many_sequences_are_refused(tmp_path: Path) -> None:
    grammar = load_lark(RIGHT_RECURSION, lexer="basic")
    lr = lr_tables(grammar)
    sequences = {w: [0] for w in itertools.islice(itertools.product(range(3), repeat=8), 5001)}
    with pytest.raises(ValueError, match="at most 5000 terminal sequences, and there are at least 5001"):
        transducers.mask_acceptor(lr, sequences)
    with pytest.raises(ValueError, match="at most 5000"):
        transducers.export(tmp_path / "out", names_of(grammar), lr, {0: sequences})
    assert not (tmp_path / "out").exists()
