"""The classes of structural tags: made, refused, changed, dumped, as programs for XGrammar expect of pydantic's."""

import copy
import json
import pickle

import pytest

import psc
from psc.tool_calls.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    DispatchFormat,
    Format,
    JSONSchemaFormat,
    RepeatFormat,
    SequenceFormat,
    StructuralTag,
    StructuralTagItem,
    TagFormat,
    TokenFormat,
    TriggeredTagsFormat,
)

# Per type: what it needs, and what it has by default.
FIELDS = {
    "const_string": ({"value": "x"}, {}),
    "json_schema": ({"json_schema": {}}, {"style": "json", "any_order": False, "max_whitespace_cnt": None, "excludes": []}),
    "grammar": ({"grammar": 'root ::= "a"'}, {}),
    "regex": ({"pattern": "a"}, {}),
    "any_text": ({}, {"excludes": [], "max_tokens": None, "max_chars": None}),
    "token": ({"token": 3}, {}),
    "exclude_token": ({}, {"exclude_tokens": []}),
    "any_tokens": ({}, {"exclude_tokens": [], "max_tokens": None}),
    "sequence": ({"elements": []}, {}),
    "or": ({"elements": []}, {}),
    "optional": ({"content": {"type": "const_string", "value": "x"}}, {}),
    "plus": ({"content": {"type": "const_string", "value": "x"}}, {}),
    "star": ({"content": {"type": "const_string", "value": "x"}}, {}),
    "repeat": ({"min": 0, "max": -1, "content": {"type": "const_string", "value": "x"}}, {}),
    "tag": ({"begin": "<a>", "content": {"type": "const_string", "value": "x"}, "end": ["", "</a>"]}, {}),
    "triggered_tags": ({"triggers": ["<"], "tags": []}, {"at_least_one": False, "stop_after_first": False, "excludes": []}),
    "token_triggered_tags": (
        {"trigger_tokens": [1, "<a>"], "tags": []},
        {"exclude_tokens": [], "at_least_one": False, "stop_after_first": False},
    ),
    "tags_with_separator": ({"tags": [], "separator": ""}, {"at_least_one": False, "stop_after_first": False}),
    "dispatch": ({"rules": []}, {"loop": True, "excludes": []}),
    "token_dispatch": ({"rules": []}, {"loop": True, "exclude_tokens": []}),
    "qwen_xml_parameter": ({"json_schema": True}, {}),
}


def test_every_format_is_in_the_table():
    assert set(FIELDS) == set(Format.by_type)


@pytest.mark.parametrize("name", FIELDS)
def test_fields_and_defaults(name):
    needed, defaults = FIELDS[name]
    made = Format.by_type[name](**needed)
    assert made.type == name
    assert made.model_dump() == {"type": name, **needed, **defaults}
    assert StructuralTag.from_json({"format": {"type": name, **needed, "more": 1}, "more": 2}).format == made
    for field in needed:
        with pytest.raises(ValueError, match=rf"{field}: is missing"):
            Format.by_type[name](**{f: v for f, v in needed.items() if f != field})
    with pytest.raises(ValueError, match=r"type: must be "):
        Format.by_type[name](type="other", **needed)


def test_records_are_changed_shared_copied_and_compared():
    inner = TriggeredTagsFormat(triggers=["<"], tags=[TagFormat(begin="<a>", content=AnyTextFormat(), end="</a>")])
    tag = StructuralTag(format=SequenceFormat(elements=[ConstStringFormat(value="x"), inner]))
    before = copy.deepcopy(tag)
    assert before == tag == pickle.loads(pickle.dumps(tag))
    tag.format.elements[-1].stop_after_first = True
    assert inner.stop_after_first and before != tag
    assert before.format.elements[1] != before.format.elements[0]
    assert "stop_after_first=True" in repr(tag)
    assert AnyTextFormat().excludes is not AnyTextFormat().excludes


def test_json_there_and_back():
    tag = StructuralTag(
        format=DispatchFormat(rules=[("ä", TagFormat(begin=TokenFormat(token="<|a|>"), content=AnyTextFormat(), end="é"))])
    )
    assert tag.model_dump()["format"]["rules"][0][0] == "ä"
    text = tag.model_dump_json()
    assert StructuralTag.from_json(text) == tag == StructuralTag.model_validate_json(text)
    assert StructuralTag.from_json(json.loads(text)) == tag == StructuralTag.model_validate(tag)
    assert json.loads(tag.model_dump_json(indent=1)) == json.loads(text) == tag.model_dump(mode="json")
    assert "max_chars" not in tag.model_dump_json(exclude_none=True)


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ({}, r"^format\.type: is missing"),
        ({"type": "zz"}, r"^format\.type: must be one of const_string, .*, not 'zz'"),
        (1, r"^format: must be a dictionary or a Format, not 1"),
        ({"type": "const_string", "value": 1}, r"^format\.value: must be a text, not 1"),
        ({"type": "json_schema", "json_schema": "{}"}, r"^format\.json_schema: must be true or false or an object, not '\{\}'"),
        (
            {"type": "json_schema", "json_schema": {}, "style": "xml"},
            r"^format\.style: must be 'json' or 'qwen_xml' or .*, not 'xml'",
        ),
        ({"type": "any_text", "max_chars": -1}, r"^format\.max_chars: must be a whole number from 0 to 2147483647 or null, not -1"),
        ({"type": "any_text", "max_chars": True}, r"^format\.max_chars: .*not True"),
        (
            {"type": "repeat", "min": "1", "max": 2, "content": {"type": "any_text"}},
            r"^format\.min: must be a whole number, not '1'",
        ),
        (
            {
                "type": "sequence",
                "elements": [{"type": "any_text"}, {"type": "triggered_tags", "triggers": [], "tags": [{"begin": 1}]}],
            },
            r"^format\.elements\[1\]\.tags\[0\]\.begin: must be a text or a TokenFormat, not 1",
        ),
        (
            {"type": "dispatch", "rules": [["a"]]},
            r"^format\.rules\[0\]: must be a list of 2: a text, a Format, not a value of type list",
        ),
        ({"type": "any_text", "excludes": "x"}, r"^format\.excludes: must be a list, not 'x'"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(format, message):
    with pytest.raises(psc.InvalidStructuralTagError, match=message) as e:
        StructuralTag.from_json({"format": format})
    assert isinstance(e.value, ValueError)


def test_wrong_documents():
    with pytest.raises(psc.InvalidJSONError, match="the text is not JSON"):
        StructuralTag.from_json("{")
    with pytest.raises(ValueError, match="must be JSON text or a dictionary, not int"):
        StructuralTag.from_json(5)
    with pytest.raises(ValueError, match="type: must be 'structural_tag', not 'x'"):
        StructuralTag.from_json({"type": "x", "format": {"type": "any_text"}})
    with pytest.raises(ValueError, match=r"TagFormat: content: must be a dictionary or a Format, not 'x'"):
        TagFormat(begin="", content="x", end="")


def test_nesting_without_end_is_an_error():
    deep = {"type": "any_text"}
    for _ in range(3000):
        deep = {"type": "star", "content": deep}
    with pytest.raises(psc.InvalidStructuralTagError, match="nested too deeply"):
        StructuralTag.from_json({"format": deep})
    circle = {"type": "sequence", "elements": []}
    circle["elements"].append(circle)
    with pytest.raises(psc.InvalidStructuralTagError, match="contains itself"):
        StructuralTag.from_json({"format": circle})
    schema = {}
    schema["not"] = schema
    with pytest.raises(psc.InvalidStructuralTagError, match="contains itself"):
        StructuralTag(format=JSONSchemaFormat(json_schema=schema)).model_dump_json()
    with pytest.raises(psc.InvalidStructuralTagError, match="nested too deeply"):
        StructuralTag.from_json('{"format":' * 100_000)
    repeat = RepeatFormat(min=1, max=2, content=AnyTextFormat())
    repeat.content = repeat
    with pytest.raises(psc.InvalidStructuralTagError, match="contains itself"):
        repeat.model_dump()


def test_the_older_form():
    class Model:
        @staticmethod
        def model_json_schema():
            return {"type": "integer"}

    items = [
        StructuralTagItem(begin="<f=a>", schema='{"type": "object"}', end="</f>"),
        StructuralTagItem(begin="<f=b>", schema=Model, end="</f>"),
    ]
    assert items[0].schema_ == '{"type": "object"}'
    assert items[0].model_dump() == {"begin": "<f=a>", "schema_": '{"type": "object"}', "end": "</f>"}
    assert items[0].model_dump(by_alias=True)["schema"] == '{"type": "object"}'
    tag = StructuralTag.from_legacy_structural_tag(items, ["<f="])
    assert [t.content.json_schema for t in tag.format.tags] == [{"type": "object"}, {"type": "integer"}]
    assert tag.format.triggers == ["<f="] and not tag.format.at_least_one
    assert StructuralTag.from_legacy_structural_tag([{"begin": "<", "schema": {}, "end": ""}], ["<"]).format.tags[0].end == ""
    with pytest.raises(psc.InvalidJSONError):
        StructuralTag.from_legacy_structural_tag([StructuralTagItem(begin="", schema="{", end="")], [])
    with pytest.raises(ValueError, match="schema: must be an object, true or false"):
        StructuralTag.from_legacy_structural_tag([StructuralTagItem(begin="", schema="1", end="")], [])
    with pytest.raises(ValueError, match="no model_json_schema"):
        StructuralTagItem(begin="", schema=int, end="").schema_value()
