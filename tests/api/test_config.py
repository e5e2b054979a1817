"""The depth of recursion, which limits nothing."""

import pytest

import psc


def test_the_depth_is_kept():
    before = psc.get_max_recursion_depth()
    try:
        psc.set_max_recursion_depth(1000)
        with psc.max_recursion_depth(7):
            assert psc.get_max_recursion_depth() == 7
        assert psc.get_max_recursion_depth() == 1000
        with pytest.raises(KeyError), psc.max_recursion_depth(8):
            raise KeyError
        assert psc.get_max_recursion_depth() == 1000
    finally:
        psc.set_max_recursion_depth(before)


@pytest.mark.parametrize("depth", [-1, 0, 1_000_001, 10**30])
def test_depths_out_of_range_are_refused(depth):
    before = psc.get_max_recursion_depth()
    with pytest.raises(RuntimeError, match="from 1 to 1,000,000"):
        psc.set_max_recursion_depth(depth)
    assert psc.get_max_recursion_depth() == before


def test_a_text_may_be_deeper():
    with psc.max_recursion_depth(10):
        compiled = psc.GrammarCompiler(psc.TokenizerInfo([]), store=False).compile_grammar('root ::= "(" root ")" | "x"')
        matcher = psc.GrammarMatcher(compiled, terminate_without_stop_token=True)
        assert matcher.accept_string("(" * 10_000 + "x" + ")" * 10_000)
        assert matcher.is_terminated()
