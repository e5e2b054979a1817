"""XGrammar's module of tools and tool choices, for programs that import it by that name."""

from psc.tool_calls.openai_tool_call_schema import *  # noqa: F403
