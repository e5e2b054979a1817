#include "vocabulary/runs.hpp"

#include "base/long_work.hpp"

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
    const auto& at = vocabulary_[node];
    if (at.byte < 0x80) return VocabularyIndex::kind(at.byte) & kinds_;
    const bool takes_wide = (kinds_ & VocabularyIndex::kWide) && (kinds_ & VocabularyIndex::kCut);
    return takes_wide && begins_wide(at.byte) && !(at.below & VocabularyIndex::kStray);
}

// Calls own(node, length) for nodes within the run, and leave(node, length before it) for those that leave it. `path`: by depth, with
// what is above the first node.
template <class Own, class Leave>
void VocabularyRuns::walk(VocabularyNode first, VocabularyNode end, std::vector<At>& path, Own own, Leave leave) const {
    for (VocabularyNode n = first; n < end;) {
        const auto& node = vocabulary_[n];
        At at = path[node.depth - 1u];
        bool leaves = false;
        if (at.place != Utf8Place::between) {  // it fits: else what begins the character has left
            at.place = place_after(at.place, node.byte);
        } else {
            leaves = !takes(n);
            ++at.length;
            if (node.byte >= 0x80 && !leaves) at.place = place_after(Utf8Place::between, node.byte);
        }
        if (leaves || at.length > kLongest) {
            leave(n, path[node.depth - 1u].length);
            n = node.end;
            continue;
        }
        path[node.depth] = at;
        if (node.first_token != vocabulary_.own_tokens_end(n)) own(n, at.length);
        ++n.v;
    }
}

void VocabularyRuns::read_behind(VocabularyNode head, Heads& heads) const {
    const auto& top = vocabulary_[head];
    const bool is_ascii = top.byte < 0x80;
    if (top.end.v - head.v < kLarge || (!is_ascii && (!begins_wide(top.byte) || (top.below & VocabularyIndex::kStray)))) return;
    std::vector<At> path(vocabulary_.max_depth() + 1);
    Behind& out = heads[head];
    const auto add_own = [&](VocabularyNode n, Word length) {
        if (static_cast<std::size_t>(length) >= out.whole.size()) out.whole.resize(static_cast<std::size_t>(length) + 1);
        auto& tokens = out.whole[static_cast<std::size_t>(length)];
        if (!tokens) tokens = std::make_shared<TokenSet>();
        tokens->add(vocabulary_[n].first_token, vocabulary_.own_tokens_end(n));
    };
    path[top.depth] = {0, is_ascii ? Utf8Place::between : place_after(Utf8Place::between, top.byte)};
    if (top.first_token != vocabulary_.own_tokens_end(head)) add_own(head, 0);
    walk({head.v + 1}, top.end, path, add_own, [&](VocabularyNode n, Word length) { out.exits.push_back({n, length}); });
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
    std::vector<At> path(vocabulary_.max_depth() + 1);
    path[0] = {0, Utf8Place::between};
    const auto add_own = [&](VocabularyNode n, Word length) {
        for (TokenSet* tokens : {all->whole[static_cast<std::size_t>(length)].get(), all->whole_of_any.get()})
            tokens->add(vocabulary_[n].first_token, vocabulary_.own_tokens_end(n));
    };
    walk({0}, vocabulary_.end(), path, add_own,
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
