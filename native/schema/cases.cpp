// The cases of an object or array: alternatives, each a set of atoms that all hold. See schema/values.hpp.
//
// Clauses are split as by a solver for propositional formulas, after the consequences of single atoms. Two things come before a
// split:
//
//   joining        of the options of one clause, those about one member are one: `a is absent, or a is a string` is no choice
//   telling apart  a member on whose value several clauses depend, and which has about as many kinds of values as there are
//                  conditions, is split by these: `if action is "a1"`, `if action is "a2"`, ... are n + 1 cases, not 2 to the n
//
// Where that makes too many cases, clauses about single members stay whole, as formulas over presence do: twenty switches, each for
// its own member, are one case.
//
// Cost: exponential in choices that do not decide each other, within limits; of n conditions on one member, n^2 comparisons.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "schema/values.hpp"

namespace psc {

namespace {

using PredicateKind = PredicateGraph::Kind;

constexpr std::size_t kMaxSolved = limit("schema_case_steps");
constexpr std::size_t kLooks = 1000;       // at atoms, which are a step
constexpr std::size_t kFewConditions = 3;  // on one member, which is split by its kinds of values

// Thrown where nothing is being read or looked up, so that the object can be used again.
struct TooManyCases : TooManyChoices {
    TooManyCases() : TooManyChoices("makes more than " + readable(SchemaValues::kMaxCases) + " cases") {}
};

}  // namespace

// Parts are fetched one by one, since `holds` may make predicates, which invalidates spans.
template <class Holds>
bool SchemaValues::all_parts(Predicate p, const Holds& holds) {
    for (std::size_t i = 0; i < graph_.parts(p).size(); ++i)
        if (!holds(graph_.parts(p)[i])) return false;
    return true;
}

template <class Holds>
bool SchemaValues::any_part(Predicate p, const Holds& holds) {
    return !all_parts(p, [&](Predicate part) { return !holds(part); });
}

std::vector<std::vector<Predicate>> SchemaValues::cases(Predicate p, TypeSet type) {
    const Predicate r = restricted(p, type);
    std::vector<Atoms> out;
    if (r == graph_.never()) return out;
    n_solved_ = 0;
    split_.clear();
    Atoms atoms, clauses;
    if (!add(r, atoms, clauses)) return out;
    sort_unique(atoms);
    if (clauses.empty()) {
        if (by_listed_names(atoms)) out.push_back(std::move(atoms));
        return out;
    }
    try {
        solve(atoms, clauses, out);
    } catch (const TooManyCases&) {
        if (type != json_types::object || !keep_whole(std::move(atoms), std::move(clauses), out)) throw;
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

// False where it contradicts itself at once.
bool SchemaValues::add(Predicate p, Atoms& atoms, Atoms& clauses) {
    if (p == graph_.never()) return false;
    if (p == graph_.always()) return true;
    switch (graph_.kind(p)) {
        case PredicateKind::both: {
            const Atoms parts(graph_.parts(p).begin(), graph_.parts(p).end());
            return std::all_of(parts.begin(), parts.end(), [&](Predicate part) { return add(part, atoms, clauses); });
        }
        case PredicateKind::either: {
            const Atoms options(graph_.parts(p).begin(), graph_.parts(p).end());
            if (const Predicate one = joined(options); one != p) return add(one, atoms, clauses);
            (is_presence(p) ? atoms : clauses).push_back(p);
            return true;
        }
        default:
            atoms.push_back(p);
            return true;
    }
}

// Where no other members than listed ones may come, "some member of a set of names" is one of those: by their presence, or with fewer
// names in the set. False where none of them can be.
bool SchemaValues::by_listed_names(Atoms& atoms) {
    std::optional<std::vector<Word>> listed;
    for (Predicate atom : atoms) {
        if (graph_.kind(atom) != PredicateKind::every_member || !graph_.names(atom).all_but) continue;
        if (!graph_.names(atom).languages.empty() || !surely_empty(graph_.value(atom))) continue;
        std::vector<Word> names = graph_.names(atom).names, both;
        if (listed) std::set_intersection(listed->begin(), listed->end(), names.begin(), names.end(), std::back_inserter(both));
        listed = listed ? std::move(both) : std::move(names);
    }
    if (!listed) return true;
    for (Predicate& atom : atoms) {
        if (graph_.kind(atom) != PredicateKind::some_member || graph_.names(atom).is_one()) continue;
        const Predicate value = graph_.value(atom);
        NameSet can;
        Atoms each;
        for (Word name : *listed) {
            if (!contains(graph_.names(atom), name) || surely_empty(graph_.both(member_value(atoms, name), value))) continue;
            can.names.push_back(name);
            each.push_back(graph_.some_member({false, {name}, {}}, value));
        }
        if (can.names.empty()) return false;
        atom = value == graph_.always() ? graph_.either(each) : graph_.some_member(can, value);
    }
    sort_unique(atoms);
    return true;
}

// The order of members that an option says, which is no condition.
void SchemaValues::add_order(Predicate option, Atoms& atoms) {
    if (graph_.kind(option) == PredicateKind::order) atoms.push_back(option);
    if (graph_.kind(option) != PredicateKind::both) return;
    for (Predicate part : graph_.parts(option))
        if (graph_.kind(part) == PredicateKind::order) atoms.push_back(part);
}

// Any of these options, with one for each member: `absent or of A` or `there and of B` is `absent or of A or B`.
Predicate SchemaValues::joined(std::span<const Predicate> options) {
    struct Member {
        Predicate first;
        bool may_be_absent = false;
        Atoms values;
    };
    std::map<Word, Member> members;
    Atoms out;
    for (Predicate o : options) {
        if (!is_about_one(o)) {
            out.push_back(o);
            continue;
        }
        Member& member = members.try_emplace(graph_.names(o).names[0], Member{o, false, {}}).first->second;
        member.may_be_absent |= graph_.kind(o) == PredicateKind::every_member;
        member.values.push_back(graph_.value(o));
    }
    for (const auto& [name, member] : members) {
        if (member.values.size() == 1) {
            out.push_back(member.first);
            continue;
        }
        const Predicate value = graph_.either(member.values);
        if (member.may_be_absent && value == graph_.always()) return value;
        const NameSet one{false, {name}, {}};
        out.push_back(member.may_be_absent ? graph_.every_member(one, value) : graph_.some_member(one, value));
    }
    return graph_.either(out);
}

// What clauses say about values of single members: per member in how many of them, and the values.
void SchemaValues::conditions_in(Predicate p, std::size_t clause, std::map<Word, Conditions>& out) {
    if (is_about_one(p)) {
        const Predicate value = graph_.value(p);
        if (value == graph_.always() || value == graph_.never()) return;
        Conditions& of = out[graph_.names(p).names[0]];
        if (std::exchange(of.last_clause, clause) != clause) ++of.n_clauses;
        of.values.push_back(value);
    } else if (graph_.kind(p) == PredicateKind::both || graph_.kind(p) == PredicateKind::either) {
        for (Predicate part : graph_.parts(p)) conditions_in(part, clause, out);
    }
}

// Atoms of which exactly one holds, by the value of a member on which several clauses depend; none if no member has few kinds of
// values.
SchemaValues::Atoms SchemaValues::kinds_of_a_member(std::span<const Predicate> atoms, const Atoms& clauses) {
    if (clauses.size() < 2) return {};
    std::map<Word, Conditions> members;
    for (std::size_t c = 0; c < clauses.size(); ++c) conditions_in(clauses[c], c + 1, members);
    Word most = -1;
    Atoms values;  // of which none is the negation of another one
    for (auto& [name, of] : members) {
        if (of.n_clauses < 2 || std::find(split_.begin(), split_.end(), name) != split_.end()) continue;
        for (Predicate& value : of.values) value = std::min(value, graph_.negation(value));
        sort_unique(of.values);
        if (of.values.size() < kFewConditions || of.values.size() <= values.size()) continue;
        most = name;
        values = of.values;
    }
    if (most < 0) return {};
    Atoms kinds{member_value(atoms, most)};
    for (Predicate value : values) {
        stop_if_cancelled();
        const Predicate others = graph_.negation(value);
        for (std::size_t i = 0, n = kinds.size(); i < n; ++i) {
            const Predicate with = graph_.both(kinds[i], value), without = graph_.both(kinds[i], others);
            if (surely_empty(with) || surely_empty(without)) continue;
            kinds[i] = with;
            kinds.push_back(without);
        }
        if (kinds.size() > values.size() + 2) return {};
    }
    split_.push_back(most);
    const NameSet one{false, {most}, {}};
    for (Predicate& kind : kinds) kind = graph_.some_member(one, kind);
    if (!is_required(atoms, most)) kinds.push_back(graph_.every_member(one, graph_.never()));
    return kinds;
}

// Too many cases for clauses that decide each other little. If each is about members by their names, all are one case: the object's
// states have what is left of them (schema/objects.cpp). False if a clause is about something else.
bool SchemaValues::keep_whole(Atoms atoms, Atoms clauses, std::vector<Atoms>& out) {
    out.clear();
    n_solved_ = 0;
    split_.clear();
    if (!propagate(atoms, clauses)) return true;
    std::set<Predicate> seen;
    Atoms orders;
    for (Predicate clause : clauses)
        if (!is_about_members(clause, seen, orders)) return false;
    std::map<Predicate, Predicate> plain;
    Atoms whole;
    for (Predicate clause : clauses)
        if (!add(without_order(clause, plain), atoms, whole)) return true;
    if (!propagate(atoms, whole)) return true;
    atoms.insert(atoms.end(), whole.begin(), whole.end());
    atoms.insert(atoms.end(), orders.begin(), orders.end());
    sort_unique(atoms);
    out.push_back(std::move(atoms));
    return true;
}

// Whether a formula is about members by their names. Adds the orders in it.
bool SchemaValues::is_about_members(Predicate p, std::set<Predicate>& seen, Atoms& orders) {
    if (!seen.insert(p).second || about(p) != kNoMember) return true;
    if (graph_.kind(p) == PredicateKind::order) orders.push_back(p);
    if (graph_.kind(p) == PredicateKind::both || graph_.kind(p) == PredicateKind::either)
        return all_parts(p, [&](Predicate part) { return is_about_members(part, seen, orders); });
    return graph_.kind(p) == PredicateKind::order;
}

// An order of members is no condition.
Predicate SchemaValues::without_order(Predicate p, std::map<Predicate, Predicate>& plain) {
    if (graph_.kind(p) == PredicateKind::order) return graph_.always();
    const bool both = graph_.kind(p) == PredicateKind::both;
    if (!both && graph_.kind(p) != PredicateKind::either) return p;
    if (const auto cached = plain.find(p); cached != plain.end()) return cached->second;
    Atoms parts(graph_.parts(p).begin(), graph_.parts(p).end());
    for (Predicate& part : parts) part = without_order(part, plain);
    return plain[p] = both ? graph_.both(parts) : graph_.either(parts);
}

// Draws the consequences of atoms on clauses, as long as there are any. False if they contradict each other.
bool SchemaValues::propagate(Atoms& atoms, Atoms& clauses) {
    bool changed = true;
    while (changed && !clauses.empty()) {
        changed = false;
        sort_unique(atoms);
        Atoms left, open;
        for (std::size_t c = 0; c < clauses.size(); ++c) {
            n_solved_ += 1 + std::exchange(n_looks_, n_looks_ % kLooks) / kLooks;
            if (n_solved_ > kMaxSolved) throw TooManyCases();
            stop_if_cancelled();
            const std::size_t n_options = graph_.parts(clauses[c]).size();
            const auto is_implied = [&](Predicate o) {
                const bool is = implied(atoms, o);
                if (is && !split_.empty()) add_order(o, atoms);  // as if the option had been chosen
                return is;
            };
            if (any_part(clauses[c], is_implied)) continue;
            open.clear();
            for (std::size_t i = 0; i < n_options; ++i)
                if (const Predicate o = graph_.parts(clauses[c])[i]; !refuted(atoms, o)) open.push_back(o);
            if (open.empty()) return false;
            if (open.size() == n_options) {
                left.push_back(clauses[c]);
                continue;
            }
            changed = true;
            if (!add(joined(open), atoms, left)) return false;
        }
        clauses = std::move(left);
    }
    sort_unique(atoms);
    return !conflict(atoms, 0) && by_listed_names(atoms);
}

void SchemaValues::solve(Atoms atoms, Atoms clauses, std::vector<Atoms>& out) {
    if (++n_solved_ > kMaxSolved || out.size() > kMaxCases) throw TooManyCases();
    stop_if_cancelled();
    if (!propagate(atoms, clauses)) return;
    if (clauses.empty()) {
        out.push_back(std::move(atoms));
        return;
    }
    const std::size_t n_split = split_.size();
    Atoms options = kinds_of_a_member(atoms, clauses);
    if (options.empty()) {
        const auto narrowest = std::min_element(clauses.begin(), clauses.end(), [&](Predicate a, Predicate b) {
            return graph_.parts(a).size() < graph_.parts(b).size();
        });
        options.assign(graph_.parts(*narrowest).begin(), graph_.parts(*narrowest).end());
        clauses.erase(narrowest);
    }
    for (Predicate o : options) {
        Atoms with = atoms, rest = clauses;
        if (add(o, with, rest)) solve(std::move(with), std::move(rest), out);
    }
    split_.resize(n_split);
}

// Whether it is trivially true.
bool SchemaValues::is_always(Predicate p) {
    return p == graph_.always() ||
           (graph_.kind(p) == PredicateKind::schema && graph_.holds(p) && reader_.meaning(graph_.schema_of(p)) == graph_.always());
}

bool SchemaValues::implied(std::span<const Predicate> atoms, Predicate p) {
    if (std::find(atoms.begin(), atoms.end(), p) != atoms.end() || p == graph_.always() || graph_.kind(p) == PredicateKind::order)
        return true;
    switch (graph_.kind(p)) {
        case PredicateKind::both: {
            const auto is_implied = [&](Predicate part) { return implied(atoms, part); };
            return all_parts(p, is_implied);
        }
        case PredicateKind::either: {
            const auto is_implied = [&](Predicate part) { return implied(atoms, part); };
            return any_part(p, is_implied);
        }
        case PredicateKind::some_member:
        case PredicateKind::every_member: {
            if (!graph_.names(p).is_one()) return false;
            const Word name = graph_.names(p).names[0];
            if (graph_.kind(p) == PredicateKind::some_member && !is_required(atoms, name)) return false;
            const Predicate said = member_value(atoms, name);
            if (said == graph_.always()) return is_always(graph_.value(p));
            return surely_empty(graph_.both(said, graph_.negation(graph_.value(p))));
        }
        case PredicateKind::array_length:
        case PredicateKind::member_count: {
            const auto [least, most] = length_of(atoms, graph_.kind(p));
            return least >= graph_.least(p) && (graph_.most(p) < 0 || (most >= 0 && most <= graph_.most(p)));
        }
        default:
            return false;
    }
}

bool SchemaValues::refuted(std::span<const Predicate> atoms, Predicate p) {
    if (p == graph_.never()) return true;
    switch (graph_.kind(p)) {
        case PredicateKind::both: {
            const auto is_refuted = [&](Predicate part) { return refuted(atoms, part); };
            return any_part(p, is_refuted);
        }
        case PredicateKind::either: {
            const auto is_refuted = [&](Predicate part) { return refuted(atoms, part); };
            return all_parts(p, is_refuted);
        }
        case PredicateKind::some_member:
        case PredicateKind::every_member: {
            if (!graph_.names(p).is_one()) return false;
            const Word name = graph_.names(p).names[0];
            if (graph_.kind(p) == PredicateKind::every_member && !is_required(atoms, name)) return false;
            return surely_empty(graph_.both(member_value(atoms, name), graph_.value(p)));
        }
        case PredicateKind::array_length:
        case PredicateKind::member_count: {
            const auto [least, most] = length_of(atoms, graph_.kind(p));
            return (most >= 0 && most < graph_.least(p)) || (graph_.most(p) >= 0 && graph_.most(p) < least);
        }
        case PredicateKind::every_item: {
            if (length_of(atoms, PredicateKind::array_length).first <= graph_.from(p)) return false;
            return surely_empty(graph_.both(item_value(atoms, graph_.from(p)), graph_.value(p)));
        }
        default:
            return false;
    }
}

}  // namespace psc
