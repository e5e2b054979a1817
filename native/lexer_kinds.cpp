#include "lexer_kinds.hpp"

#include <map>

namespace psc {

std::unique_ptr<Lexer> make_lexer(const LrTables& lr, const AllTerminals& terminals, LexerKind kind) {
    Lexer::Contexts contexts;
    contexts.n_terminals = lr.n_terminals;
    if (kind == LexerKind::any) return std::make_unique<Lexer>(every_match(terminals), std::move(contexts), Lexer::Munch::any);
    if (kind == LexerKind::basic)
        return std::make_unique<Lexer>(winners_only(terminals), std::move(contexts), Lexer::Munch::longest);
    std::map<std::vector<Word>, LexerContext> numbers;
    std::vector<std::vector<Word>> sets;
    contexts.of_top.assign(lr.n_lr_states, {});
    for (LrState state : resting_states(lr)) {
        std::vector<Word> allowed;
        for (Word t = 0; t + 1 < lr.n_terminals; ++t)
            if (terminals.ignored[t] || !lr.cell(state, {t}).empty()) allowed.push_back(t);
        const auto [it, fresh] = numbers.emplace(allowed, LexerContext{static_cast<Word>(sets.size())});
        if (fresh) sets.push_back(std::move(allowed));
        contexts.of_top[state.index()] = it->second;
    }
    return std::make_unique<Lexer>(for_contexts(terminals, sets), std::move(contexts), Lexer::Munch::longest);
}

}  // namespace psc
