"""Line breaks around values: one on each side is layout, and what a schema says holds of the text between them.

Every text of some characters is tried; the oracle takes the line breaks off as the models' parsers do, and asks `jsonschema`.
"""

import json
from itertools import product

import jsonschema
import pytest
from tool_calls.parameter_texts import LINE_BREAKS, READABLE, is_valid
from vocabularies import byte_tokenizer

import psc
from psc.compiler.frontends.structural_tag.parameter_styles import STYLES

COMPILER = psc.GrammarCompiler(byte_tokenizer(), store=False)
TEXTS = ["".join(t) for n in range(6) for t in product("\nab1", repeat=n)]
"""With the marker behind them they have all ways in which a line break can be layout, value, or both."""
SPELLED = {
    "qwen_xml": ("<parameter=a>", "</parameter>"),
    "minimax_xml": ('<parameter name="a">', "</parameter>"),
    "glm_xml": ("<arg_key>a</arg_key><arg_value>", "</arg_value>"),
    "deepseek_xml": ('<｜DSML｜parameter name="a" string="true">', "</｜DSML｜parameter>"),
    "kimi_k3_xml": ('<|open|>argument key="a" type="string"<|sep|>', "<|close|>argument<|sep|>"),
}
KINDS = {
    "plain": {"type": "string"},
    "enum": {"enum": ["a", "ab", "1b"]},
    "enum with line breaks": {"enum": ["\na", "a\n", "\n", "b\nb", "\n\n"]},
    "enum with the empty text": {"enum": ["", "b"]},
    "const": {"const": "ab"},
    "const or null": {"enum": ["ab", None]},
    "enum of all types": {"enum": ["a", 1, None, True, [], {}]},
    "pattern": {"type": "string", "pattern": "^[a-z]+$"},
    "pattern of a part": {"type": "string", "pattern": "ab"},
    "pattern with line breaks": {"type": "string", "pattern": "^\\n*a\\n?$"},
    "pattern of white space": {"type": "string", "pattern": "^\\s+$"},
    "minLength": {"type": "string", "minLength": 2},
    "maxLength": {"type": "string", "maxLength": 2},
    "empty": {"type": "string", "maxLength": 0},
    "both lengths": {"type": "string", "minLength": 1, "maxLength": 3},
    "a length and a pattern": {"type": "string", "pattern": "[ab]", "maxLength": 2},
    "not": {"type": "string", "not": {"const": "a"}},
    "not empty": {"type": "string", "not": {"enum": ["", "\n"]}},
    "no lone line break": {"type": "string", "not": {"pattern": "^\\n"}},
    "nullable": {"type": ["string", "null"], "maxLength": 1},
    "nullable enum": {"type": ["string", "null"], "enum": ["a", None]},
    "union": {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "integer"}]},
    "reference": {"$ref": "#/$defs/unit"},
    "all of": {"allOf": [{"type": "string", "minLength": 1}, {"pattern": "a$"}]},
    "one of": {"oneOf": [{"const": "a"}, {"type": "string", "minLength": 3}]},
    "if": {"type": "string", "if": {"pattern": "^a"}, "then": {"maxLength": 2}, "else": {"minLength": 2}},
    "integer": {"type": "integer"},
    "integers": {"enum": [1, 11]},
    "number": {"type": "number", "maximum": 11},
    "any": {},
}


def _schema(kind, end="$"):
    """The arguments' schema; `end`: how patterns spell the end of a text; for Python that is `\\Z`."""
    at = json.loads(json.dumps(KINDS[kind]).replace('$"', json.dumps(end)[1:]))
    return {"type": "object", "properties": {"a": at}, "required": ["a"], "$defs": {"unit": {"enum": ["a", "bb"]}}}


def _takes(compiled):
    def takes(text):
        matcher = psc.GrammarMatcher(compiled, terminate_without_stop_token=True)
        return matcher.accept_string(text) and matcher.is_terminated()

    return takes


def _compiled(style, schema, compiler=COMPILER, **options):
    content = {"type": "json_schema", "json_schema": schema, "style": style, **options}
    return compiler.compile_structural_tag({"type": "structural_tag", "format": {"type": "sequence", "elements": [content]}})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("style", SPELLED)
def test_a_line_break_on_each_side_is_layout_where_readers_take_it_off(style, kind):
    assert set(SPELLED) == set(READABLE)
    assert {s for s, facts in STYLES.items() if facts["line_breaks"]} == set(LINE_BREAKS)
    schema = _schema(kind, r"\Z")
    begin, end = SPELLED[style]
    if not any(is_valid(style, begin + text + end, schema) for text in TEXTS):  # a style that names another type
        return
    takes = _takes(_compiled(style, _schema(kind)))
    wrong = [text for text in TEXTS if takes(begin + text + end) != is_valid(style, begin + text + end, schema)]
    assert wrong == []


@pytest.mark.parametrize("style", LINE_BREAKS)
@pytest.mark.parametrize(
    ("keywords", "value"),
    [
        ({"format": "date"}, "2024-02-29"),
        ({"format": "uuid"}, "123e4567-e89b-12d3-a456-426614174000"),
        ({"format": "email"}, "a@b.org"),
        ({"format": "date-time"}, "2024-02-29T10:00:00Z"),
        ({"enum": ["celsius", "fahrenheit"]}, "celsius"),
        ({"const": "one\ntwo"}, "one\ntwo"),
        ({"minLength": 3, "maxLength": 300}, "x" * 300),
        ({"pattern": "^[A-Z]{2}-[0-9]+$", "maxLength": 20}, "AB-12"),
    ],
)
def test_what_strings_are_is_said_of_the_text_between(style, keywords, value):
    begin, end = SPELLED[style]
    schema = {"type": "object", "properties": {"a": {"type": "string", **keywords}}, "required": ["a"]}
    takes = _takes(_compiled(style, schema))
    for text in (value, f"\n{value}", f"{value}\n", f"\n{value}\n"):
        assert takes(begin + text + end), text
    if "minLength" not in keywords:
        for text in (f"\n\n{value}", f"{value}\n\n", f" {value}", f"{value}\r\n", f"\n{value} \n", "\n", ""):
            assert not takes(begin + text + end), text
    assert not takes(begin + value + " x" + end)


@pytest.mark.parametrize(
    "kind", ["enum", "both lengths", "not", "pattern with line breaks", "enum with line breaks", "nullable enum"]
)
def test_with_markers_that_are_special_tokens_and_with_excluded_texts(kind):
    tokens = [bytes([b]) for b in range(256)] + [b"</s>", b"</parameter>"]
    info = psc.TokenizerInfo(tokens, stop_token_ids=[256], special_token_ids=[257])
    compiled = _compiled("qwen_xml", _schema(kind), psc.GrammarCompiler(info, store=False))
    excluding = _takes(_compiled("qwen_xml", _schema(kind), excludes=["b\n", "\na"]))
    begin, end = SPELLED["qwen_xml"]
    for text in TEXTS:
        valid = is_valid("qwen_xml", begin + text + end, _schema(kind, r"\Z"))
        matcher = psc.GrammarMatcher(compiled, terminate_without_stop_token=True)
        taken = matcher.accept_string(begin + text) and matcher.accept_token(257) and matcher.is_terminated()
        assert taken == valid, text
        if "pattern" not in kind:
            value = text.removeprefix("\n").removesuffix("\n")
            assert excluding(begin + text + end) == (valid and "b\n" not in value and "\na" not in value), text


def test_the_oracle_reads_as_the_parsers_do():
    """Two readings that are written out, so that the oracle is no echo of the grammar."""
    begin, end = SPELLED["qwen_xml"]
    for text, value in (("\n", ""), ("\n\n", ""), ("\n\n\n", "\n"), ("\nx", "x"), ("x\n", "x"), ("\nx\n\n", "x\n")):
        schema = {"type": "object", "properties": {"a": {"const": value}}}
        jsonschema.validate({"a": value}, schema)
        assert is_valid("qwen_xml", begin + text + end, schema)
