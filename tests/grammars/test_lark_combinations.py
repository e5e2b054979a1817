"""Unions and concatenations with grammars in Lark's own language, each with its own lexing.

The oracle is what the grammars allow alone: a text begins one of a union if it begins one of any of them, and one of a
concatenation if it can be cut into texts of the first ones and a beginning of the next.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from functools import cache
from itertools import product

import pytest

import psc
from psc import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from psc.errors import GrammarError

pytest.importorskip("lark")

TEXTS = [*'ab(). 1"/*', "ab", "a b", "1.", "..", ".1", "if", "ifa", "/*", "*/", "a/*", "*/a", "))", 'b"', " 1", "é", "a(", ".1.1"]
TOKENS = [*[t.encode() for t in TEXTS], b"i", b"f", b"\xc3", b"\xa9", b"<|end|>"]
STOP = len(TOKENS) - 1
COMPILER = GrammarCompiler(TokenizerInfo.from_tokens(TOKENS, stop_token_ids=[STOP]), store=False)

LARK = {
    "words and numbers": 'start: (NAME | NUM)+\nNAME: /[ab]+/\nNUM: /[0-9]+(\\.[0-9]+)?/\n%ignore " "',
    "keywords": 'start: "if" NAME | NAME\nNAME: /[a-z]+/\n%ignore " "',
    "ranges": 'start: NUM ".." NUM | NUM\nNUM: /[0-9]+(\\.[0-9]+)?/',
    "longest string": 'start: ("a" | "ab")* "b"?',
    "strings": 'start: STRING*\nSTRING: /"[^"]*"/',
    "comments": 'start: (A | "/" | "*")*\nA: "a"\nCOMMENT: /\\/[*]([^*]|[*]+[^*\\/])*[*]+[\\/]/\n%ignore COMMENT',
    "brackets": 'start: "(" start ")" | "a"\n%ignore " "',
    "priorities": 'start: A B | B\nA.2: "a"\nB: /[ab]+/',
}
GRAMMARS: dict[str, Callable[[], Grammar]] = {
    **{name: (lambda text=text: Grammar.from_lark(text, dialect="lark")) for name, text in LARK.items()},  # type: ignore[misc]
    "basic": lambda: Grammar.from_lark(LARK["keywords"], dialect="lark", lexer="basic"),
    "any grammar": lambda: Grammar.from_lark(LARK["longest string"], dialect="lark", keep_all_actions=True),
    "ebnf": lambda: Grammar.from_ebnf('root ::= "ab"* | "(" root ")" | "b."'),
    "regex": lambda: Grammar.from_regex("(é|a)*1?"),
    "dialect": lambda: Grammar.from_lark('%llguidance {}\nstart: NAME ("." NAME)?\nNAME: /[ab]+/'),
}
EMPTY = b""


@cache
def alone(name: str) -> psc.CompiledGrammar:
    return COMPILER.compile_grammar(GRAMMARS[name]())


@cache
def begins(name: str, text: bytes) -> bool:
    return text == EMPTY or GrammarMatcher(alone(name)).accept_string(text)


@cache
def is_whole(name: str, text: bytes) -> bool:
    matcher = GrammarMatcher(alone(name))
    return (text == EMPTY or matcher.accept_string(text)) and matcher.is_completed()


class Oracle:
    """What a combination of combinations, written as nested tuples, allows."""

    def __init__(self, made: object) -> None:
        self.made = made

    def begins(self, text: bytes) -> bool:
        return self._begins(self.made, text)

    def is_whole(self, text: bytes) -> bool:
        return self._is_whole(self.made, text)

    def allowed(self, text: bytes) -> set[int]:
        some = {i for i, token in enumerate(TOKENS) if i != STOP and self.begins(text + token)}
        return some | ({STOP} if self.is_whole(text) else set())

    def _begins(self, made: object, text: bytes) -> bool:
        if isinstance(made, str):
            return begins(made, text)
        assert isinstance(made, tuple)
        kind, *parts = made
        if kind == "union":
            return any(self._begins(part, text) for part in parts)
        first, *rest = parts
        if self._begins(first, text):
            return True
        cuts = range(len(text) + 1) if rest else ()
        return any(self._is_whole(first, text[:i]) and self._begins(("concat", *rest), text[i:]) for i in cuts)

    def _is_whole(self, made: object, text: bytes) -> bool:
        if isinstance(made, str):
            return is_whole(made, text)
        assert isinstance(made, tuple)
        kind, *parts = made
        if kind == "union":
            return any(self._is_whole(part, text) for part in parts)
        first, *rest = parts
        if not rest:
            return self._is_whole(first, text)
        return any(self._is_whole(first, text[:i]) and self._is_whole(("concat", *rest), text[i:]) for i in range(len(text) + 1))


def combined(made: object) -> Grammar:
    if isinstance(made, str):
        return GRAMMARS[made]()
    assert isinstance(made, tuple)
    kind, *parts = made
    return (Grammar.union if kind == "union" else Grammar.concat)(*map(combined, parts))


def drawn(rng: random.Random, depth: int = 2) -> object:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(list(GRAMMARS))
    return (rng.choice(["union", "concat"]), *[drawn(rng, depth - 1) for _ in range(rng.randrange(1, 4))])


@pytest.mark.parametrize("seed", range(40))
def test_masks_are_those_of_the_grammars_alone(seed: int) -> None:
    rng = random.Random(seed)
    made = drawn(rng)
    oracle = Oracle(made)
    compiled = COMPILER.compile_grammar(combined(made))
    for _ in range(2):
        matcher, texts = GrammarMatcher(compiled), [EMPTY]
        for _ in range(7):
            allowed = oracle.allowed(texts[-1])
            assert set(matcher.allowed_tokens().tolist()) == allowed, (made, texts[-1])
            for token in rng.sample(range(STOP), 4):
                assert matcher.accept_token(token) == (token in allowed)
                if token in allowed:
                    matcher.rollback(1)
            if len(texts) > 1 and rng.random() < 0.2:
                matcher.rollback(1)
                texts.pop()
                continue
            going_on = sorted(allowed - {STOP})
            if not going_on:
                break
            if rng.random() < 0.3:
                matcher = matcher.fork()
            token = rng.choice(going_on)
            assert matcher.accept_token(token)
            texts.append(texts[-1] + TOKENS[token])


@pytest.mark.parametrize(
    "made", [("union", "ranges", "keywords"), ("concat", "ranges", "longest string"), ("concat", "ebnf", "ranges")]
)
def test_texts_are_those_of_the_grammars(made: tuple[str, ...]) -> None:
    compiled = COMPILER.compile_grammar(combined(made))
    oracle = Oracle(made)
    for length in range(6):
        for text in product("ab1.", repeat=length):
            data = "".join(text).encode()
            matcher = GrammarMatcher(compiled)
            assert (not data or matcher.accept_string(data)) == oracle.begins(data), data
            assert not oracle.begins(data) or matcher.is_completed() == oracle.is_whole(data), data


def test_a_combination_is_written_and_read_again() -> None:
    grammar = Grammar.union(combined(("concat", "ranges", "ebnf")), combined("keywords"))
    for again in (Grammar.deserialize_json(grammar.serialize_json()), pickle.loads(pickle.dumps(grammar))):
        assert again == grammar and hash(again) == hash(grammar)
        matcher = GrammarMatcher(COMPILER.compile_grammar(again))
        assert matcher.accept_string("1..1b.") and matcher.is_completed()
    assert '"combination": "union"' in str(grammar)


def test_a_combination_is_a_named_grammar() -> None:
    grammar = Grammar.from_lark(
        'start: "(" @g ")"', named_grammars={"g": combined(("union", "ranges", ("concat", "keywords", "ebnf")))}
    )
    compiled = COMPILER.compile_grammar(grammar)
    for text, is_text in (("(1..1)", True), ("(ifab)", True), ("(a b.)", True), ("(1..)", False)):
        matcher = GrammarMatcher(compiled)
        assert (matcher.accept_string(text) and matcher.is_completed()) == is_text


def test_a_compiled_combination_travels() -> None:
    compiled = COMPILER.compile_grammar(combined(("concat", "ranges", "ebnf")))
    again = (
        pickle.loads(pickle.dumps(compiled)),
        psc.CompiledGrammar.deserialize_json(compiled.serialize_json(), compiled.tokenizer_info),
    )
    for one in again:
        matcher = GrammarMatcher(one)
        assert matcher.accept_string("1..1b.") and matcher.is_completed()


def test_no_artifact_has_several_lexers() -> None:
    grammar = Grammar.concat(combined("ranges"), combined("keywords"))
    with pytest.raises(GrammarError, match="built just in time by a GrammarCompiler"):
        grammar.to_cfg()


@pytest.mark.parametrize("text", ["[]", "{", '{"combination": "or", "grammars": [1]}', '{"combination": "union", "grammars": []}'])
def test_what_is_no_combination_is_refused(text: str) -> None:
    from psc.compiler.frontends.request import GrammarRequest

    with pytest.raises(GrammarError, match="combination"):
        Grammar.parse(GrammarRequest.of("combination", text))
