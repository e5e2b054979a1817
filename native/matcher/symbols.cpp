// Accepting a token that the grammar may ask for as such: it is read as its text and as its symbol (text/token_symbols.hpp).
//
// Cost: two readings of the token on the graph of stacks.
#include "matcher/graph.hpp"
#include "vocabulary/index.hpp"

namespace psc {

MaskRow Matcher::with_stops(MaskRow row) {
    return stops_.put_into(row, *machine_, cache(), is_complete(), [&](TokenId token) {
        const Arena::Attempt attempt(arena_);
        Configurations all = configurations();
        return advance(spelled_symbol(machine_->vocabulary().symbols[token.index()]), all);
    });
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
        if (!stops || stops_.terminates_when_complete() || !complete(before)) return false;
        all = before;
    }
    push(all, stops && !stops_.terminates_when_complete() && (!asked_for || complete(all)));
    attempt.keep();
    return true;
}

}  // namespace psc
