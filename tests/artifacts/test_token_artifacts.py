"""Artifacts of grammars that speak of tokens: the masks of just in time, for one vocabulary's tokens, from checked tables."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import batches
import numpy as np
import pytest
import token_language
from click.testing import CliRunner
from dialect_texts import CASES
from dialect_texts import INFO as INFO_OF_DIALECT
from grammar_tables import tables_of
from token_grammars import SPECIAL, STOP, TOKENIZER, TOKENS, random_expression, rule_set
from vocabularies import byte_tokenizer

import psc
from psc._core import Machine
from psc.artifacts.format import decode, encode
from psc.artifacts.input_key import input_key_of
from psc.artifacts.scalars import is_closed, without_scalars
from psc.artifacts.store import Store
from psc.cli import main
from psc.compiler.cfg.lowering import lower
from psc.compiler.cfg.token_symbols import token_symbols
from psc.compiler.expressions.expression import Literal, Sequence
from psc.compiler.expressions.tokens import token_set
from psc.compiler.frontends.front_end import NO_SETTINGS, FrontEnd
from psc.compiler.frontends.registry import FRONT_ENDS
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.frontends.tables import GrammarTables
from psc.compiler.pipeline.build import build
from psc.compiler.pipeline.pieces import assemble, find_sequences
from psc.compiler.pipeline.spelling_check import unspellable
from psc.errors import ArtifactError, DeserializeFormatError, GrammarError
from psc.grammars.build_grammar import artifact_bytes, shared_vocabulary
from psc.grammars.compiled_grammar import CompiledGrammar, compiled_from_file
from psc.grammars.grammar import Grammar
from psc.grammars.verification import verify_build

N = TOKENIZER.vocab_size
Tables = dict[str, Any]
TEXT = '"a @<|c|> ^<|end|> $<|end|> "b'
"""A text of `token_language`."""
KEY_BEFORE = "e446947cfd041314c71aa75641484b0899e72adf73886f502c12c230fe897e9a"
"""Of the regular expression a+, before grammars spoke of tokens."""


def variant(**changes: Any) -> psc.TokenizerInfo:
    """The tokenizer of the tests, seen otherwise."""
    tokens = {"tokens": TOKENS, "special_token_ids": [SPECIAL], "stop_token_ids": [STOP], **changes}
    return psc.TokenizerInfo.from_tokens(tokens.pop("tokens"), **tokens)


OTHERS = {
    "another stop token": variant(special_token_ids=[SPECIAL, STOP], stop_token_ids=[SPECIAL]),
    "no stop token": variant(special_token_ids=[SPECIAL, STOP], stop_token_ids=[]),
    "another name": variant(tokens=[*TOKENS[:SPECIAL], b"<|d|>", *TOKENS[SPECIAL + 1 :]]),
    "a special token more": variant(tokens=[*TOKENS, b"<|d|>"], special_token_ids=[SPECIAL, len(TOKENS)]),
    "more logits": variant(vocab_size=len(TOKENS) + 1),
}
"""Vocabularies with the same text tokens."""


@pytest.fixture
def tokens_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FRONT_ENDS, "tokens", token_language.Tokens())


def request(text: str = TEXT) -> GrammarRequest:
    return GrammarRequest.of("tokens", text)


def in_time(rules: GrammarTables, info: psc.TokenizerInfo) -> CompiledGrammar:
    machine = rules.machine(shared_vocabulary(info, rules.symbols(info.vocab_size)))
    return CompiledGrammar(machine, lambda: {}, tokenizer_info=info)


def walk(one: CompiledGrammar, other: CompiledGrammar, rng: random.Random) -> None:
    """Two compiled grammars allow the same and go on the same, along a text."""
    here, there = psc.GrammarMatcher(one), psc.GrammarMatcher(other)
    for _ in range(6):
        allowed = here.allowed_tokens()
        assert np.array_equal(allowed, there.allowed_tokens())
        for token in range(one.vocab_size):
            forks = here.fork(), there.fork()
            assert forks[0].accept_token(token) == forks[1].accept_token(token)
            assert forks[0].is_terminated() == forks[1].is_terminated()
            assert forks[0].is_completed() == forks[1].is_completed()
        assert here.find_jump_forward_string() == there.find_jump_forward_string()
        if not len(allowed):
            return
        token = int(rng.choice(allowed))
        assert here.accept_token(token) and there.accept_token(token)
        if here.is_terminated():
            return


@pytest.mark.parametrize("seed", range(30))
def test_masks_are_those_of_just_in_time(seed: int) -> None:
    rng = random.Random(seed)
    rules = rule_set(random_expression(rng, 2))
    result = build(tables_of(rules), TOKENIZER)
    loaded = compiled_from_file(encode(result.arrays, result.metadata), tokenizer_info=TOKENIZER, place="tokens")
    ready = tables_of(rules)
    assert is_closed(result.arrays) == (len(ready.symbols(N)) == 0)
    for _ in range(3):
        walk(in_time(ready, TOKENIZER), loaded, rng)


@pytest.mark.parametrize("seed", range(20))
def test_symbols_are_numbered_as_by_the_native_core(seed: int) -> None:
    rules = rule_set(random_expression(random.Random(seed), 3))
    for n_tokens in (1, 7, N, 40):
        assert np.array_equal(token_symbols(lower(rules), n_tokens), tables_of(rules).symbols(n_tokens))


def test_bytes_of_no_text_are_no_symbols_of_tokens_beyond_the_vocabulary() -> None:
    """Token 0's symbol is spelled F8 80 80 80; a token with that text is no token 0, and no token 30 either."""
    info = psc.TokenizerInfo.from_tokens([b"\xf8\x80\x80\x9e", b"a"])
    for token in (30, 1):
        rules = rule_set(token_set([token]))
        for compiled in (in_time(tables_of(rules), info), _loaded(rules, info)):
            assert psc.GrammarMatcher(compiled).allowed_tokens().tolist() == [token] * (token < 2)


def _loaded(rules: Any, info: psc.TokenizerInfo) -> CompiledGrammar:
    result = build(tables_of(rules), info)
    return compiled_from_file(encode(result.arrays, result.metadata), tokenizer_info=info, place="tokens")


@pytest.mark.usefixtures("tokens_language")
def test_it_goes_through_the_api(tmp_path: Path) -> None:
    grammar = Grammar.parse(request())
    expected = psc.GrammarCompiler(TOKENIZER, store=False).compile_grammar(grammar)
    ahead = psc.compile_ahead_of_time(grammar, TOKENIZER)
    expected.save(tmp_path / "x.psc")
    assert ahead.is_lazy and ahead.fingerprint == expected.fingerprint == TOKENIZER.fingerprint
    store = Store(tmp_path / "store")
    assert psc.GrammarCompiler(TOKENIZER, store=store).finish(expected).result(60).read_bytes() == (tmp_path / "x.psc").read_bytes()
    ways = [
        ahead,
        psc.load(tmp_path / "x.psc", tokenizer_info=TOKENIZER),
        pickle.loads(pickle.dumps(ahead)),
        CompiledGrammar.deserialize_json(ahead.serialize_json(), TOKENIZER),
        psc.compile_ahead_of_time(ahead.grammar, TOKENIZER),
        psc.GrammarCompiler(TOKENIZER, store=store).compile_grammar(request()),
    ]
    assert ways[-1].place.startswith(str(store.root))
    for i, compiled in enumerate(ways):
        walk(expected, compiled, random.Random(i))
    other = OTHERS["another name"]
    with pytest.raises(GrammarError, match=r"there is no token '<\|c\|>'"):
        psc.compile_ahead_of_time(
            Grammar.parse(request("@<|c|>")), variant(tokens=TOKENS[:6], special_token_ids=[], stop_token_ids=[])
        )
    assert psc.compile_ahead_of_time(grammar, other).metadata["tokenizer"] != ahead.metadata["tokenizer"]


@pytest.mark.usefixtures("tokens_language")
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_view_of_the_vocabulary_is_refused(
    other: psc.TokenizerInfo, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert other.fingerprint == TOKENIZER.fingerprint and other.tokens_fingerprint != TOKENIZER.tokens_fingerprint
    data = artifact_bytes(Grammar.parse(request()), TOKENIZER)
    path = tmp_path / "x.psc"
    path.write_bytes(data)
    with pytest.raises(ArtifactError, match="has the same text, and other special tokens, stop tokens or size"):
        psc.load(path, tokenizer_info=other)
    serialized = psc.load(path, tokenizer_info=TOKENIZER).serialize_json()
    with pytest.raises(DeserializeFormatError, match="has the same text"):
        CompiledGrammar.deserialize_json(serialized, other)
    store = Store(tmp_path / "store")
    store.add(data)
    assert psc.GrammarCompiler(other, store=store).compile_grammar(request()).place == "<string>"
    assert "the grammar names tokens" in caplog.text
    assert psc.GrammarCompiler(TOKENIZER, store=store).compile_grammar(request()).place != "<string>"
    # A text that names none is for any of them.
    store.add(artifact_bytes(Grammar.parse(request('"a "b')), TOKENIZER))
    assert not psc.GrammarCompiler(other, store=store).compile_grammar(request('"a "b')).is_lazy


@pytest.mark.usefixtures("tokens_language")
def test_a_grammar_is_read_anew_for_tokens_of_other_names() -> None:
    """Two vocabularies that are equal but for what a special token is called."""
    swapped = variant(tokens=[*TOKENS[:SPECIAL], b"<|end|>", b"<|c|>", *TOKENS[STOP + 1 :]])
    assert swapped == TOKENIZER
    grammar = Grammar.parse(request("@<|c|>")).for_vocabulary(TOKENIZER)
    for info, token in ((TOKENIZER, SPECIAL), (swapped, STOP)):
        assert psc.GrammarMatcher(psc.compile_ahead_of_time(grammar, info)).allowed_tokens().tolist() == [token]
        assert psc.GrammarMatcher(psc.GrammarCompiler(info).compile_grammar(grammar)).allowed_tokens().tolist() == [token]


@pytest.mark.usefixtures("tokens_language")
@pytest.mark.parametrize("text", [TEXT, "$a", '"a'])
def test_a_key_is_the_same_of_text_of_a_grammar_and_of_an_artifact(text: str) -> None:
    """Also of a text that could name tokens, and names none of this vocabulary: its artifact is closed."""
    key = request(text).key()
    assert key is not None and key == Grammar.parse(request(text)).key
    artifact = decode(artifact_bytes(Grammar.parse(request(text)), TOKENIZER))
    assert input_key_of(artifact.metadata) == key.for_tokenizer(TOKENIZER)
    assert is_closed(artifact.arrays) == (text != TEXT)
    keys = {key.for_tokenizer(info) for info in (TOKENIZER, *OTHERS.values())}
    assert len(keys) == (1 if text == '"a' else 1 + len(OTHERS))


def test_the_dialect_of_llguidance_tells_of_tokens_in_grammars_that_a_text_names() -> None:
    """The text itself names none; a grammar that it refers to does, and one that this one refers to."""
    text, named = 'start: "a" @b', {"b": 'start: "b" @c', "c": "start: <|tool|> <[256]>"}
    grammar = Grammar.from_lark(text, named_grammars=named)
    key = grammar.key
    assert key.names_tokens and not Grammar.from_lark('start: "a" @b', named_grammars={"b": 'start: "b"'}).key.names_tokens
    ahead = psc.compile_ahead_of_time(grammar, INFO_OF_DIALECT)
    assert input_key_of(ahead.metadata) == key.for_tokenizer(INFO_OF_DIALECT)
    for seed in range(3):
        walk(psc.GrammarCompiler(INFO_OF_DIALECT, store=False).compile_grammar(grammar), ahead, random.Random(seed))
    matcher = psc.GrammarMatcher(ahead)
    assert all(matcher.accept_token(token) for token in (*b"ab", 257, 256)) and matcher.is_terminated()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('root ::= "<tool>" [<x>] # <y>\nToken ::= "Token(1)"', False),
        ("root ::= Token", False),
        ("root ::= <[1]>", True),
        ("root ::= !<think>", True),
        ("root ::= Token # the\n (1)", True),
        ("root ::= ExcludeToken(1)", True),
        ("root ::= TokenTagDispatch((3, r))", True),
        ('root ::= TagDispatch(("<t>", r))', False),
        ('root ::= Regex("<t>")', False),
    ],
)
def test_ebnf_tells_whether_it_may_name_tokens(text: str, names: bool) -> None:
    assert GrammarRequest.of("ebnf", text).names_tokens == names


def test_a_text_that_is_not_read_without_a_vocabulary(tmp_path: Path) -> None:
    """EBNF that names a token by its text: every way from it to an artifact and back has the vocabulary."""
    info, text = INFO_OF_DIALECT, 'root ::= "a" Token("<|tool|>") !<[0-200]>'
    with pytest.raises(GrammarError, match="needs a tokenizer"):
        Grammar.from_ebnf(text)
    expected = psc.GrammarCompiler(info, store=tmp_path / "store").compile_grammar(text)
    path = expected.save(tmp_path / "x.psc")
    finished = psc.GrammarCompiler(info, store=tmp_path / "store").finish(expected).result(60)
    assert finished.read_bytes() == path.read_bytes()
    loaded = psc.load(path, tokenizer_info=info)
    assert loaded.grammar == expected.grammar
    again = [
        loaded,
        pickle.loads(pickle.dumps(expected)),
        pickle.loads(pickle.dumps(loaded)),
        CompiledGrammar.deserialize_json(expected.serialize_json(), info),
        CompiledGrammar.deserialize_json(loaded.serialize_json(), info),
        psc.compile_ahead_of_time(loaded.grammar, info),
        psc.GrammarCompiler(info, store=tmp_path / "store").compile_grammar(text),
    ]
    assert again[-1].place == str(finished)
    for i, compiled in enumerate(again):
        walk(expected, compiled, random.Random(i))


@pytest.mark.parametrize("name", CASES)
def test_a_text_of_the_dialect_that_names_tokens_is_said_to(name: str) -> None:
    named = GrammarRequest.of("llguidance", CASES[name].grammar)
    assert named.names_tokens or not Grammar.parse(named).reads_names


def test_what_was_read_for_a_vocabulary_is_for_it_whatever_the_front_end_says() -> None:
    read = replace(rule_set(Literal("a")), reads_names=True)
    assert build(tables_of(read), TOKENIZER).metadata["tokenizer"]["fingerprint"] == TOKENIZER.tokens_fingerprint
    read = replace(read, reads_names=False)
    assert build(tables_of(read), TOKENIZER).metadata["tokenizer"]["fingerprint"] == TOKENIZER.fingerprint


def test_a_front_end_that_does_not_say_may_always_name_tokens() -> None:
    class Silent(token_language.Tokens):
        names_tokens = FrontEnd.names_tokens

    assert Silent().names_tokens("x", NO_SETTINGS) and not token_language.Tokens().names_tokens("x", NO_SETTINGS)


def test_other_keys_are_as_they_were() -> None:
    key = GrammarRequest.of("regex", "a+").key()
    assert key is not None
    assert key.for_tokenizer(byte_tokenizer()) == key.with_vocabulary(byte_tokenizer().fingerprint)
    assert key.with_vocabulary("0" * 64, compiler_revision=5, format_version=3) == KEY_BEFORE


def test_why_it_is_not_closed_is_said() -> None:
    rules = tables_of(rule_set(Sequence((Literal("a"), token_set([SPECIAL])))))
    result = build(rules, TOKENIZER)
    assert result.metadata["not_closed"] == {"reason": "tokens"}
    assert result.metadata["counts"]["tokens_with_symbols"] == 1
    assert "not closed: the grammar speaks of tokens" in result.warnings[-1] and "limit" not in result.warnings[-1]


def test_what_is_not_closed_is_not_verified() -> None:
    pytest.importorskip("pynini")
    rules = tables_of(rule_set(Sequence((Literal("a"), token_set([SPECIAL])))))
    with pytest.raises(GrammarError, match="no closed classifier to verify: not closed: the grammar speaks of tokens"):
        verify_build(build(rules, TOKENIZER))


def test_pieces_make_the_same() -> None:
    tables = tables_of(rule_set(Sequence((Literal("a"), token_set([SPECIAL])))))
    whole, pieces = build(tables, TOKENIZER), assemble(tables, TOKENIZER, find_sequences(tables, TOKENIZER, 3), [])
    assert encode(whole.arrays, whole.metadata) == encode(pieces.arrays, pieces.metadata)


def test_tokens_that_are_asked_for_as_such_need_no_bytes() -> None:
    def why(*tokens: int) -> str | None:
        return unspellable(tables_of(rule_set(Sequence((Literal("a"), token_set(tokens), Literal("b"))))), TOKENIZER)

    assert why(SPECIAL) is None and why(STOP, 30) is None
    assert "cannot write" in (why(30) or "")
    assert "cannot write" in (unspellable(tables_of(rule_set(Literal("q"))), TOKENIZER) or "")


@pytest.mark.usefixtures("tokens_language")
def test_the_command_line(tmp_path: Path) -> None:
    batches.write_tokenizer(tmp_path / "bytes.json", [bytes([b]) for b in range(256)])
    batches.write_tokenizer(tmp_path / "more.json", [*(bytes([b]) for b in range(256)), b"ab"])
    (tmp_path / "x.tokens").write_text('"a $<|endoftext|>')
    (tmp_path / "text").write_text("a<|endoftext|>")

    def run(*arguments: object, code: int = 0) -> str:
        words = [str(tmp_path / str(a)) if Path(str(a)).suffix or a == "text" else str(a) for a in arguments]
        result = CliRunner().invoke(main, words)
        assert result.exit_code == code, result.output
        return result.output

    assert "not closed: the grammar speaks of tokens" in run("compile", "x.tokens", "-t", "bytes.json", "-o", "x.psc")
    shown = run("inspect", "x.psc")
    assert "of all its tokens" in shown and "not closed: the grammar speaks of tokens" in shown
    assert ": ok" in run("check", "x.psc", "text", "-t", "bytes.json")
    assert ": ok" in run("check", "x.psc", "text")  # by the file that the record beside it names
    assert "a<|endoftext|>" in run("sample", "x.psc", "-t", "bytes.json")
    assert "fingerprint" in run("check", "x.psc", "text", "-t", "more.json", code=1)
    assert "<|endoftext|>" in run("explain", "x.psc", "--text", "a", "-t", "bytes.json")
    without = "no closed classifier" if find_spec("pynini") else "psc[openfst]"
    assert without in run("compile", "x.tokens", "-t", "bytes.json", "-o", "y.psc", "--verify", code=1)


@pytest.mark.usefixtures("tokens_language")
def test_a_batch_reads_a_grammar_for_each_vocabulary(tmp_path: Path) -> None:
    jobs = '[[jobs]]\ngrammars = ["grammars/*.tokens"]\ntokenizers = ["models/*.json"]\n'
    texts = {"grammars/x.tokens": '"a @<|endoftext|> "b', "grammars/true.tokens": "@true"}
    path = batches.write_folder(tmp_path, jobs, texts)
    store = Store(tmp_path / "store")
    report = batches.run(path, store)
    errors = {o.name: o.error for o in report.jobs if o.error}
    assert list(errors) == ["true/bytes"] and "there is no token 'true'" in errors["true/bytes"]
    for name in ("bytes", "pieces"):
        info = psc.load_tokenizer(tmp_path / "models" / f"{name}.json")
        found = psc.GrammarCompiler(info, store=store).compile_file(tmp_path / "grammars" / "x.tokens")
        assert found.place.startswith(str(store.root))
        matcher = psc.GrammarMatcher(found)
        assert matcher.accept_string(b"a") and matcher.allowed_tokens().tolist() == info.stop_token_ids
    again = batches.run(path, store)
    assert {o.status for o in again.jobs} == {"present", "failed"}


@pytest.fixture(scope="module")
def stored() -> Tables:
    """The tables of a grammar that speaks of tokens, as a machine takes them."""
    rules = tables_of(rule_set(Sequence((Literal("a"), token_set([2, SPECIAL]), token_set([4, 5]), token_set([5])))))
    return given(build(rules, TOKENIZER).arrays, N)


def given(arrays: Any, n_tokens: int) -> Tables:
    tables = without_scalars(arrays)
    classes = np.full(n_tokens, -1, np.int32)
    classes[: len(tables["class_of_token"])] = tables["class_of_token"]
    return {**tables, "vocab_size": n_tokens, "class_of_token": classes, "stop_tokens": np.array([STOP], np.int32)}


def test_what_is_stored(stored: Tables) -> None:
    assert np.array_equal(stored["symbol_tokens"], [2, 4, 5, 6])
    assert np.array_equal(stored["symbol_numbers"], [2, 4, 5, 2])
    assert Machine.from_open_tables(stored, "any").is_lazy


def _put(name: str, at: int, value: int) -> Callable[[dict[str, Any]], object]:
    return lambda tables: tables[name].__setitem__(at, value)


DAMAGE: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "a token below 0": ("symbol_tokens", _put("symbol_tokens", 0, -1)),
    "a token beyond the vocabulary": ("symbol_tokens", _put("symbol_tokens", 3, N)),
    "a token twice": ("symbol_tokens", _put("symbol_tokens", 1, 2)),
    "tokens that fall": ("symbol_tokens", _put("symbol_tokens", 0, 5)),
    "a symbol below 0": ("symbol_numbers", _put("symbol_numbers", 0, -1)),
    "a symbol beyond the vocabulary": ("symbol_numbers", _put("symbol_numbers", 1, N)),
    "too few symbols": ("symbol_numbers", lambda t: t.update(symbol_numbers=t["symbol_numbers"][:-1].copy())),
    "too few tokens": ("symbol_numbers", lambda t: t.update(symbol_tokens=t["symbol_tokens"][:-1].copy())),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_tables_out_of_range_are_refused(stored: Tables, what: str) -> None:
    table, change = DAMAGE[what]
    tables = {name: array.copy() if isinstance(array, np.ndarray) else array for name, array in stored.items()}
    change(tables)
    with pytest.raises(ValueError, match=f"^table '{table}' "):
        Machine.from_open_tables(tables, "any")


def test_a_number_that_no_symbol_has_is_refused() -> None:
    n = (1 << 20) + 8
    info = psc.TokenizerInfo.from_tokens(TOKENS, vocab_size=n)
    tables = given(build(tables_of(rule_set(token_set([SPECIAL]))), info).arrays, n)
    Machine.from_open_tables({**tables, "symbol_numbers": np.array([(1 << 20) - 1], np.int32)}, "any")
    with pytest.raises(ValueError, match=r"^table 'symbol_numbers' holds a token that can have no symbol"):
        Machine.from_open_tables({**tables, "symbol_numbers": np.array([1 << 20], np.int32)}, "any")


def test_one_of_two_tables_is_refused(stored: Tables) -> None:
    for name in ("symbol_tokens", "symbol_numbers"):
        with pytest.raises(KeyError, match=name):
            Machine.from_open_tables({n: table for n, table in stored.items() if n != "symbol_" + name.partition("_")[2]}, "any")


@pytest.mark.usefixtures("tokens_language")
def test_symbols_where_there_can_be_none_are_refused() -> None:
    symbols = {"symbol_tokens": np.array([2], np.int32), "symbol_numbers": np.array([2], np.int32)}

    def load(arrays: Any, metadata: Any) -> CompiledGrammar:
        return compiled_from_file(encode(arrays, metadata), tokenizer_info=TOKENIZER, place="forged")

    closed = decode(artifact_bytes(Grammar.parse(request("$a")), TOKENIZER))
    with pytest.raises(ArtifactError, match="table 'symbol_tokens' is in an artifact that is closed"):
        load({**closed.arrays, **symbols}, closed.metadata)
    opened = decode(artifact_bytes(Grammar.parse(request()), TOKENIZER))
    load(opened.arrays, opened.metadata)
    for text in (None, 1, []):
        tokenizer = {k: v for k, v in opened.metadata["tokenizer"].items() if k != "text_fingerprint"}
        forged = {**tokenizer, "fingerprint": TOKENIZER.fingerprint, **({} if text is None else {"text_fingerprint": text})}
        with pytest.raises(ArtifactError, match=r"speaks of tokens, and the metadata|text_fingerprint is no str"):
            load(opened.arrays, {**opened.metadata, "tokenizer": forged})
