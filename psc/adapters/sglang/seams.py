"""The seams of SGLang: the names that psc calls, replaces or derives from, and whether this SGLang has them.

The plugin interface is SGLang's own; the classes behind it move with its releases.
"""

from __future__ import annotations

import logging
from typing import Final

from psc.adapters.seams import Seam, broken_seams, warn_of_another_release

TESTED_FROM: Final = "0.5.18"
TESTED_TO: Final = "0.5.23"
"""The first and the last release of SGLang that psc was tested with."""

BASE: Final = "sglang.srt.constrained.base_grammar_backend"
XGRAMMAR: Final = "sglang.srt.constrained.xgrammar_backend"
_REASONER: Final = "sglang.srt.constrained.reasoner_grammar_backend"
_HOOKS: Final = "sglang.srt.plugins.hook_registry"
_log = logging.getLogger("psc.adapters.sglang")

SEAMS: Final = (
    Seam(f"{BASE}:create_grammar_backend", ("server_args", "tokenizer", "vocab_size", "eos_token_ids", "think_end_ids")),
    Seam(f"{BASE}:register_grammar_backend", ("name", "init_func")),
    Seam("sglang.srt.runtime_context:get_serving"),
    Seam(f"{_HOOKS}:HookRegistry.register", ("target", "hook", "hook_type")),
    Seam(f"{_HOOKS}:HookType.REPLACE"),
    Seam(f"{_HOOKS}:HookType.AROUND"),
    Seam(f"{BASE}:BaseGrammarObject.fill_vocab_mask_batched", ("entries", "vocab_mask")),
    Seam(f"{BASE}:BaseGrammarBackend.get_cached_or_future_value", ("key", "require_reasoning")),
    Seam(f"{BASE}:InvalidGrammarObject", ("error_message",)),
    Seam(f"{BASE}:GrammarStats", ("dispatch_type", "is_cache_hit", "tree_traversal_time")),
    Seam(f"{XGRAMMAR}:XGrammarGrammar", ("matcher", "vocab_size", "ctx", "override_stop_tokens", "key_string", "grammar_stats")),
    Seam(f"{XGRAMMAR}:XGrammarGrammarBackend", ("tokenizer", "vocab_size", "model_eos_token_ids", "any_whitespace")),
    Seam(f"{XGRAMMAR}:XGrammarGrammarBackend.set_token_filter", ("vocab_mask", "token_ids", "batch_idx", "is_allowed")),
    Seam(f"{XGRAMMAR}:XGrammarGrammarBackend._sanitize_structural_format", ("structural_format",)),
    Seam(f"{XGRAMMAR}:TokenizerNotSupportedError"),
    Seam(f"{_REASONER}:ReasonerGrammarObject", ("grammar", "think_end_ids")),
    Seam(f"{_REASONER}:ReasonerGrammarBackend", ("grammar_backend", "reasoning_parser", "tokenizer", "enable_strict_thinking")),
)
"""The seams that psc relies on. What some of the tested releases lack is used where it is there."""

CHOICE_SEAMS: Final = (
    Seam("sglang.srt.arg_groups.choices:add_grammar_backend_choices"),
    Seam("sglang.srt.server_args:add_grammar_backend_choices"),
)
"""Where releases have the function by which the argument ``--grammar-backend psc`` is taken."""

DRAFT_SEAM: Final = Seam(
    "sglang.srt.speculative.spec_utils:traverse_tree",
    ("retrieve_next_token", "retrieve_next_sibling", "draft_tokens", "grammar", "allocate_token_bitmask", "vocab_size"),
)
"""The seam that psc can do without: masks along drafts."""

REASONING_SEAMS: Final = (
    Seam(f"{_REASONER}:ReasonerGrammarBackend._make_grammar_object", ("self", "grammar", "reasoning"), by_position=True),
    Seam(f"{_REASONER}:ReasonerGrammarObject._is_thinking"),
    Seam(f"{_REASONER}:ReasonerGrammarObject.transfer_state", ("self", "token"), by_position=True),
    Seam(f"{_REASONER}:ReasonerGrammarObject.rollback", ("self", "k"), by_position=True),
    Seam(f"{_REASONER}:ReasonerGrammarObject.fill_vocab_mask", ("self", "vocab_mask", "idx"), by_position=True),
)
"""A seam, too: masks while the model reasons."""

STATE_SEAM: Final = Seam(
    "sglang.srt.managers.scheduler_components.internal_state:SchedulerInternalStateController.get_internal_state", ("recv_req",)
)
"""A seam, too: the server's ``/server_info``, for psc's counters."""

SCHEDULER: Final = "sglang.srt.managers.scheduler"
SCHEDULER_STATE_SEAM: Final = Seam(f"{SCHEDULER}:Scheduler.get_internal_state", ("recv_req",))
"""What releases have in its place."""


def fits() -> bool:
    """Whether this SGLang has all seams that psc needs; the log names those that are missing."""
    warn_of_another_release("sglang", TESTED_FROM, TESTED_TO, _log)
    problems = broken_seams(SEAMS)
    if problems:
        _log.error("psc is not at work in SGLang, which is as it was: %s", "; ".join(problems))
    return not problems
