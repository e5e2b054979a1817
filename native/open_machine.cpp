#include "open_machine.hpp"

#include <stdexcept>

#include "terminal_tables.hpp"

namespace psc {

namespace {

// Of all tokens together: a hundred times what the largest vocabularies have.
constexpr std::size_t kMaxTokenBytes = 1 << 28;

std::shared_ptr<VocabularyIndex> vocabulary_of(const TokenTables& tokens, const GivenTokens& given) {
    std::vector<std::uint8_t> bytes;
    std::vector<Word> offsets{0}, text;
    for (TokenId token{0}; token.v < given.vocab_size; ++token.v) {
        if (const auto token_class = tokens.class_of_token[token]) {
            const auto spelled = tokens.class_bytes[tokens.class_offsets[*token_class]];
            if (bytes.size() + spelled.size() > kMaxTokenBytes) TableCheck::fail("class_offsets", "makes the tokens too long");
            bytes.insert(bytes.end(), spelled.begin(), spelled.end());
            text.push_back(token.v);
        }
        offsets.push_back(static_cast<Word>(bytes.size()));
    }
    return std::make_shared<VocabularyIndex>(std::move(bytes), std::move(offsets), text,
                                             std::vector<TokenId>(given.stop_tokens.begin(), given.stop_tokens.end()));
}

}  // namespace

std::shared_ptr<Machine> open_machine(const OpenTables& t, LexerKind kind, std::size_t cache_limit) {
    const TableCheck in_range(t.lr, t.lr_cells, t.terminals, t.tokens, t.given);
    LrTables lr(t.lr, t.lr_cells);
    auto lexer = make_lexer(lr, all_terminals(t.terminals, lr.n_terminals), kind);
    return std::make_shared<LazyMachine>(std::move(lr), std::move(lexer), vocabulary_of(t.tokens, t.given), cache_limit);
}

}  // namespace psc
