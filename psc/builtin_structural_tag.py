"""XGrammar's module of the structural tags of models' tool calls, for programs that import it by that name."""

from psc.tool_calls import builtin_structural_tag as _own
from psc.tool_calls.builtin_structural_tag import *  # noqa: F403

__getattr__ = _own.__getattr__
