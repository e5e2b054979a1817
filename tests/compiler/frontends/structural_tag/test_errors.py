"""What is no structural tag is refused with its class, and with the path of what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from vocabularies import byte_tokenizer

from psc import Grammar, GrammarCompiler, TokenizerInfo, compile_ahead_of_time
from psc.errors import GrammarError, InvalidJSONError, InvalidStructuralTagError

_ANY = {"type": "any_text"}
_TAG = {"type": "tag", "begin": "<a>", "content": {"type": "const_string", "value": "x"}, "end": "</a>"}


def _triggered(**changed: Any) -> dict[str, Any]:
    return {"type": "triggered_tags", "triggers": ["<a"], "tags": [_TAG], **changed}


WRONG: list[tuple[Any, str]] = [
    ("text", "format: Format must be an object, not 'text'"),
    ({}, r"format.type: is missing"),
    ({"type": "const_strin", "value": ""}, "format.type: there is no format 'const_strin'; did you mean 'const_string'"),
    ({"type": 3}, "format.type: must be text, not 3"),
    ({"type": "const_string"}, "format.value: is missing"),
    ({"type": "const_string", "value": 1}, "format.value: must be a text, not 1"),
    ({"type": "const_string", "value": "\ud800"}, "format.value: has half of a surrogate pair"),
    ({"type": "json_schema", "json_schema": "{}"}, "format.json_schema: a schema must be an object, true or false"),
    ({"type": "json_schema", "json_schema": None}, "format.json_schema: a schema must be"),
    ({"type": "json_schema", "json_schema": {}, "style": "yaml"}, "format.style: must be 'json' or 'qwen_xml' or .*, not 'yaml'"),
    ({"type": "json_schema", "json_schema": {}, "max_whitespace_cnt": 0}, "format: max_whitespace_cnt must be"),
    ({"type": "json_schema", "json_schema": {}, "strict_mode": 1}, "format.strict_mode: must be true or false"),
    ({"type": "grammar", "grammar": ""}, "format.grammar: must not be empty"),
    ({"type": "regex", "pattern": ""}, "format.pattern: must not be empty"),
    ({"type": "any_text", "excludes": [1]}, r"format.excludes\[0\]: must be a text"),
    ({"type": "any_text", "excludes": [""]}, r"format.excludes\[0\]: must not be empty"),
    (
        {"type": "any_text", "max_chars": -1},
        "format.max_chars: must be a whole.*, not -1; max_chars must be a non-negative 32-bit integer",
    ),
    (
        {"type": "any_text", "max_tokens": -1},
        "format.max_tokens: must be a whole.*, not -1; max_tokens must be a non-negative 32-bit integer",
    ),
    ({"type": "sequence", "elements": []}, "format.elements: must not be empty"),
    ({"type": "sequence", "elements": [_ANY, {"type": "or"}]}, r"format.elements\[1\].elements: is missing"),
    ({"type": "repeat", "min": 2, "max": 1, "content": _ANY}, "format.max: must be -1, for no limit, or at least min, 2"),
    ({"type": "repeat", "min": -1, "max": 1, "content": _ANY}, "format.min: must be 0 or more"),
    ({"type": "star"}, "format.content: is missing"),
    ({**_TAG, "end": []}, "format.end: must not be empty"),
    ({**_TAG, "end": 3}, "format.end: must be a text or a list or a TokenFormat, not 3"),
    ({**_TAG, "content": _ANY, "end": ""}, "format.end: the free text at format.content has no limit"),
    (
        {**_TAG, "content": {"type": "sequence", "elements": [_TAG, _ANY]}, "end": [""]},
        r"format.end: .*format.content.elements\[1\]",
    ),
    (_triggered(triggers=[]), "format.triggers: must not be empty"),
    (_triggered(triggers=[""]), r"format.triggers\[0\]: must not be empty"),
    (_triggered(tags=[]), "format.tags: must not be empty"),
    (_triggered(triggers=["<b"]), r"format.tags\[0\].begin: '<a>' begins with none of the triggers \('<b'\)"),
    (_triggered(triggers=["<", "<a"]), r"format.tags\[0\].begin: '<a>' begins with more than one trigger"),
    (_triggered(tags=[_TAG, {**_TAG, "type": "or"}]), r"format.tags\[1\].type: must be 'tag'"),
    (_triggered(tags=[{**_TAG, "begin": {"type": "token", "token": 3}}]), r"format.tags\[0\].begin: must be a text here"),
    ({"type": "sequence", "elements": [_ANY, _triggered(tags=[{**_TAG, "begin": 1}])]}, r"format.elements\[1\].tags\[0\].begin"),
    ({"type": "dispatch", "rules": [["", _ANY]]}, r"format.rules\[0\]\[0\]: must not be empty"),
    ({"type": "dispatch", "rules": [["a"]]}, r"format.rules\[0\]: must be a list of 2: a text, a Format, not a list"),
    ({"type": "dispatch", "rules": [["a", {"type": "star"}]]}, r"format.rules\[0\]\[1\].content: is missing"),
    ({"type": "tags_with_separator", "tags": [_TAG]}, "format.separator: is missing"),
    ({"type": "token", "token": "<x>"}, "format.token: the token '<x>' is given by its text, which needs the vocabulary"),
    ({"type": "token", "token": -1}, "format.token: there is no token -1"),
]


@pytest.mark.parametrize(("form", "problem"), WRONG)
def test_a_message_has_the_path(form: Any, problem: str) -> None:
    with pytest.raises(InvalidStructuralTagError, match=problem):
        Grammar.from_structural_tag({"type": "structural_tag", "format": form})


IN_XGRAMMARS_WORDS: list[tuple[Any, str]] = [
    (3, "Format must be an object"),
    ({"type": []}, "Format's type must be a string"),
    ({"type": "texts"}, "Format type not recognized: texts"),
    ({"values": []}, "Invalid format"),
    ({"type": "const_string", "value": None}, "ConstString format must have a value field with a string"),
    ({"type": "json_schema"}, "JSON schema format must have a json_schema field with a object or boolean value"),
    ({"type": "json_schema", "json_schema": {}, "any_order": 1}, "any_order must be a boolean"),
    ({"type": "json_schema", "json_schema": {}, "excludes": ["a", ""]}, "excludes must be an array of non-empty strings"),
    ({"type": "regex", "pattern": 1}, "Regex format must have a pattern field with a non-empty string"),
    ({"type": "sequence", "elements": {}}, "Sequence format must have an elements field with an array"),
    ({"type": "or", "elements": []}, "Or format must have at least one element"),
    ({"type": "plus"}, "Plus format must have a content field"),
    ({"type": "repeat", "max": 1, "content": _ANY}, "Repeat format must have a min field"),
    ({"type": "repeat", "min": -2, "max": 1, "content": _ANY}, "Repeat min must be >= 0"),
    ({"type": "repeat", "min": 3, "max": 2, "content": _ANY}, "Repeat min must be <= max"),
    ({"type": "repeat", "min": 3, "max": -3, "content": _ANY}, "Repeat max must be -1 (unbounded) or >= 0"),
    ({**_TAG, "begin": []}, "Tag format's begin field must be a string"),
    ({k: v for k, v in _TAG.items() if k != "end"}, "Tag format must have an end field"),
    ({**_TAG, "end": [1]}, "Tag format's end field must be a string or array of strings"),
    (_triggered(triggers="<"), "Triggered tags format must have a triggers field with an array"),
    (_triggered(triggers=[""]), "Triggered tags format's triggers must be non-empty strings"),
    (_triggered(tags=[]), "Triggered tags format's tags must be non-empty"),
    (_triggered(triggers=["else"], stop_after_first="no"), "stop_after_first must be a boolean"),
    (_triggered(tags=[{**_TAG, "begin": {"type": "token", "token": 3}}]), "must have a string begin"),
    ({"type": "tags_with_separator", "tags": [_TAG]}, "Tags with separator format's separator field must be a string"),
    ({"type": "dispatch", "rules": [["a", _ANY]], "loop": 0}, "loop must be a boolean"),
    ({"type": "token_dispatch"}, "TokenTagDispatch format must have a rules field with an array"),
]


@pytest.mark.parametrize(("form", "words"), IN_XGRAMMARS_WORDS)
def test_a_message_says_what_a_field_must_be_in_xgrammars_words(form: Any, words: str) -> None:
    with pytest.raises(InvalidStructuralTagError) as caught:
        Grammar.from_structural_tag({"type": "structural_tag", "format": form})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("[]", "Structural tag must be an object"),
        ('{"type": 1, "format": {}}', 'Structural tag\'s type must be a string "structural_tag"'),
        ('{"type": "structural_tag"}', "Structural tag must have a format field"),
        ('{"type": "structural_tag",}', "Failed to parse JSON"),
    ],
)
def test_a_message_about_a_document_has_xgrammars_words(document: str, words: str) -> None:
    with pytest.raises((InvalidStructuralTagError, InvalidJSONError)) as caught:
        Grammar.from_structural_tag(document)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"type": "grammar", "format": _ANY}, "type: must be 'structural_tag'"),
        ({}, "format: is missing"),
        ({"structures": [], "triggers": ["<"]}, "structures: must be a list"),
        ({"structures": [{"begin": "<", "end": ">"}], "triggers": []}, "format.triggers: must not be empty"),
        ({"structures": [{"begin": "<", "schema": {}, "end": ">"}], "triggers": ["x"]}, r"format.tags\[0\].begin: .*none"),
    ],
)
def test_documents_that_are_none(document: Any, problem: str) -> None:
    with pytest.raises(InvalidStructuralTagError, match=problem):
        Grammar.from_structural_tag(document)
    with pytest.raises(InvalidStructuralTagError, match="structures: must be a list"):
        Grammar.from_structural_tag([], ["<"])


@pytest.mark.parametrize("text", ["", "{", '{"format": }', '{"format": {}} x', '{"format" 1}', '{"a": NaN}', '["a" "b"]'])
def test_text_that_is_not_json(text: str) -> None:
    with pytest.raises(InvalidJSONError):
        Grammar.from_structural_tag(text)


class _Model:
    @staticmethod
    def model_json_schema() -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("given", [None, 3, b"{}", {"format": _ANY}.items(), _Model])
def test_other_types(given: Any) -> None:
    with pytest.raises(TypeError):
        Grammar.from_structural_tag(given)


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"type": "json_schema", "json_schema": {"type": "strin"}}, "format.json_schema: "),
        ({"type": "regex", "pattern": "("}, "format"),
        ({"type": "grammar", "grammar": "root ::= x"}, "format:1:10: rule 'x' is not defined"),
    ],
)
def test_what_is_wrong_inside(form: dict[str, Any], problem: str) -> None:
    with pytest.raises(GrammarError, match=problem):
        Grammar.from_structural_tag({"format": form}).to_cfg()


def test_deep_nesting_and_cycles_are_refused() -> None:
    text = '{"type":"star","content":' * 3000 + '{"type":"any_text"}' + "}" * 3000
    with pytest.raises(InvalidStructuralTagError, match="nested deeper than 1,000"):
        Grammar.from_structural_tag(f'{{"format":{text}}}')
    cyclic: dict[str, Any] = {"type": "star"}
    cyclic["content"] = cyclic
    with pytest.raises(InvalidStructuralTagError, match=r"Circular reference|contains itself"):
        Grammar.from_structural_tag({"format": cyclic})
    nested: dict[str, Any] = _ANY
    for _ in range(3000):
        nested = {"type": "star", "content": nested}
    with pytest.raises(InvalidStructuralTagError, match="nested"):
        Grammar.from_structural_tag({"format": nested})
    deep = '{"format":{"type":"json_schema","json_schema":' + '{"not":' * 100_000 + "{}" + "}" * 100_000 + "}}"
    with pytest.raises(InvalidStructuralTagError, match="nested"):
        Grammar.from_structural_tag(deep)


def test_tokens_that_the_vocabulary_lacks() -> None:
    tokenizer = TokenizerInfo.from_tokens([b"a", b"<|call|>", b"</s>"], special_token_ids=[1], stop_token_ids=[2])
    compiler = GrammarCompiler(tokenizer, store=False, registry=False)
    for token, problem in [
        ("<|cal|>", r"no token of the vocabulary is '<|cal|>' as a whole; there are '<|call|>'"),
        (3, "no token 3"),
    ]:
        with pytest.raises(InvalidStructuralTagError, match=problem.replace("|", r"\|")):
            compiler.compile_structural_tag({"format": {"type": "token", "token": token}})


_NEVER: Any = {"type": "object", "properties": {"x": {"allOf": [{"type": "integer"}, {"type": "string"}]}}, "required": ["x"]}
_ENDLESS: Any = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 1}}}


@pytest.mark.parametrize("style", ["json", "qwen_xml"])
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (_NEVER, r"#/properties/x, allOf: no value is left; .* so no value is valid \(behind '<b>'\)"),
        (_ENDLESS, r"each one needs another one inside, without end|no object is valid"),
        ({"type": "object", "properties": {"x": {"enum": []}}, "required": ["x"]}, r"enum: no value is left"),
    ],
)
def test_one_tool_of_which_no_call_is_valid(schema: Any, message: str, style: str) -> None:
    """Whoever asks gets the error: the rest of the grammar would do without the tool."""

    def tag(begin: str, body: Any) -> dict[str, Any]:
        content = {"type": "json_schema", "json_schema": body, "style": style}
        return {"type": "tag", "begin": begin, "content": content, "end": "</>"}

    some = {"type": "object", "properties": {"x": {"type": "integer"}}}
    document = {"type": "structural_tag", "format": _triggered(triggers=["<"], tags=[tag("<a>", some), tag("<b>", schema)])}
    ascii_only = TokenizerInfo([*(bytes([b]) for b in range(32, 127)), b"</s>"], stop_token_ids=[95])
    calls: list[Callable[[], object]] = [
        lambda: Grammar.from_structural_tag(document).to_cfg(),
        lambda: Grammar.from_structural_tag(document).artifact_tables(),
        lambda: compile_ahead_of_time(Grammar.from_structural_tag(document), byte_tokenizer()),
        lambda: GrammarCompiler(byte_tokenizer(), store=False).compile_structural_tag(document),
        lambda: GrammarCompiler(ascii_only, store=False).compile_structural_tag(document),
    ]
    messages = set()
    for call in calls:
        with pytest.raises(GrammarError, match=message) as e:
            call()
        messages.add(str(e.value))
    assert len(messages) == 1
