#include "lexer/kinds.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

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

// Per terminal whether it stands in no rule, of those that are asked about.
std::vector<bool> never_taken(const LrTables& lr, std::vector<bool> asked_about) {
    for (Word s = 0; s < lr.n_lr_states; ++s)
        for (Word t = 0; t + 1 < lr.n_terminals; ++t)
            if (asked_about[t] && !lr.cell(LrState{s}, {t}).empty()) asked_about[t] = false;
    return asked_about;
}

std::vector<bool> not_ignored(const AllTerminals& terminals) {
    std::vector<bool> found;
    for (bool ignored : terminals.ignored) found.push_back(!ignored);
    return found;
}

// Per terminal whether each of its lexemes is one of a terminal of `those`, too.
std::vector<bool> parts_of(const AllTerminals& terminals, const std::vector<bool>& those) {
    std::vector<bool> found(those.size(), true);
    for (Word s = 0; s < terminals.n_states; ++s) {
        const std::span matches(terminals.matches.data() + terminals.match_offsets[s],
                                terminals.matches.data() + terminals.match_offsets[s + 1]);
        if (std::any_of(matches.begin(), matches.end(), [&](Word t) { return those[t]; })) continue;
        for (Word t : matches) found[t] = false;
    }
    return found;
}

// Of the lexer `indented`, the terminals that are lexed in a state besides those that the parser can take.
class Indented {
public:
    Indented(const LrTables& lr, const AllTerminals& terminals)
        : never_(never_taken(lr, std::vector<bool>(terminals.ignored.size(), true))) {
        std::vector<bool> refused = never_;
        for (std::size_t t = 0; t < refused.size(); ++t) {
            if (terminals.ignored[t]) refused[t] = false;
            if (terminals.ignored[t] && !never_[t]) ignored_somewhere_.push_back(static_cast<Word>(t));
        }
        parts_ = parts_of(terminals, refused);
        for (Word t : ignored_somewhere_) parts_[t] = false;
    }

    // `t` is refused or ignored everywhere; or it is a part of what is refused, and could only be refused, too.
    bool is_lexed(Word t, const LrTables& lr, LrState state) const {
        if (never_[t]) return true;
        return parts_[t] && std::all_of(ignored_somewhere_.begin(), ignored_somewhere_.end(),
                                        [&](Word i) { return lr.cell(state, {i}).empty(); });
    }

private:
    std::vector<bool> never_, parts_;
    std::vector<Word> ignored_somewhere_;
};

std::vector<Word> by_rank(const AllTerminals& terminals) {
    std::vector<Word> found(terminals.rank.size());
    for (std::size_t t = 0; t < found.size(); ++t) found[terminals.rank[t]] = static_cast<Word>(t);
    return found;
}

// `lexed` with each terminal of `refused` where the one before it in rank is.
std::vector<Word> with_refused(const std::vector<Word>& lexed, const std::vector<Word>& by_rank, const std::vector<bool>& refused) {
    std::vector<bool> is_lexed(by_rank.size());
    for (Word t : lexed) is_lexed[t] = true;
    for (std::size_t i = 1; i < by_rank.size(); ++i)
        if (refused[by_rank[i]]) is_lexed[by_rank[i]] = is_lexed[by_rank[i - 1]];
    std::vector<Word> found;
    for (std::size_t t = 0; t < is_lexed.size(); ++t)
        if (is_lexed[t]) found.push_back(static_cast<Word>(t));
    return found;
}

// The terminals that are lexed where the parser can take `can_take`.
std::vector<Word> allowed_terminals(const std::vector<bool>& modal, const std::vector<bool>& never,
                                    const std::vector<Word>& can_take) {
    const bool in_mode = std::any_of(can_take.begin(), can_take.end(), [&](Word t) { return modal[t]; });
    std::vector<Word> allowed = in_mode ? can_take : std::vector<Word>{};
    for (Word t = 0; t < static_cast<Word>(modal.size()); ++t)
        if (in_mode ? modal[t] && never[t] : !modal[t]) allowed.push_back(t);
    std::sort(allowed.begin(), allowed.end());
    return allowed;
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
    const bool is_modal = kind == LexerKind::modal || kind == LexerKind::flush_modal;
    const auto modal = winners_over_ignored(terminals);
    const bool is_contextual = kind == LexerKind::contextual || kind == LexerKind::flush_contextual;
    const auto never =
        is_modal || kind == LexerKind::flush_contextual ? never_taken(lr, not_ignored(terminals)) : std::vector<bool>{};
    const auto indented = kind == LexerKind::indented ? std::make_optional<Indented>(lr, terminals) : std::nullopt;
    const bool is_flush = kind == LexerKind::flush || kind == LexerKind::flush_modal || kind == LexerKind::flush_contextual;
    const auto ranked = by_rank(terminals);
    for (LrState state : resting_states(lr)) {
        TerminalContext context;
        auto& allowed = context.terminals;
        for (Word t = 0; t + 1 < lr.n_terminals; ++t)
            if (kind == LexerKind::flush || (terminals.ignored[t] && is_contextual) ||
                (indented && indented->is_lexed(t, lr, state)) || !lr.cell(state, {t}).empty())
                allowed.push_back(t);
        if (is_modal) allowed = allowed_terminals(modal, never, allowed);
        if (kind == LexerKind::flush_contextual) allowed = with_refused(allowed, ranked, never);
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
