"""The spelling of added tokens that a `tokenizer.json` normalizes, where its decoder is byte-level.

The `tokenizers` library keeps an added token with ``normalized: true`` as its normalizer writes it, and decodes that. So with the
normalizer ByteLevel (GPT-2's alphabet before the model), ``naïve`` is kept as ``naÃ¯ve`` and decoded to itself; without that
normalizer it is letters of the alphabet, and decodes to bytes that are no UTF-8.

Cost: nothing where no added token is normalized.
Source: `AddedVocabulary` of tokenizers 0.23, since its pull request 1995.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, Final

from psc.errors import TokenizerError
from psc.support.readable import shortened
from psc.vocabulary.spelling import byte_level_alphabet

_FORMS: Final = ("NFC", "NFD", "NFKC", "NFKD")


def normalized_contents(
    ids: Sequence[int], contents: Sequence[str], document: Mapping[str, Any], special: Container[int], origin: str
) -> list[str]:
    """The spellings of all tokens, those of added ones that are normalized as the library keeps them.

    Args:
        ids: of the tokens.
        contents: their spellings, as the file has them.
        document: the parsed file, whose added tokens were checked.
        special: ids of tokens that are no text.
        origin: the file, for messages.

    Raises:
        TokenizerError: an added token is normalized by a step that psc does not know.
    """
    found = list(contents)
    steps = list(_steps(document.get("normalizer")))
    normalized = {
        entry["id"]: entry["content"]
        for entry in document.get("added_tokens") or ()
        if entry.get("normalized", not entry.get("special", False)) and entry["id"] not in special
    }
    if not steps or not normalized:
        return found
    position = {token_id: i for i, token_id in enumerate(ids)}
    for token_id, content in normalized.items():
        written = content
        for step in steps:
            known = _known_step(step)
            if known is None:
                raise TokenizerError(
                    f"{origin}: added token {shortened(content)!r} is normalized by {step.get('type')!r}, which psc does not do; "
                    "save it with normalized=False"
                )
            written = known(written)
        found[position[token_id]] = written
    return found


def _steps(normalizer: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(normalizer, dict):
        return
    if normalizer.get("type") == "Sequence":
        for step in normalizer.get("normalizers") or ():
            yield from _steps(step)
    else:
        yield normalizer


def _known_step(step: Mapping[str, Any]) -> Callable[[str], str] | None:
    kind = step.get("type")
    if kind in _FORMS:
        return lambda text: unicodedata.normalize(kind, text)
    if kind == "ByteLevel":
        return _byte_level
    if kind == "Lowercase":
        return lambda text: "".join([c.lower() for c in text])
    if kind == "Prepend" and isinstance(step.get("prepend"), str):
        return lambda text: step["prepend"] + text if text else text
    if kind == "Replace" and isinstance(step.get("pattern"), dict) and isinstance(step["pattern"].get("String"), str):
        return lambda text: text.replace(step["pattern"]["String"], str(step.get("content", "")))
    return None


def _byte_level(text: str) -> str:
    return "".join([_LETTERS[byte] for byte in text.encode()])


_LETTERS: Final = {byte: letter for letter, byte in byte_level_alphabet().items()}
