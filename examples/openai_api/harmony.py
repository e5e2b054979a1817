"""Harmony, the format of gpt-oss: messages, each a header and a body. A call is a message whose header names a recipient.

The answer is what stands on the channel ``final``, and preambles on ``commentary``; ``analysis`` is reasoning, and is left out.
"""

import re
from collections.abc import Iterator

from openai_api.deltas import Arguments, CallBegin, Delta, Text, kept_back

_BODY = "<|message|>"
_ENDS = ("<|end|>", "<|return|>", "<|call|>", "<|start|>")
_RECIPIENT = re.compile(r"to=functions\.([^\s<]+)")


class HarmonyReader:
    """Finds the answer and the calls in a turn."""

    def __init__(self) -> None:
        self._buffer = ""
        self._in_body = False
        self._n_calls = 0
        self._call: int | None = None
        self._shown = False

    def feed(self, piece: str) -> Iterator[Delta]:
        """What is certain with one more piece."""
        self._buffer += piece
        while True:
            if not self._in_body:
                header, found, rest = self._buffer.partition(_BODY)
                if not found:
                    return
                self._buffer, self._in_body = rest, True
                yield from self._read_header(header)
            found_ends = [(at, end) for end in _ENDS if (at := self._buffer.find(end)) >= 0]
            if not found_ends:
                ready = len(self._buffer) - kept_back(self._buffer, _ENDS)
                yield from self._said(self._buffer[:ready])
                self._buffer = self._buffer[ready:]
                return
            at, end = min(found_ends)
            yield from self._said(self._buffer[:at])
            self._buffer, self._in_body = self._buffer[at + len(end) :], False

    def finish(self) -> Iterator[Delta]:
        """Text that was kept back. The end of arguments that are cut off is not certain, and stays away."""
        if self._in_body and self._call is None:
            yield from self._said(self._buffer)

    def _read_header(self, header: str) -> Iterator[Delta]:
        recipient = _RECIPIENT.search(header)
        self._shown = "<|channel|>analysis" not in header
        self._call = None
        if recipient is not None:
            self._call, self._n_calls = self._n_calls, self._n_calls + 1
            yield CallBegin(self._call, recipient[1])

    def _said(self, text: str) -> Iterator[Delta]:
        if text and self._call is not None:
            yield Arguments(self._call, text)
        elif text and self._shown:
            yield Text(text)
