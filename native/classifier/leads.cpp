#include "classifier/leads.hpp"

#include <algorithm>

#include "base/sorted.hpp"

namespace psc {

// A start of the lexer, or within what is ignored.
bool LedSteps::is_whole(LexerState state) { return !with_leads_ || lexer_.futures(state) == FutureSets::kOne; }

LedConfig LedSteps::whole(TokenConfig config) {
    if (config.index() >= whole_.size()) whole_.resize(config.index() + 1);
    auto& known = whole_[config.index()];
    if (!known) known = parts_.id_of({{Before::none(), config}});
    return *known;
}

LedConfig LedSteps::config(LexerState state) {
    const TokenConfig config = steps_.config(SequenceTrie::kRoot, state);
    return is_whole(state) ? whole(config) : parts_.id_of({{Before::open(), config}});
}

std::size_t LedSteps::n_outcomes(LedConfig config) const {
    std::size_t n = 0;
    for (const Part& part : parts(config)) n += steps_.outcomes(part.config).size();
    return n;
}

std::pair<Before, Maybe<SequenceNode>> LedSteps::cut(std::span<const OutputSymbol> symbols) {
    if (symbols.empty()) return {Before::open(), SequenceTrie::kRoot};
    if (lexer_.is_condition(symbols[0])) return {Before::none(), steps_.extend(SequenceTrie::kRoot, symbols)};
    const Before lead = Before::of(symbols[0].terminal());
    // A condition is left out that holds whenever the lead has been shifted.
    auto behind = trie_.child(SequenceTrie::kRoot, lead.terminal());
    Maybe<SequenceNode> rest = SequenceTrie::kRoot;
    for (OutputSymbol symbol : symbols.subspan(1)) {
        if (!behind || !rest) return {lead, {}};
        const auto next = steps_.extend(behind, {&symbol, 1});
        if (next && next != behind)
            rest = lexer_.is_condition(symbol) ? trie_.where(*rest, trie_.condition(*next)) : steps_.extend(rest, {&symbol, 1});
        behind = next;
    }
    return {lead, behind ? rest : Maybe<SequenceNode>()};
}

std::pair<Before, Maybe<SequenceNode>> LedSteps::led(LexerState from, std::span<const OutputSymbol> symbols) {
    return is_whole(from) ? std::pair(Before::none(), steps_.extend(SequenceTrie::kRoot, symbols)) : cut(symbols);
}

Maybe<LedConfig> LedSteps::step(LedConfig config, ByteClass byte_class) {
    const auto parts = parts_[config];
    if (parts.size() > 1 || parts[0].lead == Before::open()) return step_parts({parts.begin(), parts.end()}, byte_class);
    const Before lead = parts[0].lead;
    const auto to = steps_.step(parts[0].config, byte_class);
    if (!to) return {};
    return lead == Before::none() ? whole(*to) : parts_.id_of({{lead, *to}});
}

std::pair<Before, Maybe<LedConfig>> LedSteps::factored(LedConfig config) {
    const auto parts = parts_[config];
    if (parts.size() > 1 || !parts[0].lead.is_terminal()) return {Before::none(), config};
    const Part one = parts[0];  // making another config moves them
    return {one.lead, whole(one.config)};
}

Maybe<LedConfig> LedSteps::step_parts(std::vector<Part> parts, ByteClass byte_class) {
    found_.clear();
    for (const Part& part : parts) {
        if (part.lead != Before::open()) {
            if (const auto to = steps_.step(part.config, byte_class))
                for (const Outcome& outcome : steps_.outcomes(*to)) found_.emplace_back(part.lead, outcome);
            continue;
        }
        const auto before = steps_.outcomes(part.config);
        for (const Outcome& outcome : std::vector<Outcome>(before.begin(), before.end()))
            for (const LexWay& way : lexer_.steps(outcome.state, byte_class)) {
                const auto [lead, rest] = cut(lexer_.output(way.output));
                if (rest) found_.emplace_back(lead, Outcome{*rest, way.next});
            }
    }
    sort_unique(found_);
    parts.clear();
    for (std::size_t i = 0; i < found_.size();) {
        const Before lead = found_[i].first;
        outcomes_.clear();
        for (; i < found_.size() && found_[i].first == lead; ++i) outcomes_.push_back(found_[i].second);
        const auto made = steps_.config(outcomes_);
        if (made) parts.push_back({lead, *made});
    }
    if (parts.empty()) return {};
    return parts.size() == 1 && parts[0].lead == Before::none() ? whole(parts[0].config) : parts_.id_of(parts);
}

std::optional<LedSteps::Behind> LedSteps::after(Before lead, SequenceNode node) {
    if (!lead.is_terminal()) return Behind(Before::none(), node);
    if (node == SequenceTrie::kRoot) {
        const auto one = trie_.child(node, lead.terminal());
        return one ? std::optional(Behind(Before::none(), *one)) : std::nullopt;
    }
    return trie_.may_follow(lead.terminal(), node) ? std::optional(Behind(lead, node)) : std::nullopt;
}

Word LedSteps::futures(LedConfig config) {
    if (config.index() >= list_of_.size()) list_of_.resize(static_cast<std::size_t>(size()), -1);
    Word& known = list_of_[config.index()];
    if (known >= 0) return known;
    const auto parts = parts_[config];
    const Continuation of_first = steps_.continuation(parts[0].config);
    if (parts.size() == 1)
        if (const auto same = list_of_one_.find(parts[0].lead, of_first)) return known = *same;
    std::vector<Behind> list;
    for (const Part& part : parts)
        for (SequenceNode node : steps_.nodes(steps_.continuation(part.config)))
            if (const auto behind = after(part.lead, node)) list.push_back(*behind);
    known = n_futures();
    if (parts.size() == 1) list_of_one_.insert(parts[0].lead, of_first, known);
    lists_.push_back(std::move(list));
    return known;
}

}  // namespace psc
