"""The CPU's half of a table of mask rows: which row is in which slot, and what must be written there. The same for every library.

The idea: native code gives each new row a slot (psc._core.MaskSlots) and says what has to be written, in the form in which
the row is stored. A table on a device, or in another process, follows by doing the same writes in the same order: a step's
`MaskUpdate` is all that it needs, four bytes for each sequence and now and then a new row.

Cost: a step is one native call, some 0.15 us a sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psc._core import GrammarMatcher, MaskSlots, check_mask_writes
from psc.errors import BitmaskError
from psc.runtime.compiled import vocabulary_tag
from psc.runtime.mask_arguments import WORD_BITS, check_batch, check_table_size

MAX_SLOTS = 1 << 20
"""Grammars have fewer rows. Without this bound `max_bytes` would make the table of a small vocabulary needlessly large."""


@dataclass(frozen=True, slots=True)
class RowWrites:
    """Rows to write into slots."""

    writes: NDArray[np.int32]
    """Four numbers each: slot, form (0: only these tokens are allowed, 1: only these are not, 2: all bits), begin and count in
    `pool`."""
    pool: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.writes) // 4

    @property
    def nbytes(self) -> int:
        """Bytes to carry."""
        return self.writes.nbytes + self.pool.nbytes

    def then(self, later: RowWrites) -> RowWrites:
        """Both, each slot written once."""
        mine = self.writes.reshape(-1, 4)
        theirs = later.writes.reshape(-1, 4).copy()
        mine = mine[~np.isin(mine[:, 0], theirs[:, 0])]
        theirs[:, 2] += len(self.pool)
        return RowWrites(np.concatenate((mine, theirs)).reshape(-1), np.concatenate((self.pool, later.pool)))


@dataclass(frozen=True, slots=True)
class MaskUpdate:
    """What one step changed: for the tables that follow, on other devices or in other processes. Small, and can be pickled."""

    number: int
    """Of the step; a table takes them one after the other."""
    fingerprint: str
    """Of the vocabulary's text."""
    vocab_size: int
    n_slots: int
    ids: NDArray[np.int32]
    writes: RowWrites | None

    @property
    def nbytes(self) -> int:
        """Bytes to carry."""
        return self.ids.nbytes + (self.writes.nbytes if self.writes else 0)


class VocabularyName(Protocol):
    """What a table has to know of a vocabulary: a `TokenizerInfo`, or, for a table that follows, a `MaskUpdate` of its leader."""

    @property
    def vocab_size(self) -> int:
        """The number of logits."""

    @property
    def fingerprint(self) -> str:
        """Of its text."""


def places_along(matchers: Sequence[GrammarMatcher | None], drafts: Sequence[Sequence[int]]) -> int:
    """How many masks there are along the drafts of matchers: one for each, and one more for each draft."""
    return len(matchers) + sum(map(len, drafts))


class RowSlots:
    """Gives slots to rows where a table leads, and checks what it receives where it follows."""

    def __init__(self, vocabulary: VocabularyName, max_bytes: int, max_batch: int, n_buffers: int) -> None:
        """Raises BitmaskError when ``max_bytes`` does not hold ``max_batch`` rows."""
        self.vocab_size = vocabulary.vocab_size
        self.fingerprint = vocabulary.fingerprint
        self.n_words = -(-self.vocab_size // WORD_BITS)
        self.max_batch = max_batch
        row_bytes = 4 * max(self.n_words, 1)
        self.n_slots = min(max(max_bytes, 0) // row_bytes, MAX_SLOTS)
        check_table_size(self.n_slots, row_bytes, max_bytes, max_batch, n_buffers)
        self.number = 0
        self.follows = False
        """Whether the table does another one's steps."""
        self._n_followed = 0
        self._pending: RowWrites | None = None
        self._slots = MaskSlots(self.n_slots, self.vocab_size, vocabulary_tag(self.fingerprint))

    @property
    def n_used(self) -> int:
        """Slots that have held a row."""
        return self._n_followed if self.follows else self._slots.n_used

    def advance(
        self, matchers: Sequence[GrammarMatcher | None], tokens: Sequence[int] | None, out: NDArray[np.int32]
    ) -> tuple[list[int], RowWrites | None]:
        """One step: accepts tokens, and leaves the slot of each matcher's mask in ``out``.

        Returns the indices of the matchers that refused their token, and what must be written before the slots are used. After an
        exception the writes of this step come with the next step's.

        Raises:
            BitmaskError: a matcher of another vocabulary, too many matchers, or a table that follows another; nothing has happened.
            MatcherError: not as many tokens as matchers; nothing has happened.
            RuntimeError: a matcher exceeded a limit; the others have accepted their tokens.
        """
        return self._lead(len(matchers), self._slots.step, matchers, tokens, out)

    def advance_along(
        self, matchers: Sequence[GrammarMatcher | None], drafts: Sequence[Sequence[int]], out: NDArray[np.int32]
    ) -> tuple[list[int], RowWrites | None]:
        """As `advance`, for the places along each matcher's drafts, which it does not accept: where it is, and after each of them.

        Returns the places in ``out`` whose next draft was refused, and what must be written.
        """
        return self._lead(len(out), self._slots.step_drafts, matchers, drafts, out)

    def _lead(self, n_ids: int, step: Callable[..., list[int]], *arguments: object) -> tuple[list[int], RowWrites | None]:
        if self.follows:
            raise BitmaskError("this table follows another one's updates; step() the leading table")
        check_batch(n_ids, self.max_batch)
        # If `step` raises before it begins, `writes` still holds the previous step's: do not collect them a second time.
        before = self._slots.n_steps
        try:
            refused = step(*arguments)
        except BaseException:
            if self._slots.n_steps != before:
                self._collect()
            raise
        self._collect()
        writes, self._pending = self._pending, None
        self.number += 1
        return refused, writes

    def _collect(self) -> None:
        if self._slots.n_writes:
            new = RowWrites(self._slots.writes, self._slots.pool)
            self._pending = new if self._pending is None else self._pending.then(new)

    def follow(self, update: MaskUpdate) -> None:
        """Another table's step.

        Raises:
            BitmaskError: the table leads, is of another size or vocabulary, or did not get the update before; nothing has happened.
        """
        if not self.follows and self.number:
            raise BitmaskError("this table has made steps of its own: a table leads or follows")
        if (update.fingerprint, update.vocab_size) != (self.fingerprint, self.vocab_size):
            raise BitmaskError("the update is of a table for another vocabulary")
        if update.n_slots != self.n_slots:
            raise BitmaskError(
                f"the update is of a table of {update.n_slots} rows, this one has {self.n_slots}: give both the same max_bytes"
            )
        if update.number != self.number + 1:
            raise BitmaskError(f"update {update.number} after {self.number}: every update must be applied, and in order")
        check_batch(len(update.ids), self.max_batch)
        if len(update.ids) and not -1 <= int(update.ids.min()) <= int(update.ids.max()) < self.n_slots:
            raise BitmaskError("the update has ids that are not in the table")
        if update.writes is not None:
            check_mask_writes(update.writes.writes, update.writes.pool, self.n_slots, self.vocab_size)
        self.follows = True
        self.number = update.number
        if update.writes is not None:
            self._n_followed = max(self._n_followed, int(update.writes.writes[::4].max()) + 1)

    def copy_for_follower(self, vocabulary: VocabularyName, max_bytes: int, n_buffers: int) -> RowSlots:
        """The book of a table that has the same rows now, and will follow."""
        other = RowSlots(vocabulary, max_bytes, self.max_batch, n_buffers)
        other.follows, other.number, other._n_followed = True, self.number, self.n_used
        return other
