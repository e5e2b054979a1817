#include "classifier/sequences.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.hpp"
#include "tables/wire.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxSequences = limit("terminal_sequences");
constexpr std::size_t kStepsForSequence = 16;
}  // namespace

SequenceNode SequenceTrie::add(SequenceNode parent, NodeLabel label, Word tail) {
    work_.spend(kStepsForSequence);
    if (parent_.size() >= kMaxSequences) throw LimitExceeded("terminal sequences", kMaxSequences);
    tail_.push_back(tail);
    parent_.push_back(parent);
    label_.push_back(label);
    return {size() - 1};
}

Maybe<SequenceNode> SequenceTrie::child(SequenceNode node, Terminal terminal) {
    if (const auto known = children_.find(node, terminal)) return *known;
    Maybe<SequenceNode> made;
    if (label(node).is_condition() && !is_under_one(node) &&
        tops_.is_subset(tops_.takers(tops_of(parent(node)), terminal), tops_of(node))) {
        made = child(parent(node), terminal);  // the condition says no more than the terminal does
    } else if (const auto top = tops_.after(tops_of(node), terminal)) {
        made = add(node, NodeLabel::of(terminal), top.v);
    }
    children_.insert(node, terminal, made);
    return made;
}

Maybe<SequenceNode> SequenceTrie::where(SequenceNode node, std::span<const LrState> states) {
    const auto top = tops_.narrowed(tops_of(node), states);
    if (!top) return {};
    if (*top == tops_of(node)) return node;
    const SequenceNode base = label(node).is_condition() ? parent(node) : node;
    if (const auto known = conditions_.find(base, *top)) return *known;
    const SequenceNode made = add(base, NodeLabel::condition(), top.v);
    conditions_.insert(base, *top, made);
    return made;
}

Maybe<SequenceNode> SequenceTrie::under(LrState top) {
    const auto node = where(kRoot, {&top, 1});
    if (!node || *node == kRoot) return node;
    if ((*node).index() >= under_one_.size()) under_one_.resize((*node).index() + 1);
    under_one_[(*node).index()] = 1;
    return node;
}

bool SequenceTrie::may_follow(Terminal first, SequenceNode rest) {
    for (SequenceNode node{static_cast<Word>(first_.size())}; node.v < size(); ++node.v) {
        const auto inherited = node == kRoot ? Maybe<Terminal>() : first_[parent(node).index()];
        first_.push_back(inherited || !label(node).is_terminal() ? inherited : label(node).terminal());
    }
    const auto second = first_[rest.index()];
    if (!second) return true;
    if (first.index() >= followers_.size()) followers_.resize(first.index() + 1);
    auto& followers = followers_[first.index()];
    if (followers.empty()) followers = tops_.looked_at(tops_.after(tops_.everywhere(), first));
    return followers[(*second).index()];
}

void SequenceTrie::add_any_of(SequenceNode node, TrieSet set, std::vector<SequenceNode>& out) {
    if (set == Sets::kOne) return out.push_back(node);
    for (const Edge& edge : sets_.edges(set)) {
        const auto to =
            edge.symbol.is_condition() ? where(node, tops_.states(edge.symbol.tops())) : child(node, edge.symbol.terminal());
        if (!to) continue;
        const TrieSet rest = viable_part(tops_of(*to), edge.then);
        if (*to != kRoot &&
            sets_.count(rest) > kFew)  // never under the root: sequences of one first terminal are classified together
            out.push_back(open(*to, rest));
        else
            add_any_of(*to, rest, out);
    }
}

Maybe<SequenceNode> SequenceTrie::any_of_after(SequenceNode node, SequenceNode leaf) {
    const TrieSet rest = viable_part(tops_of(node), set_of(leaf));
    if (rest == Sets::kNone) return {};
    return rest == Sets::kOne ? node : open(node, rest);
}

// The sequences of a set that some stack with one of these states on top allows. Conditions that narrow nothing are left out.
TrieSet SequenceTrie::viable_part(TopSet top, TrieSet set) {
    if (set == Sets::kNone || set == Sets::kOne) return set;
    if (const auto known = viable_parts_.find(top, set)) return *known;
    std::vector<TrieSet> parts;
    for (const Edge& edge : sets_.edges(set)) {
        TrieSymbol symbol = edge.symbol;
        const auto to =
            symbol.is_condition() ? tops_.narrowed(top, tops_.states(symbol.tops())) : tops_.after(top, symbol.terminal());
        if (!to) continue;
        if (symbol.is_condition()) symbol = TrieSymbol::of(*to);
        const TrieSet then = viable_part(*to, edge.then);
        parts.push_back(*to == top && symbol.is_condition() ? then : sets_.before(symbol, then));
    }
    const TrieSet part = sets_.unite(parts);
    viable_parts_.insert(top, set, part);
    return part;
}

SequenceNode SequenceTrie::open(SequenceNode node, TrieSet set) {
    if (const auto known = open_.find(node, set)) return *known;
    const SequenceNode made = add(node, NodeLabel::open(), set.v);
    open_.insert(node, set, made);
    return made;
}

// Nodes; then the sets that leaves stand for and the conditions in them, numbered anew, children first.
std::vector<Word> SequenceTrie::to_words() const {
    std::set<TrieSet> needed;
    std::vector<TrieSet> todo;
    for (SequenceNode node{0}; node.v < size(); ++node.v)
        if (label(node).is_open()) todo.push_back(set_of(node));
    while (!todo.empty()) {
        const TrieSet set = todo.back();
        todo.pop_back();
        if (set <= Sets::kOne || !needed.insert(set).second) continue;
        for (const Edge& edge : edges(set)) todo.push_back(edge.then);
    }
    WordWriter w;
    w.put(parent_);
    w.put(label_);
    for (SequenceNode node{0}; node.v < size(); ++node.v)
        if (label(node).is_condition()) w.put(words_of(condition(node)));
    std::map<TrieSet, TrieSet> number{{Sets::kNone, Sets::kNone}, {Sets::kOne, Sets::kOne}};
    std::map<TrieSymbol, TrieSymbol> conditions;  // by the symbol here
    std::vector<TopSet> listed;
    for (TrieSet set : needed)
        for (const Edge& edge : edges(set))
            if (edge.symbol.is_condition() &&
                conditions.emplace(edge.symbol, TrieSymbol::of(TopSet{static_cast<Word>(listed.size())})).second)
                listed.push_back(edge.symbol.tops());
    w.put(static_cast<Word>(listed.size()));
    for (TopSet tops : listed) w.put(words_of(tops_.states(tops)));
    w.put(static_cast<Word>(needed.size()));
    for (TrieSet set : needed) {
        std::vector<Edge> renamed;
        for (const Edge& edge : edges(set))
            renamed.push_back({edge.symbol.is_condition() ? conditions.at(edge.symbol) : edge.symbol, number.at(edge.then)});
        number.emplace(set, TrieSet{static_cast<Word>(number.size())});
        w.put(words_of(std::span<const Edge>(renamed)));
    }
    for (SequenceNode node{0}; node.v < size(); ++node.v)
        if (label(node).is_open()) w.put(number.at(set_of(node)).v);
    return w.take();
}

SequenceTrie::SequenceTrie(const LrTables& tables, const StackPredecessors& below, std::span<const Word> words, Work& work)
    : work_(work), tops_(tables, below, work) {
    WordReader r(words);
    parent_ = r.vector<Maybe<SequenceNode>>();
    label_ = r.vector<NodeLabel>();
    tail_.assign(parent_.size(), -1);
    for (SequenceNode node{0}; node.v < size(); ++node.v)
        if (label(node).is_condition()) tail_[node.index()] = tops_.intern(r.vector<LrState>()).v;
    std::vector<TrieSymbol> conditions;
    std::vector<TrieSet> sets{Sets::kNone, Sets::kOne};
    for (Word n = r.word(); n > 0; --n) conditions.push_back(TrieSymbol::of(tops_.intern(r.vector<LrState>())));
    for (Word n = r.word(); n > 0; --n) {
        const std::vector<Word> renamed = r.vector();
        std::vector<Edge> edges;
        for (const Edge& edge : ids_of<Edge>(renamed))
            edges.push_back(
                {edge.symbol.is_condition() ? conditions.at(edge.symbol.tops().index()) : edge.symbol, sets.at(edge.then.index())});
        std::sort(edges.begin(), edges.end());
        sets.push_back(sets_.intern(edges));
    }
    for (SequenceNode node{0}; node.v < size(); ++node.v)
        if (label(node).is_open()) tail_[node.index()] = sets.at(r.word()).v;
    r.end();
}

}  // namespace psc
