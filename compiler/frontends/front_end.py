"""What a front end is: how text in one language becomes a grammar, and all else that the rest of psc has to know of the language.

A front end is a folder beside this file with a module of functions, and an entry in the registry. The entry names the module, so
that looking a suffix up, or the key of an artifact, imports no parser: a serving host may have neither the package that a parser
needs nor the time to import one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from psc.errors import GrammarError, needs_extra

if TYPE_CHECKING:
    from collections.abc import Callable

    from psc._core import LrTables
    from psc.compiler.cfg.grammar import Cfg, LexerKind
    from psc.compiler.cfg.terminals import TerminalAutomaton
    from psc.compiler.expressions.expression import RuleSet
    from psc.compiler.expressions.tokens import TokenNames

Imports = tuple[tuple[str, str], ...]
"""(name relative to the grammar's folder, sha256 of the text) of every file that a grammar imports, sorted."""

UNNAMED = "<string>"
"""The origin of text that came from no file."""


@dataclass(frozen=True)
class GrammarOptions:
    """How a grammar's text is meant to be read: a part of what was asked for, and so of an artifact's key."""

    start: str
    """The rule that a whole text must match."""
    lexer: LexerKind
    """How text becomes terminals, see docs/language.md."""
    keep_all_actions: bool
    """Whether any context-free grammar is taken as it is, or clashes are resolved as Lark does."""
    settings: str = ""
    """The language's own options, as text that its front end reads; empty: its defaults."""


@dataclass(frozen=True, kw_only=True)
class FrontEnd:
    """A language that grammars are written in.

    ``module`` names the module with the functions. ``parse(text, options, origin)`` gives a ``RuleSet`` (a language of characters)
    or a ``Cfg`` (terminals and productions), and raises GrammarError; with ``has_tokens`` it takes a fourth argument, what is known
    of the vocabulary (`psc.compiler.expressions.tokens.TokenNames`) or None. More are there if the language has the matter:
    ``language_of(text)``, as :meth:`language_of`, ``names_tokens(text, settings)``, as :meth:`names_tokens`,
    ``order_free(text)`` and ``unread(text, origin, names)``, as these methods, ``find_imports(text, origin)``, as :meth:`imports`,
    ``canonical(text)``, as :meth:`canonical`, and ``differences(grammar, automaton, lr)``, as :meth:`warnings`.
    """

    language: str
    """What artifacts and keys call it."""
    title: str
    """What people call it."""
    a_grammar: str
    """A grammar in it, with an article, for messages."""
    module: str
    defaults: GrammarOptions
    suffixes: tuple[str, ...] = ()
    """Of its files, in lower case."""
    lexers: tuple[LexerKind, ...] = ("any",)
    """What the option ``lexer`` may be."""
    has_rules: bool = True
    """Whether ``start`` may be chosen."""
    has_imports: bool = False
    has_dialects: bool = False
    """Whether some texts in its files are in another language, see :meth:`language_of`."""
    has_tokens: bool = False
    """Whether its grammars may name tokens; then the module should have ``names_tokens``, see :meth:`names_tokens`."""
    tokens_look_like: str = ""
    """With ``has_tokens``, a pattern that is found in each text that names tokens, so that for others no parser is imported."""
    has_settings: bool = False
    """Whether it has options of its own, see ``GrammarOptions.settings``."""
    has_canonical_text: bool = False
    """Whether texts that differ in layout only have one form, see :meth:`canonical`."""
    has_order_free_text: bool = False
    """Whether texts that differ in the order of some things only mean the same, see :meth:`order_free`."""
    differs: bool = False
    """Whether there are texts that the language's own tool would lex in another way."""
    extra: str | None = None
    """The extra of psc that parsing needs."""
    keeps_tables: bool = False
    """Whether parsing takes so much longer than reading a grammar's tables from a file that they are kept in one."""

    def options(
        self,
        *,
        start: str | None = None,
        lexer: LexerKind | None = None,
        keep_all_actions: bool = False,
        settings: str = "",
        origin: str = UNNAMED,
    ) -> GrammarOptions:
        """The options of a grammar, where a caller gave some.

        Args:
            start: None is the language's default, as for the next.
            lexer: one of ``lexers``.
            keep_all_actions: False is the language's default, too.
            settings: see ``GrammarOptions``.
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
            raise GrammarError(f"lexer={options.lexer!r}: {self.a_grammar} is lexed by {' or '.join(map(repr, self.lexers))}")
        if self.defaults.keep_all_actions and not options.keep_all_actions:
            raise self._no_choice(origin)
        if options.settings and not self.has_settings:
            raise GrammarError(f"{origin}: {self.a_grammar} has no settings")
        if not self.has_rules and options.start != self.defaults.start:
            raise GrammarError(f"{origin}: {self.a_grammar} has no rules, so there is no start to choose")

    def parse(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None = None) -> RuleSet | Cfg:
        """The grammar that a text is.

        Args:
            text: the grammar.
            options: how it is meant.
            origin: where it is from.
            names: of the vocabulary's tokens; None where it is not known yet.

        Raises:
            GrammarError: the text is malformed.
            MissingExtraError: parsing needs a package that is not installed.
        """
        check_text(text, origin)
        arguments = (text, options, origin, names) if self.has_tokens else (text, options, origin)
        if self.extra is None:
            parsed: RuleSet | Cfg = self._function("parse")(*arguments)
            return parsed
        with needs_extra(self.extra):
            parsed = self._function("parse")(*arguments)
        return parsed

    def language_of(self, text: str) -> str:
        """The language that a text in one of its files is in: its own, or that of another front end, by what only that one has."""
        if not self.has_dialects:
            return self.language
        language: str = self._function("language_of")(text)
        return language

    def canonical(self, text: str) -> str:
        """The text that stands for all that mean the same, of which the key is made; the text itself where it is malformed."""
        if not self.has_canonical_text:
            return text
        canonical: str = self._function("canonical")(text)
        return canonical

    def order_free(self, text: str) -> str | None:
        """A text that others have in common which mean the same, and differ in the order of some things; None where none is known.

        Nothing is checked, but a text with which something is wrong has none in common with a text that is sound.
        """
        if not self.has_order_free_text:
            return None
        found: str | None = self._function("order_free")(text)
        return found

    def unread(self, text: str, origin: str, names: TokenNames | None) -> RuleSet:
        """The rules of a text in which nothing is wrong, of a language with ``has_order_free_text``; they are read when needed."""
        rules: RuleSet = self._function("unread")(text, origin, names)
        return rules

    def names_tokens(self, text: str, settings: str) -> bool:
        """Whether a text may name tokens: what is compiled of it is then for one vocabulary's tokens alone.

        A front end with ``has_tokens`` tells without parsing. It must say so of each text whose grammar depends on more of a
        vocabulary than its text tokens, and may of others, such as EBNF with ``Token(`` inside a literal: what these are compiled
        to is then made anew for other special tokens, stop tokens or another size, where it would have served.
        Of a module without the function, each text may name tokens.

        Args:
            text: the grammar, in its canonical form.
            settings: see ``GrammarOptions.settings``.
        """
        if not self.has_tokens or not (settings or re.search(self.tokens_look_like, text)):
            return False
        module = import_module(self.module)
        return bool(module.names_tokens(text, settings)) if hasattr(module, "names_tokens") else True

    def imports(self, text: str, origin: str) -> Imports | None:
        """The files that a grammar imports; None when only parsing can tell them."""
        if not self.has_imports:
            return ()
        found: Imports | None = self._function("find_imports")(text, origin)
        return found

    def warnings(self, grammar: Cfg, automaton: TerminalAutomaton, lr: LrTables) -> tuple[str, ...]:
        """Where the language's own tool would lex another text than psc does."""
        return tuple(self._function("differences")(grammar, automaton, lr)) if self.differs else ()

    def _function(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(import_module(self.module), name)
        return function

    def _no_choice(self, origin: str) -> GrammarError:
        return GrammarError(
            f"{origin}: {self.a_grammar} is a language of characters: it has no lexer to choose, and keeps all actions"
        )


def check_text(text: object, what: str) -> None:
    """Raises TypeError for what is no text, and GrammarError for half of a surrogate pair, which no encoding has."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as e:
            line = text.count("\n", 0, e.start) + 1
            raise GrammarError(
                f"{what}: line {line} has U+{ord(text[e.start]):04X}, half of a surrogate pair, which is no character; "
                "write both halves"
            ) from None
