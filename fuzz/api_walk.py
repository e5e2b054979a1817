"""Random calls on matchers and their forks, over every kind of grammar: `python -m fuzz.api_walk --seconds 60 --seed 1`.

The oracle is a fresh matcher that reads the same history: after any calls in any order a matcher must be where that one is (mask,
completeness, parser stacks). Between the calls: what the mask allows is accepted and nothing else, a refused call changes nothing,
what only looks changes nothing, every draft tree's rows are those of forks that walk it, and every allowed token agrees with the
text that is forced. Over a sanitizer build the memory is watched as well.

Cost: a case is some hundred calls, a few milliseconds; a replay for every tenth call.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import psc
from fuzz.grammars_of_walks import compiled, names
from fuzz.session import Case, main
from psc._core import MatcherView
from psc.errors import MatcherError

_MAX_MATCHERS = 6
_LONGEST = 120  # steps of a history, so that a replay stays cheap
_NAMES = names()


class Follower:
    """A matcher, and what it should have read: tokens, and text as bytes."""

    def __init__(self, matcher: psc.GrammarMatcher, options: dict[str, object], history: list[int | bytes]) -> None:
        self.matcher, self.options, self.history = matcher, options, history

    def replayed(self) -> psc.GrammarMatcher:
        fresh = psc.GrammarMatcher(self.matcher.compiled, **self.options)  # type: ignore[arg-type]
        for step in self.history:
            assert fresh.accept_token(step) if isinstance(step, int) else fresh.accept_string(step), (
                f"a fresh matcher refuses {step!r}"
            )
        return fresh

    def check(self) -> None:
        fresh = self.replayed()
        assert self.matcher.n_steps == len(self.history) == fresh.n_steps
        assert self.matcher.is_terminated() == fresh.is_terminated()
        assert self.matcher.is_completed() == fresh.is_completed()
        assert places(self.matcher) == places(fresh), "the stacks differ from a fresh matcher's"
        if not ended(self.matcher):
            assert np.array_equal(self.matcher.mask(), fresh.mask()), "the mask differs from a fresh matcher's"


def places(matcher: psc.GrammarMatcher) -> set[tuple[int, int]]:
    """Lexer states, and the LR states on top: of several stacks with one top, the first depends on where they lie in memory."""
    return {(state, stack[0]) for state, stack in configurations(matcher)}


def configurations(matcher: psc.GrammarMatcher) -> list[tuple[int, list[int]]]:
    """Lexer states and stacks; none of a grammar that is linked of parts, which has no one machine to look at."""
    try:
        return MatcherView(matcher).configurations()
    except ValueError as e:
        assert "linked of parts" in str(e)
        return []


def ended(matcher: psc.GrammarMatcher) -> bool:
    """A stop token was accepted: nothing can be asked of the mask."""
    try:
        matcher.mask_row()
    except MatcherError:
        return True
    return False


class Walk:
    """One grammar, some matchers, and the calls on them."""

    def __init__(self, case: Case) -> None:
        self.rng, self.counts = case.rng, case.counts
        name = self.rng.choice(_NAMES)
        self.place = " ".join(map(str, name))
        self.grammar = compiled(*name)
        tokens = self.grammar.tokenizer_info
        self.texts = tokens.decoded_vocab
        self.stops = list(tokens.stop_token_ids)
        self.vocab_size = tokens.vocab_size
        self.followers: list[Follower] = []
        for _ in range(self.rng.randint(1, 2)):
            options = self.rng.choice(
                ({}, {}, {"terminate_without_stop_token": True}, {"override_stop_tokens": [0, self.rng.randrange(self.vocab_size)]})
            )
            self.followers.append(Follower(psc.GrammarMatcher(self.grammar, **options), options, []))  # type: ignore[arg-type]

    def go(self, n_calls: int) -> None:
        calls: tuple[tuple[int, Callable[[Follower], None]], ...] = (
            (30, self.accept),
            (6, self.accept_any),
            (8, self.accept_string),
            (4, self.accept_prefix),
            (10, self.rollback),
            (1, self.reset),
            (8, self.fork),
            (6, self.drop),
            (6, self.jump_forward),
            (5, self.look),
            (3, self.draft_tree),
            (3, self.broken_draft_tree),
            (3, self.batch),
            (1, self.give_up_cache),
        )
        weights, functions = [w for w, _ in calls], [f for _, f in calls]
        for _ in range(n_calls):
            follower = self.rng.choice(self.followers)
            self.rng.choices(functions, weights)[0](follower)
            self.counts["calls"] += 1
            if self.rng.random() < 0.1:
                self.rng.choice(self.followers).check()
                self.counts["replays"] += 1
        for follower in self.followers:
            follower.check()

    # What reads

    def allowed(self, matcher: psc.GrammarMatcher) -> list[int]:
        return [] if ended(matcher) else matcher.allowed_tokens().tolist()

    def accept(self, f: Follower) -> None:
        """A token that the mask allows."""
        if len(f.history) >= _LONGEST or not (allowed := self.allowed(f.matcher)):
            return self.rollback(f)
        token = self.rng.choice(allowed)
        assert f.matcher.is_allowed(token)
        assert f.matcher.accept_token(token), f"{token} is allowed and refused"
        f.history.append(token)

    def accept_any(self, f: Follower) -> None:
        """Any token, there or not."""
        token = self.rng.choice((self.rng.randrange(self.vocab_size), *self.stops, -1, self.vocab_size, 2**31, -(2**63)))
        expected = token in self.allowed(f.matcher)
        assert f.matcher.accept_token(token) == expected, f"token {token}: the mask says {expected}"
        if expected:
            f.history.append(token)

    def text(self, f: Follower) -> bytes:
        """What some more tokens say, and perhaps nonsense after that."""
        ahead, text = f.matcher.fork(), b""
        for _ in range(self.rng.randrange(6)):
            allowed = [t for t in self.allowed(ahead) if t not in ahead.stop_token_ids]
            if not allowed:
                break
            token = self.rng.choice(allowed)
            assert ahead.accept_token(token)
            text += self.texts[token]
        return text + self.rng.choice((b"", b"", b"\xff", b"]", b"}", b"a", bytes([self.rng.randrange(256)]), b"[" * 50))

    def accept_string(self, f: Follower) -> None:
        text = self.text(f)
        ahead = f.matcher.fork()
        whole = not ended(f.matcher) and ahead.accept_prefix(text) == len(text)
        given: str | bytes = text
        if self.rng.random() < 0.3:
            try:
                given = text.decode()
            except UnicodeDecodeError:
                given = bytearray(text)
        assert f.matcher.accept_string(given) == whole, (
            f"{text!r}: read as far as it goes, it is {'' if whole else 'not '}read whole"
        )
        if whole:
            f.history.append(text)

    def accept_prefix(self, f: Follower) -> None:
        text = self.text(f)
        n = f.matcher.accept_prefix(text)
        assert 0 <= n <= len(text)
        if n:
            f.history.append(text[:n])

    # What goes back, and what multiplies

    def rollback(self, f: Follower) -> None:
        n = len(f.history)
        if self.rng.random() < 0.1:
            try:
                f.matcher.rollback(n + self.rng.choice((1, 2, 10**9)))
            except MatcherError:
                return
            raise AssertionError("more steps are taken back than were made")
        back = self.rng.choice((0, min(1, n), min(2, n), self.rng.randint(0, n), n))
        f.matcher.rollback(back)
        del f.history[n - back :]

    def reset(self, f: Follower) -> None:
        f.matcher.reset()
        f.history.clear()

    def fork(self, f: Follower) -> None:
        if len(self.followers) < _MAX_MATCHERS:
            self.followers.append(Follower(f.matcher.fork(), f.options, f.history[:]))

    def drop(self, f: Follower) -> None:
        if len(self.followers) > 1:
            self.followers.remove(f)

    # What only looks

    def jump_forward(self, f: Follower) -> None:
        if ended(f.matcher):
            return
        forced = f.matcher.find_jump_forward_string().encode()
        if not forced:
            return
        self.counts["forced texts"] += 1
        assert f.matcher.fork().accept_string(forced), f"{forced!r} is forced and refused"
        for token in self.allowed(f.matcher):
            text = self.texts[token]
            stop = token in f.matcher.stop_token_ids
            assert stop or text.startswith(forced) or forced.startswith(text), f"{forced!r} is forced, and {text!r} allowed"

    def look(self, f: Follower) -> None:
        m = f.matcher
        view = MatcherView(m)
        before = configurations(m)
        look = self.rng.randrange(6) if before else self.rng.choice((0, 3, 4, 5))
        if look == 0:
            m.expected_terminals()
        elif look == 1:
            view.continuations()
        elif look == 2:
            of = self.rng.randrange(len(before))
            view.stacks_after(of, [self.rng.randrange(len(self.grammar.terminal_names)) for _ in range(self.rng.randrange(3))])
        elif look == 3 and not ended(m):
            words = np.full((3, m.mask().size), -7, np.int32)
            m.fill_next_token_bitmask(words, 1)
            assert np.array_equal(words[1], m.mask())
            assert (words[[0, 2]] == -7).all()
        elif look == 4 and not ended(m) and not f.options:
            assert m.is_completed() == any(t in self.stops for t in self.allowed(m)), "complete, or the stop token is allowed"
        else:
            m.is_terminated()
            m.is_completed()
        assert configurations(m) == before

    def draft_tree(self, f: Follower) -> None:
        """A random tree, most of its tokens allowed; each row is that of a fork that went there."""
        if ended(f.matcher):
            return
        n = self.rng.randint(1, 12)
        child, sibling, token = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64)
        at: list[psc.GrammarMatcher | None] = [f.matcher.fork()]
        for i in range(1, n):
            parent = self.rng.randrange(i)
            if child[parent] < 0:
                child[parent] = i
            else:
                last = int(child[parent])
                while sibling[last] >= 0:
                    last = int(sibling[last])
                sibling[last] = i
            above = at[parent]
            allowed = self.allowed(above) if above is not None else []
            token[i] = (
                self.rng.choice(allowed) if allowed and self.rng.random() < 0.8 else self.rng.randrange(-2, self.vocab_size + 2)
            )
            here = above.fork() if above is not None else None
            at.append(here if here is not None and here.accept_token(int(token[i])) and not ended(here) else None)
        rows = np.full((n, f.matcher.mask().size), 5, np.int32)
        assert f.matcher.traverse_draft_tree(child, sibling, token, rows)
        for i, here in enumerate(at):
            if here is not None:
                assert np.array_equal(rows[i], here.mask()), f"row {i} of a draft tree"
        self.counts["draft nodes"] += n

    def broken_draft_tree(self, f: Follower) -> None:
        """Links that are perhaps no tree."""
        if ended(f.matcher):
            return
        n = self.rng.randint(1, 6)
        links = [np.array([self.rng.randint(-2, n) for _ in range(n)], np.int64) for _ in range(3)]
        try:
            f.matcher.traverse_draft_tree(*links, np.zeros((n, f.matcher.mask().size), np.int32))
        except MatcherError:
            self.counts["broken trees"] += 1

    def batch(self, _: Follower) -> None:
        some = [f for f in self.followers if not ended(f.matcher)]
        if not some:
            return
        matchers = [f.matcher for f in some]
        words = np.zeros((len(some), matchers[0].mask().size), np.int32)
        psc.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, words)
        for row, m in zip(words, matchers, strict=True):
            assert np.array_equal(row, m.mask())
        if any(len(f.history) >= _LONGEST for f in some):
            return
        tokens = [self.rng.choice(self.allowed(m) or [0]) for m in matchers]
        expected = [m.is_allowed(t) for m, t in zip(matchers, tokens, strict=True)]
        assert list(psc.BatchGrammarMatcher.batch_accept_token(matchers, tokens)) == expected
        for f, token, taken in zip(some, tokens, expected, strict=True):
            if taken:
                f.history.append(token)
        back = [self.rng.randint(0, min(2, len(f.history))) for f in some]
        psc.BatchGrammarMatcher.batch_rollback(matchers, back)
        for f, n in zip(some, back, strict=True):
            del f.history[len(f.history) - n :]

    def give_up_cache(self, _: Follower) -> None:
        """Rows and what was built just in time are dropped under the matchers."""
        self.grammar._machine.clear()


def run_case(case: Case) -> None:
    walk = Walk(case)
    case.attach("grammar", walk.place.encode())
    try:
        walk.go(case.rng.choice((50, 200, 600)))
    except Exception as e:
        e.add_note(f"grammar: {walk.place}")
        for f in walk.followers:
            e.add_note(f"history: {f.history}")
        raise
    case.counts["walks"] += 1


if __name__ == "__main__":
    main("api_walk", __doc__.partition("\n")[0], run_case)
