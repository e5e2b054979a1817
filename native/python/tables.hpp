// Stored tables from and to Python: by their declared names, as NumPy arrays without a copy.
//
// Nearly every column has a type of its own, which says what its ids mean; Python sees words or bytes. So nanobind is given only those
// two types, in python/tables.cpp, and compiles them once.
//
// Tried and dropped: the bindings of each column's type. They were a quarter of the time that the bindings of compilations take to
// compile.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "python/bindings.hpp"
#include "tables/tables.hpp"

namespace psc {

using NamedArrays = nb::typed<nb::dict, nb::str, nb::any>;

// Bytes for elements of one byte, words for all others.
template <class T>
using Stored = std::conditional_t<sizeof(T) == 1, std::uint8_t, Word>;

template <WordLike T>
NewArray<Word> ids_to_array(const std::vector<T>& ids) {
    const auto words = words_of(std::span<const T>(ids));
    return to_array(std::vector<Word>(words.begin(), words.end()));
}

// Elements, and what keeps them in memory.
template <class S>
struct Kept {
    std::span<const S> elements;
    std::shared_ptr<const void> owner;
};
using KeptWords = Kept<Word>;
using KeptBytes = Kept<std::uint8_t>;

// Read-only, and no copy: the array keeps the owner.
using WordView = nb::ndarray<nb::numpy, const Word, nb::ndim<1>>;
WordView to_python(const KeptWords& words);
void set_item(nb::dict& d, const char* name, const KeptWords& words);
void set_item(nb::dict& d, const char* name, const KeptBytes& bytes);
void set_item(nb::dict& d, const char* name, Word one);

// Keeps the array, perhaps a view of a file in memory that other processes share, for as long as its elements are used.
void get_item(const nb::dict& d, const char* name, KeptWords& words);
void get_item(const nb::dict& d, const char* name, KeptBytes& bytes);
void get_item(const nb::dict& d, const char* name, Word& one);

template <class Index, class T, Presence kPresence>
Kept<Stored<T>> stored(const Column<Index, T, kPresence>& column) {
    return {{reinterpret_cast<const Stored<T>*>(column.data()), column.size()}, column.owner()};
}
template <WordLike T>
Word stored(const T& one) {
    return words_of(std::span<const T>(&one, 1))[0];
}

template <class Index, class T, Presence kPresence>
void get_field(const nb::dict& d, const char* name, Column<Index, T, kPresence>& column) {
    Kept<Stored<T>> kept;
    get_item(d, name, kept);
    column.assign({reinterpret_cast<const T*>(kept.elements.data()), kept.elements.size()}, std::move(kept.owner));
}
template <WordLike T>
void get_field(const nb::dict& d, const char* name, T& one) {
    Word w = 0;
    get_item(d, name, w);
    one = ids_of<T>({&w, 1})[0];
}

template <class Table>
void add_to_dict(NamedArrays& d, const Table& table) {
    each_field(table, [&](const char* name, const auto& field, const char*) { set_item(d, name, stored(field)); });
}
template <class Table>
NamedArrays to_dict(const Table& table) {
    NamedArrays d;
    add_to_dict(d, table);
    return d;
}

template <class Table>
void from_dict(const nb::dict& d, Table& table) {
    each_field(table, [&](const char* name, auto& field, const char*) { get_field(d, name, field); });
}

// Whether a table that not every artifact has is there, or a part of it.
template <class Table>
bool has_any(const nb::dict& d) {
    bool any = false;
    Table::fields([&](const char* name, auto, const char*) { any = any || d.contains(name); });
    return any;
}

// What docs/artifact-format.md says of a field, by its type.
struct FieldText {
    NameParts index, element;
    const char *before_index = "Per ", *after_index = "";
};
template <class Index, class T, Presence kPresence>
constexpr FieldText field_text(const Column<Index, T, kPresence>*) {
    return {Name<Index>::of(), Name<T>::of()};
}
template <class Index, class Pool, Word kLeast>
constexpr FieldText field_text(const Offsets<Index, Pool, kLeast>*) {
    return {Name<Index>::of(), {"where its list begins"}, "Per ", " and one more"};
}
template <class I, Word kLeast>
constexpr FieldText field_text(const Count<I, kLeast>*) {
    return {{"One number"}, {"how many"}, ""};
}
template <WordLike T>
constexpr FieldText field_text(const T*) {
    return {{"One number"}, Name<T>::of(), ""};
}
template <class Table, class Field>
constexpr FieldText text_of_member(Field Table::*) {
    return field_text(static_cast<const Field*>(nullptr));
}

// (name, index, element, meaning) of each field.
using FieldList = nb::typed<nb::list, nb::typed<nb::tuple, std::string, std::string, std::string, std::string>>;
void append(FieldList& out, const char* name, const FieldText& text, const char* meaning);
std::string document(const FieldText& text, const char* meaning);
template <class Table>
void list_fields(FieldList& out) {
    Table::fields([&](const char* name, auto member, const char* meaning) { append(out, name, text_of_member(member), meaning); });
}

// A field's value as Python sees it, by the field's index in the declaration.
template <class S, class Table>
S nth_field(const Table& table, std::size_t n) {
    S found{};
    std::size_t i = 0;
    each_field(table, [&](const char*, const auto& field, const char*) {
        if constexpr (std::is_same_v<decltype(stored(field)), S>)
            if (i == n) found = stored(field);
        ++i;
    });
    return found;
}

// A read-only property for each field, which is one number or has words. `tables`: of a bound object.
template <class Table, class C, class F>
void bind_fields(C& c, F tables) {
    using Bound = typename C::Type;
    std::size_t next = 0;
    const auto bind_words = [&](const char* name, std::size_t n, const std::string& doc) {
        c.def_prop_ro(
            name, [n, tables](const Bound& b) { return to_python(nth_field<KeptWords>(tables(b), n)); }, nb::rv_policy::reference,
            doc.c_str());
    };
    const auto bind_number = [&](const char* name, std::size_t n, const std::string& doc) {
        c.def_prop_ro(
            name, [n, tables](const Bound& b) { return nth_field<Word>(tables(b), n); }, nb::rv_policy::reference, doc.c_str());
    };
    Table::fields([&]<class Field>(const char* name, Field Table::* member, const char* meaning) {
        const std::string doc = document(text_of_member(member), meaning);
        using S = decltype(stored(std::declval<const Field&>()));
        static_assert(std::is_same_v<S, KeptWords> || std::is_same_v<S, Word>);
        if constexpr (std::is_same_v<S, Word>)
            bind_number(name, next++, doc);
        else
            bind_words(name, next++, doc);
    });
}

}  // namespace psc
