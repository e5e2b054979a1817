// A matcher as Python holds it.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "matcher/text_matcher.hpp"
#include "python/interpreter_lock.hpp"
#include "python/machine.hpp"

namespace psc {

// One of a machine's kind.
std::unique_ptr<TextMatcher> matcher_of(const std::shared_ptr<Machine>& machine);

// The steps of a text: tokens and texts. Cost: 4 bytes a token.
class TakenSteps {
public:
    std::size_t size() const { return steps_.size(); }
    void add(TokenId token) { steps_.push_back(token.v); }
    void add(std::string text) {
        steps_.push_back(-1 - static_cast<Word>(texts_.size()));
        texts_.push_back(std::move(text));
    }
    // Forgets those after the first n.
    void resize(std::size_t n) {
        for (; steps_.size() > n; steps_.pop_back())
            if (steps_.back() < 0) texts_.pop_back();
    }
    std::variant<TokenId, std::string_view> operator[](std::size_t i) const {
        if (steps_[i] >= 0) return TokenId{steps_[i]};
        return std::string_view(texts_[static_cast<std::size_t>(-1 - steps_[i])]);
    }

private:
    std::vector<Word> steps_;  // a token, or a text's number as -1 - number
    std::vector<std::string> texts_;
};

// psc.GrammarMatcher. Whoever uses `matcher` does so in a turn; call() is one.
struct PyMatcher {
    PyMatcher(nb::object compiled_grammar, nb::object of_compiled)
        : compiled(std::move(compiled_grammar)),
          kept_machine(std::move(of_compiled)),
          machine(nb::cast<PyMachine*>(kept_machine)),
          matcher(matcher_of(machine->machine)) {
        marks_rules = nb::cast<bool>(nb::getattr(compiled, "marks_rules", nb::bool_(false)));
    }
    PyMatcher(const PyMatcher& other)
        : compiled(other.compiled),
          kept_machine(other.kept_machine),
          machine(other.machine),
          temperature(other.temperature),
          marks_rules(other.marks_rules),
          taken(other.taken),
          matcher(other.matcher->fork()) {}

    // What `f` gives for the matcher, possibly without the interpreter's lock, so `f` touches nothing of Python.
    template <class F>
    auto call(const F& f) {
        const Turn turn(in_use);
        return f(*matcher);
    }

    // Steps of the matcher, in a turn.
    bool accept(TokenId token) {
        if (!matcher->accept(token)) return false;
        if (taken.size() < matcher->n_steps()) taken.add(token);
        return true;
    }
    bool accept_text(std::span<const std::uint8_t> bytes) { return matcher->accept_text(bytes) && note(bytes); }
    std::size_t accept_prefix(std::span<const std::uint8_t> bytes) {
        const std::size_t n = matcher->accept_prefix(bytes);
        note(bytes.first(n));
        return n;
    }
    void rollback(std::size_t n) {
        matcher->rollback(n);
        taken.resize(matcher->n_steps());
    }
    void reset() {
        matcher->reset();
        taken.resize(0);
    }

    // The open and finished rules, which Python records (psc.rule_records), if the grammar marks some.
    nb::object rule_record();
    // The last steps so far, at most n of them, as a list of token ids and of bytes.
    nb::list steps(std::size_t n = static_cast<std::size_t>(-1));

    nb::object compiled;
    nb::object kept_machine;  // which `compiled` may lose
    PyMachine* machine;
    std::optional<double> temperature;  // which the caller gave
    bool marks_rules = false;           // as the grammar may have captures or temperatures
    TakenSteps taken;
    std::unique_ptr<TextMatcher> matcher;
    bool in_use = false;  // by a call that runs without the interpreter's lock

private:
    bool note(std::span<const std::uint8_t> text) {
        if (taken.size() < matcher->n_steps()) taken.add({text.begin(), text.end()});
        return true;
    }

    nb::object record_;  // made at the first request
};

// A turn of many matchers, of which some may be null, some the same; without the interpreter's lock. All are taken at once, so that two
// calls do not each wait for what the other has.
class TurnOfAll {
public:
    explicit TurnOfAll(const std::vector<PyMatcher*>& matchers) : flags_(matchers) {
        lock_.emplace(WithoutInterpreterLock::InUse{});
    }

private:
    struct Flags {
        explicit Flags(const std::vector<PyMatcher*>& matchers);
        ~Flags();
        const std::vector<PyMatcher*>& all;
    };
    Flags flags_;
    std::optional<WithoutInterpreterLock> lock_;  // taken back before the flags change
};

// Says that something which many matchers are used with is in use while it lives; one call at a time. Made and destroyed with the
// interpreter's lock.
class Use {
public:
    explicit Use(bool& in_use) : in_use_(in_use) {
        Turn::wait_for(in_use);
        in_use_ = true;
    }
    ~Use() { in_use_ = false; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

private:
    bool& in_use_;
};

// What Python would see, were it thrown.
nb::object python_error(const std::exception_ptr& error);

// The matchers of a step; None stands for a sequence that is not constrained, and is null.
std::vector<PyMatcher*> matchers_or_none(const nb::tuple& list);

// What `temperature` is, if anything.
std::optional<double> temperature_of(PyMatcher& m);

// Copies the current mask; false: every token is allowed.
bool fill_mask(TextMatcher& matcher, std::uint32_t* out);

}  // namespace psc
