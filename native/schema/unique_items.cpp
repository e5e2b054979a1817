// Arrays of strings, numbers, true, false and null that must differ, of which rules say all but that; the matcher knows which came
// (rules/unique_rules.hpp).
//
// Rules must not lead to where no item is left. So where the values are few, an array has no more items than there are of them, and
// where they are many there are always more than an array may have.
//
// Cost: of strings that are finitely many, their lengths times the arcs of their automaton, until enough are counted.
#include <algorithm>
#include <span>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "json/digit_loops.hpp"
#include "json/numbers.hpp"
#include "patterns/ecma_pattern.hpp"
#include "schema/containers.hpp"

namespace psc {

namespace {

using PredicateKind = PredicateGraph::Kind;

constexpr std::string_view kOtherItems = "?";
constexpr Word kMaxUniqueItems = limit("unique_items"), kMany = 2 * kMaxUniqueItems;  // and a token's own

// How many texts of such lengths an automaton has, at most kMany. `most`: -1 for any.
Word n_texts(const TextAutomaton& texts, std::int64_t least, std::int64_t most) {
    if (most < 0 && lengths_of(texts).most[0] < 0) return kMany;
    std::vector<std::int64_t> at(static_cast<std::size_t>(texts.size())), next;
    at[0] = 1;
    std::int64_t total = 0;
    for (std::int64_t length = 0; total < kMany; ++length) {
        stop_if_cancelled();
        next.assign(at.size(), 0);
        bool any = false;
        for (std::size_t s = 0; s < at.size(); ++s) {
            if (at[s] == 0) continue;
            any = true;
            if (length >= least && texts.accepts[s]) total += at[s];
            for (Word i = texts.offsets[s]; i < texts.offsets[s + 1]; ++i) {
                const auto& arc = texts.arcs[static_cast<std::size_t>(i)];
                std::int64_t& to = next[static_cast<std::size_t>(arc.to)];
                to = std::min<std::int64_t>(kMany, to + at[s] * (arc.last - arc.first + 1));
            }
        }
        if (!any || length == most) break;
        at.swap(next);
    }
    return static_cast<Word>(std::min<std::int64_t>(total, kMany));
}

// The number of characters to the nearest state from which fewer than kMany texts lead to acceptance; -1: there is none.
Word first_with_few_ends(const TextAutomaton& texts) {
    const std::vector<Word> most = lengths_of(texts).most;
    std::vector<Word> states;
    for (Word s = 0; s < texts.size(); ++s)
        if (most[static_cast<std::size_t>(s)] >= 0) states.push_back(s);
    std::sort(states.begin(), states.end(), [&](Word a, Word b) {
        return most[static_cast<std::size_t>(a)] <
               most[static_cast<std::size_t>(b)];  // those that an arc leads to are nearer to the end
    });
    const auto arcs_of = [&](Word s) {
        return std::span(texts.arcs)
            .subspan(static_cast<std::size_t>(texts.offsets[static_cast<std::size_t>(s)]),
                     static_cast<std::size_t>(texts.offsets[static_cast<std::size_t>(s) + 1] -
                                              texts.offsets[static_cast<std::size_t>(s)]));
    };
    std::vector<std::int64_t> n_ends(static_cast<std::size_t>(texts.size()), kMany);
    for (Word s : states) {
        std::int64_t n = texts.accepts[static_cast<std::size_t>(s)];
        for (const auto& arc : arcs_of(s))
            n = std::min<std::int64_t>(kMany, n + n_ends[static_cast<std::size_t>(arc.to)] * (arc.last - arc.first + 1));
        n_ends[static_cast<std::size_t>(s)] = n;
    }
    std::vector<Word> queue{0}, distance(static_cast<std::size_t>(texts.size()), -1);
    distance[0] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const Word s = queue[i];
        if (n_ends[static_cast<std::size_t>(s)] < kMany) return distance[static_cast<std::size_t>(s)];
        for (const auto& arc : arcs_of(s)) {
            Word& to = distance[static_cast<std::size_t>(arc.to)];
            if (to >= 0) continue;
            to = distance[static_cast<std::size_t>(s)] + 1;
            queue.push_back(arc.to);
        }
    }
    return -1;
}

// A text of each number that has digits alone.
const TextAutomaton& one_spelling_each() {
    static const auto& texts =
        *new TextAutomaton(difference(pattern_automaton(U"^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]*[1-9])?$"), of_texts({U"-0"})));
    return texts;
}

}  // namespace

// Why it cannot be enforced that items differ; empty where it can be. Sets the greatest number of items.
std::string SchemaRules::Items::refusal_of_unique(const Atoms& atoms) {
    PredicateGraph& graph = rules_.graph_;
    if (!std::all_of(unique_.begin(), unique_.end(), [&](Predicate p) { return graph.holds(p); }))
        return "that some items are equal (`not`, `oneOf`, `if`) is not enforced";
    if (tagged_ || !rules_.layout_.excludes.empty())
        return "of items that are not written as JSON psc cannot tell which came already";
    if (!counted_.empty()) return "beside `contains`, or a list of what each item may be once, psc cannot tell which came already";
    if (least_ > kMaxUniqueItems) return "psc keeps " + readable(kMaxUniqueItems) + " items at most, and `minItems` is more";
    const Word last = most_ < 0 ? apart_ : std::min(apart_, most_ - 1);
    for (Word i = 0; i <= last; ++i) {
        const Predicate item = rules_.values_.item_value(atoms, i);
        for (TypeSet type : {json_types::array, json_types::object})
            if (rules_.values_.restricted(item, type) != graph.never()) return std::string(kOtherItems);
        const Word n = n_scalars(item);
        if (n == kMany) continue;
        if (rules_.values_.numbers(item) == SchemaValues::kAllNumbers)
            return "of numbers of so few digits psc cannot tell which came already";
        if (apart_ > 0) return "of items that are different and have few values psc cannot tell which came already";
        most_ = most_ < 0 ? n : std::min(most_, n);
    }
    return {};
}

// How many values that are no array and no object an item has, at most kMany; of numbers, those that are written without power.
Word SchemaRules::Items::n_scalars(Predicate item) {
    Word n = 0;
    for (TypeSet type : {json_types::null, json_types::falsehood, json_types::truth})
        n += rules_.values_.restricted(item, type) != rules_.graph_.never();
    if (const StringSet set = rules_.values_.strings(item); set.language != LanguageTable::kNone) {
        n += n_texts(written_texts(set), set.least, set.most);
    }
    if (const Language language = rules_.values_.numbers(item); language != LanguageTable::kNone) {
        const bool all = language == SchemaValues::kAllNumbers;
        const TextAutomaton texts = all ? plain_numbers() : rules_.shortened_numbers(language);
        const Word most = rules_.layout_.max_digits;
        n += n_texts(intersection(all && most >= 0 ? with_digits(texts, most) : texts, one_spelling_each()), 0, -1);
    }
    return std::min(n, kMany);
}

// The texts of strings as SchemaRules::strings() writes them, but for their lengths.
TextAutomaton SchemaRules::Items::written_texts(const StringSet& set) const {
    TextAutomaton texts = rules_.shortened_format(set.language);
    return has_length(texts, set.least, set.most) ? texts : rules_.languages_[set.language];
}

bool SchemaRules::Items::can_be_unique(const Atoms& atoms) {
    if (most_ >= 0 && most_ <= 1 &&
        std::all_of(unique_.begin(), unique_.end(), [&](Predicate p) { return rules_.graph_.holds(p); }))
        return false;
    const std::string refusal = refusal_of_unique(atoms);
    if (refusal.empty()) return true;
    for (Predicate p : unique_) rules_.reader_.leave_unique(rules_.graph_.place_of(p), refusal == kOtherItems ? "" : refusal);
    return false;
}

// Of how many characters a beginning of such strings may be that has fewer than kMany ends; -1: none is.
Word SchemaRules::Items::runs_out_at(const StringSet& set) {
    if (set.language == LanguageTable::kAny) return static_cast<Word>(set.most);
    if (set.least == 0 && set.most < 0) return first_with_few_ends(written_texts(set));
    const auto language = rules_.values_.small_language_of(set);
    return language ? first_with_few_ends(rules_.languages_[*language]) : 0;
}

Rule SchemaRules::Items::unique_item(Predicate item) {
    const auto is_never = [&](TypeSet type) { return rules_.values_.restricted(item, type) == rules_.graph_.never(); };
    const bool of_strings = is_never(json_types::number) && is_never(json_types::null) && is_never(json_types::falsehood) &&
                            is_never(json_types::truth);
    const StringSet set = rules_.values_.strings(item);
    const Rule text = of_strings ? rules_.strings(set) : rules_.value(item, 0);
    const auto [entry, is_new] = rules_.unique_items_.try_emplace(text.v);
    UniqueRules& unique = entry->second;
    if (is_new) {
        unique.item = rules_.fresh(prefix_ + " different item");
        unique.item_text = text;
        rules_.add_row(unique.item, {text});
        unique.runs_out_at = set.language == LanguageTable::kNone ? -1 : runs_out_at(set);
    }
    unique.array = *array_;
    unique.array_text = rule_;
    rules_.unique_.push_back(unique);
    return unique.item;
}

}  // namespace psc
