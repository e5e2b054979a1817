"""Documents that differ in the order of their tags: one machine for all of them, and each with its own names."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from psc import CompiledGrammar, GrammarCompiler, GrammarMatcher, InvalidStructuralTagError, TokenizerInfo
from psc._core import in_order_of_tags
from psc.errors import InvalidJSONError

LONGER = [b"<f=", b'{"', b'":', b"}</f>", b"<f=ab>", b'a"', b"<|x|>", b"<eos>", b"12", b"</f><f="]
TOKENS = [*[bytes([i]) for i in range(256)], *LONGER]
TOKENIZER = TokenizerInfo.from_tokens(TOKENS, special_token_ids=[262], stop_token_ids=[263])
SCHEMAS: list[Any] = [
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"const": {"tags": ["b", "a"]}},
    {"const": {"tags": ["a", "b"]}},
    {"enum": ["a", "ab"]},
]


def tag(begin: str, content: Any, end: Any = "</f>") -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def drawn_tag(rng: random.Random) -> dict[str, Any]:
    name = rng.choice(["a", "ab", "b", "a<|x|>"])
    contents: list[Any] = [{"type": "json_schema", "json_schema": schema} for schema in SCHEMAS]
    contents += [{"type": "const_string", "value": name}, {"type": "any_text", "excludes": ["1"]}]
    inner = [tag("<f=" + c, rng.choice(contents[:5])) for c in "ab"]
    contents.append({"type": "tags_with_separator", "tags": inner, "separator": "1"})
    return tag(f"<f={name}>", rng.choice(contents), rng.choice(["</f>", ["</f>", "12"]]))


def drawn(rng: random.Random) -> dict[str, Any]:
    # One part at least, so that there is something to link.
    tags = [tag("<f=z>", {"type": "json_schema", "json_schema": SCHEMAS[0]}), *[drawn_tag(rng) for _ in range(rng.randrange(1, 5))]]
    if rng.random() < 0.5:
        return {"type": "triggered_tags", "triggers": ["<f="], "tags": tags, "stop_after_first": rng.random() < 0.5}
    return {"type": "tags_with_separator", "tags": tags, "separator": "\n", "at_least_one": rng.random() < 0.5}


def written(form: dict[str, Any], **layout: Any) -> str:
    return json.dumps({"type": "structural_tag", "format": form}, **layout)


def shuffled(form: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    return {**form, "tags": rng.sample(form["tags"], len(form["tags"]))}


def walk(compiled: CompiledGrammar, rng: random.Random) -> list[object]:
    """What there is to be seen along a text."""
    matcher = GrammarMatcher(compiled)
    seen: list[object] = []
    for _ in range(12):
        ids = matcher.allowed_tokens().tolist()
        seen.append((ids, matcher.expected_terminals()))
        if not ids:
            break
        matcher.accept_token(rng.choice(ids))
        if matcher.is_terminated():
            break
    return seen


@pytest.mark.parametrize("seed", range(25))
def test_tags_in_another_order_are_the_same_machine(seed: int) -> None:
    rng = random.Random(seed)
    form = drawn(rng)
    compiler = GrammarCompiler(TOKENIZER, store=False)
    first = compiler.compile_structural_tag(written(form))
    for number in range(2):
        text = written(shuffled(form, rng))
        again = compiler.compile_structural_tag(text)
        assert again._machine is first._machine
        assert again.grammar.source == text
        alone = GrammarCompiler(TOKENIZER, store=False).compile_structural_tag(text)
        assert again.terminal_names == alone.terminal_names
        assert str(again.grammar) == str(alone.grammar)
        assert again.metadata["grammar"] == alone.metadata["grammar"]
        for k in range(4):
            assert walk(again, random.Random(k + number)) == walk(alone, random.Random(k + number))


def test_a_document_that_is_let_go_of_leaves_its_machine_to_another_order() -> None:
    form = drawn(random.Random(1))
    compiler = GrammarCompiler(TOKENIZER, store=False)
    first = compiler.compile_structural_tag(written(form))
    second = compiler.compile_structural_tag(written({**form, "tags": form["tags"][::-1]}))
    assert second is not first
    assert compiler.compile_structural_tag(written(form)) is first
    compiler.clear_cache()
    machine = second._machine
    del first
    assert compiler.compile_structural_tag(written({**form, "tags": form["tags"][1:] + form["tags"][:1]}))._machine is machine


def test_without_a_cache_each_is_compiled_anew() -> None:
    form = drawn(random.Random(2))
    compiler = GrammarCompiler(TOKENIZER, cache_enabled=False, store=False)
    first, second = (compiler.compile_structural_tag(written(form)) for _ in range(2))
    assert first._machine is not second._machine


def test_the_limit_of_a_compiler_counts_a_machine_once() -> None:
    form = drawn(random.Random(3))
    compiler = GrammarCompiler(TOKENIZER, cache_limit_bytes=1 << 24, store=False)
    first = compiler.compile_structural_tag(written(form))
    size = compiler.get_cache_size_bytes()
    second = compiler.compile_structural_tag(written({**form, "tags": form["tags"][::-1]}))
    assert second._machine is first._machine
    assert compiler.get_cache_size_bytes() == size


@pytest.mark.parametrize(
    ("text", "in_order"),
    [
        ('{"tags": [ 2 , "b,]" ,{"tags":[2,1]}]}', '{"tags": ["b,]",2,{"tags":[2,1]}]}'),
        ('{"tags":[]}', '{"tags":[]}'),
        ('{"structures":[2,1],"triggers":[2,1]}', '{"structures":[1,2],"triggers":[2,1]}'),
        ('{"a":[{"tags":[2,1]},{"tags":[2,1]}]}', '{"a":[{"tags":[1,2]},{"tags":[1,2]}]}'),
        ('{"json_schema":{"tags":[2,1]},"schema" : {"tags":[2,1]}}', '{"json_schema":{"tags":[2,1]},"schema" : {"tags":[2,1]}}'),
        ('{"a":"\\"tags\\":[2,1]","tags":"b"}', '{"a":"\\"tags\\":[2,1]","tags":"b"}'),
        ('["tags",[2,1]]', '["tags",[2,1]]'),
        ('{"tags":["\\\\",1]}', '{"tags":["\\\\",1]}'),
    ],
)
def test_the_tags_of_a_list_are_in_one_order(text: str, in_order: str) -> None:
    assert json.loads(text)
    assert in_order_of_tags(text) == in_order
    assert in_order_of_tags(in_order) == in_order


@pytest.mark.parametrize(
    "text",
    [
        '{"js\\u006fn_schema":{"tags":[2,1]}}',
        '{"tags":[2,1}',
        '{"tags":[2,,1]}',
        '{"tags":[2,1,]}',
        '{"tags":[2',
        '{"tags',
        '{"schema":',
    ],
)
def test_where_the_order_cannot_be_told_there_is_none(text: str) -> None:
    assert in_order_of_tags(text) is None


def test_what_is_not_json_is_none_however_much_was_known() -> None:
    form = drawn(random.Random(4))
    compiler = GrammarCompiler(TOKENIZER, store=False)
    text = written(form)
    compiler.compile_structural_tag(text)
    rng = random.Random(5)
    n_tried = 0
    for _ in range(300):
        at, length = rng.randrange(len(text)), rng.randrange(3)
        broken = text[:at] + rng.choice(["", ",", "]", "[", '"', "}", " x"]) + text[at + length :]
        try:
            json.loads(broken)
        except ValueError:
            n_tried += 1
            with pytest.raises((InvalidJSONError, InvalidStructuralTagError)):
                compiler.compile_structural_tag(broken)
    assert n_tried > 100
