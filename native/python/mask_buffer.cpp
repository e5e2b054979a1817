// The bitmask of a server's batch, which all its matchers fill in one call: psc._core.MaskBuffer.
#include <algorithm>

#include "base/errors.hpp"
#include "base/worker_pool.hpp"
#include "matcher/draft_rows.hpp"
#include "matcher/mask_buffer.hpp"
#include "python/matcher.hpp"
#include "python/matcher_arguments.hpp"

namespace psc {
namespace {

struct PyMaskBuffer {
    PyMaskBuffer(std::size_t n_rows, Word vocab_size, int n_threads) : buffer(n_rows, vocab_size), pool(n_threads) {}
    MaskBuffer buffer;
    WorkerPool pool;
    bool in_use = false;  // by a call that runs without the interpreter's lock
};

// What a batch asks for: of each request its matcher, its drafts and the first of its rows.
struct Requests {
    Requests(const nb::object& matchers, const nb::object& draft_lists, const nb::object& indices, const MaskBuffer& buffer)
        : kept(matchers), all(matchers_or_none(kept)), rows(integers(indices, "rows")) {
        const nb::tuple lists(draft_lists);
        same_length(all.size(), lists.size(), "drafts");
        same_length(all.size(), rows.size(), "rows");
        for (nb::handle list : lists) drafts.push_back(integers(list, "drafts"));
        std::int64_t end = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i] && all[i]->machine->machine->vocabulary().size != buffer.vocab_size())
                throw BitmaskError("matcher " + std::to_string(i) + " has a vocabulary of " +
                                   std::to_string(all[i]->machine->machine->vocabulary().size) + " tokens, and the masks " +
                                   std::to_string(buffer.vocab_size()));
            const auto n = static_cast<std::int64_t>(drafts[i].size()) + 1, n_rows = static_cast<std::int64_t>(buffer.n_rows());
            if (rows[i] < end || n > n_rows || rows[i] > n_rows - n)
                throw BitmaskError("rows " + std::to_string(rows[i]) + " and the " + std::to_string(n - 1) +
                                   " that follow, of a bitmask of " + std::to_string(n_rows) +
                                   " rows: there must be as many, behind those of the request before");
            end = rows[i] + n;
        }
    }
    // Whether no matcher is there twice, so that each may be used by a thread of its own.
    bool distinct() const {
        auto sorted = all;
        std::erase(sorted, nullptr);
        std::sort(sorted.begin(), sorted.end());
        return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    }

    nb::tuple kept;
    std::vector<PyMatcher*> all;
    std::vector<std::int64_t> rows;
    std::vector<std::vector<std::int64_t>> drafts;
};

constexpr std::size_t kAtATime = 8;  // requests that a thread takes

void bind_buffer_filling(nb::class_<PyMaskBuffer>& c) {
    c.def(
        "fill",
        [](PyMaskBuffer& self, const nb::object& matchers, const nb::object& draft_lists, const nb::object& rows) {
            const Requests requests(matchers, draft_lists, rows, self.buffer);
            std::vector<DraftRows> found(requests.all.size());
            {
                const Use use(self.in_use);
                const TurnOfAll turn(requests.all);
                const std::size_t grain = requests.distinct() ? kAtATime : std::max<std::size_t>(requests.all.size(), 1);
                self.pool.run(requests.all.size(), grain, [&](std::size_t i) {
                    const auto first = static_cast<std::size_t>(requests.rows[i]);
                    if (requests.all[i])
                        found[i] = fill_drafts(*requests.all[i]->matcher, requests.drafts[i], self.buffer, first);
                    else
                        for (std::size_t k = 0; k <= requests.drafts[i].size(); ++k) self.buffer.allow_all(first + k);
                });
            }
            nb::list remarks;
            for (std::size_t i = 0; i < found.size(); ++i) {
                for (std::size_t row : found[i].empty) remarks.append(nb::make_tuple(i, row, "empty"));
                if (found[i].refused) remarks.append(nb::make_tuple(i, *found[i].refused, "refused"));
                if (found[i].error) remarks.append(nb::make_tuple(i, 0, python_error(found[i].error)));
            }
            return remarks;
        },
        "matchers"_a, "drafts"_a, "rows"_a,
        nb::sig("def fill(self, matchers: Sequence[GrammarMatcher | None], drafts: Sequence[Sequence[int]], rows: "
                "Sequence[int]) -> "
                "list[tuple[int, int, str | Exception]]"),
        R"(Writes the masks of a step, on all threads and without the interpreter's lock; the matchers are as before afterwards.

Args:
    matchers: of the requests; None is one that may have any token.
    drafts: of each the tokens that may come, in speculative decoding. From -1 on there are none.
    rows: of each the first row. Row k from there on is the mask after k drafts. After a draft that is refused the row before it
        is repeated; after the end of the text, and after the first -1, rows allow everything. Ascending, and apart.

Returns what there is to say, mostly nothing, in the order of the requests: (request, k, "empty") of a row in which nothing is
allowed, (request, k, "refused") of draft k, counted from 0, and (request, 0, error) of a matcher whose masks cannot be made, all of
whose rows allow everything. The other requests' rows are filled all the same. Raises RuntimeError, before anything is written, for
rows that are not there or not apart, and for a matcher of another size of vocabulary. Cost: some microseconds for each request
with eight drafts where all masks are known, and a copy of vocab_size / 8 bytes for a mask unlike the one that was there.)");
}

}  // namespace

void bind_mask_buffer(nb::module_& m) {
    nb::class_<PyMaskBuffer> c(
        m, "MaskBuffer",
        R"(The bitmask of a server's batch, which stays from step to step and knows what is in its rows: what is there already is
not written again. In the beginning all rows allow everything.

Args:
    n_rows: how many.
    vocab_size: of all matchers.
    max_threads: that fill it, or "auto" for one a processor.

Raises RuntimeError when max_threads is neither. One call at a time; another thread's waits.)");
    c.def(
         "__init__",
         [](PyMaskBuffer* self, std::size_t n_rows, Word vocab_size, const nb::object& threads) {
             if (vocab_size < 1) throw BitmaskError("masks of " + std::to_string(vocab_size) + " tokens");
             new (self) PyMaskBuffer(n_rows, vocab_size, threads_from(threads));
         },
         "n_rows"_a, "vocab_size"_a, "max_threads"_a = "auto",
         nb::sig("def __init__(self, n_rows: int, vocab_size: int, max_threads: int | str = 'auto') -> None"))
        .def_prop_ro(
            "rows",
            [](nb::handle self) {
                auto& mine = nb::cast<PyMaskBuffer&>(self);
                auto* words = reinterpret_cast<Word*>(mine.buffer.row(0));
                return nb::ndarray<nb::numpy, Word, nb::ndim<2>>(words, {mine.buffer.n_rows(), mine.buffer.n_words()}, self);
            },
            nb::sig("def rows(self) -> NDArray[numpy.int32]"), nb::rv_policy::reference,
            "All rows: int32 of shape (n_rows, ceil(vocab_size / 32)), no copy. Who writes to one has to `forget` it.")
        .def(
            "forget",
            [](PyMaskBuffer& self, std::size_t row, std::size_t count) {
                if (count > self.buffer.n_rows() || row > self.buffer.n_rows() - count)
                    throw BitmaskError("rows " + std::to_string(row) + " and on of a bitmask of " +
                                       std::to_string(self.buffer.n_rows()) + " rows");
                const Use use(self.in_use);
                for (std::size_t i = row; i < row + count; ++i) self.buffer.forget(i);
            },
            "row"_a, "count"_a = 1, "Says that somebody else wrote to rows, which are then written whole the next time.");
    bind_buffer_filling(c);
}

}  // namespace psc
