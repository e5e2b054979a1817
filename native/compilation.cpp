#include "compilation.hpp"

#include <algorithm>
#include <map>

#include "sorted.hpp"

namespace psc {

Compilation::Compilation(LrTables lr, AllTerminals terminals, LexerKind kind, Vocabulary vocabulary)
    : lr_(std::move(lr)),
      below_(stack_predecessors(lr_)),
      terminals_(std::move(terminals)),
      kind_(kind),
      vocabulary_(std::move(vocabulary)) {}

void Compilation::build_lexer() {
    lexer_ = make_lexer(lr_, terminals_, kind_);
    lexer_->close();
}

void Compilation::classify_tokens() {
    // The lexer states in which a text can end. The start of an unknown context is none of them.
    std::vector<Word> states;
    for (Word q = lexer_->contextual() ? 1 : 0; q < lexer_->n_states(); ++q) states.push_back(q);
    trie_ = std::make_unique<SequenceTrie>(lr_, below_);
    steps_ = std::make_unique<TokenSteps>(*lexer_, *trie_);
    classes_ = std::make_unique<TokenClasses>(*lexer_, *steps_, states, vocabulary_.bytes, vocabulary_.offsets,
                                              vocabulary_.text_tokens);
}

void Compilation::find_sequences() {
    const auto& states = classes_->states();
    realizable_.resize(lexer_->n_states());
    sets_.intern({});
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
            const Word set = sets_.intern(by_config[config]).first;
            by_config[config].clear();
            const auto outcomes = steps_->outcomes(config);
            for (std::size_t k = 0; k < outcomes.size(); k += 2)
                for (Word future : lexer_->futures(outcomes[k + 1]))
                    if (const Word node = steps_->extend(outcomes[k], lexer_->emission(future)); node != kNoNode) labels[node].push_back(set);
        }
        for (Word emission : lexer_->at_end(states[i])) {
            const Word node = steps_->extend(steps_->extend(0, lexer_->emission(emission)), {&end_terminal, 1});
            if (node != kNoNode) labels[node].push_back(sets_.intern({&stop_class, 1}).first);
        }
        Realizable& r = realizable_[states[i]];
        for (const auto& [node, sets] : labels) {
            r.node.push_back(node);
            r.sets.insert(r.sets.end(), sets.begin(), sets.end());
            r.offsets.push_back(static_cast<Word>(r.sets.size()));
        }
    }
    classes_->release_functions();
    steps_.reset();
    for (const Realizable& r : realizable_) sequences_.insert(sequences_.end(), r.node.begin(), r.node.end());
    sort_unique(sequences_);
}

void Compilation::build_classifier() {
    // The empty sequence needs no stack. One machine for all lexer states: a sequence that a lexer state cannot produce
    // stands for no token there.
    const std::span<const Word> all(sequences_);
    classifier_ = std::make_unique<Classifier>(lr_, below_, *trie_);
    start_ = classifier_->add_start(!all.empty() && all[0] == 0 ? all.subspan(1) : all);
    classifier_->close(start_);
}

}  // namespace psc
