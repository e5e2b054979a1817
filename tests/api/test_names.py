"""What `import psc` offers under the names that XGrammar's callers use."""

import ast
from pathlib import Path

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
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "get_bitmask_shape",
    "get_builtin_structural_tag",
    "get_model_structural_tag",
    "get_serialization_version",
    "normalize_tool_choice",
    "register_model_structural_tag",
    "reset_token_bitmask",
]


@pytest.mark.parametrize("name", NAMES)
def test_xgrammar_names(name):
    assert name in psc.__all__
    assert getattr(psc, name) is not None


def test_the_lists_of_public_names_are_one():
    """What type checkers read (imports and a literal list), what is loaded when first used, and the errors."""
    body = ast.parse(Path(psc.__file__).read_text()).body
    (checked,) = (s for s in body if isinstance(s, ast.If) and isinstance(s.test, ast.Name) and s.test.id == "TYPE_CHECKING")
    seen_by_checkers = {a.name: s.module for s in checked.body if isinstance(s, ast.ImportFrom) for a in s.names}
    modules = {name: module.rpartition(".")[0] for name, module in psc._MODULES.items()}
    assert seen_by_checkers == psc._HOMES | modules
    errors = {name for name, e in vars(psc.errors).items() if isinstance(e, type) and issubclass(e, psc.PscError)}
    assert psc.__all__ == sorted({*errors, *psc._HOMES, "__version__"})
    assert set(psc.__all__) <= set(dir(psc))


def test_every_public_name_resolves():
    assert sorted(set(psc.__all__)) == sorted(psc.__all__)
    for name in psc.__all__:
        getattr(psc, name)


def test_vocabulary_types_have_xgrammars_numbers():
    assert {kind.name: kind.value for kind in psc.VocabType} == {"RAW": 0, "BYTE_FALLBACK": 1, "BYTE_LEVEL": 2}
