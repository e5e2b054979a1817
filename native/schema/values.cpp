#include "schema/values.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"

namespace psc {

namespace {

using PredicateKind = PredicateGraph::Kind;

constexpr int kDeepestLook = 8;  // levels of values below a value that surely_empty() examines
constexpr std::size_t kMaxFoundAgain = limit("schema_references");
constexpr int kDeepestMeaning = limit("schema_depth");  // schemas about one value: each is a call, and the machine's stack is short

TypeSet type_of(PredicateKind kind) {
    switch (kind) {
        case PredicateKind::texts:
            return json_types::string;
        case PredicateKind::numbers:
            return json_types::number;
        case PredicateKind::every_item:
        case PredicateKind::item_count:
        case PredicateKind::array_length:
        case PredicateKind::unique_items:
            return json_types::array;
        default:
            return json_types::object;
    }
}

}  // namespace

Predicate& SchemaValues::restricted_entry(Predicate p, TypeSet type) {
    const auto row = static_cast<std::size_t>(p.v);
    if (row >= restricted_.size()) {
        std::array<Predicate, json_types::count> uncomputed;
        uncomputed.fill(kUncomputed);
        restricted_.resize(std::max(static_cast<std::size_t>(graph_.size()), row + 1), uncomputed);
    }
    return restricted_[row][static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(type)))];
}

// A schema that occurs within its own meaning is true of nothing there: `anyOf: [A, itself]` is A, the least solution. Without a
// choice in between it says nothing but itself, which is an error. Results that depend on this are not cached.
Predicate SchemaValues::restricted(Predicate p, TypeSet type) {
    if (const Predicate cached = restricted_entry(p, type); cached != kUncomputed) {
        if (cached == kInProgress)
            throw SchemaError(active_.empty() ? "#" : reader_.pointer_of(active_.back().schema), "$ref",
                              "it refers to itself, about the same value");
        return cached;
    }
    stop_if_cancelled();
    if (deepness_ >= kDeepestMeaning)
        throw LimitExceeded("schemas about one value (allOf, $ref and such) are nested or refer to each other more than " +
                            readable(kDeepestMeaning) + " deep, the limit");
    ++deepness_;
    const std::size_t n_active = active_.size(), around = std::exchange(depends_, kOfNone);
    Predicate result{};
    switch (const PredicateKind kind = graph_.kind(p)) {
        case PredicateKind::types:
            result = graph_.type_set(p) & type ? graph_.always() : graph_.never();
            break;
        case PredicateKind::unknown:
            result = graph_.always();
            break;
        case PredicateKind::order:
            result = type == json_types::object ? p : graph_.always();
            break;
        case PredicateKind::schema:
            result = meaning(p, type);
            break;
        case PredicateKind::both:
        case PredicateKind::either:
            result = restricted_parts(p, type);
            break;
        default:
            result = type_of(kind) == type ? p : graph_.never();
    }
    --deepness_;  // not after an exception: the object is not used again
    const bool is_final = depends_ >= n_active;
    depends_ = is_final ? around : std::min(around, depends_);
    if (!is_final && ++n_recomputed_ > kMaxFoundAgain)
        throw LimitExceeded("schemas about one value refer to each other in more than " + readable(kMaxFoundAgain) +
                            " ways, the limit");
    restricted_entry(p, type) = is_final ? result : kUncomputed;
    return result;
}

// For `both` and `either`. Stops at the first part that decides; sets of types, which are free to check, come first.
Predicate SchemaValues::restricted_parts(Predicate p, TypeSet type) {
    const bool all = graph_.kind(p) == PredicateKind::both;
    const Predicate deciding = all ? graph_.never() : graph_.always();
    const auto of_graph = graph_.parts(p);
    const auto decides = [&](Predicate part) {
        return graph_.kind(part) == PredicateKind::types && ((graph_.type_set(part) & type) != 0) != all;
    };
    if (std::any_of(of_graph.begin(), of_graph.end(), decides)) return deciding;
    restricted_entry(p, type) = kInProgress;
    int& n_around = all ? n_both_ : n_either_;
    ++n_around;
    const std::size_t begin = parts_.size(), end = begin + of_graph.size();
    parts_.insert(parts_.end(), of_graph.begin(), of_graph.end());
    bool decided = false;
    for (std::size_t i = begin; i < end && !decided; ++i) {
        const Predicate part = restricted(parts_[i], type);
        parts_[i] = part;
        decided = part == deciding;
    }
    --n_around;
    const auto parts = std::span(std::as_const(parts_)).subspan(begin);
    const Predicate result = decided ? deciding : all ? graph_.both(parts) : graph_.either(parts);
    parts_.resize(begin);
    return result;
}

Predicate SchemaValues::meaning(Predicate p, TypeSet type) {
    const Word schema = graph_.schema_of(p);
    const bool holds = graph_.holds(p);
    const auto same =
        std::find_if(active_.begin(), active_.end(), [&](const Active& a) { return a.schema == schema && a.type == type; });
    if (same != active_.end()) {
        const auto at = static_cast<std::size_t>(same - active_.begin());
        const bool no_choice = same->holds ? same->n_either == n_either_ : same->n_both == n_both_;
        if (at < n_being_read_ || no_choice)
            throw SchemaError(reader_.pointer_of(schema), "$ref", "it refers to itself, about the same value");
        depends_ = std::min(depends_, at);
        return holds ? graph_.never() : graph_.always();
    }
    active_.push_back({schema, type, holds, n_both_, n_either_});
    const std::size_t n_being_read = std::exchange(n_being_read_, active_.size());
    const Predicate meaning = reader_.meaning(schema);
    n_being_read_ = n_being_read;
    const Predicate result = restricted(holds ? meaning : graph_.negation(meaning), type);
    active_.pop_back();
    return result;
}

StringSet SchemaValues::strings(Predicate p) { return with_strings(strings_of(restricted(p, json_types::string))); }

std::vector<StringSet> SchemaValues::string_sets(Predicate p) {
    const Predicate said = restricted(p, json_types::string);
    std::vector<StringSet> out;
    try {
        out.push_back(with_strings(strings_of(said)));
    } catch (const LimitExceeded&) {
        for (const StringSet& set : sets_of(said)) out.push_back(with_strings(set));
    }
    std::erase_if(out, [](const StringSet& set) { return set.language == LanguageTable::kNone; });
    return out;
}

// The set, or no strings if none of its language has such a length.
StringSet SchemaValues::with_strings(const StringSet& set) {
    if (set.language == LanguageTable::kAny || set.language == LanguageTable::kNone || (set.least == 0 && set.most < 0)) return set;
    const auto [entry, is_new] = has_strings_.try_emplace(set);
    if (is_new) entry->second = has_length(languages_[set.language], set.least, set.most);
    return entry->second ? set : StringSet{LanguageTable::kNone, 0, -1};
}

StringSet SchemaValues::strings_of(Predicate p) {
    constexpr StringSet kNothing{LanguageTable::kNone, 0, -1};
    switch (graph_.kind(p)) {
        case PredicateKind::types:
            return p == graph_.never() ? kNothing : StringSet{LanguageTable::kAny, 0, -1};
        case PredicateKind::texts:
            return {graph_.language(p), graph_.least(p), graph_.most(p)};
        default:
            break;
    }
    const std::vector<Predicate> parts(graph_.parts(p).begin(), graph_.parts(p).end());
    StringSet all = strings_of(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const StringSet one = strings_of(parts[i]);
        if (graph_.kind(p) == PredicateKind::both) {
            all.language = languages_.both(all.language, one.language);
            all.least = std::max(all.least, one.least);
            all.most = all.most < 0 ? one.most : one.most < 0 ? all.most : std::min(all.most, one.most);
            if (all.most >= 0 && all.most < all.least) all = kNothing;
        } else if (all.language == LanguageTable::kNone) {
            all = one;
        } else if (one.language != LanguageTable::kNone) {
            const bool touch = (all.most < 0 || one.least <= all.most + 1) && (one.most < 0 || all.least <= one.most + 1);
            if (all.language == one.language && touch) {
                all.least = std::min(all.least, one.least);
                all.most = all.most < 0 || one.most < 0 ? -1 : std::max(all.most, one.most);
            } else {
                all = {languages_.either(language_of(all), language_of(one)), 0, -1};
            }
        }
    }
    return all;
}

std::vector<StringSet> SchemaValues::sets_of(Predicate p) {
    if (graph_.kind(p) != PredicateKind::both && graph_.kind(p) != PredicateKind::either) return {strings_of(p)};
    const std::vector<Predicate> parts(graph_.parts(p).begin(), graph_.parts(p).end());
    std::vector<StringSet> all;
    if (graph_.kind(p) == PredicateKind::either) {
        for (Predicate part : parts)
            for (const StringSet& set : sets_of(part)) add_apart(set, all);
        return all;
    }
    all.push_back({LanguageTable::kAny, 0, -1});
    for (Predicate part : parts) {
        std::vector<StringSet> next;
        for (const StringSet& one : sets_of(part))
            for (const StringSet& set : all) {
                const std::int64_t most = set.most < 0 ? one.most : one.most < 0 ? set.most : std::min(set.most, one.most);
                add_apart({languages_.both(set.language, one.language), std::max(set.least, one.least), most}, next);
            }
        all = std::move(next);
    }
    return all;
}

// Adds what of a set is in none of the others. What has no length, or can have it as states, is one of them.
void SchemaValues::add_apart(const StringSet& set, std::vector<StringSet>& to) {
    std::vector<StringSet> left{set}, next;
    const auto keep = [&](Language language, std::int64_t least, std::int64_t most) {
        if (language != LanguageTable::kNone && (most < 0 || least <= most)) next.push_back({language, least, most});
    };
    for (const StringSet& other : to) {
        stop_if_cancelled();
        next.clear();
        for (const StringSet& one : left) {
            const Language common = languages_.both(one.language, other.language);
            keep(languages_.but(one.language, other.language), one.least, one.most);
            if (other.least > 0) keep(common, one.least, one.most < 0 ? other.least - 1 : std::min(one.most, other.least - 1));
            if (other.most >= 0) keep(common, std::max(one.least, other.most + 1), one.most);
        }
        left.swap(next);
    }
    for (const StringSet& one : left) {
        if (one.language == LanguageTable::kNone || (one.most >= 0 && one.most < one.least)) continue;
        const auto whole = small_language_of(one);
        if (whole && is_empty(languages_[*whole])) continue;
        const auto has_no_length = [](const StringSet& s) { return s.least == 0 && s.most < 0; };
        const auto plain = std::find_if(to.begin(), to.end(), has_no_length);
        if (whole && plain != to.end())
            plain->language = languages_.either(plain->language, *whole);
        else
            to.push_back(whole ? StringSet{*whole, 0, -1} : one);
        if (to.size() > kMaxCases)
            throw LimitExceeded(
                "strings with minLength or maxLength beside a pattern or format: what anyOf, oneOf and not say makes "
                "more than " +
                readable(kMaxCases) + " sets of them, the limit; choose smaller lengths");
    }
}

SchemaValues::Origins SchemaValues::origins_of(Predicate p) {
    constexpr Language kNone = LanguageTable::kNone;
    switch (graph_.kind(p)) {
        case PredicateKind::types:
            return {p == graph_.never() ? kNone : LanguageTable::kAny, kNone};
        case PredicateKind::texts: {
            const Language language = language_of({graph_.language(p), graph_.least(p), graph_.most(p)});
            return graph_.is_matched(p) ? Origins{kNone, language} : Origins{language, kNone};
        }
        default:
            break;
    }
    const std::vector<Predicate> parts(graph_.parts(p).begin(), graph_.parts(p).end());
    Origins all = origins_of(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const Origins one = origins_of(parts[i]);
        if (graph_.kind(p) == PredicateKind::both) {
            const Language matched = languages_.either(languages_.both(all.matched, languages_.either(one.matched, one.free)),
                                                       languages_.both(all.free, one.matched));
            all = {languages_.both(all.free, one.free), matched};
        } else {
            all = {languages_.either(all.free, one.free), languages_.either(all.matched, one.matched)};
        }
    }
    return all;
}

Language SchemaValues::language_of(const StringSet& set) {
    if (set.least == 0 && set.most < 0) return set.language;
    const auto cached = lengths_.find(set);
    if (cached != lengths_.end()) return cached->second;
    try {
        TextAutomaton made = with_length(languages_[set.language], set.least, set.most);
        return lengths_[set] = is_empty(made) ? LanguageTable::kNone : languages_.number(std::move(made));
    } catch (const LimitExceeded&) {
        throw LimitExceeded((set.most < 0 ? "minLength " + readable(set.least) : "maxLength " + readable(set.most)) +
                            " beside a pattern, a format or other strings needs more than " + readable(kMaxTextStates) +
                            " states of an automaton, the limit; choose a smaller length, or leave it out");
    }
}

std::optional<Language> SchemaValues::small_language_of(const StringSet& set) {
    if (set.least == 0 && set.most < 0) return set.language;
    if (const auto cached = lengths_.find(set); cached != lengths_.end()) return cached->second;
    try {
        return lengths_[set] = languages_.number(with_length(languages_[set.language], set.least, set.most, kMaxCopiedStates));
    } catch (const LimitExceeded&) {
        return std::nullopt;
    }
}

Language SchemaValues::numbers(Predicate p) { return numbers_of(restricted(p, json_types::number)); }

Language SchemaValues::numbers_of(Predicate p) {
    switch (graph_.kind(p)) {
        case PredicateKind::types:
            return p == graph_.never() ? LanguageTable::kNone : kAllNumbers;
        case PredicateKind::numbers:
            return graph_.language(p);
        default:
            break;
    }
    const std::vector<Predicate> parts(graph_.parts(p).begin(), graph_.parts(p).end());
    Language all = numbers_of(parts[0]);
    const bool both = graph_.kind(p) == PredicateKind::both;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const Language one = numbers_of(parts[i]);
        if (all == kAllNumbers || one == kAllNumbers)
            all = both ? (all == kAllNumbers ? one : all) : kAllNumbers;
        else
            all = both ? languages_.both(all, one) : languages_.either(all, one);
    }
    return all;
}

bool SchemaValues::contains(const NameSet& set, Word name) {
    if (set.is_one()) return set.names[0] == name;
    if (std::binary_search(set.names.begin(), set.names.end(), name)) return !set.all_but;
    if (set.languages.empty()) return set.all_but;
    const std::u32string text = code_points(reader_.texts()[name]);
    const bool listed = std::any_of(set.languages.begin(), set.languages.end(),
                                    [&](Language language) { return accepts(languages_[language], text); });
    return listed != set.all_but;
}

Word SchemaValues::about(Predicate atom) {
    while (about_.size() <= static_cast<std::size_t>(atom.v)) {
        const Predicate next{static_cast<Word>(about_.size())};
        const PredicateKind kind = graph_.kind(next);
        const bool of_members = kind == PredicateKind::some_member || kind == PredicateKind::every_member;
        about_.push_back(!of_members ? kNoMember : graph_.names(next).is_one() ? graph_.names(next).names[0] : kSeveral);
    }
    return about_[static_cast<std::size_t>(atom.v)];
}

Predicate SchemaValues::member_value(std::span<const Predicate> atoms, Word name) {
    said_.clear();
    n_looks_ += atoms.size();
    for (Predicate atom : atoms) {
        const Word of = about(atom);
        if (of == name) said_.push_back(graph_.value(atom));
        if (of != kSeveral) continue;
        const PredicateKind kind = graph_.kind(atom);
        if (kind == PredicateKind::every_member && contains(graph_.names(atom), name)) said_.push_back(graph_.value(atom));
    }
    return graph_.both(said_);
}

Predicate SchemaValues::item_value(std::span<const Predicate> atoms, Word index) {
    said_.clear();
    for (Predicate atom : atoms)
        if (graph_.kind(atom) == PredicateKind::every_item && graph_.from(atom) <= index &&
            (graph_.to(atom) == PredicateGraph::kOpen || index < graph_.to(atom)))
            said_.push_back(graph_.value(atom));
    return graph_.both(said_);
}

bool SchemaValues::is_required(std::span<const Predicate> atoms, Word name) {
    return std::any_of(atoms.begin(), atoms.end(),
                       [&](Predicate atom) { return about(atom) == name && graph_.kind(atom) == PredicateKind::some_member; });
}

// The least and the greatest number of items or members that atoms allow.
std::pair<Word, Word> SchemaValues::length_of(std::span<const Predicate> atoms, PredicateKind kind) {
    Word least = 0, most = PredicateGraph::kOpen;
    for (Predicate atom : atoms) {
        if (graph_.kind(atom) != kind) continue;
        least = std::max(least, graph_.least(atom));
        if (graph_.most(atom) != PredicateGraph::kOpen) most = most < 0 ? graph_.most(atom) : std::min(most, graph_.most(atom));
    }
    return {least, most};
}

bool SchemaValues::surely_empty(Predicate p, int depth) {
    if (p == graph_.never()) return true;
    if (p == graph_.always() || depth > kDeepestLook) return false;
    const auto [entry, fresh] = empty_.try_emplace(p.v, Answer::open);
    if (!fresh) return entry->second == Answer::yes;
    const auto result = [&] {
        using namespace json_types;
        for (TypeSet type : {null, falsehood, truth})
            if (restricted(p, type) != graph_.never()) return false;
        if (!string_sets(p).empty() || numbers(p) != LanguageTable::kNone) return false;
        for (TypeSet type : {array, object}) {
            const Predicate r = restricted(p, type);
            if (r == graph_.never()) continue;
            if (graph_.kind(r) != PredicateKind::both) return false;
            Atoms atoms;
            for (Predicate part : graph_.parts(r))
                if (graph_.kind(part) != PredicateKind::either) atoms.push_back(part);
            if (!conflict(atoms, depth)) return false;
        }
        return true;
    }();
    empty_[p.v] = result ? Answer::yes : Answer::no;
    return result;
}

// Whether atoms certainly contradict each other.
bool SchemaValues::conflict(std::span<const Predicate> atoms, int depth) {
    for (PredicateKind kind : {PredicateKind::member_count, PredicateKind::array_length}) {
        const auto [least, most] = length_of(atoms, kind);
        if (most >= 0 && most < least) return true;
    }
    for (Predicate atom : atoms) {
        if (graph_.kind(atom) != PredicateKind::some_member) continue;
        if (!graph_.names(atom).is_one()) continue;
        const Word name = graph_.names(atom).names[0];
        if (surely_empty(member_value(atoms, name), depth + 1)) return true;
    }
    const Word least = length_of(atoms, PredicateKind::array_length).first;
    for (Predicate atom : atoms)
        if (graph_.kind(atom) == PredicateKind::every_item && graph_.from(atom) < least &&
            surely_empty(item_value(atoms, graph_.from(atom)), depth + 1))
            return true;
    return false;
}

bool SchemaValues::is_presence(Predicate p) {
    switch (graph_.kind(p)) {
        case PredicateKind::some_member:
        case PredicateKind::every_member: {
            const NameSet& set = graph_.names(p);
            const bool some = graph_.kind(p) == PredicateKind::some_member;
            return set.is_one() && graph_.value(p) == (some ? graph_.always() : graph_.never());
        }
        case PredicateKind::both:
        case PredicateKind::either: {
            const auto parts = graph_.parts(p);
            return std::all_of(parts.begin(), parts.end(), [&](Predicate part) { return is_presence(part); });
        }
        default:
            return false;
    }
}

}  // namespace psc
