#include "rules/linear_rules.hpp"

#include <algorithm>
#include <vector>

namespace psc {

namespace {

using Options = std::vector<Expression>;

struct Split {
    Options before, after;  // what stands before the name, and after it
    Options base;           // the alternatives without it
};

class Splitter {
public:
    Splitter(ExpressionGraph& graph, Rule rule) : graph_(graph), rule_(rule) {}

    std::optional<Split> split(Expression node) {
        using Kind = ExpressionGraph::Kind;
        if (!graph_.refers_to(node, rule_)) return Split{{}, {}, {node}};
        const Options parts(graph_.parts(node).begin(), graph_.parts(node).end());
        switch (graph_.kind(node)) {
            case Kind::reference:
                return Split{{graph_.empty()}, {}, {}};
            case Kind::repeat: {
                if (graph_.bounds(node) != Bounds{0, 1}) return {};
                auto inner = split(parts[0]);
                if (inner) inner->base.push_back(graph_.empty());
                return inner;
            }
            case Kind::choice:
                return choice(parts);
            default:
                return sequence(parts);
        }
    }

private:
    std::optional<Split> choice(const Options& options) {
        Split all;
        for (Expression option : options) {
            const auto one = split(option);
            if (!one) return {};
            all.before.insert(all.before.end(), one->before.begin(), one->before.end());
            all.after.insert(all.after.end(), one->after.begin(), one->after.end());
            all.base.insert(all.base.end(), one->base.begin(), one->base.end());
        }
        return all;
    }

    std::optional<Split> sequence(const Options& parts) {
        const auto refers = [&](Expression p) { return graph_.refers_to(p, rule_); };
        if (std::none_of(parts.begin(), parts.end() - 1, refers)) {
            const Options rest(parts.begin(), parts.end() - 1);
            const auto last = split(parts.back());
            if (!last || !last->after.empty()) return {};
            Split found;
            found.before = around(rest, last->before, {});
            found.base = around(rest, last->base, {});
            return found;
        }
        if (std::none_of(parts.begin() + 1, parts.end(), refers)) {
            const Options rest(parts.begin() + 1, parts.end());
            const auto first = split(parts.front());
            // What is X alone on the left was counted as standing at an end: here it stands at the beginning.
            const auto is_more = [&](Expression p) { return p != graph_.empty(); };
            if (!first || std::any_of(first->before.begin(), first->before.end(), is_more)) return {};
            Options after = first->after;
            after.insert(after.end(), first->before.begin(), first->before.end());
            Split found;
            found.after = around({}, after, rest);
            found.base = around({}, first->base, rest);
            return found;
        }
        return {};
    }

    Options around(const Options& left, const Options& options, const Options& right) {
        if (options.empty()) return {};
        Options row = left;
        row.push_back(graph_.choice(options));
        row.insert(row.end(), right.begin(), right.end());
        return {graph_.sequence(row)};
    }

    ExpressionGraph& graph_;
    Rule rule_;
};

}  // namespace

std::optional<Expression> without_self_reference(ExpressionGraph& graph, Rule rule, Expression body, Recursion recursion) {
    const auto split = Splitter(graph, rule).split(body);
    if (!split || split->base.empty() || (recursion == Recursion::at_the_end && split->before.empty())) return {};
    const Bounds any{0, Bounds::kOpen};
    const Expression row[] = {graph.repeat(graph.choice(split->before), any), graph.choice(split->base),
                              graph.repeat(graph.choice(split->after), any)};
    return graph.sequence(row);
}

}  // namespace psc
