"""XGrammar's module of structural tags, for programs that import it by that name."""

from psc.tool_calls.structural_tag import *  # noqa: F403
from psc.tool_calls.structural_tag import __all__ as __all__
