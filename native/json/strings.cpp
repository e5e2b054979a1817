#include "json/strings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/cancellation.hpp"
#include "base/errors.hpp"

namespace psc {

namespace {

using TextArc = TextAutomaton::Arc;

class JsonSpeller {
public:
    JsonSpeller(const TextAutomaton& value, bool all_escapes, std::size_t max_states)
        : value_(value), all_escapes_(all_escapes), max_states_(max_states) {}

    TextAutomaton spell() {
        TextAutomaton draft = TextAutomaton::drafted();
        for (Word s = 0; s < value_.size(); ++s) {
            const Word escaped = after_backslash(s);
            // Raw characters are from 0x20 on; the backslash is sorted in among them.
            bool pending = escaped >= 0;
            const auto backslash = [&] {
                if (std::exchange(pending, false)) draft.add_arc('\\', '\\', escaped);
            };
            for (const auto& [from, to] :
                 {std::pair<Word, Word>{0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, kCodePoints - 1}}) {
                if (from > '\\') backslash();
                for (Word i = value_.offsets[s]; i < value_.offsets[s + 1]; ++i) {
                    const TextArc& arc = value_.arcs[i];
                    const Word first = std::max(arc.first, from), last = std::min(arc.last, to);
                    if (first <= last) draft.add_arc(first, last, arc.to);
                }
            }
            draft.add_state(value_.accepts[s]);
            if (static_cast<std::size_t>(value_.size()) + nodes_.size() > max_states_)
                throw LimitExceeded("states of the spellings of strings", max_states_);
        }
        for (Word i = 0; i < nodes_.size(); ++i) {
            const auto words = nodes_[i];
            for (std::size_t k = 0; k < words.size(); k += 3) draft.add_arc(words[k], words[k + 1], words[k + 2]);
            draft.add_state(false);
        }
        return draft;
    }

private:
    // The arcs of the node being made: of at most 22 digits, or eight letters and `u`.
    class NodeArcs {
    public:
        void append(Word first, Word last, Word to) {
            if (to < 0) return;
            if (n_ > 0 && words_[n_ - 1] == to && words_[n_ - 2] == first - 1) {
                words_[n_ - 2] = last;
                return;
            }
            words_[n_] = first;
            words_[n_ + 1] = last;
            words_[n_ + 2] = to;
            n_ += 3;
        }
        std::span<const Word> words() const { return {words_.data(), n_}; }

    private:
        std::array<Word, std::size_t{3} * 22> words_;
        std::size_t n_ = 0;
    };

    // A node's name among the result's states; -1 for one without arcs.
    Word node(const NodeArcs& arcs) { return arcs.words().empty() ? -1 : value_.size() + nodes_.intern(arcs.words()).first; }

    // A hexadecimal digit, by its value.
    Word digits(const std::array<Word, 16>& to) {
        NodeArcs arcs;
        for (Word d = 0; d < 10; ++d) arcs.append('0' + d, '0' + d, to[d]);
        for (Word base : {'A', 'a'})
            for (Word d = 10; d < 16; ++d) arcs.append(base + d - 10, base + d - 10, to[d]);
        return node(arcs);
    }

    // `count` hexadecimal digits of any value.
    Word any_digits(Word to, Word count) {
        if (to < 0) return -1;
        if (count == 0) return to;
        if (const Word* cached = any_digits_.look(to, count)) return *cached;
        std::array<Word, 16> next{};
        next.fill(any_digits(to, count - 1));
        const Word made = digits(next);
        any_digits_.insert(to, count, made);
        return made;
    }

    Word text(std::string_view characters, Word to) {
        if (to < 0) return -1;
        for (std::size_t i = characters.size(); i > 0; --i) {
            NodeArcs arcs;
            arcs.append(characters[i - 1], characters[i - 1], to);
            to = node(arcs);
        }
        return to;
    }

    Word after_backslash(Word s) {
        static constexpr std::array<std::pair<char, Word>, 8> kShort{
            {{'"', '"'}, {'/', '/'}, {'\\', '\\'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}}};
        NodeArcs arcs;
        for (const auto& [c, code_point] : kShort) arcs.append(c, c, value_.step(s, code_point));
        arcs.append('u', 'u', after_u(s));
        return node(arcs);
    }

    // Four digits of any character that has such an escape.
    Word after_u(Word s) {
        escapable_.clear();
        for (Word i = value_.offsets[s]; i < value_.offsets[s + 1]; ++i) {
            const TextArc& arc = value_.arcs[i];
            if (all_escapes_) {
                escapable_.push_back(arc);
                continue;
            }
            if (arc.first < 0x20) escapable_.push_back({arc.first, std::min(arc.last, Word{0x1F}), arc.to});
            if (arc.last > 0x7E) escapable_.push_back({std::max(arc.first, Word{0x7F}), arc.last, arc.to});
        }
        if (escapable_.empty()) return -1;
        // Where names are told apart, all characters beyond ASCII lead to one state from nearly every state.
        if (escapable_ == before_) return after_u_before_;
        before_ = escapable_;
        return after_u_before_ = four_digits();
    }

    Word four_digits() {
        std::array<Word, 16> to{}, after_d{};
        for (Word d = 0; d < 16; ++d) to[d] = d == 0xD ? -1 : block(d << 12, 12);
        for (Word d = 0; d < 16; ++d) {
            if (d < 8)
                after_d[d] = block(0xD000 + (d << 8), 8);
            else
                after_d[d] = d < 12 ? high_surrogates((d - 8) << 8, 8) : -1;
        }
        to[0xD] = digits(after_d);
        return digits(to);
    }

    // Where all code points of a range lead, -1 for nowhere, kMixed else.
    static constexpr Word kMixed = -2;
    Word common_target(Word first, Word last) const {
        const auto arc =
            std::lower_bound(escapable_.begin(), escapable_.end(), first, [](const TextArc& a, Word c) { return a.last < c; });
        if (arc == escapable_.end() || arc->first > last) return -1;
        return arc->first <= first && arc->last >= last ? arc->to : kMixed;
    }

    // The last bits / 4 digits of the code points from `base` on.
    Word block(Word base, int bits) {
        const Word to = common_target(base, base + (Word{1} << bits) - 1);
        if (to == -1 || bits == 0) return to;
        if (to != kMixed) return any_digits(to, bits / 4);
        std::array<Word, 16> next{};
        for (Word d = 0; d < 16; ++d) next[d] = block(base + (d << (bits - 4)), bits - 4);
        return digits(next);
    }

    // The last bits / 4 digits of the surrogates from 0xD800 + base on, and the low surrogates that follow them.
    Word high_surrogates(Word base, int bits) {
        const Word first = 0x10000 + (base << 10), last = first + (Word{1} << (bits + 10)) - 1;
        const Word to = common_target(first, last);
        if (to == -1) return -1;
        if (to != kMixed) return any_digits(any_low_surrogate(to), bits / 4);
        if (bits == 0) return low_surrogates([&](Word d) { return block(first + (d << 8), 8); });
        std::array<Word, 16> next{};
        for (Word d = 0; d < 16; ++d) next[d] = high_surrogates(base + (d << (bits - 4)), bits - 4);
        return digits(next);
    }

    // `third(d)`: the two digits of a low surrogate that follow DC, DD, DE and DF.
    template <class Third>
    Word low_surrogates(const Third& third) {
        std::array<Word, 16> next{};
        next.fill(-1);
        for (Word d = 0; d < 4; ++d) next[d + 12] = third(d);
        std::array<Word, 16> after_u{};
        after_u.fill(-1);
        after_u[0xD] = digits(next);
        return text("\\u", digits(after_u));
    }
    Word any_low_surrogate(Word to) {
        constexpr Word kKey = -1;  // beside the counts of digits
        if (const Word* cached = any_digits_.look(to, kKey)) return *cached;
        const Word made = low_surrogates([&](Word) { return any_digits(to, 2); });
        any_digits_.insert(to, kKey, made);
        return made;
    }

    const TextAutomaton& value_;
    const bool all_escapes_;
    const std::size_t max_states_;
    SequenceInterner nodes_;          // first, last, to of each arc
    PairMap any_digits_;              // per target and count
    std::vector<TextArc> escapable_;  // of the current state
    std::vector<TextArc> before_;     // of the state before that had some
    Word after_u_before_ = -1;
};

}  // namespace

TextAutomaton spelled_as_json(const TextAutomaton& value, std::size_t max_states) {
    return minimal(JsonSpeller(value, false, max_states).spell());
}

TextAutomaton spelled_state_by_state(const TextAutomaton& value, std::size_t max_states) {
    return JsonSpeller(value, false, max_states).spell();
}

TextAutomaton spelled_with_all_escapes(const TextAutomaton& value, std::size_t max_states) {
    return minimal(JsonSpeller(value, true, max_states).spell());
}

TextAutomaton quoted(const TextAutomaton& inner) {
    constexpr Word kQuote = '"';
    TextAutomaton out;
    out.offsets = {0, 1};
    out.arcs = {{kQuote, kQuote, 1}};
    out.accepts = {0};
    const Word end = inner.size() + 1;
    CancellationWatch watch;
    for (Word s = 0; s < inner.size(); ++s) {
        watch.step();
        bool closing = inner.accepts[static_cast<std::size_t>(s)] != 0;
        const auto close = [&] {
            if (std::exchange(closing, false)) out.arcs.push_back({kQuote, kQuote, end});
        };
        for (Word i = inner.offsets[static_cast<std::size_t>(s)]; i < inner.offsets[static_cast<std::size_t>(s) + 1]; ++i) {
            const auto& arc = inner.arcs[static_cast<std::size_t>(i)];
            if (arc.first > kQuote) close();
            out.arcs.push_back({arc.first, arc.last, arc.to + 1});
        }
        close();
        out.offsets.push_back(static_cast<Word>(out.arcs.size()));
        out.accepts.push_back(0);
    }
    out.offsets.push_back(static_cast<Word>(out.arcs.size()));
    out.accepts.push_back(1);
    return out;
}

}  // namespace psc
