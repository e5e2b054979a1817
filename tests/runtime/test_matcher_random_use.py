"""Random use of several matchers of one grammar, against a fresh matcher that replays the history."""

import random
import sys
from typing import Any

import numpy as np
import pytest
import strategies
from bounded import bounded
from few_tokens import LANGUAGES, allowed, bits, check_tree, compiled_from, random_tree
from hypothesis import assume, given
from hypothesis import strategies as st
from vocabularies import tokenizer

import psc


class Model:
    """A matcher and what was read by it: a list of steps, each a token or a text."""

    def __init__(
        self, compiled: psc.CompiledGrammar, matcher: psc.GrammarMatcher, steps: list[int | bytes], **options: Any
    ) -> None:
        self.compiled, self.matcher, self.steps, self.options = compiled, matcher, steps, options

    def fresh(self) -> psc.GrammarMatcher:
        matcher = psc.GrammarMatcher(self.compiled, **self.options)
        for step in self.steps:
            assert matcher.accept_string(step) if isinstance(step, bytes) else matcher.accept_token(step)
        return matcher

    def check(self) -> None:
        mine, fresh = self.matcher, self.fresh()
        assert mine.n_steps == len(self.steps)
        assert mine.is_terminated() == fresh.is_terminated()
        assert mine.is_completed() == fresh.is_completed()
        assert mine.expected_terminals() == fresh.expected_terminals()
        ended = bool(self.steps) and self.steps[-1] in mine.stop_token_ids
        if not ended:
            assert allowed(mine) == allowed(fresh)
            row = np.zeros((1, mine.mask().shape[0]), np.int32)
            assert mine.fill_next_token_bitmask(row) == (len(allowed(mine)) < self.compiled.vocab_size)
            assert bits(row) == allowed(mine)


@pytest.mark.parametrize("language", LANGUAGES)
@given(
    data=st.data(),
    tokens=strategies.vocabularies(max_size=12),
    seed=st.integers(0, 2**32),
    limit=st.sampled_from([-1, -1, 1, 20_000]),
    options=st.sampled_from([{}, {}, {"override_stop_tokens": [0]}, {"terminate_without_stop_token": True}]),
)
@bounded
def test_random_use(
    language: str, data: st.DataObject, tokens: list[bytes], seed: int, limit: int, options: dict[str, Any]
) -> None:
    """Whatever is done to several matchers of one grammar, each is where replaying its steps leads; also when what they share is
    given up all the time."""
    compiled = compiled_from(language, data, tokenizer(tokens), cache_limit_bytes=limit)
    try:
        use(compiled, tokens, random.Random(seed), options)
    except psc.ResourceLimitError:  # a terminal that falls back in too many ways
        assume(False)


def use(compiled: psc.CompiledGrammar, tokens: list[bytes], rng: random.Random, options: dict[str, Any]) -> None:
    models = [Model(compiled, psc.GrammarMatcher(compiled, **options), [], **options)]
    for _ in range(40):
        model = rng.choice(models)
        matcher, steps = model.matcher, model.steps
        ended = bool(steps) and steps[-1] in matcher.stop_token_ids
        action = rng.choice(["token", "token", "token", "refused", "string", "rollback", "fork", "reset", "jump", "drop", "tree"])
        if action == "token" and not ended:
            choices = allowed(matcher)
            if choices:
                steps.append(rng.choice(choices))
                assert matcher.accept_token(steps[-1])
        elif action == "refused":
            token = rng.randrange(-1, len(tokens) + 2)
            if ended or token not in allowed(matcher):
                assert not matcher.accept_token(token)
        elif action == "string":
            text = b"".join(rng.choices(tokens, k=rng.randrange(3)))
            if matcher.accept_string(text):
                steps.append(text)
        elif action == "rollback":
            back = rng.randrange(len(steps) + 1)
            matcher.rollback(back)
            del steps[len(steps) - back :]
            with pytest.raises(psc.MatcherError):
                matcher.rollback(len(steps) + 1)
        elif action == "fork":
            models.append(Model(compiled, matcher.fork(), steps[:], **options))
        elif action == "reset" and rng.random() < 0.3:
            matcher.reset()
            steps.clear()
        elif action == "jump" and not ended:
            jump = matcher.find_jump_forward_string()
            if jump:
                assert matcher.accept_string(jump)
                steps.append(jump.encode())
        elif action == "drop" and len(models) > 1:
            models.remove(model)
            continue
        elif action == "tree":
            check_tree(matcher, random_tree(rng, len(tokens) + 1), len(tokens) + 1)
        model.check()
    for model in models:
        model.check()


if sys.platform == "linux":

    def resident_bytes() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
