"""The options of a schema: one declaration for callers, one of defaults, and the signatures that follow from both."""

import inspect
import pickle
from dataclasses import fields
from typing import get_type_hints

import pytest

import psc
from psc.compiler.frontends.front_end import NO_SETTINGS
from psc.compiler.frontends.json_schema.settings import SchemaOptions, SchemaSettings
from psc.compiler.frontends.request import GrammarRequest
from psc.requests.json_schemas import schema_request

DECLARED = get_type_hints(SchemaOptions)


def test_what_callers_may_say_is_what_settings_have() -> None:
    of_settings = get_type_hints(SchemaSettings)
    assert {f.name: of_settings[f.name] for f in fields(SchemaSettings) if f.name != "resources"} == DECLARED


@pytest.mark.parametrize("function", [psc.Grammar.from_json_schema, psc.GrammarCompiler.compile_json_schema])
def test_signatures_have_each_option_with_its_default(function: object) -> None:
    parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    shown = {name: p.default for name, p in parameters.items() if name in DECLARED}
    assert shown == {name: getattr(SchemaSettings(), name) for name in DECLARED}
    assert all(p.kind is p.KEYWORD_ONLY for name, p in parameters.items() if name not in ("self", "schema"))
    assert "options" not in parameters


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'strict'"):
        psc.Grammar.from_json_schema({}, strict=True)  # type: ignore[call-arg]


def test_settings_are_equal_if_they_mean_the_same() -> None:
    assert SchemaSettings() == NO_SETTINGS != SchemaSettings(lenient=True)
    assert SchemaSettings.of(indent=2, separators=(",", ":")) == SchemaSettings.of() == SchemaSettings()
    assert SchemaSettings.of(any_whitespace=False, max_whitespace_cnt=3) == SchemaSettings(any_whitespace=False)
    settings = SchemaSettings(any_whitespace=False, separators=(",", ":"), resources={"x:/y": "{}"})
    for again in (SchemaSettings.of_text(settings.text), pickle.loads(pickle.dumps(settings))):
        assert again == settings and hash(again) == hash(settings)
        assert again.separators == (",", ":") and again.resources == {"x:/y": "{}"}


def test_a_request_is_read_with_its_settings_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is made of them for the key, and never read."""

    def refuse(text: str) -> SchemaSettings:
        raise AssertionError(text)

    monkeypatch.setattr(SchemaSettings, "of_text", refuse)
    request = schema_request({"type": "object"}, strict_mode=False, any_whitespace=False)
    assert request.options.settings.text == '{"any_whitespace":false,"strict_mode":false}'
    assert psc.Grammar.parse(request).request == request and request.key() is not None


def test_settings_of_a_language_that_has_none() -> None:
    with pytest.raises(psc.GrammarError, match="a regular expression has no settings"):
        GrammarRequest.of("regex", "a", settings=SchemaSettings(lenient=True))
    with pytest.raises(psc.GrammarError, match="the settings of a JSON schema are malformed"):
        GrammarRequest.of_json({**GrammarRequest.of("json_schema", "{}").to_json(), "settings": '{"x":1}'})
