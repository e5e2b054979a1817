"""Tekken files: special ids first, the list cut to the size that the configuration names."""

import base64

import pytest

from psc.errors import TokenizerError
from psc.vocabulary.tekken import read_tekken


def entry(rank, token):
    return {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}


def document(**changes):
    return {
        "config": {"pattern": ".", "default_vocab_size": 7, "default_num_special_tokens": 4, "version": "v3"},
        "vocab": [entry(0, b"a"), entry(1, b"\xff"), entry(2, b"ab"), entry(3, b"left out")],
        **changes,
    }


def config(size, special):
    return {"default_vocab_size": size, "default_num_special_tokens": special}


def test_older_files_name_no_special_tokens():
    vocabulary = read_tekken(document(), "x")
    assert vocabulary.tokens == [b"", b"", b"", b"", b"a", b"\xff", b"ab"]
    assert vocabulary.special == {0: "<unk>", 1: "<s>", 2: "</s>", 3: "<SPECIAL_3>"}
    assert vocabulary.stop == (2,)


def test_newer_files_do():
    special = [{"rank": 1, "token_str": "</s>", "is_control": True}, {"rank": 3, "token_str": "[INST]"}]
    vocabulary = read_tekken(document(special_tokens=special), "x")
    assert vocabulary.special == {0: "<SPECIAL_0>", 1: "</s>", 2: "<SPECIAL_2>", 3: "[INST]"}
    assert vocabulary.stop == (1,)


REFUSED = {
    "no config": (document(config=None), "'config' or 'vocab' is missing"),
    "no size": (document(config={}), "default_vocab_size: None cannot be"),
    "size too large": (document(config=config(9, 4)), "needs 5 entries in 'vocab', which has 4"),
    "only special": (document(config=config(4, 4)), "needs 0 entries"),
    "bad base64": (document(vocab=[{"rank": 0, "token_bytes": "?"}] * 3), "not base64"),
    "no bytes": (document(vocab=[{"rank": 0}] * 3), "'token_bytes' of rank 0 is missing"),
    "no rank": (document(vocab=[{}] * 3), "None cannot be a token id"),
    "no entry": (document(vocab=[1] * 3), "an entry of 'vocab' is '1'"),
    "rank twice": (document(vocab=[entry(0, b"a")] * 3), "are not 0 to 2"),
    "rank too large": (document(vocab=[entry(i, b"a") for i in (0, 1, 3)]), "are not 0 to 2"),
    "special beyond": (document(special_tokens=[{"rank": 4, "token_str": "x"}]), "taken or not below 4"),
    "special twice": (document(special_tokens=[{"rank": 0, "token_str": "x"}] * 2), "taken or not below 4"),
    "special no name": (document(special_tokens=[{"rank": 0}]), "has no 'token_str'"),
    "special no list": (document(special_tokens={}), "must be a list"),
}


@pytest.mark.parametrize(("file", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(file, message):
    with pytest.raises(TokenizerError, match=message) as caught:
        read_tekken(file, "dir/tekken.json")
    assert str(caught.value).startswith("dir/tekken.json")


def test_against_mistral_common():
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    base = pytest.importorskip("mistral_common.tokens.tokenizers.base")
    from psc.vocabulary import load_tokenizer
    from psc.vocabulary.names import find_name

    info = load_tokenizer("tekken")
    entry = find_name("tekken")
    library = tekken.Tekkenizer.from_file(entry.path)
    ignore = base.SpecialTokenPolicy.IGNORE
    assert library.n_words == info.vocab_size
    assert [library.id_to_byte_piece(i, ignore) for i in range(info.vocab_size)] == list(info.token_texts)
