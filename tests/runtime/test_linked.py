"""Machines that are linked against the machine of one grammar of all: masks, tokens taken, forks and ways back."""

from __future__ import annotations

import random
from collections.abc import Sequence as Many

import pytest
from grammar_tables import tables_of
from token_grammars import spellings

from psc import GrammarError, GrammarMatcher, TokenizerInfo
from psc._core import LinkedPart, Machine, MatcherView, PartVocabularies
from psc.compiler.cfg.lowering import DEFAULT_LIMITS
from psc.compiler.cfg.terminals import MAX_POSITIONS
from psc.compiler.cfg.token_symbols import NO_SYMBOLS
from psc.compiler.expressions.expression import Chars, Choice, Expression, Literal, Reference, Repeat, RuleSet, Sequence
from psc.compiler.expressions.joined_rules import JoinedRules
from psc.compiler.expressions.tokens import FIRST_TOKEN, TokenNames
from psc.compiler.expressions.words import native_rules
from psc.compiler.pipeline.build import describe
from psc.compiler.pipeline.linking import link, plan_links
from psc.compiler.pipeline.part_cache import PartCache
from psc.compiler.pipeline.part_ends import END_OF_PART, FIRST_CALL
from psc.grammars.build_grammar import shared_vocabulary
from psc.grammars.compiled_grammar import CompiledGrammar

TEXTS = ["a", "b", "<", "ab", "ba", "<a", "b<", "a<b", "aa", "bb", "<<", "é", "ab<", "<ab", "aé", "bab", "b<a"]
TOKENS = [*[t.encode() for t in TEXTS], b"\xc3", b"\xa9", b"\xa9a", b"<c>", b"<end>", b"", b"\xfb\xbf"]
SPECIAL, STOP = len(TEXTS) + 3, len(TEXTS) + 4
TOKENIZER = TokenizerInfo.from_tokens(TOKENS, special_token_ids=[SPECIAL], stop_token_ids=[STOP])
NAMES = TokenNames(TOKENIZER)
ALPHABET = "ab<"


def linked(frame: Expression, parts: Many[Expression]) -> CompiledGrammar:
    """The parts are the rules p0, p1, … to the frame."""
    rule_sets = {f"p{i}": RuleSet({"root": part}, "root", f"{part}", "<part>", {}) for i, part in enumerate(parts)}
    rules = JoinedRules({"root": frame}, rule_sets, "root")
    known = PartCache(shared_vocabulary(TOKENIZER), TOKENIZER.vocab_size, 1 << 30)
    plan = plan_links(RuleSet(rules, "root", "", "<test>", {}), worth=lambda part: True)
    assert plan is not None
    made = link(plan, known, 0)
    return CompiledGrammar(
        made.machine,
        lambda: describe(made.frame.cfg, TOKENIZER),
        tokenizer_info=TOKENIZER,
        names_of_terminals=made.terminal_names,
    )


def inlined(frame: Expression, parts: Many[Expression]) -> CompiledGrammar:
    rules = {"root": frame, **{f"p{i}": part for i, part in enumerate(parts)}}
    ready = tables_of(RuleSet(rules, "root", "", "<test>", {}))
    machine = ready.machine(shared_vocabulary(TOKENIZER, ready.symbols(TOKENIZER.vocab_size)))
    return CompiledGrammar(machine, lambda: describe(ready.cfg, TOKENIZER), tokenizer_info=TOKENIZER)


def drawn(rng: random.Random, depth: int, n_parts: int = 0) -> Expression:
    kind = rng.randrange(10 if depth else 4)
    if n_parts and rng.random() < 0.3:
        return Reference(f"p{rng.randrange(n_parts)}")
    if kind == 0:
        return Literal("".join(rng.choice(ALPHABET) for _ in range(rng.randrange(0, 4))))
    if kind == 1:
        return Chars(tuple((ord(c), ord(c)) for c in sorted(rng.sample(ALPHABET, rng.randrange(1, 3)), key=ord)))
    if kind == 2:
        return Literal(rng.choice(ALPHABET))
    if kind == 3:
        return spellings(NAMES, "<c>") if rng.random() < (0.5 if n_parts else 0.3) else Literal(rng.choice(["é", "ab"]))
    if kind < 7:
        return Sequence(tuple(drawn(rng, depth - 1, n_parts) for _ in range(rng.randrange(2, 4))))
    if kind < 9:
        return Choice(tuple(drawn(rng, depth - 1, n_parts) for _ in range(2)))
    return Repeat(drawn(rng, depth - 1, n_parts), rng.randrange(2), rng.choice([None, 1, 2]))


def allowed(matcher: GrammarMatcher) -> list[int]:
    return list(matcher.allowed_tokens().tolist())


@pytest.mark.parametrize("seed", range(60))
def test_linked_machines_are_the_machine_of_all(seed: int) -> None:
    rng = random.Random(seed)
    parts = [drawn(rng, 2) for _ in range(rng.randrange(1, 4))]
    frame = drawn(rng, 3, len(parts))
    stops = rng.choice([None, None, [rng.randrange(TOKENIZER.vocab_size) for _ in range(2)]])
    try:
        one = GrammarMatcher(inlined(frame, parts), override_stop_tokens=stops)
        many = GrammarMatcher(linked(frame, parts), override_stop_tokens=stops)
    except GrammarError:  # no text, or the empty one alone in a part
        return
    for _ in range(8):
        expected = allowed(one)
        assert allowed(many) == expected
        assert many.is_completed() == one.is_completed()
        for token in range(TOKENIZER.vocab_size):
            fork, other = many.fork(), one.fork()
            assert fork.accept_token(token) == other.accept_token(token) == (token in expected)
            assert fork.is_terminated() == other.is_terminated()
            if token in expected:
                fork.rollback(1)
                assert allowed(fork) == expected
        texts = [t for t in expected if t not in (stops or [STOP])]
        if not texts:
            break
        token = rng.choice(texts)
        if token < len(TEXTS) and rng.random() < 0.3:
            assert many.accept_string(TEXTS[token]) and one.accept_string(TEXTS[token])
        else:
            assert many.accept_token(token) and one.accept_token(token)
    steps = many.n_steps
    assert steps == one.n_steps
    for back in range(steps):
        many.rollback(1)
        one.rollback(1)
        assert allowed(many) == allowed(one), back


@pytest.mark.parametrize("seed", range(40))
def test_texts_are_read_as_far_as_they_go_on(seed: int) -> None:
    rng = random.Random(1000 + seed)
    parts = [drawn(rng, 2) for _ in range(2)]
    frame = drawn(rng, 3, len(parts))
    try:
        one, many = GrammarMatcher(inlined(frame, parts)), GrammarMatcher(linked(frame, parts))
    except GrammarError:
        return
    for _ in range(10):
        text = "".join(rng.choice("ab<é") for _ in range(rng.randrange(6)))
        fork, other = many.fork(), one.fork()
        assert fork.accept_prefix(text) == other.accept_prefix(text)
        assert allowed(fork) == allowed(other)
        assert many.accept_string(text) == one.accept_string(text)
        forced = many.find_jump_forward_string()
        assert forced == one.find_jump_forward_string()


def test_a_part_is_made_once() -> None:
    part = RuleSet({"root": Repeat(Literal("a"), 1, 3)}, "root", "a{1,3}", "<part>", {})
    known = PartCache(shared_vocabulary(TOKENIZER), TOKENIZER.vocab_size, 1 << 30)
    first, again = known.find([part, part])
    assert first is again is known.find([part])[0]
    assert known.size_bytes > 0


def test_parts_that_take_too_much_are_forgotten() -> None:
    parts = [RuleSet({"root": Literal(text)}, "root", text, "<part>", {}) for text in ("a", "b", "ab")]
    small = PartCache(shared_vocabulary(TOKENIZER), TOKENIZER.vocab_size, 1)
    first = small.find(parts)
    assert small.find(parts[2:])[0] is first[2]
    assert small.find(parts[:1])[0] is not first[0]


def test_a_stage_that_forks_share_stays_as_it_was() -> None:
    compiled = linked(Sequence((Literal("<"), Reference("p0"), Literal("<<"), Reference("p0"))), [Repeat(Literal("ab"), 1, None)])
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_string("<ab") and matcher.accept_token(TEXTS.index("ab<")) and matcher.accept_string("<")
    fork = matcher.fork()
    masks = []
    for m in (matcher, fork):
        m.rollback(2)
        masks.append(allowed(m))
        assert m.accept_string("ab")
    assert masks[0] == masks[1]
    assert allowed(matcher) == allowed(fork)


def test_what_comes_next_is_named_by_its_part() -> None:
    matcher = GrammarMatcher(linked(Sequence((Literal("<"), Reference("p0"))), [Literal("ab")]))
    assert matcher.expected_terminals() == ["/</"]
    assert matcher.accept_string("<")
    assert "/ab/" in matcher.expected_terminals()
    with pytest.raises(ValueError, match="linked of parts"):
        MatcherView(matcher).configurations()


def test_a_frame_may_call_nothing() -> None:
    end = Chars(((FIRST_TOKEN + END_OF_PART,) * 2,))
    ready = tables_of(RuleSet({"root": Sequence((Literal("ab"), end))}, "root", "", "<test>", {}))
    index = shared_vocabulary(TOKENIZER)
    frame = ready.machine(index.with_boundaries(b"b", None, NO_SYMBOLS))
    matcher = GrammarMatcher(CompiledGrammar(Machine.linked(frame, [], [], index, 0), dict, tokenizer_info=TOKENIZER))
    assert [TOKENS[t] for t in matcher.allowed_tokens().tolist()] == [b"a", b"ab"]
    assert matcher.accept_string("ab") and matcher.allowed_tokens().tolist() == [STOP]


def test_machines_that_do_not_fit_are_not_linked() -> None:
    ready = tables_of(RuleSet({"root": Literal("a")}, "root", "", "<test>", {}))
    index = shared_vocabulary(TOKENIZER)
    machine = ready.machine(index)
    with pytest.raises(ValueError, match="no stop tokens"):
        Machine.linked(machine, [LinkedPart.of_machine(machine)], [-1], index, 0)
    other = index.with_boundaries(None, None, NO_SYMBOLS)
    rules = native_rules({"root": Literal("a")}, "root")
    part = LinkedPart.of_rules(rules, PartVocabularies(other), **vars(DEFAULT_LIMITS), max_positions=MAX_POSITIONS)
    frame = ready.machine(index.with_boundaries(b"", b"", NO_SYMBOLS))
    with pytest.raises(ValueError, match="are of its vocabulary"):
        Machine.linked(frame, [part], [-1], index, 0)
    small = LinkedPart.of_rules(rules, PartVocabularies(index), **vars(DEFAULT_LIMITS), max_positions=MAX_POSITIONS)
    for most_tokens, problem in (([0], "one token at least"), ([], "has a number of tokens")):
        with pytest.raises(ValueError, match=problem):
            Machine.linked(frame, [small], most_tokens, index, 0)
    assert FIRST_TOKEN + TOKENIZER.vocab_size < FIRST_TOKEN + FIRST_CALL
