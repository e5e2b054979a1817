#include "compilation.hpp"

#include <algorithm>
#include <map>

#include "partition.hpp"
#include "sorted.hpp"

namespace psc {

TerminalAutomaton minimized(const TerminalAutomaton& a) {
    LabelledGraph g;
    for (Word s = 0; s < a.n_states; ++s) {
        g.state_output.push_back(s == 0 ? -2 : a.accept[s]);
        for (Word byte = 0; byte < 256; ++byte)
            if (const Word to = a.next[s * 256 + byte]; to != kFail) g.arcs.push_back({byte, 0, to});
        g.offsets.push_back(g.arcs.size());
    }
    const auto block = coarsest_partition(g);
    TerminalAutomaton m;
    m.ignored = a.ignored;
    m.n_states = 1 + *std::max_element(block.begin(), block.end());
    m.next.assign(static_cast<std::size_t>(m.n_states) * 256, kFail);
    m.accept.assign(m.n_states, kFail);
    for (Word s = 0; s < a.n_states; ++s) {
        m.accept[block[s]] = a.accept[s];
        for (Word byte = 0; byte < 256; ++byte)
            if (const Word to = a.next[s * 256 + byte]; to != kFail) m.next[block[s] * 256 + byte] = block[to];
    }
    return m;
}

Compilation::Compilation(LrTables lr, TerminalAutomaton automaton, Vocabulary vocabulary)
    : lr_(std::move(lr)), automaton_(minimized(automaton)), vocabulary_(std::move(vocabulary)) {}

void Compilation::build_lexer() { lexer_.emplace(automaton_); }

void Compilation::classify_tokens() {
    // The lexer states in which a text can end.
    const auto& t = lexer_->tables();
    std::vector<char> reached(t.n_states);
    std::vector<Word> states{0};
    reached[0] = 1;
    for (std::size_t i = 0; i < states.size(); ++i)
        for (Word c = 0; c < t.n_classes; ++c)
            if (const Word to = t.next[states[i] * t.n_classes + c]; to != kFail && !std::exchange(reached[to], 1))
                states.push_back(to);
    std::sort(states.begin(), states.end());
    trie_ = std::make_unique<SequenceTrie>(lr_);
    classes_ = std::make_unique<TokenClasses>(t, *trie_, states, vocabulary_.bytes, vocabulary_.offsets,
                                              vocabulary_.text_tokens);
}

void Compilation::find_sequences() {
    const auto& t = lexer_->tables();
    const auto& states = classes_->states();
    realizable_.resize(t.n_states);
    sets_.intern({});
    const Word stop_class = classes_->size();
    const Word end_terminal = lr_.n_terminals - 1;
    std::vector<std::vector<Word>> by_config(classes_->n_configs());
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
            const Config c = classes_->config(config);
            for (const auto& future : lexer_->futures(c.state))
                if (const Word node = trie_->extend(c.node, future); node != kNoNode) labels[node].push_back(set);
        }
        if (const Word emission = t.at_end[states[i]]; emission != kFail) {
            const Word node = trie_->extend(trie_->extend(0, t.emission(emission)), {&end_terminal, 1});
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
    for (const Realizable& r : realizable_) sequences_.insert(sequences_.end(), r.node.begin(), r.node.end());
    sort_unique(sequences_);
}

void Compilation::build_classifier() {
    // The empty sequence needs no stack. One machine for all lexer states: a sequence that a lexer state cannot produce
    // stands for no token there.
    const std::span<const Word> all(sequences_);
    classifier_ = std::make_unique<Classifier>(lr_, *trie_, !all.empty() && all[0] == 0 ? all.subspan(1) : all);
    classifier_->close();
}

}  // namespace psc
