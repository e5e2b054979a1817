// The mask of a matcher without the classifier: every token of the vocabulary is read on its stacks, prefixes once.
//
// The classifier finds what holds for all stacks, so its work is used again by every text of a grammar. Where a grammar is so ambiguous
// that it would cost seconds (`root ::= root{5,6} | ...`), the stacks of one text are still one graph of some hundred nodes,
// and reading a byte on all of them is polynomial. Tokens lead from there to sets of configurations, of which there are few: each is
// kept once, with where its bytes lead.
//
// The row is kept for all places where what was looked at is the same (read_rows.hpp): reading stands on copies of the stacks, which
// tell which symbols these were.
//
// Cost: a step for each node of the vocabulary's trie that some text reaches, and for each new set what a byte costs accept(); inside one
// lexeme whose shape the vocabulary knows, only where tokens leave it.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "interned.hpp"
#include "lexeme_fragments.hpp"
#include "matcher_graph.hpp"
#include "vocabulary_index.hpp"

namespace psc {

class Matcher::TokenReader {
public:
    TokenReader(Matcher& matcher, const VocabularyIndex& index) : matcher_(matcher), index_(index) {}

    // Sets the bits of the tokens after which the text has a continuation.
    void read(const Configurations& configurations, std::uint32_t* words) {
        words_ = words;
        path_.resize(index_.max_depth() + 1);
        const LexemeFragment* inside = configurations.size() == 1 ? matcher_.machine_->fragment(configurations[0].state) : nullptr;
        if (inside) {
            read_lexeme(*inside, configurations[0].top);
        } else {
            path_[0] = place(reached(configurations));
            read_nodes({0}, index_.end());
        }
        matcher_.work_.spend(n_read_);
    }

private:
    // A set of configurations, each of which has a continuation.
    struct Reached {
        Word v = 0;
        std::size_t index() const { return static_cast<std::size_t>(v); }
        bool operator==(const Reached&) const = default;
    };
    struct Place {  // of the path to a node: what was reached there, and where bytes lead from it
        Reached reached;
        const Maybe<Reached>* row;
    };
    struct Member {  // of a set: a node by its number, and the state of the lexer
        Word top;
        LexerState state;
    };
    static constexpr auto kUnknown = Maybe<Reached>::from_word(-2);
    // Nodes of a subtree for which it is worth looking at what the kinds of bytes below do, where nothing says that they do nothing.
    static constexpr Word kLarge = 16;

    Place place(Reached at) const { return {at, rows_[at.index()].get()}; }

    void allow(Word first, Word last) {
        for (Word i = first; i < last; ++i) set_bit(words_, index_.token_at(i));
    }

    // Nodes side by side, with all below them; path_ has the place of the one above.
    void read_nodes(VocabularyNode n, VocabularyNode end) {
        const auto& classes = matcher_.machine_->byte_class();
        const VocabularyIndex::Node* const nodes = index_.nodes().data();
        for (; n < end; ++n_read_) {
            const auto& at = nodes[n.index()];
            const Place& before = path_[at.depth - 1u];
            // Where every byte below leads back, all tokens of the subtree are allowed: most tokens are words, and most of what is open
            // is a name or a text.
            if (begins_wide(at.byte))
                if (const auto to = after_character(before.reached); to && stays(*to, at.below & ~VocabularyIndex::kRest)) {
                    allow(at.first_token, index_.tokens_begin(at.end));
                    n = at.end;
                    continue;
                }
            const ByteClass byte_class = classes[at.byte];
            Maybe<Reached> to = before.row[byte_class.index()];
            if (to == kUnknown) to = find_step(before.reached, byte_class);
            if (!to) {
                n = at.end;
                continue;
            }
            const bool back = *to == before.reached, worth_asking = back || at.end.v - n.v >= kLarge;
            const VocabularyNode next = worth_asking && stays(*to, at.below) ? at.end : VocabularyNode{n.v + 1};
            path_[at.depth] = back ? before : place(*to);
            allow(at.first_token, index_.tokens_begin(next));
            n = next;
        }
    }

    // All tokens from one configuration. What they do inside its lexeme is known of the vocabulary.
    void read_lexeme(const LexemeFragment& inside, const Node* top) {
        std::vector<Place> at;  // no row where there is no continuation
        for (std::size_t s = 0; s < inside.states.size(); ++s) {
            const Configuration configuration{top, inside.states[s]};
            const bool goes_on = alive(configuration);
            at.push_back(goes_on ? place(reached({configuration})) : Place{{0}, nullptr});
            if (goes_on) index_.add_bits(words_, *inside.tokens->inside[s]);
        }
        for (const auto& exit : inside.tokens->exits) {
            const Place& before = at[static_cast<std::size_t>(exit.state)];
            if (!before.row) continue;
            const auto& node = index_[exit.node];
            path_[node.depth - 1u] = before;
            read_nodes(exit.node, node.end);
        }
    }

    Maybe<Reached> step(Reached from, ByteClass byte_class) {
        const auto known = rows_[from.index()][byte_class.index()];
        return known != kUnknown ? known : find_step(from, byte_class);
    }

    // The set to which all characters beyond ASCII lead; none where they lead to several. All sets between their bytes have a
    // continuation then.
    Maybe<Reached> after_character(Reached from) {
        Facts& facts = facts_[from.index()];
        if (facts.after_character == kUnknown) {
            const auto& classes = matcher_.machine_->byte_class();
            const auto to = after_wide(from, [&](Reached at, std::uint8_t byte) { return step(at, classes[byte]); });
            facts_[from.index()].after_character = to ? Maybe<Reached>(*to) : Maybe<Reached>();
        }
        return facts_[from.index()].after_character;
    }

    // Whether all texts of these kinds lead back, or end within a character.
    bool stays(Reached at, VocabularyIndex::Kinds kinds) {
        const auto& classes = matcher_.machine_->byte_class();
        for (VocabularyIndex::Kinds open; (open = kinds & ~facts_[at.index()].known) && !(kinds & facts_[at.index()].leave);) {
            const VocabularyIndex::Kinds kind = open & -open;
            bool leaves = kind >= VocabularyIndex::kWide;
            if (kind == VocabularyIndex::kWide || kind == VocabularyIndex::kCut) leaves = after_character(at) != Maybe<Reached>(at);
            for (int b = 0; b < 0x80 && !leaves; ++b)
                leaves = VocabularyIndex::kind(static_cast<std::uint8_t>(b)) == kind && step(at, classes[b]) != Maybe<Reached>(at);
            facts_[at.index()].known |= kind;
            if (leaves) facts_[at.index()].leave |= kind;
        }
        return !(kinds & facts_[at.index()].leave);
    }

    Maybe<Reached> find_step(Reached from, ByteClass byte_class) {
        here_.clear();
        for (const Member& member : sets_[from]) here_.push_back({nodes_[static_cast<std::size_t>(member.top)], member.state});
        if (!read_inside(byte_class)) {
            matcher_.lex_byte(byte_class, here_, next_, graph_);
            matcher_.narrow(here_, graph_);
        }
        std::erase_if(here_, [&](const Configuration& configuration) { return !alive(configuration); });
        Maybe<Reached> to;
        if (!here_.empty()) to = reached(here_);
        rows_[from.index()][byte_class.index()] = to;
        return to;
    }

    // Reads the byte where it only leaves a single lexeme open; false, and nothing is read, where it does more.
    bool read_inside(ByteClass byte_class) {
        if (here_.size() != 1) return false;
        const LexArc arc = matcher_.machine_->lex(here_[0].state, byte_class);
        if (arc.output.v != 0 || arc.target.is_restart() || arc.target.is_branch()) return false;
        matcher_.work_.spend();
        if (arc.target.is_fail())
            here_.clear();
        else if (arc.target.state().v == 0)
            return false;
        else
            here_[0].state = matcher_.machine_->narrowed(arc.target.state(), here_[0].top->state);
        return true;
    }

    // `configurations` in the order of merge().
    Reached reached(const Configurations& configurations) {
        members_.clear();
        for (const Configuration& configuration : configurations)
            members_.push_back({number(configuration.top), configuration.state});
        const auto [id, fresh] = sets_.intern(members_);
        if (fresh) {
            const auto n = static_cast<std::size_t>(matcher_.machine_->n_byte_classes());
            matcher_.work_.spend(n + members_.size());
            rows_.push_back(std::make_unique_for_overwrite<Maybe<Reached>[]>(n));
            std::fill_n(rows_.back().get(), n, kUnknown);
            facts_.emplace_back();
        }
        return id;
    }

    Word number(const Node* node) {
        const auto [at, fresh] = numbers_.try_emplace(node, static_cast<Word>(nodes_.size()));
        if (fresh) nodes_.push_back(node);
        return at->second;
    }

    bool alive(const Configuration& configuration) {
        const FutureSet set = matcher_.machine_->futures(configuration.state);
        if (set == Machine::kNothingNeeded) return true;
        const std::pair key{set, configuration.top};
        if (const auto known = alive_.find(key); known != alive_.end()) return known->second;
        matcher_.work_.spend();
        return alive_[key] = matcher_.alive(configuration);
    }

    Matcher& matcher_;
    const VocabularyIndex& index_;
    std::uint32_t* words_ = nullptr;
    std::vector<Place> path_;  // per depth
    std::size_t n_read_ = 0;   // nodes
    Graph graph_;              // all that is read here shares its stacks
    std::vector<const Node*> nodes_;
    std::unordered_map<const Node*, Word> numbers_;
    Interned<Reached, Member> sets_;
    std::vector<std::unique_ptr<Maybe<Reached>[]>> rows_;  // per set and byte class
    struct Facts {
        VocabularyIndex::Kinds known = 0;  // the kinds that were looked at
        VocabularyIndex::Kinds leave = 0;  // those of them that lead elsewhere
        Maybe<Reached> after_character = kUnknown;
    };
    std::vector<Facts> facts_;  // per set
    std::map<std::pair<FutureSet, const Node*>, bool> alive_;
    Configurations here_, next_;  // scratch
    std::vector<Member> members_;
};

// What is asked about this place, see ReadRows.
class Matcher::Answers {
public:
    explicit Answers(const Matcher& matcher) : at_(*matcher.position_) {}

    std::optional<Word> operator()(ReadRows::Question asked) const {
        if (asked == ReadRows::kHowMany) return at_.is_one ? 1 : at_.n_several;
        const Configuration of = at_.is_one ? Configuration{at_.top, at_.state} : at_.several[asked.configuration];
        if (asked.depth == 0) return of.state.v;
        if (last_.configuration != asked.configuration || last_.depth > asked.depth) {
            last_ = {asked.configuration, 1};
            node_ = of.top;
        }
        for (; last_.depth < asked.depth && node_; ++last_.depth) {
            if (node_->n_parents) return {};
            node_ = node_->parent;
        }
        return node_ ? node_->state.v : ReadRows::kNothing;
    }

private:
    const Position& at_;
    // Questions mostly go down one stack.
    mutable ReadRows::Question last_ = ReadRows::kHowMany;
    mutable const Node* node_ = nullptr;
};

Maybe<MaskRow> Matcher::known_read_row() const { return cache_->read_rows.find(Answers(*this)); }

// Has the configurations stand on copies of their stacks. False where these are too long, or several in one.
bool Matcher::watch(Configurations& configurations) {
    constexpr std::size_t kMost = 4096;
    std::unordered_map<const Node*, std::size_t> numbers;
    std::vector<const Node*> all;
    for (const Configuration& configuration : configurations)
        for (const Node* n = configuration.top; n && numbers.try_emplace(n, all.size()).second; n = n->parent) {
            all.push_back(n);
            if (n->n_parents || all.size() > kMost) return false;
        }
    auto* copies = arena_.make<Node>(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        copies[i] = *all[i];
        if (all[i]->parent) copies[i].parent = copies + numbers[all[i]->parent];
    }
    for (Configuration& configuration : configurations) configuration.top = copies + numbers[configuration.top];
    watched_.nodes = copies;
    watched_.seen.assign(all.size(), 0);
    watched_.bottom_seen = false;
    return true;
}

// What was looked at of the stacks: down to the lowest symbol.
std::vector<ReadRows::Question> Matcher::seen_of(const Configurations& watched) const {
    std::vector<ReadRows::Question> asked;
    for (Word k = 0; k < static_cast<Word>(watched.size()); ++k) {
        Word depth = 0, lowest = 1;
        for (const Node* n = watched[static_cast<std::size_t>(k)].top; n; n = n->parent) {
            ++depth;
            if (watched_.seen[static_cast<std::size_t>(n - watched_.nodes)]) lowest = depth;
        }
        if (watched_.bottom_seen) lowest = depth + 1;
        for (Word d = 0; d <= lowest; ++d) asked.push_back({k, d});
    }
    return asked;
}

MaskRow Matcher::read_row() {
    before_long_work();  // a walk over the vocabulary
    MaskRows::Bits words = std::make_unique<std::uint32_t[]>(machine_->n_words());
    const Arena::Attempt attempt(arena_);
    Configurations all = configurations();
    const bool watches = watch(all);
    const std::size_t before = work_.left();
    TokenReader(*this, *machine_->index()).read(all, words.get());
    if (!machine_->ends_apart() && complete(all))
        for (TokenId t : machine_->stop_tokens()) set_bit(words.get(), t);
    const std::size_t steps = before - work_.left();
    machine_->has_read(steps);
    const MaskRow row = machine_->read_row(*cache_, words);
    const bool kept = watches && machine_->keep_read_row(*cache_, seen_of(all), Answers(*this), row);
    for (const Configuration& configuration : all) machine_->has_read_there(*cache_, configuration.state, steps, kept);
    watched_ = {};
    return row;
}

}  // namespace psc
