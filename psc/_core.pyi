from typing import Annotated, Any

import numpy
from numpy.typing import NDArray


class LrTables:
    @property
    def n_states(self) -> int: ...

    @property
    def n_terminals(self) -> int: ...

    @property
    def n_nonterminals(self) -> int: ...

    @property
    def end_state(self) -> int: ...

    @property
    def shift_reduce_resolved(self) -> int: ...

    @property
    def action_offsets(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def actions(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def gotos(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def lhs(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def length(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def accessing(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def conflicts(self) -> list[tuple[int, int, list[int]]]: ...

def build_lalr(n_terminals: int, n_nonterminals: int, start: int, lhs: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rhs_offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rhs: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], priority: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], keep_all: bool) -> LrTables: ...

class Compilation:
    def __init__(self, lr: LrTables, next: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], accept: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ignored: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], token_bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], token_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], text_tokens: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def build_lexer(self) -> None: ...

    def classify_tokens(self) -> None: ...

    def find_sequences(self) -> None: ...

    def build_classifier(self) -> None: ...

    def assemble(self) -> None: ...

    @property
    def n_lexer_states(self) -> int: ...

    @property
    def n_token_classes(self) -> int: ...

    @property
    def n_sequences(self) -> int: ...

    @property
    def n_classifier_states(self) -> int: ...

    @property
    def n_transitions(self) -> int: ...

    def lexer_arrays(self) -> dict[str, Any]: ...

    def classifier_arrays(self) -> dict[str, Any]: ...

    @property
    def class_of_token(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def class_representatives(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def sequences(self, lexer_state: int) -> list[tuple[tuple[int, ...], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]: ...

class Tables:
    def __init__(self, arrays: dict[str, Any]) -> None: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def row_bytes(self) -> int: ...

    @property
    def n_words(self) -> int: ...

    def row(self, row: int) -> NDArray[numpy.int32]: ...

class Matcher:
    """Follows one generated text. See psc.GrammarMatcher."""

    def __init__(self, tables: Tables) -> None: ...

    def accept_token(self, token_id: int) -> bool:
        """
        Takes a token: True, or False when the mask does not allow it, and then nothing changes.

        A stop token is accepted where the text may end, and terminates the matcher. Ids out of range are refused.
        Cost: the token's bytes through the lexer and a shift per terminal, about 0.1 us.
        """

    def mask_row(self) -> int:
        """
        The id of the current mask row, see CompiledGrammar.row().

        Raises RuntimeError after termination. Cost: a lookup for each stack symbol that has to be read, about 0.1 us.
        """

    def mask(self) -> NDArray[numpy.int32]:
        """
        The current mask: int32 of shape (ceil(vocab_size / 32),), read-only, a view and no copy.

        Token j is allowed when bit j % 32 of word j // 32 is set. Raises RuntimeError after termination.
        """

    def fill_next_token_bitmask(self, bitmask: object, index: int = 0) -> bool:
        """
        Copies the current mask into row `index` of an int32 CPU array of shape (batch, ceil(vocab_size / 32)), or into one of
        shape (ceil(vocab_size / 32),).

        NumPy, or any array that DLPack carries. Returns True: the mask is to be applied. Raises RuntimeError for a wrong dtype or
        shape or after termination, IndexError for a row that is not there. Cost: a copy of vocab_size / 8 bytes.
        """

    def is_terminated(self) -> bool:
        """A stop token was accepted."""

    def is_completed(self) -> bool:
        """A stop token would be accepted now."""

    def reset(self) -> None:
        """Back to the empty text."""

    def _accept_bytes(self, text: bytes) -> int:
        """
        Reads text byte by byte while it has a continuation; the number of bytes read.
        """

    def _expected_terminals(self) -> list[int]:
        """Numbers of the terminals that the parser can take next."""

    @property
    def _lexer_state(self) -> int: ...

    def _stack(self) -> list[int]:
        """The parser stack, LR states, top first."""
