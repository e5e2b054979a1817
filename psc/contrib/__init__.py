"""XGrammar's package of integrations, for programs that import it by that name. psc's own are in `psc.adapters`."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "hf":
        raise AttributeError(f"module 'psc.contrib' has no attribute {name!r}")
    from importlib import import_module

    return import_module("psc.contrib.hf")
