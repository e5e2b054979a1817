"""Tokens of the dialect to its syntax.

An item (rule, terminal, statement) ends with its line; a line that begins with `|` continues the item before, and inside
brackets line ends are space. Cost: linear; groups are one level of Python's stack each, at most `MAX_NESTING`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from psc._core import stop_if_cancelled
from psc.compiler.frontends.llguidance.attributes import read_attributes
from psc.compiler.frontends.llguidance.common import COMMON
from psc.compiler.frontends.llguidance.lexer import Token, tokens_of
from psc.compiler.frontends.llguidance.source import Source
from psc.compiler.frontends.llguidance.syntax import (
    And,
    Attributes,
    Definition,
    Document,
    Either,
    InRow,
    Many,
    Nested,
    Node,
    Not,
    Span,
    Text,
)
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit

MAX_TEXT: Final = limit("llguidance_characters")
"""Characters of a grammar text."""
MAX_NESTING: Final = limit("llguidance_groups")
"""Groups, complements and nested grammars inside each other."""
MAX_COUNT: Final = limit("llguidance_count")
"""The largest count of a repetition."""

_ENDS_ROW: Final = frozenset(("newline", "|", "&", "->", ")", "]", "}", "end"))
_REFUSED_DIRECTIVES: Final = {
    "%declare": "directive %declare is not supported: a terminal without text never matches; define it, or leave it out",
    "%override": "directive %override is not supported; write the rule once",
    "%extend": "directive %extend is not supported; write all alternatives in one place",
}
_HEX_ESCAPE: Final = re.compile(r"(\\\\)|\\x([0-9A-Fa-f]{2})")


def parse_document(text: str, name: str) -> tuple[Document, Source]:
    """Reads a grammar text.

    Args:
        text: the grammar.
        name: its file or a label, for messages.

    Raises:
        GrammarError: the text is malformed, or uses what is not supported; the message has the place.
    """
    if len(text) > MAX_TEXT:
        raise ResourceLimitError(f"{name}: the grammar has {len(text):,} characters; the limit is {MAX_TEXT:,}")
    source = Source(text, name)
    return Parser(source, tokens_of(source)).document(0), source


class Parser:
    """A position in the tokens."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self._tokens = tokens
        self._at = 0
        self._open = 0
        """Brackets in which line ends are space."""
        self._depth = 0

    @property
    def next(self) -> Token:
        """The token that is read next."""
        stop_if_cancelled()
        if self._open:
            while self._tokens[self._at].kind == "newline":
                self._at += 1
        return self._tokens[self._at]

    def take(self, kind: str) -> Token | None:
        """Reads a token if it is of a kind."""
        token = self.next
        if token.kind != kind:
            return None
        self._at += 1
        return token

    def expect(self, kind: str, message: str) -> Token:
        """Reads a token of a kind. Raises GrammarError with the message where another one stands."""
        found = self.take(kind)
        if found is None:
            raise self.error(self.next.at, message)
        return found

    def error(self, at: int, message: str) -> GrammarError:
        """The error to raise about what stands at an offset."""
        return self.source.error(at, message)

    def document(self, at: int, closed_by: str = "end") -> Document:
        """Reads items up to the end of the text, or to the brace that closes a nested grammar."""
        rules: dict[str, Definition] = {}
        terminals: dict[str, Definition] = {}
        ignored: list[Node] = []
        options: dict[str, Any] = {}
        while True:
            while self.take("newline"):
                pass
            token = self.next
            if token.kind == closed_by:
                break
            if token.kind in ("rule", "terminal"):
                self._define(rules if token.kind == "rule" else terminals, self._definition(token), rules, terminals)
            elif self.take("%ignore"):
                ignored.append(self.alternatives())
            elif self.take("%import"):
                for definition in self._imported():
                    self._define(terminals, definition, rules, terminals)
            elif token.kind in ("%llguidance", "%grammar_options"):
                options |= self._options(token)
            elif token.kind.startswith("%"):
                known = _REFUSED_DIRECTIVES.get(token.kind)
                raise self.error(token.at, known or f"directive {token.kind} is not supported here")
            else:
                raise self.error(token.at, f"expected a rule, a terminal or a directive, not {_shown(token)}")
            if self.next.kind not in ("newline", closed_by):
                raise self.error(self.next.at, f"expected the end of the line, not {_shown(self.next)}")
        return Document(
            rules,
            terminals,
            tuple(ignored),
            options.get("allow_initial_skip", False),
            options.get("skip_repetition", "repeat") == "once",
            at,
        )

    def _define(self, into: dict[str, Definition], definition: Definition, *known: dict[str, Definition]) -> None:
        first = next((some[definition.name] for some in known if definition.name in some), None)
        if first is not None:
            line = self.source.line(first.at)
            raise self.error(
                definition.at,
                f"duplicate rule or terminal {definition.name!r}, first in line {line}; join the two with | or rename one",
            )
        into[definition.name] = definition

    def _double_colon(self) -> str:
        if self.source.text.startswith("::=", self.next.at):
            return "a rule is written name: … here; with ::= the text is EBNF, which compile_grammar and .ebnf files take"
        return "parametric grammar is not supported (name::value); write the rules out"

    def _definition(self, name: Token) -> Definition:
        self._at += 1
        is_rule = name.kind == "rule"
        what = "rule" if is_rule else "terminal"
        attributes = Attributes()
        if self.next.kind == "{":
            raise self.error(self.next.at, "Lark templates are not supported; write the rule for each use")
        if self.next.kind == ".":
            raise self.error(self.next.at, "priorities are not supported: llguidance has none; leave .N out")
        if self.next.kind == "::":
            raise self.error(self.next.at, self._double_colon())
        if self.next.kind == "[":
            if not is_rule:
                raise self.error(self.next.at, "attributes are only supported on rules; give the terminal a rule")
            attributes = read_attributes(self, name.text.lstrip("!?"))
        self.expect(":", f"expected ':' after {what} name")
        return Definition(name.text.lstrip("!?"), self.alternatives(), name.at, attributes)

    def _options(self, directive: Token) -> dict[str, Any]:
        self._at += 1
        value = self.expect("value", "expected a JSON object")
        options = json.loads(value.text)
        if not isinstance(options, dict):
            raise self.error(value.at, f"{directive.text} value must be an object")
        for key, setting in options.items():
            if key in ("allow_initial_skip", "no_forcing", "allow_invalid_utf8"):
                if not isinstance(setting, bool):
                    raise self.error(value.at, f"{key} must be a boolean")
                if key == "allow_invalid_utf8" and setting:
                    raise self.error(value.at, f"{directive.text} option 'allow_invalid_utf8' is not supported: text is UTF-8")
            elif key == "skip_repetition":
                if setting not in ("once", "repeat"):
                    raise self.error(value.at, 'skip_repetition must be "once" or "repeat"')
            else:
                raise self.error(value.at, f"unknown {directive.text} option {key!r}")
        return options

    def _imported(self) -> list[Definition]:
        """The terminals of an `%import` of which that word has been read."""
        path = self._name()
        names = [path]
        while self.take("."):
            names.append(self._name())
        module = ".".join([n.text for n in names])
        if self.take("("):
            self._open += 1
            wanted = [self._name()]
            while self.take(","):
                wanted.append(self._name())
            self._open -= 1
            self._take_newlines_before(")")
            self.expect(")", "expected ')' after imported names")
            return [self._common(f"{module}.{n.text}", n.text, n.at) for n in wanted]
        local = names[-1].text
        if self.take("->"):
            local = self._name().text
        return [self._common(module, local, path.at)]

    def _take_newlines_before(self, kind: str) -> None:
        at = self._at
        while self.take("newline"):
            pass
        if self.next.kind != kind:
            self._at = at

    def _name(self) -> Token:
        found = self.take("rule") or self.take("terminal")
        if found is None:
            raise self.error(self.next.at, "expected a name")
        return found

    def _common(self, path: str, local: str, at: int) -> Definition:
        pattern = COMMON.get(path.removeprefix("common.")) if path.startswith("common.") else None
        if pattern is None:
            raise self.error(at, f"unknown common import {path!r}; there are common.{', common.'.join(COMMON)}, and no other files")
        return Definition(local, Text("regex", pattern, at), at)

    def alternatives(self) -> Node:
        """Reads alternatives, up to what cannot be one."""
        at = self.next.at
        parts = [self._conjunction()]
        while self._take_bar():
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Either(tuple(parts), at)

    def _take_bar(self) -> bool:
        at = self._at
        while self.take("newline"):
            pass
        if self.take("|"):
            return True
        self._at = at
        return False

    def _conjunction(self) -> Node:
        at = self.next.at
        parts = [self._row()]
        while self.take("&"):
            parts.append(self._row())
        return parts[0] if len(parts) == 1 else And(tuple(parts), at)

    def _row(self) -> Node:
        at = self.next.at
        parts = []
        while self.next.kind not in _ENDS_ROW:
            parts.append(self._repeated())
        if self.take("->") and self.take("rule") is None:
            raise self.error(self.next.at, "expected alias name after '->'")
        return parts[0] if len(parts) == 1 else InRow(tuple(parts), at)

    def _repeated(self) -> Node:
        at = self.next.at
        atom = self._atom()
        if self.take("*"):
            return Many(atom, 0, None, at)
        if self.take("+"):
            return Many(atom, 1, None, at)
        if self.take("?"):
            return Many(atom, 0, 1, at)
        if self.next.kind == "~" and self._tokens[self._at + 1].kind == "number":
            self._at += 1
            least = most = self._count()
            if self.take(".."):
                most = self._count()
            return self._counted(atom, least, most, at)
        brace = self.take("{")
        if brace is None:
            return atom
        if self.next.kind not in (",", "number"):
            raise self.error(brace.at, "Lark templates are not supported; a repetition is written {3}, {3,}, {,5} or {3,5}")
        least = 0 if self.next.kind == "," else self._count()
        bound: int | None = least
        if self.take(","):
            bound = None if self.next.kind == "}" else self._count()
        self.expect("}", "expected '}' after repetition")
        return self._counted(atom, least, bound, at)

    def _counted(self, atom: Node, least: int, most: int | None, at: int) -> Node:
        if most is not None and most < least:
            raise self.error(at, f"repetition end must be greater than or equal to its start: {least} to {most}")
        return Many(atom, least, most, at)

    def _count(self) -> int:
        token = self.expect("number", "expected a repetition count")
        if not token.text.isdecimal() or len(token.text) > 12 or int(token.text) > MAX_COUNT:
            raise self.error(token.at, f"invalid repetition count {token.text[:40]}; a count is 0 to {MAX_COUNT:,}")
        return int(token.text)

    def _atom(self) -> Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self.source.limit(
                self.next.at, f"groups are nested deeper than {MAX_NESTING}, which is the limit; name inner groups"
            )
        token = self.next
        if self.take("~"):
            node: Node = Not(self._atom(), token.at)
        elif self.take("("):
            node = self._group(")", "expected ')' after group")
        elif self.take("["):
            node = Many(self._group("]", "expected ']' after optional group"), 0, 1, token.at)
        elif self.take("%lark"):
            self.expect("{", "expected '{' after %lark")
            self._open, outer = 0, self._open
            node = Nested(self.document(token.at, "}"), token.at)
            self._at += 1
            self._open = outer
        else:
            node = self.value()
        self._depth -= 1
        return node

    def _group(self, closing: str, message: str) -> Node:
        self._open += 1
        node = self.alternatives()
        self.expect(closing, message)
        self._open -= 1
        return node

    def value(self) -> Node:
        """Reads what stands for text by itself: a string, a regex, a name, a token, or another grammar."""
        token = self.next
        self._at += 1
        if token.kind == "string":
            text = self._string(token)
            if self.take(".."):
                last = self.expect("string", "expected a string after '..'")
                return self._span(token, text, last)
            return Text("string of any case" if token.text.endswith("i") else "string", text, token.at)
        if token.kind == "regex":
            pattern, _, flags = token.text[1:].rpartition("/")
            return Text("regex", pattern, token.at, flags)
        if token.kind in ("rule", "terminal"):
            if self.next.kind == "::":
                raise self.error(self.next.at, "parametric grammar is not supported (name::value); write the rules out")
            return Text("rule" if token.kind == "rule" else "terminal", token.text.lstrip("!?"), token.at)
        if token.kind == "special":
            return Text("special token", token.text, token.at)
        if token.kind == "grammar":
            return Text("grammar", token.text[1:], token.at)
        if token.kind in ("%json", "%regex"):
            value = self.expect("value", "expected JSON")
            return Text("%json" if token.kind == "%json" else "%regex", value.text, value.at)
        if token.kind == "%if":
            raise self.error(token.at, "parametric %if conditions are not supported; write the rules out")
        if token.kind.startswith("%"):
            raise self.error(token.at, f"directive {token.kind} is not supported here")
        raise self.error(token.at, f"expected a string, a regular expression, a name or a group, not {_shown(token)}")

    def _span(self, first: Token, text: str, last: Token) -> Span:
        end = self._string(last)
        if first.text.endswith("i") or last.text.endswith("i"):
            raise self.error(first.at, "flags are not allowed on character ranges")
        if len(text) != 1 or len(end) != 1:
            raise self.error(first.at, "range endpoints must be one character")
        if text > end:
            raise self.error(first.at, "range start must not exceed end")
        return Span(text, end, first.at)

    def _string(self, token: Token) -> str:
        written = token.text.removesuffix("i")
        try:
            text: str = json.loads(_HEX_ESCAPE.sub(lambda m: m.group(1) or f"\\u00{m.group(2)}", written), strict=False)
            text.encode()
        except ValueError:
            escapes = '\\n \\t \\" \\\\ \\u0041'
            raise self.error(token.at, f"invalid string literal; escapes are those of JSON, and \\xHH: {escapes}") from None
        return text


def _shown(token: Token) -> str:
    return {"end": "the end of the text", "newline": "the end of the line"}.get(token.kind) or repr(token.text[:40])
