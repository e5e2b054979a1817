#include "token_classes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace psc {

namespace {
constexpr Word kUnknown = -2;
}

TokenClasses::TokenClasses(const Lexer& lexer, TokenSteps& steps, std::vector<Word> states, std::span<const std::uint8_t> bytes,
                           std::span<const std::int64_t> offsets, std::span<const Word> ids)
    : steps_(steps), states_(std::move(states)) {
    const std::size_t n_blocks = (states_.size() + kBlock - 1) / kBlock;
    std::vector<Word> identity(n_blocks);
    for (std::size_t b = 0; b < n_blocks; ++b) {
        std::array<Word, kBlock> block;
        block.fill(kFail);
        for (std::size_t i = 0; i < kBlock && b * kBlock + i < states_.size(); ++i)
            block[i] = steps_.config(0, states_[b * kBlock + i]);
        identity[b] = blocks_.intern(block).first;
    }
    const Word root = functions_.intern(identity).first;

    auto token = [&](Word id) { return bytes.subspan(offsets[id], offsets[id + 1] - offsets[id]); };
    std::vector<Word> sorted(ids.begin(), ids.end());
    std::sort(sorted.begin(), sorted.end(), [&](Word a, Word b) {
        const auto x = token(a), y = token(b);
        return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    });
    std::vector<Word> function_of(offsets.size() - 1, kFail);
    std::vector<Word> path{root};  // the functions of the current token's prefixes
    std::span<const std::uint8_t> before;
    for (Word id : sorted) {
        const auto text = token(id);
        std::size_t depth = std::mismatch(before.begin(), before.end(), text.begin(), text.end()).second - text.begin();
        path.resize(depth + 1);
        for (; depth < text.size(); ++depth) path.push_back(step_function(path.back(), lexer.byte_class()[text[depth]]));
        function_of[id] = path.back();
        before = text;
    }
    // Classes are numbered by their first token.
    std::vector<Word> class_of_function(functions_.size(), kFail);
    class_of_.assign(function_of.size(), kFail);
    for (std::size_t id = 0; id < function_of.size(); ++id) {
        const Word f = function_of[id];
        if (f == kFail) continue;
        if (class_of_function[f] == kFail) {
            class_of_function[f] = size();
            function_of_class_.push_back(f);
            representative_.push_back(static_cast<Word>(id));
        }
        class_of_[id] = class_of_function[f];
    }
    block_steps_ = {};
    function_steps_ = {};
}

void TokenClasses::release_functions() {
    blocks_ = {};
    functions_ = {};
    function_of_class_ = {};
}

Word TokenClasses::step_block(Word block, Word byte_class) {
    if (const Word known = block_steps_.find(block, byte_class, kUnknown); known != kUnknown) return known;
    std::array<Word, kBlock> next;
    for (std::size_t i = 0; i < kBlock; ++i) {
        const Word config = blocks_[block][i];
        next[i] = config == kFail ? kFail : steps_.step(config, byte_class);
    }
    const Word result = blocks_.intern(next).first;
    block_steps_.insert(block, byte_class, result);
    return result;
}

Word TokenClasses::step_function(Word function, Word byte_class) {
    if (const Word known = function_steps_.find(function, byte_class, kUnknown); known != kUnknown) return known;
    const auto span = functions_[function];
    std::vector<Word> next(span.begin(), span.end());
    for (Word& block : next) block = step_block(block, byte_class);
    const Word result = functions_.intern(next).first;
    function_steps_.insert(function, byte_class, result);
    return result;
}

}  // namespace psc
