"""Tokenizer files for tests, made here, so that nothing is downloaded."""

import json
from collections.abc import Iterable
from pathlib import Path

from psc.vocabulary.spelling import byte_level_alphabet


def write_tokenizer(path: Path, pieces: Iterable[bytes]) -> Path:
    """A tokenizer.json in byte-level spelling: every byte, the pieces, then <|endoftext|>, which stops."""
    spelling = {byte: character for character, byte in byte_level_alphabet().items()}
    every = dict.fromkeys([*(bytes([b]) for b in range(256)), *pieces])
    vocab = {"".join(spelling[b] for b in piece): i for i, piece in enumerate(every)}
    stop = {"id": len(every), "content": "<|endoftext|>", "special": True, "normalized": False}
    layout = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": vocab, "merges": [], "byte_fallback": False}
    path.write_text(json.dumps({"added_tokens": [stop], "pre_tokenizer": layout, "decoder": layout, "model": model}))
    return path
