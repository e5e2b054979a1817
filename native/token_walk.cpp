#include "token_walk.hpp"

#include <algorithm>

namespace psc {

TokenWalk::Entries TokenWalk::from(Word lexer_state) {
    Sets sets;
    Entries out;
    if (const auto tops = lexer_.tops_of(lexer_state); !tops.empty()) {
        // The start of one context is that of all, under its condition.
        const Word here = trie_.where(0, tops);
        const auto nodes = vocabulary_.nodes();
        for (Word n = 0; n < static_cast<Word>(nodes.size()); n = nodes[n].end) put_after(here, from_start(n), out);
        return out;
    }
    if (!inside(lexer_state, sets, out)) {
        const Word start = steps_.config(0, lexer_state);
        const auto nodes = vocabulary_.nodes();
        for (Word n = 0; n < static_cast<Word>(nodes.size()); n = nodes[n].end) enter(n, start, sets, out);
    }
    finish(sets, out);
    return out;
}

// Tokens that end in a config: one entry for each sequence that they may still become.
void TokenWalk::finish(const Sets& sets, Entries& out) {
    for (const auto& [config, tokens] : sets) {
        bytes_ += tokens->bytes();
        const auto span = steps_.outcomes(config);
        const std::vector<Word> outcomes(span.begin(), span.end());
        for (std::size_t k = 0; k < outcomes.size(); k += 2)
            for (Word node : steps_.futures(outcomes[k], outcomes[k + 1])) out.push_back({node, tokens});
    }
}

// A lexer state whose arcs stay inside few states without emitting takes the walk from the vocabulary's fragments.
bool TokenWalk::inside(Word lexer_state, Sets& sets, Entries& out) {
    std::vector<Word> states{lexer_state}, next;
    const auto& classes = lexer_.byte_class();
    std::vector<Word> row(lexer_.n_classes());
    for (std::size_t i = 0; i < states.size(); ++i) {
        for (Word c = 0; c < lexer_.n_classes(); ++c) {
            const auto steps = lexer_.steps(states[i], c);
            if (steps.empty()) {
                row[c] = VocabularyIndex::kDead;
            } else if (steps.size() > 2 || steps[0] != 0 || steps[1] == 0) {
                row[c] = VocabularyIndex::kExit;
            } else {
                const auto at = std::find(states.begin(), states.end(), steps[1]);
                row[c] = static_cast<Word>(at - states.begin());
                if (at == states.end()) {
                    if (states.size() >= static_cast<std::size_t>(VocabularyIndex::kMaxFragmentStates)) return false;
                    states.push_back(steps[1]);
                }
            }
        }
        for (int b = 0; b < 256; ++b) next.push_back(row[classes[b]]);
    }
    const auto fragment = vocabulary_.fragment(next);
    std::vector<Word> configs;
    for (Word state : states) configs.push_back(steps_.config(0, state));
    for (const auto& exit : fragment->exits) enter(exit.node, configs[exit.state], sets, out);
    Sets shared;  // apart: the fragment's own sets must not be added to
    for (std::size_t s = 0; s < states.size(); ++s)
        if (fragment->inside[s]->count) shared.emplace(configs[s], fragment->inside[s]);
    finish(shared, out);
    return true;
}

// Reads the byte of `node` in config `before`, and then its subtree.
void TokenWalk::enter(Word node, Word before, Sets& sets, Entries& out) {
    const auto& n = vocabulary_.nodes()[node];
    const Word cls = lexer_.byte_class()[n.byte];
    const auto outcomes = steps_.outcomes(before);
    if (shares(node) && outcomes.size() == 2) {
        const Word prefix = outcomes[0], state = outcomes[1];
        if (state == 0) return put_after(prefix, from_start(node), out);
        const auto split = lexer_.split(state, cls);
        if (split.plain) {
            for (Word ending : split.endings)
                if (const Word after = steps_.extend(prefix, lexer_.emission(ending)); after != kNoNode)
                    put_after(after, from_start(node), out);
            if (split.within >= 0) subtree(node, steps_.config(prefix, split.within), sets, out);
            return;
        }
    }
    if (const Word config = steps_.step(before, cls); config != TokenSteps::kDead) subtree(node, config, sets, out);
}

// The subtree of a node whose byte has led to `config`.
void TokenWalk::subtree(Word node, Word config, Sets& sets, Entries& out) {
    const auto nodes = vocabulary_.nodes();
    const auto add = [&](Word c, Word first, Word last) {
        if (first == last) return;
        auto& set = sets[c];
        if (!set) set = std::make_shared<TokenSet>();
        set->add(first, last);
    };
    const Word end = nodes[node].end;
    std::vector<Word> path(vocabulary_.max_depth() + 1);
    // All bytes below lead back to where it is: so do the tokens.
    const auto pass = [&](Word n, Word c) {
        if ((nodes[n].below & ~steps_.stays(c)) != 0) return false;
        add(c, nodes[n].first_token, vocabulary_.tokens_begin(nodes[n].end));
        return true;
    };
    if (pass(node, config)) return;
    path[nodes[node].depth] = config;
    add(config, nodes[node].first_token, vocabulary_.own_tokens_end(node));
    for (Word n = node + 1; n < end;) {
        const auto& at = nodes[n];
        const Word before = path[at.depth - 1];
        if (shares(n) && steps_.outcomes(before).size() == 2) {
            enter(n, before, sets, out);
            n = at.end;
            continue;
        }
        const Word c = steps_.step(before, lexer_.byte_class()[at.byte]);
        if (c == TokenSteps::kDead || (c == before && pass(n, c))) {
            n = at.end;
            continue;
        }
        path[at.depth] = c;
        add(c, at.first_token, vocabulary_.own_tokens_end(n));
        ++n;
    }
}

const TokenWalk::Entries& TokenWalk::from_start(Word node) {
    auto& known = from_start_[node];
    if (known) return *known;
    Sets sets;
    auto made = std::make_unique<Entries>();
    const Word config = steps_.step(steps_.config(0, 0), lexer_.byte_class()[vocabulary_.nodes()[node].byte]);
    if (config != TokenSteps::kDead) subtree(node, config, sets, *made);
    finish(sets, *made);
    bytes_ += made->size() * sizeof(Entry);
    auto& kept = from_start_[node];  // the map may have grown meanwhile
    kept = std::move(made);
    return *kept;
}

void TokenWalk::put_after(Word prefix, const Entries& entries, Entries& out) {
    if (prefix == 0) {
        out.insert(out.end(), entries.begin(), entries.end());
        return;
    }
    for (const Entry& e : entries)
        if (const Word node = concatenation(prefix, e.sequence); node != kNoNode) out.push_back({node, e.tokens});
}

Word TokenWalk::concatenation(Word node, Word sequence) {
    if (sequence == 0 || node == kNoNode) return node;
    constexpr Word kUnknown = -2;
    if (const Word known = concatenated_.find(node, sequence, kUnknown); known != kUnknown) return known;
    const Word before = concatenation(node, trie_.parent(sequence));
    Word made = kNoNode;
    if (before != kNoNode) {
        if (trie_.terminal(sequence) == SequenceTrie::kCondition) {
            const auto span = trie_.condition(sequence);
            made = trie_.where(before, std::vector<Word>(span.begin(), span.end()));
        } else if (trie_.terminal(sequence) == SequenceTrie::kOpen) {
            made = trie_.any_of_after(before, sequence);
        } else {
            made = trie_.child(before, trie_.terminal(sequence));
        }
    }
    concatenated_.insert(node, sequence, made);
    return made;
}

}  // namespace psc
