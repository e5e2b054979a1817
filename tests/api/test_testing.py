"""`psc.grammars.testing`: XGrammar's helpers for tests."""

import numpy as np
import pytest

import psc
from psc.grammars import testing


@pytest.mark.parametrize(
    ("grammar", "text", "accepted"),
    [
        ('root ::= "ab" [c-d]*', "ab", True),
        ('root ::= "ab" [c-d]*', "abcdd", True),
        ('root ::= "ab" [c-d]*', "a", False),
        ('root ::= "ab" [c-d]*', "abx", False),
        ('root ::= ""', "", True),
        ('root ::= "é" | "è"', "é", True),
        ('root ::= [a-z] root? "!"', "ab!!", True),
        (psc.Grammar.builtin_json_grammar(), '{"a": [1, null]}', True),
        (psc.Grammar.builtin_json_grammar(), '{"a": [1, null}', False),
    ],
)
def test_whether_a_grammar_takes_a_text(grammar, text, accepted):
    assert testing._is_grammar_accept_string(grammar, text) is accepted
    assert testing._is_grammar_accept_string(grammar, text.encode()) is accepted


def test_the_beginning_of_a_text(capsys):
    assert testing._is_grammar_accept_string('root ::= "abc"', "ab", require_termination=False)
    assert not testing._is_grammar_accept_string('root ::= "abc"', "ac", require_termination=False, print_time=True)
    assert "accept_string('ac') is False" in capsys.readouterr().out


def test_matchers():
    matcher = testing._get_matcher_from_grammar('root ::= "a"')
    assert not matcher.accept_token(0)
    assert matcher.accept_string("a") and matcher.is_terminated()
    assert not testing._get_matcher_from_grammar('root ::= ""', terminate_without_stop_token=False).is_terminated()
    info = psc.TokenizerInfo(["a", "b", "</s>"])
    matcher = testing._get_matcher_from_grammar_and_tokenizer_info('root ::= "a"', info, default_temperature=0.5)
    assert matcher.accept_token(0) and matcher.accept_token(2) and matcher.is_terminated() and matcher.temperature == 0.5
    assert testing._get_matcher_from_grammar_and_tokenizer_info('root ::= "a"').accept_string("a")


def test_an_empty_vocabulary_ahead_of_time_and_just_in_time():
    info = psc.TokenizerInfo([])
    grammar = psc.Grammar.from_ebnf('root ::= "ab" [c-d]*')
    ahead = psc.compile_ahead_of_time(grammar, info)
    lazily = psc.GrammarCompiler(info, store=False).compile_grammar(grammar)
    again = psc.CompiledGrammar.deserialize_json(ahead.serialize_json(), info)
    for compiled in (ahead, lazily, again):
        matcher = psc.GrammarMatcher(compiled)
        bitmask = np.zeros((1, 0), np.int32)
        matcher.fill_next_token_bitmask(bitmask)
        assert matcher.mask().shape == (0,) and matcher.allowed_tokens().tolist() == []
        assert matcher.accept_string("abc") and matcher.is_completed() and not matcher.is_terminated()
        assert not matcher.accept_string("x")
        assert matcher.find_jump_forward_string() == ""


def test_ebnf_of_other_languages():
    assert testing._regex_to_ebnf("a|b", with_rule_name=False) == '"a" | "b"'
    for text in (
        testing._regex_to_ebnf("(ab)+c"),
        testing._json_schema_to_ebnf({"const": "c"}),
        testing._json_schema_to_ebnf("true"),
    ):
        assert text.startswith("root ::= ")
        psc.Grammar.from_ebnf(text)
    assert str(testing._ebnf_to_grammar_no_normalization('r ::= "a"', "r")) == str(
        psc.Grammar.from_ebnf('r ::= "a"', root_rule_name="r")
    )
    with pytest.raises(RuntimeError, match="there is no style"):
        testing._json_schema_to_ebnf({}, json_format="no such")


@pytest.mark.parametrize("vocab_size", [1, 31, 32, 33, 70])
def test_masks_of_booleans(vocab_size):
    allowed = np.random.default_rng(vocab_size).random((3, vocab_size)) < 0.5
    bitmask = testing.bool_mask_to_bitmask(allowed)
    assert bitmask.shape == psc.get_bitmask_shape(3, vocab_size) and bitmask.dtype == np.int32
    assert (testing.bitmask_to_bool_mask(bitmask, vocab_size) == allowed).all()
    assert testing.bitmask_to_bool_mask(bitmask)[:, vocab_size:].all()
    for row in range(3):
        forbidden = testing._get_masked_tokens_from_bitmask(bitmask, vocab_size, row)
        assert forbidden == [i for i in range(vocab_size) if not allowed[row, i]]


def test_one_token():
    bitmask = testing.bool_mask_to_bitmask(np.eye(40, dtype=bool)[37:39])
    assert testing._is_single_token_bitmask(bitmask, 40, 1) == (True, 38)
    assert testing._is_single_token_bitmask(bitmask, 37) == (False, -1)
    assert testing._is_single_token_bitmask(bitmask[1], 40) == (True, 38)


@pytest.mark.parametrize(
    ("bitmask", "vocab_size", "index", "message"),
    [
        (np.zeros((1, 1), np.int64), 32, 0, "int32"),
        (np.zeros((1, 1), np.int32), 33, 0, "vocab_size=33"),
        (np.zeros((1, 1), np.int32), 32, 1, "row 1"),
        (np.zeros((1, 1, 1), np.int32), 32, 0, "dimensions"),
        ([0], 32, 0, "NumPy array or a torch tensor"),
    ],
)
def test_bitmasks_that_are_none(bitmask, vocab_size, index, message):
    with pytest.raises(psc.BitmaskError, match=message):
        testing._get_masked_tokens_from_bitmask(bitmask, vocab_size, index)


def test_a_draft_tree():
    info = psc.TokenizerInfo(["a", "b"])
    matcher = testing._get_matcher_from_grammar_and_tokenizer_info('root ::= "ab"', info)
    bitmask = np.zeros((2, 1), np.int32)
    links = np.array([1, -1]), np.array([-1, -1]), np.array([0, 0])
    assert testing._traverse_draft_tree(*links, matcher, bitmask)
    assert bitmask[:, 0].tolist() == [1, 2]


def test_styles_of_parameters():
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}, "required": ["a"]}
    ebnf = testing._json_schema_to_ebnf(schema, json_format="qwen_xml")
    for text, accepted in {
        "<parameter=a>x y</parameter>": True,
        "<parameter=a>x</parameter>\n<parameter=n> 1 </parameter>": True,
        "<parameter=n>1</parameter>": False,
        "<parameter=a>x</parameter><parameter=n>x</parameter>": False,
        '{"a": "x"}': False,
    }.items():
        assert testing._is_grammar_accept_string(ebnf, text) is accepted


def test_the_internal_state_is_a_text_that_tells_places_apart():
    matcher = testing._get_matcher_from_grammar('root ::= "a" [0-9]+ | "b"')
    seen = [matcher._debug_print_internal_state()]
    for piece in ("a", "1"):
        assert matcher.accept_string(piece)
        seen.append(matcher._debug_print_internal_state())
    assert all(seen) and len(set(seen)) == 3
