// Rules to terminals and productions, and from there to the tables that know no vocabulary.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"
#include "rules/joined_rules.hpp"
#include "rules/lowering.hpp"
#include "rules/normal_form.hpp"
#include "rules/text_search.hpp"
#include "rules/unique_rules.hpp"
#include "terminals/automaton.hpp"
#include "terminals/nfa.hpp"
#include "text/token_symbols.hpp"

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
        case Kind::counted: {
            const std::vector<std::int64_t> flags(graph.accepts(node).begin(), graph.accepts(node).end());
            const std::vector<std::int64_t> arcs(graph.arcs(node).begin(), graph.arcs(node).end());
            try {
                const auto words = written_out(graph.bounds_of_length(node), flags, arcs);
                out.insert(out.end(), words.begin(), words.end());
            } catch (const LimitExceeded&) {  // for a name: who needs the language asks RulePrograms::written_out() first
                out.insert(out.end(), {RulePrograms::automaton, static_cast<std::int64_t>(flags.size()),
                                       static_cast<std::int64_t>(arcs.size() / 4)});
                for (const std::int64_t flag : flags) out.push_back(flag & 1);
                out.insert(out.end(), arcs.begin(), arcs.end());
            }
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

static void check_rule(const RulePrograms& rules, Word rule) {
    if (rule < -1 || rule >= rules.n_defined()) throw std::invalid_argument("the number of a rule is out of range");
}

// Each with the rules of its triggers, of their first characters, and of its free text.
using Searches = std::vector<std::tuple<const TextSearch*, std::vector<Word>, std::vector<Word>, Word>>;

static void bind_text_search(nb::module_& m) {
    nb::class_<TextSearch>(m, "TextSearch", "Free text until one of many triggers, see native/rules/text_search.hpp.")
        .def(
            "__init__",
            [](TextSearch* self, const std::vector<nb::str>& triggers, const std::vector<nb::str>& excluded,
               const std::vector<std::tuple<Word, Word, Word, Word>>& tokens, std::size_t max_states, std::size_t max_arcs) {
                std::vector<std::u32string> all, others;
                for (const nb::str& text : triggers) all.push_back(to_code_points(text));
                for (const nb::str& text : excluded) others.push_back(to_code_points(text));
                std::vector<TextSearch::Token> spelled;
                for (const auto& [text, before, after, symbol] : tokens) {
                    const bool fits = text >= 0 && static_cast<std::size_t>(text) < all.size() && 0 <= before && before < after &&
                                      static_cast<std::size_t>(after) <= all[static_cast<std::size_t>(text)].size();
                    if (!fits || symbol < kFirstSymbol || symbol >= kAfterSymbols)
                        throw std::invalid_argument("a token is out of range");
                    spelled.push_back({text, before, after, symbol});
                }
                const WithoutInterpreterLock release;
                new (self) TextSearch(all, others, spelled, {max_states, max_arcs});
            },
            "triggers"_a, "excluded"_a, "tokens"_a, "max_states"_a, "max_arcs"_a,
            "Texts that are not empty; `tokens`: (trigger, position before, position behind, symbol) of special tokens whose names "
            "are "
            "in triggers.")
        .def_prop_ro(
            "n_triggers", [](const TextSearch& s) { return s.n_triggers(); }, "How many triggers there are.")
        .def_prop_ro(
            "separable", [](const TextSearch& s) { return s.separable(); },
            "Whether a trigger can be read as free text that ends with its first character, and then the rest of it.")
        .def_prop_ro(
            "firsts", [](const TextSearch& s) { return std::vector<Word>(s.firsts().begin(), s.firsts().end()); },
            "The first characters of triggers, as code points, ascending.")
        .def_prop_ro(
            "reached", [](const TextSearch& s) { return s.reached(); }, "The triggers, by number, that a text can go on to.");
}

static void bind_rule_programs(nb::module_& m) {
    nb::class_<RulePrograms>(m, "RulePrograms", "Rules of expressions as flat words, see native/rules/rule_programs.hpp.")
        .def(
            "__init__",
            [](RulePrograms* self, Longs words, Longs offsets, std::vector<std::string> names, Word root,
               const Searches& searches) {
                RulePrograms rules{to_vector(words), to_vector(offsets), {}, {root}, {}, {}, {}};
                for (const std::string& name : names) rules.names.push_back(name);
                {
                    const WithoutInterpreterLock release;
                    rules.check();
                    for (const auto& [search, of_triggers, of_firsts, of_text] : searches) {
                        if (of_triggers.size() != search->n_triggers() || of_firsts.size() != search->firsts().size())
                            throw std::invalid_argument("a search has a rule, or -1, for each trigger and first character");
                        for (const Word rule : of_triggers) check_rule(rules, rule);
                        for (const Word rule : of_firsts) check_rule(rules, rule);
                        check_rule(rules, of_text);
                        rules.labelled.push_back(search->labelled({of_triggers, of_firsts, of_text}));
                    }
                }
                new (self) RulePrograms(std::move(rules));
            },
            "words"_a, "offsets"_a, "names"_a, "root"_a, "searches"_a = Searches{},
            "Of `names` the defined ones come first; `root` is a number of one. Each search is one, with the numbers of the rules "
            "of "
            "its triggers and of its free text, or -1.")
        .def_prop_ro(
            "has_searches",
            [](const RulePrograms& r) {
                return std::any_of(r.labelled.begin(), r.labelled.end(), [](const auto& a) { return a.decides; });
            },
            "Whether some are rules of a TextSearch, which the words do not say.")
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
        .def_prop_ro(
            "has_unique", [](const RulePrograms& r) { return !r.unique.empty(); },
            "Whether the items of arrays must differ in some of them, which the words do not say.")
        .def(
            "cut_unique",
            [](const RulePrograms& rules, Word first_call) {
                CutUniqueRules cut;
                {
                    const WithoutInterpreterLock release;
                    cut = cut_unique_rules(rules, first_call);
                }
                return std::tuple(std::move(cut.frame), std::move(cut.arrays), std::move(cut.items), std::move(cut.runs_out_at));
            },
            "first_call"_a,
            "The rules of a frame, of arrays whose items must differ, and of these items, see native/rules/unique_rules.hpp; and "
            "of how many characters beginnings of items of each array, then of each item, may be to have few ends, or -1.")
        .def_prop_ro("has_counted", &RulePrograms::has_counted, "Whether a text is counted in some of them.")
        .def("written_out", &RulePrograms::written_out, nb::call_guard<WithoutInterpreterLock>(),
             "The same, a state for each count. Raises ResourceLimitError where that are too many.")
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
    bind_text_search(m);
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
