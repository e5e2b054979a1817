"""What each call of a matcher does, by a table of cases and against its own definition: a fresh matcher that replays the history.

Names and meanings are XGrammar's; where ours differ on purpose (docs/xgrammar.md), the test says so.
"""

import copy
import pickle
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import strategies
from bounded import bounded
from hypothesis import assume, given
from hypothesis import strategies as st
from vocabularies import byte_tokenizer, tokenizer

import psc
from psc.vocabulary.tokenizer_info import TokenizerInfo

TOKENS = ["<s>", "a", "b", "ab", "abc", "c", "<special>", '"', "x", b"\xc3", b"\xa9", "é", "{", "}", "1"]
STOP = len(TOKENS)
A, B, AB, ABC, C, X, LEAD, TRAIL, E_ACUTE = 1, 2, 3, 4, 5, 8, 9, 10, 11
INFO = tokenizer(TOKENS)


def matcher_of(ebnf: str, info: TokenizerInfo = INFO, **options: Any) -> psc.GrammarMatcher:
    return psc.GrammarMatcher(psc.GrammarCompiler(info).compile_grammar(ebnf), **options)


def bits(row: Any) -> list[int]:
    return np.flatnonzero(np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little")).tolist()


def allowed(matcher: psc.GrammarMatcher) -> list[int]:
    return matcher.allowed_tokens().tolist()


# ---------------------------------------------------------------------------------------------------------------------
# Making one


@pytest.mark.parametrize("what", [None, 'root ::= "a"', psc.Grammar.from_ebnf('root ::= "a"'), INFO])
def test_only_a_compiled_grammar_is_taken(what: object) -> None:
    with pytest.raises(ValueError, match="must be a CompiledGrammar"):
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


# ---------------------------------------------------------------------------------------------------------------------
# Accepting


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


# ---------------------------------------------------------------------------------------------------------------------
# Going back


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


# ---------------------------------------------------------------------------------------------------------------------
# Masks


def numpy_mask(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


def torch_mask(*shape: int) -> Any:
    return pytest.importorskip("torch").zeros(shape, dtype=pytest.importorskip("torch").int32)


LIBRARIES = pytest.mark.parametrize("zeros", [numpy_mask, torch_mask])


@LIBRARIES
def test_bitmasks_of_every_shape(zeros: Callable[..., Any]) -> None:
    info = tokenizer([*TOKENS, *(f"{i:03}" for i in range(60))])
    matcher = matcher_of('root ::= "a" | "059"', info)
    want = [A, 15 + 59]
    for mask, index, row in (
        (zeros(3), 0, ...),
        (zeros(4, 3), 0, 0),
        (zeros(4, 3), 3, 3),
        (zeros(4, 9)[:, 3:6], 2, 2),  # differs: XGrammar does not look at strides
        (zeros(8, 3)[::2], 1, 1),
    ):
        assert matcher.fill_next_token_bitmask(mask, index) is True
        assert bits(np.asarray(mask[row])) == want
        assert np.count_nonzero(np.asarray(mask)) == 2
    whole = zeros(4, 9)
    assert matcher.fill_next_token_bitmask(whole[1::2, 6:], 1)
    assert bits(np.asarray(whole[3, 6:])) == want
    assert np.count_nonzero(np.asarray(whole)) == 2


@LIBRARIES
def test_a_row_is_overwritten(zeros: Callable[..., Any]) -> None:
    mask = zeros(2, 1)
    mask[:] = -1
    assert matcher_of('root ::= "a"').fill_next_token_bitmask(mask, 1)
    assert int(mask[0, 0]) == -1
    assert int(mask[1, 0]) == 1 << A


def test_false_says_that_every_token_is_allowed() -> None:
    info = TokenizerInfo.from_tokens([b"a", b"b", b"aa"])
    matcher, row = matcher_of("root ::= [a-b]*", info), np.zeros((1, 1), np.int32)
    assert matcher.fill_next_token_bitmask(row) is False
    assert bits(row) == [0, 1, 2]  # written all the same, and nothing beyond the vocabulary
    matcher = matcher_of("root ::= [a-b]* [c]", info)
    assert matcher.fill_next_token_bitmask(row) is False
    assert matcher_of("root ::= [a-b]*").fill_next_token_bitmask(row) is True  # special tokens never are
    with_stop = TokenizerInfo.from_tokens([b"a", b"<stop>"], stop_token_ids=[1])
    assert matcher_of("root ::= [a]*", with_stop).fill_next_token_bitmask(row) is False
    assert matcher_of("root ::= [a]+", with_stop).fill_next_token_bitmask(row) is True


@pytest.mark.parametrize(
    ("mask", "index", "message"),
    [
        (np.zeros((1, 1), np.int64), 0, "must be an int32 array"),
        (np.zeros((1, 1), np.uint32), 0, "must be an int32 array"),
        (np.zeros((1, 1), np.float32), 0, "must be an int32 array"),
        (np.zeros((1, 2), np.int32), 0, "has 2 words a row; this vocabulary needs 1"),
        (np.zeros((1, 0), np.int32), 0, "has 0 words a row; this vocabulary needs 1"),
        (np.zeros((1, 1, 1), np.int32), 0, "one or two dimensions, not 3"),
        (np.zeros((), np.int32), 0, "one or two dimensions, not 0"),
        (np.zeros((2, 1), np.int32), 2, "row 2 of a bitmask of 2 rows"),
        (np.zeros((2, 1), np.int32), -1, "row -1 of a bitmask of 2 rows"),
        (np.zeros((2, 1), np.int32), 2**40, "row 1099511627776 of a bitmask of 2 rows"),
        (np.zeros(1, np.int32), 1, "row 1 of a bitmask of 1 rows"),
    ],
)
def test_wrong_bitmasks(mask: np.ndarray, index: int, message: str) -> None:
    matcher = matcher_of('root ::= "a"')
    with pytest.raises(psc.BitmaskError, match=message):
        matcher.fill_next_token_bitmask(mask, index)
    with pytest.raises(psc.BitmaskError, match=message):
        psc.BatchGrammarMatcher(2).batch_fill_next_token_bitmask([matcher], mask, [index])
    assert not mask.any()
    assert matcher.accept_token(A)


def test_bitmasks_that_cannot_be_written() -> None:
    matcher = matcher_of('root ::= "a"', tokenizer([*TOKENS, *("x" * i for i in range(2, 60))]))
    read_only = np.zeros((1, 3), np.int32)
    read_only.flags.writeable = False
    with pytest.raises(psc.BitmaskError, match="read-only"):
        matcher.fill_next_token_bitmask(read_only)
    with pytest.raises(psc.BitmaskError, match="contiguous"):
        matcher.fill_next_token_bitmask(np.zeros((1, 6), np.int32)[:, ::2])
    for wrong in ([[0, 0, 0]], None, "mask", 5):
        with pytest.raises(TypeError, match="must be an int32 array"):
            matcher.fill_next_token_bitmask(wrong)
    assert matcher.accept_token(A)


class OtherDevice:
    """What a bitmask on another device is, as far as DLPack says."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__()


def test_meta_tensors_are_on_no_device_that_can_be_written() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises((psc.BitmaskError, TypeError, RuntimeError, BufferError)):
        matcher_of('root ::= "a"').fill_next_token_bitmask(torch.zeros(1, 1, dtype=torch.int32, device="meta"))


# ---------------------------------------------------------------------------------------------------------------------
# Jumping forward


@pytest.mark.parametrize(
    ("grammar", "read", "want"),
    [
        ('root ::= "abcabc" [x-z]', "", "abcabc"),
        ('root ::= "ab" | "ac"', "", "a"),
        ('root ::= "ab" "c"?', "", "ab"),  # no further than where the text may end
        ('root ::= "ab" "c"?', "ab", ""),
        ("root ::= [a]{5}", "", "aaaaa"),
        ("root ::= [ab]", "", ""),
        ('root ::= "a"*', "", ""),
        ('root ::= "é" "x" | "è" "x"', "", ""),  # differs: XGrammar raises UnicodeDecodeError
        ('root ::= "aé" | "aè"', "", "a"),
        ('root ::= "é漢é"', "", "é漢é"),
        ('root ::= "é漢"', b"\xc3", ""),  # differs: inside a character
        ('root ::= "é漢"', b"\xc3\xa9\xe6", ""),
        ('root ::= "é漢"', b"\xc3\xa9", "漢"),
        ('root ::= "\\x00a" | "\\x00b"', "", "\0"),  # differs: XGrammar gives a newline
        ('root ::= "[" root "]" | "x"', "[[x", "]]"),
        ('root ::= r1 "y" | r2 "z"\nr1 ::= "ab"\nr2 ::= "ab"', "", "ab"),  # however it is parsed
    ],
)
def test_forced_text(grammar: str, read: str | bytes, want: str) -> None:
    matcher = matcher_of(grammar)
    assert matcher.accept_string(read)
    before = allowed(matcher)
    assert matcher.find_jump_forward_string() == want
    assert allowed(matcher) == before
    assert matcher.n_steps == 1
    assert matcher.accept_string(want)


def test_forced_text_is_bounded() -> None:
    """A text that never ends is cut, and goes on from there."""
    matcher = matcher_of('root ::= "ab" root2\nroot2 ::= "ab"{100000} "c"')
    jump = matcher.find_jump_forward_string()
    assert 1000 < len(jump) <= 200_003
    assert set(jump.replace("ab", "")) <= {"a"}
    assert matcher.accept_string(jump)
    assert matcher.find_jump_forward_string().startswith("b" if jump.endswith("a") else "a")


def forced_by_definition(matcher: psc.GrammarMatcher) -> bytes:
    """Byte by byte: the only one that can come next, until the text may end."""
    matcher, out = matcher.fork(), b""
    while not matcher.is_completed() and len(out) < 60:
        can = [b for b in range(256) if matcher.fork().accept_string(bytes([b]))]
        if len(can) != 1:
            break
        out += bytes(can)
        assert matcher.accept_string(bytes(can))
    return out


def whole_characters(data: bytes) -> str:
    for end in range(len(data), max(len(data) - 4, -1), -1):
        try:
            return data[:end].decode()
        except UnicodeDecodeError:
            continue
    return ""


LANGUAGES: dict[str, tuple[st.SearchStrategy[str], Callable[[psc.GrammarCompiler, str], psc.CompiledGrammar]]] = {
    "any": (strategies.cfg_texts(), lambda compiler, text: compiler.compile_grammar(text)),
    "basic": (strategies.grammars(), lambda compiler, text: compiler.compile_lark(text, lexer="basic")),
    "contextual": (strategies.contextual_grammars(), lambda compiler, text: compiler.compile_lark(text)),
    "keep all": (
        strategies.ambiguous_grammars(),
        lambda compiler, text: compiler.compile_lark(text, lexer="basic", keep_all_actions=True),
    ),
}


def compiled_from(language: str, data: st.DataObject, info: TokenizerInfo, **options: Any) -> psc.CompiledGrammar:
    texts, build = LANGUAGES[language]
    try:
        return build(psc.GrammarCompiler(info, **options), data.draw(texts, "grammar"))
    except psc.GrammarError as e:
        assume("can never finish" not in str(e) and "matches no text" not in str(e))  # what it needs is ignored
        raise


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), tokens=strategies.vocabularies(max_size=8), seed=st.integers(0, 2**16))
@bounded
def test_forced_text_against_its_definition(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    matcher, rng = psc.GrammarMatcher(compiled_from(language, data, tokenizer(tokens))), random.Random(seed)
    for _ in range(4):
        forced = forced_by_definition(matcher)
        assert matcher.find_jump_forward_string()[: len(whole_characters(forced))] == whole_characters(forced)
        if len(forced) < 60:
            assert matcher.find_jump_forward_string() == whole_characters(forced)
        choices = [t for t in allowed(matcher) if t != len(tokens)]
        if not choices:
            break
        assert matcher.accept_token(rng.choice(choices))


# ---------------------------------------------------------------------------------------------------------------------
# Random use of several matchers, against replaying


class Model:
    """A matcher and what was read by it: a list of steps, each a token or a text."""

    def __init__(
        self, compiled: psc.CompiledGrammar, matcher: psc.GrammarMatcher, steps: list[int | bytes], **options: Any
    ) -> None:
        self.compiled, self.matcher, self.steps, self.options = compiled, matcher, steps, options

    def fresh(self) -> psc.GrammarMatcher:
        matcher = psc.GrammarMatcher(self.compiled, **self.options)
        for step in self.steps:
            assert matcher.accept_string(step) if isinstance(step, bytes) else matcher.accept_token(step)
        return matcher

    def check(self) -> None:
        mine, fresh = self.matcher, self.fresh()
        assert mine.n_steps == len(self.steps)
        assert mine.is_terminated() == fresh.is_terminated()
        assert mine.is_completed() == fresh.is_completed()
        assert mine.expected_terminals() == fresh.expected_terminals()
        ended = bool(self.steps) and self.steps[-1] in mine.stop_token_ids
        if not ended:
            assert allowed(mine) == allowed(fresh)
            row = np.zeros((1, mine.mask().shape[0]), np.int32)
            assert mine.fill_next_token_bitmask(row) == (len(allowed(mine)) < self.compiled.vocab_size)
            assert bits(row) == allowed(mine)


@pytest.mark.parametrize("language", LANGUAGES)
@given(
    data=st.data(),
    tokens=strategies.vocabularies(max_size=12),
    seed=st.integers(0, 2**32),
    limit=st.sampled_from([-1, -1, 1, 20_000]),
    options=st.sampled_from([{}, {}, {"override_stop_tokens": [0]}, {"terminate_without_stop_token": True}]),
)
@bounded
def test_random_use(
    language: str, data: st.DataObject, tokens: list[bytes], seed: int, limit: int, options: dict[str, Any]
) -> None:
    """Whatever is done to several matchers of one grammar, each is where replaying its steps leads; also when what they share is
    given up all the time."""
    compiled = compiled_from(language, data, tokenizer(tokens), cache_limit_bytes=limit)
    try:
        use(compiled, tokens, random.Random(seed), options)
    except psc.ResourceLimitError:  # a terminal that falls back in too many ways
        assume(False)


def use(compiled: psc.CompiledGrammar, tokens: list[bytes], rng: random.Random, options: dict[str, Any]) -> None:
    models = [Model(compiled, psc.GrammarMatcher(compiled, **options), [], **options)]
    for _ in range(40):
        model = rng.choice(models)
        matcher, steps = model.matcher, model.steps
        ended = bool(steps) and steps[-1] in matcher.stop_token_ids
        action = rng.choice(["token", "token", "token", "refused", "string", "rollback", "fork", "reset", "jump", "drop", "tree"])
        if action == "token" and not ended:
            choices = allowed(matcher)
            if choices:
                steps.append(rng.choice(choices))
                assert matcher.accept_token(steps[-1])
        elif action == "refused":
            token = rng.randrange(-1, len(tokens) + 2)
            if ended or token not in allowed(matcher):
                assert not matcher.accept_token(token)
        elif action == "string":
            text = b"".join(rng.choices(tokens, k=rng.randrange(3)))
            if matcher.accept_string(text):
                steps.append(text)
        elif action == "rollback":
            back = rng.randrange(len(steps) + 1)
            matcher.rollback(back)
            del steps[len(steps) - back :]
            with pytest.raises(psc.MatcherError):
                matcher.rollback(len(steps) + 1)
        elif action == "fork":
            models.append(Model(compiled, matcher.fork(), steps[:], **options))
        elif action == "reset" and rng.random() < 0.3:
            matcher.reset()
            steps.clear()
        elif action == "jump" and not ended:
            jump = matcher.find_jump_forward_string()
            if jump:
                assert matcher.accept_string(jump)
                steps.append(jump.encode())
        elif action == "drop" and len(models) > 1:
            models.remove(model)
            continue
        elif action == "tree":
            check_tree(matcher, random_tree(rng, len(tokens) + 1), len(tokens) + 1)
        model.check()
    for model in models:
        model.check()


# ---------------------------------------------------------------------------------------------------------------------
# Draft trees

Tree = tuple[np.ndarray, np.ndarray, np.ndarray]


def tree_of(child: list[int], sibling: list[int], token: list[int]) -> Tree:
    return np.array(child, np.int64), np.array(sibling, np.int64), np.array(token, np.int64)


def random_tree(rng: random.Random, n_tokens: int) -> Tree:
    """Nodes in any order but for the root, each below an earlier one."""
    n = rng.randrange(1, 12)
    names = [0, *rng.sample(range(1, n), n - 1)]
    child, sibling = [-1] * n, [-1] * n
    for i in range(1, n):
        parent, node = names[rng.randrange(i)], names[i]
        sibling[node], child[parent] = child[parent], node
    return tree_of(child, sibling, [rng.randrange(-1, n_tokens + 1) for _ in range(n)])


UNTOUCHED = 0x2BADBAD


def by_hand(matcher: psc.GrammarMatcher, tree: Tree, words: int) -> np.ndarray:
    """What traverse_draft_tree writes, by accept_token, fill_next_token_bitmask and rollback."""
    child, sibling, token = (a.tolist() for a in tree)
    out = np.full((len(token), words), UNTOUCHED, np.int32)

    def ended() -> bool:
        probe = matcher.fork()
        try:
            probe.mask()
        except psc.MatcherError:
            return True
        return False

    def fill(node: int) -> None:
        if ended():
            out[node] = 0
            return
        matcher.fill_next_token_bitmask(out, node)
        down = child[node]
        while down >= 0:
            if matcher.accept_token(token[down]):
                fill(down)
                matcher.rollback(1)
            else:
                out[down] = 0
            down = sibling[down]

    fill(0)
    return out


def check_tree(matcher: psc.GrammarMatcher, tree: Tree, n_tokens: int) -> None:
    words = (n_tokens + 31) // 32
    before = matcher.n_steps
    out = np.full((len(tree[0]), words), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree, out) is True
    assert matcher.n_steps == before
    np.testing.assert_array_equal(out, by_hand(matcher, tree, words))


def test_a_draft_tree_row_by_row() -> None:
    matcher = matcher_of('root ::= "a" ("b" "c" | "c" "x") | "x"')
    # root ── a ── b ── c ── stop ── a
    #    │    └─ c          └ (after the end)
    #    ├─ c (refused) ── a
    #    └─ x
    child, sibling, token = (
        [1, 2, 3, 4, 5, -1, -1, 8, -1, -1],
        [-1, 7, 6, -1, -1, -1, -1, 9, -1, -1],
        [99, A, B, C, STOP, A, C, C, A, X],
    )
    mask = np.full((10, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of(child, sibling, token), mask) is True
    rows = [bits(row) for row in mask]
    assert rows[0] == [A, AB, ABC, X]
    assert rows[1] == [B, C]
    assert rows[2] == [C]
    assert rows[3] == [STOP]
    assert rows[4] == []  # a stop token ends the text
    assert mask[5, 0] == UNTOUCHED  # below it
    assert rows[6] == [X]
    assert rows[7] == []  # refused
    assert mask[8, 0] == UNTOUCHED
    assert rows[9] == [STOP]
    assert matcher.n_steps == 0
    assert allowed(matcher) == rows[0]


def test_the_root_of_a_draft_tree_is_where_the_matcher_stands() -> None:
    matcher = matcher_of('root ::= "ab" "c"?')
    assert matcher.accept_token(AB)
    mask = np.full((1, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of([-1], [-1], [-5]), mask)
    assert bits(mask) == [C, STOP]
    assert matcher.accept_token(STOP)
    mask = np.full((2, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of([1, -1], [-1, -1], [0, C]), mask)
    assert mask.tolist() == [[0], [UNTOUCHED]]
    assert matcher.is_terminated()


def test_a_draft_tree_goes_on_where_the_text_could_end() -> None:
    """Differs: XGrammar leaves such rows empty and visits nothing below."""
    matcher = matcher_of('root ::= ("a" "b")*', terminate_without_stop_token=True)
    mask = np.full((2, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of([1, -1], [-1, -1], [0, AB]), mask)
    assert [bits(row) for row in mask] == [[A, AB], [A, AB]]


@LIBRARIES
def test_draft_trees_in_other_arrays(zeros: Callable[..., Any]) -> None:
    matcher, tree, mask = matcher_of('root ::= "ab"*'), tree_of([1, -1], [-1, -1], [0, AB]), zeros(4, 3)
    if zeros is torch_mask:
        import torch

        arrays: list[Any] = [torch.from_numpy(a) for a in tree]
    else:
        arrays = list(tree)
    assert matcher.traverse_draft_tree(*arrays, mask[::2, 1:2])
    want = np.zeros((4, 3), np.int32)
    want[[0, 2], 1] = 1 << A | 1 << AB | 1 << STOP
    np.testing.assert_array_equal(np.asarray(mask), want)


def test_rows_of_a_draft_tree_where_all_is_allowed() -> None:
    matcher = matcher_of("root ::= [a-b]*", TokenizerInfo.from_tokens([b"a", b"b"]))
    mask = np.zeros((1, 1), np.int32)
    assert matcher.traverse_draft_tree(*tree_of([-1], [-1], [0]), mask)
    assert bits(mask) == [0, 1]


def test_unreachable_nodes_are_left_alone() -> None:
    matcher, mask = matcher_of('root ::= "ab"*'), np.full((4, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of([-1, -1, 3, 2], [-1, -1, -1, -1], [0, A, A, A]), mask)
    assert mask[1:, 0].tolist() == [UNTOUCHED] * 3


def test_a_deep_draft_tree() -> None:
    n = 20_000
    matcher = matcher_of('root ::= "[" root "]" | "a" root "b" | "x"')
    tree = tree_of([*range(1, n), -1], [-1] * n, [A] * n)
    mask = np.zeros((n, 1), np.int32)
    assert matcher.traverse_draft_tree(*tree, mask)
    assert (mask == mask[0]).all()
    assert matcher.n_steps == 0


def test_a_draft_tree_out_of_time() -> None:
    n = 50_000
    matcher = matcher_of('root ::= "a"*')
    tree = tree_of([*range(1, n), -1], [-1] * n, [A] * n)
    mask = np.full((n, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree, mask, 1e-6) is False
    assert bits(mask[0]) == [A, STOP]
    assert mask[-1, 0] == UNTOUCHED
    assert (matcher.n_steps, allowed(matcher)) == (0, [A, STOP])
    for threshold in (0, -1.0, 100.0):
        assert matcher.traverse_draft_tree(*tree_of([-1], [-1], [0]), mask[:1], threshold) is True
    assert (
        matcher.traverse_draft_tree(*tree_of([1, -1], [-1, -1], [0, C]), mask[:2], time_threshold=100.0) is True
    )  # refused is in time


def test_temperatures_of_a_draft_tree() -> None:
    tree, mask = tree_of([1, -1], [-1, -1], [0, A]), np.zeros((2, 1), np.int32)
    out = np.zeros(2, np.float32)
    assert matcher_of('root ::= "ab"').traverse_draft_tree(*tree, mask, temperatures=out)
    assert out.tolist() == [-1, -1]
    assert matcher_of('root ::= "ab"', default_temperature=0.25).traverse_draft_tree(*tree, mask, temperatures=out)
    assert out[0] == 0.25
    with pytest.raises((RuntimeError, TypeError)):
        matcher_of('root ::= "ab"').traverse_draft_tree(*tree, mask, temperatures=np.zeros(3, np.float32))


GOOD = ([1, -1], [-1, -1], [0, A])


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (([1, -1], [1, -1], [0, A]), "has a sibling"),
        (([7, -1], [-1, -1], [0, A]), r"retrieve_next_token\[0\] is 7; it must be -1 or a node below 2"),
        (([-2, -1], [-1, -1], [0, A]), r"retrieve_next_token\[0\] is -2"),
        (([1, -1], [-1, 5], [0, A]), r"retrieve_next_sibling\[1\] is 5"),
        (([1, 0], [-1, -1], [0, A]), "no tree"),
        (([1, 1], [-1, -1], [0, A]), "no tree"),
        (([1, -1, -1], [-1, 2, 2], [0, A, A]), "no tree"),
        (([1], [-1, -1], [0, A]), "one length"),
        (([1, -1], [-1, -1], [0]), "one length"),
        (([], [], []), "no node"),
    ],
)
def test_what_is_no_draft_tree(tree: tuple[list[int], list[int], list[int]], message: str) -> None:
    matcher = matcher_of('root ::= "ab"')
    with pytest.raises(psc.MatcherError, match=message):
        matcher.traverse_draft_tree(*tree_of(*tree), np.zeros((len(tree[2]), 1), np.int32))
    assert matcher.accept_token(AB)


def test_wrong_arrays_for_a_draft_tree() -> None:
    matcher, tree = matcher_of('root ::= "ab"'), tree_of(*GOOD)
    for mask in (
        np.zeros((1, 1), np.int32),
        np.zeros((3, 1), np.int32),
        np.zeros((2, 2), np.int32),
        np.zeros(1, np.int32),
        np.zeros((2, 1), np.int64),
    ):
        with pytest.raises(psc.BitmaskError):
            matcher.traverse_draft_tree(*tree, mask)
    mask = np.zeros((2, 1), np.int32)
    for wrong in (tree[0].astype(np.float64), tree[0].reshape(1, 2), GOOD[0], None):
        for at, name in enumerate(("retrieve_next_token", "retrieve_next_sibling", "draft_tokens")):
            arrays: list[Any] = [wrong if i == at else a for i, a in enumerate(tree)]
            with pytest.raises(TypeError, match=f"{name} must be an int64 array"):
                matcher.traverse_draft_tree(*arrays, mask)
    assert not mask.any()
    spread = np.full(4, 7, np.int64)
    spread[::2] = GOOD[0]
    # Differs: XGrammar does not look at strides, and refuses other integers.
    assert matcher.traverse_draft_tree(spread[::2], tree[1].astype(np.int32), tree[2], mask)
    assert [bits(row) for row in mask] == [[A, AB], [B]]


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), tokens=strategies.vocabularies(max_size=6), seed=st.integers(0, 2**16))
@bounded
def test_draft_trees_by_hand(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    matcher, rng = psc.GrammarMatcher(compiled_from(language, data, tokenizer(tokens))), random.Random(seed)
    for _ in range(5):
        check_tree(matcher, random_tree(rng, len(tokens) + 1), len(tokens) + 1)
        choices = [t for t in allowed(matcher) if t != len(tokens)]
        if choices:
            assert matcher.accept_token(rng.choice(choices))


# ---------------------------------------------------------------------------------------------------------------------
# Many at once


def several(n: int = 5) -> list[psc.GrammarMatcher]:
    compiled = psc.GrammarCompiler(INFO).compile_grammar('root ::= "a"{0,9} "b"')
    matchers = [psc.GrammarMatcher(compiled) for _ in range(n)]
    for i, matcher in enumerate(matchers):
        for _ in range(2 * i):
            assert matcher.accept_token(A)
    return matchers


@pytest.mark.parametrize("threads", [1, 2, 7, "auto"])
@LIBRARIES
def test_batches_fill_rows(zeros: Callable[..., Any], threads: int | str) -> None:
    batch, matchers = psc.BatchGrammarMatcher(threads), several(5)
    matchers += [m.fork() for m in matchers * (threads if isinstance(threads, int) else 20)]
    n = len(matchers)
    mask = zeros(n + 1, 1)
    mask[:] = UNTOUCHED
    assert batch.batch_fill_next_token_bitmask(matchers, mask) is None
    want = [allowed(m) for m in matchers]
    assert [bits(np.asarray(row)) for row in mask[:n]] == want
    assert int(mask[n, 0]) == UNTOUCHED
    rows = list(range(n, 0, -1))
    mask[:] = UNTOUCHED
    batch.batch_fill_next_token_bitmask(tuple(matchers), mask, np.array(rows))
    assert [bits(np.asarray(mask[r])) for r in rows] == want
    assert int(mask[0, 0]) == UNTOUCHED
    batch.batch_fill_next_token_bitmask([], mask)
    one = zeros(1)
    batch.batch_fill_next_token_bitmask(matchers[:1], one, debug_print=True)
    assert bits(np.asarray(one)) == want[0]


def test_batches_in_strided_rows() -> None:
    matchers, wide = several(), np.zeros((10, 3), np.int32)
    psc.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, wide[::2, 1:2], indices=[4, 3, 2, 1, 0])
    assert [bits(row) for row in wide[::2, 1:2]] == [allowed(m) for m in reversed(matchers)]
    assert np.count_nonzero(wide) == 5


def test_wrong_batches() -> None:
    batch, matchers, mask = psc.BatchGrammarMatcher(2), several(), np.zeros((5, 1), np.int32)
    for indices, message in (
        ([0, 1], "the indices size is 2, where there are 5 matchers"),
        ([0, 1, 2, 3, 5], "row 5 of a bitmask of 5 rows"),
        ([-1, 0, 1, 2, 3], "row -1"),
    ):
        with pytest.raises((psc.MatcherError, psc.BitmaskError), match=message):
            batch.batch_fill_next_token_bitmask(matchers, mask, indices)
    with pytest.raises(psc.BitmaskError, match="row 4 of a bitmask of 4 rows"):
        batch.batch_fill_next_token_bitmask(matchers, mask[:4])
    assert not mask.any()
    for call in (batch.batch_accept_token, batch.batch_accept_string):
        with pytest.raises(psc.MatcherError, match="size is 1, where there are 5 matchers"):
            call(matchers, [AB] if call == batch.batch_accept_token else ["a"])
    with pytest.raises(TypeError):
        batch.batch_accept_token(matchers, [1.5] * 5)
    with pytest.raises(TypeError, match="token ids must be integers, not str"):
        batch.batch_accept_token(matchers, ["1"] * 5)
    with pytest.raises(TypeError, match="made of GrammarMatchers, not of str"):
        batch.batch_fill_next_token_bitmask([matchers[0], "no matcher"], mask)
    assert [m.n_steps for m in matchers] == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("threads", [0, -1, "x", 1.5, None, 5000, 2**40])
def test_wrong_numbers_of_threads(threads: Any) -> None:
    with pytest.raises(psc.MatcherError, match='max_threads must be "auto" or a number from 1 to 4096'):
        psc.BatchGrammarMatcher(threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_one_that_has_ended_does_not_keep_others_from_their_rows(threads: int) -> None:
    matchers = [m.fork() for m in several() * (1 if threads == 1 else 8)]
    ended = matchers[2].fork()
    matchers[2] = ended
    assert ended.accept_string("b")
    assert ended.accept_token(STOP)
    mask = np.full((len(matchers), 1), UNTOUCHED, np.int32)
    with pytest.raises(psc.MatcherError, match="terminated"):
        psc.BatchGrammarMatcher(threads).batch_fill_next_token_bitmask(matchers, mask)
    assert mask[2, 0] == UNTOUCHED
    assert all(bits(mask[i]) == allowed(m) for i, m in enumerate(matchers) if i != 2)


def test_batches_accept() -> None:
    matchers = several(4)
    accept = psc.BatchGrammarMatcher.batch_accept_token
    assert accept(matchers, [A, AB, X, STOP]) == [True, True, False, False]
    assert [m.n_steps for m in matchers] == [1, 3, 4, 6]
    assert accept(matchers, np.array([B, STOP, B, -1])) == [True, True, True, False]
    assert accept(matchers, (STOP, A, 2**33 + STOP, B), debug_print=True) == [True, False, False, True]
    assert accept([], []) == []
    strings = psc.BatchGrammarMatcher.batch_accept_string
    matchers = several(3)
    assert strings(matchers, ["aaa", b"ab", "x"]) == [True, True, False]
    assert strings(matchers, ["", "", bytearray(b"b")]) == [True, True, True]
    with pytest.raises(TypeError, match="str or bytes"):
        strings(matchers, ["", "", 1])
    assert strings([matchers[0]] * 3, ["a", "a", "b"]) == [True, True, True]  # in order


def test_batches_go_back() -> None:
    matchers, rollback = several(4), psc.BatchGrammarMatcher.batch_rollback
    rollback(matchers, [0, 2, 1, 6])
    assert [m.n_steps for m in matchers] == [0, 0, 3, 0]
    with pytest.raises(psc.MatcherError, match="matcher 0 cannot take back 1 steps: only 0"):  # differs: none has changed
        rollback([matchers[0], matchers[2]])
    with pytest.raises(psc.MatcherError, match="matcher 1 cannot take back 4 steps: only 2"):
        rollback([matchers[2], matchers[2]], [1, 4])
    assert matchers[2].n_steps == 3
    with pytest.raises(psc.MatcherError, match="size is 1, where there are 2 matchers"):
        rollback(matchers[:2], [1])
    with pytest.raises(psc.MatcherError, match="cannot take back -1"):
        rollback(matchers[:1], [-1])
    rollback([matchers[2], matchers[2]], [1, 1])
    assert matchers[2].n_steps == 1
    with pytest.raises(psc.MatcherError):
        rollback([matchers[2], matchers[2]], 1)  # together they are too many
    assert matchers[2].n_steps == 1


def test_batches_keep_what_they_work_on() -> None:
    """Matchers and texts that only the sequence itself makes."""
    compiled = psc.GrammarCompiler(INFO).compile_grammar('root ::= "a"*')
    made = (psc.GrammarMatcher(compiled) for _ in range(50))
    mask = np.zeros((50, 1), np.int32)
    psc.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(made, mask)
    assert (mask == 1 << A | 1 << STOP).all()
    matchers = [psc.GrammarMatcher(compiled) for _ in range(50)]
    assert all(psc.BatchGrammarMatcher.batch_accept_string(matchers, ("a" * i for i in range(50))))


def test_matchers_of_several_grammars_in_one_batch() -> None:
    other = tokenizer(["b", "bb"])
    matchers = [*several(3), matcher_of('root ::= "b"*', other)]
    mask = np.zeros((4, 1), np.int32)
    psc.BatchGrammarMatcher(1).batch_fill_next_token_bitmask(matchers, mask)
    assert [bits(row) for row in mask] == [allowed(m) for m in matchers]
    matchers.append(matcher_of('root ::= "b"*', byte_tokenizer()))
    with pytest.raises(psc.BitmaskError, match="words a row"):
        psc.BatchGrammarMatcher(1).batch_fill_next_token_bitmask(matchers, np.zeros((5, 1), np.int32))


# ---------------------------------------------------------------------------------------------------------------------
# Long texts


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


# ---------------------------------------------------------------------------------------------------------------------
# Temperatures and captures


@pytest.mark.parametrize("temperature", [-0.1, float("inf"), float("-inf"), float("nan")])
def test_a_default_temperature_is_a_finite_non_negative_number(temperature: float) -> None:
    with pytest.raises(psc.MatcherError, match="finite non-negative"):
        matcher_of('root ::= "a"', default_temperature=temperature)
    with pytest.raises(TypeError):
        matcher_of('root ::= "a"', default_temperature="warm")


def test_temperatures_of_a_batch() -> None:
    matchers = [matcher_of('root ::= "a"', default_temperature=t) for t in (0.5, None, 2)]
    out = np.zeros(4, np.float32)
    psc.BatchGrammarMatcher.batch_fill_temperature(matchers, out)
    assert out.tolist() == [0.5, -1, 2, 0]
    psc.BatchGrammarMatcher.batch_fill_temperature(matchers, out[::-1], indices=[0, 1, 2])
    assert out.tolist() == [0.5, 2, -1, 0.5]
    psc.BatchGrammarMatcher.batch_fill_temperature([], out)
    assert (matchers[2].temperature, matchers[2].fork().temperature) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("out", "indices", "message"),
    [
        (np.zeros(2), None, "float32"),
        (np.zeros((2, 1), np.float32), None, "one dimension"),
        (np.zeros(1, np.float32), None, "entry 1"),
        (np.zeros(2, np.float32), [0, -1], "entry -1"),
        (np.zeros(2, np.float32), [0], "the indices size is 1, where there are 2 matchers"),
        ([0.0, 0.0], None, "float32"),
        (np.frombuffer(bytes(8), np.float32), None, "written to"),
    ],
)
def test_temperatures_of_a_batch_that_do_not_fit(out: Any, indices: list[int] | None, message: str) -> None:
    matchers = [matcher_of('root ::= "a"', default_temperature=1.0)] * 2
    with pytest.raises(psc.MatcherError, match=message):
        psc.BatchGrammarMatcher.batch_fill_temperature(matchers, out, indices)
    assert not np.any(out)


def test_captures_are_asked_for_with_and_without_duplicates() -> None:
    assert matcher_of('root ::= "a"').get_captures(deduplicate=False) == []
