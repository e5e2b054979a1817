"""Drafts of grammars in vLLM: the tokens that a request's grammar leaves replace those that a proposer drafted.

vLLM verifies drafts where it speculates (`--speculative-config`); n-grams of the prompt need no draft model. After each step the
scheduler gets new drafts and cuts them by the grammar. With the option `forced_drafts` psc then looks at each request. If its
grammar leaves one way, but for white space, psc replaces its drafts by these tokens, at most as many as vLLM speculates. Every mask
allows them and the sampler verifies them, so texts do not change.

With asynchronous scheduling drafts stay on the device, and vLLM does not ask: nothing is proposed then. `--no-async-scheduling` is
for that. A request that reasons has its grammar's drafts once that has ended.

Cost: of a request and step that of `GrammarMatcher.find_likely_tokens`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Final

from psc.adapters.seams import Seam, broken_seams
from psc.adapters.vllm.configuration import options_of
from psc.adapters.vllm.grammar import PscGrammar
from psc.adapters.vllm.masks import constrains_always
from psc.serving.options import ServiceOptions

_log = logging.getLogger("psc.adapters.vllm")
_SEAMS: Final = (
    Seam("vllm.v1.core.sched.scheduler:Scheduler.update_draft_token_ids", ("self", "draft_token_ids"), by_position=True),
)


def propose_drafts(options: ServiceOptions, vllm_config: Any) -> None:
    """Has vLLM's scheduler ask grammars for drafts, if the options say so. Called again, nothing changes."""
    if not options.forced_drafts:
        return
    if not vllm_config.num_speculative_tokens:
        _log.warning("forced_drafts needs speculation, such as --speculative-config '%s'", _EXAMPLE)
        return
    if missing := broken_seams(_SEAMS):
        _log.warning("forced_drafts does nothing in this vLLM: %s", "; ".join(missing))
        return
    from vllm.v1.core.sched.scheduler import Scheduler

    original = Scheduler.update_draft_token_ids
    if not hasattr(original, "asks_psc"):
        Scheduler.update_draft_token_ids = _asking(original)


_EXAMPLE: Final = '{"method": "ngram", "num_speculative_tokens": 8, "prompt_lookup_max": 4}'


def _asking(original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    @functools.wraps(original)
    def update_draft_token_ids(self: Any, draft_token_ids: Any) -> None:
        original(self, draft_token_ids)
        options = options_of(self.vllm_config)
        if options is not None and options.forced_drafts:
            for request_id in draft_token_ids.req_ids:
                _propose(self, self.requests.get(request_id))

    update_draft_token_ids.asks_psc = True  # type: ignore[attr-defined]
    return update_draft_token_ids


def _propose(scheduler: Any, request: Any) -> None:
    """Sets a request's drafts to what its grammar makes likely, if anything."""
    if request is None or request.is_finished() or request.is_prefill_chunk or not request.use_structured_output:
        return
    asked = request.structured_output_request
    grammar = asked.grammar
    if not isinstance(grammar, PscGrammar) or grammar.terminated or grammar.failed or grammar.reasons:
        return
    if not asked.reasoning_ended and not constrains_always(scheduler.structured_output_manager):
        return
    try:
        tokens = grammar.matcher.find_likely_tokens()
    except Exception as e:  # without drafts the text is the same
        _log.warning("no drafts of grammar %r: %s", grammar.matcher.compiled.place, e)
        return
    if tokens:
        request.spec_token_ids = tokens[: scheduler.vllm_config.num_speculative_tokens]
