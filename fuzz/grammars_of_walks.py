"""The compiled grammars that walks go over: of every kind, built just in time and ahead of time, each once a process."""

from __future__ import annotations

from functools import cache

from grammar_tables import compile_with_leads
from small_grammars import COMPILERS, GRAMMARS
from vocabularies import byte_tokenizer, tokenizer

from psc.compiler.grammars import bundled_text
from psc.grammars.compiled_grammar import CompiledGrammar, compile_just_in_time
from psc.grammars.grammar import Grammar
from psc.grammars.grammar_compiler import GrammarCompiler
from psc.vocabulary.tokenizer_info import TokenizerInfo

# What several stacks, empty rules and conflicts do to a matcher, beyond the tests' small grammars.
MORE = {
    "every bracket twice": lambda: Grammar.from_ebnf(
        'root ::= value\nvalue ::= "[" list "]" | "1"\nlist ::= "" | value | list "," list | value list\n'
    ),
    "hidden left recursion": lambda: Grammar.from_ebnf('root ::= a? root "b" | "" | a\na ::= "a"? | "ab"\n'),
    "right recursion": lambda: Grammar.from_lark('start: "a" start | "b"\n'),
    "dangling else": lambda: Grammar.from_lark(
        'start: s\ns: "i" s | "i" s "e" s | "x"\n%ignore " "\n', lexer="basic", keep_all_actions=True
    ),
}
WAYS = {**COMPILERS, "with leads": compile_with_leads}
# Free text with calls in it: by a compiler the calls' schemas are machines of their own, which are linked.
TAGS = {
    "format": {
        "type": "triggered_tags",
        "triggers": ["["],
        "tags": [
            {
                "type": "tag",
                "begin": f"[{name}",
                "content": {"type": "json_schema", "json_schema": {"type": "array", "items": {"enum": items}}},
                "end": ["]", "]b"],
            }
            for name, items in (("a", [1, 11]), ("b", ["", "a"]), ("", [[], [[]]]))
        ],
    },
    "type": "structural_tag",
}
_PIECES = [
    "[",
    "]",
    "[[",
    "]]",
    "a",
    "b",
    "ab",
    "1",
    ",",
    " ",
    "i",
    "e",
    "x",
    "ie",
    '"',
    "{",
    "}",
    ":",
    "é",
    "=",
    ";",
    "(",
    ")",
    "none",
    " = ",
]


@cache
def vocabulary(small: bool) -> TokenizerInfo:
    return tokenizer(_PIECES) if small else byte_tokenizer("none", "é", " = ", "[[[[", "]]]]", "ab" * 9)


def names() -> list[tuple[str, str, bool]]:
    """(grammar, how it is built, whether over few tokens) of all that there are."""
    small = [(name, how, few) for name in (*GRAMMARS, *MORE) for how in WAYS for few in (False, True)]
    linked = [("calls in free text", "linked", False), ("calls in free text", "just in time", True)]  # linked: over all bytes
    return [*small, *linked, ("java", "just in time", False), ("sql", "just in time", False)]


@cache
def compiled(name: str, how: str, few: bool) -> CompiledGrammar:
    """One of them."""
    if name in ("java", "sql"):
        return compile_just_in_time(Grammar.from_lark(bundled_text(name), lexer="basic"), vocabulary(few))
    if name == "calls in free text":
        if how == "linked":
            return GrammarCompiler(vocabulary(few), store=False).compile_structural_tag(TAGS)
        return compile_just_in_time(Grammar.from_structural_tag(TAGS), vocabulary(few))
    grammar = {**GRAMMARS, **MORE}[name]()
    return WAYS[how](grammar, vocabulary(few))
