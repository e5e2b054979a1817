#include "lexer/kinds.hpp"

#include <algorithm>
#include <map>

namespace psc {

namespace {

std::unique_ptr<Lexer> lexer_of(TerminalAutomaton automaton, Lexer::Contexts contexts, Lexer::Munch munch) {
    return std::make_unique<Lexer>(std::make_unique<ClosedLexemes>(std::move(automaton)), std::move(contexts), munch);
}

// Per terminal whether it wins over every ignored one.
std::vector<bool> winners_over_ignored(const AllTerminals& terminals) {
    auto first = static_cast<Word>(terminals.rank.size());
    for (std::size_t t = 0; t < terminals.rank.size(); ++t)
        if (terminals.ignored[t]) first = std::min(first, terminals.rank[t]);
    std::vector<bool> wins;
    for (Word rank : terminals.rank) wins.push_back(rank < first);
    return wins;
}

// The terminals that are lexed where the parser can take `can_take`.
std::vector<Word> allowed_terminals(const AllTerminals& terminals, const std::vector<bool>& modal, std::vector<Word> can_take) {
    if (std::any_of(can_take.begin(), can_take.end(), [&](Word t) { return modal[t]; })) return can_take;
    can_take.clear();
    for (Word t = 0; t < static_cast<Word>(terminals.rank.size()); ++t)
        if (!modal[t]) can_take.push_back(t);
    return can_take;
}

}  // namespace

std::unique_ptr<Lexer> make_lexer(const LrTables& lr, const AllTerminals& terminals, LexerKind kind) {
    Lexer::Contexts contexts;
    contexts.n_terminals = lr.n_terminals;
    if (kind == LexerKind::any) return lexer_of(every_match(terminals), std::move(contexts), Lexer::Munch::any);
    if (kind == LexerKind::basic) return lexer_of(winners_only(terminals), std::move(contexts), Lexer::Munch::longest);
    std::map<TerminalContext, LexerContext> numbers;
    std::vector<TerminalContext> sets;
    contexts.of_top.assign(lr.n_lr_states, {});
    const auto modal = winners_over_ignored(terminals);
    const bool is_flush = kind == LexerKind::flush || kind == LexerKind::flush_modal;
    for (LrState state : resting_states(lr)) {
        TerminalContext context;
        auto& allowed = context.terminals;
        for (Word t = 0; t + 1 < lr.n_terminals; ++t)
            if (kind == LexerKind::flush || (terminals.ignored[t] && kind == LexerKind::contextual) || !lr.cell(state, {t}).empty())
                allowed.push_back(t);
        if (kind == LexerKind::modal || kind == LexerKind::flush_modal)
            allowed = allowed_terminals(terminals, modal, std::move(allowed));
        if (is_flush && state == LrState{0}) {
            context.flush = true;
            std::erase_if(allowed, [&](Word t) { return terminals.ignored[t]; });
        }
        const auto [it, fresh] = numbers.emplace(context, LexerContext{static_cast<Word>(sets.size())});
        if (fresh) sets.push_back(std::move(context));
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
