"""What `import psc` offers under the names that XGrammar's callers use."""

import pytest

import psc

NAMES = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "get_bitmask_shape",
    "get_serialization_version",
    "reset_token_bitmask",
]


@pytest.mark.parametrize("name", NAMES)
def test_xgrammar_names(name):
    assert name in psc.__all__
    assert getattr(psc, name) is not None


def test_every_public_name_resolves():
    assert sorted(set(psc.__all__)) == sorted(psc.__all__)
    for name in psc.__all__:
        getattr(psc, name)


def test_vocabulary_types_have_xgrammars_numbers():
    assert {kind.name: kind.value for kind in psc.VocabType} == {"RAW": 0, "BYTE_FALLBACK": 1, "BYTE_LEVEL": 2}
