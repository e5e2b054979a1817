// Matchers, one at a time and in batches.
#include <cstdint>
#include <map>
#include <thread>

#include "bind_matcher.hpp"
#include "bindings.hpp"
#include "draft_tree.hpp"
#include "errors.hpp"
#include "mask_slots.hpp"
#include "worker_pool.hpp"

namespace psc {
namespace {

using Bitmask = nb::ndarray<>;
using Indices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::string name_of_type(nb::handle h) {
    return nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(h.ptr()))).attr("__name__"));
}

// An array that can be written to, of whatever shape and type.
Bitmask bitmask_from(nb::handle h) {
    Bitmask bitmask;
    if (nb::try_cast(h, bitmask)) {
        if (bitmask.device_type() != nb::device::cpu::value)
            throw BitmaskError("the bitmask is on another device; fill one on the CPU and copy it there");
        return bitmask;
    }
    PyErr_Clear();
    if (nb::ndarray<nb::ro> fixed; nb::try_cast(h, fixed)) throw BitmaskError("the bitmask is read-only");
    PyErr_Clear();
    throw nb::type_error(
        ("the bitmask must be an int32 array, NumPy's or one that DLPack carries, not " + name_of_type(h)).c_str());
}

// Links and tokens of a draft tree: copied where they are spread or of another integer type.
Indices indices_from(nb::handle h, const char* name) {
    nb::ndarray<nb::ro> any;
    if (!nb::try_cast(h, any) || any.ndim() != 1 || any.device_type() != nb::device::cpu::value ||
        any.dtype().code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int))
        throw nb::type_error((std::string(name) + " must be an int64 array of one dimension on the CPU").c_str());
    return nb::cast<Indices>(h);
}

// The rows of an int32 array of shape (batch, words) or (words,).
struct Rows {
    Word* data;
    std::size_t count;
    std::int64_t stride;

    Rows(const Bitmask& bitmask, std::size_t words) : data(static_cast<Word*>(bitmask.data())), count(1), stride(0) {
        if (bitmask.dtype() != nb::dtype<Word>()) throw BitmaskError("the bitmask must be an int32 array");
        if (bitmask.ndim() != 1 && bitmask.ndim() != 2)
            throw BitmaskError("the bitmask must have one or two dimensions, not " + std::to_string(bitmask.ndim()));
        const std::size_t last = bitmask.ndim() - 1;
        if (bitmask.shape(last) != words)
            throw BitmaskError("the bitmask has " + std::to_string(bitmask.shape(last)) + " words a row; this vocabulary needs " +
                               std::to_string(words));
        if (words > 1 && bitmask.stride(last) != 1) throw BitmaskError("the bitmask's rows must be contiguous");
        if (last == 1) {
            count = bitmask.shape(0);
            stride = bitmask.stride(0);
        }
    }
    std::uint32_t* row(std::int64_t index) const {
        if (index < 0 || static_cast<std::size_t>(index) >= count)
            throw BitmaskError("row " + std::to_string(index) + " of a bitmask of " + std::to_string(count) + " rows");
        return reinterpret_cast<std::uint32_t*>(data + index * stride);
    }
};

// False: every token is allowed.
bool fill(Matcher& m, std::uint32_t* out) {
    const MaskRow row = m.mask_row();
    m.cache().rows.copy(row, out);
    return !m.cache().rows.all(row);
}

std::string_view text_of(const nb::handle& text) {
    if (PyUnicode_Check(text.ptr())) {
        Py_ssize_t n;
        const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &n);
        if (!data) throw nb::python_error();
        return {data, static_cast<std::size_t>(n)};
    }
    if (PyBytes_Check(text.ptr())) return {PyBytes_AS_STRING(text.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(text.ptr()))};
    if (PyByteArray_Check(text.ptr()))
        return {PyByteArray_AS_STRING(text.ptr()), static_cast<std::size_t>(PyByteArray_GET_SIZE(text.ptr()))};
    throw nb::type_error("text must be str or bytes");
}

std::span<const std::uint8_t> bytes_of(std::string_view s) { return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()}; }

// The whole characters that the bytes begin with.
std::size_t whole_characters(const std::string& s) {
    std::size_t n = 0;
    while (n < s.size()) {
        const auto lead = static_cast<std::uint8_t>(s[n]);
        const std::size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
        if (length == 0 || n + length > s.size()) break;
        std::uint32_t c = length == 1 ? lead : lead & (0x7f >> length);
        bool valid = true;
        for (std::size_t i = 1; i < length; ++i) {
            valid &= (s[n + i] & 0xc0) == 0x80;
            c = c << 6 | (s[n + i] & 0x3f);
        }
        valid &= !(length == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) && !(length == 4 && (c < 0x10000 || c > 0x10ffff));
        if (!valid) break;
        n += length;
    }
    return n;
}

TokenId token_of(std::int64_t token) { return {token < 0 || token > 0x7fffffff ? -1 : static_cast<Word>(token)}; }

std::size_t steps_of(std::int64_t n) {
    if (n < 0) throw MatcherError("cannot take back " + std::to_string(n) + " steps");
    return static_cast<std::size_t>(n);
}

// An integer of any size; one that does not fit is out of every range.
std::int64_t integer(nb::handle h, const char* what) {
    if (!PyIndex_Check(h.ptr())) throw nb::type_error((std::string(what) + " must be integers, not " + name_of_type(h)).c_str());
    const nb::object exact = nb::steal(PyNumber_Index(h.ptr()));
    if (!exact.is_valid()) throw nb::python_error();
    int overflow = 0;
    const std::int64_t value = PyLong_AsLongLongAndOverflow(exact.ptr(), &overflow);
    return overflow ? (overflow < 0 ? INT64_MIN : INT64_MAX) : value;
}

std::vector<std::int64_t> integers(nb::handle list, const char* what) {
    std::vector<std::int64_t> out;
    for (nb::handle h : list) out.push_back(integer(h, what));
    return out;
}

std::vector<TokenId> stop_tokens_from(const nb::handle& given, Word vocab_size) {
    std::vector<std::int64_t> ids;
    if (PyIndex_Check(given.ptr()) && !nb::hasattr(given, "__len__"))
        ids.push_back(integer(given, "stop tokens"));
    else
        ids = integers(given, "stop tokens");
    if (ids.empty()) throw MatcherError("override_stop_tokens is empty; leave it out to keep the tokenizer's");
    std::vector<TokenId> out;
    for (std::int64_t id : ids) {
        if (id < 0 || id >= vocab_size)
            throw MatcherError("stop token " + std::to_string(id) + " is out of range; the vocabulary has " +
                               std::to_string(vocab_size) + " tokens");
        out.push_back(token_of(id));
    }
    return out;
}

void bind_one(nb::module_& m) {
    nb::class_<PyMatcher>(
        m, "GrammarMatcher",
        "Follows one generated text: which tokens may come next, and what was accepted so far.\n\n"
        "Args:\n"
        "    compiled_grammar: shared by any number of matchers; it keeps the mask rows.\n"
        "    override_stop_tokens: an id or ids that end the text instead of the tokenizer's; they are never text.\n"
        "    terminate_without_stop_token: the text is over as soon as it is complete, though it may go on; no token ends it.\n"
        "    max_rollback_tokens: any number can be taken back; accepted for compatibility.\n"
        "    default_temperature: kept for the caller, see `temperature`.\n\n"
        "Raises ValueError when the first argument is not a CompiledGrammar, RuntimeError for stop tokens out of range.\n"
        "Cost: under a microsecond a call in the steady state; the first visit to a new mask composes its row. A matcher belongs "
        "to\n"
        "one thread at a time; matchers of one grammar may be used by several at once.")
        .def(
            "__init__",
            [](PyMatcher* self, nb::object compiled, nb::object stops, bool without_stop, int, nb::object temperature) {
                if (!nb::hasattr(compiled, "_machine") || !nb::isinstance<PyMachine>(compiled.attr("_machine")))
                    throw nb::value_error(
                        "the grammar must be a CompiledGrammar: compile it with GrammarCompiler, or load() an artifact");
                auto* machine = nb::cast<PyMachine*>(nb::object(compiled.attr("_machine")));
                std::vector<TokenId> tokens;
                if (!stops.is_none()) tokens = stop_tokens_from(stops, machine->machine->vocabulary().size);
                new (self) PyMatcher(std::move(compiled), machine);
                self->temperature = std::move(temperature);
                if (!tokens.empty()) self->matcher.set_stop_tokens(tokens);
                if (without_stop) self->matcher.set_terminates_when_complete();
            },
            "compiled_grammar"_a.none(), nb::kw_only(), "override_stop_tokens"_a = nb::none(),
            "terminate_without_stop_token"_a = false, "max_rollback_tokens"_a = -1, "default_temperature"_a = nb::none(),
            nb::sig("def __init__(self, compiled_grammar: object, *, override_stop_tokens: int | Sequence[int] | None = None, "
                    "terminate_without_stop_token: bool = False, max_rollback_tokens: int = -1, default_temperature: float | None "
                    "= None) "
                    "-> None"))
        .def(
            "accept_token", [](PyMatcher& self, std::int64_t token, bool) { return self.matcher.accept(token_of(token)); },
            "token_id"_a, nb::kw_only(), "debug_print"_a = false,
            "Takes a token: True, or False when the mask does not allow it, and then nothing changes.\n\n"
            "A stop token is accepted where the text may end, and terminates the matcher. Ids out of range are refused.\n"
            "Cost: the token's bytes through the lexer and a shift per terminal, about 0.1 us.")
        .def(
            "accept_string",
            [](PyMatcher& self, nb::object text, bool) { return self.matcher.accept_text(bytes_of(text_of(text))); },
            "input_str"_a.none(), nb::kw_only(), "debug_print"_a = false,
            nb::sig("def accept_string(self, input_str: str | bytes, *, debug_print: bool = False) -> bool"),
            "Takes text, all of it (True) or nothing (False); one step for rollback(). It is never a stop token.\n\n"
            "Cost: linear in its length.")
        .def(
            "mask_row", [](PyMatcher& self) { return self.matcher.mask_row().v; },
            "The id of the current mask row, see CompiledGrammar.row().\n\n"
            "Raises RuntimeError after a stop token. Cost: a lookup for each stack symbol that has to be read, about 0.1 us.")
        .def(
            "mask",
            [](PyMatcher& self) {
                const MaskRow row = self.matcher.mask_row();
                return self.machine->view(self.matcher.shared_cache(), row);
            },
            nb::sig("def mask(self) -> NDArray[numpy.int32]"),
            "The current mask: int32 of shape (ceil(vocab_size / 32),), read-only, a view and no copy.\n\n"
            "Token j is allowed when bit j % 32 of word j // 32 is set. Raises RuntimeError after a stop token.")
        .def(
            "allowed_tokens",
            [](PyMatcher& self) {
                const MaskRow row = self.matcher.mask_row();
                return to_array(numbers(self.matcher.cache().rows.tokens(row)));
            },
            nb::sig("def allowed_tokens(self) -> NDArray[numpy.int32]"), nb::rv_policy::reference,
            "Ids of the allowed tokens: int32 of shape (n,), ascending, a new array.\n\n"
            "Raises RuntimeError after a stop token. Cost: vocab_size / 64 words, and the ids.")
        .def(
            "is_allowed",
            [](PyMatcher& self, const nb::object& token) {
                const std::int64_t id = integer(token, "token ids");
                const MaskRow row = self.matcher.mask_row();
                return id >= 0 && id < self.machine->machine->vocabulary().size &&
                       self.matcher.cache().rows.allowed(row, token_of(id));
            },
            nb::sig("def is_allowed(self, token_id: int) -> bool"), "token_id"_a,
            "Whether the mask allows a token, which is whether accept_token() would take it. An id out of range is not allowed.\n\n"
            "Raises RuntimeError after a stop token. Cost: about 0.1 us.")
        .def(
            "fill_next_token_bitmask",
            [](PyMatcher& self, const nb::object& bitmask, std::int64_t index, bool) {
                return fill(self.matcher, Rows(bitmask_from(bitmask), self.matcher.machine()->n_words()).row(index));
            },
            "bitmask"_a.none(), "index"_a = 0, nb::kw_only(), "debug_print"_a = false,
            nb::sig("def fill_next_token_bitmask(self, bitmask: object, index: int = 0, *, debug_print: bool = False) -> bool"),
            "Copies the current mask into row `index` of an int32 CPU array of shape (batch, ceil(vocab_size / 32)), or into one "
            "of\n"
            "shape (ceil(vocab_size / 32),).\n\n"
            "NumPy, or any array that DLPack carries. Returns False when every token is allowed, so that applying the mask would "
            "change\n"
            "nothing. Raises RuntimeError for a wrong dtype or shape, a row that is not there, or after a stop token. Cost: a copy "
            "of\n"
            "vocab_size / 8 bytes.")
        .def(
            "traverse_draft_tree",
            [](PyMatcher& self, const nb::object& next_token, const nb::object& next_sibling, const nb::object& draft_tokens,
               const nb::object& token_bitmask, double seconds, const nb::object& temperatures) {
                const auto child = indices_from(next_token, "retrieve_next_token");
                const auto sibling = indices_from(next_sibling, "retrieve_next_sibling");
                const auto token = indices_from(draft_tokens, "draft_tokens");
                const Bitmask bitmask = bitmask_from(token_bitmask);
                const DraftTree tree{
                    {child.data(), child.shape(0)}, {sibling.data(), sibling.shape(0)}, {token.data(), token.shape(0)}};
                tree.check();
                const Rows rows(bitmask, self.matcher.machine()->n_words());
                if (bitmask.ndim() != 2 || rows.count != tree.token.size())
                    throw BitmaskError("the bitmask needs a row for each of the " + std::to_string(tree.token.size()) + " nodes");
                if (!temperatures.is_none()) {
                    const auto t = nb::cast<nb::ndarray<float, nb::ndim<1>, nb::device::cpu>>(temperatures);
                    if (t.shape(0) != tree.token.size()) throw MatcherError("temperatures must have an entry for each node");
                    const float value = self.temperature.is_none() ? -1.0f : nb::cast<float>(self.temperature);
                    for (std::size_t i = 0; i < t.shape(0); ++i) t.data()[static_cast<std::int64_t>(i) * t.stride(0)] = value;
                }
                return fill_along(
                    self.matcher, tree, [&](std::size_t i) { return rows.row(static_cast<std::int64_t>(i)); }, seconds);
            },
            "retrieve_next_token"_a.none(), "retrieve_next_sibling"_a.none(), "draft_tokens"_a.none(), "token_bitmask"_a.none(),
            "time_threshold"_a = -1.0, "temperatures"_a = nb::none(),
            nb::sig(
                "def traverse_draft_tree(self, retrieve_next_token: object, retrieve_next_sibling: object, draft_tokens: object, "
                "token_bitmask: object, time_threshold: float = -1.0, temperatures: object | None = None) -> bool"),
            "Masks along a tree of draft tokens (speculative decoding), in one walk; the matcher is as before afterwards.\n\n"
            "Args:\n"
            "    retrieve_next_token, retrieve_next_sibling: int64 of shape (n,): the first child and the next sibling of each "
            "node, -1 for\n"
            "        none. Node 0 is where the matcher stands.\n"
            "    draft_tokens: int64 of shape (n,): the token that leads to each node; that of node 0 is not looked at.\n"
            "    token_bitmask: int32 of shape (n, ceil(vocab_size / 32)). Row i becomes the mask after the tokens down to node i; "
            "zeros\n"
            "        where the token is not allowed or ends the text, and the rows of that node's descendants are left alone.\n"
            "    time_threshold: seconds, if positive.\n"
            "    temperatures: float32 of shape (n,), filled with `temperature`, or -1 when there is none.\n\n"
            "Returns False when the time ran out first. Raises RuntimeError when the links are no tree. Cost: about 0.7 us a node.")
        .def(
            "find_jump_forward_string",
            [](PyMatcher& self) {
                const std::string forced = self.matcher.forced_text();
                return nb::str(forced.data(), whole_characters(forced));
            },
            "The text that every continuation begins with, in whole characters; empty where the text may end or there is a "
            "choice.\n\n"
            "Raises RuntimeError after a stop token. Cost: some microseconds for each byte found.")
        .def(
            "rollback", [](PyMatcher& self, std::int64_t n) { self.matcher.rollback(steps_of(n)); }, "num_tokens"_a = 1,
            "Takes back the last `num_tokens` accepted tokens or strings, a stop token among them.\n\n"
            "Raises RuntimeError when fewer were accepted, and then nothing changes. Cost: logarithmic in the number of steps.")
        .def(
            "fork", [](const PyMatcher& self) { return new PyMatcher(self); }, nb::rv_policy::take_ownership,
            "A second matcher at the same place, with the same past; what happens to one does not touch the other. Cost: O(1).")
        .def(
            "reset", [](PyMatcher& self) { self.matcher.reset(); }, "Back to the empty text.")
        .def(
            "is_terminated", [](PyMatcher& self) { return self.matcher.is_terminated(); },
            "A stop token was accepted; or, with terminate_without_stop_token, the text is complete.")
        .def(
            "is_completed", [](PyMatcher& self) { return self.matcher.is_complete(); }, "The text so far is a whole sentence.")
        .def(
            "get_captures", [](const PyMatcher&) { return nb::typed<nb::list, nb::object>(); },
            "No grammar has captures: always empty.")
        .def_prop_ro(
            "stop_token_ids", [](const PyMatcher& self) { return numbers(self.matcher.stop_tokens()); },
            "Tokens that end the text.")
        .def_prop_ro(
            "max_rollback_tokens", [](const PyMatcher&) { return -1; }, "-1: any number of steps can be taken back.")
        .def_prop_ro(
            "temperature", [](const PyMatcher& self) { return self.temperature; }, nb::sig("def temperature(self) -> float | None"),
            "The default_temperature that was given.")
        .def_prop_ro(
            "compiled", [](const PyMatcher& self) { return self.compiled; }, nb::sig("def compiled(self) -> Any"),
            "The compiled grammar.")
        .def_prop_ro(
            "n_steps", [](const PyMatcher& self) { return self.matcher.n_steps(); },
            "Accepted tokens and strings, as rollback() counts them.")
        .def(
            "accept_prefix", [](PyMatcher& self, nb::object text) { return self.matcher.accept_prefix(bytes_of(text_of(text))); },
            "text"_a, nb::sig("def accept_prefix(self, text: str | bytes) -> int"),
            "Takes text while it has a continuation, as one step for rollback(); the number of bytes taken.\n\n"
            "Cost: linear in that number.")
        .def(
            "expected_terminals",
            [](PyMatcher& self) {
                const auto names = nb::cast<nb::sequence>(self.compiled.attr("terminal_names"));
                std::vector<std::string> out;
                for (Terminal t : self.matcher.expected_terminals()) out.push_back(nb::cast<std::string>(names[t.index()]));
                return out;
            },
            "Names of the terminals that the parser can take next, $END among them when the text may end.");
}

// Matchers out of a sequence, which are kept alive meanwhile, whatever other threads do to it.
class Matchers {
public:
    explicit Matchers(const nb::object& list) : kept_(list) {
        for (nb::handle h : kept_) {
            if (!nb::isinstance<PyMatcher>(h))
                throw nb::type_error(("a batch is made of GrammarMatchers, not of " + name_of_type(h)).c_str());
            all_.push_back(&nb::cast<PyMatcher&>(h).matcher);
        }
    }
    std::size_t size() const { return all_.size(); }
    bool empty() const { return all_.empty(); }
    Matcher* operator[](std::size_t i) const { return all_[i]; }
    // Whether none is there twice.
    bool distinct() const {
        auto sorted = all_;
        std::sort(sorted.begin(), sorted.end());
        return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    }

private:
    nb::tuple kept_;
    std::vector<Matcher*> all_;
};

void same_length(std::size_t matchers, std::size_t others, const char* what) {
    if (matchers != others) throw MatcherError(std::to_string(matchers) + " matchers, but " + std::to_string(others) + " " + what);
}

struct Batch {
    explicit Batch(int threads) : pool(threads) {}
    WorkerPool pool;
};

void bind_batch(nb::module_& m) {
    nb::class_<Batch>(m, "BatchGrammarMatcher",
                      "Does the same for many matchers at once, on native threads without the interpreter's lock.\n\n"
                      "Args:\n"
                      "    max_threads: how many, or \"auto\" for one a processor.\n\n"
                      "Raises RuntimeError when max_threads is neither.")
        .def(
            "__init__",
            [](Batch* self, const nb::object& threads) {
                std::int64_t n = 0;
                if (nb::isinstance<nb::str>(threads) && nb::cast<std::string>(threads) == "auto")
                    n = std::max(1u, std::thread::hardware_concurrency());
                else if (PyLong_Check(threads.ptr()))
                    n = integer(threads, "threads");
                if (n < 1 || n > 4096) throw MatcherError("max_threads must be \"auto\" or a number from 1 to 4096");
                new (self) Batch(static_cast<int>(n));
            },
            "max_threads"_a.none() = "auto", nb::sig("def __init__(self, max_threads: int | str = 'auto') -> None"))
        .def_prop_ro("max_threads", [](const Batch& self) { return self.pool.n_threads(); })
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
                nb::gil_scoped_release release;
                self.pool.run(all.size(), all.distinct() ? 8 : all.size(), [&](std::size_t i) { fill(*all[i], out[i]); });
            },
            "matchers"_a, "bitmask"_a.none(), "indices"_a = nb::none(), "debug_print"_a = false,
            nb::sig("def batch_fill_next_token_bitmask(self, matchers: Sequence[GrammarMatcher], bitmask: object, indices: "
                    "Sequence[int] | None "
                    "= None, debug_print: bool = False) -> None"),
            "Fills one row of `bitmask` for each matcher: row i for the i-th, or row indices[i].\n\n"
            "Raises RuntimeError as GrammarMatcher.fill_next_token_bitmask does; a matcher that has terminated raises, and the "
            "other\n"
            "rows are filled all the same. Cost: about that of a copy of each row, on all threads.")
        .def_static(
            "batch_accept_token",
            [](const nb::object& matchers, const nb::object& tokens, bool) {
                const Matchers all(matchers);
                const auto ids = integers(tokens, "token ids");
                same_length(all.size(), ids.size(), "tokens");
                std::vector<bool> out;
                {
                    nb::gil_scoped_release release;
                    for (std::size_t i = 0; i < all.size(); ++i) out.push_back(all[i]->accept(token_of(ids[i])));
                }
                return out;
            },
            "matchers"_a, "tokens"_a, "debug_print"_a = false,
            nb::sig("def batch_accept_token(matchers: Sequence[GrammarMatcher], tokens: Sequence[int], debug_print: bool = False) "
                    "-> list[bool]"),
            "accept_token() of each matcher with its token. Raises RuntimeError when there are not as many of one as of the other.")
        .def_static(
            "batch_accept_string",
            [](const nb::object& matchers, const nb::object& strings, bool) {
                const Matchers all(matchers);
                const nb::tuple kept(strings);
                std::vector<std::string_view> texts;
                for (nb::handle t : kept) texts.push_back(text_of(t));
                same_length(all.size(), texts.size(), "strings");
                std::vector<bool> out;
                for (std::size_t i = 0; i < all.size(); ++i) out.push_back(all[i]->accept_text(bytes_of(texts[i])));
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
                // All or none; a matcher may be there twice.
                std::map<const Matcher*, std::size_t> left;
                for (std::size_t i = 0; i < all.size(); ++i) {
                    std::size_t& steps = left.try_emplace(all[i], all[i]->n_steps()).first->second;
                    if (n[i] > steps)
                        throw MatcherError("matcher " + std::to_string(i) + " cannot take back " + std::to_string(n[i]) +
                                           " steps: only " + std::to_string(steps) + " were made since the start");
                    steps -= n[i];
                }
                for (std::size_t i = 0; i < all.size(); ++i) all[i]->rollback(n[i]);
            },
            "matchers"_a, "num_tokens"_a = 1,
            nb::sig("def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: int | Sequence[int] = 1) -> None"),
            "rollback() of each matcher. Raises RuntimeError, before any has changed, when one has accepted fewer.");
}

// The matchers of a step; None stands for a sequence that is not constrained.
std::vector<Matcher*> matchers_or_none(const nb::tuple& list) {
    std::vector<Matcher*> all;
    all.reserve(list.size());
    for (nb::handle h : list) {
        if (!h.is_none() && !nb::isinstance<PyMatcher>(h))
            throw nb::type_error(("a step is made of GrammarMatchers and None, not of " + name_of_type(h)).c_str());
        all.push_back(h.is_none() ? nullptr : &nb::cast<PyMatcher&>(h).matcher);
    }
    return all;
}

struct Slots {
    MaskSlots slots;
    std::uint64_t vocabulary_tag;
    Word vocab_size;
};

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
                    if (all[i] && (all[i]->machine()->vocabulary().size != self.vocab_size ||
                                   all[i]->machine()->vocabulary_tag != self.vocabulary_tag))
                        throw BitmaskError("matcher " + std::to_string(i) +
                                           " belongs to another vocabulary than the table of masks");
                std::vector<std::size_t> refused;
                {
                    nb::gil_scoped_release release;
                    std::exception_ptr first;
                    self.slots.begin();
                    for (std::size_t i = 0; i < all.size(); ++i) {
                        out.data()[i] = -1;
                        if (!all[i]) continue;
                        try {
                            if (!ids.empty() && ids[i] != -1 && !all[i]->accept(token_of(ids[i]))) refused.push_back(i);
                            if (all[i]->stopped()) continue;
                            const MaskRow row = all[i]->mask_row();
                            out.data()[i] = self.slots.slot_of(all[i]->shared_cache(), row);
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
            "Accepts a token for each matcher (-1: none; None: for no matcher) and writes the slots of their masks to `out`: -1 "
            "for None and\n"
            "for a matcher that has terminated. Returns the matchers, by index, that refused their token; they are as they "
            "were.\n\n"
            "What is then in `writes` must be written before the slots are used. Raises BitmaskError, before anything is accepted, "
            "for a\n"
            "matcher of another vocabulary, and, when the others are done, the first error of a matcher, whose slot is -1.")
        .def_prop_ro(
            "writes",
            [](const Slots& s) {
                std::vector<Word> flat;
                for (const auto& w : s.slots.writes()) flat.insert(flat.end(), {w.slot, w.form, w.begin, w.count});
                return to_array(std::move(flat));
            },
            nb::rv_policy::reference,
            "What the last step has to write, four numbers each: slot, form (0: only these tokens are allowed, 1: only these are "
            "not,\n"
            "2: all bits), and the first and the number of its words in `pool`.")
        .def_prop_ro("n_writes", [](const Slots& s) { return s.slots.writes().size(); })
        .def_prop_ro(
            "pool",
            [](const Slots& s) { return to_array(std::vector<std::uint32_t>(s.slots.pool().begin(), s.slots.pool().end())); },
            nb::rv_policy::reference);
}

}  // namespace

void bind_matcher(nb::module_& m) {
    bind_one(m);
    bind_batch(m);
    bind_slots(m);
}

}  // namespace psc
