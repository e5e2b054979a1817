"""How the tokens of one vocabulary look beside each other: a small model of texts that are short, decent and set as texts are set.

A token weighs more if

* its word is an everyday word or one of the grammar's, and in small letters;
* its id is small, since vocabularies are numbered by frequency, more or less;
* blanks stand where a typesetter puts them: after a comma, around an operator, not after a bracket;
* its line begins as far to the right as brackets are open.

The model knows bytes only. `ReadableSampler` adds what lexer and parser know.

Cost: half a second for 150,000 tokens; then some vector operations over the allowed tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc.vocabulary.tokenizer_info import TokenizerInfo

_Floats = NDArray[np.float64]

WORDS = (
    "age answer apple area author bird blue boat book box bread bridge call cat city clock cloud code color count country "
    "date day desk door east event field file fire first fish flag flower forest friend fruit game garden glass gold green "
    "group hand harbor hat hill home horse house hour index island item key lake lamp leaf letter level light line list map "
    "market message milk minute mirror mountain moon morning music name night north note number ocean order page paint paper "
    "park path pen people phone picture place plan plant point price queen question rain red result river road room salt sea "
    "season seed ship shop size sky snow song south space star start state station stone story street sugar summer sun table "
    "tea text time title today total town tree user value village voice walk wall water week weight west wheat wheel white "
    "width wind window winter wood word work world year"
)
"""What names and strings are made of."""

_TEXT = re.compile(
    rb"(?P<lead> |\n[ ]*|)(?:(?P<word>[A-Za-z]+)|(?P<digits>[0-9]{1,2})|(?P<signs>[!-/:-@\[-`{-~]{1,3}))?(?P<tail> |\n|)"
)
_USUAL_SIGNS = frozenset(b'() ); == != <= >= && || ++ += -> => :: := ": ", "} {" [" (" ") "] ], }, )) ), }} ]]'.split())
_RARE_SIGNS = frozenset(b"\\`~^@$#%?!|&'_")

# What stands at the border of two tokens.
_BLANK, _WORD, _OPEN, _BRACE, _CLOSE, _SEPARATOR, _OPERATOR, _QUOTE, _DOT, _OTHER = range(10)
_KINDS = 10
_KIND_OF_SIGN = {
    **dict.fromkeys(b" \t\r\n", _BLANK),
    **dict.fromkeys(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", _WORD),
    **dict.fromkeys(b"([", _OPEN),
    **dict.fromkeys(b"{", _BRACE),
    **dict.fromkeys(b")]}", _CLOSE),
    **dict.fromkeys(b",;:", _SEPARATOR),
    **dict.fromkeys(b"=+-*/<>&|?%", _OPERATOR),
    **dict.fromkeys(b"\"'`", _QUOTE),
    **dict.fromkeys(b".@$#!~\\", _DOT),
}
# A row for each kind of the byte before the border, a column for each kind after it: g glued, b a blank between, e either, r rare.
_BORDERS = """
    ggggerrggg
    ebgbggbege
    ggggrgrggg
    eeeerrreee
    ebgbggbbge
    ebbbgrrbbe
    ebbbggrbee
    eggeggbrge
    gggggggggg
    eeeegeeeee
"""
_NO_BLANK, _ONE_BLANK, _LINE = range(3)


def _kind(byte: int) -> int:
    return _KIND_OF_SIGN.get(byte, _OTHER)


class TokenLook:
    """How the tokens of one vocabulary look beside each other.

    Args:
        tokenizer_info: the vocabulary.
        words: further words that are good, in lower case, and signs that are not rare: those of the grammar.
    """

    def __init__(self, tokenizer_info: TokenizerInfo, words: frozenset[str]) -> None:
        n = tokenizer_info.vocab_size
        self.is_stop = np.zeros(n, bool)
        self.is_stop[tokenizer_info.stop_token_ids] = True
        self.is_keyword = np.zeros(n, bool)
        self.is_word, self.is_number, self.is_blank = np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool)
        groups: dict[object, int] = {}
        self._group = np.full(n, groups.setdefault("other", 0))
        self._alone = np.full(n, 1e-9)
        self._lead, self._first = np.zeros(n, np.int8), np.full(n, _OTHER, np.int8)
        self.closes = np.zeros(n, bool)
        self._mark = np.zeros(n, np.uint8)
        self._ends_a_string = np.zeros(n, bool)
        self._indentation = np.full(n, -1)
        everyday = set(WORDS.encode().split())
        known = everyday | {word.encode() for word in words}
        known_only = known - everyday
        for token, text in enumerate(tokenizer_info.token_texts):
            if not text.isascii():
                continue
            seen, bare = _TEXT.fullmatch(text), text.strip()
            self._alone[token] = 1e-7
            if bare:
                self._mark[token] = bare[0]
            self._first[token] = _DOT if bare[:2] == b"::" else _kind(self._mark[token]) if bare else _BLANK
            self._lead[token] = _LINE if text[:1] == b"\n" else _ONE_BLANK if text[:1] == b" " else _NO_BLANK
            if seen is None or not text:
                continue
            word = seen["word"].lower() if seen["word"] else b""
            frequent = 4.0 if word in everyday else (300.0 / (300.0 + token)) ** 0.5
            self._alone[token] = _alone(seen, known) * frequent
            self.is_word[token] = seen["word"] is not None
            self.is_keyword[token] = word in known_only
            self.closes[token] = seen["signs"] is not None and set(seen["signs"]) <= set(b"\"'}])")
            self.is_number[token] = seen["digits"] is not None
            kind = text if word in known_only or seen["signs"] or not bare else (word in everyday, seen["lead"])
            self._group[token] = groups.setdefault(kind, len(groups))
            self.is_blank[token] = not bare
            self._ends_a_string[token] = bare[:1] in (b'"', b"'") and len(bare) > 1
            if seen["lead"][:1] == b"\n" and not seen["tail"]:
                self._indentation[token] = len(seen["lead"]) - 1

    def largest_of_groups(self, tokens: NDArray[np.int64], keys: _Floats) -> NDArray[np.int64]:
        """The places of the tokens with the largest key of each group.

        Everyday words are a group, and so are numbers; a keyword or a sign is one alone.
        """
        of_token = self._group[tokens]
        largest = np.full(int(of_token.max()) + 1, -np.inf)
        np.maximum.at(largest, of_token, keys)
        return np.flatnonzero(keys == largest[of_token])

    def weights(self, tokens: NDArray[np.int64], text: bytes) -> _Floats:
        """How well tokens go on with a text: positive.

        Args:
            tokens: ids.
            text: what stands before them.
        """
        last = _DOT if text.endswith(b"::") else _kind(text[-1]) if text else _BLANK
        first, lead = self._first[tokens], self._lead[tokens]
        weights = self._alone[tokens] * _JOINS[last, lead, first]
        depth = sum(map(text.count, (b"{", b"(", b"["))) - sum(map(text.count, (b"}", b")", b"]")))
        line = text[text.rfind(b"\n") + 1 :]
        if text and not line.strip():
            # At the begin of a line: a bracket that closes stands where its line began.
            inside, outside = len(line) == 4 * depth, len(line) == 4 * (depth - 1)
            weights *= np.where(first == _CLOSE, 1.0 if outside else 0.01, 1.0 if inside or not outside else 0.01)
        elif text[-1:] in (b"{", b";") or (text[-1:] in (b"}", b",") and (depth == 0 or _is_upright(text))):
            indentation = self._indentation[tokens]
            back = text[-1:] != b"{" and depth > 0
            fits = (indentation == 4 * depth) | ((indentation == 4 * (depth - 1)) & back)
            weights[(lead == _LINE) & fits] = 1.0
        if last != _WORD:
            weights[self._ends_a_string[tokens]] *= 0.02
        for quote in b"\"'":
            if line.count(quote) % 2 == 1:  # in a string, as it seems
                weights[(first != _WORD) & ((self._mark[tokens] != quote) | (lead != _NO_BLANK))] *= 0.02
                break
        return np.asarray(weights, np.float64)


def _is_upright(text: bytes) -> bool:
    """Whether the innermost open bracket of a text ends its line, so that what it holds stands on lines of its own."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] in b")]}") - (text[i] in b"([{")
        if depth < 0:
            return text[i + 1 : i + 2] == b"\n"
    return False


def _alone(seen: re.Match[bytes], known: set[bytes]) -> float:
    """How good a token is, whatever stands before it."""
    if (word := seen["word"]) is not None:
        if word.lower() in known:
            good = 1.0 if word.islower() else 0.003
        else:
            good = 0.2 if len(word) == 1 and word.islower() else 1e-6 if word.islower() else 1e-8
    elif (signs := seen["signs"]) is not None:
        good = 1.0 if len(signs) == 1 else 0.3 if signs in _USUAL_SIGNS else 0.02
        good *= (0.3 if signs in known else 0.02) if _RARE_SIGNS & set(signs) else 1.0
        good *= 0.01 if signs[:2] in (b"//", b"/*") else 1.0  # comments, which are not always ignored: Go's end statements
    else:
        good = 0.7 if seen["digits"] else 0.01 if seen["tail"] and seen["lead"] else 1.0
    return good * (0.03 if seen["tail"] else 1.0)


def _joins() -> NDArray[np.float64]:
    """How well a token stands behind a text, by the kind of the text's last byte, the token's lead, the kind of its first sign."""
    joins = np.full((_KINDS, 3, _KINDS), 0.001)  # a line may end anywhere
    qualities = {"g": (1.0, 0.02), "b": (0.02, 1.0), "e": (1.0, 1.0), "r": (0.004, 0.004)}
    for last, row in enumerate(_BORDERS.split()):
        for first, border in enumerate(row):
            joins[last, _NO_BLANK, first] = qualities[border][0]
            joins[last, _ONE_BLANK, first] = qualities[border][1]
    joins[_WORD, _NO_BLANK, _WORD] = 1e-4  # two words would become one
    joins[:, :, _BLANK] = 0.001
    joins[_BLANK, :, _BLANK] = joins[_BLANK, _ONE_BLANK:] = 0.0002
    joins[[_SEPARATOR, _OPERATOR], _ONE_BLANK, _BLANK] = 0.3  # many vocabularies have no token of a blank and a digit
    return joins


def words_of(metadata: Mapping[str, Any]) -> frozenset[str]:
    """The words of a grammar's terminals, in lower case, and those that are signs."""
    words: set[str] = set()
    for terminal in metadata["grammar"]["terminals"] if "grammar" in metadata else ():
        text, pattern = terminal["text"], terminal["pattern"]
        if text and not re.search("[a-z0-9 ]", text.lower()):
            words.add(text)
        words.update(re.findall("[a-z]{2,}" if text else r"(?<![a-z0-9\\])[a-z]{3,}", (text or pattern).lower()))
    return frozenset(words)


_JOINS = _joins()
