"""A real vLLM server with psc writes texts, which a parser that is not psc's reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from vllm_server import Server, ask, json_of, real_server, serving

pytest.importorskip("openai")
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
