#include "compilation.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "classifier.hpp"
#include "sorted.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxStepsToFindSequences = 200'000'000;
}

Compilation::Compilation(LrTables lr, AllTerminals terminals, LexerKind kind, Vocabulary vocabulary)
    : lr_(std::move(lr)),
      below_(stack_predecessors(lr_)),
      terminals_(std::move(terminals)),
      kind_(kind),
      vocabulary_(std::move(vocabulary)),
      work_("steps to find all terminal sequences", kMaxStepsToFindSequences) {}

void Compilation::build_lexer() {
    lexer_ = make_lexer(lr_, terminals_, kind_);
    lexer_->close();
}

void Compilation::classify_tokens() {
    // The lexer states in which a text can end. The start of an unknown context is none of them.
    std::vector<Word> states;
    for (Word q = lexer_->contextual() ? 1 : 0; q < lexer_->n_states(); ++q) states.push_back(q);
    trie_ = std::make_unique<SequenceTrie>(lr_, below_, work_);
    steps_ = std::make_unique<TokenSteps>(*lexer_, *trie_);
    classes_ =
        std::make_unique<TokenClasses>(*lexer_, *steps_, states, vocabulary_.bytes, vocabulary_.offsets, vocabulary_.text_tokens);
}

void Compilation::find_sequences() {
    const auto& states = classes_->states();
    realized_.of_state.resize(lexer_->n_states());
    SequenceInterner token_sets;
    token_sets.intern({});
    const Word stop_class = classes_->size();
    const Word end_terminal = lr_.n_terminals - 1;
    std::vector<std::vector<Word>> by_config(steps_->size());
    for (std::size_t i = 0; i < states.size(); ++i) {
        std::vector<Word> touched;
        for (Word c = 0; c < classes_->size(); ++c) {
            const Word config = classes_->config(c, i);
            if (config == kFail) continue;
            if (by_config[config].empty()) touched.push_back(config);
            by_config[config].push_back(c);
        }
        std::map<Word, std::vector<Word>> labels;
        for (Word config : touched) {
            const Word set = token_sets.intern(by_config[config]).first;
            by_config[config].clear();
            const auto outcomes = steps_->outcomes(config);
            for (std::size_t k = 0; k < outcomes.size(); k += 2)
                for (Word node : steps_->futures(outcomes[k], outcomes[k + 1])) labels[node].push_back(set);
        }
        for (Word emission : lexer_->at_end(states[i])) {
            const Word node = steps_->extend(steps_->extend(0, lexer_->emission(emission)), {&end_terminal, 1});
            if (node != kNoNode) labels[node].push_back(token_sets.intern({&stop_class, 1}).first);
        }
        Realizable& r = realized_.of_state[states[i]];
        for (const auto& [node, sets] : labels) {
            r.node.push_back(node);
            r.sets.insert(r.sets.end(), sets.begin(), sets.end());
            r.offsets.push_back(static_cast<Word>(r.sets.size()));
        }
    }
    classes_->release_functions();
    steps_.reset();
    for (Word set = 0; set < token_sets.size(); ++set) {
        realized_.set_classes.insert(realized_.set_classes.end(), token_sets[set].begin(), token_sets[set].end());
        realized_.set_offsets.push_back(static_cast<Word>(realized_.set_classes.size()));
    }
    realized_.n_nodes = trie_->size();
    for (const Realizable& r : realized_.of_state) sequences_.insert(sequences_.end(), r.node.begin(), r.node.end());
    sort_unique(sequences_);
}

void Compilation::build_classifier() {
    // One machine for all lexer states: a sequence that a lexer state cannot produce stands for no token there.
    const auto groups = sequence_groups(1);
    classifier_ = classify_sequences(lr_, below_, *trie_, groups.empty() ? std::vector<Word>{} : groups[0]);
}

std::vector<std::vector<Word>> Compilation::sequence_groups(std::size_t n) const {
    std::vector<Word> first(trie_->size(), 0), weight(trie_->size(), 0);  // per node: the first one on the way to it; its sequences
    for (Word node = 1; node < trie_->size(); ++node) first[node] = trie_->parent(node) == 0 ? node : first[trie_->parent(node)];
    for (Word node : sequences_) ++weight[first[node]];
    std::vector<Word> firsts;
    for (Word node = 1; node < trie_->size(); ++node)
        if (weight[node] > 0) firsts.push_back(node);
    // The heaviest goes first, each to the group that has least.
    std::stable_sort(firsts.begin(), firsts.end(), [&](Word a, Word b) { return weight[a] > weight[b]; });
    std::vector<std::vector<Word>> groups(std::min(std::max<std::size_t>(n, 1), firsts.size()));
    std::vector<std::int64_t> load(groups.size());
    std::vector<Word> group_of(trie_->size(), -1);
    for (Word node : firsts) {
        const auto least = std::min_element(load.begin(), load.end());
        *least += weight[node];
        group_of[node] = static_cast<Word>(least - load.begin());
    }
    for (Word node : sequences_)
        if (node != 0) groups[group_of[first[node]]].push_back(node);
    return groups;
}

void Compilation::assemble() { tables_ = psc::assemble(classifier_, realized_); }

}  // namespace psc
