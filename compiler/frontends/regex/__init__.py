"""Regular expressions as users write them for XGrammar, llama.cpp and JSON Schema, to expressions. See `parser` for the syntax."""

from psc.compiler.frontends.regex.classes import Dialect
from psc.compiler.frontends.regex.parser import MAX_COUNT, MAX_NESTING, regex_expression, regex_rule_set

__all__ = ["MAX_COUNT", "MAX_NESTING", "Dialect", "regex_expression", "regex_rule_set"]
