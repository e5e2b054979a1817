#include "lr/top_states.hpp"

#include <algorithm>

#include "base/sorted.hpp"

namespace psc {

TopStates::TopStates(const LrTables& tables, const StackPredecessors& below, Work& work)
    : tables_(tables), below_(below), work_(work), on_top_(tables.n_lr_states), under_(tables.n_lr_states) {
    sets_.id_of(resting_states(tables));
}

const std::vector<LrState>& TopStates::after_state(LrState state, Terminal terminal) {
    if (const auto cached = after_state_.find(state, terminal)) return after_states_[*cached];
    auto found = shifted({state}, terminal);  // it may run out of work
    after_state_.insert(state, terminal, static_cast<Word>(after_states_.size()));
    after_states_.push_back(std::move(found));
    return after_states_.back();
}

// The states on top after the shift, from any of these.
std::vector<LrState> TopStates::shifted(std::vector<LrState> todo, Terminal terminal) {
    // `todo`: the states on top during the reductions under `terminal`.
    std::vector<LrState> found;
    on_top_.clear();
    for (LrState state : todo) on_top_.insert(state);
    while (!todo.empty()) {
        const LrState top = todo.back();
        todo.pop_back();
        work_.spend();
        for (Action action : tables_.cell(top, terminal)) {
            if (action.is_shift()) {
                found.push_back(action.state());
                continue;
            }
            const auto& more = reduced(top, action.production());
            work_.spend(1 + more.size());
            for (LrState to : more)
                if (on_top_.insert(to)) todo.push_back(to);
        }
    }
    sort_unique(found);
    return found;
}

// The states on top after a reduction on `state`, whatever is under it. It is cached apart from the terminal: in a grammar of many
// rules that may be empty, hundreds of terminals reduce by the same long production.
const std::vector<LrState>& TopStates::reduced(LrState state, Production production) {
    if (const auto cached = reduced_.find(state, production)) return reduced_to_[*cached];
    std::vector<LrState> bases{state}, lower, to;
    for (Word popped = 0; popped < tables_.length(production); ++popped) {
        lower.clear();
        under_.clear();
        for (LrState s : bases) {
            const auto below = below_[s];
            work_.spend(1 + below.size());
            for (LrState under : below)
                if (under_.insert(under)) lower.push_back(under);
        }
        bases.swap(lower);
    }
    for (LrState base : bases)
        if (const auto next = tables_.plain_go_to(base, tables_.lhs(production))) to.push_back(*next);
    sort_unique(to);
    reduced_.insert(state, production, static_cast<Word>(reduced_to_.size()));
    reduced_to_.push_back(std::move(to));
    return reduced_to_.back();
}

Maybe<TopSet> TopStates::after(TopSet set, Terminal terminal) {
    if (const auto cached = after_.find(set, terminal)) return *cached;
    std::vector<LrState> all, reducing;
    for (LrState s : sets_[set]) {
        // Most states have no action for most terminals, and nearly all others shift; neither is worth caching.
        const auto actions = tables_.cell(s, terminal);
        work_.spend();
        if (actions.empty()) continue;
        if (actions.size() == 1 && actions[0].is_shift()) {
            all.push_back(actions[0].state());
            continue;
        }
        reducing.push_back(s);
    }
    if (reducing.size() >= kManyStates) {
        const auto more = shifted(std::move(reducing), terminal);
        all.insert(all.end(), more.begin(), more.end());
    } else {
        for (LrState s : reducing) {
            const auto& more = after_state(s, terminal);
            work_.spend(more.size());
            all.insert(all.end(), more.begin(), more.end());
        }
    }
    sort_unique(all);
    Maybe<TopSet> result;
    if (!all.empty()) result = sets_.id_of(all);
    after_.insert(set, terminal, result);
    return result;
}

std::vector<char> TopStates::looked_at(Maybe<TopSet> set) const {
    std::vector<char> found(static_cast<std::size_t>(tables_.n_terminals.n));
    if (!set) return found;
    for (LrState s : sets_[*set])
        for (Terminal t{0}; t.index() < found.size(); ++t.v)
            if (!found[t.index()]) found[t.index()] = !tables_.cell(s, t).empty();
    return found;
}

TopSet TopStates::takers(TopSet set, Terminal terminal) {
    if (const auto cached = takers_.find(set, terminal)) return *cached;
    std::vector<LrState> kept;
    for (LrState s : sets_[set])
        if (!tables_.cell(s, terminal).empty() && !after_state(s, terminal).empty()) kept.push_back(s);
    const TopSet result = sets_.id_of(kept);
    takers_.insert(set, terminal, result);
    return result;
}

Maybe<TopSet> TopStates::narrowed(TopSet set, std::span<const LrState> states) {
    const auto all = sets_[set];
    std::vector<LrState> both;
    std::set_intersection(all.begin(), all.end(), states.begin(), states.end(), std::back_inserter(both));
    if (both.empty()) return {};
    return sets_.id_of(both);
}

bool TopStates::contains(TopSet set, LrState state) const {
    const auto all = sets_[set];
    return std::binary_search(all.begin(), all.end(), state);
}

bool TopStates::is_subset(TopSet set, TopSet of) const {
    if (set == of) return true;
    const auto a = sets_[set], b = sets_[of];
    return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

}  // namespace psc
