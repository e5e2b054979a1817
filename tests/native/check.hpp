// What the programs of this folder check with: a line on standard error, and status 1.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition, what)                                              \
    if (!(condition)) {                                                     \
        std::fprintf(stderr, "%s, line %d: %s\n", __FILE__, __LINE__, what); \
        std::exit(1);                                                       \
    }
