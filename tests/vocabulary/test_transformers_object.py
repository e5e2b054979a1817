"""Tokenizers that other libraries have loaded give what their files give."""

import io
import json
from types import SimpleNamespace

import pytest

from psc.errors import TokenizerError
from psc.vocabulary import load_tokenizer, tokenizer_from_object
from psc.vocabulary.spelling import byte_level_alphabet

SPELLING = {byte: character for character, byte in byte_level_alphabet().items()}


def library_tokenizer():
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {SPELLING[byte]: byte for byte in range(256)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, []))
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["</s>", "<|x|>"])
    tokenizer.add_tokens(["<think>"])
    return tokenizer


def test_tokenizers_object(tmp_path):
    tokenizer = library_tokenizer()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    info = tokenizer_from_object(tokenizer)
    assert info == load_tokenizer(tmp_path)
    assert (info.stop_token_ids, info.token_bytes(258)) == ([256], b"<think>")


def test_fast_tokenizer(tmp_path):
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=library_tokenizer(), eos_token="<|x|>")
    info = tokenizer_from_object(fast, vocab_size=300)
    assert (info.vocab_size, info.stop_token_ids, info.special_token_ids) == (300, [257], [256, 257])
    fast.save_pretrained(tmp_path)
    assert load_tokenizer(tmp_path, vocab_size=300) == info
    assert tokenizer_from_object(fast, stop_token_ids=[256]).stop_token_ids == [256]


def test_tiktoken_encoding():
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes((byte,)): byte for byte in range(256)}
    encoding = tiktoken.Encoding("x", pat_str=".", mergeable_ranks=ranks, special_tokens={"<|im_end|>": 260})
    wrapped = SimpleNamespace(tokenizer=encoding, eos_token_id=260, name_or_path="org/model")
    for tokenizer in (encoding, wrapped):
        info = tokenizer_from_object(tokenizer)
        assert (info.vocab_size, info.stop_token_ids, info.token_bytes(200)) == (261, [260], b"\xc8")
    assert info.name == "org/model"


@pytest.fixture(scope="module")
def sentencepiece_model():
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the quick brown fox"] * 20), model_writer=model, vocab_size=20, minloglevel=2
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def test_slow_sentencepiece_tokenizer(tmp_path, sentencepiece_model):
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model.serialized_model_proto())
    added = {40: SimpleNamespace(special=False, __str__=lambda: "x")}
    by_model = tokenizer_from_object(SimpleNamespace(sp_model=sentencepiece_model, eos_token_id=2))
    by_file = tokenizer_from_object(SimpleNamespace(vocab_file=str(tmp_path / "tokenizer.model")))
    assert by_model == by_file == load_tokenizer(tmp_path)
    with_added = tokenizer_from_object(SimpleNamespace(sp_model=sentencepiece_model, added_tokens_decoder=added))
    assert with_added.vocab_size == 41
    assert with_added.token_bytes(40)


def test_byte_level_python_tokenizer():
    """GPT-2's slow tokenizer, as transformers 4 had it."""
    vocab = {SPELLING[0x20] + "a": 0, SPELLING[0xFF]: 1, "</s>": 2}
    tokenizer = SimpleNamespace(
        byte_decoder=byte_level_alphabet(),
        get_vocab=lambda: vocab,
        added_tokens_decoder={2: "</s>"},
        eos_token_id=2,
    )
    assert tokenizer_from_object(tokenizer).token_texts == (b" a", b"\xff", b"")
    vocab["\u2581x"] = 3
    with pytest.raises(TokenizerError, match="is not in byte-level spelling"):
        tokenizer_from_object(tokenizer)


def test_mistral_common_tokenizer(tmp_path):
    document = {
        "config": {"default_vocab_size": 4, "default_num_special_tokens": 3},
        "vocab": [{"rank": 0, "token_bytes": "YQ=="}],
    }
    (tmp_path / "tekken.json").write_text(json.dumps(document))
    inner = SimpleNamespace(file_path=tmp_path / "tekken.json")
    tokenizer = SimpleNamespace(instruct_tokenizer=SimpleNamespace(tokenizer=inner))
    assert tokenizer_from_object(tokenizer) == load_tokenizer(tmp_path)


def test_refused():
    with pytest.raises(TokenizerError, match="does not know how this tokenizer spells bytes"):
        tokenizer_from_object(SimpleNamespace(get_vocab=lambda: {"a": 0}))
