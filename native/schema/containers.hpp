// Objects and arrays as rules; schema/rules.hpp says how they are written.
//
// Members and Items each write one case (a set of atoms that all hold) and live for that time. They are implemented in
// schema/objects.cpp, schema/free_order.cpp and schema/arrays.cpp.
//
// Cost, threads: see there and schema/rules.hpp.
#pragma once

#include <bit>

#include "schema/rules.hpp"

namespace psc {

// One case of an object.
class SchemaRules::Members {
public:
    Members(SchemaRules& rules, Rule rule, Word depth, bool tagged = false)
        : rules_(rules), rule_(rule), depth_(depth), tagged_(tagged), prefix_(rules.rule_name(rule)) {}

    void write(const Atoms& atoms);

private:
    struct State {
        Word passed;         // declared names up to here cannot come any more; in any order: bits of those that came
        Predicate presence;  // what is still required of the presence of members
        Word satisfied;      // bits of several_
        Word count;          // of members, up to where it matters
        auto operator<=>(const State&) const = default;
    };
    struct Declared {
        Word name;
        Predicate value;
        bool required = false;
        Word satisfies = 0;  // bits of several_ that the name can satisfy
    };
    struct Others {  // names that are not declared and that no set tells apart
        Rule key;
        Predicate value;
        Word satisfies;
    };
    struct Rules {
        Maybe<Rule> ready, done, comma;
    };

    void read(const Atoms& atoms);
    void find_others(const Atoms& atoms);
    void write_map();
    void write_states();
    bool has_many_sets() const;
    void write_free_order();
    void write_free_order(const std::vector<Declared>& declared, Word by_others);
    void add_formula(Predicate presence, const std::unordered_map<Word, Word>& index_of, std::vector<MemberTerms::Step>& out) const;
    Predicate after(Predicate presence, Word name, bool present);
    bool accepts(const State& state);
    bool requires_more(const State& state) const;
    Word counted(Word count) const;
    Rule ready(const State& s), done(const State& s), comma(const State& s);
    Rule state_rule(const State& s, Maybe<Rule> Rules::* which, const char* what);
    // Calls f(value, satisfied) for each way in which a member can be, by which open conditions it satisfies.
    template <class F>
    void ways(Predicate value, Word satisfies, Word satisfied, const F& f);
    // `name`: in the text table, or -1 for names of the rule `key`.
    Words member(Maybe<Rule> before, Word name, Maybe<Rule> key, Predicate value);
    Rule mark(Mark mark) const { return tagged_ ? rules_.list_mark(mark) : rules_.mark(mark, depth_); }
    Words empty() const;

    SchemaRules& rules_;
    Rule rule_;
    Word depth_;
    bool tagged_;  // a list of parameters, no JSON
    std::string prefix_;
    std::vector<Declared> declared_;
    std::vector<Others> others_;
    std::vector<Predicate> several_;  // values of some_member atoms over several names
    Predicate presence_{};
    Word least_ = 0, most_ = -1;       // members
    std::vector<char> required_from_;  // per declared name, whether one from it on is required
    std::map<State, Rules> states_;
    std::vector<State> queue_;
    std::string name_;  // of a rule
    std::map<std::tuple<Predicate, Word, bool>, Predicate> after_;
};

// One case of an array.
class SchemaRules::Items {
public:
    Items(SchemaRules& rules, Rule rule, Word depth, bool tagged = false)
        : rules_(rules), rule_(rule), depth_(depth), tagged_(tagged), prefix_(rules.rule_name(rule)) {}

    void write(const Atoms& atoms);

private:
    struct Counted {
        Predicate item;
        Word from, to, least, most;
    };
    struct State {
        Word index;                // up to where items differ
        Word count;                // of items, up to where it matters
        std::vector<Word> counts;  // of each of counted_
        auto operator<=>(const State&) const = default;
    };

    Rule mark(Mark mark) const { return tagged_ ? rules_.list_mark(mark) : rules_.mark(mark, depth_); }
    Rule value(Predicate item) { return tagged_ ? rules_.item(item) : rules_.value(item, depth_ + 1); }
    void write_plain(const Atoms& atoms);
    bool are_different(const Atoms& atoms);
    void write_different(const Atoms& atoms);
    void write_counting(const Atoms& atoms);
    void ways(const State& s, Predicate item, std::size_t i, State next, const std::function<void(Predicate, const State&)>& f);

    SchemaRules& rules_;
    Rule rule_;
    Word depth_;
    bool tagged_;  // no JSON
    std::string prefix_;
    std::vector<Counted> counted_;
    Word least_ = 0, most_ = -1, apart_ = 0;  // items; the first apart_ have a predicate of their own
};

template <class F>
void SchemaRules::Members::ways(Predicate value, Word satisfies, Word satisfied, const F& f) {
    PredicateGraph& graph = rules_.graph_;
    const Word open = satisfies & ~satisfied;
    if (open == 0) return f(value, satisfied);
    // The lowest bit: the member satisfies it, or does not.
    const auto k = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(open)));
    const Word bit = Word{1} << k;
    const Predicate condition = graph.value(several_[k]);
    const Predicate with = graph.both(value, condition), without = graph.both(value, graph.negation(condition));
    if (!rules_.values_.surely_empty(with)) ways(with, satisfies & ~bit, satisfied | bit, f);
    if (!rules_.values_.surely_empty(without)) ways(without, satisfies & ~bit, satisfied, f);
}

}  // namespace psc
