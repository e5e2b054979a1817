"""The same requests by psc and by vLLM's own XGrammar backend: equal masks at every token, but where XGrammar's differ, and why."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vllm")
pytest.importorskip("xgrammar")
import vllm_engine as engine

from psc.adapters.vllm import register
from psc.adapters.vllm.grammar import PscGrammar
from psc.adapters.vllm.installation import uninstall
from psc.adapters.vllm.seams import find_seams

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def managers() -> Iterator[tuple[Any, Any]]:
    """Of psc, which reads JSON Schema to the letter, and of vLLM itself, each with its backend made."""
    seams = find_seams()
    assert seams is not None
    uninstall(seams)
    theirs = engine.manager()
    engine.ready(theirs, "first", engine.parameters(regex="a"))
    register()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PSC_BOUNDED", "0")
        ours = engine.manager()
        engine.ready(ours, "first", engine.parameters(regex="a"))
    yield ours, theirs
    uninstall(seams)


def tokens_of(text: str) -> list[int]:
    return list(engine.tokenizer()(text, add_special_tokens=False)["input_ids"])


def bits(row: np.ndarray) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[: len(engine.tokenizer())]).tolist())


def differences(managers: tuple[Any, Any], constraint: dict[str, Any], text: str) -> list[tuple[int, set[str], set[str]]]:
    """Where the masks differ from a text's begin to its end: after how many tokens, what only psc allows, what only XGrammar."""
    grammars = [engine.ready(m, "r", engine.parameters(**constraint)).structured_output_request.grammar for m in managers]
    assert [type(g) is PscGrammar for g in grammars] == [True, False]
    bitmask = managers[0].backend.allocate_token_bitmask(2)
    found = []
    tokens: list[int | None] = [*tokens_of(text), None]
    for at, token in enumerate(tokens):
        for row, grammar in enumerate(grammars):
            grammar.fill_bitmask(bitmask, row)
        ours, theirs = (bits(row) for row in bitmask.numpy())
        if ours != theirs:
            found.append((at, *(set(engine.tokenizer().convert_ids_to_tokens(sorted(s))) for s in (ours - theirs, theirs - ours))))
        for grammar in grammars if token is not None else ():
            assert grammar.accept_tokens("r", [token]), (at, token)
    return found


def tag(content: dict[str, Any]) -> dict[str, Any]:
    return {"structural_tag": json.dumps({"type": "structural_tag", "format": content})}


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["a", "bc"]}, "maxItems": 2},
        "boss": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
    },
    "required": ["name", "age"],
}


@pytest.mark.parametrize(
    "constraint, text",
    [
        ({"json": PERSON}, '{"name": "Ada", "age": '),
        ({"json": {"type": "array", "items": {"type": "boolean"}}}, "[true, false]"),
        ({"json": {"type": "string", "pattern": "^[a-c]{2,4}$"}}, '"abca"'),
        ({"regex": r"(\d{3}-)?[a-f]+"}, "555-beef"),
        ({"choice": ["true", "false", 'say "x"']}, 'say "x"'),
        ({"grammar": 'root ::= pair ("," pair)*\npair ::= [a-z]+ "=" ("true" | "null")'}, "ab=true,x=null"),
        (
            tag({"type": "tag", "begin": "<tool_call>", "content": {"type": "regex", "pattern": "[ab]+"}, "end": "</tool_call>"}),
            "<tool_call>ab</tool_call>",
        ),
    ],
)
def test_equal_masks(managers: tuple[Any, Any], constraint: dict[str, Any], text: str) -> None:
    assert differences(managers, constraint, text) == []


@pytest.mark.parametrize(
    "constraint, text, ours, theirs",
    [
        pytest.param(
            {"json": PERSON},
            '{"name": "", "age": 36, "boss": null}',
            {"."},
            set(),
            id="36.0 is an integer by JSON Schema, not by XGrammar",
        ),
        pytest.param({"json": {"type": "integer"}}, "-", {"0"}, set(), id="-0 is an integer, whatever XGrammar takes"),
        pytest.param(
            tag({"type": "json_schema", "json_schema": {"type": "string"}}),
            '"a"',
            set(),
            set(engine.SPECIAL[1:]),
            id="special tokens are no text of a string; XGrammar takes their names for it in structural tags",
        ),
        pytest.param(
            {"json": {"const": {"a": 1}}}, '{"a":', {"Ġ", "ĠĠ", "Ċ", "č", "ĉ"}, set(), id="a constant is a value, not its spelling"
        ),
    ],
)
def test_known_differences(
    managers: tuple[Any, Any], constraint: dict[str, Any], text: str, ours: set[str], theirs: set[str]
) -> None:
    """Each with what only psc allows somewhere on the way through the text, what only XGrammar allows, and why."""
    found = differences(managers, constraint, text)
    assert found
    assert set().union(*(only for _, only, _ in found)) == ours
    assert set().union(*(only for _, _, only in found)) == theirs


@pytest.mark.parametrize(
    "constraint, text, theirs",
    [
        ({"json": PERSON}, '{"name": "", "age": 36, "boss": null}', set()),
        ({"json": {"type": "integer"}}, "-", set()),
        ({"json": {"type": "object", "properties": {}}}, "{" + " " * 20, {"Ġ", "ĠĠ", "Ċ", "č", "ĉ"}),
        ({"json": {"type": "integer"}}, "1" * 20, set("0123456789")),
    ],
)
def test_by_default_only_what_ends(managers: tuple[Any, Any], constraint: dict[str, Any], text: str, theirs: set[str]) -> None:
    """psc allows nothing more than XGrammar, and no white space or digits without end."""
    found = differences((engine_of_defaults(), managers[1]), constraint, text)
    assert not any(ours for _, ours, _ in found)
    assert all(more <= theirs for _, _, more in found) and bool(found) == bool(theirs)


@functools.cache
def engine_of_defaults() -> Any:
    made = engine.manager()
    engine.ready(made, "first", engine.parameters(regex="a"))
    return made
