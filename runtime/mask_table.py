"""What a table of mask rows is, whatever library its arrays are of: `numpy_masks`, `cupy_masks` and `jax_masks` each have one.

The idea: the rows' slots are the same for every library (`RowSlots`), and so is a step: it takes memory for the ids of a batch,
has their rows found there, and sends ids and new rows to where the logits are. Taking and sending are a library's own.

Loops that decode (`psc.decoding`, adapters) take any of them. One test runs over all three (tests/runtime/test_mask_table.py).

Cost: a step is one native call, some 0.15 us a sequence, and what sending costs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from numpy import int32
from numpy.typing import NDArray

from psc._core import GrammarMatcher
from psc.runtime.mask_arguments import check_batch
from psc.runtime.row_slots import MaskUpdate, RowSlots, RowWrites, places_along


class MaskStep:
    """What a step of a batch left: where the mask of each sequence is in the table."""

    __slots__ = ("_host_ids", "_slots", "_writes", "ids", "number", "refused")

    ids: Any
    """int32 of shape (n,), where the logits are: the row of the table for each sequence; -1 to leave its logits alone. Overwritten
    ``n_buffers`` steps later, where the library's arrays can be written."""
    refused: Sequence[int]
    """The sequences, by index, whose token the grammar does not allow (one that has terminated takes none). They, and their masks,
    are as they were."""
    number: int
    """How many steps the table has made, this one among them."""

    def __init__(
        self, ids: Any, refused: Sequence[int], slots: RowSlots, host_ids: NDArray[int32], writes: RowWrites | None
    ) -> None:
        self.ids = ids
        self.refused = refused
        self.number = slots.number
        self._slots = slots
        self._host_ids = host_ids
        self._writes = writes

    def wait(self, stream: Any = None) -> None:
        """Makes a stream of the device wait until the ids are there. Nothing where the library has no streams."""

    def update(self) -> MaskUpdate:
        """This step for tables that follow this one, on other devices or in other processes; to be taken before ``ids`` is
        overwritten.
        """
        slots = self._slots
        return MaskUpdate(self.number, slots.fingerprint, slots.vocab_size, slots.n_slots, self._host_ids.copy(), self._writes)


_Step_co = TypeVar("_Step_co", bound=MaskStep, covariant=True)


class MaskTable(ABC, Generic[_Step_co]):
    """The mask rows in use, of all grammars of a vocabulary. Not for several threads at once."""

    rows: Any
    """int32 of shape (n_slots, n_words): the mask row with id i is ``rows[i]``. To be taken anew after each step."""
    _slots: RowSlots

    @property
    def n_slots(self) -> int:
        """Rows that the table has room for."""
        return self._slots.n_slots

    @property
    def n_used(self) -> int:
        """Rows that it holds."""
        return self._slots.n_used

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return 4 * self._slots.n_words * self._slots.n_slots

    def step(
        self,
        matchers: Sequence[GrammarMatcher | None],
        tokens: Sequence[int] | None = None,
        *,
        stream: Any = None,
        into: Any = None,
    ) -> _Step_co:
        """Accepts a token for each sequence, and finds the rows of their masks.

        Args:
            matchers: one for each sequence; None for one that is not constrained.
            tokens: as many; -1 for none. By default no tokens: the masks of where the matchers are.
            stream: of the device, in whose order rows and ids are written, where the library has streams.
            into: an int32 array for the ids instead of one of the table's, where the library's arrays can be written; what it has
                beyond the batch becomes -1.

        Raises:
            BitmaskError: a matcher of another vocabulary, more than ``max_batch``, or ``into`` cannot be written; nothing has
                happened.
            MatcherError: not as many tokens as matchers; nothing has happened.
            RuntimeError: a matcher exceeded a limit. The others have accepted their tokens; a step without tokens gives their ids.
        """
        n = len(matchers)
        check_batch(n, self._slots.max_batch)
        ids, target = self._begin(n, stream, into)
        refused, writes = self._slots.advance(matchers, tokens, ids[:n])
        return self._finish(n, ids, refused, writes, target)

    def step_along(
        self,
        matchers: Sequence[GrammarMatcher | None],
        drafts: Sequence[Sequence[int]],
        *,
        stream: Any = None,
        into: Any = None,
    ) -> _Step_co:
        """Finds the rows of the masks along draft tokens (speculative decoding). The matchers are as before afterwards.

        The ids of each matcher follow those of the one before it: where it is, and after each of its drafts. After a draft that is
        refused the id before it is repeated; once the text has ended, and for None, they are -1. ``refused`` of the step lists the
        indices of ``ids`` whose next draft was refused.

        Args:
            matchers: one for each sequence; None for one that is not constrained.
            drafts: as many lists of tokens.
            stream: as of `step`.
            into: as of `step`.

        Raises:
            MatcherError: not as many lists as matchers; nothing has happened.
            Exception: as `step`.

        Cost: 0.3 us a draft.
        """
        n = places_along(matchers, drafts)
        check_batch(n, self._slots.max_batch)
        ids, target = self._begin(n, stream, into)
        refused, writes = self._slots.advance_along(matchers, drafts, ids[:n])
        return self._finish(n, ids, refused, writes, target)

    def apply_update(self, update: MaskUpdate, *, stream: Any = None, into: Any = None) -> _Step_co:
        """Does another table's step here, which makes this table follow that one.

        Raises BitmaskError, before anything is changed, when the update is of another vocabulary or size of table, or not the next.
        """
        n = len(update.ids)
        check_batch(n, self._slots.max_batch)
        ids, target = self._begin(n, stream, into)
        self._slots.follow(update)
        ids[:n] = update.ids
        return self._finish(n, ids, [], update.writes, target)

    @abstractmethod
    def _begin(self, n: int, stream: Any, into: Any) -> tuple[NDArray[int32], Any]:
        """Memory on the CPU for ``n`` ids or more, and what `_finish` needs to send them. Raises BitmaskError for ``into``."""

    @abstractmethod
    def _finish(self, n: int, ids: NDArray[int32], refused: list[int], writes: RowWrites | None, target: Any) -> _Step_co:
        """Writes the new rows, and sends ``ids[:n]`` to ``target``, which `_begin` returned."""


class MaskLibrary(Protocol):
    """A module of this package whose arrays are changed in place: `numpy_masks` or `cupy_masks`. (JAX's arrays never change.)"""

    @property
    def MaskTable(self) -> Callable[..., MaskTable[MaskStep]]:
        """Makes a table: of a `TokenizerInfo`, and `max_batch=`, `device=`."""

    @property
    def apply_rows(self) -> Callable[..., None]:
        """Masks logits in place by rows of a table."""


if TYPE_CHECKING:  # the type checker sees that they are
    from psc.runtime import cupy_masks, numpy_masks

    _LIBRARIES: tuple[MaskLibrary, ...] = (numpy_masks, cupy_masks)
