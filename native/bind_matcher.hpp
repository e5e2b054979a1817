// A matcher as Python holds it.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "bind_machine.hpp"
#include "interpreter_lock.hpp"
#include "text_matcher.hpp"

namespace psc {

// One of a machine's kind.
std::unique_ptr<TextMatcher> matcher_of(const std::shared_ptr<Machine>& machine);

// psc.GrammarMatcher. Whoever uses `matcher` does so in a turn; call() is one.
struct PyMatcher {
    PyMatcher(nb::object compiled_grammar, nb::object of_compiled)
        : compiled(std::move(compiled_grammar)),
          kept_machine(std::move(of_compiled)),
          machine(nb::cast<PyMachine*>(kept_machine)),
          matcher(matcher_of(machine->machine)) {}
    PyMatcher(const PyMatcher& other)
        : compiled(other.compiled),
          kept_machine(other.kept_machine),
          machine(other.machine),
          temperature(other.temperature),
          matcher(other.matcher->fork()) {}

    // What `f` gives for the matcher, possibly without the interpreter's lock, so `f` touches nothing of Python.
    template <class F>
    auto call(const F& f) {
        const Turn turn(in_use);
        return f(*matcher);
    }

    nb::object compiled;
    nb::object kept_machine;  // which `compiled` may lose
    PyMachine* machine;
    std::optional<double> temperature;  // which the caller gave
    std::unique_ptr<TextMatcher> matcher;
    bool in_use = false;  // by a call that runs without the interpreter's lock
};

// A turn of many matchers, of which some may be null, some the same; without the interpreter's lock. All are taken at once, so that two
// calls do not each wait for what the other has.
class TurnOfAll {
public:
    explicit TurnOfAll(const std::vector<PyMatcher*>& matchers) : flags_(matchers) { lock_.emplace(); }

private:
    struct Flags {
        explicit Flags(const std::vector<PyMatcher*>& matchers);
        ~Flags();
        const std::vector<PyMatcher*>& all;
    };
    Flags flags_;
    std::optional<WithoutInterpreterLock> lock_;  // taken back before the flags change
};

// What `temperature` is, and -1 where there is none.
inline float temperature_of(const PyMatcher& m) { return m.temperature ? static_cast<float>(*m.temperature) : -1.0f; }

// Copies the current mask; false: every token is allowed.
bool fill_mask(TextMatcher& matcher, std::uint32_t* out);

}  // namespace psc
