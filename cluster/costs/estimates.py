"""The expected cost of a job: for its position in the queue, and for the memory that is reserved for it.

The best estimate is a measurement. The store has the costs of earlier tasks in ``costs.json``, by grammar (text, imports and
options, for any revision of the compiler) and vocabulary. The same pair is expected to cost the same again. A grammar that was
measured for other vocabularies only is expected to cost the maximum of these; the bundled grammars differ by less than 1.8 between
Llama 3's, Qwen 3's and Gemma 3's.

Without measurements there is a formula over figures available before compiling. One term is the walk over the vocabulary's bytes,
the other the automata of the grammar, which grow with the root of productions times terminals. It is fitted on 31 bundled grammars
and a vocabulary of 200,000 tokens. It is right to a factor of 2.3 for those that take more than three seconds or 100 MB, and of 2.9
for BigQuery. Java and Rust take far less. Grammars of another kind may take more, so twice the estimate and 256 MiB are reserved.

Tried and dropped: productions times terminals without the root, which gives PostgreSQL and Python five to fifteen times too much.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from psc.artifacts.folder import read_whole, write_whole
from psc.artifacts.input_key import input_key
from psc.artifacts.store import Store
from psc.compiler.cfg.grammar import Cfg
from psc.errors import RegistryError, StoreError
from psc.vocabulary.tokenizer_info import TokenizerInfo

SCHEMA = "psc.costs.v1"
_MAX_BYTES = 32 << 20
_MAX_GRAMMARS = 2000

_SECONDS_PER_VOCABULARY_BYTE = 5e-8
_SECONDS_PER_ROOT = 0.011
_BYTES_PER_VOCABULARY_BYTE = 15
_BYTES_PER_ROOT = 600_000

_MIB = 1 << 20
_HEADROOM = {"measured": (1.25, 32 * _MIB), "grammar measured": (1.5, 64 * _MIB), "formula": (2.0, 256 * _MIB)}
"""Per basis, the factor and the addition that make a reservation of an estimate of memory."""


@dataclass(frozen=True)
class Estimate:
    """Seconds on one core, and bytes of memory at the peak, above what a worker has before."""

    seconds: float
    memory_bytes: int
    basis: Literal["measured", "grammar measured", "formula"]

    @property
    def reserve_bytes(self) -> int:
        """The memory to reserve, so that the estimate may have the usual error."""
        factor, more = _HEADROOM[self.basis]
        return int(self.memory_bytes * factor) + more


def cost_key_of(description: Mapping[str, Any]) -> str:
    """The key of a grammar's costs, from its metadata (``describe(...)["grammar"]``)."""
    return input_key(
        compiler_revision=0,
        language=description["language"],
        text_sha256=description["sha256"],
        imports=[(name, sha256) for name, sha256 in description["imports"]],
        start=description["start"],
        lexer=description["lexer"],
        keep_all_actions=description["keep_all_actions"],
        fingerprint="",
        format_version=0,
    )


def by_formula(grammar: Cfg, tokenizer: TokenizerInfo) -> Estimate:
    """The estimate for a grammar that was never compiled before."""
    root = math.sqrt(len(grammar.productions) * len(grammar.terminals))
    vocabulary = len(tokenizer.data)
    return Estimate(
        vocabulary * _SECONDS_PER_VOCABULARY_BYTE + root * _SECONDS_PER_ROOT,
        int(vocabulary * _BYTES_PER_VOCABULARY_BYTE + root * _BYTES_PER_ROOT),
        "formula",
    )


class Costs:
    """The measurements in a store's folder. They are a hint: a missing or damaged file holds none, and a failed write is ignored.

    Args:
        store: its folder has the file.
    """

    def __init__(self, store: Store) -> None:
        self._path = store.root / "costs.json"
        self._measured: dict[str, dict[str, tuple[float, int]]] = {}
        self._changed = False
        with contextlib.suppress(RegistryError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            content = json.loads(read_whole(self._path, _MAX_BYTES) or b"{}")
            if content.get("schema") == SCHEMA:
                self._measured = {
                    str(grammar): {str(k): (float(seconds), int(peak)) for k, (seconds, peak) in costs.items()}
                    for grammar, costs in content["grammars"].items()
                }

    def estimate(self, key: str, grammar: Cfg, tokenizer: TokenizerInfo) -> Estimate:
        """The best estimate available.

        Args:
            key: from `cost_key_of`.
            grammar: parsed.
            tokenizer: the vocabulary.
        """
        measured = self._measured.get(key)
        if not measured:
            return by_formula(grammar, tokenizer)
        if tokenizer.fingerprint in measured:
            return Estimate(*measured[tokenizer.fingerprint], "measured")
        return Estimate(max(s for s, _ in measured.values()), max(m for _, m in measured.values()), "grammar measured")

    def add(self, key: str, fingerprint: str, seconds: float, peak_memory_bytes: int) -> None:
        """Notes a measurement, instead of an older one of the same pair."""
        costs = self._measured.pop(key, {})
        costs[fingerprint] = (round(seconds, 4), peak_memory_bytes)
        self._measured[key] = costs  # at the end, so that the first are those not seen for longest
        self._changed = True

    def save(self) -> None:
        """Writes the file, if anything has changed."""
        if not self._changed:
            return
        newest = dict(list(self._measured.items())[-_MAX_GRAMMARS:])
        with contextlib.suppress(StoreError):
            write_whole(self._path, json.dumps({"schema": SCHEMA, "grammars": newest}, indent=1).encode() + b"\n")
            self._changed = False
