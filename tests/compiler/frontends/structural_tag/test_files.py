"""A `.json` file is a structural tag where its top says so, and else a JSON schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psc.compiler.frontends.lookup import find_grammar

_ANY = {"type": "any_text"}


@pytest.mark.parametrize(
    ("document", "language"),
    [
        ({"type": "structural_tag", "format": _ANY}, "structural_tag"),
        ({"structures": [{"begin": "<", "schema": {}, "end": ">"}], "triggers": ["<"]}, "structural_tag"),
        ({"type": "object", "properties": {"type": {"const": "structural_tag"}}}, "json_schema"),
        ({"properties": {"structures": True, "triggers": True}}, "json_schema"),
        (True, "json_schema"),
    ],
)
def test_what_a_file_is(document: Any, language: str, tmp_path: Path) -> None:
    path = tmp_path / "tag.json"
    path.write_text(json.dumps(document))
    assert find_grammar(path).request().language == language
