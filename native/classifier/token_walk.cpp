#include "classifier/token_walk.hpp"

#include <algorithm>

#include "text/utf8_positions.hpp"
#include "vocabulary/walk.hpp"

namespace psc {

TokenWalk::Entries TokenWalk::from(LexerState lexer_state, SequenceNode root) {
    Entries out;
    const VocabularyNode end = vocabulary_.end();
    narrow_ = root != SequenceTrie::kRoot;
    if (const auto tops = lexer_.tops_of(lexer_state); !narrow_ && !tops.empty()) {
        // The start of one context is that of all, under its condition.
        const auto here = trie_.where(SequenceTrie::kRoot, tops);
        for (VocabularyNode n{0}; here && n < end; n = vocabulary_[n].end) put_after(*here, from_start(n), out);
        return out;
    }
    Sets sets = no_sets();
    if (!inside(lexer_state, root, sets, out)) {
        const TokenConfig start = steps_.config(root, lexer_state);
        for (VocabularyNode n{0}; n < end; n = vocabulary_[n].end) enter_anywhere(n, start, sets, out);
    }
    finish(std::move(sets), out);
    return out;
}

TokenWalk::Sets TokenWalk::no_sets() {
    Sets sets;
    if (!spare_slots_.empty()) {
        sets.slots = std::move(spare_slots_.back());
        spare_slots_.pop_back();
    }
    return sets;
}

TokenSet& TokenWalk::set_of(TokenConfig config, Sets& sets) {
    const Continuation continuation = steps_.continuation(config);
    if (continuation.index() >= sets.slots.size()) sets.slots.resize(continuation.index() + 1, -1);
    Word& slot = sets.slots[continuation.index()];
    if (slot < 0) {
        slot = static_cast<Word>(sets.all.size());
        sets.all.emplace_back(continuation, std::make_shared<TokenSet>());
    }
    return *sets.all[slot].second;
}

// Tokens at these sorted positions end in `config`.
void TokenWalk::add(TokenConfig config, Word first, Word last, Sets& sets) {
    if (first != last) set_of(config, sets).add(first, last);
}

// One entry for each sequence that the tokens may still become.
void TokenWalk::put_tokens(Continuation continuation, const std::shared_ptr<TokenSet>& tokens, Entries& out) {
    bytes_ += tokens->bytes();
    for (SequenceNode node : steps_.nodes(continuation)) out.push_back({node, tokens});
}

void TokenWalk::finish(Sets sets, Entries& out) {
    for (const auto& [continuation, tokens] : sets.all) {
        put_tokens(continuation, tokens, out);
        sets.slots[continuation.index()] = -1;
    }
    spare_slots_.push_back(std::move(sets.slots));
}

// A lexer state whose arcs stay inside few states without emitting takes the walk from the vocabulary's fragments.
bool TokenWalk::inside(LexerState lexer_state, SequenceNode root, Sets& sets, Entries& out) {
    const LexemeFragment* found = fragments_.from(lexer_state);
    if (!found) return false;
    std::vector<TokenConfig> configs;
    for (LexerState state : found->states) configs.push_back(steps_.config(root, state));
    for (const auto& exit : found->tokens->exits) enter_anywhere(exit.node, configs[exit.state], sets, out);
    for (std::size_t s = 0; s < configs.size(); ++s)
        if (found->tokens->inside[s]->count) put_tokens(steps_.continuation(configs[s]), found->tokens->inside[s], out);
    return true;
}

// Reads the byte of `node` in config `before`, and then its subtree.
void TokenWalk::enter(VocabularyNode node, TokenConfig before, Sets& sets, Entries& out) {
    if (begins_wide(vocabulary_[node].byte) && pass_character(node, before, sets)) return;
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

const TokenWalk::Run* TokenWalk::run_of(TokenConfig config) {
    const auto [it, fresh] = runs_.try_emplace(config);
    if (fresh) {
        if (auto steps = steps_.run(config, VocabularyRuns::kLongest))
            if (auto tokens = vocabulary_.runs(steps->kinds)) it->second = {std::move(*steps), std::move(tokens)};
    }
    return it->second ? &*it->second : nullptr;
}

// The same, and where characters behind a node are counted, tokens are taken by their number.
void TokenWalk::enter_anywhere(VocabularyNode node, TokenConfig before, Sets& sets, Entries& out) {
    if (!enter_run(node, before, sets, out)) enter(node, before, sets, out);
}

bool TokenWalk::enter_run(VocabularyNode node, TokenConfig before, Sets& sets, Entries& out) {
    const auto& at = vocabulary_[node];
    if (at.depth > 2 || at.end.v - node.v < kWorthARun) return false;
    const auto config = begins_wide(at.byte) ? steps_.after_any_wide(before) : steps_.step(before, lexer_.byte_class()[at.byte]);
    const Run* run = config ? run_of(*config) : nullptr;
    if (!run) return false;
    const VocabularyRuns::Behind* behind = run->tokens->behind(node);
    if (!behind) return false;
    const auto& [kinds, to, alone, ends] = run->steps;
    for (std::size_t k = 0; k < behind->whole.size() && (k < to.size() || !ends); ++k)
        if (behind->whole[k])
            for (SequenceNode n : steps_.nodes(steps_.continuation(k < to.size() ? to[k] : to.back())))
                out.push_back({n, behind->whole[k]});
    for (const auto& exit : behind->exits) {
        const auto length = static_cast<std::size_t>(exit.length);
        if (length >= to.size() && ends) continue;
        const std::size_t k = std::min(length, to.size() - 1);
        if (const auto after = alone[k] ? Maybe<TokenConfig>(to[k]) : config_above(exit.node, node, before))
            enter(exit.node, *after, sets, out);
    }
    return true;
}

// To which config the bytes above `node` lead, from that of `first` on, which is read in config `before`.
Maybe<TokenConfig> TokenWalk::config_above(VocabularyNode node, VocabularyNode first, TokenConfig before) {
    const auto token = static_cast<std::size_t>(vocabulary_.token_at(vocabulary_.tokens_begin(node)).v);
    const std::uint8_t* text = vocabulary_.bytes().data() + vocabulary_.offsets()[token];
    Maybe<TokenConfig> config = before;
    for (int i = vocabulary_[first].depth - 1; config && i < vocabulary_[node].depth - 1; ++i)
        config = steps_.step(*config, lexer_.byte_class()[text[i]]);
    return config;
}

// Takes the subtree as a whole if all its tokens have one continuation. `again`: the byte of the node has led back to `config`.
bool TokenWalk::pass(VocabularyNode node, TokenConfig config, bool again, Sets& sets) {
    const auto& at = vocabulary_[node];
    if ((again || steps_.knows_stays(config)) && steps_.stays(config, at.below)) {
        add(config, at.first_token, vocabulary_.tokens_begin(at.end), sets);
        return true;
    }
    return climb(node, config, at.below, at.height, at.depth, sets);
}

// The same for a node whose byte begins a character beyond ASCII, in the config before that byte: what is below are the rest of the
// character and what follows it.
bool TokenWalk::pass_character(VocabularyNode node, TokenConfig before, Sets& sets) {
    const auto& at = vocabulary_[node];
    namespace kind = character_kinds;
    const auto kinds = (at.below & ~kind::kRest) | kind::kWide | kind::kCut;
    if (steps_.knows_stays(before) && steps_.stays(before, kinds)) {
        add(before, at.first_token, vocabulary_.tokens_begin(at.end), sets);
        return true;
    }
    return climb(node, before, kinds, at.height + 1, at.depth - 1, sets);
}

// Takes a subtree whose texts lead from `config`, after `depth` bytes, where their number of characters says.
bool TokenWalk::climb(VocabularyNode node, TokenConfig config, CharacterKinds kinds, int height, int depth, Sets& sets) {
    const auto& at = vocabulary_[node];
    const Word n_nodes = at.end.v - node.v;
    if (n_nodes < kWorthAsking || height >= VocabularyIndex::kMaxHeight) return false;
    const auto worth = [&](int k) { return std::min(n_nodes, vocabulary_.n_deeper(static_cast<std::size_t>(depth + k))); };
    const auto ladder = steps_.ladder(config, kinds, height, worth);
    if (!ladder) return false;
    const Word first = at.first_token, last = vocabulary_.tokens_begin(at.end);
    if (ladder->is_uniform) {
        add(config, first, last, sets);
        return true;
    }
    const auto to = ladder->by_length;
    const Word longest = static_cast<Word>(to.size()) - 1;
    by_length_.assign(to.size(), nullptr);
    const Word read = vocabulary_.characters(first, depth);
    for (Word i = first; i < last; ++i) {
        const Word more = vocabulary_.characters(i) - read;
        if (more > longest && ladder->ends) continue;
        const Word k = std::min(more, longest);
        if (!by_length_[k]) by_length_[k] = &set_of(to[k], sets);
        by_length_[k]->add(i, i + 1);
    }
    return true;
}

// The subtree of a node whose byte has led to `config`.
void TokenWalk::subtree(VocabularyNode node, TokenConfig config, Sets& sets, Entries& out) {
    if (pass(node, config, true, sets)) return;
    const auto& top = vocabulary_[node];
    path_[top.depth] = config;
    add(config, top.first_token, vocabulary_.own_tokens_end(node), sets);
    const auto visit = [&](const VocabularyIndex::Node& at, VocabularyNode n, TokenConfig before, TokenConfig& after) {
        if (shares(n) && steps_.outcomes(before).size() == 1) {
            enter(n, before, sets, out);
            return Below::skip;
        }
        if (begins_wide(at.byte) && pass_character(n, before, sets)) return Below::skip;
        const auto to = steps_.step(before, lexer_.byte_class()[at.byte]);
        if (!to || pass(n, *to, *to == before, sets)) return Below::skip;
        after = *to;
        return Below::enter;
    };
    walk(vocabulary_.trie(), {node.v + 1}, top.end, path_, visit,
         [&](Word first, Word last, TokenConfig to) { add(to, first, last, sets); });
}

const TokenWalk::Entries& TokenWalk::from_start(VocabularyNode node) {
    auto& known = from_start_[node].entries;
    if (known) return *known;
    Sets sets = no_sets();
    auto made = std::make_unique<Entries>();
    const TokenConfig start = steps_.config(SequenceTrie::kRoot, {0});
    if (const auto config = steps_.step(start, lexer_.byte_class()[vocabulary_[node].byte])) subtree(node, *config, sets, *made);
    finish(std::move(sets), *made);
    bytes_ += made->size() * sizeof(Entry);
    auto& cached = from_start_[node].entries;  // the map may have grown meanwhile
    cached = std::move(made);
    return *cached;
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
