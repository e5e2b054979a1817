// Members in any order, each at most once: what may come next, and whether what came is enough.
//
// A grammar of all orders of n members needs as many rules as there are sets of them (K. Ellul, B. Krawetz, J. Shallit, M.-w. Wang,
// "Regular expressions: new results and open problems", JALC 10(4), 2005). So the grammar says only what a member is, and the LR
// automaton keeps the set of those that came (lr/free_order_states.hpp). This class answers the questions about such a set.
//
// A member may come next if the rest can still be completed after it: no text leads into a dead end. With required members and
// counts alone, that is counting. A formula over the presence of members is searched: what only one option is left for is decided, and
// then the options of one part of the formula are tried.
//
// A formula may also depend on what kind of value a member has. It is then such that the kind decides nothing alone: some other
// member, which may always come later, makes any kind good. So which members may come does not depend on the kind of the next one.
//
// Members may also come in their order only, each after those before it.
//
// Some member of several may have to satisfy a condition, whichever member it is. Each member then has ways to be, which satisfy it
// or do not. Where any number of other members can satisfy it, that excludes no member.
//
// Example: members a and b, of which a is required, and at most one member: after nothing, only a may come; after a, nothing.
//
// Cost: linear in the members and in the formula; in the worst case exponential in the formula's members, within a limit.
// Threads: any number may ask.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace psc {

// What must hold of the set of members when the object ends.
struct MemberTerms {
    // A step of a formula in postfix order: a member is present or absent, a condition holds or not, or all or some of the last n
    // steps hold. Conditions have the numbers after those of the members.
    struct Step {
        enum class Kind : Word { present, absent, all, any };
        Kind kind;
        Word n;
    };
    std::vector<char> required;         // per member
    std::int64_t least = 0, most = -1;  // number of members, others included; -1: without limit
    std::vector<Step> formula;          // empty: true
    // A condition holds if a member is present with a value of one of some kinds.
    struct Condition {
        Word member;
        std::vector<char> holds;  // per kind
    };
    std::vector<Condition> conditions;
    std::vector<Word> helpers;  // members that must be able to come, since they make any kind good
    bool in_order = false;      // each member comes after those before it
    Word satisfies = 0;         // bits: the conditions that some member must satisfy
};

// One way in which a member can be.
struct MemberWay {
    Word member;         // the number of members: a member of another name, of which any number may come
    Word satisfies = 0;  // bits
    Word kind = 0;       // of its value
};

class FreeOrder {
public:
    // `ways`: those that have a text.
    FreeOrder(MemberTerms terms, std::span<const MemberWay> ways);
    // Throws LimitExceeded where a condition can be satisfied by declared members only.
    void check() const;

    // The set of members that came: 32 to a word, then the number of others, as far as it matters, and the conditions satisfied; then
    // the conditions of the formula that hold, 32 to a word.
    using Seen = std::vector<Word>;
    const MemberTerms& terms() const { return terms_; }
    Word n_members() const { return static_cast<Word>(available_.size()); }
    Seen none() const { return Seen(n_words_ + 2 + (terms_.conditions.size() + 31) / 32, 0); }
    Seen with(Seen seen, MemberWay more) const;
    bool is_enough(const Seen& seen) const;
    // Whether it is enough, or more members can make it enough. Throws LimitExceeded.
    bool can_be_enough(const Seen& seen) const;
    // A lower bound of the number of members that it still takes; whatever else the formula needs counts as one.
    Word n_missing(const Seen& seen) const;
    // Per member, and last for others, whether it may come next. Throws LimitExceeded.
    std::vector<char> next(const Seen& seen) const;

private:
    enum class Truth : signed char { no, yes, open };
    class Search;
    struct Node {
        MemberTerms::Step::Kind kind;
        Word n;                   // of a literal
        std::vector<Word> parts;  // smaller numbers
    };
    static bool has(const Seen& seen, Word member, std::size_t from = 0) {
        return static_cast<std::uint32_t>(seen[from + static_cast<std::size_t>(member) / 32]) >> (member % 32) & 1;
    }
    static void add(Seen& seen, Word member, std::size_t from = 0) {
        Word& word = seen[from + static_cast<std::size_t>(member) / 32];
        word = static_cast<Word>(static_cast<std::uint32_t>(word) | std::uint32_t{1} << (member % 32));
    }
    std::int64_t count(const Seen& seen) const;
    // Members before this one cannot come any more.
    Word first_open(const Seen& seen) const;
    MemberWay any_way(Word member) const { return {member, 0, ways_[static_cast<std::size_t>(member)].front()}; }

    MemberTerms terms_;
    std::vector<Node> nodes_;  // of the formula; the last one is all of it
    std::vector<char> available_, in_formula_;
    std::vector<std::vector<Word>> ways_;  // per member, the kinds of values that have texts
    bool has_others_ = false, counts_;
    Word unsatisfiable_ = 0, by_members_alone_ = 0;  // bits
    std::size_t n_words_;
};

}  // namespace psc
