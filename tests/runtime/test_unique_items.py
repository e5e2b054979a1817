"""Arrays of strings that must differ: masks against an oracle, in all ways that a matcher goes."""

from __future__ import annotations

import json
import pickle
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psc
from tests.support.json_schema.unique_oracle import Array, Either, Form, Many, Members, Strings
from tests.support.json_schema.unique_walk import check_along_a_walk


def _matching(pattern: str, letters: str, longest: int, count: int | None, **more: Any) -> Strings:
    matches = re.compile(pattern).fullmatch
    schema = {"type": "string", "pattern": f"^(?:{pattern})$"}
    return Strings(schema, lambda value: matches(value) is not None, letters, longest, count, **more)


ANY = Strings({"type": "string"}, lambda _: True, "ab", 1, None, ("", "zzzz", "zzzzz"))
SHORT = Strings({"type": "string", "maxLength": 1}, lambda v: len(v) <= 1, 'abcdefghijklmnopqrs\\"\n\U0001f600', 1, None)
TWO = Strings({"type": "string", "maxLength": 2}, lambda v: len(v) <= 2, "abcdefghijklmnopqrs\n", 1, None, ("", "z"))
LONG = Strings({"type": "string", "minLength": 2}, lambda v: len(v) >= 2, "ab", 1, None, ("", "zzzz", "zzzzz"))
LETTER = _matching("[ab]", "ab", 1, 2)
PAIR = _matching("[ab]{1,2}", "ab", 2, 6)
NAMES = _matching("a[ab]*", "ab", 2, None, tails=("", "bbbbbbbbbb", "bbbbbbbbbbbb"))
MIXED = _matching("a|b[ab]*c?", "abc", 3, None, tails=("", "bbbbbbbbbb", "bbbbbbbbbbbb"))
BACKSLASH = _matching('[\\\\"\n/é😀]', '\\"\n/é😀', 1, 6)
STRINGS = (ANY, SHORT, TWO, LONG, LETTER, PAIR, NAMES, MIXED, BACKSLASH)

PIECES = [
    '"a"',
    '"b"',
    '"a","',
    '","',
    '", "',
    '","a',
    '","a"',
    '"a","a"',
    '["a"',
    '["a","a"',
    '["a","b"]',
    'a"',
    'a",',
    'b"]',
    '"]',
    '"],',
    "[",
    '["',
    '"a"]',
    '"],["a","',
    '"],["a","a',
    "\\u0061",
    "\\u006",
    "\\u00",
    '\\u0061"',
    '","\\u0061"',
    '"\\u0062"',
    '\\u0061","a"',
    "aa",
    "ab",
    'ba"',
    '""',
    '"",""',
    '"",',
    '","","',
    '["",""]',
    '{"x"',
    '":["a"',
    '":[',
    '"y":["a","b"',
    "\\ud83d",
    "\\ude00",
    "\\ud83d\\ude00",
    "😀",
    '😀"',
    '"😀","',
    "\\n",
    "\\u000a",
    "\\/",
    '\\/"',
    '/"',
    "\\\\",
    '\\\\"',
    '\\""',
    '\\"","',
    " , ",
    ' ,"a',
    '"b","a","b"',
    '"a" ,"b" ,"c"',
    '\n"',
    "é",
    "\\u00e9",
    "\\u00E9",
    'é"',
    '"a","b","a',
    '"a","b","c',
    '","b","',
    '","aa"',
    '"a","ab',
    "zzzz",
    '":["a","a"]',
    '"]}',
    '"],"y":["a"',
    '"],"y":["a","a',
    '\\"a","',
    '],["a"',
    '],["a","a"',
]


@cache
def _vocabulary(seed: int) -> psc.TokenizerInfo:
    rng = random.Random(seed)
    tokens = {bytes([i]) for i in range(256)} | {piece.encode() for piece in PIECES}
    for _ in range(60):
        tokens.add("".join(rng.choice(PIECES) for _ in range(rng.randint(2, 3))).encode())
    return psc.TokenizerInfo([*sorted(tokens), b"</s>"], stop_token_ids=[len(tokens)])


@cache
def _compiler(seed: int) -> psc.GrammarCompiler:
    return psc.GrammarCompiler(_vocabulary(seed))


def _compiled(form: Form, seed: int) -> psc.CompiledGrammar:
    return _compiler(seed).compile_json_schema(json.dumps(form.schema), strict_mode=False)


ARRAYS = st.builds(
    lambda strings, least, more: Array(strings, least, None if more is None else least + more),
    st.sampled_from(STRINGS),
    st.sampled_from([0, 0, 1, 2, 3]),
    st.sampled_from([None, None, 0, 1, 3]),
).filter(lambda array: array.strings.count is None or array.least <= array.strings.count)
FORMS = st.one_of(
    ARRAYS,
    ARRAYS,
    st.builds(lambda a, b: Members((("x", a), ("y", b))), ARRAYS, ARRAYS),
    st.builds(Many, ARRAYS),
    st.builds(lambda a, b: Either((a, b)), ARRAYS, ARRAYS),
)


@given(form=FORMS, seed=st.integers(0, 2**32), vocabulary=st.integers(0, 3))
def test_masks_are_those_of_the_oracle(form: Form, seed: int, vocabulary: int) -> None:
    check_along_a_walk(form, _compiled(form, vocabulary), seed, b'ab"],[')


NAMES_OF_MEMBERS = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
SCHEMA = json.dumps(NAMES_OF_MEMBERS)


@pytest.fixture(scope="module")
def names() -> psc.CompiledGrammar:
    return _compiler(0).compile_json_schema(SCHEMA, strict_mode=False)


def _accepts(grammar: psc.CompiledGrammar, text: str) -> bool:
    matcher = psc.GrammarMatcher(grammar)
    return matcher.accept_string(text) and matcher.is_completed()


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("a", "\\u0061"),
        ("\U0001f600", "\\ud83d\\uDE00"),
        ("\\u00E9", "\u00e9"),
        ("\\/", "/"),
        ("\\u002f", "\\/"),
        ("\\n", "\\u000a"),
        ("\\\\", "\\u005C"),
        ('\\"', "\\u0022"),
        ("", ""),
    ],
)
def test_values_are_equal_however_they_are_spelled(names: psc.CompiledGrammar, value: str, other: str) -> None:
    for one, two in [(value, other), (other, value)]:
        assert not _accepts(names, f'["{one}", "{two}"]')
        assert _accepts(names, f'["{one}", "{two}!", "?{one}"]')


def test_composed_characters_are_other_values(names: psc.CompiledGrammar) -> None:
    assert _accepts(names, '["\\u00e9", "e\\u0301", "E", "e"]')


def test_an_array_has_a_thousand_items_at_most(names: psc.CompiledGrammar) -> None:
    matcher = psc.GrammarMatcher(names)
    assert matcher.accept_string("[" + ", ".join(f'"{i}"' for i in range(1000)))
    assert not matcher.fork().accept_string(', "999"')
    assert matcher.accept_string(", ")
    with pytest.raises(psc.ResourceLimitError, match="items of an array with uniqueItems: more than 1000"):
        matcher.accept_string('"')
    matcher.rollback(1)
    assert matcher.accept_string("]") and matcher.is_completed()


def test_each_place_has_its_own_values() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"a": NAMES_OF_MEMBERS, "b": NAMES_OF_MEMBERS}}}
    grammar = _compiler(0).compile_json_schema(json.dumps(schema))
    assert _accepts(grammar, '[{"a": ["x", "y"], "b": ["x"]}, {"a": ["x"], "b": ["y", "x"]}]')
    assert not _accepts(grammar, '[{"a": ["x", "y"], "b": ["x"]}, {"a": ["x"], "b": ["y", "x", "y"]}]')


@pytest.mark.parametrize("more", [{"prefixItems": [{"type": "string", "pattern": "^x+$"}]}, {"maxItems": 3}, {"minItems": 2}])
def test_other_keywords_of_arrays_hold_as_well(more: dict[str, Any]) -> None:
    grammar = _compiler(0).compile_json_schema(json.dumps({**NAMES_OF_MEMBERS, **more}))
    assert _accepts(grammar, '["x", "xx", "y"]')
    assert not _accepts(grammar, '["x", "xx", "xx"]') and not _accepts(grammar, '["x", "x"]')
    assert _accepts(grammar, '["a", "b"]') != ("prefixItems" in more)
    assert _accepts(grammar, '["x"]') != ("minItems" in more)
    assert _accepts(grammar, '["x", "y", "z", "w"]') != ("maxItems" in more)


@pytest.mark.parametrize("how", ["allOf", "$ref", "anyOf", "format"])
def test_strings_are_found_wherever_the_schema_says_so(how: str) -> None:
    items = {
        "allOf": {"allOf": [{"type": "string"}, {"minLength": 1}]},
        "$ref": {"$ref": "#/$defs/name"},
        "anyOf": {"anyOf": [{"enum": ["a"]}, {"type": "string", "maxLength": 4}]},
        "format": {"type": "string", "format": "date"},
    }[how]
    schema = {"type": "array", "allOf": [{"items": items}, {"uniqueItems": True}], "$defs": {"name": {"type": "string"}}}
    grammar = _compiler(0).compile_json_schema(json.dumps(schema))
    one, two = ("2020-01-01", "2020-01-02") if how == "format" else ("a", "b")
    assert _accepts(grammar, f'["{one}", "{two}"]')
    assert not _accepts(grammar, f'["{one}", "{two}", "{one}"]')


def test_few_strings_end_the_array() -> None:
    schema = {**NAMES_OF_MEMBERS, "items": {"type": "string", "pattern": "^[ab]$"}}
    grammar = _compiler(0).compile_json_schema(json.dumps(schema))
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string('["b", "')
    assert [bytes([t]) for t in range(256) if matcher.fork().accept_string(bytes([t]))] == [b"a"]
    assert matcher.accept_string('a"') and not matcher.accept_string(",")
    with pytest.raises(psc.GrammarError, match="no value"):
        _compiler(0).compile_json_schema(json.dumps(schema | {"minItems": 3}))


def test_a_character_of_which_all_have_come_is_not_begun() -> None:
    grammar = _compiler(0).compile_json_schema(json.dumps({**NAMES_OF_MEMBERS, "items": {"type": "string", "maxLength": 1}}))
    some = psc.GrammarMatcher(grammar)
    assert some.accept_string("[" + ", ".join(f'"{chr(c)}"' for c in range(0xC0, 0xFF)))  # begin with C3, but one
    for begun in (b', "\xc3', b', "\\u00f', b', "\xc3\xbf', b', "\\u00fF'):
        assert some.fork().accept_string(begun)
    assert some.fork().accept_string(', "\\u00c') is False
    every = some.fork()
    assert every.accept_string(', "\xff"')
    for begun in (b', "\xc3', b', "\\u00f'):
        assert not every.fork().accept_string(begun)
    for matcher, text in [(some, b', "'), (every, b', "'), (every, b', "\\u00'), (every, b', "\\')]:
        at = matcher.fork()
        assert at.accept_string(text) and _check_against_accepting(at)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "array", "uniqueItems": True}, "#, uniqueItems: psc can tell which items came"),
        ({**NAMES_OF_MEMBERS, "items": {"type": ["string", "array"]}}, "#, uniqueItems: psc can tell which items came"),
        ({"not": NAMES_OF_MEMBERS}, "#/not, uniqueItems: that some items are equal"),
        ({**NAMES_OF_MEMBERS, "contains": {"const": "a"}}, "#, uniqueItems: beside `contains`"),
        ({**NAMES_OF_MEMBERS, "minItems": 1001}, "#, uniqueItems: psc keeps 1,000 items at most"),
        (
            {**NAMES_OF_MEMBERS, "prefixItems": [{"type": "string", "pattern": "^[ab]$"}]},
            "#, uniqueItems: of items that are different and have few values",
        ),
    ],
)
def test_what_is_not_enforced_is_said(schema: dict[str, Any], message: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(psc.GrammarError, match=re.escape(message) + ".*; lenient=True leaves it out"):
        _compiler(0).compile_json_schema(json.dumps(schema))
    _compiler(0).compile_json_schema(json.dumps(schema), lenient=True)
    assert "uniqueItems: left out: " in caplog.text


def test_lenient_settings_leave_it_out() -> None:
    grammar = _compiler(0).compile_json_schema(SCHEMA, lenient=True)
    assert _accepts(grammar, '["a", "a"]')
    assert psc.Grammar.from_json_schema(SCHEMA, lenient=True).to_cfg().productions


def test_an_artifact_and_a_printed_grammar_cannot_have_it(names: psc.CompiledGrammar, tmp_path: Path) -> None:
    grammar = psc.Grammar.from_json_schema(SCHEMA)
    for refused in (grammar.to_cfg, lambda: names.save(tmp_path / "names.psc")):
        with pytest.raises(psc.GrammarError, match=r"uniqueItems: which items .*lenient=True"):
            refused()
    assert str(grammar) == SCHEMA


def test_the_way_out_exists_where_it_is_named() -> None:
    tag = {"type": "tag", "begin": "<t>", "content": {"type": "json_schema", "json_schema": json.loads(SCHEMA)}, "end": "</t>"}
    grammar = psc.Grammar.from_structural_tag({"type": "structural_tag", "format": tag})
    with pytest.raises(psc.GrammarError, match="leave it out of the schema") as caught:
        grammar.to_cfg()
    assert "lenient" not in str(caught.value)


def test_copies_and_combinations_keep_it(names: psc.CompiledGrammar) -> None:
    compiler = _compiler(0)
    union = psc.Grammar.union(psc.Grammar.from_json_schema(SCHEMA), psc.Grammar.from_ebnf('root ::= "x"'))
    twice = psc.Grammar.concat(psc.Grammar.from_json_schema(SCHEMA), psc.Grammar.from_json_schema(SCHEMA))
    copies = [
        pickle.loads(pickle.dumps(names)),
        psc.CompiledGrammar.deserialize_json(names.serialize_json(), _vocabulary(0)),
        compiler.compile_grammar(union),
        compiler.compile_grammar(pickle.loads(pickle.dumps(union))),
    ]
    for copy in copies:
        assert _accepts(copy, '["a", "b"]') and not _accepts(copy, '["a", "a"]')
    assert _accepts(copies[2], "x")
    assert _accepts(compiler.compile_grammar(twice), '["a"]["a"]')
    assert not _accepts(compiler.compile_grammar(twice), '["a"]["a", "a"]')


def test_structural_tags_have_it() -> None:
    def tag(begin: str, schema: Any, style: str = "json") -> dict[str, Any]:
        content = {"type": "json_schema", "json_schema": schema, "style": style}
        return {"type": "tag", "begin": begin, "content": content, "end": "</t>"}

    members = {"type": "object", "properties": {"p": NAMES_OF_MEMBERS}, "required": ["p"]}
    plain = {"type": "object", "properties": {"p": {"type": "string"}}}
    tags = {"type": "triggered_tags", "triggers": ["<t"], "tags": [tag("<t>", members), tag("<t2>", plain)]}
    grammar = _compiler(0).compile_structural_tag({"type": "structural_tag", "format": tags})
    assert _accepts(grammar, 'so <t>{"p": ["a", "b"]}</t> <t>{"p": ["a"]}</t><t2>{"p": "a"}</t>')
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string('so <t>{"p": ["a", "') and not matcher.accept_string('a"') and matcher.accept_string('a ", "')
    assert _check_against_accepting(matcher)
    with pytest.raises(psc.GrammarError, match=r"#/properties/p, uniqueItems: .*; leave it out of the schema"):
        _compiler(0).compile_structural_tag({"type": "structural_tag", "format": tag("<t>", members, "qwen_xml")})


def _check_against_accepting(matcher: psc.GrammarMatcher) -> bool:
    tokens = _vocabulary(0).decoded_vocab
    allowed = set(matcher.allowed_tokens().tolist())
    return allowed == {t for t in range(len(tokens)) if matcher.fork().accept_token(t)}


def test_masks_of_batches_drafts_and_row_ids(names: psc.CompiledGrammar) -> None:
    tokens = _vocabulary(0).decoded_vocab
    index = {text: i for i, text in enumerate(tokens)}
    begun = '["a", "b", '
    matchers = []
    for rest in ['"', '"a', '"b', '"c"', ""]:
        matchers.append(psc.GrammarMatcher(names))
        assert matchers[-1].accept_string(begun + rest)
    bitmask = psc.allocate_token_bitmask(len(matchers), len(tokens))
    psc.BatchGrammarMatcher().batch_fill_next_token_bitmask(matchers, bitmask)
    for i, matcher in enumerate(matchers):
        assert _check_against_accepting(matcher)
        row = np.asarray(bitmask[i])
        allowed = [t for t in range(len(tokens)) if row[t // 32] >> (t % 32) & 1]
        assert allowed == matcher.allowed_tokens().tolist()
        assert np.array_equal(names.row(matcher.mask_row()), row)
    drafts = [index[piece] for piece in (b'"', b"a", b'"')]
    assert matchers[4].validate_tokens(drafts) == 2
    tree = psc.allocate_token_bitmask(4, len(tokens))
    assert matchers[4].traverse_draft_tree(np.array([1, 2, 3, -1]), np.full(4, -1), np.array([0, *drafts]), tree)
    assert not np.asarray(tree[3]).any() and not np.asarray(tree[2])[index[b'"'] // 32] >> (index[b'"'] % 32) & 1


def test_forced_text_does_not_repeat() -> None:
    schema = {**NAMES_OF_MEMBERS, "items": {"type": "string", "pattern": "^(abc|abd)$"}}
    grammar = _compiler(0).compile_json_schema(json.dumps(schema))
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string('["abc", "')
    forced = matcher.find_jump_forward_string()
    assert forced.startswith("ab") and not forced.startswith("abc")
    assert matcher.accept_string(forced)


def test_rows_of_one_position_are_dropped_with_the_cache() -> None:
    compiler = psc.GrammarCompiler(_vocabulary(0), cache_limit_bytes=1)
    matcher = psc.GrammarMatcher(compiler.compile_json_schema(SCHEMA))
    for i in range(20):
        assert matcher.accept_string(f'{", " if i else "["}"{i}')
        assert _check_against_accepting(matcher)
        assert matcher.accept_string('"')
