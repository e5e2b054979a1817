// Vocabularies, as machines that are built on first visit read them.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>

#include "base/errors.hpp"
#include "base/limits.hpp"
#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"
#include "python/machine.hpp"

namespace psc {
namespace {

// Of each token the number of its symbol, or -1.
void check_symbols(const std::vector<Word>& numbers, std::size_t n_tokens) {
    if (!numbers.empty() && numbers.size() != n_tokens)
        throw std::invalid_argument("a vocabulary has as many symbols as tokens, or none");
    if (std::ranges::any_of(numbers, [](Word n) { return n < -1 || n >= kSymbols; }))
        throw std::invalid_argument("the number of a symbol is out of range");
}

ByteSet bytes_in(const std::optional<nb::bytes>& bytes) {
    ByteSet set;
    if (bytes)
        for (std::size_t i = 0; i < bytes->size(); ++i) set.set(static_cast<std::uint8_t>(bytes->c_str()[i]));
    return set;
}

}  // namespace

void bind_vocabulary(nb::module_& m) {
    nb::class_<PyVocabulary>(m, "VocabularyIndex", nb::is_weak_referenceable(),
                             "A vocabulary as a trie, and what was learnt about it for every grammar.")
        .def(
            "__init__",
            [](PyVocabulary* self, Bytes bytes, Longs offsets, Ints text, Ints stop_tokens, Ints symbols) {
                constexpr std::int64_t kMaxVocabularyBytes = limit("vocabulary_bytes");
                if (offsets.size() && offsets.data()[offsets.size() - 1] > kMaxVocabularyBytes)
                    throw LimitExceeded("bytes of all tokens", kMaxVocabularyBytes);
                std::vector<Word> narrow(offsets.data(), offsets.data() + offsets.size());
                const auto ids = to_vector(text);
                auto all = to_vector(bytes);
                const auto stops = ids_of<TokenId>({stop_tokens.data(), stop_tokens.size()});
                std::vector<TokenId> kept(stops.begin(), stops.end());
                auto numbers = to_vector(symbols);
                check_symbols(numbers, narrow.size() - 1);
                const WithoutInterpreterLock release;
                new (self) PyVocabulary{
                    std::make_shared<VocabularyIndex>(std::move(all), std::move(narrow), ids, std::move(kept), std::move(numbers))};
            },
            "token_bytes"_a, "token_offsets"_a, "text_tokens"_a, "stop_tokens"_a, "symbols"_a)
        .def(
            "with_boundaries",
            [](const PyVocabulary& self, const std::optional<nb::bytes>& before_end, const std::optional<nb::bytes>& before_call,
               Ints symbols) {
                const ByteSet end = bytes_in(before_end), call = bytes_in(before_call);
                auto numbers = to_vector(symbols);
                check_symbols(numbers, static_cast<std::size_t>(self.index->n_tokens()));
                const WithoutInterpreterLock release;
                return new PyVocabulary{
                    self.index->with_boundaries(before_end ? &end : nullptr, before_call ? &call : nullptr, std::move(numbers))};
            },
            "before_end"_a.none(), "before_call"_a.none(), "symbols"_a, nb::rv_policy::take_ownership,
            "The same for machines that are linked: with the ends of parts, and with calls of parts, where these are given, behind "
            "the\n"
            "empty text and behind the beginnings of tokens that end with one of these bytes.")
        .def_prop_ro("fragment_bytes",
                     [](const PyVocabulary& v) { return without_lock([&] { return v.index->fragment_bytes(); }); });
}

}  // namespace psc
