#include "rules/expression_graph.hpp"

#include <algorithm>
#include <utility>

#include "base/limits.hpp"
#include "base/sorted.hpp"

namespace psc {

namespace {

constexpr std::int64_t kSaturated = std::int64_t{1} << 40;
constexpr std::int64_t kOnlyAlone = std::int64_t{1} << 32;  // positions that no terminal of several parts may have
constexpr std::size_t kMaxNullableParts = 16;
constexpr std::int64_t kLargeClass = 128;

using Wide = __int128;

std::int64_t saturated(Wide count, std::int64_t max) { return static_cast<std::int64_t>(std::min<Wide>(count, max)); }

bool is_counting(Bounds b) { return b != Bounds{0, Bounds::kOpen} && b != Bounds{1, Bounds::kOpen} && b != Bounds{0, 1}; }

}  // namespace

ExpressionGraph::ExpressionGraph() {
    rule_sets_.intern({});
    const Word text[] = {static_cast<Word>(Kind::text)}, choice[] = {static_cast<Word>(Kind::choice)};
    node(text);
    node(choice);
}

std::span<const Expression> ExpressionGraph::parts(Expression node) const {
    const auto key = keys_[node.v];
    switch (kind(node)) {
        case Kind::sequence:
        case Kind::choice:
            return ids_of<Expression>(key.subspan(1));
        case Kind::repeat:
            return ids_of<Expression>(key.subspan(5));
        default:
            return {};
    }
}

Bounds ExpressionGraph::bounds(Expression repeat) const {
    const auto key = keys_[repeat.v];
    const auto number = [&](std::size_t at) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(key[at])) << 32 |
                                         static_cast<std::uint32_t>(key[at + 1]));
    };
    return {number(1), number(3)};
}

bool ExpressionGraph::refers_to(Expression node, Rule rule) const {
    const auto all = rules(node);
    return std::binary_search(all.begin(), all.end(), rule.v);
}

Expression ExpressionGraph::node(std::span<const Word> key) {
    const auto [id, fresh] = keys_.intern(key);
    if (fresh) facts_.push_back(facts({id}));
    return {id};
}

ExpressionGraph::Facts ExpressionGraph::facts(Expression node) {
    Facts f;
    const Kind k = kind(node);
    if (k == Kind::text) {
        f.positions = static_cast<std::int64_t>(characters(node).size());
        f.nullable = f.positions == 0;
        return f;
    }
    if (k == Kind::chars) {
        std::int64_t count = 0;
        const auto all = ranges(node);
        for (std::size_t i = 0; i < all.size(); i += 2) count += all[i + 1] - all[i] + 1;
        f.positions = 1;
        f.large_class = count >= kLargeClass;
        return f;
    }
    if (k == Kind::reference) {
        const Word rule[] = {this->rule(node).v};
        f.positions = 1;
        f.rules = rule_sets_.intern(rule).first;
        return f;
    }
    if (k == Kind::automaton || k == Kind::counted) {
        const auto all = arcs(node);
        f.positions = static_cast<std::int64_t>(all.size() / 4);
        f.nullable = (accepts(node)[0] & 1) != 0;
        if (k == Kind::counted) {
            f.nullable &= bounds_of_length(node).least == 0;
            f.positions += kOnlyAlone;
        }
        for (std::size_t i = 0; i < all.size(); i += 4)
            f.large_class |= f.free |= all[i] == all[i + 3] && all[i + 2] - all[i + 1] >= kLargeClass;
        return f;
    }
    const auto within = parts(node);
    f.depth = 0;
    f.nullable = k == Kind::sequence;
    f.separable = k != Kind::sequence || within.size() <= kMaxNullableParts;
    Wide positions = 0;
    for (Expression p : within) {
        const Facts& of = facts_[p.v];
        positions += of.positions;
        f.counted = std::max(f.counted, of.counted);
        f.free |= of.free;
        f.large_class |= of.large_class;
        f.depth = std::max(f.depth, of.depth);
        f.nullable = k == Kind::sequence ? f.nullable && of.nullable : f.nullable || of.nullable;
        f.separable &= of.separable;
    }
    ++f.depth;
    if (k == Kind::repeat) {
        const Bounds b = bounds(node);
        positions *= b.open() ? std::max<std::int64_t>(b.least, 1) : b.most;
        f.nullable |= b.least == 0;
        f.free |= f.large_class && b.open();
        if (is_counting(b)) f.counted = saturated(positions, kSaturated);
    }
    f.positions = saturated(positions, kSaturated);
    f.separable |= !f.nullable;
    f.rules = union_of_rules(within);
    return f;
}

Word ExpressionGraph::union_of_rules(std::span<const Expression> parts) {
    std::vector<Word>& all = all_rules_;
    all.clear();
    Word only = 0;
    bool several = false;
    for (Expression p : parts) {
        const Word set = facts_[p.v].rules;
        if (set == 0 || set == only) continue;
        several |= only != 0;
        only = set;
        all.insert(all.end(), rule_sets_[set].begin(), rule_sets_[set].end());
    }
    if (!several) return only;
    sort_unique(all);
    return rule_sets_.intern(all).first;
}

Expression ExpressionGraph::text(std::span<const Word> characters) {
    key_.assign(1, static_cast<Word>(Kind::text));
    key_.insert(key_.end(), characters.begin(), characters.end());
    return node(key_);
}

Expression ExpressionGraph::chars(std::span<const Word> ranges) {
    if (ranges.empty()) return nothing();
    if (ranges.size() == 2 && ranges[0] == ranges[1]) return text(ranges.first(1));
    key_.assign(1, static_cast<Word>(Kind::chars));
    key_.insert(key_.end(), ranges.begin(), ranges.end());
    return node(key_);
}

Expression ExpressionGraph::reference(Rule rule) {
    const Word key[] = {static_cast<Word>(Kind::reference), rule.v};
    return node(key);
}

Expression ExpressionGraph::automaton(std::span<const Word> accepts, std::span<const Word> arcs) {
    if (arcs.empty()) return accepts[0] ? empty() : nothing();
    key_.assign({static_cast<Word>(Kind::automaton), static_cast<Word>(accepts.size())});
    key_.insert(key_.end(), accepts.begin(), accepts.end());
    key_.insert(key_.end(), arcs.begin(), arcs.end());
    return node(key_);
}

Expression ExpressionGraph::counted(Bounds bounds, std::span<const Word> flags, std::span<const Word> arcs) {
    if (arcs.empty()) return (flags[0] & 1) != 0 && bounds.least == 0 ? empty() : nothing();
    key_.assign({static_cast<Word>(Kind::counted), static_cast<Word>(flags.size()), static_cast<Word>(bounds.least),
                 static_cast<Word>(bounds.most)});
    key_.insert(key_.end(), flags.begin(), flags.end());
    key_.insert(key_.end(), arcs.begin(), arcs.end());
    return node(key_);
}

Expression ExpressionGraph::composite(Kind kind, std::span<const Expression> parts) {
    key_.assign(1, static_cast<Word>(kind));
    for (Expression p : parts) key_.push_back(p.v);
    return node(key_);
}

Expression ExpressionGraph::sequence(std::span<const Expression> parts) {
    // A join can make another sequence meanwhile, so take the shared storage.
    std::vector<Expression> flat = std::exchange(flat_, {});
    std::vector<Word> row = std::exchange(row_, {});  // texts in a row, made one at its end: one for each prefix is quadratic
    flat.clear();
    row.clear();
    const auto end_row = [&] {
        if (!row.empty()) flat.push_back(text(row));
        row.clear();
    };
    // Whether it can still match.
    const auto add = [&](Expression p) {
        if (p == nothing()) return false;
        if (p == empty()) return true;
        const bool is_text = kind(p) == Kind::text;
        if (!row.empty() && !is_text) end_row();
        if (row.empty() && !flat.empty() && join(flat.back(), p)) return true;
        if (!is_text) {
            flat.push_back(p);
            return true;
        }
        const auto written = characters(p);
        row.insert(row.end(), written.begin(), written.end());
        return true;
    };
    bool possible = true;
    for (std::size_t i = 0; i < parts.size() && possible; ++i) {
        if (kind(parts[i]) != Kind::sequence) {
            possible = add(parts[i]);
            continue;
        }
        for (std::size_t k = 0; k < this->parts(parts[i]).size() && possible; ++k) possible = add(this->parts(parts[i])[k]);
    }
    if (possible) end_row();
    const Expression made = !possible          ? nothing()
                            : flat.empty()     ? empty()
                            : flat.size() == 1 ? flat[0]
                                               : composite(Kind::sequence, flat);
    flat_ = std::move(flat);
    row_ = std::move(row);
    return made;
}

bool ExpressionGraph::join(Expression& left, Expression right) {
    const bool left_repeats = kind(left) == Kind::repeat, right_repeats = kind(right) == Kind::repeat;
    if (!left_repeats && !right_repeats) return false;
    const Expression body = left_repeats ? parts(left)[0] : left;
    if (body != (right_repeats ? parts(right)[0] : right)) return false;
    const Bounds a = left_repeats ? bounds(left) : Bounds{1, 1}, b = right_repeats ? bounds(right) : Bounds{1, 1};
    left = repeat(body, {a.least + b.least, a.open() || b.open() ? Bounds::kOpen : a.most + b.most});
    return true;
}

Expression ExpressionGraph::choice(std::span<const Expression> options) {
    std::vector<Expression> flat;
    std::vector<Word> characters;  // of all options that are one character: they become one class, where the first of them stood
    std::size_t position = 0;
    const Word mine = ++choices_;
    stamp_.resize(size());
    const auto add = [&](Expression o) {
        const bool is_text = kind(o) == Kind::text;
        if (kind(o) == Kind::chars || (is_text && positions(o) == 1)) {
            if (characters.empty()) {
                position = flat.size();
                flat.push_back(o);
            }
            const auto of = keys_[o.v].subspan(1);
            characters.insert(characters.end(), of.begin(), of.end());
            if (is_text) characters.push_back(of[0]);
        } else if (std::exchange(stamp_[o.v], mine) != mine) {
            flat.push_back(o);
        }
    };
    for (Expression option : options) {
        if (kind(option) == Kind::choice) {
            for (Expression o : parts(option)) add(o);
        } else {
            add(option);
        }
    }
    if (characters.size() > 2) flat[position] = chars(merged_ranges(characters));
    if (flat.size() < 2) return flat.empty() ? nothing() : flat[0];
    if (flat.size() == 2 && (flat[0] == empty() || flat[1] == empty())) return repeat(flat[flat[0] == empty()], {0, 1});
    return composite(Kind::choice, flat);
}

Expression ExpressionGraph::repeat(Expression body, Bounds b) {
    if (b == Bounds{1, 1}) return body;
    if (std::max(b.least, b.most) > kMaxCount)
        throw LimitExceeded("repetitions inside each other count above " + readable(kMaxCount) +
                            ", which is the limit; leave a bound open");
    if (b.most == 0 || body == empty()) return empty();
    if (body == nothing()) return b.least > 0 ? nothing() : empty();
    if (kind(body) == Kind::repeat) {
        const Bounds in = bounds(body);
        // Of k bodies, k * in.least to k * in.most are possible; no gap to those of k + 1 from k = b.least on.
        const bool seamless = b.least == b.most || in.open() || Wide(b.least) * in.most + 1 >= Wide(b.least + 1) * in.least;
        if (in.least == 0 || (seamless && !(in.open() && in.least > 1 && b.least == 0))) {
            const std::int64_t most = in.open() || b.open() ? Bounds::kOpen : saturated(Wide(in.most) * b.most, kMaxCount + 1);
            return repeat(parts(body)[0], {saturated(Wide(in.least) * b.least, kMaxCount + 1), most});
        }
    }
    if (nullable(body) && !refers(body) && separable(body)) return repeat(nonempty(body), {0, b.most});
    const auto high = [](std::int64_t n) { return static_cast<Word>(static_cast<std::uint64_t>(n) >> 32); };
    const auto low = [](std::int64_t n) { return static_cast<Word>(static_cast<std::uint64_t>(n) & 0xffffffff); };
    const Word key[] = {static_cast<Word>(Kind::repeat), high(b.least), low(b.least), high(b.most), low(b.most), body.v};
    return node(key);
}

Expression ExpressionGraph::rebuild(Expression node, std::span<const Expression> parts) {
    switch (kind(node)) {
        case Kind::sequence:
            return sequence(parts);
        case Kind::choice:
            return choice(parts);
        case Kind::repeat:
            return repeat(parts[0], bounds(node));
        default:
            return node;
    }
}

Expression ExpressionGraph::nonempty(Expression node) {
    if (!nullable(node)) return node;
    if (node == empty()) return nothing();
    rest_.resize(size(), -1);
    if (rest_[node.v] >= 0) return {rest_[node.v]};
    const std::vector<Expression> all(parts(node).begin(), parts(node).end());
    Expression made;
    if (kind(node) == Kind::automaton || kind(node) == Kind::counted) {
        made = without_empty(node);
    } else if (kind(node) == Kind::repeat) {
        const Bounds b = bounds(node);
        const std::int64_t least = nullable(all[0]) ? 1 : std::max<std::int64_t>(1, b.least);
        made = repeat(nonempty(all[0]), {least, b.most});
    } else {
        std::vector<Expression> options;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Expression first = nonempty(all[i]);
            if (kind(node) == Kind::choice) {
                options.push_back(first);
                continue;
            }
            std::vector<Expression> row{first};
            row.insert(row.end(), all.begin() + i + 1, all.end());
            options.push_back(sequence(row));
        }
        made = choice(options);
    }
    rest_.resize(size(), -1);
    return {rest_[node.v] = made.v};
}

// A new start, which does not accept, has the arcs of the old one.
Expression ExpressionGraph::without_empty(Expression automaton) {
    std::vector<Word> accepts{0}, arcs;
    accepts.insert(accepts.end(), this->accepts(automaton).begin(), this->accepts(automaton).end());
    const auto old = this->arcs(automaton);
    for (std::size_t i = 0; i < old.size() && old[i] == 0; i += 4)
        arcs.insert(arcs.end(), {0, old[i + 1], old[i + 2], old[i + 3] + 1});
    if (arcs.empty()) return nothing();
    for (std::size_t i = 0; i < old.size(); i += 4) arcs.insert(arcs.end(), {old[i] + 1, old[i + 1], old[i + 2], old[i + 3] + 1});
    return kind(automaton) == Kind::counted ? counted(bounds_of_length(automaton), accepts, arcs) : this->automaton(accepts, arcs);
}

std::vector<Word> merged_ranges(std::span<const Word> ranges) {
    std::vector<std::pair<Word, Word>> sorted;
    for (std::size_t i = 0; i < ranges.size(); i += 2) sorted.emplace_back(ranges[i], ranges[i + 1]);
    std::sort(sorted.begin(), sorted.end());
    std::vector<Word> merged;
    for (const auto& [low, high] : sorted) {
        if (!merged.empty() && low <= merged.back() + 1) {
            merged.back() = std::max(merged.back(), high);
        } else {
            merged.insert(merged.end(), {low, high});
        }
    }
    return merged;
}

}  // namespace psc
