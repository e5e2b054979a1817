#include "text/completion_lengths.hpp"

#include <algorithm>

#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "base/limits.hpp"

namespace psc {

namespace {

constexpr std::size_t kMaxEntries = limit("counted_lengths");

// Per length, as far as these differ, the states from which it leads to acceptance.
class LengthSets {
public:
    LengthSets(Word n_states, const std::vector<CompletionLengths::Arc>& arcs, const std::vector<char>& accepts)
        : n_(static_cast<std::size_t>(n_states)), into_(n_), counted_into_(n_) {
        for (const auto& [from, to, counts] : arcs) (counts ? counted_into_ : into_)[static_cast<std::size_t>(to)].push_back(from);
        for (auto* all : {&into_, &counted_into_})
            for (auto& sources : *all) {
                std::sort(sources.begin(), sources.end());
                sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
            }
        std::vector<Word> now;
        for (std::size_t s = 0; s < n_; ++s)
            if (accepts[s]) now.push_back(static_cast<Word>(s));
        for (;;) {
            stop_if_cancelled();
            close(now);
            const auto [number, fresh] = sets_.intern(now);
            if (!fresh) {
                period_ = sets_.size() - number;
                return;
            }
            if (static_cast<std::size_t>(sets_.size()) * n_ > kMaxEntries)
                throw LimitExceeded("lengths of what may follow, in all states, beside a bound of the length", kMaxEntries);
            now = before(now);
        }
    }

    Word size() const { return sets_.size(); }
    Word period() const { return period_; }
    std::span<const Word> operator[](Word length) const { return sets_[length]; }

private:
    // With those that reach them without counting; sorted.
    void close(std::vector<Word>& states) {
        std::vector<char> in(n_);
        for (Word s : states) in[static_cast<std::size_t>(s)] = 1;
        for (std::size_t i = 0; i < states.size(); ++i)
            for (Word from : into_[static_cast<std::size_t>(states[i])])
                if (!std::exchange(in[static_cast<std::size_t>(from)], 1)) states.push_back(from);
        std::sort(states.begin(), states.end());
    }

    std::vector<Word> before(const std::vector<Word>& states) {
        std::vector<Word> out;
        for (Word s : states)
            out.insert(out.end(), counted_into_[static_cast<std::size_t>(s)].begin(),
                       counted_into_[static_cast<std::size_t>(s)].end());
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }

    std::size_t n_;
    std::vector<std::vector<Word>> into_, counted_into_;  // per state, the sources of its arcs
    SequenceInterner sets_;
    Word period_ = 1;
};

}  // namespace

CompletionLengths::CompletionLengths(Word n_states, const std::vector<Arc>& arcs, const std::vector<char>& accepts) {
    const LengthSets sets(n_states, arcs, accepts);
    n_lengths_ = sets.size();
    period_ = sets.period();
    const auto n = static_cast<std::size_t>(n_lengths_);
    next_.assign(static_cast<std::size_t>(n_states) * n, -1);
    for (Word length = 0; length < sets.size(); ++length)
        for (Word s : sets[length]) next_[static_cast<std::size_t>(s) * n + static_cast<std::size_t>(length)] = length;
    const Word first_again = sets.size() - sets.period();
    for (Word s = 0; s < n_states; ++s) {
        Word* const row = next_.data() + static_cast<std::size_t>(s) * n;
        // Of what comes again the first one, after the table's end.
        const auto again = std::find_if(row + first_again, row + n, [](Word w) { return w >= 0; });
        const bool unlimited = again != row + n;
        Word following = unlimited ? *again + sets.period() : -1;
        std::int64_t longest = kNever;
        for (Word length = sets.size(); length-- > 0;) {
            if (row[length] < 0) {
                row[length] = following;
                continue;
            }
            longest = std::max<std::int64_t>(longest, length);
            if (following >= 0) max_step_ = std::max<std::int64_t>(max_step_, following - length);
            following = length;
        }
        longest_.push_back(unlimited ? kUnlimited : longest);
        max_shortest_ = std::max(max_shortest_, shortest(s));
        if (!unlimited) max_limited_ = std::max(max_limited_, longest);
    }
}

std::int64_t CompletionLengths::next(Word state, std::int64_t least) const {
    std::int64_t rounds = 0;
    least = std::max<std::int64_t>(least, 0);
    if (least >= n_lengths_) {
        rounds = (least - n_lengths_) / period_ + 1;
        least -= rounds * period_;
    }
    const Word found =
        next_[static_cast<std::size_t>(state) * static_cast<std::size_t>(n_lengths_) + static_cast<std::size_t>(least)];
    return found < 0 ? kNever : found + rounds * period_;
}

}  // namespace psc
