"""`<name>`, `<[1,3-5]>`, `<[^1]>` and `<[*]>` as sets of tokens.

Where no vocabulary is known, a set stands for all tokens: what is made of it is read again before it is compiled.
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.expressions.expression import Chars
from psc.compiler.expressions.tokens import FIRST_TOKEN, MAX_TOKENS, TokenNames, token_set
from psc.compiler.frontends.llguidance.source import Source
from psc.compiler.frontends.llguidance.syntax import Text

_RANGE: Final = re.compile(r"([0-9]{1,12})(?:-([0-9]{1,12}))?")
_ANY: Final = Chars(((FIRST_TOKEN, FIRST_TOKEN + MAX_TOKENS - 1),))


def special_tokens(node: Text, source: Source, names: TokenNames | None) -> Chars:
    """The tokens that are meant.

    Args:
        node: with the text in its angle brackets.
        source: the grammar, for messages.
        names: of the vocabulary; None where it is not known.

    Raises:
        GrammarError: the ids are malformed or out of range, or there is no token of this name.
    """
    text = node.text
    if text.startswith("<[") and text.endswith("]>"):
        return _numbered(node, text[2:-2], source, names)
    if names is None:
        return _ANY
    found = names.ids_of(text)
    if not found:
        close = names.close_names(text)
        hint = f"did you mean {' or '.join(close)}?" if close else "the vocabulary has no special token like it"
        raise source.error(node.at, f"unknown special token {text}; {hint}")
    return token_set(found)


def _numbered(node: Text, listed: str, source: Source, names: TokenNames | None) -> Chars:
    negated = listed.startswith("^")
    listed = listed.removeprefix("^")
    if "*" in listed:
        if listed != "*":
            raise source.error(node.at, "the wildcard cannot be mixed with ids: write <[*]>")
        if negated:
            raise source.error(node.at, "negated wildcard special token is not supported: it is no token at all")
        return _ANY if names is None else names.tokens_except(())
    ids: list[range] = []
    for item in listed.split(","):
        if not item:
            continue
        match = _RANGE.fullmatch(item)
        if match is None:
            raise source.error(node.at, f"invalid numeric special-token range {item!r}; write ids as in <[5,8-10]>")
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        if first > last:
            raise source.error(node.at, f"invalid numeric special-token range {item!r}: it ends before it begins")
        if last >= MAX_TOKENS:
            raise source.error(node.at, f"special-token range is too large: there is no token {last}; ids are below {MAX_TOKENS:,}")
        ids.append(range(first, last + 1))
    if not ids:
        raise source.error(node.at, "empty numeric special-token range; write ids as in <[5,8-10]>")
    if names is None:
        return _ANY
    wanted = {token for some in ids for token in some}
    if negated:
        return names.tokens_except(wanted)
    for token in sorted(wanted):
        if not names.is_token(token):
            raise source.error(node.at, f"there is no token {token}; the vocabulary has {names.size:,}")
    return token_set(wanted)
