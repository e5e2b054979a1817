"""Reads tiktoken's rank files: one token a line, `base64(bytes) rank`.

The rank is the id. The file holds no special tokens: these come from the table of short names,
`tokenizer_config.json` or the caller, as a mapping of name to id.

Cost: linear; base64 is decoded a line at a time (0.1 s for 128,000 tokens).

Source: `tiktoken.load.load_tiktoken_bpe`.
"""

import binascii
from collections.abc import Mapping, Sequence

from psc.errors import TokenizerError
from psc.vocabulary.reading import Vocabulary, check_id, place_tokens


def read_tiktoken_ranks(content: bytes, origin: str, special_tokens: Mapping[str, int] | None = None) -> Vocabulary:
    """Read a rank file.

    Args:
        content: the file.
        origin: the file, for messages.
        special_tokens: name -> id of the tokens that the file leaves out.

    Raises:
        TokenizerError: a line is not `base64 rank`, or an id or a token comes twice.
    """
    ranks: list[int] = []
    texts: list[bytes] = []
    decode = binascii.a2b_base64
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            encoded, rank = line.split()
            texts.append(decode(encoded, strict_mode=True))
            if not rank.isdigit():  # int() takes 1_0 and +1
                raise ValueError("the rank is not a number")
            ranks.append(int(rank))
        except ValueError as error:  # binascii.Error among them
            raise TokenizerError(
                f"{origin}:{number}: expected 'base64 rank', found {line[:60]!r} ({error}); "
                "the file is damaged, or not a tiktoken rank file"
            ) from error
    return from_ranks(ranks, texts, origin, special_tokens)


def from_ranks(
    ranks: Sequence[int], texts: Sequence[bytes], origin: str, special_tokens: Mapping[str, int] | None = None
) -> Vocabulary:
    """Join ranks and special tokens.

    Raises:
        TokenizerError: an id or a token comes twice.
    """
    tokens = place_tokens(ranks, texts, origin)
    if len(set(texts)) != len(texts):
        raise TokenizerError(f"{origin}: a token has two ranks; the file is damaged")
    special: dict[int, str] = {}
    for content, token_id in (special_tokens or {}).items():
        check_id(token_id, f"{origin}: special token {content!r}")
        tokens.extend([b""] * (token_id + 1 - len(tokens)))
        if tokens[token_id] or token_id in special:
            raise TokenizerError(
                f"{origin}: special token {content!r} has id {token_id}, which is already taken by "
                f"{tokens[token_id] or special[token_id]!r}; give the special tokens of this very vocabulary"
            )
        special[token_id] = content
    return Vocabulary(tokens, special)
