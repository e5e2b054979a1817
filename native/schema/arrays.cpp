// One case of an array as rules: plain items, items that are counted (`contains`, `uniqueItems`), or values that come once each.
//
// Example: at most one item that is true: a state for "none yet" and one for "one came", and rules between them.
//
// Cost: linear in the schemas of items; times the product of the counts up to where they matter.
#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "schema/containers.hpp"

namespace psc {

namespace {

using PredicateKind = PredicateGraph::Kind;

constexpr Word kMaxItemsApart = limit("schema_item_schemas");
constexpr std::size_t kMaxItemStates = limit("schema_array_states");
constexpr std::size_t kMaxInSets = 10;  // values that come once each: 2 to this power states

}  // namespace

void SchemaRules::Items::write(const Atoms& atoms) {
    PredicateGraph& graph = rules_.graph_;
    for (Predicate atom : atoms) {
        switch (graph.kind(atom)) {
            case PredicateKind::every_item:
                apart_ = std::max(apart_, graph.to(atom) < 0 ? graph.from(atom) : graph.to(atom));
                break;
            case PredicateKind::item_count:
                counted_.push_back({graph.value(atom), graph.from(atom), graph.to(atom), graph.least(atom), graph.most(atom)});
                apart_ = std::max(apart_, graph.to(atom) < 0 ? graph.from(atom) : graph.to(atom));
                break;
            case PredicateKind::array_length:
                least_ = std::max(least_, graph.least(atom));
                if (graph.most(atom) >= 0) most_ = most_ < 0 ? graph.most(atom) : std::min(most_, graph.most(atom));
                break;
            case PredicateKind::unique_items:
                unique_.push_back(atom);
                break;
            default:
                break;
        }
    }
    if (apart_ > kMaxItemsApart)
        throw LimitExceeded("an array with more than " + readable(kMaxItemsApart) + " schemas of items, the limit");
    // Where no item can be, the array has ended.
    for (Word i = 0; i <= apart_ && (most_ < 0 || i < most_); ++i) {
        stop_if_cancelled();
        if (rules_.values_.surely_empty(rules_.values_.item_value(atoms, i))) most_ = i;
    }
    const bool differ = !unique_.empty() && can_be_unique(atoms);
    if (most_ >= 0 && most_ < least_) return;
    if (differ) {
        array_ = rule_;
        rule_ = rules_.fresh(prefix_ + " of different items");
        rules_.add_row(*array_, {rule_});
    }
    const auto needed = [](const Counted& c) { return c.least > 0; };
    if (least_ == 0 && std::none_of(counted_.begin(), counted_.end(), needed))
        tagged_ ? rules_.add_row(rule_, {mark(Mark::close_array)}) : rules_.add(rule_, rules_.empty(Mark::open_array, depth_));
    if (most_ == 0) return;
    if (counted_.empty())
        write_plain(atoms);
    else if (counted_.size() > kMaxInSets && are_different(atoms))
        write_different(atoms);
    else
        write_counting(atoms);
}

void SchemaRules::Items::write_plain(const Atoms& atoms) {
    const Rule open = mark(Mark::open_array), comma = mark(Mark::comma);
    const Rule close = mark(Mark::close_array);
    Maybe<Rule> done;  // what was read of the array
    const Word apart = most_ < 0 ? apart_ : std::min(apart_, most_);
    for (Word i = 0; i < apart; ++i) {
        const Rule next = rules_.fresh(prefix_ + " up to " + std::to_string(i));
        const Rule value = this->value(rules_.values_.item_value(atoms, i));
        if (!done)
            rules_.add_row(next, {open, value});
        else
            rules_.add_row(next, {*done, comma, value});
        done = next;
        if (i + 1 >= least_) rules_.add_row(rule_, {*done, close});
    }
    if (most_ >= 0 && apart >= most_) return;
    const Rule value = this->value(rules_.values_.item_value(atoms, apart));
    Words all;
    rule_words::reference(all, done ? *done : open);
    if (!done) rule_words::reference(all, value);
    rule_words::reference(all, comma);
    rule_words::reference(all, value);
    rule_words::sequence(all, 2);
    const Word before = !done ? 1 : apart;
    rule_words::repeat(all, std::max<Word>(least_ - before, !done ? 0 : 1), most_ < 0 ? -1 : most_ - before);
    rule_words::reference(all, close);
    rule_words::sequence(all, !done ? 4 : 3);
    rules_.add(rule_, all);
}

// Whether all that is counted are values of their own, without arrays and objects, so that their first terminal tells them apart, each
// of which comes at most once, or exactly once, or never. Counts of the same values become one then: `contains` may name a value that
// `uniqueItems` counts.
bool SchemaRules::Items::are_different(const Atoms& atoms) {
    if (apart_ > 0 || tagged_) return false;
    PredicateGraph& graph = rules_.graph_;
    const Predicate item = rules_.values_.item_value(atoms, 0);
    const auto has = [&](Predicate value, TypeSet type) { return rules_.values_.restricted(value, type) != graph.never(); };
    std::map<std::tuple<StringSet, Language, bool, bool, bool>, std::size_t> places;
    std::vector<Counted> different;
    for (const Counted& c : counted_) {
        const Predicate value = graph.both(item, c.item);
        if (c.from != 0 || c.to >= 0 || has(value, json_types::array) || has(value, json_types::object)) return false;
        const auto [place, is_new] =
            places.try_emplace({rules_.values_.strings(value), rules_.values_.numbers(value), has(value, json_types::null),
                                has(value, json_types::falsehood), has(value, json_types::truth)},
                               different.size());
        if (is_new) {
            different.push_back(c);
            continue;
        }
        Counted& same = different[place->second];
        same.least = std::max(same.least, c.least);
        if (c.most >= 0) same.most = same.most < 0 ? c.most : std::min(same.most, c.most);
    }
    for (const Counted& c : different) {
        if (c.most > 1 || c.least > c.most) return false;
        const Predicate value = graph.both(item, c.item);
        if (n_scalars(value) == 1) continue;
        for (const Counted& o : different)
            if (&o != &c && !rules_.values_.surely_empty(graph.both(value, o.item))) return false;
    }
    counted_ = std::move(different);
    return true;
}

// Each of many values once, in any order: lr/free_order_states.hpp.
void SchemaRules::Items::write_different(const Atoms& atoms) {
    PredicateGraph& graph = rules_.graph_;
    FreeOrderRules order;
    order.ready = rules_.fresh(prefix_ + " before an item");
    order.done = rules_.fresh(prefix_ + " after an item");
    rules_.add_row(order.ready, {mark(Mark::open_array)});
    rules_.add_row(order.ready, {order.done, mark(Mark::comma)});
    rules_.add_row(rule_, {order.done, mark(Mark::close_array)});
    const auto n = static_cast<Word>(counted_.size());
    const auto add_item = [&](Predicate item, Word which) {
        const Rule rule = rules_.fresh(prefix_ + " item");
        if (!rules_.values_.surely_empty(item)) rules_.add_row(rule, {value(item)});
        rules_.add_row(order.done, {order.ready, rule});
        order.ways.push_back({rule, {which}});
    };
    const Predicate any = rules_.values_.item_value(atoms, 0);
    Predicate others = any;
    for (Word i = 0; i < n; ++i) {
        const Counted& one = counted_[static_cast<std::size_t>(i)];
        if (one.most > 0) add_item(graph.both(any, one.item), i);
        others = graph.both(others, graph.negation(one.item));
        order.terms.required.push_back(one.least > 0);
    }
    if (!rules_.values_.surely_empty(others)) add_item(others, n);
    order.terms.least = least_;
    order.terms.most = most_;
    rules_.free_orders_.push_back(std::move(order));
}

// Each way in which the item can be for those that are counted from the i-th on.
void SchemaRules::Items::ways(const State& s, Predicate item, std::size_t i, State next,
                              const std::function<void(Predicate, const State&)>& f) {
    PredicateGraph& graph = rules_.graph_;
    if (rules_.values_.surely_empty(item)) return;
    if (i == counted_.size()) return f(item, next);
    const Counted& c = counted_[i];
    const bool here = c.from <= s.index && (c.to < 0 || s.index < c.to);
    if (!here || (c.most < 0 && s.counts[i] >= c.least)) return ways(s, item, i + 1, std::move(next), f);
    if (c.most < 0 || s.counts[i] < c.most) {
        State more = next;
        ++more.counts[i];
        ways(s, graph.both(item, c.item), i + 1, std::move(more), f);
    }
    ways(s, graph.both(item, graph.negation(c.item)), i + 1, std::move(next), f);
}

void SchemaRules::Items::write_counting(const Atoms& atoms) {
    const Rule open = mark(Mark::open_array), comma = mark(Mark::comma);
    const Rule close = mark(Mark::close_array);
    std::map<State, Rule> rules;
    std::vector<State> queue{{0, 0, std::vector<Word>(counted_.size())}};
    const auto accepts = [&](const State& s) {
        for (std::size_t i = 0; i < counted_.size(); ++i)
            if (s.counts[i] < counted_[i].least) return false;
        return s.count >= least_;
    };
    for (std::size_t i = 0; i < queue.size(); ++i) {
        stop_if_cancelled();
        const State s = queue[i];
        if (most_ >= 0 && s.count >= most_) continue;
        State next = s;
        next.index = std::min(s.index + 1, apart_);
        next.count = most_ < 0 ? std::min(s.count + 1, least_) : s.count + 1;
        ways(s, rules_.values_.item_value(atoms, s.index), 0, next, [&](Predicate item, const State& to) {
            const auto [entry, is_new] = rules.try_emplace(to);
            if (is_new) {
                if (rules.size() > kMaxItemStates)
                    throw LimitExceeded("an array needs more than " + readable(kMaxItemStates) + " states, the limit");
                entry->second = rules_.fresh(prefix_ + " so far");
                queue.push_back(to);
                if (accepts(to)) rules_.add_row(rule_, {entry->second, close});
            }
            const Rule value = this->value(item);
            if (i == 0)
                rules_.add_row(entry->second, {open, value});
            else
                rules_.add_row(entry->second, {rules.at(s), comma, value});
        });
    }
}

}  // namespace psc
