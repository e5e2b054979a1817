// ComposedRows against sets of tokens: classes large and small, stop tokens that are text or not, unions near each other and far apart.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "check.hpp"
#include "masks/composed_rows.hpp"

using psc::ClassRows;
using psc::ClassSet;
using psc::MaskRow;
using psc::TokenId;
using psc::Word;

int main() {
    std::mt19937 random(1);
    std::set<psc::MaskRows::Form> forms;
    for (Word vocab_size : {40, 1000, 4097}) {
        // Half of the tokens are of three classes, some are of none.
        const Word n_classes = vocab_size / 9;
        psc::TokenTables tokens;
        tokens.n_classes = {n_classes};
        std::vector<psc::Maybe<psc::TokenClass>> class_of(static_cast<std::size_t>(vocab_size));
        for (auto& c : class_of)
            if (random() % 50) c = psc::TokenClass{static_cast<Word>(random() % 2 ? random() % 3 : random() % n_classes)};
        tokens.class_of_token = class_of;
        std::vector<Word> offsets{0};
        std::vector<psc::SetMember> members;
        const Word n_sets = 60;
        for (Word s = 0; s < n_sets; ++s) {
            for (Word c = 0; c <= n_classes; ++c)  // the last one stands for the stop tokens
                if (random() % (1 << s % 7) == 0) members.push_back({c});
            offsets.push_back(static_cast<Word>(members.size()));
        }
        psc::ClassifierTables sets;
        sets.set_offsets = offsets;
        sets.set_classes = members;
        psc::GivenTokens given;
        given.vocab_size = {vocab_size};
        given.stop_tokens = std::vector<TokenId>{{3}, {vocab_size - 1}, {3}};

        const ClassRows class_rows(tokens, sets, given);
        psc::MaskRows rows(vocab_size);
        psc::ComposedRows composed;
        std::map<std::set<Word>, MaskRow> known;
        std::vector<Word> chosen;
        for (int i = 0; i < 300; ++i) {
            if (i % 20 == 0) chosen.clear();  // far from the one before; else near
            if (i % 40 != 20) chosen.push_back(static_cast<Word>(random() % n_sets));
            std::vector<std::uint64_t> classes(class_rows.n_class_words());
            std::set<Word> united;
            for (Word s : chosen) {
                class_rows.unite(ClassSet{s}, classes);
                for (Word m = offsets[s]; m < offsets[s + 1]; ++m) united.insert(members[m].v);
            }
            const MaskRow row = composed.row(class_rows, rows, classes);
            std::vector<std::uint32_t> bits(rows.n_words());
            rows.copy(row, bits.data());
            for (Word t = 0; t < vocab_size; ++t) {
                const bool stops = (t == 3 || t == vocab_size - 1) && united.contains(n_classes);
                const bool text = class_of[t] && united.contains(class_of[t].v);
                CHECK((bits[t >> 5] >> (t & 31) & 1) == (stops || text), "a row has another token than its classes");
            }
            const MaskRow first = known.try_emplace(united, row).first->second;
            CHECK(first == row, "a union that is known gets another row");
            forms.insert(rows.stored(row).form);
            // Bits that are there by another way get the row that has them, and rows that come later are found as well.
            if (i < 150 || i % 7) continue;
            auto same = std::make_unique<std::uint32_t[]>(rows.n_words());
            std::copy(bits.begin(), bits.end(), same.get());
            const Word before = rows.size();
            std::vector<std::uint32_t> found(rows.n_words());
            rows.copy(rows.add(same), found.data());
            CHECK(rows.size() == before && found == bits, "bits that are there are added again");
        }
    }
    CHECK(forms.size() == 3, "a form was not tried");
}
