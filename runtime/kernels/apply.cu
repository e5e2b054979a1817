// Minus infinity where a token is not allowed, in place.
//
// The idea: a thread has the logits of 16 aligned bytes, and their bits. All allowed: it is done, and has not looked at the logits. None: it
// stores 16 bytes, and has not looked either. Only a mixed group is loaded, blended and stored. So memory sees the mask's bits, which
// are in the L2 cache since rows are shared, and stores of what is masked; a kernel that reads and writes the logits that it changes
// moves twice as much. The groups are those of memory, not of the row: a row that begins off a 16-byte boundary (an odd width, a slice)
// has a partial group at each end, and groups whose bits lie in two words.
//
// Traffic: n_words words read; sizeof(Bits) written for each masked logit, and read where the group is mixed.

struct alignas(16) Group {
    u32 part[4];
};

// Of each 32 bits of a group, those to replace: `masked` has a bit for each logit.
template <class Bits>
__device__ u32 replaced(u32 masked, int part) {
    if (sizeof(Bits) == 2) return (masked >> 2 * part & 1 ? 0xffffu : 0) | (masked >> 2 * part & 2 ? 0xffff0000u : 0);
    return masked >> (sizeof(Bits) == 4 ? part : part / 2) & 1 ? ~0u : 0;
}

template <class Bits>
__device__ void apply_group(Bits* row, const Row& mask, i32 column, i32 width, Bits minus_infinity) {
    constexpr i32 kSize = 16 / sizeof(Bits);
    constexpr u32 kAll = (1u << kSize) - 1;
    const u32 masked = ~mask.bits(column, kSize) & kAll;
    if (!masked) return;
    if (column < 0 || column + kSize > width) {
        for (i32 i = 0; i < kSize; ++i)
            if (masked >> i & 1 && column + i >= 0 && column + i < width) row[column + i] = minus_infinity;
        return;
    }
    Group* at = reinterpret_cast<Group*>(row + column);
    const u64 pattern = sizeof(Bits) == 2 ? (u64)minus_infinity * 0x0001000100010001u
                        : sizeof(Bits) == 4 ? (u64)minus_infinity << 32 | (u64)minus_infinity : (u64)minus_infinity;
    Group group;
    if (masked == kAll) {
        for (int p = 0; p < 4; ++p) group.part[p] = (u32)(p % 2 ? pattern >> 32 : pattern);
    } else {
        group = *at;
        for (int p = 0; p < 4; ++p) {
            const u32 bits = replaced<Bits>(masked, p);
            group.part[p] = (group.part[p] & ~bits) | ((u32)(p % 2 ? pattern >> 32 : pattern) & bits);
        }
    }
    *at = group;
}

// Blocks along x share a row, blocks along y take rows. `rows`: which rows of the logits, all if null. `ids`: the mask row of each, the row of
// the same number if null.
template <class Bits>
__device__ void apply(Bits* logits, i64 row_stride, i64 column_stride, i32 n_logit_rows, i32 width, const i32* rows, const i32* ids, i32 n,
                      const u32* table, i64 stride, i32 n_words, i32 n_slots, Bits minus_infinity) {
    for (i32 k = blockIdx.y; k < n; k += gridDim.y) {
        const i32 at = rows ? rows[k] : k;
        if (at < 0 || at >= n_logit_rows) continue;
        const Row mask(table, stride, n_words, n_slots, ids ? ids[k] : at);
        if (mask.free) continue;
        Bits* row = logits + at * row_stride;
        const i32 step = gridDim.x * blockDim.x;
        if (column_stride == 1) {
            const i32 lead = (i32)((reinterpret_cast<size_t>(row) & 15) / sizeof(Bits));
            constexpr i32 kSize = 16 / sizeof(Bits);
            for (i32 g = blockIdx.x * blockDim.x + threadIdx.x; g * kSize < lead + width; g += step)
                apply_group(row, mask, g * kSize - lead, width, minus_infinity);
        } else {
            for (i32 column = blockIdx.x * blockDim.x + threadIdx.x; column < width; column += step)
                if (!(mask.bits(column, 1) & 1)) row[column * column_stride] = minus_infinity;
        }
    }
}

#define APPLY(name, Bits)                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                                     \
    name(Bits* logits, i64 row_stride, i64 column_stride, i32 n_logit_rows, i32 width, const i32* rows, const i32* ids, i32 n,            \
         const u32* table, i64 stride, i32 n_words, i32 n_slots, Bits minus_infinity) {                                                   \
        apply<Bits>(logits, row_stride, column_stride, n_logit_rows, width, rows, ids, n, table, stride, n_words, n_slots, minus_infinity); \
    }

APPLY(apply_16, u16)
APPLY(apply_32, u32)
APPLY(apply_64, u64)
