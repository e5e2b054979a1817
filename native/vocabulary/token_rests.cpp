#include "vocabulary/token_rests.hpp"

#include <algorithm>

namespace psc {

namespace {

void sort_by_byte(const VocabularyIndex& vocabulary, std::vector<VocabularyNode>& nodes) {
    std::stable_sort(nodes.begin(), nodes.end(), [&](auto a, auto b) { return vocabulary[a].byte < vocabulary[b].byte; });
}

}  // namespace

// Nodes side by side that have one byte become one, whose children are those of all. Tokens may be long, so there is no recursion.
TokenRests::TokenRests(const VocabularyIndex& vocabulary, std::vector<VocabularyNode> nodes) {
    struct Level {
        std::vector<VocabularyNode> nodes;  // by their bytes
        std::size_t done = 0;
        std::size_t above;  // the node that they are below, of ours
    };
    sort_by_byte(vocabulary, nodes);
    std::vector<Level> levels;
    levels.push_back({std::move(nodes), 0, 0});
    while (!levels.empty()) {
        Level& level = levels.back();
        if (level.done == level.nodes.size()) {
            const std::size_t above = level.above;
            levels.pop_back();
            if (!levels.empty()) nodes_[above].end = {static_cast<Word>(nodes_.size())};
            continue;
        }
        const auto first = level.nodes.begin() + static_cast<std::ptrdiff_t>(level.done);
        const std::uint8_t byte = vocabulary[*first].byte;
        const auto last = std::find_if(first, level.nodes.end(), [&](VocabularyNode n) { return vocabulary[n].byte != byte; });
        const std::span<const VocabularyNode> same(first, last);
        level.done += same.size();
        if (same.size() == 1) {
            add_subtree(vocabulary, same[0], levels.size());
            continue;
        }
        const std::size_t made = nodes_.size();
        nodes_.push_back({byte, 0, static_cast<std::uint16_t>(levels.size()), {0}, static_cast<Word>(tokens_.size()), 0});
        std::vector<VocabularyNode> below;
        for (VocabularyNode n : same) {
            const auto& node = vocabulary[n];
            nodes_[made].below |= node.below;
            nodes_[made].height = std::max(nodes_[made].height, node.height);
            add_tokens(vocabulary, node.first_token, vocabulary.own_tokens_end(n));
            for (VocabularyNode child{n.v + 1}; child < node.end; child = vocabulary[child].end) below.push_back(child);
        }
        sort_by_byte(vocabulary, below);
        levels.push_back({std::move(below), 0, made});
    }
    nodes_.push_back({0, 0, 0, {0}, static_cast<Word>(tokens_.size()), 0});
    nodes_.shrink_to_fit();
    tokens_.shrink_to_fit();
}

// A node that nothing is like, with all below it.
void TokenRests::add_subtree(const VocabularyIndex& vocabulary, VocabularyNode node, std::size_t depth) {
    const auto& top = vocabulary[node];
    const Word further = static_cast<Word>(nodes_.size()) - node.v, later = static_cast<Word>(tokens_.size()) - top.first_token;
    const int deeper = static_cast<int>(depth) - top.depth;
    for (VocabularyNode n = node; n < top.end; ++n.v) {
        auto copy = vocabulary[n];
        copy.depth = static_cast<std::uint16_t>(copy.depth + deeper);
        copy.end.v += further;
        copy.first_token += later;
        nodes_.push_back(copy);
    }
    add_tokens(vocabulary, top.first_token, vocabulary.tokens_begin(top.end));
}

void TokenRests::add_tokens(const VocabularyIndex& vocabulary, Word first, Word last) {
    for (Word i = first; i < last; ++i) tokens_.push_back(vocabulary.token_at(i).v);
}

}  // namespace psc
