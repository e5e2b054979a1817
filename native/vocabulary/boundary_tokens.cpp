// Boundary tokens (linked/machine.hpp) put into the trie of a vocabulary that is there.
//
// A boundary is spelled by bytes that are greater than those of any text, so behind the beginning of a token it comes last of all
// that goes on there: the nodes of the vocabulary stay in their order, and so do its sorted tokens. One pass over the nodes copies
// both, and puts boundaries in where a node is over. What is below a node changes in one thing only: it has bytes now that are no
// text's.
//
// Tokens with bytes that could be taken for a symbol's are left out, as everywhere where there are symbols.
#include "base/errors.hpp"
#include "text/utf8_positions.hpp"
#include "vocabulary/index.hpp"

namespace psc {

namespace {

constexpr Word kNone = -1;

}  // namespace

std::unique_ptr<VocabularyIndex> VocabularyIndex::with_boundaries(const ByteSet* before_end, const ByteSet* before_call,
                                                                  std::vector<Word> symbols) const {
    return std::unique_ptr<VocabularyIndex>(new VocabularyIndex(*this, before_end, before_call, std::move(symbols)));
}

VocabularyIndex::VocabularyIndex(const VocabularyIndex& of, const ByteSet* before_end, const ByteSet* before_call,
                                 std::vector<Word> symbols)
    : bytes_(of.bytes_), offsets_(of.offsets_), is_text_(of.is_text_), symbols_(std::move(symbols)) {
    struct Open {
        VocabularyNode end;  // of the other one
        Word node;           // here
        Word characters;
        Word call, end_of_part;  // the boundary tokens behind it, or none
    };
    std::vector<Open> open;
    std::vector<std::uint8_t> path;
    nodes_.reserve(of.nodes_.size() * 2);
    sorted_.reserve(of.sorted_.size() * 2);
    characters_.reserve(of.sorted_.size() * 2);

    const auto new_token = [&](const ByteSet* before, std::span<const std::uint8_t> boundary) {
        if (!before || (!path.empty() && !before->test(path.back()))) return kNone;
        const Word token = n_tokens();
        if (path.size() + boundary.size() > kLongest) throw LimitExceeded("bytes of token " + std::to_string(token), kLongest);
        bytes_.insert(bytes_.end(), path.begin(), path.end());
        bytes_.insert(bytes_.end(), boundary.begin(), boundary.end());
        offsets_.push_back(static_cast<Word>(bytes_.size()));
        return token;
    };
    const auto place = [&](Word token, Word characters) {
        sorted_.push_back(token);
        characters_.push_back(static_cast<std::uint16_t>(characters));
    };
    const auto add_boundaries = [&](const Open& behind) {
        const auto depth = static_cast<std::uint16_t>(nodes_[static_cast<std::size_t>(behind.node)].depth + 1);
        const auto first = static_cast<std::size_t>(nodes_.size());
        nodes_.push_back({kCallBytes[0], 1, depth, {0}, static_cast<Word>(sorted_.size()), character_kinds::kStray});
        const auto add = [&](Word token, std::uint8_t byte) {
            if (token == kNone) return;
            const auto next = static_cast<Word>(nodes_.size()) + 1;
            nodes_.push_back({byte, 0, static_cast<std::uint16_t>(depth + 1), {next}, static_cast<Word>(sorted_.size()), 0});
            place(token, behind.characters + 1);
        };
        add(behind.call, kCallBytes[1]);
        add(behind.end_of_part, kEndBytes[1]);
        nodes_[first].end = {static_cast<Word>(nodes_.size())};
        Node& node = nodes_[static_cast<std::size_t>(behind.node)];
        node.below |= character_kinds::kStray;
        node.height = std::max(node.height, height_above(nodes_[first].height));
    };
    const auto close = [&] {
        const Open over = open.back();
        open.pop_back();
        path.pop_back();
        if (over.call != kNone || over.end_of_part != kNone) add_boundaries(over);
        Node& node = nodes_[static_cast<std::size_t>(over.node)];
        node.end = {static_cast<Word>(nodes_.size())};
        if (open.empty()) return;
        Node& above = nodes_[static_cast<std::size_t>(open.back().node)];
        above.below |= node.below & character_kinds::kStray;
        above.height = std::max(above.height, height_above(node.height));
    };

    static_assert(kCallBytes[0] == kEndBytes[0] && kCallBytes[1] < kEndBytes[1]);
    const Word end_of_text = new_token(before_end, kEndBytes), first_call = new_token(before_call, kCallBytes);
    for (VocabularyNode n{0}; n < of.end();) {
        while (!open.empty() && !(n < open.back().end)) close();
        const Node& node = of[n];
        if (node.byte >= kFirstSymbolByte) {
            const Word last = std::min(of.tokens_begin(node.end), of.n_texts_);
            for (Word i = node.first_token; i < last; ++i) is_text_[static_cast<std::size_t>(of.sorted_[i])] = 0;
            n = node.end;
            continue;
        }
        const auto here = static_cast<Word>(nodes_.size());
        nodes_.push_back(node);
        nodes_.back().first_token = static_cast<Word>(sorted_.size());
        for (Word i = node.first_token; i < of.own_tokens_end(n); ++i) place(of.sorted_[i], of.characters_[i]);
        if (node.end.v == n.v + 1) {
            nodes_.back().end = {here + 1};
        } else {
            const Word above = open.empty() ? 0 : open.back().characters;
            path.push_back(node.byte);
            const Word end_of_part = new_token(before_end, kEndBytes), call = new_token(before_call, kCallBytes);
            open.push_back({node.end, here, above + begins_character(node.byte), call, end_of_part});
        }
        ++n.v;
    }
    while (!open.empty()) close();

    n_words_ = (offsets_.size() - 1 + 31) / 32;
    is_stop_.resize(offsets_.size() - 1);
    is_text_.resize(offsets_.size() - 1, 1);
    if (!symbols_.empty()) symbols_.resize(offsets_.size() - 1, -1);
    const auto first_at_root = static_cast<Word>(sorted_.size());
    for (Word token : {first_call, end_of_text})
        if (token != kNone) sorted_.push_back(token);
    sort_symbols();
    add_nodes(first_at_root);
}

}  // namespace psc
