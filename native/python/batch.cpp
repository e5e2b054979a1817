// Many matchers at once: psc.BatchGrammarMatcher.
#include <algorithm>
#include <exception>
#include <map>

#include "base/errors.hpp"
#include "base/worker_pool.hpp"
#include "python/matcher.hpp"
#include "python/matcher_arguments.hpp"

namespace psc {
namespace {

// Matchers out of a sequence, which are kept alive meanwhile, whatever other threads do to it.
class Matchers {
public:
    explicit Matchers(const nb::object& list) : kept_(list) {
        for (nb::handle h : kept_) {
            if (!nb::isinstance<PyMatcher>(h))
                throw nb::type_error(("a batch is made of GrammarMatchers, not of " + name_of_type(h)).c_str());
            all_.push_back(&nb::cast<PyMatcher&>(h));
        }
    }
    Matchers(const Matchers&) = delete;
    Matchers& operator=(const Matchers&) = delete;

    // What the matchers are used in.
    const std::vector<PyMatcher*>& all() const { return all_; }
    std::size_t size() const { return all_.size(); }
    bool empty() const { return all_.empty(); }
    TextMatcher* operator[](std::size_t i) const { return all_[i]->matcher.get(); }
    // Whether none is there twice.
    bool distinct() const {
        auto sorted = all_;
        std::sort(sorted.begin(), sorted.end());
        return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    }

private:
    nb::tuple kept_;
    std::vector<PyMatcher*> all_;
};

// Raises the first error, which names its matcher, counted from 0, and has all of them.
void raise_if_any(const std::vector<std::exception_ptr>& errors) {
    const auto first = std::find_if(errors.begin(), errors.end(), [](const std::exception_ptr& e) { return e != nullptr; });
    if (first == errors.end()) return;
    nb::dict failures;
    for (std::size_t i = 0; i < errors.size(); ++i)
        if (errors[i]) failures[nb::int_(i)] = python_error(errors[i]);
    const nb::object raised = python_error(*first);  // apart from the one in the dict, so that neither holds itself
    if (errors.size() > 1)
        raised.attr("args") = nb::make_tuple(nb::str("matcher {} of {}: {}").format(first - errors.begin(), errors.size(), raised));
    raised.attr("failures") = failures;
    PyErr_SetObject(raised.type().ptr(), raised.ptr());
    throw nb::python_error();
}

struct Batch {
    explicit Batch(int threads) : pool(threads) {}
    WorkerPool pool;
};

void bind_batch_values(nb::class_<Batch>& c) {
    c.def_static(
         "batch_fill_temperature",
         [](const nb::object& matchers, const nb::object& temperatures, const nb::object& indices) {
             const Matchers all(matchers);
             const Temperatures out(temperatures);
             std::vector<std::int64_t> places;
             if (indices.is_none())
                 for (std::size_t i = 0; i < all.size(); ++i) places.push_back(static_cast<std::int64_t>(i));
             else
                 places = integers(indices, "indices");
             same_length(all.size(), places.size(), "indices");
             for (std::int64_t i : places) out[i];  // all or none
             for (std::size_t i = 0; i < all.size(); ++i)
                 out[places[i]] = static_cast<float>(temperature_of(*all.all()[i]).value_or(-1.0));
         },
         "matchers"_a, "temperatures"_a.none(), "indices"_a = nb::none(),
         nb::sig("def batch_fill_temperature(matchers: Sequence[GrammarMatcher], temperatures: object, indices: Sequence[int] | "
                 "None = None) -> None"),
         R"(Writes `temperature` of each matcher, or -1 when there is none: entry i for the i-th, or entry indices[i].

`temperatures` is float32 of shape (n,), on the CPU; NumPy, or any array that DLPack carries. Raises RuntimeError, before
anything is written, when the array is another one or has no such entry.)")
        .def_static(
            "batch_accept_token",
            [](const nb::object& matchers, const nb::object& tokens, bool) {
                const Matchers all(matchers);
                const auto ids = integers(tokens, "token ids");
                same_length(all.size(), ids.size(), "tokens");
                std::vector<bool> out;
                {
                    const TurnOfAll turn(all.all());
                    for (std::size_t i = 0; i < all.size(); ++i) out.push_back(all.all()[i]->accept(token_of(ids[i])));
                }
                return out;
            },
            "matchers"_a, "tokens"_a, "debug_print"_a = false,
            nb::sig("def batch_accept_token(matchers: Sequence[GrammarMatcher], tokens: Sequence[int], debug_print: bool = False) "
                    "-> list[bool]"),
            "accept_token() of each matcher with its token. Raises RuntimeError when there are not as many of one as of the "
            "other.");
}

void bind_batch_text(nb::class_<Batch>& c) {
    c.def_static(
         "batch_accept_string",
         [](const nb::object& matchers, const nb::object& strings, bool) {
             const Matchers all(matchers);
             const nb::tuple kept(strings);
             std::vector<Text> texts;
             for (nb::handle t : kept) texts.emplace_back(t);
             same_length(all.size(), texts.size(), "strings");
             std::vector<bool> out;
             {
                 const TurnOfAll turn(all.all());
                 for (std::size_t i = 0; i < all.size(); ++i) out.push_back(all.all()[i]->accept_text(texts[i].bytes));
             }
             return out;
         },
         "matchers"_a, "strings"_a, "debug_print"_a = false,
         nb::sig("def batch_accept_string(matchers: Sequence[GrammarMatcher], strings: Sequence[str | bytes], debug_print: bool "
                 "= False) -> "
                 "list[bool]"),
         "accept_string() of each matcher with its string.")
        .def_static(
            "batch_rollback",
            [](const nb::object& matchers, const nb::object& counts) {
                const Matchers all(matchers);
                std::vector<std::size_t> n;
                if (PyIndex_Check(counts.ptr()) && !nb::hasattr(counts, "__len__"))
                    n.assign(all.size(), steps_of(integer(counts, "numbers of tokens")));
                else
                    for (std::int64_t c : integers(counts, "numbers of tokens")) n.push_back(steps_of(c));
                same_length(all.size(), n.size(), "numbers of tokens");
                const TurnOfAll turn(all.all());
                // All or none; a matcher may be there twice.
                std::map<const TextMatcher*, std::size_t> left;
                for (std::size_t i = 0; i < all.size(); ++i) {
                    std::size_t& steps = left.try_emplace(all[i], all[i]->n_steps()).first->second;
                    if (n[i] > steps)
                        throw MatcherError("matcher " + std::to_string(i) + " cannot take back " + std::to_string(n[i]) +
                                           " steps: only " + std::to_string(steps) + " were made since the start");
                    steps -= n[i];
                }
                for (std::size_t i = 0; i < all.size(); ++i) all.all()[i]->rollback(n[i]);
            },
            "matchers"_a, "num_tokens"_a = 1,
            nb::sig("def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: int | Sequence[int] = 1) -> None"),
            "rollback() of each matcher. Raises RuntimeError, before any has changed, when one has accepted fewer.");
}

}  // namespace

void bind_batch(nb::module_& m) {
    nb::class_<Batch> c(m, "BatchGrammarMatcher",
                        R"(Does the same for many matchers at once, on native threads without the interpreter's lock.

Args:
    max_threads: how many, or "auto" for one a processor.

Raises RuntimeError when max_threads is neither.)");
    c.def(
         "__init__", [](Batch* self, const nb::object& threads) { new (self) Batch(threads_from(threads)); },
         "max_threads"_a.none() = "auto", nb::sig("def __init__(self, max_threads: int | str = 'auto') -> None"))
        .def_prop_ro("max_threads", [](const Batch& self) { return self.pool.n_threads(); })
        .def("__repr__",
             [](const Batch& self) { return "BatchGrammarMatcher(max_threads=" + std::to_string(self.pool.n_threads()) + ")"; })
        .def(
            "__reduce__",
            [](nb::handle self) { return nb::make_tuple(self.type(), nb::make_tuple(nb::cast<Batch&>(self).pool.n_threads())); },
            nb::sig("def __reduce__(self) -> tuple[object, ...]"))
        .def(
            "batch_fill_next_token_bitmask",
            [](Batch& self, const nb::object& matchers, const nb::object& token_bitmask, const nb::object& indices, bool) {
                const Matchers all(matchers);
                if (all.empty()) return;
                const Bitmask bitmask = bitmask_from(token_bitmask);
                std::vector<std::int64_t> rows;
                if (indices.is_none())
                    for (std::size_t i = 0; i < all.size(); ++i) rows.push_back(static_cast<std::int64_t>(i));
                else
                    rows = integers(indices, "indices");
                same_length(all.size(), rows.size(), "indices");
                std::vector<std::uint32_t*> out;
                for (std::size_t i = 0; i < all.size(); ++i)
                    out.push_back(Rows(bitmask, all[i]->machine()->n_words()).row(rows[i]));
                std::vector<std::exception_ptr> errors(all.size());
                {
                    const TurnOfAll turn(all.all());
                    self.pool.run(all.size(), all.distinct() ? 8 : all.size(), [&](std::size_t i) {
                        try {
                            fill_mask(*all[i], out[i]);
                        } catch (...) {
                            errors[i] = std::current_exception();
                        }
                    });
                }
                raise_if_any(errors);
            },
            "matchers"_a, "bitmask"_a.none(), "indices"_a = nb::none(), "debug_print"_a = false,
            nb::sig("def batch_fill_next_token_bitmask(self, matchers: Sequence[GrammarMatcher], bitmask: object, indices: "
                    "Sequence[int] | None "
                    "= None, debug_print: bool = False) -> None"),
            R"(Fills one row of `bitmask` for each matcher: row i for the i-th, or row indices[i].

Raises RuntimeError as GrammarMatcher.fill_next_token_bitmask does, for a matcher that has terminated, say. The other rows are
filled all the same: the attribute `failures` of the error, a dict, has the error of each matcher whose row is not, by its number
in the batch. An error without it was raised before anything was written. Cost: about that of a copy of each row, on all threads.)");
    bind_batch_values(c);
    bind_batch_text(c);
}

}  // namespace psc
