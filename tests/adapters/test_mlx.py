"""The adapter for MLX: mlx_lm's own generation loops with a random model, where they are installed; else arrays by hand."""

import re
from typing import Any

import numpy as np
import pytest
from constrained_texts import LIST, SUM, text_of
from vocabularies import byte_tokenizer

try:
    import mlx.core as mx
except ImportError as e:  # mlx without a backend cannot be imported either
    pytest.skip(f"mlx: {e}", allow_module_level=True)

import psc
from psc.adapters.mlx import GrammarLogitsProcessor
from psc.decoding import DeferredGrammar

INFO = byte_tokenizer()
STOP = INFO.stop_token_ids[0]
WIDTH = INFO.vocab_size + 7
COMPILER = psc.GrammarCompiler(INFO)
PATTERNS = {LIST: rb"\[[a-z]{1,8}(,[a-z]{1,8}){0,3}\]", SUM: rb"[1-9][0-9]{0,3}( \+ [1-9][0-9]{0,3}){1,4} = \?"}


@pytest.fixture(scope="module")
def model() -> Any:
    return random_model(0)


def random_model(seed: int) -> Any:
    llama = pytest.importorskip("mlx_lm.models.llama")
    mx.random.seed(seed)
    arguments = llama.ModelArgs(
        model_type="llama",
        hidden_size=16,
        num_hidden_layers=1,
        intermediate_size=32,
        num_attention_heads=2,
        rms_norm_eps=1e-5,
        vocab_size=WIDTH,
        tie_word_embeddings=True,
    )
    made = llama.Model(arguments)
    made.model.embed_tokens.weight = made.model.embed_tokens.weight * 10
    mx.eval(made.parameters())
    return made


def generated(steps: Any) -> list[int]:
    tokens: list[int] = []
    for token, *_ in steps:
        tokens.append(int(token))
        if token == STOP:
            break
    return tokens


def run(model: Any, processor: Any, prompt: list[int], **options: Any) -> list[int]:
    generate = pytest.importorskip("mlx_lm.generate")
    return generated(generate.generate_step(mx.array(prompt), model, logits_processors=[processor], max_tokens=60, **options))


@pytest.mark.parametrize("grammar", PATTERNS)
def test_every_generation_is_a_sentence(model: Any, grammar: str) -> None:
    sample = pytest.importorskip("mlx_lm.sample_utils")
    processor = GrammarLogitsProcessor(COMPILER.compile_grammar(grammar))
    for sampler in (None, sample.make_sampler(temp=1.5)):
        for prompt in ([1, 2, 3], [4, 5], [6]):
            text, ended = text_of(INFO, run(model, processor, prompt, sampler=sampler))
            assert ended
            assert re.fullmatch(PATTERNS[grammar], text)


def test_a_draft_model(model: Any) -> None:
    generate = pytest.importorskip("mlx_lm.generate")
    compiled = COMPILER.compile_grammar(LIST)
    alone = run(model, GrammarLogitsProcessor(compiled), [1, 2, 3])
    for seed in (0, 1):
        processor = GrammarLogitsProcessor(compiled, assisted=True)
        steps = generate.speculative_generate_step(
            mx.array([1, 2, 3]), model, random_model(seed), num_draft_tokens=3, logits_processors=[processor], max_tokens=60
        )
        assert generated(steps) == alone


def test_a_batch(model: Any) -> None:
    """A grammar for each sequence and none for the last; sequences come and go."""
    generate = pytest.importorskip("mlx_lm.generate")
    prompts = [[1, 2, 3], [4, 5], [6, 7, 8, 9], [3]]
    grammars = [LIST, SUM, LIST, None]
    processors = [[GrammarLogitsProcessor(COMPILER.compile_grammar(g))] if g else [] for g in grammars]
    batch = generate.BatchGenerator(model, stop_tokens=[[STOP]], completion_batch_size=2, prefill_batch_size=2)
    rows: dict[int, list[int]] = {uid: [] for uid in batch.insert(prompts, [60] * 4, logits_processors=processors)}
    while responses := batch.next_generated():
        for response in responses:
            rows[response.uid].append(int(response.token))
    batch.close()
    for tokens, grammar, processor, prompt in zip(rows.values(), grammars, processors, prompts, strict=True):
        if grammar:
            text, ended = text_of(INFO, tokens)
            assert ended and re.fullmatch(PATTERNS[grammar], text)
            assert tokens == run(model, processor[0], prompt)


def test_one_processor_for_a_batch(model: Any) -> None:
    """`batch_generate` has no other way: the texts would be each other's."""
    generate = pytest.importorskip("mlx_lm.generate")
    batch = generate.BatchGenerator(
        model, stop_tokens=[[STOP]], logits_processors=[GrammarLogitsProcessor(COMPILER.compile_grammar(LIST))]
    )
    batch.insert([[1, 2, 3], [4, 5]], [60] * 2)
    with pytest.raises(psc.MatcherError, match="two generations at once"):
        while batch.next_generated():
            pass


def test_deferred(model: Any) -> None:
    generate = pytest.importorskip("mlx_lm.generate")
    free = [int(t) for t, _ in generate.generate_step(mx.array([1, 2]), model, max_tokens=5)]
    row = run(model, GrammarLogitsProcessor(DeferredGrammar(COMPILER.compile_grammar(SUM), free[1:3])), [1, 2])
    begin = next(n for n in range(2, 4) if free[n - 2 : n] == free[1:3])
    assert row[:begin] == free[:begin]
    assert re.fullmatch(PATTERNS[SUM], text_of(INFO, row[begin:])[0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1, WIDTH), (WIDTH,)])
def test_the_mask_by_hand(dtype: str, shape: tuple[int, ...]) -> None:
    processor = GrammarLogitsProcessor(COMPILER.compile_grammar(SUM))
    logits = mx.zeros(shape, dtype=getattr(mx, dtype))
    out = processor(mx.array([5, 6]), logits)
    assert out.shape == shape
    assert out.dtype == logits.dtype
    allowed = np.flatnonzero(np.isfinite(np.array(out.astype(mx.float32))).reshape(-1))
    assert {INFO.token_bytes(int(t))[:1] for t in allowed} == {bytes([d]) for d in b"123456789"}
    assert bool(mx.isfinite(logits).all())


@pytest.mark.parametrize(
    ("tokens", "logits", "message"),
    [
        (mx.array([1]), mx.zeros((1, 10)), "10 wide"),
        (mx.array([1]), mx.zeros((2, WIDTH)), "shape"),
        (mx.array([1]), mx.zeros((1, WIDTH), dtype=mx.int32), "floating"),
        (mx.array([1]), np.zeros((1, WIDTH)), "mlx array"),
        ([1], mx.zeros((1, WIDTH)), "mlx array"),
    ],
)
def test_bad_arguments(tokens: Any, logits: Any, message: str) -> None:
    with pytest.raises(psc.PscError, match=message):
        GrammarLogitsProcessor(COMPILER.compile_grammar(SUM))(tokens, logits)
