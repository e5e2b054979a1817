"""What sampling rests on: items of the LR automaton, ends that are found, tokens told apart by what they do."""

import random
from collections.abc import Callable

import pytest
from small_grammars import COMPILERS, GRAMMARS, compiled

import psc
from psc._core import MatcherView
from psc.compiler.cfg.lr_tables import lr_tables
from psc.errors import GrammarError
from psc.inspection.completion import Completer
from psc.inspection.lexemes import Lexemes
from psc.inspection.lr_items import LrItems, LrState, Symbol
from psc.inspection.sampling import Sampler
from psc.inspection.token_effects import TokenEffects

EVERY = pytest.mark.parametrize(("name", "how"), [(name, how) for name in GRAMMARS for how in COMPILERS])


@EVERY
def test_right_sides_are_the_grammar_s(name: str, how: str) -> None:
    items = LrItems(compiled(name, how)._machine.lr)
    grammar = GRAMMARS[name]().to_cfg()
    assert items.right_sides == [list(p.rhs) for p in grammar.productions]
    assert [grammar.first_nonterminal + n for n in items.production_lhs] == [p.lhs for p in grammar.productions]


Items = frozenset[tuple[int, int]]


def textbook_items(
    productions: list[tuple[int, list[int]]], start: int, after: Callable[[int, int], int | None]
) -> dict[int, set[tuple[int, int]]]:
    """Kernel items per LR state, by sets of items (the textbook's way): `after(state, symbol)` follows the tables in step."""

    def closure(kernel: Items, more: list[int]) -> set[tuple[int, int]]:
        items, wanted = set(kernel), set(more)
        while True:
            wanted |= {productions[p][1][dot] for p, dot in items if dot < len(productions[p][1])}
            grown = items | {(p, 0) for p, (lhs, _) in enumerate(productions) if lhs in wanted}
            if grown == items:
                return items
            items = grown

    states: dict[int, Items] = {0: frozenset()}
    for state in (todo := [0]):
        moves: dict[int, set[tuple[int, int]]] = {}
        for p, dot in closure(states[state], [start] * (state == 0)):
            if dot < len(productions[p][1]):
                moves.setdefault(productions[p][1][dot], set()).add((p, dot + 1))
        for symbol, kernel in moves.items():
            to = after(state, symbol)
            assert to is not None and states.setdefault(to, frozenset(kernel)) == kernel
            if to not in todo:
                todo.append(to)
    return {state: set(kernel) for state, kernel in states.items()}


CUT_OFF = psc.Grammar.from_lark('start: a "b" | "a" "b" "c"\na: "a"\n')
"""Lark shifts "b" where ``a`` could be reduced, so no action reduces ``a : "a"``."""


@pytest.mark.parametrize("make", [*GRAMMARS.values(), lambda: CUT_OFF])
def test_items_are_the_textbook_s(make: Callable[[], psc.Grammar]) -> None:
    grammar = make().to_cfg()
    lr = lr_tables(grammar, keep_all=grammar.keep_all_actions)
    items = LrItems(lr)
    productions = [(p.lhs, list(p.rhs)) for p in grammar.productions]
    start = grammar.first_nonterminal + grammar.nonterminals.index(grammar.start)
    assert [grammar.first_nonterminal + n for n in items.starts] == [start]
    found = textbook_items(productions, start, lambda state, symbol: items.after(LrState(state), Symbol(symbol)))
    (end,) = {items.after(state, Symbol(grammar.end_terminal)) for state in items.ends}
    assert end == lr.end_state
    (accepting,) = items.ends
    found.setdefault(accepting, set())  # the item of the production that the tables add is not among those of the grammar
    assert {state: set(kernel) for state, kernel in enumerate(items.items) if state != end} == found
    for state, kernel in found.items():
        assert {productions[p][1][dot - 1] for p, dot in kernel} <= {items.accessing[state]}


def test_right_sides_that_no_action_reduces_by() -> None:
    grammar = CUT_OFF.to_cfg()
    lr = lr_tables(grammar)
    items, actions = LrItems(lr), set(lr.actions.tolist())
    cut_off = [p for p in range(len(items.right_sides)) if 2 * p + 1 not in actions]
    assert [[grammar.symbol_name(s) for s in items.right_sides[p]] for p in cut_off] == [["A"]]


@pytest.mark.parametrize(
    ("text", "symbols", "length"),
    [
        ("", (), 0),
        ("a = 1", ("NUMBER",), 0),
        ("a = 1.", ("NUMBER",), 1),
        ("a = 1.", ("NUMBER", "__ANON_0"), 1),  # the fall-back: the number was 1
        ("a = no", ("NAME",), 0),
        ("a = no", ("NONE",), 2),
        ("#", (), 1),
        (";", None, 0),
    ],
)
def test_how_a_lexeme_can_finish(text: str, symbols: tuple[str, ...] | None, length: int) -> None:
    grammar = compiled("basic")
    matcher, lexemes = psc.GrammarMatcher(grammar), Lexemes(grammar)
    if symbols is None:
        assert not matcher.accept_string(text)
        return
    assert matcher.accept_string(text)
    ((state, _),) = MatcherView(matcher).configurations()
    found = [(tuple(grammar.terminal_names[s] for s in f), n) for f, n in lexemes.finishes(state)]
    assert (symbols, length) in found
    assert [n for _, n in found] == sorted(n for _, n in found)


@EVERY
def test_ends_are_found_from_anywhere(name: str, how: str) -> None:
    grammar = compiled(name, how)
    sampler, completer = Sampler(grammar), Completer(grammar)
    for seed in range(12):
        text = sampler.sample(random.Random(seed), max_tokens=15).text
        for cut in range(len(text) + 1):
            matcher = psc.GrammarMatcher(grammar)
            assert matcher.accept_string(text[:cut])
            before = MatcherView(matcher).configurations()
            end = completer.complete(matcher)
            assert MatcherView(matcher).configurations() == before
            assert matcher.accept_string(end)
            assert matcher.is_completed()
            assert len(end) <= len(text) - cut + 2


@pytest.mark.parametrize(
    ("name", "text", "end"),
    [
        ("contextual", "a = ((1", "));"),
        ("contextual", "none", "=0;"),
        ("basic", "none", "a=0;"),
        ("basic", "a = # x", "\n0;"),
        ("ambiguous", "(a", ")"),
        ("ebnf", "if 1 th", "en 0"),
        ("ebnf", "(id", ")"),
        ("ebnf", "(id ", "a.)"),
        ("regex", "ab", "cc"),
        ("json", '{"a', '":0}'),
    ],
)
def test_the_end_is_short(name: str, text: str, end: str) -> None:
    grammar = compiled(name)
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string(text)
    assert len(Completer(grammar).complete(matcher)) == len(end)


def test_no_end() -> None:
    """The parser can take Y only before an X, and after it the lexer reads XY as one X."""
    grammar = psc.GrammarCompiler(compiled("basic").tokenizer_info).compile_lark("start: X Y\nX: /x+y?/\nY: /y/\n", lexer="basic")
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string("x")
    assert Completer(grammar).complete(matcher) == b"yy"
    grammar = psc.GrammarCompiler(compiled("basic").tokenizer_info).compile_lark("start: X Y\nX: /x+y*/\nY: /y/\n", lexer="basic")
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string("x")
    with pytest.raises(GrammarError, match="no end of this text"):
        Completer(grammar).complete(matcher)


@EVERY
def test_tokens_with_one_effect_lead_to_one_place(name: str, how: str) -> None:
    grammar = compiled(name, how)
    effects, sampler = TokenEffects(grammar), Sampler(grammar)
    for seed in range(8):
        tokens = sampler.sample(random.Random(seed), max_tokens=12).tokens
        matcher = psc.GrammarMatcher(grammar)
        for token in tokens:
            allowed = matcher.allowed_tokens()
            numbers = effects.of(frozenset(state for state, _ in MatcherView(matcher).configurations()), allowed)
            places: dict[int, object] = {}
            for candidate, number in zip(allowed.tolist(), numbers.tolist(), strict=True):
                after = matcher.fork()
                assert after.accept_token(candidate)
                place = ("end",) if after.is_terminated() else MatcherView(after).configurations()
                assert places.setdefault(number, place) == place
            assert len(places) > 1 or len(set(map(str, places.values()))) == 1
            matcher.accept_token(token)


@EVERY
def test_samples_are_complete_and_varied(name: str, how: str) -> None:
    grammar = compiled(name, how)
    sampler = Sampler(grammar)
    samples = [sampler.sample(random.Random(seed), max_tokens=25) for seed in range(30)]
    for sample in samples:
        matcher = psc.GrammarMatcher(grammar)
        assert all(matcher.accept_token(token) for token in sample.tokens)
        assert matcher.is_completed()
        assert b"".join(grammar.tokenizer_info.token_texts[t] for t in sample.tokens) == sample.text
    assert len({s.text for s in samples}) > 8
    read = {t for s in samples for t in _terminals(grammar, s.text)}
    assert len(read) >= 0.8 * len(grammar.metadata["grammar"]["terminals"])


def _terminals(grammar: psc.CompiledGrammar, text: bytes) -> set[int]:
    """Terminals on the parser's stack at any place of a text, or that the lexeme there can be."""
    items, lexemes = LrItems(grammar._machine.lr), Lexemes(grammar)
    matcher, read = psc.GrammarMatcher(grammar), set[int]()
    for byte in text:
        matcher.accept_string(bytes([byte]))
        for i, (state, stack) in enumerate(MatcherView(matcher).configurations()):
            read.update(items.accessing[s] for s in stack[:-1] if items.accessing[s] < items.n_terminals)
            for symbols in lexemes.ends(state):
                if MatcherView(matcher).stacks_after(i, list(symbols)):
                    read.update(s for s in symbols if s < items.n_terminals)
            if state != lexemes.start(stack[0]) and () in lexemes.ends(state):
                names = grammar.metadata["grammar"]["terminals"]
                read.update(t for t, terminal in enumerate(names) if terminal["ignored"])
    return read
