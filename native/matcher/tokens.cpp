// The mask of a matcher without the classifier: every token of the vocabulary is read on its stacks, prefixes once.
//
// The classifier finds what holds for all stacks, so its work is used again by every text of a grammar. Where a grammar is so
// ambiguous that it would cost seconds (`root ::= root{5,6} | ...`), the stacks of one text are still one graph of some hundred
// nodes, and reading a byte on all of them is polynomial. Tokens lead from there to sets of configurations, of which there are few:
// each is kept once, with where its bytes lead.
//
// The row is kept for all places where what was looked at is the same (machine/read_rows.hpp): reading stands on copies of the
// stacks, which tell which symbols these were.
//
// Cost: a step for each node of the vocabulary's trie that some text reaches, and for each new set what a byte costs accept();
// inside one lexeme whose shape the vocabulary knows, only where tokens leave it.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/interned.hpp"
#include "lexer/lexeme_fragments.hpp"
#include "matcher/answers.hpp"
#include "matcher/graph.hpp"
#include "vocabulary/character_runs.hpp"
#include "vocabulary/runs.hpp"
#include "vocabulary/walk.hpp"

namespace psc {

class Matcher::TokenReader {
public:
    TokenReader(Matcher& matcher, const VocabularyIndex& index) : matcher_(matcher), index_(index) {}

    // Sets the bits of the tokens after which the text has a continuation.
    void read(const Configurations& configurations, std::uint32_t* words) {
        words_ = words;
        path_.resize(index_.max_depth() + 1);
        const Reached from = reached(configurations);
        if (const auto text = text_at(from)) {
            read_text(from, *text);
        } else if (const LexemeFragment* inside = fragment_of(configurations)) {
            read_lexeme(*inside, configurations[0].top);
        } else {
            read_all(index_.trie(), index_.end(), from);
        }
        matcher_.work_.spend(n_read_);
    }

    // As a CharacterAutomaton. That a set is reached is all that a mask needs to know: all of them have equal continuations.
    struct Reached {  // a set of configurations, each of which has a continuation
        Word v = 0;
        std::size_t index() const { return static_cast<std::size_t>(v); }
        auto operator<=>(const Reached&) const = default;
    };
    using State = Reached;
    ByteClass byte_class(std::uint8_t byte) const { return matcher_.machine_->byte_class()[byte]; }
    Maybe<Reached> step(Reached from, std::uint8_t byte) {
        const auto known = rows_[from.index()][byte_class(byte).index()];
        return known != kUnknown ? known : find_step(from, byte_class(byte));
    }
    bool continuation(Reached) const { return true; }

private:
    struct PathEntry {  // of the path to a node: what was reached there, and where bytes lead from it
        Reached reached;
        const Maybe<Reached>* row;
    };
    struct Member {  // of a set: a node by its number, and the state of the lexer
        Word top;
        LexerState state;
    };
    static constexpr auto kUnknown = Maybe<Reached>::unknown();
    // Nodes of a subtree for which it is worth looking at what the kinds of bytes below do, where nothing says that it is nothing.
    static constexpr Word kLarge = 16;
    // A place is in a text if so many characters of ASCII lead to one set, from which those of so many kinds lead on together.
    static constexpr int kMinUsual = 40, kMinKindsOfText = 18;
    static constexpr std::size_t kMaxWithin = 8;    // sets between the bytes of a character, each with as many positions
    static constexpr std::size_t kNodesOfSet = 64;  // that are read as quickly as a set's tokens are added

    // Where most characters lead, and those of some kinds from there on: after k of these in all to by_length[k - 1], after more to
    // the last, or nowhere if the text `ends` there.
    struct Text {
        std::shared_ptr<const VocabularyRuns> runs;
        std::vector<Reached> by_length;
        bool ends;
    };

    const LexemeFragment* fragment_of(const Configurations& at) const {
        return at.size() == 1 ? matcher_.machine_->fragment(at[0].state, matcher_.work_) : nullptr;
    }
    PathEntry entry(Reached at) const { return {at, rows_[at.index()].get()}; }

    void allow(const Word* tokens, Word first, Word last) {
        for (Word i = first; i < last; ++i) set_bit(words_, {tokens[i]});
    }

    // All nodes of a trie, from a set.
    void read_all(const VocabularyIndex::Trie& trie, VocabularyNode end, Reached from) {
        path_[0] = entry(from);
        read_nodes(trie, {0}, end);
    }

    // Nodes side by side, with all below them; path_ has the entry of the one above.
    void read_nodes(const VocabularyIndex::Trie& trie, VocabularyNode n, VocabularyNode end) {
        const auto& classes = matcher_.machine_->byte_class();
        const auto visit = [&](const VocabularyIndex::Node& at, VocabularyNode node, const PathEntry& before, PathEntry& after) {
            ++n_read_;
            // Where every byte below leads back, all tokens of the subtree are allowed: most tokens are words, and most of what is
            // open is a name or a text.
            if (begins_wide(at.byte))
                if (const auto to = after_character(before.reached); to && stays(*to, at.below & ~character_kinds::kRest))
                    return Below::take;
            const ByteClass byte_class = classes[at.byte];
            Maybe<Reached> to = before.row[byte_class.index()];
            if (to == kUnknown) to = find_step(before.reached, byte_class);
            if (!to) return Below::skip;
            const bool back = *to == before.reached, worth_asking = back || at.end.v - node.v >= kLarge;
            after = back ? before : entry(*to);
            return worth_asking && stays(*to, at.below) ? Below::take : Below::enter;
        };
        walk(trie, n, end, path_, visit, [&](Word first, Word last, const PathEntry&) { allow(trie.tokens, first, last); });
    }

    Onward<Reached> onward(Reached from) {
        const auto found = psc::onward(*this, std::span<const Reached>(&from, 1), kMaxWithin, Together::one_state);
        return {found.kinds ? found.next[0] : from, found.kinds, found.dead};
    }

    std::optional<Text> text_at(Reached from) {
        namespace kind = character_kinds;
        const Onward<Reached> usual = onward(from);
        int n_usual = 0;
        for (int byte = ' '; byte < 0x7f; ++byte) n_usual += (kind::of(byte) & usual.kinds) != 0;
        if (n_usual < kMinUsual) return {};
        Text text{nullptr, {usual.next}, false};
        const CharacterKinds kinds = onward(usual.next).kinds;
        if (std::popcount(kinds & ~kind::kCut) < kMinKindsOfText || !(kinds & kind::of('a'))) return {};
        const auto ends = follow_run(text.by_length, kinds, VocabularyRuns::kLongest - 1,
                                     [&](Reached at, int) { return std::optional(onward(at)); });
        if (!ends) return {};
        text.ends = *ends;
        text.runs = index_.runs(kinds);
        return text.runs ? std::optional(text) : std::nullopt;
    }

    // All tokens from a place in a text: what they do there is known of the vocabulary by their number of characters, where the
    // first leads to the usual set.
    void read_text(Reached from, const Text& text) {
        const VocabularyRuns::All& all = text.runs->all();
        const auto add = [&](TokenSet& tokens) {
            index_.add_bits(words_, tokens);
            n_read_ += kNodesOfSet;
        };
        if (text.by_length.size() == 1 && !text.ends) {
            add(*all.whole_of_any);
            read_all(all.rests_of_any->trie(), all.rests_of_any->end(), text.by_length[0]);
        } else {
            for (std::size_t length = 1; length < all.whole.size(); ++length) {
                if (length > text.by_length.size() && text.ends) break;
                add(*all.whole[length]);
                const Reached at = text.by_length[std::min(length, text.by_length.size()) - 1];
                read_all(all.rests[length].trie(), all.rests[length].end(), at);
            }
        }
        const Reached usual = text.by_length[0];
        for (VocabularyNode n{0}; n < index_.end(); n = index_[n].end) {
            if (!text.runs->takes(n)) continue;
            if (begins_wide(index_[n].byte) && after_character(from) == Maybe<Reached>(usual)) continue;
            correct(n, from, usual);
        }
        read_all(all.rests[0].trie(), all.rests[0].end(), from);
    }

    // The tokens below a node of the first level, read as if its character led to `usual`.
    void correct(VocabularyNode top, Reached from, Reached usual) {
        const auto& node = index_[top];
        if (begins_wide(node.byte)) {
            forbid(node);
            path_[0] = entry(from);
            return read_nodes(index_.trie(), top, node.end);
        }
        const auto to = step(from, node.byte);
        if (to == Maybe<Reached>(usual)) return;
        if (!to) return forbid(node);
        allow(index_.trie().tokens, node.first_token, index_.own_tokens_end(top));
        path_[1] = entry(*to);
        as_if_.resize(path_.size());
        as_if_[1] = usual;
        const auto visit = [&](const VocabularyIndex::Node& at, VocabularyNode n, Reached before, Reached& after) {
            return correct_node(at, n, before, after);
        };
        walk(index_.trie(), {top.v + 1}, node.end, as_if_, visit, [](Word, Word, Reached) {});
    }

    // A node below it: path_ has where its text leads, `before` where it was as if it did.
    Below correct_node(const VocabularyIndex::Node& at, VocabularyNode n, Reached before, Reached& after) {
        ++n_read_;
        const Reached read = path_[at.depth - 1u].reached;
        if (begins_wide(at.byte) && !(at.below & character_kinds::kStray))
            if (const auto end = after_character(read); end && end == after_character(before)) return Below::skip;
        const auto to = step(read, at.byte), as_if = step(before, at.byte);
        if (to == as_if) return Below::skip;
        if (!to) {
            forbid(at);
        } else if (!as_if) {
            read_nodes(index_.trie(), n, at.end);
        } else {
            path_[at.depth] = entry(*to);
            after = *as_if;
            return Below::enter;
        }
        return Below::skip;
    }

    void forbid(const VocabularyIndex::Node& node) {
        for (Word i = node.first_token; i < index_.tokens_begin(node.end); ++i) clear_bit(words_, index_.token_at(i));
    }

    // All tokens from one configuration. What they do inside its lexeme is known of the vocabulary.
    void read_lexeme(const LexemeFragment& inside, const Node* top) {
        std::vector<PathEntry> at;  // no row where there is no continuation
        for (std::size_t s = 0; s < inside.states.size(); ++s) {
            const Configuration configuration{top, inside.states[s]};
            const bool goes_on = alive(configuration);
            at.push_back(goes_on ? entry(reached({configuration})) : PathEntry{{0}, nullptr});
            if (goes_on) index_.add_bits(words_, *inside.tokens->inside[s]);
        }
        for (const auto& exit : inside.tokens->exits) {
            const PathEntry& before = at[static_cast<std::size_t>(exit.state)];
            if (!before.row) continue;
            const auto& node = index_[exit.node];
            path_[node.depth - 1u] = before;
            read_nodes(index_.trie(), exit.node, node.end);
        }
    }

    // The set to which all characters beyond ASCII lead; none where they lead to several. All sets between their bytes have a
    // continuation then.
    Maybe<Reached> after_character(Reached from) {
        if (facts_[from.index()].after_character == kUnknown) {
            const auto end = wide_end(*this, from);
            facts_[from.index()].after_character = end.state ? Maybe<Reached>(*end.state) : Maybe<Reached>();
        }
        return facts_[from.index()].after_character;
    }

    // Whether all texts of these kinds lead back, or end within a character.
    bool stays(Reached at, CharacterKinds kinds) {
        const auto wide = [&](Reached from) {
            const auto end = after_character(from);
            return WideEnd<Reached>{end ? std::optional(*end) : std::nullopt, static_cast<bool>(end)};
        };
        const auto of = [&](Reached state) -> StayingKinds& { return facts_[state.index()].staying; };
        find_staying(*this, at, kinds, of, wide);
        return of(at).all_stay(kinds);
    }

    Maybe<Reached> find_step(Reached from, ByteClass byte_class) {
        // Bytes with which the lexer does the same lead to the same: of a lexer that reads many alternatives there are many
        // classes.
        const std::optional<PackedArc> arc = only_arc(from, byte_class);
        if (arc)
            for (const auto& [same, known] : facts_[from.index()].after_arcs)
                if (same == *arc) return rows_[from.index()][byte_class.index()] = known;
        const Maybe<Reached> to = read_byte(from, byte_class);  // there may be more facts then
        if (arc) facts_[from.index()].after_arcs.emplace_back(*arc, to);
        return rows_[from.index()][byte_class.index()] = to;
    }

    // What the lexer of a single configuration does on a byte, with what is open narrowed already; none where it reads the byte
    // again.
    std::optional<PackedArc> only_arc(Reached from, ByteClass byte_class) {
        const auto members = sets_[from];
        if (members.size() != 1) return {};
        LexArc arc = matcher_.machine_->lex(members[0].state, byte_class, matcher_.work_);
        if (arc.target.is_restart()) return {};
        if (arc.output.v == 0 && !arc.target.is_fail() && !arc.target.is_branch() && arc.target.state().v != 0) {
            const LrState top = nodes_[static_cast<std::size_t>(members[0].top)]->state;
            arc.target = LexTarget::to(matcher_.machine_->narrowed(arc.target.state(), top, matcher_.work_));
        }
        return pack(arc);
    }

    Maybe<Reached> read_byte(Reached from, ByteClass byte_class) {
        here_.clear();
        for (const Member& member : sets_[from]) here_.push_back({nodes_[static_cast<std::size_t>(member.top)], member.state});
        if (!read_inside(byte_class)) {
            matcher_.lex_byte(byte_class, here_, next_, graph_);
            matcher_.narrow(here_, graph_);
        }
        emit_what_is_over();
        std::erase_if(here_, [&](const Configuration& configuration) { return !alive(configuration); });
        return here_.empty() ? Maybe<Reached>() : Maybe<Reached>(reached(here_));
    }

    // Where a lexeme can only end it has ended: what is the same is told apart otherwise, whether a character could have been the
    // beginning of something else, say.
    void emit_what_is_over() {
        Engine& machine = *matcher_.machine_;
        if (std::ranges::none_of(here_, [&](const Configuration& at) { return is_over(at.state); })) return;
        next_.clear();
        for (const Configuration& at : here_) {
            if (!is_over(at.state)) {
                next_.push_back(at);
                continue;
            }
            for (LexOutput ending : machine.at_end(at.state))
                for (const Node* top : matcher_.emit_all(machine.output(ending), {at.top}, graph_))
                    next_.push_back({top, machine.start_of(top->state)});
        }
        here_.swap(next_);
        matcher_.merge(here_, graph_);
    }

    // Whether whatever comes is read behind the end of the lexeme that is open.
    bool is_over(LexerState state) {
        const auto [known, fresh] = over_.try_emplace(state.v, false);
        if (fresh) known->second = find_is_over(state);
        return known->second;
    }

    bool find_is_over(LexerState state) {
        Engine& machine = *matcher_.machine_;
        if (state == LexerState{0} || machine.contextual() || machine.at_end(state).empty()) return false;
        // Nothing has to be built to know of most.
        if (machine.is_extensible(state)) return false;
        // A longer lexeme goes on without a terminal, or ends with one.
        const auto is_behind = [&](LexWay way) { return machine.output(way.output).size() >= (way.next == LexerState{0} ? 2 : 1); };
        for (Word c = 0; c < machine.n_byte_classes(); ++c) {
            const LexArc arc = machine.lex(state, {static_cast<std::uint8_t>(c)}, matcher_.work_);
            if (arc.target.is_fail()) continue;
            if (arc.target.is_restart()) return false;
            if (arc.target.is_branch() ? !std::ranges::all_of(machine.ways(arc.target.branch()), is_behind)
                                       : !is_behind({arc.output, arc.target.state()}))
                return false;
        }
        return true;
    }

    // Reads the byte where it only leaves a single lexeme open; else nothing, and it is false.
    bool read_inside(ByteClass byte_class) {
        if (here_.size() != 1) return false;
        const LexArc arc = matcher_.machine_->lex(here_[0].state, byte_class, matcher_.work_);
        if (arc.output.v != 0 || arc.target.is_restart() || arc.target.is_branch()) return false;
        matcher_.work_.spend();
        if (arc.target.is_fail())
            here_.clear();
        else if (arc.target.state().v == 0)
            return false;
        else
            here_[0].state = matcher_.machine_->narrowed(arc.target.state(), here_[0].top->state, matcher_.work_);
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
        if (set == Engine::kNothingNeeded) return true;
        const std::pair key{set, configuration.top};
        if (const auto known = alive_.find(key); known != alive_.end()) return known->second;
        matcher_.work_.spend();
        return alive_[key] = matcher_.alive(configuration);
    }

    Matcher& matcher_;
    const VocabularyIndex& index_;
    std::uint32_t* words_ = nullptr;
    std::vector<PathEntry> path_;  // per depth
    std::vector<Reached> as_if_;   // per depth, see correct_below()
    std::size_t n_read_ = 0;       // nodes
    Graph graph_;                  // all that is read here shares its stacks
    std::vector<const Node*> nodes_;
    std::unordered_map<const Node*, Word> numbers_;
    Interned<Reached, Member> sets_;
    std::vector<std::unique_ptr<Maybe<Reached>[]>> rows_;  // per set and byte class
    struct Facts {
        StayingKinds staying;
        Maybe<Reached> after_character = kUnknown;
        std::vector<std::pair<PackedArc, Maybe<Reached>>> after_arcs;  // of a single configuration
    };
    std::vector<Facts> facts_;  // per set
    std::map<std::pair<FutureSet, const Node*>, bool> alive_;
    std::unordered_map<Word, bool> over_;  // by lexer state, see is_over()
    Configurations here_, next_;           // scratch
    std::vector<Member> members_;
};

Maybe<MaskRow> Matcher::cached_read_row(Depth* looked_at) const { return cache().read_rows.find(Answers(*this, looked_at)); }

// Has the configurations stand on copies of their stacks. False where these are too long, or several in one.
bool Matcher::watch(Configurations& configurations, std::size_t most) {
    std::unordered_map<const Node*, std::size_t> numbers;
    std::vector<const Node*> all;
    for (const Configuration& configuration : configurations)
        for (const Node* n = configuration.top; n && numbers.try_emplace(n, all.size()).second; n = n->parent) {
            all.push_back(n);
            if (n->n_parents || all.size() > most) return false;
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
    for (Configuration& configuration : all) configuration.state = machine_->alike(configuration.state);
    const bool watches = watch(all);
    const std::size_t before = work_.left() + work_.shared();
    TokenReader(*this, *machine_->index()).read(all, words.get());
    if (!machine_->ends_apart() && complete(all))
        for (TokenId t : machine_->stop_tokens()) set_bit(words.get(), t);
    const std::size_t steps = before - work_.left() - work_.shared();
    machine_->reading().has_read(steps);
    const MaskRow row = machine_->read_row(cache(), words);
    const bool kept = watches && machine_->keep_read_row(cache(), seen_of(all), Answers(*this), row);
    for (const Configuration& configuration : all)
        machine_->reading().has_read_here(cache().read_counts, configuration.state, steps, kept);
    watched_ = {};
    return row;
}

}  // namespace psc
