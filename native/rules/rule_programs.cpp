#include "rules/rule_programs.hpp"

#include "base/cancellation.hpp"

#include <limits>
#include <stdexcept>

#include "text/automaton.hpp"
#include "text/token_symbols.hpp"

namespace psc {

namespace {

constexpr std::int64_t kLastCodePoint = kAfterSymbols - 1, kMaxCounted = std::int64_t{1} << 30;

[[noreturn]] void malformed(const char* what) { throw std::invalid_argument(std::string("malformed rule programs: ") + what); }

}  // namespace

void RulePrograms::check() const {
    const auto n = static_cast<std::int64_t>(words.size());
    if (offsets.empty() || offsets.front() != 0 || offsets.back() != n) malformed("offsets");
    if (names.size() >= static_cast<std::size_t>(std::numeric_limits<Word>::max())) malformed("too many names");
    if (names.size() + 1 < offsets.size() || root.v < 0 || root.index() >= names.size()) malformed("names");
    CancellationWatch watch;
    for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
        if (offsets[r] > offsets[r + 1] || offsets[r + 1] > n) malformed("offsets");
        std::int64_t depth = 0, at = offsets[r];
        const std::int64_t end = offsets[r + 1];
        const auto take = [&] {
            if (at >= end) malformed("an expression ends early");
            return words[at++];
        };
        const auto below = [&](std::int64_t limit) {
            const std::int64_t w = take();
            if (w < 0 || w >= limit) malformed("a number is out of range");
            return w;
        };
        while (at < end) {
            watch.step();
            switch (take()) {
                case text:
                    for (std::int64_t k = below(n + 1); k > 0; --k) below(kLastCodePoint + 1);
                    ++depth;
                    break;
                case chars: {
                    std::int64_t least = 0;
                    for (std::int64_t k = below(n + 1); k > 0; --k) {
                        const std::int64_t first = below(kLastCodePoint + 1), last = below(kLastCodePoint + 1);
                        if (first < least || last < first) malformed("ranges are not ascending");
                        least = last + 1;
                    }
                    ++depth;
                    break;
                }
                case sequence:
                case choice:
                    depth -= below(depth + 1) - 1;
                    break;
                case repeat: {
                    const std::int64_t fewest = below(std::numeric_limits<std::int64_t>::max()), most = take();
                    if (depth < 1 || most < -1 || (most >= 0 && most < fewest)) malformed("a repetition");
                    break;
                }
                case reference:
                    below(static_cast<std::int64_t>(names.size()));
                    ++depth;
                    break;
                case automaton:
                case counted: {
                    const bool counts = words[static_cast<std::size_t>(at - 1)] == counted;
                    const std::int64_t states = below(n + 1), arcs = below(n + 1);
                    if (states < 1) malformed("an automaton without states");
                    if (counts) {
                        const std::int64_t fewest = below(kMaxCounted), most = take();
                        if (most < -1 || most >= kMaxCounted || (most >= 0 && most < fewest)) malformed("bounds of a length");
                    }
                    for (std::int64_t i = 0; i < states; ++i) below(counts ? 4 : 2);
                    std::int64_t last_from = 0, least = 0;
                    for (std::int64_t i = 0; i < arcs; ++i) {
                        const std::int64_t from = below(states);
                        if (from < last_from) malformed("arcs are not ascending");
                        if (from > last_from) least = 0;
                        const std::int64_t first = below(kLastCodePoint + 1), last = below(kLastCodePoint + 1);
                        if (first < least || last < first) malformed("arcs are not ascending");
                        below(states);
                        last_from = from;
                        least = last + 1;
                    }
                    ++depth;
                    break;
                }
                default:
                    malformed("there is no such code");
            }
        }
        if (depth != 1) malformed("a rule is not one expression");
    }
}

bool RulePrograms::has_counted() const {
    for (const std::int64_t* code = words.data(); code < words.data() + words.size(); code += size_at(code))
        if (*code == counted) return true;
    return false;
}

std::vector<std::int64_t> written_out(Bounds bounds, std::span<const std::int64_t> flags, std::span<const std::int64_t> arcs) {
    TextAutomaton texts = TextAutomaton::drafted();
    std::vector<char> counts;
    std::size_t next = 0;
    for (std::size_t s = 0; s < flags.size(); ++s) {
        for (; next < arcs.size() && arcs[next] == static_cast<std::int64_t>(s); next += 4)
            texts.add_arc(static_cast<Word>(arcs[next + 1]), static_cast<Word>(arcs[next + 2]), static_cast<Word>(arcs[next + 3]));
        texts.add_state((flags[s] & 1) != 0);
        counts.push_back((flags[s] & 2) != 0);
    }
    const TextAutomaton made = with_count(texts, counts, bounds.least, bounds.most);
    std::vector<std::int64_t> words{RulePrograms::automaton, made.size(), static_cast<std::int64_t>(made.arcs.size())};
    words.insert(words.end(), made.accepts.begin(), made.accepts.end());
    for (Word s = 0; s < made.size(); ++s)
        for (Word k = made.offsets[static_cast<std::size_t>(s)]; k < made.offsets[static_cast<std::size_t>(s) + 1]; ++k) {
            const auto& arc = made.arcs[static_cast<std::size_t>(k)];
            words.insert(words.end(), {s, arc.first, arc.last, arc.to});
        }
    return words;
}

RulePrograms RulePrograms::written_out() const {
    RulePrograms out = *this;
    out.words.clear();
    out.offsets.assign(1, 0);
    for (Word r = 0; r < n_defined(); ++r) {
        const auto program = of({r});
        for (const std::int64_t* code = program.data(); code < program.data() + program.size(); code += size_at(code)) {
            if (*code != counted) {
                out.words.insert(out.words.end(), code, code + size_at(code));
                continue;
            }
            const auto n = static_cast<std::size_t>(code[1]), k = static_cast<std::size_t>(code[2]);
            const auto made = psc::written_out({code[3], code[4]}, {code + 5, n}, {code + 5 + n, 4 * k});
            out.words.insert(out.words.end(), made.begin(), made.end());
        }
        out.offsets.push_back(static_cast<std::int64_t>(out.words.size()));
    }
    return out;
}

}  // namespace psc
