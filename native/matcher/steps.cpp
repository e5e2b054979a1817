// Steps that are made as another text of the grammar made them, and how they are found out (machine/known_steps.hpp).
//
// Cost: to make one, a line of memory for it and the nodes that stay; to keep one, some lookups where the token was read without the
// graph of stacks, else reading it once more, on copies that tell what is looked at.
#include <algorithm>

#include "matcher/matcher.hpp"

namespace psc {

bool Matcher::make_known_step(TokenId token) {
    if (!has_row() || !position_->is_one) return false;
    const auto stops = stops_.in_steps();
    if (!stops) return false;
    const Node* base = nullptr;
    const auto step = cache().steps.find({*row_, position_->state, token, *stops}, [&](auto counts, const LrState* states) {
        const Node* n = position_->top;
        for (std::size_t depth = 0;; n = n->parent) {
            if (n->state != states[depth]) return false;
            if (depth == counts.n_popped) base = n;
            if (++depth == counts.n_seen) return true;
            if (n->n_parents || !n->parent) return false;
        }
    });
    if (!step) return false;
    Arena::Attempt attempt(arena_);
    new_comparisons_.clear();  // of a call that ended early, if any
    for (std::size_t i = step->counts.n_seen; i < step->counts.n_states(); ++i) base = node(step->states[i], base);
    push(base, step->to);
    attempt.keep();
    if (takes_back_) last_steps_.back().token = token;
    row_ = step->row;
    return true;
}

void Matcher::keep_step() {
    const MaskRow row_before = *row_before_;
    row_before_ = {};
    const auto stops = stops_.in_steps();
    const Position& from = *before(position_);
    if (!stops || !from.is_one || !machine_->keeps_steps()) return;
    // Inside of free text a step leads to where it began, and every token of a vocabulary may be one.
    const bool stays = position_->is_one && position_->top == from.top && position_->state == from.state && *row_ == row_before;
    // A step of a text whose length is counted is of one length.
    if (machine_->cached_alike(from.state) != Maybe<LexerState>(from.state)) return;
    if (stays && cache().steps.size() >= KnownSteps::kMaxThatStay) return;
    KnownSteps::Step step;
    step.key = {row_before, from.state, last_token_, *stops};
    if (cache().steps.is_closed(step.key)) return;
    // How far down the row looked at the stack.
    Depth of_row;
    if (position_->is_one && !cached_row(&of_row)) return;  // it may be the next time
    step.to = position_->state;
    step.row = *row_;
    machine_->keep_step(cache(), step, describe(from, of_row, step));
}

// What the step that was made last from there looked at and did; false where that is too much, or cannot be told.
bool Matcher::describe(const Position& from, Depth of_row, KnownSteps::Step& step) {
    constexpr std::size_t kMax = KnownSteps::kMaxStates;
    if (!position_->is_one || of_row.bottom) return false;
    // What was on the stack before, as far down as a step can tell.
    std::array<const Node*, kMax> stack{};
    std::size_t n_stack = 0;
    for (const Node* n = from.top; n && n_stack < kMax; n = n->n_parents ? nullptr : n->parent) stack[n_stack++] = n;
    const auto under = stack.begin() + static_cast<std::ptrdiff_t>(n_stack);
    // What was put on it, the top first, and how far down what is under that was.
    std::array<LrState, kMax> pushed{};
    std::size_t n_pushed = 0;
    auto base = std::find(stack.begin(), under, position_->top);
    for (const Node* n = position_->top; base == under; base = std::find(stack.begin(), under, n)) {
        if (n->n_parents || !n->parent || n_pushed == kMax) return false;
        pushed[n_pushed++] = n->state;
        n = n->parent;
    }
    const auto n_popped = static_cast<std::size_t>(base - stack.begin());
    // Without the graph nothing below what is under it was looked at.
    std::size_t n_seen = n_popped + 1;
    if (!was_linear_) {
        if (left_out_) return false;  // on other stacks that begin alike they may be none that others include
        const std::size_t looked_at = n_looked_at(from, step.key.token);
        if (looked_at == 0) return false;
        n_seen = std::max(n_seen, looked_at);
    }
    if (const auto depth = static_cast<std::size_t>(of_row.v); depth > n_pushed)
        n_seen = std::max(n_seen, depth - n_pushed + n_popped);
    if (n_seen > n_stack || n_seen + n_pushed > kMax) return false;
    step.counts = {static_cast<std::uint8_t>(n_seen), static_cast<std::uint8_t>(n_popped), static_cast<std::uint8_t>(n_pushed)};
    for (std::size_t i = 0; i < n_seen; ++i) step.states[i] = stack[i]->state;
    std::reverse_copy(pushed.begin(), pushed.begin() + static_cast<std::ptrdiff_t>(n_pushed),
                      step.states.begin() + static_cast<std::ptrdiff_t>(n_seen));
    return true;
}

// How many states, from the top down, decided what the token does there; 0 where that cannot be told.
std::size_t Matcher::n_looked_at(const Position& from, TokenId token) {
    constexpr std::size_t kMaxCopied = 64;
    struct Watching {
        Matcher& matcher;
        ~Watching() { matcher.watched_ = {}; }
    } const watching{*this};
    const Arena::Attempt attempt(arena_);
    Configurations all{{from.top, from.state}};
    if (!watch(all, kMaxCopied)) return 0;
    const auto bytes = machine_->vocabulary().text(token);
    begin(bytes.size());
    try {
        if (!advance(bytes, all)) return 0;
    } catch (const LimitExceeded&) {
        return 0;
    }
    if (watched_.bottom_seen) return 0;
    const auto& seen = watched_.seen;
    const auto lowest = std::find(seen.rbegin(), seen.rend(), 1);
    return std::max<std::size_t>(1, static_cast<std::size_t>(seen.rend() - lowest));
}

}  // namespace psc
