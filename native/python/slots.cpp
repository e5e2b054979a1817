// Tables of mask rows, on a GPU or elsewhere: which rows they hold, and what a step has to write there.
#include <algorithm>
#include <exception>

#include "base/errors.hpp"
#include "matcher/mask_slots.hpp"
#include "python/matcher.hpp"
#include "python/matcher_arguments.hpp"

namespace psc {
namespace {

struct Slots {
    MaskSlots slots;
    std::uint64_t vocabulary_tag;
    Word vocab_size;
    bool in_use = false;  // by a call that runs without the interpreter's lock

    void check_vocabulary(const std::vector<PyMatcher*>& matchers) const {
        for (std::size_t i = 0; i < matchers.size(); ++i)
            if (matchers[i] && (matchers[i]->machine->machine->vocabulary().size != vocab_size ||
                                matchers[i]->machine->machine->vocabulary_tag != vocabulary_tag))
                throw BitmaskError("matcher " + std::to_string(i) + " belongs to another vocabulary than the table of masks");
    }
    // Calls `step` for each matcher, by index, and throws the first of their errors when the others are done.
    template <typename Step>
    void step_all(const std::vector<PyMatcher*>& matchers, Step step) {
        const Use use(in_use);
        const TurnOfAll turn(matchers);
        std::exception_ptr first;
        slots.begin();
        for (std::size_t i = 0; i < matchers.size(); ++i) {
            try {
                step(i);
            } catch (...) {
                if (!first) first = std::current_exception();
            }
        }
        if (first) std::rethrow_exception(first);
    }
    // -1 once the text has ended.
    Word slot_of(TextMatcher& m) {
        if (m.stopped()) return -1;
        const MaskRow row = m.mask_row();
        return slots.slot_of(m.shared_cache(), row);
    }
};

// Takes a matcher's tokens back when it ends.
struct Accepted {
    explicit Accepted(TextMatcher& of) : matcher(of) {}
    ~Accepted() {
        if (n > 0) matcher.rollback(n);
    }
    TextMatcher& matcher;
    std::size_t n = 0;
};

void check_room(std::size_t room, std::size_t ids, const char* of) {
    if (room < ids) throw BitmaskError("room for " + std::to_string(room) + " ids, but " + std::to_string(ids) + of);
}

using Out = nb::ndarray<Word, nb::c_contig, nb::device::cpu, nb::ndim<1>>;  // ids of slots

void bind_draft_slots(nb::class_<Slots>& c) {
    c.def(
        "step_drafts",
        [](Slots& self, const nb::object& matchers, const nb::object& drafts, const Out& out) {
            const nb::tuple kept(matchers), lists(drafts);
            const auto all = matchers_or_none(kept);
            same_length(all.size(), lists.size(), "lists of drafts");
            std::vector<std::vector<std::int64_t>> tokens;
            std::vector<std::size_t> begins{0};  // of each matcher's ids
            for (nb::handle list : lists) {
                tokens.push_back(integers(list, "drafts"));
                begins.push_back(begins.back() + tokens.back().size() + 1);
            }
            check_room(out.size(), begins.back(), " places");
            self.check_vocabulary(all);
            std::vector<std::size_t> refused;
            self.step_all(all, [&](std::size_t i) {
                Word* ids = out.data() + begins[i];
                const std::size_t n = tokens[i].size();
                std::fill(ids, ids + n + 1, -1);
                if (!all[i]) return;
                TextMatcher& m = *all[i]->matcher;
                try {
                    Accepted accepted(m);
                    for (std::size_t k = 0; (ids[k] = self.slot_of(m)) != -1 && k < n; ++k) {
                        if (!m.accept(token_of(tokens[i][k]))) {
                            refused.push_back(begins[i] + k);
                            std::fill(ids + k + 1, ids + n + 1, ids[k]);
                            break;
                        }
                        ++accepted.n;
                    }
                } catch (...) {
                    std::fill(ids, ids + n + 1, -1);
                    throw;
                }
            });
            return refused;
        },
        "matchers"_a, "drafts"_a, "out"_a,
        nb::sig("def step_drafts(self, matchers: Sequence[GrammarMatcher | None], drafts: Sequence[Sequence[int]], out: "
                "numpy.typing.NDArray[numpy.int32]) -> list[int]"),
        R"(Writes the slots of the masks along each matcher's drafts to `out`, one after the other: where it is, and after each draft. The
matchers are as before afterwards. After a draft that is refused the slot before it is repeated; -1 for None, and once the text has
ended. Returns where in `out` the slots are whose next draft was refused.

`writes` and errors are as those of `step`; a matcher with an error has -1 everywhere.)");
}

void bind_slot_writes(nb::class_<Slots>& c) {
    c.def_prop_ro(
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

}  // namespace

void bind_slots(nb::module_& m) {
    nb::class_<Slots> c(m, "MaskSlots",
                        "Which mask rows are in a table with room for `n_slots`, for all grammars of a vocabulary. Not for several "
                        "threads at once.");
    c.def(
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
                check_room(out.size(), all.size(), " matchers");
                std::vector<std::int64_t> ids;
                if (!tokens.is_none()) {
                    ids = integers(tokens, "token ids");
                    same_length(all.size(), ids.size(), "tokens");
                }
                self.check_vocabulary(all);
                std::vector<std::size_t> refused;
                self.step_all(all, [&](std::size_t i) {
                    out.data()[i] = -1;
                    if (!all[i]) return;
                    TextMatcher& m = *all[i]->matcher;
                    if (!ids.empty() && ids[i] != -1 && !m.accept(token_of(ids[i]))) refused.push_back(i);
                    out.data()[i] = self.slot_of(m);
                });
                return refused;
            },
            "matchers"_a, "tokens"_a.none(), "out"_a,
            nb::sig("def step(self, matchers: Sequence[GrammarMatcher | None], tokens: Sequence[int] | None, out: "
                    "numpy.typing.NDArray[numpy.int32]) -> list[int]"),
            R"(Accepts a token for each matcher (-1: none; None: for no matcher) and writes the slots of their masks to `out`: -1 for None and
for a matcher that has terminated. Returns the matchers, by index, that refused their token; they are as they were.

What is then in `writes` must be written before the slots are used. Raises BitmaskError, before anything is accepted, for a
matcher of another vocabulary, and, when the others are done, the first error of a matcher, whose slot is -1.)");
    bind_draft_slots(c);
    bind_slot_writes(c);
}

}  // namespace psc
