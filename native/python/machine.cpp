// Machines: an artifact's, and those built on first visit or linked.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/machine.hpp"
#include "lexer/kinds.hpp"
#include "linked/machine.hpp"
#include "machine/artifact_machine.hpp"
#include "machine/lazy_machine.hpp"
#include "machine/open_machine.hpp"
#include "machine/partly_closed_machine.hpp"
#include "python/interpreter_lock.hpp"
#include "python/tables.hpp"

namespace psc {

LexerKind lexer_kind(const std::string& name) {
    if (name == "basic") return LexerKind::basic;
    if (name == "flush") return LexerKind::flush;
    if (name == "contextual") return LexerKind::contextual;
    if (name == "flush-contextual") return LexerKind::flush_contextual;
    if (name == "indented") return LexerKind::indented;
    if (name == "modal") return LexerKind::modal;
    if (name == "flush-modal") return LexerKind::flush_modal;
    if (name == "any") return LexerKind::any;
    throw std::invalid_argument("no lexer is called '" + name +
                                "'; there are basic, flush, contextual, flush-contextual, indented, modal, flush-modal and any");
}

AllTerminals all_terminals(const ByteAutomaton& automaton, Ints rank, Bytes ignored) {
    AllTerminals a;
    a.n_states = automaton.n_states();
    a.classes = automaton.classes;
    a.next = automaton.next;
    a.match_offsets = automaton.match_offsets;
    a.matches = automaton.matches;
    a.rank = to_vector(rank);
    a.ignored = to_vector(ignored);
    return a;
}

namespace {

void bind_stored(nb::class_<PyMachine>& machine) {
    machine
        .def(
            "__init__",
            [](PyMachine* self, const nb::typed<nb::dict, nb::str, nb::any>& arrays, std::size_t cache_limit) {
                ArtifactTables t;
                from_dict(arrays, t.lexer);
                from_dict(arrays, t.lr);
                from_dict(arrays, t.lr_cells);
                from_dict(arrays, t.classifier);
                from_dict(arrays, t.tokens);
                from_dict(arrays, t.given);
                if (has_any<LeadTables>(arrays)) from_dict(arrays, t.leads);
                if (has_any<WarmTables>(arrays)) from_dict(arrays, t.warm);
                if (has_any<WarmReadings>(arrays)) from_dict(arrays, t.readings);
                if (has_any<SymbolTables>(arrays)) TableCheck::fail("symbol_tokens", "is in an artifact that is closed");
                if (has_any<SequenceTables>(arrays)) {
                    SequenceTables sequences;
                    from_dict(arrays, sequences);
                    new (self) PyMachine(std::make_shared<PartlyClosedMachine>(std::move(t), sequences, cache_limit));
                } else {
                    new (self) PyMachine(std::make_shared<ArtifactMachine>(std::move(t), cache_limit));
                }
            },
            "arrays"_a, "cache_limit"_a = 0)
        .def_static(
            "from_open_tables",
            [](const nb::typed<nb::dict, nb::str, nb::any>& arrays, const std::string& lexer, std::size_t cache_limit) {
                OpenTables t;
                from_dict(arrays, t.lr);
                from_dict(arrays, t.lr_cells);
                from_dict(arrays, t.terminals);
                from_dict(arrays, t.tokens);
                from_dict(arrays, t.given);
                if (has_any<SymbolTables>(arrays)) from_dict(arrays, t.symbols.emplace());
                const auto kind = lexer_kind(lexer);
                const WithoutInterpreterLock release;
                return new PyMachine(open_machine(t, kind, cache_limit));
            },
            "arrays"_a, "lexer"_a, "cache_limit"_a = 0, nb::rv_policy::take_ownership,
            "Of an artifact that is not closed: what it has no tables for is built just in time.");
}

void bind_lazy(nb::class_<PyMachine>& machine) {
    machine
        .def_static(
            "lazy",
            [](const LalrTables& lr, const ByteAutomaton& automaton, Ints rank, Bytes ignored, const std::string& lexer,
               const PyVocabulary& vocabulary, std::size_t cache_limit) {
                const auto terminals = all_terminals(automaton, rank, ignored);
                const auto kind = lexer_kind(lexer);
                const WithoutInterpreterLock release;
                return new PyMachine(std::make_shared<LazyMachine>(lr.tables, make_lexer(lr.tables, terminals, kind),
                                                                   vocabulary.index, cache_limit));
            },
            "lr"_a, "automaton"_a, "rank"_a, "ignored"_a, "lexer"_a, "vocabulary"_a, "cache_limit"_a, nb::rv_policy::take_ownership)
        .def_static(
            "of_open_terminals",
            [](const LalrTables& lr, const std::shared_ptr<TerminalNfa>& terminals, const PyVocabulary& vocabulary,
               std::size_t cache_limit) {
                if (!terminals->is_sound()) throw std::invalid_argument("the terminals cannot be read as they are visited");
                const WithoutInterpreterLock release;
                return new PyMachine(
                    std::make_shared<LazyMachine>(lr.tables, make_lexer(lr.tables, terminals), vocabulary.index, cache_limit));
            },
            "lr"_a, "terminals"_a, "vocabulary"_a, "cache_limit"_a, nb::rv_policy::take_ownership,
            "Lexed `any`, over terminals whose automaton is made as it is visited.");
}

void bind_linked(nb::class_<PyMachine>& machine) {
    machine.def_static(
        "linked",
        [](const PyMachine& frame, const std::vector<std::shared_ptr<LinkedPart>>& parts, const std::vector<Word>& most_tokens,
           const PyVocabulary& vocabulary, std::size_t cache_limit, const std::vector<bool>& spent_ends,
           const std::vector<int>& roles, const std::vector<Word>& runs_out_at) {
            if (most_tokens.size() != parts.size() || (!spent_ends.empty() && spent_ends.size() != parts.size()))
                throw std::invalid_argument("each part has a number of tokens, or -1");
            constexpr int kLastRole = static_cast<int>(LinkedMachine::Role::unique_item);
            if (roles.size() > parts.size() || roles.size() != runs_out_at.size() ||
                std::ranges::any_of(roles, [](int role) { return role < 0 || role > kLastRole; }))
                throw std::invalid_argument("a part has a role from 0 to 2, and a number");
            std::vector<LinkedMachine::Call> calls;
            for (std::size_t i = 0; i < parts.size(); ++i)
                calls.push_back(
                    {parts[i], most_tokens[i] == -1 ? Budget::kAnyNumber : most_tokens[i], !spent_ends.empty() && spent_ends[i]});
            for (std::size_t i = 0; i < roles.size(); ++i) {
                calls[i].role = static_cast<LinkedMachine::Role>(roles[i]);
                if (runs_out_at[i] >= 0) calls[i].runs_out_at = runs_out_at[i];
            }
            const WithoutInterpreterLock release;
            return new PyMachine(std::make_shared<LinkedMachine>(frame.engine(), std::move(calls), vocabulary.index, cache_limit));
        },
        "frame"_a, "parts"_a, "most_tokens"_a, "vocabulary"_a, "cache_limit"_a, "spent_ends"_a = std::vector<bool>(),
        "roles"_a = std::vector<int>(), "runs_out_at"_a = std::vector<Word>(), nb::rv_policy::take_ownership,
        "Several as one: a frame's, in whose grammar the call of part i stands where a text of parts[i] does, each of which "
        "ends with\n"
        "the end of a part; parts may call parts. Once most_tokens[i] tokens have had bytes in a text of part i, it ends "
        "before "
        "the\n"
        "next one if it can; -1 is any number. With spent_ends[i] it may then end with its second end, too. `vocabulary` has "
        "no\n"
        "boundaries, and those of the others are made of it. Each of the first parts may have a role: 0 "
        "is text, 1 an\n"
        "array whose items must differ, 2 such an item; and of how many characters a beginning of an item may be to have few "
        "ends, or -1.");
}

void bind_sizes(nb::class_<PyMachine>& machine) {
    machine.def_prop_ro("n_rows", [](const PyMachine& t) { return t.machine->cache()->rows.size(); })
        .def_prop_ro("n_words", [](const PyMachine& t) { return t.machine->n_words(); })
        .def_prop_ro("cache_bytes", [](const PyMachine& t) { return without_lock([&] { return t.machine->bytes(); }); })
        .def_prop_ro(
            "table_bytes", [](const PyMachine& t) { return without_lock([&] { return t.machine->table_bytes(); }); },
            "Bytes of what is never dropped: the tables that the machine was made of, an artifact's or the LR tables, and the "
            "lexer "
            "as far as it was built.")
        .def_prop_ro(
            "bytes", [](const PyMachine& t) { return without_lock([&] { return t.machine->bytes() + t.machine->table_bytes(); }); },
            "The cache and the tables.")
        .def_prop_ro(
            "is_broken", [](const PyMachine& t) { return without_lock([&] { return t.machine->is_broken(); }); },
            "Whether memory ran out while something was built that is never dropped: nothing more is built then.");
}

void bind_settings(nb::class_<PyMachine>& machine) {
    using Release = nb::call_guard<WithoutInterpreterLock>;
    machine.def(
               "clear", [](PyMachine& t) { t.machine->clear(); }, Release())
        .def(
            "set_steps_to_classify",
            [](PyMachine& t, std::size_t steps) {
                if (const auto engine = t.engine()) engine->reading().set_steps_to_classify(steps);
            },
            "steps"_a,
            "What the classifier of a lazy machine may cost for one mask before tokens are read instead. For tests: it is well "
            "chosen.")
        .def_prop_rw(
            "most_read",
            [](const PyMachine& t) {
                const auto engine = t.engine();
                return engine ? engine->reading().max_reads() : 0;
            },
            [](PyMachine& t, Word n) {
                if (const auto engine = t.engine()) engine->reading().set_max_reads(n);
            },
            "Of how many masks in one lexer state of a lazy machine tokens are read before what they do on every stack is found.")
        .def_prop_rw(
            "keeps_steps",
            [](const PyMachine& t) {
                const auto engine = t.engine();
                return engine && engine->keeps_steps();
            },
            [](PyMachine& t, bool keeps) {
                if (const auto engine = t.engine()) engine->set_keeps_steps(keeps);
            },
            "Whether steps that a text makes are kept for other texts. For tests: without them every token is read.")
        .def(
            "set_limit", [](PyMachine& t, std::size_t bytes) { t.machine->set_limit(bytes); }, "bytes"_a)
        .def_prop_rw(
            "vocabulary_tag", [](const PyMachine& t) { return t.machine->vocabulary_tag; },
            [](PyMachine& t, std::uint64_t tag) { t.machine->vocabulary_tag = tag; }, "Equal for grammars of one vocabulary.");
}

void bind_counts_and_rows(nb::class_<PyMachine>& machine) {
    machine
        .def_prop_ro("is_lazy",
                     [](const PyMachine& t) {
                         const auto* stored = dynamic_cast<ArtifactMachine*>(t.machine.get());
                         return !stored || !stored->is_closed();
                     })
        .def("counts",
             [](const PyMachine& t) {
                 nb::typed<nb::dict, nb::str, Word> d;
                 if (auto* lazy = dynamic_cast<LazyMachine*>(t.machine.get())) {
                     const auto c = without_lock([&] { return lazy->counts(); });
                     d["lexer_states"] = c.lexer_states;
                     d["visited_lexer_states"] = c.visited_lexer_states;
                     d["terminal_sequences"] = c.sequences;
                     d["classifier_states"] = c.classifier_states;
                     d["classifier_transitions"] = c.transitions;
                 }
                 if (auto* stored = dynamic_cast<ArtifactMachine*>(t.machine.get()); stored && !stored->is_closed())
                     d["classifier_transitions"] = static_cast<Word>(stored->engine_cache()->arcs.size());
                 d["rows"] = t.machine->cache()->rows.size();
                 return d;
             })
        .def(
            "row",
            [](PyMachine& t, Word row) {
                const auto cache = t.machine->cache();
                if (row < 0 || row >= cache->rows.size()) throw nb::index_error("no such mask row");
                return t.view(cache, {row});
            },
            "row"_a, nb::sig("def row(self, row: int) -> NDArray[numpy.int32]"));
}

}  // namespace

void bind_machine(nb::module_& m) {
    nb::class_<PyMachine> machine(m, "Machine", "What matchers read; see psc.CompiledGrammar.");
    bind_machine_tables(machine);
    bind_stored(machine);
    bind_lazy(machine);
    bind_linked(machine);
    bind_sizes(machine);
    bind_settings(machine);
    bind_counts_and_rows(machine);
}

Engine& PyMachine::shown() const {
    const auto* linked = dynamic_cast<const LinkedMachine*>(machine.get());
    return linked ? *linked->at(LinkedMachine::kFrame) : static_cast<Engine&>(*machine);
}

nb::object PyMachine::view(const std::shared_ptr<RowCache>& cache, MaskRow row) {
    if (viewed != cache) {
        views.clear();
        viewed = cache;
    }
    if (row.index() >= views.size()) views.resize(row.index() + 1);
    if (!views[row.index()].is_valid()) {
        auto* keep = new std::shared_ptr<RowCache>(cache);
        nb::capsule owner(keep, [](void* p) noexcept { delete static_cast<std::shared_ptr<RowCache>*>(p); });
        const auto* words = reinterpret_cast<const Word*>(cache->rows.words(row));
        // A collection of garbage on the way may run code that looks at other rows.
        nb::object view = nb::cast(nb::ndarray<nb::numpy, const Word, nb::ndim<1>>(words, {machine->n_words()}, owner));
        if (viewed != cache || row.index() >= views.size()) return view;
        views[row.index()] = std::move(view);
    }
    return views[row.index()];
}

}  // namespace psc
