// What all kernels of masks share. They are one translation unit, compiled when first used by NVRTC, which has no headers; the tests also
// compile it for the host, to run it against NumPy. So: no includes, and 16-bit floats are bit patterns.
//
// A mask row is `n_words` words of 32 tokens; token j is bit j % 32 of word j / 32, and 1 is allowed.

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

// The row of a table: which mask is meant by an id.
struct Row {
    const u32* words;  // null: no words are read
    i32 n_words;
    bool free;  // of any mask

    // -1 leaves logits alone. An id that is not in the table is a mistake that cannot be reported from here: it allows nothing.
    __device__ Row(const u32* table, i64 stride, i32 n_words_, i32 n_slots, i32 id)
        : words(id >= 0 && id < n_slots ? table + id * stride : nullptr), n_words(id >= 0 && id < n_slots ? n_words_ : 0), free(id == -1) {}

    __device__ u32 word(i32 i) const { return i >= 0 && i < n_words ? words[i] : 0; }

    // Bits of the tokens from `column` on, as many as `n`, which is at most 32; what lies outside of the row is not allowed.
    __device__ u32 bits(i32 column, i32 n) const {
        const i32 shift = column & 31, first = column >> 5;  // rounds down, before the row too
        const u32 low = word(first);
        if (shift + n <= 32) return low >> shift;
        return (u32)(((u64)word(first + 1) << 32 | low) >> shift);
    }
};
