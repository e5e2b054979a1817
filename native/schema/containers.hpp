// Objects and arrays as rules; schema/rules.hpp says how they are written.
//
// Members and Items each write one case (a set of atoms that all hold) and live for that time. They are implemented in
// schema/objects.cpp, schema/member_formulas.cpp, schema/free_order.cpp, schema/arrays.cpp and schema/unique_items.cpp.
//
// Cost, threads: see there and schema/rules.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/limits.hpp"
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
        Predicate presence;  // what is still required of the presence of members, or of their values
        Word satisfied;      // bits of several_
        Word count;          // of members, up to where it matters
        auto operator<=>(const State&) const = default;
    };
    // Where presence_ depends on the value: the conditions, and the kinds of values, each with the conditions that hold.
    struct Kinds {
        std::vector<Predicate> conditions;
        std::vector<std::pair<Predicate, std::vector<char>>> kinds;
    };
    struct Declared : Kinds {
        Word name;
        Predicate value;
        bool required = false;
        Word satisfies = 0;  // bits of several_ that the name can satisfy
    };
    struct Others : Kinds {  // names that are not declared and that no set tells apart
        Rule key;
        Predicate value;
        Word satisfies;
        std::vector<Language> of;  // the languages in sets of names that have these
    };
    struct Rules {
        Maybe<Rule> ready, done, comma;
    };

    void read(const Atoms& atoms);
    void find_others(const Atoms& atoms);
    void write_map();
    void write_states();
    bool has_many_sets() const;
    bool is_simple() const;
    void write_free_order();
    bool has_few_states();
    std::optional<std::vector<Word>> helping_members() const;
    void write_free_order(const std::vector<Declared>& declared, Word by_others, const std::vector<Word>& helpers);
    void add_formula(Predicate presence, const std::unordered_map<Word, Word>& index_of, const std::vector<Word>& first_condition,
                     std::vector<MemberTerms::Step>& out);
    // What the formula says of members, those of several names among them.
    void find_leaves(Predicate formula, std::set<Predicate>& seen, std::vector<Predicate>& out) const;
    void find_kinds();
    void find_kinds_of_others();
    bool find_kinds(Kinds& of, Predicate value, std::vector<Predicate> conditions);
    [[noreturn]] static void refuse_kinds();
    // A member is declared, or one of others_, after these in number. Whether a leaf of the formula is about it.
    bool is_about(Predicate leaf, std::size_t member);
    Predicate referred(Predicate value);
    const Kinds& kinds_of(std::size_t member) const;
    // How many leaves of a formula are about several names.
    Word n_wide(Predicate formula);
    // The formula, given that a member is absent, or present with a value of a kind. Of `kNoMore`: given that no more members come.
    Predicate after(Predicate presence, std::size_t member, Word kind);
    Predicate after_leaf(Predicate leaf, std::size_t member, Word kind);
    // Calls f(value, presence) for each way in which a member can be, by what it leaves of the formula.
    template <class F>
    void kinds(std::size_t member, Predicate presence, const F& f);
    bool depends_on_values() const {
        return has_wide_ ||
               std::any_of(declared_.begin(), declared_.end(), [](const Declared& d) { return !d.conditions.empty(); });
    }
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
    std::vector<Predicate> several_;   // values of some_member atoms over several names
    Predicate presence_{};             // a formula, see SchemaValues::cases()
    Word least_ = 0, most_ = -1;       // members
    std::vector<char> required_from_;  // per declared name, whether one from it on is required
    std::map<State, Rules> states_;
    std::vector<State> queue_;
    std::string name_;  // of a rule
    static constexpr Word kAbsent = -1;
    static constexpr std::size_t kMaxFormulaSteps = 125 * limit("schema_case_steps");
    static constexpr std::size_t kNoMore = static_cast<std::size_t>(-1);
    bool has_wide_ = false;  // the formula is about members of several names
    bool looks_behind_references_ = false;
    std::map<Predicate, Word> n_wide_;
    std::map<std::tuple<Predicate, Word, Word>, Predicate> after_;  // by formula, member and kind
    std::size_t n_steps_ = 0;                                       // to find these
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
    Rule value(Predicate item) {
        if (array_) return unique_item(item);
        return tagged_ ? rules_.item(item) : rules_.value(item, depth_ + 1);
    }
    // Items that differ, see native/schema/unique_items.cpp.
    bool can_be_unique(const Atoms& atoms);
    std::string refusal_of_unique(const Atoms& atoms);
    Word n_scalars(Predicate item);
    Word runs_out_at(const StringSet& set);
    TextAutomaton written_texts(const StringSet& set) const;
    Rule unique_item(Predicate item);
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
    std::vector<Predicate> unique_;           // that items differ, and that some do not
    Maybe<Rule> array_;                       // where they differ, what refers to rule_
};

template <class F>
void SchemaRules::Members::kinds(std::size_t member, Predicate presence, const F& f) {
    PredicateGraph& graph = rules_.graph_;
    const bool declared = member < declared_.size();
    const Predicate value = declared ? declared_[member].value : others_[member - declared_.size()].value;
    if (!declared && !has_wide_) return f(value, presence);
    const auto& of = kinds_of(member).kinds;
    if (of.empty()) return f(value, after(presence, member, 0));
    std::map<Predicate, std::vector<Predicate>> values;  // by what is left
    for (std::size_t k = 0; k < of.size(); ++k) values[after(presence, member, static_cast<Word>(k))].push_back(of[k].first);
    const bool all = values.size() == 1;
    for (const auto& [left, some] : values) f(all ? value : graph.either(some), left);
}

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
