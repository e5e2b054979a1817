"""What each call of a matcher does, by a table of cases and against its own definition: a fresh matcher that replays the history.

Names and meanings are XGrammar's; where ours differ on purpose (docs/xgrammar-differences.md), the test says so.
"""

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from few_tokens import AB, ABC, INFO, STOP, A, B, C, X, allowed, matcher_of
from vocabularies import byte_tokenizer

import psc
from psc.vocabulary.tokenizer_info import TokenizerInfo


@pytest.mark.parametrize("what", [None, 'root ::= "a"', psc.Grammar.from_ebnf('root ::= "a"'), INFO])
def test_only_a_compiled_grammar_is_taken(what: object) -> None:
    with pytest.raises(TypeError, match="must be a CompiledGrammar"):
        psc.GrammarMatcher(what)


def test_options_are_keywords() -> None:
    compiled = psc.GrammarCompiler(INFO).compile_grammar('root ::= "a"')
    with pytest.raises(TypeError):
        psc.GrammarMatcher(compiled, 5)
    matcher = psc.GrammarMatcher(compiled, max_rollback_tokens=3, default_temperature=0.5)
    assert (matcher.max_rollback_tokens, matcher.temperature, matcher.get_captures()) == (-1, 0.5, [])
    assert matcher.compiled is compiled
    assert psc.GrammarMatcher(compiled).temperature is None


@pytest.mark.parametrize(
    ("given_ids", "want"), [(5, [5]), ([5, 2, 2], [5, 2, 2]), ((0,), [0]), (np.int64(3), [3]), (np.array([1, 2]), [1, 2])]
)
def test_stop_tokens_can_be_others(given_ids: Any, want: list[int]) -> None:
    matcher = matcher_of('root ::= "ab"', override_stop_tokens=given_ids)
    assert matcher.stop_token_ids == want
    assert matcher.fork().stop_token_ids == want


@pytest.mark.parametrize(
    ("given_ids", "message"),
    [
        ([], "override_stop_tokens is empty"),
        (-1, "stop token -1"),
        ([2, 16], "stop token 16 .* has 16 tokens"),
        (2**40, "stop token 1099511627776"),
    ],
)
def test_stop_tokens_must_be_there(given_ids: Any, message: str) -> None:
    with pytest.raises(psc.MatcherError, match=message):
        matcher_of('root ::= "ab"', override_stop_tokens=given_ids)


def test_a_stop_token_of_the_matchers_own_is_never_text() -> None:
    matcher = matcher_of('root ::= "ab" "c"?', override_stop_tokens=ABC)
    assert allowed(matcher) == [A, AB]
    assert not matcher.accept_token(ABC)
    assert matcher.accept_token(AB)
    assert allowed(matcher) == [ABC, C]
    assert not matcher.accept_token(STOP)  # the tokenizer's
    assert matcher.accept_token(ABC)
    assert matcher.is_terminated()
    matcher.reset()
    assert matcher.stop_token_ids == [ABC]
    assert matcher.accept_string("abc")  # strings are text, whatever tokens spell them
    assert allowed(matcher) == [ABC]


def test_a_vocabulary_without_stop_tokens() -> None:
    info = TokenizerInfo.from_tokens([b"a", b"b"])
    matcher = matcher_of('root ::= "a"', info)
    assert matcher.stop_token_ids == []
    assert matcher.accept_token(0)
    assert matcher.is_completed()
    assert not matcher.is_terminated()
    row = np.full((1, 1), -1, np.int32)
    assert matcher.fill_next_token_bitmask(row)
    assert row[0, 0] == 0


@pytest.mark.parametrize(
    "token", [-1, -(2**31), -(2**62), STOP + 1, 31, 2**31 - 1, 2**31, 2**32 + A, 2**40, 2**62, 2**64, -(2**70)]
)
def test_ids_out_of_range_are_refused_and_change_nothing(token: int) -> None:
    matcher = matcher_of('root ::= "ab"')
    assert not matcher.accept_token(token)
    assert matcher.n_steps == 0
    assert allowed(matcher) == [A, AB]
    assert psc.BatchGrammarMatcher.batch_accept_token([matcher], [token]) == [False]


@pytest.mark.parametrize("token", [1.5, "4", None, [1]])
def test_ids_are_integers(token: Any) -> None:
    with pytest.raises(TypeError):
        matcher_of('root ::= "ab"').accept_token(token)


def test_ids_of_numpy() -> None:
    matcher = matcher_of('root ::= "ab"*')
    for scalar in (np.int64, np.int32, np.uint8):
        assert matcher.accept_token(scalar(AB))
    assert matcher.accept_token(AB, debug_print=True)


def test_refused_tokens_are_no_steps() -> None:
    matcher = matcher_of('root ::= "ab"')
    for token in (B, C, 0, 6, STOP, 99):  # other text, special tokens, the stop token too early, nothing at all
        assert not matcher.accept_token(token)
    assert matcher.n_steps == 0
    with pytest.raises(psc.MatcherError):
        matcher.rollback(1)


def test_stop_token_where_the_text_is_complete() -> None:
    matcher = matcher_of('root ::= "ab" "c"?')
    assert matcher.accept_token(AB)
    assert matcher.is_completed()
    assert not matcher.is_terminated()
    assert allowed(matcher) == [C, STOP]
    assert matcher.accept_token(STOP)
    assert matcher.is_terminated()
    assert matcher.is_completed()
    for token in (STOP, C, A, -1, 2**40):
        assert not matcher.accept_token(token)
    for text in ("c", "", b"c"):
        assert not matcher.accept_string(text)
    assert matcher.accept_prefix("c") == 0
    assert matcher.n_steps == 2


def test_nothing_can_be_asked_after_the_end() -> None:
    matcher = matcher_of('root ::= "a"')
    assert matcher.accept_token(A)
    assert matcher.accept_token(STOP)
    row = np.full((1, 1), 77, np.int32)
    for call in (
        matcher.mask,
        matcher.mask_row,
        matcher.find_jump_forward_string,
        lambda: matcher.fill_next_token_bitmask(row),
    ):
        with pytest.raises(psc.MatcherError, match="terminated: a stop token was accepted; rollback\\(\\) or reset\\(\\)"):
            call()
    assert row[0, 0] == 77
    matcher.rollback(1)
    assert not matcher.is_terminated()
    assert allowed(matcher) == [STOP]
    assert matcher.find_jump_forward_string() == ""


@pytest.mark.parametrize("text", ["ab", b"ab", bytearray(b"ab")])
def test_strings_in_all_forms(text: Any) -> None:
    matcher = matcher_of('root ::= "ab" "é"')
    assert matcher.accept_string(text)
    assert matcher.n_steps == 1
    assert matcher.accept_string("é")
    assert matcher.is_completed()
    matcher.rollback(1)
    assert matcher.accept_string(b"\xc3")
    assert matcher.accept_string(b"\xa9")
    assert matcher.is_completed()


def test_strings_are_taken_whole_or_not_at_all() -> None:
    matcher = matcher_of('root ::= "abc" [^"]*')
    assert not matcher.accept_string("abd")
    assert not matcher.accept_string('abc"')
    assert not matcher.accept_string("ab\0")
    assert matcher.n_steps == 0
    assert matcher.accept_string("")  # which is a step
    assert matcher.n_steps == 1
    matcher.rollback(1)
    assert matcher.accept_string("ab")
    assert matcher.accept_string("c</s><stop>\0", debug_print=True)  # what a stop token is called is text like any other
    assert not matcher.is_terminated()


def test_strings_are_text() -> None:
    matcher = matcher_of('root ::= "ab"')
    for wrong in (1, None, ["a"], 1.5):
        with pytest.raises(TypeError, match="str or bytes"):
            matcher.accept_string(wrong)
    with pytest.raises(UnicodeEncodeError):
        matcher.accept_string("\ud800")
    assert matcher.accept_string("ab")


def test_the_text_is_over_without_a_stop_token() -> None:
    matcher = matcher_of('root ::= "ab" "c"?', terminate_without_stop_token=True)
    assert not matcher.is_terminated()
    assert matcher.accept_token(AB)
    assert matcher.is_terminated()  # and may go on all the same
    assert not matcher.accept_token(STOP)
    assert allowed(matcher) == [C]  # differs: XGrammar shows stop tokens that it does not accept
    assert matcher.find_jump_forward_string() == ""
    assert matcher.accept_string("")
    assert matcher.accept_token(C)
    assert matcher.is_terminated()
    row = np.full((1, 1), -1, np.int32)
    assert matcher.fill_next_token_bitmask(row)
    assert row[0, 0] == 0
    assert not matcher.accept_token(STOP)
    assert not matcher.accept_string("c")
    matcher.rollback(3)
    assert not matcher.is_terminated()
    assert matcher.fork().accept_token(ABC)
    assert matcher_of('root ::= "ab"*', terminate_without_stop_token=True).is_terminated()


def test_without_a_stop_token_and_with_others() -> None:
    matcher = matcher_of('root ::= "ab" "c"?', terminate_without_stop_token=True, override_stop_tokens=[C])
    assert matcher.stop_token_ids == [C]
    assert matcher.accept_token(AB)
    assert allowed(matcher) == []  # a stop token is never text
    assert not matcher.accept_token(C)
    assert matcher.accept_string("c")


def test_the_empty_text_can_be_a_sentence() -> None:
    matcher = matcher_of('root ::= "ab"*')
    assert matcher.is_completed()
    assert allowed(matcher) == [A, AB, STOP]


def test_rollback() -> None:
    matcher = matcher_of('root ::= ("a" | "b" | "c")*')
    matcher.rollback(0)
    for _ in range(3):
        assert matcher.accept_string("abc")
        assert matcher.accept_token(AB)
    assert matcher.n_steps == 6
    with pytest.raises(psc.MatcherError, match="cannot take back 7 steps: only 6 were made"):
        matcher.rollback(7)
    with pytest.raises(psc.MatcherError, match="cannot take back -1 steps"):  # differs: XGrammar does nothing
        matcher.rollback(-1)
    assert matcher.n_steps == 6
    matcher.rollback(5)
    assert matcher.n_steps == 1
    assert matcher.accept_token(STOP)
    matcher.rollback()
    assert not matcher.is_terminated()
    assert matcher.accept_token(C)


def test_reset() -> None:
    matcher = matcher_of('root ::= "ab"', override_stop_tokens=[C])
    first = allowed(matcher)
    assert matcher.accept_token(AB)
    assert matcher.accept_token(C)
    matcher.reset()
    assert (matcher.n_steps, matcher.is_terminated(), allowed(matcher)) == (0, False, first)
    with pytest.raises(psc.MatcherError, match="only 0 were made"):
        matcher.rollback(1)
    assert matcher.stop_token_ids == [C]


def test_forks_share_the_past_and_not_the_future() -> None:
    matcher = matcher_of('root ::= "a" ("b" | "c") "x"')
    assert matcher.accept_token(A)
    fork = matcher.fork()
    assert fork != matcher
    assert fork.accept_token(B)
    assert matcher.accept_token(C)
    assert fork.accept_token(X)
    assert fork.accept_token(STOP)
    assert not matcher.is_terminated()
    matcher.rollback(2)
    fork.rollback(4)  # beyond the fork
    assert allowed(fork) == allowed(matcher) == [A, AB]
    ended = fork.fork()
    assert ended.accept_string("abx")
    assert ended.accept_token(STOP)
    assert ended.fork().is_terminated()


def test_matchers_are_not_values() -> None:
    matcher = matcher_of('root ::= "a"')
    with pytest.raises(TypeError):
        pickle.dumps(matcher)
    with pytest.raises(TypeError):
        copy.copy(matcher)


def test_deep_nesting_takes_no_stack() -> None:
    """10,000 brackets, in a thread with little stack; every step, the way back, and the end of the matcher."""
    import threading

    compiler = psc.GrammarCompiler(byte_tokenizer())
    ambiguous = 'root ::= root "+" root | "[" root "]" | "-" root | [0-9]+'
    errors: list[BaseException] = []

    def nest() -> None:
        try:
            for compiled in (compiler.compile_builtin_json_grammar(), compiler.compile_grammar(ambiguous)):
                matcher = psc.GrammarMatcher(compiled)
                for _ in range(10_000):
                    assert matcher.accept_token(ord("["))
                matcher.mask()
                fork = matcher.fork()
                for byte in b"1" + b"]" * 10_000:
                    assert matcher.accept_token(byte)
                    matcher.mask_row()
                assert matcher.is_completed()
                matcher.rollback(10_000)
                assert matcher.find_jump_forward_string() == ""
                assert matcher.accept_string(b"]" * 10_000)
                matcher.rollback(2)
                assert allowed(matcher) == allowed(fork)
                del matcher, fork
        except BaseException as e:
            errors.append(e)

    old = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=nest)
        thread.start()
    finally:
        threading.stack_size(old)
    thread.join()
    assert not errors, errors


if sys.platform == "linux":

    def resident_bytes() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096


def test_captures_are_asked_for_with_and_without_duplicates() -> None:
    assert matcher_of('root ::= "a"').get_captures(deduplicate=False) == []
