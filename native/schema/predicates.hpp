// Predicates on JSON values: what a schema says, with `not` pushed down to the atoms.
//
// A value is null, false, true, a number, a string, an array or an object. An atom is true of values of one type only:
//
//   types           the value has one of these types
//   texts           a string of this language; marked if a pattern or a format says so, where that matters
//   numbers         a number of this language
//   every_member    an object; each member whose name is in a set of names has a value of which a predicate is true
//   some_member     an object; such a member exists
//   member_count    an object whose number of members is in a range
//   every_item      an array; each item of a range of indices satisfies a predicate
//   item_count      an array; the number of such items of a range of indices is in a range
//   array_length    an array whose length is in a range
//   unique_items    an array whose items differ from each other; the matcher knows which came
//   schema          what a schema says, or its negation; read only when needed
//   order           names of members in the order in which they are to be written; true of every value
//   unknown         what cannot be enforced and is left out: may be true and may be false of any value
//
// Both signs of each exist as atoms, so a negation is again a combination of atoms by `both` and `either`. `required: [a]` is
// some_member({a}, true), `additionalProperties: false` is every_member(all names but .., false), `contains` is an item_count.
//
// Equal predicates are one, and parts have smaller numbers than what they are part of, except through `schema`.
//
// Cost: a predicate is made in time linear in its parts, and sorting them. Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/interned.hpp"
#include "text/automaton.hpp"

namespace psc {

struct Predicate {
    Word v;
    auto operator<=>(const Predicate&) const = default;
};

using TypeSet = Word;
namespace json_types {
constexpr TypeSet null = 1, falsehood = 2, truth = 4, number = 8, string = 16, array = 32, object = 64;
constexpr TypeSet boolean = falsehood | truth, all = 127;
constexpr std::size_t count = 7;
}  // namespace json_types

// A number in a LanguageTable.
struct Language {
    Word v;
    auto operator<=>(const Language&) const = default;
};

// A set of names of members: those listed and those of the listed languages, or all but these.
struct NameSet {
    bool all_but = false;
    std::vector<Word> names;          // in the text table, ascending
    std::vector<Language> languages;  // ascending

    bool operator==(const NameSet&) const = default;
    bool is_one() const { return !all_but && names.size() == 1 && languages.empty(); }
    bool is_one(Word name) const { return is_one() && names[0] == name; }
};

// The names of either.
NameSet union_of(const NameSet& a, const NameSet& b);
// All others.
NameSet complement(NameSet names);

// Alternatives are too many, or decide each other too little.
struct TooManyChoices : LimitExceeded {
    explicit TooManyChoices(const std::string& how)
        : LimitExceeded("what the alternatives here say together " + how +
                        ", the limit; name fewer, or give each a required member with a `const` of its own") {}
};

// An automaton of texts or numbers is too large for one terminal.
struct TooLargeTerminal : LimitExceeded {
    using LimitExceeded::LimitExceeded;
};

// A set of strings: a language, and bounds of the number of characters.
struct StringSet {
    Language language;
    std::int64_t least, most;  // -1: without limit
    auto operator<=>(const StringSet&) const = default;
};

// Numbers of automata; equal languages have one number.
class LanguageTable {
public:
    LanguageTable();

    static constexpr Language kAny{0}, kNone{1};
    Language number(TextAutomaton automaton);
    // The number of a language that outlives the table; `spelled`: its strings as JSON spells them.
    Language number_of_constant(const TextAutomaton& automaton, const TextAutomaton& spelled);
    const TextAutomaton& operator[](Language language) const { return *automata_[static_cast<std::size_t>(language.v)]; }
    // Null where number_of_constant() did not set it.
    const TextAutomaton* spelled(Language language) const;
    // These throw LimitExceeded.
    Language both(Language a, Language b);
    Language either(Language a, Language b);
    Language but(Language a, Language b);

private:
    template <class Make>
    Language combined(Word operation, Language a, Language b, Make make);

    struct Constant {
        const TextAutomaton *automaton, *spelled;
        Language number;
    };
    Language number_of_key(const TextAutomaton& automaton);

    SequenceInterner keys_;
    std::vector<const TextAutomaton*> automata_;
    std::deque<TextAutomaton> own_;
    std::vector<Constant> constants_;  // a few
    std::vector<Word> key_;
    std::unordered_map<std::uint64_t, Language> cache_[3];
    std::size_t n_combined_ = 0;  // states, and words of arcs, that combined() has made
};

class PredicateGraph {
public:
    enum class Kind : Word {
        types,
        texts,
        numbers,
        every_member,
        some_member,
        member_count,
        every_item,
        item_count,
        array_length,
        schema,
        both,
        either,
        unknown,
        order,
        unique_items
    };
    static constexpr Word kOpen = -1;

    // `plain_numbers`: the language of all numbers. The table must outlive the graph.
    PredicateGraph(LanguageTable& languages, Language plain_numbers);

    Predicate never() const { return {0}; }
    Predicate always() const { return {1}; }
    Predicate unknown() const { return {2}; }
    Predicate types(TypeSet types);
    Predicate texts(Language language, Word least = 0, Word most = kOpen, bool matched = false);
    Predicate numbers(Language language);
    Predicate every_member(const NameSet& names, Predicate value) { return member(Kind::every_member, names, value); }
    Predicate some_member(const NameSet& names, Predicate value) { return member(Kind::some_member, names, value); }
    Predicate member_count(Word least, Word most);
    // Items from, ..., to - 1; `to` may be kOpen.
    Predicate every_item(Word from, Word to, Predicate item);
    Predicate item_count(Word from, Word to, Predicate item, Word least, Word most);
    Predicate array_length(Word least, Word most);
    Predicate order(std::span<const Word> names);
    Predicate schema(Word schema, bool holds);
    Predicate unique_items(Word place, bool holds) { return node({static_cast<Word>(Kind::unique_items), place, holds}); }
    Predicate both(std::span<const Predicate> parts) { return combined(Kind::both, parts); }
    Predicate either(std::span<const Predicate> parts) { return combined(Kind::either, parts); }
    Predicate both(Predicate a, Predicate b);
    Predicate either(Predicate a, Predicate b);
    Predicate negation(Predicate p);
    // `p` for values of these types, true for all others: what a keyword says.
    Predicate if_of(TypeSet types, Predicate p) { return either(this->types(json_types::all & ~types), p); }

    Word size() const { return keys_.size(); }
    Kind kind(Predicate p) const { return static_cast<Kind>(keys_[p.v][0]); }
    // Making a predicate invalidates spans and references.
    std::span<const Predicate> parts(Predicate p) const { return ids_of<Predicate>(keys_[p.v].subspan(1)); }
    TypeSet type_set(Predicate types) const { return keys_[types.v][1]; }
    Language language(Predicate p) const { return {keys_[p.v][1]}; }  // of texts and numbers
    bool is_matched(Predicate texts) const { return keys_[texts.v][2] != 0; }
    Word least(Predicate p) const { return keys_[p.v][keys_[p.v].size() - 2]; }
    Word most(Predicate p) const { return keys_[p.v][keys_[p.v].size() - 1]; }
    Predicate value(Predicate member_or_item) const { return {keys_[member_or_item.v][1]}; }
    const NameSet& names(Predicate member) const { return name_sets_[static_cast<std::size_t>(keys_[member.v][2])]; }
    Word from(Predicate item) const { return keys_[item.v][2]; }
    Word to(Predicate item) const { return keys_[item.v][3]; }
    std::span<const Word> ordered(Predicate order) const { return keys_[order.v].subspan(1); }
    Word schema_of(Predicate p) const { return keys_[p.v][1]; }
    Word place_of(Predicate unique_items) const { return keys_[unique_items.v][1]; }  // where it is said
    bool holds(Predicate p) const { return keys_[p.v][2] != 0; }                      // of a schema and of unique items

private:
    Predicate node(std::initializer_list<Word> key) { return {keys_.intern(std::span(key.begin(), key.size())).first}; }
    Predicate member(Kind kind, const NameSet& names, Predicate value);
    Predicate combined(Kind kind, std::span<const Predicate> parts);
    Predicate without_language(Predicate p);

    LanguageTable& languages_;
    Language plain_numbers_;

    SequenceInterner keys_, name_keys_;
    std::vector<NameSet> name_sets_;
    std::unordered_map<Word, Predicate> negations_;
    std::vector<Predicate> flat_;  // of combined(), as is key_
    std::vector<Word> key_;
    std::size_t n_words_ = 0;  // of all combinations that were asked for
};

}  // namespace psc
