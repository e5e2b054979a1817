#include "lexer/terminal_tables.hpp"

#include <algorithm>

#include "base/sorted.hpp"

namespace psc {

TerminalTables terminal_tables(const AllTerminals& all) {
    std::vector<Word> run_offsets{0};
    std::vector<Byte> bytes;
    std::vector<Maybe<DfaState>> next;
    for (std::size_t s = 0; s < static_cast<std::size_t>(all.n_states); ++s) {
        for (int b = 0; b < 256; ++b) {
            const Word to = all.next[s * static_cast<std::size_t>(all.classes.size()) + all.classes.class_of()[b].v];
            if (b > 0 && to == next.back().v) continue;
            bytes.push_back({static_cast<std::uint8_t>(b)});
            next.push_back(Maybe<DfaState>::from_word(to));
        }
        run_offsets.push_back(static_cast<Word>(bytes.size()));
    }
    std::vector<Terminal> matches, ranked(all.rank.size(), Terminal{0}), ignored;
    for (Word t : all.matches) matches.push_back({t});
    for (Word t = 0; t < static_cast<Word>(all.rank.size()); ++t) {
        ranked[all.rank[t]] = {t};
        if (all.ignored[t]) ignored.push_back({t});
    }
    TerminalTables t;
    t.run_offsets = std::move(run_offsets);
    t.run_bytes = std::move(bytes);
    t.run_next = std::move(next);
    t.match_offsets = all.match_offsets;
    t.match_terminals = std::move(matches);
    t.ranked_terminals = std::move(ranked);
    t.ignored_terminals = std::move(ignored);
    return t;
}

AllTerminals all_terminals(const TerminalTables& t, Word n_terminals) {
    const Word n = n_terminals - 1;  // the end of the text is no terminal of the automaton
    AllTerminals all;
    all.n_states = t.run_offsets.n_lists();
    std::vector<Word> rows;
    rows.reserve(static_cast<std::size_t>(all.n_states) * 256);
    for (DfaState s{0}; s.v < all.n_states; ++s.v) {
        const auto runs = t.run_offsets[s];
        const auto bytes = t.run_bytes[runs];
        const auto next = t.run_next[runs];
        if (bytes.empty() || bytes[0].v != 0 || !is_ascending(bytes)) TableCheck::fail("run_bytes", "is not rising from 0");
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            // An arc into the start would make a lexeme begin within itself.
            if (next[i] == DfaState{0}) TableCheck::fail("run_next", "leads to the start");
            rows.resize(s.index() * 256 + (i + 1 < bytes.size() ? bytes[i + 1].v : 256), next[i].v);
        }
        const auto matches = t.match_terminals[t.match_offsets[s]];
        if (!is_ascending(matches)) TableCheck::fail("match_terminals", "is not sorted");
        if (std::any_of(matches.begin(), matches.end(), [&](Terminal m) { return m.v >= n; }))
            TableCheck::fail("match_terminals", "matches the end of the text");
    }
    all.classes = ByteClasses().merged(rows);
    all.next = ByteClasses().narrowed(rows, all.classes);
    // A terminal that matched nothing could be read without end.
    if (t.match_offsets.at(1) != 0) TableCheck::fail("match_offsets", "matches the empty text");
    for (Word o : t.match_offsets) all.match_offsets.push_back(o);
    for (Terminal m : t.match_terminals) all.matches.push_back(m.v);
    all.rank.assign(n, -1);
    if (t.ranked_terminals.size() != static_cast<std::size_t>(n)) TableCheck::fail("ranked_terminals", "has the wrong length");
    for (std::size_t i = 0; i < t.ranked_terminals.size(); ++i) {
        const Terminal terminal = t.ranked_terminals.at(i);
        if (terminal.v >= n || all.rank[terminal.index()] >= 0)
            TableCheck::fail("ranked_terminals", "is no order of the terminals");
        all.rank[terminal.index()] = static_cast<Word>(i);
    }
    all.ignored.assign(n, 0);
    if (!is_ascending(t.ignored_terminals.all())) TableCheck::fail("ignored_terminals", "is not sorted");
    for (Terminal terminal : t.ignored_terminals) {
        if (terminal.v >= n) TableCheck::fail("ignored_terminals", "ignores the end of the text");
        all.ignored[terminal.index()] = 1;
    }
    return all;
}

}  // namespace psc
