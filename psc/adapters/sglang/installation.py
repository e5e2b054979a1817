"""Puts psc where SGLang looks for grammar backends, by SGLang's registries of backends and hooks.

Everything but the names is done in the processes that make a backend, which are the schedulers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from sglang.srt.arg_groups.choices import add_grammar_backend_choices
from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, register_grammar_backend
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
from sglang.srt.constrained.xgrammar_backend import TokenizerNotSupportedError
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.plugins.hook_registry import HookRegistry, HookType
from sglang.srt.runtime_context import get_serving

from psc._version import __version__
from psc.adapters.seams import broken_seams
from psc.adapters.sglang import NAME, SWITCH
from psc.adapters.sglang.backend import PscGrammarBackend
from psc.adapters.sglang.masks import fill_vocab_mask_batched, traverse_tree
from psc.adapters.sglang.seams import BASE, DRAFT_SEAM, STATE_SEAM, XGRAMMAR

_log = logging.getLogger("psc.adapters.sglang")


def install(*, replace: bool) -> None:
    """Registers the grammar backend; the engine applies the hooks when all its plugins are loaded.

    Args:
        replace: whether psc also replaces the backend ``xgrammar``.
    """
    register_grammar_backend(NAME, make_backend)
    add_grammar_backend_choices([NAME])
    if replace:
        HookRegistry.register(f"{XGRAMMAR}.XGrammarGrammarBackend", PscGrammarBackend, HookType.REPLACE)
    HookRegistry.register(f"{BASE}.create_grammar_backend", create_backend, HookType.AROUND)


def make_backend(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None) -> BaseGrammarBackend:
    """The backend ``psc``, as the engine's registry makes it: in the wrapper for reasoning, where there is a parser.

    Raises:
        ValueError: psc cannot read the tokenizer. The server does not start: nobody else would take its requests.
    """
    serving = get_serving()
    try:
        backend = PscGrammarBackend(
            tokenizer,
            vocab_size,
            list(eos_token_ids) if eos_token_ids else None,
            not serving.constrained_json_disable_any_whitespace,
            serving.constrained_json_max_whitespace_cnt,
        )
    except TokenizerNotSupportedError as e:
        raise ValueError(f"--grammar-backend {NAME}: {e}") from e
    if serving.reasoning_parser:
        parser = ReasoningParser(model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
        # As the engine does: without an end token, the grammar constrains from the first token on.
        if parser.detector.get_think_end_token_ids(tokenizer):
            return ReasonerGrammarBackend(backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking)
    return backend


def create_backend(original: Callable[..., BaseGrammarBackend | None], *args: Any, **kwargs: Any) -> Any:
    """Around the engine's ``create_grammar_backend``: where it made psc's backend, the rest of the engine gets it, too."""
    made: Any = original(*args, **kwargs)
    wrapped = isinstance(made, ReasonerGrammarBackend)
    backend = made.grammar_backend if wrapped else made
    if isinstance(backend, PscGrammarBackend):
        if wrapped:  # its own are the ones that are used
            made.cache, made.executor = backend.cache, backend.executor
        _hook_scheduler()
        # Not where the plugin is loaded: the engine says later where its processes log.
        _log.info("psc %s serves structured outputs in the place of XGrammar; %s=0 switches it off", __version__, SWITCH)
    return made


def report_counters(original: Callable[..., Any], controller: Any, recv_req: Any) -> Any:
    """Around the scheduler's report of its state: adds psc's counters, as ``psc``."""
    made = original(controller, recv_req)
    backend = controller.scheduler.grammar_manager.grammar_backend
    backend = backend.grammar_backend if isinstance(backend, ReasonerGrammarBackend) else backend
    if isinstance(backend, PscGrammarBackend):
        made.internal_state["psc"] = backend.service.snapshot()
    return made


@cache
def _hook_scheduler() -> None:
    """Masks of a batch in one call, also through the wrapper for reasoning; masks along drafts in one walk; psc's counters."""
    HookRegistry.register(f"{BASE}.BaseGrammarObject.fill_vocab_mask_batched", fill_vocab_mask_batched, HookType.AROUND)
    for seam, hook in ((DRAFT_SEAM, traverse_tree), (STATE_SEAM, report_counters)):
        if problems := broken_seams([seam]):
            _log.warning("psc goes without the hook %s: %s", hook.__name__, problems[0])
        else:
            HookRegistry.register(seam.path.replace(":", "."), hook, HookType.AROUND)
    HookRegistry.apply_hooks()
