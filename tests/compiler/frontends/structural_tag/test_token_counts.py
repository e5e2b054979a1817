"""Free text of so many tokens at most, against reading tokens byte by byte in every way that there is."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

import pytest

import psc
from psc import GrammarError, GrammarMatcher, InvalidStructuralTagError

TOKENS = ["a", "b", "ab", "<", "</", "t>", "<t>", "</t>", "a</", "</t>a", "a</t>b", "/", "<t>a", "<t>a</t>", "b<t>", "é", "<end>"]
END = len(TOKENS) - 1
INFO = psc.TokenizerInfo.from_tokens([t.encode() for t in TOKENS], stop_token_ids=[END])


@dataclass(frozen=True)
class Free:
    """Free text without some texts, of so many characters and tokens at most."""

    excluded: tuple[str, ...]
    most: int | None
    most_tokens: int | None


Piece = str | Free
Place = tuple[int, str, int]
"""The piece, what was read of it, and the tokens that had characters in it."""


class Reading:
    """The oracle: all places that tokens may have led to."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces
        self.places = self._left({(0, "", 0)})

    def _left(self, places: set[Place]) -> set[Place]:
        """With the places behind pieces that may end."""
        todo = list(places)
        for n, read, _ in todo:
            if n == len(self._pieces):
                continue
            piece = self._pieces[n]
            if isinstance(piece, Free) or read == piece:
                behind = (n + 1, "", 0)
                if behind not in places:
                    places.add(behind)
                    todo.append(behind)
        return places

    def after(self, text: str) -> set[Place]:
        """The places after a token."""
        now = {(place, False) for place in self.places}
        for c in text:
            following: set[tuple[Place, bool]] = set()
            for (n, read, tokens), counted in now:
                if n == len(self._pieces):
                    continue
                piece = self._pieces[n]
                if isinstance(piece, str):
                    if piece.startswith(read + c):
                        following.add(((n, read + c, 0), False))
                    continue
                counted_now = tokens + (not counted)
                ends_badly = any((read + c).endswith(x) for x in piece.excluded)
                too_long = piece.most is not None and len(read) == piece.most
                if not ends_badly and not too_long and (piece.most_tokens is None or counted_now <= piece.most_tokens):
                    following.add(((n, read + c, counted_now), True))
            now = set()
            for place, counted in following:
                now.add((place, counted))
                now.update((behind, False) for behind in self._left({place}) - {place})
        return {place for place, _ in now}

    def is_complete(self) -> bool:
        return any(n == len(self._pieces) for n, _, _ in self.places)

    def allowed(self) -> set[int]:
        some = {i for i, text in enumerate(TOKENS) if i != END and self.after(text)}
        return some | ({END} if self.is_complete() else set())


def free(most_tokens: int | None, most: int | None, excludes: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "any_text", "max_tokens": most_tokens, "max_chars": most, "excludes": list(excludes)}


def drawn(rng: random.Random) -> tuple[dict[str, Any], list[Piece]]:
    """A format, and what it is made of."""
    elements: list[dict[str, Any]] = []
    pieces: list[Piece] = []
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < 0.3:
            text = rng.choice(["a", "ab", "<"])
            elements.append({"type": "const_string", "value": text})
            pieces.append(text)
            continue
        most_tokens = rng.choice([0, 1, 1, 2, 3, None])
        most = rng.choice([None, None, 2, 5])
        excludes = rng.choice([(), (), ("b",)])
        elements.append({"type": "tag", "begin": "<t>", "content": free(most_tokens, most, excludes), "end": "</t>"})
        pieces += ["<t>", Free(("</t>", *excludes), most, most_tokens), "</t>"]
    return {"type": "sequence", "elements": elements}, pieces


def compiled(form: dict[str, Any]) -> psc.CompiledGrammar:
    compiler = psc.GrammarCompiler(INFO, store=False)
    return compiler.compile_structural_tag(json.dumps({"type": "structural_tag", "format": form}))


@pytest.mark.parametrize("seed", range(80))
def test_masks_are_those_of_reading_every_way(seed: int) -> None:
    rng = random.Random(seed)
    form, pieces = drawn(rng)
    grammar = compiled(form)
    for _ in range(4):
        matcher, oracle = GrammarMatcher(grammar), Reading(pieces)
        past: list[set[Place]] = []
        for _ in range(14):
            allowed = set(matcher.allowed_tokens().tolist())
            assert allowed == oracle.allowed(), (form, oracle.places)
            going_on = sorted(allowed - {END})
            if past and rng.random() < 0.2:
                n = rng.randrange(1, len(past) + 1)
                matcher.rollback(n)
                oracle.places = past[-n]
                del past[-n:]
            elif going_on:
                token = rng.choice(going_on)
                refused = rng.randrange(END)
                assert matcher.accept_token(refused) == (refused in allowed)
                if refused in allowed:
                    matcher.rollback(1)
                if rng.random() < 0.3:
                    matcher = matcher.fork()
                assert matcher.accept_token(token)
                past.append(oracle.places)
                oracle.places = oracle.after(TOKENS[token])


def test_text_is_not_counted() -> None:
    matcher = GrammarMatcher(compiled({"type": "tag", "begin": "<t>", "content": free(1, None), "end": "</t>"}))
    assert matcher.accept_string("<t>") and matcher.accept_string("abab") and matcher.accept_string("ab")
    assert matcher.accept_token(TOKENS.index("a")) and not matcher.accept_token(TOKENS.index("a"))
    assert matcher.accept_token(TOKENS.index("</t>")) and matcher.is_completed()


def test_ends_that_begin_within_each_other_are_refused() -> None:
    for ends in ("aa", ["ab", "ba"]):
        with pytest.raises(InvalidStructuralTagError, match=r"format\.content\.max_tokens: cannot be counted before the end"):
            compiled({"type": "tag", "begin": "<t>", "content": free(1, None), "end": ends})


def test_what_has_no_tokens_does_not_count() -> None:
    grammar = psc.Grammar.from_structural_tag(
        {"type": "structural_tag", "format": {"type": "tag", "begin": "<t>", "content": free(1, None), "end": "</t>"}}
    )
    with pytest.raises(GrammarError, match="tokens are counted by grammars that GrammarCompiler builds just in time"):
        grammar.to_cfg()


def test_a_tag_that_counts_tokens_is_shown_as_it_was_written() -> None:
    """EBNF has no words for it; to show a grammar is never an error."""
    tag = {"type": "structural_tag", "format": {"type": "any_text", "max_tokens": 3, "excludes": ["END"]}}
    grammar = psc.Grammar.from_structural_tag(tag)
    assert json.loads(str(grammar)) == tag
    assert str(psc.Grammar.deserialize_json(grammar.serialize_json())) == str(grammar)
