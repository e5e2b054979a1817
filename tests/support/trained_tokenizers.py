"""Small tokenizers of every make, trained here in milliseconds, and the sentences of a few languages that they are to cut."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

tokenizers = pytest.importorskip("tokenizers")
from psc.vocabulary.tokenizer_info import TokenizerInfo  # noqa: E402

_CORPUS = [
    json.dumps(
        {"name": name, "age": 34, "city": city, "likes": ["old maps", "sailing", "1234567"], "ok": True, "é": "naïve 漢字"},
        **layout,
    )
    for name, city in (("Maria", "Lisbon"), ("Ana's", "São Paulo"), ("don't", "the city"))
    for layout in ({}, {"indent": 4, "ensure_ascii": False}, {"separators": (",", ":")})
] + [
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}\n</tool_call>\n',
    "The name of the city isn't known; they'll say so. 12 + 345 = 357\n\n\n   def name(city):\n        return city['name']\n",
]
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_FROM_THE_RIGHT = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))|" + _GPT2


def _byte_level(pattern: str | None, **model: Any) -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE(**model))
    pre = tokenizers.pre_tokenizers
    split = [] if pattern is None else [pre.Split(tokenizers.Regex(pattern), "isolated")]
    made.pre_tokenizer = pre.Sequence([*split, pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre.ByteLevel.alphabet(), special_tokens=["<end>"], show_progress=False
    )
    made.train_from_iterator(_CORPUS * 2, trainer)
    return made


def _with_unreachable_tokens() -> Any:
    """Takes a piece whole where it is in the vocabulary, though no merges make it, as Llama 3 does."""
    made = _byte_level(_LLAMA3)
    described = json.loads(made.to_str())
    vocab = described["model"]["vocab"]
    for text in ("nam", "cit", '{"', '":', 'Ġ"', "}}", "uni", "celsiu", "tool", "_call", "geth"):
        vocab.setdefault(text, len(vocab))
    described["model"]["ignore_merges"] = True
    return tokenizers.Tokenizer.from_str(json.dumps(described))


def _normalized() -> Any:
    made = _byte_level(_LLAMA3)
    made.normalizer = tokenizers.normalizers.NFC()
    return made


def _sentencepiece(prefix: bool) -> Any:
    """Llama 2 and Gemma: spaces are U+2581, the text is one piece, and missing characters are bytes."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    rules = tokenizers.normalizers
    made.normalizer = rules.Sequence([*([rules.Prepend("\u2581")] if prefix else []), rules.Replace(" ", "\u2581")])
    decoders = tokenizers.decoders
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<unk>", "<end>", *(f"<0x{b:02X}>" for b in range(256))],
        show_progress=False,
        max_token_length=12,
    )
    made.train_from_iterator([f"\u2581{word}" for text in _CORPUS for word in text.split(" ")], trainer)
    described = json.loads(made.to_str())
    described["added_tokens"] = [token for token in described["added_tokens"] if not token["content"].startswith("<0x")]
    return tokenizers.Tokenizer.from_str(json.dumps(described))


def _unigram() -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=500,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<end>"],
        unk_token="<end>",
        show_progress=False,
    )
    made.train_from_iterator(_CORPUS * 4, trainer)
    return made


def _with_added_text() -> Any:
    """Tokens that are cut out of the text before all else, as Qwen's `<tool_call>`."""
    made = _byte_level(_GPT2)
    made.add_tokens(
        [tokenizers.AddedToken(text, special=False, normalized=False) for text in ("<tool_call>", "</tool_call>", "\n\n")]
    )
    return made


MAKES: dict[str, Callable[[], Any]] = {
    "GPT-2": lambda: _byte_level(_GPT2),
    "Llama 3": lambda: _byte_level(_LLAMA3),
    "one piece": lambda: _byte_level(None),
    "digits from the right": lambda: _byte_level(_FROM_THE_RIGHT),
    "unreachable tokens": _with_unreachable_tokens,
    "NFC": _normalized,
    "Llama 2": lambda: _sentencepiece(True),
    "Gemma": lambda: _sentencepiece(False),
    "unigram": _unigram,
    "added text": _with_added_text,
}


@cache
def trained(make: str) -> tuple[Any, TokenizerInfo]:
    """A tokenizer of the library, and what psc makes of it. The token `<end>` stops."""
    made = MAKES[make]()
    return made, TokenizerInfo.from_huggingface(made, stop_token_ids=made.token_to_id("<end>"))


def tool_call(schema: dict[str, Any]) -> dict[str, Any]:
    """A structural tag of one call, as the corpus has it."""
    begin = '<tool_call>\n{"name": "get_weather", "arguments": '
    content = {"type": "json_schema", "json_schema": schema}
    return {"type": "structural_tag", "format": {"type": "tag", "begin": begin, "content": content, "end": "}\n</tool_call>"}}
