"""Sentences that a person likes to read: short, and of everyday words.

`Sampler` draws whatever a mask allows, so its names are pieces of words in many scripts and its comments hardly end. Here a small
model weighs the same tokens, and every token that is allowed can still be drawn. `TokenLook` says how a token looks after the text.
Lexer and parser add:

* A word weighs little where it only begins a name, and a keyword where a name stands.
* Comments are rare, and text within a lexeme becomes less likely with each token.
* The nearer the text is to its usual length, the more a token weighs that brings the end nearer (`Completer.estimate`).

Tokens are in groups, so that a keyword, a sign and everyday words together are about as likely. One token of each group is drawn,
and a matcher reads a dozen of these.

Cost: about 10 ms a token drawn; half a second to read the vocabulary.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np

from psc.ids import LexSymbol
from psc.inspection.configurations import Configuration, configurations, stacks_after
from psc.inspection.sampling import Sampler, drawn
from psc.inspection.token_look import TokenLook, words_of
from psc.runtime.compiled import GrammarMatcher, LoadedGrammar

_USUAL_LENGTH = 24
"""About how many tokens a sentence has."""
_CANDIDATES = 12
_IGNORED = LexSymbol(-1)
_Place = tuple[tuple[Configuration, ...], float]


class ReadableSampler(Sampler):
    """Draws sentences of one compiled grammar that are short and of everyday words.

    Args:
        compiled: the grammar; its vocabulary must be available.
    """

    def __init__(self, compiled: LoadedGrammar) -> None:
        super().__init__(compiled)
        self._look = TokenLook(compiled.tokenizer_info, words_of(compiled.metadata))
        terminals = compiled.metadata["grammar"]["terminals"] if not compiled.is_linked else ()
        self._keywords = {LexSymbol(t) for t, terminal in enumerate(terminals) if terminal["text"] is not None}

    def _draw(self, matcher: GrammarMatcher, tokens: Sequence[int], rng: random.Random) -> int | None:
        allowed = matcher.allowed_tokens().astype(np.int64)
        if not len(allowed):
            return None
        look = self._look
        text = b"".join(self.compiled.tokenizer_info.token_texts[t] for t in tokens)
        weights = look.weights(allowed, text)
        weights[allowed == (tokens[-1] if tokens else -1)] *= 0.1
        weights[look.is_stop[allowed]] = 5 * (len(tokens) / _USUAL_LENGTH) ** 2 + 1e-6
        # One token of each group, then the groups: the largest of logarithms with Gumbel noise is a draw by weight.
        noise = np.random.RandomState(rng.getrandbits(32))  # whose numbers are the same in every release of NumPy
        leaders = look.largest_of_groups(allowed, np.log(weights) + noise.gumbel(size=len(allowed)))
        keys = np.log(weights[leaders]) + noise.gumbel(size=len(leaders))
        candidates = leaders[np.argsort(-keys)[:_CANDIDATES]]
        before = self._place(matcher)
        changes = np.array([self._change(matcher, before, int(token), tokens) for token in allowed[candidates]])
        return int(allowed[candidates[drawn(weights[candidates] * changes, rng)]])

    def _place(self, matcher: GrammarMatcher) -> _Place:
        """Where lexer and parser are, and about how many bytes are missing; nothing is known of grammars linked of parts."""
        return ((), 0.0) if self.compiled.is_linked else (configurations(matcher), self._completer.estimate(matcher))

    def _change(self, matcher: GrammarMatcher, before: _Place, token: int, tokens: Sequence[int]) -> float:
        """How much more or less a token weighs because of where lexer and parser are after it: positive."""
        look = self._look
        if look.is_stop[token] or not matcher.accept_token(token):
            return 1.0
        (places, missing), (places_after, missing_after) = before, self._place(matcher)
        is_name_only = 1.0
        if places_after and (look.is_word[token] or look.is_number[token]):
            ends = self._ends(matcher, places_after)
            # A word that only begins a name, or a keyword in the place of a name.
            is_name_only = 1e-4 if not ends else 0.02 if look.is_keyword[token] and not ends & self._keywords else 1.0
        matcher.rollback(1)
        pressure = max(0.0, 3 * len(tokens) / _USUAL_LENGTH - 1)
        if not places_after:  # what a person would guess: brackets and strings that are open are missing
            missing, missing_after = 0.0, -2.0 * look.closes[token] + 0.5 * self._tokens_inside(tokens) * look.is_word[token]
        change = math.exp(-min(100.0, max(-20.0, pressure * (missing_after - missing)))) if missing_after < math.inf else 1e-50
        if look.is_blank[token]:
            # The parser reads some blanks, such as the end of a line: a text needs these.
            return change * (30.0 if {c.stack for c in places_after} != {c.stack for c in places} else 1.0)
        if set(places_after) == set(places):  # the lexeme goes on: a string, a comment, a name
            good = 1.0 if look.is_word[token] and not look.is_keyword[token] else 0.02
            return change * good * 0.5 ** self._tokens_inside(tokens)
        if places_after and all(not self._completer.lexemes.becomes(c.lexer_state) and c.lexer_state > 0 for c in places_after):
            change *= 0.02  # a comment begins
        return change * is_name_only

    def _ends(self, matcher: GrammarMatcher, places: tuple[Configuration, ...]) -> set[LexSymbol]:
        """The symbols that the lexeme may end as here, where the parser takes them; none if it must go on."""
        return {
            symbol
            for i, place in enumerate(places)
            for symbols in self._completer.lexemes.ends(place.lexer_state)
            if stacks_after(matcher, i, symbols)
            for symbol in symbols or (_IGNORED,)
        }

    def _tokens_inside(self, tokens: Sequence[int]) -> int:
        """How many words have been written since the last sign."""
        n = 0
        for token in reversed(tokens):
            if not self._look.is_word[token]:
                break
            n += 1
        return n
