#include "lexer/lexer.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "base/work.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxLexerStates = limit("lexer_states");
constexpr Word kMaxToRestrict = 1 << 17;  // states; beyond, restricted() makes no more, since no text needs them
constexpr std::size_t kMaxAlternatives = limit("byte_ways");
// Lexemes open past a complete one, each begun within the one before; also bounds recursion.
constexpr int kMaxOpen = limit("open_lexemes");
constexpr std::size_t kMaxLexedAgain = limit("relexed_terminals");
// States x classes of bytes, and the ways of each: about two seconds.
constexpr std::size_t kMaxStepsToClose = limit("steps_to_close_lexer");

// Some 16 bytes each.
constexpr std::size_t kStepsForState = 16, kStepsForWay = 2;

constexpr LexerState kStart{0};  // of a lexeme, in the only context or in an unknown one

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

Lexer::Lexer(std::unique_ptr<LexemeAutomaton> automaton, Contexts contexts, Munch munch)
    : dfa_(std::move(automaton)), n_classes_(dfa_->n_classes()), contexts_(std::move(contexts)), munch_(munch) {
    outputs_.intern({});
    branches_.intern({});
    if (contexts_.of_top.empty() || dfa_->starts().size() < 2) {
        state_id(DfaState{0}, kNoFallback);
        return;
    }
    state_id({}, kNoFallback);
    start_of_top_.assign(contexts_.of_top.size(), kStart);
    std::map<DfaState, std::vector<LrState>> tops;  // of the automaton's starts, of which equal ones are one
    for (LrState top{0}; top.index() < contexts_.of_top.size(); ++top.v)
        if (const auto context = contexts_.of_top[top.index()]) tops[dfa_->starts()[context.v]].push_back(top);
    for (const auto& [start, states] : tops) {
        const LexerState id = state_id(start, kNoFallback);
        for (LrState top : states) start_of_top_[top.index()] = id;
        starts_.push_back({id, condition_symbol(states)});
    }
}

LexerState Lexer::state_id(Maybe<DfaState> dfa, Branch fallback) {
    if (const auto cached = state_ids_.find(dfa, fallback)) return *cached;
    const LexerState id{n_states()};
    if (id.index() >= kMaxLexerStates) throw LimitExceeded("lexer states", kMaxLexerStates);
    // All that may throw comes first.
    State& s = states_.next();
    s.row = std::make_unique<std::atomic<PackedArc>[]>(n_classes());
    rows_.make_room();
    state_ids_.insert(dfa, fallback, id);
    s.dfa = dfa;
    s.fallback = fallback;
    for (Word c = 0; c < n_classes(); ++c) s.row[c].store(pack({LexTarget::unknown(), kSilent}), std::memory_order_relaxed);
    rows_.push_back(s.row.get());
    states_.publish();
    cost_ += kStepsForState + static_cast<std::size_t>(n_classes()) / 2;
    return id;
}

bool Lexer::is_start(LexerState state) const {
    if (state == kStart) return true;
    const auto starts = dfa_->starts();
    return std::find(starts.begin(), starts.end(), *at(state).dfa) != starts.end();
}

std::span<const LrState> Lexer::tops_of(LexerState state) const {
    for (const Start& start : starts_)
        if (start.state == state) return condition(start.condition);
    return {};
}

LexOutput Lexer::output_id(std::span<const OutputSymbol> symbols) {
    const auto [id, fresh] = outputs_.intern(symbols);
    if (fresh) n_emitted_ += symbols.size();
    if (n_emitted_ > kMaxLexedAgain)
        throw LimitExceeded("terminals in all sequences that text is lexed into again", kMaxLexedAgain);
    return id;
}

// Ignored terminals leave no trace in an output.
LexOutput Lexer::output_of(Terminal terminal) {
    const OutputSymbol symbol = OutputSymbol::of(terminal);
    return dfa_->is_ignored(terminal) ? kSilent : output_id({&symbol, 1});
}

OutputSymbol Lexer::condition_symbol(std::span<const LrState> tops) {
    return OutputSymbol::of(conditions_.id_of(tops), contexts_.n_terminals);
}

Maybe<Condition> Lexer::both(OutputSymbol a, OutputSymbol b) {
    const auto of_a = condition(a), of_b = condition(b);
    std::vector<LrState> tops;
    std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(tops));
    if (tops.empty()) return {};
    return conditions_.id_of(tops);
}

// Two conditions with nothing between them are on the same stack.
Maybe<LexOutput> Lexer::append(LexOutput output, LexOutput more) {
    if (more == kSilent) return output;
    if (output == kSilent) return more;
    const auto head = outputs_[output], tail = outputs_[more];
    std::vector<OutputSymbol> joined(head.begin(), head.end());
    std::size_t from = 0;
    if (is_condition(joined.back()) && is_condition(tail[0])) {
        const auto one = both(joined.back(), tail[0]);
        if (!one) return {};
        joined.back() = OutputSymbol::of(*one, contexts_.n_terminals);
        from = 1;
    }
    joined.insert(joined.end(), tail.begin() + from, tail.end());
    return output_id(joined);
}

Branch Lexer::branch_id(Ways ways) {
    sort_unique(ways);
    if (ways.size() > kMaxAlternatives) throw LimitExceeded("ways to lex one byte", kMaxAlternatives);
    return branches_.id_of(ways);
}

// All ways on a byte in `state`, with `output` before them.
void Lexer::follow(LexOutput output, LexerState state, ByteClass byte_class, Ways& out) {
    for (const LexWay& way : steps(state, byte_class))
        if (const auto joined = append(output, way.output)) out.push_back({*joined, way.next});
}

// The ways where the open lexeme cannot take the byte: it ends if it is complete, else the lexer falls back.
void Lexer::fall_back(const State& s, ByteClass byte_class, Ways& out) {
    if (const auto accepted = dfa_->accepted(*s.dfa); !accepted.empty())
        return follow(output_of(accepted[0]), kStart, byte_class, out);
    for (const LexWay& way : branches_[s.fallback]) follow(way.output, way.next, byte_class, out);
}

Branch Lexer::branch_of(LexerState state, ByteClass byte_class) {
    if (const auto cached = steps_.find(state, byte_class)) return *cached;
    Branch id = kNoFallback;
    {
        const Nested nested(depth_);
        Ways ways = find_steps(state, byte_class);
        cost_ += 1 + kStepsForWay * ways.size();
        id = branch_id(std::move(ways));
    }
    // A nested fall-back may have built the same.
    if (const auto cached = steps_.find(state, byte_class)) return *cached;
    steps_.insert(state, byte_class, id);
    pay();
    return id;
}

// From the start of a lexeme in an unknown context: contexts with the same way share one condition.
Lexer::Ways Lexer::start_steps(ByteClass byte_class) {
    std::map<LexWay, std::vector<LrState>> tops;
    for (const Start& start : starts_)
        for (const LexWay& way : steps(start.state, byte_class)) {
            auto& all = tops[way];
            const auto more = condition(start.condition);
            all.insert(all.end(), more.begin(), more.end());
        }
    Ways out;
    for (auto& [way, states] : tops) {
        sort_unique(states);
        const OutputSymbol symbol = condition_symbol(states);
        if (const auto output = append(output_id({&symbol, 1}), way.output)) out.push_back({*output, way.next});
    }
    return out;
}

Lexer::Ways Lexer::find_steps(LexerState state, ByteClass byte_class) {
    const State& s = at(state);
    if (!s.dfa) return start_steps(byte_class);
    Ways out;
    const auto to = dfa_->next(*s.dfa, byte_class);
    // A lexeme that cannot be extended ends at once.
    const bool goes_on = to && (dfa_->is_extensible(*to) || !dfa_->accepts(*to));
    if (munch_ == Munch::any) {
        if (goes_on)
            out.push_back({kSilent, state_id(*to, kNoFallback)});
        else if (to)
            for (Terminal t : dfa_->accepted(*to)) out.push_back({output_of(t), kStart});
        for (Terminal t : dfa_->accepted(*s.dfa)) follow(output_of(t), kStart, byte_class, out);
        return out;
    }
    if (!to) {
        fall_back(s, byte_class, out);
    } else if (!goes_on) {
        out.push_back({output_of(dfa_->accepted(*to)[0]), kStart});
    } else if (dfa_->accepts(*to)) {
        out.push_back({kSilent, state_id(*to, kNoFallback)});
    } else {
        Ways again;
        if (!dfa_->is_unbounded(*to)) {
            // The longer lexeme is open: advance the fall-back by the byte.
            fall_back(s, byte_class, again);
            std::erase_if(again, [&](const LexWay& way) { return !can_fall_back(*to, way.next); });
        }
        out.push_back({kSilent, state_id(*to, branch_id(std::move(again)))});
    }
    return out;
}

// Whether the lexeme open in DFA state `open` can fail where the lexer in state `again`, which has read the same text,
// goes on. Where it cannot (the rest of a character that both need), carrying the fall-back would only multiply states.
// `open` does not accept and is not unbounded, so the search along it ends; should a step of `again` ask the same question
// meanwhile, the answer is yes: keeping a fall-back is always right.
bool Lexer::can_fall_back(DfaState open, LexerState again) {
    if (const auto cached = fall_back_.find(open, again)) return *cached;
    if (!questions_.insert(open, again)) return true;
    const Nested nested(depth_);
    bool found = !at_end(again).empty();
    for (Word c = 0; c < n_classes() && !found; ++c) {
        const ByteClass byte_class{static_cast<std::uint8_t>(c)};
        const auto to = dfa_->next(open, byte_class);
        if (to && (dfa_->accepts(*to) || dfa_->is_unbounded(*to))) continue;
        for (const LexWay& way : steps(again, byte_class)) {
            found = !to || can_fall_back(*to, way.next);
            if (found) break;
        }
    }
    fall_back_.insert(open, again, found);
    return found;
}

const std::vector<LexOutput>& Lexer::at_end(LexerState state) {
    State& s = at(state);
    if (const auto* cached = s.at_end.load(std::memory_order_relaxed)) return *cached;
    const Nested nested(depth_);
    auto out = std::make_unique<std::vector<LexOutput>>();
    if (is_start(state)) {
        out->push_back(kSilent);
    } else {
        for (Terminal t : dfa_->accepted(*s.dfa)) out->push_back(output_of(t));
        for (const LexWay& way : branches_[s.fallback])
            for (LexOutput last : at_end(way.next))
                if (const auto joined = append(way.output, last)) out->push_back(*joined);
        sort_unique(*out);
    }
    s.at_end_owner = std::move(out);
    s.at_end.store(s.at_end_owner.get(), std::memory_order_release);
    return *s.at_end_owner;
}

Lexer::Split Lexer::split(LexerState state, ByteClass byte_class) {
    State& s = at(state);
    if (!s.dfa) return {false, {}, {}};
    if (!s.endings_built) {
        std::vector<LexOutput> endings;
        for (Terminal t : dfa_->accepted(*s.dfa)) endings.push_back(output_of(t));
        s.endings = std::move(endings);
        s.endings_built = true;
    }
    const auto to = dfa_->next(*s.dfa, byte_class);
    if (!to && s.endings.empty()) return {s.fallback == kNoFallback, {}, {}};
    Maybe<LexerState> within;
    if (to) {
        if (!dfa_->is_extensible(*to) && dfa_->accepts(*to)) return {false, {}, {}};
        within = steps(state, byte_class)[0].next;
        if (munch_ == Munch::any) within = state_id(*to, kNoFallback);
    }
    const bool ends = munch_ == Munch::any || !to;
    return {true, within, ends ? std::span<const LexOutput>(s.endings) : std::span<const LexOutput>()};
}

LexerState Lexer::restricted(LexerState state, const std::vector<char>& allowed) {
    const State& s = at(state);
    if (munch_ != Munch::any || is_start(state) || n_states() >= kMaxToRestrict) return state;
    const DfaState to = dfa_->restricted(*s.dfa, allowed);
    return to == *s.dfa ? state : state_id(to, kNoFallback);
}

LexerState Lexer::alike(LexerState state, Word longest_token) {
    if (munch_ != Munch::any || is_start(state)) return state;
    const DfaState from = *at(state).dfa, to = dfa_->alike(from, longest_token);
    return to == from ? state : state_id(to, kNoFallback);
}

LexArc Lexer::arc(LexerState state, ByteClass byte_class) {
    const State& s = at(state);
    auto& cell = s.row[byte_class.index()];
    if (const LexArc built = unpack(cell.load(std::memory_order_acquire)); !built.target.is_unknown()) return built;
    LexArc made{LexTarget::fail(), kSilent};
    if (munch_ == Munch::any && !dfa_->accepts(*s.dfa)) {
        // Most states are inside a lexeme, and most bytes leave it open.
        const auto to = dfa_->next(*s.dfa, byte_class);
        if (!to || dfa_->is_extensible(*to) || !dfa_->accepts(*to)) {
            if (to) made.target = LexTarget::to(state_id(*to, kNoFallback));
            cell.store(pack(made), std::memory_order_release);
            pay();
            return made;
        }
    }
    const bool ends = contextual() && munch_ == Munch::longest && s.dfa && dfa_->accepts(*s.dfa) && !dfa_->next(*s.dfa, byte_class);
    if (ends) {
        // The next lexeme depends on the stack, which a matcher has.
        made = {LexTarget::restart(), output_of(dfa_->accepted(*s.dfa)[0])};
    } else {
        const Branch branch = branch_of(state, byte_class);
        const auto ways = branches_[branch];
        if (ways.size() == 1)
            made = {LexTarget::to(ways[0].next), ways[0].output};
        else if (!ways.empty())
            made = {LexTarget::several(branch), kSilent};
    }
    cell.store(pack(made), std::memory_order_release);
    return made;
}

void Lexer::close() {
    Work work("steps to close the lexer", kMaxStepsToClose);
    for (LexerState q{0}; q.v < n_states(); ++q.v) {
        for (Word c = 0; c < n_classes(); ++c) {
            const ByteClass byte_class{static_cast<std::uint8_t>(c)};
            arc(q, byte_class);
            work.spend(1 + branches_[branch_of(q, byte_class)].size());
        }
        at_end(q);
        futures(q);
    }
}

std::size_t Lexer::bytes() const {
    const std::size_t of_states = states_.size() * (n_classes() * sizeof(PackedArc) + sizeof(State) + 2 * sizeof(void*));
    return dfa_->bytes() + of_states + outputs_.bytes() + branches_.bytes() + conditions_.bytes() + state_ids_.bytes() +
           steps_.bytes() + fall_back_.bytes() + questions_.bytes() + future_sets_.bytes() + future_ids_.bytes();
}

}  // namespace psc
