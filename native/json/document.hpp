// JSON texts, read once into flat arrays: what schemas are read from.
//
// Strings are stored decoded, each distinct one under a number. Numbers are stored as they are written, since no float holds them
// all. Of members with one name the last one counts, as in Python. Strict: RFC 8259, no half of a surrogate pair, and a byte order
// mark, which editors write, is skipped.
//
// Example: `{"a": [1, "b"]}` is an object node with one member, whose name is text_number("a") and whose value is an array node of
// two.
//
// Cost: some 10 ns a byte; nesting costs no C stack. Threads: one at a time for reading; any number once read, but for member() of
// large objects, which builds an index.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/elided.hpp"
#include "base/interned.hpp"
#include "base/text_list.hpp"

namespace psc {

// Text that is not JSON: where, and why. The pointer is that of the value that is being read, as far as it is known.
struct JsonError : std::runtime_error {
    JsonError(std::size_t line, std::size_t column, std::string pointer, const std::string& why)
        : std::runtime_error("line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + why +
                             (pointer == "#" ? "" : " (in " + elided(pointer) + ")")),
          line(line),
          column(column),
          pointer(std::move(pointer)) {}
    std::size_t line, column;
    std::string pointer;
};
// A name as a step of an RFC 6901 pointer, with the slash before it.
std::string pointer_step(std::string_view name);

// The code points of UTF-8.
std::u32string code_points(std::string_view utf8);

// Distinct texts under numbers. Views stay valid.
class TextTable {
public:
    Word number(std::string_view text);
    std::string_view operator[](Word number) const { return texts_[static_cast<std::size_t>(number)]; }
    Word size() const { return static_cast<Word>(texts_.size()); }

private:
    std::string_view stored(std::string_view text);

    static constexpr std::size_t kBlock = 4096;
    std::vector<std::unique_ptr<char[]>> blocks_;  // long texts have one each
    char* free_ = nullptr;                         // what is left of a block
    std::size_t n_free_ = 0;
    std::vector<std::string_view> texts_;
    TextIndex index_;
};

using JsonNode = Word;

class JsonDocument {
public:
    enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
    struct Member {
        Word name;  // in texts()
        JsonNode value;
    };
    static constexpr JsonNode kNone = -1;

    explicit JsonDocument(TextTable& texts) : texts_(texts) {}

    // Adds a text, and returns its value. Throws JsonError; LimitExceeded where values are nested deeper than 10,000, or the text
    // is longer than 2^30 bytes.
    JsonNode read(std::string_view text);
    // The value as text: no white space, strings with the escapes that they need, numbers as they were written.
    std::string written(JsonNode value) const;
    // The same with changes: members and items that are left out, and values that are written as `true`.
    enum class Change : std::uint8_t { none, left_out, always };
    std::string written(JsonNode value, const std::function<Change(JsonNode)>& change) const;
    JsonNode size() const { return static_cast<JsonNode>(values_.size()); }
    Kind kind(JsonNode node) const { return at(node).kind; }
    bool is(JsonNode node, Kind kind) const { return node != kNone && at(node).kind == kind; }
    bool truth(JsonNode boolean) const { return at(boolean).first != 0; }
    // As it is written.
    std::string_view number(JsonNode number) const { return texts_[at(number).first]; }
    Word text_number(JsonNode string) const { return at(string).first; }
    std::string_view text(JsonNode string) const { return texts_[at(string).first]; }
    std::span<const JsonNode> items(JsonNode array) const {
        return std::span(items_).subspan(static_cast<std::size_t>(at(array).first), static_cast<std::size_t>(at(array).count));
    }
    // In the order of the text; names are distinct.
    std::span<const Member> members(JsonNode object) const {
        return std::span(members_).subspan(static_cast<std::size_t>(at(object).first), static_cast<std::size_t>(at(object).count));
    }
    // The value of a name, or kNone. Cost: constant expected; linear in small objects.
    JsonNode member(JsonNode object, Word name) const;
    JsonNode member(JsonNode object, std::string_view name) const;
    TextTable& texts() const { return texts_; }

private:
    struct Value {
        Kind kind;
        Word first, count;
    };
    class Reader;

    template <class ChangeOf>
    std::string changed(JsonNode value, const ChangeOf& change) const;
    const Value& at(JsonNode node) const { return values_[static_cast<std::size_t>(node)]; }

    TextTable& texts_;
    std::vector<Value> values_;
    std::vector<JsonNode> items_;
    std::vector<Member> members_;
    mutable std::unordered_map<std::uint64_t, JsonNode> large_;  // (object, name) of objects with many members; built on first use
    mutable std::unordered_map<JsonNode, bool> indexed_;
};

}  // namespace psc
