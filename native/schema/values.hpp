// The values that satisfy a predicate, type by type.
//
// Of scalars they are a set: languages of strings and numbers are combined by their automata. Of objects and arrays they are a
// choice of cases, each a set of atoms that all hold. Cases are found as by a solver for propositional formulas (DPLL):
// consequences of single atoms are drawn before anything is split (`value of k is "a"` excludes every option that needs k to be
// "b"). So the branches of a oneOf that a member tells apart are one case each. Formulas over the presence of members alone stay
// whole.
//
// Example: `type: object, required: [a], anyOf: [{properties: {a: {const: 1}}}, {properties: {b: {const: 2}}}]` has two cases: a is
// there and 1; a is there, and b is 2 if it is there.
//
// Cost: exponential in choices that do not decide each other; more than kMaxCases of them are an error. Threads: one at a time.
// Tried and dropped: reading the schemas of a conjunction before its sets of types. Types decide first now; with the other changes
// of that step, admitting a request took a tenth less time.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/limits.hpp"
#include "schema/reader.hpp"

namespace psc {

// Of texts with their lengths; more are counted by the lexer.
inline constexpr std::size_t kMaxCopiedStates = 1000;

class SchemaValues {
public:
    static constexpr std::size_t kMaxCases = limit("schema_cases");
    static constexpr Language kAllNumbers{-2};

    SchemaValues(SchemaReader& reader, PredicateGraph& graph, LanguageTable& languages)
        : reader_(reader), graph_(graph), languages_(languages) {}

    // The predicate for values of one type: atoms of that type, always, or never.
    Predicate restricted(Predicate p, TypeSet type);
    StringSet strings(Predicate p);
    // The same as sets of which no two have a string in common: one, but where that would need a state for each of many lengths.
    // Throws LimitExceeded where that are more than kMaxCases.
    std::vector<StringSet> string_sets(Predicate p);
    // The same as two languages: strings of a pattern or a format, and others. Only where the reader marks matched strings.
    struct Origins {
        Language free, matched;
    };
    Origins by_origin(Predicate p) { return origins_of(restricted(p, json_types::string)); }
    // The language of a set of strings, with its lengths.
    Language language_of(const StringSet& set);
    // The same where that has few states; none where the lexer counts instead.
    std::optional<Language> small_language_of(const StringSet& set);
    // A language of plain numbers, or kAllNumbers.
    Language numbers(Predicate p);
    // Each case is atoms that all hold, ascending; formulas of presence are among them, and formulas about single members where these
    // would be too many cases. Of arrays or of objects.
    std::vector<std::vector<Predicate>> cases(Predicate p, TypeSet type);
    // Whether it is certainly true of no value; a cheap check that may miss some.
    bool surely_empty(Predicate p) { return surely_empty(p, 0); }
    // Whether it depends on the presence of members alone.
    bool is_presence(Predicate restricted);
    // The conjunction of what atoms say about the value of a member, or of an item.
    Predicate member_value(std::span<const Predicate> atoms, Word name);
    Predicate item_value(std::span<const Predicate> atoms, Word index);
    bool contains(const NameSet& set, Word name);

private:
    enum class Answer : signed char { no, yes, open };
    using Atoms = std::vector<Predicate>;

    StringSet strings_of(Predicate restricted);
    StringSet with_strings(const StringSet& set);
    std::vector<StringSet> sets_of(Predicate restricted);
    void add_apart(const StringSet& set, std::vector<StringSet>& to);
    Origins origins_of(Predicate restricted);
    Predicate restricted_parts(Predicate p, TypeSet type);
    Predicate meaning(Predicate schema, TypeSet type);
    Language numbers_of(Predicate restricted);
    bool surely_empty(Predicate p, int depth);
    bool conflict(std::span<const Predicate> atoms, int depth);
    void solve(Atoms atoms, Atoms clauses, std::vector<Atoms>& out);
    bool add(Predicate p, Atoms& atoms, Atoms& clauses);
    bool propagate(Atoms& atoms, Atoms& clauses);
    bool keep_whole(Atoms atoms, Atoms clauses, std::vector<Atoms>& out);
    bool is_about_members(Predicate p, std::set<Predicate>& seen, Atoms& orders);
    Predicate without_order(Predicate p, std::map<Predicate, Predicate>& plain);
    // In schema/cases.cpp, as are those above.
    struct Conditions {
        std::size_t n_clauses = 0, last_clause = 0;
        Atoms values;
    };
    bool by_listed_names(Atoms& atoms);
    void add_order(Predicate option, Atoms& atoms);
    bool is_about_one(Predicate p) { return about(p) >= 0; }
    Predicate joined(std::span<const Predicate> options);
    void conditions_in(Predicate p, std::size_t clause, std::map<Word, Conditions>& out);
    Atoms kinds_of_a_member(std::span<const Predicate> atoms, const Atoms& clauses);
    template <class Holds>
    bool all_parts(Predicate p, const Holds& holds);
    template <class Holds>
    bool any_part(Predicate p, const Holds& holds);
    bool is_always(Predicate p);
    bool implied(std::span<const Predicate> atoms, Predicate p);
    bool refuted(std::span<const Predicate> atoms, Predicate p);
    // The name of the only member that an atom is about, or one of the two.
    static constexpr Word kNoMember = -1, kSeveral = -2;
    Word about(Predicate atom);
    bool is_required(std::span<const Predicate> atoms, Word name);
    std::pair<Word, Word> length_of(std::span<const Predicate> atoms, PredicateGraph::Kind kind);

    SchemaReader& reader_;
    PredicateGraph& graph_;
    LanguageTable& languages_;
    // Per predicate and type the cached restricted(), or one of these.
    static constexpr Predicate kUncomputed{-2}, kInProgress{-1};
    std::vector<std::array<Predicate, json_types::count>> restricted_;
    Predicate& restricted_entry(Predicate p, TypeSet type);
    std::unordered_map<Word, Answer> empty_;
    std::map<StringSet, Language> lengths_;
    std::map<StringSet, bool> has_strings_;
    std::vector<Predicate> said_;   // scratch: about one member or item
    std::vector<Predicate> parts_;  // of the predicates that restricted() is working on
    int deepness_ = 0;              // of restricted()
    // The schemas that restricted() is working on, with the number of conjunctions and alternatives around each.
    struct Active {
        Word schema;
        TypeSet type;
        bool holds;
        int n_both, n_either;
    };
    std::vector<Active> active_;
    int n_both_ = 0, n_either_ = 0;
    std::size_t n_being_read_ = 0;  // of the active ones, whose meaning is still being read
    static constexpr std::size_t kOfNone = static_cast<std::size_t>(-1);
    std::size_t depends_ = kOfNone;  // the first active one on which the current result depends
    std::size_t n_recomputed_ = 0;
    std::size_t n_solved_ = 0, n_looks_ = 0;  // at atoms
    std::vector<Word> about_;                 // per predicate
    std::vector<Word> split_;                 // members that solve() has split by their kinds of values
};

}  // namespace psc
