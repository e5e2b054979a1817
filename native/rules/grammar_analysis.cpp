#include "rules/grammar_analysis.hpp"

#include <algorithm>

#include "base/cancellation.hpp"
#include "base/components.hpp"
#include "base/limits.hpp"
#include "rules/determinism.hpp"
#include "rules/linear_rules.hpp"

namespace psc {

namespace {

using Kind = ExpressionGraph::Kind;

constexpr Word kMaxNodes = limit("rule_nodes");
constexpr std::size_t kMaxExpanded = limit("expanded_rule_nodes");
constexpr Word kMaxNesting = 24;  // expressions nested deeper are cut into rules
constexpr Word kMaxTerminalDepth = 48;

}  // namespace

GrammarAnalysis::GrammarAnalysis(const RulePrograms& programs, const TerminalLimits& limits)
    : programs_(programs), limits_(limits), names_(programs.names) {
    const std::size_t n = names_.size();
    cuts_.resize(n);
    bodies_.resize(n);
    alone_.resize(n);
    for (const LabelledAutomaton& automaton : programs.labelled)
        if (automaton.decides)
            for (const auto& rules : automaton.matches)
                for (const Rule rule : rules) alone_[rule.index()] = 1;
    add_rules();
    if (undefined_) return;
    inlined_.resize(names_.size());
    empty_rules_.resize(names_.size());
    stays_.resize(names_.size());
    for (const FreeOrderRules& order : programs.free_orders) {
        for (Rule rule : {order.ready, order.done}) stays_[rule.index()] = 1;
        for (const auto& way : order.ways) stays_[way.rule.index()] = 1;
    }
    decide();
}

void GrammarAnalysis::add_rules() {
    to_read_.push_back(programs_.root);
    for (std::size_t i = 0; i < to_read_.size(); ++i) {
        const Rule rule = to_read_[i];
        if (bodies_[rule.index()]) continue;
        if (rule.v >= programs_.n_defined()) {
            undefined_ = rule;
            return;
        }
        Expression node = read(rule);
        if (graph.refers_to(node, rule)) node = without_self_reference(graph, rule, node, Recursion::at_the_end).value_or(node);
        bodies_[rule.index()] = node;
        rules_.push_back(rule);
        for (Word r : graph.rules(node)) to_read_.push_back({r});
        if (graph.size() > kMaxNodes)
            throw LimitExceeded("the rules have more than " + readable(kMaxNodes) +
                                " different parts, which is the limit; make the grammar smaller");
    }
}

Expression GrammarAnalysis::read(Rule rule) {
    const auto program = programs_.of(rule);
    std::vector<Expression>& stack = stack_;
    std::vector<Word>& words = words_;
    stack.clear();
    std::size_t at = 0;
    const auto take_words = [&](std::size_t n) {
        words.assign(program.begin() + static_cast<std::ptrdiff_t>(at), program.begin() + static_cast<std::ptrdiff_t>(at + n));
        at += n;
    };
    const auto made_of = [&](std::size_t n, auto make) {
        const Expression node = make(std::span<const Expression>(stack).last(n));
        stack.resize(stack.size() - n);
        stack.push_back(graph.depth(node) <= kMaxNesting ? node : cut(rule, node));
    };
    try {
        while (at < program.size()) {
            stop_if_cancelled();
            const auto code = program[at];
            const auto n = static_cast<std::size_t>(program[at + 1]);
            at += 2;
            switch (code) {
                case RulePrograms::text:
                    take_words(n);
                    stack.push_back(graph.text(words));
                    break;
                case RulePrograms::chars:
                    take_words(2 * n);
                    stack.push_back(graph.chars(words));
                    break;
                case RulePrograms::sequence:
                    made_of(n, [&](auto parts) { return graph.sequence(parts); });
                    break;
                case RulePrograms::choice:
                    made_of(n, [&](auto parts) { return graph.choice(parts); });
                    break;
                case RulePrograms::repeat: {
                    const Bounds bounds{program[at - 1], program[at]};
                    ++at;
                    made_of(1, [&](auto parts) { return graph.repeat(parts[0], bounds); });
                    break;
                }
                case RulePrograms::automaton: {
                    const auto arcs = static_cast<std::size_t>(program[at++]);
                    take_words(n + 4 * arcs);
                    if (alone_[rule.index()]) {  // a state that is not reached keeps the node apart from all equal ones
                        words.insert(words.begin() + static_cast<std::ptrdiff_t>(n), 0);
                        words.insert(words.end(), {static_cast<Word>(n), rule.v, rule.v, static_cast<Word>(n)});
                        stack.push_back(graph.automaton(std::span(words).first(n + 1), std::span(words).subspan(n + 1)));
                        break;
                    }
                    stack.push_back(graph.automaton(std::span(words).first(n), std::span(words).subspan(n)));
                    break;
                }
                case RulePrograms::counted: {
                    const auto arcs = static_cast<std::size_t>(program[at]);
                    const Bounds bounds{program[at + 1], program[at + 2]};
                    at += 3;
                    take_words(n + 4 * arcs);
                    stack.push_back(graph.counted(bounds, std::span(words).first(n), std::span(words).subspan(n)));
                    break;
                }
                default:
                    stack.push_back(graph.reference({static_cast<Word>(n)}));
            }
        }
    } catch (const LimitExceeded& e) {
        throw LimitExceeded("rule " + std::string(name(rule)) + ": " + e.what());
    }
    return stack.back();
}

Expression GrammarAnalysis::cut(Rule rule, Expression node) {
    if (!taken_) {
        taken_.emplace();
        for (Word r = 0; r < programs_.n_defined(); ++r) taken_->add(name({r}), 0);
    }
    Word number = cuts_[rule.index()];
    const std::string prefix = std::string(name(rule)) + "_";
    std::string name;
    do name = prefix + std::to_string(++number);
    while (taken_->contains(name));
    cuts_[rule.index()] = number;
    const Rule made{static_cast<Word>(names_.size())};
    taken_->add(name, 0);
    names_.push_back(name);
    cuts_.push_back(0);
    bodies_.push_back(node);
    rules_.push_back(made);
    for (Word r : graph.rules(node)) to_read_.push_back({r});
    return graph.reference(made);
}

bool GrammarAnalysis::nullable(Expression node) {
    if (graph.nullable(node) || !graph.refers(node)) return graph.nullable(node);
    stop_if_cancelled();
    const Kind kind = graph.kind(node);
    if (kind == Kind::reference) return empty_rules_[graph.rule(node).index()];
    if (nullable_.size() < static_cast<std::size_t>(graph.size())) nullable_.resize(graph.size());
    if (const Word cached = nullable_[node.index()]; cached == kNullable || cached == n_empty_) return cached == kNullable;
    const auto parts = graph.parts(node);
    const auto is_nullable = [&](Expression p) { return nullable(p); };
    const bool found = kind == Kind::sequence ? std::all_of(parts.begin(), parts.end(), is_nullable)
                                              : std::any_of(parts.begin(), parts.end(), is_nullable);
    nullable_[node.index()] = found ? kNullable : n_empty_;
    return found;
}

bool GrammarAnalysis::is_terminal(Expression node, std::size_t limit) {
    if (graph.refers(node)) return false;
    auto& answers = terminal_[limit];
    if (answers.size() < static_cast<std::size_t>(graph.size())) answers.resize(graph.size(), Answer::unknown);
    if (answers[node.index()] == Answer::unknown) {
        const bool found = fits(node, limit == 0 ? limits_.size : limits_.named_size);
        answers[node.index()] = found ? Answer::yes : Answer::no;
        return found;
    }
    return answers[node.index()] == Answer::yes;
}

bool GrammarAnalysis::fits(Expression node, std::int64_t limit) {
    if (node == graph.empty() || node == graph.nothing() || graph.counted(node) > limits_.counted ||
        graph.depth(node) > kMaxTerminalDepth)
        return false;
    if (graph.nullable(node)) {
        if (!graph.separable(node)) return false;
        node = graph.nonempty(node);
    }
    if (graph.kind(node) == Kind::automaton) return graph.positions(node) <= kMaxAutomatonArcs;
    if (graph.kind(node) == Kind::counted) return static_cast<std::int64_t>(graph.arcs(node).size() / 4) <= kMaxAutomatonArcs;
    if (is_plain(graph, node)) return graph.positions(node) <= limits_.literals;
    return graph.positions(node) <= limit && determinism_.stays_small(node);
}

void GrammarAnalysis::decide() {
    const auto order = words_of(std::span<const Rule>(rules_));
    const auto groups = components(static_cast<Word>(names_.size()), order, [&](Word r) { return graph.rules(body({r})); });
    for (const auto& group : groups) {
        if (group.size() == 1) make_inline({group[0]});
        bool changed = true;
        while (changed) {
            changed = false;
            for (Word r : group)
                if (!empty_rules_[static_cast<std::size_t>(r)] && nullable(body({r}))) {
                    empty_rules_[static_cast<std::size_t>(r)] = 1;
                    ++n_empty_;
                    changed = true;
                }
        }
    }
}

void GrammarAnalysis::make_inline(Rule rule) {
    if (stays_[rule.index()]) return;
    Expression body = this->body(rule);
    if (graph.refers_to(body, rule)) {
        // A left-recursive rule is rewritten only if that makes it a terminal.
        const auto rewritten = without_self_reference(graph, rule, body, Recursion::at_either_end);
        if (!rewritten) return;
        body = *rewritten;
    }
    const auto node = expanded(body);
    if (!node) return;
    if (*node == graph.empty() || *node == graph.nothing()) {
        inlined_[rule.index()] = bodies_[rule.index()] = *node;
        return;
    }
    if (!is_terminal(*node, graph.refers(body) ? 1 : 0)) return;
    // Do not merge a rule of free text (a string's inside) into a larger terminal, except for its quotes: almost every token
    // continues inside such text, so each copy of its states costs a walk over the whole vocabulary.
    std::int64_t most_free = -1;
    for (Word r : graph.rules(body)) {
        const Expression part = *inlined_[static_cast<std::size_t>(r)];
        if (graph.is_free(part)) most_free = std::max(most_free, graph.positions(part));
    }
    if (most_free >= 0 && graph.positions(*node) - most_free > limits_.around_free_text) return;
    inlined_[rule.index()] = *node;
    bodies_[rule.index()] = body;
}

// The node with references replaced by their rules; none where one of these is no terminal.
std::optional<Expression> GrammarAnalysis::expanded(Expression node) {
    if (!graph.refers(node)) return node;
    if (graph.kind(node) == Kind::reference) {
        const Rule of = graph.rule(node);
        if (of.index() < alone_.size() && alone_[of.index()]) return std::nullopt;
        const Maybe<Expression> rule = inlined_[of.index()];
        return rule ? std::optional(*rule) : std::nullopt;
    }
    if (const auto cached = expanded_.find(node.v); cached != expanded_.end()) return cached->second;
    std::vector<Expression> found;
    stop_if_cancelled();
    found.reserve(graph.parts(node).size());
    for (std::size_t i = 0; i < graph.parts(node).size(); ++i) {
        const auto part = expanded(graph.parts(node)[i]);
        if (!part) return expanded_[node.v] = std::nullopt;
        found.push_back(*part);
    }
    const Expression whole = graph.rebuild(node, found);
    n_expanded_ += graph.parts(whole).size();
    if (n_expanded_ > kMaxExpanded)
        throw LimitExceeded("with rules put where they are referred to, the alternatives have more than " + readable(kMaxExpanded) +
                            " parts, which is the limit; write "
                            "rules "
                            "that are only alternatives of each other as one");
    return expanded_[node.v] = whole;
}

}  // namespace psc
