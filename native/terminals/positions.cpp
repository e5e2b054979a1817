#include "terminals/positions.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace psc {

namespace {

using Node = TerminalPositions::Node;
using Step = TerminalPositions::Kind;
using Code = TerminalPositions::Code;

// One program, appended to the nodes.
class Reader {
public:
    Reader(std::vector<Node>& nodes, SequenceInterner& lists, std::span<const Word> words, Word n_sets, Word n_terminals,
           std::size_t limit)
        : nodes_(nodes), lists_(lists), words_(words), n_sets_(n_sets), n_terminals_(n_terminals), limit_(limit) {}

    // False when the limit is exceeded. `entries` gets the start of the language, and then that of its exceptions.
    bool read(std::vector<Word>& entries, Word part, Word excepted_part) {
        if (!words_.empty() && words_[0] == Code::elsewhere) {
            require(words_.size() == 1);
            return true;
        }
        entries.push_back(here());
        if (!words_.empty() && words_[0] == Code::labelled) {
            ++at_;
            read_labelled();
            require(at_ == words_.size());
            return nodes_.size() <= limit_;
        }
        if (!words_.empty() && words_[0] == Code::counted) {
            read_counted(part);
            require(at_ == words_.size());
            return nodes_.size() <= limit_;
        }
        while (at_ < words_.size()) {
            const Word code = take();
            if (code == Code::except) {
                require(frames_.empty());
                add(Step::match, part);
                part = excepted_part;
                entries.push_back(here());
            } else {
                step(code);
            }
            if (nodes_.size() > limit_) return false;
        }
        require(frames_.empty());
        add(Step::match, part);
        return nodes_.size() <= limit_;
    }

    // Of a program that counts.
    std::optional<TerminalPositions::Counted>& counted() { return counted_; }

private:
    struct Frame {
        Code code;
        Word from;          // its first node
        Word least, most;   // of a repetition
        Word options;       // of a choice, still to come
        std::size_t jumps;  // where a choice's jumps begin
    };

    static void require(bool sound) {
        if (!sound) throw std::invalid_argument("not a program of an expression");
    }

    Word take() {
        require(at_ < words_.size());
        return words_[at_++];
    }

    Word here() const { return static_cast<Word>(nodes_.size()); }
    void add(Step kind, Word a, Word b = -1) { nodes_.push_back({kind, a, b}); }

    void step(Word code) {
        switch (code) {
            case Code::characters: {
                for (Word n = take(); n > 0; --n) {
                    const Word set = take();
                    require(set >= 0 && set < n_sets_);
                    add(Step::character, set, here() + 1);
                }
                break;
            }
            case Code::choice:
                open_choice(take());
                break;
            case Code::next:
                close_option();
                break;
            case Code::repeat: {
                const Word least = take(), most = take();
                require(least >= 0 && (most == -1 || most >= least));
                frames_.push_back({Code::repeat, here(), least, most, 0, 0});
                if (least == 0) add(Step::split, -1);
                break;
            }
            case Code::automaton:
                read_automaton();
                break;
            case Code::end: {
                require(!frames_.empty());
                const Frame frame = frames_.back();
                if (frame.code == Code::choice) {
                    require(frame.options == 1);
                    for (std::size_t i = frame.jumps; i < jumps_.size(); ++i) nodes_[jumps_[i]].a = here();
                    jumps_.resize(frame.jumps);
                } else {
                    close_repeat(frame);
                }
                frames_.pop_back();
                break;
            }
            default:
                require(false);
        }
    }

    // k - 1 splits, each to an option and to the next split; the last to the last two options.
    void open_choice(Word k) {
        require(k >= 0 && static_cast<std::size_t>(k) <= words_.size());
        if (k == 0) {
            add(Step::split, -1);
            return;
        }
        frames_.push_back({Code::choice, here(), 0, 0, k, jumps_.size()});
        for (Word i = 0; i + 1 < k; ++i) add(Step::split, -1, here() + 1);
        if (k > 1) nodes_[frames_.back().from].a = here();
    }

    void close_option() {
        require(!frames_.empty() && frames_.back().code == Code::choice && frames_.back().options > 1);
        Frame& frame = frames_.back();
        jumps_.push_back(here());
        add(Step::split, -1);
        const Word split = frame.from++;
        if (--frame.options > 1)
            nodes_[split + 1].a = here();
        else
            nodes_[split].b = here();
    }

    void copy(Word from, Word to) {
        const Word shift = here() - from;
        for (Word i = from; i < to; ++i) {
            Node node = nodes_[i];
            if (node.kind == Step::split && node.a >= 0) node.a += shift;
            if (node.b >= 0) node.b += shift;
            nodes_.push_back(node);
        }
    }

    void close_repeat(const Frame& f) {
        if (f.most == 0) {
            nodes_.resize(f.from);
            return;
        }
        const Word body = f.from + (f.least == 0 ? 1 : 0), body_end = here();
        const std::size_t copies = f.most < 0 ? std::max(f.least, Word{1}) : f.most;
        const std::size_t size = static_cast<std::size_t>(body_end - body) + 1;
        if (copies > limit_ / size) {  // the caller stops at this size
            nodes_.resize(limit_ + 1, {Step::split, -1, -1});
            return;
        }
        nodes_.reserve(f.from + copies * size + 1);
        Word last = body;
        for (Word i = 1; i < f.least; ++i) {
            last = here();
            copy(body, body_end);
        }
        if (f.most < 0) {
            if (f.least == 0) {
                nodes_[f.from] = {Step::split, body, here() + 1};
                add(Step::split, f.from);
            } else {
                add(Step::split, last, here() + 1);
            }
            return;
        }
        const Word optional = f.most - f.least - (f.least == 0 ? 1 : 0);
        const Word end = here() + optional * static_cast<Word>(size);
        if (f.least == 0) nodes_[f.from] = {Step::split, body, end};
        for (Word i = 0; i < optional; ++i) {
            add(Step::split, here() + 1, end);
            copy(body, body_end);
        }
    }

    void read_automaton() {
        const Word n = take(), k = take();
        require(n > 0 && k >= 0 && static_cast<std::size_t>(n) + 3 * static_cast<std::size_t>(k) <= words_.size() - at_);
        std::vector<Word> ends(words_.begin() + static_cast<std::ptrdiff_t>(at_),
                               words_.begin() + static_cast<std::ptrdiff_t>(at_) + n);
        for (Word& e : ends) e = e ? 0 : -1;
        at_ += n;
        read_arcs(n, k, ends);
    }

    void read_counted(Word terminal) {
        ++at_;
        const Word first = here(), least = take(), most = take();
        require(least >= 0 && most >= -1 && (most < 0 || most >= least) && take() == Code::automaton);
        const Word n = take(), k = take();
        require(n > 0 && k >= 0 && static_cast<std::size_t>(n) + 3 * static_cast<std::size_t>(k) <= words_.size() - at_);
        std::vector<Word> ends;
        std::vector<char> counts, accepts;
        for (const Word flag : words_.subspan(at_, n)) {
            require(flag >= 0 && flag < 4);
            ends.push_back(flag & 1 ? 0 : -1);
            accepts.push_back((flag & 1) != 0);
            counts.push_back((flag & 2) != 0);
        }
        at_ += n;
        const auto words = words_.subspan(at_, 3 * k);
        const std::vector<Word> start = read_arcs(n, k, ends);
        std::vector<CompletionLengths::Arc> arcs;
        for (Word i = 0; i < k; ++i) arcs.push_back({words[3 * i], words[3 * i + 2], counts[words[3 * i + 2]] != 0});
        add(Step::match, terminal);
        counted_ = {terminal, first, here(), least, most, start, std::move(counts), CompletionLengths(n, arcs, accepts)};
    }

    // The states' lists of terminals become nodes after those of the states.
    void read_labelled() {
        const Word n = take(), k = take();
        require(n > 0 && k >= 0 && static_cast<std::size_t>(n) <= words_.size());
        std::vector<Word> ends;
        std::vector<Word> lists;
        for (Word s = 0; s < n; ++s) {
            const Word count = take();
            require(count >= 0 && static_cast<std::size_t>(count) <= words_.size() - at_);
            const auto list = words_.subspan(at_, count);
            at_ += count;
            for (Word t : list) require(t >= 0 && t < n_terminals_);
            if (list.empty()) {
                ends.push_back(-1);
                continue;
            }
            const Word number = lists_.intern(list).first;
            const auto listed = std::find(lists.begin(), lists.end(), number);
            ends.push_back(static_cast<Word>(listed - lists.begin()));
            if (listed == lists.end()) lists.push_back(number);
        }
        read_arcs(n, k, ends);
        for (Word number : lists) add(Step::match_all, number);
    }

    // `ends`: per state which of the nodes after the automaton it may continue at, or -1. The first node of each state.
    std::vector<Word> read_arcs(Word n, Word k, const std::vector<Word>& ends) {
        require(static_cast<std::size_t>(k) <= (words_.size() - at_) / 3);
        const std::span<const Word> arcs = words_.subspan(at_, 3 * k);
        at_ += 3 * k;
        std::vector<std::vector<std::pair<Word, Word>>> leaving(n);  // (set, target)
        for (Word i = 0; i < k; ++i) {
            const Word source = arcs[3 * i], set = arcs[3 * i + 1], target = arcs[3 * i + 2];
            require(source >= 0 && source < n && target >= 0 && target < n && set >= 0 && set < n_sets_);
            leaving[source].emplace_back(set, target);
        }
        const auto is_final = [&](Word s) { return ends[s] >= 0; };
        // A state is its splits, then its characters; one without any is a split to nowhere, or to the end.
        std::vector<Word> start(n + 1, here());
        for (Word s = 0; s < n; ++s) {
            const Word arcs_out = static_cast<Word>(leaving[s].size());
            start[s + 1] = start[s] + (arcs_out == 0 ? 1 : 2 * arcs_out - 1 + (is_final(s) ? 1 : 0));
        }
        for (Word s = 0; s < n; ++s) {
            const Word arcs_out = static_cast<Word>(leaving[s].size()), end = start[n] + ends[s];
            if (arcs_out == 0) {
                add(Step::split, is_final(s) ? end : -1);
                continue;
            }
            const Word splits = arcs_out - (is_final(s) ? 0 : 1), first = start[s] + splits;
            for (Word i = 0; i < splits; ++i) {
                const bool to_end = is_final(s) && i + 1 == splits;
                add(Step::split, to_end ? end : first + i, i + 1 < splits ? here() + 1 : first + arcs_out - 1);
            }
            for (const auto& [set, target] : leaving[s]) add(Step::character, set, start[target]);
        }
        start.pop_back();
        return start;
    }

    std::vector<Node>& nodes_;
    SequenceInterner& lists_;
    std::span<const Word> words_;
    Word n_sets_, n_terminals_;
    std::size_t limit_;
    std::size_t at_ = 0;
    std::vector<Frame> frames_;
    std::vector<Word> jumps_;
    std::optional<TerminalPositions::Counted> counted_;
};

}  // namespace

TerminalPositions::TerminalPositions(std::span<const Word> words, std::span<const Word> offsets, Word n_sets, std::size_t limit)
    : terminals_(static_cast<Word>(offsets.size()) - 1) {
    for (Word t = 0; t < terminals_; ++t) {
        first_.push_back(static_cast<Word>(nodes_.size()));
        const auto program = words.subspan(offsets[t], offsets[t + 1] - offsets[t]);
        labelled_.push_back(!program.empty() && program[0] == Code::labelled);
        const std::size_t n_entries = entries_.size();
        Reader reader(nodes_, lists_, program, n_sets, terminals_, limit);
        if (!reader.read(entries_, t, terminals_ + t)) {
            failed_ = t;
            return;
        }
        if (reader.counted()) counted_.push_back(std::move(*reader.counted()));
        has_exceptions_ |= entries_.size() > n_entries + 1;
    }
}

// Where the least length is reached and the greatest is far, whatever a token leads to can still end, and may. Where both are far,
// what can end soon ends too soon, and what goes on without limit meets a length between the bounds.
Word TerminalPositions::Counted::alike(Word count, Word longest_token) const {
    if (count == kAny) return kAny;
    const std::int64_t after = std::int64_t{count} + longest_token;
    if (most >= 0 && after + lengths.max_shortest() > most) return count;
    if (count >= least) return kAny;
    const bool meets_one = most < 0 || lengths.max_step() <= std::int64_t{most} - least + 1;
    return meets_one && after + std::max(lengths.max_limited(), lengths.max_shortest()) < least ? 0 : count;
}

Word TerminalPositions::terminal_of(Word node) const {
    return static_cast<Word>(std::upper_bound(first_.begin(), first_.end(), node) - first_.begin()) - 1;
}

}  // namespace psc
