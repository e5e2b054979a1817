// The runtime: tables of an artifact, and matchers over them.
#include <cstring>
#include <stdexcept>

#include "bindings.hpp"
#include "matcher.hpp"

namespace psc {
namespace {

// Tables, and the NumPy views of their mask rows, made once each.
struct Tables {
    std::shared_ptr<RuntimeTables> tables;
    std::vector<nb::object> views;

    nb::object view(Word row) {
        if (static_cast<std::size_t>(row) >= views.size()) views.resize(row + 1);
        if (!views[row].is_valid()) {
            auto* keep = new std::shared_ptr<RuntimeTables>(tables);
            nb::capsule owner(keep, [](void* p) noexcept { delete static_cast<std::shared_ptr<RuntimeTables>*>(p); });
            const auto* words = reinterpret_cast<const Word*>(tables->row_words(row));
            views[row] = nb::cast(nb::ndarray<nb::numpy, const Word, nb::ndim<1>>(words, {tables->n_words()}, owner));
        }
        return views[row];
    }
};

struct PyMatcher : Matcher {
    explicit PyMatcher(Tables& t) : Matcher(t.tables), owner(&t) {}
    Tables* owner;  // kept alive by nanobind
};

template <class T>
std::vector<T> take(const nb::dict& d, const char* name) {
    return to_vector(nb::cast<Array<T>>(d[name]));
}

RuntimeArrays arrays_from(const nb::dict& d) {
    RuntimeArrays a;
    const auto number = [&](const char* name) { return nb::cast<Word>(d[name]); };
    a.n_lexer_states = number("n_lexer_states");
    a.n_byte_classes = number("n_byte_classes");
    a.byte_class = take<std::uint8_t>(d, "byte_class");
    a.lexer_next = take<Word>(d, "lexer_next");
    a.lexer_emit = take<Word>(d, "lexer_emit");
    a.emission_offsets = take<Word>(d, "emission_offsets");
    a.emission_terminals = take<Word>(d, "emission_terminals");
    a.at_end = take<Word>(d, "at_end");
    a.future_offsets = take<Word>(d, "future_offsets");
    a.futures = take<Word>(d, "futures");
    a.n_terminals = number("n_terminals");
    a.n_nonterminals = number("n_nonterminals");
    a.n_lr_states = number("n_lr_states");
    a.end_state = number("end_state");
    a.action_offsets = take<Word>(d, "action_offsets");
    a.actions = take<Word>(d, "actions");
    a.gotos = take<Word>(d, "gotos");
    a.production_lhs = take<Word>(d, "production_lhs");
    a.production_length = take<Word>(d, "production_length");
    a.start = number("start");
    a.n_classifier_states = number("n_classifier_states");
    a.n_labels = number("n_labels");
    a.arc_offsets = take<Word>(d, "arc_offsets");
    a.arc_symbol = take<Word>(d, "arc_symbol");
    a.arc_next = take<Word>(d, "arc_next");
    a.arc_skip = take<Word>(d, "arc_skip");
    a.arc_emission = take<Word>(d, "arc_emission");
    a.label_offsets = take<Word>(d, "label_offsets");
    a.labels = take<Word>(d, "labels");
    a.always = take<Word>(d, "always");
    a.meaning_offsets = take<Word>(d, "meaning_offsets");
    a.meaning_labels = take<Word>(d, "meaning_labels");
    a.meaning_sets = take<Word>(d, "meaning_sets");
    a.set_offsets = take<Word>(d, "set_offsets");
    a.set_classes = take<Word>(d, "set_classes");
    a.vocab_size = number("vocab_size");
    a.n_classes = number("n_classes");
    a.class_of_token = take<Word>(d, "class_of_token");
    a.class_offsets = take<Word>(d, "class_offsets");
    a.class_bytes = take<std::uint8_t>(d, "class_bytes");
    a.stop_tokens = take<Word>(d, "stop_tokens");
    return a;
}

// Copies the mask into row `index` of an int32 array of shape (batch, words) or (words,).
bool fill(PyMatcher& m, const nb::ndarray<nb::device::cpu>& bitmask, std::int64_t index) {
    const std::size_t words = m.tables().n_words();
    if (bitmask.dtype() != nb::dtype<Word>()) throw std::runtime_error("the bitmask must be an int32 array");
    if (bitmask.ndim() != 1 && bitmask.ndim() != 2) throw std::runtime_error("the bitmask must have one or two dimensions");
    const std::size_t last = bitmask.ndim() - 1;
    const std::size_t batch = bitmask.ndim() == 2 ? bitmask.shape(0) : 1;
    if (bitmask.shape(last) != words)
        throw std::runtime_error("the bitmask has " + std::to_string(bitmask.shape(last)) + " words a row; this vocabulary needs " +
                                 std::to_string(words));
    if (bitmask.stride(last) != 1) throw std::runtime_error("the bitmask's rows must be contiguous");
    if (index < 0 || static_cast<std::size_t>(index) >= batch)
        throw nb::index_error(("row " + std::to_string(index) + " of a bitmask of " + std::to_string(batch) + " rows").c_str());
    const std::int64_t offset = bitmask.ndim() == 2 ? index * bitmask.stride(0) : 0;
    std::memcpy(static_cast<Word*>(bitmask.data()) + offset, m.tables().row_words(m.mask_row()), words * 4);
    return true;
}

}  // namespace

void bind_matcher(nb::module_& m) {
    nb::class_<Tables>(m, "Tables")
        .def(
            "__init__", [](Tables* self, const nb::typed<nb::dict, nb::str, nb::any>& arrays) {
                new (self) Tables{std::make_shared<RuntimeTables>(arrays_from(arrays)), {}};
            },
            "arrays"_a)
        .def_prop_ro("n_rows", [](const Tables& t) { return t.tables->n_rows(); })
        .def_prop_ro("row_bytes", [](const Tables& t) { return t.tables->row_bytes(); })
        .def_prop_ro("n_words", [](const Tables& t) { return t.tables->n_words(); })
        .def(
            "row",
            [](Tables& t, Word row) {
                if (row < 0 || row >= t.tables->n_rows()) throw nb::index_error("no such mask row");
                return t.view(row);
            },
            "row"_a, nb::sig("def row(self, row: int) -> NDArray[numpy.int32]"));
    nb::class_<PyMatcher>(m, "Matcher", "Follows one generated text. See psc.GrammarMatcher.")
        .def(nb::init<Tables&>(), nb::keep_alive<1, 2>(), "tables"_a)
        .def("accept_token", &PyMatcher::accept, "token_id"_a,
             "Takes a token: True, or False when the mask does not allow it, and then nothing changes.\n\n"
             "A stop token is accepted where the text may end, and terminates the matcher. Ids out of range are refused.\n"
             "Cost: the token's bytes through the lexer and a shift per terminal, about 0.1 us.")
        .def("mask_row", &PyMatcher::mask_row,
             "The id of the current mask row, see CompiledGrammar.row().\n\n"
             "Raises RuntimeError after termination. Cost: a lookup for each stack symbol that has to be read, about 0.1 us.")
        .def(
            "mask", [](PyMatcher& self) { return self.owner->view(self.mask_row()); },
            nb::sig("def mask(self) -> NDArray[numpy.int32]"),
            "The current mask: int32 of shape (ceil(vocab_size / 32),), read-only, a view and no copy.\n\n"
            "Token j is allowed when bit j % 32 of word j // 32 is set. Raises RuntimeError after termination.")
        .def("fill_next_token_bitmask", &fill, "bitmask"_a, "index"_a = 0,
             nb::sig("def fill_next_token_bitmask(self, bitmask: object, index: int = 0) -> bool"),
             "Copies the current mask into row `index` of an int32 CPU array of shape (batch, ceil(vocab_size / 32)), or into one of\n"
             "shape (ceil(vocab_size / 32),).\n\n"
             "NumPy, or any array that DLPack carries. Returns True: the mask is to be applied. Raises RuntimeError for a wrong dtype or\n"
             "shape or after termination, IndexError for a row that is not there. Cost: a copy of vocab_size / 8 bytes.")
        .def("is_terminated", &PyMatcher::is_terminated, "A stop token was accepted.")
        .def("is_completed", &PyMatcher::is_complete, "A stop token would be accepted now.")
        .def("reset", &PyMatcher::reset, "Back to the empty text.")
        .def(
            "_accept_bytes",
            [](PyMatcher& self, nb::bytes text) {
                return self.accept_bytes({static_cast<const std::uint8_t*>(text.data()), text.size()});
            },
            "text"_a, "Reads text byte by byte while it has a continuation; the number of bytes read.")
        .def("_expected_terminals", &PyMatcher::expected_terminals, "Numbers of the terminals that the parser can take next.")
        .def_prop_ro("_lexer_state", &PyMatcher::lexer_state)
        .def("_stack", &PyMatcher::stack, "The parser stack, LR states, top first.");
}

}  // namespace psc
