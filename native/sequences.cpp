#include "sequences.hpp"

#include <algorithm>

#include "limits.hpp"
#include "sorted.hpp"
#include "wire.hpp"

namespace psc {

namespace {
constexpr Word kUnknown = -2;
constexpr std::size_t kMaxSequences = 1 << 22;
constexpr std::size_t kStepsForSequence = 16;
}  // namespace

TopStates::TopStates(const LrTables& tables, const std::vector<std::vector<Word>>& below, Work& work)
    : tables_(tables), below_(below), work_(work) {
    sets_.intern(resting_states(tables));
}

const std::vector<Word>& TopStates::after_state(Word state, Word terminal) {
    if (const Word known = after_state_.find(state, terminal); known >= 0) return after_states_[known];
    // States on top while the reductions under `terminal` go on; what lies under a popped state is any of its predecessors.
    std::vector<Word> found, todo{state};
    std::vector<char> seen(tables_.n_lr_states);
    seen[state] = 1;
    while (!todo.empty()) {
        const Word top = todo.back();
        todo.pop_back();
        work_.spend();
        for (Action action : tables_.cell({top}, {terminal})) {
            if (action.is_shift()) {
                found.push_back(action.state().v);
                continue;
            }
            const auto& more = reduced(top, action.production());
            work_.spend(1 + more.size());
            for (Word to : more)
                if (!std::exchange(seen[to], 1)) todo.push_back(to);
        }
    }
    sort_unique(found);
    after_state_.insert(state, terminal, static_cast<Word>(after_states_.size()));
    after_states_.push_back(std::move(found));
    return after_states_.back();
}

// Where the gotos lead after a reduction on `state`, whatever is under it. The same for all terminals: in a grammar of many rules that
// may be empty, hundreds of terminals reduce by the same long production.
const std::vector<Word>& TopStates::reduced(Word state, Production production) {
    if (const Word known = reduced_.find(state, production.v); known >= 0) return reduced_to_[known];
    std::vector<Word> bases{state}, lower, to;
    std::vector<char> seen(tables_.n_lr_states);
    for (Word popped = 0; popped < tables_.length(production); ++popped) {
        lower.clear();
        for (Word s : bases) {
            work_.spend(1 + below_[s].size());
            for (Word under : below_[s])
                if (!std::exchange(seen[under], 1)) lower.push_back(under);
        }
        for (Word s : lower) seen[s] = 0;
        bases.swap(lower);
    }
    for (Word base : bases)
        if (const auto next = tables_.go_to({base}, tables_.lhs(production))) to.push_back(next.v);
    sort_unique(to);
    reduced_.insert(state, production.v, static_cast<Word>(reduced_to_.size()));
    reduced_to_.push_back(std::move(to));
    return reduced_to_.back();
}

Word TopStates::after(Word set, Word terminal) {
    if (const Word known = after_.find(set, terminal, kUnknown); known != kUnknown) return known;
    std::vector<Word> all;
    const auto span = sets_[set];
    const std::vector<Word> states(span.begin(), span.end());
    for (Word s : states) {
        const auto& more = after_state(s, terminal);
        work_.spend(1 + more.size());
        all.insert(all.end(), more.begin(), more.end());
    }
    sort_unique(all);
    const Word result = all.empty() ? kNoNode : sets_.intern(all).first;
    after_.insert(set, terminal, result);
    return result;
}

Word TopStates::takers(Word set, Word terminal) {
    if (const Word known = takers_.find(set, terminal); known >= 0) return known;
    const auto span = sets_[set];
    const std::vector<Word> states(span.begin(), span.end());
    std::vector<Word> kept;
    for (Word s : states)
        if (!after_state(s, terminal).empty()) kept.push_back(s);
    const Word result = sets_.intern(kept).first;
    takers_.insert(set, terminal, result);
    return result;
}

Word TopStates::narrowed(Word set, std::span<const Word> states) {
    const auto span = sets_[set];
    std::vector<Word> both;
    std::set_intersection(span.begin(), span.end(), states.begin(), states.end(), std::back_inserter(both));
    return both.empty() ? kNoNode : sets_.intern(both).first;
}

bool TopStates::contains(Word set, Word state) const {
    const auto span = sets_[set];
    return std::binary_search(span.begin(), span.end(), state);
}

bool TopStates::is_subset(Word set, Word of) const {
    if (set == of) return true;
    const auto a = sets_[set], b = sets_[of];
    return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

Word SequenceTrie::add(Word parent, Word terminal, Word top) {
    work_.spend(kStepsForSequence);
    if (parent_.size() >= kMaxSequences) throw LimitExceeded("terminal sequences", kMaxSequences);
    top_.push_back(top);
    parent_.push_back(parent);
    terminal_.push_back(terminal);
    return size() - 1;
}

Word SequenceTrie::child(Word node, Word terminal) {
    if (const Word known = children_.find(node, terminal, kUnknown); known != kUnknown) return known;
    Word made = kNoNode;
    if (terminal_[node] == kCondition && tops_.is_subset(tops_.takers(top_[parent_[node]], terminal), top_[node])) {
        made = child(parent_[node], terminal);  // the condition says no more than the terminal does
    } else if (const Word top = tops_.after(top_[node], terminal); top != kNoNode) {
        made = add(node, terminal, top);
    }
    children_.insert(node, terminal, made);
    return made;
}

Word SequenceTrie::where(Word node, std::span<const Word> states) {
    const Word top = tops_.narrowed(top_[node], states);
    if (top == kNoNode || top == top_[node]) return top == kNoNode ? kNoNode : node;
    const Word base = terminal_[node] == kCondition ? parent_[node] : node;
    Word made = conditions_.find(base, top);
    if (made < 0) {
        made = add(base, kCondition, top);
        conditions_.insert(base, top, made);
    }
    return made;
}

std::vector<Word> SequenceTrie::to_words() const {
    WordWriter w;
    w.put(parent_);
    w.put(terminal_);
    for (Word node = 0; node < size(); ++node)
        if (terminal_[node] == kCondition) w.put(condition(node));
    return w.take();
}

SequenceTrie::SequenceTrie(const LrTables& tables, const std::vector<std::vector<Word>>& below, std::span<const Word> words, Work& work)
    : work_(work), tops_(tables, below, work) {
    WordReader r(words);
    parent_ = r.vector();
    terminal_ = r.vector();
    top_.assign(parent_.size(), kNoNode);
    for (Word node = 0; node < size(); ++node)
        if (terminal_[node] == kCondition) top_[node] = tops_.intern(r.vector());
    r.end();
}

}  // namespace psc
