// Objects with members in any order, where there are too many sets of members to write out: the rules say what a member is, and the
// LR automaton keeps the set of those that came (lr/free_order_states.hpp).
//
// Some member of several names may have to satisfy a condition. If any number of other members can satisfy it, each member has ways
// that do and ways that do not. Else there is one alternative for each declared member that can, in which that member is required
// and satisfies it.
//
// Cost: linear in the members; times the alternatives, and two to the power of the conditions that others can satisfy.
#include <algorithm>
#include <bit>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "schema/containers.hpp"

namespace psc {

namespace {

using PredicateKind = PredicateGraph::Kind;

constexpr std::size_t kMaxInAnyOrder = limit("schema_free_members"), kMaxWays = limit("schema_free_names"),
                      kMaxAlternatives = limit("schema_free_choices");

}  // namespace

void SchemaRules::Members::write_free_order() {
    const auto refuse = [&](const char* which, std::size_t limit) {
        throw LimitExceeded(
            prefix_ + ": " + which + " in any order, of an object that declares " + std::to_string(declared_.size()), limit);
    };
    if (declared_.size() > kMaxInAnyOrder) refuse("members", kMaxInAnyOrder);
    if (tagged_) refuse("parameters", limit("schema_set_members"));
    const State start{0, presence_, 0, 0};
    if (accepts(start)) rules_.add(rule_, empty());
    const auto can_satisfy = [&](Predicate value, Word satisfies, std::size_t k) {
        return (satisfies >> k & 1) && !rules_.values_.surely_empty(rules_.graph_.both(value, rules_.graph_.value(several_[k])));
    };
    // One list of members for each choice of which declared member satisfies which condition.
    std::vector<std::vector<Declared>> alternatives{declared_};
    Word by_others = 0;
    for (std::size_t k = 0; k < several_.size(); ++k) {
        const Word bit = Word{1} << k;
        if (std::any_of(others_.begin(), others_.end(), [&](const Others& o) { return can_satisfy(o.value, o.satisfies, k); })) {
            if (most_ >= 0)
                refuse("so many members at most, some of which must be so by their names,", limit("schema_set_members"));
            by_others |= bit;
            continue;
        }
        std::vector<std::vector<Declared>> decided;
        for (const auto& members : alternatives) {
            for (std::size_t i = 0; i < members.size(); ++i) {
                if (!can_satisfy(members[i].value, members[i].satisfies, k)) continue;
                decided.push_back(members);
                Declared& chosen = decided.back()[i];
                chosen.value = rules_.graph_.both(chosen.value, rules_.graph_.value(several_[k]));
                chosen.required = true;
                if (decided.size() > kMaxAlternatives)
                    refuse("choices of members that must be so by their names,", kMaxAlternatives);
            }
        }
        alternatives = std::move(decided);
    }
    const auto n_choices = static_cast<std::size_t>(std::popcount(static_cast<unsigned>(by_others)));
    if (alternatives.size() * (declared_.size() + others_.size()) << n_choices > kMaxWays)
        refuse("members, some of which must be so by their names,", kMaxWays >> n_choices);
    for (const auto& members : alternatives) write_free_order(members, by_others);
}

void SchemaRules::Members::write_free_order(const std::vector<Declared>& declared, Word by_others) {
    stop_if_cancelled();
    FreeOrderRules order;
    order.ready = rules_.fresh(prefix_ + " before a member");
    order.done = rules_.fresh(prefix_ + " after a member");
    rules_.add_row(order.ready, {mark(Mark::open_object)});
    rules_.add_row(order.ready, {order.done, mark(Mark::comma)});
    rules_.add_row(rule_, {order.done, mark(Mark::close_object)});
    const auto n = static_cast<Word>(declared.size());
    const auto add_member = [&](Word which, Word name, Maybe<Rule> key, Predicate any, Word satisfies) {
        ways(any, satisfies & by_others, 0, [&](Predicate value, Word satisfied) {
            const Rule rule = rules_.fresh(prefix_ + " member");
            if (!rules_.values_.surely_empty(value)) rules_.add(rule, member({}, name, key, value));
            rules_.add_row(order.done, {order.ready, rule});
            order.ways.push_back({rule, {which, satisfied}});
        });
    };
    std::unordered_map<Word, Word> index_of;
    for (const Declared& d : declared) {
        const auto which = static_cast<Word>(index_of.size());
        index_of.emplace(d.name, which);
        add_member(which, d.name, {}, d.value, d.satisfies);
        order.terms.required.push_back(d.required);
    }
    for (const Others& other : others_) add_member(n, -1, other.key, other.value, other.satisfies);
    order.terms.satisfies = by_others;
    order.terms.least = least_;
    order.terms.most = most_;
    add_formula(presence_, index_of, order.terms.formula);
    rules_.free_orders_.push_back(std::move(order));
}

void SchemaRules::Members::add_formula(Predicate presence, const std::unordered_map<Word, Word>& index_of,
                                       std::vector<MemberTerms::Step>& out) const {
    using Kind = MemberTerms::Step::Kind;
    const PredicateGraph& graph = rules_.graph_;
    const PredicateKind kind = graph.kind(presence);
    if (presence == graph.always()) return out.push_back({Kind::all, 0});
    if (presence == graph.never()) return out.push_back({Kind::any, 0});
    if (kind == PredicateKind::both || kind == PredicateKind::either) {
        for (Predicate part : graph.parts(presence)) add_formula(part, index_of, out);
        const auto n = static_cast<Word>(graph.parts(presence).size());
        return out.push_back({kind == PredicateKind::both ? Kind::all : Kind::any, n});
    }
    out.push_back(
        {kind == PredicateKind::some_member ? Kind::present : Kind::absent, index_of.at(graph.names(presence).names.at(0))});
}

}  // namespace psc
