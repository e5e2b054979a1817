"""The grammars that a server compiles when it starts, so that no request waits: a list of bundled names and files, on one thread.

A broken entry is logged with its name and cause, and the next one is done: it never stops the engine.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from psc.compiler.frontends.lookup import find_grammar, names_bundled
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import PscError
from psc.serving.kinds import Kind, bundled_request, request_of
from psc.serving.options import ServiceOptions
from psc.support import threads

_log = logging.getLogger("psc.serving")
_KIND_OF: Final[Mapping[str, Kind]] = {
    "json_schema": "json",
    "structural_tag": "structural_tag",
    "ebnf": "ebnf",
    "lark": "lark",
    "llguidance": "lark",
}


def warm_request(entry: str, options: ServiceOptions) -> GrammarRequest:
    """The request for an entry of the list, the same as that of a user's request with the name, or with the file's text.

    Args:
        entry: a bundled grammar's name, or the path of a ``.lark``, ``.ebnf``, ``.gbnf`` or ``.json`` file.
        options: how JSON schemas and bundled names are meant.

    Raises:
        GrammarError: there is no such grammar, or it cannot be read.
    """
    if names_bundled(entry):
        return bundled_request(entry, options)
    request = find_grammar(Path(entry).expanduser()).request()
    if request.front_end.imports(request.text, request.origin):
        return request
    return request_of(_KIND_OF[request.language], request.text, options)


class WarmUp:
    """Compiles the entries of a list.

    Args:
        entries: see :func:`warm_request`.
        options: see there, too.
        compile_request: compiles one.
    """

    def __init__(
        self, entries: Sequence[str], options: ServiceOptions, compile_request: Callable[[GrammarRequest], object]
    ) -> None:
        self._entries: Final = tuple(entries)
        self._options: Final = options
        self._compile: Final = compile_request
        self.failed: dict[str, str] = {}
        """Why an entry could not be compiled, by its name."""
        self._thread = threading.Thread(target=self._run, name="psc warm-up", daemon=True)

    def start(self) -> None:
        """Begins, on a thread; nothing where the list is empty."""
        if self._entries:
            threads.start(self._thread)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until all entries are done. Returns whether they are."""
        if self._entries:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        for entry in self._entries:
            began = time.perf_counter()
            try:
                self._compile(warm_request(entry, self._options))
            except (PscError, OSError) as e:
                self.failed[entry] = str(e)
                _log.error("warm-up: %s is not compiled in advance: %s", entry, e)
            except Exception as e:  # the engine goes on whatever is wrong with an entry
                self.failed[entry] = repr(e)
                _log.exception("warm-up: %s is not compiled in advance", entry)
            else:
                _log.info("warm-up: %s is ready after %.2f s", entry, time.perf_counter() - began)
