// Whether a text has a continuation: the sequences that an open lexeme can still become, tried on the stacks. And what follows from
// that: whether the text is complete, what is forced, and what may come next.
//
// Cost: one sequence after the other on one stack; where that is ambiguous or the sequences are many, all stacks at once.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/errors.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "matcher/graph.hpp"
#include "text/token_symbols.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxForced = limit("forced_bytes");
}  // namespace

// Whether the symbols can be read on the stack. Takes back what it allocates.
bool Matcher::viable(std::span<const OutputSymbol> symbols, const Node* top) {
    work_.spend(1 + symbols.size());
    const Arena::Attempt attempt(arena_);
    Outcome o = Outcome::ok;
    const Node* at = top;
    for (OutputSymbol symbol : symbols) {
        if (machine_->is_condition(symbol)) {
            const auto states = machine_->condition(symbol);
            if (!std::binary_search(states.begin(), states.end(), at->state)) o = Outcome::rejected;
        } else {
            o = shift(symbol.terminal(), at);
        }
        if (o != Outcome::ok) break;
    }
    if (o == Outcome::ambiguous) {
        Graph graph;
        o = emit_all(symbols, {top}, graph).empty() ? Outcome::rejected : Outcome::ok;
    }
    return o == Outcome::ok;
}

// Whether some sequence of F(q) can be read on the stack.
bool Matcher::alive(const Configuration& configuration) {
    const FutureSet set = machine_->futures(configuration.state);
    if (set == Engine::kNothingNeeded) return true;
    // Nearly always the lexeme that is open can become one terminal that the parser takes.
    bool longer = false;
    for (const FutureEdge& edge : machine_->future_edges(set)) {
        if (edge.then != Engine::kNothingNeeded)
            longer = true;
        else if (viable({&edge.symbol, 1}, configuration.top))
            return true;
    }
    return longer && !viable_ends(set, configuration.top).empty();
}

// The last symbols of the sequences of a set that can be read on the stack. Sets come after those that lead to them, each with all
// stacks at once, so that ways that go on alike are followed once.
std::vector<OutputSymbol> Matcher::viable_ends(FutureSet set, const Node* top) {
    const Arena::Attempt attempt(arena_);
    std::vector<OutputSymbol> out;
    Graph graph;
    std::map<FutureSet, Nodes, std::greater<>> stacks{{set, {top}}};
    for (; !stacks.empty(); stacks.erase(stacks.begin())) {
        const Nodes here = stacks.begin()->second;
        for (const FutureEdge& edge : machine_->future_edges(stacks.begin()->first)) {
            const Nodes after = emit_all({&edge.symbol, 1}, here, graph);
            if (after.empty()) continue;
            if (edge.then == Engine::kNothingNeeded) {
                out.push_back(edge.symbol);
                continue;
            }
            auto& there = stacks[edge.then];
            there.insert(there.end(), after.begin(), after.end());
        }
    }
    sort_unique(out);
    return out;
}

bool Matcher::complete(const Configurations& configurations) {
    std::vector<OutputSymbol> sequence;
    for (const Configuration& t : configurations)
        for (LexOutput last : machine_->at_end(t.state)) {
            const auto symbols = machine_->output(last);
            sequence.assign(symbols.begin(), symbols.end());
            sequence.push_back(OutputSymbol::of(machine_->lr().end_terminal()));
            if (viable(sequence, t.top)) return true;
        }
    return false;
}

bool Matcher::is_complete() {
    begin();
    return position_->stopped || complete(configurations());
}

std::string Matcher::forced_text() {
    if (position_->stopped)
        throw MatcherError("the matcher has terminated: a stop token was accepted; rollback() or reset() it first");
    begin();
    const Arena::Attempt attempt(arena_);
    std::string out;
    Configurations here = configurations();
    std::array<int, 256> byte_of{};  // the byte of a class, or -1 where it has several
    std::array<int, 256> n_bytes{};
    for (int b = 0; b < 256; ++b) {
        byte_of[machine_->byte_class()[b].v] = b;
        ++n_bytes[machine_->byte_class()[b].v];
    }
    try {
        while (out.size() < kMaxForced && !complete(here)) {
            Configurations only;
            int forced = -1;
            bool choice = false;
            for (int c = 0; c < 256 && !choice; ++c) {
                if (n_bytes[c] == 0) continue;
                Configurations next = here;
                const auto byte = static_cast<std::uint8_t>(byte_of[c]);
                if (!advance({&byte, 1}, next)) continue;
                choice = forced >= 0 || n_bytes[c] > 1;
                forced = byte_of[c];
                only.swap(next);
            }
            if (choice || forced < 0 || forced >= kFirstSymbolByte) break;
            out.push_back(static_cast<char>(forced));
            here.swap(only);
        }
    } catch (const LimitExceeded&) {
        // What was found is forced all the same.
    }
    return out;
}

std::vector<Terminal> Matcher::expected_terminals() {
    begin();
    std::vector<Terminal> out;
    const Configurations all = configurations();
    for (Terminal t{0}; t.v < machine_->lr().n_terminals; ++t.v) {
        const OutputSymbol symbol = OutputSymbol::of(t);
        if (std::any_of(all.begin(), all.end(),
                        [&](const Configuration& configuration) { return viable({&symbol, 1}, configuration.top); }))
            out.push_back(t);
    }
    return out;
}

std::vector<Terminal> Matcher::continuations() {
    begin();
    std::set<Terminal> out;
    std::vector<OutputSymbol> sequence;
    bool finished = false;
    for (const Configuration& t : configurations()) {
        for (LexOutput last : machine_->at_end(t.state)) {
            const auto symbols = machine_->output(last);
            sequence.assign(symbols.begin(), symbols.end());
            sequence.push_back({0});
            for (Terminal next{0}; next.v < machine_->lr().n_terminals; ++next.v) {
                sequence.back() = OutputSymbol::of(next);
                if (viable(sequence, t.top)) out.insert(next), finished = true;
            }
        }
    }
    if (!finished)
        for (const Configuration& t : configurations())
            for (OutputSymbol symbol : viable_ends(machine_->futures(t.state), t.top))
                if (!machine_->is_condition(symbol)) out.insert(symbol.terminal());
    return {out.begin(), out.end()};
}

}  // namespace psc
