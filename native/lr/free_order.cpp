#include "lr/free_order.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/limits.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxSteps = limit("free_order_steps");  // of one search, each a look at the whole formula
}  // namespace

FreeOrder::FreeOrder(MemberTerms terms, std::span<const MemberWay> ways)
    : terms_(std::move(terms)),
      available_(terms_.required.size()),
      in_formula_(terms_.required.size()),
      counts_(terms_.least > 0 || terms_.most >= 0),
      n_words_((terms_.required.size() + 31) / 32) {
    for (const auto& [kind, n] : terms_.formula)
        if (kind == MemberTerms::Step::Kind::present || kind == MemberTerms::Step::Kind::absent)
            in_formula_[static_cast<std::size_t>(n)] = 1;
    Word by_members = 0, by_others = 0;
    for (const auto& [member, satisfies] : ways) {
        (member < n_members() ? by_members : by_others) |= satisfies;
        if (member < n_members())
            available_[static_cast<std::size_t>(member)] = 1;
        else
            has_others_ = true;
    }
    unsatisfiable_ = terms_.satisfies & ~(by_members | by_others);
    by_members_alone_ = terms_.satisfies & by_members & ~by_others;
}

void FreeOrder::check() const {
    if (by_members_alone_ || (terms_.satisfies && terms_.most >= 0))
        throw LimitExceeded(
            "members in any order, of which a few must be so by a pattern of their names: more than eight, the limit");
}

FreeOrder::Seen FreeOrder::with(Seen seen, MemberWay more) const {
    seen[n_words_ + 1] |= more.satisfies;
    Word& others = seen[n_words_];
    if (more.member < n_members()) {
        Word& word = seen[static_cast<std::size_t>(more.member) / 32];
        word = static_cast<Word>(static_cast<std::uint32_t>(word) | std::uint32_t{1} << (more.member % 32));
    } else if (terms_.most >= 0 || (counts_ && others < terms_.least)) {
        ++others;  // beyond the least number, more make no difference
    }
    return seen;
}

std::int64_t FreeOrder::count(const Seen& seen) const {
    std::int64_t n = seen[n_words_];
    for (std::size_t i = 0; i < n_words_; ++i) n += std::popcount(static_cast<std::uint32_t>(seen[i]));
    return n;
}

// The formula, given which members are present, absent or open.
FreeOrder::Truth FreeOrder::holds(const std::vector<Truth>& there) const {
    using Kind = MemberTerms::Step::Kind;
    if (terms_.formula.empty()) return Truth::yes;
    std::vector<Truth> stack;
    for (const auto& [kind, n] : terms_.formula) {
        if (kind == Kind::present || kind == Kind::absent) {
            const Truth value = there[static_cast<std::size_t>(n)];
            const bool flip = kind == Kind::absent;
            stack.push_back(value == Truth::open ? value : (value == Truth::yes) != flip ? Truth::yes : Truth::no);
            continue;
        }
        const Truth decides = kind == Kind::all ? Truth::no : Truth::yes;
        Truth found = kind == Kind::all ? Truth::yes : Truth::no;
        for (auto part = stack.end() - n; part != stack.end(); ++part) {
            if (*part == decides) found = decides;
            if (*part == Truth::open && found != decides) found = Truth::open;
        }
        stack.resize(stack.size() - static_cast<std::size_t>(n));
        stack.push_back(found);
    }
    return stack.back();
}

bool FreeOrder::is_enough(const Seen& seen) const {
    const std::int64_t n = count(seen);
    if (seen[n_words_ + 1] != terms_.satisfies) return false;
    if (n < terms_.least || (terms_.most >= 0 && n > terms_.most)) return false;
    std::vector<Truth> there(available_.size());
    for (Word m = 0; m < n_members(); ++m) {
        if (terms_.required[static_cast<std::size_t>(m)] && !has(seen, m)) return false;
        there[static_cast<std::size_t>(m)] = has(seen, m) ? Truth::yes : Truth::no;
    }
    return holds(there) == Truth::yes;
}

bool FreeOrder::can_be_enough(const Seen& seen) const {
    if (unsatisfiable_) return false;
    std::int64_t min_count = count(seen), max_count = min_count;
    std::vector<Truth> there(available_.size(), Truth::open);
    for (Word m = 0; m < n_members(); ++m) {
        Truth& truth = there[static_cast<std::size_t>(m)];
        const bool available = available_[static_cast<std::size_t>(m)] != 0;
        if (has(seen, m)) {
            truth = Truth::yes;
        } else if (terms_.required[static_cast<std::size_t>(m)]) {
            if (!available) return false;
            truth = Truth::yes;
            ++min_count;
            ++max_count;
        } else if (available) {
            ++max_count;
        } else {
            truth = Truth::no;
        }
    }
    std::size_t steps = 0;
    return search(there, min_count, max_count, steps);
}

// Whether the open members of `there` can be chosen so that the formula holds and the count fits. Members that stay open can come
// or not, one by one, so every count from min_count to max_count is possible.
bool FreeOrder::search(std::vector<Truth>& there, std::int64_t min_count, std::int64_t max_count, std::size_t& steps) const {
    if (++steps > kMaxSteps) throw LimitExceeded("steps to find whether members can be completed", kMaxSteps);
    if (terms_.most >= 0 && min_count > terms_.most) return false;
    if (!has_others_ && max_count < terms_.least) return false;
    const Truth now = holds(there);
    if (now != Truth::open) return now == Truth::yes;
    for (const auto& [kind, n] : terms_.formula) {
        using Kind = MemberTerms::Step::Kind;
        if (kind != Kind::present && kind != Kind::absent) continue;
        Truth& truth = there[static_cast<std::size_t>(n)];
        if (truth != Truth::open) continue;
        // The sign that the formula has first most likely makes it true.
        bool found = false;
        for (const bool present : {kind == Kind::present, kind != Kind::present}) {
            truth = present ? Truth::yes : Truth::no;
            found = found || search(there, min_count + present, max_count - !present, steps);
        }
        truth = Truth::open;
        return found;
    }
    return false;
}

Word FreeOrder::n_missing(const Seen& seen) const {
    if (is_enough(seen)) return 0;
    std::int64_t n = 0;
    for (Word m = 0; m < n_members(); ++m) n += terms_.required[static_cast<std::size_t>(m)] && !has(seen, m);
    return static_cast<Word>(std::max({n, terms_.least - count(seen), std::int64_t{1}}));
}

std::vector<char> FreeOrder::next(const Seen& seen) const {
    std::vector<char> may(available_.size() + 1);
    if (has_others_) may.back() = can_be_enough(with(seen, {n_members()}));
    // Members that the formula does not mention differ only in whether they are required.
    signed char of_plain[2] = {-1, -1};
    for (Word m = 0; m < n_members(); ++m) {
        const auto i = static_cast<std::size_t>(m);
        if (!available_[i] || has(seen, m)) continue;
        if (in_formula_[i]) {
            may[i] = can_be_enough(with(seen, {m}));
            continue;
        }
        signed char& cached = of_plain[terms_.required[i] != 0];
        if (cached < 0) cached = can_be_enough(with(seen, {m}));
        may[i] = cached;
    }
    return may;
}

}  // namespace psc
