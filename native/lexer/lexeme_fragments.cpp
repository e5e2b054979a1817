#include "lexer/lexeme_fragments.hpp"

#include <algorithm>
#include <string_view>

namespace psc {

const LexemeFragment* LexemeFragments::from(LexerState state, bool hesitates) {
    if (spreads(state)) return nullptr;
    if (state.index() < cache_.size() && cache_[state.index()].fragment) return cache_[state.index()].fragment.get();
    auto fragment = find(state, hesitates);
    if (fragment) bytes_ += sizeof(LexemeFragment) + fragment->states.capacity() * sizeof(LexerState);
    if (state.index() >= cache_.size()) cache_.resize(static_cast<std::size_t>(lexer_.n_states()));
    cache_[state.index()].fragment = std::move(fragment);
    return cache_[state.index()].fragment.get();
}

// Whether words of letters, digits and blanks stay inside.
bool LexemeFragments::is_wide(LexerState state) {
    return std::ranges::all_of(std::string_view("aZ5 "), [&](char c) {
        return static_cast<bool>(step(state, lexer_.byte_class()[static_cast<std::uint8_t>(c)]).to);
    });
}

LexemeFragments::Inside LexemeFragments::step(LexerState state, ByteClass byte_class) {
    if (lexer_.munch() == Lexer::Munch::any) {  // what the lexer keeps of an arc is all that can happen
        const LexArc arc = lexer_.arc(state, byte_class);
        if (arc.target.is_fail()) return {true, {}};
        if (!arc.target.is_state() || arc.output.v != 0 || arc.target.state().v == 0) return {false, {}};
        return {false, arc.target.state()};
    }
    const auto ways = lexer_.steps(state, byte_class);
    if (ways.empty()) return {true, {}};
    if (ways.size() > 1 || ways[0].output.v != 0 || ways[0].next.v == 0) return {false, {}};
    return {false, ways[0].next};
}

std::unique_ptr<LexemeFragment> LexemeFragments::find(LexerState state, bool hesitates) {
    std::vector<LexerState> states{state};
    std::vector<Word> next;
    const auto& classes = lexer_.byte_class();
    std::vector<Word> row(static_cast<std::size_t>(lexer_.n_classes()));
    for (std::size_t i = 0; i < states.size(); ++i) {
        for (std::size_t c = 0; c < row.size(); ++c) {
            const Inside inside = step(states[i], {static_cast<std::uint8_t>(c)});
            if (!inside.to) {
                row[c] = inside.fails ? VocabularyIndex::kDead : VocabularyIndex::kExit;
                continue;
            }
            const auto at = std::find(states.begin(), states.end(), *inside.to);
            row[c] = static_cast<Word>(at - states.begin());
            if (at != states.end()) continue;
            // What leads to a state from which too many are reached reaches too many.
            if (states.size() >= static_cast<std::size_t>(VocabularyIndex::kMaxFragmentStates) || spreads(*inside.to)) {
                if (state.index() >= cache_.size()) cache_.resize(static_cast<std::size_t>(lexer_.n_states()));
                cache_[state.index()].spreads = true;
                return nullptr;
            }
            states.push_back(*inside.to);
        }
        for (int b = 0; b < 256; ++b) next.push_back(row[classes[b].index()]);
    }
    auto tokens = vocabulary_.fragment(next, hesitates);
    if (!tokens) return nullptr;
    return std::make_unique<LexemeFragment>(LexemeFragment{std::move(states), std::move(tokens)});
}

}  // namespace psc
