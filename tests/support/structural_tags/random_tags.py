"""Random structural tags over two letters, and all short texts of one against reading the definitions."""

from __future__ import annotations

import itertools
import random
from typing import Any

from structural_tags.reading import is_text

from psc import GrammarCompiler, GrammarMatcher, TokenizerInfo, compile_ahead_of_time
from psc.errors import InvalidStructuralTagError
from psc.grammars.grammar import Grammar

_TOKENIZER = TokenizerInfo.from_tokens([b"a", b"b", b"ab", b"ba", b"bb", b"aab", b"</s>"], stop_token_ids=[6])
_COMPILER = GrammarCompiler(_TOKENIZER, store=False, registry=False)
_LONGEST = 7
_TEXTS = ["".join(letters) for n in range(_LONGEST + 1) for letters in itertools.product("ab", repeat=n)]

_ENDINGS = ["".join(letters) for n in range(11) for letters in itertools.product("ab", repeat=n)]


def _string(rng: random.Random, least: int = 1, most: int = 2) -> str:
    return "".join(rng.choice("ab") for _ in range(rng.randint(least, most)))


def _excludes(rng: random.Random) -> list[str]:
    return [_string(rng, 1, 3) for _ in range(rng.choice([0, 0, 1, 2]))]


def _tag(rng: random.Random, depth: int, begin: str | None = None) -> dict[str, Any]:
    end = rng.choice([_string(rng), _string(rng, 2, 3), "", [_string(rng), _string(rng, 1, 3)], ["", _string(rng)]])
    return {"type": "tag", "begin": _string(rng, 0) if begin is None else begin, "content": random_format(rng, depth), "end": end}


def random_format(rng: random.Random, depth: int) -> dict[str, Any]:
    """A format of some depth."""
    kind = rng.choice(
        ["any", "any", "const"] if depth == 0 else ["any", "const", "seq", "or", "rep", "tag", "tag", "trig", "trig", "disp", "sep"]
    )
    if kind == "any":
        count = {"max_chars": rng.randrange(4)} if rng.random() < 0.2 else {}
        return {"type": "any_text", "excludes": _excludes(rng), **count}
    if kind == "const":
        return {"type": "const_string", "value": _string(rng, 0)}
    if kind in ("seq", "or"):
        elements = [random_format(rng, depth - 1) for _ in range(rng.randint(1, 3))]
        return {"type": "sequence" if kind == "seq" else "or", "elements": elements}
    if kind == "rep":
        return {"type": rng.choice(["optional", "star", "plus"]), "content": random_format(rng, depth - 1)}
    if kind == "tag":
        return _tag(rng, depth - 1)
    flags = {key: True for key in ("at_least_one", "stop_after_first") if rng.random() < 0.3}
    if kind == "sep":
        tags = [_tag(rng, depth - 1) for _ in range(rng.randint(1, 2))]
        return {"type": "tags_with_separator", "separator": _string(rng, 0, 1), "tags": tags, **flags}
    if kind == "disp":
        rules = [[_string(rng, 1, 2), random_format(rng, depth - 1)] for _ in range(rng.randint(1, 2))]
        return {"type": "dispatch", "rules": rules, "loop": rng.random() < 0.7, "excludes": _excludes(rng)}
    triggers = sorted({_string(rng, 1, 3) for _ in range(rng.randint(1, 2))})
    tags = [_tag(rng, depth - 1, rng.choice(triggers) + _string(rng, 0, 1)) for _ in range(rng.randint(1, 3))]
    return {"type": "triggered_tags", "triggers": triggers, "tags": tags, "excludes": _excludes(rng), **flags}


def check(form: dict[str, Any], *, ahead: bool = False, is_short: bool = False) -> bool:
    """Compares a format with its reading.

    Args:
        form: the format.
        ahead: build it ahead of time.
        is_short: whether what two letters or fewer are the beginning of has a text with ten letters more at most.

    Returns:
        Whether there was something to compare: a text, and a sound document.
    """
    document = {"type": "structural_tag", "format": form}
    texts = {text for text in _TEXTS if is_text(form, text)}
    try:
        grammar = Grammar.from_structural_tag(document)
    except InvalidStructuralTagError as e:
        assert "begins with" in str(e) or "has no limit" in str(e), (form, e)
        return False
    if not any(len(text) < _LONGEST - 2 for text in texts):
        return False
    compiled = compile_ahead_of_time(grammar, _TOKENIZER) if ahead else _COMPILER.compile_grammar(grammar)
    begun = {text[:n] for text in texts for n in range(len(text) + 1)}
    for text in _TEXTS:
        matcher = GrammarMatcher(compiled)
        goes_on = matcher.accept_string(text)
        assert (goes_on and matcher.accept_token(6)) == (text in texts), (form, text)
        assert goes_on or text not in begun, (form, text)
        if is_short and len(text) <= 2 and goes_on and text not in begun:
            assert any(is_text(form, text + more) for more in _ENDINGS), (form, text)
    return True
