"""Forced text as tokens: each is what the tokenizer itself makes of the text, whatever follows, and what the masks allow."""

import json
import os
import random
from functools import cache
from typing import Any

import pytest

pytest.importorskip("tokenizers")
from few_tokens import matcher_of
from trained_tokenizers import MAKES, tool_call, trained

import psc

SEEDS = 40 if os.environ.get("HYPOTHESIS_PROFILE") == "wide" else 6
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "city": {"enum": ["Lisbon", "Lima", "don't"]}},
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}
TOOL = tool_call(PERSON)
EBNF = {
    "choices": 'root ::= "the city" ("\'s" | " name" | "1234567" | "." [a-z]*)',
    "any end": 'root ::= "return city" [^a]{0,9}',
    "digits": 'root ::= "{\\"age\\": 12" [0-9]{0,5} "}"',
    "blanks": 'root ::= "def name:" [ \\n]{1,9} "return" " "{0,4} "city"',
    "accents": 'root ::= "<e" [a-z\\u0300-\\u0345]{0,3} ">" "\\u00e9\\u6f22" "\\u5b57"? "e" "\\u0301"',
    "nested": 'root ::= "[" (root | "\\"old maps\\"") ("," root)? "]"',
    "more text": 'root ::= "<tool_call>\\n" [^<]{0,20} "</tool_call>" "\\n"*',
}
GRAMMARS = ["person", "person, any blanks", "indented", "tool call", "calls", *EBNF]


@cache
def compiled(make: str, name: str) -> psc.CompiledGrammar:
    compiler = psc.GrammarCompiler(trained(make)[1])
    if name == "tool call":
        return compiler.compile_structural_tag(json.dumps(TOOL))
    if name == "calls":
        tags = {**TOOL["format"], "begin": "<tool_call>\n"}
        return compiler.compile_structural_tag(
            json.dumps({"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<tool"], "tags": [tags]}})
        )
    if name in EBNF:
        return compiler.compile_grammar(EBNF[name])
    options = {"person": {"any_whitespace": False}, "indented": {"any_whitespace": False, "indent": 4}}.get(name, {})
    return compiler.compile_json_schema(json.dumps(PERSON), **options)


def text_tokens(matcher: psc.GrammarMatcher, stops: list[int]) -> list[int]:
    return [] if matcher.is_terminated() else [t for t in matcher.allowed_tokens().tolist() if t not in stops]


def continuation(matcher: psc.GrammarMatcher, texts: tuple[bytes, ...], stops: list[int], rng: random.Random) -> bytes:
    """A text that the grammar allows to follow, to its end or not."""
    matcher, out = matcher.fork(), b""
    for _ in range(rng.choice([1, 2, 30])):
        tokens = text_tokens(matcher, stops)
        if not tokens or (matcher.is_completed() and rng.random() < 0.3):
            break
        short = [t for t in tokens if len(texts[t]) == 1]
        token = rng.choice(short if short and rng.random() < 0.5 else tokens)
        assert matcher.accept_token(token)
        out += texts[token]
    return out


def cut(tokenizer: Any, info: psc.TokenizerInfo, text: bytes) -> tuple[list[int], list[int]] | None:
    """The tokenizer's tokens, and where each ends; None where they are not the text (a normalizer, half a character)."""
    try:
        tokens = tokenizer.encode(text.decode(), add_special_tokens=False).ids
    except UnicodeDecodeError:
        return None
    joined = b"".join(info.token_texts[t] for t in tokens)
    shift = {text: 0, b" " + text: -1}.get(joined)
    if shift is None:
        return None
    ends = [0]
    for t in tokens:
        ends.append(ends[-1] + len(info.token_texts[t]))
    return tokens, [end + shift for end in ends[1:]]


def check(make: str, matcher: psc.GrammarMatcher, before: bytes, rng: random.Random) -> list[int]:
    """That what is proposed is right at a place; the tokens."""
    tokenizer, info = trained(make)
    texts, stops = info.token_texts, info.stop_token_ids
    rows = matcher.allowed_tokens().tolist()
    proposed = matcher.find_forced_tokens()
    assert matcher.allowed_tokens().tolist() == rows
    fork, sole = matcher.fork(), []
    for token in proposed:
        now = fork.allowed_tokens().tolist()
        assert token in now and token not in stops and texts[token]
        sole.append(len(now) == 1)
        assert fork.accept_token(token)
    together = matcher.fork()
    assert together.accept_tokens(proposed) == len(proposed)
    assert together.mask_row() == fork.mask_row()
    assert together.is_completed() == fork.is_completed()
    for _ in range(4):
        rest = continuation(fork, texts, stops, rng)
        text = before + b"".join(texts[t] for t in proposed) + rest
        found = cut(tokenizer, info, text)
        if found is None:
            continue
        tokens, ends = found
        at = 0 if not before else ends.index(len(before)) + 1 if len(before) in ends else None
        if at is None:
            assert all(sole), (before, proposed, text)
            continue
        assert tokens[at : at + len(proposed)] == proposed or all(sole), (before, [texts[t] for t in proposed], text)
    return proposed


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("make", MAKES)
def test_the_tokenizer_cuts_every_continuation_so(make: str, name: str) -> None:
    tokenizer, info = trained(make)
    found = 0
    for seed in range(SEEDS):
        rng = random.Random(seed)
        matcher, before = psc.GrammarMatcher(compiled(make, name)), b""
        for _ in range(40):
            tokens = text_tokens(matcher, info.stop_token_ids)
            if not tokens:
                break
            proposed = check(make, matcher, before, rng)
            found += len(proposed)
            if proposed and rng.random() < 0.7:
                chosen = proposed[: rng.randint(1, len(proposed))]
            elif rng.random() < 0.5:  # as a model that knows the tokenizer would
                rest = continuation(matcher, info.token_texts, info.stop_token_ids, rng)
                cuts = cut(tokenizer, info, before + rest)
                whole = cuts is not None and (not before or len(before) in cuts[1])
                chosen = cuts[0][cuts[1].index(len(before)) + 1 if before else 0 :][:2] if cuts and whole else [rng.choice(tokens)]
            else:
                chosen = [rng.choice(tokens)]
            for token in chosen:
                if not matcher.accept_token(token):
                    break
                before += info.token_texts[token]
    if name in ("person", "tool call", "indented"):
        assert found > 2 * SEEDS


def found(make: str, grammar: str, before: str) -> list[bytes]:
    info = trained(make)[1]
    matcher = psc.GrammarMatcher(psc.GrammarCompiler(info).compile_grammar(grammar))
    assert matcher.accept_string(before)
    return [info.token_texts[token] for token in matcher.find_forced_tokens()]


@pytest.mark.parametrize(
    ("grammar", "before", "want"),
    [
        ('root ::= "the city"', "", [b"the", b" city"]),
        ('root ::= "the city" " name"?', "", [b"the", b" city"]),  # a space begins a piece
        ('root ::= "the c" [a-z]*', "", [b"the"]),  # a letter goes on with ` c`
        ('root ::= "the city" [a-z]?', "", [b"the", b" city"]),  # there is no longer token
        ('root ::= "the" [ a-z] "city"', "", []),
        ('root ::= "the city" | "the name"', "", [b"the"]),  # ` ` begins the tokens of both
        ('root ::= "the city"', "the c", []),  # no token begins there
        ('root ::= "the city"', "the", [b" city"]),
        ('root ::= "the city isn" [\'a-z] "t"', "", [b"the", b" city"]),
        ('root ::= "1" [0-9]? " city"', "", []),
        ('root ::= "the \\u6f22" [\\u5b57\\u6f22]', "", [b"the"]),
    ],
)
def test_what_is_held_back(grammar: str, before: str, want: list[bytes]) -> None:
    assert found("GPT-2", grammar, before) == want


def test_without_a_tokenizer_tokens_that_have_no_other_are_found() -> None:
    matcher = matcher_of('root ::= "ba" [ab]')
    assert matcher.find_forced_tokens() == matcher.fork().find_forced_tokens()
    letters = psc.TokenizerInfo.from_tokens([b"a", b"b", b"ab", b"<end>"], stop_token_ids=[3])
    for grammar, before, want in (
        ('root ::= "bab" "a"', "", [1]),  # then `a` and `ab`
        ('root ::= "bbaa"', "", [1, 1, 0, 0]),  # and not the stop token after it
        ('root ::= "b" "b"?', "", [1]),
        ('root ::= "b"*', "", []),
    ):
        matcher = matcher_of(grammar, letters)
        assert matcher.accept_string(before)
        assert matcher.find_forced_tokens() == want


def test_a_tokenizer_that_is_given() -> None:
    tokenizer, info = trained("GPT-2")
    plain = psc.TokenizerInfo.from_arrays(info.to_arrays())
    assert plain.encode is None
    assert plain == info
    matcher = matcher_of('root ::= "the city"', plain)
    want = tokenizer.encode("the city").ids
    asked: list[str] = []

    def encode(text: str) -> list[int]:
        asked.append(text)
        return tokenizer.encode(text).ids

    assert matcher.find_forced_tokens() == []
    assert matcher.find_forced_tokens(encode) == want
    assert asked
    assert matcher_of('root ::= "the city"', plain.with_encode(encode)).find_forced_tokens() == want


@pytest.mark.parametrize("encode", [lambda text: [0, 1, 2], lambda text: [10**9], lambda text: [-1], lambda text: []])
def test_a_tokenizer_of_something_else_proposes_nothing(encode: Any) -> None:
    matcher = matcher_of('root ::= "the city"', psc.TokenizerInfo.from_arrays(trained("GPT-2")[1].to_arrays()))
    assert matcher.find_forced_tokens(encode) == []


def test_an_error_of_the_tokenizer_is_the_callers() -> None:
    def encode(text: str) -> list[int]:
        raise KeyError(text)

    matcher = matcher_of('root ::= "the city"', trained("GPT-2")[1])
    with pytest.raises(KeyError):
        matcher.find_forced_tokens(encode)
    assert matcher.find_forced_tokens() != []


def test_steps_of_every_kind_are_the_text_so_far() -> None:
    tokenizer, info = trained("GPT-2")
    text = "the city's name is known; " * 20
    matcher = matcher_of(f'root ::= "{text}" "the " [a-z]+ " city"', info)
    tokens = tokenizer.encode(text).ids[:40]
    assert matcher.accept_tokens(tokens) == 40
    assert matcher.find_forced_tokens()[:20] == tokenizer.encode(text).ids[40:60]
    assert matcher.accept_prefix(text[len(tokenizer.decode(tokens)) :] + "the nam!") > 0
    assert matcher.find_forced_tokens() == []
    assert matcher.accept_string("e")
    fork = matcher.fork()
    assert fork.accept_string(" ")
    assert fork.find_forced_tokens() == []  # the tokenizer cuts no ` ` there
    fork.rollback(1)
    assert fork.find_forced_tokens() == []  # a letter may come
    matcher.reset()
    assert matcher.find_forced_tokens()[:5] == tokenizer.encode(text).ids[:5]


def test_after_the_end() -> None:
    info = trained("GPT-2")[1]
    matcher = matcher_of('root ::= "the"', info)
    assert matcher.accept_string("the")
    assert matcher.find_forced_tokens() == []
    assert matcher.accept_token(info.stop_token_ids[0])
    with pytest.raises(RuntimeError, match="terminated"):
        matcher.find_forced_tokens()
    without = psc.GrammarMatcher(matcher.compiled, terminate_without_stop_token=True)
    assert without.accept_string("the")
    assert without.find_forced_tokens() == []
