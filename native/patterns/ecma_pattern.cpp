#include "patterns/ecma_pattern.hpp"

#include <algorithm>
#include <array>

#include "base/sorted.hpp"
#include "patterns/classes.hpp"
#include "patterns/conditions.hpp"
#include "patterns/steps.hpp"

namespace psc {

namespace {

constexpr std::size_t kPatternStepsPerState = 200, kPatternNodesPerState = 8;

// What precedes a position of the text.
enum class TextBefore : Word { nothing, other, word };
constexpr Word kContexts = 3;

class PatternSubsets {
public:
    PatternSubsets(const EcmaPattern& pattern, std::size_t max_states)
        : pattern_(pattern), max_states_(max_states), steps_(max_states * kPatternStepsPerState) {
        TextAutomaton nothing = TextAutomaton::drafted();
        nothing.add_state(true);
        end_ = conditions_.add_automaton(std::move(nothing));
        sets_ = pattern.sets;
        if (pattern.reads_words) {
            sets_.push_back(ecma_word_characters());
            TextAutomaton word = TextAutomaton::drafted();
            add_arcs(word, sets_.back());
            word.add_state(false);
            append_any(word);
            word_next_ = conditions_.add_automaton(word);
            no_word_next_ = conditions_.add_automaton(complement(word));
        }
        for (const EcmaLook& look : pattern.looks) {
            std::array<Word, kContexts> automata{};
            for (Word c = 0; c < kContexts; ++c) {
                if (c > 0 && !look.body.reads_before) {
                    automata[c] = automata[0];
                    continue;
                }
                TextAutomaton a = automaton(look.body, static_cast<TextBefore>(c), false);
                automata[c] = conditions_.add_automaton(look.negative ? complement(a, max_states) : std::move(a));
            }
            looks_.push_back(automata);
        }
    }

    TextAutomaton whole() { return automaton(pattern_.main, TextBefore::nothing, true); }

private:
    // A node and its conditions.
    struct Thread {
        Word node;  // kSearch: the pattern may begin here or later
        Word conditions;
        std::array<Word, kContexts> next;  // the closure of what follows the node, where there are no conditions; -1: not computed
    };
    static constexpr Word kSearch = -1;

    static void add_arcs(TextAutomaton& a, const CodePointSet& set) {
        for (std::size_t i = 0; i < set.size(); i += 2) a.add_arc(set[i], set[i + 1], 1);
    }
    static void append_any(TextAutomaton& a) {
        a.add_arc(0, kFirstSurrogateCode - 1, 1);
        a.add_arc(kLastSurrogateCode + 1, kCodePoints - 1, 1);
        a.add_state(true);
    }

    // The texts in which the program matches at the start or, with `anywhere`, also later.
    TextAutomaton automaton(const EcmaProgram& program, TextBefore before, bool anywhere) {
        begin(program);
        if (anywhere && closure(0, TextBefore::other, 0).empty() &&
            (!pattern_.reads_words || closure(0, TextBefore::word, 0).empty()))
            anywhere = false;
        const PatternClasses classes = classes_of(program);
        const Word n_classes = static_cast<Word>(classes.representative.size());
        std::vector<TextBefore> after(n_classes, TextBefore::other);
        if (pattern_.reads_words)
            for (Word c : classes.members.back()) after[c] = TextBefore::word;
        const Word universal = thread(last_, 0);

        SequenceInterner subsets;
        std::vector<Word> subset(closure(0, before, 0));
        if (anywhere) subset.push_back(thread(kSearch, 0));
        const auto intern = [&] {
            sort_unique(subset);
            if (std::binary_search(subset.begin(), subset.end(), universal)) subset.assign(1, universal);
            return subsets.intern(subset).first;
        };
        intern();
        TextAutomaton draft = TextAutomaton::drafted();
        std::vector<std::vector<Word>> reached(n_classes);
        std::vector<Word> here, to(n_classes);
        for (Word i = 0; i < subsets.size(); ++i) {
            here.assign(subsets[i].begin(), subsets[i].end());
            bool accepted = false;
            for (auto& list : reached) list.clear();
            for (Word t : here) {
                const Word node = threads_[t].node, conditions = threads_[t].conditions;
                if (node == last_) accepted = accepted || conditions_.hold_at_end(conditions);
                const auto move = [&](Word c) {
                    steps_.spend(1);
                    Word rest = 0;
                    if (conditions != 0 && (rest = after_character(conditions, c, classes.representative[c])) < 0) return;
                    if (node == last_) {
                        reached[c].push_back(thread(last_, rest));
                        return;
                    }
                    if (node == kSearch) reached[c].push_back(t);
                    const auto& more = follow(t, after[c], rest);
                    steps_.spend(more.size());
                    reached[c].insert(reached[c].end(), more.begin(), more.end());
                };
                if (node == last_ || node == kSearch)
                    for (Word c = 0; c < n_classes; ++c) move(c);
                else
                    for (Word c : classes.members[program.nodes[node].a]) move(c);
            }
            for (Word c = 0; c < n_classes; ++c) {
                to[c] = -1;
                if (reached[c].empty()) continue;
                subset.assign(reached[c].begin(), reached[c].end());
                to[c] = intern();
            }
            steps_.spend(classes.class_of.size());
            for (std::size_t k = 0; k < classes.class_of.size(); ++k)
                if (const Word c = classes.class_of[k]; c >= 0 && to[c] >= 0)
                    draft.add_arc(classes.starts[k], classes.starts[k + 1] - 1, to[c]);
            draft.add_state(accepted);
            if (static_cast<std::size_t>(subsets.size()) > max_states_)
                throw LimitExceeded("states of a pattern's automaton", max_states_);
            if (draft.arcs.size() > max_states_ * kArcsPerState)
                throw LimitExceeded("ranges of characters in a pattern's automaton", max_states_ * kArcsPerState);
        }
        return minimal(draft);
    }

    void begin(const EcmaProgram& program) {
        program_ = &program;
        last_ = static_cast<Word>(program.nodes.size()) - 1;
        threads_.clear();
        thread_ids_ = PairMap();
        closures_.clear();
        closure_ids_.assign(kContexts, PairMap());
        condition_steps_ = PairMap();
    }

    PatternClasses classes_of(const EcmaProgram& program) {
        std::vector<Word> used;
        std::vector<const TextAutomaton*> automata;
        for (const EcmaNode& n : program.nodes) {
            if (n.kind == EcmaNode::Kind::character) used.push_back(n.a);
            if (n.kind == EcmaNode::Kind::look)
                for (Word k : looks_[n.a]) automata.push_back(&conditions_.automaton(k));
        }
        if (pattern_.reads_words) used.push_back(static_cast<Word>(sets_.size()) - 1);
        sort_unique(used);
        sort_unique(automata);
        return PatternClasses(sets_, used, automata, steps_);
    }

    Word thread(Word node, Word conditions) {
        Word id = thread_ids_.find(node, conditions);
        if (id < 0) {
            id = static_cast<Word>(threads_.size());
            thread_ids_.insert(node, conditions, id);
            threads_.push_back({node, conditions, {-1, -1, -1}});
        }
        return id;
    }

    Word after_character(Word conditions, Word c, Word code_point) {
        if (const Word* cached = condition_steps_.look(conditions, c)) return *cached;
        const Word rest = conditions_.step(conditions, code_point, steps_);
        condition_steps_.insert(conditions, c, rest);
        return rest;
    }

    const std::vector<Word>& follow(Word t, TextBefore before, Word conditions) {
        const Word next = threads_[t].node == kSearch ? 0 : program_->nodes[threads_[t].node].b;
        if (conditions != 0) return closure(next, before, conditions);
        if (threads_[t].next[static_cast<Word>(before)] < 0) {
            const Word closure = closure_id(next, before, 0);  // may add threads
            threads_[t].next[static_cast<Word>(before)] = closure;
        }
        return closures_[threads_[t].next[static_cast<Word>(before)]];
    }

    // The threads at characters and at the end that a node reaches without a character. Valid until the next call.
    const std::vector<Word>& closure(Word node, TextBefore before, Word conditions) {
        return closures_[closure_id(node, before, conditions)];
    }

    Word closure_id(Word node, TextBefore before, Word conditions) {
        PairMap& ids = closure_ids_[static_cast<Word>(before)];
        const Word cached = ids.find(node, conditions);
        if (cached >= 0) return cached;
        std::vector<Word> threads;
        PairMap seen;
        todo_.assign(1, {node, conditions});
        while (!todo_.empty()) {
            const auto [at, required] = todo_.back();
            todo_.pop_back();
            if (at < 0 || required < 0 || seen.look(at, required)) continue;
            seen.insert(at, required, 0);
            steps_.spend(1);
            const EcmaNode& n = program_->nodes[at];
            switch (n.kind) {
                case EcmaNode::Kind::character:
                case EcmaNode::Kind::match:
                    threads.push_back(thread(at, required));
                    break;
                case EcmaNode::Kind::split:
                    todo_.emplace_back(n.b, required);
                    todo_.emplace_back(n.a, required);
                    break;
                case EcmaNode::Kind::start:
                    if (before == TextBefore::nothing) todo_.emplace_back(n.b, required);
                    break;
                case EcmaNode::Kind::end:
                    todo_.emplace_back(n.b, conditions_.with(required, end_));
                    break;
                case EcmaNode::Kind::word_border:
                case EcmaNode::Kind::no_word_border: {
                    const bool word = (before == TextBefore::word) != (n.kind == EcmaNode::Kind::word_border);
                    todo_.emplace_back(n.b, conditions_.with(required, word ? word_next_ : no_word_next_));
                    break;
                }
                case EcmaNode::Kind::look:
                    todo_.emplace_back(n.b, conditions_.with(required, looks_[n.a][static_cast<Word>(before)]));
                    break;
            }
        }
        sort_unique(threads);
        const Word id = static_cast<Word>(closures_.size());
        closures_.push_back(std::move(threads));
        ids.insert(node, conditions, id);
        return id;
    }

    const EcmaPattern& pattern_;
    const std::size_t max_states_;
    PatternSteps steps_;
    RestConditions conditions_;
    std::vector<CodePointSet> sets_;  // the pattern's, and the word characters where it has \b or \B
    Word end_ = -1, word_next_ = -1, no_word_next_ = -1;
    std::vector<std::array<Word, kContexts>> looks_;  // automata

    // Of the current program.
    const EcmaProgram* program_ = nullptr;
    Word last_ = -1;  // its match
    std::vector<Thread> threads_;
    PairMap thread_ids_;
    std::vector<std::vector<Word>> closures_;
    std::vector<PairMap> closure_ids_;  // per context, of node and conditions
    PairMap condition_steps_;           // of conditions and class
    std::vector<std::pair<Word, Word>> todo_;
};

}  // namespace

TextAutomaton pattern_automaton(std::u32string_view pattern, std::size_t max_states) {
    const EcmaPattern read = read_ecma_pattern(pattern, max_states * kPatternNodesPerState);
    return PatternSubsets(read, max_states).whole();
}

}  // namespace psc
