// LR tables and compilations.
#include "classifier/classifier.hpp"
#include "classifier/compilation.hpp"
#include "lexer/tables.hpp"
#include "lexer/terminal_tables.hpp"
#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"
#include "python/machine.hpp"
#include "python/tables.hpp"
#include "tables/wire.hpp"

namespace psc {

namespace {

const LrProductions& productions_in(const LalrTables& t) { return t.tables; }

using ConflictList = nb::typed<nb::list, nb::typed<nb::tuple, Word, Word, std::vector<Word>>>;

ConflictList tuples_of(const std::vector<Conflict>& conflicts) {
    ConflictList list;
    for (const Conflict& c : conflicts) {
        const auto productions = words_of(std::span<const Production>(c.productions));
        list.append(nb::make_tuple(c.state.v, c.terminal.v, std::vector<Word>(productions.begin(), productions.end())));
    }
    return list;
}

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
            add(LeadTables());
            add(SequenceTables());
            add(TokenTables());
            add(TerminalTables());
            add(SymbolTables());
            add(WarmTables());
            add(WarmReadings());
            return groups;
        },
        "What an artifact holds: per group of tables its fields, in order, each as (name, what it has one element for, what an "
        "element\n"
        "is, what it means). A field with one number is a scalar.");
    m.def(
        "terminal_tables",
        [](const ByteAutomaton& automaton, Ints rank, Bytes ignored) {
            return to_dict(terminal_tables(all_terminals(automaton, rank, ignored)));
        },
        "automaton"_a, "rank"_a, "ignored"_a, "The stored tables of the automaton of all terminals, by name.");
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
        [](const nb::typed<nb::dict, nb::str, nb::any>& arrays, Word shift_reduce_resolved) {
            LrProductions productions;
            LrCells cells;
            from_dict(arrays, productions);
            from_dict(arrays, cells);
            TableCheck(productions, cells);
            return LalrTables{{std::move(productions), cells}, {}, shift_reduce_resolved, {}};
        },
        "arrays"_a, "shift_reduce_resolved"_a = 0,
        "The same from an artifact's, by name. Raises ValueError when a length or an index is out of range.");
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
            "conflicts", [](const LalrTables& t) { return tuples_of(t.conflicts); },
            "Reductions that clash: LR state, terminal, productions.")
        .def_prop_ro(
            "dropped", [](const LalrTables& t) { return tuples_of(t.dropped); },
            "The reductions over which a shift silently won, as `conflicts`: the first 1,000; none in tables that were stored.");
    m.def(
        "build_lalr",
        [](Word n_terminals, Word n_nonterminals, Word start, Ints lhs, Ints rhs_offsets, Ints rhs, Ints priority, bool keep_all) {
            const Productions g = productions_of(n_terminals, n_nonterminals, start, lhs, rhs_offsets, rhs, priority);
            const WithoutInterpreterLock release;
            return build_lalr(g, keep_all ? ConflictPolicy::keep_all : ConflictPolicy::lark);
        },
        "n_terminals"_a, "n_nonterminals"_a, "start"_a, "lhs"_a, "rhs_offsets"_a, "rhs"_a, "priority"_a, "keep_all"_a);
}

namespace {

template <class T>
std::span<const T> view(const Array<T>& a) {
    return {a.data(), a.size()};
}

void bind_token_classes(nb::module_& m) {
    nb::class_<ClassifiedTokens>(m, "TokenClasses", "The tokens, in classes of which the lexer tells no two members apart.")
        .def("__len__", [](const ClassifiedTokens& c) { return c.classes->size(); })
        .def_prop_ro(
            "class_of_token",
            [](const ClassifiedTokens& c) {
                std::vector<Word> out(c.classes->n_tokens());
                for (std::size_t i = 0; i < out.size(); ++i) out[i] = c.classes->class_of({static_cast<Word>(i)}).v;
                return to_array(std::move(out));
            },
            nb::rv_policy::reference, "Per token; -1 for those that are not text.")
        .def_prop_ro(
            "representatives",
            [](const ClassifiedTokens& c) {
                std::vector<Word> out(c.classes->size());
                for (Word i = 0; i < c.classes->size(); ++i) out[i] = c.classes->representative({i}).v;
                return to_array(std::move(out));
            },
            nb::rv_policy::reference, "Per class the token with the smallest id.");
    m.def(
        "classify_tokens",
        [](const ClosedLexer& lexer, Bytes token_bytes, Longs token_offsets, Ints text_tokens, Word most_whole) {
            const WithoutInterpreterLock release;
            return classify_tokens(lexer, view(token_bytes), view(token_offsets), ids_of<TokenId>(view(text_tokens)), most_whole);
        },
        "lexer"_a, "token_bytes"_a, "token_offsets"_a, "text_tokens"_a, "most_whole"_a,
        "Where whole sequences make a trie of more than `most_whole` nodes, they are cut behind their first terminals.");
}

using SequencesOfState = nb::typed<nb::list, nb::typed<nb::tuple, nb::typed<nb::tuple, Word, nb::ellipsis>, NewArray<Word>>>;

SequencesOfState sequences_of(const TerminalSequences& s, Word lexer_state) {
    SequencesOfState out;
    const SequenceTrie& trie = s.grown->trie;
    const Realizable& r = s.realized.of_state.at(static_cast<std::size_t>(lexer_state));
    for (std::size_t i = 0; i < r.sequences.size(); ++i) {
        std::vector<Word> terminals;
        for (SequenceNode n = r.sequences[i]; n != SequenceTrie::kRoot; n = trie.parent(n))
            terminals.insert(terminals.begin(), trie.label(n).v);
        std::vector<Word> classes;
        for (ClassSet set : r.sets_of(i)) {
            const auto more = words_of(s.realized.members(set));
            classes.insert(classes.end(), more.begin(), more.end());
        }
        out.append(nb::make_tuple(nb::tuple(nb::cast(terminals)), to_array(std::move(classes))));
    }
    return out;
}

void bind_terminal_sequences(nb::module_& m) {
    nb::class_<TerminalSequences>(m, "TerminalSequences", "The sequences of terminals that tokens stand for.")
        .def("__len__", [](const TerminalSequences& s) { return s.all.size(); })
        .def_prop_ro(
            "has_leads", [](const TerminalSequences& s) { return !s.realized.leads.empty(); },
            "Whether they are cut behind their first terminals, the leads.")
        .def(
            "trie_words", [](const TerminalSequences& s) { return to_array(s.grown->trie.to_words(s.grown->lr->n_terminals)); },
            "The trie of all sequences, for `classify_sequences`.")
        .def(
            "realized_words", [](const TerminalSequences& s) { return to_array(s.realized.to_words()); },
            "What tokens the sequences stand for, for `assemble`.")
        .def(
            "groups",
            [](const TerminalSequences& s, std::size_t n) {
                nb::typed<nb::list, NewArray<Word>> out;
                for (const auto& group : s.groups(n)) out.append(to_array(numbers(group)));
                return out;
            },
            "n"_a, "At most `n` groups of sequences, nodes of the trie, that may be classified apart.")
        .def("of_state", &sequences_of, "lexer_state"_a, "The terminals of each sequence, and the classes of its tokens.");
    m.def("find_sequences", &find_sequences, nb::call_guard<WithoutInterpreterLock>(), "classes"_a);
}

NamedArrays dict_of(const AssembledTables& made) {
    NamedArrays d = to_dict(made.classifier);
    if (made.leads) add_to_dict(d, *made.leads);
    return d;
}

// All words are of this version of psc.
void bind_closed_classifier(nb::module_& m) {
    nb::class_<ClosedClassifier>(m, "ClosedClassifier", "The stack classifier of some sequences, or of all. Can be pickled.")
        .def_ro("n_states", &ClosedClassifier::n_states)
        .def_prop_ro("n_transitions", [](const ClosedClassifier& c) { return c.transitions.size(); })
        .def("__getstate__", [](const ClosedClassifier& c) { return to_array(c.to_words()); })
        .def("__setstate__",
             [](ClosedClassifier& c, Ints words) { new (&c) ClosedClassifier(ClosedClassifier::from_words(view(words))); });
    m.def("close_classifier", &close_classifier, nb::call_guard<WithoutInterpreterLock>(), "sequences"_a,
          "Of all sequences at once.");
    m.def(
        "classify_sequences",
        [](const LalrTables& lr, Ints trie_words, Ints sequences) {
            const WithoutInterpreterLock release;
            const StackPredecessors below(lr.tables);
            Work none("steps to find sequences", 0);  // they are there
            const SequenceTrie trie(lr.tables, below, view(trie_words), none);
            Work work = work_to_close(work_to_build_ahead_of_time().left());
            return classify_sequences(lr.tables, below, trie, ids_of<SequenceNode>(view(sequences)), work);
        },
        "lr"_a, "trie_words"_a, "sequences"_a, "Of a group of sequences, perhaps in another process.");
    m.def(
        "merge_classifiers",
        [](const LalrTables& lr, const std::vector<ClosedClassifier>& classifiers) {
            const WithoutInterpreterLock release;
            return merge_classifiers(lr.tables, StackPredecessors(lr.tables), classifiers);
        },
        "lr"_a, "classifiers"_a, "Of all groups.");
    constexpr const char* kAssembled = "The arrays that a classifier adds to an artifact.";
    m.def(
        "assemble",
        [](const ClosedClassifier& classifier, const TerminalSequences& sequences) {
            return dict_of(without_lock([&] { return assemble(classifier, sequences.realized); }));
        },
        "classifier"_a, "sequences"_a, kAssembled);
    m.def(
        "assemble",
        [](const ClosedClassifier& classifier, Ints realized_words) {
            return dict_of(without_lock([&] { return assemble(classifier, RealizedSequences::from_words(view(realized_words))); }));
        },
        "classifier"_a, "realized_words"_a, kAssembled);
    m.def(
        "assemble_open",
        [](Ints trie_words, Ints realized_words) {
            SequenceTables sequences;
            const AssembledTables made = without_lock([&] {
                WordReader words(view(trie_words));
                take_table(words, sequences);
                words.end();
                return assemble_open(RealizedSequences::from_words(view(realized_words)));
            });
            NamedArrays d = dict_of(made);
            add_to_dict(d, sequences);
            return d;
        },
        "trie_words"_a, "realized_words"_a,
        "The arrays that an artifact has in the place of a classifier that could not be closed: its sequences, and what tokens "
        "they\nstand for.");
}

}  // namespace

void bind_compilation(nb::module_& m) {
    nb::class_<ClosedLexer>(m, "ClosedLexer", "A lexer with all its states.")
        .def_prop_ro("n_states", [](const ClosedLexer& c) { return c.lexer->n_states(); })
        .def(
            "arrays", [](const ClosedLexer& c) { return to_dict(lexer_tables(*c.lexer, c.lr->n_terminals)); },
            "The stored tables of the lexer, by name.");
    m.def(
        "close_lexer",
        [](const LalrTables& lr, const ByteAutomaton& automaton, Ints rank, Bytes ignored, const std::string& lexer) {
            const AllTerminals terminals = all_terminals(automaton, rank, ignored);
            const LexerKind kind = lexer_kind(lexer);
            const WithoutInterpreterLock release;
            return close_lexer(lr.tables, terminals, kind);
        },
        "lr"_a, "automaton"_a, "rank"_a, "ignored"_a, "lexer"_a);
    bind_token_classes(m);
    bind_terminal_sequences(m);
    bind_closed_classifier(m);
}

}  // namespace psc
