// Shared by the binding files: the names of all bind functions, and vectors from and to NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/ids.hpp"

namespace psc {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Array = nb::ndarray<const T, nb::c_contig, nb::device::cpu, nb::ndim<1>>;
using Ints = Array<Word>;
using Longs = Array<std::int64_t>;
using Bytes = Array<std::uint8_t>;

template <class T>
std::vector<T> to_vector(const Array<T>& a) {
    return std::vector<T>(a.data(), a.data() + a.size());
}

// A new NumPy array that owns its memory. (As a property it needs rv_policy::reference, or nanobind looks for another owner.)
template <class T>
using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
NewArray<T> to_array(std::vector<T> v) {
    auto* kept = new std::vector<T>(std::move(v));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NewArray<T>(kept->data(), {kept->size()}, owner);
}

// As Python has it: lone surrogates are let through.
inline std::u32string to_code_points(nb::handle text) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a str is expected");
    std::u32string result(static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr())), U'\0');
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = PyUnicode_READ_CHAR(text.ptr(), static_cast<Py_ssize_t>(i));
    return result;
}

// As NumPy arrays have them: right-hand sides one after the other, symbols as in lr/lalr.hpp.
struct Productions;
Productions productions_of(Word n_terminals, Word n_nonterminals, Word start, Ints lhs, Ints rhs_offsets, Ints rhs, Ints priority);
// Ids as Python has them.
template <WordLike T>
std::vector<Word> numbers(const std::vector<T>& ids) {
    const auto words = words_of(std::span<const T>(ids));
    return {words.begin(), words.end()};
}

void bind_cancellation(nb::module_& m);
void bind_limits(nb::module_& m);
void bind_lr_tables(nb::module_& m);
void bind_lowering(nb::module_& m);
void bind_compilation(nb::module_& m);
void bind_linked_parts(nb::module_& m);
void bind_errors();
void bind_vocabulary(nb::module_& m);
void bind_machine(nb::module_& m);
void bind_terminals(nb::module_& m);
void bind_bitmask(nb::module_& m);
void bind_matcher(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_slots(nb::module_& m);
void bind_mask_buffer(nb::module_& m);
void bind_inspection(nb::module_& m);
void bind_warm_rows(nb::module_& m);
void bind_text_automata(nb::module_& m);
void bind_json_schema(nb::module_& m);

}  // namespace psc
