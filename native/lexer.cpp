#include "lexer.hpp"

#include <algorithm>

#include "limits.hpp"
#include "sorted.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxStates = 1 << 18;
constexpr std::size_t kMaxAlternatives = 4096;
// Lexemes that are open past a complete one, each begun within the one before; also bounds recursion.
constexpr int kMaxOpen = 400;
constexpr std::size_t kMaxEmitted = 1 << 24;

class Nested {
public:
    explicit Nested(int& depth) : depth_(depth) {
        if (depth_ >= kMaxOpen) throw LimitExceeded("lexemes open within each other that may all fail", kMaxOpen);
        ++depth_;
    }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested() { --depth_; }

private:
    int& depth_;
};

}  // namespace

Lexer::Lexer(TerminalAutomaton automaton, Contexts contexts, Munch munch)
    : dfa_(std::move(automaton)), contexts_(std::move(contexts)), munch_(munch) {
    emissions_.intern({});
    lists_.intern({});
    find_byte_classes();
    find_unbounded();
    find_reachable_terminals();
    if (contexts_.of_top.empty() || dfa_.starts.size() < 2) {
        state_id(0, 0);
        return;
    }
    state_id(kFail, 0);
    start_of_top_.assign(contexts_.of_top.size(), 0);
    std::map<Word, std::vector<Word>> tops;  // of the automaton's starts, of which equal ones are one
    for (std::size_t top = 0; top < contexts_.of_top.size(); ++top)
        if (const Word c = contexts_.of_top[top]; c >= 0) tops[dfa_.starts[c]].push_back(static_cast<Word>(top));
    for (const auto& [start, states] : tops) {
        const Word id = state_id(start, 0);
        for (Word top : states) start_of_top_[top] = id;
        starts_.emplace_back(id, contexts_.n_terminals + conditions_.intern(states).first);
    }
}

Word Lexer::state_id(Word dfa, Word fallback) {
    Word id = state_ids_.find(dfa, fallback);
    if (id >= 0) return id;
    id = n_states();
    if (static_cast<std::size_t>(id) >= kMaxStates) throw LimitExceeded("lexer states", kMaxStates);
    State& s = states_.grow();
    s.dfa = dfa;
    s.fallback = fallback;
    s.row = std::make_unique<std::atomic<PackedArc>[]>(n_classes());
    for (Word c = 0; c < n_classes(); ++c) s.row[c].store(pack({LexTarget::unknown(), {0}}), std::memory_order_relaxed);
    rows_.push_back(s.row.get());
    state_ids_.insert(dfa, fallback, id);
    return id;
}

bool Lexer::is_start(Word state) const {
    if (state == 0) return true;
    const Word dfa = states_[state].dfa;
    return std::find(dfa_.starts.begin(), dfa_.starts.end(), dfa) != dfa_.starts.end();
}

std::span<const Word> Lexer::tops_of(Word state) const {
    for (const auto& [start, symbol] : starts_)
        if (start == state) return condition(symbol);
    return {};
}

Word Lexer::emission_id(std::span<const Word> symbols) {
    const auto [id, fresh] = emissions_.intern(symbols);
    if (fresh) n_emitted_ += symbols.size();
    if (n_emitted_ > kMaxEmitted) throw LimitExceeded("terminals in all sequences that text is lexed into again", kMaxEmitted);
    return id;
}

// Ignored terminals leave no trace in an emission.
Word Lexer::emission_of(Word terminal) { return dfa_.ignored[terminal] ? 0 : emission_id({&terminal, 1}); }

// Two conditions with nothing between them are on the same stack: their intersection.
Word Lexer::append(Word emission, Word more) {
    if (more == 0) return emission;
    if (emission == 0) return more;
    const auto head = emissions_[emission], tail = emissions_[more];
    std::vector<Word> joined(head.begin(), head.end());
    std::size_t from = 0;
    if (is_condition(joined.back()) && is_condition(tail[0])) {
        const auto a = condition(joined.back()), b = condition(tail[0]);
        std::vector<Word> both;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
        if (both.empty()) return kFail;
        joined.back() = contexts_.n_terminals + conditions_.intern(both).first;
        from = 1;
    }
    joined.insert(joined.end(), tail.begin() + from, tail.end());
    return emission_id(joined);
}

Word Lexer::list_id(List list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    if (list.size() > kMaxAlternatives) throw LimitExceeded("ways to lex one byte", kMaxAlternatives);
    std::vector<Word> flat;
    for (const auto& [emission, state] : list) flat.insert(flat.end(), {emission, state});
    return lists_.intern(flat).first;
}

void Lexer::find_byte_classes() {
    std::map<std::vector<Word>, Word> seen;
    for (int byte = 0; byte < 256; ++byte) {
        std::vector<Word> column(dfa_.n_states);
        for (Word s = 0; s < dfa_.n_states; ++s) column[s] = dfa_.next[s * 256 + byte];
        const auto [it, fresh] = seen.emplace(std::move(column), static_cast<Word>(seen.size()));
        if (fresh) representative_.push_back(static_cast<std::uint8_t>(byte));
        byte_class_[byte] = static_cast<std::uint8_t>(it->second);
    }
}

// Marks the non-accepting states on a cycle of non-accepting states, and the states that some byte extends.
void Lexer::find_unbounded() {
    const Word n = dfa_.n_states;
    extensible_.assign(n, 0);
    unbounded_.assign(n, 0);
    std::vector<std::vector<Word>> open(n);
    for (Word s = 0; s < n; ++s)
        for (std::uint8_t byte : representative_) {
            const Word to = dfa_.next[s * 256 + byte];
            if (to == kFail) continue;
            extensible_[s] = 1;
            if (dfa_.accept(s).empty() && dfa_.accept(to).empty()) open[s].push_back(to);
        }
    // Tarjan's components, iteratively; a component of several states, or a loop, is a cycle.
    std::vector<Word> index(n, 0), low(n, 0), stack;
    std::vector<char> on_stack(n, 0);
    Word counter = 0;
    for (Word root = 0; root < n; ++root) {
        if (index[root] || !dfa_.accept(root).empty()) continue;
        std::vector<std::pair<Word, std::size_t>> frames;
        auto enter = [&](Word s) {
            index[s] = low[s] = ++counter;
            stack.push_back(s);
            on_stack[s] = 1;
            frames.emplace_back(s, 0);
        };
        enter(root);
        while (!frames.empty()) {
            const Word s = frames.back().first;
            if (frames.back().second < open[s].size()) {
                const Word to = open[s][frames.back().second++];
                if (!index[to])
                    enter(to);
                else if (on_stack[to])
                    low[s] = std::min(low[s], index[to]);
                continue;
            }
            frames.pop_back();
            if (!frames.empty()) low[frames.back().first] = std::min(low[frames.back().first], low[s]);
            if (low[s] != index[s]) continue;
            const bool loop = std::find(open[s].begin(), open[s].end(), s) != open[s].end();
            const bool several = stack.back() != s;
            Word member;
            do {
                member = stack.back();
                stack.pop_back();
                on_stack[member] = 0;
                unbounded_[member] = loop || several;
            } while (member != s);
        }
    }
}

void Lexer::find_reachable_terminals() {
    const Word n = dfa_.n_states;
    std::vector<std::vector<Word>> before(n);
    for (Word s = 0; s < n; ++s)
        for (std::uint8_t byte : representative_)
            if (const Word to = dfa_.next[s * 256 + byte]; to != kFail && (before[to].empty() || before[to].back() != s))
                before[to].push_back(s);
    // Terminal by terminal, against the arcs.
    std::vector<std::vector<Word>> states_of(dfa_.ignored.size());
    for (Word s = 0; s < n; ++s)
        for (Word t : dfa_.accept(s)) states_of[t].push_back(s);
    reachable_.resize(n);
    for (Word t = 0; t < static_cast<Word>(states_of.size()); ++t) {
        std::vector<Word> todo = states_of[t];
        while (!todo.empty()) {
            const Word s = todo.back();
            todo.pop_back();
            if (!reachable_[s].empty() && reachable_[s].back() == t) continue;
            reachable_[s].push_back(t);
            todo.insert(todo.end(), before[s].begin(), before[s].end());
        }
    }
}

// Everything that can happen on a byte in `state`, with `emission` before it.
void Lexer::follow(Word emission, Word state, Word cls, List& out) {
    const auto steps = this->steps(state, cls);
    for (std::size_t i = 0; i < steps.size(); i += 2)
        if (const Word joined = append(emission, steps[i]); joined != kFail) out.emplace_back(joined, steps[i + 1]);
}

Word Lexer::steps_id(Word state, Word cls) {
    if (const Word known = steps_.find(state, cls); known >= 0) return known;
    const Nested nested(depth_);
    const Word id = list_id(find_steps(state, cls));
    // A fall-back may have asked the same meanwhile.
    if (const Word known = steps_.find(state, cls); known >= 0) return known;
    steps_.insert(state, cls, id);
    return id;
}

Lexer::List Lexer::find_steps(Word state, Word cls) {
    const std::uint8_t byte = representative_[cls];
    List out;
    const State& s = states_[state];
    if (s.dfa == kFail) {
        // The start of a lexeme in an unknown context: contexts in which the same happens go together.
        std::map<std::pair<Word, Word>, std::vector<Word>> tops;
        for (const auto& [start, symbol] : starts_) {
            const Word id = steps_id(start, cls);
            for (std::size_t i = 0; i < lists_[id].size(); i += 2) {
                auto& all = tops[{lists_[id][i], lists_[id][i + 1]}];
                const auto more = condition(symbol);
                all.insert(all.end(), more.begin(), more.end());
            }
        }
        for (auto& [step, states] : tops) {
            sort_unique(states);
            const Word symbol = contexts_.n_terminals + conditions_.intern(states).first;
            if (const Word emission = append(emission_id({&symbol, 1}), step.first); emission != kFail)
                out.emplace_back(emission, step.second);
        }
        return out;
    }
    const Word to = dfa_.next[s.dfa * 256 + byte];
    const auto accepted = dfa_.accept(s.dfa);
    if (munch_ == Munch::any) {
        if (to != kFail) {
            if (extensible_[to] || dfa_.accept(to).empty())
                out.emplace_back(0, state_id(to, 0));
            else
                for (Word t : dfa_.accept(to)) out.emplace_back(emission_of(t), 0);
        }
        for (Word t : accepted) follow(emission_of(t), 0, cls, out);
        return out;
    }
    if (to == kFail) {
        if (!accepted.empty()) {
            follow(emission_of(accepted[0]), 0, cls, out);
        } else {
            const auto fallback = lists_[s.fallback];
            for (std::size_t i = 0; i < fallback.size(); i += 2) follow(fallback[i], fallback[i + 1], cls, out);
        }
        return out;
    }
    if (!dfa_.accept(to).empty()) {
        if (extensible_[to])
            out.emplace_back(0, state_id(to, 0));
        else
            out.emplace_back(emission_of(dfa_.accept(to)[0]), 0);
        return out;
    }
    List again;
    if (!unbounded_[to]) {
        // The longer lexeme is open: keep what happens if it fails up to date.
        if (!accepted.empty()) {
            follow(emission_of(accepted[0]), 0, cls, again);
        } else {
            const auto fallback = lists_[s.fallback];
            for (std::size_t i = 0; i < fallback.size(); i += 2) follow(fallback[i], fallback[i + 1], cls, again);
        }
        std::erase_if(again, [&](const auto& a) { return !can_fall_back(to, a.second); });
    }
    out.emplace_back(0, state_id(to, list_id(std::move(again))));
    return out;
}

// Whether the lexeme open in DFA state `open` can fail where the lexer in state `again`, which has read the same text,
// goes on. Where it cannot (the rest of a character that both need), carrying the fall-back would only multiply states.
// `open` does not accept and is not unbounded, so the search along it ends; should a step of `again` ask the same question
// meanwhile, the answer is yes: keeping a fall-back is always right.
bool Lexer::can_fall_back(Word open, Word again) {
    if (const Word known = fall_back_.find(open, again); known >= 0) return known;
    if (asked_.find(open, again) >= 0) return true;
    const Nested nested(depth_);
    asked_.insert(open, again, 0);
    bool found = !at_end(again).empty();
    for (Word c = 0; c < n_classes() && !found; ++c) {
        const Word to = dfa_.next[open * 256 + representative_[c]];
        if (to != kFail && (!dfa_.accept(to).empty() || unbounded_[to])) continue;
        const auto next = steps(again, c);
        for (std::size_t i = 0; i < next.size() && !found; i += 2) found = to == kFail || can_fall_back(to, next[i + 1]);
    }
    fall_back_.insert(open, again, found);
    return found;
}

const std::vector<Word>& Lexer::at_end(Word state) {
    State& s = states_[state];
    if (const auto* known = s.at_end.load(std::memory_order_relaxed)) return *known;
    const Nested nested(depth_);
    auto out = std::make_unique<std::vector<Word>>();
    if (is_start(state)) {
        out->push_back(0);
    } else {
        for (Word t : dfa_.accept(s.dfa)) out->push_back(emission_of(t));
        const auto fallback = lists_[s.fallback];
        for (std::size_t i = 0; i < fallback.size(); i += 2)
            for (Word last : at_end(fallback[i + 1]))
                if (const Word joined = append(fallback[i], last); joined != kFail) out->push_back(joined);
        sort_unique(*out);
    }
    s.at_end_owner = std::move(out);
    s.at_end.store(s.at_end_owner.get(), std::memory_order_release);
    return *s.at_end_owner;
}

Lexer::Split Lexer::split(Word state, Word cls) {
    State& s = states_[state];
    if (s.dfa == kFail) return {false, kFail, {}};
    if (!std::exchange(s.endings_known, true))
        for (Word t : dfa_.accept(s.dfa)) s.endings.push_back(emission_of(t));
    const Word to = dfa_.next[s.dfa * 256 + representative_[cls]];
    if (to == kFail && s.endings.empty()) return {s.fallback == 0, kFail, {}};
    Word within = kFail;
    if (to != kFail) {
        if (!extensible_[to] && !dfa_.accept(to).empty()) return {false, kFail, {}};
        within = lists_[steps_id(state, cls)][1];
        if (munch_ == Munch::any) within = state_id(to, 0);
    }
    const bool ends = munch_ == Munch::any || to == kFail;
    return {true, within, ends ? std::span<const Word>(s.endings) : std::span<const Word>()};
}

LexArc Lexer::arc(Word state, Word cls) {
    auto& cells = states_[state].row;
    if (const LexArc known = unpack(cells[cls].load(std::memory_order_acquire)); !known.target.is_unknown()) return known;
    LexArc made{LexTarget::fail(), {0}};
    const Word dfa = states_[state].dfa;
    const bool ends = contextual() && munch_ == Munch::longest && dfa != kFail && !dfa_.accept(dfa).empty() &&
                      dfa_.next[dfa * 256 + representative_[cls]] == kFail;
    if (ends) {
        // Which lexeme follows depends on the stack, which a matcher knows.
        made = {LexTarget::restart(), {emission_of(dfa_.accept(dfa)[0])}};
    } else {
        const Word id = steps_id(state, cls);
        const auto steps = lists_[id];
        if (steps.size() == 2)
            made = {LexTarget::to({steps[1]}), {steps[0]}};
        else if (!steps.empty())
            made = {LexTarget::several({id}), {0}};
    }
    cells[cls].store(pack(made), std::memory_order_release);
    return made;
}

void Lexer::close() {
    for (Word q = 0; q < n_states(); ++q) {
        for (Word c = 0; c < n_classes(); ++c) arc(q, c), steps_id(q, c);
        at_end(q);
        futures(q);
    }
}

}  // namespace psc
