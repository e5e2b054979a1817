"""The front ends, by the language that they read: a class each, and the only place that names them all.

The API, the command line, keys, artifacts and batches ask here. To add a language, add its folder, and here its class with one
instance. Methods import the language's modules, so that importing this module imports no parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from psc.compiler.frontends.front_end import NO_SETTINGS, UNNAMED, FrontEnd, GrammarOptions, Imports, Settings, check_text
from psc.compiler.frontends.lark.first_line import said
from psc.errors import GrammarError

if TYPE_CHECKING:
    from psc._core import LrTables
    from psc.compiler.cfg.grammar import Cfg, LexerKind
    from psc.compiler.cfg.terminals import TerminalAutomaton
    from psc.compiler.expressions.expression import RuleSet
    from psc.compiler.expressions.tokens import TokenNames
    from psc.compiler.frontends.parsed import ParsedGrammar
    from psc.compiler.frontends.request import GrammarRequest

_INDENTER: Final = '{"indenter"'
"""How the text of settings begins that say what Lark's Indenter does."""
_LIKE_EBNF_TOKENS: Final = re.compile(r"<[^\s<>]|Token")
"""What a text in EBNF has that names tokens; no parser is imported for others."""


def _layout_settings(text: str) -> Settings:
    from psc.compiler.frontends.layout import LayoutSettings

    return LayoutSettings.of_text(text) if text else NO_SETTINGS


class _Lark(FrontEnd):
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> Cfg:
        from psc.compiler.frontends.lark.front_end import parse

        return parse(text, options, origin, names)

    def options(
        self,
        *,
        start: str | None = None,
        lexer: LexerKind | None = None,
        keep_all_actions: bool = False,
        settings: Settings = NO_SETTINGS,
        origin: str = UNNAMED,
    ) -> GrammarOptions:
        if settings.text.startswith(_INDENTER):
            from psc.compiler.frontends.lark.indenter_settings import options_with_indenter

            lexer, settings = options_with_indenter(settings, lexer, every_way=keep_all_actions)
            keep_all_actions = True
        return super().options(start=start, lexer=lexer, keep_all_actions=keep_all_actions, settings=settings, origin=origin)

    def settings_of(self, text: str) -> Settings:
        if text.startswith(_INDENTER):
            from psc.compiler.frontends.lark.indenter_settings import IndenterSettings

            return IndenterSettings.of_text(text)
        return _layout_settings(text)

    def named_settings(self, option: str) -> Settings:
        from psc.compiler.frontends.layout import named

        return named(option)

    def language_of(self, text: str) -> str:
        from psc.compiler.frontends.llguidance.recognition import is_dialect

        return "llguidance" if is_dialect(text) else self.language

    def lexer_of(self, text: str) -> LexerKind | None:
        return cast("LexerKind | None", said(text).get("lexer"))  # options() refuses what is no lexer

    def names_tokens(self, text: str, settings: Settings) -> bool:
        return False

    def imports(self, text: str, origin: str) -> Imports | None:
        from psc.compiler.frontends.lark.imports import find_imports

        return find_imports(text, origin)

    def edge_warnings(self, grammar: Cfg) -> tuple[str, ...]:
        from psc.compiler.frontends.lark.edge_assertions import edge_warnings

        return edge_warnings(grammar)

    def is_bundled(self, text: str) -> bool:
        from psc.compiler.grammars import bundled_lark_texts

        return text in bundled_lark_texts()

    def warnings(self, grammar: Cfg, automaton: TerminalAutomaton, lr: LrTables) -> tuple[str, ...]:
        from psc.compiler.frontends.lark.differences import lark_differences

        return () if self.lexer_of(grammar.source) else lark_differences(grammar, automaton, lr)  # it is written for psc


class _Ebnf(FrontEnd):
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        from psc.compiler.frontends.ebnf.layout import load_bounded
        from psc.compiler.frontends.ebnf.parser import load_ebnf
        from psc.compiler.frontends.layout import LayoutSettings

        if isinstance(options.settings, LayoutSettings):
            return load_bounded(text, options.settings, root=options.start, source_name=origin)
        return load_ebnf(text, root=options.start, source_name=origin, names=names)

    def settings_of(self, text: str) -> Settings:
        return _layout_settings(text)

    def named_settings(self, option: str) -> Settings:
        from psc.compiler.frontends.layout import named

        return named(option)

    def language_of(self, text: str) -> str:
        from psc.compiler.frontends.iso.recognition import is_iso
        from psc.compiler.frontends.w3c.recognition import is_w3c

        return "iso_ebnf" if is_iso(text) else "w3c_ebnf" if is_w3c(text) else self.language

    def names_tokens(self, text: str, settings: Settings) -> bool:
        if _LIKE_EBNF_TOKENS.search(text) is None:
            return False
        from psc.compiler.frontends.ebnf.lexer import names_tokens

        return names_tokens(text)


class _W3c(FrontEnd):
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        from psc.compiler.frontends.w3c.parser import load_w3c

        return load_w3c(text, start=options.start, source_name=origin)

    def names_tokens(self, text: str, settings: Settings) -> bool:
        return False


class _Iso(FrontEnd):
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        from psc.compiler.frontends.iso.parser import load_iso

        return load_iso(text, start=options.start, source_name=origin)

    def names_tokens(self, text: str, settings: Settings) -> bool:
        return False


class _Antlr(FrontEnd):
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> Cfg:
        from psc.compiler.frontends.antlr.front_end import parse

        return parse(text, options, origin)

    def settings_of(self, text: str) -> Settings:
        from psc.compiler.frontends.antlr.front_end import AntlrSettings

        return AntlrSettings.of_text(text) if text else NO_SETTINGS

    def names_tokens(self, text: str, settings: Settings) -> bool:
        return False

    def imports(self, text: str, origin: str) -> Imports | None:
        from psc.compiler.frontends.antlr.files import find_imports

        return find_imports(text, origin)

    def _no_choice(self, origin: str) -> GrammarError:
        return GrammarError(f"{origin}: {self.a_grammar} has one lexer, ANTLR's, and keeps all actions, so there is none to choose")


class _Regex(FrontEnd):
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        from psc.compiler.frontends.regex.parser import regex_rule_set

        return regex_rule_set(text, source_name="<regex>" if origin == UNNAMED else origin)

    def names_tokens(self, text: str, settings: Settings) -> bool:
        return False


class _JsonSchema(FrontEnd):
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        from psc.compiler.frontends.json_schema.front_end import rules_of
        from psc.compiler.frontends.json_schema.settings import SchemaSettings

        origin = "<JSON schema>" if origin == UNNAMED else origin
        return rules_of(text, SchemaSettings.among(options.settings), origin, unique_items=True)

    def parse(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None = None) -> ParsedGrammar:
        from psc.compiler.frontends.json_schema.front_end import rules_of
        from psc.compiler.frontends.json_schema.settings import SchemaSettings
        from psc.compiler.frontends.parsed import ParsedRules

        settings = SchemaSettings.among(options.settings)
        if not settings.any_order:
            return super().parse(text, options, origin, names)
        text = check_text(text, origin)
        read = partial(rules_of, text, settings, "<JSON schema>" if origin == UNNAMED else origin, unique_items=True)
        return ParsedRules(read(few_sets=True), names, written_out=partial(read, warns=False))

    def settings_of(self, text: str) -> Settings:
        from psc.compiler.frontends.json_schema.settings import SchemaSettings

        return SchemaSettings.of_text(text)

    def language_of(self, text: str) -> str:
        from psc.compiler.frontends.structural_tag.front_end import is_one

        return "structural_tag" if is_one(text) else self.language

    def canonical(self, text: str) -> str:
        from psc.compiler.frontends.json_schema.front_end import canonical

        return canonical(text)

    def names_tokens(self, text: str, settings: Settings) -> bool:
        return False


class _Llguidance(FrontEnd):
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        from psc.compiler.frontends.llguidance.front_end import parse

        return parse(text, options, origin, names)

    def settings_of(self, text: str) -> Settings:
        from psc.compiler.frontends.llguidance.grammars import NamedGrammars

        return NamedGrammars.of_text(text)

    def names_tokens(self, text: str, settings: Settings) -> bool:
        from psc.compiler.frontends.llguidance.front_end import names_tokens

        return names_tokens(text, settings)


class _StructuralTag(FrontEnd):
    """Each of its texts may name tokens: those of the models' markers. Its settings are of schemas whose formats say nothing."""

    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        from psc.compiler.frontends.json_schema.settings import SchemaSettings
        from psc.compiler.frontends.structural_tag.front_end import parse

        return parse(text, SchemaSettings.among(options.settings), origin, names)

    def settings_of(self, text: str) -> Settings:
        from psc.compiler.frontends.json_schema.settings import SchemaSettings

        return SchemaSettings.of_text(text)

    def canonical(self, text: str) -> str:
        from psc.compiler.frontends.structural_tag.front_end import canonical

        return canonical(text)

    def order_free(self, text: str) -> str | None:
        from psc.compiler.frontends.structural_tag.front_end import order_free

        return order_free(text)

    def unread(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> ParsedGrammar:
        from psc.compiler.frontends.json_schema.settings import SchemaSettings
        from psc.compiler.frontends.parsed import parsed_grammar
        from psc.compiler.frontends.structural_tag.front_end import unread

        return parsed_grammar(unread(text, SchemaSettings.among(options.settings), origin, names), names)

    def imports(self, text: str, origin: str) -> Imports:
        from psc.compiler.frontends.structural_tag.front_end import find_imports

        return find_imports(text)


class _Combination(FrontEnd):
    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        from psc.compiler.frontends.combination.front_end import parse

        return parse(text, origin, names)

    def names_tokens(self, text: str, settings: Settings) -> bool:
        from psc.compiler.frontends.combination.front_end import names_tokens

        return names_tokens(text)


FRONT_ENDS: dict[str, FrontEnd] = {
    front_end.language: front_end
    for front_end in (
        _Lark(
            language="lark",
            title="Lark",
            a_grammar="a Lark grammar",
            suffixes=(".lark",),
            lexers=("contextual", "basic", "flush", "flush-contextual", "modal", "flush-modal", "indented"),
            defaults=GrammarOptions(start="start", lexer="contextual", keep_all_actions=False),
            has_settings=True,
            keeps_tables=True,
        ),
        _Ebnf(language="ebnf", title="EBNF", a_grammar="an EBNF grammar", suffixes=(".ebnf", ".gbnf"), has_settings=True),
        _W3c(language="w3c_ebnf", title="W3C's EBNF", a_grammar="a grammar in W3C's EBNF"),
        _Iso(language="iso_ebnf", title="ISO's EBNF", a_grammar="a grammar in ISO's EBNF"),
        _Antlr(
            language="antlr",
            title="ANTLR 4",
            a_grammar="an ANTLR grammar",
            suffixes=(".g4",),
            lexers=("basic",),
            defaults=GrammarOptions(start="root", lexer="basic", keep_all_actions=True),
            has_settings=True,
            keeps_tables=True,
        ),
        _Regex(language="regex", title="regular expression", a_grammar="a regular expression", has_rules=False),
        _JsonSchema(
            language="json_schema",
            title="JSON Schema",
            a_grammar="a JSON schema",
            suffixes=(".json",),
            has_rules=False,
            has_settings=True,
            has_schema_settings=True,
        ),
        _Llguidance(
            language="llguidance",
            title="llguidance's dialect of Lark",
            a_grammar="a grammar in llguidance's dialect of Lark",
            defaults=GrammarOptions(start="start", lexer="any", keep_all_actions=True),
            has_settings=True,
            has_schema_settings=True,
        ),
        _StructuralTag(
            language="structural_tag",
            title="structural tag",
            a_grammar="a structural tag",
            has_rules=False,
            has_settings=True,
            has_schema_settings=True,
        ),
        _Combination(
            language="combination", title="combination of grammars", a_grammar="a combination of grammars", has_rules=False
        ),
    )
}


def front_end(language: str) -> FrontEnd:
    """The front end of a language. Raises GrammarError where there is none."""
    found = FRONT_ENDS.get(language)
    if found is None:
        raise GrammarError(f"there is no language {language!r}; psc reads {', '.join(FRONT_ENDS)}")
    return found


def indenter_settings(indenter: object) -> Settings:
    """The settings of a Lark grammar with an indenter, see ``IndenterSettings.of``. Raises GrammarError for what is none."""
    from psc.compiler.frontends.lark.indenter_settings import IndenterSettings

    return IndenterSettings.of(indenter)


def antlr_settings(*, drop_actions: bool) -> Settings:
    """The settings of an ANTLR grammar, see :class:`psc.compiler.frontends.antlr.front_end.AntlrSettings`."""
    from psc.compiler.frontends.antlr.front_end import AntlrSettings

    return AntlrSettings(drop_actions=drop_actions)


def combined(
    kind: str, requests: Sequence[GrammarRequest], grammars: Sequence[ParsedGrammar]
) -> tuple[GrammarRequest, ParsedGrammar]:
    """The union or the concatenation of grammars, see :func:`psc.compiler.frontends.combination.front_end.combined`."""
    from psc.compiler.frontends.combination import front_end

    return front_end.combined(kind, requests, grammars)


def front_end_of(suffix: str) -> FrontEnd | None:
    """The front end of files with a suffix, such as ``.ebnf``, in any case; None where there is none."""
    return next((f for f in FRONT_ENDS.values() if suffix.lower() in f.suffixes), None)


def suffixes() -> list[str]:
    """The suffixes of all grammar files."""
    return [suffix for f in FRONT_ENDS.values() for suffix in f.suffixes]


def title(language: str) -> str:
    """What people call a language; its own name, where this psc does not know the language (an artifact of a newer one)."""
    return FRONT_ENDS[language].title if language in FRONT_ENDS else language
