// What a case of an object says of its members together, as a formula: what is left of it as members come.
//
// Leaves are about one member, which comes once or not, or about all of a set of names: of these any may come until the object ends.
//
// Example: of `a is there, or no member but a and b is` is left, after b, the same; after c, `a is there`; at the end, it holds.
//
// Cost: linear in the formula for each member and kind of its values; results are kept.
#include <algorithm>
#include <utility>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "schema/containers.hpp"

namespace psc {

namespace {

using PredicateKind = PredicateGraph::Kind;

constexpr std::size_t kMostKinds = limit("schema_cases");
constexpr int kMostHops = 100;

}  // namespace

void SchemaRules::Members::find_leaves(Predicate formula, std::set<Predicate>& seen, std::vector<Predicate>& out) const {
    const PredicateGraph& graph = rules_.graph_;
    if (!seen.insert(formula).second) return;
    const PredicateKind kind = graph.kind(formula);
    if (kind == PredicateKind::some_member || kind == PredicateKind::every_member) out.push_back(formula);
    if (kind != PredicateKind::both && kind != PredicateKind::either) return;
    for (Predicate part : graph.parts(formula)) find_leaves(part, seen, out);
}

Word SchemaRules::Members::n_wide(Predicate formula) {
    if (!has_wide_) return 0;
    const auto [entry, fresh] = n_wide_.try_emplace(formula);
    if (!fresh) return entry->second;
    std::set<Predicate> seen;
    std::vector<Predicate> leaves;
    find_leaves(formula, seen, leaves);
    const auto n = std::count_if(leaves.begin(), leaves.end(), [&](Predicate leaf) { return !rules_.graph_.names(leaf).is_one(); });
    return entry->second = static_cast<Word>(n);
}

// What a reference refers to, where that is needed: one schema is one condition wherever it is referred to.
Predicate SchemaRules::Members::referred(Predicate value) {
    PredicateGraph& graph = rules_.graph_;
    for (int hops = 0; looks_behind_references_ && graph.kind(value) == PredicateKind::schema && hops < kMostHops; ++hops) {
        const Predicate meaning = rules_.reader_.meaning(graph.schema_of(value));
        if (graph.kind(meaning) != PredicateKind::schema) break;
        value = graph.holds(value) ? meaning : graph.negation(meaning);
    }
    return value;
}

bool SchemaRules::Members::is_about(Predicate leaf, std::size_t member) {
    const NameSet& names = rules_.graph_.names(leaf);
    if (member < declared_.size()) return rules_.values_.contains(names, declared_[member].name);
    const auto& of = others_[member - declared_.size()].of;
    const bool listed = std::any_of(names.languages.begin(), names.languages.end(),
                                    [&](Language language) { return std::find(of.begin(), of.end(), language) != of.end(); });
    return listed != names.all_but;
}

const SchemaRules::Members::Kinds& SchemaRules::Members::kinds_of(std::size_t member) const {
    if (member < declared_.size()) return declared_[member];
    return others_[member - declared_.size()];
}

// The kinds of values on which the formula depends; of conditions that are each other's negation one.
void SchemaRules::Members::find_kinds() {
    PredicateGraph& graph = rules_.graph_;
    std::set<Predicate> seen;
    std::vector<Predicate> leaves;
    find_leaves(presence_, seen, leaves);
    has_wide_ = std::any_of(leaves.begin(), leaves.end(), [&](Predicate leaf) { return !graph.names(leaf).is_one(); });
    looks_behind_references_ |= has_wide_;
    std::map<Word, std::vector<Predicate>> conditions;
    for (Predicate leaf : leaves) {
        const bool wide = !graph.names(leaf).is_one();
        const Predicate value = referred(graph.value(leaf));
        if (value == graph.always() || value == graph.never()) continue;
        const Predicate condition = std::min(value, graph.negation(value));
        if (!wide) conditions[graph.names(leaf).names[0]].push_back(condition);
        for (std::size_t i = 0; i < declared_.size() && wide; ++i)
            if (is_about(leaf, i)) conditions[declared_[i].name].push_back(condition);
    }
    for (Declared& d : declared_) {
        const auto found = conditions.find(d.name);
        if (found == conditions.end() || find_kinds(d, d.value, std::move(found->second))) continue;
        if (std::exchange(looks_behind_references_, true)) refuse_kinds();
        return find_kinds();
    }
}

void SchemaRules::Members::find_kinds_of_others() {
    if (!has_wide_) return;
    PredicateGraph& graph = rules_.graph_;
    std::set<Predicate> seen;
    std::vector<Predicate> leaves;
    find_leaves(presence_, seen, leaves);
    for (std::size_t i = 0; i < others_.size(); ++i) {
        std::vector<Predicate> conditions;
        for (Predicate leaf : leaves) {
            const Predicate value = referred(graph.value(leaf));
            if (value == graph.always() || value == graph.never() || !is_about(leaf, declared_.size() + i)) continue;
            conditions.push_back(std::min(value, graph.negation(value)));
        }
        if (!conditions.empty() && !find_kinds(others_[i], others_[i].value, std::move(conditions))) refuse_kinds();
    }
}

void SchemaRules::Members::refuse_kinds() {
    throw LimitExceeded("conditions on one member tell more than " + readable(kMostKinds) + " kinds of values apart, the limit");
}

// False where there are too many.
bool SchemaRules::Members::find_kinds(Kinds& of, Predicate value, std::vector<Predicate> conditions) {
    PredicateGraph& graph = rules_.graph_;
    of.conditions = std::move(conditions);
    sort_unique(of.conditions);
    of.kinds = {{value, {}}};
    for (Predicate condition : of.conditions) {
        stop_if_cancelled();
        const Predicate others = graph.negation(condition);
        for (std::size_t k = 0, n = of.kinds.size(); k < n; ++k) {
            const Predicate with = graph.both(of.kinds[k].first, condition), without = graph.both(of.kinds[k].first, others);
            const bool can = !rules_.values_.surely_empty(with), can_not = !rules_.values_.surely_empty(without);
            if (can && can_not) {
                of.kinds.push_back({without, of.kinds[k].second});
                of.kinds.back().second.push_back(0);
            }
            if (can || can_not) of.kinds[k].first = can ? with : without;
            of.kinds[k].second.push_back(can);
        }
        if (of.kinds.size() > kMostKinds) return false;
    }
    return true;
}

// A leaf about several names is decided by one that comes and is in favour of `some` or against `every`, or by the end.
Predicate SchemaRules::Members::after_leaf(Predicate leaf, std::size_t member, Word kind) {
    PredicateGraph& graph = rules_.graph_;
    const bool some = graph.kind(leaf) == PredicateKind::some_member;
    if (member == kNoMore) return some ? graph.never() : graph.always();
    const bool wide = !graph.names(leaf).is_one();
    if (!is_about(leaf, member) || (wide && kind == kAbsent)) return leaf;
    const Predicate value = referred(graph.value(leaf));
    if (kind == kAbsent) return some ? graph.never() : graph.always();
    if (value == graph.always() || value == graph.never()) return value;
    const Kinds& of = kinds_of(member);
    const Predicate condition = std::min(value, graph.negation(value));
    const auto at = std::lower_bound(of.conditions.begin(), of.conditions.end(), condition) - of.conditions.begin();
    const bool holds = of.kinds[static_cast<std::size_t>(kind)].second[static_cast<std::size_t>(at)] != 0;
    const bool is = holds == (value == condition);
    return wide && is != some ? leaf : is ? graph.always() : graph.never();
}

Predicate SchemaRules::Members::after(Predicate presence, std::size_t member, Word kind) {
    PredicateGraph& graph = rules_.graph_;
    switch (graph.kind(presence)) {
        case PredicateKind::some_member:
        case PredicateKind::every_member:
            return after_leaf(presence, member, kind);
        case PredicateKind::both:
        case PredicateKind::either: {
            const std::tuple key(presence, static_cast<Word>(member), kind);
            if (const auto cached = after_.find(key); cached != after_.end()) return cached->second;
            std::vector<Predicate> parts(graph.parts(presence).begin(), graph.parts(presence).end());
            n_steps_ += parts.size();
            if (n_steps_ > 2 * kMaxFormulaSteps)
                throw LimitExceeded("what is left of oneOf, anyOf, not and if after each member takes more than " +
                                    readable(kMaxFormulaSteps) + " steps, the limit");
            for (Predicate& part : parts) part = after(part, member, kind);
            return after_[key] = graph.kind(presence) == PredicateKind::both ? graph.both(parts) : graph.either(parts);
        }
        default:
            return presence;
    }
}

}  // namespace psc
