// Masking of logits, as Python sees it: arrays of any library that speaks DLPack, changed in place.
#include <nanobind/stl/optional.h>

#include <optional>

#include "apply_bitmask.hpp"
#include "bindings.hpp"

namespace psc {

namespace {

using Logits = nb::ndarray<nb::ndim<2>, nb::device::cpu>;
using Bitmask = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::device::cpu>;
using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A bitmask row with its words side by side, copied if they are not.
class Words {
   public:
    explicit Words(const Bitmask& mask) : mask_(mask) {
        if (mask.stride(1) != 1) copy_.resize(mask.shape(1));
    }
    std::span<const std::int32_t> row(std::size_t i) {
        const std::int32_t* first = mask_.data() + static_cast<std::int64_t>(i) * mask_.stride(0);
        if (copy_.empty()) return {first, mask_.shape(1)};
        for (std::size_t w = 0; w < copy_.size(); ++w) copy_[w] = first[static_cast<std::int64_t>(w) * mask_.stride(1)];
        return copy_;
    }

   private:
    const Bitmask& mask_;
    std::vector<std::int32_t> copy_;
};

template <class Bits>
void apply(const Logits& logits, const Bitmask& mask, std::size_t width, const std::optional<Rows>& rows, Bits minus_infinity) {
    nb::gil_scoped_release release;
    Words words(mask);
    auto* data = static_cast<Bits*>(logits.data());
    auto one = [&](std::size_t i) {
        apply_bitmask_row(data + static_cast<std::int64_t>(i) * logits.stride(0), width, logits.stride(1), words.row(i), minus_infinity);
    };
    if (rows) {
        for (std::size_t k = 0; k < rows->shape(0); ++k) one(static_cast<std::size_t>(rows->data()[k]));
    } else {
        for (std::size_t i = 0; i < logits.shape(0); ++i) one(i);
    }
}

void apply_bitmask(const Logits& logits, const Bitmask& mask, std::size_t width, const std::optional<Rows>& rows) {
    if (width > logits.shape(1)) throw nb::value_error("the width is larger than the logits");
    if (!rows && logits.shape(0) != mask.shape(0)) throw nb::value_error("logits and bitmask have different numbers of rows");
    for (std::size_t k = 0; rows && k < rows->shape(0); ++k) {
        const auto i = rows->data()[k];
        if (i < 0 || static_cast<std::size_t>(i) >= std::min(logits.shape(0), mask.shape(0)))
            throw nb::value_error("a row is out of range");
    }
    if (logits.dtype() == nb::dtype<double>()) return apply<std::uint64_t>(logits, mask, width, rows, 0xFFF0'0000'0000'0000u);
    if (logits.dtype() == nb::dtype<float>()) return apply<std::uint32_t>(logits, mask, width, rows, 0xFF80'0000u);
    const auto dtype = logits.dtype();
    if (dtype.bits == 16 && dtype.lanes == 1 && dtype.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float))
        return apply<std::uint16_t>(logits, mask, width, rows, 0xFC00u);
    if (dtype.bits == 16 && dtype.lanes == 1 && dtype.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat))
        return apply<std::uint16_t>(logits, mask, width, rows, 0xFF80u);
    throw nb::type_error("logits must be float16, bfloat16, float32 or float64");
}

}  // namespace

void bind_bitmask(nb::module_& m) {
    // Spelled out, because the stub generator has no name for an array of some dtype.
    constexpr auto* signature = "def apply_bitmask(logits: object, bitmask: object, width: int, rows: object | None = None) -> None";
    m.def("apply_bitmask", &apply_bitmask, nb::sig(signature), "logits"_a.noconvert(), "bitmask"_a.noconvert(), "width"_a,
          "rows"_a.noconvert().none() = nb::none(),
          "Sets logits[i, :width] to minus infinity where bit j % 32 of bitmask[i, j // 32] is 0, and beyond the bitmask.\n\n"
          "logits: (rows, columns), float16, bfloat16, float32 or float64, any strides, changed in place. bitmask: (rows, words)\n"
          "int32. rows: the rows to change, int64; all of them if None. Raises ValueError if the shapes do not fit, TypeError for\n"
          "another dtype.");
}

}  // namespace psc
