"""XGrammar's names and parameters beside psc's, and the page that lists what is not the same."""

import importlib
import importlib.util
import json
from pathlib import Path

import pytest
import xgrammar_api

DATA = json.loads(xgrammar_api.DATA.read_text(encoding="utf-8"))


def test_the_page_lists_what_is_not_the_same():
    page = xgrammar_api.PAGE.read_text(encoding="utf-8")
    assert xgrammar_api.listed(DATA) in page, "run python tests/support/xgrammar_api.py page"


def test_the_data_are_those_of_the_installed_release():
    found = importlib.util.find_spec("xgrammar")
    if found is None or not found.submodule_search_locations:
        pytest.skip("xgrammar is not installed")
    (folder,) = found.submodule_search_locations
    read = xgrammar_api.read(Path(folder))
    if read["version"] != DATA["version"]:
        pytest.skip(f"xgrammar {read['version']} is installed; the data are of {DATA['version']}")
    assert read == DATA


def test_differences_are_found():
    """The comparison sees a name, a method, an attribute and a parameter that psc has not."""
    wanted = {
        "__all__": ["Grammar", "no_such_name"],
        "modules": {
            "": {},
            "no_such_module": {"f": {}},
            "grammar": {
                "NoSuchClass": {},
                "Grammar": {
                    "from_ebnf": {"text": "needed"},
                    "no_such_method": {},
                    "no_such_attribute": "attribute",
                    "from_regex": {"regex_string": "needed", "more": "keyword, may be left out"},
                    "concat": {"*grammars": "rest"},
                },
            },
            "matcher": {
                "GrammarMatcher": {
                    "accept_token": {"token_id": "needed", "debug_print": "keyword, may be left out"},
                    "reset": {"to": "needed"},
                }
            },
        },
    }
    assert xgrammar_api.differences(wanted) == [
        "`grammar.Grammar.from_ebnf`: has no parameter `text`",
        "`grammar.Grammar.from_ebnf`: needs the parameter `ebnf_string`, which XGrammar's has not",
        "`grammar.Grammar.from_ebnf`: takes (ebnf_string), not (text)",
        "`grammar.Grammar.from_regex`: has no parameter `more`",
        "`grammar.Grammar.no_such_attribute`: not there",
        "`grammar.Grammar.no_such_method`: not there",
        "`matcher.GrammarMatcher.reset`: has no parameter `to`",
        "`matcher.GrammarMatcher.reset`: takes (), not (to)",
        "`no_such_name`: not there",
        "in module `grammar`: no `NoSuchClass`",
        "module `no_such_module`: not there",
    ]


@pytest.mark.parametrize(
    "name", ["exception", "testing", "contrib", "config", "matcher", "tokenizer_info", "compiler", "kernels", "hf"]
)
def test_modules_are_attributes_of_the_package(name):
    import psc

    assert getattr(psc, name) is importlib.import_module({"hf": "psc.contrib.hf"}.get(name, f"psc.{name}"))


def test_modules_have_the_same_objects():
    import psc
    from psc.compiler import CompiledGrammar, GrammarCompiler
    from psc.contrib import hf
    from psc.exception import DeserializeFormatError
    from psc.matcher import GrammarMatcher, allocate_token_bitmask, bitmask_dtype
    from psc.tokenizer_info import TokenizerInfo

    assert (CompiledGrammar, GrammarCompiler) == (psc.CompiledGrammar, psc.GrammarCompiler)
    assert (DeserializeFormatError, GrammarMatcher, TokenizerInfo) == (
        psc.DeserializeFormatError,
        psc.GrammarMatcher,
        psc.TokenizerInfo,
    )
    assert (allocate_token_bitmask, bitmask_dtype) == (psc.allocate_token_bitmask, psc.bitmask_dtype)
    assert psc.contrib.hf is hf
    for module in (psc, psc.compiler, psc.contrib, psc.matcher):
        with pytest.raises(AttributeError, match="no_such_name"):
            module.no_such_name  # noqa: B018
