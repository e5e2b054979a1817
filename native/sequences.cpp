#include "sequences.hpp"

#include <algorithm>
#include <map>
#include <set>

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

void SequenceTrie::add_any_of(Word node, Word set, std::vector<Word>& out) {
    if (set == SequenceSets::kOne) return out.push_back(node);
    const auto edges = sets_.edges(set);
    for (std::size_t i = 0; i < edges.size(); i += 2) {
        const Word to = is_condition(edges[i]) ? where(node, tops_.states(kFirstCondition - edges[i])) : child(node, edges[i]);
        if (to == kNoNode) continue;
        const Word rest = viable_part(top_[to], edges[i + 1]);
        if (to != 0 && sets_.count(rest) > kFew)  // never under the root: the sequences of a first terminal are classified together
            out.push_back(open(to, rest));
        else
            add_any_of(to, rest, out);
    }
}

Word SequenceTrie::any_of_after(Word node, Word leaf) {
    const Word rest = viable_part(top_[node], set_of(leaf));
    if (rest == SequenceSets::kNone) return kNoNode;
    return rest == SequenceSets::kOne ? node : open(node, rest);
}

// The sequences of a set that some stack with one of these states on top allows. Conditions that narrow nothing are left out.
Word SequenceTrie::viable_part(Word top, Word set) {
    if (set == SequenceSets::kNone || set == SequenceSets::kOne) return set;
    if (const Word known = viable_parts_.find(top, set); known >= 0) return known;
    std::vector<Word> parts;
    const auto edges = sets_.edges(set);
    for (std::size_t i = 0; i < edges.size(); i += 2) {
        Word symbol = edges[i], to;
        if (is_condition(symbol)) {
            const auto states = tops_.states(kFirstCondition - symbol);
            to = tops_.narrowed(top, std::vector<Word>(states.begin(), states.end()));
            if (to != kNoNode) symbol = kFirstCondition - to;
        } else {
            to = tops_.after(top, symbol);
        }
        if (to == kNoNode) continue;
        const Word then = viable_part(to, edges[i + 1]);
        parts.push_back(to == top && is_condition(symbol) ? then : sets_.before(symbol, then));
    }
    const Word part = sets_.unite(std::move(parts));
    viable_parts_.insert(top, set, part);
    return part;
}

Word SequenceTrie::open(Word node, Word set) {
    if (const Word known = open_.find(node, set); known >= 0) return known;
    const Word made = add(node, kOpen, set);
    open_.insert(node, set, made);
    return made;
}

// Nodes; then the sets that leaves stand for and the conditions in them, numbered anew, children first.
std::vector<Word> SequenceTrie::to_words() const {
    std::set<Word> needed;
    std::vector<Word> todo;
    for (Word node = 0; node < size(); ++node)
        if (terminal_[node] == kOpen) todo.push_back(set_of(node));
    while (!todo.empty()) {
        const Word set = todo.back();
        todo.pop_back();
        if (set <= SequenceSets::kOne || !needed.insert(set).second) continue;
        for (std::size_t i = 1; i < edges(set).size(); i += 2) todo.push_back(edges(set)[i]);
    }
    WordWriter w;
    w.put(parent_);
    w.put(terminal_);
    for (Word node = 0; node < size(); ++node)
        if (terminal_[node] == kCondition) w.put(condition(node));
    std::map<Word, Word> number{{SequenceSets::kNone, SequenceSets::kNone}, {SequenceSets::kOne, SequenceSets::kOne}};
    std::map<Word, Word> conditions;  // by the symbol here
    std::vector<Word> listed;
    for (Word set : needed)
        for (std::size_t i = 0; i < edges(set).size(); i += 2)
            if (const Word symbol = edges(set)[i];
                is_condition(symbol) && conditions.emplace(symbol, kFirstCondition - static_cast<Word>(listed.size())).second)
                listed.push_back(symbol);
    w.put(static_cast<Word>(listed.size()));
    for (Word symbol : listed) w.put(tops_.states(kFirstCondition - symbol));
    w.put(static_cast<Word>(needed.size()));
    for (Word set : needed) {
        std::vector<Word> renamed;
        for (std::size_t i = 0; i < edges(set).size(); i += 2) {
            const Word symbol = edges(set)[i];
            renamed.insert(renamed.end(), {is_condition(symbol) ? conditions.at(symbol) : symbol, number.at(edges(set)[i + 1])});
        }
        const Word next = static_cast<Word>(number.size());
        number.emplace(set, next);
        w.put(renamed);
    }
    for (Word node = 0; node < size(); ++node)
        if (terminal_[node] == kOpen) w.put(number.at(set_of(node)));
    return w.take();
}

SequenceTrie::SequenceTrie(const LrTables& tables, const std::vector<std::vector<Word>>& below, std::span<const Word> words,
                           Work& work)
    : work_(work), tops_(tables, below, work) {
    WordReader r(words);
    parent_ = r.vector();
    terminal_ = r.vector();
    top_.assign(parent_.size(), kNoNode);
    for (Word node = 0; node < size(); ++node)
        if (terminal_[node] == kCondition) top_[node] = tops_.intern(r.vector());
    std::vector<Word> conditions, sets{SequenceSets::kNone, SequenceSets::kOne};
    for (Word n = r.word(); n > 0; --n) conditions.push_back(kFirstCondition - tops_.intern(r.vector()));
    for (Word n = r.word(); n > 0; --n) {
        std::map<Word, Word> by_symbol;
        const std::vector<Word> renamed = r.vector();
        for (std::size_t i = 0; i + 1 < renamed.size(); i += 2)
            by_symbol.emplace(is_condition(renamed[i]) ? conditions.at(kFirstCondition - renamed[i]) : renamed[i],
                              sets.at(renamed[i + 1]));
        std::vector<Word> edges;
        for (const auto& [symbol, then] : by_symbol) edges.insert(edges.end(), {symbol, then});
        sets.push_back(sets_.intern(edges));
    }
    for (Word node = 0; node < size(); ++node)
        if (terminal_[node] == kOpen) top_[node] = sets.at(r.word());
    r.end();
}

}  // namespace psc
