"""Explanations: they say what the masks say, for every token, and name terminals and rules as the grammar does."""

import random

import pytest
from effort import times
from small_grammars import COMPILERS, GRAMMARS, compiled

import psc
from psc.inspection.explaining import Explainer, Explanation
from psc.inspection.next_bytes import shown
from psc.inspection.sampling import Sampler

EVERY = pytest.mark.parametrize(("name", "how"), [(name, how) for name in GRAMMARS for how in COMPILERS])


def explain(name: str, text: str | bytes, *tokens: str | int) -> Explanation:
    """Tokens are texts of the vocabulary, or ids."""
    grammar = compiled(name)
    texts = grammar.tokenizer_info.token_texts
    ids = [t if isinstance(t, int) else texts.index(t.encode()) for t in tokens]
    return Explainer(grammar).explain(text if isinstance(text, bytes) else text.encode(), ids)


@pytest.mark.parametrize(
    ("name", "text", "can_become", "ignored", "complete", "rules", "symbols"),
    [
        ("contextual", "a = ((no", ["NAME", '"none"'], False, True, ['value : "(" · value ")"'] * 2, ["NAME", '"="', '"("', '"("']),
        ("contextual", "none", ["NAME"], False, True, [], []),  # no string terminal can stand here
        ("basic", "none", ["NAME"], False, False, [], []),  # "none" is one, so it is not a name; nonex is
        ("basic", "a = 1.", ["NUMBER", 'NUMBER ".."'], False, False, ['assignment : NAME "=" · value ";"'], ["NAME", '"="']),
        ("basic", "a # x", [], True, False, ['assignment : NAME · "=" value ";"'], ["NAME"]),
        ("basic", "a ", [], True, True, ['assignment : NAME · "=" value ";"'], ["NAME"]),
        ("ambiguous", "a+b", ["NAME"], False, True, ['sum : sum "+" · sum'], ["sum", '"+"']),
        ("ebnf", "if 1 then (i", ["name", '"if "'], False, True, ['sum : "(" · sum ")"'], ['"if "', "sum", '" then "', '"("']),
        ("json", '{"a": [tr', ['"true"'], False, False, [], ['"{"', "string", '":"', "ws", '"["']),
    ],
)
def test_where_lexer_and_parser_are(
    name: str,
    text: str,
    can_become: list[str],
    ignored: bool,
    complete: bool,
    rules: list[str],
    symbols: list[str],
) -> None:
    (place,) = explain(name, text).places
    assert place.lexeme_begun
    assert (list(place.can_become), place.can_be_ignored, place.complete) == (can_become, ignored, complete)
    assert list(place.rules[: len(rules)]) == rules
    assert list(place.symbols) == symbols


def test_rules_go_from_the_innermost_to_the_start() -> None:
    (place,) = explain("ebnf", "if 1 then (2+").places
    assert place.rules == ('sum : sum "+" · sum', 'sum : "(" · sum ")"', 'sum : "if " sum " then " · sum', "root : · sum")
    assert not place.lexeme_begun
    assert not place.can_be_ignored


def test_an_ambiguous_text_is_read_in_several_ways() -> None:
    explanation = explain("ambiguous", "(a)")
    assert explanation.n_places == 2
    rules = [place.rules for place in explanation.places]
    assert rules == [
        ('cast : "(" NAME ")" · sum', "call : · cast", "sum : · call", "start : · sum"),
        ('sum : "(" sum ")" ·', "start : · sum"),
    ]
    assert explanation.may_end
    assert explanation.expected == ("NAME", "end of file", '"("', '"+"', '"-"')


@pytest.mark.parametrize(
    ("name", "text", "expected", "characters", "end", "forced"),
    [
        ("contextual", "", ["NAME"], "'\\n' ' ' '#' 'a'-'z' ≥0x80", "'a=a;'", ""),
        ("contextual", "a=1;", ["NAME", "end of file"], "'\\n' ' ' '#' 'a'-'z' ≥0x80", "''", ""),
        ("contextual", "a=((1", ['")"', '".."'], "'\\n' ' ' '#' ')' '.' '0'-'9'", "'));'", ""),
        ("basic", "a=1.", ["NUMBER"], "'.' '0'-'9'", "'0;'", ""),
        ("basic", "a=#", [], "'\\x00'-'\\x7f' ≥0x80", "'\\na;'", ""),
        ("ebnf", "if 1 th", ['" then "'], "'e'", "'en a'", "en "),
        ("json", '{"a":t', ['"true"'], "'r'", "'rue}'", "rue"),
        ("regex", "abcc", ["end of file"], "'c'", "''", ""),
    ],
)
def test_what_may_come_next(name: str, text: str, expected: list[str], characters: str, end: str, forced: str) -> None:
    explanation = explain(name, text)
    assert explanation.stop is None
    assert (explanation.line, explanation.column, explanation.bytes) == (1, len(text) + 1, len(text))
    assert list(explanation.expected) == expected
    assert explanation.characters == characters
    assert explanation.shortest_end == end
    assert explanation.forced == forced
    assert explanation.may_end == (end == "''")


@pytest.mark.parametrize(
    ("name", "text", "at", "expected", "reason"),
    [
        (
            "contextual",
            "a = = 1;",
            4,
            ["NAME", "NUMBER", '"none"', '"("'],
            "no terminal that the parser can take here begins with '='",
        ),
        ("contextual", "a b", 2, ['"="'], "no terminal that the parser can take here begins with 'b'"),
        ("contextual", "a;", 1, ['"="'], "no terminal that the parser can take after NAME begins with ';'"),
        ("contextual", "a = (1;", 6, ['")"', '".."'], """';' is read as ";", which the parser cannot take here"""),
        ("basic", "a = = 1;", 4, ["NAME", "NUMBER", '"none"', '"("'], """'=' is read as "=", which the parser cannot take here"""),
        ("basic", "a b", 2, ['"="'], """'b' begins NAME, which the parser cannot take here"""),
        ("basic", "none =", 4, ["NAME"], """' ' ends the lexeme before it as "none", which the parser cannot take there"""),
        (
            "basic",
            "a = 1.x",
            6,
            ["NUMBER"],
            """the unfinished lexeme (NUMBER or NUMBER "..") is not complete, and cannot go on with 'x'""",
        ),
        ("basic", "a = b!", 5, ['";"'], "the unfinished lexeme (NAME) cannot go on with '!', and no terminal begins with '!'"),
        ("basic", "!", 0, ["NAME"], "no terminal begins with '!'"),
        (
            "basic",
            b"a\xff",
            1,
            ['"="'],
            "the unfinished lexeme (NAME) cannot go on with byte 0xff, and no terminal begins with byte 0xff",
        ),
        ("ebnf", "if 1 x", 5, ['" then "'], """the unfinished lexeme (" then ") is not complete, and cannot go on with 'x'"""),
        ("ebnf", "(1)2", 3, ["end of file", '"+"'], "'2' begins /[0-9]+/, which the parser cannot take here"),
    ],
)
def test_a_text_that_does_not_pass(name: str, text: str | bytes, at: int, expected: list[str], reason: str) -> None:
    explanation = explain(name, text, "a")
    assert explanation.stop is not None
    assert (explanation.stop.offset, explanation.bytes) == (at, at)
    assert list(explanation.stop.expected) == expected == list(explanation.expected)
    assert explanation.reasons == (reason,)
    assert explanation.tokens == ()  # there is no place after the text for a token to stand


def test_tokens_that_are_no_text() -> None:
    stop = compiled("basic").stop_token_ids[0]
    explanation = explain("basic", "a=(1", stop, stop + 1, -1)
    ending, beyond, negative = explanation.tokens
    assert not ending.allowed
    assert (ending.text, ending.expected) == ("<stop>", ('")"', '".."'))
    assert ending.reasons == ("it ends the text, which is not complete: ');', for example, is missing",)
    assert beyond.reasons == negative.reasons == (f"there is no such token: ids go from 0 to {stop}",)
    (ending,) = explain("basic", "a=1;", stop).tokens
    assert ending.allowed


def test_special_tokens_and_padding() -> None:
    info = psc.TokenizerInfo.from_tokens([b"a", b"<pad>", b"<end>"], special_token_ids=[1], stop_token_ids=[2], vocab_size=5)
    grammar = psc.GrammarCompiler(info).compile_regex("a+")
    verdicts = Explainer(grammar).explain(b"", [0, 1, 2, 4]).tokens
    assert [(v.text, v.allowed) for v in verdicts] == [("'a'", True), ("<pad>", False), ("<end>", False), (None, False)]
    assert verdicts[1].reasons == ("it is a special token, which is never text",)
    assert verdicts[3].reasons == ("it is padding: the tokenizer has no token with this id",)


def test_a_token_that_fails_in_its_middle() -> None:
    (verdict,) = explain("basic", "a", " = ").tokens
    assert verdict.allowed
    (verdict,) = explain("basic", "a = ", " = ").tokens
    assert (verdict.text, verdict.allowed, verdict.fails_at) == ("' = '", False, 1)
    assert verdict.reasons == ("""'=' is read as "=", which the parser cannot take here""",)
    assert verdict.places[0].can_be_ignored


@pytest.mark.parametrize(
    ("name", "text", "groups"),
    [
        ("basic", "a=", {("(ignored)",): "'\\n'", ("NAME", '"none"'): "'none'", ("NUMBER",): "'0'", ('"("',): "'('"}),
        ("ebnf", "1", {("/[0-9]+/",): "'0'", ('"+"',): "'+'", ('" then "',): None}),
        ("json", "{", {("ws",): "'\\t'", ("string",): "'\"'", ('"}"',): "'}'"}),
    ],
)
def test_groups_of_tokens(name: str, text: str, groups: dict[tuple[str, ...], str | None]) -> None:
    found = {group.terminals or ("(ignored)",): group.examples[0] for group in explain(name, text).groups}
    assert found == {terminals: example for terminals, example in groups.items() if example}


@EVERY
def test_explanations_are_the_masks(name: str, how: str) -> None:
    """Along sampled sentences: each token is judged as the mask has it, with a reason if not; the groups are the allowed tokens."""
    grammar = compiled(name, how)
    explainer, sampler = Explainer(grammar), Sampler(grammar)
    every = range(grammar.vocab_size)
    for seed in range(times(2)):
        tokens = sampler.sample(random.Random(seed), max_tokens=8).tokens
        matcher, text = psc.GrammarMatcher(grammar), b""
        for token in tokens:
            explanation = explainer.explain(text, every)
            allowed = [matcher.is_allowed(t) for t in every]
            assert [v.allowed for v in explanation.tokens] == allowed
            assert all(v.allowed or v.reasons for v in explanation.tokens)
            assert explanation.allowed == sum(allowed)
            assert sum(g.tokens for g in explanation.groups) == sum(allowed) - matcher.is_completed()
            assert explanation.may_end == matcher.is_completed()
            assert all(place.rules for place in explanation.places if place.symbols)
            for v in explanation.tokens:
                if v.fails_at is not None:
                    data = grammar.tokenizer_info.token_texts[v.token]
                    assert matcher.fork().accept_prefix(data) == v.fails_at < len(data)
            matcher.accept_token(token)
            text += grammar.tokenizer_info.token_texts[token]


def test_without_the_vocabulary() -> None:
    def lost(metadata: object, place: str) -> psc.TokenizerInfo:
        raise psc.TokenizerError("it is gone")

    known = compiled("basic")
    grammar = psc.CompiledGrammar(known._machine, known.metadata, tokenizer_info=lost)
    explanation = Explainer(grammar).explain(b"a", [ord("="), ord("b"), ord(";")])
    assert explanation.notes == ("the tokenizer was not found, so tokens are not shown: it is gone",)
    assert explanation.groups == ()
    assert explanation.allowed == Explainer(known).explain(b"a").allowed
    assert [v.allowed for v in explanation.tokens] == [True, True, False]
    assert explanation.tokens[2].reasons == ("its text is not known, since the tokenizer was not found",)


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"a b", "'a b'"), (b"\n'\\", "'\\n\\'\\\\'"), ("é".encode(), "'é'"), (b"\xc3x\xff", "'\\xc3x\\xff'"), (b"", "''")],
)
def test_shown(data: bytes, text: str) -> None:
    assert shown(data) == text
