"""Puts psc where SGLang looks for grammar backends, by SGLang's registries of backends and hooks.

Everything but the names is done in the processes that make a backend, which are the schedulers.
"""

from __future__ import annotations

import logging
import pkgutil
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, register_grammar_backend
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
from sglang.srt.constrained.xgrammar_backend import TokenizerNotSupportedError
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.plugins.hook_registry import HookRegistry, HookType
from sglang.srt.runtime_context import get_serving

from psc._version import __version__
from psc.adapters.seams import NotAtWorkError, Seam, broken_seams
from psc.adapters.sglang import ADD, NAME, SWITCH
from psc.adapters.sglang.backend import PscGrammarBackend
from psc.adapters.sglang.masks import fill_vocab_mask_batched, traverse_tree
from psc.adapters.sglang.reasoning import begin_with_reasoning
from psc.adapters.sglang.seams import BASE, CHOICE_SEAMS, DRAFT_SEAM, SCHEDULER, SCHEDULER_STATE_SEAM, STATE_SEAM, XGRAMMAR
from psc.adapters.switches import REQUIRE, mode_of

_log = logging.getLogger("psc.adapters.sglang")


def install(*, replace: bool) -> None:
    """Registers the grammar backend; the engine applies the hooks when all its plugins are loaded.

    Args:
        replace: whether psc also replaces the backend ``xgrammar``.
    """
    register_grammar_backend(NAME, make_backend)
    _add_choice()
    if replace:
        HookRegistry.register(f"{XGRAMMAR}.XGrammarGrammarBackend", PscGrammarBackend, HookType.REPLACE)
    HookRegistry.register(f"{BASE}.create_grammar_backend", create_backend, HookType.AROUND)
    # Where the scheduler reports by a method of its own it takes that method before it makes a backend: then it is hooked here, in
    # the scheduler's process, which has loaded that module.
    if SCHEDULER in sys.modules and broken_seams([STATE_SEAM]):
        _hook(SCHEDULER_STATE_SEAM, report_counters)


def _add_choice() -> None:
    """Has the command line take the backend's name."""
    seam = next((s for s in CHOICE_SEAMS if not broken_seams([s])), None)
    if seam is None:
        _log.warning("--grammar-backend %s is not taken: none of %s", NAME, ", ".join(s.path for s in CHOICE_SEAMS))
    else:
        pkgutil.resolve_name(seam.path)([NAME])


def _hook(seam: Seam, hook: Callable[..., Any]) -> None:
    """Puts a function around the engine's, where this release has it."""
    if problems := broken_seams([seam]):
        _log.warning("psc goes without the hook %s: %s", hook.__name__, problems[0])
    else:
        HookRegistry.register(seam.path.replace(":", "."), hook, HookType.AROUND)


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
            getattr(serving, "constrained_json_max_whitespace_cnt", None),
        )
    except TokenizerNotSupportedError as e:
        raise ValueError(f"--grammar-backend {NAME}: {e}") from e
    if serving.reasoning_parser:
        parser = _reasoning_parser(tokenizer)
        # As the engine does: without an end token, the grammar constrains from the first token on.
        if _think_end_ids(parser.detector, tokenizer):
            return ReasonerGrammarBackend(backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking)
    return backend


def _reasoning_parser(tokenizer: Any) -> ReasoningParser:
    return ReasoningParser(model_type=get_serving().reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)


def _think_end_ids(detector: Any, tokenizer: Any) -> Any:
    """The tokens that end the model's reasoning, as the engine finds them."""
    if hasattr(detector, "get_think_end_token_ids"):
        return detector.get_think_end_token_ids(tokenizer)
    return tokenizer.encode(detector.think_end_token, add_special_tokens=False)


def create_backend(
    original: Callable[..., BaseGrammarBackend | None], server_args: Any, tokenizer: Any, *args: Any, **kwargs: Any
) -> Any:
    """Around the engine's ``create_grammar_backend``: where it made psc's backend, the rest of the engine gets it, too.

    Raises:
        NotAtWorkError: it made another one, or none, and the engine is to start with psc only.
    """
    made: Any = original(server_args, tokenizer, *args, **kwargs)
    wrapped = isinstance(made, ReasonerGrammarBackend)
    backend = made.grammar_backend if wrapped else made
    if isinstance(backend, PscGrammarBackend):
        if wrapped:  # its own are the ones that are used
            made.cache, made.executor = backend.cache, backend.executor
            begin_with_reasoning(made, _reasoning_parser(tokenizer).detector, tokenizer)
        _hook_scheduler()
        # Not where the plugin is loaded: the engine says later where its processes log.
        _log.info("psc %s serves structured outputs in the place of XGrammar; %s=0 switches it off", __version__, SWITCH)
    elif mode_of(SWITCH, ADD) == REQUIRE:
        raise NotAtWorkError(
            f"{SWITCH}={REQUIRE}, and the grammar backend of this server is {type(backend).__name__} and not psc: start it with "
            f"--grammar-backend xgrammar or {NAME} and a tokenizer that psc reads, or with {SWITCH}=1"
        )
    return made


def report_counters(original: Callable[..., Any], reporter: Any, recv_req: Any) -> Any:
    """Around the report of its state, of the scheduler or of what does that for it: adds psc's counters, as ``psc``."""
    made = original(reporter, recv_req)
    scheduler = reporter if hasattr(reporter, "grammar_manager") else reporter.scheduler
    backend = scheduler.grammar_manager.grammar_backend
    backend = backend.grammar_backend if isinstance(backend, ReasonerGrammarBackend) else backend
    if isinstance(backend, PscGrammarBackend):
        made.internal_state["psc"] = backend.service.snapshot()
    return made


@cache
def _hook_scheduler() -> None:
    """Masks of a batch in one call, also through the wrapper for reasoning; masks along drafts in one walk; psc's counters."""
    HookRegistry.register(f"{BASE}.BaseGrammarObject.fill_vocab_mask_batched", fill_vocab_mask_batched, HookType.AROUND)
    _hook(DRAFT_SEAM, traverse_tree)
    if not broken_seams([STATE_SEAM]):
        _hook(STATE_SEAM, report_counters)
    HookRegistry.apply_hooks()
