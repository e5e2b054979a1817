// A matcher: where one generated text is.
//
// A position is a lexer state and a parser stack; where the grammar or its lexing is ambiguous, several such configurations. Stacks are
// paths in a graph of parent-linked nodes that only grows; a node with several parents stands for several stacks (a graph-structured
// stack, Tomita 1985). Configurations with the same lexer state and the same LR state on top are one, so there are never more than
// lexer states x LR states of them, however ambiguous the text.
//
// Positions are a tree as well: each knows the one before it, so a fork is O(1) and rollback(n) looks at n positions that lie side by
// side. A server has a position and a node or two for each token of each text, so both are 16 bytes.
//
// What is cached, in the order in which it is asked. The factor says how much longer a step (a mask and a token) takes without the
// level, all else as it is; `-`: the level is no cache, but the way that remains.
//
//     accept(token)
//      1 a step that was just taken back ....... taken_back_            make_again()       x6.9  eight drafts: validate, fill, accept
//      2 a step that another text has made ..... EngineCache::steps     make_known_step()  x9.6  256 schemas of tools in turn; x1.8 Java
//      3 no mask was requested, not stored ..... lexer and parser       accept_text()      -
//      4 the token's bit, then its bytes ....... row_, levels 5 to 11   accept_new()       -
//     mask_row()
//      5 of this position ...................... row_                                      a mask is found once more for its token
//      6 read in a like position ............... EngineCache::read_rows cached_read_row()  x1.4  eight first texts of a schema
//      7 classified, if ReadingPolicy says so .. a walk down the stack  classified_row()   -
//        of the stack that was read last ....... read_top_              row_of()           x1.07 one text of Java; x1.5 ambiguous sums
//        a transition of the classifier ........ views, arc_ids         Engine             - an automaton as far as it is built
//        emissions on the way .................. unions                 with_emission()    x7.7  one text of Java
//        their row ............................. row_ids                Engine::row()      x138  likewise
//        of several configurations ............. row_unions             row_union()        x3.2  C
//      8 every token of the vocabulary ......... TokenReader            read_row()         -
//      9 with other stop tokens ................ other_stops            Stops              x7.3  one text of Java
//     10 the step is noted for level 2 ......... EngineCache::steps     keep_step()
//     ahead of both
//     11 rows of drafts that are cached ........ levels 6 and 7         find_cached_row()  x6.1  eight drafts: level 2 needs them
//     12 rows that texts of an artifact visit .. WarmTables             WarmRows           x3.1  first pass over SQL; x1.02 over JSON
//
// Measured with Llama 3's 128,256 tokens, each level switched off by itself, the fastest of rounds that alternated in one process, on
// two cores that others used as well. Level 2 makes first visits 2 to 3 % slower. Levels that save less than 3 % of a step in every
// load would be removed; there is none.
//
// Threads: one at a time. Cost of a step with one configuration: mask_row() reads the stack down to where the classifier is done (a few
// symbols), accept() lexes the token's bytes and shifts the terminals they emit. With more, the same for each, and a union of rows.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.hpp"
#include "base/limits.hpp"
#include "base/work.hpp"
#include "machine/engine.hpp"
#include "matcher/text_matcher.hpp"

namespace psc {

class Matcher final : public TextMatcher {
public:
    explicit Matcher(const std::shared_ptr<Engine>& engine);
    Matcher(const Matcher& other);  // a fork: O(1)
    std::unique_ptr<TextMatcher> fork() const override { return std::make_unique<Matcher>(*this); }

    void set_max_steps(std::size_t steps) override {
        max_steps_ = steps;
        work_ = work(steps);
    }

    MaskRow mask_row() override;
    void find_cached_row() override;
    // Whether the row of this position is there.
    bool has_row() const { return row_ && !cache_->retired.load(std::memory_order_relaxed); }
    bool accept(TokenId token) override;
    bool accept_text(std::span<const std::uint8_t> bytes) override;
    // The same for bytes that may be those of symbols.
    bool accept_bytes(std::span<const std::uint8_t> bytes);
    std::size_t accept_prefix(std::span<const std::uint8_t> bytes) override;
    void rollback(std::size_t n) override;
    void reset() override;

    std::size_t n_steps() const override { return n_steps_; }
    bool stopped() const override { return position_->stopped; }
    bool is_complete() override;
    std::string forced_text() override;
    std::vector<Terminal> expected_terminals() override;

    // What may come next: terminals after the lexeme read last, where that is complete and fits, and those that it can become.
    std::vector<Terminal> continuations();

    using Stack = std::vector<LrState>;  // top first
    struct ConfigurationView {
        LexerState lexer_state;
        Stack stack;                // of several stacks in one, the first
        std::vector<LrState> seen;  // its states that know which members were there
        Word n_missing;             // how many more it takes at least until all that are open can end
    };
    std::vector<ConfigurationView> view() const;
    // Appends the configurations, with their stacks; false where these are too long, or several in one.
    bool add_content(std::vector<Word>& out) const;
    // What the stacks of the n-th configuration become when the symbols of an output are read on them: none where they cannot be; of
    // several stacks with one top, the first. Throws MatcherError where there is no such configuration or symbol.
    std::vector<Stack> stacks_after(std::size_t n, std::span<const OutputSymbol> symbols);
    // How the classifier reads the stack of the n-th configuration, of several stacks with one top the first. It may have to be built
    // for it. Throws MatcherError where there is no such configuration.
    struct StackRead {
        Word depth;  // of the symbol from the top, from 0
        LrState symbol;
        ClassifierState state;                         // before it
        std::vector<std::vector<Terminal>> sequences;  // that are viable, as this symbol has decided
        std::size_t n_allowed;                         // tokens that are allowed, as far as it is decided
    };
    struct ClassifierWalk {
        std::size_t n_always;  // tokens that are allowed on every stack
        std::vector<StackRead> reads;
    };
    ClassifierWalk classifier_walk(std::size_t n);

    EngineCache& cache() const { return static_cast<EngineCache&>(*cache_); }

private:
    struct Node {
        union {
            const Node* parent;          // null under the start state
            const Node* const* parents;  // n_parents of them, where that is not 0
        };
        LrState state;
        Word n_parents;  // 0: one
    };
    struct Configuration {
        const Node* top;
        LexerState state;
    };
    struct Position {
        union {
            const Node* top;
            const Configuration* several;
        };
        union {
            LexerState state;
            Word n_several;
        };
        std::uint32_t is_one : 1;  // configuration; else `several` and `n_several` have them
        std::uint32_t stopped : 1;
        std::uint32_t back : 30;  // so many times 8 bytes before this one is the position before; 0: a Link has both
    };
    struct Link {
        const Position* before;
        Position position;
    };
    static_assert(sizeof(Node) == 16 && sizeof(Position) == 16 && sizeof(Link) == 24);
    enum class Outcome { ok, rejected, ambiguous };
    using Configurations = std::vector<Configuration>;
    using Nodes = std::vector<const Node*>;

    const Node* node(LrState state, const Node* parent) {
        auto* n = arena_.make<Node>();
        n->parent = parent;
        n->state = state;
        n->n_parents = 0;
        return n;
    }
    const Node* node(LrState state, const Nodes& parents);
    struct Comparison {  // whether all stacks of `part` are found to be stacks of `whole`
        const Node *whole, *part;
        bool includes;
    };
    struct Comparisons;  // by their nodes
    struct Graph;        // results about the stacks that paths share while a token is read
    struct Driven;       // the same as lr/graph.hpp drives it
    Stack first_stack(const Node* top) const;
    static std::span<const Node* const> parents_of(const Node& n) {
        if (n.n_parents) return {n.parents, static_cast<std::size_t>(n.n_parents)};
        return {&n.parent, n.parent ? 1u : 0u};
    }
    void push(const Configurations& configurations, bool stopped);
    void push(const Node* top, LexerState state);
    Position* new_position();
    static const Position* before(const Position* position);
    Configurations configurations() const;
    Configuration configuration(std::size_t n) const;

    // The path for one configuration: matcher/linear.cpp. `ambiguous`: after `n_read` bytes it needs the other one; nothing was decided.
    Outcome lex(std::span<const std::uint8_t> bytes, LexerState& state, const Node*& top, std::size_t& n_read);
    Outcome emit(LexOutput output, const Node*& top);
    Outcome shift(Terminal terminal, const Node*& top);

    // The path for any number of them: matcher/graph.cpp. Where there is one it goes the other path as far as that leads.
    bool lex_all(std::span<const std::uint8_t> bytes, Configurations& configurations);
    Outcome lex_alone(std::span<const std::uint8_t>& bytes, Configuration& only);
    // One byte: `next`, where the configurations lead, is `configurations` afterwards.
    void lex_byte(ByteClass byte_class, Configurations& configurations, Configurations& next, Graph& graph);
    using Requests = std::map<LexArc, Nodes>;  // what is emitted before, and where it goes on -> tops
    void step(Configuration configuration, ByteClass byte_class, Configurations& out, Requests& requests);
    void go_on(LexTarget target, const Node* top, ByteClass byte_class, Configurations& out, Requests& requests);
    Nodes emit_all(std::span<const OutputSymbol> symbols, Nodes tops, Graph& graph);
    Nodes shift_all(Terminal terminal, const Nodes& tops, Graph& graph);
    const Node* shared_node(LrState state, Nodes& parents, Graph& graph);
    Nodes pop(const Node* from, Word pops, Graph& graph);
    Nodes pop_level_by_level(const Node* from, Word pops);
    bool includes(const Node* whole, const Node* part, Graph& graph);
    std::optional<bool> compared(const Node* whole, const Node* part, Graph& graph) const;
    void drop_included(Nodes& nodes, Graph& graph);
    void keep_comparisons();
    void forget_comparisons() { comparisons_ = older_comparisons_ = nullptr; }
    void merge(Configurations& configurations, Graph& graph);
    // Leaves out of what is open what the stacks' tops cannot take, see Engine::narrowed().
    void narrow(Configurations& configurations, Graph& graph);
    // Begins a call that reads so many bytes: it may do so much work, however the text is ambiguous.
    void begin(std::size_t n_bytes = 0) {
        work_.renew(n_bytes * kStepsForByte);
        new_comparisons_.clear();
    }
    static constexpr std::size_t kMaxSteps = limit("mask_steps"), kStepsForByte = limit("steps_for_byte");
    static Work work(std::size_t limit) { return Work("steps for one token or mask", limit); }

    bool advance(std::span<const std::uint8_t> bytes, Configurations& configurations);
    bool accept_either(TokenId token, bool stops);
    bool accept_new(TokenId token);

    // Steps that were taken back, and are not forgotten until another one is made: drafts are validated, have their masks made and are
    // accepted, the same tokens three times.
    struct Step {
        const Position* to;
        TokenId token;       // negative: text, which is not made again
        Maybe<MaskRow> row;  // of `to`, when known
    };
    static constexpr std::size_t kMaxTakenBack = 32;
    bool make_again(TokenId token);
    void forget_taken_back();

    // How far down a stack was looked at.
    struct Depth {
        Word v = 0;
        bool bottom = false;  // whether to what is under it
    };
    // Steps that texts have made before, see KnownSteps: matcher/steps.cpp.
    bool make_known_step(TokenId token);
    // Keeps the step that was made last, now that its row is known.
    void keep_step();
    bool describe(const Position& from, Depth of_row, KnownSteps::Step& step);
    std::size_t n_looked_at(const Position& before, TokenId token);
    void forget_rows() override;
    void forget_steps() override;
    // The row with what the stop tokens are here.
    MaskRow with_stops(MaskRow row);
    bool viable(std::span<const OutputSymbol> symbols, const Node* top);
    bool alive(const Configuration& configuration);
    std::vector<OutputSymbol> viable_ends(FutureSet set, const Node* top);
    bool complete(const Configurations& configurations);

    template <class Holds>
    bool all_positions(const Holds& holds) const;
    Maybe<MaskRow> cached_row(Depth* looked_at = nullptr) const;
    void set_row(MaskRow row);  // of this position, but for the stop tokens
    bool is_seldom_here();
    MaskRow affordable_row();
    MaskRow classified_row();
    MaskRow row_of(const Configuration& configuration);
    Maybe<MaskRow> cached_classified_row(Depth* looked_at) const;
    // The stack after a terminal was shifted on a node, without a node of its own: the states that are new lie above an older node.
    struct Aside {
        static constexpr std::size_t kMax = 16;
        std::array<LrState, kMax> states;  // the lowest first
        std::size_t n = 0;
        const Node* under;
        Depth looked_at{1};  // of the node that it was shifted on
    };
    // `ambiguous`: where there are several ways, or too many new states.
    Outcome shift_aside(Terminal terminal, Aside& stack) const;
    class StackCursor;
    // What the classifier emits down from there; none where the stack has several ways down.
    Maybe<Gathered> read(StackCursor at, ClassifierState start);
    // The same as far as it is cached.
    Maybe<Gathered> cached_read(StackCursor at, ClassifierState start, Depth& looked_at) const;
    Gathered read_graph(const Node* top, ClassifierState start);
    MaskRow with_lead(MaskRow row, const Engine::StateLead& lead, const Configuration& at, ClassifierState start);
    // The same row by reading every token on the stacks: matcher/tokens.cpp.
    class TokenReader;
    MaskRow read_row();
    Maybe<MaskRow> cached_read_row(Depth* looked_at = nullptr) const;  // what was read for a matcher in a like position
    class Answers;
    // Of the stacks that a row is read on, copies of all nodes, one after the other, and which of their states were looked at.
    struct Watched {
        const Node* nodes = nullptr;
        std::vector<char> seen;  // per node
        bool bottom_seen = false;
    };
    bool watch(Configurations& configurations, std::size_t most = 4096);
    void see(const Node* node) {
        const auto offset = reinterpret_cast<std::uintptr_t>(node) - reinterpret_cast<std::uintptr_t>(watched_.nodes);
        if (offset < watched_.seen.size() * sizeof(Node)) watched_.seen[offset / sizeof(Node)] = 1;
    }
    std::vector<ReadRows::Question> seen_of(const Configurations& watched) const;

    Engine* machine_;  // that all matchers of its kind share
    const Position* position_ = nullptr;
    std::size_t n_steps_ = 0;       // from the first to this
    std::vector<Step> taken_back_;  // from it on, the next one last; their nodes are above those of the position
    bool takes_back_ = false;       // whether any step was taken back; before that there are no last ones
    bool was_linear_ = false;       // whether the last token was read without the graph
    bool left_out_ = false;         // whether stacks were left out that others include, as includes() found on the way down
    Maybe<MaskRow> row_before_;     // of the step made last, where that could be cached
    TokenId last_token_{-1};        // of that step
    Arena arena_;
    std::vector<Step> last_steps_;  // to the current position, at most kMaxTakenBack; the row of the last one is row_
    const Position* first_ = nullptr;
    // What was last read down from, from which start of the classifier, and the emissions visited: most tokens leave the stack alone.
    const Node* read_top_ = nullptr;
    ClassifierState read_start_{-1};
    Gathered read_{0};
    std::size_t max_steps_ = kMaxSteps;
    Work work_ = work(max_steps_);  // of the call that is being made
    Watched watched_;               // while tokens are read for a row
    // What includes() has found of nodes of this position's stacks, and of those of the token that is being read.
    std::shared_ptr<Comparisons> comparisons_, older_comparisons_;
    std::vector<Comparison> new_comparisons_;
};

}  // namespace psc
