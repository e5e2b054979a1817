"""Models of llama.cpp with random weights."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gguf_bytes import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from vocabularies import PIECES

from psc.vocabulary.spelling import byte_level_alphabet

LETTERS = "abcdefghijklmnopqrstuvwxyz[]"
TOKENS = [
    "<unk>",
    "<s>",
    "</s>",
    *(f"<0x{b:02X}>" for b in range(256)),
    *dict.fromkeys(["▁", *PIECES, *LETTERS]),
]
EOS = 2
WIDTH = 32
"""Of the model's hidden states."""

_CHARACTERS = {byte: character for character, byte in byte_level_alphabet().items()}

Vocabulary = Sequence[tuple[str, int]]


def sentencepiece_vocabulary() -> Vocabulary:
    """`TOKENS`, with their types."""
    return [(t, UNKNOWN if i == 0 else CONTROL if i < 3 else BYTE if i < 259 else NORMAL) for i, t in enumerate(TOKENS)]


def byte_level_vocabulary(n_tokens: int) -> Vocabulary:
    """As of Qwen: text from 0 on, then what ends a text, markers that are text, and tokens that fill it up to a size."""
    spelled = dict.fromkeys("".join(_CHARACTERS[byte] for byte in p.replace("▁", " ").encode()) for p in PIECES)
    text = [*_CHARACTERS.values(), *(token for token in spelled if len(token) > 1)]
    tokens = [(token, NORMAL) for token in text]
    tokens += [("<|endoftext|>", CONTROL), ("<|im_start|>", CONTROL), ("<|im_end|>", CONTROL)]
    tokens += [("<tool_call>", USER_DEFINED), ("</tool_call>", USER_DEFINED)]
    return [*tokens, *((f"[PAD{i}]", UNUSED) for i in range(len(tokens), n_tokens))]


def harmony_vocabulary() -> Vocabulary:
    """As of gpt-oss."""
    names = ("start", "end", "message", "channel", "constrain", "return", "call")
    return [*byte_level_vocabulary(0)[:-5], *((f"<|{name}|>", CONTROL) for name in names)]


def write_model(path: Path, vocabulary: Vocabulary | None = None, *, end: str = "</s>", tied: bool = False) -> None:
    """A Llama of one layer with random weights, as GGUF.

    Args:
        path: of the file.
        vocabulary: tokens with their types, SentencePiece's with `<s>`, else byte-level; by default `sentencepiece_vocabulary`.
        end: the token that ends a text.
        tied: whether the embeddings are the head, too.
    """
    import gguf

    vocabulary = sentencepiece_vocabulary() if vocabulary is None else vocabulary
    tokens = [token for token, _ in vocabulary]
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // 2)
    writer.add_vocab_size(len(tokens))
    writer.add_token_list([t.encode() for t in tokens])
    writer.add_token_types([kind for _, kind in vocabulary])
    writer.add_eos_token_id(tokens.index(end))
    if "<s>" in tokens:
        writer.add_tokenizer_model("llama")
        writer.add_token_scores([0.0] * len(tokens))
        writer.add_bos_token_id(tokens.index("<s>"))
        writer.add_unk_token_id(0)
    else:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("qwen2")
        writer.add_token_merges(["t h", "th e"])
        writer.add_add_bos_token(False)
    shapes = {
        "token_embd": (len(tokens), WIDTH),
        "output": (len(tokens), WIDTH),
        "blk.0.attn_q": (WIDTH, WIDTH),
        "blk.0.attn_k": (WIDTH, WIDTH),
        "blk.0.attn_v": (WIDTH, WIDTH),
        "blk.0.attn_output": (WIDTH, WIDTH),
        "blk.0.ffn_gate": (2 * WIDTH, WIDTH),
        "blk.0.ffn_up": (2 * WIDTH, WIDTH),
        "blk.0.ffn_down": (WIDTH, 2 * WIDTH),
    }
    if tied:
        del shapes["output"]
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", (rng.standard_normal(shape) * 0.5).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
