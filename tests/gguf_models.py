"""A model of llama.cpp with random weights."""

from pathlib import Path

import numpy as np
from vocabularies import PIECES

TOKENS = [
    "<unk>",
    "<s>",
    "</s>",
    *(f"<0x{b:02X}>" for b in range(256)),
    *dict.fromkeys(["▁", *PIECES, *"abcdefghijklmnopqrstuvwxyz[]"]),
]
EOS = 2
WIDTH = 32
"""Of the model's hidden states."""


def write_model(path: Path) -> None:
    """A Llama of one layer with random weights and a SentencePiece vocabulary, as GGUF."""
    import gguf

    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // 2)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([t.encode() for t in TOKENS])
    writer.add_token_scores([0.0] * len(TOKENS))
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL, *[gguf.TokenType.BYTE] * 256]
    writer.add_token_types([*kinds, *[gguf.TokenType.NORMAL] * (len(TOKENS) - len(kinds))])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(EOS)
    writer.add_unk_token_id(0)
    shapes = {
        "token_embd": (len(TOKENS), WIDTH),
        "output": (len(TOKENS), WIDTH),
        "blk.0.attn_q": (WIDTH, WIDTH),
        "blk.0.attn_k": (WIDTH, WIDTH),
        "blk.0.attn_v": (WIDTH, WIDTH),
        "blk.0.attn_output": (WIDTH, WIDTH),
        "blk.0.ffn_gate": (2 * WIDTH, WIDTH),
        "blk.0.ffn_up": (2 * WIDTH, WIDTH),
        "blk.0.ffn_down": (WIDTH, 2 * WIDTH),
    }
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", (rng.standard_normal(shape) * 0.5).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
