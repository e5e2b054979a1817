"""A fence is the end of a text where the grammar allows an end."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import psc  # noqa: E402
from psc.adapters.transformers import GrammarLogitsProcessor  # noqa: E402
from psc.generation.fences import FenceEnds  # noqa: E402

A, FENCE, LINE_AND_FENCE, TICK, STOP = range(5)
INFO = psc.TokenizerInfo.from_tokens([b"a", b"```", b"\n```java", b"`", b"<end>"], special_token_ids=[STOP], stop_token_ids=[STOP])


def likeliest(scores: Any) -> int:
    return int(scores.argmax())


@pytest.mark.parametrize(("fence", "other"), [(FENCE, LINE_AND_FENCE), (LINE_AND_FENCE, FENCE)])
def test_the_likeliest_fence_is_the_end(fence: int, other: int) -> None:
    scores = torch.zeros(1, 5)
    scores[0, fence], scores[0, A], scores[0, STOP] = 3.0, 2.0, -1.0
    before = scores.clone()
    changed = FenceEnds(INFO)(None, scores)
    assert changed[0].tolist() == [2.0, *[3.0 if t == fence else 0.0 for t in (FENCE, LINE_AND_FENCE)], 0.0, 3.0]
    assert torch.equal(scores, before)
    scores[0, STOP] = 4.0
    assert torch.equal(FenceEnds(INFO)(None, scores), scores)


def test_the_grammar_says_where() -> None:
    held = GrammarLogitsProcessor(psc.GrammarCompiler(INFO, store=False).compile_regex("aa"), tokenizer_info=INFO)
    fences = FenceEnds(INFO)
    scores = torch.tensor([[0.0, 5.0, 1.0, 0.0, -2.0]])
    ids = [STOP]
    drawn = []
    for _ in range(3):
        drawn.append(likeliest(held(torch.tensor([ids]), fences(torch.tensor([ids]), scores))))
        ids.append(drawn[-1])
    assert drawn == [A, A, STOP]
