"""Random grammars of every language (`languages.LANGUAGES`), as text and as psc reads them."""

from collections.abc import Callable
from typing import Any

import strategies
from hypothesis import strategies as st
from oracle import KeepAllOracle

import psc


def ambiguous(fancy: bool) -> st.SearchStrategy[str]:
    return strategies.ambiguous_grammars(fancy).filter(lambda text: KeepAllOracle(text).has_sentences)


TEXTS = {
    "any": strategies.cfg_texts(),
    "basic": strategies.grammars(),
    "flush": strategies.grammars(),
    "contextual": strategies.contextual_grammars(),
    "modal": strategies.contextual_grammars(),
    "flush-modal": strategies.contextual_grammars(),
    "keep all": ambiguous(False),
}
"""Random grammars of a language."""
FANCY_TEXTS = {
    "any": strategies.cfg_texts(),
    "basic": strategies.grammars(True),
    "flush": strategies.grammars(True),
    "contextual": strategies.contextual_grammars(True),
    "modal": strategies.contextual_grammars(True),
    "flush-modal": strategies.contextual_grammars(True),
    "keep all": ambiguous(True),
}
"""The same, with lookaround and laziness."""


def lark(**options: Any) -> Callable[[str], psc.Grammar]:
    return lambda text: psc.Grammar.from_lark(text, **options)


KINDS: dict[str, tuple[st.SearchStrategy[str], Callable[[str], psc.Grammar]]] = {
    "any": (strategies.cfg_texts(), psc.Grammar.from_ebnf),
    "basic": (strategies.grammars(), lark(lexer="basic")),
    "flush": (strategies.grammars(), lark(lexer="flush")),
    "contextual": (strategies.contextual_grammars(), lark(lexer="contextual")),
    "modal": (strategies.contextual_grammars(), lark(lexer="modal")),
    "flush-modal": (strategies.contextual_grammars(), lark(lexer="flush-modal")),
    "keep all": (strategies.ambiguous_grammars(), lark(lexer="basic", keep_all_actions=True)),
    "contextual, keep all": (strategies.ambiguous_grammars(), lark(lexer="contextual", keep_all_actions=True)),
}
"""Per kind, random texts and what reads them; grammars that the oracles do not take are among them."""
