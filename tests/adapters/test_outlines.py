"""psc's processors as the processors of Outlines' generators, with its own classes and small random models of three libraries."""

import json
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from small_models import save_small_llama, small_llama

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    outlines = pytest.importorskip("outlines", exc_type=ImportError)

import psc  # noqa: E402
from psc.adapters.transformers import GrammarLogitsProcessor  # noqa: E402

SPELLING = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
PIECES = [*sorted(SPELLING.alphabet()), '{"', '":', "true", "ab"]
WIDTH = 288


@cache
def model() -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE({piece: i for i, piece in enumerate(PIECES)}, []))
    made.pre_tokenizer, made.decoder = SPELLING, tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", pad_token="<|pad|>")
    llama = small_llama(WIDTH, [tokenizer.eos_token_id], pad_token_id=tokenizer.pad_token_id)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outlines.from_transformers(llama, tokenizer)


def processor(grammar: str) -> GrammarLogitsProcessor:
    wrapped = model()
    info = psc.TokenizerInfo.from_huggingface(wrapped.hf_tokenizer, vocab_size=WIDTH)
    return GrammarLogitsProcessor(psc.GrammarCompiler(info, store=False).compile_grammar(grammar))


@pytest.mark.filterwarnings("ignore")  # Outlines' and Transformers' own
def test_a_generator_with_pscs_processor() -> None:
    generate = outlines.Generator(model(), processor=processor('root ::= "{\\"ab\\":" ("true" | "[]") "}"'))
    for prompt in ("a", "a longer prompt", "a"):  # `reset` comes before each
        assert json.loads(generate(prompt, max_new_tokens=40)) in ({"ab": True}, {"ab": []})


@pytest.mark.filterwarnings("ignore")
def test_a_batch_of_prompts() -> None:
    generate = outlines.Generator(model(), processor=processor('root ::= "ab" [0-9]{2}'))
    texts = generate.batch(["first", "second, longer"], max_new_tokens=40)
    assert len(texts) == 2
    assert all(len(text) == 4 and text.startswith("ab") and text[2:].isdigit() for text in texts)


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_llama_cpp(tmp_path: Path) -> None:
    llama_cpp = pytest.importorskip("llama_cpp")
    pytest.importorskip("gguf")
    from gguf_models import byte_level_vocabulary, write_model

    from psc.adapters import llama_cpp as adapter

    write_model(tmp_path / "m.gguf", byte_level_vocabulary(448), end="<|im_end|>")
    llama = llama_cpp.Llama(str(tmp_path / "m.gguf"), n_ctx=256, verbose=False)
    compiled = psc.GrammarCompiler(adapter.tokenizer_info(llama), store=False).compile_regex("[0-9]{3}")
    ready = adapter.GrammarLogitsProcessor(compiled)
    generate = outlines.Generator(outlines.from_llamacpp(llama), processor=ready)
    for prompt in ("a", "a longer prompt", "a"):
        assert re.fullmatch("[0-9]{3}", generate(prompt, max_tokens=40))
        assert ready.error is None
    assert re.fullmatch("[0-9]{3}", "".join(generate.stream("a", max_tokens=40)))
    llama.close()


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_mlx(tmp_path: Path) -> None:
    try:
        import mlx.core  # noqa: F401
    except ImportError as e:  # mlx without a backend cannot be imported either
        pytest.skip(f"mlx: {e}")
    mlx_lm = pytest.importorskip("mlx_lm")

    from psc.adapters import mlx as adapter

    loaded, tokenizer = mlx_lm.load(str(save_small_llama(tmp_path / "model", "text")))
    stop = sorted(tokenizer.eos_token_ids)
    info = psc.TokenizerInfo.from_huggingface(tokenizer._tokenizer, vocab_size=loaded.args.vocab_size, stop_token_ids=stop)
    compiled = psc.GrammarCompiler(info, store=False).compile_regex("[0-9]{3}")
    ready = adapter.GrammarLogitsProcessor(compiled)
    generate = outlines.Generator(outlines.from_mlxlm(loaded, tokenizer), processor=ready)
    for prompt in ("a", "a longer prompt", "a"):
        assert re.fullmatch("[0-9]{3}", generate(prompt, max_tokens=40))
