// Machines: an artifact's, and those built on first visit; and the vocabularies of the latter.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <set>

#include "python/machine.hpp"
#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "lexer/kinds.hpp"
#include "linked/machine.hpp"
#include "machine/artifact_machine.hpp"
#include "machine/lazy_machine.hpp"
#include "machine/open_machine.hpp"
#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"
#include "python/tables.hpp"
#include "schema/resources.hpp"

namespace psc {
namespace {

using Symbols = std::vector<Word>;

Symbols symbols_of(const Engine& m, LexOutput output) {
    const auto s = words_of(m.output(output));
    return {s.begin(), s.end()};
}

// What a machine gives that may have to be built, or that another thread may be building.
template <class F>
auto without_lock(const F& f) {
    const WithoutInterpreterLock released;
    return f();
}

LexerState checked(Engine& m, Word lexer_state) {
    if (lexer_state < 0 || lexer_state >= without_lock([&] { return m.n_lexer_states(); }))
        throw nb::index_error("no such lexer state");
    return {lexer_state};
}

std::vector<Symbols> symbols_of_all(Engine& m, Word state, std::span<const LexOutput> (Engine::*outputs)(LexerState)) {
    std::vector<Symbols> out;
    const LexerState of = checked(m, state);
    for (LexOutput o : without_lock([&] { return (m.*outputs)(of); })) out.push_back(symbols_of(m, o));
    return out;
}

// The last terminal of each sequence of F(q).
std::vector<Word> last_terminals(const Engine& m, FutureSet futures) {
    std::vector<FutureSet> todo{futures};
    std::set<FutureSet> seen{futures};
    std::vector<Word> out;
    const auto ends = [&](auto& self, FutureSet set) -> bool {  // after conditions only
        for (const FutureEdge& edge : m.future_edges(set))
            if (m.is_condition(edge.symbol) && self(self, edge.then)) return true;
        return set == Engine::kNothingNeeded;
    };
    while (!todo.empty()) {
        const auto edges = m.future_edges(todo.back());
        todo.pop_back();
        for (const FutureEdge& edge : edges) {
            if (!m.is_condition(edge.symbol) && ends(ends, edge.then)) out.push_back(edge.symbol.terminal().v);
            if (seen.insert(edge.then).second) todo.push_back(edge.then);
        }
    }
    sort_unique(out);
    return out;
}

// The tables as Python's tools read them, to say why a text stopped and to look for how it can go on.
void bind_tables(nb::class_<PyMachine>& c) {
    c.def_prop_ro(
        "lr", [](const PyMachine& t) { return LalrTables{t.shown().lr(), {}, 0}; }, "The LR tables, shared with the machine.");
    c.def_prop_ro(
        "byte_class",
        [](const PyMachine& t) {
            const auto& classes = t.shown().byte_class();
            std::vector<std::uint8_t> out;
            for (ByteClass c : classes) out.push_back(c.v);
            return to_array(std::move(out));
        },
        nb::rv_policy::reference, "Per byte its class: bytes of a class do the same everywhere.");
    c.def(
        "lexer_start",
        [](const PyMachine& t, Word top) {
            if (top < 0 || top >= t.shown().lr().n_lr_states) throw nb::index_error("no such LR state");
            return t.shown().start_of({top}).v;
        },
        "lr_state"_a, "The lexer state in which a lexeme begins when this LR state is on top.");
    c.def(
        "lexer_steps",
        [](const PyMachine& t, Word state) {
            Engine& m = t.shown();
            const LexerState from = checked(m, state);
            nb::typed<nb::list, nb::typed<nb::tuple, Word, Symbols, Word>> out;
            const auto add = [&](Word cls, LexArc arc) {
                out.append(nb::make_tuple(cls, symbols_of(m, arc.output), arc.target.word()));
            };
            for (Word cls = 0; cls < m.n_byte_classes(); ++cls) {
                const LexArc arc = without_lock([&] { return m.lex(from, {static_cast<std::uint8_t>(cls)}); });
                if (arc.target.is_fail()) continue;
                if (!arc.target.is_branch()) {
                    add(cls, arc);
                    continue;
                }
                for (const LexWay& way : m.ways(arc.target.branch())) add(cls, {LexTarget::to(way.next), way.output});
            }
            return out;
        },
        "lexer_state"_a,
        "What a byte of each class does, as (byte class, symbols read, next state), several where there are several ways. Symbols "
        "are\n"
        "terminals and, beyond them, conditions on the stack. State 0 is the start that the stack's top has then; at -2 the byte "
        "is read\n"
        "again from that start.");
    c.def(
        "lexer_ends", [](const PyMachine& t, Word state) { return symbols_of_all(t.shown(), state, &Engine::at_end); },
        "lexer_state"_a, "What is read, one of these, if the text ends here; none where the lexeme is incomplete.");
    c.def(
        "lexer_becomes",
        [](const PyMachine& t, Word state) {
            const LexerState of = checked(t.shown(), state);
            return without_lock([&] { return last_terminals(t.shown(), t.shown().futures(of)); });
        },
        "lexer_state"_a,
        "The terminals that the unfinished lexeme can still become, or what is begun in it where it fails; none where it may be "
        "ignored.");
}

}  // namespace

LexerKind lexer_kind(const std::string& name) {
    if (name == "basic") return LexerKind::basic;
    if (name == "contextual") return LexerKind::contextual;
    if (name == "modal") return LexerKind::modal;
    if (name == "any") return LexerKind::any;
    throw std::invalid_argument("no lexer is called '" + name + "'; there are basic, contextual, modal and any");
}

AllTerminals all_terminals(Ints next, Ints match_offsets, Ints matches, Ints rank, Bytes ignored) {
    AllTerminals a;
    a.n_states = static_cast<Word>(match_offsets.size()) - 1;
    a.next = to_vector(next);
    a.match_offsets = to_vector(match_offsets);
    a.matches = to_vector(matches);
    a.rank = to_vector(rank);
    a.ignored = to_vector(ignored);
    return a;
}

static void bind_errors() {
    const nb::object errors = nb::module_::import_("psc.errors");
    const auto as = [](auto example, nb::object type) {
        using Error = decltype(example);
        nb::register_exception_translator(
            [](const std::exception_ptr& p, void* payload) {
                try {
                    std::rethrow_exception(p);
                } catch (const Error& e) {
                    PyErr_SetString(static_cast<PyObject*>(payload), e.what());
                }
            },
            type.release().ptr());  // lives as long as the module
    };
    as(LimitExceeded("", 0), errors.attr("ResourceLimitError"));
    as(Cancelled(), errors.attr("CompilationCancelledError"));
    as(MatcherError(""), errors.attr("MatcherError"));
    as(ArtifactError(""), errors.attr("ArtifactError"));
    as(BitmaskError(""), errors.attr("BitmaskError"));
    as(JsonError(1, 1, ""), errors.attr("GrammarError"));
    as(SchemaError("", "", ""), errors.attr("GrammarError"));
    nb::register_exception_translator(
        [](const std::exception_ptr& p, void* payload) {
            try {
                std::rethrow_exception(p);
            } catch (const RanOutOfMemory& e) {
                PyErr_SetString(static_cast<PyObject*>(payload), e.what());
            } catch (const std::bad_alloc&) {
                PyErr_SetString(static_cast<PyObject*>(payload), "memory: more than this process can get");
            }
        },
        nb::object(errors.attr("ResourceLimitError")).release().ptr());
}

void bind_machine(nb::module_& m) {
    using Release = nb::call_guard<WithoutInterpreterLock>;
    bind_errors();
    nb::class_<PyVocabulary>(m, "VocabularyIndex", nb::is_weak_referenceable(),
                             "A vocabulary as a trie, and what was learnt about it for every grammar.")
        .def(
            "__init__",
            [](PyVocabulary* self, Bytes bytes, Longs offsets, Ints text, Ints stop_tokens, Ints symbols) {
                constexpr std::int64_t kMaxVocabularyBytes = limit("vocabulary_bytes");
                if (offsets.size() && offsets.data()[offsets.size() - 1] > kMaxVocabularyBytes)
                    throw LimitExceeded("bytes of all tokens", kMaxVocabularyBytes);
                std::vector<Word> narrow(offsets.data(), offsets.data() + offsets.size());
                const auto ids = to_vector(text);
                auto all = to_vector(bytes);
                const auto stops = ids_of<TokenId>({stop_tokens.data(), stop_tokens.size()});
                std::vector<TokenId> kept(stops.begin(), stops.end());
                auto numbers = to_vector(symbols);
                if (!numbers.empty() && numbers.size() + 1 != narrow.size())
                    throw std::invalid_argument("a vocabulary has as many symbols as tokens, or none");
                if (std::any_of(numbers.begin(), numbers.end(), [](Word n) { return n < -1 || n >= kSymbols; }))
                    throw std::invalid_argument("the number of a symbol is out of range");
                const WithoutInterpreterLock release;
                new (self) PyVocabulary{
                    std::make_shared<VocabularyIndex>(std::move(all), std::move(narrow), ids, std::move(kept), std::move(numbers))};
            },
            "token_bytes"_a, "token_offsets"_a, "text_tokens"_a, "stop_tokens"_a, "symbols"_a)
        .def(
            "with_boundaries",
            [](const PyVocabulary& self, const std::optional<nb::bytes>& before_end, const std::optional<nb::bytes>& before_call,
               Ints symbols) {
                const auto set_of = [](const std::optional<nb::bytes>& bytes) {
                    ByteSet set;
                    if (bytes)
                        for (std::size_t i = 0; i < bytes->size(); ++i) set.set(static_cast<std::uint8_t>(bytes->c_str()[i]));
                    return set;
                };
                const ByteSet end = set_of(before_end), call = set_of(before_call);
                auto numbers = to_vector(symbols);
                if (!numbers.empty() && numbers.size() != static_cast<std::size_t>(self.index->n_tokens()))
                    throw std::invalid_argument("a vocabulary has as many symbols as tokens, or none");
                if (std::any_of(numbers.begin(), numbers.end(), [](Word n) { return n < -1 || n >= kSymbols; }))
                    throw std::invalid_argument("the number of a symbol is out of range");
                const WithoutInterpreterLock release;
                return new PyVocabulary{
                    self.index->with_boundaries(before_end ? &end : nullptr, before_call ? &call : nullptr, std::move(numbers))};
            },
            "before_end"_a.none(), "before_call"_a.none(), "symbols"_a, nb::rv_policy::take_ownership,
            "The same for machines that are linked: with the ends of parts, and with calls of parts, where these are given, behind "
            "the\n"
            "empty text and behind the beginnings of tokens that end with one of these bytes.")
        .def_prop_ro("n_fragments", [](const PyVocabulary& v) { return without_lock([&] { return v.index->n_fragments(); }); })
        .def_prop_ro("fragment_bytes",
                     [](const PyVocabulary& v) { return without_lock([&] { return v.index->fragment_bytes(); }); });
    nb::class_<PyMachine> machine(m, "Machine", "What matchers read; see psc.CompiledGrammar.");
    bind_tables(machine);
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
                if (has_any<WarmTables>(arrays)) from_dict(arrays, t.warm);
                if (has_any<SymbolTables>(arrays)) TableCheck::fail("symbol_tokens", "is in an artifact that is closed");
                new (self) PyMachine(std::make_shared<ArtifactMachine>(std::move(t), cache_limit));
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
            "Of an artifact that is not closed: what it has no tables for is built just in time.")
        .def_static(
            "lazy",
            [](const LalrTables& lr, Ints next, Ints match_offsets, Ints matches, Ints rank, Bytes ignored,
               const std::string& lexer, const PyVocabulary& vocabulary, std::size_t cache_limit) {
                const auto terminals = all_terminals(next, match_offsets, matches, rank, ignored);
                const auto kind = lexer_kind(lexer);
                const WithoutInterpreterLock release;
                return new PyMachine(std::make_shared<LazyMachine>(lr.tables, make_lexer(lr.tables, terminals, kind),
                                                                   vocabulary.index, cache_limit));
            },
            "lr"_a, "next"_a, "match_offsets"_a, "matches"_a, "rank"_a, "ignored"_a, "lexer"_a, "vocabulary"_a, "cache_limit"_a,
            nb::rv_policy::take_ownership)
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
            "Lexed `any`, over terminals whose automaton is made as it is visited.")
        .def_static(
            "linked",
            [](const PyMachine& frame, const std::vector<std::shared_ptr<LinkedPart>>& parts, const std::vector<Word>& most_tokens,
               const PyVocabulary& vocabulary, std::size_t cache_limit, const std::vector<bool>& spent_ends) {
                if (most_tokens.size() != parts.size() || (!spent_ends.empty() && spent_ends.size() != parts.size()))
                    throw std::invalid_argument("each part has a number of tokens, or -1");
                std::vector<LinkedMachine::Call> calls;
                for (std::size_t i = 0; i < parts.size(); ++i)
                    calls.push_back({parts[i], most_tokens[i] == -1 ? Budget::kAnyNumber : most_tokens[i],
                                     !spent_ends.empty() && spent_ends[i]});
                const WithoutInterpreterLock release;
                return new PyMachine(
                    std::make_shared<LinkedMachine>(frame.engine(), std::move(calls), vocabulary.index, cache_limit));
            },
            "frame"_a, "parts"_a, "most_tokens"_a, "vocabulary"_a, "cache_limit"_a, "spent_ends"_a = std::vector<bool>(),
            nb::rv_policy::take_ownership,
            "Several as one: a frame's, in whose grammar the call of part i stands where a text of parts[i] does, each of which "
            "ends with\n"
            "the end of a part; parts may call parts. Once most_tokens[i] tokens have had bytes in a text of part i, it ends "
            "before "
            "the\n"
            "next one if it can; -1 is any number. With spent_ends[i] it may then end with its second end, too. `vocabulary` has "
            "no\n"
            "boundaries, and those of the others are made of it.")
        .def_prop_ro("n_rows", [](const PyMachine& t) { return t.machine->cache()->rows.size(); })
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
            "Whether memory ran out while something was built that is never dropped: nothing more is built then.")
        .def(
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
            [](PyMachine& t, std::uint64_t tag) { t.machine->vocabulary_tag = tag; }, "Equal for grammars of one vocabulary.")
        .def_prop_ro("is_lazy", [](const PyMachine& t) { return !dynamic_cast<ArtifactMachine*>(t.machine.get()); })
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
