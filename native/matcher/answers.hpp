// What ReadRows asks about a matcher's position: how many configurations it has, and of each the lexer state and the states of its
// stack from the top down.
//
// Example: asked for depth 2 of configuration 0, it gives the state below the top of the first stack; ReadRows::kNothing below the
// bottom; no answer where the stack parts.
//
// Cost: questions mostly go down one stack, so each is a step from the one before. Threads: those of the matcher.
#pragma once

#include <algorithm>
#include <optional>

#include "machine/read_rows.hpp"
#include "matcher/matcher.hpp"

namespace psc {

// `looked_at`: is told how far down its stack the first configuration was asked about.
class Matcher::Answers {
public:
    explicit Answers(const Matcher& matcher, Depth* looked_at = nullptr)
        : machine_(*matcher.machine_), at_(*matcher.position_), looked_at_(looked_at) {}

    // Part of the search for a row: as a call of its own it makes a step of a batch a seventh slower.
    [[gnu::always_inline]] std::optional<Word> operator()(ReadRows::Question asked) const {
        if (asked == ReadRows::kCount) return at_.is_one ? 1 : at_.n_several;
        const Configuration of = at_.is_one ? Configuration{at_.top, at_.state} : at_.several[asked.configuration];
        if (asked.depth == 0) {
            const auto state = machine_.cached_alike(of.state);
            return state ? std::optional((*state).v) : std::nullopt;
        }
        if (last_.configuration != asked.configuration || last_.depth > asked.depth) {
            last_ = {asked.configuration, 1};
            node_ = of.top;
        }
        for (; last_.depth < asked.depth && node_; ++last_.depth) {
            if (node_->n_parents) return {};
            node_ = node_->parent;
        }
        if (looked_at_) *looked_at_ = {std::max(looked_at_->v, asked.depth), looked_at_->bottom || !node_};
        return node_ ? node_->state.v : ReadRows::kNothing;
    }

private:
    const Engine& machine_;
    const Position& at_;
    Depth* const looked_at_;
    // Questions mostly go down one stack.
    mutable ReadRows::Question last_ = ReadRows::kCount;
    mutable const Node* node_ = nullptr;
};

}  // namespace psc
