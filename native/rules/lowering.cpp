#include "rules/lowering.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "rules/draft_productions.hpp"
#include "rules/normal_form.hpp"
#include "rules/repetition.hpp"

namespace psc {

namespace {

using Kind = ExpressionGraph::Kind;
using Parts = std::vector<Expression>;

constexpr std::size_t kManyLiterals =
    8;  // this many side by side are one terminal: a list of words, rather than keywords of a language
constexpr std::ptrdiff_t kMaxOptionalInList = 2;
constexpr std::size_t kChunk = 1000;  // characters of a terminal, where a literal is too long for one
constexpr Bounds kOptional{0, 1};

// Right-hand sides in one array.
struct Alternatives {
    OptionalSymbols symbols;
    std::vector<std::size_t> ends;

    std::size_t size() const { return ends.size(); }
    std::span<const OptionalSymbol> operator[](std::size_t i) const {
        const std::size_t begin = i > 0 ? ends[i - 1] : 0;
        return std::span(symbols).subspan(begin, ends[i] - begin);
    }
    // Ends the current one.
    void end() { ends.push_back(symbols.size()); }
    // Adds one of one symbol.
    void add(DraftSymbol symbol) {
        symbols.push_back({symbol, false});
        end();
    }
};

// Storage for one call, reused by later calls.
class Borrowed {
public:
    explicit Borrowed(std::vector<Alternatives>& spare) : spare_(spare) {
        if (spare.empty()) return;
        own_ = std::move(spare.back());
        spare.pop_back();
        own_.symbols.clear();
        own_.ends.clear();
    }
    ~Borrowed() { spare_.push_back(std::move(own_)); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    Alternatives& operator*() const { return own_; }
    Alternatives* operator->() const { return &own_; }

private:
    std::vector<Alternatives>& spare_;
    mutable Alternatives own_;
};

class Lowering {
public:
    explicit Lowering(GrammarAnalysis& analysis) : analysis_(analysis), graph_(analysis.graph), repetition_(productions_) {}

    // Lowers the root, then every rule when it is first referred to.
    LoweredRules run(Rule root, std::span<const FreeOrderRules> free_orders) {
        nonterminals_.resize(analysis_.names().size(), -1);
        for (Rule rule : analysis_.rules()) productions_.reserve(analysis_.name(rule));
        const Nonterminal start = nonterminal(root);
        for (std::size_t i = 0; i < queue_.size(); ++i) {
            rule_ = queue_[i];
            const auto inlined = analysis_.inlined(rule_);
            const Borrowed all(spare_);
            add_alternatives(inlined ? *inlined : analysis_.body(rule_), *all);
            add_productions({nonterminals_[rule_.index()]}, *all);
        }
        NormalForm normal =
            normal_form(productions_, static_cast<Word>(terminals_.size()), start, analysis_.nullable(analysis_.body(root)));
        LoweredRules out;
        if (normal.dead) {
            out.refusal = Refusal{{}, names(normal.dead->way).strings(), normal.dead->circle};
        } else {
            out.productions = std::move(normal.grammar);
            out.nonterminals = names(normal.draft);
            // A nonterminal stands for nonempty texts. If it derives none, the rule may still be empty.
            for (Nonterminal n : normal.unfinished) {
                const Maybe<Rule> rule = n.index() < rules_.size() ? rules_[n.index()] : Maybe<Rule>();
                if (rule && !analysis_.nullable(analysis_.body(*rule))) out.left_out.push_back(*rule);
            }
            add_free_orders(free_orders, normal.draft, out.free_orders);
            out.rules = analysis_.names();
            out.terminals = std::move(terminals_);
            without_unused_terminals(out);
        }
        out.graph = std::move(graph_);
        return out;
    }

private:
    TextList names(std::span<const Nonterminal> all) const {
        TextList out;
        for (Nonterminal n : all) out.push_back(productions_.name(n));
        return out;
    }

    // The symbols of rules of members in any order, without those that no text needs.
    void add_free_orders(std::span<const FreeOrderRules> all, std::span<const Nonterminal> draft,
                         std::vector<FreeOrderSymbols>& out) const {
        if (all.empty()) return;
        std::vector<Maybe<Nonterminal>> number(static_cast<std::size_t>(productions_.size()));
        for (std::size_t n = 0; n < draft.size(); ++n) number[draft[n].index()] = Nonterminal{static_cast<Word>(n)};
        const auto of = [&](Rule rule) {
            const Word in_draft = nonterminals_[rule.index()];
            return in_draft < 0 ? Maybe<Nonterminal>() : number[static_cast<std::size_t>(in_draft)];
        };
        for (const FreeOrderRules& rules : all) {
            const auto ready = of(rules.ready), done = of(rules.done);
            if (!ready || !done) continue;
            std::vector<FreeOrderSymbols::Way> ways;
            std::vector<MemberWay> available;
            for (const auto& way : rules.ways)
                if (const auto nonterminal = of(way.rule)) {
                    ways.push_back({*nonterminal, way.is});
                    available.push_back(way.is);
                }
            out.push_back({rules.done, *ready, *done, std::move(ways), FreeOrder(rules.terms, available)});
            out.back().order.check();
        }
    }

    Nonterminal nonterminal(Rule rule) {
        Word& number = nonterminals_[rule.index()];
        if (number < 0) {
            number = productions_.named(analysis_.name(rule)).v;
            rules_.resize(static_cast<std::size_t>(number) + 1);
            rules_[static_cast<std::size_t>(number)] = rule;
            queue_.push_back(rule);
        }
        return {number};
    }

    std::string_view name() const { return analysis_.name(rule_); }
    DraftSymbol fresh() { return DraftSymbol::of(productions_.fresh(name())); }
    Parts parts(Expression node) const { return {graph_.parts(node).begin(), graph_.parts(node).end()}; }

    // Adds what the node derives, but for the empty text.
    void add_alternatives(Expression node, Alternatives& to) {
        stop_if_cancelled();
        if (node == graph_.empty() || node == graph_.nothing()) return;
        const Kind kind = graph_.kind(node);
        if (kind == Kind::reference) return to.add(rule_symbol(graph_.rule(node)));
        if (analysis_.is_terminal(node)) return to.add(terminal(node));
        switch (kind) {
            case Kind::text:
                add_chunks(node, to.symbols);
                return to.end();
            case Kind::choice:
                for (Expression option : with_words_joined(node)) add_alternatives(option, to);
                return;
            case Kind::sequence:
                add_row(node, to.symbols);
                return to.end();
            case Kind::automaton:
            case Kind::counted:
                throw LimitExceeded("rule " + std::string(name()) + ": the automaton has " +
                                    std::to_string(graph_.arcs(node).size() / 4) + " arcs; the limit is " +
                                    std::to_string(GrammarAnalysis::kMaxAutomatonArcs));
            default:
                if (graph_.bounds(node) == kOptional) return add_alternatives(graph_.parts(node)[0], to);
                add_repeated(node, to.symbols);
                return to.end();
        }
    }

    void add_chunks(Expression text, OptionalSymbols& to) {
        const std::vector<Word> all(graph_.characters(text).begin(), graph_.characters(text).end());
        for (std::size_t i = 0; i < all.size(); i += kChunk) {
            const auto piece = std::span(all).subspan(i, std::min(kChunk, all.size() - i));
            to.push_back({terminal(graph_.text(piece)), false});
        }
    }

    DraftSymbol rule_symbol(Rule rule) {
        const auto node = analysis_.inlined(rule);
        if (!node || *node == graph_.empty() || *node == graph_.nothing()) return DraftSymbol::of(nonterminal(rule));
        return terminal(*node, rule);
    }

    // The options of a choice; many literals are one.
    Parts with_words_joined(Expression choice) {
        const auto is_word = [&](Expression o) {
            return graph_.kind(o) == Kind::text && graph_.positions(o) <= static_cast<std::int64_t>(kChunk);
        };
        const Parts options = parts(choice);
        if (static_cast<std::size_t>(std::count_if(options.begin(), options.end(), is_word)) < kManyLiterals) return options;
        Parts words, joined;
        for (Expression o : options) (is_word(o) ? words : joined).push_back(o);
        for (std::size_t begin = 0, end = 0; begin < words.size(); begin = end) {
            std::int64_t size = 0;
            while (end < words.size() && size + graph_.positions(words[end]) <= analysis_.limits().literals)
                size += graph_.positions(words[end++]);
            if (end == begin) ++end;  // a word that is longer than the limit stands alone
            joined.push_back(graph_.choice(std::span(words).subspan(begin, end - begin)));
        }
        return joined;
    }

    // The items of a sequence. Neighbours that are written out are one terminal where that fits; named rules stay apart.
    void add_row(Expression sequence, OptionalSymbols& to) {
        Parts run;
        const auto end_run = [&] {
            if (!run.empty()) join(run, to);
            run.clear();
        };
        for (std::size_t i = 0; i < graph_.parts(sequence).size(); ++i) {
            const Expression part = graph_.parts(sequence)[i];
            if (analysis_.is_terminal(part)) {
                run.push_back(part);
                continue;
            }
            end_run();
            if (graph_.kind(part) == Kind::repeat && graph_.bounds(part) != kOptional) {
                add_repeated(part, to);
            } else {
                const DraftSymbol s = symbol(part);
                to.push_back({s, analysis_.nullable(part)});
            }
        }
        end_run();
    }

    void join(std::span<const Expression> run, OptionalSymbols& to) {
        const Expression node = run.size() > 1 ? graph_.sequence(run) : run[0];
        if (analysis_.is_terminal(node)) {
            const DraftSymbol s = terminal(node);
            to.push_back({s, graph_.nullable(node)});
            return;
        }
        join(run.first(run.size() / 2), to);
        join(run.subspan(run.size() / 2), to);
    }

    void add_repeated(Expression node, OptionalSymbols& to) {
        const Expression body = graph_.parts(node)[0];
        Bounds b = graph_.bounds(node);
        if (analysis_.nullable(body)) b.least = 0;  // fewer of it that are not empty make up any number of it
        if (b.open() && b.least <= 1) {
            const DraftSymbol all = list(body);
            to.push_back({all, b.least == 0});
            return;
        }
        const OptionalSymbols symbols = repetition_.symbols(symbol(body), b, name());
        to.insert(to.end(), symbols.begin(), symbols.end());
    }

    // One or more of a node. Short bodies are written into the list, which saves the parser a reduction for each.
    DraftSymbol list(Expression body) {
        if (const auto cached = lists_.find(body.v); cached != lists_.end()) return cached->second;
        const Borrowed all(spare_);
        if (graph_.kind(body) == Kind::sequence) add_alternatives(body, *all);
        const auto is_optional = [](const OptionalSymbol& item) { return item.optional; };
        DraftSymbol made{};
        if (all->size() != 1 || std::count_if(all->symbols.begin(), all->symbols.end(), is_optional) > kMaxOptionalInList) {
            const DraftSymbol one = symbol(body);
            made = repetition_.list_of(one, name());
        } else {
            made = fresh();
            productions_.add(made.nonterminal(), all->symbols);
            all->symbols.insert(all->symbols.begin(), {made, false});
            productions_.add(made.nonterminal(), all->symbols);
        }
        lists_.emplace(body.v, made);
        return made;
    }

    // A symbol that derives what the node does, but for the empty text.
    DraftSymbol symbol(Expression node) {
        if (const auto cached = symbols_.find(node.v); cached != symbols_.end()) return cached->second;
        const Borrowed all(spare_);
        add_alternatives(node, *all);
        DraftSymbol made{};
        if (all->size() == 1 && all->symbols.size() == 1) {
            made = all->symbols[0].symbol;
        } else {
            made = fresh();
            add_productions(made.nonterminal(), *all);
        }
        symbols_.emplace(node.v, made);
        return made;
    }

    void add_productions(Nonterminal lhs, const Alternatives& all) {
        for (std::size_t i = 0; i < all.size(); ++i) productions_.add(lhs, all[i]);
    }

    DraftSymbol terminal(Expression node, std::optional<Rule> named = {}) {
        node = graph_.nonempty(node);
        if (number_of_.size() <= node.index()) number_of_.resize(static_cast<std::size_t>(graph_.size()), -1);
        Word& number = number_of_[node.index()];
        if (number < 0) {
            number = static_cast<Word>(terminals_.size());
            terminals_.push_back({node, named, named.value_or(rule_), {}});
        }
        return DraftSymbol::of(Terminal{number});
    }

    static void without_unused_terminals(LoweredRules& lowered) {
        Productions& g = lowered.productions;
        std::vector<char> used(lowered.terminals.size());
        for (const auto& rhs : g.rhs)
            for (Symbol s : rhs)
                if (s.is_terminal(g.n_terminals)) used[s.terminal().index()] = 1;
        Word kept = 0;
        for (std::size_t t = 0; t < used.size(); ++t)
            if (used[t]) lowered.terminals[t].number = Terminal{kept++};
        const Word before = std::exchange(g.n_terminals, kept + 1);
        for (auto& rhs : g.rhs)
            for (Symbol& s : rhs)
                s = s.is_terminal(before) ? Symbol::of(*lowered.terminals[s.terminal().index()].number)
                                          : Symbol::of(s.nonterminal(before), g.n_terminals);
    }

    GrammarAnalysis& analysis_;
    ExpressionGraph& graph_;
    DraftProductions productions_;
    Repetition repetition_;
    std::vector<LoweredTerminal> terminals_;
    std::vector<Word> number_of_;     // per expression, its terminal, or -1
    std::vector<Word> nonterminals_;  // per rule, or -1
    std::vector<Maybe<Rule>> rules_;  // per nonterminal, its rule
    std::vector<Rule> queue_;
    std::unordered_map<Word, DraftSymbol> symbols_, lists_;  // per expression
    std::vector<Alternatives> spare_;
    Rule rule_{};  // the one being lowered
};

}  // namespace

// The rules with some that derive nothing.
static RulePrograms without_options(const RulePrograms& rules, const std::unordered_set<Word>& dead) {
    RulePrograms out = rules;
    out.words.clear();
    out.offsets = {0};
    for (Word r = 0; r < rules.n_defined(); ++r) {
        const auto words = rules.of({r});
        if (dead.contains(r))
            out.words.insert(out.words.end(), {RulePrograms::choice, 0});
        else
            out.words.insert(out.words.end(), words.begin(), words.end());
        out.offsets.push_back(static_cast<std::int64_t>(out.words.size()));
    }
    return out;
}

static LoweredRules lower_once(const RulePrograms& rules, const TerminalLimits& limits) {
    GrammarAnalysis analysis(rules, limits);
    if (const auto rule = analysis.undefined()) {
        LoweredRules out;
        out.refusal = Refusal{std::string(analysis.name(*rule)), {}, {}};
        return out;
    }
    std::unordered_map<Word, LoweredRules::Label> labels;
    for (std::size_t a = 0; a < rules.labelled.size(); ++a)
        for (const auto& some : rules.labelled[a].matches)
            for (Rule rule : some)
                if (const auto node = analysis.inlined_if_needed(rule)) labels.emplace(node.v, LoweredRules::Label{a, rule});
    LoweredRules out = Lowering(analysis).run(rules.root, rules.free_orders);
    out.labelled = rules.labelled;
    for (const LoweredTerminal& t : out.terminals) {
        const auto label = labels.find(t.expression.v);
        out.labels.push_back(label == labels.end() ? std::nullopt : std::optional(label->second));
    }
    return out;
}

// The rules `done` of members in any order that can never be enough, since a needed member has no text; the productions do not show
// that. Whether members have texts depends on each other, so the search for texts goes bottom up.
static std::unordered_set<Word> never_done(const LoweredRules& lowered) {
    const Productions& g = lowered.productions;
    std::vector<char> finished(static_cast<std::size_t>(g.n_nonterminals));
    std::unordered_map<Word, const FreeOrderSymbols*> of_done;
    for (const FreeOrderSymbols& symbols : lowered.free_orders) of_done.emplace(symbols.done.v, &symbols);
    const auto has_text = [&](Symbol s) { return s.is_terminal(g.n_terminals) || finished[s.nonterminal(g.n_terminals).index()]; };
    for (bool changed = true; changed;) {
        stop_if_cancelled();
        changed = false;
        const auto finish = [&](Nonterminal n) { changed |= !std::exchange(finished[n.index()], 1); };
        for (std::size_t p = 0; p < g.lhs.size(); ++p)
            if (!finished[g.lhs[p].index()] && !of_done.contains(g.lhs[p].v) &&
                std::all_of(g.rhs[p].begin(), g.rhs[p].end(), has_text))
                finish(g.lhs[p]);
        for (const FreeOrderSymbols& symbols : lowered.free_orders) {
            if (finished[symbols.done.index()]) continue;
            std::vector<MemberWay> available;
            for (const auto& way : symbols.ways)
                if (finished[way.nonterminal.index()]) available.push_back(way.is);
            const FreeOrder order(symbols.order.terms(), available);
            const auto next = order.next(order.none());
            if (std::any_of(next.begin(), next.end(), [](char may) { return may != 0; })) finish(symbols.done);
        }
    }
    std::unordered_set<Word> never;
    for (const FreeOrderSymbols& symbols : lowered.free_orders)
        if (!finished[symbols.done.index()]) never.insert(symbols.rule.v);
    return never;
}

LoweredRules lower(const RulePrograms& rules, const TerminalLimits& limits) {
    LoweredRules out = lower_once(rules, limits);
    RulePrograms fewer;
    while (!out.refusal && !out.free_orders.empty()) {
        const auto dead = never_done(out);
        if (dead.empty()) break;
        fewer = without_options(fewer.offsets.empty() ? rules : fewer, dead);
        out = lower_once(fewer, limits);
    }
    return out;
}

LalrTables lalr_tables_of(const LoweredRules& lowered) {
    LalrTables lr = build_lalr(lowered.productions, ConflictPolicy::keep_all);
    if (!lowered.free_orders.empty()) lr.tables.set_free_order(std::make_shared<FreeOrderStates>(lr.tables, lowered.free_orders));
    return lr;
}

TerminalPrograms LoweredRules::programs() const {
    TerminalPrograms programs;
    std::vector<std::unordered_map<Word, Terminal>> of_label(labelled.size());  // per automaton
    for (std::size_t t = 0; t < terminals.size(); ++t)
        if (terminals[t].number && labels[t]) of_label[labels[t]->automaton].emplace(labels[t]->rule.v, *terminals[t].number);
    std::vector<char> written(labelled.size());
    for (std::size_t t = 0; t < terminals.size(); ++t) {
        if (!terminals[t].number) continue;
        if (!labels[t] || (of_label[labels[t]->automaton].size() < 2 && !labelled[labels[t]->automaton].decides)) {
            programs.add(graph, terminals[t].expression);
            continue;
        }
        const std::size_t a = labels[t]->automaton;
        if (std::exchange(written[a], 1))
            programs.add_elsewhere();
        else
            programs.add_labelled(labelled[a], of_label[a]);
    }
    return programs;
}

}  // namespace psc
