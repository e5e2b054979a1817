#include "rules/unique_rules.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "text/token_symbols.hpp"

namespace psc {

namespace {

using Words = std::vector<std::int64_t>;

Words symbol(Word number) { return {RulePrograms::chars, 1, kFirstSymbol + number, kFirstSymbol + number}; }

// The rules that a text needs.
RulePrograms part_of(const RulePrograms& rules, Rule text) {
    RulePrograms out;
    out.root = {0};
    out.words = {RulePrograms::reference, 1};
    out.offsets = {0, static_cast<std::int64_t>(out.words.size())};
    out.names.push_back("root");
    std::vector<Rule> todo{text};
    std::map<Word, Word> number{{text.v, 1}};
    for (std::size_t i = 0; i < todo.size(); ++i) {
        const Rule rule = todo[i];
        const std::size_t base = out.words.size();
        const auto words = rules.of(rule);
        out.words.insert(out.words.end(), words.begin(), words.end());
        for (std::int64_t* at = out.words.data() + base; at < out.words.data() + out.words.size();
             at += RulePrograms::size_at(at)) {
            if (*at != RulePrograms::reference) continue;
            const auto [entry, is_new] = number.try_emplace(static_cast<Word>(at[1]), static_cast<Word>(number.size()) + 1);
            if (is_new) todo.push_back({static_cast<Word>(at[1])});
            at[1] = entry->second;
        }
        out.offsets.push_back(static_cast<std::int64_t>(out.words.size()));
        out.names.push_back("text " + std::string(rules.names[rule.index()]));
    }
    return out;
}

}  // namespace

CutUniqueRules cut_unique_rules(const RulePrograms& rules, Word first_call) {
    std::map<Word, Words> calls;  // what stands for the rules that become parts
    std::vector<UniqueRules> arrays, items;
    const auto add = [&](Rule rule, const UniqueRules& of, std::vector<UniqueRules>& to, std::size_t others) {
        const auto [entry, is_new] = calls.try_emplace(rule.v);
        if (!is_new) {
            UniqueRules& known = *std::ranges::find_if(to, [&](const UniqueRules& u) { return u.array == rule || u.item == rule; });
            if (of.runs_out_at >= 0)
                known.runs_out_at = known.runs_out_at < 0 ? of.runs_out_at : std::min(known.runs_out_at, of.runs_out_at);
            return;
        }
        entry->second = symbol(kFirstCall + first_call + static_cast<Word>(others + to.size()));
        to.push_back(of);
    };
    for (const UniqueRules& unique : rules.unique) add(unique.array, unique, arrays, 0);
    for (const UniqueRules& unique : rules.unique) add(unique.item, unique, items, arrays.size());
    CutUniqueRules out;
    out.frame = rules;
    out.frame.unique.clear();
    out.frame.words.clear();
    out.frame.offsets.assign(1, 0);
    for (Word r = 0; r < rules.n_defined(); ++r) {
        const auto call = calls.find(r);
        const std::span<const std::int64_t> words =
            call == calls.end() ? rules.of({r}) : std::span<const std::int64_t>(call->second);
        out.frame.words.insert(out.frame.words.end(), words.begin(), words.end());
        out.frame.offsets.push_back(static_cast<std::int64_t>(out.frame.words.size()));
    }
    for (const UniqueRules& unique : arrays) out.arrays.push_back(part_of(out.frame, unique.array_text));
    for (const UniqueRules& unique : items) out.items.push_back(part_of(out.frame, unique.item_text));
    for (const auto* some : {&arrays, &items})
        for (const UniqueRules& unique : *some) out.runs_out_at.push_back(unique.runs_out_at);
    return out;
}

}  // namespace psc
