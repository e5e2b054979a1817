// Text that a message repeats, without its middle where it is long: who wrote it knows it, and a log must not be filled by it.
//
// Example: elided("abcdefghij", 7) is "abc…hij".
//
// Cost: linear in what is left.
#pragma once

#include <string>
#include <string_view>

namespace psc {

inline constexpr std::size_t kMaxRepeated = 200;  // bytes of an input that a message repeats

// At most `most` bytes of UTF-8 and an ellipsis, whole characters. The end stays: of a pointer it says most.
inline std::string elided(std::string_view text, std::size_t most = kMaxRepeated) {
    if (text.size() <= most) return std::string(text);
    const auto goes_on = [&](std::size_t at) { return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
    std::size_t head = most / 2, tail = text.size() - most / 2;
    while (head > 0 && goes_on(head)) --head;
    while (goes_on(tail)) ++tail;
    return std::string(text.substr(0, head)) + "…" + std::string(text.substr(tail));
}

}  // namespace psc
