"""Reads `tokenizer.json`, the format of the Hugging Face `tokenizers` library.

The bytes of a token are what the file's `decoder` makes of it, worked out for the token as a byte string and not by
decoding it, which would turn every token that is not valid UTF-8 alone into U+FFFD. Two families are read, byte-level
(GPT-2, Llama 3, Qwen) and SentencePiece-like (Llama 2, Gemma, Mistral); `spelling` says what they are.

The library runs added tokens through the same decoder, and so do we: what counts is the text that an engine gets.
What decoders do only at the edge of a text (dropping the first space) is not part of any token and is left out.

Cost: `json.loads` of the whole file (half of it), then linear; byte-level tokens are translated all at once.

Source: the `tokenizers` library's decoders (`ByteLevel`, `ByteFallback`, `Replace`, `Metaspace`, `Strip`, `Fuse`) and
`AddedVocabulary::add_tokens`, which gives ids to added tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psc.errors import TokenizerError
from psc.vocabulary.normalized import normalized_contents
from psc.vocabulary.reading import Vocabulary, check_id, place_tokens
from psc.vocabulary.spelling import METASPACE, byte_level_bytes, replaced_bytes
from psc.vocabulary.token_table import VocabType

_MODELS: Final = ("BPE", "Unigram")


@dataclass(frozen=True)
class Decoding:
    """A file's decoder, reduced to its effect on one token."""

    byte_level: bool = False
    byte_fallback: bool = False
    replacements: tuple[tuple[str, str], ...] = ()


def read_huggingface_json(document: Mapping[str, Any], origin: str) -> Vocabulary:
    """Read a parsed `tokenizer.json`.

    Args:
        document: the parsed file.
        origin: the file, for messages.

    Raises:
        TokenizerError: the model or the decoder is of a kind that is not supported, or the file contradicts itself.
    """
    try:
        model = _mapping(document.get("model"), "model", origin)
        vocab, unknown = _model_vocab(model, origin)
        decoding = _decoding(document, origin)
        added = _added_tokens(document, origin)
        special = _special_tokens(vocab, len(model["vocab"]), unknown, added, origin)
        ids, contents = list(vocab.values()), list(vocab)
        for content, token_id, _ in added:
            if content not in vocab:
                ids.append(token_id)
                contents.append(content)
        if decoding.byte_level:
            texts = byte_level_bytes(normalized_contents(ids, contents, document, special, origin))
        else:
            texts = replaced_bytes(contents, decoding.replacements, byte_fallback=decoding.byte_fallback)
    except UnicodeEncodeError as error:
        raise TokenizerError(f"{origin}: a token is not valid Unicode ({error.reason}); the file is damaged") from error
    tokens = place_tokens(ids, texts, origin)
    for token_id in special:
        tokens[token_id] = b""
    vocab_type, adds_prefix_space = spelling_of(document, origin)
    return Vocabulary(tokens, special, vocab_type=vocab_type, add_prefix_space=adds_prefix_space)


def spelling_of(document: Mapping[str, Any], origin: str) -> tuple[VocabType, bool]:
    """How a parsed `tokenizer.json` spells bytes, and whether it puts a space before a text; a file that does not say is raw."""
    try:
        decoding = _decoding(document, origin)
    except TokenizerError:
        return VocabType.RAW, _adds_prefix_space(document, origin)
    vocab_type = VocabType.BYTE_LEVEL if decoding.byte_level else VocabType.BYTE_FALLBACK
    return vocab_type, _adds_prefix_space(document, origin)


def _mapping(value: object, key: str, origin: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TokenizerError(f"{origin}: {key!r} is {type(value).__name__} where an object was expected; this is no tokenizer.json")
    return value


def _model_vocab(model: Mapping[str, Any], origin: str) -> tuple[dict[str, int], str | None]:
    """The model's own tokens, and the name of its unknown token."""
    vocab = model.get("vocab")
    kind = model.get("type")
    if kind is None:  # files written before the type was stored
        kind = "Unigram" if isinstance(vocab, list) else "BPE" if "merges" in model else "WordPiece or WordLevel"
    if kind not in _MODELS:
        raise TokenizerError(
            f"{origin}: the model is {kind!r}; psc reads byte-level and byte-fallback {' and '.join(_MODELS)} models. "
            "Its tokens do not spell out the spaces between words, so tokens do not determine the text"
        )
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            raise TokenizerError(
                f"{origin}: the model has {key}={model[key]!r}, which hides the spaces between words; not supported"
            )
    if kind == "Unigram":
        if not isinstance(vocab, list) or not all(
            isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) for entry in vocab
        ):
            raise TokenizerError(f"{origin}: a Unigram 'vocab' must be a list of [token, score]; the file is damaged")
        pieces = {entry[0]: token_id for token_id, entry in enumerate(vocab)}
        unk_id = model.get("unk_id")
        return pieces, vocab[unk_id][0] if isinstance(unk_id, int) and 0 <= unk_id < len(vocab) else None
    if not isinstance(vocab, dict):
        raise TokenizerError(f"{origin}: a BPE 'vocab' must be an object of token: id; the file is damaged")
    if not set(map(type, vocab.values())) <= {int}:
        raise TokenizerError(f"{origin}: an id in 'vocab' is not an integer; the file is damaged")
    return dict(vocab), model.get("unk_token")


def _added_tokens(document: Mapping[str, Any], origin: str) -> list[tuple[str, int, bool]]:
    entries = document.get("added_tokens") or []
    if not isinstance(entries, list):
        raise TokenizerError(f"{origin}: 'added_tokens' must be a list; the file is damaged")
    added = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("content"), str):
            raise TokenizerError(f"{origin}: an added token has no 'content': {str(entry)[:80]}; the file is damaged")
        token_id = check_id(entry.get("id"), f"{origin}: added token {entry['content']!r}")
        added.append((entry["content"], token_id, bool(entry.get("special", False))))
    return added


def _special_tokens(
    vocab: Mapping[str, int], size: int, unknown: str | None, added: Sequence[tuple[str, int, bool]], origin: str
) -> dict[int, str]:
    """Id -> name of the special tokens; checks that the ids in the file are those that the library will use.

    The library ignores the ids of added tokens in the file: a content that the model has keeps the model's id, others
    get the next free one. A file that says otherwise (a gap, a renamed token) means other ids than the engine's.
    """
    special: dict[int, str] = {}
    given: dict[str, int] = {}
    following = size
    for content, token_id, is_special in added:
        if not content:
            continue
        if content in vocab:
            actual = vocab[content]
        elif content in given:
            actual = given[content]
        else:
            actual = following
        given[content] = actual
        following = max(following, actual + 1)
        if actual != token_id:
            raise TokenizerError(
                f"{origin}: added token {content!r} has id {token_id} in the file, but the tokenizers library gives it "
                f"{actual}; save the tokenizer again with that library, so that file and engine agree"
            )
        if is_special:
            special[token_id] = content
    if isinstance(unknown, str) and unknown in vocab:
        special.setdefault(vocab[unknown], unknown)  # it stands for text that has no token, never for its own name
    return special


def _steps(component: object, key: str, origin: str) -> Iterator[Mapping[str, Any]]:
    """A decoder, pre-tokenizer or normalizer with its sequences flattened."""
    if component is None:
        return
    step = _mapping(component, key, origin)
    if step.get("type") == "Sequence":
        inner = next((step[name] for name in ("decoders", "pretokenizers", "normalizers") if name in step), None)
        if not isinstance(inner, list):
            raise TokenizerError(f"{origin}: a Sequence in {key!r} has no list of steps; the file is damaged")
        for part in inner:
            yield from _steps(part, key, origin)
    else:
        yield step


def _decoding(document: Mapping[str, Any], origin: str) -> Decoding:
    """Reduce the decoder to its effect on one token, or refuse it."""
    steps = list(_steps(document.get("decoder"), "decoder", origin))
    if not steps:
        return _decoding_without_decoder(document, origin)
    byte_level = byte_fallback = fused = False
    replacements: list[tuple[str, str]] = []
    for step in steps:
        kind = step.get("type")
        joined = byte_level or byte_fallback or fused
        if kind == "ByteLevel" and not joined:
            byte_level = True
        elif kind == "ByteFallback" and not joined:
            byte_fallback = True
        elif kind == "Fuse":
            fused = True
        elif kind == "Strip" and (fused or byte_level):
            pass  # at the edges of the whole text only
        elif kind == "Metaspace" and not joined:
            replacements.append((_text(step.get("replacement", METASPACE), "replacement", origin), " "))
        elif kind == "Replace" and not joined:
            pattern = _mapping(step.get("pattern"), "pattern", origin)
            if "String" not in pattern:
                raise TokenizerError(f"{origin}: the decoder replaces {dict(pattern)}; only strings are supported")
            replacements.append((_text(pattern["String"], "pattern", origin), _text(step.get("content"), "content", origin)))
        else:
            order = " -> ".join(str(each.get("type")) for each in steps)
            raise TokenizerError(
                f"{origin}: the decoder is {order}, and step {kind!r} is not supported there; psc reads ByteLevel, and "
                "Replace or Metaspace, then ByteFallback, then Fuse, then Strip"
            )
    if not byte_level and not byte_fallback and not replacements:
        order = " -> ".join(str(each.get("type")) for each in steps)
        raise TokenizerError(f"{origin}: the decoder is {order}, which does not say how tokens spell bytes and spaces")
    return Decoding(byte_level, byte_fallback, tuple(replacements))


def _decoding_without_decoder(document: Mapping[str, Any], origin: str) -> Decoding:
    before = [step for key in ("normalizer", "pre_tokenizer") for step in _steps(document.get(key), key, origin)]
    kinds = [step.get("type") for step in before]
    if "ByteLevel" in kinds:
        return Decoding(byte_level=True)
    for step in before:
        if step.get("type") == "Metaspace":
            return Decoding(replacements=((_text(step.get("replacement", METASPACE), "replacement", origin), " "),))
    raise TokenizerError(
        f"{origin}: there is no decoder, and neither ByteLevel nor Metaspace among the steps before the model "
        f"({', '.join(map(str, kinds)) or 'none'}), so nothing says how tokens spell bytes and spaces"
    )


def _adds_prefix_space(document: Mapping[str, Any], origin: str) -> bool:
    """Whether a space comes before the text: by a normalizer, or by the step that splits words."""
    for step in _steps(document.get("normalizer"), "normalizer", origin):
        if step.get("type") == "Prepend" and step.get("prepend") in (METASPACE, " "):
            return True
    for step in _steps(document.get("pre_tokenizer"), "pre_tokenizer", origin):
        if step.get("type") == "ByteLevel" and step.get("add_prefix_space", True):
            return True
        if step.get("type") == "Metaspace" and step.get("add_prefix_space", True):  # the older name of `prepend_scheme`
            return bool(step.get("prepend_scheme", "always") != "never")
    return False


def _text(value: object, key: str, origin: str) -> str:
    if not isinstance(value, str) or (not value and key != "content"):
        raise TokenizerError(f"{origin}: {key!r} of a decoder cannot be {value!r}; the file is damaged")
    return value
