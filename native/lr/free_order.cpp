#include "lr/free_order.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/limits.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxSteps = 100 * limit("free_order_steps");  // of one search, each a look at a part of the formula
}  // namespace

// Which members come, of what kinds: a set of choices for each, which the formula's parts make smaller.
class FreeOrder::Search {
public:
    // Choices of a member: to be absent, or to be there with a value of a kind.
    using Choices = std::vector<char>;

    Search(const FreeOrder& order, std::vector<Choices> choices) : order_(order), choices_(std::move(choices)) {}

    // `others`: how many members of other names are there already.
    bool run(std::int64_t others) {
        others_ = others;
        if (order_.nodes_.empty()) return fits();
        std::vector<Word> open;
        return require(static_cast<Word>(order_.nodes_.size()) - 1, open) && solve(std::move(open));
    }

private:
    using Kind = MemberTerms::Step::Kind;

    void step() {
        if (++n_steps_ > kMaxSteps)
            throw LimitExceeded("steps to find whether members can be completed", limit("free_order_steps"));
    }
    const Node& node(Word n) const { return order_.nodes_[static_cast<std::size_t>(n)]; }
    static bool is_literal(const Node& n) { return n.kind == Kind::present || n.kind == Kind::absent; }
    Word member_of(Word n) const {
        const Word n_members = order_.n_members();
        return n < n_members ? n : order_.terms_.conditions[static_cast<std::size_t>(n - n_members)].member;
    }
    // Whether a literal is true of a choice; 0: absent.
    bool is_true(const Node& literal, std::size_t choice) const {
        const Word n_members = order_.n_members();
        const bool holds =
            choice > 0 && (literal.n < n_members ||
                           order_.terms_.conditions[static_cast<std::size_t>(literal.n - n_members)].holds[choice - 1] != 0);
        return holds == (literal.kind == Kind::present);
    }
    Truth truth(Word at) {
        step();
        const Node& n = node(at);
        bool can = false, can_not = false;
        if (is_literal(n)) {
            const Choices& choices = choices_[static_cast<std::size_t>(member_of(n.n))];
            for (std::size_t c = 0; c < choices.size(); ++c)
                if (choices[c]) (is_true(n, c) ? can : can_not) = true;
            return can && can_not ? Truth::open : can ? Truth::yes : Truth::no;
        }
        const Truth decides = n.kind == Kind::all ? Truth::no : Truth::yes;
        for (Word part : n.parts) {
            const Truth of = truth(part);
            if (of == decides) return of;
            can |= of == Truth::open;
        }
        return can ? Truth::open : decides == Truth::no ? Truth::yes : Truth::no;
    }
    // Makes a part true; what is still open of it is added to `open`. False if it cannot be.
    bool require(Word at, std::vector<Word>& open) {
        step();
        const Node& n = node(at);
        if (n.kind == Kind::any) {
            open.push_back(at);
            return true;
        }
        if (n.kind == Kind::all) return std::all_of(n.parts.begin(), n.parts.end(), [&](Word part) { return require(part, open); });
        Choices& choices = choices_[static_cast<std::size_t>(member_of(n.n))];
        bool some = false;
        for (std::size_t c = 0; c < choices.size(); ++c) {
            if (choices[c] && !is_true(n, c)) choices[c] = 0;
            some |= choices[c] != 0;
        }
        return some;
    }
    // Members with several choices can come or not, one by one, so every count between the bounds is possible.
    bool fits() const {
        std::int64_t least = others_, most = others_;
        for (const Choices& choices : choices_) {
            least += choices[0] == 0;
            most += std::any_of(choices.begin() + 1, choices.end(), [](char c) { return c != 0; });
        }
        if (order_.terms_.most >= 0 && least > order_.terms_.most) return false;
        return order_.has_others_ || most >= order_.terms_.least;
    }
    bool solve(std::vector<Word> open) {
        if (!fits()) return false;
        std::vector<Word> options, fewest, left;
        std::size_t narrowest = 0;
        for (bool changed = true; changed;) {
            changed = false;
            fewest.clear();
            left.clear();
            for (std::size_t i = 0; i < open.size(); ++i) {
                options.clear();
                bool holds = false;
                for (Word part : node(open[i]).parts) {
                    const Truth of = truth(part);
                    holds = holds || of == Truth::yes;
                    if (of == Truth::open) options.push_back(part);
                    if (holds) break;
                }
                if (holds) continue;
                if (options.empty()) return false;
                if (options.size() == 1) {
                    changed = true;
                    if (!require(options[0], left)) return false;
                    continue;
                }
                if (fewest.empty() || options.size() < fewest.size()) {
                    fewest = options;
                    narrowest = left.size();
                }
                left.push_back(open[i]);
            }
            open = left;
        }
        if (fewest.empty()) return fits();
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(narrowest));
        const std::vector<Choices> before = choices_;
        for (Word option : fewest) {
            std::vector<Word> rest = open;
            if (require(option, rest) && solve(std::move(rest))) return true;
            choices_ = before;
        }
        return false;
    }

    const FreeOrder& order_;
    std::vector<Choices> choices_;
    std::int64_t others_ = 0;
    std::size_t n_steps_ = 0;
};

FreeOrder::FreeOrder(MemberTerms terms, std::span<const MemberWay> ways)
    : terms_(std::move(terms)),
      available_(terms_.required.size()),
      in_formula_(terms_.required.size()),
      counts_(terms_.least > 0 || terms_.most >= 0),
      n_words_((terms_.required.size() + 31) / 32) {
    using Kind = MemberTerms::Step::Kind;
    ways_.resize(available_.size());
    std::vector<Word> done;  // parts of the formula that are not yet parts of others
    for (const auto& [kind, n] : terms_.formula) {
        Node node{kind, n, {}};
        if (kind == Kind::present || kind == Kind::absent) {
            const Word member = n < n_members() ? n : terms_.conditions[static_cast<std::size_t>(n - n_members())].member;
            in_formula_[static_cast<std::size_t>(member)] = 1;
        } else {
            node.parts.assign(done.end() - n, done.end());
            done.resize(done.size() - static_cast<std::size_t>(n));
        }
        done.push_back(static_cast<Word>(nodes_.size()));
        nodes_.push_back(std::move(node));
    }
    Word by_members = 0, by_others = 0;
    for (const auto& [member, satisfies, kind] : ways) {
        (member < n_members() ? by_members : by_others) |= satisfies;
        if (member < n_members()) {
            available_[static_cast<std::size_t>(member)] = 1;
            ways_[static_cast<std::size_t>(member)].push_back(kind);
        } else {
            has_others_ = true;
        }
    }
    unsatisfiable_ = terms_.satisfies & ~(by_members | by_others);
    by_members_alone_ = terms_.satisfies & by_members & ~by_others;
}

void FreeOrder::check() const {
    if (by_members_alone_ || (terms_.satisfies && terms_.most >= 0))
        throw LimitExceeded(
            "members in any order, of which a few must be so by a pattern of their names: more than eight, the limit");
    for (Word helper : terms_.helpers)
        if (!available_[static_cast<std::size_t>(helper)])
            throw LimitExceeded(
                "conditions on values of members, of which one must be able to come, but has no value: more than eight, the limit");
}

FreeOrder::Seen FreeOrder::with(Seen seen, MemberWay more) const {
    seen[n_words_ + 1] |= more.satisfies;
    Word& others = seen[n_words_];
    if (more.member < n_members()) {
        add(seen, more.member);
        for (Word c = 0; static_cast<std::size_t>(c) < terms_.conditions.size(); ++c) {
            const auto& [member, holds] = terms_.conditions[static_cast<std::size_t>(c)];
            if (member == more.member && holds[static_cast<std::size_t>(more.kind)]) add(seen, c, n_words_ + 2);
        }
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

Word FreeOrder::first_open(const Seen& seen) const {
    if (!terms_.in_order) return 0;
    Word m = n_members();
    while (m > 0 && !has(seen, m - 1)) --m;
    return m;
}

bool FreeOrder::is_enough(const Seen& seen) const {
    using Kind = MemberTerms::Step::Kind;
    const std::int64_t n = count(seen);
    if (seen[n_words_ + 1] != terms_.satisfies) return false;
    if (n < terms_.least || (terms_.most >= 0 && n > terms_.most)) return false;
    for (Word m = 0; m < n_members(); ++m)
        if (terms_.required[static_cast<std::size_t>(m)] && !has(seen, m)) return false;
    std::vector<char> holds;
    for (const Node& node : nodes_) {
        const auto is = [&](Word part) { return holds[static_cast<std::size_t>(part)] != 0; };
        if (node.kind == Kind::present || node.kind == Kind::absent) {
            const bool there = node.n < n_members() ? has(seen, node.n) : has(seen, node.n - n_members(), n_words_ + 2);
            holds.push_back(there == (node.kind == Kind::present));
        } else if (node.kind == Kind::all) {
            holds.push_back(std::all_of(node.parts.begin(), node.parts.end(), is));
        } else {
            holds.push_back(std::any_of(node.parts.begin(), node.parts.end(), is));
        }
    }
    return nodes_.empty() || holds.back();
}

bool FreeOrder::can_be_enough(const Seen& seen) const {
    if (unsatisfiable_) return false;
    std::vector<std::size_t> n_kinds(available_.size(), 1);
    for (const auto& [member, holds] : terms_.conditions) n_kinds[static_cast<std::size_t>(member)] = holds.size();
    const Word first = first_open(seen);
    std::vector<Search::Choices> all(available_.size());
    for (Word m = 0; m < n_members(); ++m) {
        const auto i = static_cast<std::size_t>(m);
        Search::Choices& choices = all[i];
        choices.assign(n_kinds[i] + 1, 0);
        const bool there = has(seen, m);
        if (!there && (m < first || !available_[i])) {
            if (terms_.required[i]) return false;
            choices[0] = 1;
            continue;
        }
        choices[0] = !there && !terms_.required[i];
        for (Word kind : ways_[i]) choices[static_cast<std::size_t>(kind) + 1] = 1;
    }
    for (std::size_t c = 0; c < terms_.conditions.size(); ++c) {
        const auto& [member, holds] = terms_.conditions[c];
        if (!has(seen, member)) continue;
        Search::Choices& choices = all[static_cast<std::size_t>(member)];
        const bool is = has(seen, static_cast<Word>(c), n_words_ + 2);
        for (std::size_t kind = 0; kind < holds.size(); ++kind) choices[kind + 1] &= (holds[kind] != 0) == is;
    }
    return Search(*this, std::move(all)).run(seen[n_words_]);
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
    for (Word m = first_open(seen); m < n_members(); ++m) {
        const auto i = static_cast<std::size_t>(m);
        if (!available_[i] || has(seen, m)) continue;
        if (in_formula_[i]) {
            may[i] = can_be_enough(with(seen, any_way(m)));
            continue;
        }
        signed char& cached = of_plain[terms_.required[i] != 0];
        if (cached < 0 || terms_.in_order) cached = can_be_enough(with(seen, {m}));
        may[i] = cached;
    }
    return may;
}

}  // namespace psc
