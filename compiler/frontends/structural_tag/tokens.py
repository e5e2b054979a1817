"""What a document says of a vocabulary: tokens, by their ids or their texts, and markers, which special tokens may spell.

Where the vocabulary is not known yet, a token is its id, and markers are characters.

Cost: a search of the document's texts for each special token, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.expressions.expression import Chars
from psc.compiler.expressions.markers import Marker
from psc.compiler.expressions.tokens import FIRST_TOKEN, MAX_TOKENS, TokenNames
from psc.compiler.frontends.structural_tag.document import Document
from psc.compiler.frontends.structural_tag.formats import TokenFormat
from psc.compiler.frontends.structural_tag.parameter_styles import marker_tokens
from psc.compiler.frontends.structural_tag.refusals import refuse, shown


class DocumentTokens:
    """The tokens and markers of one document.

    Args:
        names: of the vocabulary's tokens; None where it is not known.
        document: special tokens whose name is in none of its texts, but for schemas, are left out of account.
    """

    def __init__(self, names: TokenNames | None, document: Document) -> None:
        self.names: Final = names
        self._ids: dict[int | str, int] = {}
        """Tokens that were looked up."""
        self._special: Mapping[str, int] = {}
        self._special_of_styles: dict[str, Mapping[str, int]] = {}
        if names is not None and names.special_names:
            texts = "\n".join([part for part in document.parts() if isinstance(part, str)])
            self._special = {name: token for name, token in names.special_names.items() if name and name in texts}

    def marker(self, given: str | TokenFormat, path: str = "") -> Marker:
        """The marker that is a text, or a token. Raises InvalidStructuralTagError: there is no such token."""
        if isinstance(given, TokenFormat):
            return Marker.of_token(self.id_of(given.token, f"{path}.token"))
        return Marker.of_text(given, self._special)

    def of_style(self, style: str) -> Mapping[str, int]:
        """The special tokens that may spell markers of a style of parameters."""
        if style not in self._special_of_styles:
            names = {} if self.names is None or style == "json" else self.names.special_names
            self._special_of_styles[style] = marker_tokens(style, names) if names else {}
        return self._special_of_styles[style]

    def ids_of(self, tokens: Iterable[int | str], path: str) -> tuple[int, ...]:
        """The ids of tokens. Raises InvalidStructuralTagError: there is no such token."""
        ids: dict[int, None] = {}
        for i, token in enumerate(tokens):
            stop_if_cancelled()
            known = self._ids.get(token)
            if known is None:
                known = self._ids[token] = self.id_of(token, f"{path}[{i}]")
            ids[known] = None
        return tuple(ids)

    def id_of(self, token: int | str, path: str) -> int:
        """The id of a token, given as such or by its text. Raises InvalidStructuralTagError: there is no such token."""
        names = self.names
        if isinstance(token, int):
            if token < 0 or (names is not None and not names.is_token(token)):
                refuse(path, f"there is no token {token}" + ("" if names is None else f"; the vocabulary's are below {names.size}"))
            return token
        if names is None:
            refuse(path, f"the token {shown(token)} is given by its text, which needs the vocabulary; compile it with a tokenizer")
        found = names.id_of(token) if token else None
        if found is None:
            close = names.close_names(token)
            hint = f"; there are {', '.join(map(shown, close))}" if close else ""
            refuse(path, f"no token of the vocabulary is {shown(token)} as a whole{hint}")
        return found

    def all_but(self, ids: Iterable[int]) -> Chars:
        """All tokens but some, and but those that stop a text."""
        if self.names is not None:
            return self.names.tokens_except(ids)
        gaps = []  # of any vocabulary: the document is read again when one is known
        at = 0
        for i in sorted(set(ids)):
            if at < i:
                gaps.append((FIRST_TOKEN + at, FIRST_TOKEN + i - 1))
            at = i + 1
        return Chars((*gaps, (FIRST_TOKEN + at, FIRST_TOKEN + MAX_TOKENS - 1)))
