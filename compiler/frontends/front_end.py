"""What a front end is: how text in one language becomes a grammar, and what else the rest of psc needs to know of the language.

A front end is a class derived from :class:`FrontEnd`, and its one instance in the registry. The base class answers for a language
that has no imports, no other spelling of a text, no warnings; a class overrides what its language has, so that a type checker sees
a method that is missing or takes something else. Methods import the language's parser when they are called: looking a suffix up, or
the key of an artifact, imports none, which a serving host has no time for.

Tried and dropped: an entry of flags and the name of a module, whose functions were found by their names. Nothing but a test said
which functions a flag needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from psc.errors import GrammarError
from psc.support.cached_property import cached_property
from psc.support.readable import shortened
from psc.support.regular_file import FileOrigin

if TYPE_CHECKING:
    from psc._core import LrTables
    from psc.compiler.cfg.grammar import Cfg, LexerKind
    from psc.compiler.cfg.terminals import TerminalAutomaton
    from psc.compiler.expressions.expression import RuleSet
    from psc.compiler.expressions.tokens import TokenNames
    from psc.compiler.frontends.parsed import ParsedGrammar

Imports = tuple[tuple[str, str], ...]
"""(name relative to the grammar's folder, sha256 of the text) of every file that a grammar imports, sorted."""

UNNAMED = "<string>"
"""The origin of text that came from no file."""


def origin_of(source_name: str) -> str:
    """The origin for ``source_name``, an argument of the API: a file of which the program says so, unless it says none."""
    return source_name if source_name == UNNAMED else FileOrigin(source_name)


class Settings:
    """Options that only one language has; this class has none. Two are equal if their texts are."""

    @cached_property
    def text(self) -> str:
        """What differs from the language's defaults, as canonical JSON, for keys and metadata; of the defaults the empty text."""
        return ""

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Settings) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)


NO_SETTINGS: Final = Settings()


@dataclass(frozen=True)
class GrammarOptions:
    """How a grammar's text is meant to be read: a part of the request, and so of an artifact's key."""

    start: str
    """The rule that a whole text must match."""
    lexer: LexerKind
    """How text becomes terminals, see docs/language.md."""
    keep_all_actions: bool
    """Whether any context-free grammar is taken as it is, or clashes are resolved as Lark does."""
    settings: Settings = NO_SETTINGS
    """The language's own options."""


@dataclass(frozen=True, kw_only=True)
class FrontEnd(ABC):
    """A language that grammars are written in. Only :meth:`read` has no default."""

    language: str
    """What artifacts and keys call it."""
    title: str
    """What people call it."""
    a_grammar: str
    """A grammar in it, with an article, for messages."""
    suffixes: tuple[str, ...] = ()
    """Of its files, in lower case."""
    lexers: tuple[LexerKind, ...] = ("any",)
    """What the option ``lexer`` may be."""
    defaults: GrammarOptions = GrammarOptions(start="root", lexer="any", keep_all_actions=True)
    """By default those of a language of characters: it has no lexer, and every way is followed."""
    has_rules: bool = True
    """Whether ``start`` may be chosen."""
    has_settings: bool = False
    """Whether it has options of its own; then :meth:`settings_of` reads them."""
    has_schema_settings: bool = False
    """Whether those may be the options of JSON schemas."""
    keeps_tables: bool = False
    """Whether parsing takes so much longer than reading a grammar's tables from a file that they are kept in one."""

    def options(
        self,
        *,
        start: str | None = None,
        lexer: LexerKind | None = None,
        keep_all_actions: bool = False,
        settings: Settings = NO_SETTINGS,
        origin: str = UNNAMED,
    ) -> GrammarOptions:
        """The options of a grammar, where a caller gave some.

        Args:
            start: None is the language's default, as for the next.
            lexer: one of ``lexers``.
            keep_all_actions: False is the language's default, too.
            settings: the language's own options.
            origin: of the grammar, for messages.

        Raises:
            GrammarError: an option does not fit the language.
        """
        if keep_all_actions and self.defaults.keep_all_actions:
            raise self._no_choice(origin)
        options = GrammarOptions(
            self.defaults.start if start is None else start,
            self.defaults.lexer if lexer is None else lexer,
            keep_all_actions or self.defaults.keep_all_actions,
            settings,
        )
        self.check(options, origin)
        return options

    def check(self, options: GrammarOptions, origin: str) -> None:
        """Raises GrammarError when an option does not fit the language."""
        if options.lexer not in self.lexers:
            if len(self.lexers) == 1:
                raise self._no_choice(origin)
            raise GrammarError(
                f"lexer={shortened(repr(options.lexer), 60)}: {self.a_grammar} is lexed by {' or '.join(map(repr, self.lexers))}"
            )
        if self.defaults.keep_all_actions and not options.keep_all_actions:
            raise self._no_choice(origin)
        if not self.has_settings and options.settings.text:
            raise GrammarError(f"{origin}: {self.a_grammar} has no settings")
        if not self.has_rules and options.start != self.defaults.start:
            raise GrammarError(f"{origin}: {self.a_grammar} has no rules, so there is no start to choose")

    def parse(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None = None) -> ParsedGrammar:
        """The grammar that a text is.

        Args:
            text: the grammar.
            options: how it is meant.
            origin: where it is from.
            names: of the vocabulary's tokens; None where it is not known yet.

        Raises:
            GrammarError: the text is malformed.
        """
        from psc.compiler.frontends.parsed import parsed_grammar

        text = check_text(text, origin)
        return parsed_grammar(self.read(text, options, origin, names), names)

    @abstractmethod
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet | Cfg:
        """The same of what was checked to be text: a ``RuleSet`` (a language of characters) or a ``Cfg`` (with a lexer)."""

    def settings_of(self, text: str) -> Settings:
        """The settings with a text, see ``Settings.text``. Raises GrammarError: no settings have it."""
        if text:
            raise GrammarError(f"{self.a_grammar} has no settings")
        return NO_SETTINGS

    def named_settings(self, option: str) -> Settings:
        """The settings that a bundled grammar's name may end in: what stands after its `?`, if anything. Raises GrammarError."""
        if option:
            raise GrammarError(f"?{shortened(option)}: {self.a_grammar} has no such option")
        return NO_SETTINGS

    def language_of(self, text: str) -> str:
        """The language that a text in one of its files is in: its own, or that of another front end, by what only that one has."""
        return self.language

    def lexer_of(self, text: str) -> LexerKind | None:
        """The lexer that a text says itself; None where it says none."""
        return None

    def canonical(self, text: str) -> str:
        """The text that stands for all that mean the same, of which the key is made; the text itself where it is malformed."""
        return text

    def order_free(self, text: str) -> str | None:
        """A text that others have in common which mean the same, and differ in the order of some things; None where none is known.

        Nothing is checked, but a text with which something is wrong has none in common with a text that is sound.
        """
        return None

    def unread(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> ParsedGrammar:
        """The grammar of a text in which nothing is wrong; it may be read when it is needed."""
        return self.parse(text, options, origin, names)

    def names_tokens(self, text: str, settings: Settings) -> bool:
        """Whether a text may name tokens: what is compiled of it is then for one vocabulary's tokens alone.

        A front end tells without parsing, and says the same of a text and of its canonical form. It must say True of each text
        whose grammar depends on more of a vocabulary than its text tokens, and may of others, such as EBNF with ``Token(`` inside
        a literal: what these are compiled to is then made anew for other special tokens, stop tokens or another size, where it
        would have served.

        Args:
            text: the grammar.
            settings: the language's own options.
        """
        return True

    def imports(self, text: str, origin: str) -> Imports | None:
        """The files that a grammar imports; None when only parsing can tell them."""
        return ()

    def edge_warnings(self, grammar: Cfg) -> tuple[str, ...]:
        """Where an assertion looks over the edge of a terminal, which psc judges otherwise than the language's own tool."""
        return ()

    def is_bundled(self, text: str) -> bool:
        """Whether a text is a bundled grammar, whose conflicts are decided on purpose."""
        return False

    def warnings(self, grammar: Cfg, automaton: TerminalAutomaton, lr: LrTables) -> tuple[str, ...]:
        """Where the language's own tool would lex another text than psc does."""
        return ()

    def _no_choice(self, origin: str) -> GrammarError:
        return GrammarError(
            f"{origin}: {self.a_grammar} is a language of characters: it has no lexer to choose, and keeps all actions"
        )


class RefusedTextError(GrammarError):
    """A text that is not in its language, with what another language makes of it, so that nobody parses it again to read it so.

    Args:
        refused: why it is not in its language.
        language: the other one.
        instead: the rules of the text there, or why it has none.
        hint: what the message says of that language where there are rules.
    """

    def __init__(self, refused: GrammarError, language: str, instead: RuleSet | GrammarError, hint: str) -> None:
        super().__init__(str(refused) if isinstance(instead, GrammarError) else f"{refused}\n{hint}")
        self.with_position(path=refused.path, line=refused.line, column=refused.column, pointer=refused.pointer)
        self.refused = refused
        self.language = language
        self.instead = instead

    def __reduce__(self) -> tuple[Any, ...]:
        return _reworded, (self.refused, str(self))  # for another process; rules of the native core stay where they are


def _reworded(error: GrammarError, message: str) -> GrammarError:
    return error.reworded(message)


def no_start(start: str, rules: Sequence[str]) -> str:
    """What is said where there is no rule to start from; `rules` are those that there are."""
    names = sorted(rules)
    if not names:
        return f"there is no rule {shortened(start)!r} to start from, and no other rule; define {shortened(start)}"
    most = 8
    listed = ", ".join(map(shortened, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
    are = "the only rule is" if len(names) == 1 else "the rules are"
    return f"there is no rule {shortened(start)!r} to start from; {are} {listed}. Define it, or name another one as the start"


def check_text(text: object, what: str) -> str:
    """The text, with two halves of a surrogate pair as the character that they are: programs of UTF-16 pass them so.

    Raises TypeError for what is no text, and GrammarError for half of a pair, which no encoding has.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        pass
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as e:
        whole = e.object[: e.start].decode("utf-16-le")
        line, column = whole.count("\n") + 1, len(whole) - whole.rfind("\n")
        code = int.from_bytes(e.object[e.start : e.start + 2], "little")
        raise GrammarError(
            f"{what}: line {line}, column {column} has U+{code:04X}, half of a surrogate pair, which is no character; write both "
            "halves"
        ).with_position(path=what, line=line, column=column) from None
