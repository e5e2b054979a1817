#include "vocabulary/runs.hpp"

#include "base/long_work.hpp"
#include "text/utf8_positions.hpp"
#include "vocabulary/walk.hpp"

namespace psc {

namespace {

// What several threads read is made by the first who asks.
template <class T, class Make>
const T& made_once(std::mutex& mutex, std::atomic<const T*>& known, std::unique_ptr<const T>& owner, Make make) {
    if (const T* made = known.load(std::memory_order_acquire)) return *made;
    before_long_work();
    const PatientLock lock(mutex);
    if (!owner) {
        owner = make();
        known.store(owner.get(), std::memory_order_release);
    }
    return *owner;
}

std::size_t bytes_of(const std::shared_ptr<TokenSet>& set, std::size_t n_words) {
    return set ? set->bytes() + (set->bits ? n_words * 4 : 0) : 0;
}

}  // namespace

bool VocabularyRuns::takes(VocabularyNode node) const {
    namespace kind = character_kinds;
    const auto& at = vocabulary_[node];
    if (at.byte < 0x80) return kind::of(at.byte) & kinds_;
    const bool takes_wide = (kinds_ & kind::kWide) && (kinds_ & kind::kCut);
    return takes_wide && begins_wide(at.byte) && !(at.below & kind::kStray);
}

// Calls take(first, last, state) for the tokens within the run, and leave(node, length before it) for nodes that leave it. `path`:
// by depth, with what is above the first node.
template <class Take, class Leave>
void VocabularyRuns::read(VocabularyNode first, VocabularyNode end, std::vector<Reading>& path, Take take, Leave leave) const {
    const auto visit = [&](const VocabularyIndex::Node& node, VocabularyNode n, Reading before, Reading& after) {
        bool leaves = false;
        after = before;
        if (before.position != Utf8Position::between) {  // it fits: else what begins the character has left
            after.position = position_after(before.position, node.byte);
        } else {
            leaves = !takes(n);
            ++after.length;
            if (node.byte >= 0x80 && !leaves) after.position = position_after(Utf8Position::between, node.byte);
        }
        if (!leaves && after.length <= kLongest) return Below::enter;
        leave(n, before.length);
        return Below::skip;
    };
    walk(vocabulary_.trie(), first, end, path, visit, take);
}

void VocabularyRuns::read_behind(VocabularyNode head, Heads& heads) const {
    const auto& top = vocabulary_[head];
    const bool is_ascii = top.byte < 0x80;
    if (top.end.v - head.v < kLarge || (!is_ascii && (!begins_wide(top.byte) || (top.below & character_kinds::kStray)))) return;
    std::vector<Reading> path(vocabulary_.max_depth() + 1);
    Behind& out = heads[head];
    const auto take = [&](Word first, Word last, Reading state) {
        const auto length = static_cast<std::size_t>(state.length);
        if (length >= out.whole.size()) out.whole.resize(length + 1);
        if (!out.whole[length]) out.whole[length] = std::make_shared<TokenSet>();
        out.whole[length]->add(first, last);
    };
    path[top.depth] = {0, is_ascii ? Utf8Position::between : position_after(Utf8Position::between, top.byte)};
    if (const Word last = vocabulary_.own_tokens_end(head); last != top.first_token) take(top.first_token, last, path[top.depth]);
    read({head.v + 1}, top.end, path, take, [&](VocabularyNode n, Word length) { out.exits.push_back({n, length}); });
    for (const auto& tokens : out.whole)
        if (tokens) vocabulary_.make_ready(*tokens);
}

std::unique_ptr<const VocabularyRuns::Heads> VocabularyRuns::read_heads() const {
    auto heads = std::make_unique<Heads>();
    for (VocabularyNode n{0}; n < vocabulary_.end(); n = vocabulary_[n].end) {
        read_behind(n, *heads);
        if (vocabulary_[n].byte != ' ') continue;
        for (VocabularyNode m{n.v + 1}; m < vocabulary_[n].end; m = vocabulary_[m].end) read_behind(m, *heads);
    }
    std::size_t total = 0;
    for (const auto& [head, behind] : *heads) {
        total += sizeof(head) + sizeof(behind) + behind.exits.capacity() * sizeof(Exit);
        for (const auto& set : behind.whole) total += bytes_of(set, vocabulary_.n_words());
    }
    bytes_.fetch_add(total, std::memory_order_relaxed);
    return heads;
}

const VocabularyRuns::Behind* VocabularyRuns::behind(VocabularyNode head) const {
    const Heads& heads = made_once(lock_, heads_, heads_owner_, [&] { return read_heads(); });
    const auto it = heads.find(head);
    return it == heads.end() ? nullptr : &it->second;
}

std::unique_ptr<const VocabularyRuns::All> VocabularyRuns::read_all() const {
    auto all = std::make_unique<All>();
    for (auto& tokens : all->whole) tokens = std::make_shared<TokenSet>();
    all->whole_of_any = std::make_shared<TokenSet>();
    std::array<std::vector<VocabularyNode>, kLongest + 1> left;
    std::vector<Reading> path(vocabulary_.max_depth() + 1);
    path[0] = {0, Utf8Position::between};
    const auto take = [&](Word first, Word last, Reading state) {
        all->whole[static_cast<std::size_t>(state.length)]->add(first, last);
        all->whole_of_any->add(first, last);
    };
    read({0}, vocabulary_.end(), path, take,
         [&](VocabularyNode n, Word length) { left[static_cast<std::size_t>(length)].push_back(n); });
    std::vector<VocabularyNode> of_any;
    for (std::size_t length = 1; length <= kLongest; ++length)
        of_any.insert(of_any.end(), left[length].begin(), left[length].end());
    all->rests_of_any = std::make_unique<TokenRests>(vocabulary_, std::move(of_any));
    for (auto& nodes : left) all->rests.emplace_back(vocabulary_, std::move(nodes));
    vocabulary_.make_ready(*all->whole_of_any);
    std::size_t total = sizeof(All) + all->rests_of_any->bytes() + bytes_of(all->whole_of_any, vocabulary_.n_words());
    for (std::size_t length = 0; length <= kLongest; ++length) {
        vocabulary_.make_ready(*all->whole[length]);
        total += all->rests[length].bytes() + bytes_of(all->whole[length], vocabulary_.n_words());
    }
    bytes_.fetch_add(total, std::memory_order_relaxed);
    return all;
}

const VocabularyRuns::All& VocabularyRuns::all() const {
    return made_once(lock_, all_, all_owner_, [&] { return read_all(); });
}

}  // namespace psc
