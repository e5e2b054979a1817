"""A real vLLM server with psc writes texts of every kind of constraint; each is read by a parser that is not psc's."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import jsonschema
import pytest
from needed import needed
from vllm_server import Server, ask, json_of, real_server, serving

openai = needed("openai")
pytestmark = [*real_server, pytest.mark.filterwarnings("ignore")]
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "languages": {"type": "array", "items": {"enum": ["English", "French", "Hindi"]}, "maxItems": 2},
    },
    "required": ["name", "age", "languages"],
    "additionalProperties": False,
}
OF_PERSONS = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": True}}
SPECULATION = '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}'
CODE = {"structured_outputs": {"regex": "[A-Z]{3}-[0-9]{4}"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With speculation, so that what grammars force are drafts; after all tests nothing has failed."""
    arguments = ["--structured-outputs-config.backend", "xgrammar", "--no-async-scheduling", "--speculative-config", SPECULATION]
    environment = {"PSC_VLLM": "require", "PSC_FORCED_DRAFTS": "1"}
    with serving(tmp_path_factory.mktemp("server"), *arguments, **environment) as started:
        yield started
        counted = started.counters()
        assert not any(counted.get(name) for name in ("refused_tokens", "empty_masks", "failures")), counted


def test_json_schema(server: Server) -> None:
    for seed in range(2):
        answer = ask(server.client(), "Describe a person as JSON.", response_format=OF_PERSONS, seed=seed)
        jsonschema.validate(json_of(answer), PERSON)
    assert server.counters()["compilations"] >= 1


def test_any_json_object(server: Server) -> None:
    # A small model may not find the end of an object that nothing bounds: what it wrote is the beginning of one.
    (choice,) = ask(
        server.client(), 'Write {"a": 1}', response_format={"type": "json_object"}, temperature=0.0, max_tokens=60
    ).choices
    text = choice.message.content
    if choice.finish_reason == "stop":
        assert isinstance(json.loads(text), dict)
    else:
        with pytest.raises(json.JSONDecodeError) as refused:
            json.loads(text)
        assert refused.value.pos >= len(text) - 1 or "Unterminated" in refused.value.msg


def test_regular_expression_and_choice(server: Server) -> None:
    answer = ask(server.client(), "Write a code.", **CODE)
    assert re.fullmatch("[A-Z]{3}-[0-9]{4}", answer.choices[0].message.content)
    answer = ask(server.client(), "Is the sky blue?", structured_outputs={"choice": ["yes", "no"]})
    assert answer.choices[0].message.content in ("yes", "no")


@pytest.mark.parametrize(
    "grammar",
    [
        'root ::= pair (", " pair){0,3}\npair ::= [a-z]{1,6} "=" [0-9]{1,3}',
        'start: pair (", " pair)~0..3\npair: NAME "=" NUMBER\nNAME: /[a-z]{1,6}/\nNUMBER: /[0-9]{1,3}/\n',
    ],
    ids=["EBNF", "Lark"],
)
def test_grammar(server: Server, grammar: str) -> None:
    text = ask(server.client(), "Write settings.", structured_outputs={"grammar": grammar}).choices[0].message.content
    pair = "[a-z]{1,6}=[0-9]{1,3}"
    assert re.fullmatch(f"{pair}(, {pair}){{0,3}}", text), text


def test_bundled_grammar(server: Server) -> None:
    answer = ask(server.client(), "Write a table of names and ages in CSV.", structured_outputs={"grammar": "csv"}, max_tokens=60)
    rows = list(csv.reader(StringIO(answer.choices[0].message.content)))
    assert rows
    assert any(rows)


def test_stream(server: Server) -> None:
    pieces = list(ask(server.client(), "Describe a person as JSON.", response_format=OF_PERSONS, stream=True))
    assert pieces[-1].choices[0].finish_reason == "stop"
    jsonschema.validate(json.loads("".join(p.choices[0].delta.content or "" for p in pieces)), PERSON)


def test_forced_tokens_are_drafts(server: Server) -> None:
    """Without randomness: with a temperature the sampler of vLLM 0.32 for CPUs refuses drafts that it then samples itself."""
    sentence = "The quick brown fox jumps over the lazy dog and runs away"
    form = {"regex": f"[ab]{sentence}\\."}
    before = server.accepted_drafts()
    answer = ask(server.client(), f"Say: {sentence}.", structured_outputs=form, temperature=0.0)
    assert answer.choices[0].message.content[1:] == f"{sentence}."
    assert server.accepted_drafts() > before + 4


def test_refusals_beside_answers(server: Server) -> None:
    def bad(_: int) -> str:
        with pytest.raises(openai.BadRequestError) as refused:
            ask(server.client(), "Write.", structured_outputs={"grammar": 'start: "a"\n  | "b" (\n'})
        assert refused.value.status_code == 400
        return str(refused.value)

    def good(seed: int) -> str:
        return str(ask(server.client(), "Write a code.", seed=seed, **CODE).choices[0].message.content)

    with ThreadPoolExecutor(16) as pool:
        wrong, right = pool.map(bad, range(8)), pool.map(good, range(8))
        assert all("<string>:2:" in message for message in wrong)
        assert all(re.fullmatch("[A-Z]{3}-[0-9]{4}", text) for text in right)


def test_clients_that_go_away(server: Server) -> None:
    for seed in range(4):
        stream = ask(server.client(), "Write a long list.", structured_outputs={"regex": "[a-z ]{400}"}, stream=True, seed=seed)
        next(iter(stream))
        stream.close()
    answer = ask(server.client(), "Write a code.", **CODE)
    assert re.fullmatch("[A-Z]{3}-[0-9]{4}", answer.choices[0].message.content)


def test_many_at_once(server: Server) -> None:
    """64 requests, each with a grammar of its own; the server runs 32 at a time."""

    def one(i: int) -> bool:
        text = (
            ask(server.client(), "Write a code.", seed=i, structured_outputs={"regex": f"{i}-[a-z]{{1,5}}"})
            .choices[0]
            .message.content
        )
        return re.fullmatch(f"{i}-[a-z]{{1,5}}", text) is not None

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(one, range(64)))
