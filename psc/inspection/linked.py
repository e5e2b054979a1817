"""What can be said of a text whose grammar is linked of parts, which has no one lexer and no one parser to look at.

Such are grammars whose items must differ or whose rules count tokens (`psc.compiler.pipeline.linking`). Matcher and masks say which
bytes and tokens may come next; an end is searched over tokens that the masks allow.

Cost: a mask for each position that the search visits, some milliseconds a token of the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psc.errors import GrammarError
from psc.inspection.expected import END_OF_FILE
from psc.inspection.next_bytes import one_of, ranges
from psc.runtime.compiled import GrammarMatcher
from psc.vocabulary.tokenizer_info import TokenizerInfo

NOT_KNOWN = (
    "the grammar counts tokens or has items that must differ, so it is linked of parts: rules, lexemes and the parser's stack are "
    "not shown"
)
_MAX_LENGTH = 2_000
_KEPT = 12


def next_bytes(matcher: GrammarMatcher, texts: Sequence[bytes]) -> str:
    """The first bytes of the allowed tokens, as `ranges`: bytes by themselves are no tokens, and none are counted."""
    return ranges(sorted({texts[token][0] for token in matcher.allowed_tokens().tolist() if texts[token]}))


def next_words(matcher: GrammarMatcher, texts: Sequence[bytes]) -> tuple[str, ...]:
    """What may come next: the bytes with which a token may begin, and the end."""
    may_come = next_bytes(matcher, texts)
    ends = (END_OF_FILE,) if matcher.is_completed() else ()
    return (one_of(may_come), *ends) if may_come else ends


def accept_tokens(matcher: GrammarMatcher, texts: Sequence[bytes], tokens: Iterable[int]) -> int:
    """How many bytes of these tokens are read; the matcher then stands behind them.

    Of the token that is refused the bytes that fit are read; none where all would, as there a rule has no tokens left.
    """
    n = 0
    for token in tokens:
        if not matcher.accept_token(token):
            fitting = matcher.fork().accept_prefix(texts[token])
            return n + (matcher.accept_prefix(texts[token]) if fitting < len(texts[token]) else 0)
        n += len(texts[token])
    return n


class TokenSearch:
    """Finds ends of texts by trying tokens, all texts of one length before the longer ones.

    Of the allowed tokens that begin with one byte the shortest is tried. Of the texts of one length a few go on, with masks that
    differ, so the search is no proof that there is no end.

    Args:
        tokenizer_info: the vocabulary.
    """

    def __init__(self, tokenizer_info: TokenizerInfo) -> None:
        self._texts = tokenizer_info.token_texts

    def complete(self, matcher: GrammarMatcher) -> list[int]:
        """Tokens that make a text complete.

        Args:
            matcher: at the text's end; it stays there.

        Raises:
            GrammarError: none were found within a bounded search.
        """
        here = [(matcher.fork(), list[int]())]
        for _ in range(_MAX_LENGTH):
            for at, tokens in here:
                if at.is_completed():
                    return tokens
            after: dict[bytes, tuple[GrammarMatcher, list[int]]] = {}
            for at, tokens in here:
                for token in self._tried(at):
                    ahead = at.fork()
                    if ahead.accept_token(token):
                        key = b"ends" if ahead.is_completed() else ahead.mask().tobytes()
                        after.setdefault(key, (ahead, [*tokens, token]))
            here = [after.pop(b"ends")] if b"ends" in after else list(after.values())[:_KEPT]
            if not here:
                break
        raise GrammarError("no end of this text was found: the grammar leaves no way, or it is too far")

    def _tried(self, matcher: GrammarMatcher) -> list[int]:
        """Allowed tokens: of each first byte the shortest, signs and blanks last of which close what is open first."""
        stops = set(matcher.stop_token_ids)
        shortest: dict[int, int] = {}
        for token in matcher.allowed_tokens().tolist():
            if token in stops:
                continue
            text = self._texts[token]
            first = text[0] if text else -1 - token
            if first not in shortest or len(text) < len(self._texts[shortest[first]]):
                shortest[first] = token
        return [shortest[first] for first in sorted(shortest, key=_preference)]


def _preference(first: int) -> tuple[bool, bool, int]:
    """Closing signs, then other signs, then letters and digits, then bytes that show nothing."""
    is_printed = 0x20 < first < 0x7F
    return not is_printed, is_printed and chr(first).isalnum(), -first if is_printed and not chr(first).isalnum() else first
