// Tables of mask rows, on a GPU or elsewhere: which rows they hold, and what a step has to write there.
#include <exception>

#include "bind_matcher.hpp"
#include "errors.hpp"
#include "mask_slots.hpp"
#include "matcher_arguments.hpp"

namespace psc {
namespace {

// The matchers of a step; None stands for a sequence that is not constrained.
std::vector<PyMatcher*> matchers_or_none(const nb::tuple& list) {
    std::vector<PyMatcher*> all;
    all.reserve(list.size());
    for (nb::handle h : list) {
        if (!h.is_none() && !nb::isinstance<PyMatcher>(h))
            throw nb::type_error(("a step is made of GrammarMatchers and None, not of " + name_of_type(h)).c_str());
        all.push_back(h.is_none() ? nullptr : &nb::cast<PyMatcher&>(h));
    }
    return all;
}

struct Slots {
    MaskSlots slots;
    std::uint64_t vocabulary_tag;
    Word vocab_size;
    bool in_use = false;  // by a call that runs without the interpreter's lock
};

// Says that a table is in use while it lives. Made and destroyed with the interpreter's lock.
struct Use {
    explicit Use(bool& flag) : in_use(flag) { in_use = true; }
    ~Use() { in_use = false; }
    bool& in_use;
};

}  // namespace

void bind_slots(nb::module_& m) {
    using Out = nb::ndarray<Word, nb::c_contig, nb::device::cpu, nb::ndim<1>>;
    nb::class_<Slots>(m, "MaskSlots",
                      "Which mask rows are in a table with room for `n_slots`, for all grammars of a vocabulary. Not for several "
                      "threads at once.")
        .def(
            "__init__",
            [](Slots* self, Word n_slots, Word vocab_size, std::uint64_t tag) {
                if (n_slots < 1) throw BitmaskError("a table of mask rows needs room for one row at least");
                new (self) Slots{MaskSlots(n_slots), tag, vocab_size};
            },
            "n_slots"_a, "vocab_size"_a, "vocabulary_tag"_a)
        .def_prop_ro("n_slots", [](const Slots& s) { return s.slots.n_slots(); })
        .def_prop_ro("n_used", [](const Slots& s) { return s.slots.n_used(); })
        .def_prop_ro(
            "n_steps", [](const Slots& s) { return s.slots.n_steps(); }, "Steps begun.")
        .def(
            "step",
            [](Slots& self, const nb::object& matchers, const nb::object& tokens, const Out& out) {
                const nb::tuple kept(matchers);
                const auto all = matchers_or_none(kept);
                if (out.size() < all.size())
                    throw BitmaskError("room for " + std::to_string(out.size()) + " ids, but " + std::to_string(all.size()) +
                                       " matchers");
                std::vector<std::int64_t> ids;
                if (!tokens.is_none()) {
                    ids = integers(tokens, "token ids");
                    same_length(all.size(), ids.size(), "tokens");
                }
                for (std::size_t i = 0; i < all.size(); ++i)
                    if (all[i] && (all[i]->machine->machine->vocabulary().size != self.vocab_size ||
                                   all[i]->machine->machine->vocabulary_tag != self.vocabulary_tag))
                        throw BitmaskError("matcher " + std::to_string(i) +
                                           " belongs to another vocabulary than the table of masks");
                std::vector<std::size_t> refused;
                {
                    Turn::wait_for(self.in_use);
                    const Use use(self.in_use);
                    const TurnOfAll turn(all);
                    std::exception_ptr first;
                    self.slots.begin();
                    for (std::size_t i = 0; i < all.size(); ++i) {
                        out.data()[i] = -1;
                        if (!all[i]) continue;
                        TextMatcher& m = *all[i]->matcher;
                        try {
                            if (!ids.empty() && ids[i] != -1 && !m.accept(token_of(ids[i]))) refused.push_back(i);
                            if (m.stopped()) continue;
                            const MaskRow row = m.mask_row();
                            out.data()[i] = self.slots.slot_of(m.shared_cache(), row);
                        } catch (...) {
                            if (!first) first = std::current_exception();
                        }
                    }
                    if (first) std::rethrow_exception(first);
                }
                return refused;
            },
            "matchers"_a, "tokens"_a.none(), "out"_a,
            nb::sig("def step(self, matchers: Sequence[GrammarMatcher | None], tokens: Sequence[int] | None, out: "
                    "numpy.typing.NDArray[numpy.int32]) -> list[int]"),
            R"(Accepts a token for each matcher (-1: none; None: for no matcher) and writes the slots of their masks to `out`: -1 for None and
for a matcher that has terminated. Returns the matchers, by index, that refused their token; they are as they were.

What is then in `writes` must be written before the slots are used. Raises BitmaskError, before anything is accepted, for a
matcher of another vocabulary, and, when the others are done, the first error of a matcher, whose slot is -1.)")
        .def_prop_ro(
            "writes",
            [](const Slots& s) {
                std::vector<Word> flat;
                for (const auto& w : s.slots.writes()) flat.insert(flat.end(), {w.slot, w.form, w.begin, w.count});
                return to_array(std::move(flat));
            },
            nb::rv_policy::reference,
            R"(What the last step has to write, four numbers each: slot, form (0: only these tokens are allowed, 1: only these are not,
2: all bits), and the first and the number of its words in `pool`.)")
        .def_prop_ro("n_writes", [](const Slots& s) { return s.slots.writes().size(); })
        .def_prop_ro(
            "pool",
            [](const Slots& s) { return to_array(std::vector<std::uint32_t>(s.slots.pool().begin(), s.slots.pool().end())); },
            nb::rv_policy::reference);
}

}  // namespace psc
