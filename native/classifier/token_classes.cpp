#include "classifier/token_classes.hpp"

#include <algorithm>

namespace psc {

TokenClasses::TokenClasses(const Lexer& lexer, TokenSteps& steps, std::vector<LexerState> states,
                           std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets, std::span<const TokenId> ids,
                           Work& work)
    : steps_(steps), work_(work), states_(std::move(states)) {
    const std::size_t n_blocks = (states_.size() + kBlock - 1) / kBlock;
    std::vector<Block> identity;
    for (std::size_t b = 0; b < n_blocks; ++b) {
        std::vector<Maybe<TokenConfig>> block(kBlock);
        for (std::size_t i = 0; i < kBlock && b * kBlock + i < states_.size(); ++i)
            block[i] = steps_.config(SequenceTrie::kRoot, states_[b * kBlock + i]);
        identity.push_back(blocks_.id_of(block));
    }
    const Function root = functions_.id_of(identity);

    auto token = [&](TokenId id) { return bytes.subspan(offsets[id.index()], offsets[id.index() + 1] - offsets[id.index()]); };
    std::vector<TokenId> sorted(ids.begin(), ids.end());
    std::sort(sorted.begin(), sorted.end(), [&](TokenId a, TokenId b) {
        const auto x = token(a), y = token(b);
        return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    });
    std::vector<Maybe<Function>> function_of(offsets.size() - 1);
    std::vector<Function> path{root};  // the functions of the current token's prefixes
    std::span<const std::uint8_t> before;
    for (TokenId id : sorted) {
        const auto text = token(id);
        std::size_t depth = std::mismatch(before.begin(), before.end(), text.begin(), text.end()).second - text.begin();
        path.resize(depth + 1);
        for (; depth < text.size(); ++depth) path.push_back(step_function(path.back(), lexer.byte_class()[text[depth]]));
        function_of[id.index()] = path.back();
        before = text;
    }
    // Classes are numbered by their first token.
    std::vector<Maybe<TokenClass>> class_of_function(functions_.size());
    class_of_.resize(function_of.size());
    for (TokenId id{0}; id.index() < function_of.size(); ++id.v) {
        const auto f = function_of[id.index()];
        if (!f) continue;
        auto& of = class_of_function[f.v];
        if (!of) {
            of = TokenClass{size()};
            function_of_class_.push_back(*f);
            representative_.push_back(id);
        }
        class_of_[id.index()] = of;
    }
    block_steps_ = {};
    function_steps_ = {};
}

TokenClasses::Block TokenClasses::step_block(Block block, ByteClass byte_class) {
    if (const auto known = block_steps_.find(block, byte_class)) return *known;
    std::vector<Maybe<TokenConfig>> next = blocks_.copy(block);
    work_.spend(next.size());
    for (auto& config : next)
        if (config) {
            config = steps_.step(*config, byte_class);
            if (config) work_.spend(1 + steps_.outcomes(*config).size() / 4);
        }
    const Block result = blocks_.id_of(next);
    block_steps_.insert(block, byte_class, result);
    return result;
}

TokenClasses::Function TokenClasses::step_function(Function function, ByteClass byte_class) {
    if (const auto known = function_steps_.find(function, byte_class)) return *known;
    std::vector<Block> next = functions_.copy(function);
    work_.spend(4 + next.size());
    for (Block& block : next) block = step_block(block, byte_class);
    const Function result = functions_.id_of(next);
    function_steps_.insert(function, byte_class, result);
    return result;
}

}  // namespace psc
