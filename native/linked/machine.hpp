// Engines that are linked: that of a frame, in whose grammar calls stand for parts, and one for each part (linked/part.hpp).
//
// The grammar of a structural tag is a frame around the schemas of tools; the same schema stands in many frames. So a part has an engine of
// its own, with its own lexer, tables and rows, that every grammar with this part uses. In the frame's grammar a part is a *call*, in
// the part's the end of the text is an *end*: characters beyond all tokens' symbols, which no text has. A text is read by the frame's
// engine up to a call, then by the part's up to its end, then by the frame's from after the call on (linked/matcher.hpp has an example).
//
// A token may go over such a boundary: it ends a part and begins what follows. So the vocabularies of the engines have *boundary tokens*
// besides: for beginnings x of tokens, x and then the boundary. Whether x leads to a boundary is a bit of a row like all others, so a row
// says whether a token may go over one, and a step that does not costs what it costs in the part alone.
//
// A part may be called for a limited number of tokens (linked/budget.hpp), and may call parts itself. Such a part is not called for the
// empty text; its caller's grammar has an alternative for that.
//
// A linked machine has rows of its own and no engine. Which row of an engine comes to which row here is cached: by the row alone where
// no boundary is near, else by the row and by what the text goes on with after the boundary.
//
// Threads: as of all machines (machine/machine.hpp). Cost: a look-up more for each mask; near a boundary, the first time, a reading of
// the tokens that begin with each x.
//
// Tried and dropped: a linked machine as an engine whose functions forwarded to the frame's, or threw.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "linked/budget.hpp"
#include "linked/part.hpp"
#include "linked/unique_items.hpp"
#include "machine/engine.hpp"
#include "text/token_symbols.hpp"
#include "vocabulary/index.hpp"

namespace psc {

class LinkedMachine final : public Machine {
public:
    // What a part is to linked/unique_items.hpp: some text; an array whose items must differ; such an item, a scalar.
    enum class Role : std::uint8_t { text, unique_array, unique_item };
    // A part, how many tokens may have bytes in its text, 1 at least, and whether it has a second end for when these are exhausted.
    struct Call {
        std::shared_ptr<LinkedPart> part;
        Word max_tokens;
        bool has_spent_end = false;
        Role role = Role::text;
        Word runs_out_at = UniqueWalk::kNever;  // of an item, or the least of an array's items
    };
    // `index`: the vocabulary, with no boundary tokens. The others have its tokens, no stop tokens, and boundary tokens after these.
    LinkedMachine(std::shared_ptr<Engine> frame, std::vector<Call> calls, std::shared_ptr<VocabularyIndex> index,
                  std::size_t cache_limit);

    static constexpr Word kFrame = -1;
    // A part's engine is made when it is used first.
    const std::shared_ptr<Engine>& at(Word part) const {
        return part == kFrame ? frame_ : calls_[static_cast<std::size_t>(part)].part->engine();
    }
    Word max_tokens(Word part) const {
        return part == kFrame ? Budget::kAnyNumber : calls_[static_cast<std::size_t>(part)].max_tokens;
    }
    bool has_spent_end(Word part) const { return part != kFrame && calls_[static_cast<std::size_t>(part)].has_spent_end; }
    Role role(Word part) const { return part == kFrame ? Role::text : calls_[static_cast<std::size_t>(part)].role; }
    Word runs_out_at(Word part) const {
        return part == kFrame ? UniqueWalk::kNever : calls_[static_cast<std::size_t>(part)].runs_out_at;
    }
    // Only where items must differ.
    const RepeatingTokens& repeating_tokens();
    // Whether a part, or the frame, may call others.
    bool may_call(Word part) const;
    Word n_parts() const { return static_cast<Word>(calls_.size()); }
    const VocabularyIndex& tokens() const { return *index_; }
    bool speaks_of_tokens() const { return !speak_of_tokens_.empty(); }
    std::size_t table_bytes() const override;
    bool is_broken() const override;
    bool has_symbol(TokenId token) const override;
    bool is_text(TokenId token) const override { return index_->is_text(token); }

    // A boundary that a row of a machine says is near.
    struct Boundary {
        std::span<const std::uint8_t> before;  // it stands after this beginning of tokens
        bool is_call;
    };
    std::vector<Boundary> boundaries(Word part, const std::uint32_t* words) const;

    // What a row of a part's engine comes to.
    struct LinkedRow {
        MaskRow row;
        bool near = false;      // a boundary is: the row is another one in each context
        bool complete = false;  // the text may end
    };
    // For that row, in a context; -1: in every one.
    struct RowKey {
        Word part;
        MaskRow row;
        Word context;
        bool operator==(const RowKey&) const = default;
    };
    std::optional<LinkedRow> find(RowCache& cache, const std::shared_ptr<RowCache>& of, const RowKey& key);
    // Adds it, with these bits, of which only the tokens' count.
    LinkedRow add(RowCache& cache, const std::shared_ptr<RowCache>& of, const RowKey& key, MaskRows::Bits& words, LinkedRow row);
    // Equal for equal contents, as long as both are cached; different for others, always.
    Word context(const std::vector<Word>& content);

private:
    struct Hash {
        std::size_t operator()(const RowKey& a) const {
            return mix(static_cast<std::uint64_t>(a.part) << 48 ^ static_cast<std::uint64_t>(a.row.v) << 20 ^
                       static_cast<std::uint32_t>(a.context));
        }
        std::size_t operator()(const std::vector<Word>& content) const {
            std::uint64_t hash = content.size();
            for (Word w : content) hash = mix(hash ^ static_cast<std::uint32_t>(w));
            return hash;
        }
    };
    struct Built : RowCache {
        using RowCache::RowCache;
        std::size_t bytes() const override { return RowCache::bytes() + linked_rows.size() * 64; }
        // Of the rows of these caches: when an engine begins an empty one, what is cached of its rows is dropped.
        std::vector<std::shared_ptr<RowCache>> of;
        std::unordered_map<RowKey, LinkedRow, Hash> linked_rows;
        std::size_t bytes_of_one_position = 0;  // of rows that were added and are not among these; at most
    };
    std::shared_ptr<RowCache> new_cache() const override { return std::make_shared<Built>(vocabulary_.size); }
    Built& current(RowCache& cache, const std::shared_ptr<RowCache>& of, Word part);

    std::shared_ptr<Engine> frame_;
    std::vector<Call> calls_;
    std::shared_ptr<VocabularyIndex> index_;
    std::vector<std::shared_ptr<Engine>> speak_of_tokens_;     // of the frame and the parts those that do
    std::unique_ptr<const RepeatingTokens> repeating_tokens_;  // made when first needed
    std::unordered_map<std::vector<Word>, Word, Hash> contexts_;
    Word next_context_ = 0;
};

}  // namespace psc
