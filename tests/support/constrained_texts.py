"""What the adapters' tests generate under: grammars whose texts end soon, and a model's wish to end them."""

import json
from collections.abc import Iterable, Sequence

import numpy as np

from psc.vocabulary.tokenizer_info import TokenizerInfo

LIST = 'root ::= "[" [a-z]{1,8} ("," [a-z]{1,8}){0,3} "]"'
SUM = 'root ::= number (" + " number){1,4} " = ?"\nnumber ::= [1-9] [0-9]{0,3}'


def text_of(info: TokenizerInfo, tokens: Iterable[int]) -> tuple[bytes, bool]:
    """The text until the first stop token, and whether there was one."""
    text = b""
    for token in tokens:
        if token in info.stop_token_ids:
            return text, True
        assert info.token_bytes(token), f"token {token} is no text"
        text += info.token_bytes(token)
    return text, False


def closing_bias(info: TokenizerInfo, width: int) -> np.ndarray:
    """Logits to add so that a text of JSON ends soon: to what closes, and much to the stop tokens."""
    bias = np.zeros(width, np.float32)
    for token in range(info.vocab_size):
        spelled = info.token_bytes(token)
        if spelled and not spelled.strip(b'":}]'):
            bias[token] = 6.0 if spelled.startswith(b'"') else 4.0  # of brackets, a string could go on for ever
        if not spelled.strip():
            bias[token] = -6.0
    bias[list(info.stop_token_ids)] = 20.0
    return bias


def assert_json(info: TokenizerInfo, rows: Sequence[Sequence[int]]) -> None:
    for row in rows:
        text, ended = text_of(info, row)
        assert ended, text
        json.loads(text)
