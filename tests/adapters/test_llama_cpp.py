"""The adapter for llama.cpp: a real `Llama` whose weights are random, and llama-cpp-python's lists of processors.

The model is written with the package gguf; without that, what runs are the real lists of processors and criteria.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from constrained_texts import LIST, SUM, closing_bias, text_of
from gguf_models import EOS, TOKENS, write_model

llama_cpp = pytest.importorskip("llama_cpp")

import psc  # noqa: E402
from psc.adapters.llama_cpp import GrammarLogitsProcessor, tokenizer_info  # noqa: E402
from psc.decoding import DeferredGrammar  # noqa: E402


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("gguf")
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    write_model(path)
    model = llama_cpp.Llama(str(path), n_ctx=256, n_threads=1, n_threads_batch=1, verbose=False, seed=3)
    yield model
    model.close()


@pytest.fixture(scope="module")
def info(llama: Any) -> psc.TokenizerInfo:
    return tokenizer_info(llama)


@pytest.fixture(scope="module")
def compiler(info: psc.TokenizerInfo) -> psc.GrammarCompiler:
    return psc.GrammarCompiler(info)


def generate(
    llama: Any, processor: Any, prompt: tuple[int, ...] = (1, 300, 310), *, n: int = 60, before: Any = (), **options: Any
) -> list[int]:
    tokens: list[int] = []
    criteria = llama_cpp.StoppingCriteriaList([processor.stop_on_error])
    processors = llama_cpp.LogitsProcessorList([*before, processor])
    for token in llama.generate(list(prompt), logits_processor=processors, stopping_criteria=criteria, **options):
        tokens.append(token)
        if token == EOS or len(tokens) == n:
            break
    return tokens


def test_the_models_vocabulary(info: psc.TokenizerInfo) -> None:
    assert info.vocab_size == len(TOKENS)
    assert info.stop_token_ids == [EOS]
    assert info.special_token_ids == [0, 1, 2]
    assert [info.token_bytes(3 + b) for b in range(256)] == [bytes([b]) for b in range(256)]
    for token in range(259, len(TOKENS)):
        assert info.token_bytes(token) == TOKENS[token].replace("▁", " ").encode()


@pytest.mark.parametrize("temperature", [0.0, 1.5])
@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [(LIST, rb"\[[a-z]{1,8}(,[a-z]{1,8}){0,3}\]"), (SUM, rb"[1-9][0-9]{0,3}( \+ [1-9][0-9]{0,3}){1,4} = \?")],
)
def test_every_generation_is_a_sentence(
    llama: Any, info: psc.TokenizerInfo, compiler: psc.GrammarCompiler, grammar: str, pattern: bytes, temperature: float
) -> None:
    processor = GrammarLogitsProcessor(compiler.compile_grammar(grammar))
    for prompt in ((1, 300), (1, 301, 302, 303), (1, 300)):
        tokens = generate(llama, processor, prompt, temp=temperature)
        text, ended = text_of(info, tokens)
        assert ended
        assert re.fullmatch(pattern, text)


def test_json_as_a_completion(llama: Any, info: psc.TokenizerInfo, compiler: psc.GrammarCompiler) -> None:
    bias = closing_bias(info, info.vocab_size)

    def closing(input_ids: Any, scores: Any) -> Any:
        return scores + bias * (len(input_ids) / 10)

    processor = GrammarLogitsProcessor(compiler.compile_builtin_json_grammar())
    processors = llama_cpp.LogitsProcessorList([closing, processor])
    for seed in range(3):
        processor.reset()
        out = llama.create_completion("a b", logits_processor=processors, max_tokens=120, seed=seed, temperature=1.0)
        assert out["choices"][0]["finish_reason"] == "stop"
        json.loads(out["choices"][0]["text"])


def test_deferred(llama: Any, info: psc.TokenizerInfo, compiler: psc.GrammarCompiler) -> None:
    free = [t for t, _ in zip(llama.generate([1, 300], temp=0.0), range(5), strict=False)]
    processor = GrammarLogitsProcessor(DeferredGrammar(compiler.compile_grammar(SUM), free[1:4]))
    tokens = generate(llama, processor, (1, 300), temp=0.0)
    assert tokens[:4] == free[:4]
    assert re.fullmatch(rb"[1-9][0-9]{0,3}( \+ [1-9][0-9]{0,3}){1,4} = \?", text_of(info, tokens[4:])[0])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_errors_reach_the_caller(llama: Any, compiler: psc.GrammarCompiler) -> None:
    """A processor behind ours lets through what is masked; in C the exception would be lost."""

    def spoil(input_ids: Any, scores: Any) -> Any:
        if len(input_ids) == 2:
            scores[TOKENS.index("class")] = 100.0
        return scores

    processor = GrammarLogitsProcessor(compiler.compile_grammar(SUM))
    processors = llama_cpp.LogitsProcessorList([processor, spoil])
    criteria = llama_cpp.StoppingCriteriaList([processor.stop_on_error])
    with pytest.raises(psc.MatcherError, match="does not allow it"):
        for _ in zip(
            range(5), llama.generate([1, 300], logits_processor=processors, stopping_criteria=criteria, temp=0.0), strict=False
        ):
            pass
    assert processor.error is None
    assert text_of(compiler.tokenizer_info, generate(llama, processor, (1, 300)))[1]


def by_hand(compiled: Any) -> tuple[GrammarLogitsProcessor, Any]:
    processor = GrammarLogitsProcessor(compiled)
    return processor, llama_cpp.LogitsProcessorList([processor])


@pytest.fixture(scope="module")
def small() -> Any:
    tokens = [b"<s>", *(bytes([b]) for b in range(32, 127))]
    info = psc.TokenizerInfo.from_tokens(tokens, special_token_ids=[0], stop_token_ids=[0])
    return psc.GrammarCompiler(info).compile_grammar(LIST)


def ids_of(text: str) -> Any:
    return np.array([1 + ord(c) - 32 for c in text], np.intc)


def test_scores_are_masked_where_they_are(small: Any) -> None:
    processor, processors = by_hand(small)
    spread = np.zeros((100, 3), np.single)  # llama.cpp's logits stand among ids and probabilities
    scores = spread[:, 1]
    assert processors(ids_of("prompt"), scores) is scores
    assert np.flatnonzero(np.isfinite(scores)).tolist() == ids_of("[").tolist()
    assert not spread[:, [0, 2]].any()
    scores[:] = 0
    processors(ids_of("prompt["), scores)
    assert np.flatnonzero(np.isfinite(scores)).tolist() == ids_of("abcdefghijklmnopqrstuvwxyz").tolist()
    assert processor.error is None


def test_ids_that_are_not_those_sampled_after(small: Any) -> None:
    _, processors = by_hand(small)
    scores = np.zeros(96, np.single)
    processors(ids_of("prompt"), scores)
    with pytest.raises(psc.MatcherError, match=r"grew by 3.*reset\(\)"):
        processors(ids_of("prompt[ab"), scores)
    assert np.flatnonzero(np.isfinite(scores)).tolist() == [0]


def test_a_new_prompt_begins_a_new_text(small: Any) -> None:
    processor, processors = by_hand(small)
    scores = np.zeros(96, np.single)
    for ids in ("prompt", "prompt[", "prompt[a", "other", "other["):
        scores[:] = 0
        processors(ids_of(ids), scores)
    assert np.isfinite(scores).sum() == 26
    processor.reset()
    scores[:] = 0
    processors(ids_of("other[["), scores)
    assert np.isfinite(scores).sum() == 1


@pytest.mark.parametrize(
    ("ids", "scores", "message"),
    [
        (np.zeros(3, np.intc), np.zeros(90, np.single), "90 wide"),
        (np.zeros(3, np.intc), np.zeros((1, 96), np.single), "one dimension"),
        (np.zeros(3, np.intc), np.zeros(96, np.intc), "floating"),
        (np.zeros(3), np.zeros(96, np.single), "integers"),
        ([0, 0], np.zeros(96, np.single), "NumPy array"),
    ],
)
def test_bad_arguments(small: Any, ids: Any, scores: Any, message: str) -> None:
    with pytest.raises(psc.PscError, match=message):
        GrammarLogitsProcessor(small)(ids, scores)
