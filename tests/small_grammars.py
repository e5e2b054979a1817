"""Small grammars of every kind, compiled both ways: what psc's own tools must work with."""

from functools import cache

from vocabularies import byte_tokenizer

from psc.compiled_grammar import CompiledGrammar, compile_ahead_of_time, compile_just_in_time
from psc.grammar import Grammar

ASSIGNMENTS = """\
start: assignment+
assignment: NAME "=" value ";"
value: NAME | NUMBER | "none" | "(" value ")" | range
range: NUMBER ".." NUMBER
NAME: /[a-zé]+/
NUMBER: /[0-9]+(\\.[0-9]+)?/
COMMENT: /#[^\\n]*\\n/
%ignore /[ \\n]+/
%ignore COMMENT
"""
AMBIGUOUS = """\
start: sum
sum: sum "+" sum | sum "-" sum | call | "(" sum ")"
call: NAME "(" ")" | NAME | cast
cast: "(" NAME ")" sum
NAME: /[a-z]+/
"""
WORDS = """\
root ::= sum
sum ::= sum "+" sum | "(" sum ")" | name | [0-9]+ | "if " sum " then " sum (" else " sum)?
name ::= [a-z]+ | "id " [a-z] "."
"""

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
