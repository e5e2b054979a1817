#include "json/document.hpp"

#include <algorithm>
#include <utility>

#include "base/cancellation.hpp"
#include "base/limits.hpp"

namespace psc {

namespace {

constexpr std::size_t kMaxJsonDepth = limit("json_depth");
constexpr std::size_t kMaxJsonBytes = limit("json_bytes");
constexpr std::size_t kFewMembers = 12;

void append_utf8(std::string& out, std::uint32_t c) {
    const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xc0 | c >> 6);
        put(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        put(0xe0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3f));
        put(0x80 | (c & 0x3f));
    } else {
        put(0xf0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3f));
        put(0x80 | (c >> 6 & 0x3f));
        put(0x80 | (c & 0x3f));
    }
}

void append_quoted(std::string& out, std::string_view text) {
    out.push_back('"');
    for (const char c : text) {
        constexpr std::string_view kMeant = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
        if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20) {
            out.push_back(c);
        } else if (const std::size_t i = kMeant.find(c); i != std::string_view::npos) {
            out.push_back('\\');
            out.push_back(kLetters[i]);
        } else {
            constexpr std::string_view kDigits = "0123456789abcdef";
            out += "\\u00";
            out.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
            out.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
        }
    }
    out.push_back('"');
}

}  // namespace

std::string pointer_step(std::string_view name) {
    std::string step = "/";
    for (char c : name) {
        if (c == '~')
            step += "~0";
        else if (c == '/')
            step += "~1";
        else
            step.push_back(c);
    }
    return step;
}

std::u32string code_points(std::string_view utf8) {
    std::u32string out;
    for (std::size_t i = 0; i < utf8.size();) {
        const auto byte = static_cast<unsigned char>(utf8[i]);
        const std::size_t n = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        std::uint32_t c = n == 1 ? byte : byte & (0x7fu >> n);
        for (std::size_t k = 1; k < n && i + k < utf8.size(); ++k) c = c << 6 | (static_cast<unsigned char>(utf8[i + k]) & 0x3f);
        out.push_back(static_cast<char32_t>(c));
        i += n;
    }
    return out;
}

Word TextTable::number(std::string_view text) {
    const std::size_t hash = TextIndex::hash(text);
    const auto text_of = [&](Word number) { return (*this)[number]; };
    if (const Word cached = index_.find(text, hash, text_of); cached >= 0) return cached;
    const Word number = size();
    texts_.push_back(stored(text));
    index_.insert(number, hash, text_of);
    return number;
}

std::string_view TextTable::stored(std::string_view text) {
    char* to = free_;
    if (text.size() > kBlock / 4) {
        to = blocks_.emplace_back(std::make_unique_for_overwrite<char[]>(text.size())).get();
    } else {
        if (text.size() > n_free_) {
            to = blocks_.emplace_back(std::make_unique_for_overwrite<char[]>(kBlock)).get();
            n_free_ = kBlock;
        }
        free_ = to + text.size();
        n_free_ -= text.size();
    }
    std::copy(text.begin(), text.end(), to);
    return {to, text.size()};
}

class JsonDocument::Reader {
public:
    Reader(JsonDocument& document, std::string_view text) : document_(document), text_(text) {}

    JsonNode read() {
        if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
        const JsonNode root = begin_value();
        CancellationWatch watch;
        while (!open_.empty()) {
            watch.step();
            go_on();
        }
        skip_space();
        if (at_ < text_.size()) fail("something follows the value");
        return root;
    }

private:
    struct Open {
        JsonNode node;
        bool object;
        std::size_t first;  // its first entry in pending_
        Word name = 0;
    };

    [[noreturn]] void fail(const std::string& why) const { fail_at(at_, why); }
    [[noreturn]] void fail_at(std::size_t position, const std::string& why) const {
        const std::string_view before = text_.substr(0, position);
        const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
        const std::size_t begin = line ? before.rfind('\n') + 1 : 0;
        const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
        const auto column =
            static_cast<std::size_t>(std::count_if(before.begin() + static_cast<std::ptrdiff_t>(begin), before.end(), is_first));
        throw JsonError(line + 1, column + 1, pointer(), why);
    }
    // Of the innermost value that is open, or of what is being read in it.
    std::string pointer() const {
        std::string out = "#";
        for (std::size_t i = 0; i < open_.size(); ++i) {
            const std::size_t end = i + 1 < open_.size() ? open_[i + 1].first : pending_.size();
            if (end == open_[i].first) break;  // nothing of it was read
            out += open_[i].object ? pointer_step(document_.texts_[pending_[end - 1].name])
                                   : "/" + std::to_string(end - 1 - open_[i].first);
        }
        return out;
    }

    void skip_space() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    }
    char peek() {
        skip_space();
        if (at_ >= text_.size()) fail("the text ends early");
        return text_[at_];
    }

    JsonNode add(Kind kind, Word first = 0, Word count = 0) {
        document_.values_.push_back({kind, first, count});
        return static_cast<JsonNode>(document_.values_.size()) - 1;
    }

    // Reads a value, or the beginning of one that goes on.
    JsonNode begin_value() {
        switch (const char c = peek()) {
            case '{':
            case '[': {
                ++at_;
                if (open_.size() >= kMaxJsonDepth)
                    throw LimitExceeded("values are nested deeper than " + readable(kMaxJsonDepth) + ", the limit");
                const JsonNode node = add(c == '{' ? Kind::object : Kind::array);
                open_.push_back({node, c == '{', pending_.size()});
                fresh_ = true;
                return node;
            }
            case '"':
                return add(Kind::string, string());
            case 't':
                return word("true", Kind::boolean, 1);
            case 'f':
                return word("false", Kind::boolean, 0);
            case 'n':
                return word("null", Kind::null, 0);
            default:
                return number();
        }
    }

    void go_on() {
        Open& open = open_.back();
        const char end = open.object ? '}' : ']';
        const bool first = std::exchange(fresh_, false);
        if (peek() == end) {
            ++at_;
            close();
            return;
        }
        if (!first) {
            if (text_[at_] != ',') fail(std::string("expected ',' or '") + end + "'");
            ++at_;
            if (peek() == end) fail(std::string("',' before '") + end + "'");
        }
        Word name = 0;
        if (open.object) {
            if (peek() != '"') fail("expected a name in quotes");
            name = string();
            if (peek() != ':') fail("expected ':'");
            ++at_;
        }
        const std::size_t slot = pending_.size();
        pending_.push_back({name, kNone});
        const JsonNode value = begin_value();
        pending_[slot].value = value;
    }

    void close() {
        const Open open = open_.back();
        open_.pop_back();
        fresh_ = false;
        const auto begin = pending_.begin() + static_cast<std::ptrdiff_t>(open.first);
        Value& value = document_.values_[static_cast<std::size_t>(open.node)];
        if (open.object) {
            value.first = static_cast<Word>(document_.members_.size());
            add_members(open.first);
            value.count = static_cast<Word>(document_.members_.size()) - value.first;
        } else {
            value.first = static_cast<Word>(document_.items_.size());
            for (auto p = begin; p != pending_.end(); ++p) document_.items_.push_back(p->value);
            value.count = static_cast<Word>(document_.items_.size()) - value.first;
        }
        pending_.erase(begin, pending_.end());
    }

    // Of members with one name the last one counts, at the position of the first.
    void add_members(std::size_t first) {
        auto& members = document_.members_;
        const auto begin = static_cast<std::ptrdiff_t>(members.size());
        seen_.clear();
        const bool few = pending_.size() - first <= kFewMembers;
        for (std::size_t i = first; i < pending_.size(); ++i) {
            Member* before = nullptr;
            if (few) {
                const auto same = std::find_if(members.begin() + begin, members.end(),
                                               [&](const Member& m) { return m.name == pending_[i].name; });
                if (same != members.end()) before = &*same;
            } else if (const auto [entry, fresh] = seen_.emplace(pending_[i].name, members.size()); !fresh) {
                before = &members[entry->second];
            }
            if (before)
                before->value = pending_[i].value;
            else
                members.push_back(pending_[i]);
        }
    }

    JsonNode word(std::string_view word, Kind kind, Word value) {
        if (text_.substr(at_, word.size()) != word) fail("this is no value");
        at_ += word.size();
        return add(kind, value);
    }

    bool digits() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
        return at_ > begin;
    }

    JsonNode number() {
        const std::size_t begin = at_;
        const auto take = [&](char c) { return at_ < text_.size() && text_[at_] == c && ++at_; };
        take('-');
        const bool zero = at_ < text_.size() && text_[at_] == '0';
        if (zero)
            ++at_;
        else if (!digits())
            fail_at(begin, "this is no value");
        if (take('.') && !digits()) fail("a digit must follow '.'");
        if (take('e') || take('E')) {
            if (!take('+')) take('-');
            if (!digits()) fail("the exponent has no digits");
        }
        if (zero && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') fail_at(begin, "a number must not begin with 0");
        return add(Kind::number, document_.texts_.number(text_.substr(begin, at_ - begin)));
    }

    Word string() {
        const std::size_t begin = ++at_;
        while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' && static_cast<unsigned char>(text_[at_]) >= 0x20)
            ++at_;
        if (at_ < text_.size() && text_[at_] == '"') return document_.texts_.number(text_.substr(begin, at_++ - begin));
        decoded_.assign(text_.substr(begin, at_ - begin));
        while (true) {
            if (at_ >= text_.size()) fail_at(begin - 1, "the string does not end");
            const char c = text_[at_];
            if (c == '"') break;
            if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string must be escaped");
            ++at_;
            if (c == '\\')
                escape();
            else
                decoded_.push_back(c);
        }
        ++at_;
        return document_.texts_.number(decoded_);
    }

    void escape() {
        if (at_ >= text_.size()) fail("the text ends early");
        constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
        const char c = text_[at_++];
        if (c == 'u') {
            const std::size_t begin = at_ - 2;
            std::uint32_t code = hex();
            if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
                at_ += 2;
                const std::uint32_t low = hex();
                if (low < 0xdc00 || low > 0xdfff) fail_at(begin, "half of a surrogate pair, which is no character");
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            }
            if (code >= 0xd800 && code <= 0xdfff) fail_at(begin, "half of a surrogate pair, which is no character");
            append_utf8(decoded_, code);
            return;
        }
        const std::size_t i = kLetters.find(c);
        if (i == std::string_view::npos) fail_at(at_ - 2, "there is no such escape");
        decoded_.push_back(kMeanings[i]);
    }

    std::uint32_t hex() {
        std::uint32_t code = 0;
        for (int i = 0; i < 4; ++i, ++at_) {
            const char c = at_ < text_.size() ? text_[at_] : '\0';
            const int digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
            if (digit < 0) fail("four hexadecimal digits must follow \\u");
            code = code << 4 | static_cast<std::uint32_t>(digit);
        }
        return code;
    }

    JsonDocument& document_;
    std::string_view text_;
    std::size_t at_ = 0;
    bool fresh_ = false;  // the innermost open value is empty so far
    std::vector<Open> open_;
    std::vector<Member> pending_;  // of the values that are open, the outermost's first
    std::unordered_map<Word, std::size_t> seen_;
    std::string decoded_;
};

JsonNode JsonDocument::read(std::string_view text) {
    static_assert(kMaxJsonBytes == std::size_t{1} << 30);
    if (text.size() > kMaxJsonBytes) throw LimitExceeded("the text is longer than 2^30 bytes, the limit");
    return Reader(*this, text).read();
}

std::string JsonDocument::written(JsonNode value) const {
    return changed(value, [](JsonNode) { return Change::none; });
}

std::string JsonDocument::written(JsonNode value, const std::function<Change(JsonNode)>& change) const {
    return changed(value, change);
}

template <class ChangeOf>
std::string JsonDocument::changed(JsonNode value, const ChangeOf& change) const {
    struct Open {
        JsonNode node;
        std::size_t next;
        bool fresh = true;
    };
    std::string out;
    std::vector<Open> open;
    const auto begin = [&](JsonNode node) {
        if (change(node) == Change::always) {
            out += "true";
            return;
        }
        switch (kind(node)) {
            case Kind::null:
                out += "null";
                break;
            case Kind::boolean:
                out += truth(node) ? "true" : "false";
                break;
            case Kind::number:
                out += number(node);
                break;
            case Kind::string:
                append_quoted(out, text(node));
                break;
            case Kind::array:
            case Kind::object:
                out.push_back(kind(node) == Kind::object ? '{' : '[');
                open.push_back({node, 0});
        }
    };
    begin(value);
    while (!open.empty()) {
        const JsonNode node = open.back().node;
        const bool is_object = kind(node) == Kind::object;
        const std::size_t i = open.back().next++;
        if (i == (is_object ? members(node).size() : items(node).size())) {
            out.push_back(is_object ? '}' : ']');
            open.pop_back();
            continue;
        }
        const JsonNode inner = is_object ? members(node)[i].value : items(node)[i];
        if (change(inner) == Change::left_out) continue;
        if (!std::exchange(open.back().fresh, false)) out.push_back(',');
        if (is_object) {
            append_quoted(out, texts_[members(node)[i].name]);
            out.push_back(':');
        }
        begin(inner);
    }
    return out;
}

JsonNode JsonDocument::member(JsonNode object, Word name) const {
    const auto all = members(object);
    if (all.size() <= kFewMembers) {
        for (const Member& m : all)
            if (m.name == name) return m.value;
        return kNone;
    }
    const auto key = [&](Word n) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(object)) << 32 | static_cast<std::uint32_t>(n);
    };
    if (!std::exchange(indexed_[object], true))
        for (const Member& m : all) large_.emplace(key(m.name), m.value);
    const auto found = large_.find(key(name));
    return found == large_.end() ? kNone : found->second;
}

JsonNode JsonDocument::member(JsonNode object, std::string_view name) const { return member(object, texts_.number(name)); }

}  // namespace psc
