"""Structural tags that speak of tokens, and markers that special tokens spell, token by token."""

from __future__ import annotations

from typing import Any

import pytest

from psc import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo, compile_ahead_of_time

_TOKENS = [b"a", b"b", b"<", b"|", b"c", b">", b"x", b"<|c|>", b"<|e|>", b"</s>", b"ab"]
_TOKENIZER = TokenizerInfo.from_tokens(_TOKENS, special_token_ids=[7, 8], stop_token_ids=[8, 9])
_COMPILER = GrammarCompiler(_TOKENIZER, store=False, registry=False)
C, E, STOP = 7, 8, 9


def _takes(form: dict[str, Any], tokens: list[int], *, ahead: bool = False) -> bool:
    grammar = Grammar.from_structural_tag({"format": form}, tokenizer_info=_TOKENIZER)
    compiled = compile_ahead_of_time(grammar, _TOKENIZER) if ahead else _COMPILER.compile_grammar(grammar)
    matcher = GrammarMatcher(compiled)
    return all(matcher.accept_token(token) for token in tokens) and (matcher.is_terminated() or matcher.accept_token(STOP))


def _text(text: str) -> list[int]:
    return [_TOKENS.index(c.encode()) for c in text]


_ANY = {"type": "any_text"}
_TAG = {"type": "tag", "begin": "<|c|>x", "content": _ANY, "end": "<|e|>"}
_TRIGGERED = {"type": "triggered_tags", "triggers": ["<|c|>"], "tags": [_TAG]}
_A, _B = {"type": "token", "token": 0}, {"type": "token", "token": 1}


def _between(content: dict[str, Any], end: int = C) -> dict[str, Any]:
    return {"type": "tag", "begin": _A, "content": content, "end": {"type": "token", "token": end}}


CASES: list[tuple[dict[str, Any], list[list[int]], list[list[int]]]] = [
    ({"type": "const_string", "value": "a<|c|>b"}, [[0, C, 1], _text("a<|c|>b")], [[0, 1], [C, 1]]),
    (_TAG, [[C, 6, 0, E], [C, 6, E], [*_text("<|c|>xb<|"), E]], [[C, 6, 0, C, E], [C, 6], [C, 0, E]]),
    (_TRIGGERED, [[], [0, C, 6, 1, E], [2, C, 6, E], _text("a<|c|x"), _text("a<|c|>x")[:4]], [[0, C], [C, C], _text("<|c|>a")]),
    ({**_TRIGGERED, "triggers": ["<|"]}, [[0, C, 6, 1, E], [2, C, 6, E]], [[0, C], _text("a<|")]),
    ({**_TRIGGERED, "at_least_one": True, "stop_after_first": True}, [[C, 6, E]], [[], [0, C, 6, E], [C, 6]]),
    (_A, [[0]], [[], [10], [0, 0]]),
    ({"type": "token", "token": "ab"}, [[10]], [[0, 1]]),
    ({"type": "exclude_token", "exclude_tokens": [0, "<|c|>"]}, [[1], [10]], [[0], [C], []]),
    ({"type": "any_tokens", "exclude_tokens": [0], "max_tokens": 2}, [[], [10, C]], [[0], [1, 1, 1]]),
    (_between({"type": "any_tokens"}), [[0, C], [0, 1, 0, 6, C]], [[0, C, C], [0, C, 1, C], [0]]),
    (_between({"type": "exclude_token", "exclude_tokens": [1]}), [[0, 6, C]], [[0, C, C], [0, 1, C], [0, C]]),
    (
        _between({"elements": [{"type": "any_tokens"}, _between({"type": "any_tokens"}, end=1)]}),
        [[0, 0, C, 1, C], [0, 6, 1, 0, C, 1, C]],
        [[0, C, 0, 1, C], [0, 0, 1, 1, C]],
    ),
    (_between({"type": "token_dispatch", "rules": [[0, _A]]}), [[0, C], [0, 6, 0, 0, C]], [[0, C, C], [0, 0, C, C]]),
    (
        _between({"type": "token_triggered_tags", "trigger_tokens": [1], "tags": [{**_between(_A, end=6), "begin": _B}]}),
        [[0, C], [0, 1, 0, 6, C]],
        [[0, C, C], [0, 1, C, 6, C]],
    ),
    (
        {"type": "tag", "begin": _A, "content": _ANY, "end": {"type": "token", "token": "<|c|>"}},
        [[0, 1, C]],
        [[0, 1], [0, *_text("<|c|>")]],
    ),
    (
        {
            "type": "token_triggered_tags",
            "trigger_tokens": [C],
            "tags": [{**_TAG, "begin": {"type": "token", "token": C}, "end": "x"}],
        },
        [[], [0, 1], [0, C, 6, 1], [C, 0, 6, C, 6]],
        [[C], [0, C, 0]],
    ),
    (
        {"type": "token_dispatch", "rules": [["<|c|>", _A]], "loop": False, "exclude_tokens": [1]},
        [[6, C, 0], [6]],
        [[C, 0, 0], [1], [C]],
    ),
]


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_tokens(number: int, ahead: bool) -> None:
    form, taken, refused = CASES[number]
    assert [tokens for tokens in taken if not _takes(form, tokens, ahead=ahead)] == []
    assert [tokens for tokens in refused if _takes(form, tokens, ahead=ahead)] == []
