"""The result of a reader of one tokenizer format, and the last step from there to `TokenizerInfo`.

Readers give bytes and names; the folder around the file (`model_folder`), the table of short names and the caller give
stop tokens and the width of the model's output layer. `finish` joins these, so that every format obeys the same order of
precedence:

* stop tokens: the caller's; else those of the folder's configuration; else the format's own end of text; else special
  tokens with a well-known name;
* size: the caller's; else that of the folder's `config.json`; else the number of ids.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from psc.errors import TokenizerError
from psc.vocabulary.token_table import MAX_VOCAB_SIZE, VocabType
from psc.vocabulary.tokenizer_info import TokenizerInfo

# Names under which published models end a text or a turn; looked up among special tokens only.
WELL_KNOWN_STOP_TOKENS: Final = frozenset(
    (
        "</s>",
        "<eos>",
        "<end_of_turn>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|eot|>",
        "<|eom|>",
        "<|im_end|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<|END_OF_TURN_TOKEN|>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
    )
)


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of one file.

    `tokens[i]` is the text of id i, `b""` where it has none; `special` maps id -> name of the tokens that are never
    text; `stop` holds the ids that the file itself names as end of text. `vocab_type` is how the file spells bytes, and
    `add_prefix_space` whether the tokenizer puts a space before a text; neither matters to a mask.
    """

    tokens: list[bytes]
    special: Mapping[int, str] = field(default_factory=dict)
    stop: tuple[int, ...] = ()
    vocab_type: VocabType = VocabType.RAW
    add_prefix_space: bool = False


@dataclass(frozen=True)
class ModelConfiguration:
    """The facts on the model in the files around a tokenizer; every field may be empty."""

    stop_token_ids: tuple[int, ...] = ()
    stop_token_names: tuple[str, ...] = ()
    fallback_stop_token_ids: tuple[int, ...] = ()
    vocab_size: int | None = None
    special_names: tuple[str, ...] = ()  # of tokens that are special even if the tokenizer's file has them as text
    added: Mapping[int, tuple[str, bool]] = field(default_factory=dict)  # id -> (content, special)


def place_tokens(ids: Sequence[int], texts: Sequence[bytes], origin: str) -> list[bytes]:
    """Order tokens by id, with `b""` in the holes.

    Args:
        ids: the id of each token.
        texts: the bytes of each token.
        origin: the file, for messages.

    Raises:
        TokenizerError: there is no token, or an id is not an integer, negative, absurdly large or taken twice.
    """
    if not ids:
        raise TokenizerError(f"{origin}: there is no token in this file; it is damaged or not a tokenizer")
    if set(map(type, ids)) != {int}:
        check_id(next(token_id for token_id in ids if type(token_id) is not int), origin)
    highest = max(ids)
    check_id(highest, origin)
    check_id(min(ids), origin)
    by_id = dict(zip(ids, texts, strict=True))
    if len(by_id) != len(ids):
        twice = next(token_id for token_id, uses in Counter(ids).items() if uses > 1)
        same = [text for token_id, text in zip(ids, texts, strict=True) if token_id == twice]
        raise TokenizerError(f"{origin}: id {twice} is given to both {same[0]!r} and {same[1]!r}; the file is damaged")
    return [by_id.get(token_id, b"") for token_id in range(highest + 1)]


def check_id(token_id: object, origin: str) -> int:
    """Return `token_id` if it is an integer that can be an id; raise `TokenizerError` otherwise."""
    if type(token_id) is not int or not 0 <= token_id < MAX_VOCAB_SIZE:
        raise TokenizerError(
            f"{origin}: {token_id!r} cannot be a token id (an integer below {MAX_VOCAB_SIZE}); the file is damaged"
        )
    return token_id


def finish(
    vocabulary: Vocabulary,
    *,
    origin: str,
    name: str,
    configuration: ModelConfiguration | None = None,
    vocab_size: int | None = None,
    stop_token_ids: Sequence[int] | None = None,
) -> TokenizerInfo:
    """Settle stop tokens and size, and build the `TokenizerInfo`.

    Args:
        vocabulary: of the file.
        origin: the file, for messages.
        name: the name of the result.
        configuration: from the files next to it.
        vocab_size: overrides the size.
        stop_token_ids: overrides the stop tokens; an empty sequence means none.

    Raises:
        TokenizerError: the sources contradict each other.
    """
    configuration = configuration or ModelConfiguration()
    tokens, special = list(vocabulary.tokens), dict(vocabulary.special)
    _add_missing(tokens, special, configuration.added, origin)
    _make_special(tokens, special, configuration.special_names)
    stop = _configured_stop(tokens, special, vocabulary.stop, configuration) if stop_token_ids is None else tuple(stop_token_ids)
    size = configuration.vocab_size if vocab_size is None else vocab_size
    if size is not None and size < len(tokens):
        _drop_beyond(tokens, special, size, origin)
        stop = tuple(token_id for token_id in stop if token_id < size) if stop_token_ids is None else stop
    for token_id in special:
        tokens[token_id] = special[token_id].encode("utf-8", "surrogatepass")
    return TokenizerInfo.from_tokens(
        tokens,
        special_token_ids=special,
        stop_token_ids=stop,
        text_stop_ids=[token_id for token_id in stop if token_id not in special],
        vocab_size=size,
        name=name,
        vocab_type=vocabulary.vocab_type,
        add_prefix_space=vocabulary.add_prefix_space,
    )


def _add_missing(tokens: list[bytes], special: dict[int, str], added: Mapping[int, tuple[str, bool]], origin: str) -> None:
    """Add the tokens that only tokenizer_config.json has; where the tokenizer file has the id, the file is right."""
    for token_id, (content, is_special) in added.items():
        check_id(token_id, origin)
        tokens.extend([b""] * (token_id + 1 - len(tokens)))
        if tokens[token_id] or token_id in special:
            continue
        if is_special:
            special[token_id] = content
        else:
            tokens[token_id] = content.encode("utf-8", "surrogatepass")


def _make_special(tokens: list[bytes], special: dict[int, str], names: Sequence[str]) -> None:
    """Take tokens for special that the configuration calls so, where the tokenizer's file has it as text (Gemma 3's `<mask>`)."""
    names_before = set(special.values())
    wanted = {name.encode("utf-8", "surrogatepass"): name for name in names if name not in names_before}
    if not wanted:
        return
    for token_id, text in enumerate(tokens):
        if text and text in wanted:
            special[token_id] = wanted.pop(text)
            tokens[token_id] = b""


def _configured_stop(
    tokens: list[bytes], special: Mapping[int, str], own: tuple[int, ...], configuration: ModelConfiguration
) -> tuple[int, ...]:
    by_name = {content: token_id for token_id, content in special.items()}
    stop = set(configuration.stop_token_ids)
    for content in configuration.stop_token_names:
        if content in by_name:
            stop.add(by_name[content])
        elif (text := content.encode("utf-8", "surrogatepass")) in tokens:
            stop.add(tokens.index(text))
    if not stop:
        stop.update(configuration.fallback_stop_token_ids or own)
    if not stop:
        stop.update(token_id for content, token_id in by_name.items() if content in WELL_KNOWN_STOP_TOKENS)
    return tuple(sorted(stop))


def _drop_beyond(tokens: list[bytes], special: dict[int, str], size: int, origin: str) -> None:
    """Forget special tokens for which the model has no logit (Llama 3.2 Vision: `<|image|>` is input only)."""
    for token_id in range(size, len(tokens)):
        if tokens[token_id]:
            raise TokenizerError(
                f"{origin}: the vocabulary size {size} leaves out token {token_id} ({tokens[token_id]!r}); "
                f"the tokenizer has {len(tokens)} ids: give vocab_size= the width of the model's output layer"
            )
    for token_id in [token_id for token_id in special if token_id >= size]:
        del special[token_id]
    del tokens[size:]
