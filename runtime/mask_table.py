"""What a table of mask rows is, whatever library its arrays are of: `numpy_masks`, `cupy_masks` and `jax_masks` each have one.

Loops that decode (`psc.decoding`, adapters) take any of them by these two protocols. One test runs over all three
(tests/runtime/test_mask_table.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from psc._core import GrammarMatcher
from psc.runtime.row_slots import MaskUpdate


class MaskStep(Protocol):
    """What a step of a batch left: where the mask of each sequence is in the table."""

    @property
    def ids(self) -> Any:
        """int32 of shape (n,), where the logits are: the row of the table for each sequence; -1 to leave its logits alone."""

    @property
    def refused(self) -> Sequence[int]:
        """The sequences, by index, whose token the grammar does not allow. Their matchers are as they were."""

    @property
    def number(self) -> int:
        """How many steps the table has made, this one among them."""

    def wait(self, stream: Any = None) -> None:
        """Makes a stream of the device wait until the ids are there."""

    def update(self) -> MaskUpdate:
        """This step for tables that follow this one, on other devices or in other processes."""


class MaskTable(Protocol):
    """The mask rows in use, of all grammars of a vocabulary. Not for several threads at once."""

    @property
    def rows(self) -> Any:
        """int32 of shape (n_slots, n_words): the mask row with id i is ``rows[i]``. To be taken anew after each step."""

    @property
    def n_slots(self) -> int:
        """Rows that the table has room for."""

    @property
    def n_used(self) -> int:
        """Rows that it holds."""

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""

    def step(
        self,
        matchers: Sequence[GrammarMatcher | None],
        tokens: Sequence[int] | None = None,
        *,
        stream: Any = None,
        into: Any = None,
    ) -> MaskStep:
        """Accepts a token for each sequence, and finds the rows of their masks.

        Args:
            matchers: one for each sequence; None for one that is not constrained.
            tokens: as many; -1 for none. By default no tokens: the masks of where the matchers are.
            stream: of the device, in whose order rows and ids are written, where the library has streams.
            into: an int32 array for the ids instead of one of the table's; where the library's arrays can be written.

        Raises:
            BitmaskError: a matcher of another vocabulary, too many, or ``into`` cannot be written; nothing has happened.
            MatcherError: not as many tokens as matchers; nothing has happened.
            RuntimeError: a matcher exceeded a limit. The others have accepted their tokens.
        """

    def step_along(
        self,
        matchers: Sequence[GrammarMatcher | None],
        drafts: Sequence[Sequence[int]],
        *,
        stream: Any = None,
        into: Any = None,
    ) -> MaskStep:
        """Finds the rows of the masks along draft tokens (speculative decoding). The matchers are as before afterwards.

        The ids of each matcher follow those of the one before it: where it is, and after each of its drafts. After a draft that is
        refused the id before it is repeated; once the text has ended, and for None, they are -1. ``refused`` of the step lists the
        places in ``ids`` whose next draft was refused.

        Args:
            matchers: one for each sequence; None for one that is not constrained.
            drafts: as many lists of tokens.
            stream, into: as of `step`.

        Raises: as `step`; MatcherError for another number of lists.
        """

    def apply_update(self, update: MaskUpdate, *, stream: Any = None, into: Any = None) -> MaskStep:
        """Does another table's step here, which makes this table follow that one.

        Raises BitmaskError, before anything is changed, when the update is of another vocabulary or size of table, or not the next.
        """


class MaskLibrary(Protocol):
    """A module of this package whose arrays are changed in place: `numpy_masks` or `cupy_masks`. (JAX's arrays never change.)"""

    @property
    def MaskTable(self) -> Callable[..., MaskTable]:
        """Makes a table: of a `TokenizerInfo`, and `max_batch=`, `device=`."""

    @property
    def apply_rows(self) -> Callable[..., None]:
        """Masks logits in place by rows of a table."""


if TYPE_CHECKING:  # the type checker sees that they are
    from psc.runtime import cupy_masks, numpy_masks

    _LIBRARIES: tuple[MaskLibrary, ...] = (numpy_masks, cupy_masks)
