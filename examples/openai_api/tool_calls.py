"""Tool calls in a model's text, found while it is written: text, the begin of a call, its arguments as JSON text.

A reader takes the text in pieces and gives deltas as soon as they are certain. The markers are those of
`psc.tool_calls.models.formats`; the text follows the format's structural tag, so that what begins with a trigger is a call. A
call that is cut off is given as far as it went; one whose name is cut off is not given. White space beside calls is left out.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from openai_api.deltas import Arguments, CallBegin, Delta, Reader, Text, TextReader, kept_back
from openai_api.harmony import HarmonyReader
from openai_api.json_values import JsonValueEnd
from openai_api.parameters import STYLES, Parameters
from psc.tool_calls.models.formats import FORMATS
from psc.tool_calls.models.tool_call_format import ToolCallFormat

READABLE = ("harmony", *(name for name, form in FORMATS.items() if form.style == "json" or form.style in STYLES))
"""The formats whose calls can be found."""


CUSTOM = tuple(name for name, form in FORMATS.items() if name in READABLE and not form.begin.endswith(("\n", "{name}")))
"""Those in which custom tools can be called: what begins a call has an end that is seen as soon as it is written."""


def tool_call_reader(format_name: str, functions: Mapping[str, Mapping[str, Any]], custom: Collection[str] = frozenset()) -> Reader:
    """Finds the calls of functions, given with the schemas of their arguments, in a format. Without functions: text alone.

    Args:
        format_name: one of `READABLE`.
        functions: by name; custom tools are among them.
        custom: names of custom tools. A call of one is the last of a text: what follows its begin is what the tool is called with.
    """
    if not functions:
        return TextReader()
    return HarmonyReader() if format_name == "harmony" else MarkerReader(FORMATS[format_name], functions, custom)


class MarkerReader:
    """Finds calls that stand between markers. Each step reads one part of the text: `_in_text`, `_before_call` and so on."""

    def __init__(
        self, form: ToolCallFormat, functions: Mapping[str, Mapping[str, Any]], custom: Collection[str] = frozenset()
    ) -> None:
        self._format, self._functions, self._custom = form, functions, custom
        self._names = {form.names.written(name): name for name in functions}
        self._begin = _begin_pattern(form, self._names)
        self._section_end = form.section.end if form.section else None
        self._buffer = ""
        self._n_calls = 0
        self._arguments: JsonValueEnd | Parameters = JsonValueEnd()
        self._step = self._in_text

    def feed(self, piece: str) -> Iterator[Delta]:
        """What is certain with one more piece."""
        self._buffer += piece
        while True:
            before = (self._step, len(self._buffer))
            yield from self._step()
            if (self._step, len(self._buffer)) == before:
                return

    def finish(self) -> Iterator[Delta]:
        """Text that was kept back."""
        if self._step == self._in_text:
            yield from self._said(self._buffer if not self._n_calls else self._buffer.rstrip())

    def _in_text(self) -> Iterator[Delta]:
        at = self._buffer.find(self._format.trigger)
        if at >= 0:
            yield from self._said(self._buffer[:at].rstrip())
            self._buffer = self._buffer[at:]
            self._step = self._before_call
            return
        if self._n_calls:
            self._buffer = self._buffer.lstrip()
        certain = self._buffer[: len(self._buffer) - kept_back(self._buffer, (self._format.trigger,))].rstrip()
        yield from self._said(certain)
        self._buffer = self._buffer[len(certain) :]

    def _before_call(self) -> Iterator[Delta]:
        begin = self._begin.search(self._buffer)
        end = self._buffer.find(self._section_end) if self._section_end else -1
        if begin and (end < 0 or begin.start() < end):
            name = self._names[begin["name"]]
            yield CallBegin(self._n_calls, name)
            self._buffer = self._buffer[begin.end() :]
            style = STYLES.get(self._format.style)
            schema = self._functions[name]
            self._arguments = Parameters(style, self._format.end, schema) if style else JsonValueEnd()
            self._step = self._in_input if name in self._custom else self._in_arguments
        elif self._section_end and end >= 0:
            self._buffer = self._buffer[end + len(self._section_end) :]
            self._step = self._in_text

    def _in_input(self) -> Iterator[Delta]:
        if self._buffer:
            yield Arguments(self._n_calls, self._buffer)
        self._buffer = ""

    def _in_arguments(self) -> Iterator[Delta]:
        if isinstance(self._arguments, Parameters):
            n_read, arguments = self._arguments.read(self._buffer)
            has_ended = arguments is not None
        else:
            if not self._arguments.has_begun:
                self._buffer = self._buffer.lstrip()
            n_read, has_ended = self._arguments.read(self._buffer)
            arguments = self._buffer[:n_read]
        self._buffer = self._buffer[n_read:]
        if arguments:
            yield Arguments(self._n_calls, arguments)
        if has_ended:
            self._n_calls += 1
            self._step = self._after_arguments

    def _after_arguments(self) -> Iterator[Delta]:
        end = self._format.end.strip()
        at = self._buffer.find(end)
        if at >= 0:
            self._buffer = self._buffer[at + len(end) :]
            self._step = self._before_call if self._section_end else self._in_text
        return iter(())

    def _said(self, text: str) -> Iterator[Delta]:
        if text:
            yield Text(text)


def _begin_pattern(form: ToolCallFormat, written: Iterable[str]) -> re.Pattern[str]:
    """What begins a call, up to its arguments; `written`: the names as the format writes them."""
    names = "|".join(re.escape(name) for name in sorted(written, key=len, reverse=True))
    spelled = re.escape(form.begin.rstrip("\n"))
    spelled = spelled.replace(re.escape("{name}"), f"(?P<name>{names})").replace(re.escape("{number}"), r"\d+")
    # `f` is not called where the text goes on to `f_2`: the marker behind the name decides it.
    return re.compile(spelled + ("(?=<)" if form.begin.endswith("{name}") else ""))
