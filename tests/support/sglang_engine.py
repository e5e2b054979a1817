"""SGLang's own code on a CPU, for the tests of the adapter: what a scheduler has around a grammar backend, and a small tokenizer.

Importing this skips the tests where SGLang cannot be imported. `.ci/engines` says what that needs.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from absent_packages import standing_in
from numpy.typing import NDArray

import psc

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    # These look for Triton and torchvision, and must not find what stands in for them.
    import torch.utils.flop_counter
    import transformers.image_utils
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    with standing_in("triton", "torchvision"), pytest.MonkeyPatch.context() as changes:
        # Releases register models that the transformers here has by now.
        register = type(CONFIG_MAPPING).register
        changes.setattr(type(CONFIG_MAPPING), "register", lambda own, key, value, exist_ok=False: register(own, key, value, True))
        pytest.importorskip("sglang.srt.constrained.xgrammar_backend", exc_type=ImportError)
        import sglang.srt.constrained.grammar_manager
        import sglang.srt.managers.schedule_batch
        import sglang.srt.managers.scheduler_components.batch_result_processor
        import sglang.srt.plugins
        import sglang.srt.sampling.sampling_batch_info
        import sglang.srt.speculative.eagle_utils
        import sglang.srt.speculative.spec_utils
    from sglang.srt import runtime_context
    from sglang.srt.constrained import base_grammar_backend, grammar_manager
    from sglang.srt.managers import schedule_batch
    from sglang.srt.managers.scheduler_components.batch_result_processor import SchedulerBatchResultProcessor

    try:
        from sglang.srt.managers.scheduler_components.internal_state import SchedulerInternalStateController
    except ImportError:  # before 0.5.22
        SchedulerInternalStateController = None

    try:
        from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES
    except ImportError:  # before 0.5.20
        from sglang.srt.server_args import GRAMMAR_BACKEND_CHOICES

    from psc.adapters.sglang.backend import PscGrammarBackend
    from psc.adapters.sglang.seams import SCHEDULER

END, THINK, THINK_END, CALL = "<|end|>", "<think>", "</think>", "<tool_call>"
_WORDS = "true false null 12 345 0.5 - -0 2024 : the cat hello world ab abc ca call root x yes no maybe é 日"
_SPACED = ' |  |\n |": |", |", "| the| cat| world'
_MARKS = '{" ": "," ", "} "a" "b" [] [1 {} }} }, {"name" \\u \\n \\" <call call> </ <tool>'
_PIECES = [*_WORDS.split(), *_SPACED.split("|"), *_MARKS.split()]
VOCAB_SIZE = 352
"""Logits: more than the tokenizer has, as models have."""


@cache
def tokenizer(left_out: str = "") -> Any:
    """All bytes, some longer tokens and four special ones, in GPT-2's spelling; without the characters of `left_out`."""
    spelling = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    pieces = [*alphabet, *(spelling.pre_tokenize_str(p)[0][0] for p in _PIECES)]
    pieces = [p for p in dict.fromkeys(pieces) if not set(p) & set(left_out)]
    made = tokenizers.Tokenizer(tokenizers.models.BPE({piece: i for i, piece in enumerate(pieces)}, []))
    made.pre_tokenizer = spelling
    made.decoder = tokenizers.decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END)
    # As Qwen's have it, the marks of reasoning and calls are added tokens and not special ones.
    fast.add_tokens([transformers.AddedToken(t, special=False) for t in (THINK, THINK_END, CALL)])
    return fast


def token_of(text: str) -> int:
    """The token that is called so."""
    return int(tokenizer().convert_tokens_to_ids(text))


class Unreadable:
    """A tokenizer that nobody can read."""

    eos_token_id = 1


def xgrammars_own() -> type:
    """The engine's XGrammar backend. A name of a module for it would be replaced, too: the engine looks for all its names."""
    return PscGrammarBackend.__bases__[0]


_RANKS = SimpleNamespace(tp_rank=0, pp_rank=0, pp_size=1)


class Scheduler(SimpleNamespace):
    """What the grammar manager asks of a scheduler of one process."""

    def __init__(self, its_tokenizer: Any, think_end_ids: list[int] | None) -> None:
        model = SimpleNamespace(vocab_size=VOCAB_SIZE, hf_eos_token_id={its_tokenizer.eos_token_id}, think_end_ids=think_end_ids)
        group = SimpleNamespace(world_size=1, first_rank=0, is_first_rank=True)
        super().__init__(
            server_args=SimpleNamespace(skip_tokenizer_init=False),
            ps=_RANKS,
            tokenizer=its_tokenizer,
            model_config=model,
            dp_tp_cpu_group=None,
            dp_tp_group=group,
            pp_group=None,
        )


class Engine:
    """A grammar manager with requests, as the scheduler drives it.

    Args:
        backend: the name of the grammar backend.
        serving: what differs from the default arguments of a server.
        its_tokenizer: by default `tokenizer()`.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, backend: str, *, its_tokenizer: Any = None, **serving: Any) -> None:
        arguments = {
            "skip_tokenizer_init": False,
            "reasoning_parser": None,
            "enable_strict_thinking": False,
            "constrained_json_disable_any_whitespace": False,
            "constrained_json_max_whitespace_cnt": None,
            "constrained_json_whitespace_pattern": None,
            **serving,
        }
        bags = {
            "serving": SimpleNamespace(**arguments),
            "exec": SimpleNamespace(kernel=SimpleNamespace(grammar_backend=backend)),
        }
        monkeypatch.setattr(runtime_context.RuntimeContext, "config_bag", lambda self, name: bags[name])
        for module in (grammar_manager, schedule_batch):
            monkeypatch.setattr(module, "get_parallel", lambda: _RANKS, raising=False)  # releases differ in where it is
        its_tokenizer = its_tokenizer or tokenizer()
        ends = [token_of(THINK_END)] if arguments["reasoning_parser"] else None
        self.manager = grammar_manager.GrammarManager(Scheduler(its_tokenizer, ends))
        self._results = object.__new__(SchedulerBatchResultProcessor)

    @property
    def backend(self) -> Any:
        return self.manager.grammar_backend

    def request(self, *, reasoning: bool = False, custom: dict[str, Any] | None = None, **constraint: str) -> Any:
        """A request that has its grammar, or has been aborted for want of one."""
        request = object.__new__(schedule_batch.Req)
        params = {"json_schema": None, "regex": None, "ebnf": None, "structural_tag": None, "ebnf_full_assistant": False}
        request.__dict__.update(
            rid="r",
            sampling_params=SimpleNamespace(**{**params, **constraint}, custom_params=custom),
            origin_input_ids=[0],
            require_reasoning=reasoning,
            grammar=None,
            grammar_key=None,
            grammar_wait_ct=0,
            finished_reason=None,
            to_finish=None,
            multimodal_inputs=None,
            session=None,
        )
        if self.manager.process_req_with_grammar(request):
            while self.manager.has_waiting_grammars():
                self.manager.get_ready_grammar_requests()
        return request

    def mask(self, *requests: Any) -> NDArray[np.bool_]:
        """The rows of a step's batch, of shape (requests, VOCAB_SIZE)."""
        info = SimpleNamespace(
            grammars=[r.grammar for r in requests], vocab_size=VOCAB_SIZE, temperatures=torch.ones(len(requests)), device="cpu"
        )
        sglang.srt.sampling.sampling_batch_info.SamplingBatchInfo.update_regex_vocab_mask(info)
        return bits(info.grammar_mask.vocab_mask)

    def accept(self, request: Any, *tokens: int) -> list[int]:
        """The tokens of a step that the scheduler keeps; the request is aborted where one is refused."""
        return self._results._accept_grammar_tokens(request, list(tokens))


def reporting(monkeypatch: pytest.MonkeyPatch, state: dict[str, Any]) -> Callable[[Any], dict[str, Any]]:
    """How the server learns the state of the scheduler that has a grammar manager; of the engine's own state this is all.

    To be called before the plugin is loaded, as the scheduler's process has imported these modules by then.
    """
    from sglang.srt.managers.io_struct import GetInternalStateReq, GetInternalStateReqOutput

    def get_internal_state(self: Any, recv_req: Any) -> Any:
        return GetInternalStateReqOutput(internal_state=dict(state))

    if SchedulerInternalStateController is not None:
        monkeypatch.setattr(SchedulerInternalStateController, "get_internal_state", get_internal_state)

        def reporter(manager: Any) -> Any:
            return SchedulerInternalStateController(SimpleNamespace(grammar_manager=manager), False)
    else:
        scheduler = type("Scheduler", (SimpleNamespace,), {"get_internal_state": get_internal_state})
        module = ModuleType(SCHEDULER)
        module.Scheduler = scheduler  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, SCHEDULER, module)

        def reporter(manager: Any) -> Any:
            return scheduler(grammar_manager=manager)

    return lambda manager: reporter(manager).get_internal_state(GetInternalStateReq()).internal_state


def bits(mask: Any) -> NDArray[np.bool_]:
    """A mask of words as booleans."""
    return np.unpackbits(mask.numpy().astype("<i4").view(np.uint8), axis=1, bitorder="little")[:, :VOCAB_SIZE].astype(bool)


@cache
def token_bytes() -> tuple[bytes, ...]:
    """What each token of `tokenizer()` stands for; nothing for one that is no text."""
    return psc.TokenizerInfo.from_huggingface(tokenizer(), vocab_size=VOCAB_SIZE).token_texts


@contextmanager
def plugin(switch: str | None = None) -> Iterator[None]:
    """The plugin as SGLang loads it, and SGLang as it was afterwards."""
    from sglang.srt.plugins.hook_registry import HookRegistry

    from psc.adapters import sglang as adapter
    from psc.adapters.sglang import backend, installation

    with pytest.MonkeyPatch.context() as changes:
        changes.delenv(adapter.SWITCH, raising=False)
        if switch is not None:
            changes.setenv(adapter.SWITCH, switch)
        xgrammar_backend = sglang.srt.constrained.xgrammar_backend
        for owner, name in (
            (xgrammar_backend, "XGrammarGrammarBackend"),
            (backend, "XGrammarGrammarBackend"),
            (base_grammar_backend, "create_grammar_backend"),
            (grammar_manager, "create_grammar_backend"),
            (base_grammar_backend.BaseGrammarObject, "fill_vocab_mask_batched"),
            (sglang.srt.speculative.spec_utils, "traverse_tree"),
            *([(SchedulerInternalStateController, "get_internal_state")] if SchedulerInternalStateController else ()),
        ):
            changes.setattr(owner, name, owner.__dict__[name])
        changes.setattr(base_grammar_backend, "GRAMMAR_BACKEND_REGISTRY", {})
        installation._hook_scheduler.cache_clear()
        choices = GRAMMAR_BACKEND_CHOICES
        before = list(choices)
        try:
            adapter.register()
            HookRegistry.apply_hooks()
            yield
        finally:
            choices[:] = before
            HookRegistry.reset()
