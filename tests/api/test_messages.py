"""Messages: at most 200 characters of what was sent, and the way out where a text is in another language than its reader."""

import json
import pickle
import re
from typing import Any

import pytest

import psc
from psc.compiler.frontends.lookup import find_grammar
from psc.errors import without_long_words
from psc.serving.kinds import is_lark, request_of
from psc.serving.options import ServiceOptions
from psc.support.line_numbers import LineNumbers
from psc.support.similar import similar

EBNF = [
    "root ::= {a}",
    '{a} ::= "a"\n{a} ::= "b"',
    '{a} ::= "x"',
    "root ::= {a}\n{a} ::= {a}",
    'root ::= "\\q{a}"',
    'root ::= "{a}',
    "root ::= [z-{a}]",
    'root ::= "a"<9>',
    "root ::= <{a}>",
    'root ::= {a}("x")',
    'root[{a}=3] ::= "a"',
    'root ::= TagDispatch(("{a}", {a}))',
    'root ::= Regex("({a}")',
]
LARK = [
    "start: {a}",
    "start: {A}",
    '{a}: "a"\n{a}: "b"\nstart: {a}',
    'start: "\\x{a}"',
    "start: /[{a}/",
    "%import {a}.X\nstart: X",
    "%import common.{A}\nstart: {A}",
    "%declare {A}\nstart: {A}",
    '{a}: "a"',
    'start: "{a}" "b" ) ',
    'start: {a}[x]\nx: "a"',
    'start: "a" -> {A}',
    "start: {A}\n{A}: /a*/",
    "start: {A}\n{A}: /({a})\\1/",
    "start: {A}\n{A}: {A}",
    'start: x{a} | y\nx{a}: "{a}"\ny: "{a}"',
    'start: "a"\n%ignore {A}',
    "start: <{a}>",
    "start: @{a}",
    'start[{a}=1]: "a"',
    "start: {A}\n{A}: /{a}(?=x)/",
]
REGEX = ["({a}", "(?<{a}", "[{a}", "[z-a{a}]", "(?{a}:x)", "\\p<{a}>", "[[:{a}:]]", "a<9>", "(?#{a}"]
SCHEMAS: list[Any] = [
    {"type": "@"},
    {"$ref": "@"},
    {"$ref": "#/@"},
    {"$ref": "#@"},
    {"$dynamicRef": "@"},
    {"$id": "@", "$ref": "x@"},
    {"properties": {"@": {"type": 3}}},
    {"type": "string", "pattern": "(@"},
    {"patternProperties": {"@": {"type": 3}}},
    {"minimum": "@"},
    {"type": "integer", "enum": ["@"]},
]
TAGS: list[Any] = [
    {"type": "@"},
    {"type": "structural_tag", "format": {"type": "@"}},
    {"type": "structural_tag", "format": {"type": "const_string", "@": 1}},
    {"type": "structural_tag", "format": {"type": "regex", "pattern": "(@"}},
    {"type": "structural_tag", "format": {"type": "grammar", "grammar": "root ::= @"}},
    {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": {}, "style": "@"}},
]
OTHERS = [
    lambda a: find_grammar(a),
    lambda a: find_grammar(f"{a}.lark"),
    lambda a: psc.load_tokenizer(a),
    lambda a: psc.get_model_structural_tag(a),
    lambda a: request_of(a, "", ServiceOptions()),
    lambda a: psc.Grammar.parse(request_of("choice", f"[{a}", ServiceOptions())),
    lambda a: psc.Grammar.from_lark('start: "a"', start=a),
    lambda a: psc.Grammar.from_lark('start: "a"', dialect=a),
    lambda a: psc.Grammar.from_lark('start: "a"', lexer=a),
    lambda a: psc.Grammar.from_ebnf('root ::= "a"', root_rule_name=a),
    lambda a: psc.Grammar.deserialize_json(json.dumps({"kind": a})),
]
LONG = {"a name": ("a" * 20_000, "A" * 20_000), "words": ("a b c " * 4_000, "A B C " * 4_000)}


def _filled(text: str, long: str) -> str:
    small, large = LONG[long]
    return text.replace("{a}", small).replace("{A}", large).replace("<9>", "{" + "9" * 20_000 + "}").replace("[x]", "{x}")


def _check(call: Any) -> None:
    try:
        call()
    except (psc.PscError, ValueError, TypeError) as e:
        assert len(str(e)) < 4_000, str(e)[:500]
        assert not re.search(r"(.)\1{250}|(a b c ){50}|(A B C ){50}", str(e)), str(e)[:500]
        again = pickle.loads(pickle.dumps(e))
        assert str(again) == str(e)


@pytest.mark.parametrize("long", LONG)
@pytest.mark.parametrize("text", EBNF)
def test_ebnf(text: str, long: str) -> None:
    _check(lambda: psc.Grammar.from_ebnf(_filled(text, long)).tables())


@pytest.mark.parametrize("long", LONG)
@pytest.mark.parametrize("text", LARK)
def test_lark(text: str, long: str) -> None:
    _check(lambda: psc.Grammar.from_lark(_filled(text, long)).tables().make())
    _check(lambda: psc.Grammar.from_lark(_filled(text, long), dialect="llguidance").tables())


@pytest.mark.parametrize("long", LONG)
@pytest.mark.parametrize("text", REGEX)
def test_regex(text: str, long: str) -> None:
    _check(lambda: psc.Grammar.from_regex(_filled(text.replace("p<", "p{").replace("{a}>", "{a}}"), long)))


@pytest.mark.parametrize("long", LONG)
@pytest.mark.parametrize("schema", SCHEMAS, ids=map(str, SCHEMAS))
def test_schemas(schema: Any, long: str) -> None:
    _check(lambda: psc.Grammar.from_json_schema(json.dumps(schema).replace("@", LONG[long][0])))


@pytest.mark.parametrize("long", LONG)
@pytest.mark.parametrize("tag", TAGS, ids=map(str, TAGS))
def test_structural_tags(tag: Any, long: str) -> None:
    _check(lambda: psc.Grammar.from_structural_tag(json.dumps(tag).replace("@", LONG[long][0])))


@pytest.mark.parametrize("long", LONG)
@pytest.mark.parametrize("call", OTHERS, ids=range(len(OTHERS)))
def test_other_calls(call: Any, long: str) -> None:
    _check(lambda: call(LONG[long][0]))


def test_the_ends_of_a_long_word_stay() -> None:
    path = "/" + "folder/" * 100 + "g.lark:3:7:"
    cut = without_long_words(f"{path} no")
    assert cut.startswith("/folder/folder") and cut.endswith("folder/g.lark:3:7: no") and len(cut) == 203
    assert without_long_words("a" * 200) == "a" * 200 and without_long_words(cut) == cut
    assert str(psc.PscError(3, "x" * 201).args[1]) == "x" * 100 + "…" + "x" * 99


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (psc.Grammar.from_ebnf, ' {"type": "object"}', "1:2: the text looks like JSON, not EBNF: compile_json_schema"),
        (psc.Grammar.from_ebnf, 'start: "a"\n', "1:6: a rule is written name ::= … here; name: … is Lark's language"),
        (psc.Grammar.from_ebnf, 'b.2: "a"\n', "1:4: a rule is written name ::= … here; name: … is Lark's language"),
        (psc.Grammar.from_ebnf, 'root ::= [^"\\\x7f]', "unknown escape of a backslash and U+007F"),
        (psc.Grammar.from_ebnf, "", "there is no rule 'root' to start from, and no other rule"),
        (psc.Grammar.from_lark, 'root ::= "a" | b', "with ::= the text is EBNF, which compile_grammar and .ebnf files take"),
        (psc.Grammar.from_lark, '{"type": "object"}', "the text looks like JSON: compile_json_schema"),
        (psc.Grammar.from_lark, 'perm::_: "a"', "parametric grammar is not supported (name::value)"),
        (psc.Grammar.from_lark, 'foo: "a"', "the only rule is foo."),
        (psc.Grammar.from_regex, "a{,3}b", "<regex>:1:2: {,3} means {0,3} to Python, and its own characters to ECMA-262"),
        (psc.Grammar.from_regex, "{,3}a", "write {0,3}, or \\{,3} for the characters"),
        (psc.Grammar.from_regex, "(ab){,2}", "write {0,2}"),
        (psc.Grammar.from_regex, "a{,0}b", "write {0,0}"),
        (psc.Grammar.from_ebnf, 'root ::= Regex("a{,3}")', "{,3} means {0,3} to Python"),
        (
            psc.Grammar.from_regex,
            "(?=a)b",
            "a terminal of a Lark grammar, such as start: /…/, or in a JSON schema's pattern",
        ),
        (psc.Grammar.from_regex, "(?!a)b", "or in a JSON schema's pattern"),
        (psc.Grammar.from_regex, "a\\b", "or in a JSON schema's pattern"),
        (psc.Grammar.from_regex, "(?<=a)b", "or use it in a terminal of a Lark grammar, such as start: /…/"),
    ],
)
def test_the_way_out(read: Any, text: str, said: str) -> None:
    with pytest.raises(psc.GrammarError) as refused:
        read(text)
    assert said in str(refused.value)


@pytest.mark.parametrize("pattern", ["a{,}b", "x{ 1,2}", "a{2", "a\\{,3}b", "a{0,3}b", "[{,3}]"])
def test_other_braces_are_read(pattern: str) -> None:
    psc.Grammar.from_regex(pattern)


@pytest.mark.parametrize(
    ("text", "lark"),
    [
        ('start: NAME "::=" NAME\nNAME: /a/', True),
        ("start: /::=/", True),
        ("start: A\nA.2: /a::=b/", True),
        ('?start: "::="', True),
        ('x: "a" // ::=', True),
        ('start: "a"', True),
        ('root ::= "a"', False),
        ('root\n  ::= "a: b"', False),
        ("a b ::= c", False),
        ('# "\nroot ::= "x"', False),
        ('root ::= "x: y"', False),
    ],
)
def test_the_kind_grammar(text: str, lark: bool) -> None:
    assert is_lark(text) == lark


def test_similar_names() -> None:
    names = ["value", "values", "other", "v" * 70]
    assert similar("valu", names) == ["value"] and similar("valu", names, n=2) == ["value", "values"]
    assert similar("v" * 69, names) == [] == similar("zzz", names)
    many = [f"rule{i}" for i in range(2_000)]
    assert similar("xule", [*many, "xulea"]) == ["xulea"]  # what begins as the word does is looked at first


@pytest.mark.parametrize("text", ["", "a", "\n", "a\n\nb\r\nc\n"])
def test_line_numbers(text: str) -> None:
    numbers = LineNumbers(text)
    assert [numbers.of(i) for i in range(len(text) + 1)] == [text.count("\n", 0, i) + 1 for i in range(len(text) + 1)]
