#include "classifier/compilation.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/sorted.hpp"
#include "classifier/classifier.hpp"

namespace psc {

namespace {
// Each sequence after a class of tokens, and each of these in each lexer state.
constexpr std::size_t kStepsForFuture = 4, kStepsForLabel = 2;

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
          by_block_(classes_) {
        sets_.id_of({});
    }

    RealizedSequences of_all_states() {
        RealizedSequences result;
        result.of_state.resize(lexer_.n_states());
        const auto& states = classes_.states();
        for (std::size_t i = 0; i < states.size(); ++i) {
            if (i % classes_.block_size() == 0) turn_to(i / classes_.block_size());
            labels_.clear();
            for (const Piece& piece : pieces_) add_labels(piece, i % classes_.block_size());
            add_labels_at_end(states[i]);
            sort_unique(labels_);
            write_labels(states[i], result);
        }
        for (ClassSet set{0}; set.v < sets_.size(); ++set.v) {
            result.set_classes.insert(result.set_classes.end(), sets_[set].begin(), sets_[set].end());
            result.set_offsets.push_back(static_cast<Word>(result.set_classes.size()));
        }
        return result;
    }

private:
    // What must be viable after some tokens from a state, and the blocks of these, as a chain.
    struct Touched {
        Word futures;
        Word first, last;
    };

    struct Labelled {
        Before lead;
        SequenceNode node;
        ClassSet set;
        auto operator<=>(const Labelled&) const = default;
    };

    // What blocks of one shape do: per config of the shape the sequences of which one must be viable.
    struct Piece {
        TokenClasses::Shape shape;
        std::vector<std::vector<Labelled>> of_config;
    };

    void turn_to(std::size_t column) {
        by_block_.turn_to(column);
        work_.spend(1 + classes_.size() / 4);
        next_.assign(static_cast<std::size_t>(by_block_.size()), -1);
        std::map<Word, std::vector<Word>> by_shape;
        for (Word k = 0; k < by_block_.size(); ++k) by_shape[classes_.shape(by_block_.block(k)).v].push_back(k);
        pieces_.clear();
        for (const auto& [shape, blocks] : by_shape) {
            pieces_.push_back({{shape}, {}});
            const std::size_t n = classes_.configs(by_block_.block(blocks[0])).size();
            for (std::size_t i = 0; i < n; ++i) {
                work_.spend(1 + blocks.size() / 4);
                pieces_.back().of_config.push_back(labels_of(blocks, i));
            }
        }
    }

    std::vector<Labelled> labels_of(const std::vector<Word>& blocks, std::size_t config) {
        touched_.clear();
        for (Word k : blocks) touch(k, futures_of(classes_.configs(by_block_.block(k))[config]));
        std::vector<Labelled> all, united;
        for (const Touched& t : touched_) {
            touched_of_[static_cast<std::size_t>(t.futures)] = -1;
            blocks_.clear();
            for (Word k = t.first; k >= 0; k = next_[static_cast<std::size_t>(k)]) blocks_.push_back(k);
            const ClassSet set = by_block_.united(blocks_, sets_);
            const auto nodes = steps_.list(t.futures);
            work_.spend(1 + kStepsForLabel * nodes.size());
            for (const auto& [lead, node] : nodes) all.push_back({lead, node, set});
        }
        std::sort(all.begin(), all.end());
        std::vector<ClassSet> sets;
        for (std::size_t k = 0; k < all.size();) {
            const Labelled first = all[k];
            sets.clear();
            for (; k < all.size() && all[k].lead == first.lead && all[k].node == first.node; ++k) sets.push_back(all[k].set);
            united.push_back({first.lead, first.node, union_of(sets)});
        }
        return united;
    }

    ClassSet union_of(std::span<const ClassSet> sets) {
        if (sets.size() == 1) return sets[0];
        const auto [list, fresh] = set_lists_.intern(sets);
        if (!fresh) return united_[list.index()];
        std::vector<SetMember> all;
        for (ClassSet set : sets) all.insert(all.end(), sets_[set].begin(), sets_[set].end());
        sort_unique(all);
        united_.push_back(sets_.id_of(all));
        return united_.back();
    }

    void touch(Word k, Word futures) {
        Word& at = touched_of_[static_cast<std::size_t>(futures)];
        next_[static_cast<std::size_t>(k)] = -1;
        if (at < 0) {
            at = static_cast<Word>(touched_.size());
            touched_.push_back({futures, k, k});
        } else {
            Word& last = touched_[static_cast<std::size_t>(at)].last;
            next_[static_cast<std::size_t>(last)] = k;
            last = k;
        }
    }

    void add_labels(const Piece& piece, std::size_t state_in_block) {
        const auto [lead, config] = classes_.entries(piece.shape)[state_in_block];
        if (config < 0) return;
        const auto& labels = piece.of_config[static_cast<std::size_t>(config)];
        work_.spend(1 + labels.size() / 2);
        if (!lead.is_terminal()) {
            labels_.insert(labels_.end(), labels.begin(), labels.end());
            return;
        }
        for (const Labelled& label : labels)
            if (const auto behind = steps_.after(lead, label.node)) labels_.push_back({behind->first, behind->second, label.set});
    }

    Word futures_of(LedConfig config) {
        const Word of = steps_.futures(config);
        if (static_cast<std::size_t>(of) == touched_of_.size()) {
            touched_of_.push_back(-1);
            work_.spend(kStepsForFuture * (1 + steps_.list(of).size()));
        }
        return of;
    }

    void add_labels_at_end(LexerState state) {
        const SetMember stop_tokens{classes_.size()};
        for (LexOutput last : lexer_.at_end(state)) {
            std::vector<OutputSymbol> symbols(lexer_.output(last).begin(), lexer_.output(last).end());
            symbols.push_back(end_);
            const auto [lead, node] = steps_.led(state, symbols);
            if (!node) continue;
            if (const auto behind = steps_.after(lead, *node))
                labels_.push_back({behind->first, behind->second, sets_.id_of({stop_tokens})});
        }
    }

    void write_labels(LexerState state, RealizedSequences& result) const {
        for (std::size_t k = 0; k < labels_.size();) {
            const Before lead = labels_[k].lead;
            if (lead.is_terminal()) {
                result.leads.push_back({state, lead.terminal()});
                result.of_lead.emplace_back();
            }
            Realizable& r = lead.is_terminal() ? result.of_lead.back() : result.of_state[state.index()];
            for (; k < labels_.size() && labels_[k].lead == lead; ++k) {
                if (r.sequences.empty() || labels_[k].node != r.sequences.back()) {
                    if (!r.sequences.empty()) r.offsets.push_back(static_cast<Word>(r.sets.size()));
                    r.sequences.push_back(labels_[k].node);
                }
                r.sets.push_back(labels_[k].set);
            }
            r.offsets.push_back(static_cast<Word>(r.sets.size()));
        }
    }

    LedSteps& steps_;
    const TokenClasses& classes_;
    Lexer& lexer_;
    Work& work_;
    const OutputSymbol end_;
    ClassesByBlock by_block_;
    Interned<ClassSet, SetMember> sets_;
    std::vector<Touched> touched_;     // of one state
    std::vector<Word> touched_of_;     // per list of futures its index in `touched_`, or -1
    std::vector<Word> next_, blocks_;  // the blocks in their chains
    std::vector<Piece> pieces_;        // of a column of blocks
    Interned<ClassSet, ClassSet> set_lists_;
    std::vector<ClassSet> united_;  // per list
    std::vector<Labelled> labels_;  // of one state
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
                                 std::span<const std::int64_t> offsets, std::span<const TokenId> text_tokens, Word most_whole) {
    // The lexer states in which a text can end. The start of an unknown context is none of them.
    std::vector<LexerState> states;
    for (LexerState q{lexer.lexer->contextual() ? 1 : 0}; q.v < lexer.lexer->n_states(); ++q.v) states.push_back(q);
    const auto classified = [&](bool with_leads) {
        ClassifiedTokens result{lexer.lexer, std::make_shared<GrowingTrie>(lexer.lr), {}, {}};
        GrowingTrie& grown = *result.sequences;
        result.steps = std::make_unique<LedSteps>(*result.lexer, grown.trie, with_leads);
        const auto is_enough = [&] { return !with_leads && grown.trie.size() > most_whole; };
        result.classes = std::make_unique<TokenClasses>(*result.lexer, *result.steps, states, bytes, offsets, text_tokens,
                                                        grown.work, is_enough);
        return result;
    };
    ClassifiedTokens result = classified(most_whole == 0);
    return result.classes->are_complete() ? std::move(result) : classified(true);
}

TerminalSequences find_sequences(const ClassifiedTokens& tokens) {
    TerminalSequences result{tokens.sequences, Realization(tokens).of_all_states(), {}, !tokens.steps->with_leads()};
    result.realized.n_nodes = tokens.sequences->trie.size();
    for (const auto* realized : {&result.realized.of_state, &result.realized.of_lead})
        for (const Realizable& r : *realized) result.all.insert(result.all.end(), r.sequences.begin(), r.sequences.end());
    sort_unique(result.all);
    return result;
}

ClosedClassifier close_classifier(const TerminalSequences& sequences) {
    const GrowingTrie& grown = *sequences.grown;
    std::span<const SequenceNode> nodes(sequences.all);
    if (!nodes.empty() && nodes[0] == SequenceTrie::kRoot) nodes = nodes.subspan(1);
    Work work = work_to_close(grown.work.left());
    const auto most = sequences.are_whole ? BytesToClose::of_whole : BytesToClose::of_any;
    return classify_sequences(*grown.lr, grown.below, grown.trie, nodes, work, most);
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
