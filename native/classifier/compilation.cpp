#include "classifier/compilation.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/sorted.hpp"
#include "classifier/classifier.hpp"

namespace psc {

namespace {
// Each outcome of a class of tokens and each sequence of an outcome, and each of these in each lexer state.
constexpr std::size_t kStepsForOutcome = 4, kStepsForFuture = 4, kStepsForLabel = 2;

// The classes of tokens by what they do in a block of lexer states.
class ClassesByBlock {
public:
    explicit ClassesByBlock(const TokenClasses& classes) : classes_(classes) {}

    void turn_to(std::size_t column) {
        std::map<TokenClasses::Block, Word> known;
        blocks_.clear();
        members_.clear();
        lists_ = {};
        set_of_list_.clear();
        for (TokenClass c{0}; c.v < classes_.size(); ++c.v) {
            const auto block = classes_.block(c, column);
            const auto [at, fresh] = known.emplace(block, size());
            if (fresh) {
                blocks_.push_back(block);
                members_.emplace_back();
            }
            members_[static_cast<std::size_t>(at->second)].push_back({c.v});
        }
    }
    // Blocks are in the order of their first classes.
    Word size() const { return static_cast<Word>(blocks_.size()); }
    TokenClasses::Block block(Word k) const { return blocks_[static_cast<std::size_t>(k)]; }
    // The classes of some blocks, which rise.
    ClassSet united(std::span<const Word> blocks, Interned<ClassSet, SetMember>& sets) {
        const auto [list, fresh] = lists_.intern(blocks);
        if (!fresh) return set_of_list_[static_cast<std::size_t>(list)];
        std::vector<SetMember> all;
        for (Word k : blocks) {
            const auto& more = members_[static_cast<std::size_t>(k)];
            all.insert(all.end(), more.begin(), more.end());
        }
        std::sort(all.begin(), all.end());
        set_of_list_.push_back(sets.id_of(all));
        return set_of_list_.back();
    }

private:
    const TokenClasses& classes_;
    std::vector<TokenClasses::Block> blocks_;
    std::vector<std::vector<SetMember>> members_;  // per block
    SequenceInterner lists_;                       // of blocks, and their classes
    std::vector<ClassSet> set_of_list_;
};

// What the tokens do in each lexer state: the sequences of which one must be viable, each with the classes for which it is.
class Realization {
public:
    explicit Realization(const ClassifiedTokens& tokens)
        : steps_(*tokens.steps),
          classes_(*tokens.classes),
          lexer_(*tokens.lexer),
          work_(tokens.sequences->work),
          end_(OutputSymbol::of(tokens.sequences->lr->end_terminal())),
          by_block_(classes_),
          touched_of_(static_cast<std::size_t>(steps_.size()), -1),
          futures_(touched_of_.size(), {-1, -1}) {
        sets_.id_of({});
    }

    RealizedSequences of_all_states() {
        RealizedSequences result;
        result.of_state.resize(lexer_.n_states());
        const auto& states = classes_.states();
        for (std::size_t i = 0; i < states.size(); ++i) {
            if (i % TokenClasses::kBlock == 0) turn_to(i / TokenClasses::kBlock);
            touch_configs(i % TokenClasses::kBlock);
            labels_.clear();
            for (const Touched& t : touched_) add_labels(t);
            add_labels_at_end(states[i]);
            sort_unique(labels_);
            write_labels(result.of_state[states[i].index()]);
        }
        for (ClassSet set{0}; set.v < sets_.size(); ++set.v) {
            result.set_classes.insert(result.set_classes.end(), sets_[set].begin(), sets_[set].end());
            result.set_offsets.push_back(static_cast<Word>(result.set_classes.size()));
        }
        return result;
    }

private:
    // A config that a state is led to, and the blocks that lead there, as a chain.
    struct Touched {
        TokenConfig config;
        Word first, last;
    };

    void turn_to(std::size_t column) {
        by_block_.turn_to(column);
        work_.spend(1 + classes_.size() / 4);
        next_.assign(static_cast<std::size_t>(by_block_.size()), -1);
    }

    void touch_configs(std::size_t state_in_block) {
        work_.spend(1 + by_block_.size() / 4);
        touched_.clear();
        for (Word k = 0; k < by_block_.size(); ++k) {
            const auto config = classes_.configs(by_block_.block(k))[state_in_block];
            if (!config) continue;
            Word& at = touched_of_[(*config).index()];
            next_[static_cast<std::size_t>(k)] = -1;
            if (at < 0) {
                at = static_cast<Word>(touched_.size());
                touched_.push_back({*config, k, k});
            } else {
                Word& last = touched_[static_cast<std::size_t>(at)].last;
                next_[static_cast<std::size_t>(last)] = k;
                last = k;
            }
        }
    }

    void add_labels(const Touched& t) {
        touched_of_[t.config.index()] = -1;
        blocks_.clear();
        for (Word k = t.first; k >= 0; k = next_[static_cast<std::size_t>(k)]) blocks_.push_back(k);
        const ClassSet set = by_block_.united(blocks_, sets_);
        const auto nodes = futures(t.config);
        work_.spend(1 + kStepsForLabel * nodes.size());
        for (SequenceNode node : nodes) labels_.emplace_back(node, set);
    }

    std::span<const SequenceNode> futures(TokenConfig config) {
        auto& [begin, end] = futures_[config.index()];
        if (begin < 0) {
            begin = static_cast<Word>(future_nodes_.size());
            for (const TokenSteps::Outcome& outcome : steps_.outcomes(config)) {
                const auto& nodes = steps_.futures(outcome);
                work_.spend(kStepsForOutcome + kStepsForFuture * nodes.size());
                future_nodes_.insert(future_nodes_.end(), nodes.begin(), nodes.end());
            }
            end = static_cast<Word>(future_nodes_.size());
        }
        return {future_nodes_.data() + begin, static_cast<std::size_t>(end - begin)};
    }

    void add_labels_at_end(LexerState state) {
        const SetMember stop_tokens{classes_.size()};
        for (LexOutput last : lexer_.at_end(state)) {
            const auto node = steps_.extend(steps_.extend(SequenceTrie::kRoot, lexer_.output(last)), {&end_, 1});
            if (node) labels_.emplace_back(*node, sets_.id_of({stop_tokens}));
        }
    }

    void write_labels(Realizable& r) const {
        for (std::size_t k = 0; k < labels_.size(); ++k) {
            if (k == 0 || labels_[k].first != labels_[k - 1].first) {
                if (k > 0) r.offsets.push_back(static_cast<Word>(k));
                r.sequences.push_back(labels_[k].first);
            }
            r.sets.push_back(labels_[k].second);
        }
        if (!labels_.empty()) r.offsets.push_back(static_cast<Word>(labels_.size()));
    }

    TokenSteps& steps_;
    const TokenClasses& classes_;
    Lexer& lexer_;
    Work& work_;
    const OutputSymbol end_;
    ClassesByBlock by_block_;
    Interned<ClassSet, SetMember> sets_;
    std::vector<Touched> touched_;                // of one state
    std::vector<Word> touched_of_;                // per config its index in `touched_`, or -1
    std::vector<Word> next_, blocks_;             // the blocks in their chains
    std::vector<std::pair<Word, Word>> futures_;  // per config, what must be viable: many states are led to each
    std::vector<SequenceNode> future_nodes_;
    std::vector<std::pair<SequenceNode, ClassSet>> labels_;  // of one state
};

}  // namespace

GrowingTrie::GrowingTrie(std::shared_ptr<const LrTables> tables)
    : lr(std::move(tables)), below(*lr), work(work_to_build_ahead_of_time()), trie(*lr, below, work) {}

ClosedLexer close_lexer(const LrTables& lr, const AllTerminals& terminals, LexerKind kind) {
    std::shared_ptr<Lexer> lexer = make_lexer(lr, terminals, kind);
    lexer->close();
    return {std::make_shared<const LrTables>(lr), std::move(lexer)};
}

ClassifiedTokens classify_tokens(const ClosedLexer& lexer, std::span<const std::uint8_t> bytes,
                                 std::span<const std::int64_t> offsets, std::span<const TokenId> text_tokens) {
    ClassifiedTokens result{lexer.lexer, std::make_shared<GrowingTrie>(lexer.lr), {}, {}};
    // The lexer states in which a text can end. The start of an unknown context is none of them.
    std::vector<LexerState> states;
    for (LexerState q{lexer.lexer->contextual() ? 1 : 0}; q.v < lexer.lexer->n_states(); ++q.v) states.push_back(q);
    result.steps = std::make_unique<TokenSteps>(*result.lexer, result.sequences->trie);
    result.classes = std::make_unique<TokenClasses>(*result.lexer, *result.steps, std::move(states), bytes, offsets, text_tokens,
                                                    result.sequences->work);
    return result;
}

TerminalSequences find_sequences(const ClassifiedTokens& tokens) {
    TerminalSequences result{tokens.sequences, Realization(tokens).of_all_states(), {}, tokens.lexer->starts_of_tops()};
    if (!tokens.lexer->contextual()) result.starts = {LexerState{0}};
    sort_unique(result.starts);
    result.realized.n_nodes = tokens.sequences->trie.size();
    for (const Realizable& r : result.realized.of_state)
        result.all.insert(result.all.end(), r.sequences.begin(), r.sequences.end());
    sort_unique(result.all);
    return result;
}

ClosedClassifier close_classifier(const TerminalSequences& sequences) {
    const GrowingTrie& grown = *sequences.grown;
    std::span<const SequenceNode> nodes(sequences.all);
    if (!nodes.empty() && nodes[0] == SequenceTrie::kRoot) nodes = nodes.subspan(1);
    Work work = work_to_close(grown.work.left());
    return classify_sequences(*grown.lr, grown.below, grown.trie, nodes, work);
}

std::vector<std::vector<SequenceNode>> TerminalSequences::groups(std::size_t n) const {
    const SequenceTrie& trie = grown->trie;
    // Per node: the first one on the way to it, and how many sequences begin with it.
    std::vector<SequenceNode> first(trie.size(), SequenceTrie::kRoot), firsts;
    std::vector<Word> weight(trie.size(), 0);
    for (SequenceNode node{1}; node.v < trie.size(); ++node.v) {
        const SequenceNode parent = trie.parent(node);
        first[node.index()] = parent == SequenceTrie::kRoot ? node : first[parent.index()];
    }
    for (SequenceNode node : all) ++weight[first[node.index()].index()];
    for (SequenceNode node{1}; node.v < trie.size(); ++node.v)
        if (weight[node.index()] > 0) firsts.push_back(node);
    // The heaviest goes first, each to the group that has least.
    std::stable_sort(firsts.begin(), firsts.end(),
                     [&](SequenceNode a, SequenceNode b) { return weight[a.index()] > weight[b.index()]; });
    std::vector<std::vector<SequenceNode>> groups(std::min(std::max<std::size_t>(n, 1), firsts.size()));
    std::vector<std::int64_t> load(groups.size());
    std::vector<std::ptrdiff_t> group_of(trie.size(), -1);
    for (SequenceNode node : firsts) {
        const auto least = std::min_element(load.begin(), load.end());
        *least += weight[node.index()];
        group_of[node.index()] = least - load.begin();
    }
    for (SequenceNode node : all)
        if (node != SequenceTrie::kRoot) groups[group_of[first[node.index()].index()]].push_back(node);
    return groups;
}

}  // namespace psc
