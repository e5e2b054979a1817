"""llguidance and XGrammar as processors of Transformers' logits, for `quality.py`; no benchmark of its own.

Each gets the grammar in its own language, and masks as its own bindings write them.
"""

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import torch
from transformers import LogitsProcessor

import psc
from psc.bench.end_to_end.grammars import LANGUAGES as WITH_COMMON_GRAMMAR
from psc.bench.end_to_end.workloads import constraints_of
from psc.bench.engines import STEP_MAX_ITEMS, llguidance_tokenizer, xgrammar_compiler
from psc.bench.texts import encoder

Row = torch.Tensor
"""Words of a mask, int32."""
NewMatcher = Callable[[], tuple[Callable[[Row], object], Callable[[int], object]]]
"""From nothing to a new text: what writes its mask, and what takes its next token."""


class MaskedBy(LogitsProcessor):  # type: ignore[misc]  # the package is not typed
    """Masks the logits of a batch by matchers of one engine."""

    def __init__(self, new: NewMatcher, rows: int, info: psc.TokenizerInfo) -> None:
        self._matchers: Final = [new() for _ in range(rows)]
        self._ended = [False] * rows
        self._stop: Final = frozenset(info.stop_token_ids)
        self._masks: Final = torch.zeros((rows, (info.vocab_size + 31) // 32), dtype=torch.int32)
        self._has_begun = False

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        last = input_ids[:, -1].tolist()
        for row, (write, take) in enumerate(self._matchers):
            if self._has_begun and not self._ended[row]:
                self._ended[row] = last[row] in self._stop
                if not self._ended[row] and take(last[row]) is False:
                    raise RuntimeError(f"token {last[row]} is refused, though the mask had it")
            if self._ended[row]:
                self._masks[row] = -1
            else:
                write(self._masks[row])
        self._has_begun = True
        bits = (self._masks.unsqueeze(-1) >> torch.arange(32, dtype=torch.int32)) & 1
        allowed = bits.flatten(1)[:, : scores.shape[1]].bool()
        if allowed.shape[1] < scores.shape[1]:  # padding of the output layer
            allowed = torch.nn.functional.pad(allowed, (0, scores.shape[1] - allowed.shape[1]))
        return scores.masked_fill(~allowed, -torch.inf)


def peers_of(what: str, schema: Mapping[str, Any], spec: str, info: psc.TokenizerInfo) -> dict[str, NewMatcher]:
    """Each engine that is installed and has a grammar for this, by its name.

    Args:
        what: "json", or a language.
        schema: of the JSON.
        spec: the model's tokenizer, as `psc.load_tokenizer` takes it.
        info: the same, loaded.
    """
    if what != "json" and what not in WITH_COMMON_GRAMMAR:
        return {}
    constraints = {} if what == "json" else constraints_of(what)
    found = {}
    for name, make in (("llguidance", _llguidance), ("xgrammar", _xgrammar)):
        try:
            import_module(name)
        except ImportError:
            continue
        key = "guidance" if name == "llguidance" else name
        found[name] = make(json.dumps(schema) if what == "json" else "", constraints.get(key, {}).get("grammar", ""), spec, info)
    return found


def _llguidance(schema: str, grammar: str, spec: str, info: psc.TokenizerInfo) -> NewMatcher:
    llguidance: Any = import_module("llguidance")
    tokenizer = llguidance_tokenizer(info, encoder(spec, info)[1])
    of = llguidance.LLMatcher
    source = of.grammar_from_json_schema(schema) if schema else of.grammar_from_lark(grammar)
    limits = llguidance.LLParserLimits(step_max_items=STEP_MAX_ITEMS)

    def new() -> tuple[Callable[[Row], object], Callable[[int], object]]:
        matcher = of(tokenizer, source, log_level=0, limits=limits)
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        return lambda row: matcher.unsafe_compute_mask_ptr(row.data_ptr(), row.numel() * 4), matcher.consume_token

    return new


def _xgrammar(schema: str, grammar: str, spec: str, info: psc.TokenizerInfo) -> NewMatcher:
    xgrammar: Any = import_module("xgrammar")
    compiler = xgrammar_compiler(info)
    compiled = compiler.compile_json_schema(schema) if schema else compiler.compile_grammar(grammar)

    def new() -> tuple[Callable[[Row], object], Callable[[int], object]]:
        matcher = xgrammar.GrammarMatcher(compiled)
        return lambda row: matcher.fill_next_token_bitmask(row.unsqueeze(0)), matcher.accept_token

    return new
