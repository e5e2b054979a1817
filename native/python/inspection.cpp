// What a matcher knows of its place in the grammar, for whoever explains texts, completes them or draws samples.
#include <stdexcept>

#include "matcher/matcher.hpp"
#include "python/bindings.hpp"
#include "python/matcher.hpp"

namespace psc {
namespace {

struct MatcherView {
    PyMatcher& of;

    // What `f` gives for a matcher of one machine. Throws std::invalid_argument for one of several.
    template <class F>
    auto call(const F& f) const {
        return of.call([&](TextMatcher& m) {
            auto* one = dynamic_cast<Matcher*>(&m);
            if (!one) throw std::invalid_argument("the grammar is linked of parts: look at what compile_ahead_of_time makes of it");
            return f(*one);
        });
    }
};

}  // namespace

void bind_inspection(nb::module_& m) {
    nb::class_<MatcherView>(
        m, "MatcherView",
        "Where a matcher is: its lexer states and parser stacks. It looks at the matcher as it is when it is asked.\n\n"
        "Args:\n"
        "    matcher: kept alive, and not changed.")
        .def(
            "__init__", [](MatcherView* self, PyMatcher& matcher) { new (self) MatcherView{matcher}; }, "matcher"_a,
            nb::keep_alive<1, 2>())
        .def(
            "configurations",
            [](const MatcherView& self) {
                nb::typed<nb::list, nb::typed<nb::tuple, Word, std::vector<Word>>> out;
                const auto seen = self.call([](Matcher& m) { return m.view(); });
                for (const auto& p : seen) out.append(nb::make_tuple(p.lexer_state.v, numbers(p.stack)));
                return out;
            },
            "The (lexer state, parser stack) pairs that the text may have led to; LR states, top first. One where the grammar is\n"
            "deterministic.\n\nCost: linear in the stacks.")
        .def(
            "members_seen",
            [](const MatcherView& self) {
                nb::typed<nb::list, nb::typed<nb::tuple, std::vector<Word>, Word>> out;
                const auto seen = self.call([](Matcher& m) { return m.view(); });
                for (const auto& p : seen) out.append(nb::make_tuple(numbers(p.seen), p.n_missing));
                return out;
            },
            "For each of the configurations what its stack knows of members that come in any order: a list of numbers, equal for\n"
            "equal sets of those that were there, and how many more it takes at least until what is open can end.")
        .def(
            "stacks_after",
            [](MatcherView& self, std::size_t configuration, const std::vector<Word>& symbols) {
                std::vector<std::vector<Word>> out;
                const auto read = ids_of<OutputSymbol>(symbols);
                for (const auto& stack : self.call([&](Matcher& m) { return m.stacks_after(configuration, read); }))
                    out.push_back(numbers(stack));
                return out;
            },
            "configuration"_a, "symbols"_a,
            "The stacks that a configuration's becomes when the lexer's symbols (terminals and conditions) are read on it; none "
            "where\n"
            "they cannot be. LR states, top first.")
        .def(
            "classifier_walk",
            [](MatcherView& self, std::size_t configuration) {
                using Sequences = std::vector<std::vector<Word>>;
                nb::typed<nb::list, nb::typed<nb::tuple, Word, Word, Word, Sequences, std::size_t>> reads;
                const auto walk = self.call([&](Matcher& m) { return m.classifier_walk(configuration); });
                for (const auto& read : walk.reads) {
                    Sequences sequences;
                    for (const auto& sequence : read.sequences) sequences.push_back(numbers(sequence));
                    reads.append(nb::make_tuple(read.depth, read.symbol.v, read.state.v, sequences, read.n_allowed));
                }
                return nb::typed<nb::tuple, std::size_t, decltype(reads)>(nb::make_tuple(walk.n_always, reads));
            },
            "configuration"_a,
            "How the classifier reads a configuration's stack, where several have one top the first.\n\n"
            "Returns:\n"
            "    How many tokens are allowed whatever the stack is; and what was read, in order: the depth in the stack (0 is its\n"
            "    top), the LR state there, the classifier's state before it, the sequences of terminals that are viable by that "
            "(none\n"
            "    where the grammar is from an artifact), and how many tokens are allowed as far as this is decided.\n\n"
            "Raises MatcherError where there is no such configuration. Cost: as the mask; what is not there yet is built.")
        .def(
            "continuations", [](MatcherView& self) { return numbers(self.call([](Matcher& m) { return m.continuations(); })); },
            "Numbers of the terminals that may come next: after the lexeme read last where it is complete, else those it can "
            "become.");
}

}  // namespace psc
