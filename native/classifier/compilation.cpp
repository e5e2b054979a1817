#include "classifier/compilation.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

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

constexpr const char* kStageNames[] = {"none", "lexer", "token classes", "terminal sequences", "stack classifier", "assembly"};
}  // namespace

class Compilation::Running {
public:
    Running(Compilation& compilation, Stage stage) : compilation_(compilation), stage_(stage) {
        if (compilation.running_ || static_cast<int>(compilation.done_) + 1 != static_cast<int>(stage))
            throw std::logic_error(
                std::string("the stages of a compilation run once each, in order; this is not the turn of the ") +
                kStageNames[static_cast<int>(stage)]);
        compilation.running_ = true;
    }
    void finish() {
        compilation_.done_ = stage_;
        compilation_.running_ = false;
    }

private:
    Compilation& compilation_;
    Stage stage_;
};

void Compilation::not_made(Stage by) {
    throw std::logic_error(std::string("a compilation is asked for what its stage has not made yet: ") +
                           kStageNames[static_cast<int>(by)]);
}

Compilation::Compilation(LrTables lr, AllTerminals terminals, LexerKind kind, Vocabulary vocabulary)
    : lr_(std::move(lr)),
      below_(lr_),
      terminals_(std::move(terminals)),
      kind_(kind),
      vocabulary_(std::move(vocabulary)),
      work_(work_to_build_ahead_of_time()) {}

void Compilation::build_lexer() {
    Running stage(*this, Stage::lexer);
    lexer_ = make_lexer(lr_, terminals_, kind_);
    lexer_->close();
    stage.finish();
}

void Compilation::classify_tokens() {
    Running stage(*this, Stage::token_classes);
    // The lexer states in which a text can end. The start of an unknown context is none of them.
    std::vector<LexerState> states;
    for (LexerState q{lexer_->contextual() ? 1 : 0}; q.v < lexer_->n_states(); ++q.v) states.push_back(q);
    trie_ = std::make_unique<SequenceTrie>(lr_, below_, work_);
    steps_ = std::make_unique<TokenSteps>(*lexer_, *trie_);
    classes_ = std::make_unique<TokenClasses>(*lexer_, *steps_, states, vocabulary_.bytes, vocabulary_.offsets,
                                              ids_of<TokenId>(vocabulary_.text_tokens), work_);
    stage.finish();
}

void Compilation::find_sequences() {
    Running stage(*this, Stage::sequences);
    const auto& states = classes_->states();
    realized_.of_state.resize(lexer_->n_states());
    Interned<ClassSet, SetMember> sets;
    sets.id_of({});
    const SetMember stop_tokens{classes_->size()};
    const OutputSymbol end = OutputSymbol::of(lr_.end_terminal());
    const auto n_configs = static_cast<std::size_t>(steps_->size());
    std::vector<std::pair<SequenceNode, ClassSet>> labels;  // of one state
    ClassesByBlock by_block(*classes_);
    // The configs that a state is led to, each with the blocks that lead there, as a chain.
    struct Touched {
        TokenConfig config;
        Word first, last;
    };
    std::vector<Touched> touched;
    std::vector<Word> place(n_configs, -1), next, blocks;  // of a config in `touched`, and the blocks in their chains
    // Per config, what must be viable: many states are led to each.
    std::vector<std::pair<Word, Word>> futures(n_configs, {-1, -1});
    std::vector<SequenceNode> future_nodes;
    for (std::size_t i = 0; i < states.size(); ++i) {
        if (i % TokenClasses::kBlock == 0) {
            by_block.turn_to(i / TokenClasses::kBlock);
            work_.spend(1 + classes_->size() / 4);
            next.assign(static_cast<std::size_t>(by_block.size()), -1);
        }
        work_.spend(1 + by_block.size() / 4);
        touched.clear();
        for (Word k = 0; k < by_block.size(); ++k) {
            const auto config = classes_->configs(by_block.block(k))[i % TokenClasses::kBlock];
            if (!config) continue;
            Word& at = place[(*config).index()];
            next[static_cast<std::size_t>(k)] = -1;
            if (at < 0) {
                at = static_cast<Word>(touched.size());
                touched.push_back({*config, k, k});
            } else {
                Word& last = touched[static_cast<std::size_t>(at)].last;
                next[static_cast<std::size_t>(last)] = k;
                last = k;
            }
        }
        labels.clear();
        for (const Touched& t : touched) {
            place[t.config.index()] = -1;
            blocks.clear();
            for (Word k = t.first; k >= 0; k = next[static_cast<std::size_t>(k)]) blocks.push_back(k);
            const ClassSet set = by_block.united(blocks, sets);
            auto& [begin, end] = futures[t.config.index()];
            if (begin < 0) {
                begin = static_cast<Word>(future_nodes.size());
                for (const TokenSteps::Outcome& outcome : steps_->outcomes(t.config)) {
                    const auto& nodes = steps_->futures(outcome);
                    work_.spend(kStepsForOutcome + kStepsForFuture * nodes.size());
                    future_nodes.insert(future_nodes.end(), nodes.begin(), nodes.end());
                }
                end = static_cast<Word>(future_nodes.size());
            }
            work_.spend(1 + kStepsForLabel * static_cast<std::size_t>(end - begin));
            for (Word k = begin; k < end; ++k) labels.emplace_back(future_nodes[static_cast<std::size_t>(k)], set);
        }
        for (LexOutput last : lexer_->at_end(states[i])) {
            const auto node = steps_->extend(steps_->extend(SequenceTrie::kRoot, lexer_->output(last)), {&end, 1});
            if (node) labels.emplace_back(*node, sets.id_of({stop_tokens}));
        }
        sort_unique(labels);
        Realizable& r = realized_.of_state[states[i].index()];
        for (std::size_t k = 0; k < labels.size(); ++k) {
            if (k == 0 || labels[k].first != labels[k - 1].first) {
                if (k > 0) r.offsets.push_back(static_cast<Word>(k));
                r.sequences.push_back(labels[k].first);
            }
            r.sets.push_back(labels[k].second);
        }
        if (!labels.empty()) r.offsets.push_back(static_cast<Word>(labels.size()));
    }
    classes_->release_functions();
    steps_.reset();
    for (ClassSet set{0}; set.v < sets.size(); ++set.v) {
        realized_.set_classes.insert(realized_.set_classes.end(), sets[set].begin(), sets[set].end());
        realized_.set_offsets.push_back(static_cast<Word>(realized_.set_classes.size()));
    }
    realized_.n_nodes = trie_->size();
    for (const Realizable& r : realized_.of_state) sequences_.insert(sequences_.end(), r.sequences.begin(), r.sequences.end());
    sort_unique(sequences_);
    stage.finish();
}

void Compilation::build_classifier() {
    Running stage(*this, Stage::classifier);
    // One machine for all lexer states: a sequence that a lexer state cannot produce stands for no token there.
    const auto groups = sequence_groups(1);
    Work work = work_to_close(work_.left());
    classifier_ = classify_sequences(lr_, below_, *trie_, groups.empty() ? std::vector<SequenceNode>{} : groups[0], work);
    stage.finish();
}

std::vector<std::vector<SequenceNode>> Compilation::sequence_groups(std::size_t n) const {
    const std::vector<SequenceNode>& sequences = made(sequences_, Stage::sequences);
    // Per node: the first one on the way to it, and how many sequences begin with it.
    std::vector<SequenceNode> first(trie_->size(), SequenceTrie::kRoot), firsts;
    std::vector<Word> weight(trie_->size(), 0);
    for (SequenceNode node{1}; node.v < trie_->size(); ++node.v) {
        const SequenceNode parent = trie_->parent(node);
        first[node.index()] = parent == SequenceTrie::kRoot ? node : first[parent.index()];
    }
    for (SequenceNode node : sequences) ++weight[first[node.index()].index()];
    for (SequenceNode node{1}; node.v < trie_->size(); ++node.v)
        if (weight[node.index()] > 0) firsts.push_back(node);
    // The heaviest goes first, each to the group that has least.
    std::stable_sort(firsts.begin(), firsts.end(),
                     [&](SequenceNode a, SequenceNode b) { return weight[a.index()] > weight[b.index()]; });
    std::vector<std::vector<SequenceNode>> groups(std::min(std::max<std::size_t>(n, 1), firsts.size()));
    std::vector<std::int64_t> load(groups.size());
    std::vector<std::ptrdiff_t> group_of(trie_->size(), -1);
    for (SequenceNode node : firsts) {
        const auto least = std::min_element(load.begin(), load.end());
        *least += weight[node.index()];
        group_of[node.index()] = least - load.begin();
    }
    for (SequenceNode node : sequences)
        if (node != SequenceTrie::kRoot) groups[group_of[first[node.index()].index()]].push_back(node);
    return groups;
}

void Compilation::assemble() {
    Running stage(*this, Stage::tables);
    tables_ = psc::assemble(classifier_, realized_);
    stage.finish();
}

}  // namespace psc
