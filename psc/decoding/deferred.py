"""A grammar that begins after a trigger: free before, as a model is while it thinks, constrained after.

The idea: a `DeferredMatcher` is a matcher that is not there yet. Before its trigger it constrains nothing, and its `matcher` is
None, which a table of masks and the adapters take for "leave these logits alone". The token that completes the trigger brings the
matcher.

The token in which the trigger ends may go on (`>{` completes `</think>`). The model was free when it chose that token, so it is not
refused. The rest of the token after the trigger belongs to the constrained text, from the first byte from which the grammar takes
all of it. The bytes before, at worst the whole rest, are dropped and recorded in `dropped`. So after `</think>` the rest `{` is the
beginning of the JSON, and of the rest `\n\n{`, for a grammar that takes no blank line there, `\n\n` is dropped.

A stop token before the trigger ends the text: free means that the model may stop, too.

Cost: before the trigger a token's bytes in Python, some microseconds; after it one check more than the matcher's own calls. A fork
is O(1), going back n tokens O(n).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psc.decoding.trigger import Completed, Pattern, State, Trigger
from psc.errors import MatcherError
from psc.runtime.compiled import GrammarMatcher
from psc.support.cached_property import cached_property

if TYPE_CHECKING:
    from psc.runtime.compiled import LoadedGrammar


@dataclass(frozen=True, eq=False)
class DeferredGrammar:
    """A compiled grammar and the trigger after which it begins; makes a matcher for each text.

    Args:
        compiled: the grammar.
        triggers: a text, a token id, a sequence of token ids, or several, as `Trigger` takes them.

    Raises MatcherError, when the first matcher is made, for a trigger that cannot be.
    """

    compiled: LoadedGrammar
    triggers: Pattern | Iterable[Pattern]

    @cached_property
    def trigger(self) -> Trigger:
        """The trigger in the grammar's vocabulary."""
        return Trigger(self.triggers, self.compiled.tokenizer_info)

    def matcher(self, **options: Any) -> DeferredMatcher:
        """A matcher at the beginning of the free text; `options` are `GrammarMatcher`'s."""
        return DeferredMatcher(GrammarMatcher(self.compiled, **options), self.trigger)


class _Free:
    """A token of the free text, linked to the one before: forks share their common past."""

    __slots__ = ("before", "n", "state", "stopped")

    def __init__(self, before: _Free | None, n: int, state: State, stopped: bool) -> None:
        self.before = before
        self.n = n
        self.state = state
        self.stopped = stopped


class DeferredMatcher:
    """Follows one generated text that is free until the trigger appears, with the calls of a `GrammarMatcher`.

    Args:
        matcher: at the beginning of its text; it is this object's from now on.
        trigger: ends the free text.

    Raises MatcherError when the matcher has accepted something already.
    """

    def __init__(self, matcher: GrammarMatcher, trigger: Trigger) -> None:
        if matcher.n_steps:
            raise MatcherError(
                f"the matcher of a deferred grammar has accepted {matcher.n_steps} tokens already; give it a new one"
            )
        self._matcher = matcher
        self._trigger = trigger
        self._stop = frozenset(matcher.stop_token_ids)
        self._free = _Free(None, 0, trigger.start, False)
        self._active = False
        self._n_carried = 0
        self.dropped = b""

    @property
    def active(self) -> bool:
        """The trigger has appeared."""
        return self._active

    @property
    def matcher(self) -> GrammarMatcher | None:
        """The matcher of the next token: None while the text is free."""
        return self._matcher if self._active else None

    @property
    def compiled(self) -> Any:
        """The compiled grammar."""
        return self._matcher.compiled

    @property
    def stop_token_ids(self) -> list[int]:
        """Tokens that end the text, free or constrained."""
        return self._matcher.stop_token_ids

    @property
    def n_steps(self) -> int:
        """Accepted tokens, free ones among them."""
        return self._free.n + (self._matcher.n_steps - self._n_carried if self._active else 0)

    def accept_token(self, token_id: int) -> bool:
        """Takes a token: always True before the trigger, unless a stop token came before or there is no such token."""
        if self._active:
            return self._matcher.accept_token(token_id)
        return self.accept_free(token_id)

    def accept_free(self, token_id: int) -> bool:
        """Takes a token of the free text. Raises MatcherError after the trigger."""
        if self._active:
            raise MatcherError("the trigger has appeared: tokens are the matcher's now")
        if self._free.stopped or not 0 <= token_id < self._trigger.tokenizer_info.vocab_size:
            return False
        state = self._trigger.step(self._free.state, token_id)
        if isinstance(state, Completed):
            self._begin(state.rest)
            self._free = _Free(self._free, self._free.n + 1, self._trigger.start, False)
        else:
            self._free = _Free(self._free, self._free.n + 1, state, token_id in self._stop)
        return True

    def _begin(self, rest: bytes) -> None:
        self._active = True
        for begin in range(len(rest)):
            if self._matcher.accept_string(rest[begin:]):
                self._n_carried = 1
                self.dropped = rest[:begin]
                return
        self._n_carried = 0
        self.dropped = rest

    def rollback(self, num_tokens: int = 1) -> None:
        """Takes back the last tokens, of the constrained and then of the free text.

        Raises MatcherError when fewer were accepted, and then nothing changes.
        """
        if not 0 <= num_tokens <= self.n_steps:
            raise MatcherError(f"rollback({num_tokens}): {self.n_steps} tokens were accepted")
        constrained = self.n_steps - self._free.n
        if num_tokens <= constrained:
            self._matcher.rollback(num_tokens)
            return
        self._matcher.rollback(self._matcher.n_steps)
        free = self._free
        for _ in range(num_tokens - constrained):
            assert free.before is not None
            free = free.before
        self._free = free
        # The last free token is the one with the trigger, so that going back over any goes back before the trigger.
        self._active, self._n_carried, self.dropped = False, 0, b""

    def fork(self) -> DeferredMatcher:
        """A second matcher in the same state, with the same past. Cost: O(1)."""
        other = DeferredMatcher.__new__(DeferredMatcher)
        other.__dict__.update(self.__dict__)
        other._matcher = self._matcher.fork()
        return other

    def reset(self) -> None:
        """Back to the empty, free text."""
        self.rollback(self.n_steps)

    def is_terminated(self) -> bool:
        """A stop token was accepted, in the free text or in the constrained."""
        return self._matcher.is_terminated() if self._active else self._free.stopped

    def is_completed(self) -> bool:
        """The trigger has appeared, and the text after it is a whole sentence."""
        return self._active and self._matcher.is_completed()

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> bool:
        """As `GrammarMatcher.fill_next_token_bitmask`; all ones, and False, while the text is free.

        Raises BitmaskError and MatcherError as that does; MatcherError, too, after a stop token in the free text.
        """
        if self._active:
            return self._matcher.fill_next_token_bitmask(bitmask, index)
        if self._free.stopped:
            raise MatcherError("the text has ended: a stop token was accepted before the trigger")
        (bitmask if bitmask.ndim == 1 else bitmask[index])[...] = -1
        return False

    def __repr__(self) -> str:
        return f"DeferredMatcher({self._trigger}, {'active' if self._active else 'free'}, n_steps={self.n_steps})"


AnyMatcher = GrammarMatcher | DeferredMatcher


def accept_free_tokens(
    matchers: Sequence[AnyMatcher | None], tokens: Sequence[int] | None
) -> tuple[list[GrammarMatcher | None], list[int] | None, list[int]]:
    """The work left for a table of masks in a step: tokens of free texts are taken here.

    Args:
        matchers: one for each sequence; None for one without a grammar.
        tokens: one for each, -1 for none; or None, for none at all.

    Returns the matchers that constrain the next tokens, None where nothing does; the tokens that those have still to accept, -1
    for none; and which matchers have refused their token already.
    """
    native: list[GrammarMatcher | None] = []
    left = None if tokens is None else list(tokens)
    refused: list[int] = []
    for i, matcher in enumerate(matchers):
        if not isinstance(matcher, DeferredMatcher):
            native.append(matcher)
            continue
        if not matcher.active and left is not None and left[i] != -1:
            if not matcher.accept_free(left[i]):
                refused.append(i)
            left[i] = -1
        native.append(matcher.matcher)
    return native, left, refused
