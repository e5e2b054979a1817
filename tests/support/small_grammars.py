"""Small grammars of every kind, compiled both ways: what psc's own tools must work with."""

from functools import cache

from grammar_cases import case
from vocabularies import byte_tokenizer

from psc.grammars.compiled_grammar import CompiledGrammar, compile_ahead_of_time, compile_just_in_time
from psc.grammars.grammar import Grammar

ASSIGNMENTS = case("assignments", "contextual").grammar
AMBIGUOUS = case("sums, calls and casts", "keep all").grammar
WORDS = case("conditional sums", "any").grammar

GRAMMARS = {
    "contextual": lambda: Grammar.from_lark(ASSIGNMENTS),
    "basic": lambda: Grammar.from_lark(ASSIGNMENTS, lexer="basic"),
    "ambiguous": lambda: Grammar.from_lark(AMBIGUOUS, keep_all_actions=True),
    "ebnf": lambda: Grammar.from_ebnf(WORDS),
    "regex": lambda: Grammar.from_regex(r"(ab|a)*c{2,3}"),
    "json": Grammar.builtin_json_grammar,
}
COMPILERS = {"just in time": compile_just_in_time, "ahead of time": compile_ahead_of_time}


@cache
def compiled(name: str, how: str = "just in time") -> CompiledGrammar:
    return COMPILERS[how](GRAMMARS[name](), byte_tokenizer("none", "é", " = "))
