// The rows that texts have visited in an artifact, noted and composed again: psc compile --warm, and loading what that wrote.
#include "machine/warm_rows.hpp"
#include "python/interpreter_lock.hpp"
#include "python/machine.hpp"
#include "python/tables.hpp"

namespace psc {
namespace {

std::shared_ptr<ArtifactMachine> artifact_machine(const PyMachine& t) {
    auto machine = std::dynamic_pointer_cast<ArtifactMachine>(t.machine);
    if (!machine) throw std::invalid_argument("this machine has no lexer that is closed, by whose states rows are named");
    return machine;
}

}  // namespace

void bind_warm_rows(nb::module_& m) {
    m.def(
        "warm_tables",
        [](const PyMachine& t) {
            const auto machine = artifact_machine(t);
            const auto cache = machine->engine_cache();
            if (machine->is_closed()) return to_dict(warm_tables(*cache));
            const auto [rows, readings] = warm_tables_and_readings(*cache, machine->start_of_stacks());
            NamedArrays d = to_dict(rows);
            add_to_dict(d, readings);
            return d;
        },
        "machine"_a, "The names of all rows that matchers of an artifact have composed so far, as it stores them.");
    m.def(
        "has_room_in_advance",
        [](const PyMachine& t, std::size_t most_bytes) { return t.machine->has_room_in_advance(most_bytes); }, "machine"_a,
        "most_bytes"_a, nb::call_guard<WithoutInterpreterLock>(),
        "Whether what a machine has built takes fewer bytes than that, and less than half of its limit.");
    nb::class_<WarmRows>(m, "WarmRows", "The rows that an artifact names, composed a few at a time. One thread at a time.")
        .def(
            "__init__", [](WarmRows* self, const PyMachine& t) { new (self) WarmRows(artifact_machine(t)); }, "machine"_a)
        .def("compose", &WarmRows::compose, "seconds"_a, "most_bytes"_a, nb::call_guard<WithoutInterpreterLock>(),
             "Goes on for so much processor time; False when nothing is left, or the machine's cache has so many bytes.")
        .def_prop_ro("n_composed", &WarmRows::n_composed, "Rows composed so far.");
}

}  // namespace psc
