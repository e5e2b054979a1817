#include "masks/composed_rows.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/intern.hpp"

namespace psc {

namespace {

// Two at a time, so that neither waits for the other.
std::uint64_t hash_of(ClassRows::ConstClasses words) {
    std::uint64_t lanes[2] = {1, 2};
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::uint64_t& h = lanes[i % 2];
        h = (h ^ words[i]) * 0xd6e8feb86659fd93ULL;
        h ^= h >> 32;
    }
    return mix(lanes[0] ^ mix(lanes[1]));
}

}  // namespace

const ComposedRows::Composed* ComposedRows::nearest(const ClassRows& class_rows, ClassRows::ConstClasses classes,
                                                    std::size_t weight) const {
    const Composed* best = nullptr;
    std::size_t least = std::min(weight, class_rows.distance(classes, class_rows.all_classes()));
    const auto look_at = [&](const Composed& c) {
        const std::size_t d = class_rows.distance(classes, {c.classes.get(), classes.size()});
        if (d >= least) return;
        least = d;
        best = &c;
    };
    auto above = by_weight_.lower_bound(weight), below = above;
    for (int i = 0; i < kNeighbours / 2 && (!best || least > kNear); ++i) {
        if (above != by_weight_.end()) look_at(composed_[above++->second]);
        if (below != by_weight_.begin()) look_at(composed_[(--below)->second]);
    }
    return best;
}

MaskRow ComposedRows::row(const ClassRows& class_rows, MaskRows& rows, ClassRows::ConstClasses classes) {
    const std::uint64_t h = hash_of(classes);
    const auto [first, last] = by_hash_.equal_range(h);
    for (auto it = first; it != last; ++it)
        if (const Composed& c = composed_[it->second]; std::equal(classes.begin(), classes.end(), c.classes.get())) return c.row;

    const std::size_t weight = class_rows.weight(classes), n_bytes = rows.n_words() * 4;
    auto words = std::make_unique_for_overwrite<std::uint32_t[]>(rows.n_words());
    std::size_t n_tokens = 0;
    if (const Composed* base = nearest(class_rows, classes, weight)) {
        rows.copy(base->row, words.get());
        n_tokens = class_rows.flip({base->classes.get(), classes.size()}, classes, base->n_tokens, words.get());
    } else if (2 * weight <= class_rows.weight(class_rows.all_classes())) {
        std::memset(words.get(), 0, n_bytes);
        n_tokens = class_rows.flip(class_rows.no_classes(), classes, 0, words.get());
    } else {
        std::memcpy(words.get(), class_rows.all_tokens(), n_bytes);
        n_tokens = class_rows.flip(class_rows.all_classes(), classes, class_rows.n_tokens(), words.get());
    }
    const std::size_t n_allowed = n_tokens + class_rows.put_stops(classes, words.get());

    Composed c{std::make_unique_for_overwrite<std::uint64_t[]>(classes.size()), rows.add_new(words, n_allowed), n_tokens};
    std::copy(classes.begin(), classes.end(), c.classes.get());
    const std::size_t i = composed_.size();
    by_hash_.emplace(h, i);
    by_weight_.emplace(weight, i);
    composed_.push_back(std::move(c));
    bytes_ += classes.size_bytes() + sizeof(Composed) + 128;
    return composed_.back().row;
}

}  // namespace psc
