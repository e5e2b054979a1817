"""Lists of parameters: tables of texts, arguments written and accepted, broken texts against a reader of the styles, errors."""

import random

import pytest
from tool_calls.parameter_texts import NS, READABLE, WRITERS, is_valid, written
from vocabularies import byte_tokenizer

import psc
from psc.compiler.frontends.parsed import parsed_grammar
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.frontends.structural_tag.parameter_styles import STYLES, parameter_list
from psc.grammars.grammar import Grammar

COMPILER = psc.GrammarCompiler(byte_tokenizer(), store=False)


def compiled(schema, style, **options):
    rules = parameter_list(schema, style, **options)
    request = GrammarRequest.of("ebnf", f'root ::= "{style}" # {schema} {options}')  # has nothing to say but which one it is
    return COMPILER.compile_grammar(Grammar(request, parsed_grammar(rules)))


def accepts(grammar, text):
    matcher = psc.GrammarMatcher(grammar, terminate_without_stop_token=True)
    return matcher.accept_string(text) and matcher.is_terminated()


def an_object(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


STRING, INTEGER = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("style", "schema", "accepted", "rejected"),
    [
        (
            "qwen_xml",
            an_object(["a"], a=STRING),
            ["<parameter=a>\nx\n</parameter>", "<parameter=a></parameter>", "\n<parameter=a></parameter></parameter>\n"],
            ["", "<parameter=b>x</parameter>", "<parameter=a>x</parameter><parameter=a>x</parameter>", "<parameter=a>x"],
        ),
        (
            "qwen_xml",
            an_object(a=INTEGER),
            ["", "\n", "<parameter=a>\n1\n</parameter>"],
            ["<parameter=a>x</parameter>", "<parameter=a></parameter>", "<parameter=a>1</parameter >"],
        ),
        (
            "qwen_xml",
            {"$ref": "#/$defs/x", "$defs": {"x": an_object(a={"$ref": "#/$defs/y"}), "y": {"enum": ["p q", 1, None]}}},
            ["<parameter=a>p q</parameter>", "<parameter=a> 1 </parameter>", "<parameter=a>null</parameter>"],
            ['<parameter=a>"p q"</parameter>', "<parameter=a> p q</parameter>", "<parameter=a>2</parameter>"],
        ),
        (
            "qwen_xml",
            {"anyOf": [an_object(["a"], a=STRING), an_object(["b"], b=INTEGER)]},
            ["<parameter=a>x</parameter>", "<parameter=b>1</parameter>"],
            ["", "<parameter=b>x</parameter>", "<parameter=a>x</parameter><parameter=b>x</parameter>"],
        ),
        (
            "qwen_xml",
            {"type": "object"},
            ["", "<parameter=a>x</parameter><parameter=b_1>{}</parameter>"],
            ["<parameter=a-b>1</parameter>", "<parameter=>1</parameter>", "x"],
        ),
        (
            "qwen_xml",
            {"type": "object", "patternProperties": {"^x-": INTEGER}, "additionalProperties": False},
            ["<parameter=x-b>1</parameter>"],
            ["<parameter=x-b>y</parameter>", "<parameter=y>1</parameter>", "<parameter=x->b>1</parameter>"],
        ),
        (
            "qwen_xml",
            {**an_object(ab=INTEGER), "additionalProperties": STRING},
            ["<parameter=a>x</parameter>", "<parameter=abc>x</parameter><parameter=ab>1</parameter><parameter=b>x</parameter>"],
            ["<parameter=ab>x</parameter>", "<parameter=ab>1</parameter><parameter=ab>x</parameter>"],
        ),
        (
            "minimax_xml",
            an_object(a=STRING, b={"type": "array", "items": INTEGER}),
            ['<parameter name="a">x</parameter>\n<parameter name="b">[1, 2]</parameter>\n'],
            ['<parameter name="b">[1]</parameter><parameter name="a">x</parameter>', '<parameter name="b">1</parameter>'],
        ),
        (
            "glm_xml",
            an_object(a={"type": ["string", "null"]}, b={"type": "boolean"}),
            ["<arg_key>a</arg_key>\n<arg_value>x</arg_value>", "<arg_key>b</arg_key><arg_value>true</arg_value>\n"],
            ["<arg_key>b</arg_key><arg_value>yes</arg_value>", "<arg_key> a</arg_key><arg_value>x</arg_value>"],
        ),
        (
            "deepseek_xml",
            an_object(a={"enum": ["x", 1]}),
            [
                '<｜DSML｜parameter name="a" string="true">x</｜DSML｜parameter>',
                '<｜DSML｜parameter name="a" string="false"> 1\n</｜DSML｜parameter>\n',
            ],
            [
                '<｜DSML｜parameter name="a" string="true"> x</｜DSML｜parameter>',
                '<｜DSML｜parameter name="a" string="true">1</｜DSML｜parameter>',
                '<｜DSML｜parameter name="a" string="false">x</｜DSML｜parameter>',
                '<｜DSML｜ parameter name="a" string="true">x</｜DSML｜ parameter>',
            ],
        ),
        (
            "deepseek_v4_1_xml",
            an_object(a=STRING),
            ['<｜DSML｜ parameter name="a" string="true">x</｜DSML｜parameter></｜DSML｜ parameter>'],
            ['<｜DSML｜parameter name="a" string="true">x</｜DSML｜parameter>'],
        ),
        (
            "kimi_k3_xml",
            an_object(**{'a"&': {"type": ["string", "integer"]}, "n": INTEGER}),
            [
                '<|open|>argument key="a&quot;&amp;" type="string"<|sep|>x<|close|>argument<|sep|>',
                '<|open|>argument key="a&quot;&amp;" type="integer"<|sep|>1<|close|>argument<|sep|>',
                '<|open|>argument key="n" type="number"<|sep|>1<|close|>argument<|sep|>',
            ],
            [
                '<|open|>argument key="a"&" type="string"<|sep|>x<|close|>argument<|sep|>',
                '<|open|>argument key="n" type="integer"<|sep|>1<|close|>argument<|sep|>',
                '<|open|>argument key="n" type="string"<|sep|>1<|close|>argument<|sep|>',
            ],
        ),
        (
            "cohere_xml",
            {
                "type": "object",
                "properties": {"l": {"type": "array", "items": an_object(["k"], k=INTEGER)}},
                "additionalProperties": STRING,
            },
            [
                '<cofl:value name="l" type="list"><cofl:value type="dict"><cofl:value name="k" type="json">1</cofl:value>'
                "</cofl:value></cofl:value>",
                '\n<cofl:value name="l" type="list">\n</cofl:value>\n<cofl:value name="a b&lt;" type="raw"><</cofl:value>',
            ],
            [
                '<cofl:value name="l" type="raw">x</cofl:value>',
                '<cofl:value name="l" type="list"><cofl:value type="dict"></cofl:value></cofl:value>',
                '<cofl:value name="a<" type="raw">x</cofl:value>',
                '<cofl:value name="a&" type="raw">x</cofl:value>',
                '<cofl:value name="" type="raw">x</cofl:value>',
                '<cofl:value name="a\0" type="raw">x</cofl:value>',
            ],
        ),
        (
            "minimax_m3_xml",
            an_object(["o"], o=an_object(a=STRING, l={"type": "array", "items": INTEGER, "maxItems": 2})),
            [
                f"{NS}<o>{NS}<a>x]<{NS}</a>{NS}<l>{NS}<item>1{NS}</item>\n{NS}<item>2{NS}</item>{NS}</l>{NS}</o>",
                f"{NS}<o>\n{NS}</o>",
            ],
            [
                f"{NS}<o>{NS}<a>x{NS}x{NS}</a>{NS}</o>",
                f"{NS}<o>{NS}<a>x{NS}</o>{NS}</o>",
                f"{NS}<o>{NS}<l>" + f"{NS}<item>1{NS}</item>" * 3 + f"{NS}</l>{NS}</o>",
                f"{NS}<o>{NS}<l>{NS}<item> 1{NS}</item>{NS}</l>{NS}</o>",
            ],
        ),
    ],
)
def test_tables(style, schema, accepted, rejected):
    if accepted[-1].count("</parameter></parameter>"):  # the value ends at the first marker
        rejected, accepted = [*rejected, accepted[-1]], accepted[:-1]
    grammar = compiled(schema, style)
    assert [text for text in accepted if not accepts(grammar, text)] == []
    assert [text for text in rejected if accepts(grammar, text)] == []


NESTED = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "mode": {"enum": ["fast", "slow & <careful>"]},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "on": {"type": "boolean"},
        "none": {"type": "null"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "at": {"type": "array", "items": {"type": "number"}}},
            "required": ["city"],
        },
    },
    "required": ["text"],
}
ARGUMENTS = [
    {"text": ""},
    {"text": ' \n two lines <b> & "quotes" </b> \n', "mode": "slow & <careful>"},
    {"text": "</param </arg <|close| ]<] </cofl: </｜DSML｜", "count": -3, "ratio": 2.5, "on": True, "none": None},
    {"text": "日本 \U0001f600", "tags": [], "where": {"city": "Zürich"}},
    {"text": "x", "tags": ["a", "b c", ""], "where": {"city": "", "at": [1, -2.5]}},
]


@pytest.mark.parametrize("style", STYLES)
def test_arguments_as_they_are_written(style):
    assert set(STYLES) == set(WRITERS)
    grammar = compiled(NESTED, style)
    for arguments in ARGUMENTS:
        assert accepts(grammar, written(style, arguments)), arguments
    for wrong in (
        {},
        {"text": "x", "count": "y z"},
        {"text": "x", "more": 1},
        {"count": 1, "text": "x"},
        {"text": "x", "where": {"at": []}},
    ):
        assert not accepts(grammar, written(style, wrong)), wrong


@pytest.mark.parametrize("style", STYLES)
def test_a_broken_marker_is_stopped(style):
    """With numbers alone no text can take up what is broken."""
    grammar = compiled(an_object(["ab", "cd"], ab=INTEGER, cd=INTEGER), style)
    text = written(style, {"ab": 1, "cd": 23}).strip("\n")
    assert accepts(grammar, text)
    for i, c in enumerate(text):
        if c in " \n" or c.isdigit():
            continue
        assert not accepts(grammar, text[:i] + text[i + 1 :]), text[:i]
        assert not accepts(grammar, text[:i] + ("~" if c != "~" else "!") + text[i + 1 :]), text[:i]


LOOSE = {
    "type": "object",
    "properties": {
        "ab": {"type": ["string", "integer"], "maxLength": 3},
        "c": {"enum": ["x", "yz", 1, None]},
        "d": {"type": "string", "pattern": "^<+[a-c]*$", "minLength": 2},
    },
    "required": ["ab"],
    "additionalProperties": {"type": "boolean"},
}


@pytest.mark.parametrize("style", READABLE)
def test_random_texts_against_a_reader(style):
    """Texts that are nearly right: what the grammar accepts is what a reader of the style finds to be valid arguments."""
    rng = random.Random(style)
    grammar = compiled(LOOSE, style)
    values = {"ab": ["x", 12, "", "<<", "long"], "c": ["x", "yz", 1, None, "q"], "d": ["<a", "<<", "<", "x"], "e": [True, "no"]}
    verdicts = []
    for _ in range(120):
        keys = [k for k in values if rng.random() < 0.7]
        if rng.random() < 0.1:
            rng.shuffle(keys)
        text = written(style, {k: rng.choice(values[k][:4] if rng.random() < 0.8 else values[k]) for k in keys})
        if rng.random() < 0.5 and text:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(["", " ", "\n", "<", "a", "1", text[at:] + text[:at]]) + text[at + 1 :]
        expected = is_valid(style, text, LOOSE)
        assert accepts(grammar, text) == expected, text
        verdicts.append(expected)
    assert 5 <= sum(verdicts) <= 100


def test_raw_text_has_pattern_format_and_length_and_no_marker():
    text = "<parameter=a>{}</parameter>"

    def takes(**keywords):
        grammar = compiled(an_object(["a"], a={"type": "string", **keywords}), "qwen_xml")
        return lambda value: accepts(grammar, text.format(value))

    of_length = takes(minLength=2, maxLength=4)
    assert [of_length("é" * n) for n in range(1, 6)] == [False, True, True, True, False]
    of_pattern = takes(pattern="^a.*z$", maxLength=40)
    assert of_pattern("a</parameter z") and not of_pattern("a</parameter>z") and not of_pattern("b z")
    date = takes(format="date")
    assert date("2024-02-29") and not date("2023-02-29") and not date('"2024-02-29"') and not date(" 2024-02-29")
    long = takes(maxLength=1000)
    assert long("x" * 1000) and not long("x" * 1001)


def test_excluded_texts():
    schema = {
        "type": "object",
        "properties": {"a": STRING, "o": {"type": "array", "items": STRING}},
        "additionalProperties": STRING,
    }
    grammar = compiled(schema, "kimi_k3_xml", excludes=["<|open|>", "zz"])

    def text(key, value, kind="string"):
        return f'<|open|>argument key="{key}" type="{kind}"<|sep|>{value}<|close|>argument<|sep|>'

    assert accepts(grammar, text("a", "<|open| z")) and accepts(grammar, text("o", '["z", "z"]', "array"))
    assert not accepts(grammar, text("a", "<|open|>")) and not accepts(grammar, text("a", "xzz"))
    assert not accepts(grammar, text("o", '["zz"]', "array")) and not accepts(grammar, text("azz", "x"))
    assert accepts(grammar, text("az", "x"))
    some = compiled(an_object(a={"enum": ["x", "zz"]}), "qwen_xml", excludes=["zz"])
    assert accepts(some, "<parameter=a>x</parameter>") and not accepts(some, "<parameter=a>zz</parameter>")


def test_what_a_pattern_or_a_format_says_may_contain_excluded_texts():
    schema = {
        "type": "object",
        "properties": {
            "p": {"type": "string", "pattern": "^[a-z]*$"},
            "d": {"type": "string", "format": "date"},
            "u": {"anyOf": [{"type": "string", "pattern": "^b"}, {"type": "string", "maxLength": 4}]},
        },
        "patternProperties": {"^x_": INTEGER},
        "additionalProperties": INTEGER,
    }
    grammar = compiled(schema, "qwen_xml", excludes=["bad", "-0"])

    def takes(key, value):
        return accepts(grammar, f"<parameter={key}>{value}</parameter>")

    assert takes("p", "bad") and takes("d", "2024-01-02")
    assert takes("u", "bad thing") and takes("u", "good") and not takes("u", "abad") and not takes("u", "longer")
    assert takes("x_bad", "1") and not takes("a_bad", "1") and takes("a_ba", "1")
    assert not takes("p", "</parameter>")


def test_a_list_of_items_may_be_all_where_no_object_is_valid():
    schema = {"type": "array", "items": INTEGER, "maxItems": 2}
    grammar = compiled(schema, "minimax_m3_xml")
    item = f"{NS}<item>1{NS}</item>"
    assert accepts(grammar, "") and accepts(grammar, item) and accepts(grammar, f"{item}\n{item}")
    assert not accepts(grammar, item * 3) and not accepts(grammar, "[1]")


def test_options():
    schema = an_object(["a", "b"], a=INTEGER, b=INTEGER)
    one, two = "<parameter=a>1</parameter>", "<parameter=b>2</parameter>"
    assert accepts(compiled(schema, "qwen_xml", any_order=True), two + one)
    assert not accepts(compiled(schema, "qwen_xml"), two + one)
    assert not accepts(compiled(schema, "qwen_xml", any_order=True), two + two + one)
    tight = compiled(schema, "qwen_xml", max_whitespace_cnt=1)
    assert accepts(tight, "\n" + one + "\n" + two + "\n") and not accepts(tight, one + "\n\n" + two)
    assert accepts(compiled(schema, "qwen_xml", strict_mode=False), one + two + "<parameter=c>x</parameter>")


@pytest.mark.parametrize(
    ("schema", "style", "message"),
    [
        ({}, "xml", "there is no style 'xml'; the styles are qwen_xml, "),
        (STRING, "qwen_xml", "#, type: no object is valid"),
        (an_object(a={"type": "array", "uniqueItems": True}), "glm_xml", "#/properties/a, uniqueItems"),
        (
            an_object(a={"type": "object"}),
            "minimax_m3_xml",
            "#/properties/a, additionalProperties: members of any name cannot be enforced",
        ),
        (True, "minimax_m3_xml", "#, additionalProperties: members of any name"),
        *[(an_object(**{name: INTEGER}), "minimax_m3_xml", "element name") for name in ("", " \n", "/a", "a>b")],
        (an_object(a={"$ref": "#/no"}), "qwen_xml", "#/properties/a"),
        ('{"type": ', "qwen_xml", "line 1, column 10: the text ends early"),
        (an_object(a={"type": "string", "maxLength": 50_000_000}), "qwen_xml", "#/properties/a: maxLength 50,000,000 beside"),
    ],
)
def test_what_cannot_be_enforced_is_named(schema, style, message):
    with pytest.raises(psc.GrammarError) as e:
        parameter_list(schema, style, source_name="tools[0]")
    assert message in str(e.value) and str(e.value).startswith("tools[0]: ")


def test_an_empty_exclude_is_an_error():
    with pytest.raises(psc.GrammarError, match="an excluded text is empty"):
        parameter_list({}, "qwen_xml", excludes=[""])
