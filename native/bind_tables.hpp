// Stored tables from and to Python: by the names that they are declared with, as NumPy arrays without a copy.
#pragma once

#include <string>
#include <vector>

#include "bindings.hpp"
#include "tables.hpp"

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

// Read-only, and no copy: the array keeps the column.
template <class T>
using ViewArray = nb::ndarray<nb::numpy, const Stored<T>, nb::ndim<1>>;

template <class Index, class T, Presence kPresence>
ViewArray<T> to_python(const Column<Index, T, kPresence>& column) {
    auto* kept = new Column<Index, T, kPresence>(column);
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Column<Index, T, kPresence>*>(p); });
    return ViewArray<T>(reinterpret_cast<const Stored<T>*>(kept->data()), {kept->size()}, owner);
}
template <WordLike T>
Word to_python(const T& one) {
    return words_of(std::span<const T>(&one, 1))[0];
}

template <class Table>
NamedArrays to_dict(const Table& table) {
    NamedArrays d;
    each_field(table, [&](const char* name, const auto& field, const char*) { d[name] = to_python(field); });
    return d;
}

template <class Index, class T, Presence kPresence>
void from_python(nb::handle value, Column<Index, T, kPresence>& column) {
    // Keeps the array, perhaps a view of a file in memory that other processes share, for as long as the column lives.
    const auto array = std::make_shared<const Array<Stored<T>>>(nb::cast<Array<Stored<T>>>(value));
    column = {std::span<const T>(reinterpret_cast<const T*>(array->data()), array->size()), array};
}
template <class Index, class Pool, Word kLeast>
void from_python(nb::handle value, Offsets<Index, Pool, kLeast>& offsets) {
    const auto array = std::make_shared<const Ints>(nb::cast<Ints>(value));
    offsets = {std::span<const Word>(array->data(), array->size()), array};
}
template <WordLike T>
void from_python(nb::handle value, T& one) {
    const Word w = nb::cast<Word>(value);
    one = ids_of<T>({&w, 1})[0];
}

template <class Table>
void from_dict(const nb::dict& d, Table& table) {
    each_field(table, [&](const char* name, auto& field, const char*) { from_python(d[name], field); });
}

// Whether a table that not every artifact has is there, or a part of it.
template <class Table>
bool has_any(const nb::dict& d) {
    bool any = false;
    Table::fields([&](const char* name, auto, const char*) { any = any || d.contains(name); });
    return any;
}

// What docs/artifact-format.md says of a field.
struct FieldText {
    std::string index, element;
};
template <class Index, class T, Presence kPresence>
FieldText field_text(const Column<Index, T, kPresence>&) {
    return {"Per " + Name<Index>::of(), Name<T>::of()};
}
template <class Index, class Pool, Word kLeast>
FieldText field_text(const Offsets<Index, Pool, kLeast>&) {
    return {"Per " + Name<Index>::of() + " and one more", "where its list begins"};
}
template <class I, Word kLeast>
FieldText field_text(const Count<I, kLeast>&) {
    return {"One number", "how many"};
}
template <WordLike T>
FieldText field_text(const T&) {
    return {"One number", Name<T>::of()};
}

// (name, index, element, meaning) of each field.
using FieldList = nb::typed<nb::list, nb::typed<nb::tuple, std::string, std::string, std::string, std::string>>;
template <class Table>
void list_fields(FieldList& out) {
    Table::fields([&](const char* name, auto member, const char* meaning) {
        const FieldText text = field_text(Table().*member);
        out.append(nb::make_tuple(name, text.index, text.element, meaning));
    });
}

// A read-only property for each field. `tables`: of a bound object.
template <class Table, class C, class F>
void bind_fields(C& c, F tables) {
    Table::fields([&](const char* name, auto member, const char* meaning) {
        const FieldText text = field_text(Table().*member);
        const std::string doc = text.index + ": " + text.element + "; " + meaning + ".";
        using Bound = typename C::Type;
        c.def_prop_ro(
            name, [member, tables](const Bound& b) { return to_python(tables(b).*member); }, nb::rv_policy::reference, doc.c_str());
    });
}

}  // namespace psc
