// A matcher's positions: what it was made with, each step forward, and the way back.
#include "matcher/graph.hpp"

#include <algorithm>
#include <cstddef>

#include "base/errors.hpp"
#include "vocabulary/index.hpp"

namespace psc {

namespace {
// Only damaged tables can disagree with their own mask.
[[noreturn]] void damaged() {
    throw ArtifactError("the artifact's mask and tables disagree: it is damaged; compile the grammar again");
}
}  // namespace

Matcher::Matcher(const std::shared_ptr<Engine>& engine) : TextMatcher(engine), machine_(engine.get()) {
    const Node* bottom = node({0}, nullptr);
    auto* p = arena_.make<Position>();
    *p = Position{};
    p->top = bottom;
    p->state = machine_->start_of({0});
    p->is_one = true;
    position_ = first_ = p;
}

Matcher::Matcher(const Matcher& other)
    : TextMatcher(other),
      machine_(other.machine_),
      position_(other.position_),
      n_steps_(other.n_steps_),
      arena_(other.arena_),
      first_(other.first_),
      read_top_(other.read_top_),
      read_start_(other.read_start_),
      read_(other.read_),
      max_steps_(other.max_steps_),
      work_(work(max_steps_)) {}

const Matcher::Node* Matcher::node(LrState state, const Nodes& parents) {
    if (parents.size() < 2) return node(state, parents.empty() ? nullptr : parents[0]);
    auto** kept = arena_.make<const Node*>(parents.size());
    std::copy(parents.begin(), parents.end(), kept);
    auto* n = arena_.make<Node>();
    n->parents = kept;
    n->state = state;
    n->n_parents = static_cast<Word>(parents.size());
    return n;
}

// The next position, whose place in the text alone is known.
Matcher::Position* Matcher::new_position() {
    Position* p;
    std::size_t back = 0;
    if (arena_.has_room_beside<Position>(position_)) {
        p = arena_.make<Position>();
        back = static_cast<std::size_t>(reinterpret_cast<const char*>(p) - reinterpret_cast<const char*>(position_)) / 8;
    } else {
        auto* link = arena_.make<Link>();
        link->before = position_;
        p = &link->position;
    }
    p->stopped = false;
    p->back = static_cast<std::uint32_t>(back);
    return p;
}

const Matcher::Position* Matcher::before(const Position* p) {
    const char* at = reinterpret_cast<const char*>(p);
    if (p->back) return reinterpret_cast<const Position*>(at - p->back * std::size_t{8});
    return reinterpret_cast<const Link*>(at - offsetof(Link, position))->before;
}

void Matcher::push(const Node* top, LexerState state) {
    if (!new_comparisons_.empty()) keep_comparisons();
    Position* p = new_position();
    p->top = top;
    p->state = state;
    p->is_one = true;
    position_ = p;
    ++n_steps_;
    if (takes_back_) {
        if (!last_steps_.empty()) last_steps_.back().row = row_;
        if (last_steps_.size() == kMaxTakenBack) last_steps_.erase(last_steps_.begin());
        last_steps_.push_back({p, {-1}, {}});
    }
    row_ = row_before_ = {};
}

void Matcher::push(const Configurations& configurations, bool stopped) {
    const Configuration* several = nullptr;
    if (configurations.size() > 1) {
        auto* copy = arena_.make<Configuration>(configurations.size());
        std::copy(configurations.begin(), configurations.end(), copy);
        several = copy;
    }
    push(configurations[0].top, configurations[0].state);
    auto* p = const_cast<Position*>(position_);
    p->stopped = stopped;
    if (!several) return;
    p->is_one = false;
    p->several = several;
    p->n_several = static_cast<Word>(configurations.size());
}

Matcher::Configurations Matcher::configurations() const {
    if (position_->is_one) return {{position_->top, position_->state}};
    return {position_->several, position_->several + position_->n_several};
}

void Matcher::reset() {
    last_steps_.clear();
    taken_back_.clear();
    position_ = first_;
    n_steps_ = 0;
    arena_.rewind_to_end_of(first_);
    forget_comparisons();
    read_top_ = nullptr;
    row_ = row_before_ = {};
}

void Matcher::rollback(std::size_t n) {
    if (n == 0) return;
    if (n > n_steps_)
        throw MatcherError("cannot take back " + std::to_string(n) + " steps: only " + std::to_string(n_steps_) +
                           " were made since the start");
    takes_back_ = true;
    row_before_ = {};
    const bool keeps = n <= last_steps_.size() && taken_back_.size() + n <= kMaxTakenBack &&
                       std::all_of(last_steps_.end() - static_cast<std::ptrdiff_t>(n), last_steps_.end(),
                                   [](const Step& step) { return step.token.v >= 0; });
    n_steps_ -= n;
    read_top_ = nullptr;  // its memory may be used again
    forget_comparisons();
    if (!keeps) {
        const Position* p = position_;
        for (std::size_t i = 0; i < n; ++i) p = before(p);
        position_ = p;
        last_steps_.clear();
        taken_back_.clear();
        arena_.rewind_to_end_of(p);
        row_ = {};
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        Step& last = last_steps_.back();
        last.row = row_;
        taken_back_.push_back(last);
        position_ = before(position_);
        last_steps_.pop_back();
        row_ = last_steps_.empty() ? Maybe<MaskRow>() : last_steps_.back().row;
    }
}

// Whether the token is that of the step that was taken back from here, which is made again.
bool Matcher::make_again(TokenId token) {
    if (taken_back_.empty() || taken_back_.back().token != token) return false;
    if (!last_steps_.empty()) last_steps_.back().row = row_;
    last_steps_.push_back(taken_back_.back());
    taken_back_.pop_back();
    position_ = last_steps_.back().to;
    row_ = last_steps_.back().row;
    row_before_ = {};
    ++n_steps_;
    return true;
}

void Matcher::forget_taken_back() {
    if (taken_back_.empty()) return;
    taken_back_.clear();
    arena_.rewind_to_end_of(position_);
    forget_comparisons();
    read_top_ = nullptr;
}

void Matcher::forget_rows() {
    read_top_ = nullptr;  // what was read is an id of the cache
    row_ = row_before_ = {};
    for (Step& step : last_steps_) step.row = {};
    for (Step& step : taken_back_) step.row = {};
}

void Matcher::forget_steps() {
    forget_taken_back();
    last_steps_.clear();
    row_ = row_before_ = {};
}

// Reads bytes and keeps the configurations that have a continuation. False, and nothing is allocated, when none has.
bool Matcher::advance(std::span<const std::uint8_t> bytes, Configurations& configurations) {
    Arena::Attempt attempt(arena_);
    const auto n_compared = static_cast<std::ptrdiff_t>(new_comparisons_.size());
    if (!lex_all(bytes, configurations)) return false;
    Graph graph;
    narrow(configurations, graph);
    std::erase_if(configurations, [&](const Configuration& t) { return !alive(t); });
    if (configurations.empty()) {
        new_comparisons_.erase(new_comparisons_.begin() + n_compared, new_comparisons_.end());  // of nodes that go
        return false;
    }
    attempt.keep();
    return true;
}

bool Matcher::accept(TokenId token) {
    if (make_again(token)) return true;
    forget_taken_back();
    if (make_known_step(token)) return true;
    const Maybe<MaskRow> before = row_;
    const RowCache* const of = cache_.get();
    if (!accept_new(token)) return false;
    if (takes_back_) last_steps_.back().token = token;
    if (cache_.get() == of) row_before_ = before;
    last_token_ = token;
    return true;
}

bool Matcher::accept_new(TokenId token) {
    was_linear_ = left_out_ = false;
    if (position_->stopped || token.v < 0 || token.v >= machine_->vocabulary().size) return false;
    const bool stops = stops_.has(*machine_, token);
    if (const Word* symbols = machine_->vocabulary().symbols; symbols && symbols[token.index()] >= 0)
        return accept_either(token, stops);
    // A mask that nobody has asked for is not built for one token.
    if (const VocabularyIndex* index = machine_->index(); index && !row_ && !stops)
        return index->is_text(token) && accept_text(machine_->vocabulary().text(token));
    const MaskRow row = mask_row();  // before cache_ is looked at: it may change over to another cache
    if (!cache_->rows.allowed(row, token)) return false;
    if (stops) {
        push(configurations(), true);
        return true;
    }
    const auto bytes = machine_->vocabulary().text(token);
    begin(bytes.size());
    if (position_->is_one) {
        Arena::Attempt attempt(arena_);
        LexerState state = position_->state;
        const Node* top = position_->top;
        std::size_t n_read;
        const Outcome o = lex(bytes, state, top, n_read);
        if (o == Outcome::ok) {
            push(top, machine_->narrowed(state, top->state, work_));
            attempt.keep();
            was_linear_ = true;
            return true;
        }
        if (o == Outcome::rejected) damaged();
    }
    Configurations all = configurations();
    if (!advance(bytes, all)) damaged();
    push(all, false);
    return true;
}

bool Matcher::accept_text(std::span<const std::uint8_t> bytes) { return !has_symbol_byte(bytes) && accept_bytes(bytes); }

bool Matcher::accept_bytes(std::span<const std::uint8_t> bytes) {
    if (position_->stopped) return false;
    forget_taken_back();
    begin(bytes.size());
    Configurations all = configurations();
    if (!bytes.empty() && !advance(bytes, all)) return false;
    push(all, false);
    return true;
}

std::size_t Matcher::accept_prefix(std::span<const std::uint8_t> bytes) {
    if (position_->stopped) return 0;
    forget_taken_back();
    begin(bytes.size());
    Arena::Attempt attempt(arena_);
    Configurations all = configurations(), next;
    std::size_t n = 0;
    for (; n < bytes.size() && bytes[n] < kFirstSymbolByte; ++n) {
        next = all;
        if (!advance(bytes.subspan(n, 1), next)) break;
        all.swap(next);
    }
    if (n > 0) {
        push(all, false);
        attempt.keep();
    }
    return n;
}

}  // namespace psc
