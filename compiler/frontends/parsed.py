"""What a front end makes of a text: one type for all languages, with the questions that the rest of psc has.

A language of characters is read to rules, which combine, may be marked and may count tokens (`ParsedRules`). Lark's language is
read to terminals and productions, since its text is cut into lexemes by maximal munch before the rules see it (`ParsedCfg`).

Cost: none of it is lowered, and none of its tables are made, before somebody needs that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.lowering import LoweredRules, require_productions
from psc.compiler.expressions import rule_sets
from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.joined_rules import LexedPart, Part, has_lexers, has_unique, joined_rules
from psc.compiler.expressions.token_budgets import has_budgets
from psc.compiler.expressions.words import NativeRules
from psc.compiler.frontends.tables import CfgTables, GrammarTables, RulesTables
from psc.errors import GrammarError
from psc.support.cached_property import cached_property

if TYPE_CHECKING:
    from psc.compiler.expressions.tokens import TokenNames
    from psc.compiler.frontends.front_end import Imports
    from psc.vocabulary.tokenizer_info import TokenizerInfo


class ParsedGrammar(ABC):
    """A grammar that was read. Immutable."""

    def __init__(self, found: RuleSet | Cfg) -> None:
        self.source_name = found.source_name
        """Where the text is from: a file name or a label, for messages."""
        self.imports: Imports = found.imports
        """Every file that the text imports."""
        self.reads_names = found.reads_names
        """Whether the text names tokens, so that what it comes to depends on the vocabulary's tokens themselves."""

    @property
    def rules(self) -> RuleSet | None:
        """The rules over characters; None where the grammar has a lexer of its own."""
        return None

    @property
    @abstractmethod
    def part(self) -> Part:
        """The grammar as a part of another one."""

    @property
    @abstractmethod
    def cfg(self) -> Cfg:
        """Terminals and productions, whatever counts of tokens and orders of members the grammar has besides.

        Raises:
            GrammarError: it matches no text, or exceeds a limit.
        """

    @property
    def counts_tokens(self) -> bool:
        """Whether the grammar says how many tokens some text may have at most; only matchers of linked machines know that."""
        return False

    @property
    @abstractmethod
    def has_lexer(self) -> bool:
        """Whether it, or a part of it, cuts text into lexemes by maximal munch."""

    @property
    def linked_rules(self) -> RuleSet | None:
        """The rules, where some are those of parts that other grammars may have, or tokens are counted; else None."""
        return None

    @property
    def has_unique(self) -> bool:
        """Whether items of an array must differ, which only matchers of linked machines know."""
        return False

    @property
    def needs_linking(self) -> bool:
        """Whether the grammar cannot be a machine of its own: it counts tokens, items must differ, or a part of it has a lexer."""
        return False

    @property
    def can_be_pickled(self) -> bool:
        """Whether it can go to another process, rather than its text."""
        return True

    def is_for(self, tokenizer: TokenizerInfo) -> bool:
        """Whether this is what the text comes to for a vocabulary."""
        return True

    @abstractmethod
    def require_texts(self) -> None:
        """Raises GrammarError where no text is in it, or it exceeds a limit."""

    @abstractmethod
    def require_productions(self) -> None:
        """Raises GrammarError where productions cannot say all of it, so that no artifact can have it."""

    @property
    def has_tables(self) -> bool:
        """Whether all of its tables are made, and cached."""
        return False

    @abstractmethod
    def tables(self) -> GrammarTables:
        """The tables that it has for any vocabulary; of `cfg`, where productions cannot say all of it."""

    def machine_tables(self) -> GrammarTables:
        """The same for a machine that is built as it is visited, which need not be written out as `cfg` is."""
        return self.tables()

    def ebnf(self) -> str | None:
        """EBNF text of the same language; None where there is none."""
        return None


class ParsedCfg(ParsedGrammar):
    """Terminals and productions, with a lexer."""

    def __init__(self, tables: CfgTables) -> None:
        super().__init__(tables.cfg)
        self._tables = tables

    @cached_property
    def part(self) -> Part:
        return LexedPart(self.cfg)

    @property
    def cfg(self) -> Cfg:
        return self._tables.cfg

    @property
    def has_lexer(self) -> bool:
        return True

    def require_texts(self) -> None:
        """The front end has."""

    def require_productions(self) -> None:
        """It has nothing else."""

    @property
    def has_tables(self) -> bool:
        return self._tables.are_made

    def tables(self) -> CfgTables:
        """The same each time, since making them takes longer than anything else."""
        return self._tables

    def __reduce__(self) -> tuple[Any, ...]:
        return parsed_grammar, (self.cfg,)  # tables are megabytes, and made again in some milliseconds


class ParsedRules(ParsedGrammar):
    """Rules over characters.

    Args:
        rules: as they were read.
        names: of the vocabulary that the text was read for.
        written_out: gives the rules that say more by themselves, where a machine that is built as it is visited needs less.
    """

    def __init__(
        self, rules: RuleSet, names: TokenNames | None = None, *, written_out: Callable[[], RuleSet] | None = None
    ) -> None:
        super().__init__(rules)
        self._read: Final = rules
        self._names = names
        self._written_out: Final = written_out

    @cached_property
    def rules(self) -> RuleSet:
        return self._read if self._written_out is None else self._written_out()

    @property
    def part(self) -> RuleSet:
        return self.rules

    @cached_property
    def _lowered_as_read(self) -> LoweredRules:
        return LoweredRules(self._read)

    @cached_property
    def _lowered(self) -> LoweredRules:
        return self._lowered_as_read if self._written_out is None else LoweredRules(self.rules)

    @property
    def cfg(self) -> Cfg:
        return self._lowered.cfg

    @property
    def counts_tokens(self) -> bool:
        joined = joined_rules(self._read)
        if joined is None and not self._read.marks:
            return False
        return has_budgets(self._read) or (joined is not None and joined.counts_tokens)

    @property
    def has_lexer(self) -> bool:
        return has_lexers(self._read)

    @cached_property
    def has_unique(self) -> bool:
        return has_unique(self._read)

    @property
    def linked_rules(self) -> RuleSet | None:
        return self._read if joined_rules(self._read) is not None or self.counts_tokens or self.has_unique else None

    @property
    def needs_linking(self) -> bool:
        return self.counts_tokens or self.has_lexer or self.has_unique

    @property
    def can_be_pickled(self) -> bool:
        return not isinstance(self._read.rules, NativeRules)

    def is_for(self, tokenizer: TokenizerInfo) -> bool:
        if not self.reads_names:
            return True
        return self._names is not None and self._names.tokenizer.tokens_fingerprint == tokenizer.tokens_fingerprint

    def require_texts(self) -> None:
        _ = self._lowered_as_read

    def require_productions(self) -> None:
        if self.counts_tokens:
            raise GrammarError(
                f"{self.source_name}: max_tokens: tokens are counted by grammars that GrammarCompiler builds just in time, not by "
                "artifacts; compile the grammar where it is served"
            )
        if self.has_unique:
            of_schema = self._read.language == "json_schema"
            raise GrammarError(
                f"{self.source_name}: uniqueItems: which items came already is known by grammars that GrammarCompiler builds "
                "just in time, not by artifacts; compile the schema where it is served, or leave it out "
                + ("with lenient=True" if of_schema else "of the schema")
            )
        require_productions(self.rules)

    def tables(self) -> RulesTables:
        """Made anew each time: a machine has all that it needs of them."""
        return RulesTables(self._lowered)

    def machine_tables(self) -> RulesTables:
        return RulesTables(self._lowered_as_read)

    def ebnf(self) -> str | None:
        joined = joined_rules(self._read)
        if self.has_lexer or self.has_unique or (joined is not None and joined.counts_tokens):
            return None
        return rule_sets.to_ebnf(self.rules if self.rules.root == "root" else rule_sets.union([self.rules]))

    def __reduce__(self) -> tuple[Any, ...]:
        return ParsedRules, (self.rules,)


def parsed_grammar(found: RuleSet | Cfg, names: TokenNames | None = None) -> ParsedGrammar:
    """What the functions of a front end give, as one type.

    Args:
        found: rules, or terminals and productions.
        names: of the vocabulary's tokens that the text was read for.
    """
    return ParsedRules(found, names) if isinstance(found, RuleSet) else ParsedCfg(CfgTables(found))
