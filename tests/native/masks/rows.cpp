// MaskRows against sets of tokens: every form, every width of the last word, rows met again, and the bits in place.
#include <random>
#include <set>
#include <vector>

#include "check.hpp"
#include "masks/rows.hpp"

using psc::MaskRows;
using psc::MaskRow;
using psc::TokenId;
using psc::Word;
using Tokens = std::set<Word>;

namespace {

MaskRow add(MaskRows& rows, const std::vector<std::uint32_t>& words) {
    auto bits = std::make_unique<std::uint32_t[]>(words.size());
    std::copy(words.begin(), words.end(), bits.get());
    return rows.add(bits);
}

std::vector<std::uint32_t> bits_of(const Tokens& tokens, Word size) {
    std::vector<std::uint32_t> words((static_cast<std::size_t>(size) + 31) / 32);
    for (Word t : tokens) words[t >> 5] |= 1u << (t & 31);
    return words;
}

void check_row(MaskRows& rows, MaskRow row, const Tokens& tokens, Word size) {
    const auto want = bits_of(tokens, size);
    std::vector<std::uint32_t> copied(want.size(), 0xdeadbeef);
    rows.copy(row, copied.data());
    CHECK(copied == want, "copy() differs from what was added");
    CHECK(std::equal(want.begin(), want.end(), rows.words(row)), "words() differs from what was added");
    CHECK(rows.words(row) == rows.words(row), "words() moves");
    for (Word t = 0; t < size; ++t) CHECK(rows.allowed(row, TokenId{t}) == tokens.contains(t), "allowed() differs from what was added");
    CHECK(rows.all(row) == (tokens.size() == static_cast<std::size_t>(size)), "all()");
    CHECK(rows.none(row) == tokens.empty(), "none()");
    const auto stored = rows.stored(row);
    if (stored.form == MaskRows::Form::bits) {
        CHECK(stored.words.size() == want.size(), "a row of bits has another width");
    } else {
        const bool allowed = stored.form == MaskRows::Form::allowed;
        CHECK(stored.words.size() == (allowed ? tokens.size() : size - tokens.size()), "a row of ids has another length");
        for (std::uint32_t t : stored.words) CHECK(tokens.contains(static_cast<Word>(t)) == allowed, "a row of ids names another token");
    }
}

}  // namespace

int main() {
    std::mt19937 random(1);
    std::set<MaskRows::Form> forms;
    for (Word size : {1, 31, 32, 33, 63, 64, 65, 300, 1000, 4097}) {
        MaskRows rows(size);
        std::vector<std::pair<MaskRow, Tokens>> added;
        for (double part : {0.0, 1.0, 0.001, 0.999, 0.01, 0.99, 0.5, 0.03, 0.97, 0.5}) {
            Tokens tokens;
            for (Word t = 0; t < size; ++t)
                if (random() < part * 4294967296.0 || part == 1.0) tokens.insert(t);
            const MaskRow row = add(rows, bits_of(tokens, size));
            for (const auto& [other, same] : added) CHECK((other == row) == (same == tokens), "one set, one row");
            added.emplace_back(row, tokens);
            forms.insert(rows.stored(row).form);
        }
        for (const auto& [row, tokens] : added) {
            check_row(rows, row, tokens, size);
            CHECK(add(rows, bits_of(tokens, size)) == row, "a row that is known gets another id");
        }
        for (Word i = 0; i < 3000 && size >= 300; ++i) {  // more than the first block of rows holds
            const Tokens pair{static_cast<Word>(random() % size), static_cast<Word>(random() % size)};
            const MaskRow row = add(rows, bits_of(pair, size));
            if (i % 100 == 0) check_row(rows, row, pair, size);
        }
        for (const auto& [row, tokens] : added) check_row(rows, row, tokens, size);
    }
    CHECK(forms.size() == 3, "a form was not tried");
}
