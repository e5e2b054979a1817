// What values a predicate is true of, type by type.
//
// Of scalars a predicate is a set: languages of strings and numbers are combined by their automata. Of objects and arrays it is a
// choice of cases, and a case is atoms that all hold. Cases are found as a solver for propositional formulas finds them: what one atom
// decides is decided before anything is split (`value of k is "a"` leaves out every option that needs k to be "b"), so that the
// branches of a oneOf that a member tells apart are one case each. Formulas over the presence of members alone stay whole.
//
// Cost: exponential in choices that do not decide each other; more than kMaxCases of them are an error.
#pragma once

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/limits.hpp"
#include "schema/reader.hpp"

namespace psc {

class SchemaValues {
public:
    static constexpr std::size_t kMaxCases = limit("schema_cases");
    static constexpr Word kAllNumbers = -2;

    SchemaValues(SchemaReader& reader, PredicateGraph& graph, LanguageTable& languages)
        : reader_(reader), graph_(graph), languages_(languages) {}

    // What the predicate says of values of one type: atoms of that type, always, or never.
    Predicate restricted(Predicate p, TypeSet type);
    StringSet strings(Predicate p);
    // The same in two languages: of what a pattern or a format says, and of all else. Where the reader marks what is matched.
    struct Origins {
        Word free, matched;
    };
    Origins by_origin(Predicate p) { return origins_of(restricted(p, json_types::string)); }
    // The language of a set of strings, with its lengths.
    Word language_of(const StringSet& set);
    // A language of plain numbers, or kAllNumbers.
    Word numbers(Predicate p);
    // Each case is atoms that all hold, ascending; formulas of presence are among them. Of arrays or of objects.
    std::vector<std::vector<Predicate>> cases(Predicate p, TypeSet type);
    // Whether it is true of no value, as far as can be told at little cost.
    bool surely_empty(Predicate p) { return surely_empty(p, 0); }
    // Whether it is about nothing but which members are there.
    bool is_presence(Predicate restricted);
    // All that atoms say of the value of a member, or of an item.
    Predicate member_value(std::span<const Predicate> atoms, Word name);
    Predicate item_value(std::span<const Predicate> atoms, Word index);
    bool contains(const NameSet& set, Word name);

private:
    enum class Answer : signed char { no, yes, asked };
    using Atoms = std::vector<Predicate>;

    StringSet strings_of(Predicate restricted);
    Origins origins_of(Predicate restricted);
    Predicate restricted_parts(Predicate p, TypeSet type);
    Predicate meaning(Predicate schema, TypeSet type);
    Word numbers_of(Predicate restricted);
    bool surely_empty(Predicate p, int depth);
    bool conflict(std::span<const Predicate> atoms, int depth);
    void solve(Atoms atoms, Atoms clauses, std::vector<Atoms>& out);
    bool add(Predicate p, Atoms& atoms, Atoms& clauses);
    template <class Holds>
    bool all_parts(Predicate p, const Holds& holds);
    template <class Holds>
    bool any_part(Predicate p, const Holds& holds);
    bool is_always(Predicate p);
    bool implied(std::span<const Predicate> atoms, Predicate p);
    bool refuted(std::span<const Predicate> atoms, Predicate p);
    bool is_required(std::span<const Predicate> atoms, Word name);
    std::pair<Word, Word> length_of(std::span<const Predicate> atoms, PredicateGraph::Kind kind);

    SchemaReader& reader_;
    PredicateGraph& graph_;
    LanguageTable& languages_;
    // Per predicate and type what restricted() found, and besides:
    static constexpr Predicate kNotAsked{-2}, kBeingAsked{-1};
    std::vector<std::array<Predicate, json_types::count>> restricted_;
    Predicate& restricted_entry(Predicate p, TypeSet type);
    std::unordered_map<Word, Answer> empty_;
    std::map<StringSet, Word> lengths_;  // their languages
    std::vector<Predicate> said_;        // of one member or item
    std::vector<Predicate> parts_;       // of what `restricted` is in the middle of
    int deepness_ = 0;                   // of it
    // The schemas that it is in the middle of, and around each how many conjunctions and alternatives there are.
    struct Asked {
        Word schema;
        TypeSet type;
        bool holds;
        int n_both, n_either;
    };
    std::vector<Asked> asked_;
    int n_both_ = 0, n_either_ = 0;
    std::size_t n_being_read_ = 0;  // of those asked: their meaning is not known yet
    static constexpr std::size_t kOfNone = static_cast<std::size_t>(-1);
    std::size_t depends_ = kOfNone;  // the first of those asked on which what is found depends
    std::size_t n_found_again_ = 0;
    std::size_t n_solved_ = 0;
};

}  // namespace psc
