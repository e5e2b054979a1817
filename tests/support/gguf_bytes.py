"""GGUF files of keys and values, written by hand: with any damage, and without the package gguf."""

import struct
from collections.abc import Mapping, Sequence

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def string(text: str | bytes) -> bytes:
    content = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(content)) + content


def value(given: object) -> bytes:
    """A type and a value: an integer, a truth value, a text, or a list of integers or texts."""
    if isinstance(given, bool):
        return struct.pack("<IB", BOOL, given)
    if isinstance(given, int):
        return struct.pack("<II", U32, given)
    if isinstance(given, (str, bytes)):
        return struct.pack("<I", STRING) + string(given)
    assert isinstance(given, list)
    if given and all(isinstance(each, int) for each in given):
        return struct.pack(f"<IIQ{len(given)}i", ARRAY, I32, len(given), *given)
    return struct.pack("<IIQ", ARRAY, STRING, len(given)) + b"".join(map(string, given))


def gguf_bytes(pairs: Mapping[str, object], *, version: int = 3) -> bytes:
    """A file without tensors."""
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs))
    return head + b"".join(string(key) + value(given) for key, given in pairs.items())


def vocabulary_pairs(tokens: Sequence[tuple[str | bytes, int]], *, model: str = "llama", **more: object) -> dict[str, object]:
    """The pairs of a vocabulary, among others that models have."""
    return {
        "general.architecture": "llama",
        "general.file_type": 7,
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.tokens": [token for token, _ in tokens],
        "tokenizer.ggml.token_type": [kind for _, kind in tokens],
        "tokenizer.ggml.merges": ["a b", "b c"],
        **{f"tokenizer.ggml.{key}": given for key, given in more.items()},
        "tokenizer.chat_template": "{{ messages }}",
    }
