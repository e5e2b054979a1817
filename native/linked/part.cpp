#include "linked/part.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/components.hpp"
#include "base/errors.hpp"
#include "base/long_work.hpp"
#include "lexer/kinds.hpp"
#include "lr/boundary_bytes.hpp"
#include "lr/lalr.hpp"
#include "machine/lazy_machine.hpp"
#include "rules/joined_rules.hpp"
#include "rules/lowering.hpp"
#include "terminals/nfa.hpp"
#include "text/token_symbols.hpp"

namespace psc {

namespace {

constexpr std::size_t kMaxWords = 50'000;
constexpr std::int64_t kMaxPositionsOfPart = 20'000;  // a tenth of what any limit allows
constexpr std::int64_t kMaxTimes = 1'000'000'000;
constexpr std::int64_t kPositionsOfABit = 20;  // of a count that productions make (rules/repetition.hpp), with these productions
constexpr std::size_t kMaxRounds = 64;         // that rules of a circle are looked at
constexpr const char* kNameOfPart = "text";

// Facts about a rule, or about an expression in it.
struct Outlook {
    // Characters, sets of them and arcs, references written out, and repetitions as far as lowering writes them; at most too many.
    std::int64_t positions = 0;
    std::int64_t times = 1;  // how often something in it is repeated, repetitions inside each other multiplied; at most too often
    bool matches = false;    // some text, as far as was computed
    bool speaks_of_tokens = false;
};

std::int64_t bounded(std::int64_t positions) { return std::min(positions, kMaxPositionsOfPart + 1); }

bool too_large(const Outlook& found) { return found.positions > kMaxPositionsOfPart || found.times > kMaxTimes; }

// A body repeated. Where a terminal would have more of it than `counted`, productions count.
void repeat_outlook(Outlook& body, std::int64_t times, std::int64_t counted) {
    if (times > kMaxTimes || body.times > kMaxTimes / times) {
        body.times = kMaxTimes + 1;
        return;
    }
    body.times *= times;
    const std::int64_t written = body.positions * times;
    const auto bits = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(times)));
    body.positions = bounded(written <= counted ? written : std::min(written, body.positions + bits * kPositionsOfABit));
}

bool has_symbol(const std::int64_t* last_code_point) { return *last_code_point >= kFirstSymbol; }

// Whether an automaton has a text.
bool has_text(const std::int64_t* code) {
    const std::int64_t n_states = code[1], n_arcs = code[2];
    const std::int64_t* const accepts = code + 3;
    const std::int64_t* const arcs = accepts + n_states;
    std::vector<char> reached(static_cast<std::size_t>(n_states), 0);
    std::vector<std::int64_t> first(static_cast<std::size_t>(n_states) + 1, 0), stack{0};
    for (std::int64_t a = 0; a < n_arcs; ++a) ++first[static_cast<std::size_t>(arcs[4 * a]) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    reached[0] = 1;
    while (!stack.empty()) {
        const auto state = static_cast<std::size_t>(stack.back());
        stack.pop_back();
        if (accepts[state]) return true;
        for (std::int64_t a = first[state]; a < first[state + 1]; ++a) {
            const std::int64_t to = arcs[4 * a + 3];
            if (std::exchange(reached[static_cast<std::size_t>(to)], 1)) continue;
            stack.push_back(to);
        }
    }
    return false;
}

Outlook outlook_of(std::span<const std::int64_t> words, std::span<const Outlook> of_rules, std::int64_t counted) {
    std::vector<Outlook> stack;
    for (const std::int64_t* code = words.data(); code < words.data() + words.size(); code += RulePrograms::size_at(code)) {
        const std::int64_t n = code[1];
        Outlook found;
        switch (*code) {
            case RulePrograms::text:
                found = {bounded(n), 1, true,
                         std::any_of(code + 2, code + 2 + n, [](std::int64_t c) { return c >= kFirstSymbol; })};
                break;
            case RulePrograms::chars:
                found = {1, 1, n > 0, n > 0 && has_symbol(code + 1 + 2 * n)};
                break;
            case RulePrograms::automaton: {
                const std::int64_t* const arcs = code + 3 + n;
                found = {bounded(code[2]), 1, has_text(code), false};
                for (std::int64_t a = 0; a < code[2]; ++a) found.speaks_of_tokens |= has_symbol(arcs + 4 * a + 2);
                break;
            }
            case RulePrograms::counted:  // there is a text of such a length, or no rule
                found = {bounded(code[2]), 1, true, false};
                break;
            case RulePrograms::reference:
                found = of_rules[static_cast<std::size_t>(n)];
                break;
            case RulePrograms::repeat: {
                found = stack.back();
                stack.pop_back();
                repeat_outlook(found, std::max<std::int64_t>({code[1], code[2], 1}), counted);
                found.matches |= code[1] == 0;
                break;
            }
            default: {
                const bool all = *code == RulePrograms::sequence;
                found.matches = all;
                for (auto part = stack.end() - n; part != stack.end(); ++part) {
                    found.positions = bounded(found.positions + part->positions);
                    found.times = std::max(found.times, part->times);
                    found.matches = all ? found.matches && part->matches : found.matches || part->matches;
                    found.speaks_of_tokens |= part->speaks_of_tokens;
                }
                stack.resize(stack.size() - static_cast<std::size_t>(n));
                break;
            }
        }
        stack.push_back(found);
    }
    return stack.back();
}

// The rules that each one refers to.
std::vector<std::vector<Word>> references(const RulePrograms& rules) {
    std::vector<std::vector<Word>> out(rules.names.size());
    for (Word r = 0; r < rules.n_defined(); ++r) {
        const auto words = rules.of({r});
        for (const std::int64_t* code = words.data(); code < words.data() + words.size(); code += RulePrograms::size_at(code))
            if (*code == RulePrograms::reference) out[static_cast<std::size_t>(r)].push_back(static_cast<Word>(code[1]));
    }
    return out;
}

// The rule of a text and the end of the part behind it.
RulePrograms outer_rules() {
    RulePrograms outer;
    outer.words = {RulePrograms::reference, 1, RulePrograms::chars, 1, kFirstSymbol + kEndOfPart, kFirstSymbol + kEndOfPart,
                   RulePrograms::sequence,  2};
    outer.offsets = {0, static_cast<std::int64_t>(outer.words.size())};
    outer.names.push_back("root");
    outer.names.push_back(kNameOfPart);
    outer.root = {0};
    return outer;
}

}  // namespace

std::shared_ptr<VocabularyIndex> PartVocabularies::with_ends(const ByteSet& last, std::vector<Word> symbols) {
    static const std::array<ByteSet, 3> common = [] {
        std::array<ByteSet, 3> sets;
        sets[0].set('}');
        for (char end : std::string_view("}]\"0123456789el")) sets[1].set(static_cast<std::uint8_t>(end));
        sets[2].set();
        return sets;
    }();
    std::size_t which = 0;
    while ((last & ~common[which]).any()) ++which;
    const PatientLock lock(lock_);
    auto it = std::find_if(made_.begin(), made_.end(), [&](const Made& m) { return m.which == which && m.symbols == symbols; });
    if (it == made_.end()) {
        before_long_work();
        std::shared_ptr<VocabularyIndex> vocabulary = index_->with_boundaries(&common[which], nullptr, symbols);
        if (made_.size() >= kMaxCached) made_.erase(made_.begin());
        made_.push_back({which, std::move(symbols), std::move(vocabulary)});
    } else {
        std::rotate(it, it + 1, made_.end());
    }
    return made_.back().vocabulary;
}

LinkedPart::LinkedPart(RulePrograms rules, const PartLimits& limits, std::shared_ptr<PartVocabularies> vocabularies)
    : rules_(std::move(rules)), limits_(limits), vocabularies_(std::move(vocabularies)) {
    if (!may_wait(rules_, limits_)) throw std::invalid_argument("these rules may not wait");
}

LinkedPart::LinkedPart(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {
    if (!engine_) throw std::invalid_argument("a part has rules or a machine");
}

bool LinkedPart::may_wait(const RulePrograms& rules, const PartLimits& limits) {
    if (rules.words.size() > kMaxWords || !rules.free_orders.empty()) return false;
    const auto refers_to = references(rules);
    std::vector<Outlook> of_rules(rules.names.size());
    const Word root = rules.root.v;
    for (const auto& group : components(static_cast<Word>(rules.names.size()), {&root, 1},
                                        [&](Word r) { return std::span<const Word>(refers_to[static_cast<std::size_t>(r)]); })) {
        // Rules of a circle need some that does not need them. The others are looked at first.
        bool changed = true;
        for (std::size_t round = 0; changed; ++round) {
            if (round > kMaxRounds) return false;
            changed = false;
            for (Word r : group) {
                if (r >= rules.n_defined()) return false;
                Outlook found = outlook_of(rules.of({r}), of_rules, limits.terminals.counted);
                Outlook& known = of_rules[static_cast<std::size_t>(r)];
                changed |= found.matches != known.matches || found.speaks_of_tokens != known.speaks_of_tokens;
                if (round > 0) {  // what a circle refers to is written out once
                    found.positions = known.positions;
                    found.times = known.times;
                }
                known = found;
            }
        }
        for (Word r : group)
            if (too_large(of_rules[static_cast<std::size_t>(r)])) return false;
    }
    const Outlook& whole = of_rules[rules.root.index()];
    return whole.matches && !whole.speaks_of_tokens;
}

std::shared_ptr<Engine> LinkedPart::made() {
    const PatientLock lock(lock_);
    return engine_;
}

const std::shared_ptr<Engine>& LinkedPart::engine() {
    const PatientLock lock(lock_);
    if (!engine_) {
        before_long_work();
        engine_ = make();
    }
    return engine_;
}

std::shared_ptr<Engine> LinkedPart::make() const {
    const NamedRules part{kNameOfPart, &rules_};
    const LoweredRules lowered = lower(joined_rules(outer_rules(), {&part, 1}), limits_.terminals);
    if (lowered.refusal) throw std::logic_error("the rules of a part match no text");
    const TerminalPrograms programs = lowered.programs();
    const auto terminals = std::make_shared<TerminalNfa>(programs.words(), programs.offsets(), programs.ranges(),
                                                         programs.range_offsets(), limits_.positions);
    if (!terminals->is_sound()) throw LimitExceeded("positions of a part's terminals", limits_.positions);
    const LalrTables lr = lalr_tables_of(lowered);
    const ByteSet last = bytes_before(lr.tables, *terminals, kEndOfPart, 1);
    return std::make_shared<LazyMachine>(lr.tables, make_lexer(lr.tables, terminals), vocabularies_->with_ends(last), 0);
}

std::size_t LinkedPart::bytes() {
    const auto engine = made();
    return rules_.words.size() * sizeof(std::int64_t) + (engine ? engine->bytes() + engine->table_bytes() : 0);
}

}  // namespace psc
