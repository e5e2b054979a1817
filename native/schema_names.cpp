// Names of members but those that are declared: the most frequent of all languages in schemas, made without any algebra.
//
// Up to where a name leaves all declared ones it is a path in the trie of these; from there on it is any string. Escapes are taken
// only where they cannot spell a declared name: in the trie, \u spells no printable ASCII, which stands for itself (json_strings.hpp).
//
// Cost: linear in the declared names; some 30 states besides.
#include <algorithm>
#include <map>

#include "schema_place.hpp"
#include "schema_rules.hpp"

namespace psc {

namespace {

using Words = std::vector<std::int64_t>;

class NamesBut {
public:
    // Names are of printable ASCII without quotation mark and backslash.
    explicit NamesBut(std::vector<std::string_view> names) {
        std::sort(names.begin(), names.end());
        const Word start = state();
        end_ = state(true);
        free_string();
        const Word escape = escape_in_trie(free_);
        arc(start, '"', '"', trie(names, 0, names.size(), 0, escape));
    }

    TextAutomaton automaton() const {
        TextAutomaton out = TextAutomaton::drafted();
        for (std::size_t s = 0; s < arcs_.size(); ++s) {
            auto arcs = arcs_[s];
            std::sort(arcs.begin(), arcs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
            for (const auto& arc : arcs) out.add_arc(arc.first, arc.last, arc.to);
            out.add_state(accepts_[s] != 0);
        }
        return out;
    }

private:
    Word state(bool accepts = false) {
        arcs_.emplace_back();
        accepts_.push_back(accepts);
        return static_cast<Word>(arcs_.size()) - 1;
    }
    void arc(Word from, Word first, Word last, Word to) { arcs_[static_cast<std::size_t>(from)].push_back({first, last, to}); }
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
        const Word escape = state(), u = state(), low = state();
        fourth_ = state();
        third_ = state();
        second_ = state();
        after_d_ = state();
        raw(free_, 0, 0x10ffff, free_);
        arc(free_, '"', '"', end_);
        arc(free_, '\\', '\\', escape);
        arcs(escape, "\"\\/bfnrt", free_);
        arc(escape, 'u', 'u', u);
        arc(u, '0', '9', second_);
        arcs(u, "ABCEFabcef", second_);
        arcs(u, "Dd", after_d_);
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
        hex(steps[5], third_);
    }

    // What follows a backslash in the trie; `slash` is where a slash leads.
    Word escape_in_trie(Word slash) {
        const Word escape = state();
        arcs(escape, "\"\\bfnrt", free_);
        arc(escape, '/', '/', slash);
        if (u_in_trie_ < 0) {
            u_in_trie_ = state();
            const Word zero = state(), zeros = state(), seven = state();
            arc(u_in_trie_, '0', '0', zero);
            arc(u_in_trie_, '1', '9', second_);
            arcs(u_in_trie_, "ABCEFabcef", second_);
            arcs(u_in_trie_, "Dd", after_d_);
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
        arc(escape, 'u', 'u', u_in_trie_);
        return escape;
    }

    // Names from begin to end, which have their first `depth` characters in common. Recursion is as deep as the longest name.
    Word trie(const std::vector<std::string_view>& names, std::size_t begin, std::size_t end, std::size_t depth, Word escape) {
        const Word node = state();
        const bool is_name = begin < end && names[begin].size() == depth;
        if (!is_name) arc(node, '"', '"', end_);
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
        arc(node, '\\', '\\', slash < 0 ? escape : escape_in_trie(slash));
        return node;
    }

    std::vector<std::vector<TextAutomaton::Arc>> arcs_;
    std::vector<char> accepts_;
    Word end_ = -1, free_ = -1, second_ = -1, third_ = -1, fourth_ = -1, after_d_ = -1, u_in_trie_ = -1;
};

constexpr std::size_t kLongName = 1000;

}  // namespace

// Any name but these, as a rule; the names ascend.
Word SchemaRules::names_but(const std::vector<Word>& names) {
    if (names.empty()) return this->names(LanguageTable::kAny);
    const auto [known, is_new] = names_but_.try_emplace(names, 0);
    if (!is_new) return known->second;
    std::vector<std::string_view> texts;
    for (Word name : names) texts.push_back(reader_.texts()[name]);
    const auto plain = [](std::string_view text) {
        return text.size() <= kLongName && std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    };
    if (!std::all_of(texts.begin(), texts.end(), plain)) {
        std::vector<std::u32string> declared;
        for (std::string_view text : texts) declared.push_back(decoded(text));
        return known->second = this->names(languages_.but(LanguageTable::kAny, languages_.number(of_texts(std::move(declared)))));
    }
    const Word rule = known->second = fresh("other names");
    Words option;
    rule_words::automaton(option, NamesBut(std::move(texts)).automaton());
    add(rule, std::move(option));
    return rule;
}

}  // namespace psc
