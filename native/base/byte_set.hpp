// A set of byte values.
#pragma once

#include <bitset>

namespace psc {

using ByteSet = std::bitset<256>;

}  // namespace psc
