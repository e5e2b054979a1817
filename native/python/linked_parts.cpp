// The parts of linked machines.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "linked/part.hpp"
#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"
#include "python/machine.hpp"
#include "text/token_symbols.hpp"

namespace psc {

void bind_linked_parts(nb::module_& m) {
    nb::class_<PartVocabularies>(m, "PartVocabularies", "A vocabulary with the ends of parts, see native/linked/part.hpp.")
        .def(
            "__init__",
            [](PartVocabularies* self, const PyVocabulary& vocabulary) { new (self) PartVocabularies(vocabulary.index); },
            "vocabulary"_a)
        .def(
            "with_ends",
            [](PartVocabularies& self, const nb::bytes& last, Ints symbols) {
                ByteSet set;
                for (std::size_t i = 0; i < last.size(); ++i) set.set(static_cast<std::uint8_t>(last.c_str()[i]));
                auto numbers = to_vector(symbols);
                if (!numbers.empty() && numbers.size() != static_cast<std::size_t>(self.index()->n_tokens()))
                    throw std::invalid_argument("a vocabulary has as many symbols as tokens, or none");
                if (std::any_of(numbers.begin(), numbers.end(), [](Word n) { return n < -1 || n >= kSymbols; }))
                    throw std::invalid_argument("the number of a symbol is out of range");
                const WithoutInterpreterLock release;
                return new PyVocabulary{self.with_ends(set, std::move(numbers))};
            },
            "last"_a, "symbols"_a, nb::rv_policy::take_ownership, "For parts whose texts end with one of these bytes.");
    nb::class_<LinkedPart>(m, "LinkedPart", "A part of linked machines; its machine is made when a text comes to it first.")
        .def_static(
            "of_rules",
            [](const RulePrograms& rules, const std::shared_ptr<PartVocabularies>& vocabularies, std::int64_t size,
               std::int64_t named_size, std::int64_t around_free_text, std::int64_t literals, std::int64_t counted,
               std::size_t max_positions) {
                const WithoutInterpreterLock release;
                const PartLimits limits{{size, named_size, around_free_text, literals, counted}, max_positions};
                if (!LinkedPart::may_wait(rules, limits)) return std::shared_ptr<LinkedPart>();
                return std::make_shared<LinkedPart>(rules, limits, vocabularies);
            },
            "rules"_a, "vocabularies"_a, "size"_a, "named_size"_a, "around_free_text"_a, "literals"_a, "counted"_a,
            "max_positions"_a,
            "A part of these rules, or None where something might be wrong with them: then their machine is made now, and says "
            "what. For the limits see RulePrograms.lower.")
        .def_static(
            "of_machine", [](const PyMachine& machine) { return std::make_shared<LinkedPart>(machine.engine()); }, "machine"_a,
            "A part that is made.")
        .def_prop_ro(
            "is_made",
            [](LinkedPart& part) {
                const WithoutInterpreterLock release;
                return part.made() != nullptr;
            },
            "Whether its machine is there.");
    m.def(
        "bytes_of_parts",
        [](const std::vector<std::shared_ptr<LinkedPart>>& parts) {
            const WithoutInterpreterLock release;
            std::vector<std::size_t> bytes;
            for (const auto& part : parts) bytes.push_back(part->bytes());
            return bytes;
        },
        "parts"_a, "What each part takes, with what its machine has built; an estimate.");
}

}  // namespace psc
