"""The bundled grammars of data formats: tables of what each accepts and refuses, and parsers on random texts."""

import csv
import tomllib
from functools import cache
from io import StringIO

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import byte_tokenizer

import psc
from psc.corpus.references import formats
from psc.corpus.references.reference import Refusal

CASES = {
    "toml": (
        [
            "",
            "\n# a comment\n\t\n",
            "a = 1 # b\r\n[c]\nd.'e'.\"f\" = 2",
            "1.2 = 1.2\ntrue = false\n- = 'x'\n1979-05-27 = 1979-05-27",
            "[ a . b ]\n[[c]]\n[[c]]",
            "a = [1, 'b', [], # c\n\n {d = 1, e.f = [\n]},\n]",
            "a = {}\nb = { }",
            r'a = "\b\t\n\f\r\"\\ \u00e9 \U0001f600"',
            'a = """\nb ""c"" \\\n   d"""""',
            "a = '''b''c'''''",
            'a = """\\""""',
            "a = +1_000\nb = 0xdead_BEEF\nc = 0o17\nd = 0b1_0\ne = -0",
            "a = 1e5\nb = 1.5E-1_0\nc = -inf\nd = +nan\ne = 0.0e+01",
            "a = 1979-05-27T07:32:00.999999-07:00\nb = 1979-05-27 07:32:00z\nc = 07:32:00.5\nd = 2024-02-29",
            "a = 2000-02-29\nb = 2023-12-31",
            "é = 1".replace("é", '"é"'),
        ],
        [
            "a",
            "a =",
            "= 1",
            "a = 1 b = 2",
            "a = 1, b = 2",
            "é = 1",
            "a. = 1",
            "[a",
            "[a] b = 1",
            "[]",
            "[a.]",
            "[ [a]]",
            "a = [1 2]",
            "a = [,]",
            "a = {b = 1,}",
            "a = {\nb = 1}",
            "a = 01",
            "a = 1__0",
            "a = _1",
            "a = 1.",
            "a = .5",
            "a = 0x_1",
            "a = +0x1",
            "a = 1.e5",
            'a = "b\nc"',
            r'a = "\x41"',
            r'a = "\ud800"',
            r'a = "\U00110000"',
            'a = """b""""""',
            "a = '''b''''''",
            'a = """b \\ c"""',
            "a = 'b\x7f'",
            "a = True",
            "a = 1979-02-29",
            "a = 1900-02-29",
            "a = 1979-13-01",
            "a = 1979-04-31",
            "a = 24:00:00",
            "a = 07:32",
            "a = 1979-05-27T07:32:00+24:00",
            "# \x00",
            "a = 1\rb = 2",
        ],
    ),
    "xml": (
        [
            "<a/>",
            "\ufeff<?xml version='1.0' encoding=\"UTF-8\" standalone='yes' ?>\n<!-- b --><?c d?><a></a >\n<!---->",
            "<a b='1' c=\"&lt;'\"\n>d&amp;&#10;&#x1F600;<e:f/> ]] > ]] <![CDATA[<&]]]]></a>",
            "<a>]]<b/>></a>",
            "<été/>",
            "<a><?xmlb?><?xm ??><?b c?d ??></a>",
            "<!DOCTYPE a><a/>",
            "<!DOCTYPE a SYSTEM 'b'><a/>",
            "<!DOCTYPE a PUBLIC '-//B//C' \"d\" [\n<!ELEMENT a (#PCDATA|b)*><!ELEMENT b (c?,(d|e)+)><!ELEMENT f EMPTY>]><a/>",
            "<!DOCTYPE a [<!ATTLIST a b CDATA #REQUIRED c (d|e) 'd' f NMTOKENS #IMPLIED g ID #FIXED 'h'>]><a b=''/>",
            "<!DOCTYPE a [<!ENTITY b 'c&#10;'><!NOTATION g PUBLIC 'h'><!ENTITY e SYSTEM 'f' NDATA g><!--i--><?j k?>]><a/>",
            "<!DOCTYPE a [<!ELEMENT a (#PCDATA)><!ELEMENT b ( c )><!NOTATION n SYSTEM 'o'><!ENTITY % p 'q'> %p; ]><a/>",
        ],
        [
            "",
            "a",
            "<a>",
            "<a/><b/>",
            "</a>",
            "< a/>",
            "<a b/>",
            "<a b=c/>",
            "<a b='1'c='2'/>",
            "<a b='<'/>",
            "<a>&</a>",
            "<a>&b</a>",
            "<a>b]]>c</a>",
            "<a><!-- b -- c --></a>",
            "<!-- b ---><a/>",
            " <?xml version='1.0'?><a/>",
            "<?xml version='2.0'?><a/>",
            "<?xml encoding='UTF-8'?><a/>",
            "<a><?XmL b?></a>",
            "<1/>",
            "<a>&#0;</a>",
            "<a>&#xD800;</a>",
            "<a>&#55296;</a>",
            "<a>&#65534;</a>",
            "<a>&#x110000;</a>",
            "<a>&#1114112;</a>",
            "<a>\x0b</a>",
            "<a>\ufffe</a>",
            "<!DOCTYPE a [<!ELEMENT a (b|c,d)>]><a/>",
            "<!DOCTYPE a [<!ELEMENT a (#PCDATA|b)>]><a/>",
            "<!DOCTYPE a [<!ENTITY b>]><a/>",
            "<!DOCTYPE a [<a/>]><a/>",
        ],
    ),
    "csv": (
        ["", "a", "a,b\r\nc,d\r\n", ",\n,", '"a","b ""c"" \n,"\nd', "é, f "],
        ['a"b', '"a" ', '"a"b', '"a', ' "a"', '"""'],
    ),
    "graphql": (
        [
            "{a}",
            "# b\n{ a(b: 1, c: [-1.5e3 $d], e: {f: ENUM g: null}) @h @i(j: true) { k: l, ...m, ... on n {o} ... @p {q} } }",
            'query a($b: [C!]! = [1] @d, $e: F) { query } mutation { mutation } "b" subscription type @c { on }',
            "fragment a on on @b { c } fragment fragment on type { type }",
            'schema @a { query: B mutation: C } "d" scalar e @f',
            '"""a \\""" " "" b""" type C implements & D & E @f(g: ["h"]) { "i" j("k" l: M = 1 @n): [O!] @p }',
            "type a type b implements c { type: input }",
            "interface a implements b { c: d } union e = | f | g union h",
            "enum a @b { c @d enum on } enum e input f input g { h: i = {j: 1} }",
            "directive @a(b: C) repeatable on | FIELD | QUERY directive @repeatable on FIELD_DEFINITION",
            "extend type a implements b extend type c @d extend type e {f: g} {h}",
            "extend schema @a extend union b = c extend enum d {e} extend input f @g extend scalar h @i",
            r'{a(b: "\"\\\/\b\n\u00e9\uD83D\uDE00\u{1F600}", c: "", d: """""")}',
            "\ufeff,{,a,},",
            "type A { FIELD: QUERY } enum B { QUERY ENUM }",
        ],
        [
            "",
            "{}",
            "{a{}}",
            "a",
            "{a()}",
            "query () {a}",
            "query a",
            "{...on}",
            "fragment on on a {b}",
            "fragment a(b: C) on d {e}",
            "{a(b: $c = 1)}",
            "query ($a: B = $c) {d}",
            "type a {b: c = 1}",
            "type a {}",
            "enum a {true}",
            "enum a {null}",
            "extend type a",
            "extend scalar a",
            '"a" extend type b @c',
            '"a" {b}',
            "directive @a on b",
            "directive @a",
            "union a =",
            "schema {a: B}",
            '{a(b: "c\nd")}',
            r'{a(b: "\x")}',
            r'{a(b: "\uD83D")}',
            r'{a(b: "\u{110000}")}',
            '{a(b: """c"""")}',
            "{a(b: .5)}",
            "{a(b: 1.)}",
            "{a..b}",
        ],
    ),
    "markdown": (
        [
            "",
            "a\n\n# b\n`c` ~~d~~\n",
            '```json\n{"a": [1]}\n```\n',
            "```json\n1\n\n```",
            "``` JSON title\n1 \n  ```  \nb",
            "```json\r\n1\r\n```\r\nb",
            "````json\n[]\n````",
            "~~~json\n1\n~~~",
            "```\n```",
            "```js\n{b\n```",
            "```json5\n{b}\n```\nc",
            "```jso\n{b\n```",
            "````\n```json\nb\n```\n````",
            "~~~\n```\n~~~",
            "```b\n``\n``` c\n    ```\n  ````` \n",
            "```a`b``",
            "    ```json\n",
            "- ```json\n",
        ],
        [
            "```json\n{b}\n```",
            "```json\n```",
            "```json\n1",
            "```\nb\n~~~",
            "```\nb\n``",
            "````\nb\n```",
            "```json\n1 ```",
            "`````\n`````",
        ],
    ),
}


@cache
def compiled(name: str) -> psc.CompiledGrammar:
    return psc.GrammarCompiler(byte_tokenizer(), store=False).compile_file(name)


def accepts(name: str, text: str) -> bool:
    matcher, data = psc.GrammarMatcher(compiled(name)), text.encode()
    return matcher.accept_prefix(data) == len(data) and matcher.is_completed()


@pytest.mark.parametrize("name", CASES)
def test_accepts_and_refuses(name: str) -> None:
    accepted, refused = CASES[name]
    assert [text for text in accepted if not accepts(name, text)] == []
    assert [text for text in refused if accepts(name, text)] == []


REFERENCES = {"toml": formats.toml, "xml": formats.xml, "csv": formats.comma_separated, "markdown": formats.markdown}


OTHERWISE = {"markdown": {"- ```json\n", "`````\n`````"}, "xml": {"<?xml version='2.0'?><a/>"}}
"""A fence in a list and the longest fences; another version than XML has had, which expat reads."""


@pytest.mark.parametrize("name", REFERENCES)
def test_references_judge_the_cases_alike(name: str) -> None:
    accepted, refused = CASES[name]
    judge = REFERENCES[name]().judge
    differ = {t for t, r in zip(accepted, judge(accepted), strict=True) if r is not None}
    differ |= {t for t, r in zip(refused, judge(refused), strict=True) if r is None}
    assert differ == OTHERWISE.get(name, set())


def random_texts(pieces: str) -> st.SearchStrategy[str]:
    """Texts of pieces that a blank sets apart, `_` being a blank itself."""
    return st.lists(st.sampled_from([p.replace("_", " ") for p in pieces.split(" ")]), max_size=12).map("".join)


MEMORY = ("Cannot ", "Duplicate inline", "mismatched tag", "duplicate attribute", "undefined entity")


def check_alike(name: str, text: str) -> None:
    refusal: Refusal | None = REFERENCES[name]().judge([text])[0]
    if refusal is None or not refusal.message.startswith(MEMORY):
        assert accepts(name, text) == (refusal is None), text


@given(random_texts("a = \" ' \"\"\" ''' \\ \\n \n \r\n [ ] { } , . 1 0 _ # - + e 0x : T 07:32:00 1979-02-28 inf true é"))
@examples(400)
def test_toml_as_tomllib(text: str) -> None:
    check_alike("toml", text)
    check_alike("toml", f"k = {text}")


@given(random_texts("a < > / </a> <a> <a/> & &lt; &# 13; x9; ; = ' \" _ \n <!-- - --> <? ?> xml <![CDATA[ ] ]]> ! é"))
@examples(400)
def test_xml_as_expat(text: str) -> None:
    check_alike("xml", text)
    check_alike("xml", f"<a>{text}</a>")
    check_alike("xml", f"<a {text}/>")


@given(random_texts("< > <!ATTLIST <!ELEMENT_a <!ENTITY_a ( ) | , ? * + #PCDATA EMPTY _ b 'c' CDATA #IMPLIED % SYSTEM"))
@examples(400)
def test_document_types_as_expat(text: str) -> None:
    check_alike("xml", f"<!DOCTYPE a [{text}]><a/>")
    check_alike("xml", f"<!DOCTYPE a [<!ELEMENT a {text}>]><a/>")


@given(random_texts('a " "" , \n \r\n _ é'))
@examples(200)
def test_csv_as_python_s(text: str) -> None:
    check_alike("csv", text)


@given(st.lists(st.lists(st.text("a,\"\n\r é'", max_size=4), min_size=1, max_size=4), max_size=4))
def test_whatever_csv_writes_is_accepted(rows: list[list[str]]) -> None:
    file = StringIO(newline="")
    csv.writer(file).writerows(rows)
    assert accepts("csv", file.getvalue())


@given(random_texts("``` ```` ~~~ ` json js _ a { } 1 \n \n \n ____"))
@examples(200)
def test_markdown_as_markdown_it(text: str) -> None:
    if not any(line.lstrip(" ").startswith(("`````", "~~~~")) for line in text.split("\n")):
        check_alike("markdown", text)


def test_dates_are_those_of_the_calendar() -> None:
    for year in (1600, 1900, 1999, 2000, 2024, 2100, 4, 9996):
        for month in range(14):
            for day in (0, 1, 9, 28, 29, 30, 31, 32):
                text = f"a = {year:04}-{month:02}-{day:02}"
                try:
                    tomllib.loads(text)
                except tomllib.TOMLDecodeError:
                    assert not accepts("toml", text)
                else:
                    assert accepts("toml", text)
