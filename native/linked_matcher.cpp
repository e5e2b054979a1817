#include "linked_matcher.hpp"

#include <algorithm>
#include <atomic>

#include "errors.hpp"
#include "long_work.hpp"

namespace psc {

namespace {

constexpr SpelledSymbol kSpelledEnd = spelled_symbol(kEndOfPart);
constexpr Word kFull = -3;  // in the content of a context: no token more

}  // namespace

// A long chain is let go of one by one, not by recursion.
LinkedMatcher::Stage::~Stage() {
    while (below && below.use_count() == 1) {
        auto next = std::move(below->below);
        below = std::move(next);
    }
}

LinkedMatcher::LinkedMatcher(std::shared_ptr<LinkedMachine> machine)
    : machine_(std::move(machine)), base_(machine_), cache_(base_->cache()) {
    reset();
    set_stop_tokens(machine_->stop_tokens());
}

LinkedMatcher::LinkedMatcher(const LinkedMatcher& other)
    : TextMatcher(other),
      machine_(other.machine_),
      base_(other.base_),
      cache_(other.cache_),
      top_(std::make_shared<Stage>()),
      n_steps_(other.n_steps_),
      row_(other.row_),
      near_(other.near_),
      terminates_when_complete_(other.terminates_when_complete_),
      stops_(other.stops_),
      stop_sets_{other.stop_sets_[0], other.stop_sets_[1]},
      text_or_itself_(other.text_or_itself_) {
    top_->below = other.top_->below;
    top_->places = copies(other.top_->places);
    top_->n_steps = other.top_->n_steps;
    top_->stopped = other.top_->stopped;
}

void LinkedMatcher::reset() {
    top_ = std::make_shared<Stage>();
    top_->places.push_back({nullptr, LinkedMachine::kFrame, std::make_unique<Matcher>(machine_->at(LinkedMachine::kFrame))});
    n_steps_ = 0;
    row_ = {};
}

void LinkedMatcher::set_stop_tokens(const std::vector<TokenId>& tokens) {
    stops_ = std::make_shared<const std::vector<TokenId>>(tokens);
    for (bool complete : {false, true}) stop_sets_[complete] = base_->add_stop_set(complete, tokens);
    text_or_itself_ = base_->text_or_itself(tokens);
    row_ = {};
}

void LinkedMatcher::set_terminates_when_complete() {
    terminates_when_complete_ = true;
    stop_sets_[1] = stop_sets_[0];
    row_ = {};
}

LinkedMatcher::Places LinkedMatcher::copies(const Places& places) {
    Places out;
    out.reserve(places.size());
    for (const Place& place : places) out.push_back(place.copy());
    return out;
}

LinkedMatcher::Stage& LinkedMatcher::own() {
    if (top_.use_count() > 1) {
        auto copy = std::make_shared<Stage>();
        copy->below = top_->below;
        copy->places = copies(top_->places);
        copy->n_steps = top_->n_steps;
        copy->stopped = top_->stopped;
        top_ = std::move(copy);
    } else {
        std::atomic_thread_fence(std::memory_order_acquire);  // whoever shared it has read its last
    }
    return *top_;
}

void LinkedMatcher::push(Places places, bool stopped) {
    auto stage = std::make_shared<Stage>();
    stage->below = top_;
    stage->places = std::move(places);
    stage->stopped = stopped;
    top_ = std::move(stage);
    ++n_steps_;
    row_ = {};
}

void LinkedMatcher::rollback(std::size_t n) {
    if (n > n_steps_)
        throw MatcherError("cannot take back " + std::to_string(n) + " steps: only " + std::to_string(n_steps_) +
                           " were made since the start");
    if (n == 0) return;
    n_steps_ -= n;
    row_ = {};
    while (n > top_->n_steps) {
        n -= top_->n_steps + 1;
        top_ = std::shared_ptr<Stage>(top_->below);
    }
    if (n == 0) return;
    Stage& stage = own();
    for (Place& place : stage.places) place.at->rollback(n);
    stage.n_steps -= n;
}

void LinkedMatcher::refresh() {
    if (!cache_->retired.load(std::memory_order_relaxed)) return;
    cache_ = base_->cache();
    row_ = {};
}

Word LinkedMatcher::context_of(const Place& place) {
    static std::atomic<Word> last{-2};
    std::vector<Word> content{place.part, place.below ? place.below->context : -1};
    if (!place.at->add_content(content)) return --last;
    return machine_->context(content);
}

// --- boundaries

void LinkedMatcher::add_called(const Place& place, Places& out) {
    Place within = place.copy();
    if (!within.at->accept_bytes(kCallBytes)) return;
    // The rest of the call's symbol says which part; the bytes that can stand there are few.
    for (Word high = 0; high < kMaxParts / 64; ++high) {
        const SpelledSymbol first = spelled_symbol(kFirstCall + high * 64);
        if (!within.at->accept_bytes({&first[2], 1})) continue;
        for (Word part = high * 64; part < std::min(high * 64 + 64, machine_->n_parts()); ++part) {
            const SpelledSymbol symbol = spelled_symbol(kFirstCall + part);
            if (!within.at->accept_bytes({&symbol[3], 1})) continue;
            auto back = std::make_shared<Return>();
            back->place = within.copy();
            back->context = context_of(back->place);
            within.at->rollback(1);
            out.push_back({std::move(back), part, std::make_unique<Matcher>(machine_->at(part))});
            if (out.size() > kMaxPlaces) throw LimitExceeded("places of a text in linked grammars", kMaxPlaces);
        }
        within.at->rollback(1);
    }
}

void LinkedMatcher::add_ended(const Place& place, Places& out) {
    if (!place.below) return;
    Matcher end(*place.at);
    if (end.accept_bytes(kSpelledEnd)) out.push_back(place.below->place.copy());
}

void LinkedMatcher::add_crossed(const Place& place, Places& out) {
    add_called(place, out);
    add_ended(place, out);
}

void LinkedMatcher::close(Places& places, std::size_t from) {
    for (; from < places.size(); ++from) {
        Places crossed;
        add_crossed(places[from], crossed);
        if (crossed.empty()) continue;
        for (Place& place : crossed) places.push_back(std::move(place));
        drop_equals(places);
        if (places.size() > kMaxPlaces) throw LimitExceeded("places of a text in linked grammars", kMaxPlaces);
    }
}

// Of places with one content the first stays, with the fewest tokens that any of them has counted.
void LinkedMatcher::drop_equals(Places& places) {
    if (places.size() < 2) return;
    std::vector<Word> seen;
    std::size_t n = 0;
    for (Place& place : places) {
        const Word context = context_of(place);
        const auto at = static_cast<std::size_t>(std::find(seen.begin(), seen.end(), context) - seen.begin());
        if (at < seen.size()) {
            places[at].n_tokens = std::min(places[at].n_tokens, place.n_tokens);
            continue;
        }
        seen.push_back(context);
        if (&places[n] != &place) places[n] = std::move(place);
        ++n;
    }
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(n), places.end());
}

void LinkedMatcher::read_across(const Place& place, Bytes bytes, bool token, Places& out) {
    Place within = place.copy();
    Places behind;
    bool alive = true;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (alive) add_crossed(within, behind);
        close(behind);
        const Bytes byte = bytes.subspan(i, 1);
        std::erase_if(behind, [&](Place& b) { return !b.at->accept_bytes(byte); });
        if (token)
            for (Place& b : behind)
                if (counts(b)) b.n_tokens = 1;  // it has begun within this token
        alive = alive && !(token && is_full(within)) && within.at->accept_bytes(byte);
        if (!alive && behind.empty()) return;
    }
    for (Place& b : behind) out.push_back(std::move(b));
}

LinkedMatcher::Places LinkedMatcher::read(Bytes bytes, bool token, bool& crossed) {
    Places out;
    for (const Place& place : top_->places) {
        if (token && is_full(place)) continue;
        Place within = place.copy();
        if (!within.at->accept_bytes(bytes)) continue;
        within.n_tokens += token && counts(within);
        out.push_back(std::move(within));
    }
    const std::size_t n = out.size();
    for (const Place& place : top_->places) read_across(place, bytes, token, out);
    crossed = out.size() > n;
    drop_equals(out);
    return out;
}

bool LinkedMatcher::accept_bytes(Bytes bytes, bool token) {
    bool crossed = false;
    Places after = read(bytes, token, crossed);
    if (after.empty()) return false;
    if (!crossed && after.size() == 1 && top_->places.size() == 1 && !counts(after[0])) {
        Stage& stage = own();
        stage.places[0].at->accept_bytes(bytes);
        ++stage.n_steps;
        ++n_steps_;
        row_ = {};
        return true;
    }
    push(std::move(after), false);
    return true;
}

bool LinkedMatcher::accept_text(Bytes bytes) {
    if (stopped() || has_symbol_byte(bytes)) return false;
    return accept_bytes(bytes, false);
}

std::size_t LinkedMatcher::accept_prefix(Bytes bytes) {
    if (stopped()) return 0;
    // Where a text has a continuation all its beginnings have one.
    std::size_t low = 0, high = bytes.size();
    while (low < high) {
        const std::size_t middle = (low + high + 1) / 2;
        bool crossed = false;
        const Bytes some = bytes.first(middle);
        if (!has_symbol_byte(some) && !read(some, false, crossed).empty())
            low = middle;
        else
            high = middle - 1;
    }
    if (low > 0) accept_bytes(bytes.first(low), false);
    return low;
}

// The places after a token that is asked for as such. Each machine has its own symbols.
LinkedMatcher::Places LinkedMatcher::as_itself(TokenId token) {
    Places all = copies(top_->places);
    close(all);
    std::erase_if(all, [&](Place& place) {
        const Word* symbols = place.at->machine()->vocabulary().symbols;
        if (!symbols || symbols[token.index()] < 0 || is_full(place)) return true;
        place.n_tokens += counts(place);
        return !place.at->accept_bytes(spelled_symbol(symbols[token.index()]));
    });
    drop_equals(all);
    return all;
}

bool LinkedMatcher::accept(TokenId token) {
    if (stopped() || token.v < 0 || token.v >= base_->vocabulary().size) return false;
    const bool stops = std::find(stops_->begin(), stops_->end(), token) != stops_->end();
    if (!stops && row_ && !near_ && top_->places.size() == 1 && !counts(top_->places[0])) {
        Stage& stage = own();
        if (!stage.places[0].at->accept(token)) return false;
        ++stage.n_steps;
        ++n_steps_;
        row_ = {};
        return true;
    }
    Places after = machine_->speaks_of_tokens() ? as_itself(token) : Places();
    bool crossed = false;
    if (!stops && machine_->tokens().is_text(token)) {
        const Bytes text = base_->vocabulary().text(token);
        if (after.empty() && !has_symbol_byte(text)) return accept_bytes(text, true);
        if (!has_symbol_byte(text))
            for (Place& place : read(text, true, crossed)) after.push_back(std::move(place));
        drop_equals(after);
    }
    if (!after.empty()) {
        const bool over = stops && !terminates_when_complete_ && complete(after);
        push(std::move(after), over);
        return true;
    }
    if (!stops || terminates_when_complete_ || !complete(top_->places)) return false;
    push(copies(top_->places), true);
    return true;
}

bool LinkedMatcher::complete(const Places& places) {
    Places all = copies(places);
    close(all);
    return std::any_of(all.begin(), all.end(),
                       [](const Place& place) { return !place.below && Matcher(*place.at).accept_bytes(kSpelledEnd); });
}

bool LinkedMatcher::is_complete() { return stopped() || complete(top_->places); }

std::string LinkedMatcher::forced_text() {
    if (stopped()) throw MatcherError("the matcher has terminated: a stop token was accepted; rollback() or reset() it first");
    // A boundary is a choice to the matcher of a part, unless it is all there is.
    if (top_->places.size() > 1) return {};
    return own().places[0].at->forced_text();
}

std::vector<Terminal> LinkedMatcher::expected_terminals() {
    Places all = copies(top_->places);
    close(all);
    std::vector<Terminal> out;
    for (Place& place : all) {
        Word first = 0;
        for (Word part = LinkedMachine::kFrame; part < place.part; ++part) first += machine_->at(part)->lr().n_terminals;
        for (Terminal t : place.at->expected_terminals()) out.push_back({first + t.v});
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

// --- masks

MaskRow LinkedMatcher::mask_row() {
    if (stopped()) throw MatcherError("the matcher has terminated: a stop token was accepted; rollback() or reset() it first");
    refresh();
    if (row_) return *row_;
    bool complete = false;
    near_ = false;
    Maybe<MaskRow> row;
    for (Place& place : own().places) {
        const auto of = known(place);
        near_ |= of.near;
        complete |= of.complete;
        row = row ? base_->row_union(*cache_, *row, of.row) : of.row;
    }
    row_ = with_stops(*row, complete);
    return *row_;
}

// The row with what the stop tokens are here.
MaskRow LinkedMatcher::with_stops(MaskRow row, bool complete) {
    if (text_or_itself_.empty()) return base_->with_stops(*cache_, row, stop_sets_[complete]);
    std::vector<TokenId> asked;
    for (TokenId token : text_or_itself_)
        if (!as_itself(token).empty()) asked.push_back(token);
    const bool may_end = complete && !terminates_when_complete_;
    return base_->with_stops(*cache_, row, base_->add_stop_set(may_end, *stops_, asked));
}

LinkedMachine::Known LinkedMatcher::known(const Place& place) {
    const MaskRow inner = place.at->mask_row();
    const auto& of = place.at->shared_cache();
    if (const auto found = machine_->find(*cache_, of, {place.part, inner, -1}); found && !found->near && !is_full(place))
        return *found;
    Word context = place.below ? place.below->context : context_of(place);
    if (is_full(place) && context >= 0) context = machine_->context({kFull, context});
    if (const auto found = machine_->find(*cache_, of, {place.part, inner, context})) return *found;
    before_long_work();
    return own_row(place, inner, context);
}

// The row of a place: what its own machine allows, what goes over a boundary within a token, and what goes on behind boundaries at which
// the text is now.
LinkedMachine::Known LinkedMatcher::own_row(const Place& place, MaskRow inner, Word context) {
    const auto of = place.at->shared_cache();
    const std::size_t n = place.at->machine()->n_words();
    auto words = std::make_unique_for_overwrite<std::uint32_t[]>(n);
    place.at->cache().rows.copy(inner, words.get());
    const auto near = machine_->boundaries(place.part, words.get());
    LinkedMachine::Known result{};
    const auto ends_text = [&](const LinkedMachine::Boundary& b) { return !place.below && !b.is_call && b.before.empty(); };
    result.complete = std::any_of(near.begin(), near.end(), ends_text);
    result.near = !std::all_of(near.begin(), near.end(), ends_text);
    if (!result.near && !is_full(place)) return machine_->add(*cache_, of, {place.part, inner, -1}, words, result);
    // That a boundary is near is so in every context.
    auto own = std::make_unique_for_overwrite<std::uint32_t[]>(n);
    std::copy_n(words.get(), n, own.get());
    machine_->add(*cache_, of, {place.part, inner, -1}, own, result);
    bool is_here = false;
    const bool full = is_full(place);
    if (full) std::fill_n(words.get(), n, 0);
    for (const auto& boundary : near) {
        if (ends_text(boundary)) continue;
        if (boundary.before.empty()) {
            is_here = true;
            continue;
        }
        if (full) continue;
        Place at = place.copy();
        if (!at.at->accept_bytes(boundary.before)) continue;
        Places behind;
        if (boundary.is_call)
            add_called(at, behind);
        else
            add_ended(at, behind);
        add_tokens(boundary.before, std::move(behind), words.get());
    }
    if (is_here) {
        Places behind;
        add_crossed(place, behind);
        close(behind);
        for (Place& next : behind) {
            const MaskRow row = next.at->mask_row();
            const std::size_t wide = next.at->machine()->n_words();
            auto bits = std::make_unique_for_overwrite<std::uint32_t[]>(wide);
            next.at->cache().rows.copy(row, bits.get());
            for (const auto& boundary : machine_->boundaries(next.part, bits.get())) {
                if (boundary.before.empty()) {
                    result.complete |= !next.below && !boundary.is_call;
                    continue;
                }
                Place at = next.copy();
                if (!at.at->accept_bytes(boundary.before)) continue;
                Places further;
                if (boundary.is_call)
                    add_called(at, further);
                else
                    add_ended(at, further);
                add_tokens(boundary.before, std::move(further), words.get());
            }
            for (std::size_t i = 0; i < base_->n_words(); ++i) words[i] |= bits[i];
        }
    }
    return machine_->add(*cache_, of, {place.part, inner, context}, words, result);
}

void LinkedMatcher::add_tokens(Bytes before, Places places, std::uint32_t* words) {
    const VocabularyIndex& index = machine_->tokens();
    // The node of `before`.
    VocabularyNode node{0}, end = index.end();
    std::size_t depth = 0;
    while (depth < before.size()) {
        while (node < end && index[node].byte != before[depth]) node = index[node].end;
        if (!(node < end)) return;
        if (++depth == before.size()) break;
        end = index[node].end;
        ++node.v;
    }
    if (depth == 0) return;
    // Below it, with the places that each node's text leads to.
    const VocabularyNode stop = index[node].end;
    std::vector<Places> path;
    close(places);
    path.push_back(std::move(places));
    std::size_t n_read = 0;
    for (VocabularyNode n{node.v + 1}; n < stop;) {
        const auto& at = index[n];
        path.resize(at.depth - before.size());
        Places next;
        for (const Place& place : path.back()) {
            if (++n_read > kMaxRead) throw LimitExceeded("bytes read behind boundaries for one mask", kMaxRead);
            Place after = place.copy();
            if (after.at->accept_bytes({&at.byte, 1})) next.push_back(std::move(after));
        }
        if (next.empty()) {
            n = at.end;
            continue;
        }
        close(next);
        for (Word i = at.first_token; i < index.own_tokens_end(n); ++i) set_bit(words, index.token_at(i));
        path.push_back(std::move(next));
        ++n.v;
    }
}

}  // namespace psc
