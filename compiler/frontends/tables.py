"""Grammar tables: what a grammar comes to before there is a vocabulary. Made once, for any number of vocabularies.

They are three values: terminals and productions (`cfg`), the byte automaton of all terminals, and the LR tables. A machine that is
built just in time begins with them, and so does an artifact.

    Lark's text   Cfg            CfgTables     the automaton and the LR tables are made of the records
    rules         LoweredRules   RulesTables   the native core has all three; records are made of them on request

For the same rules both makers give the same values. A machine of rules makes the automaton of the terminals as far as texts visit
it, so only an artifact has all of it made.

Cost: each value is made when it is first needed, and then cached: 1 to 100 ms for the automaton of a programming language, 10 to
500 ms for its LR tables. `psc.compiler.pipeline.stored_tables` reads both from a file in 3 ms.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from psc._core import LrTables, Machine, OpenTerminals, VocabularyIndex
from psc.compiler.cfg.conflicts import conflict_warning
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.lowering import LoweredRules
from psc.compiler.cfg.lr_tables import lr_tables, lr_tables_of_rules
from psc.compiler.cfg.terminals import (
    TerminalAutomaton,
    automaton_of_rules,
    open_terminals_of_rules,
    terminal_arrays,
    terminal_automaton,
    with_winners,
)
from psc.compiler.cfg.token_symbols import token_symbols
from psc.compiler.frontends.registry import front_end
from psc.errors import ResourceLimitError
from psc.support.cached_property import cached_property
from psc.support.warning import warn

_log = logging.getLogger("psc.compiler")


class GrammarTables(ABC):
    """The tables of a grammar.

    Each value raises GrammarError when it is first read: a terminal is not regular or matches the empty string, or reductions
    clash; ResourceLimitError, one of them, names a limit that is exceeded.
    """

    @property
    @abstractmethod
    def source_name(self) -> str:
        """A file name or a label, for messages."""

    @property
    @abstractmethod
    def cfg(self) -> Cfg:
        """Terminals and productions."""

    @property
    @abstractmethod
    def automaton(self) -> TerminalAutomaton:
        """The byte automaton of all terminals."""

    @property
    @abstractmethod
    def lr(self) -> LrTables:
        """The LR tables."""

    @abstractmethod
    def symbols(self, n_tokens: int) -> npt.NDArray[np.int32]:
        """Per token the number of its symbol in the grammar, or -1; empty where the grammar speaks of no token, int32."""

    def are_spelled(self, byte_values: bytes) -> bool:
        """Whether it is seen at once that every terminal matches a text of these bytes. False says nothing."""
        return False

    @abstractmethod
    def _machine(self, vocabulary: VocabularyIndex, cache_limit: int) -> Machine: ...

    @abstractmethod
    def make(self) -> None:
        """Makes what a machine begins with."""

    def machine(self, vocabulary: VocabularyIndex, *, cache_limit_bytes: int = -1) -> Machine:
        """The machine of the grammar, nothing of it visited yet.

        Args:
            vocabulary: see `psc.compiler.pipeline.vocabulary_index`.
            cache_limit_bytes: what was built is dropped when it takes more; -1 is no limit.

        Raises:
            GrammarError: as the tables; ResourceLimitError names a limit that the machine exceeds.
        """
        self.make()
        try:
            return self._machine(vocabulary, max(cache_limit_bytes, 0))
        except ResourceLimitError as e:
            raise e.reworded(f"{self.source_name}: {e}, which is the limit; make the grammar smaller or less ambiguous") from e

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for users: rules that are left out, and texts that the language's own tool would lex otherwise.

        Cost: half a second for SQL in Lark's language, a twentieth for other programming languages.
        """
        left_out = [
            f"rule {name!r} can never finish (each of its alternatives needs itself, or a terminal that is ignored), so it is "
            "left out, and so are the alternatives that use it"
            for name in self.cfg.left_out
        ]
        return (*left_out, *self.early_warnings, *front_end(self.cfg.language).warnings(self.cfg, self.automaton, self.lr))

    @property
    def conflicts(self) -> str | None:
        """The warning about decided shift/reduce conflicts; None if there are none, or the grammar is bundled."""
        return None

    @property
    def early_warnings(self) -> tuple[str, ...]:
        """Those of the warnings that cost little, and are logged when a machine is made."""
        return ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing that an artifact needs is left to be made."""
        return vars(self).keys() >= {"automaton", "lr", "warnings"}


class CfgTables(GrammarTables):
    """The tables of terminals and productions. Can be pickled, with what is made of them.

    Args:
        cfg: from a front end.
        made: the automaton and the LR tables, where a file had them.
        warnings: of the same.
    """

    def __init__(
        self, cfg: Cfg, made: tuple[TerminalAutomaton, LrTables] | None = None, warnings: tuple[str, ...] | None = None
    ) -> None:
        self._cfg = cfg
        if made is not None:
            self.automaton, self.lr = made
        if warnings is not None:
            self.warnings = warnings

    @property
    def source_name(self) -> str:
        return self._cfg.source_name

    @property
    def cfg(self) -> Cfg:
        return self._cfg

    @cached_property
    def automaton(self) -> TerminalAutomaton:
        return terminal_automaton(self._cfg)

    @cached_property
    def lr(self) -> LrTables:
        return lr_tables(self._cfg, keep_all=self._cfg.keep_all_actions)

    @cached_property
    def conflicts(self) -> str | None:
        if not self.lr.shift_reduce_resolved or front_end(self._cfg.language).is_bundled(self._cfg.source):
            return None
        return conflict_warning(self._cfg, self.lr)

    @cached_property
    def early_warnings(self) -> tuple[str, ...]:
        reader = front_end(self._cfg.language)
        if reader.is_bundled(self._cfg.source):
            return ()
        return (*([self.conflicts] if self.conflicts else []), *reader.edge_warnings(self._cfg))

    @property
    def are_made(self) -> bool:
        """Whether nothing that a machine needs is left to be made."""
        return "automaton" in self.__dict__ and "lr" in self.__dict__

    def make(self) -> None:
        _ = self.automaton, self.lr

    def symbols(self, n_tokens: int) -> npt.NDArray[np.int32]:
        return token_symbols(self._cfg, n_tokens)

    def _machine(self, vocabulary: VocabularyIndex, cache_limit: int) -> Machine:
        for text in self.early_warnings:
            warn(_log, f"{self.source_name}: {text}")
        terminals = terminal_arrays(self._cfg, self.automaton)
        return Machine.lazy(self.lr, **terminals, lexer=self._cfg.lexer, vocabulary=vocabulary, cache_limit=cache_limit)


class RulesTables(GrammarTables):
    """The tables of rules, made by the native core and still there."""

    def __init__(self, rules: LoweredRules) -> None:
        self._rules = rules

    @property
    def source_name(self) -> str:
        return self._rules.source_name

    @property
    def cfg(self) -> Cfg:
        return self._rules.cfg

    @cached_property
    def terminals(self) -> OpenTerminals:
        """The terminals, for a machine that makes their automaton as it visits it."""
        return open_terminals_of_rules(self._rules)

    @cached_property
    def automaton(self) -> TerminalAutomaton:
        return with_winners(self.cfg, automaton_of_rules(self._rules))

    @cached_property
    def lr(self) -> LrTables:
        return lr_tables_of_rules(self._rules)

    def make(self) -> None:
        _ = self.terminals, self.lr

    def symbols(self, n_tokens: int) -> npt.NDArray[np.int32]:
        return self.terminals.symbols(n_tokens)

    def are_spelled(self, byte_values: bytes) -> bool:
        return self.terminals.are_spelled(byte_values)

    def _machine(self, vocabulary: VocabularyIndex, cache_limit: int) -> Machine:
        return Machine.of_open_terminals(self.lr, self.terminals, vocabulary, cache_limit)
