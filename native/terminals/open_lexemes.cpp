#include "terminals/open_lexemes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/components.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"

namespace psc {

namespace {

using PositionKind = TerminalPositions::Kind;

// For one grammar: about a second, and 256 MB at most.
constexpr std::size_t kMaxSubsetSteps = limit("terminal_steps");

void fill_bytes(std::span<const Word> runs, std::array<Word, 256>& row) {
    for (std::size_t i = 0; i < runs.size(); i += 3) std::fill(row.begin() + runs[i], row.begin() + runs[i + 1] + 1, runs[i + 2]);
}

}  // namespace

OpenLexemes::OpenLexemes(std::shared_ptr<const TerminalNfa> terminals)
    : LexemeAutomaton(byte_classes(terminals->classes()), {kStart.v},
                      std::vector<std::uint8_t>(terminals->positions().terminals(), 0)),
      nfa_(std::move(terminals)),
      subsets_(*nfa_),
      wide_(nfa_->classes()),
      reached_in_(nfa_->positions().terminals()),
      target_(nfa_->classes().size(), -1) {
    add_new_subsets();
}

void OpenLexemes::add_new_subsets() {
    while (facts_.size() < static_cast<std::size_t>(subsets_.size())) {
        const Word s = static_cast<Word>(facts_.size());
        facts_.push_back({lists_.intern(subsets_.outputs()[subsets_.output(s)]).first, subsets_.is_extensible(s)});
    }
}

std::unique_ptr<Word[]> OpenLexemes::make_row(DfaState state) {
    std::array<Word, 256> row;
    row.fill(-1);
    if (is_inner(state)) {
        fill_bytes(wide_.inner(inner_of(state)), row);
    } else {
        const CodePointClasses& classes = nfa_->classes();
        if (!subsets_.expand(subset_of(state), kMaxSubsetSteps, arcs_))
            throw LimitExceeded("steps to make the automaton of the terminals deterministic", kMaxSubsetSteps);
        add_new_subsets();
        key_.clear();
        for (const auto& arc : arcs_) {
            target_[arc.character_class] = of_subset(arc.target);
            if (const Word slot = wide_.slot(arc.character_class); slot >= 0)
                key_.insert(key_.end(), {slot, of_subset(arc.target)});
        }
        fill_bytes(wide_.root(wide_.number_of(key_)), row);
        for (int b = 0; b < 128; ++b)
            if (classes.of_ascii(b) >= 0) row[b] = target_[classes.of_ascii(b)];
        for (const auto& arc : arcs_) target_[arc.character_class] = -1;
    }
    auto made = std::make_unique<Word[]>(n_classes());
    row_steps_ += static_cast<std::size_t>(n_classes()) / 4;
    for (int b = 255; b >= 0; --b) made[byte_class()[b].index()] = row[b] == -1 ? -1 : of_run(row[b]);
    return made;
}

Maybe<DfaState> OpenLexemes::next(DfaState state, ByteClass byte_class) {
    if (state.index() >= rows_.size()) rows_.resize(state.index() + 1);
    if (!rows_[state.index()]) {
        auto made = make_row(state);
        rows_[state.index()] = std::move(made);
    }
    return Maybe<DfaState>::from_word(rows_[state.index()][byte_class.index()]);
}

std::span<const Terminal> OpenLexemes::accepted(DfaState state) const {
    if (is_inner(state)) return {};
    return ids_of<Terminal>(lists_[facts_[subset_of(state)].accepted]);
}

bool OpenLexemes::is_extensible(DfaState state) const { return is_inner(state) || facts_[subset_of(state)].extensible; }

std::span<const Terminal> OpenLexemes::reachable(DfaState state) { return ids_of<Terminal>(lists_[reached_from(state)]); }

Word OpenLexemes::reached_from(DfaState state) {
    if (state.index() >= reached_.size()) reached_.resize(state.index() + 1, -1);
    if (reached_[state.index()] >= 0) return reached_[state.index()];
    std::vector<Word> terminals;
    const auto add = [&](Word list) {
        const auto more = lists_[list];
        terminals.insert(terminals.end(), more.begin(), more.end());
    };
    if (is_inner(state)) {
        const auto runs = wide_.inner(inner_of(state));
        Word last = -1;
        for (std::size_t i = 0; i < runs.size(); i += 3)
            if (std::exchange(last, runs[i + 2]) != runs[i + 2]) add(reached_from({of_run(runs[i + 2])}));
    } else {
        const TerminalPositions& positions = nfa_->positions();
        Word terminal = -1;  // of the position before: they are in the order of their programs
        for (Word n : subsets_.positions_of(subset_of(state))) {
            if (terminal < 0 || n >= positions.first_node(terminal + 1)) {
                terminal = positions.terminal_of(n);
                if (!positions.is_labelled(terminal)) terminals.push_back(terminal);
            }
            if (positions.is_labelled(terminal)) add(reached_in(terminal)[n - positions.first_node(terminal)]);
        }
    }
    sort_unique(terminals);
    return reached_[state.index()] = lists_.intern(terminals).first;
}

// Drops the positions that lead to none of the allowed terminals. States inside a character stay, and so does a state of which
// nothing would be left.
DfaState OpenLexemes::restricted(DfaState state, const std::vector<char>& allowed) {
    if (is_inner(state) || state == kStart) return state;
    const TerminalPositions& positions = nfa_->positions();
    const auto is_allowed = [&](Terminal t) { return allowed[t.index()] != 0; };
    std::vector<Word> kept;
    Word terminal = -1;  // of the position before: they are in the order of their programs
    for (Word n : subsets_.positions_of(subset_of(state))) {
        if (terminal < 0 || n >= positions.first_node(terminal + 1)) terminal = positions.terminal_of(n);
        const bool keeps = positions.is_labelled(terminal)
                               ? std::ranges::any_of(
                                     ids_of<Terminal>(lists_[reached_in(terminal)[n - positions.first_node(terminal)]]), is_allowed)
                               : is_allowed({terminal});
        if (keeps) kept.push_back(n);
    }
    if (kept.empty() || kept.size() == subsets_.positions_of(subset_of(state)).size()) return state;
    const Word subset = subsets_.part_of(subset_of(state), kept);
    add_new_subsets();
    return {of_subset(subset)};
}

DfaState OpenLexemes::alike(DfaState state, Word longest_token) {
    if (state == kStart) return state;
    if (is_inner(state)) {
        const auto to = [&](Word target) { return alike({target}, longest_token).v; };
        return {2 * wide_.with_targets(inner_of(state), to) + 1};
    }
    const Word subset = subsets_.alike(subset_of(state), longest_token);
    add_new_subsets();
    return {of_subset(subset)};
}

// A component reaches what matches in it, and what its successors reach.
const std::vector<Word>& OpenLexemes::reached_in(Word terminal) {
    auto& reached = reached_in_[terminal];
    if (!reached.empty()) return reached;
    const TerminalPositions& positions = nfa_->positions();
    const Word first = positions.first_node(terminal), n = positions.first_node(terminal + 1) - first;
    std::vector<std::array<Word, 2>> targets(n);
    std::vector<std::size_t> n_targets(n, 0);
    for (Word i = 0; i < n; ++i)
        TerminalPositions::each_target(positions.nodes()[first + i], [&](Word to) {
            if (nfa_->is_live(to)) targets[i][n_targets[i]++] = to - first;
        });
    const auto targets_of = [&](Word i) { return std::span<const Word>(targets[i]).first(n_targets[i]); };

    const Word none = lists_.intern({}).first;
    PairMap unions;
    std::vector<Word> both;
    const auto unite = [&](Word a, Word b) {
        if (a == b || b == none) return a;
        if (a == none) return b;
        if (a > b) std::swap(a, b);
        if (const Word* cached = unions.look(a, b)) return *cached;
        both.clear();
        std::set_union(lists_[a].begin(), lists_[a].end(), lists_[b].begin(), lists_[b].end(), std::back_inserter(both));
        const Word made = lists_.intern(both).first;
        unions.insert(a, b, made);
        return made;
    };
    std::vector<Word> reached_from_node(n, none), all(n);
    std::iota(all.begin(), all.end(), 0);
    for (const auto& component : components(n, all, targets_of)) {
        Word from_here = none;
        for (Word i : component) {
            const auto& node = positions.nodes()[first + i];
            if (node.kind == PositionKind::match_all) from_here = unite(from_here, lists_.intern(positions.list(node.a)).first);
            for (Word to : targets_of(i)) from_here = unite(from_here, reached_from_node[to]);  // nothing yet, within the component
        }
        for (Word i : component) reached_from_node[i] = from_here;
    }
    return reached = std::move(reached_from_node);
}

std::size_t OpenLexemes::bytes() const {
    std::size_t n_rows = 0, words = reached_.capacity() + target_.capacity() + key_.capacity();
    for (const auto& row : rows_) n_rows += row != nullptr;
    for (const auto& reached : reached_in_) words += reached.capacity();
    return nfa_->bytes() + subsets_.bytes() + wide_.bytes() + lists_.bytes() + rows_.capacity() * sizeof(rows_[0]) +
           (n_rows * static_cast<std::size_t>(n_classes()) + words) * sizeof(Word) + facts_.capacity() * sizeof(Facts) +
           reached_in_.capacity() * sizeof(std::vector<Word>);
}

}  // namespace psc
