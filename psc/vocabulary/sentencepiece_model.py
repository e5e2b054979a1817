"""Reads SentencePiece's `.model` files with a small protobuf reader of its own, so that nothing need be installed.

The message `ModelProto` has the pieces as field 1, each `{1: piece, 2: score, 3: type}`; the trainer's options as field
2, of which field 47 names the end-of-sentence piece; the normalizer as field 3, of which field 3 says whether a space goes
before the text; a denormalizer as field 5. Types: 1 normal, 2 unknown, 3 control,
4 user-defined, 5 unused, 6 byte. The bytes of a piece are those that SentencePiece's decoder appends for it: U+2581
becomes a space, a byte piece `<0xHH>` its byte; unknown and control pieces are special.

The decoder also drops the space at the very start of a text (it undoes the "dummy prefix"). That belongs to the text's
edge and not to the piece, and is left out.

Cost: linear, about 2 microseconds a piece.

Source: google/sentencepiece, `src/sentencepiece_model.proto`, `SentencePieceProcessor::Decode`; the encoding guide of
protobuf.
"""

import re
from collections.abc import Iterator
from typing import Final

from psc.errors import TokenizerError
from psc.vocabulary.reading import Vocabulary, place_tokens
from psc.vocabulary.token_table import VocabType

_UNKNOWN, _CONTROL, _BYTE = 2, 3, 6
_TYPES: Final = range(1, 7)
_SPACE: Final = "\u2581".encode()
_BYTE_PIECE: Final = re.compile(rb"<0x([0-9A-Fa-f]{2})>")


class _Malformed(Exception):
    """The bytes are not the protobuf message that was expected."""


def read_sentencepiece_model(content: bytes, origin: str) -> Vocabulary:
    """Read a serialized `ModelProto`.

    Args:
        content: the file.
        origin: the file, for messages.

    Raises:
        TokenizerError: the bytes are not such a message, or its pieces contradict each other.
    """
    try:
        pieces, eos_piece, dummy_prefix = _read_model(content)
    except _Malformed as error:
        raise TokenizerError(
            f"{origin}: not a SentencePiece model, or a truncated one ({error}); download the file again"
        ) from error
    if pieces is None:
        raise TokenizerError(
            f"{origin}: the model rewrites its output (denormalizer_spec), so tokens do not stand for fixed bytes; not supported"
        )
    if len({piece for piece, _ in pieces}) != len(pieces):
        raise TokenizerError(f"{origin}: a piece occurs twice; the file is damaged")
    texts: list[bytes] = []
    special: dict[int, str] = {}
    stop: list[int] = []
    for token_id, (piece, kind) in enumerate(pieces):
        if kind in (_UNKNOWN, _CONTROL):
            special[token_id] = piece.decode("utf-8", "replace")
            if kind == _CONTROL and piece == eos_piece:
                stop.append(token_id)
            texts.append(b"")
        elif kind == _BYTE:
            match = _BYTE_PIECE.fullmatch(piece)
            if match is None:
                raise TokenizerError(f"{origin}: piece {token_id} is a byte but spelt {piece!r}; the file is damaged")
            texts.append(bytes((int(match[1], 16),)))
        else:
            texts.append(piece.replace(_SPACE, b" "))
    tokens = place_tokens(range(len(texts)), texts, origin)
    return Vocabulary(tokens, special, tuple(stop), VocabType.BYTE_FALLBACK, dummy_prefix)


def _read_model(content: bytes) -> tuple[list[tuple[bytes, int]] | None, bytes, bool]:
    """The pieces with their types (None if there is a denormalizer), the end-of-sentence piece, whether a space is put before."""
    pieces: list[tuple[bytes, int]] = []
    eos_piece = b"</s>"
    denormalizes = False
    dummy_prefix = True
    seen: set[int] = set()
    for field, value in _fields(content):
        seen.add(field)
        if field == 1:
            pieces.append(_read_piece(_bytes(value)))
        elif field == 2:
            for option, setting in _fields(_bytes(value)):
                if option == 47:
                    eos_piece = _bytes(setting)
        elif field == 3:
            for option, setting in _fields(_bytes(value)):
                if option == 3:
                    dummy_prefix = bool(setting)
        elif field == 5:  # its field 2 is the table of rewritings; an empty one does nothing
            denormalizes = any(option == 2 and setting for option, setting in _fields(_bytes(value)))
    if not {1, 2, 3} <= seen:  # cut between two fields, the rest is still a message
        raise _Malformed("pieces, trainer_spec or normalizer_spec missing")
    return None if denormalizes else pieces, eos_piece, dummy_prefix


def _read_piece(message: bytes) -> tuple[bytes, int]:
    piece, kind = None, 1
    for field, value in _fields(message):
        if field == 1:
            piece = _bytes(value)
        elif field == 3:
            if not isinstance(value, int) or value not in _TYPES:
                raise _Malformed(f"piece of type {value!r}")
            kind = value
    if not piece:
        raise _Malformed("a piece without text")
    return piece, kind


def _bytes(value: bytes | int) -> bytes:
    if not isinstance(value, bytes):
        raise _Malformed("a number where bytes were expected")
    return value


def _fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Field number and value of each field of a message; fixed-width values come as bytes."""
    position, end = 0, len(message)
    while position < end:
        tag, position = _varint(message, position)
        field, wire_type = tag >> 3, tag & 7
        value: bytes | int
        if wire_type == 0:
            value, position = _varint(message, position)
        else:
            if wire_type == 2:
                length, position = _varint(message, position)
            elif wire_type in (1, 5):
                length = 8 if wire_type == 1 else 4
            else:
                raise _Malformed(f"wire type {wire_type} at byte {position}")
            if position + length > end:
                raise _Malformed(f"{length} bytes announced at byte {position}, {end - position} left")
            value = message[position : position + length]
            position += length
        if field == 0:
            raise _Malformed(f"field number 0 at byte {position}")
        yield field, value


def _varint(message: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if position >= len(message) or shift > 63:
            raise _Malformed(f"unfinished number at byte {position}")
        byte = message[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7
