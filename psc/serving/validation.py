"""Whether texts are right, checked once for each: parsed, not compiled. The cache has refusals, too.

A server validates each request before it admits it, often on the one thread that all requests share, and requests come again with
the same text.

Cost: 5 us for a cached text; else parsing, 0.1 ms for a schema and some 30 ms for a programming language in Lark's.
"""

from __future__ import annotations

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.expressions.expression import Chars
from psc.compiler.expressions.tokens import MAX_TOKENS, TokenNames, token_set
from psc.errors import GrammarError, InvalidJSONError, InvalidStructuralTagError, PscError, TokenizerError
from psc.grammars.grammar import Grammar
from psc.serving.handed_over import HANDED_OVER
from psc.serving.kinds import Kind, request_of
from psc.serving.options import ServiceOptions
from psc.support.forks import new_lock
from psc.support.pending import Pending
from psc.vocabulary.tokenizer_info import TokenizerInfo

REFUSALS: Final = (GrammarError, InvalidStructuralTagError, InvalidJSONError, TokenizerError)
"""psc's errors for a request that it cannot serve; the message is for the client. No other error says anything of the text."""

_Key = tuple[Kind, bytes]


class _EveryName(TokenNames):
    """A vocabulary that is not available: any text may be a token's, and any id a token."""

    def __init__(self) -> None:
        super().__init__(TokenizerInfo([]))
        self._ids: dict[str, int] = {}

    @property
    def size(self) -> int:
        return MAX_TOKENS

    def id_of(self, text: str) -> int:
        return self._ids.setdefault(text, len(self._ids))

    def ids_of(self, text: str) -> list[int]:
        return [self.id_of(text)]

    def is_token(self, token: int) -> bool:
        return 0 <= token < MAX_TOKENS

    def tokens_except(self, ids: Iterable[int]) -> Chars:
        return token_set([MAX_TOKENS - 1])


def check_request(kind: Kind, text: str, options: ServiceOptions, tokenizer_info: TokenizerInfo | None) -> None:
    """Reads a request, and compiles nothing. What was read is handed over to a compilation in this process.

    Args:
        kind: of the request.
        text: of the request.
        options: how JSON schemas are meant.
        tokenizer_info: the vocabulary; without it, whether there are the tokens that a text names is left to the compilation.

    Raises:
        PscError: the text is malformed, or says what psc cannot enforce.
    """
    request = request_of(kind, text, options)
    if not request.names_tokens:
        HANDED_OVER.give(Grammar.parse(request))
    else:
        Grammar.parse(request, names=_EveryName() if tokenizer_info is None else TokenNames(tokenizer_info))


class _Verdict:
    """Of one text."""

    __slots__ = ("error",)

    def __init__(self, error: PscError | None) -> None:
        self.error: Final = error


class ValidationCache:
    """Remembers the verdicts on the texts used last.

    Args:
        check: reads a text of a kind; raises PscError where it is wrong.
        max_texts: the number of texts remembered.

    May be used from several threads. If two validate a text at once, one reads it and the other waits.
    """

    def __init__(self, check: Callable[[Kind, str], object], max_texts: int) -> None:
        self._check: Final = check
        self._max_texts: Final = max(max_texts, 1)
        self._lock = new_lock()
        self._verdicts: OrderedDict[_Key, Pending[_Verdict]] = OrderedDict()

    def validate(self, kind: Kind, text: str) -> bool:
        """Checks a text.

        Args:
            kind: of the request.
            text: of the request.

        Returns:
            Whether it was cached.

        Raises:
            PscError: it is wrong; each time an error of its own, with the same message.
        """
        key = kind, hashlib.sha256(text.encode(errors="surrogatepass")).digest()
        while True:
            mine: Pending[_Verdict] = Pending()
            with mine.making:
                cached = self._registered(key, mine)
                if cached is mine:
                    _raise(self._read(key, mine, kind, text))
                    return False
            verdict = cached.wait(stop_if_cancelled)
            if verdict is not None:
                _raise(verdict)
                return True
            self._drop(key, cached)  # the thread that read it gave up, or is gone

    def _registered(self, key: _Key, mine: Pending[_Verdict]) -> Pending[_Verdict]:
        """The verdict of a key: ``mine``, where it had none."""
        with self._lock:
            cached = self._verdicts.setdefault(key, mine)
            self._verdicts.move_to_end(key)
            if len(self._verdicts) > self._max_texts:
                self._verdicts.popitem(last=False)
            return cached

    def _read(self, key: _Key, mine: Pending[_Verdict], kind: Kind, text: str) -> _Verdict:
        with mine.ends(self._drop, key):  # an error here is no fact about the text: memory ran out, say
            verdict = _Verdict(self._error(kind, text))
            mine.set(verdict)
        return verdict

    def _error(self, kind: Kind, text: str) -> PscError | None:
        try:
            self._check(kind, text)
        except REFUSALS as e:
            return e.with_traceback(None)
        return None

    def _drop(self, key: _Key, pending: Pending[_Verdict]) -> None:
        with self._lock:
            if self._verdicts.get(key) is pending:
                del self._verdicts[key]


def _raise(verdict: _Verdict) -> None:
    if verdict.error is not None:
        raise copy.copy(verdict.error)
