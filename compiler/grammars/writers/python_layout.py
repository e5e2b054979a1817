"""Writes the bundled grammar of Python, `python.lark`: rules as one would write them, copied by what layout makes of them.

    python -m psc.compiler.grammars.writers.python_layout

A context-free grammar does not know how far lines are indented, nor that a line end within brackets is a blank. Two copies say
so:

* *Within brackets.* Every expression has a copy for the inside of brackets (`…_in`), in which a line end may follow each token.
  What stands between brackets is in this copy, whatever is around it.
* *Columns.* A line begins with the terminal of its column, `LINE_4`, which is all blank lines and comments before it, and its
  blanks. For each column there is a copy of the rules that say how lines follow each other in a block, some forty; what is on a
  line is there once. A block within a block is of a column further right: `body_4` is a block of any column after 4. A block
  ends before a line of another column, which the parser sees as its next terminal. So the open columns are on the parser's
  stack, and a mask knows them.

What may follow a compound statement at its column depends on it, so there is a kind of block for each: `if_4` is a block of
column 4 whose last statement is an if that may go on. A text may end without a line end: `last_4` is a block of which the last
line is such.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

SPACES: Final = (*range(1, 13), *range(14, 25, 2), *range(28, 49, 4))
"""So many spaces may indent a block: what files have, since each column costs a hundred LR states."""
TABS: Final = tuple(range(1, 7))
"""Or so many tabs."""

# Rules are written as in Lark's language, one alternative a line. `!X` is a terminal that no line end follows even within brackets.

EXPRESSIONS: Final = r"""
name: NAME | "match" | "case" | "type"

// What may be assigned to, and what may not, are disjoint, so that a list of the one is a target and has one derivation.
single: name
      | primary "." name
      | primary "[" slices "]"
      | "(" single ")"
group: "(" ")"
     | "(" group ")"
     | "(" target_item "," ")"
     | "(" target_items ","? ")"
     | "[" "]"
     | "[" target_item ","? "]"
     | "[" target_items ","? "]"
target: single | group
target_item: target | "*" target
target_items: target_item "," target_item
            | target_items "," target_item
primary: target | value
value: NUMBER
     | strings
     | bytes
     | "None"
     | "True"
     | "False"
     | "..."
     | primary "(" ")"
     | primary "(" arguments ")"
     | primary "(" element comprehension ")"
     | "(" other ")"
     | "(" named ")"
     | "(" yield ")"
     | "(" other_item "," ")"
     | "(" other_items ","? ")"
     | "(" element comprehension ")"
     | "[" other_item ","? "]"
     | "[" other_items ","? "]"
     | "[" element comprehension "]"
     | "{" "}"
     | "{" set_items ","? "}"
     | "{" element comprehension "}"
     | "{" dict_items ","? "}"
     | "{" expression ":" expression comprehension "}"

named: name ":=" expression
element: target | other | named
other_item: other | named | "*" other_sum
item: target_item | other_item
other_items: other_item "," item
           | target_item "," other_item
           | target_items "," other_item
           | other_items "," item
set_items: item | set_items "," item
dict_items: dict_item | dict_items "," dict_item
dict_item: expression ":" expression | "**" sum

arguments: positional ","? | keywords ","? | doubles ","?
positional: argument | positional "," argument
argument: expression | named | "*" expression
keyword: name "=" expression
keywords: keyword
        | positional "," keyword
        | keywords "," keyword
        | keywords "," "*" expression
doubles: "**" expression
       | positional "," "**" expression
       | keywords "," "**" expression
       | doubles "," keyword
       | doubles "," "**" expression

slices: slice ","? | slice_list ","?
slice_list: slice "," slice | slice_list "," slice
slice: expression
     | named
     | "*" sum
     | expression? ":" expression?
     | expression? ":" expression? ":" expression?

// Operators have no precedence but what the language needs: `not`, comparisons and conditions are no operands. `other` is each
// expression that is no target.
sign: "+" | "-" | "~"
operator: INFIX | "+" | "-" | "*" | "**" | "/" | "@" | "|" | "in" | "not" "in" | "is" | "is" "not"
other_operand: value | "await" primary | sign operand
operand: target | other_operand
other_sum: other_operand | sum operator operand
sum: target | other_sum
other_negation: other_sum | "not" negation
negation: target | other_negation
other_choice: other_negation | choice "and" negation | choice "or" negation
choice: target | other_choice
other: other_choice
     | choice "if" choice "else" expression
     | "lambda" ":" expression
     | "lambda" lambda_parameters ":" expression
expression: target | other
test: expression | named

comprehension: for_clause | comprehension for_clause | comprehension "if" choice
for_clause: "for" targets "in" choice | "async" "for" targets "in" choice
targets: target_item ","? | target_items ","?

listed_other: other | "*" other_sum
listed: target_item | listed_other
list: listed | list "," listed
expressions: list ","?
yield: "yield" | "yield" expressions | "yield" "from" expression

strings: string | strings string
string: STRING | formatted
bytes: BYTES | bytes BYTES
formatted: !F_DOUBLE DOUBLE_END
         | !F_DOUBLE text_double DOUBLE_END
         | !F_SINGLE SINGLE_END
         | !F_SINGLE text_single SINGLE_END
         | !F_LONG_DOUBLE LONG_DOUBLE_END
         | !F_LONG_DOUBLE text_long_double LONG_DOUBLE_END
         | !F_LONG_SINGLE LONG_SINGLE_END
         | !F_LONG_SINGLE text_long_single LONG_SINGLE_END
formatted_value: expressions | yield
field: formatted_value
     | formatted_value "="
     | formatted_value !"!" CONVERSION
     | formatted_value "=" !"!" CONVERSION

pattern: alternatives | alternatives "as" name
alternatives: closed_pattern | alternatives "|" closed_pattern
literal_pattern: signed_number
               | signed_number "+" NUMBER
               | signed_number "-" NUMBER
               | pattern_strings
               | bytes
               | "None"
               | "True"
               | "False"
signed_number: NUMBER | "-" NUMBER
pattern_strings: STRING | pattern_strings STRING
dotted_pattern: name "." name | dotted_pattern "." name
closed_pattern: literal_pattern
              | name
              | dotted_pattern
              | "(" ")"
              | "(" pattern ")"
              | "(" pattern_item "," ")"
              | "(" pattern_items ","? ")"
              | "[" "]"
              | "[" pattern_item ","? "]"
              | "[" pattern_items ","? "]"
              | "{" "}"
              | "{" mapping_items "}"
              | name "(" ")"
              | dotted_pattern "(" ")"
              | name "(" class_items ")"
              | dotted_pattern "(" class_items ")"
pattern_item: pattern | "*" name
pattern_items: pattern_item "," pattern_item | pattern_items "," pattern_item
mapping_items: mapping_pairs ","? | "**" name ","? | mapping_pairs "," "**" name ","?
mapping_pairs: mapping_pair | mapping_pairs "," mapping_pair
mapping_pair: literal_pattern ":" pattern | dotted_pattern ":" pattern
class_items: class_positional ","? | class_keywords ","?
class_positional: pattern | class_positional "," pattern
class_keywords: class_keyword | class_positional "," class_keyword | class_keywords "," class_keyword
class_keyword: name "=" pattern

import_names: import_name | import_names "," import_name
import_name: name | name "as" name

type_parameters: type_parameter | type_parameters "," type_parameter
type_parameter: name
              | name ":" expression
              | name "=" expression
              | name ":" expression "=" expression
              | "*" name
              | "*" name "=" expression
              | "*" name "=" "*" sum
              | "**" name
              | "**" name "=" expression

// The items of `with (…)`, of which one has `as`: without any the brackets are an expression.
with_items_as: with_as
             | target_item "," with_as
             | other_item "," with_as
             | target_items "," with_as
             | other_items "," with_as
             | with_items_as "," with_as
             | with_items_as "," target
             | with_items_as "," other
with_as: target "as" target | other "as" target
"""

# Of a string in one kind of quotes; what is between its fields is lexed by itself. A field within a format is one of its own,
# since what is after it is lexed otherwise.
FORMATTED: Final = r"""
text_QUOTE: piece_QUOTE | text_QUOTE piece_QUOTE
piece_QUOTE: TEXT_QUOTE | field_QUOTE
field_QUOTE: "{" field "}"
           | "{" field !":" "}"
           | "{" field !":=" "}"
           | "{" field !":" spec_QUOTE "}"
           | "{" field !":=" spec_QUOTE "}"
inner_QUOTE: "{" field "}"
           | "{" field !":" "}"
           | "{" field !":=" "}"
           | "{" field !":" spec_QUOTE "}"
           | "{" field !":=" spec_QUOTE "}"
spec_QUOTE: SPEC_QUOTE
          | inner_QUOTE
          | spec_QUOTE SPEC_QUOTE
          | spec_QUOTE inner_QUOTE
"""

STATEMENTS: Final = r"""
line_break: NEWLINE | line_break BLANK
simple: small_statements line_break
small_statements: small_list ";"?
small_list: small | small_list ";" small
small: targets
     | others
     | assigned targets
     | assigned others
     | assigned yield
     | yield
     | single AUGMENTED expressions
     | single AUGMENTED yield
     | single ":" expression
     | single ":" expression "=" expressions
     | single ":" expression "=" yield
     | "pass"
     | "break"
     | "continue"
     | "return" expressions?
     | "raise"
     | "raise" expression
     | "raise" expression "from" expression
     | "global" names
     | "nonlocal" names
     | "del" deleted ","?
     | "assert" expression
     | "assert" expression "," expression
     | "import" module_names
     | "from" module "import" "*"
     | "from" module "import" import_names
     | "from" module "import" "(" import_names ","? ")"
     | "type" name "=" expression
     | "type" name "[" type_parameters ","? "]" "=" expression
assigned: targets "=" | assigned targets "="
others: listed_other ","? | listed_others ","?
listed_others: listed_other "," listed
             | target_item "," listed_other
             | target_items "," listed_other
             | listed_others "," listed
names: name | names "," name
deleted: target | deleted "," target
module_names: module_name | module_names "," module_name
module_name: dotted_name | dotted_name "as" name
dotted_name: name | dotted_name "." name
module: dotted_name | dots | dots dotted_name
dots: dot | dots dot
dot: "." | "..."

decorator: "@" test line_break
definition_head: "def" name definition
               | "async" "def" name definition
               | "class" name ":"
               | "class" name "(" ")" ":"
               | "class" name "(" arguments ")" ":"
               | "class" name "[" type_parameters ","? "]" ":"
               | "class" name "[" type_parameters ","? "]" "(" ")" ":"
               | "class" name "[" type_parameters ","? "]" "(" arguments ")" ":"
definition: signature ":"
          | signature "->" expression ":"
          | "[" type_parameters ","? "]" signature ":"
          | "[" type_parameters ","? "]" signature "->" expression ":"
signature: "(" ")"
         | "(" parameters ")"
with_head: with | "async" with
with: "with" with_items ":"
    | "with" "(" with_items_as ","? ")" ":"
with_items: with_item | with_items "," with_item
with_item: expression | expression "as" target
if_head: "if" test ":"
elif_head: "elif" test ":"
else_head: "else" ":"
loop_head: "while" test ":"
         | "for" targets "in" expressions ":"
         | "async" "for" targets "in" expressions ":"
try_head: "try" ":"
except_head: "except" ":"
           | "except" expression ":"
           | "except" expression "as" name ":"
except_group_head: "except" "*" expression ":"
                 | "except" "*" expression "as" name ":"
finally_head: "finally" ":"
// After `match` a name is a subject. A bracket or a sign makes `match` a name: `match (a)` is a call until `:` and the line end
// follow.
match_open: "match" subject ":" line_break
          | others ":" line_break
          | single ":" line_break
subject: expressions | named
case_head: "case" patterns ":"
         | "case" patterns "if" test ":"
patterns: pattern
        | pattern_item ","
        | pattern_items ","?
"""

# What a subject does not begin with: `match` before it is a name.
NO_SUBJECT: Final = frozenset(['"("', '"["', '"+"', '"-"', '"*"', '"not"'])

HEADS: Final = (
    "definition", "with", "if", "elif", "else", "loop", "try", "except", "except_group", "finally", "case",
)  # fmt: skip

TERMINALS: Final = r"""
// Keywords are no names. Everything above ASCII but the surrogates is a letter: one range keeps the automaton small.
NAME: /(?!(?:KEYWORDS)$)[A-Za-z_\u0080-\uD7FF\uE000-\U0010FFFF][A-Za-z0-9_\u0080-\uD7FF\uE000-\U0010FFFF]*/

NUMBER: /0[xX](_?[0-9a-fA-F])+/
      | /0[oO](_?[0-7])+/
      | /0[bB](_?[01])+/
      | /0(_?0)*|[1-9](_?[0-9])*/
      | DIGITS EXPONENT? /[jJ]/
      | DIGITS EXPONENT
      | DIGITS "." DIGITS? EXPONENT? /[jJ]?/
      | "." DIGITS EXPONENT? /[jJ]?/
DIGITS: /[0-9](_?[0-9])*/
EXPONENT: /[eE][+-]?/ DIGITS

// A long string ends at its first three quotation marks; a shorter run of them must be followed by something else.
STRING: /[uU]?/ ("'" (/[^'\\\r\n]/ | ESCAPE)* "'" | "\"" (/[^"\\\r\n]/ | ESCAPE)* "\"")
      | /[uU]?/ ("'''" (/'?'?/ (/[^'\\]/ | ESCAPE))* "'''" | "\"\"\"" (/"?"?/ (/[^"\\]/ | ESCAPE))* "\"\"\"")
      | /[rR]/ ("'" (/[^'\\\r\n]/ | ANY_ESCAPE)* "'" | "\"" (/[^"\\\r\n]/ | ANY_ESCAPE)* "\"")
      | /[rR]/ ("'''" (/'?'?/ (/[^'\\]/ | ANY_ESCAPE))* "'''" | "\"\"\"" (/"?"?/ (/[^"\\]/ | ANY_ESCAPE))* "\"\"\"")
BYTES: /[bB]/ ("'" (BYTE_BESIDE_SINGLE | BYTE_ESCAPE)* "'" | "\"" (BYTE_BESIDE_DOUBLE | BYTE_ESCAPE)* "\"")
     | /[bB]/ "'''" (/'?'?/ (BYTE_BESIDE_SINGLE | /[\r\n]/ | BYTE_ESCAPE))* "'''"
     | /[bB]/ "\"\"\"" (/"?"?/ (BYTE_BESIDE_DOUBLE | /[\r\n]/ | BYTE_ESCAPE))* "\"\"\""
     | RAW_BYTES ("'" (BYTE_BESIDE_SINGLE | ASCII_ESCAPE)* "'" | "\"" (BYTE_BESIDE_DOUBLE | ASCII_ESCAPE)* "\"")
     | RAW_BYTES "'''" (/'?'?/ (BYTE_BESIDE_SINGLE | /[\r\n]/ | ASCII_ESCAPE))* "'''"
     | RAW_BYTES "\"\"\"" (/"?"?/ (BYTE_BESIDE_DOUBLE | /[\r\n]/ | ASCII_ESCAPE))* "\"\"\""
BYTE_BESIDE_SINGLE: /[\x00-\t\x0b\x0c\x0e-&(-\[\]-\x7f]/
BYTE_BESIDE_DOUBLE: /[\x00-\t\x0b\x0c\x0e-!#-\[\]-\x7f]/
RAW_BYTES: /([bB][rR]|[rR][bB])/
ESCAPE: /\\([^xuUN\r]|\r\n?|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U(000[0-9a-fA-F]|0010)[0-9a-fA-F]{4}|N\{[^{}\r\n'"\\]+\})/
ANY_ESCAPE: /\\([^\r]|\r\n?)/
BYTE_ESCAPE: /\\([\x00-\x0c\x0e-wy-\x7f]|\r\n?|x[0-9a-fA-F]{2})/
ASCII_ESCAPE: /\\([\x00-\x0c\x0e-\x7f]|\r\n?)/

// Formatted strings. A brace is text where it is doubled; a backslash may stand before a brace.
F_DOUBLE: /([fF][rR]?|[rR][fF])"/
F_SINGLE: /([fF][rR]?|[rR][fF])'/
F_LONG_DOUBLE: /([fF][rR]?|[rR][fF])\"\"\"/
F_LONG_SINGLE: /([fF][rR]?|[rR][fF])'''/
DOUBLE_END.3: "\""
SINGLE_END.3: "'"
LONG_DOUBLE_END.3: "\"\"\""
LONG_SINGLE_END.3: "'''"
TEXT_DOUBLE.3: (/[^"\\{}\r\n]/ | F_ESCAPE)+ "\\"? | "\\"
TEXT_SINGLE.3: (/[^'\\{}\r\n]/ | F_ESCAPE)+ "\\"? | "\\"
TEXT_LONG_DOUBLE.3: (/[^"\\{}]/ | F_ESCAPE)+ "\\"? | "\\" | /""?/
TEXT_LONG_SINGLE.3: (/[^'\\{}]/ | F_ESCAPE)+ "\\"? | "\\" | /''?/
F_ESCAPE: /\\([^{}N\r]|\r\n?|N(\{[A-Za-z0-9 ()-]+\})?)|\{\{|\}\}/
SPEC_DOUBLE.3: (/[^"\\{}\r\n]/ | S_ESCAPE)+
SPEC_SINGLE.3: (/[^'\\{}\r\n]/ | S_ESCAPE)+
SPEC_LONG_DOUBLE.3: (/[^"\\{}]/ | S_ESCAPE)+ | /""?/
SPEC_LONG_SINGLE.3: (/[^'\\{}]/ | S_ESCAPE)+ | /''?/
S_ESCAPE: /\\([^{}\r]|\r\n?)/
CONVERSION.3: /[ars]/

AUGMENTED: /(\*\*|\/\/|<<|>>|[-+*\/%@&|^])=/
INFIX: /\/\/|%|<<|>>|[&^]|<=?|>=?|==|!=/

// Lines. A comment belongs to the line end after it. REST is what no line end is after, at the end of the text.
NEWLINE: /(#[^\r\n]*)?(\r\n?|\n)/
BLANK.3: /[ \t\f]*(#[^\r\n]*)?(\r\n?|\n)/
REST.2: /[ \t\f]+(#[^\r\n]*)?|#[^\r\n]*/
BLANKS.1: /([ \t\f]|\\(\r\n?|\n))+/
%ignore BLANKS
"""

KEYWORDS: Final = tuple(keyword.kwlist)

HEADER: Final = r"""// Python 3.13, written from its reference for LALR(1) and a modal lexer. This file is written by
// python_layout.py, which says how it comes by its rules for columns and brackets: change that, and run it.
//
// What follows match, case and type decides whether they are names. Type parameters, `type` statements, nested quotes in formatted
// strings (PEP 701), `except*`, positional-only parameters and parenthesised `with` are here.
//
// Looser than CPython, on purpose: operators have no precedence (the language is the same), and a comparison may stand where only a
// sum may, after `*` in a list; `x:` before a line end may be followed by `case` without `match`; names may use every character
// from U+0080 on; backslashes of formatted strings may stand before anything. What the compiler finds behind the parser (a `return`
// outside of a function, names declared twice) is not here.
// Stricter: a block may be indented by 1 to 12 spaces, an even number of them to 24, a multiple of four to 48, or by 1 to 6 tabs,
// not by a mixture; a text that ends in an indented block ends with a line end; no byte order mark, no encoding but UTF-8.

"""

Alternative = tuple[str, ...]
Rules = dict[str, list[Alternative]]

_OPENING: Final = {'"("', '"["', '"{"'}
_CLOSING: Final = {'")"', '"]"', '"}"'}
_NAMES: Final = {
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ":": "COLON", ".": "DOT",
    "=": "EQUAL", ":=": "WALRUS", "*": "STAR", "**": "DOUBLE_STAR", "+": "PLUS", "-": "MINUS", "~": "TILDE", "/": "SLASH",
    "@": "AT",
    "|": "BAR", "...": "ELLIPSIS", "!": "BANG", "->": "ARROW", ";": "SEMICOLON",
}  # fmt: skip


def grammar() -> str:
    """The text of `python.lark`."""
    expressions, statements = parse(EXPRESSIONS + lambda_parameters() + parameters()), parse(STATEMENTS)
    for quote in ("double", "single", "long_double", "long_single"):
        upper = FORMATTED.replace("TEXT_QUOTE", f"TEXT_{quote.upper()}").replace("SPEC_QUOTE", f"SPEC_{quote.upper()}")
        statements |= parse(upper.replace("QUOTE", quote))
    statements["match_open"] = [tuple("first_subject" if s == "subject" else s for s in a) for a in statements["match_open"]]
    statements |= first_restricted("subject", expressions | statements, NO_SUBJECT)
    once = {name: [laid_out(a, expressions, within=False) for a in alternatives] for name, alternatives in statements.items()}
    outside = {name: [laid_out(a, expressions, within=False) for a in alternatives] for name, alternatives in expressions.items()}
    inside = {
        name + "_in": [laid_out(a, expressions, within=True) for a in alternatives] for name, alternatives in expressions.items()
    }
    rules = once | outside | inside
    rules["line_end"] = [("NEWLINE",), ("line_end", "NEWLINE")]
    for name, terminal in wrapped_terminals(rules).items():
        rules[name] = [(terminal,), (terminal, "line_end")]
    rules = lines() | heads() | rules
    return HEADER + text_of(reachable(rules, "start")) + TERMINALS.replace("KEYWORDS", "|".join(KEYWORDS)) + line_terminals()


def parse(text: str) -> Rules:
    """Rules by name, from Lark's notation without groups."""
    rules: Rules = {}
    name = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("//"):
            continue
        head, found, rest = line.partition(": ") if line[0].isalpha() else ("", "", line.strip().removeprefix("|"))
        name = head if found else name
        rules.setdefault(name, []).extend(tuple(alternative.split()) for alternative in re.split(r" \| ", rest))
    return rules


def laid_out(alternative: Alternative, copied: Mapping[str, object], *, within: bool) -> Alternative:
    """An alternative with the copies of its symbols that are meant, where it stands within brackets or not."""
    inside, out = [within], []
    for symbol in alternative:
        bare = symbol.removeprefix("!").removesuffix("?")
        if bare in _CLOSING:
            inside.pop()
        if bare in copied:
            bare += "_in" if inside[-1] else ""
        elif symbol[0] != "!" and (inside[-1] or bare in _OPENING) and is_terminal(bare):
            bare = wrapper(bare)
        out.append(bare + "?" * symbol.endswith("?"))
        if bare in map(wrapper, _OPENING):
            inside.append(True)
    return tuple(out)


def is_terminal(symbol: str) -> bool:
    bare = symbol.removeprefix("!")
    return bare[0] == '"' or bare[0].isupper()


def wrapper(terminal: str) -> str:
    """The rule of a terminal that line ends may follow."""
    bare = terminal.strip('"')
    return _NAMES.get(bare, bare).lower() + "_nl"


def wrapped_terminals(rules: Rules) -> dict[str, str]:
    """The wrappers that rules ask for, and of which terminals they are."""
    strings = {f'"{text}"' for text in (*_NAMES, *KEYWORDS, "match", "case", "type")}
    upper = set(re.findall(r"^([A-Z][A-Z_]*)(?=[.:])", TERMINALS, re.MULTILINE))
    by_name = {wrapper(t): t for t in strings | upper}
    asked_for = {s.removesuffix("?") for alternatives in rules.values() for a in alternatives for s in a}
    return {name: by_name[name] for name in sorted(asked_for & by_name.keys())}


def first_restricted(root: str, rules: Rules, refused: frozenset[str]) -> Rules:
    """Copies `first_…` of the rules that a text of `root` may begin with, less what begins with a terminal that is refused."""
    out: Rules = {}
    todo = [root]
    while todo:
        name = todo.pop()
        if "first_" + name in out:
            continue
        out["first_" + name] = []
        for first, *rest in rules[name]:
            if is_terminal(first):
                if first not in refused:
                    out["first_" + name].append((first, *rest))
            else:
                out["first_" + name].append(("first_" + first, *rest))
                todo.append(first)
    while empty := {name for name, alternatives in out.items() if not alternatives}:
        out = {name: [a for a in alternatives if a[0] not in empty] for name, alternatives in out.items() if name not in empty}
    return out


def lambda_parameters() -> str:
    """Rules of a lambda's parameters."""
    return "lambda_parameter: name\nlambda_rest: name\n" + _parameters("lambda_")


def parameters() -> str:
    """Rules of a function's parameters."""
    return """parameter: name | name ":" expression
rest: name | name ":" expression | name ":" "*" sum
""" + _parameters("")


def _parameters(p: str) -> str:
    # In this order: parameters without a default and with one, each before and after `/`; then after `*`; then after `**`.
    leading = [f"{p}bare", f"{p}bare_slash", f"{p}given", f"{p}given_slash"]
    bare, bare_slash, given, given_slash = leading
    star, double = f"{p}starred", f"{p}doubled"

    def after(names: Iterable[str], what: str) -> str:
        return "".join(f' | {name} "," {what}' for name in names)

    stars = f'"*" {p}rest | "*" "," {p}keyword_only' + after(leading, f'"*" {p}rest') + after(leading, f'"*" "," {p}keyword_only')
    every = " | ".join(f'{name} ","?' for name in [*leading, star, double])
    return f"""
{p}default: {p}parameter "=" expression
{p}keyword_only: {p}parameter | {p}default
{bare}: {p}parameter{after([bare], f"{p}parameter")}
{bare_slash}: {bare} "," "/"{after([bare_slash], f"{p}parameter")}
{given}: {p}default{after([bare, given], f"{p}default")}
{given_slash}: {given} "," "/"{after([bare_slash, given_slash], f"{p}default")}
{star}: {stars}{after([star], f"{p}keyword_only")}
{double}: "**" {p}parameter{after([*leading, star], f'"**" {p}parameter')}
{p}parameters: {every}
"""


# Kinds of a block by its last statement: those with which it may be over, and two that something has to follow.
_DONE: Final = ("plain", "if", "loop", "except", "except_group", "tried")


def column_names() -> dict[str, list[str]]:
    """The columns, each with the next ones further right."""
    right: dict[str, list[str]] = {"0": []}
    for name, widths in (("", SPACES), ("t", TABS)):
        before = "0"
        for n in widths:
            right[before].append(f"{name}{n}")
            right[f"{name}{n}"] = []
            before = f"{name}{n}"
    return right


def line(column: str) -> str:
    return f"LINE_{column.upper()}"


def lines() -> Rules:
    """How lines follow each other, column by column."""
    rules: Rules = {
        "start": [
            (*before, *text)
            for before in [(), ("leading",)]
            for text in [(), ("REST",), ("block_0",), ("block_0", "REST"), ("last_0",)]
        ],
        "leading": [("BLANK",), ("leading", "BLANK")],
    }
    for column, right in column_names().items():
        rules |= _blocks(column, right)
    return rules


def _blocks(c: str, right: Sequence[str]) -> Rules:
    begin = (f"begin_{c}",)
    margin = () if c == "0" else (line(c),)

    def after(*kinds: str) -> list[Alternative]:
        """At the beginning of a line after a block of these kinds."""
        return [(f"{kind}_{c}", *margin) for kind in kinds]

    def clauses(head: str, *before: Alternative) -> list[Alternative]:
        return [a for b in before for a in [(*b, f"{head}_line")] + ([(*b, f"{head}_open", f"body_{c}")] if right else [])]

    tries = after("try", "except", "except_group", "tried")
    rules: Rules = {
        "begin": [margin, *after(*_DONE)],
        "plain": [
            (*begin, "simple"),
            *clauses("definition", begin, *after("decorated")),
            *clauses("with", begin),
            *([(*begin, "match_open", f"match_{c}")] if right else []),
            *clauses("else", *after("if", "loop")),
            *clauses("finally", *tries),
        ],
        "if": [*clauses("if", begin), *clauses("elif", *after("if"))],
        "loop": clauses("loop", begin),
        "try": clauses("try", begin),
        "except": clauses("except", *after("try", "except")),
        "except_group": clauses("except_group", *after("try", "except_group")),
        "tried": clauses("else", *after("except", "except_group")),
        "decorated": [(*begin, "decorator"), *((*a, "decorator") for a in after("decorated"))],
        "block": [(f"{kind}_{c}",) for kind in _DONE],
    }
    if c == "0":
        ends = ("definition", "with", "if", "loop")
        rules["last"] = [(*begin, "small_statements"), *((*begin, f"{head}_last") for head in ends)]
    if right:
        rules["body"] = [(f"{what}_{r}",) for r in right for what in ("block", "body")]
        rules["match"] = [(f"{what}_{r}",) for r in right for what in ("cases", "match")]
    if c != "0":
        rules["cases"] = clauses("case", (line(c),), (f"cases_{c}", line(c)))
    return {f"{name}_{c}": alternatives for name, alternatives in rules.items()}


def heads() -> Rules:
    """What is on a compound statement's first line: all of it, nothing behind the colon, or the end of the text."""
    rules: Rules = {}
    for head in HEADS:
        rules[f"{head}_line"] = [(f"{head}_head", "simple")]
        rules[f"{head}_open"] = [(f"{head}_head", "line_break")]
        rules[f"{head}_last"] = [(f"{head}_head", "small_statements")]
    return rules


def line_terminals() -> str:
    """The terminals of the columns."""
    out = [""]
    for column in list(column_names())[1:]:
        blank, n = ("\\t", int(column[1:])) if column[0] == "t" else (" ", int(column))
        out.append(f"{line(column)}.3: /{blank}{{{n}}}/")
    return "\n".join(out) + "\n"


def reachable(rules: Rules, start: str) -> Rules:
    """The rules that a text needs, in their order; without those that only a column too far right would end."""
    while missing := {
        name for name, alternatives in rules.items() for a in alternatives for s in a if _rule(s) and _rule(s) not in rules
    }:
        known = rules
        rules = {
            n: [a for a in alternatives if all(not _rule(s) or _rule(s) in known for s in a)] for n, alternatives in known.items()
        }
        rules = {n: alternatives for n, alternatives in rules.items() if alternatives or n not in missing}
    found, todo = {start}, [start]
    while todo:
        for symbol in {_rule(s) for a in rules[todo.pop()] for s in a} - {""} - found:
            found.add(symbol)
            todo.append(symbol)
    return {name: alternatives for name, alternatives in rules.items() if name in found}


def _rule(symbol: str) -> str:
    bare = symbol.removesuffix("?")
    return "" if is_terminal(bare) else bare


def text_of(rules: Rules) -> str:
    return "".join(
        f"{name}: " + ("\n" + " " * len(name) + "| ").join(" ".join(a) for a in alternatives) + "\n"
        for name, alternatives in rules.items()
    )


def main() -> None:
    """Writes the file."""
    Path(__file__).parents[1].joinpath("python.lark").write_text(grammar(), encoding="utf-8")


if __name__ == "__main__":
    main()
