"""Texts that masks are measured on, and texts as token ids.

Masks are measured where a model would need them, so a text is tokenized as the model's own tokenizer does it: by the `tokenizers`
library for a tokenizer.json, by tiktoken for rank files and Tekken. Where neither reads the format, the longest token that matches
is taken at each position; that is no model's tokenization, and the reports say so. The bytes of the tokens must spell the text, or
it is left out (a normalizer changed it).

Cost: tokenizing takes about 1 s a MB.
"""

from __future__ import annotations

import json
import random
import sysconfig
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from psc.corpus.texts import Text, read_texts, source_files
from psc.vocabulary.file_format import read_bytes
from psc.vocabulary.hub_cache import find_snapshot
from psc.vocabulary.model_folder import find_tokenizer
from psc.vocabulary.names import find_name
from psc.vocabulary.tokenizer_info import TokenizerInfo

Encode = Callable[[bytes], list[int]]

_LEAST_BYTES = 200
"""Shorter files have no more than a head."""

# How Llama 3 and Qwen cut a text before merging; a rank file does not say. Qwen takes digits one by one.
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def json_documents(n: int, seed: int) -> list[Text]:
    """Generate `n` JSON documents of some 1 to 20 KB: records, nesting, escapes, every kind of number, two layouts."""
    rng = random.Random(seed)
    words = ["alpha", "beta", "order", "customer", "shipping", "address", "unit", "price", "état", "数量", "naïve"]
    endings = ["", "", "\n", '"', "\\", "\t", "\u20ac", "."]

    def text() -> str:
        return " ".join(rng.choices(words, k=rng.randint(1, 8))) + rng.choice(endings)

    def value(depth: int) -> Any:
        kind = rng.randrange(9 if depth else 6)
        if kind <= 1:
            return text()
        if kind <= 3:
            return rng.choice([rng.randint(-10, 10**6), round(rng.uniform(-1e3, 1e3), 3), 1e-9 * rng.random(), 0])
        if kind == 4:
            return rng.choice([True, False, None])
        if kind == 5:
            return rng.choice(["", [], {}])
        if kind == 6:
            return [value(depth - 1) for _ in range(rng.randint(1, 8))]
        return {f"{rng.choice(words)}_{i}": value(depth - 1) for i in range(rng.randint(1, 8))}

    documents = []
    for i in range(n):
        records = [{"id": k, "name": text(), "data": value(4)} for k in range(rng.randint(5, 30))]
        layout: dict[str, Any] = rng.choice([{"indent": 2}, {"separators": (",", ":")}, {}])
        content = json.dumps(records, ensure_ascii=rng.random() < 0.5, **layout)
        documents.append(Text(f"generated-{i}.json", content.encode()))
    return documents


def documents_below(paths: Sequence[Path], suffix: str, *, max_bytes: int, split: str | None = None) -> list[Text]:
    """The files named, and those with the suffix in the folders named, in order. `split`: cut each into texts after it."""
    texts = read_texts(source_files(paths, suffix), split=split, max_bytes=max_bytes)
    return [text for text in texts if len(text.data) >= _LEAST_BYTES]


def python_documents(n: int, seed: int, max_bytes: int) -> list[Text]:
    """`n` modules of the standard library that runs this."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    random.Random(seed).shuffle(files)
    fitting = (file for file in files if _LEAST_BYTES <= file.stat().st_size <= max_bytes)
    return [Text(file.name, file.read_bytes()) for file in islice(fitting, n)]


def encoder(spec: str, info: TokenizerInfo) -> tuple[str, Encode]:
    """How to tokenize for `spec` (as `psc.load_tokenizer` takes it): what does it, and the function."""
    file = _tokenizer_file(spec)
    content = read_bytes(file)
    if content.lstrip()[:1] == b"{":
        document = json.loads(content)
        if "model" not in document:
            return "tiktoken", _with_tiktoken(info, str(document["config"]["pattern"]))
        encode = _with_tokenizers(content)
        if encode is not None:
            return "tokenizers", encode
    elif content[:1] != b"\x0a":  # a rank file, since psc could read it; SentencePiece begins with the tag of a field
        digits = "" if "qwen" in str(file).lower() else "{1,3}"
        return "tiktoken", _with_tiktoken(info, _WORDS.replace("DIGITS", digits))
    return "longest match", _longest_match(info)


def _tokenizer_file(spec: str) -> Path:
    entry = find_name(spec)
    if entry is not None:
        assert entry.path is not None  # psc has loaded it
        return entry.path
    path = Path(spec).expanduser()
    if not path.exists():
        path = find_snapshot(spec)
    return find_tokenizer(path) if path.is_dir() else path


def _with_tokenizers(content: bytes) -> Encode | None:
    """None where the library does not read what psc does."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(content.decode())
    except Exception:  # it has no other class
        return None
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def encode(data: bytes) -> list[int]:
        return list(tokenizer.encode(data.decode(), add_special_tokens=False).ids)

    return encode


def _with_tiktoken(info: TokenizerInfo, pattern: str) -> Encode:
    import tiktoken

    ids = [int(i) for i in info.text_token_ids]
    first = ids[0]  # Tekken puts its special tokens before the ranks
    ranks = {info.token_bytes(i): i - first for i in ids}
    encoding = tiktoken.Encoding("benchmark", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def encode(data: bytes) -> list[int]:
        return [i + first for i in encoding.encode_ordinary(data.decode())]

    return encode


def _longest_match(info: TokenizerInfo) -> Encode:
    tokens = {info.token_bytes(int(i)): int(i) for i in info.text_token_ids}
    longest = max(map(len, tokens))

    def encode(data: bytes) -> list[int]:
        ids, at = [], 0
        while at < len(data):
            length = next((n for n in range(min(longest, len(data) - at), 0, -1) if data[at : at + n] in tokens), 0)
            if not length:
                raise ValueError(f"no token begins with byte {data[at]:#04x}")
            ids.append(tokens[data[at : at + length]])
            at += length
        return ids

    return encode


def tokenize(documents: Sequence[Text], info: TokenizerInfo, encode: Encode) -> tuple[dict[str, list[int]], int]:
    """The token ids of each document by its name, and how many were left out because the tokens do not spell them."""
    tokenized: dict[str, list[int]] = {}
    for document in documents:
        try:
            ids = encode(document.data)
        except ValueError:  # not UTF-8, or no token
            continue
        if b"".join(map(info.token_bytes, ids)) == document.data:
            tokenized[document.name] = ids
    return tokenized, len(documents) - len(tokenized)
