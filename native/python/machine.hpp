// A machine as Python holds it.
#pragma once

#include <memory>
#include <vector>

#include "lexer/kinds.hpp"
#include "machine/engine.hpp"
#include "python/bindings.hpp"
#include "terminals/automaton.hpp"
#include "vocabulary/index.hpp"

namespace psc {

struct PyMachine {
    explicit PyMachine(std::shared_ptr<Machine> m) : machine(std::move(m)) {}

    // A mask row as a NumPy array that shares its memory; made once each.
    nb::object view(const std::shared_ptr<RowCache>& cache, MaskRow row);

    // Null for machines that are linked.
    std::shared_ptr<Engine> engine() const { return std::dynamic_pointer_cast<Engine>(machine); }
    // The engine into which Python's tools look; of machines that are linked, the frame's.
    Engine& shown() const;

    std::shared_ptr<Machine> machine;
    std::shared_ptr<RowCache> viewed;
    std::vector<nb::object> views;
};

struct PyVocabulary {
    std::shared_ptr<VocabularyIndex> index;
};

void bind_machine_tables(nb::class_<PyMachine>& machine);

LexerKind lexer_kind(const std::string& name);
AllTerminals all_terminals(const ByteAutomaton& automaton, Ints rank, Bytes ignored);

}  // namespace psc
