#include "masks/row_cache.hpp"

namespace psc {

std::size_t RowCache::bytes() const { return rows.bytes() + row_unions.bytes() + other_stops.bytes() + stop_sets.bytes(); }

MaskRow RowCache::add_union(MaskRow a, MaskRow b) {
    const std::size_t n_words = rows.n_words();
    auto x = std::make_unique_for_overwrite<std::uint32_t[]>(n_words);
    const auto y = std::make_unique_for_overwrite<std::uint32_t[]>(n_words);
    rows.copy(a, x.get());
    rows.copy(b, y.get());
    for (std::size_t i = 0; i < n_words; ++i) x[i] |= y[i];
    const MaskRow id = rows.add(x);
    row_unions.insert(a, b, id);
    return id;
}

}  // namespace psc
