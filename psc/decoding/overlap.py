"""Masks made while the model runs: the step that follows a token overlaps with the forward pass of that token.

The idea (XGrammar, section 3.5): the tokens of a step are sampled before the forward pass that they enter, and that pass needs no
mask. So `advance` hands them to a thread. The thread lets each matcher take its token, makes the next masks and sends their ids to
the device of the logits. Meanwhile the caller runs the forward pass, and calls `ready` where sampling starts.

    masks.advance(tokens)      # returns at once
    logits = model(tokens)     # meanwhile
    step = masks.ready()       # waits, seldom for long
    apply_rows(logits, table.rows, step.ids)

Native code runs without the interpreter's lock, so the thread does not hold up the caller's.

Between `advance` and `ready` the matchers belong to the thread. The façade gives none out then, and `ready` detects the use of
a matcher given out before; but two threads in one matcher are undefined behaviour, and detection is no protection.

Cost: some 20 us a step to hand over, on the caller's thread, whatever the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

from psc.decoding.deferred import AnyMatcher, accept_free_tokens
from psc.errors import MatcherError
from psc.runtime.mask_table import MaskStep, MaskTable


class PreparedStep:
    """A step's masks: the ids of their rows, and which sequences have refused their token."""

    __slots__ = ("ids", "refused", "step")

    def __init__(self, step: MaskStep, refused: list[int]) -> None:
        self.step = step
        self.ids = step.ids
        self.refused = refused


class OverlappedMasks:
    """Advances matchers and prepares the next step's masks in a thread of its own.

    Sequences may join and leave between steps: a slot in the batch holds a `GrammarMatcher`, a `DeferredMatcher`, or None for a
    sequence without a grammar.

    Args:
        table: the table of masks, used by this façade only.
        matchers: one for each slot.

    A step that failed leaves those matchers advanced that could be; `ready` raises the error, and the façade can be used on.
    """

    def __init__(self, table: MaskTable[MaskStep], matchers: Iterable[AnyMatcher | None] = ()) -> None:
        self._table = table
        self._matchers: list[AnyMatcher | None] = []
        for matcher in matchers:
            self._check_new(matcher)
            self._matchers.append(matcher)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="psc-masks")
        self._running: Future[tuple[PreparedStep, list[int]]] | None = None
        self._closed = False

    @property
    def matchers(self) -> tuple[AnyMatcher | None, ...]:
        """The matchers, by slot. Raises MatcherError while a step is under way: they are the thread's then."""
        self._check_idle("the matchers")
        return tuple(self._matchers)

    def __len__(self) -> int:
        return len(self._matchers)

    def advance(self, tokens: Sequence[int] | None = None, *, stream: Any = None, into: Any = None) -> None:
        """Begins the next step: matchers take their tokens, and the thread makes the masks after them. Returns at once.

        Args:
            tokens: the token of each slot; -1 for none, as for a sequence that has just joined or has ended. None for no tokens at
                all: the masks where the matchers stand. They are copied, so the caller may reuse the list or array.
            stream: in whose order the ids are sent to the device, as the table takes it. It must come after what used the ids of
                the step before: the one on which logits are masked does.
            into: where the ids go, as the table takes it.

        Raises:
            MatcherError: there are not as many tokens as slots, the step before was not collected by `ready`, or `close` was
                called.
        """
        self._check_idle("advance()")
        if tokens is not None:
            listed = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
            if len(listed) != len(self._matchers):
                raise MatcherError(f"{len(listed)} tokens for a batch of {len(self._matchers)}; give -1 where there is none")
        else:
            listed = None
        self._running = self._thread.submit(self._step, tuple(self._matchers), listed, stream, into)

    def ready(self, *, stream: Any = None) -> PreparedStep:
        """Waits for the step that `advance` began; call it where sampling starts.

        Args:
            stream: of the device, which will use the ids; it waits until they have arrived. By default the current one.

        Raises MatcherError when there is none, or when a matcher was used between; and whatever the step raised.
        """
        if self._running is None:
            raise MatcherError("ready() without advance(): no step is under way")
        running, self._running = self._running, None
        step, n_steps = running.result()
        for slot, (matcher, n) in enumerate(zip(self._matchers, n_steps, strict=True)):
            if matcher is not None and matcher.n_steps != n:
                raise MatcherError(
                    f"matcher {slot} was used between advance() and ready(), when it belonged to the thread that makes the masks; "
                    "change matchers after ready() and before the next advance()"
                )
        step.step.wait(stream)
        return step

    @property
    def is_ready(self) -> bool:
        """A step is under way and done: `ready` would not wait."""
        return self._running is not None and self._running.done()

    def replace(self, slot: int, matcher: AnyMatcher | None) -> AnyMatcher | None:
        """Gives a slot to another sequence, and returns the matcher that was there.

        Raises MatcherError while a step is under way, or when there is no such slot.
        """
        self._check_idle("replace()")
        self._check_slot(slot)
        before = self._matchers[slot]
        if matcher is not before:
            self._check_new(matcher)
            self._matchers[slot] = matcher
        return before

    def add(self, matcher: AnyMatcher | None) -> int:
        """A new last slot; its number. Raises MatcherError while a step is under way."""
        self._check_idle("add()")
        self._check_new(matcher)
        self._matchers.append(matcher)
        return len(self._matchers) - 1

    def remove(self, slot: int) -> AnyMatcher | None:
        """Takes a slot away; those after it move up. Raises MatcherError while a step is under way, or for no such slot."""
        self._check_idle("remove()")
        self._check_slot(slot)
        return self._matchers.pop(slot)

    def close(self) -> None:
        """Waits for a step that is under way, forgets it, and ends the thread."""
        self._closed = True
        self._running = None
        self._thread.shutdown(wait=True)

    def __enter__(self) -> OverlappedMasks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _step(
        self, matchers: tuple[AnyMatcher | None, ...], tokens: list[int] | None, stream: Any, into: Any
    ) -> tuple[PreparedStep, list[int]]:
        native, left, refused = accept_free_tokens(matchers, tokens)
        step = self._table.step(native, left, stream=stream, into=into)
        prepared = PreparedStep(step, sorted({*refused, *step.refused}))
        return prepared, [0 if m is None else m.n_steps for m in matchers]

    def _check_idle(self, what: str) -> None:
        if self._closed:
            raise MatcherError(f"{what}: the façade is closed")
        if self._running is not None:
            raise MatcherError(f"{what}: a step is under way and its matchers are the thread's; call ready() first")

    def _check_slot(self, slot: int) -> None:
        if not 0 <= slot < len(self._matchers):
            raise MatcherError(f"there is no slot {slot} in a batch of {len(self._matchers)}")

    def _check_new(self, matcher: AnyMatcher | None) -> None:
        if matcher is not None and not isinstance(matcher, AnyMatcher):
            raise MatcherError(f"a matcher or None was expected, not {type(matcher).__name__}")
        if matcher is not None and any(matcher is other for other in self._matchers):
            raise MatcherError("one matcher cannot follow two sequences; fork() it")
