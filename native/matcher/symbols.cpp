// Accepting a token that the grammar may ask for as such: it is read as its text and as its symbol (text/token_symbols.hpp).
//
// Cost: two readings of the token on the graph of stacks.
#include "matcher/graph.hpp"
#include "vocabulary/index.hpp"

namespace psc {

MaskRow Matcher::with_stops(MaskRow row) {
    const bool may_end = is_complete() && !terminates_when_complete_;
    if (text_or_itself_.empty()) return machine_->with_stops(*cache_, row, *stop_sets_[may_end]);
    std::vector<TokenId> asked;
    for (TokenId token : text_or_itself_) {
        const Arena::Attempt attempt(arena_);
        Configurations all = configurations();
        if (advance(spelled_symbol(machine_->vocabulary().symbols[token.index()]), all)) asked.push_back(token);
    }
    return machine_->with_stops(*cache_, row, machine_->add_stop_set(may_end, *stops_, asked));
}

// A stop token is what was asked for, and ends the text where that is complete then; only where it was not asked for it ends the text as
// it stands.
bool Matcher::accept_either(TokenId token, bool stops) {
    const VocabularyView& vocabulary = machine_->vocabulary();
    const SpelledSymbol symbol = spelled_symbol(vocabulary.symbols[token.index()]);
    const auto text = vocabulary.text(token);
    begin(symbol.size() + text.size());
    Arena::Attempt attempt(arena_);
    const Configurations before = configurations();
    Configurations all = before;
    if (!advance(symbol, all)) all.clear();
    Configurations as_text = before;
    if (machine_->index()->is_text(token) && !stops && advance(text, as_text)) {
        all.insert(all.end(), as_text.begin(), as_text.end());
        Graph graph;
        merge(all, graph);
    }
    const bool asked_for = !all.empty();
    if (!asked_for) {
        if (!stops || terminates_when_complete_ || !complete(before)) return false;
        all = before;
    }
    push(all, stops && !terminates_when_complete_ && (!asked_for || complete(all)));
    attempt.keep();
    return true;
}

}  // namespace psc
