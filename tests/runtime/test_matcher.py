"""The matcher's interface: masks in all their forms, accepting, ending, resetting, and misuse."""

import gc
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from lark_grammars import lark_text
from vocabularies import byte_tokenizer, tokenizer

import psc
from psc._core import MatcherView
from psc.artifacts.format import decode
from psc.grammars.build_grammar import artifact_bytes
from psc.grammars.compiled_grammar import compile_ahead_of_time
from psc.vocabulary.tokenizer_info import TokenizerInfo

TOKENS = ["a", "b", "ab", " ", "c", "ba"]


@pytest.fixture(scope="module")
def compiled() -> psc.CompiledGrammar:
    return psc.GrammarCompiler(tokenizer(TOKENS)).compile_lark('start: "a" "b"\n%ignore " "\n')


def bits(row: np.ndarray) -> list[int]:
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def test_mask_forms_agree(compiled: psc.CompiledGrammar) -> None:
    matcher = psc.GrammarMatcher(compiled)
    assert bits(matcher.mask()) == [0, 2, 3]
    row = matcher.mask_row()
    assert isinstance(row, int)
    assert np.shares_memory(matcher.mask(), compiled.row(row))
    assert matcher.mask() is matcher.mask()
    for bitmask in (np.zeros((3, 1), np.int32), np.zeros(1, np.int32)):
        index = 1 if bitmask.ndim == 2 else 0
        assert matcher.fill_next_token_bitmask(bitmask, index)
        assert bits(bitmask.reshape(-1, 1)[index]) == [0, 2, 3]
        assert bitmask.sum() == matcher.mask().sum()


def test_mask_is_read_only_and_outlives_everything(compiled: psc.CompiledGrammar) -> None:
    mask = psc.GrammarMatcher(compiled).mask()
    with pytest.raises(ValueError, match="read-only"):
        mask[0] = -1
    own = psc.GrammarCompiler(tokenizer(TOKENS)).compile_lark('start: "a"\n')
    mask = psc.GrammarMatcher(own).mask()
    del own
    gc.collect()
    assert bits(mask) == [0]


def test_accept_refuse_and_end(compiled: psc.CompiledGrammar) -> None:
    matcher = psc.GrammarMatcher(compiled)
    stop = len(TOKENS)
    assert matcher.stop_token_ids == [stop]
    assert not matcher.accept_token(1)
    assert not matcher.accept_token(stop)
    assert matcher.accept_token(0)
    assert not matcher.is_completed()
    assert matcher.expected_terminals() == ["B"]
    assert matcher.accept_token(1)
    assert matcher.is_completed()
    assert bits(matcher.mask()) == [3, stop]
    assert not matcher.is_terminated()
    assert matcher.accept_token(stop)
    assert matcher.is_terminated()
    assert matcher.is_completed()
    assert not matcher.accept_token(stop)
    assert not matcher.accept_token(3)
    for call in (matcher.mask, matcher.mask_row, lambda: matcher.fill_next_token_bitmask(np.zeros((1, 1), np.int32))):
        with pytest.raises(RuntimeError, match="terminated"):
            call()
    matcher.reset()
    assert bits(matcher.mask()) == [0, 2, 3]


@pytest.mark.parametrize("token", [-1, -(2**31), 7, 31, 32, 2**31 - 1, 2**31, 2**32, 2**63, 2**70, -(2**70)])
def test_ids_out_of_range_are_refused(compiled: psc.CompiledGrammar, token: int) -> None:
    matcher = psc.GrammarMatcher(compiled)
    assert not matcher.accept_token(token)
    assert not matcher.is_allowed(token)
    assert psc.BatchGrammarMatcher.batch_accept_token([matcher], [token]) == [False]


def test_what_is_no_integer_is_no_token(compiled: psc.CompiledGrammar) -> None:
    matcher = psc.GrammarMatcher(compiled)
    for wrong in ("a", 0.0, None):
        with pytest.raises(TypeError, match="token ids must be integers"):
            matcher.accept_token(wrong)  # type: ignore[arg-type]
    assert matcher.accept_token(np.int64(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("symbol", [-1, -(2**31), 3, 2**20, 2**31 - 1])
def test_symbols_out_of_range_are_refused(symbol: int) -> None:
    # `lexer` basic: three terminals with the end of the text, and no condition.
    info = tokenizer(TOKENS)
    grammar = psc.Grammar.from_lark('start: "a" "b"\n', lexer="basic")
    for compiled in (psc.GrammarCompiler(info).compile_grammar(grammar), compile_ahead_of_time(grammar, info)):
        view = MatcherView(psc.GrammarMatcher(compiled))
        assert view.stacks_after(0, [0, 1])
        with pytest.raises(psc.MatcherError, match=f"no symbol {symbol}"):
            view.stacks_after(0, [0, symbol])
        with pytest.raises(psc.MatcherError, match="no configuration 1"):
            view.stacks_after(1, [0])


def test_bytes_of_the_tables_are_those_of_the_stored_arrays() -> None:
    info = tokenizer(TOKENS)
    grammar = psc.Grammar.from_lark('start: "a" "b"\n')
    stored = dict(decode(artifact_bytes(grammar, info)).arrays)
    del stored["scalars"]  # no columns
    of_bytes = {"byte_class", "class_bytes"}  # one byte an element; all others have four
    expected = sum(len(a) if name in of_bytes else 4 * len(a) for name, a in stored.items())
    expected += 4 * (info.vocab_size - len(stored["class_of_token"]))  # made as long as the vocabulary
    expected += 4  # the offsets of no leads
    assert compile_ahead_of_time(grammar, info)._machine.table_bytes == expected


@pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="the sanitizer build reports what is never given back")
def test_a_daemon_thread_with_a_matcher_leaves_no_report_at_the_end() -> None:
    # Its frame is never cleared, which nanobind would report as references that psc forgot.
    program = """
import sys, threading, time
import psc
from psc.vocabulary.tokenizer_info import TokenizerInfo
info = TokenizerInfo(["a", "b", "</s>"], stop_token_ids=[2])
matcher = psc.GrammarMatcher(psc.GrammarCompiler(info).compile_grammar('root ::= "a"+'))
began = threading.Event()
threading.Thread(target=lambda matcher: (began.set(), time.sleep(1000)), args=(matcher,), daemon=True).start()
began.wait()
raise RuntimeError("the end")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "RuntimeError: the end" in done.stderr
    assert "nanobind" not in done.stderr


def test_misuse_of_bitmasks(compiled: psc.CompiledGrammar) -> None:
    matcher = psc.GrammarMatcher(compiled)
    with pytest.raises(RuntimeError, match="int32"):
        matcher.fill_next_token_bitmask(np.zeros((1, 1), np.int64))
    with pytest.raises(RuntimeError, match="2 words a row; this vocabulary needs 1"):
        matcher.fill_next_token_bitmask(np.zeros((1, 2), np.int32))
    with pytest.raises(RuntimeError, match="dimensions"):
        matcher.fill_next_token_bitmask(np.zeros((1, 1, 1), np.int32))
    with pytest.raises(RuntimeError, match="row 2 of a bitmask of 2 rows"):
        matcher.fill_next_token_bitmask(np.zeros((2, 1), np.int32), 2)
    with pytest.raises(RuntimeError, match="row -1"):
        matcher.fill_next_token_bitmask(np.zeros((2, 1), np.int32), -1)
    with pytest.raises(IndexError):
        compiled.row(10**6)
    read_only = np.zeros((1, 1), np.int32)
    read_only.flags.writeable = False
    with pytest.raises((RuntimeError, TypeError)):
        matcher.fill_next_token_bitmask(read_only)


def test_a_strided_batch(compiled: psc.CompiledGrammar) -> None:
    wide = np.zeros((4, 5), np.int32)
    psc.GrammarMatcher(compiled).fill_next_token_bitmask(wide[::2, 1:2], 1)
    assert bits(wide[2, 1:2]) == [0, 2, 3]
    assert np.count_nonzero(wide) == 1


def test_special_and_padding_tokens_are_never_text() -> None:
    info = TokenizerInfo.from_tokens(
        [b"a", b"a", b"<eos>", b"<pad>"], special_token_ids=[1, 2, 3], stop_token_ids=[2], vocab_size=70
    )
    compiled = psc.GrammarCompiler(info).compile_lark("start: /.+/\n")
    matcher = psc.GrammarMatcher(compiled)
    assert compiled.vocab_size == 70
    assert matcher.mask().shape == (3,)
    assert bits(matcher.mask()) == [0]
    assert matcher.accept_token(0)
    assert bits(matcher.mask()) == [0, 2]
    assert not matcher.accept_token(69)


def test_several_stop_tokens() -> None:
    info = TokenizerInfo.from_tokens([b"a", b"<1>", b"<2>"], special_token_ids=[1, 2], stop_token_ids=[1, 2])
    matcher = psc.GrammarMatcher(psc.GrammarCompiler(info).compile_lark('start: "a"\n'))
    assert matcher.accept_token(0)
    assert bits(matcher.mask()) == [1, 2]


def test_matchers_share_rows_and_not_positions() -> None:
    compiled = psc.GrammarCompiler(byte_tokenizer()).compile_lark(lark_text("json"), lexer="basic")
    a, b = psc.GrammarMatcher(compiled), psc.GrammarMatcher(compiled)
    for byte in b'{"k"':
        assert a.accept_token(byte)
    assert a.mask_row() != b.mask_row()
    for byte in b'{"other"':
        assert b.accept_token(byte)
    assert a.mask_row() == b.mask_row()


def test_long_texts_stay_within_memory() -> None:
    """Stack nodes that nothing uses are dropped; deep nesting is kept."""
    compiled = psc.GrammarCompiler(byte_tokenizer()).compile_lark(lark_text("json"), lexer="basic")
    matcher = psc.GrammarMatcher(compiled)
    text = b"[" * 500 + b"1," * 60_000 + b"2" + b"]" * 500
    for byte in text:
        assert matcher.accept_token(byte)
    assert matcher.is_completed()
    [(_, stack)] = MatcherView(matcher).configurations()
    assert len(stack) < 10


def test_mask_equals_accept_on_every_token() -> None:
    compiled = psc.GrammarCompiler(byte_tokenizer()).compile_lark(lark_text("sql"), lexer="basic")
    rng = random.Random(1)
    history: list[int] = []
    for _ in range(25):
        matcher = psc.GrammarMatcher(compiled)
        assert all(matcher.accept_token(t) for t in history)
        allowed = set(bits(matcher.mask()))
        for token in range(compiled.vocab_size):
            fresh = psc.GrammarMatcher(compiled)
            for t in history:
                fresh.accept_token(t)
            assert fresh.accept_token(token) == (token in allowed)
        history.append(rng.choice(sorted(allowed - set(compiled.stop_token_ids))))


def test_bytes_are_read_as_far_as_they_go() -> None:
    compiled = psc.GrammarCompiler(byte_tokenizer()).compile_lark(lark_text("json"), lexer="basic")
    matcher = psc.GrammarMatcher(compiled)
    assert matcher.accept_prefix(b'{"a": 1, ]') == 9
    assert matcher.accept_prefix(b'"b": [') == 6
    assert matcher.accept_prefix(b"") == 0


def test_the_runtime_imports_no_grammar_tool() -> None:
    """A serving host has no pynini and no Ray, and does not pay for importing Lark until it reads a grammar in its language."""
    script = (
        "import sys\n"
        "for m in ('pynini', 'ray', 'torch', 'cupy'): sys.modules[m] = None\n"
        "import psc\n"
        "psc.load, psc.GrammarMatcher, psc.CompiledGrammar, psc.TokenizerInfo\n"
        "assert 'lark' not in sys.modules\n"
        "psc.GrammarCompiler(psc.TokenizerInfo.from_tokens([b'a'])).compile_lark('start: \"a\"')\n"
        "assert 'lark' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_allowed_tokens_are_the_mask(compiled: psc.CompiledGrammar) -> None:
    matcher = psc.GrammarMatcher(compiled)
    for text in ("", " ", "a", "ab "):
        matcher.reset()
        assert matcher.accept_string(text)
        allowed = matcher.allowed_tokens()
        assert allowed.dtype == np.int32 and allowed.tolist() == bits(matcher.mask())
        for token in (*range(compiled.vocab_size), -1, compiled.vocab_size, 1 << 40, -(1 << 70)):
            assert matcher.is_allowed(token) == matcher.fork().accept_token(max(min(token, 1 << 60), -1)) == (token in allowed)
    (stop,) = matcher.stop_token_ids
    assert matcher.accept_token(stop)
    for ask in (matcher.allowed_tokens, lambda: matcher.is_allowed(0)):
        with pytest.raises(psc.MatcherError):
            ask()
    with pytest.raises(TypeError, match="token ids must be integers"):
        matcher.is_allowed("a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [{}, {"override_stop_tokens": [5]}, {"override_stop_tokens": [6]}, {"terminate_without_stop_token": True}],
    ids=["stop token", "another", "one of text", "none"],
)
def test_a_token_is_accepted_without_its_mask(options: dict[str, Any]) -> None:
    """Just in time, replaying a text builds no masks; what is taken is what the masks say."""
    tokens = [b"a", b"b", b"ab", b"<tool>", b"</s>", b"<pad>", b"c"]
    info = TokenizerInfo.from_tokens(tokens, special_token_ids=[3, 4, 5], stop_token_ids=[4])
    compiled = psc.GrammarCompiler(info, cache_enabled=False).compile_grammar('root ::= ("a" "b")+ "c"?')
    n_taken = 0
    for text in ([], [0], [0, 1], [2], [2, 0], [2, 2]):
        for token in range(-1, len(tokens) + 1):
            asked, replayed = (psc.GrammarMatcher(compiled, **options) for _ in range(2))
            assert all(replayed.accept_token(t) for t in text)
            for t in text:
                assert asked.is_allowed(t)
                assert asked.accept_token(t)
            wanted = asked.is_allowed(token)
            assert replayed.accept_token(token) == wanted == asked.accept_token(token), (text, token)
            assert replayed.is_terminated() == asked.is_terminated()
            n_taken += wanted
    assert n_taken > len(tokens)
    untouched = psc.GrammarCompiler(info, cache_enabled=False).compile_grammar('root ::= ("a" "b")+ "c"?')
    matcher = psc.GrammarMatcher(untouched, **options)
    assert all(matcher.accept_token(t) for t in (2, 0, 1))
    assert not matcher.accept_token(1)
    assert untouched._machine.n_rows == 0
