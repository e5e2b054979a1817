#include "terminals/subsets.hpp"

#include <algorithm>
#include <utility>

#include "base/sorted.hpp"

namespace psc {

using PositionKind = TerminalPositions::Kind;

Subsets::Subsets(const TerminalNfa& nfa)
    : nfa_(nfa),
      positions_(nfa.positions()),
      state_after_node_(positions_.nodes().size(), -1),
      stamp_(positions_.nodes().size(), -1),
      first_(nfa.classes().size(), -1),
      bucket_(nfa.classes().size()) {
    std::vector<Word> entries(positions_.entries().begin(), positions_.entries().end());
    sort_unique(entries);
    if (positions_.counting().empty())
        state_after(entries);
    else
        state_after_counting(entries, {});
}

// Of a terminal that counts, in the counts of a state.
Word Subsets::count_of(std::span<const Word> counts, Word counted) const {
    for (std::size_t i = 0; i < counts.size(); i += 2)
        if (value_of(counts[i]) == counted) return value_of(counts[i + 1]);
    return TerminalPositions::Counted::kAny;
}

// The state of positions that a character leads to, from a state with these counts; or the start, whose counts are 0.
Word Subsets::state_after_counting(std::span<const Word> nodes, std::span<const Word> counts) {
    using Counted = TerminalPositions::Counted;
    const bool is_start = after_.size() == 0;
    counting_.clear();
    std::vector<Word> suffix;
    for (Word n : nodes) {
        const Word number = positions_.counted_of(n);
        if (number < 0) {
            counting_.push_back(n);
            continue;
        }
        const Counted& counted = positions_.counting()[number];
        const Word state = counted.state_of(n), before = is_start ? 0 : count_of(counts, number);
        const Word count =
            counted.count_at(state, before == Counted::kAny || is_start ? before : before + (counted.counts[state] ? 1 : 0));
        if (count == Counted::kNone) continue;
        counting_.push_back(n);
        if (count != Counted::kAny) suffix.insert(suffix.end(), {counts_word(number), counts_word(count)});
    }
    counting_.insert(counting_.end(), suffix.begin(), suffix.end());
    const std::vector<Word> words(counting_);
    return state_after(words);
}

// Whether the match of a terminal that counts is one, with the counts behind these words.
bool Subsets::matches(Word node, std::span<const Word> words) const {
    const Word number = positions_.counted_of(node);
    return number < 0 || positions_.counting()[number].fits(count_of(words.subspan(n_positions(words)), number));
}

// Appends the counts behind the words of the terminals that go on at one of the positions.
void Subsets::keep_counts(std::span<const Word> words, std::vector<Word>& positions) const {
    const auto counts = words.subspan(n_positions(words));
    const std::size_t n = positions.size();
    for (std::size_t i = 0; i < counts.size(); i += 2) {
        const TerminalPositions::Counted& counted = positions_.counting()[value_of(counts[i])];
        const auto first = std::lower_bound(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(n), counted.first);
        const bool goes_on = first != positions.begin() + static_cast<std::ptrdiff_t>(n) && *first < counted.end &&
                             positions_.nodes()[*first].kind == PositionKind::character;
        if (goes_on) positions.insert(positions.end(), {counts[i], counts[i + 1]});
    }
}

Word Subsets::part_of(Word state, std::span<const Word> positions) {
    std::vector<Word> words(positions.begin(), positions.end());
    if (!positions_.counting().empty()) {
        const std::vector<Word> all(states_[state].begin(), states_[state].end());
        words.reserve(all.size());
        keep_counts(all, words);
    }
    return states_.intern(words).first;
}

Word Subsets::alike(Word state, Word longest_token) {
    const auto all = states_[state];
    const std::size_t n = n_positions(all);
    if (n == all.size()) return state;
    std::vector<Word> words(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    for (std::size_t i = n; i < all.size(); i += 2) {
        const Word count = positions_.counting()[value_of(all[i])].alike(value_of(all[i + 1]), longest_token);
        if (count != TerminalPositions::Counted::kAny) words.insert(words.end(), {all[i], counts_word(count)});
    }
    return states_.intern(words).first;
}

// The state of all positions that read or match, reachable from these without a character.
Word Subsets::state_after(std::span<const Word> nodes) {
    const auto [id, fresh] = after_.intern(nodes);
    if (!fresh) return state_of_[id];
    const auto& all = positions_.nodes();
    const auto counts = nodes.subspan(n_positions(nodes));
    subset_.clear();
    stack_.assign(nodes.begin(), nodes.end());
    while (!stack_.empty()) {
        const Word n = stack_.back();
        stack_.pop_back();
        if (n < 0 || stamp_[n] == id || !nfa_.is_live(n)) continue;
        stamp_[n] = id;
        ++steps_;
        if (all[n].kind == PositionKind::split) {
            stack_.push_back(all[n].b);
            stack_.push_back(all[n].a);
        } else if (all[n].kind == PositionKind::character || counts.empty() || matches(n, nodes)) {
            subset_.push_back(n);
        }
    }
    std::sort(subset_.begin(), subset_.end());
    if (!counts.empty()) keep_counts(nodes, subset_);
    const Word state = states_.intern(subset_).first;
    state_of_.push_back(state);
    return state;
}

bool Subsets::is_extensible(Word state) const {
    const auto subset = positions_of(state);
    return std::any_of(subset.begin(), subset.end(), [&](Word n) { return positions_.nodes()[n].kind == PositionKind::character; });
}

Word Subsets::output(Word state) {
    matched_.clear();
    excepted_.clear();
    for (Word n : positions_of(state)) {
        const auto& node = positions_.nodes()[n];
        if (node.kind == PositionKind::match) {
            (node.a < positions_.terminals() ? matched_ : excepted_).push_back(node.a);
        } else if (node.kind == PositionKind::match_all) {
            const auto list = positions_.list(node.a);
            matched_.insert(matched_.end(), list.begin(), list.end());
        }
    }
    sort_unique(matched_);
    for (Word e : excepted_) std::erase(matched_, e - positions_.terminals());
    return outputs_.intern(matched_).first;
}

bool Subsets::expand(Word state, std::size_t max_steps, std::vector<Arc>& arcs) {
    const auto& all = positions_.nodes();
    const auto of_state = positions_of(state);
    const std::vector<Word> subset(of_state.begin(), of_state.end());
    const std::vector<Word> counts(states_[state].begin() + static_cast<std::ptrdiff_t>(subset.size()), states_[state].end());
    const bool may_count = !positions_.counting().empty();
    arcs.clear();
    touched_.clear();
    for (Word n : subset) {
        const auto& node = all[n];
        if (node.kind != PositionKind::character) continue;
        const auto members = nfa_.classes().members(node.a);
        for (Word c : members) {
            if (first_[c] < 0) {
                first_[c] = node.b;
                touched_.push_back(c);
            } else if (first_[c] != node.b) {
                bucket_[c].push_back(node.b);
            }
        }
        steps_ += members.size();
        if (steps_ <= max_steps) continue;
        for (Word c : touched_) first_[c] = -1, bucket_[c].clear();
        return false;
    }
    if (!std::is_sorted(touched_.begin(), touched_.end())) std::sort(touched_.begin(), touched_.end());
    std::vector<Word> entered;  // by the class before: most enter the same
    Word after_entered = -1;
    for (Word c : touched_) {
        const Word first = std::exchange(first_[c], -1);
        if (may_count) {
            bucket_[c].push_back(first);
            sort_unique(bucket_[c]);
            if (const Word to = state_after_counting(bucket_[c], counts); !states_[to].empty()) arcs.push_back({c, to});
            bucket_[c].clear();
            continue;
        }
        if (bucket_[c].empty()) {
            if (state_after_node_[first] < 0) state_after_node_[first] = state_after({&first, 1});
            arcs.push_back({c, state_after_node_[first]});
            continue;
        }
        bucket_[c].push_back(first);
        if (bucket_[c] != entered) {
            entered = bucket_[c];
            sort_unique(bucket_[c]);
            after_entered = state_after(bucket_[c]);
        }
        arcs.push_back({c, after_entered});
        bucket_[c].clear();
    }
    return steps_ <= max_steps;
}

}  // namespace psc
