r"""Writes the bundled grammar of TypeScript, `typescript.lark`: JavaScript's rules, with types.

    python -m psc.compiler.grammars.writers.typescript

The rules are those of `ecmascript`, and what is here: a rule of the same name takes the place of one there, and `+name:` adds
alternatives to it. What only looking far ahead tells apart (type arguments from comparisons, an arrow function's result from the
end of a choice) is left ambiguous: the grammar keeps all actions, and both ways are followed as long as both are possible.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from psc.compiler.grammars.writers import ecmascript
from psc.compiler.grammars.writers.ecmascript import Rules, merged, read, without, written

HEADER: Final = """\
// TypeScript 5.9 (.ts and .d.ts, no JSX), for a modal lexer and with all actions kept. This file is written by typescript.py out of
// JavaScript's rules and its own: change that, and run it.
//
// Looser than TypeScript, on purpose, beside what javascript.lark says: a line end that may be a semicolon and need not is read
// both ways, and so are `a < b > (c)` and `(a) : b => c`, whatever stands around them; `> >`, `< <` and `> =` are operators;
// modifiers come in any order and number, and at parameters of every function; bodies and initializers may be left out
// everywhere, not only where a declaration is ambient, abstract or overloaded. What needs scopes or types is not here.
// Stricter: in patterns and heads of for, targets with `as` are in parentheses; no types of JSDoc (`?T`), no empty lists of
// types (`A<>`).
"""

TOKENS: Final = r"""
lt: LT | NL_LT | LT NL | NL_LT NL
line_lt: NL_LT | NL_LT NL
same_lt: LT | LT NL
gt: GT | GT NL
bar: BAR | BAR NL
amp: AMP | AMP NL
same_lsqb: LSQB | LSQB NL
"""

RULES: Final = r"""
+name: "abstract" | "accessor" | "asserts" | "declare" | "defer" | "global" | "implements" | "infer" | "interface" | "is" | "keyof"
    | "module" | "namespace" | "out" | "override" | "private" | "protected" | "public" | "readonly" | "require" | "satisfies"
    | "type" | "unique" | "using"

// --- types

type: bare_type | bare_type NL? ~"extends" type question type colon type
bare_type: union_type
    | parameters_of_type arrow result_type
    | ~"new" parameters_of_type arrow result_type
    | "abstract" ~"new" parameters_of_type arrow result_type
parameters_of_type: formals | type_parameters formals
union_type: intersection_type | bar intersection_type | union_type bar intersection_type
          | union_type bar parameters_of_type arrow result_type
intersection_type: prefixed_type | amp prefixed_type | intersection_type amp prefixed_type
prefixed_type: postfixed_type
             | ~"keyof" prefixed_type
             | ~"unique" prefixed_type
             | ~"readonly" prefixed_type
             | ~"infer" name
             | ~"infer" name NL? ~"extends" bare_type
postfixed_type: primary_type
              | postfixed_type same_lsqb RSQB
              | postfixed_type same_lsqb type RSQB
primary_type: named_type
            | STRING
            | NUMBER
            | sign NUMBER
            | NL_NUMBER
            | "true"
            | "false"
            | "null"
            | "void"
            | "this"
            | TICK template_type_rest
            | NL_TICK template_type_rest
            | ~"typeof" queried
            | ~"typeof" queried type_arguments
            | import_type
            | object_type
            | lsqb RSQB
            | lsqb tuple RSQB
            | lsqb tuple comma RSQB
            | lpar type RPAR
template_type_rest: TEMPLATE_END | ~TEMPLATE_OPEN type RBRACE template_type_rest
named_type: qualified | qualified same_type_arguments
qualified: name | qualified dot word
queried: name | "this" | queried dot property | import_query
import_query: "import" lpar STRING RPAR | "import" lpar STRING comma assignment RPAR
    | "import" lpar STRING comma assignment comma RPAR
import_type: import_query | import_query dot qualified_words | import_query dot qualified_words same_type_arguments
           | import_query same_type_arguments
qualified_words: word | qualified_words dot word
tuple: tuple_element | tuple comma tuple_element
tuple_element: type | type QUESTION | ellipsis type | word colon type | word QUESTION colon type | ellipsis word colon type
             | ellipsis word QUESTION colon type
type_arguments: lt type_list GT
same_type_arguments: same_lt type_list GT
type_list: type | type_list comma type
type_parameters: lt type_parameter_list gt | lt type_parameter_list comma gt
type_parameter_list: type_parameter | type_parameter_list comma type_parameter
type_parameter: type_parameter_name
              | type_parameter_name NL? ~"extends" type
              | type_parameter_name equal type
              | type_parameter_name NL? ~"extends" type equal type
type_parameter_name: name | ~"const" name | in name | ~"out" name | in ~"out" name
result_type: type | predicate
predicate: name "is" type | "this" "is" type | "asserts" asserted | "asserts" asserted "is" type
asserted: name | "this"
result: colon result_type

object_type: lbrace RBRACE | lbrace type_members RBRACE | lbrace type_members_open RBRACE | mapped_type
type_members: type_member type_end | type_members type_member type_end | type_members_open line_type_member type_end
type_members_open: type_member | type_members type_member | type_members_open line_type_member
type_end: semicolon | comma | NL
type_member: property_type | signature | ~"new" signature | index_type
           | "get" key lpar RPAR | "get" key lpar RPAR result | "set" key lpar parameter RPAR | "set" key lpar parameter RPAR result
line_type_member: line_signature | line_computed | line_computed annotation | line_computed signature
                | line_lsqb name colon type RSQB | line_lsqb name colon type RSQB annotation
line_signature: parameters_at_line | parameters_at_line result | line_type_parameters formals | line_type_parameters formals result
line_type_parameters: line_lt type_parameter_list gt | line_lt type_parameter_list comma gt
line_computed: line_key | line_key QUESTION
property_type: type_key | type_key annotation | type_key signature
type_key: type_name | type_name QUESTION | ~"readonly" type_name | ~"readonly" type_name QUESTION
type_name: key | PRIVATE
index_type: index | ~"readonly" index
index: lsqb name colon type RSQB | lsqb name colon type RSQB annotation
mapped_type: lbrace mapped RBRACE | lbrace mapped type_end RBRACE
mapped: mapped_head | mapped_head mapped_option | mapped_head annotation | mapped_head mapped_option annotation
mapped_option: QUESTION | sign QUESTION
mapped_head: mapped_key | ~"readonly" mapped_key | sign ~"readonly" mapped_key
mapped_key: lsqb name in type RSQB | lsqb name in type NL? ~"as" type RSQB
annotation: colon type

// --- functions

formals: lpar RPAR
       | lpar parameter_list RPAR
       | lpar parameter_list comma RPAR
       | lpar rest RPAR
       | lpar parameter_list comma rest RPAR
       | lpar rest comma RPAR
       | lpar parameter_list comma rest comma RPAR
parameter: bare_parameter | decorators bare_parameter
bare_parameter: formal | formal equal assignment | parameter_modifiers formal | parameter_modifiers formal equal assignment
formal: binding | binding QUESTION | binding annotation | binding QUESTION annotation | "this" annotation | "this"
parameter_modifiers: parameter_modifier | parameter_modifiers parameter_modifier
parameter_modifier: ~"public" | ~"private" | ~"protected" | ~"readonly" | ~"override"
rest: bare_rest | decorators bare_rest
bare_rest: ellipsis binding | ellipsis binding annotation
signature: formals | formals result | type_parameters formals | type_parameters formals result
function_rest: signature body | signature NL body

parameters_V: line_V RPAR
            | line_V parameter_list RPAR
            | line_V parameter_list comma RPAR
            | line_V rest RPAR
            | line_V parameter_list comma rest RPAR
async_parameters: "async" same_lpar RPAR
            | "async" same_lpar parameter_list RPAR
            | "async" same_lpar parameter_list comma RPAR
            | "async" same_lpar rest RPAR
            | "async" same_lpar parameter_list comma rest RPAR
+other_VI: parameters_V result arrow_tail_I
         | {-t} arrow_signature arrow_tail_I
         | {-t} "async" async_signature arrow_tail_I
         | {-t} async_parameters result arrow_tail_I
arrow_signature: signature
async_signature: type_parameters formals | type_parameters formals result
method: key function_rest
      | ~"get" key lpar RPAR body
      | ~"get" key lpar RPAR result body
      | ~"set" key lpar parameter RPAR body
      | ~"set" key lpar parameter comma RPAR body
      | "async" key function_rest
      | "async" star key function_rest
      | star key function_rest

// --- expressions

+member_tail: "!" | member_tail "!" | call_tail "!"
+chain_tail: chain_tail "!"
           | optional_dot type_arguments arguments
           | chain_tail type_arguments arguments
           | chain_tail optional_dot type_arguments arguments
+member_in_parentheses_V: line_V cast RPAR
+call_tail: typed_call | member_tail typed_call | call_tail typed_call
typed_call: type_arguments arguments | type_arguments template
+plain_V: {-t} ~"new" constructor type_arguments arguments
+constructor: constructor "!"
+unit_V: {-t} ~"new" constructor type_arguments | object_V type_arguments
cast_V: left_V cast_tail
cast_tail: "as" type | "satisfies" type | "as" "const" | cast_tail "as" type | cast_tail "satisfies" type
+binary_VI: cast_V
+infix_I: cast_tail operator operand
        | {-n} cast_tail in operand
        | cast_tail "as" "const"
        | infix_I "as" type
        | infix_I "satisfies" type
        | infix_I "as" "const"
+operator: bar | amp | lt | LT lt | gt | GT gt | GT GT gt | GT equal
+compound: GT GT equal | GT GT GT equal
+heritage: object type_arguments

// --- classes

class: class_start class_rest | class_start name class_rest | class_start name type_parameters class_rest
    | class_start type_parameters class_rest
class_start: ~"class" | decorators ~"class"
class_rest: class_heritage class_body | class_heritage NL class_body
class_heritage: | NL? ~"extends" heritage | NL? ~"implements" implemented | NL? ~"extends" heritage NL? ~"implements" implemented
implemented: type_list
class_item: bare_class_item | decorated_lines bare_class_item
bare_class_item: class_method NL? | class_method semicolon | field semicolon | field NL | semicolon | ~"static" body NL?
class_open: open_field | class_ended open_field | class_open line_field
open_field: field | decorated_lines field
class_modifier: ~"static" | ~"public" | ~"private" | ~"protected" | ~"readonly" | ~"override" | ~"abstract" | ~"declare"
    | ~"accessor"
class_modifiers: class_modifier | class_modifiers class_modifier
class_method: class_method_rest | class_modifiers class_method_rest
method_key: class_key | class_key QUESTION
class_method_rest: method_key function_rest
                 | ~"get" class_key lpar RPAR body
                 | ~"get" class_key lpar RPAR result body
                 | ~"set" class_key lpar parameter RPAR body
                 | ~"set" class_key lpar parameter comma RPAR body
                 | "async" method_key function_rest
                 | "async" star method_key function_rest
                 | star method_key function_rest
field: field_rest | class_modifiers field_rest
field_rest: field_name | field_name equal assignment
          | method_key signature
          | "async" method_key signature
          | star method_key signature
          | ~"get" class_key lpar RPAR
          | ~"get" class_key lpar RPAR result
          | ~"set" class_key lpar parameter RPAR
          | index
field_name: class_key | class_key QUESTION | class_key "!" | class_key annotation | class_key QUESTION annotation
    | class_key "!" annotation
line_field: line_key | line_key equal assignment | line_key annotation | line_key annotation equal assignment | line_key signature
          | line_lsqb name colon type RSQB annotation
decorator: "@" object
decorators: decorator | decorator NL | decorators decorator | decorators decorator NL
decorated_lines: decorators
class_declaration: class_head class_rest NL?
class_head: class_first name | class_first name type_parameters
class_first: class_start | "abstract" ~"class" | decorators "abstract" ~"class"

// --- statements

variable_I: binding | binding annotation | name "!" annotation | initialized_I
initialized_I: binding equal assignment_EI | binding annotation equal assignment_EI | name "!" annotation equal assignment_EI
constants_I: variables_I
lexical: ~"let" variables | ~"const" constants | "using" variables | "await" "using" variables | declaration_open
       | function_head name signature
bare_lexical: ~"let" variables | ~"const" constants | function_head name signature
for_target: target | pattern_only | ~"var" binding | ~"let" binding | ~"const" binding | "using" binding | "await" "using" binding
catch: ~"catch" block | "catch" lpar formal closing block
function_declaration: function_head name function_rest NL?

declaration_open: open_declaration | "declare" ~"var" variables | "declare" open_declaration | "declare" bare_lexical
open_declaration: "type" name equal type | "type" name type_parameters equal type | "module" STRING
item: statement | lexical end | class_declaration | declaration
declaration: bare_declaration | "declare" bare_declaration | "declare" class_declaration
bare_declaration: "interface" interface_head object_type NL? | enum NL? | namespace NL?
interface_head: interface_name | interface_name NL | interface_name NL? ~"extends" type_list
    | interface_name NL? ~"extends" type_list NL
interface_name: name | name type_parameters
enum: enum_head lbrace RBRACE | enum_head lbrace enum_members RBRACE | enum_head lbrace enum_members comma RBRACE
enum_head: "enum" name NL? | "const" "enum" name NL?
enum_members: enum_member | enum_members comma enum_member
enum_member: key | key equal assignment
namespace: "namespace" dotted namespace_body | "module" dotted namespace_body | "module" STRING namespace_body
    | "global" namespace_body
dotted: name NL? | name dot dotted
namespace_body: lbrace text RBRACE

// --- modules

+top_item: ~"export" declaration | export_default "interface" interface_head object_type NL?
    | decorators ~"export" class_declaration
         | export_default "abstract" class NL? | decorators export_default class NL?
    | decorators export_default "abstract" class NL?
         | ~"export" "declare" class_declaration
module_item: ~"import" STRING attributes
           | ~"import" imports NL? ~"from" STRING attributes
           | ~"import" "defer" star ~"as" name NL? ~"from" STRING attributes
           | ~"import" "type" imports NL? ~"from" STRING attributes
           | import_equals
           | ~"export" import_equals
           | ~"export" ~"var" variables
           | ~"export" lexical
           | ~"export" equal expression
           | ~"export" ~"as" ~"namespace" name
           | export_default assignment_at_default
           | export_default function_head signature
           | export_default function_head name signature
           | export_type export_list
           | export_type export_list NL? ~"from" STRING attributes
           | export_type star NL? ~"from" STRING attributes
           | export_type star ~"as" module_name NL? ~"from" STRING attributes
export_type: ~"export" | ~"export" "type"
import_equals: ~"import" name equal imported | ~"import" "type" name equal imported
imported: "require" lpar STRING RPAR | qualified
+import_item: "type" name | "type" module_name NL? ~"as" name
+export_item: "type" module_name | "type" module_name NL? ~"as" module_name
"""

ASSERTIONS: Final = r"""
+member_in_parentheses_V: line_V assertion RPAR
+unit_V: {-t} assertion
assertion: same_lt type gt operand | same_lt "const" gt operand
"""

TERMINALS: Final = r"""
// Operators that types have, too; `>>`, `<<` and `>=` are two.
BAR: LINES? "|"
AMP: LINES? "&"
LT: "<"
NL_LT: LINES "<"
GT: LINES? ">"
INFIX: LINES? /(\*\*|%|&&|\|\||\^|\?\?|[=!]==?|<=)/
COMPOUND: LINES? /(\*\*|[-+*%]|<<|&&?|\|\|?|\^|\?\?)=/
"""


def rules() -> Rules:
    """JavaScript's rules and these, less assertions."""
    return merged(read(ecmascript.TOKENS + ecmascript.RULES), TOKENS + RULES)


def terminals() -> str:
    """JavaScript's terminals and these."""
    return without(ecmascript.TERMINALS, "INFIX", "COMPOUND") + TERMINALS


def grammar() -> str:
    """The text of the file."""
    return HEADER + written(merged(rules(), ASSERTIONS)) + terminals()


def main() -> None:
    """Writes the file."""
    Path(__file__).parents[1].joinpath("typescript.lark").write_text(grammar(), encoding="utf-8")


if __name__ == "__main__":
    main()
