#include "python/matcher_arguments.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/errors.hpp"

namespace psc {

std::string name_of_type(nb::handle h) {
    return nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(h.ptr()))).attr("__name__"));
}

Bitmask bitmask_from(nb::handle h) {
    Bitmask bitmask;
    if (nb::try_cast(h, bitmask)) {
        if (bitmask.device_type() != nb::device::cpu::value)
            throw BitmaskError("the bitmask is on another device; fill one on the CPU and copy it there");
        return bitmask;
    }
    PyErr_Clear();
    if (nb::ndarray<nb::ro> fixed; nb::try_cast(h, fixed)) throw BitmaskError("the bitmask is read-only");
    PyErr_Clear();
    throw nb::type_error(
        ("the bitmask must be an int32 array, NumPy's or one that DLPack carries, not " + name_of_type(h)).c_str());
}

Indices indices_from(nb::handle h, const char* name) {
    nb::ndarray<nb::ro> any;
    if (!nb::try_cast(h, any) || any.ndim() != 1 || any.device_type() != nb::device::cpu::value ||
        any.dtype().code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int))
        throw nb::type_error((std::string(name) + " must be an int64 array of one dimension on the CPU").c_str());
    const auto a = nb::cast<Array<std::int64_t>>(h);
    return to_vector(a);
}

Rows::Rows(const Bitmask& bitmask, std::size_t words) : data(static_cast<Word*>(bitmask.data())), count(1), stride(0) {
    if (bitmask.dtype() != nb::dtype<Word>()) throw BitmaskError("the bitmask must be an int32 array");
    if (bitmask.ndim() != 1 && bitmask.ndim() != 2)
        throw BitmaskError("the bitmask must have one or two dimensions, not " + std::to_string(bitmask.ndim()));
    const std::size_t last = bitmask.ndim() - 1;
    if (bitmask.shape(last) != words)
        throw BitmaskError("the bitmask has " + std::to_string(bitmask.shape(last)) + " words a row; this vocabulary needs " +
                           std::to_string(words));
    if (words > 1 && bitmask.stride(last) != 1) throw BitmaskError("the bitmask's rows must be contiguous");
    if (last == 1) {
        count = bitmask.shape(0);
        stride = bitmask.stride(0);
    }
}

std::uint32_t* Rows::row(std::int64_t index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= count)
        throw BitmaskError("row " + std::to_string(index) + " of a bitmask of " + std::to_string(count) + " rows");
    return reinterpret_cast<std::uint32_t*>(data + index * stride);
}

Text::Text(nb::handle text) {
    const auto view = [](const char* data, Py_ssize_t n) {
        return std::span(reinterpret_cast<const std::uint8_t*>(data), static_cast<std::size_t>(n));
    };
    if (PyUnicode_Check(text.ptr())) {
        Py_ssize_t n;
        const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &n);
        if (!data) throw nb::python_error();
        bytes = view(data, n);
    } else if (PyBytes_Check(text.ptr())) {
        bytes = view(PyBytes_AS_STRING(text.ptr()), PyBytes_GET_SIZE(text.ptr()));
    } else if (PyByteArray_Check(text.ptr())) {
        bytes = view(PyByteArray_AS_STRING(text.ptr()), PyByteArray_GET_SIZE(text.ptr()));
        copy.assign(bytes.begin(), bytes.end());
        bytes = copy;
    } else {
        throw nb::type_error("text must be str or bytes");
    }
}

std::size_t whole_characters(const std::string& s) {
    std::size_t n = 0;
    while (n < s.size()) {
        const auto lead = static_cast<std::uint8_t>(s[n]);
        const std::size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
        if (length == 0 || n + length > s.size()) break;
        std::uint32_t c = length == 1 ? lead : lead & (0x7f >> length);
        bool valid = true;
        for (std::size_t i = 1; i < length; ++i) {
            valid &= (s[n + i] & 0xc0) == 0x80;
            c = c << 6 | (s[n + i] & 0x3f);
        }
        valid &= !(length == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) && !(length == 4 && (c < 0x10000 || c > 0x10ffff));
        if (!valid) break;
        n += length;
    }
    return n;
}

TokenId token_of(std::int64_t token) { return {token < 0 || token > 0x7fffffff ? -1 : static_cast<Word>(token)}; }

std::size_t steps_of(std::int64_t n) {
    if (n < 0) throw MatcherError("cannot take back " + std::to_string(n) + " steps");
    return static_cast<std::size_t>(n);
}

std::int64_t any_integer(nb::handle h, const char* what) {
    PyErr_Clear();
    int overflow = 0;
    if (PyLong_CheckExact(h.ptr())) {
        const std::int64_t value = PyLong_AsLongLongAndOverflow(h.ptr(), &overflow);
        return overflow ? (overflow < 0 ? INT64_MIN : INT64_MAX) : value;
    }
    if (!PyIndex_Check(h.ptr())) throw nb::type_error((std::string(what) + " must be integers, not " + name_of_type(h)).c_str());
    const nb::object exact = nb::steal(PyNumber_Index(h.ptr()));
    if (!exact.is_valid()) throw nb::python_error();
    return any_integer(exact, what);
}

std::vector<std::int64_t> integers(nb::handle list, const char* what) {
    std::vector<std::int64_t> out;
    if (const Py_ssize_t n = PyList_CheckExact(list.ptr()) ? PyList_GET_SIZE(list.ptr()) : 0; n > 0)
        out.reserve(static_cast<std::size_t>(n));
    for (nb::handle h : list) out.push_back(integer(h, what));
    return out;
}

std::vector<TokenId> stop_tokens_from(nb::handle given, Word vocab_size) {
    std::vector<std::int64_t> ids;
    if (PyIndex_Check(given.ptr()) && !nb::hasattr(given, "__len__"))
        ids.push_back(integer(given, "stop tokens"));
    else
        ids = integers(given, "stop tokens");
    if (ids.empty()) throw MatcherError("override_stop_tokens is empty; leave it out to keep the tokenizer's");
    std::vector<TokenId> out;
    for (std::int64_t id : ids) {
        if (id < 0 || id >= vocab_size)
            throw MatcherError("stop token " + std::to_string(id) + " is out of range; the vocabulary has " +
                               std::to_string(vocab_size) + " tokens");
        out.push_back(token_of(id));
    }
    return out;
}

int threads_from(nb::handle given) {
    std::int64_t n = 0;
    if (nb::isinstance<nb::str>(given) && nb::cast<std::string>(given) == "auto")
        n = std::max(1u, std::thread::hardware_concurrency());
    else if (PyLong_Check(given.ptr()))
        n = integer(given, "threads");
    if (n < 1 || n > 4096) throw MatcherError("max_threads must be \"auto\" or a number from 1 to 4096");
    return static_cast<int>(n);
}

std::optional<double> checked_temperature(nb::handle given) {
    if (given.is_none()) return std::nullopt;
    const double value = PyFloat_AsDouble(given.ptr());
    if (value == -1.0 && PyErr_Occurred()) throw nb::python_error();
    if (!std::isfinite(value) || value < 0)
        throw MatcherError("default_temperature must be a finite non-negative number, not " +
                           nb::cast<std::string>(nb::str(given)));
    return value;
}

Temperatures::Temperatures(nb::handle given) {
    nb::ndarray<> any;
    const bool is_array = nb::try_cast(given, any);
    PyErr_Clear();
    if (!is_array || any.dtype() != nb::dtype<float>() || any.ndim() != 1 || any.device_type() != nb::device::cpu::value)
        throw MatcherError("the temperatures tensor must be a float32 array of one dimension on the CPU that can be written to");
    array_ = any;
}

float& Temperatures::operator[](std::int64_t i) const {
    if (i < 0 || static_cast<std::size_t>(i) >= size())
        throw MatcherError("entry " + std::to_string(i) + " is out of bounds: the temperatures tensor has " +
                           std::to_string(size()) + " entries");
    return static_cast<float*>(array_.data())[i * array_.stride(0)];
}

void same_length(std::size_t matchers, std::size_t others, const char* what) {
    if (matchers != others)
        throw MatcherError("the " + std::string(what) + " size is " + std::to_string(others) + ", where there are " +
                           std::to_string(matchers) + " matchers");
}

}  // namespace psc
