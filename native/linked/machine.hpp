// Machines that are linked: one of a grammar in which places stand for parts, and one for each part (linked/part.hpp).
//
// The grammar of a structural tag is a frame around the schemas of tools; the same schema stands in many frames. So a part has a machine of
// its own, with its own lexer, tables and rows, that every grammar uses which has the part. In the frame's grammar a part is a *call*,
// in the part's the end of the text is an *end*: characters beyond all tokens' symbols, which no text has. A text is read by the
// frame's machine up to a call, then by the part's up to its end, then by the frame's from behind the call on (linked/matcher.hpp).
//
// A token may go over such a boundary: it ends a part and begins what follows. So the vocabularies of the machines have *boundary tokens*
// besides: for beginnings x of tokens, x and then the boundary. Whether x leads to a boundary is in a row with all else, so a row says
// whether a token may go over one, and steps that do not cost what they cost in the part alone.
//
// A part may be called for so many tokens at most, and may call parts itself. Once as many tokens have had bytes in its text, it ends
// before the first token that begins where it can end; until then it goes on. Such a part is not called for the empty text: who calls
// it has another way for that. Some have texts at which they can end only when their tokens are spent.
//
// Which rows of a machine come to which row here is remembered: by the row alone where no boundary is near, else by the row and by what
// the text goes on with behind the boundary.
//
// Cost: a lookup more for each mask; near a boundary, the first time, a reading of the tokens that begin with each x.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "linked/part.hpp"
#include "machine/engine.hpp"
#include "text/token_symbols.hpp"
#include "vocabulary/index.hpp"

namespace psc {

class LinkedMachine final : public Machine {
public:
    // A part, how many tokens may have bytes in its text, 1 at least, and whether it has a second end for when these are spent.
    struct Call {
        std::shared_ptr<LinkedPart> part;
        Word most_tokens;
        bool has_spent_end = false;
    };
    static constexpr Word kAnyNumber = std::numeric_limits<Word>::max();
    // `index`: the vocabulary, with no boundary tokens. The others have its tokens, no stop tokens, and boundary tokens behind these.
    LinkedMachine(std::shared_ptr<Engine> frame, std::vector<Call> calls, std::shared_ptr<VocabularyIndex> index,
                  std::size_t cache_limit);

    static constexpr Word kFrame = -1;
    // A part's engine is made when it is asked for first.
    const std::shared_ptr<Engine>& at(Word part) const {
        return part == kFrame ? frame_ : calls_[static_cast<std::size_t>(part)].part->machine();
    }
    Word most_tokens(Word part) const { return part == kFrame ? kAnyNumber : calls_[static_cast<std::size_t>(part)].most_tokens; }
    bool has_spent_end(Word part) const { return part != kFrame && calls_[static_cast<std::size_t>(part)].has_spent_end; }
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
        std::span<const std::uint8_t> before;  // it stands behind this beginning of tokens
        bool is_call;
    };
    std::vector<Boundary> boundaries(Word part, const std::uint32_t* words) const;

    // What a row of a part's machine comes to, in a context, if that is known; context -1: whatever it is.
    struct Known {
        MaskRow row;
        bool near = false;      // a boundary is: the row is another one in each context
        bool complete = false;  // the text may end
    };
    struct Asked {
        Word part;
        MaskRow row;
        Word context;
        bool operator==(const Asked&) const = default;
    };
    std::optional<Known> find(RowCache& cache, const std::shared_ptr<RowCache>& of, const Asked& asked);
    // Adds it, with these bits, of which only the tokens' count.
    Known add(RowCache& cache, const std::shared_ptr<RowCache>& of, const Asked& asked, MaskRows::Bits& words, Known known);
    // Equal for equal contents, as long as both are remembered; different for others, always.
    Word context(const std::vector<Word>& content);

private:
    struct Hash {
        std::size_t operator()(const Asked& a) const {
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
        std::size_t bytes() const override { return RowCache::bytes() + known.size() * 64; }
        // Of the rows of these caches: when a machine begins an empty one, what was known of its rows is dropped.
        std::vector<std::shared_ptr<RowCache>> of;
        std::unordered_map<Asked, Known, Hash> known;
    };
    std::shared_ptr<RowCache> new_cache() const override { return std::make_shared<Built>(vocabulary_.size); }
    Built& current(RowCache& cache, const std::shared_ptr<RowCache>& of, Word part);

    std::shared_ptr<Engine> frame_;
    std::vector<Call> calls_;
    std::shared_ptr<VocabularyIndex> index_;
    std::vector<std::shared_ptr<Engine>> speak_of_tokens_;  // of the frame and the parts those that do
    std::unordered_map<std::vector<Word>, Word, Hash> contexts_;
    Word next_context_ = 0;
};

}  // namespace psc
