#include "schema/rules.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "json/digit_loops.hpp"
#include "json/strings.hpp"
#include "schema/containers.hpp"
#include "text/completion_lengths.hpp"

namespace psc {

namespace rule_words {

using Words = std::vector<std::int64_t>;

// Here, where the place is known, and not where the rules are lowered.
void require_one_terminal(const TextAutomaton& a) {
    constexpr std::size_t kMaxArcs = limit("automaton_arcs");
    if (a.arcs.size() > kMaxArcs)
        throw TooLargeTerminal("the texts or numbers need " + readable(static_cast<std::int64_t>(a.arcs.size())) + " arcs, and " +
                               readable(kMaxArcs) +
                               " is the limit of one terminal; list fewer or shorter ones, or write a simpler pattern");
}

void text(Words& to, std::u32string_view text) {
    to.insert(to.end(), {RulePrograms::text, static_cast<std::int64_t>(text.size())});
    to.insert(to.end(), text.begin(), text.end());
}
void chars(Words& to, std::initializer_list<std::pair<Word, Word>> ranges) {
    to.insert(to.end(), {RulePrograms::chars, static_cast<std::int64_t>(ranges.size())});
    for (const auto& [first, last] : ranges) to.insert(to.end(), {first, last});
}
void sequence(Words& to, std::size_t n) { to.insert(to.end(), {RulePrograms::sequence, static_cast<std::int64_t>(n)}); }
void choice(Words& to, std::size_t n) { to.insert(to.end(), {RulePrograms::choice, static_cast<std::int64_t>(n)}); }
void repeat(Words& to, std::int64_t least, std::int64_t most) { to.insert(to.end(), {RulePrograms::repeat, least, most}); }
void reference(Words& to, Rule rule) {
    to.push_back(RulePrograms::reference);
    to.push_back(rule.v);
}
void arcs(Words& to, const TextAutomaton& a) {
    CancellationWatch watch;
    for (Word s = 0; s < a.size(); ++s)
        for (Word i = a.offsets[static_cast<std::size_t>(s)]; i < a.offsets[static_cast<std::size_t>(s) + 1]; ++i) {
            watch.step();
            const auto& arc = a.arcs[static_cast<std::size_t>(i)];
            to.insert(to.end(), {s, arc.first, arc.last, arc.to});
        }
}
void automaton(Words& to, const TextAutomaton& a) {
    require_one_terminal(a);
    to.insert(to.end(), {RulePrograms::automaton, a.size(), static_cast<std::int64_t>(a.arcs.size())});
    to.insert(to.end(), a.accepts.begin(), a.accepts.end());
    arcs(to, a);
}
void counted(Words& to, const TextAutomaton& a, Word first, Word last, std::int64_t least, std::int64_t most) {
    require_one_terminal(a);
    to.insert(to.end(), {RulePrograms::counted, a.size(), static_cast<std::int64_t>(a.arcs.size()), least, most});
    for (Word s = 0; s < a.size(); ++s) to.push_back(a.accepts[static_cast<std::size_t>(s)] + (s >= first && s <= last ? 2 : 0));
    arcs(to, a);
}

}  // namespace rule_words

namespace {

constexpr Word kMaxSchemaRules = limit("schema_rules");
constexpr std::size_t kMaxStatesOfTexts = limit("counted_text_states");
constexpr std::size_t kMostLengths = 64;   // of beginnings, times those of ends, around characters that the parser counts
constexpr std::size_t kLongText = 1000;    // from so many characters on a text's states are added up
constexpr Word kMaxIndented = 16;          // levels, each with rules of its own; deeper ones are indented as the last
constexpr std::int64_t kShortString = 64;  // characters that a terminal counts; the parser counts longer strings

using ProgramWords = std::vector<std::int64_t>;

// Throws where the terminal that counts the characters would, which does not know its place. In a smaller automaton the lengths come
// again soon.
constexpr Word kManyCounted = 1000;
void check_completion_lengths(const TextAutomaton& texts, Word n_states) {
    std::vector<CompletionLengths::Arc> arcs;
    for (Word s = 0; s < texts.size(); ++s)
        for (Word i = texts.offsets[static_cast<std::size_t>(s)]; i < texts.offsets[static_cast<std::size_t>(s) + 1]; ++i)
            arcs.push_back({s, texts.arcs[static_cast<std::size_t>(i)].to, true});
    std::vector<char> accepts = texts.accepts;
    accepts.resize(static_cast<std::size_t>(n_states));
    CompletionLengths(n_states, arcs, accepts);
}

// The texts of each length that there is.
std::vector<std::pair<std::int64_t, TextAutomaton>> by_length(const TextAutomaton& texts) {
    const TextLengths lengths = lengths_of(texts);
    std::vector<std::pair<std::int64_t, TextAutomaton>> found;
    for (std::int64_t n = lengths.least[0]; n >= 0 && n <= lengths.most[0]; ++n)
        if (has_length(texts, n, n)) found.emplace_back(n, with_length(texts, n, n));
    return found;
}

// One character of a string as JSON spells it; a surrogate pair is one. The next character always decides between options, so
// nothing has to be made deterministic.
void one_character(ProgramWords& to) {
    using namespace rule_words;
    const auto hex = [&](std::int64_t n) {
        chars(to, {{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
        if (n > 1) repeat(to, n, n);
    };
    chars(to, {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0xd7ff}, {0xe000, 0x10ffff}});
    text(to, U"\\");
    chars(to, {{'"', '"'}, {'/', '/'}, {'\\', '\\'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});
    text(to, U"u");
    chars(to, {{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}});
    hex(3);
    sequence(to, 2);
    chars(to, {{'D', 'D'}, {'d', 'd'}});
    chars(to, {{'0', '7'}});
    hex(2);
    sequence(to, 2);
    chars(to, {{'8', '9'}, {'A', 'B'}, {'a', 'b'}});
    hex(2);
    text(to, U"\\u");
    chars(to, {{'D', 'D'}, {'d', 'd'}});
    chars(to, {{'C', 'F'}, {'c', 'f'}});
    hex(2);
    sequence(to, 6);
    choice(to, 2);
    sequence(to, 2);
    choice(to, 2);
    sequence(to, 2);
    choice(to, 2);
    sequence(to, 2);
    choice(to, 2);
}

// A format's texts with few digits, in quotes; a format is known by its spelling, which lives as long as the process. Each thread
// caches the first ones (no lock, which a fork could find taken): servers compile with one limit, and a structural tag may say any.
std::shared_ptr<const TextAutomaton> shortened_spelling(const TextAutomaton* format, const TextAutomaton& texts, Word most) {
    constexpr std::size_t kMaxCached = 32;
    thread_local std::map<std::pair<const TextAutomaton*, Word>, std::shared_ptr<const TextAutomaton>> cached;
    if (const auto found = cached.find({format, most}); found != cached.end()) return found->second;
    auto made = std::make_shared<const TextAutomaton>(quoted(spelled_as_json(with_digits(texts, most))));
    if (cached.size() < kMaxCached) cached.emplace(std::pair(format, most), made);
    return made;
}

}  // namespace

SchemaRules::SchemaRules(SchemaReader& reader, SchemaValues& values, PredicateGraph& graph, LanguageTable& languages,
                         SchemaLayout layout)
    : reader_(reader), values_(values), graph_(graph), languages_(languages), layout_(std::move(layout)) {}

RulePrograms SchemaRules::write(Predicate root) {
    const Rule rule = fresh("root");
    if (!layout_.parameters) values_of_.emplace(std::pair(root, Word{0}), rule);
    queue_.push_back({rule, root, 0});
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        const Request request = queue_[i];
        try {
            if (request.end >= 0)
                write_argument(request.rule, request.value, request.end);
            else if (i == 0 && layout_.parameters)
                write_parameters(request.rule, request.value);
            else
                write_value(request.rule, request.value, request.depth);
        } catch (const LimitExceeded& e) {
            throw located(e,
                          i == 0             ? "#"
                          : request.end >= 0 ? location_
                                             : std::string(rule_name(request.rule)),
                          reader_.keyword_for(e, request.value));
        }
    }
    RulePrograms out;
    out.root = rule;
    if (auto automaton = labelled(); !automaton.matches.empty()) out.labelled.push_back(std::move(automaton));
    // Each rule's words: those of its options as they came, and how many options there are.
    const std::size_t n = names_.list().size();
    std::vector<std::size_t> count(n), size(n), at(n);
    std::size_t begin = 0;
    for (const Option& option : options_) {
        const auto r = option.rule.index();
        ++count[r];
        size[r] += option.end - std::exchange(begin, option.end);
    }
    out.offsets.reserve(n + 1);
    std::size_t total = 0;
    for (std::size_t r = 0; r < n; ++r) {
        out.offsets.push_back(static_cast<std::int64_t>(total));
        at[r] = total;
        total += size[r] + (count[r] != 1 ? 2 : 0);
    }
    out.offsets.push_back(static_cast<std::int64_t>(total));
    out.words.resize(total);
    begin = 0;
    for (const Option& option : options_) {
        std::size_t& to = at[option.rule.index()];
        std::copy(words_.begin() + static_cast<std::ptrdiff_t>(begin), words_.begin() + static_cast<std::ptrdiff_t>(option.end),
                  out.words.begin() + static_cast<std::ptrdiff_t>(to));
        to += option.end - std::exchange(begin, option.end);
    }
    for (std::size_t r = 0; r < n; ++r) {
        if (count[r] == 1) continue;
        out.words[at[r]] = RulePrograms::choice;
        out.words[at[r] + 1] = static_cast<std::int64_t>(count[r]);
    }
    out.names = names_.list();
    out.free_orders = std::move(free_orders_);
    out.unique = std::move(unique_);
    return out;
}

void SchemaRules::add_row(Rule rule, std::initializer_list<Rule> rules) {
    for (Rule r : rules) rule_words::reference(words_, r);
    if (rules.size() != 1) rule_words::sequence(words_, rules.size());
    options_.push_back({rule, words_.size()});
}

Rule SchemaRules::fresh(std::string_view name) {
    stop_if_cancelled();
    const auto n = static_cast<Word>(names_.list().size());
    if (n >= kMaxSchemaRules) throw LimitExceeded("the schema needs more than " + readable(kMaxSchemaRules) + " rules, the limit");
    const Word existing = names_.add(name, 1);
    if (existing == n) return {n};
    Word& number = ++names_.last(existing);
    std::string numbered(name);
    numbered += '~';
    do {
        numbered.resize(name.size() + 1);
        numbered += std::to_string(number++);
    } while (names_.contains(numbered));
    return {names_.add(numbered, 1)};
}

// The pointers of schemas nested 10,000 deep are 100 MB together, so their middle is left out.
std::string SchemaRules::name_of(Predicate p) const {
    if (p == graph_.always()) return "value";
    if (graph_.kind(p) == PredicateGraph::Kind::schema)
        return (graph_.holds(p) ? "" : "not ") + elided(reader_.pointer_of(graph_.schema_of(p)));
    std::string name;
    if (graph_.kind(p) == PredicateGraph::Kind::both)
        for (Predicate part : graph_.parts(p))
            if (graph_.kind(part) == PredicateGraph::Kind::schema && name.size() < 100)
                name += (name.empty() ? "" : " & ") + name_of(part);
    return name.empty() ? "a value" : name;
}

Rule SchemaRules::value(Predicate p, Word depth) {
    if (layout_.indent < 0) depth = 0;
    depth = std::min(depth, kMaxIndented);
    const auto [entry, fresh] = values_of_.try_emplace({p, depth});
    if (fresh) {
        entry->second = this->fresh(name_of(p));
        queue_.push_back({entry->second, p, depth});
    }
    return entry->second;
}

void SchemaRules::write_value(Rule rule, Predicate p, Word depth) {
    using namespace json_types;
    location_ = rule_name(rule);
    const auto word = [&](TypeSet type, std::u32string_view spelling) {
        if (values_.restricted(p, type) == graph_.never()) return;
        Words option;
        rule_words::text(option, spelling);
        add(rule, option);
    };
    const auto sets = values_.string_sets(p);
    if (layout_.excludes.empty()) {
        for (const StringSet& set : sets) add_row(rule, {strings(set)});
    } else if (!sets.empty()) {
        const auto [free, matched] = values_.by_origin(p);
        add_row(rule, {names(free, matched)});
    }
    if (const Language language = values_.numbers(p); language != LanguageTable::kNone) add_row(rule, {numbers(language)});
    for (const Atoms& atoms : values_.cases(p, json_types::object)) add_row(rule, {object(atoms, depth)});
    for (const Atoms& atoms : values_.cases(p, json_types::array)) add_row(rule, {array(atoms, depth)});
    word(truth, U"true");
    word(falsehood, U"false");
    word(null, U"null");
}

Rule SchemaRules::strings(const StringSet& set) {
    const auto [entry, is_new] = strings_.try_emplace(set);
    if (!is_new) return entry->second;
    using namespace rule_words;
    if (set.language == LanguageTable::kAny) {
        const bool free = set.least == 0 && set.most < 0;
        const Rule rule = entry->second =
            fresh(free ? "string"
                       : "string of " + std::to_string(set.least) + " to " + (set.most < 0 ? "any" : std::to_string(set.most)));
        Words option;
        text(option, U"\"");
        one_character(option);
        if (set.most < 0 ? set.least > kShortString : set.most > kShortString) {
            const Rule character = fresh("character");
            Words one;
            one_character(one);
            add(character, one);
            option.clear();
            text(option, U"\"");
            reference(option, character);
        }
        repeat(option, set.least, set.most);
        text(option, U"\"");
        sequence(option, 3);
        add(rule, option);
        return rule;
    }
    if (const auto language = values_.small_language_of(set)) return entry->second = names(*language);
    return entry->second = counted_strings(set);
}

// The opening quote arrives in the state of the value's start, which counts as those do that its characters lead to.
Rule SchemaRules::counted_strings(const StringSet& set) {
    TextAutomaton value = shortened_format(set.language);
    if (!has_length(value, set.least, set.most)) value = languages_[set.language];
    const std::size_t n_states = states_of_lengths(value, set, true);
    if (n_states > kMaxStatesOfTexts)
        if (const auto loop = loop_of(value))
            if (const auto rule = looped(*loop, set.least, set.most)) return *rule;
    require_countable(n_states, set);
    const std::int64_t least = set.least <= lengths_of(value).least[0] ? 0 : set.least + 1;
    const TextAutomaton spelled = quoted(spelled_state_by_state(value));
    if (spelled.size() > kManyCounted) check_completion_lengths(value, spelled.size());
    Words option;
    rule_words::counted(option, spelled, 1, value.size(), least, set.most < 0 ? -1 : set.most + 1);
    const Rule rule = fresh("strings");
    add(rule, option);
    return rule;
}

std::optional<SchemaRules::Loop> SchemaRules::loop_of(const TextAutomaton& texts) {
    if (n_repeating(texts) != 1) return {};
    const auto arcs_of = [&](Word s) {
        return std::span(texts.arcs)
            .subspan(static_cast<std::size_t>(texts.offsets[static_cast<std::size_t>(s)]),
                     static_cast<std::size_t>(texts.offsets[static_cast<std::size_t>(s) + 1] -
                                              texts.offsets[static_cast<std::size_t>(s)]));
    };
    Word at = 0;
    while (std::ranges::find(arcs_of(at), at, &TextAutomaton::Arc::to) == arcs_of(at).end()) ++at;
    const auto n = static_cast<std::size_t>(texts.size());
    const auto begin_there = [&](Word s) { return s == 0 ? at : s == at ? 0 : s; };
    std::vector<bool> ends_before(n), ends_after(n), ends_without(n);
    std::vector<std::array<Word, 4>> before, after, without;
    std::vector<std::pair<Word, Word>> one;
    for (Word s = 0; s < texts.size(); ++s) {
        const bool ends = texts.accepts[static_cast<std::size_t>(s)];
        ends_before[static_cast<std::size_t>(s)] = s == at;
        ends_after[static_cast<std::size_t>(begin_there(s))] = ends;
        ends_without[static_cast<std::size_t>(s)] = ends && s != at;
        for (const auto& [first, last, to] : arcs_of(s)) {
            if (s == at && to == at) one.emplace_back(first, last);
            if (s != at) before.push_back({s, first, last, to});
            if (to != at) after.push_back({begin_there(s), first, last, begin_there(to)});
            if (s != at && to != at) without.push_back({s, first, last, to});
        }
    }
    std::ranges::sort(after);
    return Loop{minimal(of_arcs(ends_before, before)), of_characters(std::move(one)), minimal(of_arcs(ends_after, after)),
                minimal(of_arcs(ends_without, without))};
}

// Strings of which the parser counts the characters of one class.
std::optional<Rule> SchemaRules::looped(const Loop& loop, std::int64_t least, std::int64_t most) {
    const auto begins = by_length(loop.before), ends = by_length(loop.after);
    if (begins.size() * ends.size() > kMostLengths) return {};
    const TextAutomaton quote = of_texts({U"\""});
    const Rule rule = fresh("strings"), character = fresh("character");
    Words one;
    rule_words::automaton(one, spelled_as_json(loop.one));
    add(character, one);
    if (has_length(loop.without, least, most)) {
        Words option;
        rule_words::automaton(option, quoted(spelled_as_json(with_length(loop.without, least, most))));
        add(rule, option);
    }
    for (const auto& [n_before, before] : begins)
        for (const auto& [n_after, after] : ends) {
            const std::int64_t n = n_before + n_after;
            if (most >= 0 && n > most) continue;
            Words option;
            rule_words::automaton(option, concatenation(quote, spelled_as_json(before)));
            rule_words::reference(option, character);
            rule_words::repeat(option, std::max<std::int64_t>(least - n, 0), most < 0 ? -1 : most - n);
            rule_words::automaton(option, concatenation(spelled_as_json(after), quote));
            rule_words::sequence(option, 3);
            add(rule, option);
        }
    return rule;
}

// The lexer states that texts of these lengths may come to: for each length as many as a character's spelling has bytes, or as the
// states that repeat have beginnings of a character, escapes aside.
std::size_t SchemaRules::states_of_lengths(const TextAutomaton& texts, const StringSet& set, bool is_json) {
    Word last = 0;
    std::size_t n_bytes = 1;
    for (const TextAutomaton::Arc& arc : texts.arcs) {
        last = std::max(last, arc.last);
        const auto has = [&](Word c) { return arc.first <= c && c <= arc.last; };
        if (is_json && (has('"') || has('/') || has('\\'))) n_bytes = std::max<std::size_t>(n_bytes, 2);
        if (is_json && arc.first < 0x20) n_bytes = 6;
    }
    const bool is_wide = last > 0x7e, has_surrogates = last > 0xffff;
    if (is_wide) n_bytes = is_json ? (has_surrogates ? 12 : 6) : has_surrogates ? 4 : 3;
    const std::size_t n_repeated = n_repeating(texts) * (is_wide ? 3 : 1);
    const std::int64_t longest = lengths_of(texts).most[0], bound = set.most < 0 ? set.least : set.most;
    constexpr std::int64_t kMaxBound = std::int64_t{1} << 40;  // more need no exact figure
    return std::max(n_bytes, n_repeated) *
           static_cast<std::size_t>(std::min(longest < 0 ? bound : std::min(longest, bound), kMaxBound));
}

void SchemaRules::require_countable(std::size_t n_states, const StringSet& set) {
    if (n_states <= kMaxStatesOfTexts) return;
    const std::int64_t bound = set.most < 0 ? set.least : set.most;
    throw LimitExceeded(std::string(set.most < 0 ? "minLength" : "maxLength") + " " + readable(bound) +
                        " beside a pattern or format: texts may need " + readable(static_cast<std::int64_t>(n_states)) +
                        " lexer states, and " + readable(kMaxStatesOfTexts) +
                        " is the limit; choose a smaller length, or leave it out");
}

TextAutomaton SchemaRules::readable_texts(TextAutomaton texts) {
    if (static_cast<std::size_t>(texts.size()) < kLongText) return texts;  // a text comes to no more states than there are
    const std::int64_t longest = lengths_of(texts).most[0];
    if (longest >= static_cast<std::int64_t>(kLongText)) require_long_text(longest);
    return texts;
}

void SchemaRules::require_long_text(std::int64_t length) {
    const auto n_states = static_cast<std::size_t>(length);
    if (n_states > kMaxStatesOfTexts - n_states_of_long_texts_)
        throw TooLargeTerminal("the longest text needs " + readable(length) + " lexer states beside the " +
                               readable(static_cast<std::int64_t>(n_states_of_long_texts_)) +
                               " of other long texts of this schema, and " + readable(kMaxStatesOfTexts) +
                               " is the limit; use shorter texts");
    n_states_of_long_texts_ += n_states;
}

Rule SchemaRules::names(Language language, Language matched) {
    if (language == LanguageTable::kAny && layout_.excludes.empty()) return strings({LanguageTable::kAny, 0, -1});
    const auto [entry, is_new] = name_rules_.try_emplace({language, matched});
    if (!is_new) return entry->second;
    entry->second = fresh("strings");
    const Rule rule = entry->second;
    Words option;
    if (!layout_.excludes.empty()) {
        const auto spelled = [&](Language set) {
            return set == LanguageTable::kAny ? spelled_with_all_escapes(languages_[set]) : spelled_as_json(shortened_format(set));
        };
        TextAutomaton texts = free_of(spelled(language), layout_.excludes);
        if (matched != LanguageTable::kNone) texts = union_of(texts, spelled(matched));
        rule_words::automaton(option, readable_texts(quoted(texts)));
    } else if (is_shortened(language))
        rule_words::automaton(option, *shortened_spelling(languages_.spelled(language), languages_[language], layout_.max_digits));
    else if (const TextAutomaton* spelling = languages_.spelled(language))
        rule_words::automaton(option, *spelling);
    else
        rule_words::automaton(option, readable_texts(quoted(spelled_as_json(languages_[language]))));
    add(rule, option);
    return rule;
}

// A declared name; plain text where it has one spelling only.
SchemaRules::Words SchemaRules::name(Word text) {
    const std::string_view utf8 = reader_.texts()[text];
    const auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '/'; };
    Words out;
    if (layout_.excludes.empty() && std::all_of(utf8.begin(), utf8.end(), plain)) {
        if (utf8.size() >= kLongText) require_long_text(static_cast<std::int64_t>(utf8.size()));
        rule_words::text(out, U'"' + code_points(utf8) + U'"');
    } else {
        rule_words::reference(out, names(languages_.number(of_texts({code_points(utf8)}))));
    }
    return out;
}

TextAutomaton SchemaRules::shortened_numbers(Language language) const {
    const std::optional<TextAutomaton> integers = layout_.plain_integers ? as_integers(languages_[language]) : std::nullopt;
    const TextAutomaton& numbers = integers ? *integers : languages_[language];
    if (layout_.max_digits < 0) return numbers;
    try {
        return with_digits(numbers, layout_.max_digits);
    } catch (const LimitExceeded&) {
        return numbers;  // multiples of a large number, of which the states are many
    }
}

TextAutomaton SchemaRules::shortened_format(Language language) const {
    return is_shortened(language) ? with_digits(languages_[language], layout_.max_digits) : languages_[language];
}

Rule SchemaRules::numbers(Language language) {
    const auto [entry, is_new] = numbers_.try_emplace(language);
    if (!is_new) return entry->second;
    using namespace rule_words;
    Words option;
    entry->second = fresh(language == SchemaValues::kAllNumbers ? "number" : "numbers");
    if (language != SchemaValues::kAllNumbers) {
        automaton(option, shortened_numbers(language));
    } else {
        const auto digits = [&](std::int64_t least) {
            chars(option, {{'0', '9'}});
            repeat(option, least, layout_.max_digits < 0 ? -1 : layout_.max_digits - 1 + least);
        };
        text(option, U"-");
        repeat(option, 0, 1);
        text(option, U"0");
        chars(option, {{'1', '9'}});
        digits(0);
        sequence(option, 2);
        choice(option, 2);
        text(option, U".");
        digits(1);
        sequence(option, 2);
        repeat(option, 0, 1);
        chars(option, {{'E', 'E'}, {'e', 'e'}});
        chars(option, {{'+', '+'}, {'-', '-'}});
        repeat(option, 0, 1);
        digits(1);
        sequence(option, 3);
        repeat(option, 0, 1);
        sequence(option, 4);
    }
    add(entry->second, option);
    return entry->second;
}

SchemaRules::Words SchemaRules::space() const {
    Words out;
    if (!layout_.any_whitespace) {
        rule_words::text(out, U"");
        return out;
    }
    rule_words::chars(out, {{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}});
    rule_words::repeat(out, 0, layout_.max_whitespace);
    return out;
}

// White space stands after an opening mark and a comma, and before a comma and a closing mark, so that it is read in one way.
Rule SchemaRules::mark(Mark mark, Word depth) {
    if (layout_.indent < 0) depth = 0;
    const auto [entry, is_new] = marks_.try_emplace({mark, depth});
    if (!is_new) return entry->second;
    static constexpr std::u32string_view kMarks[] = {U"{", U"[", U",", U"}", U"]", U":"};
    static constexpr const char* kNames[] = {"open object", "open array", "comma", "close object", "close array", "colon"};
    const Rule rule = entry->second = fresh(kNames[static_cast<Word>(mark)]);
    const std::u32string_view written = kMarks[static_cast<Word>(mark)];
    Words option;
    if (layout_.any_whitespace) {
        const bool opens = mark <= Mark::open_array, closes = mark == Mark::close_object || mark == Mark::close_array;
        std::size_t n = 1;
        const auto add_space = [&] {
            const Words s = space();
            option.insert(option.end(), s.begin(), s.end());
            ++n;
        };
        if (!opens) add_space();
        rule_words::text(option, written);
        if (!closes) add_space();
        rule_words::sequence(option, n);
    } else {
        const auto line = [&](Word levels) {
            return layout_.indent < 0 ? std::u32string()
                                      : U'\n' + std::u32string(static_cast<std::size_t>(layout_.indent * levels), U' ');
        };
        std::u32string text(written);
        if (mark == Mark::comma)
            text = layout_.item_separator + line(depth + 1);
        else if (mark == Mark::colon)
            text = layout_.key_separator;
        else if (mark <= Mark::open_array)
            text += line(depth + 1);
        else
            text = line(depth) + text;
        rule_words::text(option, text);
    }
    add(rule, option);
    return rule;
}

SchemaRules::Words SchemaRules::empty(Mark open, Word depth) {
    const bool object = open == Mark::open_object;
    Words option;
    if (layout_.any_whitespace) {
        rule_words::reference(option, mark(open, depth));
        rule_words::text(option, object ? U"}" : U"]");
        rule_words::sequence(option, 2);
    } else {
        rule_words::text(option, object ? U"{}" : U"[]");
    }
    return option;
}

Rule SchemaRules::object(const Atoms& atoms, Word depth) {
    const auto [entry, is_new] = containers_.try_emplace({true, layout_.indent < 0 ? 0 : depth, atoms});
    if (!is_new) return entry->second;
    const Rule rule = entry->second = fresh(location_ + " object");
    Members(*this, rule, depth).write(atoms);
    return rule;
}

Rule SchemaRules::array(const Atoms& atoms, Word depth) {
    const auto [entry, is_new] = containers_.try_emplace({false, layout_.indent < 0 ? 0 : depth, atoms});
    if (!is_new) return entry->second;
    const Rule rule = entry->second = fresh(location_ + " array");
    Items(*this, rule, depth).write(atoms);
    return rule;
}

}  // namespace psc
