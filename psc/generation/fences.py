"""The fence that closes a code block, as the end of the text: see `psc.generation.instructions`.

The stop tokens get the logit of the likeliest token that begins a fence. The grammar's mask comes afterwards: where the text may
not end yet, it refuses both. Cost: some 20 us a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psc.generation.instructions import FENCE

if TYPE_CHECKING:
    from psc.vocabulary.tokenizer_info import TokenizerInfo


class FenceEnds:
    """A processor of logits, before that of the grammar."""

    def __init__(self, info: TokenizerInfo) -> None:
        fence = FENCE.encode()
        self._stop = list(info.stop_token_ids)
        self._fences = [i for i in range(info.vocab_size) if info.token_bytes(i).lstrip(b"\r\n").startswith(fence)]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if self._stop and self._fences:
            changed = scores.clone()
            changed[:, self._stop] = scores[:, self._stop].maximum(scores[:, self._fences].amax(dim=1, keepdim=True))
            return changed
        return scores
