// Rules to terminals and productions, and from there to the tables that know no vocabulary.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"
#include "rules/joined_rules.hpp"
#include "rules/lowering.hpp"
#include "rules/normal_form.hpp"
#include "terminals/automaton.hpp"
#include "terminals/nfa.hpp"

namespace psc {

namespace {

using Arrays = nb::typed<nb::tuple, NewArray<Word>, NewArray<Word>, NewArray<Word>, NewArray<Word>>;

constexpr const char* kArraysText =
    "Left-hand nonterminals; where the right-hand sides begin, and one more; their symbols, as `psc.compiler.cfg.grammar` numbers "
    "them;\n"
    "priorities.";

Arrays arrays_of(const Productions& g) {
    std::vector<Word> lhs, offsets{0}, rhs;
    for (std::size_t p = 0; p < g.lhs.size(); ++p) {
        lhs.push_back(g.lhs[p].v);
        for (Symbol s : g.rhs[p]) rhs.push_back(s.v);
        offsets.push_back(static_cast<Word>(rhs.size()));
    }
    return nb::make_tuple(to_array(std::move(lhs)), to_array(std::move(offsets)), to_array(std::move(rhs)), to_array(g.priority));
}

// In the words of rules/rule_programs.hpp.
void write(const ExpressionGraph& graph, Expression node, std::vector<std::int64_t>& out) {
    using Kind = ExpressionGraph::Kind;
    for (Expression p : graph.parts(node)) write(graph, p, out);
    const auto n = static_cast<std::int64_t>(graph.parts(node).size());
    switch (graph.kind(node)) {
        case Kind::text: {
            const auto all = graph.characters(node);
            out.insert(out.end(), {RulePrograms::text, static_cast<std::int64_t>(all.size())});
            out.insert(out.end(), all.begin(), all.end());
            break;
        }
        case Kind::chars: {
            const auto all = graph.ranges(node);
            out.insert(out.end(), {RulePrograms::chars, static_cast<std::int64_t>(all.size() / 2)});
            out.insert(out.end(), all.begin(), all.end());
            break;
        }
        case Kind::sequence:
            out.insert(out.end(), {RulePrograms::sequence, n});
            break;
        case Kind::choice:
            out.insert(out.end(), {RulePrograms::choice, n});
            break;
        case Kind::repeat:
            out.insert(out.end(), {RulePrograms::repeat, graph.bounds(node).least, graph.bounds(node).most});
            break;
        case Kind::automaton: {
            const auto accepts = graph.accepts(node), arcs = graph.arcs(node);
            out.insert(out.end(), {RulePrograms::automaton, static_cast<std::int64_t>(accepts.size()),
                                   static_cast<std::int64_t>(arcs.size() / 4)});
            out.insert(out.end(), accepts.begin(), accepts.end());
            out.insert(out.end(), arcs.begin(), arcs.end());
            break;
        }
        case Kind::reference:
            out.insert(out.end(), {RulePrograms::reference, graph.rule(node).v});
            break;
    }
}

struct BoundNormalForm {
    NormalForm normal;
    std::vector<std::string> nonterminals, way;
};

void bind_normal_form(nb::module_& m) {
    nb::class_<BoundNormalForm>(m, "NormalForm", "A grammar without empty productions, unit cycles and useless symbols.")
        .def_ro("nonterminals", &BoundNormalForm::nonterminals, "Their names; the first is the start.")
        .def_prop_ro(
            "productions", [](const BoundNormalForm& f) { return arrays_of(f.normal.grammar); }, kArraysText)
        .def_ro("way", &BoundNormalForm::way,
                "Where the start derives nothing: nonterminals from it on, each needed by all that the one before can derive; else "
                "empty.")
        .def_prop_ro(
            "circle", [](const BoundNormalForm& f) { return f.normal.dead ? f.normal.dead->circle : std::nullopt; },
            "Where in the way the one begins that comes again; None where the last one has no production.");
    m.def(
        "normal_form",
        [](Word n_terminals, std::vector<std::string> nonterminals, Word start, Ints lhs, Ints rhs_offsets, Ints rhs,
           Ints priority) {
            const Productions g =
                productions_of(n_terminals, static_cast<Word>(nonterminals.size()), start, lhs, rhs_offsets, rhs, priority);
            const WithoutInterpreterLock release;
            auto [draft, may_be_empty] = draft_of(g, nonterminals);
            BoundNormalForm out{normal_form(draft, n_terminals - 1, g.start, may_be_empty), {}, {}};
            for (Nonterminal n : out.normal.draft) out.nonterminals.emplace_back(draft.name(n));
            if (out.normal.dead)
                for (Nonterminal n : out.normal.dead->way) out.way.emplace_back(draft.name(n));
            return out;
        },
        "n_terminals"_a, "nonterminals"_a, "start"_a, "lhs"_a, "rhs_offsets"_a, "rhs"_a, "priority"_a,
        "The normal form of productions. Terminals are counted with the end of the text.");
}

}  // namespace

Productions productions_of(Word n_terminals, Word n_nonterminals, Word start, Ints lhs, Ints rhs_offsets, Ints rhs, Ints priority) {
    Productions g;
    g.n_terminals = n_terminals;
    g.n_nonterminals = n_nonterminals;
    g.start = {start};
    for (Word n : to_vector(lhs)) g.lhs.push_back({n});
    const auto symbols = ids_of<Symbol>({rhs.data(), rhs.size()});
    for (std::size_t p = 0; p < lhs.size(); ++p)
        g.rhs.emplace_back(symbols.begin() + rhs_offsets.data()[p], symbols.begin() + rhs_offsets.data()[p + 1]);
    g.priority = to_vector(priority);
    return g;
}

// Of rules that were lowered.
static const LoweredRules& lowered(const LoweredRules& l) {
    if (l.refusal) throw std::invalid_argument("the rules are no grammar: see `undefined` and `way`");
    return l;
}

static void bind_rule_programs(nb::module_& m) {
    nb::class_<RulePrograms>(m, "RulePrograms", "Rules of expressions as flat words, see native/rules/rule_programs.hpp.")
        .def(
            "__init__",
            [](RulePrograms* self, Longs words, Longs offsets, std::vector<std::string> names, Word root) {
                RulePrograms rules{to_vector(words), to_vector(offsets), {}, {root}, {}, {}};
                for (const std::string& name : names) rules.names.push_back(name);
                {
                    const WithoutInterpreterLock release;
                    rules.check();
                }
                new (self) RulePrograms(std::move(rules));
            },
            "words"_a, "offsets"_a, "names"_a, "root"_a, "Of `names` the defined ones come first; `root` is a number of one.")
        .def_prop_ro(
            "words", [](const RulePrograms& r) { return to_array(std::vector(r.words)); }, nb::rv_policy::reference)
        .def_prop_ro(
            "offsets", [](const RulePrograms& r) { return to_array(std::vector(r.offsets)); }, nb::rv_policy::reference)
        .def_prop_ro("names", [](const RulePrograms& r) { return r.names.strings(); })
        .def_prop_ro(
            "root", [](const RulePrograms& r) { return r.root.v; }, "The number of a rule.")
        .def_prop_ro(
            "root_name", [](const RulePrograms& r) { return std::string(r.names[r.root.index()]); }, "The name of that rule.")
        .def_prop_ro(
            "has_free_order", [](const RulePrograms& r) { return !r.free_orders.empty(); },
            "Whether members come in any order in some of them, which the words do not say.")
        .def(
            "lower",
            [](const RulePrograms& rules, std::int64_t size, std::int64_t named_size, std::int64_t around_free_text,
               std::int64_t literals,
               std::int64_t counted) { return lower(rules, {size, named_size, around_free_text, literals, counted}); },
            "size"_a, "named_size"_a, "around_free_text"_a, "literals"_a, "counted"_a, nb::call_guard<WithoutInterpreterLock>(),
            "The grammar of the rules, within the limits of `psc.compiler.cfg.lowering.TerminalLimits`.");
    m.def(
        "join_rules",
        [](const RulePrograms& outer, const std::vector<std::string>& names, const std::vector<const RulePrograms*>& parts) {
            if (names.size() != parts.size()) throw std::invalid_argument("a name is wanted for each part");
            std::vector<NamedRules> named;
            for (std::size_t i = 0; i < parts.size(); ++i) named.push_back({names[i], parts[i]});
            const WithoutInterpreterLock release;
            return joined_rules(outer, named);
        },
        "outer"_a, "names"_a, "parts"_a,
        "The outer rules, in which a reference to a part's name is one to the part's root; see native/rules/joined_rules.hpp.");
}

void bind_lowering(nb::module_& m) {
    bind_normal_form(m);
    bind_rule_programs(m);
    using Release = nb::call_guard<WithoutInterpreterLock>;
    nb::class_<LoweredRules>(m, "LoweredRules", "Rules of expressions as terminals and productions.")
        .def_prop_ro(
            "undefined", [](const LoweredRules& l) { return l.refusal ? l.refusal->undefined : std::string(); },
            "A rule that the root needs and that is not defined, or the empty text. Nothing else is known then.")
        .def_prop_ro(
            "way", [](const LoweredRules& l) { return l.refusal ? l.refusal->way : std::vector<std::string>(); },
            "As of a NormalForm. Nothing else is known then.")
        .def_prop_ro("circle", [](const LoweredRules& l) { return l.refusal ? l.refusal->circle : std::nullopt; })
        .def_prop_ro(
            "terminals",
            [](const LoweredRules& l) {
                nb::typed<nb::list, nb::typed<nb::tuple, Word, Word, Word>> all;
                for (const LoweredTerminal& t : l.terminals)
                    all.append(nb::make_tuple(t.named ? t.named->v : -1, t.written_in.v, t.number ? t.number->v : -1));
                return all;
            },
            "Per terminal, in the order in which they were met, the rule that it is named after, or -1; the rule that it is "
            "written\n"
            "in; and its number, or -1 where no production has it.")
        .def_prop_ro(
            "rules", [](const LoweredRules& l) { return l.rules.strings(); },
            "The names of rules by number: those handed over, and those cut out of them.")
        .def(
            "expression",
            [](const LoweredRules& l, std::size_t terminal) {
                if (terminal >= l.terminals.size()) throw nb::index_error("no such terminal");
                std::vector<std::int64_t> words;
                write(l.graph, l.terminals[terminal].expression, words);
                return words;
            },
            "terminal"_a, "What a terminal matches, by its place in `terminals`, in the words of RulePrograms.")
        .def_prop_ro(
            "nonterminals", [](const LoweredRules& l) { return l.nonterminals.strings(); }, "Their names; the first is the start.")
        .def_prop_ro(
            "productions", [](const LoweredRules& l) { return arrays_of(l.productions); }, kArraysText)
        .def_prop_ro(
            "left_out",
            [](const LoweredRules& l) {
                return std::vector<Word>(words_of(std::span(l.left_out)).begin(), words_of(std::span(l.left_out)).end());
            },
            "Rules that derive nothing, not even the empty text.")
        .def(
            "terminal_automaton",
            [](const LoweredRules& l, std::size_t max_states, std::size_t max_positions, std::size_t max_steps) {
                const TerminalPrograms programs = lowered(l).programs();
                return build_terminal_automaton(programs.words(), programs.offsets(), programs.ranges(), programs.range_offsets(),
                                                max_states, max_positions, max_steps);
            },
            "max_states"_a, "max_positions"_a, "max_steps"_a, Release(), "The byte automaton of the terminals that have a number.")
        .def(
            "open_terminals",
            [](const LoweredRules& l, std::size_t max_positions) {
                const TerminalPrograms programs = lowered(l).programs();
                return std::make_shared<TerminalNfa>(programs.words(), programs.offsets(), programs.ranges(),
                                                     programs.range_offsets(), max_positions);
            },
            "max_positions"_a, Release(), "The same terminals, for an automaton that is made as it is visited.")
        .def(
            "lr_tables", [](const LoweredRules& l) { return lalr_tables_of(lowered(l)); }, Release(),
            "The LALR(1) tables, with every action kept.");
}

}  // namespace psc
