"""Reads a vocabulary from only a list of tokens in the tokenizer's own spelling: the bytes of each token, and which tokens are
probably not text.

A list of strings does not mark special tokens, so their names have to. Two kinds of names are distinguished:

* written like no text is: `<|im_start|>`, `<start_of_turn>`, `<pad>`, `<unused12>`, `[PAD]`. Tokenizers split letters from
  brackets before they merge, so such a token was added by hand. Special wherever it stands;
* markup that is text as well: `<s>`, `</s>`, `<unk>`, `<mask>`. Qwen 3 has `<s>` and `</s>` as ordinary text, Llama 2 has them
  as its first ids. Special among the first 16 ids only, and `</s>` also where nothing else ends the output.

A token taken for special by mistake can still be spelled by others; one taken for text by mistake would let a model write a
control token into a string. So in doubt a token is special. A caller with better information passes `special_token_ids`. With the
tokenizer's file or object nothing is guessed: `load_tokenizer`, `TokenizerInfo.from_huggingface`.

Cost: linear.
"""

import re
from collections.abc import Sequence
from typing import Final

from psc.errors import TokenizerError
from psc.vocabulary.reading import WELL_KNOWN_STOP_TOKENS
from psc.vocabulary.spelling import METASPACE, byte_level_bytes, replaced_bytes
from psc.vocabulary.token_table import VocabType

_CONTROL: Final = re.compile(
    r"<\|[^<>|\s]+\|>|<\uff5c[^<>\uff5c\s]+\uff5c>"
    r"|<(?:bos|eos|pad|cls|sep|eot|eom|(?:start|end)_of_[a-z]+|(?:[a-z]+_)+token)>"
    r"|<(?:unused_?|reserved_?|extra_id_|SPECIAL_|CONTROL_)\d+>"
    r"|\[(?:PAD|UNK|CLS|SEP|MASK|BOS|EOS|unused_?\d+)\]"
)
_MARKUP: Final = frozenset(("<s>", "</s>", "<unk>", "<mask>"))
_FIRST: Final = 16
_LONGEST_NAME: Final = 64


def decode_vocab(encoded_vocab: Sequence[bytes | str], vocab_type: VocabType, called: str) -> list[bytes]:
    """The bytes that each token stands for.

    Args:
        encoded_vocab: tokens in the tokenizer's spelling. Bytes that are not UTF-8 stand for themselves.
        vocab_type: the spelling.
        called: begins the messages.

    Raises:
        TokenizerError: a token is neither `str` nor `bytes`, or holds a surrogate.
    """
    if isinstance(encoded_vocab, str | bytes) or not isinstance(encoded_vocab, Sequence):
        raise TokenizerError(
            f"{called}encoded_vocab must be a list of tokens in the order of their ids, not {type(encoded_vocab).__name__}"
        )
    for token_id, token in enumerate(encoded_vocab):
        if not isinstance(token, str | bytes):
            raise TokenizerError(f"{called}token {token_id} is {type(token).__name__}; str or bytes was expected")
    try:
        if vocab_type is VocabType.RAW:
            return [token.encode() if isinstance(token, str) else token for token in encoded_vocab]
        contents = ["" if (text := _text(token)) is None else text for token in encoded_vocab]
        if vocab_type is VocabType.BYTE_LEVEL:
            decoded = byte_level_bytes(contents)
        else:
            decoded = replaced_bytes(contents, [(METASPACE, " ")], byte_fallback=True)
    except UnicodeEncodeError as error:
        raise TokenizerError(f"{called}a token is not valid Unicode ({error.reason}); pass it as bytes") from error
    for token_id, token in enumerate(encoded_vocab):
        if isinstance(token, bytes) and _text(token) is None:
            decoded[token_id] = token
    return decoded


def guess_special(encoded_vocab: Sequence[bytes | str]) -> list[int]:
    """The ids of tokens that are called like special ones, ascending."""
    names = ((token_id, _name(token)) for token_id, token in enumerate(encoded_vocab))
    return [token_id for token_id, name in names if name and (_CONTROL.fullmatch(name) or (token_id < _FIRST and name in _MARKUP))]


def guess_stop(encoded_vocab: Sequence[bytes | str]) -> list[int]:
    """The ids of tokens that are called like the end of a text or of a turn, ascending."""
    special = guess_special(encoded_vocab)
    stop = [token_id for token_id in special if _name(encoded_vocab[token_id]) in WELL_KNOWN_STOP_TOKENS]
    return stop or [token_id for token_id, token in enumerate(encoded_vocab) if _name(token) == "</s>"]


def _text(token: bytes | str) -> str | None:
    if isinstance(token, str):
        return token
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


def _name(token: bytes | str) -> str:
    """The token as a name, if it can be one: names are short and in brackets."""
    if len(token) > _LONGEST_NAME or not token:
        return ""
    if token[0] not in ("<", "[", 0x3C, 0x5B):
        return ""
    return _text(token) or ""
