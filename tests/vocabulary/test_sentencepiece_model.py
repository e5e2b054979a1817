"""SentencePiece models, against the sentencepiece library's decoder."""

import codecs
import io
import random

import pytest

from psc.errors import TokenizerError
from psc.vocabulary.sentencepiece_model import read_sentencepiece_model

sentencepiece = pytest.importorskip("sentencepiece")

CORPUS = [
    "the quick brown fox jumps over the lazy dog",
    "pack my box with five dozen liquor jugs",
    "Größe naïve façade 你好世界 привет мир",
    "for (int i = 0; i < n; ++i) { sum += a[i]; }",
] * 20


def train(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=model, hard_vocab_limit=False, minloglevel=2, **options
    )
    return model.getvalue()


MODELS = {
    "bpe with bytes": {
        "model_type": "bpe",
        "vocab_size": 400,
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "user_defined_symbols": ["<think>", "\u2581\u2581", "\t"],
        "control_symbols": ["[INST]"],
        "character_coverage": 0.98,
    },
    "unigram": {"model_type": "unigram", "vocab_size": 120, "add_dummy_prefix": False},
    "char": {"model_type": "char", "vocab_size": 80},
    "other names": {"model_type": "bpe", "vocab_size": 120, "eos_piece": "<end>", "pad_id": 3},
}


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def pair(request):
    content = train(**request.param)
    processor = sentencepiece.SentencePieceProcessor(model_proto=content)
    return processor, read_sentencepiece_model(content, "tokenizer.model")


def test_random_sequences_decode_alike(pair):
    """After a first token that is no space, so that the dropped dummy prefix does not matter."""
    processor, vocabulary = pair
    assert len(vocabulary.tokens) == processor.vocab_size()
    text_ids = [i for i, token in enumerate(vocabulary.tokens) if token]
    first = next(i for i in text_ids if vocabulary.tokens[i] == b"o")
    rng = random.Random(1)
    for ids in [[i] for i in text_ids] + [rng.choices(text_ids, k=rng.randrange(2, 12)) for _ in range(2000)]:
        expected = b"o" + b"".join(vocabulary.tokens[i] for i in ids)
        assert processor.decode([first, *ids]) == expected.decode("utf-8", "one for each byte")


codecs.register_error("one for each byte", lambda error: ("\ufffd" * (error.end - error.start), error.end))


def test_special_pieces(pair):
    processor, vocabulary = pair
    for i in range(processor.vocab_size()):
        assert (i in vocabulary.special) == (processor.is_control(i) or processor.is_unknown(i))
        assert (vocabulary.tokens[i] == b"") == (i in vocabulary.special)
    assert vocabulary.stop == (processor.eos_id(),)


def test_texts_come_back():
    content = train(**MODELS["bpe with bytes"])
    processor = sentencepiece.SentencePieceProcessor(model_proto=content)
    vocabulary = read_sentencepiece_model(content, "x")
    for text in (*CORPUS[:4], "  two  spaces ", "tab\tand\nline", "∀🙂\x7f", "<think>"):
        assert b"".join(vocabulary.tokens[i] for i in processor.encode(text)) == b" " + text.encode()


def test_truncated_models_are_refused():
    """Or nothing that matters was cut off: a message may end after any field."""
    content = train(**MODELS["char"])
    whole = read_sentencepiece_model(content, "x.model")
    refused = 0
    ends = [*range(1, 200), *range(200, len(content) - 200, 97), *range(len(content) - 200, len(content))]
    for end in ends:
        try:
            assert read_sentencepiece_model(content[:end], "x.model") == whole
        except TokenizerError as error:
            assert "x.model: not a SentencePiece model, or a truncated one" in str(error)
            refused += 1
    assert refused > 0.9 * len(ends)


def message(*fields):
    """A protobuf message of length-delimited fields and numbers, for models that the trainer does not make."""
    result = b""
    for number, value in fields:
        if isinstance(value, bytes):
            result += bytes((number << 3 | 2, len(value))) + value
        else:
            result += bytes((number << 3, value))
    return result


def model(*pieces, rest=((2, b""), (3, b""))):
    return message(*((1, message((1, piece), (3, kind))) for piece, kind in pieces), *rest)


def test_hand_made_model():
    content = model((b"<unk>", 2), (b"</s>", 3), (b"\xe2\x96\x81a", 1), (b"<0xE2>", 6), (b"<0x41>", 1), (b"b", 5))
    vocabulary = read_sentencepiece_model(content, "x")
    assert vocabulary.tokens == [b"", b"", b" a", b"\xe2", b"<0x41>", b"b"]  # a normal piece is what it says
    assert (vocabulary.special, vocabulary.stop) == ({0: "<unk>", 1: "</s>"}, (1,))


REFUSED = {
    "piece twice": (model((b"a", 1), (b"a", 1)), "occurs twice"),
    "byte spelt wrong": (model((b"<0xZZ>", 6)), "is a byte but spelt"),
    "unknown type": (model((b"a", 9)), "piece of type 9"),
    "empty piece": (model((b"", 1)), "a piece without text"),
    "no specifications": (model((b"a", 1), rest=()), "trainer_spec or normalizer_spec missing"),
    "denormalizer": (model((b"a", 1), rest=((2, b""), (3, b""), (5, message((2, b"map"))))), "denormalizer_spec"),
    "group": (b"\x0b", "wire type 3"),
    "number for a piece": (b"\x08\x01", "a number where bytes were expected"),
    "endless number": (b"\x0a" + b"\xff" * 12, "unfinished number"),
}


@pytest.mark.parametrize(("content", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(content, reason):
    with pytest.raises(TokenizerError, match=reason) as caught:
        read_sentencepiece_model(content, "dir/tokenizer.model")
    assert str(caught.value).startswith("dir/tokenizer.model")
