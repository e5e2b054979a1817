// The stored tables: what a compilation makes, an artifact holds, and a machine reads.
//
// To add a table, add a member to one of these structs, of a type of tables/columns.hpp over ids of base/ids.hpp (a new id space is
// a line there), and its line in `fields`: name, member, meaning. The rest follows. The artifact has a section or scalar of that
// name; loading checks its length and range; `_core` shows it as a documented array; LR tables carry it between processes;
// docs/artifact-format.md lists it, and its test prints the list when the page is stale. The compiler fills the column
// (lexer/tables.cpp, lr/lalr.cpp, classifier/assembly.cpp, or build.py for the tokens). machine/artifact_machine.cpp checks what
// ids mean together (sorted, never restarting at a start). Raise the artifact's format version and the compiler's revision.
//
// Cost, threads: see tables/columns.hpp.
#pragma once

#include "tables/columns.hpp"

namespace psc {

// The lexer: a transducer from classes of bytes to outputs, which are sequences of terminals and conditions.
struct LexerTables {
    Count<LexerState> n_lexer_states;
    Count<ByteClass> n_byte_classes;
    Column<Byte, ByteClass> byte_class;
    Offsets<LexOutput, Id<Space::output_symbol>, 1> emission_offsets;
    Column<Id<Space::output_symbol>, OutputSymbol> emission_symbols;
    Offsets<Condition, Id<Space::condition_state>> condition_offsets;
    Column<Id<Space::condition_state>, LrState> condition_states;
    Column<LrState, LexerState, Presence::optional> start_of_top;
    Offsets<Branch, Id<Space::alternative>> branch_offsets;
    Column<Id<Space::alternative>, LexOutput> branch_emit;
    Column<Id<Space::alternative>, LexerState> branch_next;
    Column<Cell<LexerState, ByteClass>, StoredTarget> lexer_next;
    Column<Cell<LexerState, ByteClass>, LexOutput> lexer_emit;
    Offsets<LexerState, Id<Space::ending>> end_offsets;
    Column<Id<Space::ending>, LexOutput> ends;
    Offsets<FutureSet, Id<Space::future>, 2> future_offsets;
    Column<Id<Space::future>, OutputSymbol> future_symbols;
    Column<Id<Space::future>, FutureSet> future_sets;
    Column<LexerState, FutureSet> futures;

    static constexpr const char* title = "the lexer";
    template <class F>
    static void fields(F&& f) {
        using T = LexerTables;
        f("n_lexer_states", &T::n_lexer_states,
          "states of the lexer; 0 is the start of a lexeme where the context is not known, or the only start");
        f("n_byte_classes", &T::n_byte_classes, "classes of bytes that do the same everywhere");
        f("byte_class", &T::byte_class, "the class of each byte");
        f("emission_offsets", &T::emission_offsets, "lists of `emission_symbols`; output 0 is empty");
        f("emission_symbols", &T::emission_symbols, "what each output is made of");
        f("condition_offsets", &T::condition_offsets, "lists of `condition_states`");
        f("condition_states", &T::condition_states, "the LR states of which one must be on top, sorted");
        f("start_of_top", &T::start_of_top, "where a lexeme begins when this LR state is on top; empty: in state 0 whatever is");
        f("branch_offsets", &T::branch_offsets, "lists of `branch_emit` and `branch_next`: the ways of each branch");
        f("branch_emit", &T::branch_emit, "what a way emits");
        f("branch_next", &T::branch_next, "where it goes on");
        f("lexer_next", &T::lexer_next, "where a byte of this class leads");
        f("lexer_emit", &T::lexer_emit, "what is emitted then; of a restart, before the byte is read again");
        f("end_offsets", &T::end_offsets, "lists of `ends`");
        f("ends", &T::ends, "what is read, one of these, when the text ends in this state; none where the lexeme is incomplete");
        f("future_offsets", &T::future_offsets,
          "lists of `future_symbols` and `future_sets`; set 0 has no sequence, set 1 the empty one only");
        f("future_symbols", &T::future_symbols, "what a sequence of the set may begin with");
        f("future_sets", &T::future_sets, "what follows it: a set with a smaller number");
        f("futures", &T::futures, "what the unfinished lexeme can still become: a sequence of this set must fit the stack");
    }

    bool contextual() const { return !start_of_top.empty(); }
    std::span<const OutputSymbol> output(LexOutput o) const { return emission_symbols[emission_offsets[o]]; }
    std::span<const LrState> condition(Condition c) const { return condition_states[condition_offsets[c]]; }
    std::span<const LexOutput> ends_of(LexerState q) const { return ends[end_offsets[q]]; }
};

// The LR automaton of a grammar but for its cells.
struct LrProductions {
    Count<Terminal> n_terminals;
    Count<Nonterminal> n_nonterminals;
    Count<LrState> n_lr_states;
    Maybe<LrState> end_state;
    Column<Production, Nonterminal> production_lhs;
    Offsets<Production, Id<Space::rhs_symbol>> rhs_offsets;
    Column<Id<Space::rhs_symbol>, Symbol> rhs;

    static constexpr const char* title = "the LR tables";
    template <class F>
    static void fields(F&& f) {
        using T = LrProductions;
        f("n_terminals", &T::n_terminals, "terminals; the last one is the end of the text");
        f("n_nonterminals", &T::n_nonterminals, "nonterminals");
        f("n_lr_states", &T::n_lr_states, "states; 0 is the start");
        f("end_state", &T::end_state, "the state after the end of the text was shifted: the text is accepted");
        f("production_lhs", &T::production_lhs, "the left-hand side");
        f("rhs_offsets", &T::rhs_offsets, "lists of `rhs`");
        f("rhs", &T::rhs, "the right-hand side");
    }

    std::span<const Symbol> symbols(Production p) const { return rhs[rhs_offsets[p]]; }
    Word length(Production p) const { return static_cast<Word>(rhs_offsets[p].size()); }
    Nonterminal lhs(Production p) const { return production_lhs[p]; }
    Terminal end_terminal() const { return {n_terminals.n - 1}; }
};

// Its cells, as an artifact stores them. lr/tables.hpp has them in the form that readers use.
struct LrCells {
    Offsets<Cell<LrState, Terminal>, Id<Space::action>> action_offsets;
    Column<Id<Space::action>, Action> actions;
    Column<Cell<LrState, Nonterminal>, Maybe<LrState>> gotos;

    static constexpr const char* title = LrProductions::title;
    template <class F>
    static void fields(F&& f) {
        using T = LrCells;
        f("action_offsets", &T::action_offsets, "lists of `actions`: several where the grammar is ambiguous");
        f("actions", &T::actions, "what the parser does in this state before this terminal");
        f("gotos", &T::gotos, "where it goes after this nonterminal");
    }
};

constexpr ClassifierState kDone{0};

// What the classifier does on an LR state that it reads.
struct Transition {
    ClassifierState next;  // kDone when nothing is left to decide
    Word skip;             // stack symbols to pass over before the next read
    EmissionSet emission;
};

// The classifier of stacks, and which tokens its labels stand for.
struct ClassifierTables {
    ClassifierState start;
    Count<ClassifierState> n_classifier_states;
    Count<Label, 0> n_labels;
    Offsets<ClassifierState, Id<Space::arc>> arc_offsets;
    Column<Id<Space::arc>, LrState> arc_symbol;
    Column<Id<Space::arc>, ClassifierState> arc_next;
    Column<Id<Space::arc>, StackDepth> arc_skip;
    Column<Id<Space::arc>, EmissionSet> arc_emission;
    Offsets<EmissionSet, Id<Space::emitted_label>, 1> label_offsets;
    Column<Id<Space::emitted_label>, Label> labels;
    Offsets<ClassSet, Id<Space::set_member>, 1> set_offsets;
    Column<Id<Space::set_member>, SetMember> set_classes;
    Column<LexerState, ClassSet> always;
    Offsets<LexerState, Id<Space::meaning>> meaning_offsets;
    Column<Id<Space::meaning>, Label> meaning_labels;
    Column<Id<Space::meaning>, ClassSet> meaning_sets;

    static constexpr const char* title = "the stack classifier";
    template <class F>
    static void fields(F&& f) {
        using T = ClassifierTables;
        f("start", &T::start, "where reading begins, at the top of the stack");
        f("n_classifier_states", &T::n_classifier_states, "states; 0 has nothing left to decide");
        f("n_labels", &T::n_labels, "labels: sequences of terminals that are always emitted together");
        f("arc_offsets", &T::arc_offsets, "lists of `arc_symbol`, `arc_next`, `arc_skip`, `arc_emission`");
        f("arc_symbol", &T::arc_symbol, "the LR state read, sorted within each classifier state");
        f("arc_next", &T::arc_next, "the state after it");
        f("arc_skip", &T::arc_skip, "how many stack symbols to pass over before the next is read");
        f("arc_emission", &T::arc_emission, "what is emitted");
        f("label_offsets", &T::label_offsets, "lists of `labels`; emission set 0 is empty");
        f("labels", &T::labels, "what each emission set holds");
        f("set_offsets", &T::set_offsets, "lists of `set_classes`; set 0 is empty");
        f("set_classes", &T::set_classes, "what each set holds");
        f("always", &T::always, "the tokens that every stack allows in this lexer state");
        f("meaning_offsets", &T::meaning_offsets, "lists of `meaning_labels` and `meaning_sets`");
        f("meaning_labels", &T::meaning_labels, "the labels that stand for tokens in this lexer state, sorted");
        f("meaning_sets", &T::meaning_sets, "the tokens that each of them stands for");
    }
};

// Of a classifier that is closed over what follows a first terminal, for those terminals that are shifted before it reads the stack
// (classifier/leads.hpp); empty in most artifacts.
struct LeadTables {
    Column<Lead, LexerState> lead_states;
    Column<Lead, Terminal> lead_terminals;
    Column<Lead, ClassSet> lead_always;
    Offsets<Lead, Id<Space::lead_meaning>> lead_offsets;
    Column<Id<Space::lead_meaning>, Label> lead_labels;
    Column<Id<Space::lead_meaning>, ClassSet> lead_sets;

    static constexpr const char* title = "the leads";
    template <class F>
    static void fields(F&& f) {
        using T = LeadTables;
        f("lead_states", &T::lead_states, "the lexer state of each lead, ascending");
        f("lead_terminals", &T::lead_terminals, "what is shifted before the stack is read, ascending within a lexer state");
        f("lead_always", &T::lead_always, "the tokens that every stack allows once the terminal is shifted");
        f("lead_offsets", &T::lead_offsets, "lists of `lead_labels` and `lead_sets`");
        f("lead_labels", &T::lead_labels, "the labels that stand for tokens of the lead, sorted");
        f("lead_sets", &T::lead_sets, "the tokens that each of them stands for");
    }
};

// The sequences of terminals of a classifier that is not closed: it is built of them just in time (machine/partly_closed_machine.hpp).
// A closed artifact has none of them.
struct SequenceTables {
    Column<SequenceNode, Maybe<SequenceNode>> sequence_before;
    Column<SequenceNode, StoredEnd> sequence_end;
    Offsets<TopSet, Id<Space::top_member>> top_set_offsets;
    Column<Id<Space::top_member>, LrState> top_set_states;
    Offsets<TrieSet, Id<Space::sequence_edge>, 2> sequence_set_offsets;
    Column<Id<Space::sequence_edge>, StoredSymbol> sequence_set_symbols;
    Column<Id<Space::sequence_edge>, TrieSet> sequence_set_rests;

    static constexpr const char* title = "the sequences";
    template <class F>
    static void fields(F&& f) {
        using T = SequenceTables;
        f("sequence_before", &T::sequence_before, "the sequence without its end, which has a smaller number; -1: it is empty");
        f("sequence_end", &T::sequence_end, "what it ends with; of a set of sequences one must be viable then");
        f("top_set_offsets", &T::top_set_offsets, "lists of `top_set_states`");
        f("top_set_states", &T::top_set_states, "the LR states of which one must be on top, sorted");
        f("sequence_set_offsets", &T::sequence_set_offsets,
          "lists of `sequence_set_symbols` and `sequence_set_rests`; set 0 has no sequence, set 1 the empty one only");
        f("sequence_set_symbols", &T::sequence_set_symbols, "what a sequence of the set may begin with");
        f("sequence_set_rests", &T::sequence_set_rests, "what follows it: a set with a smaller number");
    }
};

// The vocabulary, as classes of tokens that do the same in every lexer state.
struct TokenTables {
    Count<TokenClass, 0> n_classes;
    Column<TokenId, Maybe<TokenClass>> class_of_token;
    Offsets<TokenClass, Id<Space::class_byte>> class_offsets;
    Column<Id<Space::class_byte>, std::uint8_t> class_bytes;

    static constexpr const char* title = "the tokens";
    template <class F>
    static void fields(F&& f) {
        using T = TokenTables;
        f("n_classes", &T::n_classes, "classes of tokens");
        f("class_of_token", &T::class_of_token, "the class of each token up to the last that is text; -1: it is never text");
        f("class_offsets", &T::class_offsets, "lists of `class_bytes`");
        f("class_bytes", &T::class_bytes, "the bytes of one token of each class");
    }
};

// The automaton of all terminals, in an artifact that is not closed: a machine is built from it just in time.
struct TerminalTables {
    Offsets<DfaState, Id<Space::byte_run>, 1> run_offsets;
    Column<Id<Space::byte_run>, Byte> run_bytes;
    Column<Id<Space::byte_run>, Maybe<DfaState>> run_next;
    Offsets<DfaState, Id<Space::dfa_match>, 1> match_offsets;
    Column<Id<Space::dfa_match>, Terminal> match_terminals;
    Column<Id<Space::ranked_terminal>, Terminal> ranked_terminals;
    Column<Id<Space::ignored_terminal>, Terminal> ignored_terminals;

    static constexpr const char* title = "the terminals' automaton";
    template <class F>
    static void fields(F&& f) {
        using T = TerminalTables;
        f("run_offsets", &T::run_offsets, "lists of `run_bytes` and `run_next`; no run leads to state 0, the start");
        f("run_bytes", &T::run_bytes,
          "the first byte of each run, rising from 0: bytes that follow each other and lead to one state");
        f("run_next", &T::run_next, "where its bytes lead");
        f("match_offsets", &T::match_offsets, "lists of `match_terminals`; that of the start is empty");
        f("match_terminals", &T::match_terminals, "the terminals that match there, sorted");
        f("ranked_terminals", &T::ranked_terminals,
          "all terminals but the end of the text, those before others that win over them");
        f("ignored_terminals", &T::ignored_terminals, "the terminals that are ignored, sorted");
    }
};

// For a grammar that names tokens: which tokens it names, and which of these it tells apart (text/token_symbols.hpp). An artifact
// of such a grammar has both columns, which may be empty; any other has neither.
struct SymbolTables {
    Column<Id<Space::symbol_token>, TokenId> symbol_tokens;
    Column<Id<Space::symbol_token>, TokenId> symbol_numbers;

    static constexpr const char* title = "the symbols";
    template <class F>
    static void fields(F&& f) {
        using T = SymbolTables;
        f("symbol_tokens", &T::symbol_tokens, "a token that the grammar may ask for as such, ascending");
        f("symbol_numbers", &T::symbol_numbers, "the token whose symbol it has: one of those that the grammar does not tell apart");
    }
};

// Mask rows that texts visited when the artifact was made, by what they are composed of; empty in most artifacts. See
// machine/warm_rows.hpp.
struct WarmTables {
    Column<WarmSet, Maybe<WarmSet>> warm_set_before;
    Column<WarmSet, EmissionSet> warm_set_emission;
    Column<WarmRow, StoredView> warm_row_state;
    Column<WarmRow, Maybe<WarmSet>> warm_row_set;
    Column<WarmUnion, WarmOperand> warm_union_first;
    Column<WarmUnion, WarmOperand> warm_union_second;

    static constexpr const char* title = "the warm rows";
    template <class F>
    static void fields(F&& f) {
        using T = WarmTables;
        f("warm_set_before", &T::warm_set_before, "what was gathered on a stack before, a set with a smaller number; -1: nothing");
        f("warm_set_emission", &T::warm_set_emission, "what was emitted next");
        f("warm_row_state", &T::warm_row_state, "the lexer state in which a text met this row, or a lead of it");
        f("warm_row_set", &T::warm_row_set, "what was gathered on the stack then; -1: nothing");
        f("warm_union_first", &T::warm_union_first, "one of two rows whose union a text met; of unions, one with a smaller number");
        f("warm_union_second", &T::warm_union_second, "the other one");
    }
};

// What of a classifier that is not closed texts have visited: how stacks were read, from their tops on. An artifact has them with its
// warm rows. A set gathers then what a reading emits, and `warm_set_emission` is 0.
struct WarmReadings {
    Column<WarmReading, Maybe<WarmReading>> warm_reading_before;
    Column<WarmReading, LrState> warm_reading_symbol;
    Column<WarmSet, WarmReading, Presence::optional> warm_set_reading;

    static constexpr const char* title = "the warm readings";
    template <class F>
    static void fields(F&& f) {
        using T = WarmReadings;
        f("warm_reading_before", &T::warm_reading_before, "what was read above, a reading with a smaller number; -1: nothing");
        f("warm_reading_symbol", &T::warm_reading_symbol, "the LR state that was read next");
        f("warm_set_reading", &T::warm_set_reading, "the reading that emitted what was gathered next");
    }
};

// What depends on more than the text of tokens. It is not stored: the caller gives it where a machine is made of the tables.
struct GivenTokens {
    Count<TokenId, 0> vocab_size;  // none where only text is matched
    Column<Id<Space::stop_token>, TokenId> stop_tokens;

    template <class F>
    static void fields(F&& f) {
        using T = GivenTokens;
        f("vocab_size", &T::vocab_size, "ids of tokens; `class_of_token` has as many by then");
        f("stop_tokens", &T::stop_tokens, "the tokens that end the text");
    }
};

}  // namespace psc
