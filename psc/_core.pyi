from collections.abc import Callable, Sequence
from typing import Annotated, Any, overload

import numpy
import numpy.typing
from numpy.typing import NDArray

import psc.runtime.compiled


class Cancellation:
    """
    A flag that compilations look at. Its methods may be called from any thread.
    """

    def __init__(self, after_checks: int = -1) -> None:
        """
        For tests: the flag is set when it has been looked at so often; -1: it is not.
        """

    def cancel(self) -> None: ...

    @property
    def cancelled(self) -> bool: ...

class Obeying:
    """
    A block in which the calling thread obeys a flag; without one, that of the block around it. When the program ends, what threads do in such blocks is called off.
    """

    def __init__(self, cancellation: Cancellation | None) -> None: ...

    def __enter__(self) -> None:
        """Raises CompilationCancelledError where the calling thread is to stop."""

    def __exit__(self, *error: object) -> None: ...

def obeys() -> bool:
    """Whether the calling thread is in such a block."""

def stop_if_cancelled() -> None:
    """Raises CompilationCancelledError where the calling thread is to stop."""

def end_compilations(seconds: float) -> bool:
    """
    Calls off what other threads do in blocks of Obeying, now and later. Returns whether all have left within the time.
    """

def forget_other_threads() -> None:
    """In the child of a fork: no other thread is in a block of Obeying."""

def limits() -> list[tuple[str, str, int, str, str, str]]:
    """
    (topic, name, value, what is counted, cost of each, what happens beyond) of each limit.
    """

def stored_tables() -> dict[str, list[tuple[str, str, str, str]]]:
    """
    What an artifact holds: per group of tables its fields, in order, each as (name, what it has one element for, what an element
    is, what it means). A field with one number is a scalar.
    """

def terminal_tables(automaton: ByteAutomaton, rank: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ignored: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict[str, Any]:
    """The stored tables of the automaton of all terminals, by name."""

class LrTables:
    """The LALR(1) automaton of a grammar, as an artifact stores it."""

    def __getstate__(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def __setstate__(self, arg: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

    def arrays(self) -> dict[str, Any]:
        """
        The stored tables, by name. Raises ResourceLimitError where the cells are too many to be stored.
        """

    def check_can_be_stored(self) -> None:
        """Raises ResourceLimitError where `arrays` would."""

    @staticmethod
    def from_arrays(arrays: dict[str, Any], shift_reduce_resolved: int = 0) -> LrTables:
        """
        The same from an artifact's, by name. Raises ValueError when a length or an index is out of range.
        """

    @property
    def n_terminals(self) -> int:
        """One number: how many; terminals; the last one is the end of the text."""

    @property
    def n_nonterminals(self) -> int:
        """One number: how many; nonterminals."""

    @property
    def n_lr_states(self) -> int:
        """One number: how many; states; 0 is the start."""

    @property
    def end_state(self) -> int:
        """
        One number: LR state or -1; the state after the end of the text was shifted: the text is accepted.
        """

    @property
    def production_lhs(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """Per production: nonterminal; the left-hand side."""

    @property
    def rhs_offsets(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """Per production and one more: where its list begins; lists of `rhs`."""

    @property
    def rhs(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """
        Per right-hand symbol: terminal, or n_terminals + nonterminal; the right-hand side.
        """

    @property
    def action_offsets(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """
        Per LR state and terminal and one more: where its list begins; lists of `actions`: several where the grammar is ambiguous.
        """

    @property
    def actions(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """
        Per action: action: 2 x LR state (shift), or 2 x production + 1 (reduce); what the parser does in this state before this terminal.
        """

    @property
    def gotos(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """
        Per LR state and nonterminal: LR state or -1; where it goes after this nonterminal.
        """

    @property
    def accessing(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        Per LR state the symbol that leads into it, a terminal or n_terminals + a nonterminal; -1 for the start.
        """

    @property
    def arcs(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        All shifts and gotos, in no order: for each the LR state, the symbol as in `accessing`, and the state that it leads to.
        """

    @property
    def shift_reduce_resolved(self) -> int:
        """Cells in which a shift silently won."""

    @property
    def conflicts(self) -> list[tuple[int, int, list[int]]]:
        """Reductions that clash: LR state, terminal, productions."""

    @property
    def dropped(self) -> list[tuple[int, int, list[int]]]:
        """
        The reductions over which a shift silently won, as `conflicts`: the first 1,000; none in tables that were stored.
        """

def build_lalr(n_terminals: int, n_nonterminals: int, start: int, lhs: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rhs_offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rhs: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], priority: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], keep_all: bool) -> LrTables: ...

class ByteAutomaton:
    """An automaton over bytes, with the terminals that match in each state."""

    def __init__(self, next: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], match_offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], matches: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def next(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Per state 256 targets, or -1."""

    @property
    def match_offsets(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def matches(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def empty(self) -> list[int]: ...

    @property
    def unmatched(self) -> list[int]: ...

    @property
    def involved(self) -> list[int]: ...

    @property
    def exceeded(self) -> str: ...

class OpenTerminals:
    """Terminals whose byte automaton is made as a machine visits it."""

    @property
    def is_sound(self) -> bool:
        """
        Whether they can be used so: they are not too large, each matches a text and none the empty one.
        """

    def symbols(self, n_tokens: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        Per token the number of its symbol in these terminals, or -1; empty where they speak of no token.
        """

    def has_symbols(self, n_tokens: int) -> bool:
        """Whether they speak of one of the tokens."""

    def are_spelled(self, bytes: bytes) -> bool:
        """
        Whether it is seen at once that each of them matches a text of these bytes. False says nothing.
        """

    def bytes_before(self, lr: LrTables, first: int, count: int) -> bytes:
        """
        The bytes that can stand before one of these symbols, by number, in the texts of a grammar, or more than these; ascending.
        """

def token_symbols(ranges: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], range_offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_tokens: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    The same as OpenTerminals.symbols, of the sets of characters that terminals have.
    """

def build_terminal_automaton(programs: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ranges: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], range_offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], max_states: int, max_positions: int, max_steps: int) -> ByteAutomaton: ...

class NormalForm:
    """A grammar without empty productions, unit cycles and useless symbols."""

    @property
    def nonterminals(self) -> list[str]:
        """Their names; the first is the start."""

    @property
    def productions(self) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        Left-hand nonterminals; where the right-hand sides begin, and one more; their symbols, as `psc.compiler.cfg.grammar` numbers them;
        priorities.
        """

    @property
    def way(self) -> list[str]:
        """
        Where the start derives nothing: nonterminals from it on, each needed by all that the one before can derive; else empty.
        """

    @property
    def circle(self) -> int | None:
        """
        Where in the way the one begins that comes again; None where the last one has no production.
        """

def normal_form(n_terminals: int, nonterminals: Sequence[str], start: int, lhs: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rhs_offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rhs: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], priority: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NormalForm:
    """
    The normal form of productions. Terminals are counted with the end of the text.
    """

class TextSearch:
    """
    Free text until one of many triggers, see native/rules/text_search.hpp.
    """

    def __init__(self, triggers: Sequence[str], excluded: Sequence[str], tokens: Sequence[tuple[int, int, int, int]], max_states: int, max_arcs: int) -> None:
        """
        Texts that are not empty; `tokens`: (trigger, position before, position behind, symbol) of special tokens whose names are in triggers.
        """

    @property
    def n_triggers(self) -> int:
        """How many triggers there are."""

    @property
    def separable(self) -> bool:
        """
        Whether a trigger can be read as free text that ends with its first character, and then the rest of it.
        """

    @property
    def firsts(self) -> list[int]:
        """The first characters of triggers, as code points, ascending."""

    @property
    def reached(self) -> list[int]:
        """The triggers, by number, that a text can go on to."""

class RulePrograms:
    """
    Rules of expressions as flat words, see native/rules/rule_programs.hpp.
    """

    def __init__(self, words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], names: Sequence[str], root: int, searches: Sequence[tuple[TextSearch, Sequence[int], Sequence[int], int]] = []) -> None:
        """
        Of `names` the defined ones come first; `root` is a number of one. Each search is one, with the numbers of the rules of its triggers and of its free text, or -1.
        """

    @property
    def has_searches(self) -> bool:
        """Whether some are rules of a TextSearch, which the words do not say."""

    @property
    def words(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def names(self) -> list[str]: ...

    @property
    def root(self) -> int:
        """The number of a rule."""

    @property
    def root_name(self) -> str:
        """The name of that rule."""

    @property
    def has_free_order(self) -> bool:
        """
        Whether members come in any order in some of them, which the words do not say.
        """

    @property
    def has_unique(self) -> bool:
        """
        Whether the items of arrays must differ in some of them, which the words do not say.
        """

    def cut_unique(self, first_call: int) -> tuple[RulePrograms, list[RulePrograms], list[RulePrograms], list[int]]:
        """
        The rules of a frame, of arrays whose items must differ, and of these items, see native/rules/unique_rules.hpp; and of how many characters beginnings of items of each array, then of each item, may be to have few ends, or -1.
        """

    @property
    def has_counted(self) -> bool:
        """Whether a text is counted in some of them."""

    def written_out(self) -> RulePrograms:
        """
        The same, a state for each count. Raises ResourceLimitError where that are too many.
        """

    def lower(self, size: int, named_size: int, around_free_text: int, literals: int, counted: int) -> LoweredRules:
        """
        The grammar of the rules, within the limits of `psc.compiler.cfg.lowering.TerminalLimits`.
        """

def join_rules(outer: RulePrograms, names: Sequence[str], parts: Sequence[RulePrograms]) -> RulePrograms:
    """
    The outer rules, in which a reference to a part's name is one to the part's root; see native/rules/joined_rules.hpp.
    """

class LoweredRules:
    """Rules of expressions as terminals and productions."""

    @property
    def undefined(self) -> str:
        """
        A rule that the root needs and that is not defined, or the empty text. Nothing else is known then.
        """

    @property
    def way(self) -> list[str]:
        """As of a NormalForm. Nothing else is known then."""

    @property
    def circle(self) -> int | None: ...

    @property
    def terminals(self) -> list[tuple[int, int, int]]:
        """
        Per terminal, in the order in which they were met, the rule that it is named after, or -1; the rule that it is written
        in; and its number, or -1 where no production has it.
        """

    @property
    def rules(self) -> list[str]:
        """
        The names of rules by number: those handed over, and those cut out of them.
        """

    def expression(self, terminal: int) -> list[int]:
        """
        What a terminal matches, by its place in `terminals`, in the words of RulePrograms.
        """

    @property
    def nonterminals(self) -> list[str]:
        """Their names; the first is the start."""

    @property
    def productions(self) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        Left-hand nonterminals; where the right-hand sides begin, and one more; their symbols, as `psc.compiler.cfg.grammar` numbers them;
        priorities.
        """

    @property
    def left_out(self) -> list[int]:
        """Rules that derive nothing, not even the empty text."""

    def terminal_automaton(self, max_states: int, max_positions: int, max_steps: int) -> ByteAutomaton:
        """The byte automaton of the terminals that have a number."""

    def open_terminals(self, max_positions: int) -> OpenTerminals:
        """The same terminals, for an automaton that is made as it is visited."""

    def lr_tables(self) -> LrTables:
        """The LALR(1) tables, with every action kept."""

class ClosedLexer:
    """A lexer with all its states."""

    @property
    def n_states(self) -> int: ...

    def arrays(self) -> dict[str, Any]:
        """The stored tables of the lexer, by name."""

def close_lexer(lr: LrTables, automaton: ByteAutomaton, rank: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ignored: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], lexer: str) -> ClosedLexer: ...

class TokenClasses:
    """The tokens, in classes of which the lexer tells no two members apart."""

    def __len__(self) -> int: ...

    @property
    def class_of_token(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Per token; -1 for those that are not text."""

    @property
    def representatives(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Per class the token with the smallest id."""

def classify_tokens(lexer: ClosedLexer, token_bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], token_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], text_tokens: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], most_whole: int) -> TokenClasses:
    """
    Where whole sequences make a trie of more than `most_whole` nodes, they are cut behind their first terminals.
    """

class TerminalSequences:
    """The sequences of terminals that tokens stand for."""

    def __len__(self) -> int: ...

    @property
    def has_leads(self) -> bool:
        """Whether they are cut behind their first terminals, the leads."""

    def trie_words(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The trie of all sequences, for `classify_sequences`."""

    def realized_words(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """What tokens the sequences stand for, for `assemble`."""

    def groups(self, n: int) -> list[Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        At most `n` groups of sequences, nodes of the trie, that may be classified apart.
        """

    def of_state(self, lexer_state: int) -> list[tuple[tuple[int, ...], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]:
        """The terminals of each sequence, and the classes of its tokens."""

def find_sequences(classes: TokenClasses) -> TerminalSequences: ...

class ClosedClassifier:
    """The stack classifier of some sequences, or of all. Can be pickled."""

    @property
    def n_states(self) -> int: ...

    @property
    def n_transitions(self) -> int: ...

    def __getstate__(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def __setstate__(self, arg: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

def close_classifier(sequences: TerminalSequences) -> ClosedClassifier:
    """Of all sequences at once."""

def classify_sequences(lr: LrTables, trie_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sequences: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> ClosedClassifier:
    """Of a group of sequences, perhaps in another process."""

def merge_classifiers(lr: LrTables, classifiers: Sequence[ClosedClassifier]) -> ClosedClassifier:
    """Of all groups."""

@overload
def assemble(classifier: ClosedClassifier, sequences: TerminalSequences) -> dict[str, Any]: ...

@overload
def assemble(classifier: ClosedClassifier, realized_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict[str, Any]:
    """The arrays that a classifier adds to an artifact."""

def assemble_open(trie_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], realized_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict[str, Any]:
    """
    The arrays that an artifact has in the place of a classifier that could not be closed: its sequences, and what tokens they
    stand for.
    """

class PartVocabularies:
    """A vocabulary with the ends of parts, see native/linked/part.hpp."""

    def __init__(self, vocabulary: VocabularyIndex) -> None: ...

    def with_ends(self, last: bytes, symbols: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> VocabularyIndex:
        """For parts whose texts end with one of these bytes."""

class LinkedPart:
    """
    A part of linked machines; its machine is made when a text comes to it first.
    """

    @staticmethod
    def of_rules(rules: RulePrograms, vocabularies: PartVocabularies, size: int, named_size: int, around_free_text: int, literals: int, counted: int, max_positions: int) -> LinkedPart:
        """
        A part of these rules, or None where something might be wrong with them: then their machine is made now, and says what. For the limits see RulePrograms.lower.
        """

    @staticmethod
    def of_machine(machine: Machine) -> LinkedPart:
        """A part that is made."""

    @property
    def is_made(self) -> bool:
        """Whether its machine is there."""

def bytes_of_parts(parts: Sequence[LinkedPart]) -> list[int]:
    """What each part takes, with what its machine has built; an estimate."""

class VocabularyIndex:
    """
    A vocabulary as a trie, and what was learnt about it for every grammar.
    """

    def __init__(self, token_bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], token_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], text_tokens: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], stop_tokens: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], symbols: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def with_boundaries(self, before_end: bytes | None, before_call: bytes | None, symbols: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> VocabularyIndex:
        """
        The same for machines that are linked: with the ends of parts, and with calls of parts, where these are given, behind the
        empty text and behind the beginnings of tokens that end with one of these bytes.
        """

    @property
    def fragment_bytes(self) -> int: ...

class Machine:
    """What matchers read; see psc.CompiledGrammar."""

    def __init__(self, arrays: dict[str, Any], cache_limit: int = 0) -> None: ...

    @property
    def lr(self) -> LrTables:
        """The LR tables, shared with the machine."""

    @property
    def byte_class(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """Per byte its class: bytes of a class do the same everywhere."""

    def lexer_start(self, lr_state: int) -> int:
        """The lexer state in which a lexeme begins when this LR state is on top."""

    def lexer_steps(self, lexer_state: int) -> list[tuple[int, list[int], int]]:
        """
        What a byte of each class does, as (byte class, symbols read, next state), several where there are several ways. Symbols are
        terminals and, beyond them, conditions on the stack. State 0 is the start that the stack's top has then; at -2 the byte is read
        again from that start.
        """

    def lexer_ends(self, lexer_state: int) -> list[list[int]]:
        """
        What is read, one of these, if the text ends here; none where the lexeme is incomplete.
        """

    def lexer_becomes(self, lexer_state: int) -> list[int]:
        """
        The terminals that the unfinished lexeme can still become, or what is begun in it where it fails; none where it may be ignored.
        """

    @staticmethod
    def from_open_tables(arrays: dict[str, Any], lexer: str, cache_limit: int = 0) -> Machine:
        """
        Of an artifact that is not closed: what it has no tables for is built just in time.
        """

    @staticmethod
    def lazy(lr: LrTables, automaton: ByteAutomaton, rank: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ignored: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], lexer: str, vocabulary: VocabularyIndex, cache_limit: int) -> Machine: ...

    @staticmethod
    def of_open_terminals(lr: LrTables, terminals: OpenTerminals, vocabulary: VocabularyIndex, cache_limit: int) -> Machine:
        """Lexed `any`, over terminals whose automaton is made as it is visited."""

    @staticmethod
    def linked(frame: Machine, parts: Sequence[LinkedPart], most_tokens: Sequence[int], vocabulary: VocabularyIndex, cache_limit: int, spent_ends: Sequence[bool] = [], roles: Sequence[int] = [], runs_out_at: Sequence[int] = []) -> Machine:
        """
        Several as one: a frame's, in whose grammar the call of part i stands where a text of parts[i] does, each of which ends with
        the end of a part; parts may call parts. Once most_tokens[i] tokens have had bytes in a text of part i, it ends before the
        next one if it can; -1 is any number. With spent_ends[i] it may then end with its second end, too. `vocabulary` has no
        boundaries, and those of the others are made of it. Each of the first parts may have a role: 0 is text, 1 an
        array whose items must differ, 2 such an item; and of how many characters a beginning of an item may be to have few ends, or -1.
        """

    @property
    def n_rows(self) -> int: ...

    @property
    def n_words(self) -> int: ...

    @property
    def cache_bytes(self) -> int: ...

    @property
    def table_bytes(self) -> int:
        """
        Bytes of what is never dropped: the tables that the machine was made of, an artifact's or the LR tables, and the lexer as far as it was built.
        """

    @property
    def bytes(self) -> int:
        """The cache and the tables."""

    @property
    def is_broken(self) -> bool:
        """
        Whether memory ran out while something was built that is never dropped: nothing more is built then.
        """

    def clear(self) -> None: ...

    def set_steps_to_classify(self, steps: int) -> None:
        """
        What the classifier of a lazy machine may cost for one mask before tokens are read instead. For tests: it is well chosen.
        """

    @property
    def most_read(self) -> int:
        """
        Of how many masks in one lexer state of a lazy machine tokens are read before what they do on every stack is found.
        """

    @most_read.setter
    def most_read(self, arg: int, /) -> None: ...

    @property
    def keeps_steps(self) -> bool:
        """
        Whether steps that a text makes are kept for other texts. For tests: without them every token is read.
        """

    @keeps_steps.setter
    def keeps_steps(self, arg: bool, /) -> None: ...

    def set_limit(self, bytes: int) -> None: ...

    @property
    def vocabulary_tag(self) -> int:
        """Equal for grammars of one vocabulary."""

    @vocabulary_tag.setter
    def vocabulary_tag(self, arg: int, /) -> None: ...

    @property
    def is_lazy(self) -> bool: ...

    def counts(self) -> dict[str, int]: ...

    def row(self, row: int) -> NDArray[numpy.int32]: ...

def apply_bitmask(logits: object, bitmask: object, width: int, rows: object | None = None) -> None:
    """
    Sets logits[i, :width] to minus infinity where bit j % 32 of bitmask[i, j // 32] is 0, and beyond the bitmask.

    logits: (rows, columns), float16, bfloat16, float32 or float64, any strides, changed in place. bitmask: (rows, words)
    int32. rows: the rows to change, int64; all of them if None. Raises ValueError if the shapes do not fit, TypeError for
    another dtype.
    """

def apply_mask_rows(logits: object, minus_infinity: int, table: object, ids: object, width: int, rows: object | None = None) -> None:
    """
    Sets logits[k, :width] to minus infinity where the mask row table[ids[k]] has no bit, and beyond it; -1 leaves logits[k] alone.

    logits: (batch, columns), the bits of floats as uint16, uint32 or uint64, any strides, changed in place. minus_infinity: its bits.
    table: (slots, words) int32. ids: (n,) int32. rows: (n,) int64, the row of logits that each id is for; k by default. Raises
    BitmaskError, before anything is changed, when an id or a row is out of range.
    """

def check_mask_writes(writes: numpy.typing.NDArray[numpy.int32], pool: numpy.typing.NDArray[numpy.uint32], n_slots: int, vocab_size: int) -> None:
    """
    Raises BitmaskError when a write, as in MaskSlots.writes, reaches out of the table, its pool or the vocabulary.
    """

def write_mask_rows(table: object, writes: numpy.typing.NDArray[numpy.int32], pool: numpy.typing.NDArray[numpy.uint32], vocab_size: int) -> None:
    """
    Makes what MaskSlots.writes describes: one row of `table` (slots, words) for each write.

    Raises BitmaskError, before anything is written, when a write is malformed. Cost: a few microseconds a row.
    """

class GrammarMatcher:
    """
    Follows one generated text: which tokens may come next, and what was accepted so far.

    Args:
        compiled_grammar: shared by any number of matchers; it keeps the mask rows.
        override_stop_tokens: an id or ids that end the text instead of the tokenizer's; they are never text.
        terminate_without_stop_token: the text is over as soon as it is complete, though it may go on; no token ends it.
        max_rollback_tokens: any number can be taken back; accepted for compatibility.
        default_temperature: where the grammar gives none, see `temperature`.
        max_steps: of work for one mask; more is a ResourceLimitError, as an ambiguous grammar may need. None is 40,000,000, a server has
            fewer, since others of its batch wait.

    Raises ValueError when the first argument is not a CompiledGrammar, RuntimeError for stop tokens out of range.
    Cost: under a microsecond a call in the steady state; the first visit to a new mask composes its row. A call that has to build
    what takes long does so without the interpreter's lock. Matchers of one grammar may be used by several threads at once; on one
    matcher, a call waits until another thread's has returned.
    """

    def __init__(self, compiled_grammar: psc.runtime.compiled.LoadedGrammar, *, override_stop_tokens: int | Sequence[int] | None = None, terminate_without_stop_token: bool = False, max_rollback_tokens: int = -1, default_temperature: float | None = None, max_steps: int | None = None) -> None: ...

    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool:
        """
        Takes a token: True, or False when the mask does not allow it, and then nothing changes.

        A stop token is accepted where the text may end, and terminates the matcher. Ids out of range are refused.
        Cost: the token's bytes through the lexer and a shift per terminal, about 0.1 us.
        """

    def accept_tokens(self, token_ids: Sequence[int]) -> int:
        """
        Takes tokens, one after the other, up to the first that is not allowed or the one that ends the text: how many it took.

        Cost: that of accept_token() for each, in one call.
        """

    def validate_tokens(self, token_ids: Sequence[int]) -> int:
        """
        How many tokens accept_tokens() would take; changes nothing, also where it raises.

        Masks on the way that are known already are looked up, since a server asks for them next. Cost: as accept_tokens().
        """

    def accept_string(self, input_str: str | bytes, *, debug_print: bool = False) -> bool:
        """
        Takes text, all of it (True) or nothing (False); one step for rollback(). It is never a stop token.

        Cost: linear in its length.
        """

    def mask_row(self) -> int:
        """
        The id of the current mask row, see CompiledGrammar.row().

        Raises RuntimeError after a stop token. Cost: a lookup for each stack symbol that has to be read, about 0.1 us.
        """

    def mask(self) -> NDArray[numpy.int32]:
        """
        The current mask: int32 of shape (ceil(vocab_size / 32),), read-only, a view and no copy.

        Token j is allowed when bit j % 32 of word j // 32 is set. Raises RuntimeError after a stop token.
        """

    def allowed_tokens(self) -> NDArray[numpy.int32]:
        """
        Ids of the allowed tokens: int32 of shape (n,), ascending, a new array.

        Raises RuntimeError after a stop token. Cost: vocab_size / 64 words, and the ids.
        """

    def is_allowed(self, token_id: int) -> bool:
        """
        Whether the mask allows a token, which is whether accept_token() would take it. An id out of range is not allowed.

        Raises RuntimeError after a stop token. Cost: about 0.1 us.
        """

    def fill_next_token_bitmask(self, bitmask: object, index: int = 0, *, debug_print: bool = False) -> bool:
        """
        Copies the current mask into row `index` of an int32 CPU array of shape (batch, ceil(vocab_size / 32)), or into one of
        shape (ceil(vocab_size / 32),).

        NumPy, or any array that DLPack carries. Returns False when every token is allowed, so that applying the mask would change
        nothing. Raises RuntimeError for a wrong dtype or shape, a row that is not there, or after a stop token. Cost: a copy of
        vocab_size / 8 bytes.
        """

    def traverse_draft_tree(self, retrieve_next_token: object, retrieve_next_sibling: object, draft_tokens: object, token_bitmask: object, time_threshold: float = -1.0, temperatures: object | None = None) -> bool:
        """
        Masks along a tree of draft tokens (speculative decoding), in one walk; the matcher is as before afterwards.

        Args:
            retrieve_next_token: int64 of shape (n,): the first child of each node, -1 for none. Node 0 is where the matcher stands.
            retrieve_next_sibling: int64 of shape (n,): the next sibling of each node, -1 for none.
            draft_tokens: int64 of shape (n,): the token that leads to each node; that of node 0 is not looked at.
            token_bitmask: int32 of shape (n, ceil(vocab_size / 32)). Row i becomes the mask after the tokens down to node i; zeros
                where the token is not allowed or ends the text, and the rows of that node's descendants are left alone.
            time_threshold: seconds, if positive.
            temperatures: float32 of shape (n,), filled with what `temperature` is at each node whose row is a mask, else with -1.

        Returns False when the time ran out first. Raises RuntimeError when the links are no tree. Cost: about 0.7 us a node.
        """

    def find_jump_forward_string(self) -> str:
        """
        The text that every continuation begins with, in whole characters; empty where the text may end or there is a choice.

        Raises RuntimeError after a stop token. Cost: some microseconds for each byte found.
        """

    def find_forced_tokens(self, encode: Callable[[str], Sequence[int]] | None = None) -> list[int]:
        """
        The tokens that come next in every continuation, cut as the model's tokenizer cuts the text; changes nothing.

        First those of find_jump_forward_string(), as far as the tokenizer cuts it so after the text so far, whatever follows: the last
        ones are held back where they could merge with what the grammar allows next, and there are none where the first could merge with
        the text so far. Then tokens of which the mask allows no other. All are text; each is allowed after those before it.

        Args:
            encode: gives the tokens of a text, without special tokens, as the model's tokenizer does. By default that of the
                TokenizerInfo; where that has none, only tokens of which the mask allows no other are found.

        Raises RuntimeError after a stop token. Cost: some microseconds where nothing is forced; where something is, some ten
        calls of `encode` with a hundred bytes each, the first time that it is found there.
        """

    def find_likely_tokens(self, encode: Callable[[str], Sequence[int]] | None = None) -> list[int]:
        """
        The tokens that probably come next, for drafts that a model verifies; changes nothing.

        They continue where find_forced_tokens() ends because white space is free. psc guesses the white space from the text so far; at the
        beginning it guesses a space after commas and colons. All are text; each is allowed after those before it. Where psc guesses
        nothing, they are those of find_forced_tokens().

        Args:
            encode: as for find_forced_tokens().

        Raises RuntimeError after a stop token. Cost: a call of `encode`, and 5 to 30 us for each place with white space.
        """

    def rollback(self, num_tokens: int = 1) -> None:
        """
        Takes back the last `num_tokens` accepted tokens or strings, a stop token among them.

        Raises RuntimeError when fewer were accepted, and then nothing changes. Cost: some nanoseconds for each step taken back.
        """

    def fork(self) -> GrammarMatcher:
        """
        A second matcher at the same place, with the same past; what happens to one does not touch the other. Cost: O(1).
        """

    def reset(self) -> None:
        """Back to the empty text."""

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple[object, ...]: ...

    def is_terminated(self) -> bool:
        """
        A stop token was accepted; or, with terminate_without_stop_token, the text is complete.
        """

    def is_completed(self) -> bool:
        """The text so far is a whole sentence."""

    def get_captures(self, *, deduplicate: bool = True) -> list[tuple[str, bytes]]:
        """
        (name, text) of the rules with the option `capture` that were over so far, in the order in which they ended.

        Args:
            deduplicate: of a rule that began at one place, only the longest text; else each, as the rule could end there.

        Cost: the text is read again by rules, some 20 us a character; what was read for the last call is kept.
        """

    @property
    def stop_token_ids(self) -> list[int]:
        """Tokens that end the text."""

    @property
    def max_rollback_tokens(self) -> int:
        """-1: any number of steps can be taken back."""

    @property
    def temperature(self) -> float | None:
        """
        Of the innermost open rule that has the option `temperature`, the highest where there are several ways to read the text;
        else the default_temperature that was given. Cost: as get_captures().
        """

    @property
    def compiled(self) -> Any:
        """The compiled grammar."""

    @property
    def n_steps(self) -> int:
        """Accepted tokens and strings, as rollback() counts them."""

    def accept_prefix(self, text: str | bytes) -> int:
        """
        Takes text while it has a continuation, as one step for rollback(); the number of bytes taken.

        Cost: linear in that number.
        """

    def expected_terminals(self) -> list[str]:
        """
        Names of the terminals that the parser can take next, $END among them when the text may end.
        """

    def _debug_print_internal_state(self) -> str:
        """
        The (lexer state, LR states from the top) that the text may have led to, to be looked at; the form may change.
        """

class BatchGrammarMatcher:
    """
    Does the same for many matchers at once, on native threads without the interpreter's lock.

    Args:
        max_threads: how many, or "auto" for one a processor.

    Raises RuntimeError when max_threads is neither.
    """

    def __init__(self, max_threads: int | str = 'auto') -> None: ...

    @property
    def max_threads(self) -> int: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple[object, ...]: ...

    def batch_fill_next_token_bitmask(self, matchers: Sequence[GrammarMatcher], bitmask: object, indices: Sequence[int] | None = None, debug_print: bool = False) -> None:
        """
        Fills one row of `bitmask` for each matcher: row i for the i-th, or row indices[i].

        Raises RuntimeError as GrammarMatcher.fill_next_token_bitmask does, for a matcher that has terminated, say. The other rows are
        filled all the same: the attribute `failures` of the error, a dict, has the error of each matcher whose row is not, by its number
        in the batch. An error without it was raised before anything was written. Cost: about that of a copy of each row, on all threads.
        """

    @staticmethod
    def batch_fill_temperature(matchers: Sequence[GrammarMatcher], temperatures: object, indices: Sequence[int] | None = None) -> None:
        """
        Writes `temperature` of each matcher, or -1 when there is none: entry i for the i-th, or entry indices[i].

        `temperatures` is float32 of shape (n,), on the CPU; NumPy, or any array that DLPack carries. Raises RuntimeError, before
        anything is written, when the array is another one or has no such entry.
        """

    @staticmethod
    def batch_accept_token(matchers: Sequence[GrammarMatcher], tokens: Sequence[int], debug_print: bool = False) -> list[bool]:
        """
        accept_token() of each matcher with its token. Raises RuntimeError when there are not as many of one as of the other.
        """

    @staticmethod
    def batch_accept_string(matchers: Sequence[GrammarMatcher], strings: Sequence[str | bytes], debug_print: bool = False) -> list[bool]:
        """accept_string() of each matcher with its string."""

    @staticmethod
    def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: int | Sequence[int] = 1) -> None:
        """
        rollback() of each matcher. Raises RuntimeError, before any has changed, when one has accepted fewer.
        """

class MaskSlots:
    """
    Which mask rows are in a table with room for `n_slots`, for all grammars of a vocabulary. Not for several threads at once.
    """

    def __init__(self, n_slots: int, vocab_size: int, vocabulary_tag: int) -> None: ...

    @property
    def n_slots(self) -> int: ...

    @property
    def n_used(self) -> int: ...

    @property
    def n_steps(self) -> int:
        """Steps begun."""

    def step(self, matchers: Sequence[GrammarMatcher | None], tokens: Sequence[int] | None, out: numpy.typing.NDArray[numpy.int32]) -> list[int]:
        """
        Accepts a token for each matcher (-1: none; None: for no matcher) and writes the slots of their masks to `out`: -1 for None and
        for a matcher that has terminated. Returns the matchers, by index, that refused their token; they are as they were.

        What is then in `writes` must be written before the slots are used. Raises BitmaskError, before anything is accepted, for a
        matcher of another vocabulary, and, when the others are done, the first error of a matcher, whose slot is -1.
        """

    def step_drafts(self, matchers: Sequence[GrammarMatcher | None], drafts: Sequence[Sequence[int]], out: numpy.typing.NDArray[numpy.int32]) -> list[int]:
        """
        Writes the slots of the masks along each matcher's drafts to `out`, one after the other: where it is, and after each draft. The
        matchers are as before afterwards. After a draft that is refused the slot before it is repeated; -1 for None, and once the text has
        ended. Returns where in `out` the slots are whose next draft was refused.

        `writes` and errors are as those of `step`; a matcher with an error has -1 everywhere.
        """

    @property
    def writes(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        What the last step has to write, four numbers each: slot, form (0: only these tokens are allowed, 1: only these are not,
        2: all bits), and the first and the number of its words in `pool`.
        """

    @property
    def n_writes(self) -> int: ...

    @property
    def pool(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

class MaskBuffer:
    """
    The bitmask of a server's batch, which stays from step to step and knows what is in its rows: what is there already is
    not written again. In the beginning all rows allow everything.

    Args:
        n_rows: how many.
        vocab_size: of all matchers.
        max_threads: that fill it, or "auto" for one a processor.

    Raises RuntimeError when max_threads is neither. One call at a time; another thread's waits.
    """

    def __init__(self, n_rows: int, vocab_size: int, max_threads: int | str = 'auto') -> None: ...

    @property
    def rows(self) -> NDArray[numpy.int32]:
        """
        All rows: int32 of shape (n_rows, ceil(vocab_size / 32)), no copy. Who writes to one has to `forget` it.
        """

    def forget(self, row: int, count: int = 1) -> None:
        """
        Says that somebody else wrote to rows, which are then written whole the next time.
        """

    def fill(self, matchers: Sequence[GrammarMatcher | None], drafts: Sequence[Sequence[int]], rows: Sequence[int]) -> list[tuple[int, int, str | Exception]]:
        """
        Writes the masks of a step, on all threads and without the interpreter's lock; the matchers are as before afterwards.

        Args:
            matchers: of the requests; None is one that may have any token.
            drafts: of each the tokens that may come, in speculative decoding. From -1 on there are none.
            rows: of each the first row. Row k from there on is the mask after k drafts. After a draft that is refused the row before it
                is repeated; after the end of the text, and after the first -1, rows allow everything. Ascending, and apart.

        Returns what there is to say, mostly nothing, in the order of the requests: (request, k, "empty") of a row in which nothing is
        allowed, (request, k, "refused") of draft k, counted from 0, and (request, 0, error) of a matcher whose masks cannot be made, all of
        whose rows allow everything. The other requests' rows are filled all the same. Raises RuntimeError, before anything is written, for
        rows that are not there or not apart, and for a matcher of another size of vocabulary. Cost: some microseconds for each request
        with eight drafts where all masks are known, and a copy of vocab_size / 8 bytes for a mask unlike the one that was there.
        """

class MatcherView:
    """
    Where a matcher is: its lexer states and parser stacks. It looks at the matcher as it is when it is asked.

    Args:
        matcher: kept alive, and not changed.
    """

    def __init__(self, matcher: GrammarMatcher) -> None: ...

    def configurations(self) -> list[tuple[int, list[int]]]:
        """
        The (lexer state, parser stack) pairs that the text may have led to; LR states, top first. One where the grammar is
        deterministic.

        Cost: linear in the stacks.
        """

    def members_seen(self) -> list[tuple[list[int], int]]:
        """
        For each of the configurations what its stack knows of members that come in any order: a list of numbers, equal for
        equal sets of those that were there, and how many more it takes at least until what is open can end.
        """

    def stacks_after(self, configuration: int, symbols: Sequence[int]) -> list[list[int]]:
        """
        The stacks that a configuration's becomes when the lexer's symbols (terminals and conditions) are read on it; none where
        they cannot be. LR states, top first.
        """

    def classifier_walk(self, configuration: int) -> tuple[int, list[tuple[int, int, int, list[list[int]], int]]]:
        """
        How the classifier reads a configuration's stack, where several have one top the first.

        Returns:
            How many tokens are allowed whatever the stack is; and what was read, in order: the depth in the stack (0 is its
            top), the LR state there, the classifier's state before it, the sequences of terminals that are viable by that (none
            where the grammar is from an artifact), and how many tokens are allowed as far as this is decided.

        Raises MatcherError where there is no such configuration. Cost: as the mask; what is not there yet is built.
        """

    def continuations(self) -> list[int]:
        """
        Numbers of the terminals that may come next: after the lexeme read last where it is complete, else those it can become.
        """

def warm_tables(machine: Machine) -> dict[str, Any]:
    """
    The names of all rows that matchers of an artifact have composed so far, as it stores them.
    """

def has_room_in_advance(machine: Machine, most_bytes: int) -> bool:
    """
    Whether what a machine has built takes fewer bytes than that, and less than half of its limit.
    """

class WarmRows:
    """
    The rows that an artifact names, composed a few at a time. One thread at a time.
    """

    def __init__(self, machine: Machine) -> None: ...

    def compose(self, seconds: float, most_bytes: int) -> bool:
        """
        Goes on for so much processor time; False when nothing is left, or the machine's cache has so many bytes.
        """

    @property
    def n_composed(self) -> int:
        """Rows composed so far."""

class TextAutomaton:
    """
    A set of texts as its minimal deterministic automaton over code points.
    """

    @staticmethod
    def empty() -> TextAutomaton: ...

    @staticmethod
    def everything() -> TextAutomaton: ...

    @staticmethod
    def texts(texts: Sequence[str]) -> TextAutomaton: ...

    @staticmethod
    def of(accepts: Sequence[bool], arcs: Sequence[Sequence[int]]) -> TextAutomaton:
        """
        The set of an automaton, given as `accepts` and `arcs` are. Raises ValueError where it is none.
        """

    @staticmethod
    def characters(ranges: Sequence[tuple[int, int]]) -> TextAutomaton:
        """
        The texts of one code point out of these inclusive ranges; those of surrogates are left out.
        """

    @staticmethod
    def pattern(pattern: str, max_states: int = 40000) -> TextAutomaton:
        """The texts in which a regular expression of ECMA-262 is found."""

    @staticmethod
    def format(name: str) -> TextAutomaton | None:
        """The texts of a format of JSON Schema, of any length."""

    @staticmethod
    def numbers() -> TextAutomaton:
        """Numbers in plain decimal spelling, as all that follow."""

    @staticmethod
    def integers() -> TextAutomaton: ...

    @staticmethod
    def integers_without_fraction() -> TextAutomaton: ...

    @staticmethod
    def at_least(bound: str, exclusive: bool = False) -> TextAutomaton: ...

    @staticmethod
    def at_most(bound: str, exclusive: bool = False) -> TextAutomaton: ...

    @staticmethod
    def equal_to(value: str) -> TextAutomaton: ...

    @staticmethod
    def multiples_of(divisor: str) -> TextAutomaton: ...

    def spelled_as_json(self) -> TextAutomaton: ...

    def spelled_with_all_escapes(self) -> TextAutomaton: ...

    def matches(self, text: str) -> bool: ...

    def intersection(self, other: TextAutomaton) -> TextAutomaton: ...

    def union(self, other: TextAutomaton) -> TextAutomaton: ...

    def difference(self, other: TextAutomaton) -> TextAutomaton: ...

    def concatenation(self, other: TextAutomaton) -> TextAutomaton: ...

    def complement(self) -> TextAutomaton: ...

    def with_length(self, least: int, most: int) -> TextAutomaton:
        """The texts of so many code points; most = -1: without limit."""

    def repeated(self, least: int, most: int) -> TextAutomaton:
        """So many texts, one after the other; most = -1: without limit."""

    def shortest_matches(self) -> TextAutomaton:
        """The texts of which no shorter beginning is one."""

    def is_empty(self) -> bool: ...

    def shortest(self) -> str | None: ...

    def __eq__(self, other: object, /) -> bool: ...

    @property
    def n_states(self) -> int: ...

    @property
    def accepts(self) -> list[bool]:
        """Per state; state 0 is the start."""

    @property
    def arcs(self) -> list[tuple[int, int, int, int]]:
        """(from, first, last, to), ascending; the range is inclusive."""

    @property
    def n_arcs(self) -> int: ...

class SchemaGrammar:
    """The rules of a JSON schema."""

    @property
    def rules(self) -> RulePrograms:
        """Their root is the rule of the whole value."""

    @property
    def warnings(self) -> list[str]:
        """What is not enforced, each with its place."""

    @property
    def doubts(self) -> list[str]:
        """What is probably not what was meant, each with its place."""

class NoValue:
    """A part of a JSON schema that no value can have."""

    @property
    def pointer(self) -> str:
        """Where it is."""

    @property
    def keywords(self) -> list[str]:
        """Its keywords that leave nothing together; none for the schema false."""

    @property
    def parts(self) -> list[str]:
        """
        Pointers of schemas in these keywords that have a share in it, if there are several.
        """

    @property
    def name(self) -> str:
        """The required member that has a share in it, or empty."""

    @property
    def endless(self) -> bool:
        """Whether each value needs another one inside."""

class ParameterStyle:
    """How a model writes the members of an object that is no JSON."""

    def __init__(self, *, before_key: str, after_key: str, space_after_key: bool, heads: Sequence[tuple[Sequence[str], str, bool]], end: str, end_names_key: bool, raw_stop: str, padded: bool, line_breaks: bool, recursive: bool, before_item: str, end_of_item: str, other_keys: str, escapes: Sequence[tuple[str, str]], tokens: Sequence[tuple[str, int]]) -> None:
        """
        See native/schema/parameter_style.hpp. Heads are (types, text, only where a value may be of several types).
        """

def canonical_json(text: str) -> str:
    """
    JSON text without white space, members in their order, numbers as they are spelled. Raises GrammarError.
    """

def json_value(text: str, kept_as_text: Sequence[str], of_text: Callable[[str], object]) -> tuple[object, str]:
    """
    What JSON text stands for, and the text as canonical_json gives it, read once. Numbers without a fraction are integers. The values of the names kept_as_text are canonical text again, wrapped by of_text, but for null and strings. Raises GrammarError.
    """

def in_order_of_tags(text: str) -> str | None:
    """
    The text of a structural tag with its tags in one order, see native/schema/order_of_tags.hpp; None where that cannot be told.
    """

def schema_grammar(schema: str, strict: bool, assert_format: bool, lenient: bool, any_order: bool, any_whitespace: bool, max_whitespace: int | None, max_digits: int | None, plain_integers: bool, indent: int | None, item_separator: str, key_separator: str, resolver: Callable[[str], str | None] | None, excludes: Sequence[str] = [], parameters: ParameterStyle | None = None, unique_items: bool = False, few_sets: bool = False) -> SchemaGrammar:
    """
    The rules of a schema's text; see native/schema/json_schema.hpp. None is no limit of white space or digits, and no indentation. unique_items: say which items must differ where rules cannot (RulePrograms.has_unique). few_sets: leave members in any order to the machine, where they are more than a few.
    """

def part_without_value(schema: str, strict: bool, assert_format: bool, only_objects: bool, unique_items: bool, resolver: Callable[[str], str | None] | None) -> NoValue | None:
    """
    The smallest part of a schema that no value can have, see native/schema/no_value.hpp; None where there is none.
    """
