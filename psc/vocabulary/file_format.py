"""Reads a tokenizer file of any format, recognized by content and not by name.

Names do not help: `tokenizer.model` is SentencePiece for Llama 2 and a tiktoken rank file for Llama 3, and both Tekken
and `tokenizer.json` end in `.json`. Each format has a plain first mark: an object with a `model`, an object with a
`config` and a list `vocab`, a line of base64 and a number, the tag of a protobuf field, ``GGUF``.
"""

import errno
import gc
import io
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from psc.errors import TokenizerError
from psc.support.limits import limit
from psc.support.regular_file import open_regular, read_regular
from psc.vocabulary.gguf_file import MAGIC as GGUF
from psc.vocabulary.gguf_vocabulary import read_gguf_vocabulary
from psc.vocabulary.huggingface_json import read_huggingface_json
from psc.vocabulary.reading import Vocabulary
from psc.vocabulary.sentencepiece_model import read_sentencepiece_model
from psc.vocabulary.tekken import read_tekken
from psc.vocabulary.tiktoken_ranks import read_tiktoken_ranks

FORMATS: Final = "tokenizer.json (.zst too), SentencePiece .model, tiktoken rank file, Tekken JSON, GGUF model"

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_SIZE_LIMIT: Final = limit("tokenizer_bytes")  # a few kilobytes of zstd can hold terabytes of zeros
_RANK_LINE: Final = re.compile(rb"\s*[A-Za-z0-9+/]+={0,2} \d+\s*(?:\n|\r|$)")
_OTHER_FILES: Final = (
    (b"version https://git-lfs.github.com/spec", "a Git LFS pointer, not the file itself; run `git lfs pull` there"),
    (b"PK\x03\x04", "a zip archive; give the tokenizer file itself"),
    (b"\x1f\x8b", "compressed with gzip; unpack it first"),
    (b"<", "HTML or XML (a download that went wrong?); download the file again"),
)


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked if it is zstd.

    Raises:
        TokenizerError: it cannot be read or unpacked, is no regular file, or is larger than 1 GiB.
    """
    try:
        content = read_regular(path, _SIZE_LIMIT)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise TokenizerError(f"{path}: larger than 1 GiB, so hardly a tokenizer; psc reads {FORMATS}") from None
        raise TokenizerError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not content.startswith(_ZSTD_MAGIC):
        return content
    import zstandard  # 15 ms that only compressed files need

    try:
        with zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True) as stream:
            unpacked = stream.read(_SIZE_LIMIT + 1)
    except zstandard.ZstdError as error:
        raise TokenizerError(f"{path}: damaged zstd file ({error}); download or compress it again") from error
    if len(unpacked) > _SIZE_LIMIT:
        raise TokenizerError(f"{path}: unpacks to more than 1 GiB, so hardly a tokenizer; psc reads {FORMATS}")
    return unpacked


def read_vocabulary(path: Path, special_tokens: Mapping[str, int] | None = None) -> tuple[Vocabulary, bool]:
    """The vocabulary of a file of any format, and whether the file is a whole model, which says all by itself.

    Raises:
        TokenizerError: as `read_bytes` and `parse`.
    """
    try:
        with open_regular(path) as stream:
            if stream.read(len(GGUF)) == GGUF:  # gigabytes, of which the beginning is read
                _refuse_special_tokens(special_tokens, str(path))
                stream.seek(0)
                return read_gguf_vocabulary(stream, os.fstat(stream.fileno()).st_size, str(path)), True
    except OSError as error:
        raise TokenizerError(f"{path}: cannot be read: {error.strerror or error}") from error
    return parse(read_bytes(path), str(path), special_tokens), False


def read_json(content: bytes, origin: str) -> Any:
    """Parse JSON.

    Raises:
        TokenizerError: it is not JSON, or not complete.
    """
    # A list per merge, half a million of them, makes the cycle collector run over all of them again and again: Gemma 3
    # takes 0.9 s with it and 0.2 s without. Parsing JSON makes no cycles.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise TokenizerError(
            f"{origin}:{error.lineno}:{error.colno}: damaged or truncated JSON ({error.msg}); download the file again"
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, endless nesting
        raise TokenizerError(f"{origin}: damaged JSON ({error}); download the file again") from error
    finally:
        if collecting:
            gc.enable()


def parse(content: bytes, origin: str, special_tokens: Mapping[str, int] | None = None) -> Vocabulary:
    """Read a tokenizer of any format.

    Args:
        content: the unpacked file.
        origin: the file, for messages.
        special_tokens: name -> id, for a tiktoken rank file; other formats carry their own.

    Raises:
        TokenizerError: psc does not read the format, or the file is damaged.
    """
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not content.strip():
        raise TokenizerError(f"{origin}: the file is empty; download it again")
    is_ranks = not start.startswith(b"{") and _RANK_LINE.match(start) is not None
    if not is_ranks:
        _refuse_special_tokens(special_tokens, origin)
    if content.startswith(GGUF):
        return read_gguf_vocabulary(io.BytesIO(content), len(content), origin)
    if start.startswith(b"{"):
        return _parse_json(content, origin)
    if is_ranks:
        return read_tiktoken_ranks(content, origin, special_tokens)
    for magic, what in _OTHER_FILES:
        if start.startswith(magic):
            raise TokenizerError(f"{origin}: this is {what}")
    if content.startswith(b"\x0a"):
        return read_sentencepiece_model(content, origin)
    raise TokenizerError(f"{origin}: the file begins with {content[:16]!r}, which is no tokenizer; psc reads {FORMATS}")


def _refuse_special_tokens(special_tokens: Mapping[str, int] | None, origin: str) -> None:
    if special_tokens:
        raise TokenizerError(f"{origin}: special_tokens= is for tiktoken rank files; this file carries its own")


def _parse_json(content: bytes, origin: str) -> Vocabulary:
    document = read_json(content, origin)
    if "model" in document:
        return read_huggingface_json(document, origin)
    if isinstance(document.get("config"), dict) and isinstance(document.get("vocab"), list):
        return read_tekken(document, origin)
    if document and all(isinstance(value, int) for value in document.values()):
        what = "a bare vocabulary (vocab.json), which does not say how tokens spell bytes"
    elif "tokenizer_class" in document or "model_type" in document or "eos_token_id" in document:
        what = "a configuration file"
    else:
        what = f"JSON with the keys {', '.join(list(document)[:6]) or '(none)'}"
    raise TokenizerError(f"{origin}: this is {what}; give the folder, or the tokenizer.json or tekken.json in it")
