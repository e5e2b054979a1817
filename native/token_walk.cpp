#include "token_walk.hpp"

#include <algorithm>

namespace psc {

TokenWalk::Entries TokenWalk::from(LexerState lexer_state) {
    Sets sets;
    Entries out;
    const VocabularyNode end = vocabulary_.end();
    if (const auto tops = lexer_.tops_of(lexer_state); !tops.empty()) {
        // The start of one context is that of all, under its condition.
        const auto here = trie_.where(SequenceTrie::kRoot, tops);
        for (VocabularyNode n{0}; here && n < end; n = vocabulary_[n].end) put_after(*here, from_start(n), out);
        return out;
    }
    if (!inside(lexer_state, sets, out)) {
        const TokenConfig start = steps_.config(SequenceTrie::kRoot, lexer_state);
        for (VocabularyNode n{0}; n < end; n = vocabulary_[n].end) enter(n, start, sets, out);
    }
    finish(sets, out);
    return out;
}

// Tokens that end in a config: one entry for each sequence that they may still become.
void TokenWalk::finish(const Sets& sets, Entries& out) {
    for (const auto& [config, tokens] : sets) {
        bytes_ += tokens->bytes();
        for (const TokenSteps::Outcome& outcome : steps_.outcomes(config))
            for (SequenceNode node : steps_.futures(outcome)) out.push_back({node, tokens});
    }
}

// A lexer state whose arcs stay inside few states without emitting takes the walk from the vocabulary's fragments.
bool TokenWalk::inside(LexerState lexer_state, Sets& sets, Entries& out) {
    std::vector<LexerState> states{lexer_state};
    std::vector<Word> next;
    const auto& classes = lexer_.byte_class();
    std::vector<Word> row(lexer_.n_classes());
    for (std::size_t i = 0; i < states.size(); ++i) {
        for (Word c = 0; c < lexer_.n_classes(); ++c) {
            const auto ways = lexer_.steps(states[i], {static_cast<std::uint8_t>(c)});
            if (ways.empty()) {
                row[c] = VocabularyIndex::kDead;
            } else if (ways.size() > 1 || ways[0].output.v != 0 || ways[0].next.v == 0) {
                row[c] = VocabularyIndex::kExit;
            } else {
                const auto at = std::find(states.begin(), states.end(), ways[0].next);
                row[c] = static_cast<Word>(at - states.begin());
                if (at == states.end()) {
                    if (states.size() >= static_cast<std::size_t>(VocabularyIndex::kMaxFragmentStates)) return false;
                    states.push_back(ways[0].next);
                }
            }
        }
        for (int b = 0; b < 256; ++b) next.push_back(row[classes[b].v]);
    }
    const auto fragment = vocabulary_.fragment(next);
    std::vector<TokenConfig> configs;
    for (LexerState state : states) configs.push_back(steps_.config(SequenceTrie::kRoot, state));
    for (const auto& exit : fragment->exits) enter(exit.node, configs[exit.state], sets, out);
    Sets shared;  // apart: the fragment's own sets must not be added to
    for (std::size_t s = 0; s < states.size(); ++s)
        if (fragment->inside[s]->count) shared.emplace(configs[s], fragment->inside[s]);
    finish(shared, out);
    return true;
}

// Reads the byte of `node` in config `before`, and then its subtree.
void TokenWalk::enter(VocabularyNode node, TokenConfig before, Sets& sets, Entries& out) {
    const ByteClass byte_class = lexer_.byte_class()[vocabulary_[node].byte];
    const auto outcomes = steps_.outcomes(before);
    if (shares(node) && outcomes.size() == 1) {
        const auto [prefix, state] = outcomes[0];
        if (state.v == 0) return put_after(prefix, from_start(node), out);
        const auto split = lexer_.split(state, byte_class);
        if (split.plain) {
            for (LexOutput ending : split.endings)
                if (const auto after = steps_.extend(prefix, lexer_.output(ending))) put_after(*after, from_start(node), out);
            if (split.within) subtree(node, steps_.config(prefix, *split.within), sets, out);
            return;
        }
    }
    if (const auto config = steps_.step(before, byte_class)) subtree(node, *config, sets, out);
}

// The subtree of a node whose byte has led to `config`.
void TokenWalk::subtree(VocabularyNode node, TokenConfig config, Sets& sets, Entries& out) {
    const auto add = [&](TokenConfig c, Word first, Word last) {
        if (first == last) return;
        auto& set = sets[c];
        if (!set) set = std::make_shared<TokenSet>();
        set->add(first, last);
    };
    const VocabularyNode end = vocabulary_[node].end;
    std::vector<TokenConfig> path(vocabulary_.max_depth() + 1);
    // All bytes below lead back to where it is: so do the tokens.
    const auto pass = [&](VocabularyNode n, TokenConfig c) {
        if ((vocabulary_[n].below & ~steps_.stays(c)) != 0) return false;
        add(c, vocabulary_[n].first_token, vocabulary_.tokens_begin(vocabulary_[n].end));
        return true;
    };
    if (pass(node, config)) return;
    path[vocabulary_[node].depth] = config;
    add(config, vocabulary_[node].first_token, vocabulary_.own_tokens_end(node));
    for (VocabularyNode n{node.v + 1}; n < end;) {
        const auto& at = vocabulary_[n];
        const TokenConfig before = path[at.depth - 1];
        if (shares(n) && steps_.outcomes(before).size() == 1) {
            enter(n, before, sets, out);
            n = at.end;
            continue;
        }
        const auto c = steps_.step(before, lexer_.byte_class()[at.byte]);
        if (!c || (*c == before && pass(n, *c))) {
            n = at.end;
            continue;
        }
        path[at.depth] = *c;
        add(*c, at.first_token, vocabulary_.own_tokens_end(n));
        ++n.v;
    }
}

const TokenWalk::Entries& TokenWalk::from_start(VocabularyNode node) {
    auto& known = from_start_[node];
    if (known) return *known;
    Sets sets;
    auto made = std::make_unique<Entries>();
    const TokenConfig start = steps_.config(SequenceTrie::kRoot, {0});
    if (const auto config = steps_.step(start, lexer_.byte_class()[vocabulary_[node].byte])) subtree(node, *config, sets, *made);
    finish(sets, *made);
    bytes_ += made->size() * sizeof(Entry);
    auto& kept = from_start_[node];  // the map may have grown meanwhile
    kept = std::move(made);
    return *kept;
}

void TokenWalk::put_after(SequenceNode prefix, const Entries& entries, Entries& out) {
    if (prefix == SequenceTrie::kRoot) {
        out.insert(out.end(), entries.begin(), entries.end());
        return;
    }
    for (const Entry& e : entries)
        if (const auto node = concatenation(prefix, e.sequence)) out.push_back({*node, e.tokens});
}

Maybe<SequenceNode> TokenWalk::concatenation(SequenceNode node, SequenceNode sequence) {
    if (sequence == SequenceTrie::kRoot) return node;
    if (const auto known = concatenated_.find(node, sequence)) return *known;
    const auto before = concatenation(node, trie_.parent(sequence));
    Maybe<SequenceNode> made;
    if (before) {
        const NodeLabel label = trie_.label(sequence);
        if (label.is_condition())
            made = trie_.where(*before, trie_.condition(sequence));
        else if (label.is_open())
            made = trie_.any_of_after(*before, sequence);
        else
            made = trie_.child(*before, label.terminal());
    }
    concatenated_.insert(node, sequence, made);
    return made;
}

}  // namespace psc
