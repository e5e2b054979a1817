// Objects as the lists of parameters that models write; schema/parameter_style.hpp says what is written in which order.
//
// The cases of objects and arrays are those of JSON (schema/objects.cpp, schema/arrays.cpp): a list has no comma, and its closing
// mark is white space. A raw string and the marker after it are one automaton: the product of the schema's strings and "does not
// contain the marker". Its states know how much of the marker has been read, so text ends at the first marker.
//
// Cost: a rule for each value and marker; an automaton for each set of strings, of its states times the marker's length at most.
#include <algorithm>
#include <array>
#include <utility>

#include "base/limits.hpp"
#include "schema/containers.hpp"

namespace psc {

namespace {

constexpr std::size_t kMaxRawStates = limit("raw_text_states");

// A letter or an underscore, then these and digits.
TextAutomaton identifiers() {
    TextAutomaton out = TextAutomaton::drafted();
    for (const bool first : {true, false}) {
        if (!first) out.add_arc('0', '9', 1);
        out.add_arc('A', 'Z', 1);
        out.add_arc('_', '_', 1);
        out.add_arc('a', 'z', 1);
        out.add_state(!first);
    }
    return out;
}

// Names that no parser takes for markup: not empty, without white space at either end of a line, quotes and brackets.
TextAutomaton plain_names() {
    TextAutomaton out = TextAutomaton::drafted();
    for (const bool first : {true, false}) {
        for (const auto& [low, high] : {std::pair<Word, Word>{' ' + 1, '!'},
                                        {'#', '%'},
                                        {'\'', ';'},
                                        {'=', '='},
                                        {'?', '~'},
                                        {0xa0, kFirstSurrogateCode - 1},
                                        {kLastSurrogateCode + 1, kCodePoints - 1}})
            out.add_arc(low, high, 1);
        out.add_state(!first);
    }
    return minimal(out);
}

// At least one character, and no NUL, which no markup can contain.
TextAutomaton some_characters() {
    TextAutomaton out = TextAutomaton::drafted();
    for (const bool first : {true, false}) {
        out.add_arc(1, kFirstSurrogateCode - 1, 1);
        out.add_arc(kLastSurrogateCode + 1, kCodePoints - 1, 1);
        out.add_state(!first);
    }
    return out;
}

// Whether a name can be recognized in `<name>` and `</name>`.
bool is_element_name(const std::u32string& text) {
    return text.find_first_not_of(U" \t\n\r") != text.npos && text[0] != U'/' && text.find(U'>') == text.npos;
}

TextAutomaton one_text(const std::u32string& text) { return of_texts({text}); }

// The texts that do not end with a line break.
TextAutomaton without_line_break(const TextAutomaton& texts) {
    return difference(texts, concatenation(any_text(), one_text(U"\n")), kMaxRawStates);
}

// What stands for a line break that is left out: no text has it.
constexpr Word kNoLineBreak = kFirstSurrogateCode;

TextAutomaton no_line_break() {
    TextAutomaton out = TextAutomaton::drafted();
    out.add_arc(kNoLineBreak, kNoLineBreak, 1);
    out.add_state(false);
    out.add_state(true);
    return out;
}

// The texts with a line break before them, those that begin with none also as they are, and without `kNoLineBreak` at the end: a
// reader takes the first line break off.
TextAutomaton after_line_break(const TextAutomaton& texts) {
    if (is_empty(texts)) return texts;
    TextAutomaton out = TextAutomaton::drafted();
    const auto copy = [&](Word state, bool is_start) {
        bool accepted = texts.accepts[state], has_line_break = !is_start;
        const auto line_break = [&] {
            if (!has_line_break) out.add_arc('\n', '\n', 1);
            has_line_break = true;
        };
        for (Word k = texts.offsets[state]; k < texts.offsets[state + 1]; ++k) {
            const auto& [first, last, to] = texts.arcs[k];
            if (first == kNoLineBreak) {
                accepted = true;
                continue;
            }
            if (has_line_break || last < '\n') {
                out.add_arc(first, last, to + 1);
                continue;
            }
            if (first < '\n') out.add_arc(first, '\n' - 1, to + 1);
            line_break();
            if (last > '\n') out.add_arc(std::max<Word>(first, '\n' + 1), last, to + 1);
        }
        line_break();
        out.add_state(accepted);
    };
    copy(0, true);
    for (Word state = 0; state < texts.size(); ++state) copy(state, false);
    return minimal(out);
}

// The texts with some characters written as other texts.
TextAutomaton escaped(const TextAutomaton& texts, const std::vector<std::pair<Word, std::u32string>>& escapes) {
    if (escapes.empty()) return texts;
    struct Node {
        std::vector<TextAutomaton::Arc> arcs;
        bool accepts;
    };
    std::vector<Node> nodes(static_cast<std::size_t>(texts.size()));
    for (Word s = 0; s < texts.size(); ++s) {
        const auto at = static_cast<std::size_t>(s);
        nodes[at].accepts = texts.accepts[at] != 0;
        Word ampersand = -1;  // the state after `&`, with which all escapes begin
        for (Word i = texts.offsets[at]; i < texts.offsets[at + 1]; ++i) {
            const auto arc = texts.arcs[static_cast<std::size_t>(i)];
            Word next = arc.first;
            for (const auto& [character, written] : escapes) {  // ascending
                if (character < arc.first || character > arc.last) continue;
                if (next < character) nodes[at].arcs.push_back({next, character - 1, arc.to});
                next = character + 1;
                if (ampersand < 0) {
                    ampersand = static_cast<Word>(nodes.size());
                    nodes.push_back({});
                    nodes[at].arcs.push_back({'&', '&', ampersand});
                }
                Word from = ampersand;
                for (std::size_t k = 1; k < written.size(); ++k) {
                    const auto c = static_cast<Word>(written[k]);
                    auto& arcs = nodes[static_cast<std::size_t>(from)].arcs;
                    const auto existing = std::find_if(arcs.begin(), arcs.end(), [&](const auto& a) { return a.first == c; });
                    const bool last = k + 1 == written.size();
                    Word to = existing != arcs.end() ? existing->to : last ? arc.to : static_cast<Word>(nodes.size());
                    if (existing == arcs.end()) {
                        arcs.push_back({c, c, to});
                        if (!last) nodes.push_back({});
                    }
                    from = to;
                }
            }
            if (next <= arc.last) nodes[at].arcs.push_back({next, arc.last, arc.to});
        }
    }
    TextAutomaton out = TextAutomaton::drafted();
    for (Node& node : nodes) {
        std::sort(node.arcs.begin(), node.arcs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& arc : node.arcs) out.add_arc(arc.first, arc.last, arc.to);
        out.add_state(node.accepts);
    }
    return minimal(out);
}

}  // namespace

// Texts that contain none of others.
TextAutomaton SchemaRules::free_of(const TextAutomaton& texts, const std::vector<std::u32string>& excludes) const {
    if (excludes.empty()) return texts;
    const TextAutomaton found = concatenation(concatenation(any_text(), of_texts(excludes)), any_text());
    return difference(texts, found, kMaxRawStates);
}

// White space, up to what the layout allows at once.
SchemaRules::Words SchemaRules::gap() const {
    Words out;
    rule_words::chars(out, {{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}});
    rule_words::repeat(out, 0, layout_.max_whitespace);
    return out;
}

// By characters, or with special tokens instead of their names: a row of states, as in psc.compiler.expressions.markers.
void SchemaRules::marker(Words& to, const std::u32string& text) const {
    std::vector<std::array<std::int64_t, 4>> arcs;
    for (const auto& [name, symbol] : layout_.parameters->tokens)
        for (std::size_t at = text.find(name); at != std::u32string::npos; at = text.find(name, at + 1))
            arcs.push_back({static_cast<std::int64_t>(at), symbol, symbol, static_cast<std::int64_t>(at + name.size())});
    if (arcs.empty()) return rule_words::text(to, text);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto position = static_cast<std::int64_t>(i), character = static_cast<std::int64_t>(text[i]);
        arcs.push_back({position, character, character, position + 1});
    }
    std::sort(arcs.begin(), arcs.end());
    to.insert(to.end(),
              {RulePrograms::automaton, static_cast<std::int64_t>(text.size()) + 1, static_cast<std::int64_t>(arcs.size())});
    to.insert(to.end(), text.size(), 0);
    to.push_back(1);
    for (const auto& arc : arcs) to.insert(to.end(), arc.begin(), arc.end());
}

// Parameters have no marks before and between them; the mark at the end is white space.
Rule SchemaRules::list_mark(Mark mark) {
    const bool closes = mark == Mark::close_object || mark == Mark::close_array;
    Maybe<Rule>& cached = list_marks_[closes];
    if (cached) return *cached;
    const Rule rule = fresh(closes ? "end of list" : "nothing");
    Words option;
    if (closes)
        option = gap();
    else
        rule_words::text(option, U"");
    add(rule, option);
    cached = rule;
    return rule;
}

void SchemaRules::write_parameters(Rule rule, Predicate root) {
    location_ = "#";
    const auto cases = values_.cases(root, json_types::object);
    for (const Atoms& atoms : cases) add_row(rule, {list(true, atoms)});
    if (!cases.empty()) return;
    // Where arrays are lists of items, the whole value may be one.
    const auto arrays = layout_.parameters->recursive ? values_.cases(root, json_types::array) : std::vector<Atoms>{};
    if (arrays.empty())
        throw SchemaError("#", "type", "no object is valid, and a list of parameters is what an object is written as");
    for (const Atoms& atoms : arrays) add_row(rule, {list(false, atoms)});
}

Rule SchemaRules::list(bool object, const Atoms& atoms) {
    const auto [entry, is_new] = lists_.try_emplace({object, atoms});
    if (!is_new) return entry->second;
    const Rule rule = entry->second = fresh(location_ + (object ? " parameters" : " items"));
    if (object)
        Members(*this, rule, 0, true).write(atoms);
    else
        Items(*this, rule, 0, true).write(atoms);
    return rule;
}

Rule SchemaRules::argument(Predicate p, const std::u32string& end) {
    const auto [entry, is_new] = arguments_.try_emplace({p, end});
    if (is_new) {
        entry->second = fresh(name_of(p) + " argument");
        ends_.push_back(end);
        queue_.push_back({entry->second, p, 0, static_cast<Word>(ends_.size()) - 1});
    }
    return entry->second;
}

Rule SchemaRules::item(Predicate p) {
    const auto [entry, is_new] = items_.try_emplace(p);
    if (!is_new) return entry->second;
    const Rule rule = entry->second = fresh(name_of(p) + " item");
    const ParameterStyle& style = *layout_.parameters;
    Words option = gap();
    marker(option, style.before_item);
    rule_words::reference(option, argument(p, style.end_of_item));
    rule_words::sequence(option, 3);
    add(rule, option);
    return rule;
}

// The head, the value and the end.
void SchemaRules::write_argument(Rule rule, Predicate p, Word end) {
    using namespace json_types;
    constexpr TypeSet containers[] = {json_types::object, json_types::array};
    const ParameterStyle& style = *layout_.parameters;
    const std::u32string marker = ends_[static_cast<std::size_t>(end)];
    location_ = rule_name(rule).substr(0, rule_name(rule).size() - std::string_view(" argument").size());
    const StringSet set = values_.strings(p);
    const auto origins =
        layout_.excludes.empty() ? SchemaValues::Origins{set.language, LanguageTable::kNone} : values_.by_origin(p);
    const StringSet free = layout_.excludes.empty() ? set : StringSet{origins.free, 0, -1};
    const Language matched = origins.matched;
    const Language language = values_.numbers(p);
    std::vector<std::pair<TypeSet, Words>> written;
    if (language != LanguageTable::kNone) {
        Words words;
        rule_words::reference(words, numbers(language));
        written.push_back({number, words});
    }
    for (const TypeSet type : containers)
        for (const Atoms& atoms : values_.cases(p, type)) {
            Words words;
            const bool is_object = type == json_types::object;
            rule_words::reference(words, style.recursive ? list(is_object, atoms)
                                         : is_object     ? this->object(atoms, 0)
                                                         : this->array(atoms, 0));
            written.push_back({type, words});
        }
    for (const auto& [type, spelling] :
         {std::pair<TypeSet, std::u32string_view>{truth, U"true"}, {falsehood, U"false"}, {null, U"null"}}) {
        if (values_.restricted(p, type) == graph_.never()) continue;
        Words words;
        rule_words::text(words, spelling);
        written.push_back({type, words});
    }
    const bool has_strings = set.language != LanguageTable::kNone;
    TypeSet types = has_strings ? string : 0;
    for (const auto& one : written) types |= one.first & boolean ? boolean : one.first;
    const bool is_union = types != boolean && (types & (types - 1)) != 0;
    for (const ParameterStyle::Head& head : style.heads) {
        if (head.in_unions && !is_union) continue;
        if (has_strings && head.types & string) add_row(rule, {raw_strings(free, matched, head.text, marker)});
        for (const auto& [type, words] : written) {
            if (!(head.types & type)) continue;
            const bool is_list = style.recursive && type & (json_types::object | json_types::array);
            const bool padded = style.padded && !is_list;
            Words option;
            this->marker(option, head.text);
            const Words space = gap();
            if (padded) option.insert(option.end(), space.begin(), space.end());
            option.insert(option.end(), words.begin(), words.end());
            if (padded) option.insert(option.end(), space.begin(), space.end());
            this->marker(option, marker);
            rule_words::sequence(option, padded ? 5 : 3);
            add(rule, option);
        }
    }
}

// A head, the strings as raw text, and the end, at its first occurrence. Strings of `matched` may contain excluded texts.
Rule SchemaRules::raw_strings(const StringSet& set, Language matched, const std::u32string& head, const std::u32string& end) {
    const auto [entry, is_new] = raw_strings_.try_emplace({set, matched, head, end});
    if (!is_new) return entry->second;
    const Rule rule = entry->second = fresh("raw text");
    std::vector<std::u32string> excludes = layout_.excludes;
    excludes.push_back(layout_.parameters->raw_stop);
    const auto& tokens = layout_.parameters->tokens;
    const bool spelled_by_tokens =
        std::any_of(tokens.begin(), tokens.end(), [&](const auto& token) { return end.find(token.first) != std::u32string::npos; });
    TextAutomaton texts = free_of(shortened_format(set.language), excludes);
    if (matched != LanguageTable::kNone)
        texts = union_of(texts, free_of(shortened_format(matched), {layout_.parameters->raw_stop}), kMaxRawStates);
    const bool is_anything = set == StringSet{LanguageTable::kAny, 0, -1} && layout_.excludes.empty();
    const bool line_breaks = layout_.parameters->line_breaks && !is_anything;
    for (const Words& raw : raw_texts(texts, set, spelled_by_tokens ? U"" : end, line_breaks)) {
        Words option;
        marker(option, head);
        option.insert(option.end(), raw.begin(), raw.end());
        if (spelled_by_tokens) marker(option, end);
        rule_words::sequence(option, spelled_by_tokens ? 3 : 2);
        add(rule, option);
    }
    return rule;
}

// The texts, of the set's lengths, with what follows, and line breaks around them where these are layout. Text and what follows are
// counted together, since that has a fixed length: counting first would need many more states.
std::vector<SchemaRules::Words> SchemaRules::raw_texts(const TextAutomaton& texts, const StringSet& set,
                                                       const std::u32string& after, bool line_breaks) {
    const auto n = static_cast<std::int64_t>(after.size());
    const bool has_length = set.least > 0 || set.most >= 0;
    const auto together = [&](const TextAutomaton& of, const std::u32string& rest) {
        return rest.empty() ? of : concatenation(of, one_text(rest), kMaxRawStates);
    };
    const auto of_length = [&](const TextAutomaton& of, std::int64_t more) {
        if (!has_length) return of;
        return with_length(of, set.least + more, set.most < 0 ? -1 : set.most + more, kMaxCopiedStates);
    };
    Words words;
    try {
        if (line_breaks) {
            const TextAutomaton without = together(without_line_break(texts), after);
            const TextAutomaton all =
                union_of(together(texts, U"\n" + after), concatenation(without, no_line_break(), kMaxRawStates), kMaxRawStates);
            rule_words::automaton(words, readable_texts(after_line_break(of_length(all, n + 1))));
        } else {
            rule_words::automaton(words, readable_texts(of_length(together(texts, after), n)));
        }
        return {words};
    } catch (const LimitExceeded&) {
        if (!has_length) throw;
    }
    require_countable(states_of_lengths(texts, set, false), set);
    if (!line_breaks) return {counted_texts(together(texts, after), set, n, false)};
    std::vector<Words> out{counted_texts(together(texts, U"\n" + after), set, n + 1, true)};
    const TextAutomaton without = without_line_break(texts);
    if (psc::has_length(without, set.least, set.most)) out.push_back(counted_texts(together(without, after), set, n, true));
    return out;
}

// The texts, `more` characters longer than those of the set; each state counts.
SchemaRules::Words SchemaRules::counted_texts(const TextAutomaton& texts, const StringSet& set, std::int64_t more,
                                              bool line_break) const {
    const std::int64_t least = set.least > 0 ? set.least + more : 0, most = set.most < 0 ? -1 : set.most + more;
    Words words;
    if (!line_break) {
        rule_words::counted(words, texts, 0, texts.size() - 1, least, most);
        return words;
    }
    // A new start, the states, and a copy of the old start, to which the line break leads without being counted.
    TextAutomaton out = TextAutomaton::drafted();
    for (Word s = -1; s <= texts.size(); ++s) {
        bool is_start = s < 0, pending = is_start;
        const Word from = is_start || s == texts.size() ? 0 : s;
        const auto line_break_arc = [&] {
            if (std::exchange(pending, false)) out.add_arc('\n', '\n', texts.size() + 1);
        };
        for (Word k = texts.offsets[from]; k < texts.offsets[from + 1]; ++k) {
            const auto& [first, last, to] = texts.arcs[k];
            if (!is_start || last < '\n') {
                out.add_arc(first, last, to + 1);
                continue;
            }
            if (first < '\n') out.add_arc(first, '\n' - 1, to + 1);
            line_break_arc();
            if (last > '\n') out.add_arc(std::max<Word>(first, '\n' + 1), last, to + 1);
        }
        line_break_arc();
        out.add_state(texts.accepts[from]);
    }
    rule_words::counted(words, out, 1, texts.size(), least, most);
    return words;
}

SchemaRules::Words SchemaRules::parameter(Maybe<Rule> before, const Words& key, Predicate value, const std::u32string& end) {
    const ParameterStyle& style = *layout_.parameters;
    Words out;
    std::size_t n = 2;
    if (before) {
        rule_words::reference(out, *before);
        ++n;
    }
    out.insert(out.end(), key.begin(), key.end());
    if (style.space_after_key) {
        const Words space = gap();
        out.insert(out.end(), space.begin(), space.end());
        ++n;
    }
    rule_words::reference(out, argument(value, end));
    rule_words::sequence(out, n);
    return out;
}

// What a declared parameter begins with, its key included.
SchemaRules::Words SchemaRules::key(Word name) const {
    const ParameterStyle& style = *layout_.parameters;
    const std::u32string text = code_points(reader_.texts()[name]);
    if (style.end_names_key && !is_element_name(text))
        throw SchemaError(
            location_, "properties",
            "a member's name is an element name in this style: it must not be blank, begin with '/' or have '>' in it");
    Words out = gap();
    std::u32string written = style.before_key;
    for (const char32_t c : text) {
        const auto found = std::find_if(style.escapes.begin(), style.escapes.end(),
                                        [&](const auto& e) { return static_cast<char32_t>(e.first) == c; });
        found == style.escapes.end() ? written += c : written += found->second;
    }
    const std::u32string spelled = written.substr(style.before_key.size());
    const auto excluded = [&](const std::u32string& e) { return spelled.find(e) != std::u32string::npos; };
    if (std::any_of(layout_.excludes.begin(), layout_.excludes.end(), excluded))
        rule_words::choice(out, 0);
    else
        marker(out, written + style.after_key);
    rule_words::sequence(out, 2);
    return out;
}

std::u32string SchemaRules::end_of(Word name) const {
    const ParameterStyle& style = *layout_.parameters;
    return style.end_names_key ? style.end + code_points(reader_.texts()[name]) + style.after_key : style.end;
}

// What a parameter whose name is not declared begins with; -1 where there is no such name. `by_pattern`: the language is a
// pattern's. Matched names may contain excluded texts.
Maybe<Rule> SchemaRules::other_keys(std::optional<Language> language, bool by_pattern, bool matched,
                                    const std::vector<Word>& declared) {
    using OtherKeys = ParameterStyle::OtherKeys;
    const ParameterStyle& style = *layout_.parameters;
    if (style.other_keys == OtherKeys::none)
        throw SchemaError(location_, by_pattern ? "patternProperties" : "additionalProperties",
                          "members of any name cannot be enforced where the marker at the end names the member, only fixed object "
                          "property names; say \"additionalProperties\": false");
    const auto [entry, is_new] = other_keys_.try_emplace({language, by_pattern, matched, declared});
    if (!is_new) return entry->second;
    std::vector<std::u32string> texts;
    for (Word name : declared) texts.push_back(code_points(reader_.texts()[name]));
    TextAutomaton names = style.other_keys == OtherKeys::any ? some_characters() : by_pattern ? plain_names() : identifiers();
    if (language) names = intersection(names, languages_[*language]);
    if (!texts.empty()) names = difference(names, of_texts(std::move(texts)));
    names = escaped(names, style.escapes);
    if (!matched) names = free_of(names, layout_.excludes);
    if (is_empty(names)) return {};
    const Rule rule = fresh("other keys");
    entry->second = rule;
    Words option = gap();
    marker(option, style.before_key);
    rule_words::automaton(option, names);
    marker(option, style.after_key);
    rule_words::sequence(option, 4);
    add(rule, option);
    return rule;
}

}  // namespace psc
