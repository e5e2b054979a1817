"""A document is read once, by the core, and stands for what Python reads; the page of the formats is their declaration."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest
from vocabularies import byte_tokenizer

from psc import GrammarCompiler, InvalidJSONError, InvalidStructuralTagError, _core
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.frontends.structural_tag import document
from psc.compiler.frontends.structural_tag.document import SchemaText, read_document
from psc.compiler.frontends.structural_tag.formats import Format
from psc.compiler.frontends.structural_tag.reader import SchemaInDocument
from psc.tool_calls.structural_tag import StructuralTag

_PAGE = Path(__file__).resolve().parents[4] / "docs/structural-tags.md"


def _drawn(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.3:
        words = ["", "a", "grüße", "\u2028", "😀", '"\\/\b', "\x01", "json_schem", "12"]
        return rng.choice([None, True, False, 0, -7, 10**30, 2.5, -1e-7, rng.choice(words)])
    if rng.random() < 0.4:
        return [_drawn(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    names = rng.sample(["a", "b", "type", "schemas", "é", "tags", "", "json_schema", "schema"], rng.randint(0, 6))
    return {name: _drawn(rng, depth - 1) for name in names}


def _with_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_texts(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        name: SchemaText(json.dumps(inner, ensure_ascii=False, separators=(",", ":")))
        if name in ("json_schema", "schema") and inner is not None and not isinstance(inner, str)
        else _with_texts(inner)
        for name, inner in value.items()
    }


@pytest.mark.parametrize("seed", range(30))
def test_the_core_reads_what_python_reads(seed: int) -> None:
    value = _drawn(random.Random(seed), 5)
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        read = read_document(text)
        assert read.value == _with_texts(value)
        assert read.canonical == _core.canonical_json(text) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1.0, 1e2, -0, 0.5, -2.50]", [1, 100, 0, 0.5, -2.5]),
        ("[1e400, -1e400]", [float("inf"), float("-inf")]),
        ("9" * 5000, float("inf")),  # more digits than Python reads
        ('{"a": 1, "b": 2, "\\u0061": 3}', {"a": 3, "b": 2}),
        ('{"json_schem\\u0061": {"a": 1.50}}', {"json_schema": SchemaText('{"a":1.50}')}),
        ('{"schema": null, "json_schema": "{ }"}', {"schema": None, "json_schema": "{ }"}),
        ("[" * 9_999 + "]" * 9_999, None),
    ],
)
def test_values_of_documents(text: str, value: Any) -> None:
    read = read_document(text).value
    assert value is None or (read == value and repr(read) == repr(value))


def test_a_request_is_read_once_for_its_key_and_its_grammar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    n_read = 0
    read = _core.json_value

    def counted(*arguments: Any) -> Any:
        nonlocal n_read
        n_read += 1
        return read(*arguments)

    monkeypatch.setattr(document._core, "json_value", counted)
    monkeypatch.setattr(document._core, "canonical_json", None)
    form = {"type": "sequence", "elements": [{"type": "grammar", "grammar": "json"}, {"type": "const_string", "value": "once"}]}
    text = json.dumps({"type": "structural_tag", "format": form})
    compiled = GrammarCompiler(byte_tokenizer(), store=tmp_path).compile_structural_tag(text)
    assert compiled.grammar.imports
    assert GrammarRequest.of("structural_tag", text).key() == compiled.grammar.key
    assert n_read == 1


def test_half_a_surrogate_pair_is_named_with_its_path() -> None:
    text = '{"format": {"type": "json_schema", "json_schema": {"enum": [0, "\\ud800"]}}}'
    with pytest.raises(InvalidStructuralTagError, match=r"^format\.json_schema\.enum\[1\]: has half of a surrogate pair"):
        read_document(text)
    with pytest.raises(InvalidJSONError, match="half of a surrogate pair"):
        read_document('{"\\ud800": 1}')
    assert GrammarRequest.of("structural_tag", text).key() is not None


def _row(kind: str, cls: type[Format]) -> str:
    fields = []
    for field in dataclasses.fields(cls):
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if field.name != "type":
            fields.append(f"`{field.name}`" + ("" if default is dataclasses.MISSING else f" ({json.dumps(default)})"))
    doc = Format.by_type[kind].__doc__
    assert doc is not None
    return f"| `{kind}` | {', '.join(fields)} | {doc.replace('``', '`')} |"


def test_the_page_has_the_formats_as_they_are_declared() -> None:
    declared = [_row(kind, SchemaInDocument if kind == "json_schema" else cls) for kind, cls in Format.by_type.items()]
    written = [line for line in _PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")][1:]
    assert written == declared, "\n".join(["the table of docs/structural-tags.md must be:", *declared])


def test_records_nest_as_deep_as_documents_do() -> None:
    form: dict[str, Any] = {"type": "any_text"}
    for _ in range(998):
        form = {"type": "star", "content": form}
    assert StructuralTag.from_json({"format": form}).format.type == "star"
    with pytest.raises(InvalidStructuralTagError, match="nested too deeply"):
        StructuralTag.from_json({"format": {"type": "star", "content": {"type": "star", "content": form}}})
