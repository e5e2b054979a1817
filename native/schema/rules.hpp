// Predicates to rules: the grammar of the spellings of all values of which a predicate is true.
//
// Objects are written with their declared members in the order of the schema, each at most once, and others anywhere among them. An
// object is a left-linear grammar: the members read so far are one symbol, a state, on the parser's stack, so that the stack does
// not grow and a mask reads no deeper. A state is how far the declared names have been passed, what is still required of the
// presence of members, and the counts. A comma comes before the next name is known, so the skipping of optional members is left to
// it:
//
//   ready(s)  after `{` or a comma, declared names up to s passed     ready(s) ::= comma(s) | ready(s') where the name before s is optional
//   done(s)   after a member                                          done(s') ::= ready(s) name ":" value | comma(s) other-name ":" value
//   comma(s)  ::= done(s) ","
//
// The name that follows determines which reduction from comma to ready is due: LALR(1) suffices. Arrays are alike.
//
// In any order a state is the set of declared members that came: 2^n of them, so for up to eight. For more members the LR automaton
// keeps the sets, and the rules do not have them (lr/free_order_states.hpp). With `few_sets` that is so of more than three, where it
// refuses nothing: a first mask needs few of the sets, and an object of eight is a fifth of the rules.
//
// Cost: linear in the declared members, times the states of presence and counts. Threads: one at a time.
// Tried and dropped: a string for each name and a list of words for each option. Names lie in one block, all options in one array.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "rules/rule_programs.hpp"
#include "schema/parameter_style.hpp"
#include "schema/values.hpp"

namespace psc {

// White space, separators, the order of members, and what no string may contain.
struct SchemaLayout {
    bool any_order = false;  // declared members in any order, rather than in the schema's
    bool any_whitespace = true;
    std::int64_t max_whitespace = -1;  // at once; -1: without limit
    Word max_digits = -1;              // of a loop of digits, see json/digit_loops.hpp; -1: without limit
    bool plain_integers = false;       // numbers that are all integers have no point
    Word indent = -1;                  // spaces for each level, where white space is fixed; -1: all on one line
    std::u32string item_separator = U", ", key_separator = U": ";
    std::vector<std::u32string>
        excludes;  // texts that occur, as spelled, in no string and no name but those of patterns and formats
    std::optional<ParameterStyle> parameters;  // for a value that is not written as JSON
    bool few_sets = false;  // in any order, states are sets of few members only: for machines that are built just in time
};

class SchemaRules {
public:
    SchemaRules(SchemaReader& reader, SchemaValues& values, PredicateGraph& graph, LanguageTable& languages, SchemaLayout layout);

    RulePrograms write(Predicate root);

private:
    using Words = std::vector<std::int64_t>;
    using Atoms = std::vector<Predicate>;
    class Members;
    class Items;
    // Separators of a container at a depth; each is a rule.
    enum class Mark : Word { open_object, open_array, comma, close_object, close_array, colon };

    Rule fresh(std::string_view name);
    void add(Rule rule, const Words& option) {
        words_.insert(words_.end(), option.begin(), option.end());
        options_.push_back({rule, words_.size()});
    }
    // Adds the option that is these rules one after the other.
    void add_row(Rule rule, std::initializer_list<Rule> rules);
    std::string_view rule_name(Rule rule) const { return names_[rule.v]; }

    Rule value(Predicate p, Word depth);
    void write_value(Rule rule, Predicate p, Word depth);
    // Lists of parameters: see schema/parameters.cpp.
    void write_parameters(Rule rule, Predicate root);
    void write_argument(Rule rule, Predicate p, Word end);
    Rule list(bool object, const Atoms& atoms);
    Rule argument(Predicate p, const std::u32string& end);
    Rule item(Predicate p);
    Rule raw_strings(const StringSet& set, Language matched, const std::u32string& head, const std::u32string& end);
    Words parameter(Maybe<Rule> before, const Words& key, Predicate value, const std::u32string& end);
    Words key(Word name) const;
    std::u32string end_of(Word name) const;
    Maybe<Rule> other_keys(std::optional<Language> language, bool by_pattern, bool matched, const std::vector<Word>& declared);
    Rule list_mark(Mark mark);
    TextAutomaton free_of(const TextAutomaton& texts, const std::vector<std::u32string>& excludes) const;
    Words gap() const;
    // Appends a marker, which special tokens may spell.
    void marker(Words& to, const std::u32string& text) const;
    Rule object(const Atoms& atoms, Word depth);
    Rule array(const Atoms& atoms, Word depth);
    Rule strings(const StringSet& set);
    std::vector<Words> raw_texts(const TextAutomaton& texts, const StringSet& set, const std::u32string& after, bool line_breaks);
    Words counted_texts(const TextAutomaton& texts, const StringSet& set, std::int64_t more, bool line_break) const;
    Rule counted_strings(const StringSet& set);
    // Texts that come to one state again and again, by one class of characters: what comes before and after that, and the texts
    // without it. Example: `^data:image/(png|webp);base64,[A-Za-z0-9+/]*={0,2}$`.
    struct Loop {
        TextAutomaton before, one, after, without;
    };
    static std::optional<Loop> loop_of(const TextAutomaton& texts);
    std::optional<Rule> looped(const Loop& loop, std::int64_t least, std::int64_t most);
    // Lexer states are made while a text is read. Here no string compiles whose texts need more than the lexer has, and no constants
    // that need more together. Strings with a length are not added up: no usual text has more than one that is as long as it may be.
    static std::size_t states_of_lengths(const TextAutomaton& texts, const StringSet& set, bool is_json);
    static void require_countable(std::size_t n_lexer_states, const StringSet& set);
    void require_long_text(std::int64_t length);
    TextAutomaton readable_texts(TextAutomaton texts);
    Rule numbers(Language language);
    // A language as texts with few digits. Of what a schema says about strings only formats are shortened.
    TextAutomaton shortened_numbers(Language language) const;
    TextAutomaton shortened_format(Language language) const;
    bool is_shortened(Language language) const { return layout_.max_digits >= 0 && languages_.spelled(language) != nullptr; }
    // The strings of a language without the excluded texts, and of another one with them, in quotes; kAny: any string.
    Rule names(Language language, Language matched = LanguageTable::kNone);
    Rule names_but(const std::vector<Word>& names);
    LabelledAutomaton labelled() const;
    Words name(Word text);
    std::string name_of(Predicate p) const;

    Rule mark(Mark mark, Word depth);
    // `{}` or `[]`, by its opening mark.
    Words empty(Mark open, Word depth);
    Words space() const;

    SchemaReader& reader_;
    SchemaValues& values_;
    PredicateGraph& graph_;
    LanguageTable& languages_;
    SchemaLayout layout_;
    struct Option {
        Rule rule;
        std::size_t end;  // in the words of all; it begins where the option before ends
    };
    std::size_t n_states_of_long_texts_ = 0;
    Words words_;
    std::vector<Option> options_;  // of all rules, in the order of their making
    NameTable names_;              // of the rules
    std::vector<FreeOrderRules> free_orders_;
    struct Request {
        Rule rule;
        Predicate value;
        Word depth;
        Word end = -1;  // of an argument, in ends_; -1: it is JSON
    };
    std::vector<Request> queue_;
    std::map<std::pair<Predicate, Word>, Rule> values_of_;
    std::map<std::tuple<bool, Word, Atoms>, Rule> containers_;
    std::map<std::tuple<bool, Atoms>, Rule> lists_;
    std::map<std::pair<Predicate, std::u32string>, Rule> arguments_;
    std::vector<std::u32string> ends_;
    std::map<Predicate, Rule> items_;
    std::map<std::tuple<StringSet, Language, std::u32string, std::u32string>, Rule> raw_strings_;
    std::map<std::tuple<std::optional<Language>, bool, bool, std::vector<Word>>, Maybe<Rule>> other_keys_;
    Maybe<Rule> list_marks_[2];
    std::map<StringSet, Rule> strings_;
    std::map<std::vector<Word>, Rule> names_but_;
    std::vector<std::pair<Rule, std::vector<Word>>> labelled_;  // each rule of names_but() with the names
    std::map<Language, Rule> numbers_;
    std::map<std::pair<Language, Language>, Rule> name_rules_;
    std::map<std::pair<Mark, Word>, Rule> marks_;
    std::vector<UniqueRules> unique_;
    std::map<Word, UniqueRules> unique_items_;  // by the rules of their texts, without the array's rules
    std::string location_;                      // of the value being written
};

// Pieces of rule programs.
namespace rule_words {
void text(std::vector<std::int64_t>& to, std::u32string_view text);
void chars(std::vector<std::int64_t>& to, std::initializer_list<std::pair<Word, Word>> ranges);
void sequence(std::vector<std::int64_t>& to, std::size_t n);
void choice(std::vector<std::int64_t>& to, std::size_t n);
void repeat(std::vector<std::int64_t>& to, std::int64_t least, std::int64_t most);
void reference(std::vector<std::int64_t>& to, Rule rule);
void automaton(std::vector<std::int64_t>& to, const TextAutomaton& automaton);
// The texts of an automaton that arrive `least` to `most` times in one of the states from `first` to `last`.
void counted(std::vector<std::int64_t>& to, const TextAutomaton& automaton, Word first, Word last, std::int64_t least,
             std::int64_t most);
}  // namespace rule_words

}  // namespace psc
