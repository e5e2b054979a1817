"""Reads Tekken files (`tekken.json`), the tiktoken-like format of Mistral's models.

Ids 0 to `default_num_special_tokens` - 1 are special; rank r of `vocab` has the id that much higher. The list in the
file is longer than the vocabulary: only the first `default_vocab_size` - `default_num_special_tokens` entries count.
Special tokens without a name are called `<SPECIAL_n>`; older files (up to version 7) name none, and `</s>` is 2.

Cost: `json.loads` of the file (15 to 20 MB, 0.2 s) and one base64 decoding a token.

Source: mistral-common, `tokens/tokenizers/tekken.py`.
"""

import binascii
from collections.abc import Mapping
from typing import Any, Final

from psc.errors import TokenizerError
from psc.vocabulary.reading import Vocabulary, check_id, place_tokens

_FIRST_SPECIAL_TOKENS: Final = ("<unk>", "<s>", "</s>")
_STOP: Final = "</s>"


def read_tekken(document: Mapping[str, Any], origin: str) -> Vocabulary:
    """Read a parsed Tekken file.

    Args:
        document: the parsed file.
        origin: the file, for messages.

    Raises:
        TokenizerError: something is missing, of the wrong type, or contradicts something else.
    """
    config, entries = document.get("config"), document.get("vocab")
    if not isinstance(config, dict) or not isinstance(entries, list):
        raise TokenizerError(f"{origin}: 'config' or 'vocab' is missing or of the wrong type; not a Tekken file")
    size = check_id(config.get("default_vocab_size"), f"{origin}: default_vocab_size")
    reserved = check_id(config.get("default_num_special_tokens"), f"{origin}: default_num_special_tokens")
    count = size - reserved
    if not 0 < count <= len(entries):
        raise TokenizerError(
            f"{origin}: default_vocab_size={size} with {reserved} special tokens needs {count} entries in 'vocab', "
            f"which has {len(entries)}; the file is damaged"
        )
    pairs = [_entry(entry, origin) for entry in entries[:count]]
    ids = [reserved + rank for rank, _ in pairs]
    if set(ids) != set(range(reserved, size)):
        raise TokenizerError(f"{origin}: the ranks of 'vocab' are not 0 to {count - 1}; the file is damaged")
    tokens = place_tokens(ids, [token for _, token in pairs], origin)
    special = _special_tokens(document.get("special_tokens"), reserved, origin)
    stop = tuple(token_id for token_id, content in special.items() if content == _STOP)
    return Vocabulary(tokens, special, stop)


def _entry(entry: object, origin: str) -> tuple[int, bytes]:
    if not isinstance(entry, dict):
        raise TokenizerError(f"{origin}: an entry of 'vocab' is {str(entry)[:60]!r}; the file is damaged")
    rank = check_id(entry.get("rank"), f"{origin}: rank in 'vocab'")
    try:
        token = binascii.a2b_base64(entry["token_bytes"], strict_mode=True)
    except (KeyError, TypeError, ValueError) as error:
        raise TokenizerError(
            f"{origin}: the 'token_bytes' of rank {rank} is missing or not base64 ({error}); the file is damaged"
        ) from error
    return rank, token


def _special_tokens(entries: object, reserved: int, origin: str) -> dict[int, str]:
    special = {token_id: f"<SPECIAL_{token_id}>" for token_id in range(reserved)}
    if entries is None:
        special.update((i, content) for i, content in enumerate(_FIRST_SPECIAL_TOKENS) if i < reserved)
        return special
    if not isinstance(entries, list):
        raise TokenizerError(f"{origin}: 'special_tokens' must be a list; the file is damaged")
    seen: set[int] = set()
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("token_str"), str):
            raise TokenizerError(f"{origin}: a special token has no 'token_str': {str(entry)[:60]}; the file is damaged")
        token_id = check_id(entry.get("rank"), f"{origin}: special token {entry['token_str']!r}")
        if token_id >= reserved or token_id in seen:
            raise TokenizerError(f"{origin}: special token {entry['token_str']!r} has id {token_id}, taken or not below {reserved}")
        seen.add(token_id)
        special[token_id] = entry["token_str"]
    return special
