"""What the page shows of a text: tokens, masks, explanations and walks agree with the matcher; hostile requests end in errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hostile_texts import TEXTS

import psc
from psc.grammars.compiled_grammar import compile_ahead_of_time
from psc.playground.looking import BYTES, MAX_TEXT_BYTES, BadRequestError, Choices, Looker

PERCENT = {"language": "ebnf", "text": 'root ::= "yes" | "no" | [0-9]{1,3} "%"'}


@pytest.fixture(scope="module")
def looker() -> Looker:
    return Looker(Choices())


def look(looker: Looker, text: str, grammar: dict[str, Any] = PERCENT, **more: Any) -> dict[str, Any]:
    found = looker.look({"grammar": grammar, "tokenizer": BYTES, "text": text, **more})
    json.dumps(found)  # is what JSON has
    return found


def test_tokens_have_the_masks_that_they_were_chosen_from(looker: Looker) -> None:
    found = look(looker, "12")
    assert [(t["text"], t["allowed"]) for t in found["tokens"]] == [("'1'", 12), ("'2'", 11)]
    assert (found["n_read"], found["at"], found["mask"]["allowed"]) == (2, 2, 11)
    assert found["explanation"]["characters"] == "'%' '0'-'9'"
    assert found["explanation"]["shortest_end"] == "'%'"


def test_any_place_of_the_text(looker: Looker) -> None:
    found = look(looker, "12%", at=0)
    assert (found["at"], found["mask"]["allowed"], found["mask"]["stops"]) == (0, 12, False)
    assert look(looker, "12%")["mask"] | {"seconds": 0} == {"allowed": 1, "row": 3, "seconds": 0, "stops": True}
    assert look(looker, "12%", at=10**9)["at"] == 3
    assert look(looker, "12%", at=-1)["at"] == 0


def test_a_token_that_is_refused(looker: Looker) -> None:
    found = look(looker, "1x%")
    assert (found["n_read"], found["at"]) == (1, 2)
    assert [t["allowed"] for t in found["tokens"]] == [12, 11, None]
    assert found["explanation"]["stop"]["found"] == "'x' in '1x'"
    assert found["mask"]["allowed"] == 11  # before it


def test_why_not_a_token(looker: Looker) -> None:
    by_text = {v["text"]: v for v in look(looker, "1", find="y")["found"]}
    assert not by_text["'y'"]["allowed"] and by_text["'y'"]["reasons"]
    (by_id,) = look(looker, "1", find="37")["found"]
    assert by_id["text"] == "'%'" and by_id["allowed"]
    (refused,) = look(looker, "1x", find="2")["found"][:1]
    assert refused["token"] == 2 and not refused["allowed"]


def test_the_walk_ends_with_the_mask(looker: Looker) -> None:
    found = look(looker, '{"a": [1', {"name": "json"})
    (walk,) = found["walks"]
    assert walk["reads"][-1]["allowed"] == found["mask"]["allowed"]
    assert walk["stack"][0] == '"["'


@pytest.mark.parametrize(
    ("language", "text", "so_far"),
    [
        ("lark", 'start: "a" NAME\nNAME: /[a-z]+/', "ab"),
        ("lark", 'start: "a" | %json {"type": "integer"}', "1"),  # only llguidance's dialect has that
        ("ebnf", PERCENT["text"], "1"),
        ("regex", r"\d{4}-\d{2}", "2026-"),
        ("json_schema", '{"type": "integer"}', "1"),
        ("llguidance", "start: /a+/", "a"),
        ("structural_tag", '{"type": "structural_tag", "format": {"type": "const_string", "value": "abc"}}', "ab"),
    ],
)
def test_every_language(looker: Looker, language: str, text: str, so_far: str) -> None:
    found = look(looker, so_far, {"language": language, "text": text})
    assert found["n_read"] == len(so_far)
    assert found["explanation"]["stop"] is None


def test_files_that_were_named(tmp_path: Path) -> None:
    """A grammar's file, and an artifact, which fits its own vocabulary only."""
    source, artifact = tmp_path / "own.ebnf", tmp_path / "own.psc"
    source.write_text(PERCENT["text"])
    looker = Looker(Choices((str(source), str(artifact))))
    looker_of_bytes = looker._tokenizer(BYTES)
    compile_ahead_of_time(psc.Grammar.from_ebnf(PERCENT["text"]), looker_of_bytes).save(artifact)
    for name in (source, artifact):
        assert look(looker, "1", {"name": str(name)})["mask"]["allowed"] == 11
    assert not look(looker, "1", {"name": str(artifact)})["grammar"]["just_in_time"]
    assert Choices((str(source),)).as_json()["grammar"] == str(source)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({}, "text"),
        ({"text": "", "at": "1"}, "at"),
        ({"text": "a" * (MAX_TEXT_BYTES + 1)}, "16,384"),
        ({"text": "", "tokenizer": "/etc/passwd"}, "no tokenizer '/etc/passwd'"),
        ({"text": "", "tokenizer": ["qwen3"]}, "no tokenizer"),
        ({"text": "", "tokenizer": BYTES}, "a grammar"),
        ({"text": "", "tokenizer": BYTES, "grammar": {"name": "/etc/passwd"}}, "no grammar '/etc/passwd'"),
        ({"text": "", "tokenizer": BYTES, "grammar": {"name": ["json"]}}, "no grammar"),
        ({"text": "", "tokenizer": BYTES, "grammar": {"language": "ebnf"}}, "language and text"),
        ({"text": "", "tokenizer": BYTES, "grammar": {"language": "cobol", "text": ""}}, "cobol"),
        ({"text": "", "tokenizer": BYTES, "grammar": {"language": "ebnf", "text": "a" * 1_000_001}}, "1,000,000"),
        ({"text": "", "tokenizer": BYTES, "grammar": {"language": "ebnf", "text": "root ::= (\n nope"}}, "grammar:2:2"),
        ({"text": "", "tokenizer": BYTES, "grammar": {"language": "lark", "text": "%import .secrets\nstart: A"}}, "import"),
    ],
)
def test_requests_that_are_refused(looker: Looker, request_: dict[str, Any], says: str) -> None:
    with pytest.raises(psc.PscError) as raised:
        looker.look(request_)
    assert says in str(raised.value)
    assert len(str(raised.value)) < 2000
    assert isinstance(raised.value, BadRequestError | psc.GrammarError)


def test_answers_stay_small(looker: Looker) -> None:
    """Whatever the names are, and however deep the stack is."""
    name = "n" * 600
    grammar = {"language": "ebnf", "text": f'root ::= {name}\n{name} ::= "(" {name} ")" | "{"long" * 150}"'}
    assert len(json.dumps(look(looker, "(" * 300, grammar, find="("))) < 400_000


def test_texts_that_are_no_unicode(looker: Looker) -> None:
    assert look(looker, "\ud800")["n_read"] == 0
    (language, text) = ("ebnf", TEXTS["ebnf"]["surrogate"][0])
    with pytest.raises(psc.GrammarError):
        look(looker, "", {"language": language, "text": text})
