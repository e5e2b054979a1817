"""Random formats with many triggers: what one automaton for all triggers allows against an automaton for each of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import psc
from psc.compiler.frontends.structural_tag import free_texts

_PIECES = ["<t", "<a", "ab", "ba", "<t1", "</", ">", "1>", "<<", "b<", "aab", "12", "x", "/x>"]
_SPECIAL = ["<t1>", "a<", "<ab>", "<b>", "b>"]
_INFO = psc.TokenizerInfo.from_tokens(
    [*(bytes([b]) for b in range(128)), *[p.encode() for p in _PIECES], *[s.encode() for s in _SPECIAL], b"</s>"],
    special_token_ids=range(128 + len(_PIECES), 128 + len(_PIECES) + len(_SPECIAL)),
    stop_token_ids=[128 + len(_PIECES) + len(_SPECIAL)],
)


@contextmanager
def one_automaton(is_one: bool = True) -> Iterator[None]:
    """All triggers of a format become one automaton, however few they are; or each becomes its own, however many."""
    with patch.object(free_texts, "MAX_COPIED_STATES", 0 if is_one else 10**9):
        yield


def _compiled(form: dict[str, Any], is_one: bool) -> psc.CompiledGrammar:
    with one_automaton(is_one):
        compiler = psc.GrammarCompiler(_INFO, store=False, registry=False)
        return compiler.compile_structural_tag({"type": "structural_tag", "format": form})


def format_with_triggers(rng: random.Random) -> dict[str, Any]:
    """A format with up to 30 triggers; some overlap, some have special tokens in them."""
    letters = rng.choice(["ab", "<ab", "<t1>", "a<"])
    prefix = rng.choice(["", "", "<", "<t"])
    drawn = {prefix + "".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 30))}
    triggers = [t for t in sorted(drawn) if not any(t != other and t.startswith(other) for other in drawn)]
    ends = ["!", "</x>", "a", "<t", "ab"]

    def tag(trigger: str) -> dict[str, Any]:
        content = rng.choice(
            [{"type": "const_string", "value": "1"}, {"type": "any_text"}, {"type": "regex", "pattern": "[ab]{1,2}"}]
        )
        over_its_end = [name[k:] for name in _SPECIAL for k in range(1, len(name)) if trigger.endswith(name[:k])]
        begin = trigger + rng.choice(["", "", ">", "b", *over_its_end])
        return {"type": "tag", "begin": begin, "content": content, "end": rng.choice(ends)}

    flags = {key: True for key in ("at_least_one", "stop_after_first") if rng.random() < 0.2}
    excludes = rng.sample(["ab", "<", "t1", "ba<", "1>"], rng.choice([0, 0, 1, 2]))
    form: dict[str, Any]
    if rng.random() < 0.3:
        rules = [[t, {"type": "const_string", "value": rng.choice("12")}] for t in triggers]
        form = {"type": "dispatch", "rules": rules, "loop": rng.random() < 0.7, "excludes": excludes}
    else:
        tags = [tag(t) for t in triggers if rng.random() < 0.8] or [tag(triggers[0])]
        form = {"type": "triggered_tags", "triggers": triggers, "tags": tags, "excludes": excludes, **flags}
    around = rng.random()
    if around < 0.3:
        return {"type": "tag", "begin": "<q>", "content": form, "end": rng.choice([ends[1], "<", "ba", ["!", "</"]])}
    return {"type": "sequence", "elements": [form, {"type": "const_string", "value": "."}]} if around < 0.4 else form


def _allowed(matcher: psc.GrammarMatcher) -> frozenset[int]:
    if matcher.is_terminated():
        return frozenset()
    return frozenset([t for t in range(_INFO.vocab_size) if matcher.is_allowed(t)])


def check_builds_agree(rng: random.Random, form: dict[str, Any]) -> bool:
    """Compares the masks of both builds along random texts.

    Returns:
        Whether there was something to compare: False where both builds refuse the format.
    """
    try:
        one = _compiled(form, True)
    except psc.PscError as e:
        try:
            _compiled(form, False)
        except type(e):
            return False
        raise AssertionError(form) from e
    each = _compiled(form, False)
    for _ in range(5):
        matchers = psc.GrammarMatcher(one), psc.GrammarMatcher(each)
        for _ in range(12):
            allowed = _allowed(matchers[0])
            assert allowed == _allowed(matchers[1]), form
            text = [t for t in allowed if chr(t) in "<abt1>!/x" or 128 <= t < _INFO.vocab_size - 1] if allowed else []
            if not text:
                break
            token = rng.choice(sorted(text))
            assert all(m.accept_token(token) for m in matchers)
    return True
