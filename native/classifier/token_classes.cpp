#include "classifier/token_classes.hpp"

#include <algorithm>

namespace psc {

TokenClasses::TokenClasses(const Lexer& lexer, LedSteps& steps, std::vector<LexerState> states, std::span<const std::uint8_t> bytes,
                           std::span<const std::int64_t> offsets, std::span<const TokenId> ids, Work& work,
                           const std::function<bool()>& is_enough)
    : steps_(steps), work_(work), states_(std::move(states)) {
    const std::size_t width = block_size(), n_blocks = (states_.size() + width - 1) / width;
    std::vector<Block> identity;
    for (std::size_t b = 0; b < n_blocks; ++b) {
        std::vector<std::pair<Before, Maybe<LedConfig>>> block(width, {Before::none(), {}});
        for (std::size_t i = 0; i < width && b * width + i < states_.size(); ++i)
            block[i].second = steps_.config(states_[b * width + i]);
        identity.push_back(block_of(block));
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
        if (is_enough()) {
            is_complete_ = false;
            return;
        }
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

// Configs are in the order of their first states.
TokenClasses::Block TokenClasses::block_of(std::span<const std::pair<Before, Maybe<LedConfig>>> states) {
    std::vector<Entry> entries;
    std::vector<LedConfig> block(1);
    place_.resize(static_cast<std::size_t>(steps_.size()), -1);
    for (const auto& [lead, config] : states) {
        if (!config) {
            entries.push_back({Before::none(), -1});
            continue;
        }
        Word& place = place_[(*config).index()];
        if (place < 0) {
            place = static_cast<Word>(block.size()) - 1;
            block.push_back(*config);
        }
        entries.push_back({lead, place});
    }
    for (std::size_t i = 1; i < block.size(); ++i) place_[block[i].index()] = -1;
    block[0] = {shapes_.id_of(entries).v};
    return blocks_.id_of(block);
}

TokenClasses::Block TokenClasses::step_block(Block block, ByteClass byte_class) {
    if (const auto known = block_steps_.find(block, byte_class)) return *known;
    const std::vector<LedConfig> before = blocks_.copy(block);
    std::vector<std::pair<Before, Maybe<LedConfig>>> after;  // per config
    for (LedConfig config : std::span(before).subspan(1)) {
        const auto to = steps_.step(config, byte_class);
        after.push_back(to ? steps_.factored(*to) : std::pair(Before::none(), to));
        if (to) work_.spend(1 + steps_.n_outcomes(*to) / 4);
    }
    const auto entries = shapes_[{before[0].v}];
    work_.spend(entries.size() / 8);
    std::vector<std::pair<Before, Maybe<LedConfig>>> states;
    for (const Entry& entry : entries) {
        if (entry.config < 0) {
            states.emplace_back(Before::none(), Maybe<LedConfig>());
            continue;
        }
        states.push_back(after[static_cast<std::size_t>(entry.config)]);
        if (entry.lead.is_terminal()) states.back().first = entry.lead;
    }
    const Block result = block_of(states);
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
