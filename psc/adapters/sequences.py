"""Which sequence is which: engines that show a processor of logits all token ids, and nothing else, every step.

The idea: in each step a row of ids is a row of the step before and one token more. Beam search may continue any row in any
position. So a row's past is looked up among the rows that its request had a step ago. The columns in which those rows differ
identify them (n rows need at most n columns, however long they are). The last columns show that it is the same generation. Rows
with the same past share a matcher. When their next tokens differ, the matcher is forked.

An example with two beams: after `p a` and `p b` come `p b c` and `p b d`. Both continue the second row, so its matcher is forked.

Ids that continue no row begin a new generation, and all of them are its prompt. Where they could also mean something else (a draft
model, two generations at once), they are an error, and `reset` says that a generation is new.

Cost: a step reads and compares 16 columns, and some for beams; a generation's first two steps read all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psc.adapters.constraints import Hypothesis, Requests
from psc.errors import MatcherError

Tokens = NDArray[np.int64]
ReadColumns = Callable[[Sequence[int] | slice], Tokens]
"""Gives columns of the ids: (rows, columns)."""

_TAIL = 16
_MAX_INTERRUPTED = 4


class _Rows(NamedTuple):
    """The stored columns of a generation's rows after a step."""

    length: int
    tail: Tokens
    """The last columns, at most 16."""
    columns: list[int]
    """The columns in which rows of one request with different pasts differ."""
    values: Tokens
    """The ids in these columns, (rows, columns)."""


class Growth(Enum):
    """How the ids of one generation may change from a step to the next. Other changes begin a generation, or are errors."""

    BY_ONE = "by one"
    """One token more. Ids that grew by several are a new generation's prompt."""
    ONLY_BY_ONE = "only by one"
    """One token more. Ids that grew by several are an error: the engine shows processors other ids than it samples after."""
    BACK_AND_FORTH = "back and forth"
    """Any end of the one row may be replaced: a draft model's tokens are tried and dropped."""


class Sequences:
    """Follows the sequences of one generation after another.

    Args:
        requests: the constraints; rows of ids belong to them in equal shares, in order. One constraint stands for all rows.
        growth: how ids may change within a generation; a function is called when one begins.
        leaves_alone: whether a row continues without a grammar after a token id that the grammar refused; else the token is an
            error. By default every refused token is an error.
        prompt_length: the number of tokens of the prompt; those after it are the text's beginning. By default all.

    Raises MatcherError when `prompt_length` is negative.
    """

    def __init__(
        self,
        requests: Requests,
        *,
        growth: Growth | Callable[[], Growth] = Growth.BY_ONE,
        leaves_alone: Callable[[int], bool] | None = None,
        prompt_length: int | None = None,
    ) -> None:
        if prompt_length is not None and prompt_length < 0:
            raise MatcherError(f"prompt_length={prompt_length}: it cannot be negative")
        self.requests = requests
        self._find_growth: Callable[[], Growth] = (lambda: growth) if isinstance(growth, Growth) else growth
        self._growth = Growth.BY_ONE
        self._leaves_alone = leaves_alone
        self._prompt_length = prompt_length
        self._users: dict[str, object] = {}
        self.reset()

    def reset(self) -> None:
        """The next ids are the prompt of a new generation."""
        self._rows: _Rows | None = None
        self._prompt: Tokens | None = None
        self._generated: list[int] = []  # of the one row, where it may roll back
        self._hypotheses: list[Hypothesis] = []
        self._interrupted: deque[_Rows] = deque(maxlen=_MAX_INTERRUPTED)

    @property
    def goes_back(self) -> bool:
        """Whether the current generation tries tokens and drops them."""
        return self._growth is Growth.BACK_AND_FORTH

    def step(self, n_rows: int, length: int, read: ReadColumns) -> list[Hypothesis]:
        """The sequences of the rows of ids, each having accepted its tokens.

        Args:
            n_rows, length: of the ids.
            read: gives columns of them.

        Raises:
            MatcherError: the rows do not fit the requests or the generation, a token was refused, or the processor is in use.
                The next ids are a new generation's, then.
        """
        mine = object()
        if self._users.setdefault("now", mine) is not mine:
            raise MatcherError("this processor is used by two threads at once; make one for each generation")
        try:
            self._hypotheses = self._step(n_rows, length, read)
        except Exception:
            self.reset()
            raise
        finally:
            self._users.pop("now", None)
        return self._hypotheses

    def _step(self, n_rows: int, length: int, read: ReadColumns) -> list[Hypothesis]:
        rows = self._rows
        if rows is None:
            return self._begin(n_rows, length, read)
        if length == rows.length + 1:
            if n_rows == len(rows.tail):
                parents, new = self._parents(rows, length, read)
                if parents is not None:
                    return self._advance(rows, parents, new)
            elif n_rows and _any_follows(rows, length, read):
                raise MatcherError(
                    f"the batch has {n_rows} rows, and had {len(rows.tail)} a step ago; rows cannot come or go within a generation"
                )
        elif self._growth is Growth.BACK_AND_FORTH and n_rows == 1 == len(rows.tail) and self._has_prompt(length, read):
            return self._go_back(length, read)
        elif self._growth is Growth.ONLY_BY_ONE and length > rows.length + 1 and _extends(rows, read):
            raise MatcherError(
                f"the ids grew by {length - rows.length} tokens in a step: with a draft model, or tokens that were sent to the "
                "generator, this engine shows processors other ids than those that it samples after, so a grammar cannot be kept. "
                "If this is a new generation, whose prompt continues the last one, call reset() first"
            )
        elif 0 < length - self._n_prompt <= rows.length - self._n_prompt and self._has_prompt(length, read):
            raise MatcherError(
                "the ids begin with those of the last generation and are not longer: for assisted generation (a draft model, "
                "prompt lookup) make the processor with assisted=True; if this is a new generation, call reset() first"
            )
        for other in self._interrupted:
            if length == other.length + 1 and n_rows == len(other.tail) and _any_follows(other, length, read):
                raise MatcherError(
                    "this processor is used for two generations at once: these ids go on where an earlier generation stopped, and "
                    "another one has begun since. Make a processor for each (they share the compiled grammar); if this is a new "
                    "generation, whose prompt is what an earlier one wrote, call reset() first"
                )
        interrupted = self._interrupted
        interrupted.append(rows)
        return self._begin(n_rows, length, read)

    @property
    def _n_prompt(self) -> int:
        return 0 if self._prompt is None else self._prompt.shape[1]

    @property
    def _text_begins(self) -> int:
        return self._n_prompt if self._prompt_length is None else min(self._prompt_length, self._n_prompt)

    def _begin(self, n_rows: int, length: int, read: ReadColumns) -> list[Hypothesis]:
        n = len(self.requests.constraints)
        if n_rows == 0 or n_rows % n:
            raise MatcherError(
                f"{n_rows} rows for {n} grammars: each request has equally many rows; give one grammar, or one for each request "
                "(None for one without)"
            )
        self._growth = self._find_growth()
        if self._growth is Growth.BACK_AND_FORTH and n_rows != 1:
            raise MatcherError(f"assisted generation follows one sequence, and there are {n_rows}")
        share = n_rows // n
        prompt = read(slice(0, length))
        self._prompt = prompt
        self._generated = prompt[0, self._text_begins :].tolist()
        hypotheses: list[Hypothesis] = []
        for request in range(n):
            members = prompt[request * share : (request + 1) * share]
            # Rows that begin alike are one sequence until they part.
            distinct: dict[bytes, Hypothesis] = {}
            for row in members:
                if (key := row.tobytes()) not in distinct:
                    distinct[key] = self.requests.begin(request)
                hypotheses.append(distinct[key])
        columns = _distinguishing_columns(prompt, share, range(length))
        self._rows = _Rows(length, prompt[:, -_TAIL:], columns, prompt[:, columns])
        if self._prompt_length is not None:
            self._accept_beginning(prompt[:, self._text_begins :], hypotheses)
        return hypotheses

    def _accept_beginning(self, text: Tokens, hypotheses: list[Hypothesis]) -> None:
        done: set[int] = set()
        for row, hypothesis in enumerate(hypotheses):
            if id(hypothesis) not in done:
                done.add(id(hypothesis))
                for token in text[row].tolist():
                    self._accept(hypothesis, token, row)

    def _parents(self, rows: _Rows, length: int, read: ReadColumns) -> tuple[list[int] | None, Tokens]:
        """For each row the row of the step before that it continues, and its token; None if one continues none."""
        n_tail = rows.tail.shape[1]
        if length == self._n_prompt + 1 and self._prompt is not None:  # the second step: once, all of it
            all_columns = read(slice(0, length))
            before, expected, new = all_columns[:, :-1], self._prompt, all_columns[:, -1]
        else:
            tail = slice(length - 1 - n_tail, length)
            seen = read([*rows.columns, *range(tail.start, length)] if rows.columns else tail)
            before, expected, new = seen[:, :-1], np.concatenate((rows.values, rows.tail), axis=1), seen[:, -1]
        if np.array_equal(before, expected):
            return list(range(len(expected))), new
        share = len(expected) // len(self.requests.constraints)
        same = (before == expected).all(axis=1)
        parents: list[int] = []
        for row in range(len(expected)):
            if same[row]:
                parents.append(row)
                continue
            first = row // share * share
            matches = np.flatnonzero((expected[first : first + share] == before[row]).all(axis=1))
            if not len(matches):
                return None, new
            parents.append(first + int(matches[0]))
        return parents, new

    def _advance(self, rows: _Rows, parents: list[int], new: Tokens) -> list[Hypothesis]:
        tokens = new.tolist()
        children: dict[tuple[int, int], Hypothesis] = {}
        moved: set[int] = set()
        # The first child of a sequence is the sequence itself; it moves last, when the others have been forked from it.
        first: list[tuple[Hypothesis, int, int]] = []
        hypotheses: list[Hypothesis] = []
        for row, (parent, token) in enumerate(zip(parents, tokens, strict=True)):
            before = self._hypotheses[parent]
            child = children.get((id(before), token))
            if child is None:
                if id(before) in moved:
                    child = before.fork()
                    self._accept(child, token, row)
                else:
                    child = before
                    moved.add(id(before))
                    first.append((before, token, row))
                children[id(before), token] = child
            hypotheses.append(child)
        for hypothesis, token, row in first:
            self._accept(hypothesis, token, row)
        if self._growth is Growth.BACK_AND_FORTH:
            self._generated.append(tokens[0])
        self._rows = self._next_rows(rows, parents, new)
        return hypotheses

    def _next_rows(self, rows: _Rows, parents: list[int], new: Tokens) -> _Rows:
        tail = np.concatenate((rows.tail[parents], new[:, None]), axis=1)[:, -_TAIL:]
        share = len(parents) // len(self.requests.constraints)
        if share == 1:
            return _Rows(rows.length + 1, tail, rows.columns, rows.values)
        columns = [*rows.columns, rows.length]
        values = np.concatenate((rows.values[parents], new[:, None]), axis=1)
        if len(columns) > 2 * len(parents) + _TAIL:
            chosen = _distinguishing_columns(values, share, range(len(columns)))
            columns, values = [columns[i] for i in chosen], values[:, chosen]
        return _Rows(rows.length + 1, tail, columns, values)

    def _accept(self, hypothesis: Hypothesis, token: int, row: int) -> None:
        if hypothesis.accept(token):
            return
        if self._leaves_alone is not None and self._leaves_alone(token):
            hypothesis.given_up = True
            return
        raise MatcherError(
            f"row {row}: {self.requests.spelling(token)} was generated, and the grammar does not allow it there. It was not "
            "sampled under the mask: look for another processor of logits, after psc's, that raises what was masked or rules out "
            "all that was not; beam search that samples fills up its beams with sequences of probability 0, which refused='drop' "
            "leaves alone"
        )

    def _has_prompt(self, length: int, read: ReadColumns) -> bool:
        prompt = self._prompt
        if prompt is None or length < prompt.shape[1]:
            return False
        return bool(np.array_equal(read(slice(0, prompt.shape[1])), prompt))

    def _go_back(self, length: int, read: ReadColumns) -> list[Hypothesis]:
        """To what the ids and the generated tokens have in common, and on from there."""
        tokens = read(slice(0, length))
        text = tokens[0, self._text_begins :].tolist()
        common = 0
        while common < min(len(text), len(self._generated)) and text[common] == self._generated[common]:
            common += 1
        hypothesis = self.requests.begin(0)
        current = self._hypotheses[0]
        if current.matcher is not None and not current.given_up and current.matcher.n_steps == len(self._generated):
            hypothesis = current
            current.matcher.rollback(len(self._generated) - common)
            rest = text[common:]
        else:  # ended, or given up: not each token is a step of the matcher
            rest = text
        for token in rest:
            self._accept(hypothesis, token, 0)
        self._generated = text
        self._rows = _Rows(length, tokens[:, -_TAIL:], [], tokens[:, :0])
        return [hypothesis]


def _distinguishing_columns(values: Tokens, share: int, columns: Sequence[int]) -> list[int]:
    """A set of columns in which all distinct rows of a request differ: at most n columns for n rows."""
    kind = np.arange(len(values)) // share
    n_kinds = len(values) // share
    # `np.unique(axis=0)` says `TypeError` where a signal's handler raises inside it.
    n_all = len({(request, row.tobytes()) for request, row in zip(kind.tolist(), values, strict=True)})
    chosen: list[int] = []
    for column in columns:
        if n_kinds == n_all:
            break
        of_column, place = np.unique(values[:, column], return_inverse=True)
        of_both, finer = np.unique(kind * len(of_column) + place, return_inverse=True)
        n_finer = len(of_both)
        if n_finer > n_kinds:
            chosen.append(column)
            kind, n_kinds = finer, n_finer
    return chosen


def _any_follows(rows: _Rows, length: int, read: ReadColumns) -> bool:
    """Some row has the last columns of one a step ago before its last."""
    n_tail = rows.tail.shape[1]
    before = read(slice(length - 1 - n_tail, length - 1))
    return any((rows.tail == row).all(axis=1).any() for row in before)


def _extends(rows: _Rows, read: ReadColumns) -> bool:
    """Whether the ids begin with the rows before, by the last columns of these."""
    n_tail = rows.tail.shape[1]
    return bool(np.array_equal(read(slice(rows.length - n_tail, rows.length)), rows.tail))
