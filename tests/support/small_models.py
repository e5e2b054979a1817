"""Transformers' models with random weights, a few kilobytes of them."""

from pathlib import Path
from typing import Any


def small_llama(vocab_size: int, stop_token_ids: list[int], *, pad_token_id: int | None = None) -> Any:
    """A Llama of one layer whose distributions are peaked, so that greedy texts do not depend on rounding."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        initializer_range=1.0,
        bos_token_id=None,
        eos_token_id=stop_token_ids,
        pad_token_id=stop_token_ids[0] if pad_token_id is None else pad_token_id,
    )
    return transformers.LlamaForCausalLM(config).eval()


def save_small_llama(folder: Path, text: str, *, chat_template: str | None = None) -> Path:
    """A folder with such a model and a byte-level BPE tokenizer that was trained on a text."""
    import tokenizers
    import transformers

    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    special = ["<|end|>", "<tool_call>", "</tool_call>"]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    inner.train_from_iterator([text], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>")
    tokenizer.chat_template = chat_template
    tokenizer.save_pretrained(folder)
    small_llama(512, [0]).save_pretrained(folder)
    return folder
