"""The common part of adapters of serving engines: the grammars of requests, by kind and text, for one vocabulary.

`service.py` compiles, validates, counts and decides what goes to the engine's own backend. `options.py` is how an operator says
what is wanted. An adapter of an engine (`psc.adapters.vllm`, `psc.adapters.sglang`) is the thin rest.
"""

from __future__ import annotations

from psc.serving.kinds import Kind
from psc.serving.options import OptionError, ServiceOptions
from psc.serving.service import GrammarService
from psc.serving.validation import REFUSALS

__all__ = ["REFUSALS", "GrammarService", "Kind", "OptionError", "ServiceOptions"]
