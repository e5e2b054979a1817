"""Tokens of ANTLR 4's language to rules: recursive descent, with a limit of nesting.

Labels, arguments, return values, `catch` and what `@name {…}` defines say nothing about texts, so they are read over. Actions and
predicates are refused, or dropped where the user says so.

Cost: about 3 us a token.
"""

from __future__ import annotations

from typing import Final, NoReturn

from psc._core import stop_if_cancelled
from psc.compiler.frontends.antlr.escapes import literal_text, set_ranges
from psc.compiler.frontends.antlr.nodes import (
    Alternative,
    AnyOne,
    Characters,
    Command,
    Element,
    GrammarText,
    Group,
    Name,
    Not,
    Repeated,
    Rule,
    Text,
)
from psc.compiler.frontends.antlr.tokens import tokens_of
from psc.compiler.frontends.ebnf.lexer import Source, Token
from psc.errors import GrammarError
from psc.support.readable import shortened

_MAX_NESTING: Final = 100
_REPEATS: Final[dict[str, tuple[int, int | None]]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_END: Final[Token] = ("end", "the end of the text", 0)


def read_text(source: Source, *, drops_actions: bool) -> GrammarText:
    """The rules of a text.

    Args:
        source: the text.
        drops_actions: read over actions and predicates, as if each predicate were true.

    Raises:
        GrammarError: the text is not in ANTLR 4's language, or has an action.
    """
    return _Reader(source, drops_actions).grammar()


class _Reader:
    def __init__(self, source: Source, drops_actions: bool) -> None:
        self._source = source
        self._drops_actions = drops_actions
        self._tokens = tokens_of(source)
        self._at = 0
        self._depth = 0
        self._grammar = GrammarText(source)
        self._mode = "DEFAULT_MODE"
        self._is_lexical = False

    # Tokens.

    def _peek(self, ahead: int = 0) -> Token:
        i = self._at + ahead
        return self._tokens[i] if i < len(self._tokens) else (_END[0], _END[1], len(self._source.text))

    def _next(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _takes(self, *kinds: str) -> bool:
        if self._peek()[0] not in kinds:
            return False
        self._at += 1
        return True

    def _takes_word(self, word: str) -> bool:
        if self._peek()[:2] != ("name", word):
            return False
        self._at += 1
        return True

    def _expect(self, kind: str, what: str) -> Token:
        if self._peek()[0] != kind:
            self._fail(what)
        return self._next()

    def _fail(self, what: str) -> NoReturn:
        _, text, offset = self._peek()
        raise self._source.error(offset, f"{shortened(text, 40)} cannot stand here; {what}")

    # The file.

    def grammar(self) -> GrammarText:
        grammar = self._grammar
        for kind in ("lexer", "parser"):
            if self._peek()[1] == kind and self._peek(1)[1] == "grammar":
                grammar.kind = kind
                self._at += 1
        if not self._takes_word("grammar"):
            self._fail("a text in ANTLR's language begins with grammar NAME;")
        grammar.name = self._expect("name", "the name of the grammar follows: grammar NAME;")[1]
        self._expect(";", "a semicolon follows the name of the grammar")
        while self._peek()[0] != "end":
            stop_if_cancelled()
            self._part()
        return grammar

    def _part(self) -> None:
        kind, text, offset = self._peek()
        following = self._peek(1)[0]
        if kind == "@":
            self._named_action()
        elif kind != "name":
            self._fail("a rule is written name : … ;")
        elif text == "options" and following == "{":
            self._grammar.ignores_case = bool(self._options())
        elif text in ("tokens", "channels") and following == "{":
            self._at += 2
            names = self._names("}")
            if text == "tokens":
                self._grammar.tokens += [name for name, _ in names]
            self._takes(";")
        elif text == "import" and following == "name":
            self._at += 1
            self._grammar.imports += self._names(";")
        elif text == "mode" and following == "name":
            self._at += 1
            self._mode = self._next()[1]
            self._expect(";", "a semicolon follows the name of the mode")
        else:
            self._rule(offset)

    def _names(self, end: str) -> list[tuple[str, int]]:
        names = []
        while not self._takes(end):
            _, name, offset = self._expect("name", f"names stand here, with commas between them, then {end}")
            if self._takes("="):
                _, name, offset = self._expect("name", "the name of a grammar follows")
            names.append((name, offset))
            if self._peek()[0] != end:
                self._expect(",", f"a comma or {end} follows a name")
        return names

    def _named_action(self) -> None:
        self._at += 1
        self._expect("name", "the name of an action follows @")
        if self._takes("::"):
            self._expect("name", "the name of an action follows ::")
        self._expect("action", "an action in braces follows its name")

    def _options(self) -> bool | None:
        """Reads options; the vocabulary goes into the grammar. Returns what `caseInsensitive` says, if anything."""
        self._at += 2
        ignores_case = None
        while not self._takes("}"):
            _, key, offset = self._expect("name", "an option is written name = value;")
            self._expect("=", "an option is written name = value;")
            kind, value, at = self._next()
            while self._takes("."):
                value += "." + self._next()[1]
            if kind == "end":
                self._fail("options end with }")
            self._expect(";", "a semicolon follows each option")
            if key == "caseInsensitive":
                if value not in ("true", "false"):
                    raise self._source.error(at, f"caseInsensitive is true or false, not {shortened(value, 40)}")
                ignores_case = value == "true"
            elif key == "tokenVocab":
                self._grammar.vocabulary = (value.strip("'\""), at)
            elif key == "superClass" and self._grammar.kind == "lexer" and not self._drops_actions:
                raise self._refused(offset, "this lexer has a superclass, code that may make other tokens")
        return ignores_case

    def _refused(self, offset: int, what: str) -> GrammarError:
        return self._source.error(
            offset,
            f"{what}: a mask cannot run it. Write what it decides as rules; or read over all actions and predicates with "
            "--drop-actions (drop_actions=True), as if each predicate were true",
        )

    # Rules.

    def _rule(self, start: int) -> None:
        is_fragment = False
        while self._peek()[1] in ("fragment", "public", "private", "protected") and self._peek(1)[0] == "name":
            is_fragment |= self._next()[1] == "fragment"
        _, name, offset = self._expect("name", "a rule is written name : … ;")
        self._is_lexical = name[0].isupper()
        ignores_case = self._before_colon()
        self._expect(":", f"a colon follows the name of the rule {shortened(name, 40)}")
        alternatives = self._alternatives()
        self._expect(";", f"the rule {shortened(name, 40)} ends with a semicolon")
        while self._takes_word("catch"):
            self._expect("class", "catch has an argument in brackets")
            self._expect("action", "catch has an action in braces")
        if self._takes_word("finally"):
            self._expect("action", "finally has an action in braces")
        if ignores_case is None:
            ignores_case = self._grammar.ignores_case
        self._grammar.rules.append(Rule(name, offset, self._source, alternatives, is_fragment, self._mode, ignores_case))

    def _before_colon(self) -> bool | None:
        """Reads what may stand between a rule's name and its colon; returns what `caseInsensitive` says, if anything."""
        ignores_case = None
        while True:
            if self._peek()[0] == "class":
                self._at += 1
            elif self._peek()[1] in ("returns", "locals") and self._peek(1)[0] == "class":
                self._at += 2
            elif self._peek()[1] == "throws" and self._peek(1)[0] == "name":
                self._at += 2
                while self._takes(",", ".", "name"):
                    pass
            elif self._peek()[0] == "@":
                self._rule_action()
            elif self._peek()[1] == "options" and self._peek(1)[0] == "{":
                ignores_case = self._options()
            else:
                return ignores_case

    def _rule_action(self) -> None:
        offset = self._peek()[2]
        self._named_action()
        if not self._drops_actions:
            raise self._refused(offset, "this rule has an action")

    def _alternatives(self) -> tuple[Alternative, ...]:
        found = [self._alternative()]
        while self._takes("|"):
            found.append(self._alternative())
        return tuple(found)

    def _alternative(self) -> Alternative:
        stop_if_cancelled()
        self._element_options()
        parts = []
        commands: list[Command] = []
        while self._peek()[0] not in ("|", ";", ")", "end", "#", "->"):
            part = self._element()
            if part is not None:
                parts.append(part)
        if self._takes("->"):
            commands.append(self._command())
            while self._takes(","):
                commands.append(self._command())
        if self._takes("#"):
            self._expect("name", "a label follows #")
        return Alternative(tuple(parts), tuple(commands))

    def _command(self) -> Command:
        _, name, offset = self._expect("name", "a command follows ->, such as skip")
        argument = ""
        if self._takes("("):
            argument = self._next()[1]
            self._expect(")", "a command has one argument in parentheses")
        return Command(name, argument, offset)

    def _element(self) -> Element | None:
        """An element; None for an action that is dropped."""
        kind, _, offset = self._peek()
        if kind == "action":
            self._at += 1
            is_predicate = self._takes("?")
            self._takes("=>")
            self._element_options()
            if not self._drops_actions:
                raise self._refused(offset, "this is a predicate" if is_predicate else "this is an action")
            return None
        if kind == "name" and self._peek(1)[0] in ("=", "+="):
            self._at += 2
        body = self._atom()
        self._element_options()
        repeat = self._peek()[0]
        if repeat not in _REPEATS:
            return body
        self._at += 1
        return Repeated(body, *_REPEATS[repeat], is_lazy=self._takes("?"))

    def _element_options(self) -> None:
        if self._takes("<"):
            while not self._takes(">"):
                if self._next()[0] == "end":
                    self._fail("options of an element end with >")

    def _atom(self) -> Element:
        kind, text, offset = self._next()
        source = self._source
        if kind == "name":
            if not self._is_lexical:
                self._takes("class")  # arguments
            return Name(text, offset)
        if kind == "literal":
            found = literal_text(text, offset, source)
            if not self._takes(".."):
                return Text(found, offset)
            _, last, at = self._expect("literal", "a range is written 'a'..'z'")
            return self._range(found, literal_text(last, at, source), offset)
        if kind == "class" and self._is_lexical:
            return Characters(set_ranges(text, offset, source), offset)
        if kind == ".":
            return AnyOne(offset)
        if kind == "~":
            if self._peek()[0] == "~":
                self._fail("one ~ is enough")
            return Not(self._atom(), offset)
        if kind == "(":
            return self._group(offset)
        self._at -= 1
        self._fail("names, literals '…', sets [a-z] of the lexer, ., ~ and groups ( … ) stand here")

    def _range(self, low: str, high: str, offset: int) -> Characters:
        if len(low) != 1 or len(high) != 1:
            raise self._source.error(offset, "a range is from one character to another one")
        if high < low:
            raise self._source.error(offset, "this range runs backwards; write the lower character first")
        return Characters(((ord(low), ord(high)),), offset)

    def _group(self, offset: int) -> Element:
        self._depth += 1
        if self._depth > _MAX_NESTING:
            raise self._source.limit(
                offset, f"groups are nested deeper than {_MAX_NESTING}, which is the limit; name inner groups as rules"
            )
        if self._peek()[1] == "options" and self._peek(1)[0] == "{":
            self._options()
        while self._peek()[0] == "@":
            self._rule_action()
        if self._at and self._peek()[0] == ":":
            self._at += 1
        alternatives = self._alternatives()
        self._expect(")", "this group has no closing )")
        self._depth -= 1
        return Group(alternatives)
