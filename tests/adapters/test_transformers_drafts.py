"""Forced tokens as drafts in Transformers: the same text in fewer forward passes, with a model of random weights."""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("tokenizers")
from small_models import small_llama  # noqa: E402
from trained_tokenizers import tool_call, trained  # noqa: E402

import psc  # noqa: E402
from psc.adapters.transformers import GrammarLogitsProcessor  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Lisbon", "Lima", "the city"]},
        "name": {"type": "string", "maxLength": 6},
        "ok": {"type": "boolean"},
    },
    "required": ["city", "name", "ok"],
    "additionalProperties": False,
}
TOOL = tool_call(SCHEMA)
MAKES = ["GPT-2", "Llama 3", "Llama 2", "added text"]


@cache
def compiled(make: str, kind: str) -> psc.CompiledGrammar:
    compiler = psc.GrammarCompiler(trained(make)[1])
    if kind == "tool call":
        return compiler.compile_structural_tag(json.dumps(TOOL))
    return compiler.compile_json_schema(json.dumps(SCHEMA), any_whitespace=False)


@cache
def model(make: str) -> Any:
    info = trained(make)[1]
    return small_llama(info.vocab_size + 30, info.stop_token_ids)


@contextmanager
def passes(of: Any) -> Iterator[list[int]]:
    """How many tokens the model reads in each forward pass."""
    seen: list[int] = []
    handle = of.register_forward_pre_hook(lambda _, __, inputs: seen.append(inputs["input_ids"].shape[1]), with_kwargs=True)
    try:
        yield seen
    finally:
        handle.remove()


def text(make: str, processor: Any, seed: int = 0, **options: Any) -> tuple[list[int], int]:
    """The tokens of a text, and how many forward passes they took."""
    torch.manual_seed(seed)
    prompt = torch.randint(50, 250, (1, 5), generator=torch.Generator().manual_seed(seed))
    with passes(model(make)) as seen:
        out = model(make).generate(
            input_ids=prompt,
            attention_mask=torch.ones_like(prompt),
            logits_processor=[processor],
            **{"do_sample": False, "max_new_tokens": 60, **options},
        )
    return out[0, 5:].tolist(), len(seen)


@pytest.mark.parametrize("kind", ["schema", "tool call"])
@pytest.mark.parametrize("make", MAKES)
def test_the_likeliest_text_is_the_same(make: str, kind: str) -> None:
    grammar = compiled(make, kind)
    alone, drafting = GrammarLogitsProcessor(grammar), GrammarLogitsProcessor(grammar, drafts="forced")
    both = GrammarLogitsProcessor(grammar, drafts="forced or prompt")
    fewer = 0
    for seed in range(5):
        want, n = text(make, alone, seed)
        got, n_with = text(make, drafting, seed, prompt_lookup_num_tokens=1)
        assert got == want
        assert n_with <= n
        fewer += n - n_with
        assert text(make, both, seed, prompt_lookup_num_tokens=4)[0] == want
    assert fewer > 0


@pytest.mark.parametrize("kind", ["schema", "tool call"])
def test_sampled_texts_are_inside_the_grammar(kind: str) -> None:
    grammar, info = compiled("Llama 3", kind), trained("Llama 3")[1]
    different = set()
    for seed in range(8):
        processor = GrammarLogitsProcessor(grammar, drafts="forced")
        tokens, _ = text("Llama 3", processor, seed, do_sample=True, temperature=2.0, prompt_lookup_num_tokens=1)
        matcher = psc.GrammarMatcher(grammar)
        assert matcher.accept_tokens(tokens) == len(tokens)
        assert matcher.is_terminated() == (tokens[-1] in info.stop_token_ids)
        different.add(tuple(tokens))
    assert len(different) > 4


def test_a_text_of_one_way_takes_two_passes() -> None:
    tokenizer, info = trained("GPT-2")
    wanted = "the city's name"
    grammar = psc.GrammarCompiler(info).compile_grammar(f'root ::= "{wanted}"')
    tokens = tokenizer.encode(wanted).ids
    processor = GrammarLogitsProcessor(grammar, drafts="forced")
    got, n = text("GPT-2", processor, prompt_lookup_num_tokens=1)
    if got[:-1] == tokens:  # else the model cuts the text in its own way, which random weights do
        assert n <= 2
    assert b"".join(info.token_texts[t] for t in got[:-1]) == wanted.encode()
    assert processor.likely_tokens(torch.tensor([[1, 2, 3]])) == tokens


def test_without_the_mode_or_without_drafts_nothing_changes() -> None:
    grammar = compiled("GPT-2", "schema")
    want, n = text("GPT-2", GrammarLogitsProcessor(grammar))
    assert text("GPT-2", GrammarLogitsProcessor(grammar, drafts="forced")) == (want, n)
    assert text("GPT-2", GrammarLogitsProcessor(grammar), prompt_lookup_num_tokens=3)[0] == want
    for other in (copy.copy, copy.deepcopy):
        processor = other(GrammarLogitsProcessor(grammar, drafts="forced"))
        assert text("GPT-2", processor, prompt_lookup_num_tokens=1)[1] < n


def test_a_tokenizer_that_is_given_and_the_end_of_room() -> None:
    tokenizer, info = trained("GPT-2")
    plain = psc.TokenizerInfo.from_arrays(info.to_arrays())
    grammar = psc.GrammarCompiler(plain).compile_json_schema(json.dumps(SCHEMA), any_whitespace=False)
    want, n = text("GPT-2", GrammarLogitsProcessor(grammar))
    assert text("GPT-2", GrammarLogitsProcessor(grammar, drafts="forced"), prompt_lookup_num_tokens=1)[0] == want
    given = GrammarLogitsProcessor(grammar, drafts="forced", encode=lambda text: tokenizer.encode(text).ids)
    assert text("GPT-2", given, prompt_lookup_num_tokens=1)[1] < n
    for room in (1, 2, 3, 5):
        assert text("GPT-2", given, prompt_lookup_num_tokens=1, max_new_tokens=room)[0] == want[:room]


def test_another_word_is_refused() -> None:
    with pytest.raises(psc.MatcherError, match="'forced or prompt' or None"):
        GrammarLogitsProcessor(compiled("GPT-2", "schema"), drafts="all")  # type: ignore[arg-type]
