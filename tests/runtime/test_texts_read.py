"""Masks that are read inside texts, where what tokens do is taken from the vocabulary by their number of characters.

Texts that are counted, that end where they are full, that some names begin like, that several alternatives have open at once. The
oracle is `accept_string` of each token's text, and the classifier's masks at the same places.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import tokenizer

import psc
from psc import GrammarCompiler, GrammarMatcher, TokenizerInfo
from psc.errors import GrammarError

_PIECES = (
    "a",
    "b",
    "na",
    "name",
    "nam",
    "x",
    "Z",
    "7",
    " ",
    "-",
    "é",
    "日",
    "日本",
    '"',
    '",',
    '":',
    "\\",
    "\\n",
    "\\u00e9",
    "/",
    "]",
    "\n",
)
_CUT = (b"\xc3", b"\xe6\x97", b"a\xe6", b'"\xf0\x9f', b"\xa5", b"\x97\xa5", b"a\xff", b"\xff")
_LONG = ("x" * 15, "x" * 16, "x" * 17, "x" * 16 + '"', "x" * 17 + '"', "é" * 16 + "\\n", "name" * 4 + '":')


@cache
def _vocabulary() -> TokenizerInfo:
    pairs = ["".join(pair) for n in (1, 2, 3) for pair in itertools.product(_PIECES[: 24 - 4 * n], repeat=n)]
    return tokenizer(sorted({*(text.encode() for text in (*_PIECES, *pairs[:3000], *_LONG)), *_CUT}))


def _wrong(grammar: psc.Grammar, texts: list[bytes]) -> list[tuple[bytes, bytes, bool]]:
    """(text, token, whether it can be read): where a mask that is read says something else, or the classifier does."""
    info = _vocabulary()
    read, classified = (GrammarCompiler(info, store=False, registry=False).compile_grammar(grammar) for _ in range(2))
    read._machine.most_read = 1 << 30
    found = []
    for text in texts:
        matcher, other = GrammarMatcher(read), GrammarMatcher(classified)
        if not matcher.accept_string(text):
            continue
        assert other.accept_string(text)
        other.mask()  # the very first is read
        bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
        assert other.mask().tobytes() == matcher.mask().tobytes(), text
        for token, spelled in enumerate(info.token_texts):
            if spelled and matcher.fork().accept_string(spelled) != bits[token]:
                found.append((text, spelled, not bits[token]))
    assert read._machine.counts()["visited_lexer_states"] == 0
    return found


_CHARACTERS = ('[^"\\\\\\x00-\\x1f]', '[^"]', "[^]]", "[^\\n-]", "[\\x20-\\x7e]", '[^"\\\\] | "\\\\" ["\\\\n]')
_NAMES = ("name", "na", "x", "é", "日", "b a", "7", "\\\\")
_REPEATED = ("*", "+", "{0,1}", "{2,3}", "{0,5}", "{1,15}", "{0,16}", "{0,17}", "{3,40}", "{0,200}")


@given(
    st.sampled_from(['"', ""]),
    st.sampled_from(_CHARACTERS),
    st.sampled_from(_REPEATED),
    st.lists(st.sampled_from(_NAMES), max_size=3, unique=True),
    st.lists(st.sampled_from(_CHARACTERS), max_size=1),
    st.sampled_from(['"', "]", "-", "\n"]),
    st.lists(st.sampled_from(_PIECES), max_size=6).map("".join),
)
def test_texts(opened: str, characters: str, repeated: str, names: list[str], others: list[str], closed: str, inside: str) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace('"', '\\"').replace("\n", "\\n") + '"'

    alternatives = [f"({characters}){repeated}", *(f"{quoted(name)} [0-9]" for name in names), *(f"({c})+ {c}" for c in others)]
    end = quoted(closed)
    rules = f"root ::= {quoted(opened)} ({' | '.join(alternatives)}) {end} ({end} | [a-z]{{0,2}} {end})\n"
    try:
        grammar = psc.Grammar.from_ebnf(rules)
    except GrammarError:
        return
    texts = [opened, opened + inside, opened + "x", opened + "é", opened + "na", opened + "xy" * 8]
    assert not _wrong(grammar, [text.encode() for text in texts]), rules


@given(
    st.lists(st.sampled_from(["name", "na", "nab", "x", "é", "日", "a b", "\\", "7"]), max_size=4, unique=True),
    st.sampled_from([None, 0, 1, 5, 16, 40, 200]),
    st.booleans(),
    st.lists(st.sampled_from([piece for piece in _PIECES if piece not in ('"', "\\")]), max_size=4).map("".join),
)
def test_objects(names: list[str], most: int | None, any_order: bool, inside: str) -> None:
    text = {"type": "string"} if most is None else {"type": "string", "maxLength": most}
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "additionalProperties": text}
    grammar = psc.Grammar.from_json_schema(schema, any_order=any_order)
    texts = ["{", '{"', '{"' + inside, '{"na', '{"q": "', '{"q": "' + inside, '{"q": "x', '{"q": "' + "xy" * 8]
    assert not _wrong(grammar, [text.encode() for text in texts]), schema
