#include "rules/joined_rules.hpp"

#include <stdexcept>
#include <unordered_map>

namespace psc {

namespace {

// Distinct names: a taken one gets a number.
class Names {
public:
    void add(const std::string& name) {
        std::string free = name;
        for (Word n = 2; table_.contains(free); ++n) free = name + "~" + std::to_string(n);
        table_.add(free, 0);
    }
    const TextList& list() const { return table_.list(); }

private:
    NameTable table_;
};

// Appends the words of a rule set; `number[r]`: the number of its rule r in the result.
void append(RulePrograms& to, const RulePrograms& from, std::span<const Word> number) {
    const auto base = static_cast<std::int64_t>(to.words.size());
    to.words.insert(to.words.end(), from.words.begin(), from.words.end());
    for (std::size_t r = 0; r + 1 < from.offsets.size(); ++r) to.offsets.push_back(base + from.offsets[r + 1]);
    std::int64_t* at = to.words.data() + base;
    const std::int64_t* const end = to.words.data() + to.words.size();
    while (at < end) {
        if (*at == RulePrograms::reference) at[1] = number[static_cast<std::size_t>(at[1])];
        at += RulePrograms::size_at(at);
    }
    for (const LabelledAutomaton& automaton : from.labelled) {
        to.labelled.push_back(automaton);
        for (auto& rules : to.labelled.back().matches)
            for (Rule& rule : rules) rule = {number[rule.index()]};
    }
    for (FreeOrderRules order : from.free_orders) {
        const auto renumber = [&](Rule& rule) { rule = {number[rule.index()]}; };
        renumber(order.ready);
        renumber(order.done);
        for (auto& way : order.ways) renumber(way.rule);
        to.free_orders.push_back(std::move(order));
    }
    for (UniqueRules rules : from.unique) {
        for (Rule* rule : {&rules.array, &rules.array_text, &rules.item, &rules.item_text}) *rule = {number[rule->index()]};
        to.unique.push_back(rules);
    }
}

}  // namespace

RulePrograms joined_rules(const RulePrograms& outer, std::span<const NamedRules> parts) {
    RulePrograms out;
    out.offsets.push_back(0);
    Names names;
    std::unordered_map<std::string_view, Word> root_of;  // per part's name
    Word n_defined = outer.n_defined();
    for (Word r = 0; r < n_defined; ++r) names.add(std::string(outer.names[static_cast<std::size_t>(r)]));
    std::vector<Word> first;  // per part, its first rule
    for (const NamedRules& part : parts) {
        first.push_back(n_defined);
        for (Word r = 0; r < part.rules->n_defined(); ++r)
            names.add(part.name + "." + std::string(part.rules->names[static_cast<std::size_t>(r)]));
        n_defined += part.rules->n_defined();
    }
    const auto undefined = [&](const std::string& name) {
        names.add(name);
        return static_cast<Word>(names.list().size()) - 1;
    };
    // The numbers of the rules of a set; `other` gives those of undefined ones, by name.
    const auto numbers = [&](const RulePrograms& rules, Word base, const auto& other) {
        std::vector<Word> number;
        for (Word r = 0; r < rules.n_defined(); ++r) number.push_back(base + r);
        for (std::size_t r = number.size(); r < rules.names.size(); ++r) number.push_back(other(std::string(rules.names[r])));
        return number;
    };
    std::vector<std::vector<Word>> of_part;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const NamedRules& part = parts[i];
        of_part.push_back(numbers(*part.rules, first[i], [&](const std::string& n) { return undefined(part.name + "." + n); }));
        if (!root_of.emplace(part.name, of_part.back()[part.rules->root.index()]).second)
            throw std::invalid_argument("two parts are called " + part.name);
    }
    const std::vector<Word> of_outer = numbers(outer, 0, [&](const std::string& name) {
        const auto root = root_of.find(name);
        return root == root_of.end() ? undefined(name) : root->second;
    });
    append(out, outer, of_outer);
    for (std::size_t i = 0; i < parts.size(); ++i) append(out, *parts[i].rules, of_part[i]);
    out.root = {of_outer[outer.root.index()]};
    out.names = names.list();
    return out;
}

}  // namespace psc
