// LR tables and compilations.
#include "classifier/classifier.hpp"
#include "classifier/compilation.hpp"
#include "lexer/tables.hpp"
#include "lexer/terminal_tables.hpp"
#include "python/bindings.hpp"
#include "python/machine.hpp"
#include "python/tables.hpp"

namespace psc {

namespace {

const LrProductions& productions_in(const LalrTables& t) { return t.tables; }

}  // namespace

void bind_lr_tables(nb::module_& m) {
    m.def(
        "stored_tables",
        [] {
            nb::typed<nb::dict, nb::str, FieldList> groups;
            const auto add = [&]<class Table, class... More>(const Table&, const More&...) {
                FieldList fields;
                list_fields<Table>(fields);
                (list_fields<More>(fields), ...);
                groups[Table::title] = fields;
            };
            add(LexerTables());
            add(LrProductions(), LrCells());
            add(ClassifierTables());
            add(TokenTables());
            add(TerminalTables());
            add(SymbolTables());
            add(WarmTables());
            return groups;
        },
        "What an artifact holds: per group of tables its fields, in order, each as (name, what it has one element for, what an "
        "element\n"
        "is, what it means). A field with one number is a scalar.");
    m.def(
        "terminal_tables",
        [](Ints next, Ints match_offsets, Ints matches, Ints rank, Bytes ignored) {
            return to_dict(terminal_tables(all_terminals(next, match_offsets, matches, rank, ignored)));
        },
        "next"_a, "match_offsets"_a, "matches"_a, "rank"_a, "ignored"_a,
        "The stored tables of the automaton of all terminals, by name.");
    nb::class_<LalrTables> c(m, "LrTables", "The LALR(1) automaton of a grammar, as an artifact stores it.");
    c.def("__getstate__", [](const LalrTables& t) {
         return to_array(t.to_words());
     }).def("__setstate__", [](LalrTables& t, Ints words) {
        new (&t) LalrTables(LalrTables::from_words({words.data(), words.size()}));
    });
    c.def(
        "arrays",
        [](const LalrTables& t) {
            NamedArrays d;
            add_to_dict(d, productions_in(t));
            add_to_dict(d, t.tables.stored());
            return d;
        },
        "The stored tables, by name. Raises ResourceLimitError where the cells are too many to be stored.");
    c.def(
        "check_can_be_stored", [](const LalrTables& t) { t.tables.check_can_be_stored(); },
        "Raises ResourceLimitError where `arrays` would.");
    c.def_static(
        "from_arrays",
        [](const nb::typed<nb::dict, nb::str, nb::any>& arrays) {
            LrProductions productions;
            LrCells cells;
            from_dict(arrays, productions);
            from_dict(arrays, cells);
            TableCheck(productions, cells);
            return LalrTables{{std::move(productions), cells}, {}, 0};
        },
        "arrays"_a, "The same from an artifact's, by name. Raises ValueError when a length or an index is out of range.");
    bind_fields<LrProductions>(c, productions_in);
    bind_fields<LrCells>(c, [](const LalrTables& t) { return t.tables.stored(); });  // made when they are asked for
    c.def_prop_ro(
         "accessing", [](const LalrTables& t) { return ids_to_array(accessing_symbols(t.tables)); }, nb::rv_policy::reference,
         "Per LR state the symbol that leads into it, a terminal or n_terminals + a nonterminal; -1 for the start.")
        .def_prop_ro(
            "arcs", [](const LalrTables& t) { return to_array(arcs_of(t.tables)); }, nb::rv_policy::reference,
            "All shifts and gotos, in no order: for each the LR state, the symbol as in `accessing`, and the state that it leads "
            "to.")
        .def_ro("shift_reduce_resolved", &LalrTables::shift_reduce_resolved, "Cells in which a shift silently won.")
        .def_prop_ro(
            "conflicts",
            [](const LalrTables& t) {
                nb::typed<nb::list, nb::typed<nb::tuple, Word, Word, std::vector<Word>>> list;
                for (const Conflict& c : t.conflicts) {
                    const auto productions = words_of(std::span<const Production>(c.productions));
                    list.append(nb::make_tuple(c.state.v, c.terminal.v, std::vector<Word>(productions.begin(), productions.end())));
                }
                return list;
            },
            "Reductions that clash: LR state, terminal, productions.");
    m.def(
        "build_lalr",
        [](Word n_terminals, Word n_nonterminals, Word start, Ints lhs, Ints rhs_offsets, Ints rhs, Ints priority, bool keep_all) {
            const Productions g = productions_of(n_terminals, n_nonterminals, start, lhs, rhs_offsets, rhs, priority);
            nb::gil_scoped_release release;
            return build_lalr(g, keep_all ? ConflictPolicy::keep_all : ConflictPolicy::lark);
        },
        "n_terminals"_a, "n_nonterminals"_a, "start"_a, "lhs"_a, "rhs_offsets"_a, "rhs"_a, "priority"_a, "keep_all"_a);
}

namespace {

std::span<const Word> view(const Ints& a) { return {a.data(), a.size()}; }

}  // namespace

void bind_compilation(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Compilation>(m, "Compilation")
        .def(
            "__init__",
            [](Compilation* self, const LalrTables& lr, Ints next, Ints match_offsets, Ints matches, Ints rank, Bytes ignored,
               const std::string& lexer, Bytes token_bytes, Longs token_offsets, Ints text_tokens) {
                new (self) Compilation(lr.tables, all_terminals(next, match_offsets, matches, rank, ignored), lexer_kind(lexer),
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
        .def(
            "lexer_arrays", [](const Compilation& c) { return to_dict(lexer_tables(c.lexer(), c.lr().n_terminals)); },
            "The stored tables of the lexer, by name.")
        .def(
            "classifier_arrays", [](const Compilation& c) { return to_dict(c.tables()); },
            "The stored tables of the classifier, by name.")
        .def(
            "trie_words", [](const Compilation& c) { return to_array(c.trie().to_words()); },
            "The trie of all sequences, for `classify_sequences`.")
        .def(
            "realized_words", [](const Compilation& c) { return to_array(c.realized().to_words()); },
            "What tokens the sequences stand for, for `assemble`.")
        .def(
            "sequence_groups",
            [](const Compilation& c, std::size_t n) {
                nb::typed<nb::list, NewArray<Word>> out;
                for (const auto& group : c.sequence_groups(n)) out.append(to_array(numbers(group)));
                return out;
            },
            "n"_a, "At most `n` groups of sequences, nodes of the trie, that may be classified apart.")
        .def_prop_ro(
            "class_of_token",
            [](const Compilation& c) {
                std::vector<Word> out(c.n_tokens());
                for (std::size_t i = 0; i < out.size(); ++i) out[i] = c.classes().class_of({static_cast<Word>(i)}).v;
                return to_array(std::move(out));
            },
            nb::rv_policy::reference)
        .def_prop_ro(
            "class_representatives",
            [](const Compilation& c) {
                std::vector<Word> out(c.classes().size());
                for (Word i = 0; i < c.classes().size(); ++i) out[i] = c.classes().representative({i}).v;
                return to_array(std::move(out));
            },
            nb::rv_policy::reference)
        .def(
            "sequences",
            [](const Compilation& c, Word lexer_state) {
                nb::typed<nb::list, nb::typed<nb::tuple, nb::typed<nb::tuple, Word, nb::ellipsis>, NewArray<Word>>> out;
                const Realizable& r = c.sequences({lexer_state});
                for (std::size_t i = 0; i < r.sequences.size(); ++i) {
                    std::vector<Word> terminals;
                    for (SequenceNode n = r.sequences[i]; n != SequenceTrie::kRoot; n = c.trie().parent(n))
                        terminals.insert(terminals.begin(), c.trie().label(n).v);
                    std::vector<Word> classes;
                    for (ClassSet s : r.sets_of(i)) {
                        const auto more = words_of(c.realized().members(s));
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
        [](const LalrTables& lr, Ints trie_words, Ints sequences) {
            std::vector<Word> words;
            {
                nb::gil_scoped_release release;
                const StackPredecessors below(lr.tables);
                Work none("steps to find sequences", 0);  // they are there
                const SequenceTrie trie(lr.tables, below, view(trie_words), none);
                Work work = work_to_close(work_to_build_ahead_of_time().left());
                words = classify_sequences(lr.tables, below, trie, ids_of<SequenceNode>(view(sequences)), work).to_words();
            }
            return to_array(std::move(words));
        },
        "lr"_a, "trie_words"_a, "sequences"_a);
    m.def(
        "merge_classifiers",
        [](const LalrTables& lr, const std::vector<Ints>& classifiers) {
            std::vector<Word> words;
            {
                nb::gil_scoped_release release;
                std::vector<ClosedClassifier> parts;
                for (const Ints& c : classifiers) parts.push_back(ClosedClassifier::from_words(view(c)));
                words = merge_classifiers(lr.tables, StackPredecessors(lr.tables), std::move(parts)).to_words();
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
            return nb::typed<nb::tuple, NamedArrays, Word, Word>(nb::make_tuple(to_dict(tables), n_states, n_transitions));
        },
        "classifier"_a, "realized"_a,
        "The arrays that a classifier adds to an artifact, and how many states and transitions it had before it was minimized.");
}

}  // namespace psc
