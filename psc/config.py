"""XGrammar's module of settings, for programs that import it by that name."""

from psc.support.recursion_depth import (
    get_max_recursion_depth,
    get_serialization_version,
    max_recursion_depth,
    set_max_recursion_depth,
)

__all__ = ["get_max_recursion_depth", "get_serialization_version", "max_recursion_depth", "set_max_recursion_depth"]
