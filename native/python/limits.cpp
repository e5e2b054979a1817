// The limits of base/limits.hpp, for Python.
#include "base/limits.hpp"

#include "python/bindings.hpp"

namespace psc {

using LimitRows =
    nb::typed<nb::list, nb::typed<nb::tuple, std::string, std::string, std::int64_t, std::string, std::string, std::string>>;

void bind_limits(nb::module_& m) {
    m.def(
        "limits",
        [] {
            LimitRows rows;
            for (const Limit& l : kLimits) rows.append(nb::make_tuple(l.topic, l.name, l.value, l.of, l.cost, l.past_it));
            return rows;
        },
        "(topic, name, value, what is counted, cost of each, what happens beyond) of each limit.");
}

}  // namespace psc
