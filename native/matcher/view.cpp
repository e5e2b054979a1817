// A matcher's place in the grammar, as tools show it.
#include <optional>
#include <string>

#include "base/errors.hpp"
#include "matcher/graph.hpp"

namespace psc {

std::vector<Matcher::ConfigurationView> Matcher::view() const {
    std::vector<ConfigurationView> out;
    const LrTables& lr = machine_->lr();
    for (const Configuration& t : configurations()) {
        ConfigurationView& seen = out.emplace_back(ConfigurationView{t.state, first_stack(t.top), {}, 0});
        if (!lr.has_free_order()) continue;
        for (const Node* n = t.top; n; n = parents_of(*n).empty() ? nullptr : parents_of(*n)[0]) {
            if (lr.plain(n->state) == n->state) continue;
            seen.seen.push_back(n->state);
            seen.n_missing += lr.n_missing_members(n->state);
        }
    }
    return out;
}

Matcher::Stack Matcher::first_stack(const Node* top) const {
    Stack out;
    for (const Node* n = top; n; n = parents_of(*n).empty() ? nullptr : parents_of(*n)[0])
        out.push_back(machine_->lr().plain(n->state));
    return out;
}

Matcher::Configuration Matcher::configuration(std::size_t n) const {
    const Configurations all = configurations();
    if (n >= all.size())
        throw MatcherError("there is no configuration " + std::to_string(n) + "; the matcher has " + std::to_string(all.size()));
    return all[n];
}

std::vector<Matcher::Stack> Matcher::stacks_after(std::size_t n, std::span<const OutputSymbol> symbols) {
    const Configuration from = configuration(n);
    const Word n_symbols = machine_->lr().n_terminals + machine_->n_conditions();
    for (OutputSymbol symbol : symbols)
        if (symbol.v < 0 || symbol.v >= n_symbols)
            throw MatcherError("there is no symbol " + std::to_string(symbol.v) +
                               "; terminals and the conditions after them are below " + std::to_string(n_symbols));
    begin();
    const Arena::Attempt attempt(arena_);
    std::vector<Stack> out;
    Graph graph;
    for (const Node* top : emit_all(symbols, {from.top}, graph)) out.push_back(first_stack(top));
    return out;
}

Matcher::ClassifierWalk Matcher::classifier_walk(std::size_t n) {
    const Configuration from = configuration(n);
    refresh();
    begin();
    const Node* node = from.top;
    auto [state, view] = machine_->start(cache(), from.state, node->state, work_);
    Gathered emissions{0};
    std::optional<MaskRow> of_leads;  // which read other stacks, those after their terminals
    const auto n_allowed = [&, view = view] {
        MaskRow row = machine_->row(cache(), view, emissions);
        if (of_leads) row = machine_->row_union(cache(), row, *of_leads);
        return cache_->rows.tokens(row).size();
    };
    ClassifierWalk out{n_allowed(), {}};
    for (const Engine::StateLead& lead : machine_->leads(from.state))
        of_leads = with_lead(of_leads ? *of_leads : machine_->row(cache(), view, emissions), lead, from, state);
    Transition arc;
    Word depth = 0;
    while (state.v != 0 && node && machine_->transition(cache(), state, node->state, arc, work_)) {
        if (arc.emission.v) emissions = machine_->with_emission(cache(), emissions, arc.emission);
        out.reads.push_back({depth, node->state, state, machine_->emitted_sequences(cache(), arc.emission), n_allowed()});
        state = arc.next;
        for (Word down = arc.skip + 1; down > 0 && node; --down, ++depth)
            node = parents_of(*node).empty() ? nullptr : parents_of(*node)[0];
    }
    return out;
}

bool Matcher::add_content(std::vector<Word>& out) const {
    constexpr std::size_t kMax = 512;
    for (const Configuration& configuration : configurations()) {
        out.push_back(configuration.state.v);
        const std::size_t begin = out.size();
        for (const Node* n = configuration.top; n; n = n->parent) {
            if (n->n_parents || out.size() > kMax) return false;
            out.push_back(n->state.v);
        }
        out.push_back(static_cast<Word>(begin) - static_cast<Word>(out.size()));  // how long the stack is: below all states
    }
    return true;
}

}  // namespace psc
