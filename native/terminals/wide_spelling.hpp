// Where characters beyond ASCII lead from the states of an automaton over characters, spelled in UTF-8.
//
// The classes of characters beyond ASCII have a slot each; a key says where each slot leads from a state. A key's spelling is the
// diagram of text/code_point_classes.hpp with the key's targets in place of classes. Equal nodes of all spellings are one inner
// state, which reads the rest of a character.
//
// Cost: for each distinct key, the part of the diagram above the classes that lead somewhere. Threads: one at a time.
// Tried and dropped: a pass over all of the diagram, and keys of all slots: 30 kB a state with 4,000 overlapping classes.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/grouped.hpp"
#include "base/intern.hpp"
#include "text/byte_classes.hpp"
#include "text/code_point_classes.hpp"

namespace psc {

// Bytes that no state over these classes of characters tells apart.
inline ByteClasses byte_classes(const CodePointClasses& classes) {
    std::vector<Word> rows;
    std::array<Word, 256> row;
    const auto add = [&](std::span<const Word> runs) {
        for (std::size_t i = 0; i < runs.size(); i += 3)
            std::fill(row.begin() + runs[i], row.begin() + runs[i + 1] + 1, runs[i + 2]);
        rows.insert(rows.end(), row.begin(), row.end());
    };
    row.fill(-1 - classes.size());
    for (int b = 0; b < 128; ++b)
        if (classes.of_ascii(b) >= 0) row[b] = -1 - classes.of_ascii(b);
    add(classes.root());
    for (Word n = 0; n < classes.node_count(); ++n) {
        row.fill(-1 - classes.size());
        add(classes.node(n));
    }
    return ByteClasses().merged(rows);
}

class WideSpelling {
public:
    explicit WideSpelling(const CodePointClasses& classes) : classes_(classes), slot_(classes.size(), -1) {
        for (Word c = 0; c < classes.size(); ++c)
            if (classes.is_wide(c)) slot_[c] = n_slots_++;
    }

    Word n_slots() const { return n_slots_; }
    // The slot of a class, or -1 where it is within ASCII.
    Word slot(Word c) const { return slot_[c]; }

    // The number of a key, which has a spelling from now on. `key`: per slot where it leads, or -1.
    Word number(std::span<const Word> key) {
        some_.clear();
        for (Word slot = 0; slot < n_slots_; ++slot)
            if (key[slot] != -1) some_.insert(some_.end(), {slot, key[slot]});
        return number_of(some_);
    }
    // The same of the slots that lead somewhere: slot, target, slot, target, ..., ascending.
    Word number_of(std::span<const Word> key) {
        const auto [id, fresh] = keys_.intern(key);
        if (fresh) roots_.push_back(spell(key));
        return id;
    }

    // Runs are a flat list of (first byte, last byte, to), where `to` is a target of the key, or `inner_target()` of an inner
    // state.
    std::span<const Word> root(Word number) const { return roots_[number]; }
    std::span<const Word> inner(Word i) const { return inner_[i]; }
    Word n_inner() const { return inner_.size(); }
    // An inner state whose targets are those that `to(target)` gives instead.
    template <class To>
    Word with_targets(Word i, const To& to) {
        std::vector<Word> runs;
        for (std::size_t at = 0; at < inner_[i].size(); at += 3) {
            const Word first = inner_[i][at], last = inner_[i][at + 1], target = inner_[i][at + 2];
            CodePointClasses::append_run(runs, first, last,
                                         is_inner(target) ? inner_target(with_targets(inner_of(target), to)) : to(target));
        }
        return inner_.intern(runs).first;
    }
    // Runs written so far, of all spellings.
    std::size_t steps() const { return steps_; }
    static Word inner_target(Word i) { return -2 - i; }
    static bool is_inner(Word to) { return to <= -2; }
    static Word inner_of(Word to) { return -2 - to; }

    std::size_t bytes() const {
        std::size_t total =
            keys_.bytes() + inner_.bytes() + (slot_.capacity() + value_.capacity() + target_.capacity()) * sizeof(Word);
        for (const auto& root : roots_) total += sizeof(root) + root.capacity() * sizeof(Word);
        return total;
    }

private:
    // Only the nodes of the diagram that have one of the slots below them, each after its parts.
    std::vector<Word> spell(std::span<const Word> key) {
        std::vector<Word> runs;
        if (key.empty()) return runs;
        if (target_.empty()) begin();
        const auto add = [&](Word node) {
            if (node >= classes_.node_count() || std::exchange(is_waiting_[node], 1)) return;
            waiting_.push_back(node);
            std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
        };
        for (std::size_t i = 0; i < key.size(); i += 2) {
            target_[key[i]] = key[i + 1];
            for (Word node : above_slot_[static_cast<std::size_t>(key[i])]) add(node);
        }
        spelled_.clear();
        while (!waiting_.empty()) {
            std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
            const Word node = waiting_.back();
            waiting_.pop_back();
            substitute(classes_.node(node), runs);
            steps_ += 1 + runs.size() / 3;
            value_[node] = inner_target(inner_.intern(runs).first);
            spelled_.push_back(node);
            for (Word above : above_node_[static_cast<std::size_t>(node)]) add(above);
        }
        substitute(classes_.root(), runs);
        steps_ += 1 + runs.size() / 3;
        for (Word node : spelled_) {
            value_[node] = -1;
            is_waiting_[node] = 0;
        }
        for (std::size_t i = 0; i < key.size(); i += 2) target_[key[i]] = -1;
        return runs;
    }

    void begin() {
        const Word n = classes_.node_count();
        target_.assign(static_cast<std::size_t>(n_slots_), -1);
        value_.assign(static_cast<std::size_t>(n), -1);
        is_waiting_.assign(static_cast<std::size_t>(n), 0);
        const auto each = [&](auto f) {
            for (Word node = 0; node < n; ++node) {
                const auto runs = classes_.node(node);
                for (std::size_t i = 2; i < runs.size(); i += 3) f(node, runs[i]);
            }
        };
        above_slot_ = Grouped<>(static_cast<std::size_t>(n_slots_), [&](const auto& add) {
            each([&](Word node, Word to) {
                if (to < 0) add(static_cast<std::size_t>(slot_[-1 - to]), node);
            });
        });
        above_node_ = Grouped<>(static_cast<std::size_t>(n), [&](const auto& add) {
            each([&](Word node, Word to) {
                if (to >= 0) add(static_cast<std::size_t>(to), node);
            });
        });
    }

    void substitute(std::span<const Word> runs, std::vector<Word>& out) const {
        out.clear();
        for (std::size_t i = 0; i < runs.size(); i += 3) {
            const Word to = runs[i + 2] >= 0 ? value_[runs[i + 2]] : target_[slot_[-1 - runs[i + 2]]];
            if (to != -1) CodePointClasses::append_run(out, runs[i], runs[i + 1], to);
        }
    }

    const CodePointClasses& classes_;
    std::vector<Word> slot_;
    Word n_slots_ = 0;
    std::size_t steps_ = 0;
    SequenceInterner keys_, inner_;
    std::vector<std::vector<Word>> roots_;  // per key
    Grouped<> above_slot_, above_node_;     // nodes of the diagram that have it in their runs; from the first spelling on
    // Scratch: per slot, and per node of the diagram.
    std::vector<Word> target_, value_, some_, waiting_, spelled_;
    std::vector<char> is_waiting_;
};

}  // namespace psc
