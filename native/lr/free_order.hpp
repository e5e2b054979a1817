// Members in any order, each at most once: what may come next, and when it is enough.
//
// A grammar of all orders of n members needs as many rules as there are sets of them (K. Ellul, B. Krawetz, J. Shallit, M.-w. Wang,
// "Regular expressions: new results and open problems", JALC 10(4), 2005). So the grammar says only what a member is, and the set of
// those that were there is kept beside the parser's stack (lr/free_order_states.hpp). This is what is asked of such a set.
//
// A member that may come next is one after which the rest can still be completed: no text leads into a dead end. Where nothing but
// required members and counts is asked, that is counting; a formula over which members are there is tried out, one member of it after
// the other until it is decided.
//
// Some member of several may have to meet something, whichever it is. Each member then has ways to be, which meet it or do not. Where
// there is no end to the others that meet it, that decides nothing about what may come next.
//
// Cost: linear in the members and in the formula; in the worst case exponential in the formula's members, within a limit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace psc {

// What must hold of the members that are there when no more come.
struct MemberTerms {
    // Of a formula in postfix order: a member is there or is not, or all or some of the last n are so.
    struct Step {
        enum class Kind : Word { present, absent, all, any };
        Kind kind;
        Word n;
    };
    std::vector<char> required;         // per member
    std::int64_t least = 0, most = -1;  // members, others counted too; -1: any number
    std::vector<Step> formula;          // none: nothing
    Word meets = 0;                     // bits: of what some member must meet
};

// A way in which a member can be.
struct MemberWay {
    Word member;     // as many as there are members: another one, of which any number may come
    Word meets = 0;  // bits
};

class FreeOrder {
public:
    // `ways`: those that have a text.
    FreeOrder(MemberTerms terms, std::span<const MemberWay> ways);
    // Throws LimitExceeded where something must be met that others, any number of them, cannot meet alone.
    void check() const;

    // The members that were there: 32 to a word, then how many others, as far as that matters, and what was met.
    using Seen = std::vector<Word>;
    const MemberTerms& terms() const { return terms_; }
    Word n_members() const { return static_cast<Word>(available_.size()); }
    Seen none() const { return Seen(n_words_ + 2, 0); }
    Seen with(Seen seen, MemberWay more) const;
    bool is_enough(const Seen& seen) const;
    // Whether more members can make it enough, if it is not. Throws LimitExceeded.
    bool can_be_enough(const Seen& seen) const;
    // How many more it takes at least, as far as is easily told: what else the formula needs counts one.
    Word n_missing(const Seen& seen) const;
    // Per member, and then of others, whether it may come next. Throws LimitExceeded.
    std::vector<char> next(const Seen& seen) const;

private:
    enum class Truth : signed char { no, yes, open };
    static bool has(const Seen& seen, Word member) {
        return static_cast<std::uint32_t>(seen[static_cast<std::size_t>(member) / 32]) >> (member % 32) & 1;
    }
    std::int64_t count(const Seen& seen) const;
    Truth holds(const std::vector<Truth>& there) const;
    bool search(std::vector<Truth>& there, std::int64_t fewest, std::int64_t most_possible, std::size_t& steps) const;

    MemberTerms terms_;
    std::vector<char> available_, in_formula_;
    bool has_others_ = false, counts_;
    Word never_met_ = 0, by_members_alone_ = 0;  // bits
    std::size_t n_words_;
};

}  // namespace psc
