"""The position of a fault as attributes of the error, for every language that knows one."""

import pickle

import pytest

from psc import Grammar
from psc.errors import GrammarError, ResourceLimitError

EBNF, REGEX, LARK, SCHEMA = Grammar.from_ebnf, Grammar.from_regex, Grammar.from_lark, Grammar.from_json_schema

CASES = [
    (EBNF, 'root ::= "a"\nroot2 ::= nope', ("<string>", 2, 11)),
    (EBNF, 'root ::= "a', ("<string>", 1, 10)),
    (EBNF, 'root ::= "a"\r\n\r\nb ::= (\r\n', ("<string>", 3, 7)),
    (EBNF, "root ::= [b-a]", ("<string>", 1, 11)),
    (EBNF, 'root ::= "é" "\\q"', ("<string>", 1, 15)),
    (EBNF, "root ::= " + "(" * 300, ("<string>", 1, 210)),
    (REGEX, "a(b", ("<regex>", 1, 2)),
    (REGEX, "a\n(?<n>b)\\k<n>", ("<regex>", 2, 8)),
    (REGEX, "*", ("<regex>", 1, 1)),
    (LARK, 'start: "a"\n%json {}\n', ("<string>", 2, 1)),
    (LARK, 'start: "a" %json {"type": 3}\n', ("<string>", 1, 18)),
    (LARK, "start: <[1-0]>\n", ("<string>", 1, 8)),
    (SCHEMA, '{"a":}', ("<JSON schema>", 1, 6)),
    (SCHEMA, '{\n "type": "string",\n}', ("<JSON schema>", 3, 1)),
]


def _refused(read, text):
    with pytest.raises(GrammarError) as refused:
        read(text)
    return refused.value


@pytest.mark.parametrize(("read", "text", "position"), CASES)
def test_a_text(read, text, position):
    error = _refused(read, text)
    assert (error.path, error.line, error.column) == position
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and (again.path, again.line, again.column) == position


def test_a_limit_stays_one():
    assert isinstance(_refused(EBNF, "root ::= " + "(" * 300), ResourceLimitError)


@pytest.mark.parametrize("what", ["root ::= ", "root\n::="])
def test_half_a_pair(what):
    error = _refused(EBNF, what + '"\ud800"')
    assert (error.line, error.column) == (what.count("\n") + 1, len(what.split("\n")[-1]) + 2)


def test_a_schema_has_a_pointer():
    error = _refused(SCHEMA, '{"properties": {"a": {"type": "x"}}}')
    assert (error.path, error.pointer, error.line) == ("<JSON schema>", "#/properties/a", None)
    error = _refused(LARK, 'start: "a" %json {"items": {"type": "x"}}')
    assert (error.line, error.column, error.pointer) == (1, 18, "#/items")


def test_nothing_is_known():
    error = GrammarError("no")
    assert (error.path, error.line, error.column, error.pointer) == (None,) * 4
