#include "lr/boundary_bytes.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "text/token_symbols.hpp"

namespace psc {

namespace {

constexpr std::size_t kMaxNodesVisited = 200'000;

class Before {
public:
    Before(const LrTables& lr, const TerminalNfa& nfa) : lr_(lr), nfa_(nfa), nodes_(nfa.positions().nodes()) {}

    ByteSet find(Word first, Word count) {
        const auto& classes = nfa_.classes();
        wanted_.assign(static_cast<std::size_t>(classes.size()), 0);
        for (Word i = first; i < first + count; ++i)
            if (const Word c = classes.of_symbol(i); c >= 0) wanted_[static_cast<std::size_t>(c)] = 1;
        // Within a terminal: the characters before a position that reads one of them.
        for (const auto& node : nodes_)
            if (node.kind == Kind::character && after(node.b).reads_wanted) add(node.a);
        // Before a terminal that may begin with one: the ends of what precedes it.
        const auto& positions = nfa_.positions();
        std::vector<char> begins(static_cast<std::size_t>(positions.terminals()), 0);
        for (Word entry : positions.entries()) {  // one for each terminal, but for those of an automaton of many
            if (!after(entry).reads_wanted) continue;
            const Word t = positions.terminal_of(entry);
            begins[static_cast<std::size_t>(t)] = 1;
            if (positions.is_labelled(t)) begins.assign(begins.size(), 1);  // which of its terminals does not matter
        }
        for (Word t = 0; t < positions.terminals(); ++t)
            if (begins[static_cast<std::size_t>(t)]) look_before(Symbol::of(Terminal{t}).v);
        const auto& lhs = lr_.production_lhs;
        while (!todo_.empty()) {
            const Word symbol = todo_.back();
            todo_.pop_back();
            for (std::size_t p = 0; p < lhs.size(); ++p) {
                const auto rhs = lr_.rhs[lr_.rhs_offsets.range(p)];
                for (std::size_t i = 0; i < rhs.size(); ++i) {
                    if (rhs[i].v != symbol) continue;
                    if (i > 0)
                        end_of(rhs[i - 1].v);
                    else
                        look_before(lr_.n_terminals + lhs.at(p).v);
                }
            }
        }
        // The last characters of these terminals.
        for (const auto& node : nodes_) {
            if (node.kind != Kind::character) continue;
            for (Word t : after(node.b).matches)
                if (static_cast<std::size_t>(t) < ends_.size() && ends_[static_cast<std::size_t>(t)]) {
                    add(node.a);
                    break;
                }
        }
        return bytes_;
    }

private:
    using Kind = TerminalPositions::Kind;
    struct After {
        bool reads_wanted = false;
        std::vector<Word> matches;
    };

    // What a position reads or matches without another character first.
    const After& after(Word position) {
        const auto [it, fresh] = after_.try_emplace(position);
        if (!fresh) return it->second;
        After found;
        std::vector<Word> todo{position}, seen;
        const auto& classes = nfa_.classes();
        while (!todo.empty()) {
            const Word n = todo.back();
            todo.pop_back();
            if (n < 0 || !stamp_.emplace(n, position).second) continue;
            seen.push_back(n);
            const auto& node = nodes_[static_cast<std::size_t>(n)];
            if (node.kind == Kind::character) {
                for (Word c : classes.members(node.a)) found.reads_wanted |= wanted_[static_cast<std::size_t>(c)] != 0;
            } else if (node.kind == Kind::match) {
                found.matches.push_back(node.a);
            } else if (node.kind == Kind::match_all) {
                const auto all = nfa_.positions().list(node.a);
                found.matches.insert(found.matches.end(), all.begin(), all.end());
            } else {
                TerminalPositions::each_target(node, [&](Word to) { todo.push_back(to); });
            }
        }
        for (Word n : seen) stamp_.erase(n);
        return after_[position] = std::move(found);
    }

    // The last bytes of the characters of a set.
    void add(Word set) {
        const auto members = nfa_.classes().members(set);
        const auto is_member = [&](Word c) { return c >= 0 && std::find(members.begin(), members.end(), c) != members.end(); };
        for (int b = 0; b < 128; ++b)
            if (is_member(nfa_.classes().of_ascii(b))) bytes_.set(static_cast<std::size_t>(b));
        for (Word c : members)
            if (nfa_.classes().is_wide(c))
                for (std::size_t b = 0x80; b < 0xc0; ++b) bytes_.set(b);
    }

    void look_before(Word symbol) {
        if (before_.emplace(symbol, true).second) todo_.push_back(symbol);
    }

    // All terminals that can end a symbol.
    void end_of(Word symbol) {
        std::vector<Word> todo{symbol};
        while (!todo.empty()) {
            const Word s = todo.back();
            todo.pop_back();
            if (!last_.emplace(s, true).second) continue;
            if (s < lr_.n_terminals) {
                ends_.resize(static_cast<std::size_t>(lr_.n_terminals), 0);
                ends_[static_cast<std::size_t>(s)] = 1;
                continue;
            }
            for (std::size_t p = 0; p < lr_.production_lhs.size(); ++p)
                if (lr_.production_lhs.at(p).v == s - lr_.n_terminals) {
                    const auto rhs = lr_.rhs[lr_.rhs_offsets.range(p)];
                    if (!rhs.empty()) todo.push_back(rhs.back().v);
                }
        }
    }

    const LrTables& lr_;
    const TerminalNfa& nfa_;
    const std::vector<TerminalPositions::Node>& nodes_;
    std::vector<char> wanted_;  // per class
    std::unordered_map<Word, After> after_;
    std::unordered_map<Word, Word> stamp_;
    std::unordered_map<Word, bool> before_, last_;
    std::vector<Word> todo_;
    std::vector<char> ends_;  // per terminal
    ByteSet bytes_;
};

}  // namespace

ByteSet bytes_before(const LrTables& lr, const TerminalNfa& terminals, Word first, Word count) {
    if (terminals.positions().nodes().size() > kMaxNodesVisited) return ByteSet().set();
    return Before(lr, terminals).find(first, count);
}

}  // namespace psc
