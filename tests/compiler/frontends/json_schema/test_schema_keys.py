"""One schema, one key: a dictionary, its text in any layout, and a file are asked for, and found, as the same."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from vocabularies import byte_tokenizer

import psc
from psc import _core
from psc.artifacts.store import Store
from psc.compiler.frontends.lookup import find_grammar
from psc.requests.json_schemas import schema_request

SCHEMA: dict[str, Any] = {
    "title": 'Ünder "quotes" \\ and \n\t\x01\x7f 漢字 𝄞 /',
    "type": "object",
    "properties": {"size": {"type": "number", "minimum": 1.50, "maximum": 10**30}, "a": {"enum": [True, None, [], {}, -0.5]}},
    "required": ["size"],
}
LAYOUTS = {
    "indented": json.dumps(SCHEMA, indent=2),
    "escaped": json.dumps(SCHEMA, ensure_ascii=True, indent=None),
    "compact": json.dumps(SCHEMA, ensure_ascii=False, separators=(",", ":")),
    "spread": " \n" + json.dumps(SCHEMA, indent="\t", separators=(" , ", " :\r\n ")) + "\n",
}


def random_value(rng: random.Random, depth: int) -> Any:
    texts = ["", "a", "é", '"', "\\", "\n", "\b\f\r\t", "\x00\x1f", "\x7f", "𝄞", "/", "\u2028"]
    kind = rng.randrange(7 if depth else 5)
    if kind == 5:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return {"".join(rng.choices(texts, k=2)): random_value(rng, depth - 1) for _ in range(rng.randrange(20))}
    return rng.choice([None, True, False, "".join(rng.choices(texts, k=3)), rng.randint(-9, 10**20), rng.random(), 1e-9, 1e300])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_has_the_key_of_the_dictionary(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(LAYOUTS[layout], encoding="utf-8")
    key = schema_request(SCHEMA).key()
    assert key is not None
    assert schema_request(LAYOUTS[layout]).key() == key
    assert find_grammar(path).request().key() == key
    assert psc.Grammar.from_json_schema(LAYOUTS[layout]).key == key


@pytest.mark.parametrize("seed", range(20))
def test_the_one_form_is_that_of_json_dumps(seed: int) -> None:
    value = random_value(random.Random(seed), 4)
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for text in (compact, json.dumps(value), json.dumps(value, indent=1)):
        assert _core.canonical_json(text) == compact


def test_what_means_another_thing_has_another_key() -> None:
    def key(text: str) -> object:
        return schema_request(text).key()

    assert key('{"properties":{"a":{},"b":{}}}') != key('{"properties":{"b":{},"a":{}}}')  # the order of members
    assert key('{"const":"a b"}') != key('{"const":"ab"}')
    # As Python has it: the last one, in the place of the first.
    assert _core.canonical_json('{"a": 1, "b": 2, "\\u0061": 3}') == '{"a":3,"b":2}'
    assert json.loads('{"a": 1, "b": 2, "a": 3}') == {"a": 3, "b": 2}
    assert _core.canonical_json("[1.0, 1.00, 1e2, 1E+2, -0]") == "[1.0,1.00,1e2,1E+2,-0]"  # as spelled


@pytest.mark.parametrize("text", ['{\n"type":: 1}', "[1 2]", "tru e", '{"a": 1} 2', "", '"\\ud800"', "[" * 10_001 + "]" * 10_001])
def test_what_is_no_json_has_a_key_of_its_own_and_is_told_by_its_lines(text: str) -> None:
    assert schema_request(text).key() is not None
    with pytest.raises(psc.GrammarError, match="line 2, column 8" if "::" in text else "line 1|10,000"):
        psc.Grammar.from_json_schema(text)


def test_nesting_costs_no_stack() -> None:
    text = "[" * 9_999 + "]" * 9_999
    assert _core.canonical_json(text.replace("[", "[ ")) == text


def test_an_artifact_of_a_file_is_found_for_the_dictionary(tmp_path: Path) -> None:
    info = byte_tokenizer()
    path, artifact = tmp_path / "schema.json", tmp_path / "schema.psc"
    path.write_text(LAYOUTS["indented"], encoding="utf-8")
    psc.compile_to_artifact(path, info, artifact)
    Store(tmp_path / "store").add(artifact.read_bytes())
    compiler = psc.GrammarCompiler(info, store=tmp_path / "store")
    assert not compiler.compile_json_schema(SCHEMA).is_lazy
    assert not compiler.compile_json_schema(LAYOUTS["escaped"]).is_lazy
    assert compiler.compile_json_schema(SCHEMA, strict_mode=False).is_lazy
