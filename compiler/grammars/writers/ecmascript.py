r"""Writes the bundled grammar of JavaScript, `javascript.lark`: rules as one would write them, copied by where they stand.

    python -m psc.compiler.grammars.writers.ecmascript

ECMAScript's own grammar looks further ahead than one token, and its parser may put in semicolons. Three devices say the same to
an LALR(1) parser:

*Line ends.* `NL` is all blanks and comments up to the next token, if there is a line end among them; other blanks are ignored. A
token that only goes on with something (`)`, `,`, `*`, `.`) takes line ends before it into its own terminal, since no semicolon is
put in before it. A token after which something has to follow may be followed by `NL`: the rules of TOKENS. So `NL` is left between
an end and a beginning, where it is a semicolon. Of what both goes on and begins, such as `(`, there are two terminals, `LPAR` and
`NL_LPAR` with line ends before it. After `a` the parser shifts either; after `a++`, which no `(` goes on, it reduces and takes
`NL_LPAR` as the beginning of the next statement. That a shift wins over a reduction is thus the rule of the standard, that a
semicolon is put in only before a token that cannot go on.

*Patterns.* What is before `=` or `=>` is known to be a pattern only there. Expressions are therefore of disjoint kinds, by what
they may turn out to be: `name`; `member` (a target, no binding); `open` (literals that may turn out to be patterns);
`pattern_only` (`{a = 1}`); `defaulted` and `assigned` (the first three and `member`, with `= value`); `other`. So a list has one
derivation for each of its kinds.

*Where an expression stands.* Some may not begin with `{`, `function`, `class`, and in the head of a for there is no `in`. A rule
whose name ends in `_V` has a copy for each of STARTS, one in `_I` a second one without `in`, and one in `_VI` those of COPIES. An
alternative marked `{…}` is only in the copies that the mark names, or, after a `-`, not in these. What an expression goes on with
is the same in all copies, so it is rules of its own (`member_tail`, `infix_I`), and a copy is little more than what it begins with.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

STARTS: Final = {"e": "", "s": "_at_statement", "b": "_at_body", "d": "_at_default", "t": "_at_line"}
"""Where an expression begins: anywhere; a statement; the body of an arrow function; behind `export default`; and a statement that
begins with one of the tokens that take line ends before them, behind one that is not ended otherwise."""
COPIES: Final = ("e", "en", "s", "b", "bn", "d", "t")
"""Letters of STARTS, with `n` without `in`."""

HEADER: Final = """\
// JavaScript (ECMAScript 2025), scripts and modules, no JSX, for LALR(1) and a modal lexer. This file is written by ecmascript.py,
// which says how it comes by semicolons that are not there, patterns and their like: change that, and run it.
//
// A line end ends a statement where ECMAScript puts in a semicolon. Regular expressions are parsed to their end, templates
// with what is in them.
//
// Looser than ECMAScript, on purpose: operators have no precedence (so `-a ** b` and `a ?? b || c` pass); `return`, `break`,
// `await`, `yield`, `super` and `new.target` may stand anywhere, and scripts and modules are one language; what strict mode forbids
// is not here; bindings of arrow functions may be members within literals, `([a.b]) => c`; a function declaration may be the
// body of any statement; `throw` may be followed by a line end before `(`, `[`, a sign, a template or a regular expression, and
// so may `yield`, which then goes on; a generator method may follow a field on its line; names may use every character from
// U+0080 on; ranges, flags and names of groups in regular expressions are not compared. What needs scopes (names declared
// twice, labels, private names, exports of nothing) is not here.
// Stricter: `let`, `yield` and `await` are no names; calls are no targets (`f() = a`); no HTML comments; no initializer
// in `for (var a = b in c)`; no line end before `with` and its attributes, nor between an export's braces and `from`.
"""

# Tokens after which a line end says nothing. `~"x"` in the rules is one, too.
TOKENS: Final = r"""
lpar: LPAR | NL_LPAR | LPAR NL | NL_LPAR NL
line_lpar: NL_LPAR | NL_LPAR NL
same_lpar: LPAR | LPAR NL
lsqb: LSQB | NL_LSQB | LSQB NL | NL_LSQB NL
line_lsqb: NL_LSQB | NL_LSQB NL
lbrace: "{" | "{" NL
closing: RPAR | RPAR NL
comma: COMMA | COMMA NL
colon: COLON | COLON NL
semicolon: SEMICOLON | SEMICOLON NL
question: QUESTION | QUESTION NL
dot: DOT | DOT NL
optional_dot: OPTIONAL_DOT | OPTIONAL_DOT NL
ellipsis: ELLIPSIS | ELLIPSIS NL
equal: EQUAL | EQUAL NL
star: STAR | STAR NL
arrow: "=>" | "=>" NL
compound: COMPOUND | COMPOUND NL | DIVIDE_EQUAL | DIVIDE_EQUAL NL
"""

RULES: Final = r"""
start: text | NL text | HASHBANG | HASHBANG NL text
text: | top_ended | top_open

// --- names and literals

name: NAME | "as" | "async" | "from" | "get" | "meta" | "of" | "set" | "static" | "target"
word: name | "await" | "break" | "case" | "catch" | "class" | "const" | "continue" | "debugger" | "default" | "delete"
    | "do" | "else" | "enum" | "export" | "extends" | "false" | "finally" | "for" | "function" | "if" | "import" | "in"
    | "instanceof" | "let" | "new" | "null" | "return" | "super" | "switch" | "this" | "throw" | "true" | "try" | "typeof"
    | "var" | "void" | "while" | "with" | "yield"
property: word | PRIVATE
number_V: {-t} NUMBER | NL_NUMBER
constant_V: number_V | {-t} STRING | {-t} "true" | {-t} "false" | {-t} "null" | {-t} "this"

template_V: {-t} TICK template_rest | NL_TICK template_rest
template_rest: TEMPLATE_END | ~TEMPLATE_OPEN expression RBRACE template_rest

regex_V: {-t} SLASH regex_parts REGEX_END | NL_SLASH regex_parts REGEX_END
       | {-t} DIVIDE_EQUAL REGEX_END | {-t} DIVIDE_EQUAL regex_quantified REGEX_END
regex_quantified: regex_parts | REGEX_QUANTIFIER | REGEX_QUANTIFIER regex_parts
regex_parts: regex_part | regex_parts regex_part | regex_parts REGEX_BAR | REGEX_BAR
regex_part: regex_atom | regex_atom REGEX_QUANTIFIER | REGEX_ASSERTION
regex_atom: REGEX_ATOM | REGEX_GROUP REGEX_CLOSE | REGEX_GROUP regex_parts REGEX_CLOSE

// --- lists in parentheses: what is before `=>`, and what is not

line_V: {-t} lpar | {t} line_lpar
bound: name | open | defaulted
unbound: member | assigned | other
bound_single: open | defaulted
bound_list: bound comma bound | bound_list comma bound
unbound_single: assigned | other
unbound_list: bound comma unbound
            | bound_list comma unbound
            | unbound comma bound
            | unbound comma unbound
            | unbound_list comma bound
            | unbound_list comma unbound
pattern_list: pattern_only
            | bound comma pattern_only
            | bound_list comma pattern_only
            | pattern_list comma pattern_only
            | pattern_list comma bound
rest: ellipsis binding
name_in_parentheses_V: line_V name RPAR
either_V: line_V bound_single RPAR | line_V bound_list RPAR
member_in_parentheses_V: name_in_parentheses_V | line_V member RPAR
parameters_V: name_in_parentheses_V
            | either_V
            | line_V RPAR
            | line_V bound comma RPAR
            | line_V bound_list comma RPAR
            | line_V pattern_list RPAR
            | line_V pattern_list comma RPAR
            | line_V rest RPAR
            | line_V bound comma rest RPAR
            | line_V bound_list comma rest RPAR
            | line_V pattern_list comma rest RPAR

// The same behind `async`, where they may be arguments.
spread_bound: ellipsis name | ellipsis open
spread_unbound: ellipsis member | ellipsis assigned | ellipsis defaulted | ellipsis other
spread: spread_bound | spread_unbound
bound_arguments: bound | bound_arguments comma bound
bound_with_rest: spread_bound | bound_arguments comma spread_bound
unbound_arguments: unbound
                 | spread_unbound
                 | bound_arguments comma unbound
                 | bound_arguments comma spread_unbound
                 | bound_with_rest comma bound
                 | bound_with_rest comma unbound
                 | bound_with_rest comma spread
                 | unbound_arguments comma bound
                 | unbound_arguments comma unbound
                 | unbound_arguments comma spread
pattern_arguments: pattern_only
                 | bound_arguments comma pattern_only
                 | pattern_arguments comma pattern_only
                 | pattern_arguments comma bound
async_either: "async" same_lpar RPAR
            | "async" same_lpar bound_arguments RPAR
            | "async" same_lpar bound_arguments comma RPAR
            | "async" same_lpar bound_with_rest RPAR
async_call: async_either
          | "async" same_lpar bound_with_rest comma RPAR
          | "async" same_lpar unbound_arguments RPAR
          | "async" same_lpar unbound_arguments comma RPAR
async_parameters: async_either
                | "async" same_lpar pattern_arguments RPAR
                | "async" same_lpar pattern_arguments comma RPAR
                | "async" same_lpar pattern_arguments comma spread_bound RPAR

// --- arrays and objects: what may turn out to be a pattern, and what may not

target: name | member | open
element: name | member | open | defaulted | assigned
closed_element: other | ellipsis other | ellipsis defaulted | ellipsis assigned
rest_element: ellipsis target
pattern_rest: ellipsis pattern_only
commas: comma | commas comma
elements: element | commas element | elements commas element
elements_with_rest: rest_element | commas rest_element | elements commas rest_element
closed_elements: closed_element
               | commas closed_element
               | elements commas closed_element
               | elements_with_rest commas element
               | elements_with_rest commas rest_element
               | elements_with_rest commas closed_element
               | closed_elements commas element
               | closed_elements commas rest_element
               | closed_elements commas closed_element
pattern_elements: pattern_only
                | commas pattern_only
                | elements commas pattern_only
                | pattern_elements commas pattern_only
                | pattern_elements commas element
pattern_elements_with_rest: pattern_rest
                          | commas pattern_rest
                          | elements commas pattern_rest
                          | pattern_elements commas pattern_rest
                          | pattern_elements commas rest_element
square_V: {-t} lsqb | {t} line_lsqb
open_array_V: square_V RSQB
            | square_V commas RSQB
            | square_V elements RSQB
            | square_V elements commas RSQB
            | square_V elements_with_rest RSQB
closed_array_V: square_V closed_elements RSQB
              | square_V closed_elements commas RSQB
              | square_V elements_with_rest commas RSQB
pattern_array_V: square_V pattern_elements RSQB
               | square_V pattern_elements commas RSQB
               | square_V pattern_elements_with_rest RSQB

key: word | STRING | number | lsqb assignment RSQB
member_def: key colon name | key colon member | key colon open | key colon defaulted | key colon assigned | name
closed_def: key colon other | method | ellipsis open | ellipsis defaulted | ellipsis assigned | ellipsis other
pattern_def: name equal assignment | key colon pattern_only
rest_def: ellipsis name | ellipsis member
defs: member_def | defs comma member_def
defs_with_rest: rest_def | defs comma rest_def
closed_defs: closed_def
           | defs comma closed_def
           | defs_with_rest comma member_def
           | defs_with_rest comma rest_def
           | defs_with_rest comma closed_def
           | closed_defs comma member_def
           | closed_defs comma rest_def
           | closed_defs comma closed_def
pattern_defs: pattern_def
            | defs comma pattern_def
            | pattern_defs comma pattern_def
            | pattern_defs comma member_def
pattern_defs_with_rest: pattern_defs comma rest_def
open_object: lbrace RBRACE | lbrace defs RBRACE | lbrace defs comma RBRACE | lbrace defs_with_rest RBRACE
closed_object: lbrace closed_defs RBRACE | lbrace closed_defs comma RBRACE | lbrace defs_with_rest comma RBRACE
pattern_object: lbrace pattern_defs RBRACE | lbrace pattern_defs comma RBRACE | lbrace pattern_defs_with_rest RBRACE
open_V: open_array_V | {ed} open_object
pattern_only_V: pattern_array_V | {ed} pattern_object

method: key function_rest
      | ~"get" key lpar closing body
      | ~"set" key lpar parameter closing body
      | ~"set" key lpar parameter comma closing body
      | "async" key function_rest
      | "async" star key function_rest
      | star key function_rest

// --- expressions

// What is behind the head of an expression has no copies.
member_V: member_in_parentheses_V | {-t} super_member | head_V member_tail
member_tail: dot property
           | lsqb expression RSQB
           | member_tail dot property
           | member_tail lsqb expression RSQB
           | call_tail dot property
           | call_tail lsqb expression RSQB
super_member: "super" dot word | "super" lsqb expression RSQB
plain_V: constant_V
       | template_V
       | regex_V
       | either_V
       | line_V unbound_single RPAR
       | line_V unbound_list RPAR
       | closed_array_V
       | {ed} closed_object
       | {eb} function
       | {eb} class
       | {-t} ~"new" constructor arguments
       | {-t} "new" dot "target"
       | {-t} ~"import" dot "meta"
constructor: name | member_in_parentheses | open | plain | super_member
           | constructor dot property
           | constructor lsqb expression RSQB
           | constructor template
arguments: lpar RPAR | lpar argument_list RPAR | lpar argument_list comma RPAR
argument_list: argument | argument_list comma argument
argument: assignment | ellipsis assignment
call_V: {-t} direct_call | head_V call_tail
call_tail: arguments
         | template
         | member_tail arguments
         | member_tail template
         | call_tail arguments
         | call_tail template
direct_call: "super" arguments
           | ~"import" lpar assignment RPAR
           | ~"import" lpar assignment comma RPAR
           | ~"import" lpar assignment comma assignment RPAR
           | ~"import" lpar assignment comma assignment comma RPAR
           | async_call
head_V: {-t} name | member_in_parentheses_V | {-t} super_member | open_V | plain_V | {-t} direct_call
object_V: head_V | head_V member_tail | head_V call_tail
chain_V: object_V chain_tail
chain_tail: optional_dot property
          | optional_dot arguments
          | optional_dot lsqb expression RSQB
          | chain_tail optional_dot property
          | chain_tail optional_dot arguments
          | chain_tail optional_dot lsqb expression RSQB
          | chain_tail dot property
          | chain_tail arguments
          | chain_tail lsqb expression RSQB
unit_V: plain_V | call_V | chain_V | {-t} ~"new" constructor
      | {-t} name STEP
      | member_V STEP
      | sign_V operand
      | step_V name
      | step_V member
      | {-t} word_prefix operand
sign_V: {-t} SIGN | {-t} SIGN NL | NL_SIGN | NL_SIGN NL
word_prefix: ~"!" | ~"~" | ~"typeof" | ~"void" | ~"delete" | ~"await"
step_V: {-t} STEP | {-t} STEP NL | NL_STEP | NL_STEP NL
left_V: {-t} name | member_V | open_V | unit_V
operand: left
operator: INFIX | INFIX NL | STAR | STAR NL | SIGN | SIGN NL | NL_SIGN | NL_SIGN NL
        | SLASH | SLASH NL | NL_SLASH | NL_SLASH NL | ~"instanceof" | NL_INSTANCEOF | NL_INSTANCEOF NL
in: ~"in" | NL_IN | NL_IN NL
binary_VI: left_V infix_I | {-t-n} PRIVATE in operand | {-t-n} PRIVATE in operand infix_I
infix_I: operator operand | infix_I operator operand | {-n} in operand | {-n} infix_I in operand
choice_VI: left_V choice_tail_I | binary_VI choice_tail_I
choice_tail_I: question assignment colon assignment_EI
             | QUESTION_NUMBER colon assignment_EI
             | QUESTION_NUMBER operator assignment colon assignment_EI
other_VI: unit_V
        | binary_VI
        | choice_VI
        | {-t} name compound_tail_I
        | member_V compound_tail_I
        | {-t} name arrow_tail_I
        | parameters_V arrow_tail_I
        | {-t} "async" name arrow_tail_I
        | {-t} async_parameters arrow_tail_I
        | {-t} "yield"
        | {-t} "yield" assignment_EI
        | {-t} "yield" star assignment_EI
compound_tail_I: compound assignment_EI
arrow_tail_I: arrow arrow_body_I
arrow_body_I: body | assignment_BI
defaulted_VI: {-t} name value_I | open_V value_I | pattern_only_V value_I
assigned_VI: member_V value_I
value_I: equal assignment_EI
assignment_VI: {-t} name | member_V | open_V | defaulted_VI | assigned_VI | other_VI
expression_VI: assignment_VI | assignment_VI more_I
more_I: comma assignment_EI | more_I comma assignment_EI

// --- functions and classes

binding: name | bound_array | bound_object
bound_element: binding | binding equal assignment
bound_array: lsqb RSQB
           | lsqb commas RSQB
           | lsqb bound_elements RSQB
           | lsqb bound_elements commas RSQB
           | lsqb rest RSQB
           | lsqb commas rest RSQB
           | lsqb bound_elements commas rest RSQB
bound_elements: bound_element | commas bound_element | bound_elements commas bound_element
bound_object: lbrace RBRACE
            | lbrace bound_defs RBRACE
            | lbrace bound_defs comma RBRACE
            | lbrace ellipsis name RBRACE
            | lbrace bound_defs comma ellipsis name RBRACE
bound_defs: bound_def | bound_defs comma bound_def
bound_def: name | name equal assignment | key colon bound_element

parameter: bound_element
parameter_list: parameter | parameter_list comma parameter
function_rest: lpar closing body
             | lpar parameter_list closing body
             | lpar parameter_list comma closing body
             | lpar rest closing body
             | lpar parameter_list comma rest closing body
body: lbrace RBRACE | lbrace ended RBRACE | lbrace unended RBRACE
function: function_head function_rest | function_head name function_rest
function_head: ~"function" | "async" ~"function" | ~"function" star | "async" ~"function" star
class: ~"class" class_rest | ~"class" name class_rest
class_rest: class_body | NL class_body | NL? ~"extends" heritage class_body | NL? ~"extends" heritage NL class_body
heritage: object | chain | ~"new" constructor
class_body: lbrace RBRACE | lbrace class_ended RBRACE | lbrace class_open RBRACE
class_ended: class_item
           | class_ended class_item
           | class_open line_class_item
class_open: field | class_ended field | class_open line_field
class_item: class_method | class_method NL | field semicolon | field NL | semicolon | ~"static" body | ~"static" body NL
class_method: class_method_rest | ~"static" class_method_rest
class_method_rest: class_key function_rest
                 | ~"get" class_key lpar closing body
                 | ~"set" class_key lpar parameter closing body
                 | ~"set" class_key lpar parameter comma closing body
                 | "async" class_key function_rest
                 | "async" star class_key function_rest
                 | star class_key function_rest
class_key: key | PRIVATE
field: field_rest | ~"static" field_rest
field_rest: class_key | class_key equal assignment
line_key: line_lsqb assignment RSQB
line_field: line_key | line_key equal assignment
line_class_item: line_field semicolon
               | line_field NL
               | line_key function_rest
               | line_key function_rest NL
               | star class_key function_rest
               | star class_key function_rest NL

// --- statements: those that are ended, and those that a semicolon, a line end or what is behind them ends

ended: item | ended item | unended line_statement end
unended: open_item | ended open_item | unended line_statement
line_statement: expression_at_line
end: semicolon | NL
item: statement | lexical end | class_declaration
open_item: open_statement | lexical
block: body | body NL
statement: block
         | semicolon
         | simple end
         | if statement
         | if statement ~"else" statement
         | loop statement
         | label statement
         | ~"do" statement ~"while" lpar expression closing
         | ~"do" statement ~"while" lpar expression closing semicolon
         | "switch" lpar expression closing lbrace cases RBRACE
         | "switch" lpar expression closing lbrace cases RBRACE NL
         | ~"try" block catch
         | ~"try" block finally
         | ~"try" block catch finally
         | function_declaration
open_statement: simple
              | if open_statement
              | if statement ~"else" open_statement
              | loop open_statement
              | label open_statement
simple: ~"var" variables
      | expression_at_statement
      | "continue"
      | "continue" name
      | "break"
      | "break" name
      | "return"
      | "return" expression
      | "throw" expression
      | "debugger"
if: "if" lpar expression closing
label: name colon
lexical: ~"let" variables | ~"const" constants
variables_I: variable_I | variables_I comma variable_I
variable_I: name | initialized_I
initialized_I: binding equal assignment_EI
constants_I: initialized_I | constants_I comma initialized_I
loop: "while" lpar expression closing
    | "with" lpar expression closing
    | for lpar semicolon for_rest
    | for lpar expression_no_in semicolon for_rest
    | for lpar ~"var" variables_no_in semicolon for_rest
    | for lpar ~"let" variables_no_in semicolon for_rest
    | for lpar ~"const" constants_no_in semicolon for_rest
    | for lpar for_target for_in expression closing
    | for lpar for_target for_of assignment closing
for: "for" | "for" NL? "await"
for_target: target | pattern_only | ~"var" binding | ~"let" binding | ~"const" binding
for_in: in
for_of: ~"of" | NL ~"of"
for_rest: expression semicolon expression closing | semicolon expression closing | expression semicolon closing | semicolon closing
cases: | clauses | clause_head unended | clauses clause_head unended
clauses: clause | clauses clause
clause: clause_head | clause_head ended
clause_head: ~"case" expression colon | ~"default" colon
catch: ~"catch" block | "catch" lpar binding closing block
finally: ~"finally" block
function_declaration: function_head name function_rest | function_head name function_rest NL
class_declaration: ~"class" name class_rest | ~"class" name class_rest NL

// --- modules

top_ended: top_item | top_ended top_item | top_open line_statement end
top_open: top_open_item | top_ended top_open_item | top_open line_statement
top_item: item | module_item end | ~"export" function_declaration | ~"export" class_declaration
        | export_default function | export_default function NL | export_default class | export_default class NL
top_open_item: open_item | module_item
module_item: ~"import" STRING attributes
           | ~"import" imports NL? ~"from" STRING attributes
           | ~"export" ~"var" variables
           | ~"export" lexical
           | export_default assignment_at_default
           | ~"export" export_list
           | ~"export" export_list ~"from" STRING attributes
           | ~"export" star NL? ~"from" STRING attributes
           | ~"export" star ~"as" module_name NL? ~"from" STRING attributes
export_default: ~"export" ~"default"
attributes: | attributes_head RBRACE | attributes_head attribute_list RBRACE | attributes_head attribute_list comma RBRACE
attributes_head: ~"with" lbrace
attribute_list: attribute | attribute_list comma attribute
attribute: word colon STRING | STRING colon STRING
imports: name | named_imports | name comma named_imports
named_imports: star ~"as" name | lbrace RBRACE | lbrace import_list RBRACE | lbrace import_list comma RBRACE
import_list: import_item | import_list comma import_item
import_item: name | module_name NL? ~"as" name
module_name: word | STRING
export_list: lbrace RBRACE | lbrace export_items RBRACE | lbrace export_items comma RBRACE
export_items: export_item | export_items comma export_item
export_item: module_name | module_name NL? ~"as" module_name
"""


PRIORITIES: Final = {"head": ".4", "object": ".3", "left": ".2", "get_nl": ".2", "set_nl": ".2", "static_nl": ".2"}
"""Of two reductions, which: what a token can go on with, it goes on with."""
SPOKEN: Final = {'"!"': "not_nl", '"~"': "complement_nl"}

TERMINALS: Final = r"""
// Blanks. NL is all up to the next token with a line end among it; the tokens that only go on with something begin with it.
BLANKS.1: (BLANK | INLINE_COMMENT)+ LINE_COMMENT? | LINE_COMMENT
%ignore BLANKS
NL: LINES LINE_COMMENT?
LINES: (BLANK | INLINE_COMMENT)* LINE_BREAK (BLANK | INLINE_COMMENT | LINE_BREAK)*
LINE_BREAK: LINE_COMMENT? LINE_END | LONG_COMMENT
BLANK: /[ \t\x0b\x0c\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]/
LINE_END: /[\n\r\u2028\u2029]/
LINE_COMMENT: /\/\/[^\n\r\u2028\u2029]*/
INLINE_COMMENT: /\/\*([^*\n\r\u2028\u2029]|\*+[^*\/\n\r\u2028\u2029])*\*+\//
LONG_COMMENT: /\/\*([^*\n\r\u2028\u2029]|\*+[^*\/\n\r\u2028\u2029])*\**[\n\r\u2028\u2029]([^*]|\*+[^*\/])*\*+\//
HASHBANG: /#![^\n\r\u2028\u2029]*/

// What goes on and begins, too: without line ends before it, and with.
LPAR: "("
NL_LPAR: LINES "("
LSQB: "["
NL_LSQB: LINES "["
TICK: "`"
NL_TICK: LINES "`"
SIGN: /[-+]/
NL_SIGN: LINES /[-+]/
STEP: /(\+\+|--)/
NL_STEP: LINES /(\+\+|--)/
SLASH: "/"
NL_SLASH: LINES "/"

// What only goes on.
RPAR: LINES? ")"
RSQB: LINES? "]"
RBRACE: LINES? "}"
COMMA: LINES? ","
COLON: LINES? ":"
SEMICOLON: LINES? ";"
QUESTION: LINES? "?"
DOT: LINES? "."
OPTIONAL_DOT: LINES? "?."
ELLIPSIS: LINES? "..."
EQUAL: LINES? "="
STAR: LINES? "*"
INFIX: LINES? /(\*\*|%|<<|>>>?|&&?|\|\|?|\^|\?\?|[=!]==?|[<>]=?)/
COMPOUND: LINES? /(\*\*|[-+*%]|<<|>>>?|&&?|\|\|?|\^|\?\?)=/
DIVIDE_EQUAL: LINES? "/="
NL_IN: LINES /in[ \t\n\r]/
NL_INSTANCEOF: LINES /instanceof[ \t\n\r]/

NAME: LETTER (LETTER | /[0-9]/)*
LETTER: /[A-Za-z_$\u0080-\u009f\u00a1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\ud7ff]/
      | /[\ue000-\ufefe\uff00-\U0010ffff]|\\u([0-9a-fA-F]{4}|\{[0-9a-fA-F]+\})/
PRIVATE: "#" NAME

NUMBER: /0[xX][0-9a-fA-F](_?[0-9a-fA-F])*n?|0[oO][0-7](_?[0-7])*n?|0[bB][01](_?[01])*n?/
      | /0n|[1-9](_?[0-9])*n/
      | /(0|[1-9](_?[0-9])*)(\.([0-9](_?[0-9])*)?)?/ EXPONENT?
      | /0[0-7]+/
      | /0[0-7]*[89][0-9]*(\.[0-9]*)?/ EXPONENT?
      | FRACTION
FRACTION: "." /[0-9](_?[0-9])*/ EXPONENT?
EXPONENT: /[eE][-+]?[0-9](_?[0-9])*/
NL_NUMBER: LINES FRACTION
// `a?.5:b` is no optional chain.
QUESTION_NUMBER: LINES? "?" FRACTION

STRING: "'" (/[^'\\\n\r]/ | ESCAPE)* "'" | "\"" (/[^"\\\n\r]/ | ESCAPE)* "\""
ESCAPE: /\\([^xu\r]|\r\n?|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{0*(10)?[0-9a-fA-F]{1,5}\}|u\{0*10[0-9a-fA-F]{4}\})/

// Templates, from one `${…}` to the next.
TEMPLATE_OPEN.3: TEMPLATE_TEXT /\$+\{/
TEMPLATE_END.3: TEMPLATE_TEXT /\$*`/
TEMPLATE_TEXT: /([^`\\$]|\\(.|\n)|\$+([^`\\${]|\\(.|\n)))*/

// Regular expressions.
REGEX_END.3: /\/[dgimsuvy]*/
REGEX_ATOM.3: (/[^\/\\\[()|*+?^$\n\r\u2028\u2029]/ | REGEX_ESCAPE | REGEX_CLASS)+
REGEX_ESCAPE: /\\[^\n\r\u2028\u2029]/
REGEX_CLASS: "[" (/[^\]\\\n\r\u2028\u2029]/ | REGEX_ESCAPE)* "]"
REGEX_QUANTIFIER.4: /([*+?]|\{[0-9]+(,[0-9]*)?\})\??/
REGEX_ASSERTION.3: /[\^$]/
REGEX_BAR.3: "|"
REGEX_GROUP.3: /\((\?([:=!]|<[=!]|<[A-Za-z_$][A-Za-z0-9_$]*>|[ims]*(-[ims]*)?:))?/
REGEX_CLOSE.3: ")"
"""

Rules = dict[str, list[list[str]]]


def read(text: str) -> Rules:
    """The rules of a text, symbol by symbol; their marks are symbols, too."""
    rules: Rules = {}
    for rule in re.split(r"\n(?=\+?\w+:)", re.sub(r"^//.*\n", "", text, flags=re.MULTILINE).strip()):
        name, _, alternatives = rule.partition(":")
        assert name not in rules, f"two rules are called {name}"
        rules[name] = [alternative.split() for alternative in alternatives.split("|")]
    return rules


def merged(rules: Rules, changes: str) -> Rules:
    """Rules with those of a text in their places; `+name` adds alternatives to a rule."""
    out = dict(rules)
    for name, alternatives in read(changes).items():
        bare = name.removeprefix("+")
        out[bare] = out[bare] + alternatives if name != bare else alternatives
    return out


def copies(name: str) -> tuple[str, ...]:
    """Of a rule: a letter of STARTS, and perhaps `n`."""
    if name.endswith("_VI"):
        return COPIES
    if name.endswith("_V"):
        return tuple(STARTS)
    return ("e", "en") if name.endswith("_I") else ("e",)


def copied(symbol: str, copy: str) -> str:
    """What a symbol of a rule is in one of its copies: `_EI` and `_BI` begin anywhere and an arrow function's body."""
    start, no_in = STARTS[copy[0]], "_no_in" if copy.endswith("n") else ""
    names = {"_VI": start + no_in, "_EI": no_in, "_BI": STARTS["b"] + no_in, "_V": start, "_I": no_in}
    ending = re.search(r"(?<=[a-z])_(VI|EI|BI|V|I)$", symbol)
    return symbol[: ending.start()] + names[ending[0]] if ending else symbol


def stands(mark: str, copy: str) -> bool:
    """Whether an alternative of this mark is in a copy."""
    return not set(mark) & set(copy) if mark.startswith("-") else copy[0] in mark


def expanded(rules_once: Rules) -> Rules:
    """Rules with all their copies."""
    rules: Rules = {}
    for name, alternatives in rules_once.items():
        for copy in copies(name):
            assert copied(name, copy) not in rules, f"two rules are called {copied(name, copy)}"
            rules[copied(name, copy)] = [
                [copied(symbol, copy) for symbol in alternative if symbol[0] != "{"]
                for alternative in alternatives
                if all(stands(symbol[1:-1], copy) for symbol in alternative if symbol[0] == "{")
            ]
    return rules


def with_lines(rules: Rules) -> Rules:
    """Rules with those of the tokens marked `~`, behind which a line end says nothing."""
    tokens: Rules = {}

    def rule_of(token: str) -> str:
        name = SPOKEN.get(token) or token.strip('"').lower() + "_nl"
        tokens[name] = [[token], [token, "NL"]]
        return name

    out = {
        name: [[rule_of(s[1:]) if s[0] == "~" else s for s in alternative] for alternative in alternatives]
        for name, alternatives in rules.items()
    }
    return out | tokens


def needed(rules: Rules) -> Rules:
    """The rules that a text needs, in their order."""
    found, todo = {"start"}, ["start"]
    while todo:
        for symbol in {s.removesuffix("?") for alternative in rules[todo.pop()] for s in alternative} - found:
            if symbol in rules:
                found.add(symbol)
                todo.append(symbol)
            elif not re.fullmatch(r'"[^"]+"|[A-Z_]+', symbol):
                raise KeyError(f"there is no rule {symbol}")
    return {name: alternatives for name, alternatives in rules.items() if name in found}


def text_of(rules: Rules) -> str:
    """Rules in Lark's language."""
    return "".join(
        f"{name}{PRIORITIES.get(name.split('_at_')[0], '')}: "
        + ("\n" + " " * len(name) + "| ").join(" ".join(alternative) for alternative in alternatives)
        + "\n"
        for name, alternatives in rules.items()
    )


def written(rules: Rules) -> str:
    """Rules with marks, as rules of a file."""
    return text_of(needed(with_lines(expanded(rules))))


def without(terminals: str, *names: str) -> str:
    """A text of terminals less those of these names, which have a line each."""
    return "".join(line for line in terminals.splitlines(keepends=True) if line.partition(":")[0] not in names)


def grammar() -> str:
    """The text of the file."""
    return HEADER + written(read(TOKENS + RULES)) + TERMINALS


def main() -> None:
    """Writes the file."""
    Path(__file__).parents[1].joinpath("javascript.lark").write_text(grammar(), encoding="utf-8")


if __name__ == "__main__":
    main()
