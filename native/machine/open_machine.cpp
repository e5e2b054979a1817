#include "machine/open_machine.hpp"

#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "lexer/terminal_tables.hpp"
#include "text/token_symbols.hpp"

namespace psc {

namespace {

// Of all tokens together: a hundred times what the largest vocabularies have.
constexpr std::size_t kMaxTokenBytes = limit("artifact_token_bytes");

// Per token the number of its symbol, or -1; empty where the grammar speaks of no token.
std::vector<Word> symbols_of(const std::optional<SymbolTables>& tables, Word vocab_size) {
    if (!tables) return {};
    if (!is_ascending(tables->symbol_tokens.all())) TableCheck::fail("symbol_tokens", "is not sorted");
    std::vector<Word> symbols(static_cast<std::size_t>(vocab_size), -1);
    for (std::size_t i = 0; i < tables->symbol_tokens.size(); ++i) {
        const TokenId number = tables->symbol_numbers.at(i);
        if (number.v >= kSymbols) TableCheck::fail("symbol_numbers", "holds a token that can have no symbol");
        symbols[tables->symbol_tokens.at(i).index()] = number.v;
    }
    return symbols;
}

std::shared_ptr<VocabularyIndex> vocabulary_of(const TokenTables& tokens, const GivenTokens& given, std::vector<Word> symbols) {
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
                                             std::vector<TokenId>(given.stop_tokens.begin(), given.stop_tokens.end()),
                                             std::move(symbols));
}

}  // namespace

std::shared_ptr<Engine> open_machine(const OpenTables& t, LexerKind kind, std::size_t cache_limit) {
    const TableCheck in_range(t.lr, t.lr_cells, t.terminals, t.tokens, t.given, t.symbols.value_or(SymbolTables()));
    auto symbols = symbols_of(t.symbols, t.given.vocab_size);
    LrTables lr(t.lr, t.lr_cells);
    auto lexer = make_lexer(lr, all_terminals(t.terminals, lr.n_terminals), kind);
    auto vocabulary = vocabulary_of(t.tokens, t.given, std::move(symbols));
    return std::make_shared<LazyMachine>(std::move(lr), std::move(lexer), std::move(vocabulary), cache_limit);
}

}  // namespace psc
