"""The options with which a command reads a grammar, and how a command that takes an artifact takes a grammar too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click

from psc.artifacts.format import read_file
from psc.cli.schema_options import SchemaOptions, schema_options
from psc.cli.tokenizers import tokenizer_for
from psc.compiler.cfg.grammar import LarkLexer
from psc.compiler.frontends.front_end import NO_SETTINGS
from psc.compiler.frontends.lookup import GrammarFile, find_grammar, is_grammar
from psc.compiler.frontends.registry import antlr_settings, front_end, indenter_settings, suffixes
from psc.compiler.frontends.request import GrammarRequest
from psc.grammars.compiled_grammar import CompiledGrammar, compile_just_in_time
from psc.grammars.grammar import Grammar
from psc.grammars.recorded_tokenizer import recorded_tokenizer
from psc.support.regular_file import FileOrigin
from psc.vocabulary import load_tokenizer

*_OTHERS, _LAST = suffixes()
GRAMMAR_FILE = f"{', '.join(_OTHERS)} or {_LAST} file"
GRAMMAR_HELP = f"an artifact, or a bundled name or the path of a {GRAMMAR_FILE}, which needs --tokenizer"


@dataclass(frozen=True)
class Chosen:
    """The values of `grammar_options`."""

    start: str | None = None
    lexer: LarkLexer | None = None
    keep_all_actions: bool = False
    refuse_conflicts: bool = False
    schema: SchemaOptions | None = None
    indenter: str | None = None
    drop_actions: bool = False

    def of(self, grammar: GrammarFile) -> dict[str, Any]:
        """The keywords of a grammar's request. Raises click.UsageError for options of another language.

        Raises GrammarError for an indenter that is none.
        """
        settings = NO_SETTINGS if self.schema is None else self.schema.of(grammar)
        if self.indenter is not None:
            if grammar.language != "lark" or grammar.bundled:
                what = "bundled" if grammar.bundled else front_end(grammar.language).a_grammar
                raise click.UsageError(f"--indenter: of Lark grammars; {grammar.name} is {what}")
            settings = indenter_settings(self.indenter)
        if self.drop_actions:
            if grammar.language != "antlr":
                raise click.UsageError(
                    f"--drop-actions: of ANTLR grammars; {grammar.name} is {front_end(grammar.language).a_grammar}"
                )
            settings = antlr_settings(drop_actions=True)
        return {"start": self.start, "lexer": self.lexer, "keep_all_actions": self.keep_all_actions, "settings": settings}

    def check(self, request: GrammarRequest) -> None:
        """Raises GrammarError where the grammar of a request has conflicts that are to be refused."""
        if self.refuse_conflicts and request.language == "lark":
            Grammar.parse(request).require_no_conflicts()


def grammar_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that are given to the command as ``chosen``: those here, and `psc.cli.schema_options`."""

    @functools.wraps(command)
    def with_options(
        *arguments: Any,
        start: str | None,
        lexer: LarkLexer | None,
        keep_all_actions: bool,
        refuse_conflicts: bool,
        indenter: str | None,
        drop_actions: bool,
        schema: SchemaOptions,
        **others: Any,
    ) -> Any:
        chosen = Chosen(start, lexer, keep_all_actions, refuse_conflicts, schema, indenter, drop_actions)
        return command(*arguments, chosen=chosen, **others)

    decorated = schema_options(with_options)
    for option in (
        click.option(
            "--drop-actions",
            is_flag=True,
            help="Read over the actions and predicates of an ANTLR grammar, as if each predicate were true.",
        ),
        click.option(
            "--indenter",
            metavar="NAMES",
            help="Lark's Indenter, for a Lark grammar with %declare _INDENT _DEDENT: python for the names of Lark's "
            "PythonIndenter, or attributes that differ from it, such as 'NL_type=_NL tab_len=4 OPEN_PAREN_types=LPAR,LSQB'; "
            "columns=0-8,12,16 bounds where lines may begin.",
        ),
        click.option(
            "--refuse-conflicts",
            is_flag=True,
            help="Refuse a Lark grammar in which a shift wins over a reduction, which may lose texts; without this psc warns.",
        ),
        click.option(
            "--keep-all-actions",
            is_flag=True,
            help="Take any context-free grammar: where Lark would refuse one or let a shift win, follow every way.",
        ),
        click.option(
            "--lexer",
            type=click.Choice(get_args(LarkLexer)),
            help="How a Lark grammar's text is cut into terminals: by those that the parser can take at a place (the default, as "
            "in Lark), by all of them (basic, the default of most bundled grammars), or by all but some that only some places take "
            "(modal).",
        ),
        click.option(
            "--start",
            metavar="RULE",
            help="The rule that a whole text must match: by default start, root in EBNF, and the first one in W3C's EBNF, "
            "ISO's and ANTLR.",
        ),
    ):
        decorated = option(decorated)
    return decorated


def open_compiled(spec: str, tokenizer: str | None, chosen: Chosen = Chosen()) -> CompiledGrammar:
    """The artifact or grammar that a user names, ready for matchers: an artifact is read, a grammar is built just in time.

    Args:
        spec: a bundled name, the path of a grammar, or that of an artifact.
        tokenizer: named by the user; without it, an artifact's is looked up on first use.
        chosen: the options of reading a grammar.

    Raises:
        GrammarError: the grammar is not found or cannot be compiled.
        ArtifactError: the artifact cannot be read, or is for another tokenizer than the one named.
        TokenizerError: the tokenizer named cannot be loaded.
        click.UsageError: a grammar without a tokenizer, an artifact with options of a grammar, or a grammar that is no JSON schema
            with options of one.
    """
    if is_grammar(spec):
        if tokenizer is None:
            raise click.UsageError(f"{spec} is a grammar: say for which --tokenizer, or give an artifact, which names its own")
        found = find_grammar(spec)
        request = found.request(**chosen.of(found))
        chosen.check(request)
        info = load_tokenizer(tokenizer)
        return compile_just_in_time(Grammar.parse(request, names=request.names_of(info)), info)
    flags = (chosen.keep_all_actions, chosen.refuse_conflicts, chosen.drop_actions)
    decided = (chosen.start, chosen.lexer, chosen.indenter, *(flag or None for flag in flags))
    if any(option is not None for option in decided):
        raise click.UsageError(
            f"{spec} is an artifact: --start, --lexer, --indenter, --drop-actions, --keep-all-actions and --refuse-conflicts were "
            "decided when it was compiled"
        )
    if chosen.schema is not None and chosen.schema.names:
        raise click.UsageError(f"{spec} is an artifact: {chosen.schema} was decided when it was compiled")
    artifact = read_file(Path(spec))
    tokenizer_info = tokenizer_for(artifact, tokenizer, spec) if tokenizer else recorded_tokenizer
    return CompiledGrammar.from_artifact(artifact, tokenizer_info=tokenizer_info, place=FileOrigin(spec))
