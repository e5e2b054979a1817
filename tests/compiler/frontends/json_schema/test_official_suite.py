"""The official test suite of JSON Schema, every draft, required and optional tests: each group passes or is listed with the reason.

Objects are written in any order, as the suite's values are. Files called `optional/format…` mean `format` as an assertion, all
others as an annotation. A schema that is true of no value is an error of psc's, and right where the suite has invalid values only.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard
from json_schema.bytewise import accepts, compiled
from json_schema.json_texts import dumps, loads

from psc import GrammarError

_DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}

_REFUSED = {
    ("defs.json", "validate definition against metaschema"): "the draft's own schema is not part of psc",
    ("definitions.json", "validate definition against metaschema"): "the draft's own schema is not part of psc",
    ("ref.json", "remote ref, containing refs itself"): "the draft's own schema is not part of psc",
    ("uniqueItems.json", "uniqueItems validation"): "no context-free grammar tells whether any two items are equal",
    ("uniqueItems.json", "uniqueItems with an array of items"): "no context-free grammar tells whether any two items are equal",
    ("multipleOf.json", "float division = inf"): "a step of 0.123456789 has more remainders than the limit",
}
"""Groups whose schemas are refused, with a message that names the keyword."""

_A_LABELS = (
    "[Pp]unycode|A-label|Exceptions|MIDDLE DOT|KERAIA|GERESH|GERSHAYIM|KATAKANA|Arabic-Indic|ZERO WIDTH|zero width|"
    'Begins with|illegal char|"--"'
)

_WRONG = {
    (
        "vocabulary.json",
        ".*",
        "no validation: .*",
    ): "a meta-schema of one's own may leave vocabularies out; psc does not",
    ("optional/float-overflow.json", ".*", "valid if optional .*"): "numbers with bounds or steps are spelled without exponents",
    ("optional/content.json", ".*", ".*invalid.*"): "contentEncoding and contentMediaType are annotations",
    ("optional/format/(regex|ecmascript-regex).json", ".*", ".*"): "whether a string is a regular expression is not enforced",
    ("optional/format/(idn-)?hostname.json", ".*", f".*({_A_LABELS}).*"): "A-labels are not decoded, and letters not told apart",
    ("optional/format/idn-hostname.json", ".*", ".*(Bidi|right-to-left|mixing|longer than).*"): "a superset, as the docs say",
    ("optional/format/hostname.json", ".*", "exceeds maximum overall length.*"): "the length of a whole host name is not enforced",
}
"""Patterns of file, group and test -> why the verdict is another one."""


@cache
def _lines(name: str) -> list[Any]:
    data = (Path(__file__).parent / "official" / name).read_bytes()
    return [loads(line) for line in zstandard.ZstdDecompressor().stream_reader(data).read().decode().splitlines()]


@cache
def _remotes() -> dict[str, str]:
    return {line["uri"]: dumps(line["schema"]) for line in _lines("remotes.jsonl.zst")}


def _names() -> list[tuple[str, str]]:
    return sorted({(group["draft"], group["file"]) for group in _lines("suite.jsonl.zst")})


def _known(file: str, group: str, test: str) -> str | None:
    for (f, g, t), reason in _WRONG.items():
        if re.fullmatch(f, file) and re.fullmatch(g, group) and re.fullmatch(t, test):
            return reason
    return None


@pytest.mark.parametrize(("draft", "file"), _names(), ids=lambda x: x.removesuffix(".json"))
def test_every_verdict_is_right_or_explained(draft: str, file: str) -> None:
    wrong = []
    for group in _lines("suite.jsonl.zst"):
        if (group["draft"], group["file"]) != (draft, file):
            continue
        name = group["group"]
        schema = group["schema"]
        if isinstance(schema, dict):
            schema = {"$schema": _DRAFTS[draft], **schema}
        try:
            grammar = compiled(
                dumps(schema), any_order=True, assert_format=file.startswith("optional/format"), resolver=_remotes().get
            )
        except GrammarError as e:
            if (file, name) in _REFUSED:
                assert re.search(r"#[^ ]*, (\$ref|uniqueItems|multipleOf)", str(e)), e
            elif "no value is valid" not in str(e) or any(test["valid"] for test in group["tests"]):
                wrong.append(f"{name}: refused: {e}")
            continue
        assert (file, name) not in _REFUSED, f"{name} is no longer refused"
        for test in group["tests"]:
            verdict = accepts(grammar, dumps(test["data"]))
            if verdict != test["valid"] and _known(file, name, test["description"]) is None:
                wrong.append(f"{name}: {test['description']}: {verdict}")
    assert not wrong, "\n".join(wrong)
