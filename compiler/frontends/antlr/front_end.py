"""What the registry of front ends has for ANTLR 4's language: texts to terminals and productions."""

from __future__ import annotations

import json
from dataclasses import dataclass

from psc.compiler.cfg.grammar import Cfg, LexerKind, Production, Terminal
from psc.compiler.cfg.normal_form import normal_form, without_unproductive
from psc.compiler.expressions.expression import Literal
from psc.compiler.frontends.antlr.files import Files
from psc.compiler.frontends.antlr.modes import has_modes, with_modes
from psc.compiler.frontends.antlr.nodes import GrammarText, Rule
from psc.compiler.frontends.antlr.parser_rules import ParserRules, with_end
from psc.compiler.frontends.antlr.token_types import Lexeme, TokenTypes
from psc.compiler.frontends.front_end import GrammarOptions, Settings, no_start
from psc.compiler.terminals.python_pattern import python_pattern
from psc.errors import GrammarError, ResourceLimitError
from psc.support.cached_property import cached_property

DEFAULT_START = "root"


@dataclass(frozen=True, kw_only=True)
class AntlrSettings(Settings):
    """The options of a grammar in ANTLR's language."""

    drop_actions: bool = False
    """Read over actions and predicates, as if each predicate were true."""

    @cached_property
    def text(self) -> str:
        return json.dumps({"drop_actions": True}) if self.drop_actions else ""

    @staticmethod
    def of_text(text: str) -> AntlrSettings:
        """The settings with a text. Raises GrammarError where there are none."""
        if text not in ("", '{"drop_actions": true}'):
            raise GrammarError(f"the settings of an ANTLR grammar are malformed: {text[:80]!r}")
        return AntlrSettings(drop_actions=bool(text))


def parse(text: str, options: GrammarOptions, origin: str) -> Cfg:
    """Reads a grammar.

    Args:
        text: a combined grammar, or one of a parser.
        options: the rule that a whole text must match; the first one, where this is "root" and no rule is called so.
        origin: the file's `FileOrigin`, beside which others are found, or a label.

    Raises:
        GrammarError: the text is malformed, or needs what no mask can know; the message has the place.
    """
    try:
        return _parse(text, options, origin)
    except RecursionError as e:
        raise ResourceLimitError(f"{origin}: rules of the lexer are nested too deep; name fewer of them in each other") from e


def _parse(text: str, options: GrammarOptions, origin: str) -> Cfg:
    settings = options.settings
    files = Files(text, origin, drops_actions=isinstance(settings, AntlrSettings) and settings.drop_actions)
    main = files.main
    if main.kind == "lexer":
        raise main.source.error(0, "this is the grammar of a lexer, which has no texts of its own; compile the parser's beside it")
    rules = _rules(files.parser)
    parser = {name: rule for name, rule in rules.items() if not rule.is_lexical}
    lexer = _rules(files.lexer) if files.lexer else {name: rule for name, rule in rules.items() if rule.is_lexical}
    start = options.start
    if start == DEFAULT_START and start not in parser and parser:
        start = next(iter(parser))
    if start not in parser:
        raise GrammarError(f"{origin}: {no_start(start, list(parser))}").with_position(path=origin)
    tokens = TokenTypes({n: r for n, r in lexer.items() if r.is_lexical}, parser, [*files.parser, *files.lexer], main.source)
    productions, whole = with_end(ParserRules(parser, tokens).productions, start)
    lexer_kind: LexerKind = "basic"
    if has_modes(tokens):
        lexer_kind = "modal"
        moded = with_modes(productions, whole, tokens, origin)
        productions, whole, lexemes, ignored = moded.productions, moded.start, moded.lexemes, moded.ignored
    else:
        lexemes = tokens.lexemes
        ignored = frozenset(lexeme.name for lexeme in lexemes if lexeme.type is None)
        for name in tokens.names:
            of_type = [lexeme.name for lexeme in lexemes if lexeme.type == name]
            if of_type != [name]:
                productions[name] = [(lexeme,) for lexeme in of_type]
    terminals = _terminals(lexemes, ignored)
    number = {name: i for i, name in enumerate([*(t.name for t in terminals), "", *productions])}
    grammar = Cfg(
        source=text,
        source_name=origin,
        imports=files.imports,
        start=whole,
        asked_for=start,
        terminals=terminals,
        nonterminals=tuple(productions),
        productions=tuple(
            Production(number[name], tuple([number[symbol] for symbol in row]), 0)
            for name, rows in productions.items()
            for row in rows
        ),
        lexer=lexer_kind,
        keep_all_actions=True,
        language="antlr",
        settings=settings.text,
    )
    return normal_form(without_unproductive(grammar))


def _rules(texts: list[GrammarText]) -> dict[str, Rule]:
    """The rules of texts by name; those of the first win over those that it imports."""
    found: dict[str, Rule] = {}
    for text in texts:
        for rule in text.rules:
            own = found.get(rule.name)
            if own is None:
                found[rule.name] = rule
            elif own.source is rule.source:
                raise rule.source.error(
                    rule.offset,
                    f"the rule {rule.name[:40]} is defined twice, first on line {own.source.line(own.offset)}; keep one of them",
                )
    return found


def _terminals(lexemes: list[Lexeme], ignored: frozenset[str]) -> tuple[Terminal, ...]:
    return tuple(
        Terminal(
            name=lexeme.name,
            pattern=python_pattern(lexeme.expression),
            text=lexeme.expression.text if isinstance(lexeme.expression, Literal) else None,
            flags=frozenset(),
            priority=0,
            lark_order=i,
            rank=i,
            ignored=lexeme.name in ignored,
            line=lexeme.line,
            expression=lexeme.expression,
        )
        for i, lexeme in enumerate(lexemes)
    )
