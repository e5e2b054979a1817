"""Rules of which so many tokens at most may have bytes in a text, against an oracle that follows every way to read the tokens.

A way is the rules with a budget that are open, from the outermost in, each with the token in which it began and its *word*: the
bytes and tokens in it, where a rule with a budget inside it that is over is one symbol. Whether it can end is whether that word is
one of its body's. Once a rule is spent, a token that begins where it can end (and those open inside it can) is read outside it.
"""

from __future__ import annotations

import pickle
import random
import threading
from collections.abc import Callable
from functools import cache

import pytest

import psc
from psc import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from psc.compiler.expressions.expression import (
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    RuleMark,
    RuleSet,
    Sequence,
)
from psc.compiler.expressions.rule_sets import to_ebnf
from psc.compiler.expressions.tokens import FIRST_TOKEN, token_set
from psc.errors import GrammarError

TEXTS = ["a", "b", "<", "ab", "ba", "aa", "<a", "b<", "a<b", "bb", "<<", "é", "ab<", "abab", "bab"]
TOKENS = [*[t.encode() for t in TEXTS], b"\xc3", b"\xa9", b"\xa9a", b"<|c|>", b"<|end|>"]
SPECIAL, STOP = len(TEXTS) + 3, len(TEXTS) + 4
INFO = TokenizerInfo.from_tokens(TOKENS, special_token_ids=[SPECIAL], stop_token_ids=[STOP])
NAMED_TEXT = TEXTS.index("ab")
"""A token of text that grammars ask for by itself, too."""

Symbol = int | str
"""A byte, a token's number from `FIRST_TOKEN` on, or a rule with a budget."""
Word = tuple[Symbol, ...]
Open = tuple[str, int, Word]
"""A rule, the tokens before the one in which it began, and what was read of it."""
Way = tuple[Open, ...]
_Stack = tuple[Expression, ...]


class Reading:
    """The ways to read some tokens."""

    def __init__(self, rules: dict[str, Expression], marks: dict[str, RuleMark]) -> None:
        self._rules = rules
        self._most = {name: mark.max_tokens for name, mark in marks.items() if mark.max_tokens is not None}
        self._spent_body = {name: mark.spent for name, mark in marks.items()}
        self._after = cache(self._stacks_after)
        self.ways = frozenset({(("root", 0, ()),)})
        self.n_tokens = 0

    # What the rules say, without budgets.

    def _may_be_empty(self, e: Expression) -> bool:
        match e:
            case Literal():
                return not e.text
            case Chars():
                return False
            case Sequence():
                return all(map(self._may_be_empty, e.parts))
            case Choice():
                return any(map(self._may_be_empty, e.options))
            case Repeat():
                return e.least == 0 or self._may_be_empty(e.body)
            case Reference():
                return self._may_be_empty(self._rules[e.name])
        raise AssertionError(e)

    def _steps(self, stack: _Stack) -> list[tuple[Symbol, _Stack]]:
        """The symbols that may come, and what is to follow each."""
        if not stack:
            return []
        e, rest = stack[0], stack[1:]
        match e:
            case Literal():
                data = e.text.encode()
                return [(data[0], (*_bytes(data[1:]), *rest))] if data else self._steps(rest)
            case Chars():
                low = e.ranges[0][0]
                return [(low, rest)]
            case Sequence():
                return self._steps((*e.parts, *rest))
            case Choice():
                return [step for option in e.options for step in self._steps((option, *rest))]
            case Repeat():
                found = self._steps(rest) if e.least == 0 else []
                if e.most != 0:
                    most = None if e.most is None else e.most - 1
                    again = Repeat(e.body, max(e.least - 1, 0), most)
                    found += [(s, after) for s, after in self._steps((e.body, again, *rest)) if after != stack or s]
                return found
            case Reference():
                if e.name not in self._most:
                    return self._steps((self._rules[e.name], *rest))
                empty = self._steps(rest) if self._may_be_empty(self._rules[e.name]) else []
                return [(e.name, rest), *empty]
        raise AssertionError(e)

    def _stacks_after(self, rule: str, word: Word) -> frozenset[_Stack]:
        if not word:
            return frozenset({(self._rules[rule],)})
        return frozenset(after for stack in self._after(rule, word[:-1]) for s, after in self._steps(stack) if s == word[-1])

    def _is_text(self, rule: str, word: Word) -> bool:
        return any(all(map(self._may_be_empty, stack)) for stack in self._after(rule, word))

    # What may be read.

    def _is_spent(self, opened: Open) -> bool:
        rule, begun, _ = opened
        return rule in self._most and self.n_tokens - begun >= self._most[rule]

    def _can_end(self, way: Way, level: int, starts: bool) -> bool:
        """Whether the rule at a level can end, where those inside it have."""
        rule, _, word = way[level]
        if self._is_text(rule, word):
            return True
        body = self._spent_body.get(rule)
        spent = any(self._is_spent(outer) for outer in way[: level + 1])
        return starts and spent and body is not None and self._is_text(body, word)

    def _must_leave(self, way: Way) -> bool:
        if not way[-1][2]:
            return False
        for level in reversed(range(1, len(way))):
            if not self._can_end(way, level, True):
                return False
            if self._is_spent(way[level]):
                return True
        return False

    def _closed(self, ways: frozenset[Way], starts: bool) -> frozenset[Way]:
        """The ways, and those behind calls and ends of rules."""
        found, todo = set(ways), list(ways)
        while todo:
            way = todo.pop()
            more: list[Way] = []
            rule, begun, word = way[-1]
            if len(way) > 1 and word and self._can_end(way, len(way) - 1, starts):
                more.append(way[:-1])
            if not (starts and self._must_leave(way)):
                for name in self._most:
                    if self._after(rule, (*word, name)):
                        more.append((*way[:-1], (rule, begun, (*word, name)), (name, self.n_tokens, ())))
            todo += [m for m in more if m not in found]
            found.update(more)
        return frozenset(found)

    def _read(self, ways: frozenset[Way], symbol: Symbol, starts: bool) -> frozenset[Way]:
        found = set()
        for way in self._closed(ways, starts):
            rule, begun, word = way[-1]
            if not (starts and self._must_leave(way)) and self._after(rule, (*word, symbol)):
                found.add((*way[:-1], (rule, begun, (*word, symbol))))
        return frozenset(found)

    def after(self, token: int) -> frozenset[Way]:
        ways = self._read(self.ways, FIRST_TOKEN + token, True)
        if token in (SPECIAL, STOP):
            return ways
        by_bytes = self.ways
        for i, byte in enumerate(TOKENS[token]):
            by_bytes = self._read(by_bytes, byte, i == 0)
        return ways | by_bytes

    def after_text(self, text: bytes) -> frozenset[Way]:
        ways = self.ways
        for byte in text:
            ways = self._read(ways, byte, False)
        return ways

    def is_complete(self) -> bool:
        return any(len(way) == 1 and self._is_text("root", way[0][2]) for way in self._closed(self.ways, True))

    def allowed(self) -> set[int]:
        some = {i for i in range(len(TOKENS)) if self.after(i)}
        return some | ({STOP} if self.is_complete() else set())


def _bytes(data: bytes) -> tuple[Expression, ...]:
    return tuple(Chars(((byte, byte),)) for byte in data)


# Grammars.


def drawn(rng: random.Random) -> RuleSet:
    """Rules r0, r1, … of which most have budgets; each refers to later ones, and behind a character to any."""
    names = [f"r{i}" for i in range(rng.randrange(1, 4))]

    def text() -> Expression:
        if rng.random() < 0.08:
            return token_set([rng.choice([SPECIAL, NAMED_TEXT])])
        return Literal(rng.choice(["a", "b", "<", "ab", "é", "ba", "<<"]))

    def expression(depth: int, later: list[str]) -> Expression:
        kind = rng.random()
        if later and kind < 0.3:
            return Reference(rng.choice(later))
        if depth == 0 or kind < 0.5:
            return text()
        if kind < 0.7:
            return Sequence(tuple([expression(depth - 1, later) for _ in range(rng.randrange(2, 4))]))
        if kind < 0.85:
            return Choice(tuple([expression(depth - 1, later) for _ in range(2)]))
        if kind < 0.92:
            return Choice((text(), Sequence((text(), Reference(rng.choice(names)), text()))))
        body = expression(depth - 1, later)
        return Repeat(Sequence((text(), body)), rng.randrange(2), rng.choice([None, None, 2]))

    rules = {"root": Sequence((Reference("r0"), expression(2, names))) if rng.random() < 0.5 else expression(3, names)}
    marks = {}
    for i, name in enumerate(names):
        rules[name] = expression(2, names[i + 1 :])
        if rng.random() < 0.25:
            rules[name] = Repeat(Sequence((text(), rules[name])), 0, None)
        if rng.random() < 0.85:
            marks[name] = RuleMark(max_tokens=rng.choice([1, 1, 2, 3]))
            if rng.random() < 0.25:
                rules[f"{name}s"] = Repeat(text(), 1, None)
                rules[name] = Sequence((Reference(f"{name}s"), text()))
                marks[name] = RuleMark(max_tokens=marks[name].max_tokens, spent=f"{name}s")
    return RuleSet(rules, "root", "", "<drawn>", {}, marks=marks)


def compiled(rules: RuleSet) -> psc.CompiledGrammar:
    return GrammarCompiler(INFO, store=False).compile_grammar(Grammar.from_ebnf(to_ebnf(rules)))


@pytest.mark.parametrize("seed", range(120))
def test_masks_are_those_of_reading_every_way(seed: int) -> None:
    rng = random.Random(seed)
    rules = drawn(rng)
    grammar = compiled(rules)
    for _ in range(3):
        matcher, oracle = GrammarMatcher(grammar), Reading(dict(rules.rules), dict(rules.marks))
        past: list[tuple[frozenset[Way], int]] = []
        for _ in range(10):
            if len(oracle.ways) > 60:
                break
            allowed = oracle.allowed()
            assert set(matcher.allowed_tokens().tolist()) == allowed, (to_ebnf(rules), oracle.ways)
            assert matcher.is_completed() == oracle.is_complete()
            going_on = sorted(allowed - {STOP})
            draw = rng.random()
            if past and draw < 0.2:
                n = rng.randrange(1, len(past) + 1)
                matcher.rollback(n)
                oracle.ways, oracle.n_tokens = past[-n]
                del past[-n:]
            elif draw < 0.3:
                text = rng.choice(TEXTS)
                ways = oracle.after_text(text.encode())
                assert matcher.accept_string(text) == bool(ways)
                if ways:
                    past.append((oracle.ways, oracle.n_tokens))
                    oracle.ways = ways
            elif going_on:
                for refused in rng.sample(range(STOP), 3):
                    assert matcher.accept_token(refused) == (refused in allowed)
                    if refused in allowed:
                        matcher.rollback(1)
                if rng.random() < 0.3:
                    matcher = matcher.fork()
                token = rng.choice(going_on)
                assert matcher.accept_token(token)
                past.append((oracle.ways, oracle.n_tokens))
                oracle.ways, oracle.n_tokens = oracle.after(token), oracle.n_tokens + 1


def after(grammar: Grammar, *tokens: str) -> list[str]:
    """The tokens that may come behind some."""
    matcher = GrammarMatcher(GrammarCompiler(INFO, store=False).compile_grammar(grammar), terminate_without_stop_token=True)
    for token in tokens:
        assert matcher.accept_token(TEXTS.index(token))
    return [TEXTS[t] for t in matcher.allowed_tokens().tolist()]


@pytest.mark.parametrize(
    ("text", "read", "allowed"),
    [
        ('root ::= r "<"\nr[max_tokens=2] ::= "a"*', ["aa", "a"], ["<"]),
        ('root ::= r "<"\nr[max_tokens=1] ::= ("a"+ "b")+', ["a"], ["a", "b", "ab", "ba", "aa", "b<", "ab<", "abab", "bab"]),
        ('root ::= r "<"\nr[max_tokens=1] ::= ("a"+ "b")+', ["a", "ab"], ["<"]),
        ('root ::= r "b"\nr[max_tokens=1] ::= "<" s\ns[max_tokens=9] ::= "a"*', ["<a"], ["b"]),
        ('root ::= (r "<")+\nr[max_tokens=1] ::= "a"*', ["a", "<a"], ["<", "<a", "<<"]),
        ('root ::= r "<"\nr[max_tokens=2, spent=s] ::= s "b"\ns ::= "a"+', ["a", "a"], ["<"]),
    ],
)
def test_a_rule_ends_when_its_tokens_are_spent(text: str, read: list[str], allowed: list[str]) -> None:
    assert after(Grammar.from_ebnf(text), *read) == allowed


def test_budgets_of_a_named_grammar_and_of_a_grammar_in_a_tag() -> None:
    inner = Grammar.from_ebnf('root ::= r "b"\nr[max_tokens=1] ::= "a"*')
    named = Grammar.from_lark('start: "<" @g "<"', named_grammars={"g": inner})
    tag = {"type": "tag", "begin": "<", "content": {"type": "grammar", "grammar": inner.source}, "end": "<"}
    for grammar in (named, Grammar.from_structural_tag({"type": "structural_tag", "format": tag})):
        assert after(grammar, "<", "a") == ["b", "b<"]
    assert after(Grammar.concat(inner, inner), "a", "ba") == ["b"]


def test_text_is_not_counted() -> None:
    matcher = GrammarMatcher(
        GrammarCompiler(INFO, store=False).compile_grammar(Grammar.from_ebnf('root ::= r "<"\nr[max_tokens=1] ::= "a"*'))
    )
    assert matcher.accept_string("aaaa") and matcher.accept_token(TEXTS.index("a"))
    assert [TEXTS[t] for t in matcher.allowed_tokens().tolist()] == ["<"]
    assert matcher.accept_string("a") and matcher.accept_string("<")


def test_deep_texts_are_let_go_of_one_by_one() -> None:
    grammar = Grammar.from_ebnf('root ::= r\nr[max_tokens=999999] ::= "<" r "b" | "a"')
    matchers = [GrammarMatcher(GrammarCompiler(INFO, store=False).compile_grammar(grammar))]
    assert matchers[0].accept_string("<" * 8_000)
    size = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=matchers.clear)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)


@pytest.mark.parametrize("body", ['r "a" | "b"', 's "a" | "b"', '("b"? s)* "a"'])
def test_a_budget_of_what_begins_with_itself_is_refused(body: str) -> None:
    grammar = Grammar.from_ebnf(f'root ::= "<" r\nr[max_tokens=2] ::= {body}\ns ::= r')
    with pytest.raises(GrammarError, match=r"2: max_tokens of the rule 'r': it may begin with itself"):
        GrammarCompiler(INFO, store=False).compile_grammar(grammar)


def test_artifacts_do_not_count() -> None:
    grammar = Grammar.from_ebnf('root[max_tokens=2] ::= "a"*')
    with pytest.raises(GrammarError, match="not by artifacts"):
        grammar.to_cfg()
    compiled = GrammarCompiler(INFO, store=False).compile_grammar(grammar)
    assert compiled.grammar == grammar


@pytest.mark.parametrize(
    "again", [lambda c: CompiledGrammar.deserialize_json(c.serialize_json(), INFO), lambda c: pickle.loads(pickle.dumps(c))]
)
def test_a_compiled_grammar_travels(again: Callable[[CompiledGrammar], CompiledGrammar]) -> None:
    tag = {"type": "tag", "begin": "<", "content": {"type": "any_text", "max_tokens": 1}, "end": "b"}
    compiler = GrammarCompiler(INFO, store=False)
    for grammar, read in (
        (compiler.compile_grammar(Grammar.from_ebnf('root ::= r "b"\nr[max_tokens=1] ::= "a"*')), ["a"]),
        (compiler.compile_structural_tag({"type": "structural_tag", "format": tag}), ["<", "a"]),
    ):
        matcher = GrammarMatcher(again(grammar), terminate_without_stop_token=True)
        for text in read:
            assert matcher.accept_token(TEXTS.index(text))
        assert [TEXTS[t] for t in matcher.allowed_tokens().tolist()] == ["b"]
