"""The engine's threads that compile, and its cache of their results.

The engine's own dictionary of grammars grows without end. And its cancelling of a request, for a client that is gone or after its
limit of time, does not reach a compilation that has begun.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

from psc.support.cancellation import Cancellation, obeying

if TYPE_CHECKING:
    from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject

_MAX_ENTRIES: Final = 1024
"""The number of cached grammars and refusals."""
_T = TypeVar("_T")


class Compilation(Future[_T]):
    """A compilation on a thread of the executor. Cancelling it calls it off, also when it has begun."""

    def __init__(self) -> None:
        super().__init__()
        self._cancellation: Final = Cancellation()

    def run(self, compile_request: Callable[..., _T], arguments: Sequence[Any]) -> None:
        """Compiles, unless it was cancelled before."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            with obeying(self._cancellation):
                made = compile_request(*arguments)
        except BaseException as e:
            self.set_exception(e)
        else:
            self.set_result(made)

    def cancel(self) -> bool:
        """Calls it off. Returns whether it had not begun."""
        self._cancellation.cancel()
        return super().cancel()


class CompilingExecutor(ThreadPoolExecutor):
    """Threads on which the backend compiles."""

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """The future of a compilation."""
        compilation: Compilation[_T] = Compilation()
        super().submit(compilation.run, lambda *given: fn(*given, **kwargs), args)
        return compilation


class GrammarCache(OrderedDict[tuple[str, str], "BaseGrammarObject"]):
    """The grammars and refusals that were used last, within a limit of bytes. The engine's own dictionary has none.

    Args:
        max_bytes: of the compiled grammars together. One always stays.
    """

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self._max_bytes: Final = max_bytes

    def get(self, key: tuple[str, str], default: Any = None) -> Any:
        """The grammar of a request."""
        if key not in self:
            return default
        self.move_to_end(key)
        return self[key]

    def __setitem__(self, key: tuple[str, str], value: BaseGrammarObject) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > _MAX_ENTRIES or (len(self) > 1 and self._size() > self._max_bytes):
            self.popitem(last=False)

    def _size(self) -> int:
        contexts = {id(c): c for value in self.values() if (c := _compiled(value)) is not None}
        return sum(int(c.memory_size_bytes) for c in contexts.values())


def _compiled(grammar: BaseGrammarObject) -> Any:
    inner = getattr(grammar, "grammar", grammar)
    return getattr(inner, "ctx", None)
