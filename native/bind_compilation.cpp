// LR tables and compilations.
#include <map>

#include "bind_machine.hpp"
#include "bindings.hpp"
#include "classifier.hpp"
#include "compilation.hpp"

namespace psc {

void bind_lr_tables(nb::module_& m) {
    nb::class_<LrTables>(m, "LrTables")
        .def("__getstate__", [](const LrTables& t) { return to_array(t.to_words()); })
        .def("__setstate__", [](LrTables& t, Ints words) { new (&t) LrTables(LrTables::from_words({words.data(), words.size()})); })
        .def_ro("n_states", &LrTables::n_states)
        .def_ro("n_terminals", &LrTables::n_terminals)
        .def_ro("n_nonterminals", &LrTables::n_nonterminals)
        .def_ro("end_state", &LrTables::end_state)
        .def_ro("shift_reduce_resolved", &LrTables::shift_reduce_resolved)
        .def_prop_ro("action_offsets", [](const LrTables& t) { return to_array(t.action_offsets); }, nb::rv_policy::reference)
        .def_prop_ro("actions", [](const LrTables& t) { return to_array(t.actions); }, nb::rv_policy::reference)
        .def_prop_ro("gotos", [](const LrTables& t) { return to_array(t.gotos); }, nb::rv_policy::reference)
        .def_prop_ro("lhs", [](const LrTables& t) { return to_array(t.lhs); }, nb::rv_policy::reference)
        .def_prop_ro("length", [](const LrTables& t) { return to_array(t.length); }, nb::rv_policy::reference)
        .def_prop_ro("accessing", [](const LrTables& t) { return to_array(t.accessing); }, nb::rv_policy::reference)
        .def_prop_ro("conflicts", [](const LrTables& t) {
            nb::typed<nb::list, nb::typed<nb::tuple, Word, Word, std::vector<Word>>> list;
            for (const auto& c : t.conflicts) list.append(nb::make_tuple(c.state, c.terminal, c.productions));
            return list;
        });
    m.def(
        "build_lalr",
        [](Word n_terminals, Word n_nonterminals, Word start, Ints lhs, Ints rhs_offsets, Ints rhs, Ints priority, bool keep_all) {
            GrammarTables g;
            g.n_terminals = n_terminals;
            g.n_nonterminals = n_nonterminals;
            g.start = start;
            g.lhs = to_vector(lhs);
            for (std::size_t p = 0; p < lhs.size(); ++p)
                g.rhs.emplace_back(rhs.data() + rhs_offsets.data()[p], rhs.data() + rhs_offsets.data()[p + 1]);
            g.priority = to_vector(priority);
            nb::gil_scoped_release release;
            return build_lalr(g, keep_all ? ConflictPolicy::keep_all : ConflictPolicy::lark);
        },
        "n_terminals"_a, "n_nonterminals"_a, "start"_a, "lhs"_a, "rhs_offsets"_a, "rhs"_a, "priority"_a, "keep_all"_a);
}

namespace {

std::span<const Word> view(const Ints& a) { return {a.data(), a.size()}; }

using NamedArrays = nb::typed<nb::dict, nb::str, nb::any>;

// Only the emissions, conditions and alternatives that a matcher can meet, numbered as they are met.
NamedArrays lexer_arrays(const Compilation& c) {
    Lexer& lexer = c.lexer();
    std::vector<Word> next, emit, branch_offsets{0}, branch_emit, branch_next, emission_offsets{0, 0}, emission_symbols,
        condition_offsets{0}, condition_states, end_offsets{0}, ends, future_offsets{0}, futures;
    std::map<Word, Word> emissions{{0, 0}}, branches, conditions;
    const auto emission = [&](Word id) {
        const auto [it, fresh] = emissions.emplace(id, static_cast<Word>(emissions.size()));
        if (fresh) {
            for (Word symbol : lexer.emission(id)) {
                if (lexer.is_condition(symbol)) {
                    const auto [at, added] = conditions.emplace(symbol, c.lr().n_terminals + static_cast<Word>(conditions.size()));
                    if (added) {
                        const auto states = lexer.condition(symbol);
                        condition_states.insert(condition_states.end(), states.begin(), states.end());
                        condition_offsets.push_back(static_cast<Word>(condition_states.size()));
                    }
                    symbol = at->second;
                }
                emission_symbols.push_back(symbol);
            }
            emission_offsets.push_back(static_cast<Word>(emission_symbols.size()));
        }
        return it->second;
    };
    for (Word q = 0; q < lexer.n_states(); ++q) {
        for (Word cls = 0; cls < lexer.n_classes(); ++cls) {
            LexArc arc = lexer.arc(q, cls);
            if (arc.state <= LexArc::kBranch) {
                const Word list = LexArc::kBranch - arc.state;
                const auto [it, fresh] = branches.emplace(list, static_cast<Word>(branches.size()));
                if (fresh) {
                    const auto pairs = lexer.list(list);
                    for (std::size_t i = 0; i < pairs.size(); i += 2) {
                        branch_emit.push_back(emission(pairs[i]));
                        branch_next.push_back(pairs[i + 1]);
                    }
                    branch_offsets.push_back(static_cast<Word>(branch_next.size()));
                }
                arc.state = LexArc::kRestart - 1 - it->second;
            }
            // Numbers from -1 on, which are stored in less: after the states come the restart and the branches.
            next.push_back(arc.state >= kFail ? arc.state : lexer.n_states() + (LexArc::kRestart - arc.state));
            emit.push_back(emission(arc.emission));
        }
        for (Word e : lexer.at_end(q)) ends.push_back(emission(e));
        end_offsets.push_back(static_cast<Word>(ends.size()));
        for (Word e : lexer.futures(q)) futures.push_back(emission(e));
        future_offsets.push_back(static_cast<Word>(futures.size()));
    }
    NamedArrays d;
    d["byte_class"] = to_array(std::vector<std::uint8_t>(lexer.byte_class().begin(), lexer.byte_class().end()));
    d["lexer_next"] = to_array(std::move(next));
    d["lexer_emit"] = to_array(std::move(emit));
    d["branch_offsets"] = to_array(std::move(branch_offsets));
    d["branch_emit"] = to_array(std::move(branch_emit));
    d["branch_next"] = to_array(std::move(branch_next));
    d["emission_offsets"] = to_array(std::move(emission_offsets));
    d["emission_symbols"] = to_array(std::move(emission_symbols));
    d["condition_offsets"] = to_array(std::move(condition_offsets));
    d["condition_states"] = to_array(std::move(condition_states));
    d["start_of_top"] = to_array(lexer.starts_of_tops());
    d["end_offsets"] = to_array(std::move(end_offsets));
    d["ends"] = to_array(std::move(ends));
    d["future_offsets"] = to_array(std::move(future_offsets));
    d["futures"] = to_array(std::move(futures));
    d["n_lexer_states"] = lexer.n_states();
    d["n_byte_classes"] = lexer.n_classes();
    return d;
}

NamedArrays classifier_arrays(const ClassifierTables& t) {
    NamedArrays d;
    d["start"] = t.start;
    d["n_classifier_states"] = t.n_states;
    d["n_labels"] = t.n_labels;
    d["arc_offsets"] = to_array(t.offsets);
    d["arc_symbol"] = to_array(t.symbol);
    d["arc_next"] = to_array(t.next);
    d["arc_skip"] = to_array(t.skip);
    d["arc_emission"] = to_array(t.emission);
    d["label_offsets"] = to_array(t.emission_offsets);
    d["labels"] = to_array(t.emission_labels);
    d["always"] = to_array(t.always);
    d["meaning_offsets"] = to_array(t.meaning_offsets);
    d["meaning_labels"] = to_array(t.meaning_labels);
    d["meaning_sets"] = to_array(t.meaning_sets);
    d["set_offsets"] = to_array(t.set_offsets);
    d["set_classes"] = to_array(t.set_classes);
    return d;
}

}  // namespace

void bind_compilation(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Compilation>(m, "Compilation")
        .def(
            "__init__",
            [](Compilation* self, const LrTables& lr, Ints next, Ints match_offsets, Ints matches, Ints rank, Bytes ignored,
               const std::string& lexer, Bytes token_bytes, Longs token_offsets, Ints text_tokens) {
                new (self) Compilation(lr, all_terminals(next, match_offsets, matches, rank, ignored), lexer_kind(lexer),
                                       {to_vector(token_bytes), to_vector(token_offsets), to_vector(text_tokens)});
            },
            "lr"_a, "next"_a, "match_offsets"_a, "matches"_a, "rank"_a, "ignored"_a, "lexer"_a, "token_bytes"_a, "token_offsets"_a,
            "text_tokens"_a)
        .def("build_lexer", &Compilation::build_lexer, Release())
        .def("classify_tokens", &Compilation::classify_tokens, Release())
        .def("find_sequences", &Compilation::find_sequences, Release())
        .def("build_classifier", &Compilation::build_classifier, Release())
        .def("assemble", &Compilation::assemble, Release())
        .def_prop_ro("n_lexer_states", [](const Compilation& c) { return c.lexer().n_states(); })
        .def_prop_ro("n_token_classes", [](const Compilation& c) { return c.classes().size(); })
        .def_prop_ro("n_sequences", &Compilation::n_sequences)
        .def_prop_ro("n_classifier_states", [](const Compilation& c) { return c.classifier().n_states; })
        .def_prop_ro("n_transitions", [](const Compilation& c) { return c.classifier().transitions.size(); })
        .def("lexer_arrays", &lexer_arrays)
        .def("classifier_arrays", [](const Compilation& c) { return classifier_arrays(c.tables()); })
        .def("trie_words", [](const Compilation& c) { return to_array(c.trie().to_words()); },
             "The trie of all sequences, for `classify_sequences`.")
        .def("realized_words", [](const Compilation& c) { return to_array(c.realized().to_words()); },
             "What tokens the sequences stand for, for `assemble`.")
        .def(
            "sequence_groups",
            [](const Compilation& c, std::size_t n) {
                nb::typed<nb::list, NewArray<Word>> out;
                for (auto& group : c.sequence_groups(n)) out.append(to_array(std::move(group)));
                return out;
            },
            "n"_a, "At most `n` groups of sequences, nodes of the trie, that may be classified apart.")
        .def_prop_ro("class_of_token",
                     [](const Compilation& c) {
                         std::vector<Word> out(c.n_tokens());
                         for (std::size_t i = 0; i < out.size(); ++i) out[i] = c.classes().class_of(static_cast<Word>(i));
                         return to_array(std::move(out));
                     },
                     nb::rv_policy::reference)
        .def_prop_ro("class_representatives",
                     [](const Compilation& c) {
                         std::vector<Word> out(c.classes().size());
                         for (Word i = 0; i < c.classes().size(); ++i) out[i] = c.classes().representative(i);
                         return to_array(std::move(out));
                     },
                     nb::rv_policy::reference)
        .def(
            "sequences",
            [](const Compilation& c, Word lexer_state) {
                nb::typed<nb::list, nb::typed<nb::tuple, nb::typed<nb::tuple, Word, nb::ellipsis>, NewArray<Word>>> out;
                const Realizable& r = c.sequences(lexer_state);
                for (std::size_t i = 0; i < r.node.size(); ++i) {
                    std::vector<Word> terminals;
                    for (Word n = r.node[i]; n != 0; n = c.trie().parent(n)) terminals.insert(terminals.begin(), c.trie().terminal(n));
                    std::vector<Word> classes;
                    for (Word s : r.sets_of(i)) {
                        const auto more = c.realized().token_set(s);
                        classes.insert(classes.end(), more.begin(), more.end());
                    }
                    out.append(nb::make_tuple(nb::tuple(nb::cast(terminals)), to_array(std::move(classes))));
                }
                return out;
            },
            "lexer_state"_a);

    // A classifier built in pieces, in several processes, and what is made of them. All words are of this version of psc.
    m.def(
        "classify_sequences",
        [](const LrTables& lr, Ints trie_words, Ints sequences) {
            std::vector<Word> words;
            {
                nb::gil_scoped_release release;
                const auto below = stack_predecessors(lr);
                Work none("steps to find sequences", 0);  // they are there
                const SequenceTrie trie(lr, below, view(trie_words), none);
                words = classify_sequences(lr, below, trie, view(sequences)).to_words();
            }
            return to_array(std::move(words));
        },
        "lr"_a, "trie_words"_a, "sequences"_a);
    m.def(
        "merge_classifiers",
        [](const LrTables& lr, const std::vector<Ints>& classifiers) {
            std::vector<Word> words;
            {
                nb::gil_scoped_release release;
                std::vector<ClosedClassifier> parts;
                for (const Ints& c : classifiers) parts.push_back(ClosedClassifier::from_words(view(c)));
                words = merge_classifiers(lr, stack_predecessors(lr), std::move(parts)).to_words();
            }
            return to_array(std::move(words));
        },
        "lr"_a, "classifiers"_a);
    m.def(
        "assemble",
        [](Ints classifier, Ints realized) -> nb::typed<nb::tuple, NamedArrays, Word, Word> {
            ClassifierTables tables;
            Word n_states = 0, n_transitions = 0;
            {
                nb::gil_scoped_release release;
                const auto c = ClosedClassifier::from_words(view(classifier));
                n_states = c.n_states;
                n_transitions = static_cast<Word>(c.transitions.size());
                tables = assemble(c, RealizedSequences::from_words(view(realized)));
            }
            return nb::typed<nb::tuple, NamedArrays, Word, Word>(nb::make_tuple(classifier_arrays(tables), n_states, n_transitions));
        },
        "classifier"_a, "realized"_a,
        "The arrays that a classifier adds to an artifact, and how many states and transitions it had before it was minimized.");
}

}  // namespace psc
