"""The counters of a server, as text for Prometheus."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Metrics:
    """Counters since the server began; changed by its event loop only."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By method and status."""
    refused: Counter[str] = field(default_factory=Counter)
    """Pushes, by cause."""
    sent_bytes: int = 0
    received_bytes: int = 0
    in_flight: int = 0
    began: float = field(default_factory=time.monotonic)

    def text(self, *, n_references: int, n_blobs: int, blob_bytes: int) -> str:
        """The page for Prometheus.

        Args:
            n_references: in the registry now.
            n_blobs: in the registry now.
            blob_bytes: which all blobs take together.
        """
        lines: list[str] = []

        def metric(name: str, kind: str, what: str, samples: list[tuple[str, float]]) -> None:
            lines.append(f"# HELP psc_registry_{name} {what}")
            lines.append(f"# TYPE psc_registry_{name} {kind}")
            lines.extend(f"psc_registry_{name}{labels} {value:.15g}" for labels, value in samples)

        by_status = [(f'{{method="{m}",status="{s}"}}', float(n)) for (m, s), n in sorted(self.requests.items())]
        metric("requests_total", "counter", "Requests answered.", by_status)
        by_cause = [(f'{{cause="{cause}"}}', float(n)) for cause, n in sorted(self.refused.items())]
        metric("pushes_refused_total", "counter", "Pushes refused.", by_cause)
        metric("sent_bytes_total", "counter", "Bytes of bodies sent.", [("", self.sent_bytes)])
        metric("received_bytes_total", "counter", "Bytes of bodies received.", [("", self.received_bytes)])
        metric("requests_in_flight", "gauge", "Requests being answered.", [("", self.in_flight)])
        metric("references", "gauge", "References in the registry.", [("", n_references)])
        metric("blobs", "gauge", "Artifacts in the registry.", [("", n_blobs)])
        metric("blob_bytes", "gauge", "Bytes of all artifacts in the registry.", [("", blob_bytes)])
        metric("uptime_seconds", "gauge", "Since the server began.", [("", time.monotonic() - self.began)])
        return "\n".join(lines) + "\n"
