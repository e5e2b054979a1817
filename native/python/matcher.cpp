// One matcher: psc.GrammarMatcher.
#include "python/matcher.hpp"

#include <algorithm>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "base/errors.hpp"
#include "linked/matcher.hpp"
#include "matcher/draft_rows.hpp"
#include "matcher/draft_tree.hpp"
#include "matcher/sole_tokens.hpp"
#include "python/matcher_arguments.hpp"

namespace psc {

TurnOfAll::Flags::Flags(const std::vector<PyMatcher*>& matchers) : all(matchers) {
    const auto taken = [&] {
        const auto it = std::find_if(all.begin(), all.end(), [](const PyMatcher* m) { return m && m->in_use; });
        return it == all.end() ? nullptr : *it;
    };
    // Others may be taken while one is waited for.
    while (const PyMatcher* m = taken()) Turn::wait_for(m->in_use);
    for (PyMatcher* m : all)
        if (m) m->in_use = true;
}

TurnOfAll::Flags::~Flags() {
    for (PyMatcher* m : all)
        if (m) m->in_use = false;
}

std::unique_ptr<TextMatcher> matcher_of(const std::shared_ptr<Machine>& machine) {
    if (const auto linked = std::dynamic_pointer_cast<LinkedMachine>(machine)) return std::make_unique<LinkedMatcher>(linked);
    return std::make_unique<Matcher>(std::static_pointer_cast<Engine>(machine));
}

bool fill_mask(TextMatcher& m, std::uint32_t* out) {
    const MaskRow row = m.mask_row();
    m.cache().rows.copy(row, out);
    return !m.cache().rows.all(row);
}

nb::object python_error(const std::exception_ptr& error) {
    try {
        nb::cpp_function([&] { std::rethrow_exception(error); })();
    } catch (nb::python_error& raised) {
        return nb::borrow(raised.value());
    }
    return nb::none();
}

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

nb::object PyMatcher::rule_record() {
    if (!record_.is_valid()) record_ = call_python(compiled.attr("rule_record"));
    return record_;
}

nb::list PyMatcher::steps(std::size_t n) {
    nb::list out;
    const TakenSteps steps = call([&](TextMatcher&) { return taken; });
    for (std::size_t i = steps.size() - std::min(n, steps.size()); i < steps.size(); ++i) {
        const auto step = steps[i];
        if (const auto* token = std::get_if<TokenId>(&step))
            out.append(token->v);
        else
            out.append(nb::bytes(std::get<std::string_view>(step).data(), std::get<std::string_view>(step).size()));
    }
    return out;
}

std::optional<double> temperature_of(PyMatcher& m) {
    if (!m.marks_rules) return m.temperature;
    return nb::cast<std::optional<double>>(call_python(m.rule_record().attr("temperature"), m.steps(), m.temperature));
}

namespace {

// Steps before a forced text that may merge with it, or say where tokens begin.
constexpr std::size_t kStepsBefore = 256;

// What `temperature` is at each node of a tree of draft tokens that the text may lead to; -1 where there is none.
std::vector<double> temperatures_along(PyMatcher& m, const DraftTree& tree) {
    if (!m.marks_rules) return std::vector<double>(tree.token.size(), m.temperature.value_or(-1.0));
    const auto list = [](std::span<const std::int64_t> numbers) {
        nb::list out;
        for (std::int64_t n : numbers) out.append(n);
        return out;
    };
    return nb::cast<std::vector<double>>(call_python(m.rule_record().attr("temperatures_along"), m.steps(), list(tree.child),
                                                     list(tree.sibling), list(tree.token), m.temperature));
}

void bind_accepting(nb::class_<PyMatcher>& c) {
    c.def(
         "accept_token",
         [](PyMatcher& self, nb::handle token, bool) {
             const TokenId id = token_of(integer(token, "token ids"));
             return self.call([&](TextMatcher&) { return self.accept(id); });
         },
         "token_id"_a.none(), nb::kw_only(), "debug_print"_a = false,
         nb::sig("def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool"),
         R"(Takes a token: True, or False when the mask does not allow it, and then nothing changes.

A stop token is accepted where the text may end, and terminates the matcher. Ids out of range are refused.
Cost: the token's bytes through the lexer and a shift per terminal, about 0.1 us.)")
        .def(
            "accept_tokens",
            [](PyMatcher& self, const nb::object& tokens) {
                const auto ids = integers(tokens, "token ids");
                return self.call([&](TextMatcher& m) {
                    std::size_t n = 0;
                    while (n < ids.size() && !m.stopped() && self.accept(token_of(ids[n]))) ++n;
                    return n;
                });
            },
            "token_ids"_a, nb::sig("def accept_tokens(self, token_ids: Sequence[int]) -> int"),
            R"(Takes tokens, one after the other, up to the first that is not allowed or the one that ends the text: how many it took.

Cost: that of accept_token() for each, in one call.)")
        .def(
            "validate_tokens",
            [](PyMatcher& self, const nb::object& tokens) {
                const auto ids = integers(tokens, "token ids");
                return self.call([&](TextMatcher& m) { return count_allowed(m, ids); });
            },
            "token_ids"_a, nb::sig("def validate_tokens(self, token_ids: Sequence[int]) -> int"),
            R"(How many tokens accept_tokens() would take; changes nothing, also where it raises.

Masks on the way that are known already are looked up, since a server asks for them next. Cost: as accept_tokens().)")
        .def(
            "accept_string",
            [](PyMatcher& self, nb::object text, bool) {
                const Text kept(text);
                return self.call([&](TextMatcher&) { return self.accept_text(kept.bytes); });
            },
            "input_str"_a.none(), nb::kw_only(), "debug_print"_a = false,
            nb::sig("def accept_string(self, input_str: str | bytes, *, debug_print: bool = False) -> bool"),
            R"(Takes text, all of it (True) or nothing (False); one step for rollback(). It is never a stop token.

Cost: linear in its length.)");
}

void bind_masks(nb::class_<PyMatcher>& c) {
    c.def(
         "mask_row", [](PyMatcher& self) { return self.call([](TextMatcher& m) { return m.mask_row(); }).v; },
         R"(The id of the current mask row, see CompiledGrammar.row().

Raises RuntimeError after a stop token. Cost: a lookup for each stack symbol that has to be read, about 0.1 us.)")
        .def(
            "mask",
            [](PyMatcher& self) {
                const MaskRow row = self.call([](TextMatcher& m) { return m.mask_row(); });
                return self.machine->view(self.matcher->shared_cache(), row);
            },
            nb::sig("def mask(self) -> NDArray[numpy.int32]"),
            R"(The current mask: int32 of shape (ceil(vocab_size / 32),), read-only, a view and no copy.

Token j is allowed when bit j % 32 of word j // 32 is set. Raises RuntimeError after a stop token.)")
        .def(
            "allowed_tokens",
            [](PyMatcher& self) {
                return to_array(numbers(self.call([](TextMatcher& m) {
                    const MaskRow row = m.mask_row();  // before cache() is looked at: it may change over to another cache
                    return m.cache().rows.tokens(row);
                })));
            },
            nb::sig("def allowed_tokens(self) -> NDArray[numpy.int32]"), nb::rv_policy::reference,
            R"(Ids of the allowed tokens: int32 of shape (n,), ascending, a new array.

Raises RuntimeError after a stop token. Cost: vocab_size / 64 words, and the ids.)")
        .def(
            "is_allowed",
            [](PyMatcher& self, const nb::object& token) {
                const std::int64_t id = integer(token, "token ids");
                return self.call([&](TextMatcher& m) {
                    const MaskRow row = m.mask_row();
                    return id >= 0 && id < m.machine()->vocabulary().size && m.cache().rows.allowed(row, token_of(id));
                });
            },
            nb::sig("def is_allowed(self, token_id: int) -> bool"), "token_id"_a,
            R"(Whether the mask allows a token, which is whether accept_token() would take it. An id out of range is not allowed.

Raises RuntimeError after a stop token. Cost: about 0.1 us.)")
        .def(
            "fill_next_token_bitmask",
            [](PyMatcher& self, const nb::object& bitmask, std::int64_t index, bool) {
                const Bitmask kept = bitmask_from(bitmask);
                std::uint32_t* const out = Rows(kept, self.machine->machine->n_words()).row(index);
                return self.call([&](TextMatcher& m) { return fill_mask(m, out); });
            },
            "bitmask"_a.none(), "index"_a = 0, nb::kw_only(), "debug_print"_a = false,
            nb::sig("def fill_next_token_bitmask(self, bitmask: object, index: int = 0, *, debug_print: bool = False) -> bool"),
            R"(Copies the current mask into row `index` of an int32 CPU array of shape (batch, ceil(vocab_size / 32)), or into one of
shape (ceil(vocab_size / 32),).

NumPy, or any array that DLPack carries. Returns False when every token is allowed, so that applying the mask would change
nothing. Raises RuntimeError for a wrong dtype or shape, a row that is not there, or after a stop token. Cost: a copy of
vocab_size / 8 bytes.)");
}

void bind_drafts(nb::class_<PyMatcher>& c) {
    c.def(
        "traverse_draft_tree",
        [](PyMatcher& self, const nb::object& next_token, const nb::object& next_sibling, const nb::object& draft_tokens,
           const nb::object& token_bitmask, double seconds, const nb::object& temperatures) {
            const auto child = indices_from(next_token, "retrieve_next_token");
            const auto sibling = indices_from(next_sibling, "retrieve_next_sibling");
            const auto token = indices_from(draft_tokens, "draft_tokens");
            const Bitmask bitmask = bitmask_from(token_bitmask);
            const DraftTree tree{child, sibling, token};
            tree.check();
            const Rows rows(bitmask, self.machine->machine->n_words());
            if (bitmask.ndim() != 2 || rows.count != tree.token.size())
                throw BitmaskError("the bitmask needs a row for each of the " + std::to_string(tree.token.size()) + " nodes");
            std::optional<Temperatures> out;
            if (!temperatures.is_none()) {
                out.emplace(temperatures);
                if (out->size() != tree.token.size()) throw MatcherError("temperatures must have an entry for each node");
            }
            std::vector<bool> reached;
            const bool finished = self.call([&](TextMatcher& m) {
                return fill_along(m, tree, [&](std::size_t i) { return rows.row(static_cast<std::int64_t>(i)); }, seconds, reached);
            });
            if (out) {
                const std::vector<double> along = temperatures_along(self, tree);
                for (std::size_t i = 0; i < reached.size(); ++i)
                    (*out)[static_cast<std::int64_t>(i)] = reached[i] ? static_cast<float>(along[i]) : -1.0f;
            }
            return finished;
        },
        "retrieve_next_token"_a.none(), "retrieve_next_sibling"_a.none(), "draft_tokens"_a.none(), "token_bitmask"_a.none(),
        "time_threshold"_a = -1.0, "temperatures"_a = nb::none(),
        nb::sig("def traverse_draft_tree(self, retrieve_next_token: object, retrieve_next_sibling: object, draft_tokens: object, "
                "token_bitmask: object, time_threshold: float = -1.0, temperatures: object | None = None) -> bool"),
        R"(Masks along a tree of draft tokens (speculative decoding), in one walk; the matcher is as before afterwards.

Args:
    retrieve_next_token: int64 of shape (n,): the first child of each node, -1 for none. Node 0 is where the matcher stands.
    retrieve_next_sibling: int64 of shape (n,): the next sibling of each node, -1 for none.
    draft_tokens: int64 of shape (n,): the token that leads to each node; that of node 0 is not looked at.
    token_bitmask: int32 of shape (n, ceil(vocab_size / 32)). Row i becomes the mask after the tokens down to node i; zeros
        where the token is not allowed or ends the text, and the rows of that node's descendants are left alone.
    time_threshold: seconds, if positive.
    temperatures: float32 of shape (n,), filled with what `temperature` is at each node whose row is a mask, else with -1.

Returns False when the time ran out first. Raises RuntimeError when the links are no tree. Cost: about 0.7 us a node.)");
}

void bind_text(nb::class_<PyMatcher>& c) {
    c.def(
         "find_jump_forward_string",
         [](PyMatcher& self) {
             const std::string forced = self.call([](TextMatcher& m) { return m.forced_text(); });
             return nb::str(forced.data(), whole_characters(forced));
         },
         R"(The text that every continuation begins with, in whole characters; empty where the text may end or there is a choice.

Raises RuntimeError after a stop token. Cost: some microseconds for each byte found.)")
        .def(
            "find_forced_tokens",
            [](nb::handle matcher, const nb::object& encode) {
                auto& self = nb::cast<PyMatcher&>(matcher);
                const std::string forced =
                    self.call([](TextMatcher& m) { return m.is_terminated() && !m.stopped() ? std::string() : m.forced_text(); });
                nb::list out;
                std::vector<TokenId> tokens;
                if (!forced.empty()) {
                    out =
                        nb::cast<nb::list>(call_python(self.compiled.attr("_cut_as_the_tokenizer_does"), matcher,
                                                       self.steps(kStepsBefore), nb::bytes(forced.data(), forced.size()), encode));
                    for (nb::handle token : out) tokens.push_back(token_of(nb::cast<std::int64_t>(token)));
                }
                for (TokenId token : self.call([&](TextMatcher& m) { return sole_tokens(m, tokens); })) out.append(token.v);
                return out;
            },
            "encode"_a = nb::none(),
            nb::sig("def find_forced_tokens(self, encode: Callable[[str], Sequence[int]] | None = None) -> list[int]"),
            R"(The tokens that come next in every continuation, cut as the model's tokenizer cuts the text; changes nothing.

First those of find_jump_forward_string(), as far as the tokenizer cuts it so after the text so far, whatever follows: the last
ones are held back where they could merge with what the grammar allows next, and there are none where the first could merge with
the text so far. Then tokens of which the mask allows no other. All are text; each is allowed after those before it.

Args:
    encode: gives the tokens of a text, without special tokens, as the model's tokenizer does. By default that of the
        TokenizerInfo; where that has none, only tokens of which the mask allows no other are found.

Raises RuntimeError after a stop token. Cost: some microseconds where nothing is forced; where something is, some ten
calls of `encode` with a hundred bytes each, the first time that it is found there.)")
        .def(
            "find_likely_tokens",
            [](nb::handle matcher, const nb::object& encode) -> nb::list {
                auto& self = nb::cast<PyMatcher&>(matcher);
                nb::list out;
                if (!self.call([](TextMatcher& m) { return m.is_terminated(); }))
                    out = nb::cast<nb::list>(
                        call_python(self.compiled.attr("_likely_tokens"), matcher, self.steps(kStepsBefore), encode));
                return nb::len(out) > 0 ? out : nb::cast<nb::list>(matcher.attr("find_forced_tokens")(encode));
            },
            "encode"_a = nb::none(),
            nb::sig("def find_likely_tokens(self, encode: Callable[[str], Sequence[int]] | None = None) -> list[int]"),
            R"(The tokens that probably come next, for drafts that a model verifies; changes nothing.

They continue where find_forced_tokens() ends because white space is free. psc guesses the white space from the text so far; at the
beginning it guesses a space after commas and colons. All are text; each is allowed after those before it. Where psc guesses
nothing, they are those of find_forced_tokens().

Args:
    encode: as for find_forced_tokens().

Raises RuntimeError after a stop token. Cost: a call of `encode`, and 5 to 30 us for each place with white space.)")
        .def(
            "rollback", [](PyMatcher& self, std::int64_t n) { self.call([&](TextMatcher&) { self.rollback(steps_of(n)); }); },
            "num_tokens"_a = 1,
            R"(Takes back the last `num_tokens` accepted tokens or strings, a stop token among them.

Raises RuntimeError when fewer were accepted, and then nothing changes. Cost: some nanoseconds for each step taken back.)")
        .def(
            "fork",
            [](PyMatcher& self) {
                Turn::wait_for(self.in_use);
                return new PyMatcher(self);
            },
            nb::rv_policy::take_ownership,
            "A second matcher at the same place, with the same past; what happens to one does not touch the other. Cost: O(1).")
        .def(
            "reset", [](PyMatcher& self) { self.call([&](TextMatcher&) { self.reset(); }); }, "Back to the empty text.")
        .def(
            "__repr__",
            [](PyMatcher& self) {
                const auto [steps, ended] = self.call([](TextMatcher& m) { return std::pair(m.n_steps(), m.is_terminated()); });
                return nb::str("GrammarMatcher({!r}, {} accepted{})").format(self.compiled, steps, ended ? ", terminated" : "");
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "__reduce__",
            [](PyMatcher&) -> nb::object {
                throw nb::type_error(
                    "a GrammarMatcher cannot be pickled or copied: fork() gives a second one; in another process make "
                    "one of the compiled grammar, which can be pickled, and accept the same tokens");
            },
            nb::sig("def __reduce__(self) -> tuple[object, ...]"))
        .def(
            "is_terminated", [](PyMatcher& self) { return self.call([](TextMatcher& m) { return m.is_terminated(); }); },
            "A stop token was accepted; or, with terminate_without_stop_token, the text is complete.")
        .def(
            "is_completed", [](PyMatcher& self) { return self.call([](TextMatcher& m) { return m.is_complete(); }); },
            "The text so far is a whole sentence.")
        .def(
            "get_captures",
            [](PyMatcher& self, bool deduplicate) -> nb::object {
                if (!self.marks_rules) return nb::list();
                return call_python(self.rule_record().attr("captures"), self.steps(), deduplicate);
            },
            nb::kw_only(), "deduplicate"_a = true,
            nb::sig("def get_captures(self, *, deduplicate: bool = True) -> list[tuple[str, bytes]]"),
            R"((name, text) of the rules with the option `capture` that were over so far, in the order in which they ended.

Args:
    deduplicate: of a rule that began at one place, only the longest text; else each, as the rule could end there.

Cost: the text is read again by rules, some 20 us a character; what was read for the last call is kept.)");
}

void bind_state(nb::class_<PyMatcher>& c) {
    c.def_prop_ro(
         "stop_token_ids", [](const PyMatcher& self) { return numbers(self.matcher->stop_tokens()); }, "Tokens that end the text.")
        .def_prop_ro(
            "max_rollback_tokens", [](const PyMatcher&) { return -1; }, "-1: any number of steps can be taken back.")
        .def_prop_ro(
            "temperature", [](PyMatcher& self) { return temperature_of(self); }, nb::sig("def temperature(self) -> float | None"),
            R"(Of the innermost open rule that has the option `temperature`, the highest where there are several ways to read the text;
else the default_temperature that was given. Cost: as get_captures().)")
        .def_prop_ro(
            "compiled", [](const PyMatcher& self) { return self.compiled; }, nb::sig("def compiled(self) -> Any"),
            "The compiled grammar.")
        .def_prop_ro(
            "n_steps", [](PyMatcher& self) { return self.call([](TextMatcher& m) { return m.n_steps(); }); },
            "Accepted tokens and strings, as rollback() counts them.")
        .def(
            "accept_prefix",
            [](PyMatcher& self, nb::object text) {
                const Text kept(text);
                return self.call([&](TextMatcher&) { return self.accept_prefix(kept.bytes); });
            },
            "text"_a, nb::sig("def accept_prefix(self, text: str | bytes) -> int"),
            R"(Takes text while it has a continuation, as one step for rollback(); the number of bytes taken.

Cost: linear in that number.)")
        .def(
            "expected_terminals",
            [](PyMatcher& self) {
                const auto names = nb::cast<nb::sequence>(self.compiled.attr("terminal_names"));
                std::vector<std::string> out;
                for (Terminal t : self.call([](TextMatcher& m) { return m.expected_terminals(); }))
                    if (auto name = nb::cast<std::string>(names[t.index()]); !name.empty()) out.push_back(std::move(name));
                return out;
            },
            "Names of the terminals that the parser can take next, $END among them when the text may end.")
        .def(
            "_debug_print_internal_state",
            [](nb::handle self) {
                const nb::object view = nb::module_::import_("psc._core").attr("MatcherView")(self);
                return nb::repr(view.attr("configurations")());
            },
            nb::sig("def _debug_print_internal_state(self) -> str"),
            "The (lexer state, LR states from the top) that the text may have led to, to be looked at; the form may change.");
}

}  // namespace

void bind_matcher(nb::module_& m) {
    nb::class_<PyMatcher> c(m, "GrammarMatcher",
                            R"(Follows one generated text: which tokens may come next, and what was accepted so far.

Args:
    compiled_grammar: shared by any number of matchers; it keeps the mask rows.
    override_stop_tokens: an id or ids that end the text instead of the tokenizer's; they are never text.
    terminate_without_stop_token: the text is over as soon as it is complete, though it may go on; no token ends it.
    max_rollback_tokens: any number can be taken back; accepted for compatibility.
    default_temperature: where the grammar gives none, see `temperature`.
    max_steps: of work for one mask; more is a ResourceLimitError, as an ambiguous grammar may need. None is 40,000,000, a server has
        fewer, since others of its batch wait.

Raises ValueError when the first argument is not a CompiledGrammar, RuntimeError for stop tokens out of range.
Cost: under a microsecond a call in the steady state; the first visit to a new mask composes its row. A call that has to build
what takes long does so without the interpreter's lock. Matchers of one grammar may be used by several threads at once; on one
matcher, a call waits until another thread's has returned.)");
    c.def(
        "__init__",
        [](PyMatcher* self, nb::object compiled, nb::object stops, bool without_stop, int, nb::object temperature,
           const nb::object& steps) {
            if (!nb::hasattr(compiled, "_machine") || !nb::isinstance<PyMachine>(compiled.attr("_machine")))
                throw nb::type_error(
                    "the grammar must be a CompiledGrammar: compile it with GrammarCompiler, or load() an artifact");
            nb::object kept = compiled.attr("_machine");
            std::vector<TokenId> tokens;
            if (!stops.is_none()) tokens = stop_tokens_from(stops, nb::cast<PyMachine*>(kept)->machine->vocabulary().size);
            const std::optional<double> default_temperature = checked_temperature(temperature);
            const std::int64_t max_steps = steps.is_none() ? 0 : integer(steps, "max_steps");
            if (!steps.is_none() && max_steps < 1) throw MatcherError("max_steps must be 1 at least");
            new (self) PyMatcher(std::move(compiled), std::move(kept));
            self->temperature = default_temperature;
            self->call([&](TextMatcher& m) {
                if (!tokens.empty()) m.set_stop_tokens(tokens);
                if (without_stop) m.set_terminates_when_complete();
                if (max_steps) m.set_max_steps(static_cast<std::size_t>(max_steps));
            });
        },
        "compiled_grammar"_a.none(), nb::kw_only(), "override_stop_tokens"_a = nb::none(), "terminate_without_stop_token"_a = false,
        "max_rollback_tokens"_a = -1, "default_temperature"_a = nb::none(), "max_steps"_a = nb::none(),
        nb::sig("def __init__(self, compiled_grammar: psc.runtime.compiled.LoadedGrammar, *, override_stop_tokens: int | "
                "Sequence[int] | None = None, "
                "terminate_without_stop_token: bool = False, max_rollback_tokens: int = -1, default_temperature: float | None "
                "= None, max_steps: int | None = None) "
                "-> None"));
    bind_accepting(c);
    bind_masks(c);
    bind_drafts(c);
    bind_text(c);
    bind_state(c);
}

}  // namespace psc
