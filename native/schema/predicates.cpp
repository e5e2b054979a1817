#include "schema/predicates.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"

namespace psc {

namespace {

constexpr std::size_t kMaxCombined = limit("schema_text_words");
// Parts of all combinations that are asked for: 30 ns and at most 4 bytes each.
constexpr std::size_t kMaxWords = 150 * limit("schema_case_steps");

}  // namespace

NameSet union_of(const NameSet& a, const NameSet& b) {
    NameSet out = a;
    out.names.insert(out.names.end(), b.names.begin(), b.names.end());
    out.languages.insert(out.languages.end(), b.languages.begin(), b.languages.end());
    sort_unique(out.names);
    sort_unique(out.languages);
    return out;
}

NameSet complement(NameSet names) {
    names.all_but = !names.all_but;
    return names;
}

LanguageTable::LanguageTable() {
    number(any_text());
    number(no_text());
}

// A new number is the next index of automata_.
Language LanguageTable::number_of_key(const TextAutomaton& automaton) {
    key_.assign(automaton.accepts.begin(), automaton.accepts.end());
    key_.insert(key_.end(), automaton.offsets.begin(), automaton.offsets.end());
    for (const TextAutomaton::Arc& arc : automaton.arcs) key_.insert(key_.end(), {arc.first, arc.last, arc.to});
    return {keys_.intern(key_).first};
}

Language LanguageTable::number(TextAutomaton automaton) {
    const Language number = number_of_key(automaton);
    if (static_cast<std::size_t>(number.v) == automata_.size()) automata_.push_back(&own_.emplace_back(std::move(automaton)));
    return number;
}

Language LanguageTable::number_of_constant(const TextAutomaton& automaton, const TextAutomaton& spelled) {
    for (const Constant& c : constants_)
        if (c.automaton == &automaton) return c.number;
    const Language number = number_of_key(automaton);
    if (static_cast<std::size_t>(number.v) == automata_.size()) automata_.push_back(&automaton);
    constants_.push_back({&automaton, &spelled, number});
    return number;
}

const TextAutomaton* LanguageTable::spelled(Language language) const {
    for (const Constant& c : constants_)
        if (c.number == language) return c.spelled;
    return nullptr;
}

template <class Make>
Language LanguageTable::combined(Word operation, Language a, Language b, Make make) {
    const std::uint64_t key = static_cast<std::uint64_t>(a.v) << 32 | static_cast<std::uint32_t>(b.v);
    auto& cache = cache_[operation];
    if (const auto found = cache.find(key); found != cache.end()) return found->second;
    const Language made = number(make((*this)[a], (*this)[b]));
    n_combined_ += key_.size();
    if (n_combined_ > kMaxCombined)
        throw LimitExceeded("states and arcs of the sets of strings and numbers that are combined: more than " +
                            std::to_string(kMaxCombined));
    cache.emplace(key, made);
    return made;
}

Language LanguageTable::both(Language a, Language b) {
    if (a == b || b == kAny || a == kNone) return a;
    if (a == kAny || b == kNone) return b;
    return combined(0, std::min(a, b), std::max(a, b), [](const auto& x, const auto& y) { return intersection(x, y); });
}

Language LanguageTable::either(Language a, Language b) {
    if (a == b || b == kNone || a == kAny) return a;
    if (a == kNone || b == kAny) return b;
    return combined(1, std::min(a, b), std::max(a, b), [](const auto& x, const auto& y) { return union_of(x, y); });
}

Language LanguageTable::but(Language a, Language b) {
    if (a == b || b == kAny || a == kNone) return kNone;
    if (b == kNone) return a;
    return combined(2, a, b, [](const auto& x, const auto& y) { return difference(x, y); });
}

PredicateGraph::PredicateGraph(LanguageTable& languages, Language plain_numbers)
    : languages_(languages), plain_numbers_(plain_numbers) {
    node({static_cast<Word>(Kind::types), 0});
    node({static_cast<Word>(Kind::types), json_types::all});
    node({static_cast<Word>(Kind::unknown)});
}

Predicate PredicateGraph::types(TypeSet types) { return node({static_cast<Word>(Kind::types), types}); }

Predicate PredicateGraph::texts(Language language, Word least, Word most, bool matched) {
    least = std::max<Word>(least, 0);
    if (language == LanguageTable::kNone || (most != kOpen && most < least)) return never();
    if (language == LanguageTable::kAny && least == 0 && most == kOpen && !matched) return types(json_types::string);
    return node({static_cast<Word>(Kind::texts), language.v, matched, least, most});
}

Predicate PredicateGraph::numbers(Language language) {
    if (language == LanguageTable::kNone) return never();
    return node({static_cast<Word>(Kind::numbers), language.v});
}

Predicate PredicateGraph::member(Kind kind, const NameSet& names, Predicate value) {
    const bool every = kind == Kind::every_member;
    if (!names.all_but && names.names.empty() && names.languages.empty()) return every ? types(json_types::object) : never();
    if (every && value == always()) return types(json_types::object);
    if (!every && value == never()) return never();
    std::vector<Word> key{names.all_but, static_cast<Word>(names.names.size())};
    key.insert(key.end(), names.names.begin(), names.names.end());
    for (Language language : names.languages) key.push_back(language.v);
    const auto [set, fresh] = name_keys_.intern(key);
    if (fresh) name_sets_.push_back(names);
    return node({static_cast<Word>(kind), value.v, set});
}

Predicate PredicateGraph::member_count(Word least, Word most) {
    least = std::max<Word>(least, 0);
    if (most != kOpen && most < least) return never();
    if (least == 0 && most == kOpen) return types(json_types::object);
    return node({static_cast<Word>(Kind::member_count), least, most});
}

Predicate PredicateGraph::every_item(Word from, Word to, Predicate item) {
    if (item == always() || (to != kOpen && from >= to)) return types(json_types::array);
    if (item == never()) return array_length(0, from);
    return node({static_cast<Word>(Kind::every_item), item.v, from, to});
}

Predicate PredicateGraph::item_count(Word from, Word to, Predicate item, Word least, Word most) {
    least = std::max<Word>(least, 0);
    if (most != kOpen && most < least) return never();
    if (least == 0 && most == kOpen) return types(json_types::array);
    if (item == never()) return least > 0 ? never() : types(json_types::array);
    if (item == always() && from == 0 && to == kOpen) return array_length(least, most);
    return node({static_cast<Word>(Kind::item_count), item.v, from, to, least, most});
}

Predicate PredicateGraph::array_length(Word least, Word most) {
    least = std::max<Word>(least, 0);
    if (most != kOpen && most < least) return never();
    if (least == 0 && most == kOpen) return types(json_types::array);
    return node({static_cast<Word>(Kind::array_length), least, most});
}

Predicate PredicateGraph::order(std::span<const Word> names) {
    std::vector<Word> key{static_cast<Word>(Kind::order)};
    key.insert(key.end(), names.begin(), names.end());
    return {keys_.intern(key).first};
}

Predicate PredicateGraph::schema(Word schema, bool holds) { return node({static_cast<Word>(Kind::schema), schema, holds}); }

Predicate PredicateGraph::both(Predicate a, Predicate b) {
    const Predicate parts[] = {a, b};
    return both(parts);
}

Predicate PredicateGraph::either(Predicate a, Predicate b) {
    const Predicate parts[] = {a, b};
    return either(parts);
}

Predicate PredicateGraph::combined(Kind kind, std::span<const Predicate> parts) {
    const bool all = kind == Kind::both;
    TypeSet types = all ? json_types::all : 0;
    std::vector<Predicate>& flat = flat_;
    flat.clear();
    const auto add = [&](Predicate p) {
        if (this->kind(p) == Kind::types)
            types = all ? types & type_set(p) : types | type_set(p);
        else
            flat.push_back(p);
    };
    for (Predicate p : parts) {
        if (this->kind(p) != kind) {
            add(p);
            continue;
        }
        for (Predicate inner : this->parts(p)) add(inner);
    }
    if (!all && std::any_of(flat.begin(), flat.end(), [&](Predicate p) { return this->kind(p) == Kind::order; })) return always();
    if (types == (all ? 0 : json_types::all)) return this->types(types);
    if (types != (all ? json_types::all : 0) || flat.empty()) flat.push_back(this->types(types));
    sort_unique(flat);
    if (flat.size() == 1) return flat[0];
    key_.assign(1, static_cast<Word>(kind));
    for (Predicate p : flat) key_.push_back(p.v);
    n_words_ += key_.size();
    if (n_words_ > kMaxWords) throw TooManyChoices("takes more than " + readable(kMaxWords) + " steps to tell apart");
    return {keys_.intern(key_).first};
}

Predicate PredicateGraph::negation(Predicate p) {
    if (const auto cached = negations_.find(p.v); cached != negations_.end()) return cached->second;
    const auto unless = [&](TypeSet types, Predicate p) { return either(this->types(json_types::all & ~types), p); };
    // Counts outside of least..most.
    const auto outside = [&](Word least, Word most, auto counted) {
        const Predicate fewer = least > 0 ? counted(0, least - 1) : never();
        return either(fewer, most != kOpen ? counted(most + 1, kOpen) : never());
    };
    Predicate result{};
    switch (kind(p)) {
        case Kind::types:
            result = types(json_types::all & ~type_set(p));
            break;
        case Kind::texts:
        case Kind::numbers:
            result = without_language(p);
            break;
        case Kind::every_member: {
            const NameSet set = names(p);
            result = unless(json_types::object, some_member(set, negation(value(p))));
            break;
        }
        case Kind::some_member: {
            const NameSet set = names(p);
            result = unless(json_types::object, every_member(set, negation(value(p))));
            break;
        }
        case Kind::member_count:
            result = unless(json_types::object, outside(least(p), most(p), [&](Word a, Word b) { return member_count(a, b); }));
            break;
        case Kind::every_item: {
            const Word from = this->from(p), to = this->to(p);
            result = unless(json_types::array, item_count(from, to, negation(value(p)), 1, kOpen));
            break;
        }
        case Kind::item_count: {
            const Word from = this->from(p), to = this->to(p), fewest = least(p), most = this->most(p);
            const Predicate item = value(p);
            result = unless(json_types::array, outside(fewest, most, [&](Word a, Word b) {
                                return b == 0 ? every_item(from, to, negation(item)) : item_count(from, to, item, a, b);
                            }));
            break;
        }
        case Kind::array_length:
            result = unless(json_types::array, outside(least(p), most(p), [&](Word a, Word b) { return array_length(a, b); }));
            break;
        case Kind::unknown:
            result = p;
            break;
        case Kind::order:
            result = never();
            break;
        case Kind::unique_items:
            result = unless(json_types::array, unique_items(place_of(p), !holds(p)));
            break;
        case Kind::schema:
            result = schema(schema_of(p), !holds(p));
            break;
        case Kind::both:
        case Kind::either: {
            std::vector<Predicate> parts(this->parts(p).begin(), this->parts(p).end());
            for (Predicate& part : parts) part = negation(part);
            result = kind(p) == Kind::both ? either(parts) : both(parts);
            break;
        }
    }
    negations_.emplace(p.v, result);
    return result;
}

// Strings or numbers of the other languages.
Predicate PredicateGraph::without_language(Predicate p) {
    const Language language = this->language(p);
    if (kind(p) == Kind::numbers) {
        const Predicate others = numbers(languages_.but(plain_numbers_, language));
        return either(types(json_types::all & ~json_types::number), others);
    }
    const Word least = this->least(p), most = this->most(p);
    const Predicate options[] = {
        types(json_types::all & ~json_types::string),
        texts(languages_.but(LanguageTable::kAny, language)),
        least > 0 ? texts(LanguageTable::kAny, 0, least - 1) : never(),
        most != kOpen ? texts(LanguageTable::kAny, most + 1, kOpen) : never(),
    };
    return either(options);
}

}  // namespace psc
