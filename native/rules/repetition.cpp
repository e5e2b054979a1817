#include "rules/repetition.hpp"

#include <bit>

namespace psc {

namespace {

constexpr std::int64_t kWrittenOut = 3;  // up to this exact count, copies are written out

std::size_t highest_bit(std::int64_t count) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(count))) - 1;
}

}  // namespace

OptionalSymbols Repetition::symbols(DraftSymbol x, Bounds b, std::string_view name) {
    if (b.open()) {
        if (b.least == 0) return {{list_of(x, name), true}};
        OptionalSymbols all = exactly(x, b.least - 1, name);
        all.push_back({list_of(x, name), false});
        return all;
    }
    OptionalSymbols all = exactly(x, b.least, name);
    if (b.most != b.least) all.push_back({at_most(x, b.most - b.least, name), true});
    return all;
}

DraftSymbol Repetition::list_of(DraftSymbol x, std::string_view name) {
    const auto cached = lists_.find(x);
    if (cached != lists_.end()) return cached->second;
    const DraftSymbol list = fresh(name);
    lists_.emplace(x, list);
    add(list, {{x, false}});
    add(list, {{list, false}, {x, false}});
    return list;
}

DraftSymbol Repetition::power(DraftSymbol x, std::size_t k, std::string_view name) {
    auto& powers = powers_[x];
    if (powers.empty()) powers.push_back(x);
    while (powers.size() <= k) {
        const OptionalSymbol half{powers.back(), false};
        powers.push_back(fresh(name));
        add(powers.back(), {half, half});
    }
    return powers[k];
}

OptionalSymbols Repetition::exactly(DraftSymbol x, std::int64_t count, std::string_view name) {
    if (count <= kWrittenOut) return OptionalSymbols(static_cast<std::size_t>(count), {x, false});
    OptionalSymbols all;
    for (std::size_t k = highest_bit(count) + 1; k-- > 0;)
        if (count >> k & 1) all.push_back({power(x, k, name), false});
    return all;
}

DraftSymbol Repetition::below_power(DraftSymbol x, std::size_t k, std::string_view name) {
    auto& below = all_below_[x];
    if (below.empty()) below = {x, x};
    while (below.size() <= k) {
        const DraftSymbol digit = power(x, below.size() - 1, name), fewer = below.back();
        below.push_back(fresh(name));
        add(below.back(), {{digit, false}, {fewer, false}});
        add(below.back(), {{digit, false}});
        add(below.back(), {{fewer, false}});
    }
    return below[k];
}

DraftSymbol Repetition::at_most(DraftSymbol x, std::int64_t count, std::string_view name) {
    const std::size_t k = highest_bit(count);
    const std::int64_t rest = count - (std::int64_t{1} << k);
    if (rest == (std::int64_t{1} << k) - 1) return below_power(x, k + 1, name);
    const auto cached = up_to_.find({x, count});
    if (cached != up_to_.end()) return cached->second;
    OptionalSymbols with_rest;
    if (rest > 0) with_rest.push_back({at_most(x, rest, name), false});
    const DraftSymbol digit = power(x, k, name), fewer = below_power(x, k, name);
    const DraftSymbol found = fresh(name);
    up_to_.emplace(std::pair(x, count), found);
    if (rest > 0) {
        with_rest.insert(with_rest.begin(), {digit, false});
        productions_.add(found.nonterminal(), with_rest);
    }
    add(found, {{digit, false}});
    add(found, {{fewer, false}});
    return found;
}

}  // namespace psc
