#include "patterns/ecma_reader.hpp"

#include "base/errors.hpp"
#include "patterns/ecma_escapes.hpp"

namespace psc {

namespace {

using EcmaKind = EcmaNode::Kind;

constexpr Word kEcmaUnbounded = -1, kEcmaMostCount = 1'000'000'000;

class EcmaReader {
public:
    EcmaReader(std::u32string_view text, std::size_t max_nodes) : text_(text), max_nodes_(max_nodes) {}

    EcmaPattern read() {
        open_frame(Frame::Kind::whole, 0);
        while (at_ < text_.size()) {
            if (nodes_.size() > max_nodes_) throw LimitExceeded(kNodes, max_nodes_);
            term();
        }
        if (frames_.size() > 1) throw PatternError("this group is not closed", frames_.back().position);
        close_options();
        add(EcmaKind::match, -1, -1);
        pattern_.main = {std::move(nodes_), frames_.back().reads_before};
        for (Word i = 0; i < sets_.size(); ++i) pattern_.sets.emplace_back(sets_[i].begin(), sets_[i].end());
        return std::move(pattern_);
    }

private:
    static constexpr const char* kNodes = "positions of a pattern with its repetitions written out";

    struct Frame {
        enum class Kind : std::uint8_t { whole, group, look, negative_look } kind;
        std::size_t position;  // of the parenthesis
        Word from;             // its first node
        Word option;           // the split that begins the current option
        std::size_t jumps;     // where those of its options begin
        bool reads_before;
    };

    bool looking_at(std::u32string_view what) const { return text_.substr(at_).starts_with(what); }
    Word here() const { return static_cast<Word>(nodes_.size()); }
    void add(EcmaKind kind, Word a, Word b) { nodes_.push_back({kind, a, b}); }

    void term() {
        const std::size_t position = at_;
        switch (text_[at_]) {
            case U'|':
                ++at_;
                jumps_.push_back(here());
                add(EcmaKind::split, -1, -1);
                nodes_[frames_.back().option].b = here();
                frames_.back().option = here();
                add(EcmaKind::split, here() + 1, -1);
                return;
            case U'(':
                open_group();
                return;
            case U')':
                ++at_;
                if (frames_.size() == 1) throw PatternError("there is no group that this parenthesis closes", position);
                quantifier(close_group());
                return;
            case U'^':
                ++at_;
                frames_.back().reads_before = true;
                assertion(EcmaKind::start);
                return;
            case U'$':
                ++at_;
                assertion(EcmaKind::end);
                return;
            case U'\\':
                if (looking_at(U"\\b") || looking_at(U"\\B")) {
                    at_ += 2;
                    frames_.back().reads_before = pattern_.reads_words = true;
                    assertion(text_[at_ - 1] == U'b' ? EcmaKind::word_border : EcmaKind::no_word_border);
                    return;
                }
                character(EcmaEscapes(text_, at_).outside_class());
                return;
            case U'[':
                character(EcmaEscapes(text_, at_).character_class());
                return;
            case U'.':
                ++at_;
                character(other_code_points({U'\n', U'\n', U'\r', U'\r', 0x2028, 0x2029}));
                return;
            case U'*':
            case U'+':
            case U'?':
                nothing_to_repeat(position);
            default: {
                Word least, most;
                if (text_[at_] == U'{' && counts(least, most)) nothing_to_repeat(position);
                const Word c = static_cast<Word>(text_[at_++]);
                character({c, c});
            }
        }
    }

    [[noreturn]] static void nothing_to_repeat(std::size_t position) {
        throw PatternError("there is nothing before this quantifier that it could repeat", position);
    }

    void character(const CodePointSet& set) {
        const Word from = here();
        add(EcmaKind::character, sets_.intern(without_surrogates(set)).first, from + 1);
        quantifier(from);
    }

    void assertion(EcmaKind kind) {
        add(kind, -1, here() + 1);
        Word least, most;
        if (at_ < text_.size() && (text_[at_] == U'*' || text_[at_] == U'+' || text_[at_] == U'?' || counts(least, most)))
            throw PatternError("an assertion cannot be repeated", at_);
    }

    void open_frame(Frame::Kind kind, std::size_t position) {
        const Word from = here();
        if (kind == Frame::Kind::group) add(EcmaKind::split, from + 1, -1);  // see repeat
        frames_.push_back({kind, position, from, here(), jumps_.size(), false});
        add(EcmaKind::split, here() + 1, -1);
    }

    void open_group() {
        const std::size_t position = at_++;
        Frame::Kind kind = Frame::Kind::group;
        if (looking_at(U"?:")) {
            at_ += 2;
        } else if (looking_at(U"?=") || looking_at(U"?!")) {
            kind = text_[at_ + 1] == U'=' ? Frame::Kind::look : Frame::Kind::negative_look;
            at_ += 2;
        } else if (looking_at(U"?<=") || looking_at(U"?<!")) {
            throw PatternError("lookbehind is not supported", position);
        } else if (looking_at(U"?<")) {
            at_ += 2;
            const std::size_t name = at_;
            while (at_ < text_.size() && text_[at_] != U'>') ++at_;
            if (at_ == text_.size() || at_ == name)
                throw PatternError("this group's name is not written as (?<name>...)", position);
            ++at_;
        } else if (looking_at(U"?")) {
            throw PatternError(
                "after (? comes one of : = ! <name> in ECMA-262; inline flags and (?P<name>...) are of other dialects", position);
        }
        open_frame(kind, position);
    }

    void close_options() {
        for (std::size_t i = frames_.back().jumps; i < jumps_.size(); ++i) nodes_[jumps_[i]].a = here();
        jumps_.resize(frames_.back().jumps);
    }

    // Returns the first node of what was closed.
    Word close_group() {
        close_options();
        const Frame frame = frames_.back();
        frames_.pop_back();
        if (frame.kind != Frame::Kind::group) {
            add(EcmaKind::match, -1, -1);
            EcmaProgram body{{nodes_.begin() + frame.from, nodes_.end()}, frame.reads_before};
            shift(body.nodes, -frame.from);
            nodes_.resize(frame.from);
            add(EcmaKind::look, static_cast<Word>(pattern_.looks.size()), frame.from + 1);
            pattern_.looks.push_back({std::move(body), frame.kind == Frame::Kind::negative_look});
        }
        frames_.back().reads_before |= frame.reads_before;
        return frame.from;
    }

    static void shift(std::span<EcmaNode> nodes, Word by) {
        for (EcmaNode& n : nodes) {
            if (n.kind == EcmaKind::split && n.a >= 0) n.a += by;
            if (n.b >= 0) n.b += by;
        }
    }

    // {l}, {l,} or {l,m} at the next character; anything else is text, no error. Advances past what it reads.
    bool counts(Word& least, Word& most) {
        if (at_ >= text_.size() || text_[at_] != U'{') return false;
        std::size_t i = at_ + 1;
        const auto number = [&](Word& n) {
            const std::size_t begin = i;
            std::int64_t value = 0;
            for (; i < text_.size() && text_[i] >= U'0' && text_[i] <= U'9'; ++i)
                value = std::min<std::int64_t>(value * 10 + static_cast<std::int64_t>(text_[i] - U'0'), kEcmaMostCount);
            n = static_cast<Word>(value);
            return i > begin;
        };
        if (!number(least)) return false;
        most = least;
        if (i < text_.size() && text_[i] == U',') {
            ++i;
            if (!number(most)) most = kEcmaUnbounded;
        }
        if (i >= text_.size() || text_[i] != U'}') return false;
        at_ = i + 1;
        return true;
    }

    // Of what begins at a node, and is the last that was read.
    void quantifier(Word from) {
        if (at_ >= text_.size()) return;
        const std::size_t position = at_;
        Word least = 0, most = kEcmaUnbounded;
        switch (text_[at_]) {
            case U'+':
                least = 1;
                [[fallthrough]];
            case U'*':
                ++at_;
                break;
            case U'?':
                most = 1;
                ++at_;
                break;
            default:
                if (!counts(least, most)) return;
        }
        if (most >= 0 && most < least) throw PatternError("the repetition's counts are out of order", position);
        if (at_ < text_.size() && text_[at_] == U'?') ++at_;  // lazy: the same texts
        repeat(from, least, most);
    }

    // A piece that is repeated begins with a split of its own, by which it may be passed over: a group has one, anything else is a
    // single node and gets one here.
    void repeat(Word from, Word least, Word most) {
        if (least == 1 && most == 1) return;
        if (most == 0) {
            nodes_.resize(from);
            return;
        }
        if (nodes_[from].kind != EcmaKind::split) {
            EcmaNode only = nodes_[from];
            nodes_[from] = {EcmaKind::split, from + 1, -1};
            ++only.b;
            nodes_.push_back(only);
        }
        const Word size = here() - from;
        const std::size_t copies = most < 0 ? std::max(least, Word{1}) : most;
        if (from + copies * size > max_nodes_) throw LimitExceeded(kNodes, max_nodes_);
        if (copies > 1) {
            const std::vector<EcmaNode> body(nodes_.begin() + from, nodes_.end());
            for (std::size_t i = 1; i < copies; ++i) {
                nodes_.insert(nodes_.end(), body.begin(), body.end());
                shift(std::span(nodes_).last(body.size()), static_cast<Word>(i) * size);
            }
        }
        if (most < 0) {
            const Word last = here() - size;
            add(EcmaKind::split, last, here() + 1);
            if (least == 0) nodes_[last].b = here();
            return;
        }
        // x{1,3} is x(x(x)?)?: each of the copies that may be missing ends them all.
        for (Word i = least; i < most; ++i) nodes_[from + i * size].b = here();
    }

    const std::u32string_view text_;
    const std::size_t max_nodes_;
    std::size_t at_ = 0;
    EcmaPattern pattern_;
    SequenceInterner sets_;
    std::vector<EcmaNode> nodes_;
    std::vector<Frame> frames_;
    std::vector<Word> jumps_;  // at the ends of options, to where their groups end
};

}  // namespace

EcmaPattern read_ecma_pattern(std::u32string_view pattern, std::size_t max_nodes) { return EcmaReader(pattern, max_nodes).read(); }

}  // namespace psc
