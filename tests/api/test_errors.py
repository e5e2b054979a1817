"""Exceptions: what callers of XGrammar catch, they catch here too."""

import pytest

import psc

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
