#include "matcher.hpp"

#include <algorithm>
#include <stdexcept>

namespace psc {

namespace {
constexpr std::size_t kSmall = 1 << 14;
// More reductions than this without a shift: the tables reduce for ever (they may come from a hostile file).
constexpr Word kMaxReductions = 1 << 20;
}  // namespace

Matcher::Matcher(std::shared_ptr<RuntimeTables> tables) : tables_(std::move(tables)) { reset(); }

void Matcher::reset() {
    nodes_.assign(1, {0, -1});
    compact_at_ = kSmall;
    top_ = 0;
    read_top_ = -1;
    lexer_state_ = 0;
    row_ = -1;
    terminated_ = false;
}

Word Matcher::mask_row() {
    if (terminated_) throw std::runtime_error("the matcher has terminated: a stop token was accepted; reset() it first");
    if (row_ >= 0) return row_;
    RuntimeTables& t = *tables_;
    if (read_top_ == top_) return row_ = t.row(lexer_state_, read_);
    Word emissions = 0, state = t.arrays().start, node = top_;
    RuntimeTables::Arc arc;
    while (state != 0 && node >= 0 && t.transition(state, nodes_[node].symbol, arc)) {
        if (arc.emission) emissions = t.with_emission(emissions, arc.emission);
        state = arc.next;
        node = nodes_[node].parent;
        for (Word skip = arc.skip; skip > 0 && node >= 0; --skip) node = nodes_[node].parent;
    }
    read_top_ = top_;
    read_ = emissions;
    return row_ = t.row(lexer_state_, emissions);
}

// Reduces under the lookahead `terminal`, then shifts it, from the stack `top`. False: the parser rejects it, and `top`
// is unchanged.
bool Matcher::shift(Word terminal, Word& top) {
    const RuntimeArrays& a = tables_->arrays();
    Word at = top;
    const std::size_t before = nodes_.size();
    for (Word steps = 0; steps < kMaxReductions; ++steps) {
        const std::size_t cell = static_cast<std::size_t>(nodes_[at].symbol) * a.n_terminals + terminal;
        const Word first = a.action_offsets[cell];
        if (first == a.action_offsets[cell + 1]) break;
        const Word action = a.actions[first];
        if (!(action & 1)) {
            nodes_.push_back({action >> 1, at});
            top = static_cast<Word>(nodes_.size()) - 1;
            return true;
        }
        const Word production = action >> 1;
        for (Word n = a.production_length[production]; n > 0 && at >= 0; --n) at = nodes_[at].parent;
        if (at < 0) break;
        const Word to = a.gotos[static_cast<std::size_t>(nodes_[at].symbol) * a.n_nonterminals + a.production_lhs[production]];
        if (to < 0) break;
        nodes_.push_back({to, at});
        at = static_cast<Word>(nodes_.size()) - 1;
    }
    nodes_.resize(before);
    return false;
}

bool Matcher::lex(std::span<const std::uint8_t> bytes, Word& state, Word& top) {
    const RuntimeArrays& a = tables_->arrays();
    for (std::uint8_t byte : bytes) {
        const std::size_t cell = static_cast<std::size_t>(state) * a.n_byte_classes + a.byte_class[byte];
        if (a.lexer_next[cell] < 0) return false;
        if (const Word e = a.lexer_emit[cell])
            for (Word terminal : emission(e))
                if (!shift(terminal, top)) return false;
        state = a.lexer_next[cell];
    }
    return true;
}

bool Matcher::accept(Word token) {
    const RuntimeArrays& a = tables_->arrays();
    if (terminated_ || token < 0 || token >= a.vocab_size) return false;
    if (!tables_->allowed(mask_row(), token)) return false;
    if (tables_->is_stop(token)) {
        terminated_ = true;
        return true;
    }
    const Word cls = a.class_of_token[token];
    const std::span<const std::uint8_t> bytes{a.class_bytes.data() + a.class_offsets[cls],
                                              static_cast<std::size_t>(a.class_offsets[cls + 1] - a.class_offsets[cls])};
    Word state = lexer_state_, top = top_;
    // Only damaged tables can disagree with their own mask.
    if (!lex(bytes, state, top)) throw std::runtime_error("the artifact's mask and tables disagree: it is damaged");
    lexer_state_ = state;
    top_ = top;
    row_ = -1;
    if (nodes_.size() > compact_at_) compact();
    return true;
}

std::size_t Matcher::accept_bytes(std::span<const std::uint8_t> bytes) {
    const RuntimeArrays& a = tables_->arrays();
    if (terminated_) return 0;
    std::size_t n = 0;
    for (; n < bytes.size(); ++n) {
        const Word old_state = lexer_state_, old_top = top_;
        Word state = old_state, top = old_top;
        if (!lex(bytes.subspan(n, 1), state, top)) break;
        lexer_state_ = state;
        top_ = top;
        bool alive = false;
        for (Word i = a.future_offsets[state]; i < a.future_offsets[state + 1] && !alive; ++i) alive = viable(emission(a.futures[i]));
        if (!alive) {
            lexer_state_ = old_state;
            top_ = old_top;
            break;
        }
        row_ = -1;
        if (nodes_.size() > compact_at_) compact();
    }
    return n;
}

// Tries the terminals on top of the stack, and takes the nodes that this made away again.
bool Matcher::viable(std::span<const Word> terminals) {
    const std::size_t before = nodes_.size();
    Word top = top_;
    const bool all = std::all_of(terminals.begin(), terminals.end(), [&](Word t) { return shift(t, top); });
    nodes_.resize(before);
    return all;
}

bool Matcher::is_complete() {
    const RuntimeArrays& a = tables_->arrays();
    const Word e = a.at_end[lexer_state_];
    if (terminated_ || e < 0) return false;
    std::vector<Word> sequence(emission(e).begin(), emission(e).end());
    sequence.push_back(a.n_terminals - 1);
    return viable(sequence);
}

std::vector<Word> Matcher::expected_terminals() {
    std::vector<Word> out;
    for (Word t = 0; t < tables_->arrays().n_terminals; ++t)
        if (viable({&t, 1})) out.push_back(t);
    return out;
}

std::vector<Word> Matcher::stack() const {
    std::vector<Word> out;
    for (Word n = top_; n >= 0; n = nodes_[n].parent) out.push_back(nodes_[n].symbol);
    return out;
}

// Keeps the nodes of the current stack only.
void Matcher::compact() {
    std::vector<Node> kept;
    for (Word n = top_; n >= 0; n = nodes_[n].parent) kept.push_back(nodes_[n]);
    std::reverse(kept.begin(), kept.end());
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i].parent = static_cast<Word>(i) - 1;
    nodes_.swap(kept);
    read_top_ = -1;
    top_ = static_cast<Word>(nodes_.size()) - 1;
    compact_at_ = std::max(kSmall, nodes_.size() * 4);
}

}  // namespace psc
