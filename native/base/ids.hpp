// The id spaces of the core, each with a type of its own, so that no lexer state is passed where an LR state is meant.
//
// An id is one integer, and a vector of ids has the layout of a vector of integers: tables are read from files and NumPy arrays in
// place (`words_of`, `ids_of`). Where one integer holds an id or something else (no state; a shift or a reduction; a lexer state or
// a restart), it is a class whose functions say which.
//
// Example: Action::shift(LrState{7}).v == 14 and Action::reduce(Production{7}).v == 15.
//
// Cost: none at run time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/intern.hpp"

namespace psc {

// The id spaces. Some are positions in the pools of lists, see tables/columns.hpp.
enum class Space : std::uint8_t {
    byte,
    byte_class,
    lexer_state,
    lexer_view,
    lex_output,
    condition,
    branch,
    terminal,
    nonterminal,
    production,
    lr_state,
    classifier_state,
    emission_set,
    label,
    class_set,
    token_id,
    token_class,
    mask_row,
    sequence_node,
    stop_set,
    gathered,
    vocabulary_node,
    output_symbol,
    condition_state,
    rhs_symbol,
    alternative,
    ending,
    future_set,
    future,
    action,
    arc,
    emitted_label,
    lead,
    meaning,
    lead_meaning,
    set_member,
    class_byte,
    stop_token,
    rule,
    expression,
    dfa_state,
    lexer_context,
    top_set,
    trie_set,
    token_config,
    bundle,
    pending,
    thread,
    thread_set,
    emission,
    function_block,
    token_function,
    bundle_list,
    byte_run,
    dfa_match,
    ranked_terminal,
    ignored_terminal,
    warm_set,
    warm_row,
    warm_union,
    warm_reading,
    symbol_token,
    top_member,
    sequence_edge,
    count,
};

// What messages and docs/artifact-format.md call a member of each.
constexpr const char* kSpaceNames[] = {
    "byte",
    "byte class",
    "lexer state",
    "lexer view",
    "lexer output",
    "condition",
    "branch",
    "terminal",
    "nonterminal",
    "production",
    "LR state",
    "classifier state",
    "emission set",
    "label",
    "set of token classes",
    "token",
    "token class",
    "mask row",
    "sequence",
    "set of stop tokens",
    "gathered emissions",
    "vocabulary node",
    "output symbol",
    "condition state",
    "right-hand symbol",
    "alternative",
    "ending",
    "set of futures",
    "future",
    "action",
    "arc",
    "emitted label",
    "lead",
    "meaning",
    "meaning of a lead",
    "set member",
    "class byte",
    "stop token",
    "rule",
    "expression",
    "state of the terminals' automaton",
    "lexer context",
    "set of LR states",
    "set of sequences",
    "token config",
    "bundle",
    "pending symbol",
    "thread",
    "set of threads",
    "emission",
    "block of a token's function",
    "token's function",
    "list of bundles",
    "run of bytes",
    "match",
    "terminal by rank",
    "ignored terminal",
    "set gathered",
    "warm row",
    "union of warm rows",
    "warm reading",
    "token with a symbol",
    "LR state of a set",
    "edge of a set of sequences",
};
static_assert(std::size(kSpaceNames) == static_cast<std::size_t>(Space::count));

template <Space S, class Rep = std::int32_t>
struct Id {
    static constexpr Space space = S;
    Rep v;

    auto operator<=>(const Id&) const = default;
    constexpr std::size_t index() const { return static_cast<std::size_t>(v); }
};

using Byte = Id<Space::byte, std::uint8_t>;
using ByteClass = Id<Space::byte_class, std::uint8_t>;
using LexerState = Id<Space::lexer_state>;
// What a mask row is of: a lexer state, a lexer state under one LR state, or, behind an artifact's lexer states, a lead.
using LexerView = Id<Space::lexer_view>;
using LexOutput = Id<Space::lex_output>;  // a sequence of terminals and conditions that the lexer emits; 0 is empty
using Condition = Id<Space::condition>;
using FutureSet = Id<Space::future_set>;  // what an unfinished lexeme can still become; 0: nothing, 1: the empty sequence only
using Branch = Id<Space::branch>;         // several ways in which the lexer goes on
using Terminal = Id<Space::terminal>;     // the last one is the end of the text
using Nonterminal = Id<Space::nonterminal>;
using Production = Id<Space::production>;
using LrState = Id<Space::lr_state>;
using ClassifierState = Id<Space::classifier_state>;  // 0: nothing left to decide
using EmissionSet = Id<Space::emission_set>;          // what a transition of the classifier emits; 0 is empty
using Lead = Id<Space::lead>;                         // a terminal that is shifted before a stack is read
using Label = Id<Space::label>;                       // sequences that are always emitted together
using ClassSet = Id<Space::class_set>;                // a set of token classes
using TokenId = Id<Space::token_id>;
using TokenClass = Id<Space::token_class>;
using MaskRow = Id<Space::mask_row>;
using StopSet = Id<Space::stop_set>;                // a matcher's own stop tokens, see Machine::add_stop_set()
using ArcId = Id<Space::arc>;                       // of the classifier
using Gathered = Id<Space::gathered>;               // the union of the emissions along a stack; 0 is empty
using SequenceNode = Id<Space::sequence_node>;      // of the trie of terminal sequences; 0 is the empty one
using Rule = Id<Space::rule>;                       // of a grammar's text
using Expression = Id<Space::expression>;           // a node of an expression graph
using VocabularyNode = Id<Space::vocabulary_node>;  // of the trie of a vocabulary's bytes
using DfaState = Id<Space::dfa_state>;              // of the byte automaton of all terminals
using LexerContext = Id<Space::lexer_context>;      // a set of terminals that a lexeme may be, by the LR state on top
using TopSet = Id<Space::top_set>;                  // a set of LR states that can be on top of the stack
using TrieSet = Id<Space::trie_set>;                // a set of sequences, as the trie of sequences has them
using Bundle = Id<Space::bundle>;                   // of the classifier: symbols that wait together, see classifier/classifier.hpp
using Pending = Id<Space::pending>;                 // one of them, with what follows it
using ThreadId = Id<Space::thread>;
using ThreadSet = Id<Space::thread_set>;
using Emission = Id<Space::emission>;         // sequences that one thread emits when it reads; several are a set on a transition
using TokenConfig = Id<Space::token_config>;  // all that the lexer may have done, see classifier/token_steps.hpp
using WarmSet = Id<Space::warm_set>;          // these four are stored names, see machine/warm_rows.hpp
using WarmReading = Id<Space::warm_reading>;
using WarmRow = Id<Space::warm_row>;
using WarmUnion = Id<Space::warm_union>;

// An id or none, in the same integer.
template <class I>
struct Maybe {
    Word v = -1;

    constexpr Maybe() = default;
    constexpr Maybe(I id) : v(id.v) {}
    static constexpr Maybe from_word(Word w) {
        Maybe m;
        m.v = w;
        return m;
    }
    // For tables that are filled when they are read: nothing has computed the entry yet.
    static constexpr Maybe unknown() { return from_word(-2); }
    auto operator<=>(const Maybe&) const = default;
    constexpr explicit operator bool() const { return v >= 0; }
    constexpr I operator*() const { return I{v}; }
};

// A terminal or a nonterminal: terminals first, with the end of the text the last of them, then nonterminals.
struct Symbol {
    Word v;

    auto operator<=>(const Symbol&) const = default;
    static constexpr Symbol of(Terminal t) { return {t.v}; }
    static constexpr Symbol of(Nonterminal n, Word n_terminals) { return {n_terminals + n.v}; }
    constexpr bool is_terminal(Word n_terminals) const { return v < n_terminals; }
    constexpr Terminal terminal() const { return {v}; }
    constexpr Nonterminal nonterminal(Word n_terminals) const { return {v - n_terminals}; }
};

// What a lexer output is made of: a terminal, or, numbered from there, a condition on the LR state on top of the stack.
struct OutputSymbol {
    Word v;

    auto operator<=>(const OutputSymbol&) const = default;
    static constexpr OutputSymbol of(Terminal t) { return {t.v}; }
    static constexpr OutputSymbol of(Condition c, Word n_terminals) { return {n_terminals + c.v}; }
    constexpr bool is_condition(Word n_terminals) const { return v >= n_terminals; }
    constexpr Terminal terminal() const { return {v}; }
    constexpr Condition condition(Word n_terminals) const { return {v - n_terminals}; }
};

// An LR action: twice the state for a shift, twice the production plus one for a reduction.
struct Action {
    Word v;

    auto operator<=>(const Action&) const = default;
    static constexpr Action shift(LrState to) { return {to.v * 2}; }
    static constexpr Action reduce(Production by) { return {by.v * 2 + 1}; }
    constexpr bool is_shift() const { return !(v & 1); }
    constexpr bool is_reduce() const { return v & 1; }
    constexpr LrState state() const { return {v >> 1}; }
    constexpr Production production() const { return {v >> 1}; }
};

// What the lexer does on a byte: goes on in a state, fails, reads the byte again from the start that the stack's top has, or takes
// every way of a branch. `unknown`: not built yet.
class LexTarget {
public:
    static constexpr LexTarget to(LexerState state) { return LexTarget(state.v); }
    static constexpr LexTarget fail() { return LexTarget(kFailed); }
    static constexpr LexTarget restart() { return LexTarget(kRestart); }
    static constexpr LexTarget unknown() { return LexTarget(kUnknown); }
    static constexpr LexTarget several(Branch branch) { return LexTarget(kBranch - branch.v); }

    constexpr bool is_state() const { return v_ >= 0; }
    constexpr bool is_fail() const { return v_ == kFailed; }
    constexpr bool is_restart() const { return v_ == kRestart; }
    constexpr bool is_unknown() const { return v_ == kUnknown; }
    constexpr bool is_branch() const { return v_ <= kBranch; }
    constexpr LexerState state() const { return {v_}; }
    constexpr Branch branch() const { return {kBranch - v_}; }

    auto operator<=>(const LexTarget&) const = default;
    constexpr Word word() const { return v_; }
    static constexpr LexTarget from_word(Word w) { return LexTarget(w); }

private:
    static constexpr Word kFailed = -1, kRestart = -2, kUnknown = -3, kBranch = -4;
    constexpr explicit LexTarget(Word v) : v_(v) {}
    Word v_;
};

// The same as it is stored, in numbers from -1 on, which take fewer bytes: after the states come the restart and the branches.
struct StoredTarget {
    Word v;

    static constexpr StoredTarget of(LexTarget t, Word n_states) {
        if (t.is_restart()) return {n_states};
        if (t.is_branch()) return {n_states + 1 + t.branch().v};
        return {t.word()};
    }
    constexpr LexTarget target(Word n_states) const {
        if (v < n_states) return v < 0 ? LexTarget::fail() : LexTarget::to({v});
        return v == n_states ? LexTarget::restart() : LexTarget::several({v - n_states - 1});
    }
};

// Ids, or structs of several of them, as the integers they are, and back.
template <class T>
concept WordsLike =
    sizeof(T) % sizeof(Word) == 0 && alignof(T) == alignof(Word) && std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>;
template <class T>
concept WordLike = WordsLike<T> && sizeof(T) == sizeof(Word);

template <WordsLike T>
std::span<const Word> words_of(std::span<const T> ids) {
    return {reinterpret_cast<const Word*>(ids.data()), ids.size() * (sizeof(T) / sizeof(Word))};
}
template <WordsLike T>
std::span<const T> ids_of(std::span<const Word> words) {
    return {reinterpret_cast<const T*>(words.data()), words.size() / (sizeof(T) / sizeof(Word))};
}

}  // namespace psc
