"""`TokenizerInfo.from_huggingface`: real tokenizer objects, their special tokens, sizes and spelling."""

import pytest

from psc import TokenizerInfo, VocabType
from psc.errors import TokenizerError
from psc.vocabulary.spelling import byte_level_alphabet

SPELLING = {byte: character for character, byte in byte_level_alphabet().items()}
tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")


@pytest.fixture
def byte_level():
    vocab = {SPELLING[byte]: byte for byte in range(256)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>", "<|x|>"])
    tokenizer.add_tokens(["<think>"])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")


def test_special_tokens_come_from_the_tokenizer(byte_level):
    info = TokenizerInfo.from_huggingface(byte_level, vocab_size=300)
    assert (info.vocab_size, info.vocab_type, info.add_prefix_space) == (300, VocabType.BYTE_LEVEL, False)
    assert (info.stop_token_ids, info.special_token_ids) == ([256], [256, 257])
    assert info.token_texts[255:259] == (b"\xff", b"", b"", b"<think>")
    assert info.decoded_vocab[256:260] == [b"<|end|>", b"<|x|>", b"<think>", b""]


def test_stop_tokens(byte_level):
    assert TokenizerInfo.from_huggingface(byte_level, stop_token_ids=257).stop_token_ids == [257]
    assert TokenizerInfo.from_huggingface(byte_level, stop_token_ids=[257, 256]).stop_token_ids == [256, 257]
    with pytest.raises(TokenizerError, match="cannot be empty"):
        TokenizerInfo.from_huggingface(byte_level, stop_token_ids=[])


def test_its_own_vocabulary_and_metadata_give_it_back(byte_level):
    info = TokenizerInfo.from_huggingface(byte_level, vocab_size=300)
    by_id = {token_id: token for token, token_id in byte_level.get_vocab().items()}
    again = TokenizerInfo.from_vocab_and_metadata([by_id[i] for i in range(len(by_id))], info.dump_metadata())
    assert again == info
    assert again.decoded_vocab == info.decoded_vocab


# How a tokenizer prepares text → (vocabulary type, whether a space comes first).
PREPARATIONS = {
    "Llama 2": (lambda t: setattr(t, "normalizer", tokenizers.normalizers.Prepend("\u2581")), True),
    "Gemma": (lambda t: setattr(t, "normalizer", tokenizers.normalizers.Replace(" ", "\u2581")), False),
    "Metaspace first": (lambda t: setattr(t, "pre_tokenizer", tokenizers.pre_tokenizers.Metaspace(prepend_scheme="first")), True),
    "Metaspace never": (lambda t: setattr(t, "pre_tokenizer", tokenizers.pre_tokenizers.Metaspace(prepend_scheme="never")), False),
}


@pytest.mark.parametrize(("prepare", "space"), PREPARATIONS.values(), ids=PREPARATIONS)
def test_byte_fallback(prepare, space):
    vocab = {"<unk>": 0, **{f"<0x{byte:02X}>": byte + 1 for byte in range(256)}, "\u2581": 257, "\u2581a": 258}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [], unk_token="<unk>", byte_fallback=True))
    prepare(tokenizer)
    decoders = tokenizers.decoders
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    info = TokenizerInfo.from_huggingface(transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>"))
    assert (info.vocab_type, info.add_prefix_space) == (VocabType.BYTE_FALLBACK, space)
    assert info.token_texts == (b"", *(bytes([byte]) for byte in range(256)), b" ", b" a")


def test_byte_level_with_a_space_before():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({SPELLING[byte]: byte for byte in range(256)}, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    info = TokenizerInfo.from_huggingface(tokenizer)
    assert (info.vocab_type, info.add_prefix_space) == (VocabType.BYTE_LEVEL, True)


def test_spaces_are_spelled_but_no_bytes():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({"\u2581a": 0, "<0x0A>": 1}, []))
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    info = TokenizerInfo.from_huggingface(tokenizer)
    assert (info.vocab_type, info.token_texts) == (VocabType.BYTE_FALLBACK, (b" a", b"<0x0A>"))


def test_what_cannot_be_read_is_refused():
    with pytest.raises(TokenizerError, match="does not know how this tokenizer spells bytes"):
        TokenizerInfo.from_huggingface(object())
