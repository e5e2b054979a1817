"""Counters of a server, in the text format that Prometheus reads."""

import threading
from collections import defaultdict

_HELP = {
    "requests_total": "Requests that were answered, by path and status; 499: the client had gone.",
    "running": "Requests that are being answered.",
    "compilations_total": "Grammars that requests asked for, by kind and whether there was one.",
    "compile_seconds_total": "Time until these grammars were there.",
    "generated_tokens_total": "Tokens, those that end texts among them.",
    "tool_calls_total": "Calls of tools that were written.",
}


class Metrics:
    """Counters by name and labels. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: defaultdict[tuple[str, tuple[tuple[str, str], ...]], float] = defaultdict(float)

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Adds to a counter."""
        with self._lock:
            self._values[name, tuple(sorted(labels.items()))] += amount

    def text(self) -> str:
        """All counters."""
        with self._lock:
            values = dict(self._values)
        lines = []
        for name, meaning in _HELP.items():
            kind = "gauge" if name == "running" else "counter"
            lines += [f"# HELP psc_example_{name} {meaning}", f"# TYPE psc_example_{name} {kind}"]
            for (of, labels), value in sorted(values.items()):
                if of == name:
                    shown = ",".join(f'{label}="{content}"' for label, content in labels)
                    lines.append(f"psc_example_{name}{{{shown}}} {value:.9g}" if shown else f"psc_example_{name} {value:.9g}")
        return "\n".join(lines) + "\n"
