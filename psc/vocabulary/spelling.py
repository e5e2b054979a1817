"""How vocabularies spell bytes as text: byte-level, and byte fallback.

* byte-level (GPT-2, Llama 3, Qwen): each byte is written as one printable character; a token with a character outside
  that alphabet (an added token with a space, say) stands for its own UTF-8;
* byte fallback (Llama 2, Gemma, Mistral): U+2581 stands for a space, and a token `<0xHH>` for a byte.

Both are total: every string has exactly one reading.

Cost: linear; byte-level tokens are translated all at once.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

METASPACE: Final = "\u2581"
BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def byte_level_alphabet() -> dict[str, int]:
    """GPT-2's character for each byte, inverted: printable Latin-1 stands for itself, the rest for U+0100 onwards."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_NOT_A_BYTE: Final = 256
_BYTE_OF: Final = np.full(0x180, _NOT_A_BYTE, dtype=np.uint16)
for _character, _byte in byte_level_alphabet().items():
    _BYTE_OF[ord(_character)] = _byte


def byte_level_bytes(contents: Sequence[str]) -> list[bytes]:
    """The bytes of byte-level tokens.

    Raises:
        UnicodeEncodeError: a token holds a surrogate.
    """
    # All at once: one character is one byte, so lengths and offsets carry over.
    characters = np.frombuffer("".join(contents).encode("utf-32-le"), dtype=np.uint32)
    translated = _BYTE_OF[np.minimum(characters, len(_BYTE_OF) - 1)]
    whole = translated.astype(np.uint8).tobytes()
    ends = np.cumsum(np.fromiter(map(len, contents), dtype=np.int64, count=len(contents)))
    bounds = [0, *ends.tolist()]
    texts = [whole[begin:end] for begin, end in pairwise(bounds)]
    outside = np.flatnonzero(translated == _NOT_A_BYTE)
    for token in np.unique(np.searchsorted(ends, outside, side="right")).tolist():
        texts[token] = contents[token].encode()
    return texts


def replaced_bytes(contents: Sequence[str], replacements: Sequence[tuple[str, str]], *, byte_fallback: bool) -> list[bytes]:
    """The bytes of tokens in which some texts stand for others, and perhaps `<0xHH>` for a byte.

    Raises:
        UnicodeEncodeError: a token holds a surrogate.
    """
    replaced = contents
    for pattern, content in replacements:
        replaced = [token.replace(pattern, content) for token in replaced]
    texts = [token.encode() for token in replaced]
    if byte_fallback:
        for token, text in enumerate(texts):
            if len(text) == 6 and (match := BYTE_TOKEN.fullmatch(replaced[token])):
                texts[token] = bytes((int(match[1], 16),))
    return texts
