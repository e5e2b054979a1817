// The tables of a machine as Python's tools read them, to say why a text stopped and to look for how it can go on.
#include <nanobind/stl/vector.h>

#include <set>

#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "base/work.hpp"
#include "python/interpreter_lock.hpp"
#include "python/machine.hpp"
#include "python/tables.hpp"

namespace psc {
namespace {

using Symbols = std::vector<Word>;

Symbols symbols_of(const Engine& m, LexOutput output) {
    const auto s = words_of(m.output(output));
    return {s.begin(), s.end()};
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

}  // namespace

void bind_machine_tables(nb::class_<PyMachine>& c) {
    c.def_prop_ro(
        "lr", [](const PyMachine& t) { return LalrTables{t.shown().lr(), {}, 0, {}}; }, "The LR tables, shared with the machine.");
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
            Work work("steps for one token or mask", limit("mask_steps"));
            for (Word cls = 0; cls < m.n_byte_classes(); ++cls) {
                const LexArc arc = without_lock([&] { return m.lex(from, {static_cast<std::uint8_t>(cls)}, work); });
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

}  // namespace psc
