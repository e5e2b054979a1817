#include "lexer_kinds.hpp"

#include <map>

namespace psc {

namespace {

std::unique_ptr<Lexer> lexer_of(TerminalAutomaton automaton, Lexer::Contexts contexts, Lexer::Munch munch) {
    return std::make_unique<Lexer>(std::make_unique<ClosedLexemes>(std::move(automaton)), std::move(contexts), munch);
}

}  // namespace

std::unique_ptr<Lexer> make_lexer(const LrTables& lr, const AllTerminals& terminals, LexerKind kind) {
    Lexer::Contexts contexts;
    contexts.n_terminals = lr.n_terminals;
    if (kind == LexerKind::any) return lexer_of(every_match(terminals), std::move(contexts), Lexer::Munch::any);
    if (kind == LexerKind::basic) return lexer_of(winners_only(terminals), std::move(contexts), Lexer::Munch::longest);
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
    return lexer_of(for_contexts(terminals, sets), std::move(contexts), Lexer::Munch::longest);
}

std::unique_ptr<Lexer> make_lexer(const LrTables& lr, std::shared_ptr<const TerminalNfa> terminals) {
    Lexer::Contexts contexts;
    contexts.n_terminals = lr.n_terminals;
    return std::make_unique<Lexer>(std::make_unique<OpenLexemes>(std::move(terminals)), std::move(contexts), Lexer::Munch::any);
}

}  // namespace psc
