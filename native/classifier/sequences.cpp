#include "classifier/sequences.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "tables/wire.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxSequences = limit("terminal_sequences");
constexpr std::size_t kStepsForSequence = 16;
constexpr Word kMaxSequence = limit("token_terminals");
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

std::vector<std::vector<Terminal>> SequenceTrie::terminals_of(std::span<const SequenceNode> nodes) const {
    std::vector<std::vector<Terminal>> out;
    for (SequenceNode node : nodes) {
        auto& sequence = out.emplace_back();
        for (; node != kRoot; node = parent(node))
            if (label(node).is_terminal()) sequence.push_back(label(node).terminal());
        std::reverse(sequence.begin(), sequence.end());
    }
    sort_unique(out);
    return out;
}

// Sets of LR states and of sequences are numbered anew, a set of sequences after those in it.
SequenceTables SequenceTrie::stored(Word n_terminals) const {
    std::vector<Word> top_offsets{0}, set_offsets{0, 0, 0};
    std::vector<LrState> top_states;
    std::map<TopSet, Word> number_of_tops;
    const auto symbol_of = [&](TopSet tops) {
        const auto [at, fresh] = number_of_tops.emplace(tops, static_cast<Word>(number_of_tops.size()));
        if (fresh) {
            const auto states = tops_.states(tops);
            top_states.insert(top_states.end(), states.begin(), states.end());
            top_offsets.push_back(static_cast<Word>(top_states.size()));
        }
        return n_terminals + at->second;
    };
    std::set<TrieSet> needed;
    std::vector<TrieSet> todo;
    for (SequenceNode node{0}; node.v < size(); ++node.v) {
        if (label(node).is_open()) todo.push_back(set_of(node));
        if (label(node).is_condition()) symbol_of(tops_of(node));
    }
    while (!todo.empty()) {
        const TrieSet set = todo.back();
        todo.pop_back();
        if (set <= Sets::kOne || !needed.insert(set).second) continue;
        for (const Edge& edge : edges(set)) todo.push_back(edge.then);
    }
    std::map<TrieSet, TrieSet> number{{Sets::kNone, Sets::kNone}, {Sets::kOne, Sets::kOne}};
    std::vector<StoredSymbol> set_symbols;
    std::vector<TrieSet> set_rests;
    for (TrieSet set : needed) {
        for (const Edge& edge : edges(set)) {
            set_symbols.push_back({edge.symbol.is_condition() ? symbol_of(edge.symbol.tops()) : edge.symbol.terminal().v});
            set_rests.push_back(number.at(edge.then));
        }
        number.emplace(set, TrieSet{static_cast<Word>(number.size())});
        set_offsets.push_back(static_cast<Word>(set_rests.size()));
    }
    const Word n_symbols = n_terminals + static_cast<Word>(number_of_tops.size());
    std::vector<StoredEnd> ends;
    for (SequenceNode node{0}; node.v < size(); ++node.v) {
        const NodeLabel last = label(node);
        ends.push_back({last.is_open()        ? n_symbols + number.at(set_of(node)).v
                        : last.is_condition() ? symbol_of(tops_of(node))
                                              : last.v});
    }
    return {{parent_},
            {std::move(ends)},
            {std::move(top_offsets)},
            {std::move(top_states)},
            {std::move(set_offsets)},
            {std::move(set_symbols)},
            {std::move(set_rests)}};
}

SequenceTrie::SequenceTrie(const LrTables& tables, const StackPredecessors& below, const SequenceTables& stored, Work& work)
    : work_(work), tops_(tables, below, work) {
    const auto& before = stored.sequence_before;
    parent_.assign(before.begin(), before.end());
    if (parent_.empty()) TableCheck::fail("sequence_before", "is empty");
    if (parent_.size() > kMaxSequences) TableCheck::fail("sequence_before", "is too long");
    std::vector<TopSet> tops;
    for (Word i = 0; i < stored.top_set_offsets.n_lists(); ++i) {
        const auto states = stored.top_set_states[stored.top_set_offsets[TopSet{i}]];
        if (!is_ascending(states)) TableCheck::fail("top_set_states", "is not sorted");
        tops.push_back(tops_.intern(states));
    }
    const Word n_terminals = tables.n_terminals, n_symbols = n_terminals + static_cast<Word>(tops.size());
    const auto symbol_of = [&](Word v) {
        return v < n_terminals ? TrieSymbol::of(Terminal{v}) : TrieSymbol::of(tops[static_cast<std::size_t>(v - n_terminals)]);
    };
    const auto& offsets = stored.sequence_set_offsets;
    if (offsets.at(2) != 0) TableCheck::fail("sequence_set_offsets", "does not begin with the sets that need nothing");
    std::vector<TrieSet> sets{Sets::kNone, Sets::kOne};
    std::vector<Word> depth{0, 0};  // the classifier goes down a set by recursion
    std::vector<Edge> edges;
    for (TrieSet set{2}; set.v < offsets.n_lists(); ++set.v) {
        const auto symbols = stored.sequence_set_symbols[offsets[set]];
        const auto rests = stored.sequence_set_rests[offsets[set]];
        edges.clear();
        depth.push_back(0);
        for (std::size_t i = 0; i < rests.size(); ++i) {
            if (rests[i] >= set) TableCheck::fail("sequence_set_rests", "holds a set that is not before its own");
            depth.back() = std::max(depth.back(), depth[rests[i].index()] + 1);
            edges.push_back({symbol_of(symbols[i].v), sets[rests[i].index()]});
        }
        if (depth.back() > kMaxSequence) TableCheck::fail("sequence_set_rests", "has sequences that are too long");
        std::sort(edges.begin(), edges.end());
        for (std::size_t i = 1; i < edges.size(); ++i)
            if (edges[i].symbol == edges[i - 1].symbol) TableCheck::fail("sequence_set_symbols", "has a symbol twice in a set");
        sets.push_back(sets_.intern(edges));
    }
    for (SequenceNode node{0}; node.v < size(); ++node.v) {
        const auto parent = parent_[node.index()];
        const Word end = stored.sequence_end[node].v;
        if (node == kRoot ? parent || end != -1 : !parent || *parent >= node || label(*parent).is_open() || end < 0)
            TableCheck::fail("sequence_before", "has a sequence that does not extend one before it");
        const bool is_open = end >= n_symbols, is_condition = !is_open && end >= n_terminals;
        label_.push_back(is_open ? NodeLabel::open() : is_condition ? NodeLabel::condition() : NodeLabel{end});
        tail_.push_back(is_open ? sets[static_cast<std::size_t>(end - n_symbols)].v : is_condition ? symbol_of(end).tops().v : -1);
    }
}

std::vector<Word> SequenceTrie::to_words(Word n_terminals) const {
    WordWriter w;
    put_table(w, stored(n_terminals));
    return w.take();
}

namespace {

SequenceTables taken(std::span<const Word> words) {
    WordReader r(words);
    SequenceTables stored;
    take_table(r, stored);
    r.end();
    return stored;
}

}  // namespace

SequenceTrie::SequenceTrie(const LrTables& tables, const StackPredecessors& below, std::span<const Word> words, Work& work)
    : SequenceTrie(tables, below, taken(words), work) {}

}  // namespace psc
