// One case of an object as rules, see schema/rules.hpp: a map of names that are alike, or states over declared names.
//
// Cost: linear in the declared members, times the states of presence, counts and conditions that some member must satisfy.
#include <algorithm>
#include <set>
#include <utility>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "schema/containers.hpp"

namespace psc {

namespace {

using PredicateKind = PredicateGraph::Kind;

constexpr std::size_t kFewInSets = 3;            // members whose sets cost little
constexpr std::size_t kFewMembersOfObject = 12;  // of a formula over presence, whose states need not be counted before
constexpr std::size_t kMaxMemberStates = limit("schema_object_states"), kMaxNameKinds = limit("schema_name_kinds"),
                      kMaxShared = limit("schema_shared_members"), kMaxNamesInSets = limit("schema_set_members");

}  // namespace

void SchemaRules::Members::write(const Atoms& atoms) {
    read(atoms);
    find_others(atoms);
    if (most_ >= 0 && most_ < least_) return;
    // Bounds that hold anyway.
    const auto n_required =
        static_cast<Word>(std::count_if(declared_.begin(), declared_.end(), [](const Declared& d) { return d.required; }));
    if (least_ <= n_required) least_ = 0;
    if (others_.empty() && most_ >= static_cast<Word>(declared_.size())) most_ = -1;
    find_kinds_of_others();
    if (declared_.empty() && several_.empty() && others_.size() <= 1 && !has_wide_)
        write_map();
    else if (rules_.layout_.any_order ? declared_.size() > kMaxNamesInSets || (has_many_sets() && !has_wide_) ||
                                            (rules_.layout_.few_sets && declared_.size() > kFewInSets && is_simple())
                                      : !tagged_ && !has_few_states())
        write_free_order();
    else
        write_states();
}

// Whether sets of members would make a large schema much larger.
bool SchemaRules::Members::has_many_sets() const {
    constexpr std::size_t kManyRules = 5'000;
    return !tagged_ && declared_.size() > kFewInSets && rules_.names_.list().size() > kManyRules;
}

// Whether nothing is said of members together but how many there are: then write_free_order() refuses nothing.
bool SchemaRules::Members::is_simple() const {
    return !tagged_ && several_.empty() && presence_ == rules_.graph_.always() && !depends_on_values();
}

// Whether what may be left of the formula after each member, in the schema's order, is little enough to be written out.
bool SchemaRules::Members::has_few_states() {
    std::set<Predicate> now{presence_}, next;
    std::vector<Predicate> leaves;
    find_leaves(presence_, next, leaves);
    std::set<Word> mentioned;
    for (Predicate leaf : leaves) mentioned.insert(rules_.graph_.names(leaf).names.begin(), rules_.graph_.names(leaf).names.end());
    if (mentioned.size() <= kFewMembersOfObject && !depends_on_values()) return true;
    std::size_t n_states = 0;
    for (std::size_t i = 0; i < declared_.size() && presence_ != rules_.graph_.always(); ++i) {
        next.clear();
        for (Predicate left : now) {
            stop_if_cancelled();
            if (!declared_[i].required) next.insert(after(left, i, kAbsent));
            kinds(i, left, [&](Predicate, Predicate present) { next.insert(present); });
            for (std::size_t o = 0; o < others_.size() && has_wide_; ++o)
                kinds(declared_.size() + o, left, [&](Predicate, Predicate present) { next.insert(present); });
            if (next.size() + n_states > kMaxMemberStates || n_steps_ > kMaxFormulaSteps) return false;
        }
        next.erase(rules_.graph_.never());
        n_states += next.size();
        std::swap(now, next);
    }
    return true;
}

// What the atoms say, by name.
void SchemaRules::Members::read(const Atoms& atoms) {
    PredicateGraph& graph = rules_.graph_;
    std::vector<Word> order;
    std::unordered_map<Word, Word> index_of;
    const auto declare = [&](Word name) {
        if (index_of.try_emplace(name, static_cast<Word>(order.size())).second) order.push_back(name);
    };
    for (Predicate atom : atoms)
        if (graph.kind(atom) == PredicateKind::order)
            for (Word name : graph.ordered(atom)) declare(name);
    std::vector<Predicate> presence, wide;
    std::function<void(Predicate)> names_in = [&](Predicate p) {
        if (graph.kind(p) == PredicateKind::every_member || graph.kind(p) == PredicateKind::some_member) {
            for (Word name : graph.names(p).names) declare(name);
        } else if (graph.kind(p) == PredicateKind::either || graph.kind(p) == PredicateKind::both) {
            for (Predicate part : std::vector<Predicate>(graph.parts(p).begin(), graph.parts(p).end())) names_in(part);
        }
    };
    for (Predicate atom : atoms) names_in(atom);
    std::vector<std::vector<Predicate>> said(order.size());
    std::vector<char> required(order.size());
    for (Predicate atom : atoms) {
        switch (graph.kind(atom)) {
            case PredicateKind::every_member:
            case PredicateKind::some_member: {
                const bool some = graph.kind(atom) == PredicateKind::some_member;
                const NameSet& set = graph.names(atom);
                if (set.is_one()) {
                    const auto at = static_cast<std::size_t>(index_of.at(set.names[0]));
                    said[at].push_back(graph.value(atom));
                    required[at] |= some;
                } else if (some) {
                    several_.push_back(atom);
                } else {
                    wide.push_back(atom);
                }
                break;
            }
            case PredicateKind::member_count:
                least_ = std::max(least_, graph.least(atom));
                if (graph.most(atom) >= 0) most_ = most_ < 0 ? graph.most(atom) : std::min(most_, graph.most(atom));
                break;
            case PredicateKind::either:
                presence.push_back(atom);
                break;
            default:
                break;
        }
    }
    if (several_.size() > kMaxShared)
        throw LimitExceeded("members that some of several names must have: more than " + std::to_string(kMaxShared));
    presence_ = graph.both(presence);
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (Predicate atom : wide)
            if (rules_.values_.contains(graph.names(atom), order[i])) said[i].push_back(graph.value(atom));
        Word satisfies = 0;
        for (std::size_t k = 0; k < several_.size(); ++k)
            if (rules_.values_.contains(graph.names(several_[k]), order[i])) satisfies |= Word{1} << k;
        declared_.push_back({{}, order[i], graph.both(said[i]), required[i] != 0, satisfies});
    }
    find_kinds();
    required_from_.assign(declared_.size() + 1, 0);
    for (std::size_t i = declared_.size(); i-- > 0;) required_from_[i] = required_from_[i + 1] || declared_[i].required;
}

// Names that are not declared, by which of the languages in sets of names they are of.
void SchemaRules::Members::find_others(const Atoms& atoms) {
    PredicateGraph& graph = rules_.graph_;
    LanguageTable& languages = rules_.languages_;
    std::set<Language> apart;
    std::vector<Predicate> wide;
    for (Predicate atom : atoms) {
        if (graph.kind(atom) != PredicateKind::every_member && graph.kind(atom) != PredicateKind::some_member) continue;
        if (graph.names(atom).is_one()) continue;
        apart.insert(graph.names(atom).languages.begin(), graph.names(atom).languages.end());
        if (graph.kind(atom) == PredicateKind::every_member) wide.push_back(atom);
    }
    std::set<Predicate> seen;
    std::vector<Predicate> leaves;
    if (has_wide_) find_leaves(presence_, seen, leaves);
    for (Predicate leaf : leaves) apart.insert(graph.names(leaf).languages.begin(), graph.names(leaf).languages.end());
    const std::vector<Language> split(apart.begin(), apart.end());
    struct Group {
        std::optional<Language> language;  // none: all names that are not declared
        std::vector<char> in;
    };
    const auto has = [&](const NameSet& set, const std::vector<char>& in) {
        const bool listed = std::any_of(set.languages.begin(), set.languages.end(), [&](Language language) {
            return in[static_cast<std::size_t>(std::lower_bound(split.begin(), split.end(), language) - split.begin())] != 0;
        });
        return listed != set.all_but;
    };
    std::vector<Group> groups;
    const auto not_declared = [&] {
        if (declared_.empty()) return LanguageTable::kAny;
        std::vector<std::u32string> texts;
        for (const Declared& d : declared_) texts.push_back(code_points(rules_.reader_.texts()[d.name]));
        return languages.but(LanguageTable::kAny, languages.number(of_texts(std::move(texts))));
    };
    if (split.empty())
        groups.push_back({});
    else
        groups.push_back({not_declared(), {}});
    for (Language language : split) {
        std::vector<Group> finer;
        for (const Group& g : groups) {
            for (const bool in : {true, false}) {
                const Language part = in ? languages.both(*g.language, language) : languages.but(*g.language, language);
                if (part == LanguageTable::kNone) continue;
                finer.push_back({part, g.in});
                finer.back().in.push_back(in);
            }
        }
        groups = std::move(finer);
        if (groups.size() > kMaxNameKinds)
            throw LimitExceeded("patterns of names tell more than " + readable(kMaxNameKinds) + " kinds of names apart, the limit");
    }
    std::vector<Word> declared;
    for (const Declared& d : declared_) declared.push_back(d.name);
    std::sort(declared.begin(), declared.end());
    for (const Group& g : groups) {
        std::vector<Predicate> said;
        for (Predicate atom : wide)
            if (has(graph.names(atom), g.in)) said.push_back(graph.value(atom));
        const Predicate value = graph.both(said);
        if (rules_.values_.surely_empty(value)) continue;
        Word satisfies = 0;
        for (std::size_t k = 0; k < several_.size(); ++k)
            if (has(graph.names(several_[k]), g.in)) satisfies |= Word{1} << k;
        std::vector<Language> of;
        for (std::size_t i = 0; i < g.in.size(); ++i)
            if (g.in[i]) of.push_back(split[i]);
        const bool by_pattern = !of.empty();
        const bool matched = std::any_of(of.begin(), of.end(), [&](Language l) { return rules_.reader_.is_matched(l); });
        if (tagged_) {
            const auto key = rules_.other_keys(g.language, by_pattern, matched, declared);
            if (key) others_.push_back({{}, *key, value, satisfies, of});
            continue;
        }
        const Rule key = !g.language                                   ? rules_.names_but(declared)
                         : matched && !rules_.layout_.excludes.empty() ? rules_.names(LanguageTable::kNone, *g.language)
                                                                       : rules_.names(*g.language);
        others_.push_back({{}, key, value, satisfies, of});
    }
}

SchemaRules::Words SchemaRules::Members::member(Maybe<Rule> before, Word name, Maybe<Rule> key, Predicate value) {
    if (tagged_) {
        Words words;
        if (name < 0) rule_words::reference(words, *key);
        const auto& style = *rules_.layout_.parameters;
        return rules_.parameter(before, name < 0 ? words : rules_.key(name), value, name < 0 ? style.end : rules_.end_of(name));
    }
    Words out;
    const Words words = name < 0 ? Words{} : rules_.name(name);
    out.reserve(words.size() + 8);
    if (before) rule_words::reference(out, *before);
    if (name < 0)
        rule_words::reference(out, *key);
    else
        out.insert(out.end(), words.begin(), words.end());
    rule_words::reference(out, mark(Mark::colon));
    rule_words::reference(out, rules_.value(value, depth_ + 1));
    rule_words::sequence(out, before ? 4 : 3);
    return out;
}

SchemaRules::Words SchemaRules::Members::empty() const {
    if (!tagged_) return rules_.empty(Mark::open_object, depth_);
    Words out;
    rule_words::reference(out, mark(Mark::close_object));
    return out;
}

// Members of one kind, with bounds of their number.
void SchemaRules::Members::write_map() {
    const Rule open = mark(Mark::open_object);
    if (least_ == 0) rules_.add(rule_, empty());
    if (others_.empty() || most_ == 0) return;
    const Rule one = rules_.fresh(prefix_ + " member");
    rules_.add(one, member({}, -1, others_[0].key, others_[0].value));
    Words all;
    rule_words::reference(all, open);
    rule_words::reference(all, one);
    rule_words::reference(all, mark(Mark::comma));
    rule_words::reference(all, one);
    rule_words::sequence(all, 2);
    rule_words::repeat(all, std::max<Word>(least_ - 1, 0), most_ < 0 ? -1 : most_ - 1);
    rule_words::reference(all, mark(Mark::close_object));
    rule_words::sequence(all, 4);
    rules_.add(rule_, all);
}

Word SchemaRules::Members::counted(Word count) const {
    if (most_ >= 0) return count;
    return std::min(count, least_);
}

Rule SchemaRules::Members::state_rule(const State& s, Maybe<Rule> Rules::* which, const char* what) {
    auto [entry, fresh] = states_.try_emplace(s);
    if (fresh) {
        if (states_.size() > kMaxMemberStates)
            throw LimitExceeded("an object needs more than " + readable(kMaxMemberStates) + " states, the limit");
        queue_.push_back(s);
    }
    Maybe<Rule>& rule = entry->second.*which;
    if (!rule) {
        name_ = prefix_;
        name_ += what;
        name_ += std::to_string(s.passed);
        rule = rules_.fresh(name_);
    }
    return *rule;
}
Rule SchemaRules::Members::ready(const State& s) { return state_rule(s, &Rules::ready, " before "); }
Rule SchemaRules::Members::done(const State& s) { return state_rule(s, &Rules::done, " up to "); }
Rule SchemaRules::Members::comma(const State& s) { return state_rule(s, &Rules::comma, " more after "); }

void SchemaRules::Members::write_states() {
    PredicateGraph& graph = rules_.graph_;
    const State start{0, presence_, 0, 0};
    const Rule open = mark(Mark::open_object), comma_mark = mark(Mark::comma);
    const Rule close = mark(Mark::close_object);
    rules_.add_row(comma(start), {open});
    rules_.add_row(ready(start), {comma(start)});
    std::set<State> after_member;  // has a rule `done`
    if (accepts(start)) rules_.add(rule_, empty());
    const auto reached = [&](const State& s, const Words& option) {  // by a member
        rules_.add(done(s), option);
        if (!after_member.insert(s).second) return;
        rules_.add_row(comma(s), {done(s), comma_mark});
        if (s != start) rules_.add_row(ready(s), {comma(s)});
        if (accepts(s)) rules_.add_row(rule_, {done(s), close});
    };
    // States are taken in an order in which none leads back: so all that lead to one are there before it is taken. A member of other
    // names leaves fewer leaves about several names, or the formula as it was.
    const auto earlier = [&](const State& a, const State& b) {
        return std::tuple(a.passed, -n_wide(a.presence), a) < std::tuple(b.passed, -n_wide(b.presence), b);
    };
    std::set<State, decltype(earlier)> todo({start}, earlier);
    queue_.clear();
    const auto enqueue = [&] {
        todo.insert(queue_.begin(), queue_.end());
        queue_.clear();
    };
    while (!todo.empty()) {
        stop_if_cancelled();
        const State s = *todo.begin();
        todo.erase(todo.begin());
        const bool full = most_ >= 0 && s.count >= most_;
        const bool has_comma = s == start || after_member.contains(s);
        if (has_comma && !full) {
            for (std::size_t i = 0; i < others_.size(); ++i) {
                kinds(declared_.size() + i, s.presence, [&](Predicate kind, Predicate present) {
                    if (present == graph.never()) return;
                    ways(kind, others_[i].satisfies, s.satisfied, [&](Predicate value, Word satisfied) {
                        const State next{s.passed, present, satisfied, counted(s.count + 1)};
                        reached(next, member(comma(s), -1, others_[i].key, value));
                    });
                });
            }
        }
        if (rules_.layout_.any_order) {
            for (std::size_t i = 0; i < declared_.size() && has_comma && !full; ++i) {
                const Declared& d = declared_[i];
                if (s.passed >> i & 1 || rules_.values_.surely_empty(d.value)) continue;
                kinds(i, s.presence, [&](Predicate kind, Predicate present) {
                    if (present == graph.never()) return;
                    ways(kind, d.satisfies, s.satisfied, [&](Predicate value, Word satisfied) {
                        reached({s.passed | Word{1} << i, present, satisfied, counted(s.count + 1)},
                                member(comma(s), d.name, {}, value));
                    });
                });
            }
        } else if (s.passed < static_cast<Word>(declared_.size())) {
            const auto i = static_cast<std::size_t>(s.passed);
            const Declared& d = declared_[i];
            const Predicate absent = after(s.presence, i, kAbsent);
            if (!d.required && absent != graph.never()) {
                const State next{s.passed + 1, absent, s.satisfied, s.count};
                const Rule before = ready(s);
                rules_.add_row(ready(next), {before});
                todo.insert(next);
            }
            if (!full && !rules_.values_.surely_empty(d.value)) {
                kinds(i, s.presence, [&](Predicate kind, Predicate present) {
                    if (present == graph.never()) return;
                    ways(kind, d.satisfies, s.satisfied, [&](Predicate value, Word satisfied) {
                        reached({s.passed + 1, present, satisfied, counted(s.count + 1)}, member(ready(s), d.name, {}, value));
                    });
                });
            }
        }
        enqueue();
    }
}

bool SchemaRules::Members::requires_more(const State& s) const {
    if (!rules_.layout_.any_order) return required_from_[static_cast<std::size_t>(s.passed)] != 0;
    for (std::size_t i = 0; i < declared_.size(); ++i)
        if (declared_[i].required && !(s.passed >> i & 1)) return true;
    return false;
}

// Whether the object may end, all names that are left being absent.
bool SchemaRules::Members::accepts(const State& s) {
    if (requires_more(s) || s.count < least_) return false;
    if (s.satisfied != (Word{1} << several_.size()) - 1) return false;
    Predicate presence = s.presence;
    const bool any_order = rules_.layout_.any_order;
    const auto is_open = [&] { return presence != rules_.graph_.always() && presence != rules_.graph_.never(); };
    for (std::size_t i = any_order ? 0 : static_cast<std::size_t>(s.passed); i < declared_.size() && is_open(); ++i)
        if (!any_order || !(s.passed >> i & 1)) presence = after(presence, i, kAbsent);
    return (has_wide_ ? after(presence, kNoMore, kAbsent) : presence) == rules_.graph_.always();
}

}  // namespace psc
