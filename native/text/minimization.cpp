// The coarsest partition of an automaton's states, and the automaton of its blocks.
//
// The first partition is by the lengths of a state's shortest and longest texts, which for most automata is nearly the last one. A
// block is then split by its states' signatures: their arcs with blocks in place of states. After a split, all parts but the
// largest count as moved, and only states with an arc into a moved part are examined again. Arcs are ranges, so a signature merges
// arcs that touch and lead to the same block; no alphabet of classes is needed (base/partition.hpp has one).
//
// Cost: a state is examined O(log n) times for each of its arcs.
#include <algorithm>

#include "base/cancellation.hpp"
#include "text/automaton.hpp"

namespace psc {

namespace {

class TextPartition {
public:
    explicit TextPartition(const TextAutomaton& a)
        : a_(a), lengths_(lengths_of(a)), block_(a.size(), -1), position_(a.size()), sources_(sources_of(a)) {
        PairMap known;
        std::vector<Word> first_block(a.size());
        for (Word s = 0; s < a.size(); ++s) {
            watch_.step();
            if (lengths_.least[s] < 0) continue;
            Word b = known.find(lengths_.least[s], lengths_.most[s]);
            if (b < 0) {
                b = static_cast<Word>(known.size());
                known.insert(lengths_.least[s], lengths_.most[s], b);
                blocks_.push_back({});
            }
            block_[s] = b;
            ++blocks_[b].end;
        }
        Word begin = 0;
        for (Block& b : blocks_) {
            b.begin = begin;
            begin += b.end;
            b.end = b.begin;
        }
        order_.resize(begin);
        for (Word s = 0; s < a.size(); ++s)
            if (block_[s] >= 0) place(s, blocks_[block_[s]].end++);
        for (Word b = 0; b < static_cast<Word>(blocks_.size()); ++b)
            if (blocks_[b].size() > 1) {
                blocks_[b].marked = blocks_[b].size();
                blocks_[b].queued = true;
                todo_.push_back(b);
            }
        while (!todo_.empty()) {
            const Word b = todo_.back();
            todo_.pop_back();
            split(b);
        }
    }

    // -1 for a state that does not lead to acceptance.
    Word block(Word state) const { return block_[state]; }

    // A state's arcs, with blocks: flat triples.
    void signature(Word s, std::vector<Word>& out) const {
        out.clear();
        for (Word i = a_.offsets[s]; i < a_.offsets[s + 1]; ++i) {
            const auto& arc = a_.arcs[i];
            const Word to = block_[arc.to];
            if (to < 0) continue;
            const std::size_t n = out.size();
            if (n > 0 && out[n - 1] == to && out[n - 2] == arc.first - 1)
                out[n - 2] = arc.last;
            else
                out.insert(out.end(), {arc.first, arc.last, to});
        }
    }

private:
    // Of order_; the marked ones come first, and are to be looked at.
    struct Block {
        Word begin = 0, end = 0, marked = 0;
        bool queued = false;
        Word size() const { return end - begin; }
    };

    void place(Word s, Word at) {
        order_[at] = s;
        position_[s] = at;
    }

    void mark(Word s) {
        const Word b = block_[s];
        if (b < 0 || blocks_[b].size() == 1) return;
        Block& own = blocks_[b];
        const Word border = own.begin + own.marked;
        if (position_[s] < border) return;
        const Word other = order_[border], at = position_[s];
        place(s, border);
        place(other, at);
        ++own.marked;
        if (!own.queued) {
            own.queued = true;
            todo_.push_back(b);
        }
    }

    void split(Word b) {
        const Word begin = blocks_[b].begin, marked = blocks_[b].marked;
        blocks_[b].marked = 0;
        blocks_[b].queued = false;
        if (signatures_.bytes() > kKeptBytes) {
            signatures_ = SequenceInterner();
            part_of_.clear();
        }
        // The states that are not marked had equal signatures when their block was last split, and none of their targets has moved
        // since: one of them speaks for all, and their part keeps the block's number.
        looked_.clear();
        const bool some_clean = marked < blocks_[b].size();
        Word parts = 0;
        ++round_;
        const auto part = [&](Word s) {
            watch_.step(1 + static_cast<std::size_t>(a_.offsets[s + 1] - a_.offsets[s]));
            signature(s, scratch_);
            const Word id = signatures_.intern(scratch_).first;
            if (id == static_cast<Word>(part_of_.size())) part_of_.emplace_back(0, 0);
            if (part_of_[id].first != round_) part_of_[id] = {round_, parts++};
            return part_of_[id].second;
        };
        if (some_clean) part(order_[begin + marked]);
        for (Word i = begin; i < begin + marked; ++i) looked_.emplace_back(part(order_[i]), order_[i]);
        if (parts == 1) return;
        std::vector<Word>& sizes = sizes_;
        sizes.assign(parts, 0);
        for (const auto& [p, s] : looked_) ++sizes[p];
        const Word keep = some_clean ? 0 : static_cast<Word>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
        // The other parts move to the front, each a block of its own.
        Word at = begin;
        std::vector<Word>& next = next_;
        next.assign(parts, 0);
        const Word first_fresh = static_cast<Word>(blocks_.size());
        for (Word p = 0; p < parts; ++p) {
            if (p == keep || sizes[p] == 0) continue;
            next[p] = at;
            blocks_.push_back({at, at + sizes[p], 0, false});
            at += sizes[p];
        }
        blocks_[b].begin = next[keep] = at;
        for (const auto& [p, s] : looked_) place(s, next[p]++);
        const Word last_fresh = static_cast<Word>(blocks_.size());
        for (Word f = first_fresh; f < last_fresh; ++f)
            for (Word i = blocks_[f].begin; i < blocks_[f].end; ++i) block_[order_[i]] = f;
        // Marking moves states within their blocks, also those of the fresh ones: the list is made before.
        moved_.assign(order_.begin() + begin, order_.begin() + at);
        for (Word s : moved_)
            for (Word source : sources_[static_cast<std::size_t>(s)]) mark(source);
    }

    static constexpr std::size_t kKeptBytes = 8 << 20;

    const TextAutomaton& a_;
    const TextLengths lengths_;
    std::vector<Word> block_, position_, order_;
    std::vector<Block> blocks_;
    const Grouped<> sources_;
    std::vector<Word> todo_, scratch_, sizes_, next_, moved_;
    std::vector<std::pair<Word, Word>> looked_;  // part, state
    SequenceInterner signatures_;
    std::vector<std::pair<Word, Word>> part_of_;  // per signature: in which round it is which part
    Word round_ = 0;
    CancellationWatch watch_;
};

}  // namespace

TextAutomaton minimal(const TextAutomaton& a) {
    const TextPartition partition(a);
    if (partition.block(0) < 0) return no_text();
    std::vector<Word> number(a.size(), -1), speaker{0};  // per block its new number, per new state one of its old ones
    number[partition.block(0)] = 0;
    TextAutomaton result = TextAutomaton::drafted();
    std::vector<Word> signature;
    for (std::size_t i = 0; i < speaker.size(); ++i) {
        partition.signature(speaker[i], signature);
        for (std::size_t k = 0; k < signature.size(); k += 3) {
            Word& to = number[signature[k + 2]];
            if (to < 0) {
                to = static_cast<Word>(speaker.size());
                // Any state of the block has the arcs; one that the arc leads to is at hand.
                speaker.push_back(a.step(speaker[i], signature[k]));
            }
            result.arcs.push_back({signature[k], signature[k + 1], to});
        }
        result.add_state(a.accepts[speaker[i]]);
    }
    return result;
}

}  // namespace psc
