// The private module psc._core: plain arrays in, plain arrays out.
#include "bindings.hpp"

NB_MODULE(_core, m) {
    psc::bind_lr_tables(m);
    psc::bind_terminals(m);
    psc::bind_lowering(m);
    psc::bind_compilation(m);
    psc::bind_machine(m);
    psc::bind_bitmask(m);
    psc::bind_matcher(m);
    psc::bind_inspection(m);
}
