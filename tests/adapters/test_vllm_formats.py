"""Bundled grammars by name where vLLM makes one structural tag of a constraint and of tools."""

from __future__ import annotations

from importlib import import_module

import pytest

pytest.importorskip("vllm")
import vllm_engine  # noqa: F401  # its imports of vLLM warn
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams

from psc.adapters.vllm import register
from psc.adapters.vllm.formats import MODULES, NAME, joins_constraints
from psc.adapters.vllm.installation import uninstall
from psc.adapters.vllm.seams import find_seams

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("module", MODULES)
def test_a_bundled_grammar_is_a_format_by_its_name(module: str) -> None:
    if not joins_constraints(module):
        pytest.skip("this release makes no tag of a constraint and tools")
    parser = import_module(module)
    named = StructuredOutputsParams(grammar="java?layout=bounded")
    with pytest.raises(VLLMValidationError):
        getattr(parser, NAME)(named)
    assert register()
    try:
        made = getattr(parser, NAME)(named)
        assert (made.type, made.grammar) == ("grammar", "java?layout=bounded")
        assert getattr(parser, NAME)(StructuredOutputsParams(regex="a")).pattern == "a"
    finally:
        seams = find_seams()
        assert seams is not None
        uninstall(seams)
