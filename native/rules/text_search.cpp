#include "rules/text_search.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "text/automaton.hpp"
#include "text/token_symbols.hpp"

namespace psc {

namespace {

// Texts with more of either are refused.
void check_size(std::size_t n, std::size_t most, const char* what) {
    if (n > most)
        throw LimitExceeded("the triggers and excluded texts of one free text need more than " + readable(most) + " " + what +
                            ", which is the limit; have fewer of them, or let them begin with the same character");
}

bool is_surrogate(char32_t c) { return c >= kFirstSurrogateCode && c <= kLastSurrogateCode; }

}  // namespace

TextSearch::TextSearch(const std::vector<std::u32string>& triggers, const std::vector<std::u32string>& excluded,
                       const std::vector<Token>& tokens, Limits limits)
    : limits_(limits), n_triggers_(triggers.size()), nodes_(1) {
    std::vector<std::vector<Word>> paths;  // per trigger, the nodes of its beginnings
    const auto add = [&](const std::u32string& text) {
        std::vector<Word> path{0};
        for (const char32_t c : text) {
            auto& children = nodes_[path.back()].children;
            const auto at = std::lower_bound(children.begin(), children.end(), std::pair<char32_t, Word>(c, -1));
            if (at != children.end() && at->first == c) {
                path.push_back(at->second);
                continue;
            }
            const auto made = static_cast<Word>(nodes_.size());
            children.insert(at, {c, made});
            nodes_.emplace_back();
            nodes_.back().last = c;
            path.push_back(made);
        }
        check_size(nodes_.size(), limits_.states, "states");
        return path;
    };
    for (std::size_t i = 0; i < triggers.size(); ++i) {
        stop_if_cancelled();
        paths.push_back(add(triggers[i]));
        nodes_[paths.back().back()].ends.push_back(static_cast<Word>(i));
        for (const Word node : paths.back()) nodes_[node].leads = true;
    }
    for (const auto& text : excluded) nodes_[add(text).back()].excluded = true;
    for (const Token& t : tokens) nodes_[paths[t.text][t.before]].tokens.emplace_back(t.symbol, paths[t.text][t.after]);
    fall_back();
    for (const auto& [c, node] : nodes_[0].children)
        if (nodes_[node].leads) firsts_.push_back(c);
    for (const auto& path : paths) {
        separable_ = separable_ && path.size() > 2 && !overlaps(path.back()) && !nodes_[path.back()].excluded;
        for (std::size_t i = 0; i + 1 < path.size(); ++i) separable_ = separable_ && !nodes_[path[i]].found;
    }
    for (std::size_t node = 0; node < nodes_.size(); ++node)
        if (nodes_[node].excluded) separable_ = separable_ && !overlaps(static_cast<Word>(node));
    for (const Token& t : tokens) separable_ = separable_ && t.before > 0;
    explore();
}

// Whether the end of a text is the beginning of a trigger.
bool TextSearch::overlaps(Word node) const {
    for (Word n = nodes_[node].fallback; n != 0; n = nodes_[n].fallback)
        if (nodes_[n].leads) return true;
    return false;
}

// Breadth first, so that a node's fall-back has its arcs before the node.
void TextSearch::fall_back() {
    next_.resize(nodes_.size());
    std::vector<Word> order{0};
    for (std::size_t i = 0; i < order.size(); ++i) {
        stop_if_cancelled();
        const Word node = order[i];
        Node& n = nodes_[node];
        std::sort(n.tokens.begin(), n.tokens.end());
        n.tokens.erase(std::unique(n.tokens.begin(), n.tokens.end()), n.tokens.end());
        const std::vector<std::pair<char32_t, Word>> none;
        const auto& inherited = node == 0 ? none : next_[n.fallback];
        auto& next = next_[node];
        auto own = n.children.begin();
        for (const auto& arc : inherited) {
            while (own != n.children.end() && own->first < arc.first) next.push_back(*own++);
            if (own != n.children.end() && own->first == arc.first) continue;
            next.push_back(arc);
        }
        next.insert(next.end(), own, n.children.end());
        std::sort(next.begin(), next.end());
        n_arcs_ += next.size();
        check_size(n_arcs_, limits_.arcs, "arcs");
        for (const auto& [c, child] : n.children) {
            if (node != 0) {
                const auto& from = next_[n.fallback];
                const auto at = std::lower_bound(from.begin(), from.end(), std::pair<char32_t, Word>(c, -1));
                nodes_[child].fallback = at != from.end() && at->first == c ? at->second : 0;
            }
            order.push_back(child);
        }
    }
    // What ends at a node ends with it too where it is a fall-back: bits first, so that most nodes have no list to walk.
    for (const Word node : order)
        if (node != 0) {
            Node& n = nodes_[node];
            n.excluded |= nodes_[n.fallback].excluded;
            n.found = n.excluded || !n.ends.empty() || nodes_[n.fallback].found;
        }
}

Word TextSearch::add_state(Labels labels, bool is_text) {
    labels_.push_back(std::move(labels));
    is_text_.push_back(is_text);
    last_.push_back(0);
    check_size(labels_.size(), limits_.states, "states");
    return static_cast<Word>(labels_.size()) - 1;
}

Word TextSearch::text_state(Word node) {
    Word& state = state_of_node_[node];
    if (state < 0) {
        state = add_state({}, true);
        last_.back() = nodes_[node].last;
        kinds_.push_back({node, {}});
    }
    return state;
}

// Where free text goes on at a node: to more of it, behind triggers, or (-1) nowhere.
Word TextSearch::after(Word node) {
    if (!nodes_[node].found) return text_state(node);
    if (nodes_[node].excluded) return -1;
    Labels ends;
    for (Word n = node; nodes_[n].found; n = nodes_[n].fallback)
        ends.insert(ends.end(), nodes_[n].ends.begin(), nodes_[n].ends.end());
    std::sort(ends.begin(), ends.end());
    const auto [entry, is_new] = state_of_end_.try_emplace(std::move(ends), 0);
    if (is_new) {
        entry->second = add_state(entry->first, false);
        kinds_.push_back({-1, {}});
    }
    return entry->second;
}

Word TextSearch::forced_state(std::set<Word> nodes) {
    const auto [entry, is_new] = state_of_forced_.try_emplace(nodes, 0);
    if (is_new) {
        Labels ends;
        for (const Word node : nodes) ends.insert(ends.end(), nodes_[node].ends.begin(), nodes_[node].ends.end());
        std::sort(ends.begin(), ends.end());
        entry->second = add_state(std::move(ends), false);
        kinds_.push_back({-1, std::move(nodes)});
    }
    return entry->second;
}

void TextSearch::add_text_arcs(Word state, Word node) {
    const Word elsewhere = text_state(0);
    Word from = 0;
    const auto others_before = [&](Word c) {
        const auto add = [&](Word first, Word last) {
            if (first <= last) arcs_.push_back({state, first, last, elsewhere});
        };
        add(std::max<Word>(from, 0), std::min<Word>(c - 1, kFirstSurrogateCode - 1));
        add(std::max<Word>(from, kLastSurrogateCode + 1), c - 1);
        from = c + 1;
    };
    for (const auto& [c, to] : next_[node]) {
        if (is_surrogate(c)) continue;
        const auto code = static_cast<Word>(c);
        others_before(code);
        if (const Word target = after(to); target >= 0) arcs_.push_back({state, code, code, target});
    }
    others_before(kCodePoints);
    std::map<Word, std::set<Word>> tokens;  // per symbol, where it leads
    for (Word n = node;; n = nodes_[n].fallback) {
        for (const auto& [symbol, to] : nodes_[n].tokens) tokens[symbol].insert(to);
        if (n == 0) break;
    }
    for (auto& [symbol, nodes] : tokens) arcs_.push_back({state, symbol, symbol, forced_state(std::move(nodes))});
}

void TextSearch::add_forced_arcs(Word state, const std::set<Word>& nodes) {
    std::map<Word, std::set<Word>> following;  // per character or symbol
    for (const Word node : nodes) {
        for (const auto& [c, to] : nodes_[node].children)
            if (nodes_[to].leads && !is_surrogate(c)) following[static_cast<Word>(c)].insert(to);
        for (const auto& [symbol, to] : nodes_[node].tokens) following[symbol].insert(to);
    }
    for (auto& [c, to] : following) arcs_.push_back({state, c, c, forced_state(std::move(to))});
}

void TextSearch::explore() {
    state_of_node_.assign(nodes_.size(), -1);
    add_state({}, false);  // the start: free text before its first character
    kinds_.push_back({0, {}});
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
        stop_if_cancelled();
        const auto [node, forced] = kinds_[i];
        if (node >= 0)
            add_text_arcs(static_cast<Word>(i), node);
        else if (!forced.empty())
            add_forced_arcs(static_cast<Word>(i), forced);
        check_size(arcs_.size(), limits_.arcs, "arcs");
    }
    for (const Labels& labels : labels_) reached_.insert(reached_.end(), labels.begin(), labels.end());
    std::sort(reached_.begin(), reached_.end());
    reached_.erase(std::unique(reached_.begin(), reached_.end()), reached_.end());
}

LabelledAutomaton TextSearch::labelled(const Rules& of) const {
    LabelledAutomaton out;
    out.decides = true;
    out.arcs = arcs_;
    for (std::size_t state = 0; state < labels_.size(); ++state) {
        std::vector<Rule>& rules = out.matches.emplace_back();
        for (const Word trigger : labels_[state])
            if (of.triggers[trigger] >= 0) rules.push_back({of.triggers[trigger]});
        if (!is_text_[state]) continue;
        if (of.text >= 0) rules.push_back({of.text});
        if (last_[state] == 0) continue;
        const auto first = std::lower_bound(firsts_.begin(), firsts_.end(), last_[state]);
        if (first != firsts_.end() && *first == last_[state] && of.firsts[first - firsts_.begin()] >= 0)
            rules.push_back({of.firsts[first - firsts_.begin()]});
    }
    return out;
}

}  // namespace psc
