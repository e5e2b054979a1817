"""The vocabulary of a tokenizer that SGLang has loaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from psc.errors import TokenizerError
from psc.vocabulary.tokenizer_info import TokenizerInfo


def tokenizer_info(tokenizer: Any, vocab_size: int, stop_token_ids: Iterable[int] | None = None) -> TokenizerInfo:
    """The vocabulary of a tokenizer that the engine has loaded.

    Args:
        tokenizer: of transformers, tiktoken or mistral-common, or what the engine made of one.
        vocab_size: number of logits.
        stop_token_ids: tokens that end the text; None is what the tokenizer says.

    Raises:
        TokenizerError: psc cannot read it, or it has more tokens than there are logits.
    """
    stops = sorted(stop_token_ids) if stop_token_ids else None
    try:
        return TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocab_size, stop_token_ids=stops)
    except TokenizerError:
        if not callable(getattr(tokenizer, "init_xgrammar", None)):
            raise
    theirs, overriding = tokenizer.init_xgrammar()
    if theirs is None:
        raise TokenizerError(f"{type(tokenizer).__name__}: neither psc nor init_xgrammar() can read this tokenizer")
    return _of_xgrammars(theirs, vocab_size, stops or overriding or theirs.stop_token_ids)


def _of_xgrammars(theirs: Any, vocab_size: int, stop_token_ids: Iterable[int]) -> TokenizerInfo:
    """XGrammar's table of tokens as psc's; the placeholders that it has for tokens with a NUL are no text."""
    tokens = list(theirs.decoded_vocab)
    placeholders = [i for i, token in enumerate(tokens) if token.startswith(b"<|xg_special_token_")]
    return TokenizerInfo.from_tokens(
        tokens,
        special_token_ids=[*theirs.special_token_ids, *placeholders],
        stop_token_ids=stop_token_ids,
        vocab_size=max(vocab_size, len(tokens)),
    )
