#include "masks/stop_sets.hpp"

namespace psc {

StopSet StopSets::id_of(std::span<const TokenId> tokens, std::span<const TokenId> requested) {
    const auto words = words_of(tokens), more = words_of(requested);
    scratch_.assign(1, static_cast<Word>(tokens.size()));
    scratch_.insert(scratch_.end(), words.begin(), words.end());
    scratch_.insert(scratch_.end(), more.begin(), more.end());
    return {lists_.intern(scratch_).first * 2};
}

StopSets::Set StopSets::operator[](StopSet set) const {
    const auto list = lists_[set.v / 2];
    const auto tokens = ids_of<TokenId>(list.subspan(1));
    const auto n = static_cast<std::size_t>(list[0]);
    return {tokens.first(n), tokens.subspan(n), (set.v & 1) != 0};
}

}  // namespace psc
