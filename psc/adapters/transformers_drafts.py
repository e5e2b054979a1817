"""Forced text as drafts in Transformers' assisted generation: no draft model, one forward pass for several tokens.

`generate(prompt_lookup_num_tokens=…)` looks for candidates in the prompt, and verifies them. Where a processor of psc says so, the
candidates are the tokens that its grammar leaves, but for white space; where there are none, those from the prompt, or none. The
model chooses each token under its mask as always, and a candidate stays where it is what was chosen: the text is as without.

Transformers has no place for candidates of others, so the method that makes them is wrapped. It is left as it is where no processor
of the generation asks for drafts.

Cost: that of `GrammarMatcher.find_likely_tokens` for each forward pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from psc.errors import needs_extra

with needs_extra("transformers"):
    import torch
    import transformers.generation.utils as _generation

_MOST: Final = 64
"""Tokens in one forward pass, which takes longer the more they are."""


class Drafting(Protocol):
    """A processor of logits that may know what comes next."""

    drafts: str | None
    """None: it is not asked. "forced": what it knows, and nothing else. "forced or prompt": else what is found in the prompt."""

    def likely_tokens(self, input_ids: torch.LongTensor) -> list[int]:
        """What probably follows the ids, whatever the model is."""
        ...


class GrammarCandidates:
    """What `generate` calls a candidate generator.

    Args:
        processor: which knows what is likely.
        otherwise: gives candidates where it knows nothing; None: there are none.
        max_length: of prompt and text.
    """

    requires_model_outputs = False

    def __init__(self, processor: Drafting, otherwise: Any, max_length: int | None) -> None:
        self._processor, self._otherwise, self._max_length = processor, otherwise, max_length

    def get_candidates(self, input_ids: torch.LongTensor, **more: Any) -> tuple[Any, Any]:
        """The ids and candidates after them."""
        room = _MOST if self._max_length is None else min(_MOST, self._max_length - input_ids.shape[1] - 1)
        tokens = self._processor.likely_tokens(input_ids)[: max(room, 0)]
        if tokens:
            return torch.cat((input_ids, input_ids.new_tensor([tokens])), dim=1), None
        return (input_ids, None) if self._otherwise is None else self._otherwise.get_candidates(input_ids, **more)

    def update_candidate_strategy(self, input_ids: Any, scores: Any, num_matches: int) -> None:
        """Learns nothing of how many were right."""


def propose_drafts(processor: type[Drafting]) -> None:
    """Has `generate` ask processors of a class for candidates. Doing it again changes nothing."""
    mixin = _generation.GenerationMixin
    original = getattr(mixin, "_get_candidate_generator", None)
    if original is not None and not hasattr(original, "asks_psc"):
        mixin._get_candidate_generator = _asking(original, processor)


def _asking(original: Callable[..., Any], processor: type[Drafting]) -> Callable[..., Any]:
    @functools.wraps(original)
    def asking(self: Any, *arguments: Any, **options: Any) -> Any:
        made = original(self, *arguments, **options)
        processors: Iterable[Any] = options.get("logits_processor") or ()
        drafting = next((each for each in processors if isinstance(each, processor) and each.drafts is not None), None)
        if drafting is None or type(made).__name__ != "PromptLookupCandidateGenerator":
            return made
        return GrammarCandidates(drafting, made if drafting.drafts == "forced or prompt" else None, made.max_length)

    asking.asks_psc = True  # type: ignore[attr-defined]
    return asking
