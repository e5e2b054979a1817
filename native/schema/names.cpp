// All names of members but the declared ones: the most frequent language in schemas, made without any algebra.
//
// Until a name differs from all declared ones it is a path in their trie; from there on it is any string. As everywhere but in
// strings of any content, printable ASCII is spelled as itself and not \uXXXX (json/strings.hpp). So no escape spells a declared
// name, and the other names of one object do not depend on the names of others.
//
// Cost: linear in the declared names; some 30 states besides.
// Tried and dropped: the difference of "any string" and the declared names, spelled and minimized. Then one automaton of names for
// each object: a labelled automaton for all objects is made deterministic faster.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include "base/grouped.hpp"
#include "schema/rules.hpp"

namespace psc {

namespace {

class NamesBut {
public:
    // The state in which a declared name ends, or -1.
    using EndOf = std::function<Word(NamesBut& automaton, std::string_view name)>;

    // Names are of printable ASCII without quotation mark and backslash. All other names end in the state `end()`.
    NamesBut(std::vector<std::string_view> names, const EndOf& end_of) : end_of_(end_of) {
        std::sort(names.begin(), names.end());
        const Word start = state();
        end_ = state();
        free_string();
        const Word escape = escape_before(free_);
        arc(free_, '\\', '\\', escape);
        arc(start, '"', '"', trie(names, 0, names.size(), 0, escape));
        sort_arcs();
    }

    Word end() const { return end_; }
    Word add_end() { return state(); }
    Word size() const { return n_states_; }
    // Ascending.
    const std::vector<LabelledAutomaton::Arc>& arcs() const { return arcs_; }

    // The automaton of all other names.
    TextAutomaton automaton() const {
        TextAutomaton out = TextAutomaton::drafted();
        out.arcs.reserve(arcs_.size());
        out.offsets.reserve(static_cast<std::size_t>(n_states_) + 1);
        out.accepts.reserve(static_cast<std::size_t>(n_states_));
        auto arc = arcs_.begin();
        for (Word s = 0; s < n_states_; ++s) {
            for (; arc != arcs_.end() && arc->from == s; ++arc) out.add_arc(arc->first, arc->last, arc->to);
            out.add_state(s == end_);
        }
        return out;
    }

private:
    Word state() { return n_states_++; }
    void arc(Word from, Word first, Word last, Word to) { arcs_.push_back({from, first, last, to}); }
    void arcs(Word from, std::string_view characters, Word to) {
        for (char c : characters) arc(from, c, c, to);
    }
    void hex(Word from, Word to) {
        arc(from, '0', '9', to);
        arc(from, 'A', 'F', to);
        arc(from, 'a', 'f', to);
    }
    // Raw characters from `first` to `last` but the quotation mark and the backslash.
    void raw(Word from, Word first, Word last, Word to) {
        constexpr std::pair<Word, Word> kRaw[] = {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0xd7ff}, {0xe000, 0x10ffff}};
        for (const auto& [low, high] : kRaw)
            if (std::max(low, first) <= std::min(high, last)) arc(from, std::max(low, first), std::min(high, last), to);
    }

    // Any characters, and the end.
    void free_string() {
        free_ = state();
        const Word low = state();
        fourth_ = state();
        third_ = state();
        second_ = state();
        after_d_ = state();
        raw(free_, 0, 0x10ffff, free_);
        arc(free_, '"', '"', end_);
        hex(second_, third_);
        hex(third_, fourth_);
        hex(fourth_, free_);
        arc(after_d_, '0', '7', third_);
        arcs(after_d_, "89ABab", low);
        // The rest of a high surrogate, and a low one.
        const Word steps[] = {state(), state(), state(), state(), state(), state()};
        hex(low, steps[0]);
        hex(steps[0], steps[1]);
        arc(steps[1], '\\', '\\', steps[2]);
        arc(steps[2], 'u', 'u', steps[3]);
        arcs(steps[3], "Dd", steps[4]);
        arcs(steps[4], "CDEFcdef", steps[5]);
        hex(steps[5], fourth_);
    }

    // What follows a backslash; `slash` is where a slash leads.
    Word escape_before(Word slash) {
        const Word escape = state();
        arcs(escape, "\"\\bfnrt", free_);
        arc(escape, '/', '/', slash);
        if (u_ < 0) {
            u_ = state();
            const Word zero = state(), zeros = state(), seven = state();
            arc(u_, '0', '0', zero);
            arc(u_, '1', '9', second_);
            arcs(u_, "ABCEFabcef", second_);
            arcs(u_, "Dd", after_d_);
            arc(zero, '0', '0', zeros);
            arc(zero, '1', '9', third_);
            arc(zero, 'A', 'F', third_);
            arc(zero, 'a', 'f', third_);
            arcs(zeros, "0189", fourth_);
            arc(zeros, 'A', 'F', fourth_);
            arc(zeros, 'a', 'f', fourth_);
            arc(zeros, '7', '7', seven);
            arcs(seven, "Ff", free_);
        }
        arc(escape, 'u', 'u', u_);
        return escape;
    }

    // Names from begin to end, which have their first `depth` characters in common. Recursion is as deep as the longest name.
    Word trie(const std::vector<std::string_view>& names, std::size_t begin, std::size_t end, std::size_t depth, Word escape) {
        const Word node = state();
        const bool is_name = begin < end && names[begin].size() == depth;
        if (const Word to = is_name ? end_of_(*this, names[begin]) : end_; to >= 0) arc(node, '"', '"', to);
        if (is_name) ++begin;
        Word next = 0, slash = -1;
        while (begin < end) {
            const char c = names[begin][depth];
            const std::size_t first = begin;
            while (begin < end && names[begin][depth] == c) ++begin;
            raw(node, next, c - 1, free_);
            const Word child = trie(names, first, begin, depth + 1, escape);
            arc(node, c, c, child);
            if (c == '/') slash = child;
            next = c + 1;
        }
        raw(node, next, 0x10ffff, free_);
        arc(node, '\\', '\\', slash < 0 ? escape : escape_before(slash));
        return node;
    }

    // By states, and then those of each.
    void sort_arcs() {
        const Grouped<LabelledAutomaton::Arc> by_state(static_cast<std::size_t>(n_states_), [&](const auto& add) {
            for (const auto& arc : arcs_) add(static_cast<std::size_t>(arc.from), arc);
        });
        arcs_.clear();
        for (std::size_t s = 0; s < static_cast<std::size_t>(n_states_); ++s) {
            arcs_.insert(arcs_.end(), by_state[s].begin(), by_state[s].end());
            std::sort(arcs_.end() - static_cast<std::ptrdiff_t>(by_state[s].size()), arcs_.end(),
                      [](const auto& a, const auto& b) { return a.first < b.first; });
        }
    }

    std::vector<LabelledAutomaton::Arc> arcs_;
    Word n_states_ = 0;
    const EndOf& end_of_;
    Word end_ = -1, free_ = -1, second_ = -1, third_ = -1, fourth_ = -1, after_d_ = -1, u_ = -1;
};

constexpr std::size_t kLongName = 1000;

}  // namespace

// The rule of all names but these, which ascend.
Rule SchemaRules::names_but(const std::vector<Word>& names) {
    if (names.empty()) return this->names(LanguageTable::kAny);
    const auto [entry, is_new] = names_but_.try_emplace(names);
    if (!is_new) return entry->second;
    std::vector<std::string_view> texts;
    for (Word name : names) texts.push_back(reader_.texts()[name]);
    const auto plain = [](std::string_view text) {
        return text.size() <= kLongName &&
               std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    };
    if (!layout_.excludes.empty() || !std::all_of(texts.begin(), texts.end(), plain)) {
        std::vector<std::u32string> declared;
        for (std::string_view text : texts) declared.push_back(code_points(text));
        return entry->second = this->names(languages_.but(LanguageTable::kAny, languages_.number(of_texts(std::move(declared)))));
    }
    const Rule rule = entry->second = fresh("other names");
    Words option;
    const NamesBut::EndOf nowhere = [](NamesBut&, std::string_view) { return -1; };
    rule_words::automaton(option, NamesBut(std::move(texts), nowhere).automaton());
    add(rule, option);
    labelled_.push_back({rule, names});
    return rule;
}

// All rules of names_but() as one automaton over all declared names: a declared name of one object is another name for other
// objects.
LabelledAutomaton SchemaRules::labelled() const {
    LabelledAutomaton out;
    if (labelled_.size() < 2) return out;
    std::map<std::string_view, std::vector<Rule>> without;  // per name, the rules that it is not of
    std::vector<Rule> all;
    for (const auto& [rule, names] : labelled_) {
        all.push_back(rule);
        for (Word name : names) without[reader_.texts()[name]].push_back(rule);
    }
    std::vector<std::string_view> names;
    for (const auto& [name, rules] : without) names.push_back(name);
    std::map<std::vector<Rule>, Word> ends;  // per set of rules, where names of these end
    const NamesBut::EndOf end_of = [&](NamesBut& automaton, std::string_view name) {
        std::vector<Rule> rest;
        const auto& not_of = without.at(name);
        std::set_difference(all.begin(), all.end(), not_of.begin(), not_of.end(), std::back_inserter(rest));
        if (rest.empty()) return Word{-1};
        const auto [entry, is_new] = ends.try_emplace(std::move(rest), 0);
        if (is_new) entry->second = automaton.add_end();
        return entry->second;
    };
    const NamesBut made(names, end_of);
    out.matches.resize(static_cast<std::size_t>(made.size()));
    out.matches[static_cast<std::size_t>(made.end())] = all;
    for (const auto& [rules, end] : ends) out.matches[static_cast<std::size_t>(end)] = rules;
    out.arcs = made.arcs();
    return out;
}

}  // namespace psc
