r"""Writes the bundled grammars `jsx.lark` and `tsx.lark`: JavaScript and TypeScript with the elements of JSX.

    python -m psc.compiler.grammars.writers.elements

The rules are those of `ecmascript`, with those of `typescript` for TSX, and what is here.

*Tags and texts* are lexed by what may stand there: all terminals of JSX win over blanks, so a modal lexer tries them only where
the parser can take one of them, and there it leaves nothing out. Within tags each takes the blanks before it into itself.

*What is behind an element* is lexed by where the element stands: in an expression, in another element, or as the value of an
attribute. So the rule of what ends an element has a copy for each, and its last `>` is of a state of its own.

*No `<` goes on behind an element*, as in `<a/><b/>`, which would otherwise be comparisons. So expressions that end with an element
are of a kind of their own, which the operators but `<` go on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from psc.compiler.grammars.writers import ecmascript, typescript
from psc.compiler.grammars.writers.ecmascript import Rules, merged, read, without, written

JSX_HEADER: Final = """\
// JavaScript (ECMAScript 2025) with JSX, for LALR(1) and a modal lexer. This file is written by elements.py out of JavaScript's
// rules and those of elements: change that, and run it.
//
// That an element is closed by the name that opened it is not said: that two names of any length are equal is not context-free.
// A fragment is closed as one.
//
// Looser than JSX, on purpose, beside what javascript.lark says: an element may begin a line behind one that ends with an element;
// an attribute may stand twice; entities are text. Stricter: no element on the right of `<`, no blank between `<` and `/`.
"""

TSX_HEADER: Final = """\
// TypeScript 5.9 with JSX (.tsx), for a modal lexer and with all actions kept. This file is written by elements.py out of
// TypeScript's rules and those of elements: change that, and run it.
//
// As TypeScript has it in such files, nothing is asserted by `<T>a`, and an arrow function with one parameter of types has a comma
// or `extends` behind it. Looser and stricter is what typescript.lark and jsx.lark say; also, a blank follows that `extends`.
"""

TOKENS: Final = r"""
lt: LT | NL_LT | LT NL | NL_LT NL
jsx_lbrace: JSX_LBRACE | JSX_LBRACE NL
"""

RULES: Final = r"""
jsx_V: {-t} LT jsx_in_expression | NL_LT jsx_in_expression
+unit_V: sign_V jsx | {-t} word_prefix jsx
+binary_VI: jsx_V infix_at_jsx_I | jsx_last_VI infix_at_jsx_I
infix_at_jsx_I: operator_at_jsx operand
              | infix_at_jsx_I operator operand
              | {-n} in operand
              | {-n} infix_at_jsx_I in operand
jsx_last_VI: left_V jsx_operand
           | left_V infix_I jsx_operand
           | jsx_V jsx_operand
           | jsx_V infix_at_jsx_I jsx_operand
           | jsx_last_VI jsx_operand
           | jsx_last_VI infix_at_jsx_I jsx_operand
jsx_operand: operator_at_jsx jsx
+choice_VI: jsx_V choice_tail_I | jsx_last_VI choice_tail_I
+other_VI: jsx_V | jsx_last_VI

// --- elements

jsx_in_expression: jsx_tag JSX_SLASH JSX_GT
                     | jsx_tag JSX_GT jsx_children JSX_CLOSE jsx_name JSX_GT
                     | JSX_GT jsx_children JSX_CLOSE JSX_GT
jsx_in_jsx: jsx_tag JSX_SLASH JSX_GT
                  | jsx_tag JSX_GT jsx_children JSX_CLOSE jsx_name JSX_GT
                  | JSX_GT jsx_children JSX_CLOSE JSX_GT
jsx_in_tag: jsx_tag JSX_SLASH JSX_GT
              | jsx_tag JSX_GT jsx_children JSX_CLOSE jsx_name JSX_GT
              | JSX_GT jsx_children JSX_CLOSE JSX_GT
jsx_tag: jsx_name | jsx_tag jsx_attribute
jsx_name: JSX_NAME | JSX_NAME JSX_COLON JSX_NAME | jsx_member
jsx_member: JSX_NAME JSX_DOT JSX_MEMBER | jsx_member JSX_DOT JSX_MEMBER
jsx_attribute: jsx_attribute_name
             | jsx_attribute_name JSX_EQUAL JSX_STRING
             | jsx_attribute_name JSX_EQUAL jsx_lbrace assignment RBRACE
             | jsx_attribute_name JSX_EQUAL JSX_LT jsx_in_tag
             | jsx_lbrace ellipsis assignment RBRACE
jsx_attribute_name: JSX_NAME | JSX_NAME JSX_COLON JSX_NAME
jsx_children: | jsx_children jsx_child
jsx_child: JSX_TEXT
         | LT jsx_in_jsx
         | lbrace RBRACE
         | lbrace assignment RBRACE
         | lbrace ellipsis assignment RBRACE
"""

TYPED_RULES: Final = r"""
+cast_V: jsx_V cast_tail
+binary_VI: jsx_last_VI cast_tail
+infix_at_jsx_I: cast_tail operator operand
               | {-n} cast_tail in operand
               | cast_tail "as" "const"
               | infix_at_jsx_I "as" type
               | infix_at_jsx_I "satisfies" type
               | infix_at_jsx_I "as" "const"
+jsx_last_VI: left_V cast_tail jsx_operand | jsx_V cast_tail jsx_operand | jsx_last_VI cast_tail jsx_operand
jsx_tag: jsx_name | jsx_name ~JSX_LT type_list GT | jsx_tag jsx_attribute

// --- arrow functions with parameters of types, which begin as elements do

arrow_signature: formals | formals result | type_parameters_of_arrow formals | type_parameters_of_arrow formals result
type_parameters_of_arrow: generic ~JSX_COMMA gt
                        | generic ~JSX_COMMA type_parameter_list gt
                        | generic ~JSX_COMMA type_parameter_list comma gt
                        | bounded gt
                        | bounded comma gt
                        | bounded comma type_parameter_list gt
                        | bounded comma type_parameter_list comma gt
generic: LT JSX_NAME | NL_LT JSX_NAME | LT JSX_CONST JSX_NAME | NL_LT JSX_CONST JSX_NAME
bounded: generic JSX_EXTENDS type | generic JSX_EXTENDS type equal type | generic ~JSX_EQUAL type
async_signature: type_parameters_of_async formals | type_parameters_of_async formals result
type_parameters_of_async: lt type_parameter comma gt
                        | lt type_parameter comma type_parameter_list gt
                        | lt type_parameter comma type_parameter_list comma gt
                        | lt bounded_parameter gt
                        | lt bounded_parameter comma gt
                        | lt bounded_parameter comma type_parameter_list gt
                        | lt bounded_parameter comma type_parameter_list comma gt
bounded_parameter: type_parameter_name NL? ~"extends" type
                 | type_parameter_name equal type
                 | type_parameter_name NL? ~"extends" type equal type
"""

LT_TERMINALS: Final = r"""
// `<` begins an element, too.
LT: "<"
NL_LT: LINES "<"
INFIX: LINES? /(\*\*|%|<<|>>>?|&&?|\|\|?|\^|\?\?|[=!]==?|<=|>=?)/
"""

TERMINALS: Final = r"""
// Within tags, with all blanks before.
TAG_BLANKS: (BLANK | INLINE_COMMENT | LINE_BREAK)+
JSX_NAME.3: TAG_BLANKS? NAME (LETTER | /[-0-9]/)*
JSX_MEMBER.3: TAG_BLANKS? NAME
JSX_DOT.3: TAG_BLANKS? "."
JSX_COLON.3: TAG_BLANKS? ":"
JSX_EQUAL.3: TAG_BLANKS? "="
JSX_STRING.3: TAG_BLANKS? ("'" /[^']/* "'" | "\"" /[^"]/* "\"")
JSX_LBRACE.3: TAG_BLANKS? "{"
JSX_LT.3: TAG_BLANKS? "<"
JSX_SLASH.3: TAG_BLANKS? "/"
JSX_GT.3: TAG_BLANKS? ">"

// Between tags.
JSX_TEXT.3: /[^{}<>]+/
JSX_CLOSE.3: "</"
"""

TYPED_TERMINALS: Final = r"""
// What tells the beginning of an arrow function from that of an element.
JSX_CONST.4: TAG_BLANKS? "const"
JSX_EXTENDS.4: TAG_BLANKS "extends" TAG_BLANKS
JSX_COMMA.3: TAG_BLANKS? ","
"""


def with_elements(rules: Rules) -> Rules:
    """Rules in which operators that begin with `<` are told from the others, which go on behind an element, too."""
    less = [["lt"], ["LT", "lt"]]
    others = [alternative for alternative in rules["operator"] if alternative not in less]
    typed = [alternative for alternative in rules["operator"] if alternative in less[1:]]
    return rules | {"operator": [["lt"], *typed, ["operator_at_jsx"]], "operator_at_jsx": others}


def jsx() -> str:
    """The text of `jsx.lark`."""
    rules = with_elements(merged(read(ecmascript.TOKENS + ecmascript.RULES), TOKENS + RULES))
    return JSX_HEADER + written(rules) + without(ecmascript.TERMINALS, "INFIX") + LT_TERMINALS + TERMINALS


def tsx() -> str:
    """The text of `tsx.lark`."""
    rules = with_elements(merged(merged(typescript.rules(), TOKENS + RULES), TYPED_RULES))
    return TSX_HEADER + written(rules) + typescript.terminals() + TERMINALS + TYPED_TERMINALS


def main() -> None:
    """Writes the files."""
    folder = Path(__file__).parents[1]
    (folder / "jsx.lark").write_text(jsx(), encoding="utf-8")
    (folder / "tsx.lark").write_text(tsx(), encoding="utf-8")


if __name__ == "__main__":
    main()
