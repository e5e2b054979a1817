#include "text/code_point_classes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/sorted.hpp"
#include "text/token_symbols.hpp"

namespace psc {

namespace {

constexpr Word kEnd = kFirstSymbol, kFirstSurrogate = 0xD800, kAfterSurrogates = 0xE000;
constexpr Word kAbsent = std::numeric_limits<Word>::min();  // neither a node nor a class

constexpr Word width(int depth) { return Word{1} << (6 * depth); }

}  // namespace

CodePointClasses::CodePointClasses(std::span<const Word> ranges, std::span<const Word> offsets) {
    partition(ranges, offsets);
    spell();
}

std::size_t CodePointClasses::interval_at(Word code_point) const {
    return std::upper_bound(starts_.begin(), starts_.end(), code_point) - starts_.begin() - 1;
}

void CodePointClasses::partition(std::span<const Word> ranges, std::span<const Word> offsets) {
    constexpr std::array<Word, 6> always{0, 0x80, kFirstSurrogate, kAfterSurrogates, kEnd, kAfterSymbols};
    starts_.reserve(always.size() + ranges.size());
    starts_.assign(always.begin(), always.end());
    for (std::size_t i = 0; i < ranges.size(); i += 2) {
        starts_.push_back(ranges[i]);
        starts_.push_back(ranges[i + 1] + 1);
    }
    sort_unique(starts_);
    const std::size_t n = starts_.size() - 1;  // the last interval starts where all code points end
    // Refine one class by each set in turn: a class that the set cuts in two leaves its part inside to a new one.
    std::vector<Word> of(n, 0), count{static_cast<Word>(n)};
    std::vector<char> covered(n, 0);
    const std::size_t n_sets = offsets.size() - 1;
    std::vector<std::pair<std::size_t, std::size_t>> all_spans;  // of intervals, those of one set after the other's
    all_spans.reserve(ranges.size() / 2);
    const auto spans_of = [&](std::size_t set) {
        const auto begin = static_cast<std::size_t>(offsets[set]) / 2, end = static_cast<std::size_t>(offsets[set + 1]) / 2;
        return std::span(std::as_const(all_spans)).subspan(begin, end - begin);
    };
    std::vector<Word> inside, renamed, touched;
    for (std::size_t s = 0; s < n_sets; ++s) {
        for (Word i = offsets[s]; i < offsets[s + 1]; i += 2) {
            const std::size_t from = interval_at(ranges[i]);
            std::size_t to = from;
            while (starts_[to] <= ranges[i + 1]) ++to;
            all_spans.emplace_back(from, to);
        }
        const auto spans = spans_of(s);
        inside.assign(count.size(), 0);
        touched.clear();
        for (const auto& [from, to] : spans)
            for (std::size_t i = from; i < to; ++i) {
                covered[i] = 1;
                if (inside[of[i]]++ == 0) touched.push_back(of[i]);
            }
        renamed.assign(count.size(), -1);
        for (Word c : touched)
            if (inside[c] < count[c]) {
                renamed[c] = static_cast<Word>(count.size());
                count[c] -= inside[c];
                count.push_back(inside[c]);
            }
        for (const auto& [from, to] : spans)
            for (std::size_t i = from; i < to; ++i)
                if (renamed[of[i]] >= 0) of[i] = renamed[of[i]];
    }
    // Number the classes by their first code point; what no set has, and surrogates, have none.
    std::vector<Word> number(count.size(), -1);
    class_.assign(n + 1, -1);
    std::size_t ascii_intervals = interval_at(0x80);
    for (std::size_t i = 0; i < n; ++i) {
        if (!covered[i] || (starts_[i] >= kFirstSurrogate && starts_[i] < kAfterSurrogates)) continue;
        Word& c = number[of[i]];
        if (c < 0) {
            c = size_++;
            wide_.push_back(0);
        }
        class_[i] = c;
        if (i >= ascii_intervals) wide_[c] = 1;
    }
    for (int b = 0; b < 128; ++b) ascii_[b] = class_[interval_at(b)];
    std::vector<char> seen(size_, 0);
    for (std::size_t s = 0; s < n_sets; ++s) {
        const std::size_t begin = members_.size();
        for (const auto& [from, to] : spans_of(s))
            for (std::size_t i = from; i < to; ++i)
                if (class_[i] >= 0 && !seen[class_[i]]) {
                    seen[class_[i]] = 1;
                    members_.push_back(class_[i]);
                }
        for (std::size_t i = begin; i < members_.size(); ++i) seen[members_[i]] = 0;
        std::sort(members_.begin() + begin, members_.end());
        member_offsets_.push_back(members_.size());
    }
}

bool CodePointClasses::has_symbols(Word n_tokens) const {
    for (std::size_t i = interval_at(kFirstSymbol); i + 1 < starts_.size() && starts_[i] - kFirstSymbol < n_tokens; ++i)
        if (class_[i] >= 0) return true;
    return false;
}

std::vector<Word> CodePointClasses::symbols(Word n_tokens) const {
    std::vector<Word> first(size_, -1), symbols;
    for (std::size_t i = interval_at(kFirstSymbol); i + 1 < starts_.size(); ++i) {
        const Word begin = starts_[i] - kFirstSymbol, end = std::min(starts_[i + 1] - kFirstSymbol, n_tokens);
        if (class_[i] < 0) continue;
        if (symbols.empty()) symbols.assign(static_cast<std::size_t>(n_tokens), -1);
        if (begin >= end) continue;
        if (first[class_[i]] < 0) first[class_[i]] = begin;
        std::fill(symbols.begin() + begin, symbols.begin() + end, first[class_[i]]);
    }
    return symbols;
}

// The bytes that may follow once all of width(depth) code points are of class c.
Word CodePointClasses::whole(int depth, Word c) {
    if (c < 0) return kAbsent;
    if (depth == 0) return -1 - c;
    Word& known = whole_[depth][c];
    if (known < 0) {
        const Word below = whole(depth - 1, c);
        const std::array<Word, 3> run{0x80, 0xBF, below};
        known = nodes_.intern(run).first;
    }
    return known;
}

// Runs for `count` blocks of width(depth) code points from `base` on; block i is read after byte + i. Nothing below `floor` counts,
// nor what lies at `end` and above.
void CodePointClasses::append_block(std::vector<Word>& runs, Word byte, Word count, Word base, int depth, Word floor, Word end) {
    const Word w = width(depth);
    std::size_t at = interval_at(base);
    for (Word i = 0; i < count;) {
        const Word low = base + i * w;
        if (low >= end) break;
        if (low + w <= floor) {  // shorter spellings have these
            ++i;
            continue;
        }
        while (starts_[at + 1] <= low) ++at;
        const Word uniform = low < floor ? 0 : std::min((starts_[at + 1] - low) / w, count - i);
        const Word to = uniform > 0 ? whole(depth, class_[at]) : block(low, depth, floor, end);
        const Word last = i + std::max(uniform, Word{1}) - 1;
        if (to != kAbsent) append_run(runs, byte + i, byte + last, to);
        i = last + 1;
    }
}

Word CodePointClasses::block(Word base, int depth, Word floor, Word end) {
    constexpr std::size_t kMostlyEnough = 12;
    std::vector<Word> runs;
    runs.reserve(kMostlyEnough);
    append_block(runs, 0x80, 64, base, depth - 1, floor, end);
    return runs.empty() ? kAbsent : nodes_.intern(runs).first;
}

void CodePointClasses::spell() {
    for (auto& nodes : whole_) nodes.assign(size_, -1);
    append_block(root_, 0xC2, 30, 0x80, 1, 0, kEnd);
    append_block(root_, 0xE0, 16, 0, 2, 0x800, kEnd);
    append_block(root_, 0xF0, 5, 0, 3, 0x10000, kEnd);
    append_block(root_, kFirstSymbolByte, kSymbols / width(3), kFirstSymbol, 3, 0, kAfterSymbols);
}

}  // namespace psc
