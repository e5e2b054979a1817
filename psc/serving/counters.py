"""The counters of a service, for a metrics endpoint.

Cost: 0.2 us for a count, under a lock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from psc.support.forks import new_lock

HELP: Final[Mapping[str, str]] = {
    "compilations": "Grammars compiled, by the kind of request.",
    "compile_seconds": "Time spent compiling them.",
    "cache_hits": "Requests whose grammar was compiled already.",
    "artifacts": "Grammars that came closed from an artifact.",
    "validations": "Texts that were read to see whether they are right.",
    "validate_seconds": "Time spent reading them.",
    "validation_hits": "Texts that had been read already.",
    "refused": "Requests that psc refused.",
    "fallbacks": "Requests that psc refused and the engine's own backend took.",
    "refused_tokens": "Tokens that a mask forbids and the engine sampled.",
    "empty_masks": "Masks in which nothing was allowed.",
    "failures": "Requests that failed because a mask could not be made.",
    "masks": "Mask rows filled.",
    "mask_seconds": "Time spent filling them.",
}
"""The counters, with descriptions; each only grows. Those that have no kind count under ``""``."""
WITHOUT_KIND: Final = frozenset(("refused_tokens", "empty_masks", "failures", "masks", "mask_seconds"))
"""Those that have none. They are 0 before anything is counted, so that an alarm on their growth sees the first."""


class Counters:
    """Counts by name and kind of request. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._counts: defaultdict[tuple[str, str], float] = defaultdict(float)

    def add(self, name: str, kind: str = "", amount: float = 1) -> None:
        """Adds to a counter.

        Args:
            name: a key of `HELP`.
            kind: of the request, where there is one.
            amount: how much.
        """
        with self._lock:
            self._counts[name, kind] += amount

    def get(self, name: str, kind: str | None = None) -> float:
        """The value of a counter.

        Args:
            name: a key of `HELP`.
            kind: of the request; None is the sum over all.
        """
        with self._lock:
            return sum(n for (its_name, its_kind), n in self._counts.items() if its_name == name and kind in (None, its_kind))

    def snapshot(self) -> dict[str, float]:
        """All that was counted: ``"compilations.json"`` by name and kind, and ``"masks"`` where there is no kind."""
        with self._lock:
            return {f"{name}.{kind}" if kind else name: n for (name, kind), n in sorted(self._counts.items())}

    def prometheus_text(self) -> str:
        """The same in Prometheus' text format: ``psc_compilations_total{kind="json"} 3``."""
        with self._lock:
            counts = sorted(self._counts.items())
        lines = []
        for name, text in HELP.items():
            of_name = [(kind, n) for (its_name, kind), n in counts if its_name == name]
            if not of_name and name in WITHOUT_KIND:
                of_name = [("", 0.0)]
            if of_name:
                lines += [f"# HELP psc_{name}_total {text}", f"# TYPE psc_{name}_total counter"]
            for kind, n in of_name:
                label = f'{{kind="{kind}"}}' if kind else ""
                lines.append(f"psc_{name}_total{label} {n:.12g}")
        return "".join(f"{line}\n" for line in lines)
