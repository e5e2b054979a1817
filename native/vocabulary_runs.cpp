#include "vocabulary_runs.hpp"

namespace psc {

VocabularyRuns::VocabularyRuns(const VocabularyIndex& vocabulary, Kinds kinds) {
    for (VocabularyNode n{0}; n < vocabulary.end(); n = vocabulary[n].end) {
        read_behind(vocabulary, n, kinds);
        if (vocabulary[n].byte != ' ') continue;
        for (VocabularyNode m{n.v + 1}; m < vocabulary[n].end; m = vocabulary[m].end) read_behind(vocabulary, m, kinds);
    }
}

void VocabularyRuns::read_behind(const VocabularyIndex& vocabulary, VocabularyNode head, Kinds kinds) {
    const auto& top = vocabulary[head];
    const bool is_ascii = top.byte < 0x80;
    if (top.end.v - head.v < kLarge || (!is_ascii && (!begins_wide(top.byte) || (top.below & VocabularyIndex::kStray)))) return;
    struct At {
        Word length;  // characters behind the head's, the open one among them
        Utf8Place place;
    };
    std::vector<At> path(vocabulary.max_depth() + 1);
    Behind& out = behind_[head];
    const auto add_own = [&](VocabularyNode n, Word length) {
        const Word first = vocabulary[n].first_token, last = vocabulary.own_tokens_end(n);
        if (first == last) return;
        if (static_cast<std::size_t>(length) >= out.whole.size()) out.whole.resize(static_cast<std::size_t>(length) + 1);
        auto& tokens = out.whole[static_cast<std::size_t>(length)];
        if (!tokens) tokens = std::make_shared<TokenSet>();
        tokens->add(first, last);
    };
    path[top.depth] = {0, is_ascii ? Utf8Place::between : place_after(Utf8Place::between, top.byte)};
    add_own(head, 0);
    const bool takes_wide = (kinds & VocabularyIndex::kWide) && (kinds & VocabularyIndex::kCut);
    for (VocabularyNode n{head.v + 1}; n < top.end;) {
        const auto& node = vocabulary[n];
        At at = path[node.depth - 1u];
        bool leaves = false;
        if (at.place != Utf8Place::between) {  // it fits: else what begins the character has left
            at.place = place_after(at.place, node.byte);
        } else if (node.byte < 0x80) {
            leaves = !(VocabularyIndex::kind(node.byte) & kinds);
            ++at.length;
        } else {
            leaves = !takes_wide || !begins_wide(node.byte) || (node.below & VocabularyIndex::kStray);
            at = {at.length + 1, leaves ? Utf8Place::between : place_after(Utf8Place::between, node.byte)};
        }
        if (leaves || at.length > kLongest) {
            out.exits.push_back({n, path[node.depth - 1u].length});
            n = node.end;
            continue;
        }
        path[node.depth] = at;
        add_own(n, at.length);
        ++n.v;
    }
}

std::size_t VocabularyRuns::bytes() const {
    std::size_t total = sizeof(*this);
    for (const auto& [head, behind] : behind_) {
        total += sizeof(head) + sizeof(behind) + behind.exits.capacity() * sizeof(Exit);
        for (const auto& set : behind.whole) total += set ? set->bytes() : 0;
    }
    return total;
}

}  // namespace psc
