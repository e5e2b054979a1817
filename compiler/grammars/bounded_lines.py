r"""Bundled grammars that have layout in their rules, as they are read with bounded layout: with definitions behind their own.

What is ignored is `psc.compiler.frontends.lark.layout`'s to bound. A line end that is a terminal of the rules, or a part of one, is
defined here again: blanks alone up to a line end, and blanks and line ends alone from it on, at most n of each. Whatever else is
ignored here is refused then, as comments are, but what is kept.

    _NL: (/\n/ | COMMENT_WITH_LINE_END) (…)*      becomes      _NL: /\n[ \t\r\n]{0,n-1}/

A text begins with its first word: in Go and Python by another start, in JavaScript and Kotlin since LEADING is ignored.

YAML's layout says what belongs to what, and nothing of it is ignored. Its text is the grammar with bounded layout up to a line, and
behind that what any layout adds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class BoundedLines:
    """What a grammar is read with."""

    definitions: str
    """In the grammar's language; n is the limit, in braces."""
    kept: frozenset[str] = frozenset()
    """Names of ignored terminals that are bounded already."""
    until: str = ""
    """The line before which the text has bounded layout, whatever n is; empty where `definitions` say."""

    def counted(self, most: int) -> str:
        """The definitions for at most this number of blanks."""
        return re.sub(r"(?<=[{,=])n([+-]\d)?(?=[,}\]])", lambda found: str(most + int(found[1] or 0)), self.definitions)


_GO: Final = r"""
%override start: _preamble _terminator? | _declarations _terminator?
%override _NL: /\n[ \t\r\n]{0,n-1}/
%ignore COMMENT_WITH_LINE_END
%ignore /\n[ \t\r\n]{n,}/
"""
# LEADING wins nothing; that it is ignored has no text begin with it. Longer runs are what `layout` makes of it.
_JAVASCRIPT: Final = r"""
%override start: text
%override BLANKS.1: /[ \t]+/
%override NL: LINES
%override LINES: /[ \t]{0,n}[\n\r][ \t\n\r]{0,n-1}/
COMMENT: LINES? /\/[\/*]/
%ignore COMMENT
LEADING.-1: /[ \t\n\r]+/
%ignore LEADING
"""
_KOTLIN: Final = _JAVASCRIPT.replace("BLANKS.1", "BLANKS.2")
_ELEMENTS: Final = r"""
%override TAG_BLANKS: /[ \t]{1,n}/ | LINES
%override JSX_TEXT.3: TAG_BLANKS? (/[^{}<> \t\n\r]+/ TAG_BLANKS?)+ | TAG_BLANKS
"""
_TYPED_ELEMENTS: Final = r"""
%override JSX_EXTENDS.4: TAG_BLANKS /extends[ \t\n\r]/
"""
# The parser counts empty lines: a lexeme of several would have n states for each column that the next line may have. A line of more
# blanks than n is LONG_REST, which the lexer has in each mode, since no rule has it.
_PYTHON: Final = r"""
%override start: | block_0 | block_0 REST | last_0
%override last_statements: small_statements
%override line_break: NEWLINE BLANK~0..8
%override line_end: NEWLINE~1..9
%override NEWLINE: /\r\n?|\n/
%override BLANK.3: /[ \t]{0,n}(\r\n?|\n)/
%override REST.2: /[ \t]{1,n}/
LONG_REST.2: /[ \t]{n+1,}/
%ignore LONG_REST
%override BLANKS.1: /([ \t]|\\(\r\n?|\n)){1,n}/
LONG_BLANKS: /([ \t]|\\(\r\n?|\n)){n+1,}/
%ignore LONG_BLANKS
"""

# Directives stay, less their comments, and are a lexeme of their own with the line end before them.
_C: Final = r"""
%override BLANK: /([\t\v\f\r ]|\\\n){1,n}/
NEWLINES: /\n([\t\v\f\r \n]|\\\n){0,n-1}/
%ignore NEWLINES
LONG: /([\t\v\f\r ]|\\\n){n+1,}|\n([\t\v\f\r \n]|\\\n){n,}/
%ignore LONG
%override DIRECTIVE: UP_TO_WORDS BLANKS_OF_DIRECTIVE?
UP_TO_WORDS: "#" WORDS? (BLANKS_OF_DIRECTIVE WORDS)*
WORDS: (STARRED+ | BEHIND_SLASH) BEHIND_SLASH* "/"? | "/"
BEHIND_SLASH: "/" UNSTARRED STARRED*
STARRED: UNSTARRED | "*"
UNSTARRED: /[^\t\v\f\r \n\\\/*]/ | /\\[^\t\v\f\r \n]/
BLANKS_OF_DIRECTIVE: /[\t\v\f\r ]{1,n}/ | /[\t\v\f\r ]{0,n}\\\n([\t\v\f\r ]|\\\n){0,n-1}/
DIRECTIVE_LINE: LINE DIRECTIVE
LINE: /\n[\t\v\f\r \n]{0,n-1}/
%ignore DIRECTIVE_LINE
LONG_DIRECTIVE: LINE? UP_TO_WORDS (LONG_BLANKS_OF_DIRECTIVE | BLANKS_OF_DIRECTIVE? /\/[\/*]/)
LONG_BLANKS_OF_DIRECTIVE: /[\t\v\f\r ]{n+1,}/ | /[\t\v\f\r ]{0,n}\\\n([\t\v\f\r ]|\\\n){n,}/
%ignore LONG_DIRECTIVE
"""
# Blanks behind a string are of its lexeme.
_POSTGRESQL: Final = r"""
%override NEXT_LINE: /(?=[ \t\n\r\f\v]{1,n}')[ \t\f\v]*[\n\r][ \t\n\r\f\v]*/
%override BEHIND_STRING: /[ \t\n\r\f\v]{1,n}/
LONG_STRING.1: (/[nbx]|u&/i? QUOTED (NEXT_LINE QUOTED)* | "e"i ESCAPED (NEXT_LINE ESCAPED)*) /[ \t\n\r\f\v]{n+1,}/
%ignore LONG_STRING
"""

# In EBNF, these rules instead of the grammar's, and beside them.
_DOCKERFILE: Final = r"""
root    ::= (arg lines)* from (lines line)* lines?
line    ::= from | arg | trigger | [Oo] [Nn] [Bb] [Uu] [Ii] [Ll] [Dd] sp (trigger | arg)
lines[max_chars=n] ::= eol ([ \t] | eol)*
cont    ::= "\\" [ \t]* eol
sp[max_chars=n, excludes=("\x00")] ::= cont* [ \t] ([ \t] | cont)*
s[max_chars=n, excludes=("\x00")] ::= ([ \t] | cont)*
text    ::= [^<\\\r\n] | "<" "<<"? [^<\\\r\n] | ("<" "<<"?)?
            "\\" (([ \t])* [^\\ \t\r\n] | "\\"+ [^\\\r\n] | ([ \t])* eol ([ \t])* [^#\\ \t\r\n])
opening ::= [^-#<[\\ \t\r\n] | "-" [^-<\\ \t\r\n] | "\\" [^\\ \t\r\n] | "<" "<<"? [^<\\\r\n]
          | "[" ([^\]"'0-9{\\ \t\r\n] | ([ \t])+ [^\]"0-9{\\ \t\r\n] | ([ \t])+ "\"" [^"\\\r\n]* "\"" ([ \t])* [^\],"\\ \t\r\n])
ended   ::= "\\" "\\"+ | "<"
"""
_HCL: Final = r"""
root  ::= (ended skip?)* ((attribute | block) sp)?
end   ::= "\n"
sp    ::= [ \t\r]*
sp1   ::= [ \t\r]+
skip  ::= [ \t\r\n]+
_     ::= [ \t\r\n]*
blank ::= ([ \t\r])*
line-not-minus ::= ("==" | "!=" | "<" | ">" | "<=" | ">=" | "+" | "*" | "%" | "&&" | "||" | "/") sp
not-minus ::= ("==" | "!=" | "<" | ">" | "<=" | ">=" | "+" | "*" | "%" | "&&" | "||" | "/") _
"""
_MARKDOWN: Final = r"""
blank[max_chars=n] ::= ([ \t] | "\r"? "\n")*
"""
_TOML: Final = r"""
root       ::= (expression (lines expression)* (ws | lines))?
expression ::= keyval | table
lines[max_chars=n] ::= ws newline ([ \t] | newline)*
gap[max_chars=n]   ::= ([ \t] | newline)*
multiline_basic ::= "\"\"\"" ("\""{0,2} (multiline_character | [\'] | escape | "\\" ([ \t])* newline))* "\"\"\"" "\""{0,2}
"""
_XML: Final = r"""
root    ::= (declaration ws)? (instruction ws)* (doctype ws (instruction ws)*)? element ws (instruction ws)*
content ::= text ((element | reference | cdata | instruction) text)*
doctype  ::= "<!DOCTYPE" space name (space external)? ws ("[" (ws (declared | "%" name ";"))* ws "]" ws)? ">"
declared ::= element_type | attribute_list | entity | notation | instruction
text[excludes=("]]>")] ::= [ \t\r\n]* ([^<& \t\r\n\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]+ [ \t\r\n]*)*
"""

_OF_C: Final = BoundedLines(_C, frozenset({"BLANK", "NEWLINES", "DIRECTIVE_LINE"}))

BOUNDED_LINES: Final[Mapping[str, BoundedLines]] = {
    "c": _OF_C,
    "cpp": _OF_C,
    "csharp": BoundedLines("\n%override start: unit\n"),  # a directive is a comment that begins with a line end
    "dockerfile": BoundedLines(_DOCKERFILE),
    "go": BoundedLines(_GO),
    "hcl": BoundedLines(_HCL),
    "json": BoundedLines(""),
    "rust": BoundedLines("\n%override start: _items_of_file?\n"),  # neither a byte order mark nor a `#!` line
    "javascript": BoundedLines(_JAVASCRIPT),
    "jsx": BoundedLines(_JAVASCRIPT + _ELEMENTS),
    "kotlin": BoundedLines(_KOTLIN),
    "markdown": BoundedLines(_MARKDOWN),
    "pddl": BoundedLines(""),
    "postgresql": BoundedLines(_POSTGRESQL),
    "python": BoundedLines(_PYTHON, frozenset({"BLANKS"})),
    "toml": BoundedLines(_TOML),
    "tsx": BoundedLines(_JAVASCRIPT + _ELEMENTS + _TYPED_ELEMENTS),
    "typescript": BoundedLines(_JAVASCRIPT),
    "xml": BoundedLines(_XML),
    "yaml": BoundedLines("", until="\n// any layout\n"),
}
"""By the name of the grammar."""

_NOT_YET: Final = "psc does not yet count the blanks in its terminals, where its lexer looks ahead over them"
WITHOUT_BOUNDS: Final[Mapping[str, str]] = {
    "apply_patch": "each of its lines is text of a file",
    "bash": _NOT_YET,
    "cron": "between two fields are at most eight blanks",
    "csv": "its blanks and lines are data",
    "css": _NOT_YET,
    "diff": "each of its lines is text of a file, or has one form",
    "html": _NOT_YET,
    "mermaid": _NOT_YET,
    "regex": "it has no layout: a blank is matched",
    "semver": "it has no layout",
    "smiles": "it has no layout",
}
"""Why bundled grammars have no bounds, most since they need none, by name."""
