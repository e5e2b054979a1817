// A set of byte values, 32 bytes.
#pragma once

#include <bitset>

namespace psc {

using ByteSet = std::bitset<256>;

}  // namespace psc
