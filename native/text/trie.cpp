// The minimal automaton of a finite set, from its texts in ascending order: the suffixes that no later text can change are shared
// at once.
//
// Cost: linear in the characters of the texts, expected. Source: see of_texts() in text/automaton.hpp.
#include <algorithm>

#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "text/automaton.hpp"

namespace psc {

namespace {

class SortedTrie {
public:
    explicit SortedTrie(std::size_t max_states) : max_states_(max_states) {}

    // Texts come ascending, each once.
    void add(const std::u32string& text) {
        std::size_t common = 0;
        const std::size_t shorter = std::min(text.size(), last_.size());
        while (common < shorter && text[common] == last_[common]) ++common;
        close(common);
        for (std::size_t i = common; i < text.size(); ++i) {
            if (path_.size() < i + 2) path_.emplace_back();
            path_[i + 1].assign(1, 0);
        }
        path_[text.size()][0] = 1;
        last_ = text;
        check();
    }

    // The start is the state that is closed last.
    TextAutomaton finish() {
        close(0);
        const Word root = states_.intern(path_[0]).first;
        // Breadth first from the root; equal states are one already, and so the automaton is minimal.
        std::vector<Word> number(states_.size(), -1), order{root};
        number[root] = 0;
        TextAutomaton a = TextAutomaton::drafted();
        for (std::size_t i = 0; i < order.size(); ++i) {
            watch_.step();
            const auto state = states_[order[i]];
            for (std::size_t k = 1; k < state.size(); k += 3) {
                Word& to = number[state[k + 2]];
                if (to < 0) {
                    to = static_cast<Word>(order.size());
                    order.push_back(state[k + 2]);
                }
                a.arcs.push_back({state[k], state[k + 1], to});
            }
            a.add_state(state[0]);
        }
        return a;
    }

private:
    // States of the last text's path that are deeper than `depth` get no more arcs.
    void close(std::size_t depth) {
        for (std::size_t i = last_.size(); i > depth; --i) {
            watch_.step();
            const Word to = states_.intern(path_[i]).first, c = static_cast<Word>(last_[i - 1]);
            std::vector<Word>& parent = path_[i - 1];
            const std::size_t n = parent.size();
            if (n > 1 && parent[n - 1] == to && parent[n - 2] == c - 1)
                parent[n - 2] = c;
            else
                parent.insert(parent.end(), {c, c, to});
        }
    }

    void check() const {
        stop_if_cancelled();
        if (states_.size() + last_.size() > max_states_) throw LimitExceeded("states of an automaton over texts", max_states_);
    }

    const std::size_t max_states_;
    SequenceInterner states_;                                    // accepts, then first, last, to of each arc
    std::vector<std::vector<Word>> path_{std::vector<Word>{0}};  // of the last text, open
    std::u32string last_;
    CancellationWatch watch_;
};

bool is_scalar_text(const std::u32string& text) {
    return std::all_of(text.begin(), text.end(), [](char32_t c) {
        return c < static_cast<char32_t>(kCodePoints) &&
               (c < static_cast<char32_t>(kFirstSurrogateCode) || c > static_cast<char32_t>(kLastSurrogateCode));
    });
}

}  // namespace

TextAutomaton of_texts(std::vector<std::u32string> texts, std::size_t max_states) {
    std::erase_if(texts, [](const std::u32string& t) { return !is_scalar_text(t); });
    if (texts.empty()) return no_text();
    CancellationWatch watch;
    std::sort(texts.begin(), texts.end(), [&](const std::u32string& a, const std::u32string& b) {
        watch.step();
        return a < b;
    });
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    SortedTrie trie(max_states);
    for (const auto& text : texts) trie.add(text);
    return trie.finish();
}

}  // namespace psc
