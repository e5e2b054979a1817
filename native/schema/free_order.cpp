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
    const bool in_order = !rules_.layout_.any_order;
    const auto refuse = [&](const char* which, std::size_t limit) {
        throw LimitExceeded(prefix_ + ": " + which + (in_order ? "" : " in any order") + ", of an object that declares " +
                                std::to_string(declared_.size()),
                            limit);
    };
    if (declared_.size() > kMaxInAnyOrder) refuse("members", kMaxInAnyOrder);
    if (tagged_) refuse("parameters", limit("schema_set_members"));
    const auto helpers = helping_members();
    if (!helpers && in_order)
        throw LimitExceeded("an object needs more than " + readable(limit("schema_object_states")) + " states, the limit");
    if (!helpers) refuse("conditions on values of members", limit("schema_set_members"));
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
    if (alternatives.size() > 1 && depends_on_values()) refuse("conditions on values of members", limit("schema_set_members"));
    for (const auto& members : alternatives) write_free_order(members, by_others, *helpers);
}

// Members that make any kinds of values good, since each condition on values has one that may always come later and that nothing
// forbids; none if a condition has no such member.
std::optional<std::vector<Word>> SchemaRules::Members::helping_members() const {
    const PredicateGraph& graph = rules_.graph_;
    std::vector<Word> helpers;
    if (!depends_on_values()) return helpers;
    if (most_ >= 0 || has_wide_) return std::nullopt;
    std::unordered_map<Word, Word> index_of;
    for (const Declared& d : declared_) index_of.emplace(d.name, static_cast<Word>(index_of.size()));
    const auto is_there = [&](Predicate p) {
        return graph.kind(p) == PredicateKind::some_member && graph.value(p) == graph.always();
    };
    // Members that a formula mentions: those of which it says more than that they are there, and the last one with a condition.
    struct Mentioned {
        std::set<Word> otherwise;
        Word last = -1;
    };
    std::set<Predicate> seen;
    const std::function<void(Predicate, Mentioned&)> look = [&](Predicate p, Mentioned& out) {
        if (!seen.insert(p).second) return;
        if (graph.kind(p) == PredicateKind::both || graph.kind(p) == PredicateKind::either) {
            for (Predicate part : graph.parts(p)) look(part, out);
        } else if (!is_there(p)) {
            const Word member = index_of.at(graph.names(p).names.at(0));
            out.otherwise.insert(member);
            if (graph.value(p) != graph.never()) out.last = std::max(out.last, member);
        }
    };
    Mentioned all;
    look(presence_, all);
    const bool is_row = graph.kind(presence_) == PredicateKind::both;
    const std::vector<Predicate> clauses =
        is_row ? std::vector<Predicate>(graph.parts(presence_).begin(), graph.parts(presence_).end()) : std::vector{presence_};
    for (Predicate clause : clauses) {
        Mentioned here;
        seen.clear();
        look(clause, here);
        if (here.last < 0) continue;
        if (graph.kind(clause) != PredicateKind::either) return std::nullopt;
        const auto helps = [&](Predicate p) {
            if (!is_there(p)) return false;
            const Word member = index_of.at(graph.names(p).names[0]);
            return !all.otherwise.contains(member) && (rules_.layout_.any_order || member > here.last) &&
                   !rules_.values_.surely_empty(declared_[static_cast<std::size_t>(member)].value);
        };
        const std::vector<Predicate> parts(graph.parts(clause).begin(), graph.parts(clause).end());
        const auto found = std::find_if(parts.begin(), parts.end(), helps);
        if (found == parts.end()) return std::nullopt;
        helpers.push_back(index_of.at(graph.names(*found).names[0]));
    }
    return helpers;
}

void SchemaRules::Members::write_free_order(const std::vector<Declared>& declared, Word by_others,
                                            const std::vector<Word>& helpers) {
    stop_if_cancelled();
    FreeOrderRules order;
    order.ready = rules_.fresh(prefix_ + " before a member");
    order.done = rules_.fresh(prefix_ + " after a member");
    rules_.add_row(order.ready, {mark(Mark::open_object)});
    rules_.add_row(order.ready, {order.done, mark(Mark::comma)});
    rules_.add_row(rule_, {order.done, mark(Mark::close_object)});
    const auto n = static_cast<Word>(declared.size());
    const auto add_member = [&](Word which, Word name, Maybe<Rule> key, Predicate any, Word satisfies, Word kind = 0) {
        ways(any, satisfies & by_others, 0, [&](Predicate value, Word satisfied) {
            const Rule rule = rules_.fresh(prefix_ + " member");
            if (!rules_.values_.surely_empty(value)) rules_.add(rule, member({}, name, key, value));
            rules_.add_row(order.done, {order.ready, rule});
            order.ways.push_back({rule, {which, satisfied, kind}});
        });
    };
    std::unordered_map<Word, Word> index_of;
    std::vector<Word> first_condition;  // per member, its first condition's number
    for (const Declared& d : declared) {
        const auto which = static_cast<Word>(index_of.size());
        index_of.emplace(d.name, which);
        first_condition.push_back(n + static_cast<Word>(order.terms.conditions.size()));
        for (std::size_t c = 0; c < d.conditions.size(); ++c) {
            order.terms.conditions.push_back({which, {}});
            for (const auto& [value, holds] : d.kinds) order.terms.conditions.back().holds.push_back(holds[c]);
        }
        if (d.conditions.empty()) add_member(which, d.name, {}, d.value, d.satisfies);
        for (std::size_t k = 0; k < d.kinds.size(); ++k)
            add_member(which, d.name, {}, d.kinds[k].first, d.satisfies, static_cast<Word>(k));
        order.terms.required.push_back(d.required);
    }
    for (const Others& other : others_) add_member(n, -1, other.key, other.value, other.satisfies);
    order.terms.satisfies = by_others;
    order.terms.least = least_;
    order.terms.most = most_;
    order.terms.helpers = helpers;
    order.terms.in_order = !rules_.layout_.any_order;
    add_formula(presence_, index_of, first_condition, order.terms.formula);
    rules_.free_orders_.push_back(std::move(order));
}

void SchemaRules::Members::add_formula(Predicate presence, const std::unordered_map<Word, Word>& index_of,
                                       const std::vector<Word>& first_condition, std::vector<MemberTerms::Step>& out) {
    using Kind = MemberTerms::Step::Kind;
    if (out.size() > kMaxWays)
        throw LimitExceeded("oneOf, anyOf, not and if say more than " + readable(kMaxWays) +
                            " things about members in any order, the limit");
    PredicateGraph& graph = rules_.graph_;
    const PredicateKind kind = graph.kind(presence);
    if (presence == graph.always()) return out.push_back({Kind::all, 0});
    if (presence == graph.never()) return out.push_back({Kind::any, 0});
    if (kind == PredicateKind::both || kind == PredicateKind::either) {
        for (std::size_t i = 0; i < graph.parts(presence).size(); ++i)
            add_formula(graph.parts(presence)[i], index_of, first_condition, out);
        const auto n = static_cast<Word>(graph.parts(presence).size());
        return out.push_back({kind == PredicateKind::both ? Kind::all : Kind::any, n});
    }
    const bool some = kind == PredicateKind::some_member;
    const Word member = index_of.at(graph.names(presence).names.at(0));
    const Predicate value = referred(graph.value(presence));
    if (value == graph.always() || value == graph.never()) return out.push_back({some ? Kind::present : Kind::absent, member});
    // There and of the value, or absent or of the value; the condition is that of the value or of all others.
    const auto& conditions = declared_[static_cast<std::size_t>(member)].conditions;
    const Predicate condition = std::min(value, graph.negation(value));
    const auto at = std::lower_bound(conditions.begin(), conditions.end(), condition) - conditions.begin();
    const Word number = first_condition[static_cast<std::size_t>(member)] + static_cast<Word>(at);
    out.push_back({condition == value ? Kind::present : Kind::absent, number});
    if (some == (condition == value)) return;
    out.push_back({some ? Kind::present : Kind::absent, member});
    out.push_back({some ? Kind::all : Kind::any, 2});
}

}  // namespace psc
