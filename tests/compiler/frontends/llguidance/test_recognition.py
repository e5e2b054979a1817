"""Which texts in Lark's syntax are in llguidance's dialect, and the grammars that these refer to."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest
from dialect_texts import INFO, matches

import psc
from psc.compiler.frontends.lark import loader
from psc.compiler.frontends.llguidance import front_end as dialect
from psc.compiler.frontends.llguidance.recognition import has_token_of_dialect, is_dialect
from psc.compiler.grammars import bundled_names, bundled_path

DIALECT = [
    '%llguidance {}\nstart: "a"',
    '%grammar_options {}\nstart: "a"',
    "start: %json {}",
    'start: %regex {"substring_chars": "a"}',
    'start: %lark { start: "a" }',
    "start: <|tool|>",
    "start: <[1]>",
    "start: @other",
    'start: A\nA: "a" & "b"',
    'start: A\nA: ~"a"',
    "start: A\nA: ~ B",
    'start: "a"{2}',
    'start: "a"{,2}',
    'start: ("a" "b"){ 2 , 3 }',
    'start: foo-bar\nfoo-bar: "a"',
    'start: FOO-BAR\nFOO-BAR: "a"',
    'start[capture]: "a"',
    'x: "b"\n!?start [lazy]: "a"',
    "start: foo::0",
    'start: "a" %if x',
]
LARK = [
    'start: "a"',
    'start: "<b>" "@x" "a & b" "%json {" "{2}" // <b> @x & {2}\n# %json',
    r"start: /[<@&~{2,3}-]a{2,3}\/<x>/ A~2 B ~ 3..4 C" "\nA: /a/\nB: /b/\nC: /c/",
    'start: list{"a"} | list{b}\nlist{x}: x ("," x)*\nb: "b"',
    'start: a->b | "x" -> c\na: ["q"] ["r"]',
    'start: a\na: "x"\n  | ["y"] "z"\n',
    'start.2: "a".."z" %import common.INT -> NUMBER\n%ignore " "',
    "start: A\nA: /(?!(?:\n   a|b-c<d>@e)\n )[a-z&{2}]/x",
]


# fmt: off
PIECES = [
    "a", "b_c", "A", "X-y", "a->x", "->", "-", "~", "3", "..", "~ 2", "{", "}", "{2}", "{,3}", "{ x, y }", ",", "<a>", "<",
    '<a"b>', ">", "@x", "@", "&", "::", ":", '"x"', '"', '"a\\"b"', '"@x"', "/r@x/", "/", "//", "// @c\n", "# <x>\n", "#", "\n",
    "\n", " ", "[", "]", "x[", "[x]", "%json", "%ignore", "%import common.X", "%if", "?start", "!r", "|", "(", ")", "*", "+",
    "1-2", "\\", "'", "\ufeff", "\t",
]
# fmt: on


def test_a_search_finds_what_looking_at_each_token_finds() -> None:
    rng = random.Random(0)
    for _ in range(5_000):
        text = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 9)))
        assert is_dialect(text) == has_token_of_dialect(text), text


@pytest.mark.parametrize("text", DIALECT)
def test_dialect(text: str) -> None:
    assert is_dialect(text)


@pytest.mark.parametrize("text", LARK)
def test_lark(text: str) -> None:
    assert not is_dialect(text)


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_grammars_are_in_larks_own_language(name: str) -> None:
    assert bundled_path(name).suffix != ".lark" or not is_dialect(bundled_path(name).read_text())


def test_a_caller_says_which() -> None:
    text = "start: A B\nA: /ab*/\nB: /bc?/"
    compiler = psc.GrammarCompiler(INFO, store=False)
    assert psc.Grammar.from_lark(text).language == "lark"
    assert matches(compiler.compile_lark(text, dialect="llguidance"), "abb")
    assert not matches(compiler.compile_lark(text), "abb")
    with pytest.raises(psc.GrammarError):
        psc.Grammar.from_lark('start: "a"{2}', dialect="lark")
    with pytest.raises(psc.GrammarError, match="dialect must be"):
        psc.Grammar.from_lark(text, dialect="ebnf")  # type: ignore[arg-type]
    with pytest.raises(psc.GrammarError, match="no lexer to choose"):
        psc.Grammar.from_lark('start: "a"{2}', lexer="basic")


def test_what_lark_refuses_and_the_dialect_reads() -> None:
    text = 'start: "" "a" /\\u{62}/'
    with pytest.raises(psc.GrammarError, match="llguidance's dialect of Lark can read it: begin it with %llguidance"):
        psc.Grammar.from_lark(text, dialect="lark")
    assert psc.Grammar.from_lark(text) == psc.Grammar.from_lark(text, dialect="llguidance")
    assert matches(psc.GrammarCompiler(INFO, store=False).compile_lark(text), "ab")


PATCHES = """start: "<begin>" LF hunk+ "<end>" LF?
hunk: "add " /(.+)/ LF line+
line: "+" /(.*)/ LF
%import common.LF
"""
"""Of the kind that Codex sends: the text of a line may be empty."""


def test_a_terminal_that_may_be_empty_is_the_dialects() -> None:
    compiled = psc.GrammarCompiler(INFO, store=False).compile_lark(PATCHES)
    assert matches(compiled, "<begin>\nadd f\n+x\n+\n+\ty\nadd g\n+\n<end>")
    for broken in ("<begin>\n<end>", "<begin>\nadd \n+x\n<end>", "<begin>\nadd f\nx\n<end>", "<begin>\nadd f\n+x<end>"):
        assert not matches(compiled, broken)


@pytest.mark.parametrize("body", ["/b*/", "/(b(c)?)?/", "/b|/", "/()/", "B\nB: /b*/", "B\nB: /b/?", "/b?/i"])
def test_what_larks_lexer_refuses_is_the_dialects(body: str) -> None:
    text = f'start: "a" {body}'.replace("B\n", 'B "c"\n') if body.startswith("B") else f'start: "a" {body} "c"'
    assert psc.Grammar.from_lark(text) == psc.Grammar.from_lark(text, dialect="llguidance")
    assert matches(psc.GrammarCompiler(INFO, store=False).compile_lark(text), "ac")
    for options in ({"dialect": "lark"}, {"lexer": "basic"}, {"keep_all_actions": True}):
        with pytest.raises(psc.GrammarError, match="matches the empty string") as e:
            psc.Grammar.from_lark(text, **options)  # type: ignore[arg-type]
        assert ("begin it with %llguidance {}" in str(e.value)) == ("dialect" in options)


def test_a_terminal_that_may_be_empty_and_is_not_used_is_larks() -> None:
    assert psc.Grammar.from_lark('start: "a"\nunused: /b*/\nB: /b*/').language == "lark"
    assert psc.Grammar.from_lark('start: A\nA: B "a"\nB: /b*/').language == "lark"


@pytest.mark.parametrize("text", ['start: "" "a" "b"', 'start: "" "a" "b" /<x>/?'], ids=["no tokens", "what could name tokens"])
def test_each_of_the_two_reads_a_text_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(module: Any, name: str, what: str) -> None:
        function = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, **options: (read.append(what), function(*args, **options))[1])

    counted(loader, "load_lark", "Lark")
    counted(dialect, "parse_document", "dialect")
    psc.Grammar.from_lark(text)
    psc.Grammar.from_lark(text, tokenizer_info=INFO)
    compiler = psc.GrammarCompiler(INFO, store=False)
    assert matches(compiler.compile_lark(text), "ab")
    assert read == ["Lark", "dialect"] * 3
    with pytest.raises(psc.GrammarError, match="can read it: begin it with %llguidance"):
        psc.Grammar.from_lark(text, dialect="lark")
    with pytest.raises(psc.GrammarError, match="rule 'missing' is not defined"):
        compiler.compile_lark("start: missing")
    assert read == ["Lark", "dialect"] * 5


def test_options_of_larks_are_not_the_dialects() -> None:
    for options in ({"keep_all_actions": True}, {"lexer": "basic"}):
        with pytest.raises(psc.GrammarError):
            psc.Grammar.from_lark('start: "" "a"', **options)  # type: ignore[arg-type]


def test_what_can_be_read_and_not_compiled_is_larks() -> None:
    text = 'start: a | b\na: "x"\nb: "x"'
    assert psc.Grammar.from_lark(text).language == "lark"
    with pytest.raises(psc.GrammarError, match="conflict"):
        psc.GrammarCompiler(INFO, store=False).compile_lark(text)


def test_what_neither_reads() -> None:
    with pytest.raises(
        psc.GrammarError, match=r"^<string>:1:8: rule 'missing' is not defined; define it, or put text into double quotes$"
    ):
        psc.Grammar.from_lark("start: missing")


NAMED: dict[str, tuple[str, dict[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    "Lark": (
        'start: "[" @item ("," @item)* "]"',
        {"item": psc.Grammar.from_lark('start: "x" | "y"')},
        ("[x]", "[y,x]"),
        ("[]", "[z]", "[x,]"),
    ),
    "texts": ("start: @pair", {"pair": 'start: @item ":" @item', "item": "start: /[a-z]+/"}, ("a:b",), ("a:", "a:1")),
    "a text with a grammar": (
        "start: @w",
        {"w": 'start: "[" @item "]"', "item": psc.Grammar.from_regex("[0-9]+")},
        ("[0]", "[12]"),
        ("[]", "[x]"),
    ),
    "in a nested grammar": (
        'start: "o" %lark { start: "i" @v }',
        {"v": psc.Grammar.from_ebnf('root ::= "v" root | "w"')},
        ("oiw", "oivvw"),
        ("oi", "ow"),
    ),
    "schemas": ("start: @s @s", {"s": psc.Grammar.from_json_schema({"const": 1})}, ("11",), ("1", "12")),
    "the dialect": (
        "start: @a",
        {"a": psc.Grammar.from_lark("start: @b", named_grammars={"b": 'start: "c"'}), "b": 'start: "d"'},
        ("c",),
        ("d",),
    ),
    "tokens": ("start: @t", {"t": "start: <|tool|>"}, (), ("t",)),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_grammars(name: str) -> None:
    text, named, accepted, rejected = NAMED[name]
    grammar = psc.Grammar.from_lark(text, named_grammars=named)
    compiler = psc.GrammarCompiler(INFO, store=False)
    for compiled in (
        compiler.compile_lark(text, named_grammars=named),
        compiler.compile_grammar(psc.Grammar.deserialize_json(grammar.serialize_json())),
        compiler.compile_grammar(pickle.loads(pickle.dumps(grammar))),
    ):
        assert all(matches(compiled, t) for t in accepted)
        assert not any(matches(compiled, t) for t in rejected)
        assert matches(compiled, [257]) == (name == "tokens")


def test_named_grammars_are_part_of_the_key() -> None:
    one, two = (psc.Grammar.from_lark("start: @x", named_grammars={"x": f'start: "{c}"'}) for c in "ab")
    assert one != two and one.key.with_vocabulary("") != two.key.with_vocabulary("")


def test_named_grammars_that_cannot_be() -> None:
    for named, error, message in (
        ([], TypeError, "must be a dictionary"),
        ({1: "x"}, TypeError, "names must be strings"),
        ({"x": 1}, TypeError, "values must be Grammar instances or Lark strings"),
        ({"bad name": 'start: "x"'}, psc.GrammarError, "Invalid named grammar name"),
        ({"x": "start: @y", "y": "start: @x"}, psc.GrammarError, "circular named grammar reference: @x -> @y -> @x"),
        ({"x": "start: ("}, psc.GrammarError, "@x: Lark error at line 1, column 9"),
    ):
        with pytest.raises(error, match=message):
            psc.Grammar.from_lark("start: @x", named_grammars=named)
