// Masking of logits, as Python sees it: arrays of any library that speaks DLPack, changed in place.
#include <nanobind/stl/optional.h>

#include <optional>

#include "base/errors.hpp"
#include "masks/apply_bitmask.hpp"
#include "matcher/mask_slots.hpp"
#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"

namespace psc {

namespace {

using Logits = nb::ndarray<nb::ndim<2>, nb::device::cpu>;
using MaskArray = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::device::cpu>;
using RowNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A bitmask row with its words side by side, copied if they are not.
class Words {
public:
    explicit Words(const MaskArray& mask) : mask_(mask) {
        if (mask.stride(1) != 1) copy_.resize(mask.shape(1));
    }
    std::span<const std::int32_t> row(std::size_t i) {
        const std::int32_t* first = mask_.data() + static_cast<std::int64_t>(i) * mask_.stride(0);
        if (copy_.empty()) return {first, mask_.shape(1)};
        for (std::size_t w = 0; w < copy_.size(); ++w) copy_[w] = first[static_cast<std::int64_t>(w) * mask_.stride(1)];
        return copy_;
    }

private:
    const MaskArray& mask_;
    std::vector<std::int32_t> copy_;
};

template <class Bits>
void apply(const Logits& logits, const MaskArray& mask, std::size_t width, const std::optional<RowNumbers>& rows,
           Bits minus_infinity) {
    const WithoutInterpreterLock release;
    Words words(mask);
    auto* data = static_cast<Bits*>(logits.data());
    auto one = [&](std::size_t i) {
        apply_bitmask_row(data + static_cast<std::int64_t>(i) * logits.stride(0), width, logits.stride(1), words.row(i),
                          minus_infinity);
    };
    if (rows) {
        for (std::size_t k = 0; k < rows->shape(0); ++k) one(static_cast<std::size_t>(rows->data()[k]));
    } else {
        for (std::size_t i = 0; i < logits.shape(0); ++i) one(i);
    }
}

void apply_bitmask(const Logits& logits, const MaskArray& mask, std::size_t width, const std::optional<RowNumbers>& rows) {
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

using Integers = nb::ndarray<nb::ndim<2>, nb::device::cpu>;
using Table = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using FixedTable = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Bits>
void apply_ids(const Integers& logits, std::uint64_t minus_infinity, const FixedTable& table, const Ints& ids, std::size_t width,
               const std::optional<RowNumbers>& rows) {
    const WithoutInterpreterLock release;
    auto* data = static_cast<Bits*>(logits.data());
    for (std::size_t k = 0; k < ids.shape(0); ++k) {
        const Word id = ids.data()[k];
        if (id < 0) continue;
        const std::int64_t at = rows ? rows->data()[k] : static_cast<std::int64_t>(k);
        apply_bitmask_row(data + at * logits.stride(0), width, logits.stride(1),
                          {table.data() + id * table.stride(0), table.shape(1)}, static_cast<Bits>(minus_infinity));
    }
}

void apply_mask_rows(const Integers& logits, std::uint64_t minus_infinity, const FixedTable& table, const Ints& ids,
                     std::size_t width, const std::optional<RowNumbers>& rows) {
    if (width > logits.shape(1)) throw BitmaskError("the width is larger than the logits");
    if (rows ? rows->shape(0) != ids.shape(0) : ids.shape(0) > logits.shape(0))
        throw BitmaskError("there are not as many ids of mask rows as rows of logits");
    for (std::size_t k = 0; k < ids.shape(0); ++k) {
        const Word id = ids.data()[k];
        if (id < -1 || (id >= 0 && static_cast<std::size_t>(id) >= table.shape(0)))
            throw BitmaskError("there is no mask row " + std::to_string(id) + " in a table of " + std::to_string(table.shape(0)));
        if (rows && (rows->data()[k] < 0 || static_cast<std::size_t>(rows->data()[k]) >= logits.shape(0)))
            throw BitmaskError("there is no row " + std::to_string(rows->data()[k]) + " of logits");
    }
    if (logits.dtype() == nb::dtype<std::uint16_t>())
        return apply_ids<std::uint16_t>(logits, minus_infinity, table, ids, width, rows);
    if (logits.dtype() == nb::dtype<std::uint32_t>())
        return apply_ids<std::uint32_t>(logits, minus_infinity, table, ids, width, rows);
    if (logits.dtype() == nb::dtype<std::uint64_t>())
        return apply_ids<std::uint64_t>(logits, minus_infinity, table, ids, width, rows);
    throw nb::type_error("logits must be seen as uint16, uint32 or uint64");
}

void check_mask_writes(const Ints& writes, const Array<std::uint32_t>& pool, std::size_t n_slots, Word vocab_size) {
    if (vocab_size < 0) throw BitmaskError("a vocabulary of " + std::to_string(vocab_size));
    if (writes.shape(0) % 4) throw BitmaskError("a write is four numbers");
    const std::span<const Word> numbers(writes.data(), writes.shape(0));
    for (std::size_t i = 0; i < numbers.size(); i += 4)
        check_write({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]}, {pool.data(), pool.shape(0)}, n_slots,
                    vocab_size);
}

void write_mask_rows(const Table& table, const Ints& writes, const Array<std::uint32_t>& pool, Word vocab_size) {
    check_mask_writes(writes, pool, table.shape(0), vocab_size);
    if (table.shape(1) != (static_cast<std::size_t>(vocab_size) + 31) / 32)
        throw BitmaskError("the table's rows do not fit a vocabulary of " + std::to_string(vocab_size));
    const std::span<const Word> numbers(writes.data(), writes.shape(0));
    const WithoutInterpreterLock release;
    for (std::size_t i = 0; i < numbers.size(); i += 4)
        write_row({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]}, {pool.data(), pool.shape(0)}, vocab_size,
                  reinterpret_cast<std::uint32_t*>(table.data() + numbers[i] * table.stride(0)));
}

}  // namespace

void bind_bitmask(nb::module_& m) {
    // Spelled out, because the stub generator has no name for an array of some dtype.
    constexpr auto* signature =
        "def apply_bitmask(logits: object, bitmask: object, width: int, rows: object | None = None) -> None";
    m.def("apply_bitmask", &apply_bitmask, nb::sig(signature), "logits"_a.noconvert(), "bitmask"_a.noconvert(), "width"_a,
          "rows"_a.noconvert().none() = nb::none(),
          "Sets logits[i, :width] to minus infinity where bit j % 32 of bitmask[i, j // 32] is 0, and beyond the bitmask.\n\n"
          "logits: (rows, columns), float16, bfloat16, float32 or float64, any strides, changed in place. bitmask: (rows, words)\n"
          "int32. rows: the rows to change, int64; all of them if None. Raises ValueError if the shapes do not fit, TypeError for\n"
          "another dtype.");
    m.def("apply_mask_rows", &apply_mask_rows,
          nb::sig("def apply_mask_rows(logits: object, minus_infinity: int, table: object, ids: object, width: int, rows: object | "
                  "None = "
                  "None) -> None"),
          "logits"_a.noconvert(), "minus_infinity"_a, "table"_a.noconvert(), "ids"_a.noconvert(), "width"_a,
          "rows"_a.noconvert().none() = nb::none(),
          "Sets logits[k, :width] to minus infinity where the mask row table[ids[k]] has no bit, and beyond it; -1 leaves "
          "logits[k] alone.\n\n"
          "logits: (batch, columns), the bits of floats as uint16, uint32 or uint64, any strides, changed in place. "
          "minus_infinity: its bits.\n"
          "table: (slots, words) int32. ids: (n,) int32. rows: (n,) int64, the row of logits that each id is for; k by default. "
          "Raises\n"
          "BitmaskError, before anything is changed, when an id or a row is out of range.");
    m.def("check_mask_writes", &check_mask_writes,
          nb::sig("def check_mask_writes(writes: numpy.typing.NDArray[numpy.int32], pool: numpy.typing.NDArray[numpy.uint32], "
                  "n_slots: int, "
                  "vocab_size: int) -> None"),
          "writes"_a.noconvert(), "pool"_a.noconvert(), "n_slots"_a, "vocab_size"_a,
          "Raises BitmaskError when a write, as in MaskSlots.writes, reaches out of the table, its pool or the vocabulary.");
    m.def("write_mask_rows", &write_mask_rows,
          nb::sig("def write_mask_rows(table: object, writes: numpy.typing.NDArray[numpy.int32], pool: "
                  "numpy.typing.NDArray[numpy.uint32], "
                  "vocab_size: int) -> None"),
          "table"_a.noconvert(), "writes"_a.noconvert(), "pool"_a.noconvert(), "vocab_size"_a,
          "Makes what MaskSlots.writes describes: one row of `table` (slots, words) for each write.\n\n"
          "Raises BitmaskError, before anything is written, when a write is malformed. Cost: a few microseconds a row.");
}

}  // namespace psc
