"""What `psc bench` measures on: every generated text is one of its grammar, and tokens spell it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizer_files import write_tokenizer

import psc
from psc.bench.sample_texts import TEXTS, sample_texts
from psc.bench.subjects import find_subject, texts_of
from psc.bench.texts import encoder, tokenize
from psc.bench.tool_requests import calls_of, generated_tools, request_of
from psc.errors import BenchError

BYTES = [bytes([b]) for b in range(256)]


@pytest.fixture(scope="module")
def compiler() -> psc.GrammarCompiler:
    return psc.GrammarCompiler(psc.TokenizerInfo([*BYTES, b"<eos>"], stop_token_ids=[256], special_token_ids=[256]), store=False)


@pytest.mark.parametrize("name", [*TEXTS, "json"])
def test_generated_texts_are_sentences(name: str, compiler: psc.GrammarCompiler) -> None:
    subject = find_subject(name)
    matcher = psc.GrammarMatcher(compiler.compile_grammar(subject.open()))
    for text in texts_of(subject, 4, seed=1, max_bytes=100_000):
        matcher.reset()
        assert matcher.accept_string(text.data)
        assert matcher.accept_token(256), "the text is no whole sentence"


def test_the_same_seed_gives_the_same_texts() -> None:
    assert sample_texts("sql", 3, 7) == sample_texts("sql", 3, 7) != sample_texts("sql", 3, 8)


def test_texts_of_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,price\n" * 30)
    (tmp_path / "short.csv").write_text("a")
    found = texts_of(find_subject("csv"), 5, seed=0, max_bytes=10_000, paths=[tmp_path])
    assert [Path(t.name).name for t in found] == ["a.csv"]
    with pytest.raises(BenchError, match=r"no texts of at most 10 bytes, suffix \.csv"):
        texts_of(find_subject("csv"), 5, seed=0, max_bytes=10, paths=[tmp_path])


def test_a_grammar_without_texts_says_how_to_name_some(tmp_path: Path) -> None:
    (tmp_path / "date.ebnf").write_text('root ::= "1"')
    with pytest.raises(BenchError, match="--corpus date=PATH"):
        texts_of(find_subject(str(tmp_path / "date.ebnf")), 1, seed=0, max_bytes=10)


def test_tokens_spell_their_texts(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    write_tokenizer(tmp_path / "tokenizer.json", [*BYTES, b"name", "ö".encode()])
    info = psc.load_tokenizer(str(tmp_path / "tokenizer.json"))
    how, encode = encoder(str(tmp_path / "tokenizer.json"), info)
    documents = texts_of(find_subject("contacts"), 3, seed=0, max_bytes=100_000)
    tokenized, left_out = tokenize(documents, info, encode)
    assert how == "longest match" and left_out == 0  # the library wants merges
    for document in documents:
        assert b"".join(info.token_bytes(i) for i in tokenized[document.name]) == document.data


def test_calls_of_tools_are_valid(compiler: psc.GrammarCompiler) -> None:
    import random

    rng = random.Random(3)
    tools = generated_tools(12, rng)
    for _ in range(4):
        drawn = rng.sample(tools, 4)
        matcher = psc.GrammarMatcher(compiler.compile_json_schema(request_of(drawn), strict_mode=False))
        assert matcher.accept_string(calls_of(drawn, rng).encode()) and matcher.accept_token(256)
