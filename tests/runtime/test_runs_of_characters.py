"""Tokens that are runs of characters and something behind them, over a vocabulary with so many that they are taken by their length.

Texts of one length may have led to different places: inside brackets what ends the text outside of them does not. The oracle is
`accept_string` of each token's text.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import tokenizer

import psc
from psc.errors import GrammarError
from psc.grammars.compiled_grammar import compile_just_in_time
from psc.vocabulary.tokenizer_info import TokenizerInfo

_LETTERS = "abcdefghijklmnop"
_SHORT_TAILS = ("/", "['/", "[", "[]", "[a]/", "['", '"', '\\"', "\\/", "\\", "([", "(a", ")", "é/", "日", "日[/", "\n")
_TAILS = (*_SHORT_TAILS, "a" * 18, "a" * 17 + "[/")


@cache
def _dense() -> TokenizerInfo:
    """Behind `(` and `"` are some hundred nodes of the vocabulary's trie, which is what runs are worth knowing for."""
    heads = [head + more for head in ("(", '"', "日") for more in ("", "a", "ab")]
    runs = [head + a + b for head in ("(", '"') for a in _LETTERS for b in _LETTERS + "ABCDE0123é"]
    return tokenizer(sorted({*runs, *(head + tail for head in heads for tail in _TAILS), *"(/[\"\\]'abA01 \n;)é"}))


def _wrong(grammar: psc.Grammar, texts: list[str]) -> list[tuple[str, bytes, bool]]:
    """(text, token, whether it can be read): where the mask says something else. The first mask is read, the others are not."""
    info = _dense()
    compiled = compile_just_in_time(grammar, info)
    found = []
    for text in texts:
        for _ in range(2):
            matcher = psc.GrammarMatcher(compiled)
            if not matcher.accept_string(text):
                continue
            bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
            for token, spelled in enumerate(info.token_texts):
                if spelled and matcher.fork().accept_string(spelled) != bits[token]:
                    found.append((text, spelled, not bits[token]))
    return found


@pytest.mark.parametrize("lexer", ["contextual", "basic"])
def test_behind_runs_that_led_to_different_places(lexer: str) -> None:
    r"""After `/a` the token `(['/` is within a class of characters, and `(ab/` is the end."""
    grammar = psc.Grammar.from_lark(
        r"""
        start: "/" (ATOM | GROUP ATOM ")")+ "/"
        GROUP: /\((\?:)?/
        ATOM: /([^\/\[()\n\\]|\\[^\n]|\[[^\]\n]*\])+/
        """,
        lexer=lexer,  # type: ignore[arg-type]
    )
    assert not _wrong(grammar, ["/", "/a", "/a[", "/(?:a"])


_CHARACTERS = ("[^/\\n]", '[^/\\[\\n"\\\\]', "[a-z]", "[a-zA-Z0-9é日']", '[^"\\\\]', "[^)]")
_BRACKETS = ('"[" [^\\]\\n]* "]"', '"[" [a-z]{0,3} "]"', '"\\\\" [^\\n]', '"(" [^)]* ")"', '"\\"" [^"]* "\\""', '"ab" [^b]')
_REPEATED = ("+", "*", "{1,3}", "{0,20}", "{2,9}")


@given(
    st.sampled_from(["/", '"', ""]),
    st.sampled_from(_CHARACTERS),
    st.lists(st.sampled_from(_BRACKETS), min_size=1, max_size=2, unique=True),
    st.sampled_from(_REPEATED),
    st.sampled_from(["/", '"', ")", ";"]),
    st.sampled_from(["", "(", "ab"]),
    st.booleans(),
)
def test_any_characters_and_brackets(
    opened: str, characters: str, brackets: list[str], repeated: str, closed: str, between: str, whole: bool
) -> None:
    quoted = {text: '"' + text.replace('"', '\\"') + '"' for text in (opened, closed, between)}
    item = f"({' | '.join([characters, *brackets])}){repeated}"
    rules = f"root ::= {quoted[opened]} item ({quoted[between]} item)* {quoted[closed]}\nitem ::= {item}\n"
    if whole:
        rules = f"root ::= {quoted[opened]} {item} {quoted[closed]}\n"
    try:
        grammar = psc.Grammar.from_ebnf(rules)
        assert not _wrong(grammar, [opened, opened + "a", opened + "ab["]), rules
    except GrammarError:
        return
