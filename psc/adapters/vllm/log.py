"""psc's log where vLLM's is: vLLM shows its own loggers alone, and says where only after its plugins are loaded."""

from __future__ import annotations

import logging


class _ToVllm(logging.Handler):
    """Gives records to whatever handlers vLLM's logger has by now."""

    def emit(self, record: logging.LogRecord) -> None:
        theirs = logging.getLogger("vllm")
        if not logging.getLogger().handlers and record.levelno >= theirs.getEffectiveLevel():
            theirs.callHandlers(record)


def log_as_vllm_does() -> None:
    """Has psc's warnings, and the adapter's messages, appear in vLLM's log, unless the program has said where psc's log goes."""
    ours = logging.getLogger("psc")
    if not all(isinstance(h, logging.NullHandler) for h in ours.handlers):
        return
    ours.addHandler(_ToVllm())
    if ours.level == logging.NOTSET:
        ours.setLevel(logging.WARNING)
        for name in ("psc.adapters", "psc.serving"):
            logging.getLogger(name).setLevel(logging.INFO)
