#include "linked/machine.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "base/long_work.hpp"
#include "matcher/matcher.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxContexts = 1 << 16;
constexpr std::size_t kMaxBytesOfOnePosition = std::size_t{64} << 20;  // rows that are of one position alone
}  // namespace

LinkedMachine::LinkedMachine(std::shared_ptr<Engine> frame, std::vector<Call> calls, std::shared_ptr<VocabularyIndex> index,
                             std::size_t cache_limit)
    : frame_(std::move(frame)), calls_(std::move(calls)), index_(std::move(index)) {
    if (calls_.size() > static_cast<std::size_t>(kMaxParts)) throw LimitExceeded("parts of a grammar", kMaxParts);
    vocabulary_ = {index_->n_tokens(), nullptr, index_->offsets().data(), index_->bytes().data(), index_->is_stop().data()};
    const auto look_at = [&](const std::shared_ptr<Engine>& machine) {
        if (!machine || machine->vocabulary().size < vocabulary_.size || !machine->stop_tokens().empty())
            throw std::invalid_argument("machines that are linked have one vocabulary, and no stop tokens");
        if (machine->has_symbols()) speak_of_tokens_.push_back(machine);
    };
    look_at(frame_);
    for (const auto& [part, max_tokens, has_spent_end, role, runs_out_at] : calls_) {
        if (!part || (part->index() && part->index() != index_))
            throw std::invalid_argument("the parts of a grammar are of its vocabulary");
        if (max_tokens < 1) throw std::invalid_argument("a part has one token at least");
        if (!part->index()) look_at(part->engine());
    }
    stop_tokens_ = index_->stop_tokens();
    ends_apart_ = true;
    cache_limit_ = cache_limit;
    begin();
}

std::size_t LinkedMachine::table_bytes() const {
    std::size_t total = frame_->table_bytes();
    for (const Call& call : calls_)
        if (const auto machine = call.part->made()) total += machine->table_bytes();
    return total;
}

bool LinkedMachine::is_broken() const {
    return frame_->is_broken() || std::ranges::any_of(calls_, [](const Call& call) {
               const auto machine = call.part->made();
               return machine && machine->is_broken();
           });
}

bool LinkedMachine::has_symbol(TokenId token) const {
    return std::any_of(speak_of_tokens_.begin(), speak_of_tokens_.end(),
                       [&](const std::shared_ptr<Engine>& machine) { return machine->has_symbol(token); });
}

// Other machines are asked before the lock is taken.
const RepeatingTokens& LinkedMachine::repeating_tokens() {
    {
        const PatientLock lock(lock_);
        if (repeating_tokens_) return *repeating_tokens_;
    }
    const auto is_of_strings = [](const Call& call) {
        Matcher item(call.part->engine());
        for (std::uint8_t byte = 0; byte < 0x80; ++byte)
            if (byte != '"' && ScalarDecoder::begins_with(byte) && item.accept_bytes({&byte, 1})) return false;
        return true;
    };
    const bool only_strings =
        std::ranges::all_of(calls_, [&](const Call& call) { return call.role != Role::unique_item || is_of_strings(call); });
    const PatientLock lock(lock_);
    if (!repeating_tokens_) {
        before_long_work();
        repeating_tokens_ = std::make_unique<const RepeatingTokens>(*index_, only_strings);
    }
    return *repeating_tokens_;
}

bool LinkedMachine::may_call(Word part) const {
    const VocabularyView& all = at(part)->vocabulary();
    // The boundaries after the empty text come first.
    for (TokenId t{vocabulary_.size}; t.v < std::min(vocabulary_.size + 2, all.size); ++t.v)
        if (std::ranges::equal(all.text(t), kCallBytes)) return true;
    return false;
}

std::vector<LinkedMachine::Boundary> LinkedMachine::boundaries(Word part, const std::uint32_t* words) const {
    const VocabularyView& all = at(part)->vocabulary();
    std::vector<Boundary> near;
    for (TokenId t{vocabulary_.size}; t.v < all.size; ++t.v) {
        if (!(words[t.v >> 5] >> (t.v & 31) & 1)) continue;
        const auto text = all.text(t);
        const auto boundary = text.last(kCallBytes.size());
        near.push_back({text.first(text.size() - kCallBytes.size()), boundary[1] == kCallBytes[1]});
    }
    return near;
}

LinkedMachine::Built& LinkedMachine::current(RowCache& cache, const std::shared_ptr<RowCache>& of, Word part) {
    auto& built = static_cast<Built&>(cache);
    built.of.resize(calls_.size() + 1);
    auto& cached_of = built.of[static_cast<std::size_t>(part + 1)];
    if (cached_of != of) {
        if (cached_of) std::erase_if(built.linked_rows, [&](const auto& entry) { return entry.first.part == part; });
        cached_of = of;
    }
    return built;
}

std::optional<LinkedMachine::LinkedRow> LinkedMachine::find(RowCache& cache, const std::shared_ptr<RowCache>& of,
                                                            const RowKey& key) {
    const PatientLock lock(lock_);
    const Built& built = current(cache, of, key.part);
    const auto it = built.linked_rows.find(key);
    return it == built.linked_rows.end() ? std::nullopt : std::optional(it->second);
}

LinkedMachine::LinkedRow LinkedMachine::add(RowCache& cache, const std::shared_ptr<RowCache>& of, const RowKey& key,
                                            MaskRows::Bits& words, LinkedRow row) {
    const PatientLock lock(lock_);
    Built& built = current(cache, of, key.part);
    if (const Word beyond = vocabulary_.size & 31) words[n_words() - 1] &= (1u << beyond) - 1;
    row.row = built.rows.add(words);
    if (key.context >= -1)
        built.linked_rows.insert_or_assign(key, row);
    else if (built.bytes_of_one_position += n_words() * sizeof(std::uint32_t); built.bytes_of_one_position > kMaxBytesOfOnePosition)
        retire(cache);  // nobody looks these rows up again
    limit(cache);
    return row;
}

Word LinkedMachine::context(const std::vector<Word>& content) {
    const PatientLock lock(lock_);
    if (contexts_.size() > kMaxContexts) contexts_.clear();  // their numbers are not used again
    const auto [it, fresh] = contexts_.try_emplace(content, next_context_);
    next_context_ += fresh;
    return it->second;
}

}  // namespace psc
