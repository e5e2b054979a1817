"""How Transformers generates: what a processor of logits needs to know and does not see.

`generate` calls a processor with ids and scores alone. Whether the ids are beams, whether they go back when a draft is dropped, is
in the method that called it: a frame of the stack, which has the generation's configuration. It is looked at when a generation
begins, and where something would otherwise be an error.

Continuous batching (`generate_batch`, `cache_implementation="paged"`) takes processors and calls none, so that no grammar would
hold, without an error. So a processor of psc is refused there.

Cost: some microseconds for a look. Where Transformers has other names, nothing is known, and the caller's arguments count.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from psc.adapters.constraints import Hypothesis, Requests
from psc.errors import MatcherError, needs_extra

with needs_extra("transformers"):
    import transformers.generation.utils as _generation

_MODULES: Final = "transformers."
_MAX_FRAMES: Final = 64
NO_BATCHES: Final = (
    "Transformers' continuous batching (generate_batch, cache_implementation='paged') calls no logits_processor, so the grammar "
    "would not hold. Call generate with a batch, or serve the model by vLLM or SGLang, where psc constrains each request"
)


def _callers() -> Iterator[tuple[str, Any]]:
    """The names and variables of Transformers' functions that are running."""
    frame = sys._getframe(1)
    for _ in range(_MAX_FRAMES):
        if str(frame.f_globals.get("__name__", "")).startswith(_MODULES):
            yield frame.f_code.co_name, frame
        if frame.f_back is None:
            return
        frame = frame.f_back


def is_assisted() -> bool:
    """Whether a draft model, or prompt lookup, proposes tokens."""
    return any(name == "_assisted_decoding" for name, _ in _callers())


def has_beams() -> bool:
    """Whether rows are beams."""
    return any(name == "_beam_search" for name, _ in _callers())


def samples_beams() -> bool:
    """Whether beams are sampled: where few tokens are allowed, some then have probability 0."""
    for name, frame in _callers():
        if name == "_beam_search":
            return bool(getattr(frame.f_locals.get("generation_config"), "do_sample", False))
    return False


def refuse_continuous_batching(processor: type) -> None:
    """Makes both ways into continuous batching an error for processors of a class. Doing it again changes nothing."""
    mixin = _generation.GenerationMixin
    for name, concerns in (("generate_batch", lambda _: True), ("generate", _is_paged)):
        original = getattr(mixin, name, None)
        if original is not None and not hasattr(original, "refuses_psc"):
            setattr(mixin, name, _refusing(original, processor, concerns))


def _is_paged(options: dict[str, Any]) -> bool:
    return options.get("cache_implementation") == "paged"


def _refusing(original: Callable[..., Any], processor: type, concerns: Callable[[dict[str, Any]], bool]) -> Callable[..., Any]:
    @functools.wraps(original)
    def refusing(self: Any, *arguments: Any, **options: Any) -> Any:
        given = options.get("logits_processor") or (arguments[2] if len(arguments) > 2 else None)
        if given and concerns(options):
            listed = given if isinstance(given, (list, tuple)) else (given,)
            if any(isinstance(each, processor) for each in listed):
                raise MatcherError(NO_BATCHES)
        return original(self, *arguments, **options)

    refusing.refuses_psc = True  # type: ignore[attr-defined]
    return refusing


def nothing_left(requests: Requests, hypothesis: Hypothesis, row: int) -> str:
    """Why a row has nothing to choose: what the grammar allows there, all of which has a score of minus infinity."""
    allowed = requests.allowed(hypothesis)
    stops = [token for token in allowed if token in requests.stop_token_ids]
    if not allowed:
        return (
            f"row {row}: the grammar allows no token of this vocabulary there, as the vocabulary lacks bytes that the text needs, "
            "or the stop tokens are text that it needs"
        )
    more = f" and {len(allowed) - 5} more" if len(allowed) > 5 else ""
    shown = ", ".join(requests.spelling(token) for token in allowed[:5]) + more
    whose = "the tokens that end the text: " if len(stops) == len(allowed) else ""
    ends = ", ".join(map(str, requests.stop_token_ids[:5]))
    return (
        f"row {row}: nothing is left to choose. The grammar allows only {whose}{shown}; another processor of logits has ruled "
        + ("it" if len(allowed) == 1 else "them")
        + " out. Likely causes: min_new_tokens or min_length, for which the grammar's text is too short; suppress_tokens, "
        "begin_suppress_tokens or bad_words_ids with these tokens; forced_eos_token_id, forced_bos_token_id or an eos_token_id "
        f"other than the grammar's ({ends}), which GrammarLogitsProcessor(..., eos_token_id=...) sets; prefix_allowed_tokens_fn, "
        "or a processor of your own"
    )
