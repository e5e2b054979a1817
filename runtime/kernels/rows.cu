// Rows of a table: composed where they are kept, and their unions.

// Writes rows into their slots, a block each: from the tokens that alone are allowed (form 0), the tokens that alone are refused (1), or all
// bits (2), which are `count` words of `pool` from `begin` on.
// Traffic: reads what is stored, four bytes a token, writes n_words words; another read and write of a word for each token.
extern "C" __global__ void __launch_bounds__(256)
write_rows(u32* table, i64 stride, i32 n_words, i32 vocab_size, const i32* writes, const u32* pool) {
    const i32* write = writes + 4 * (i64)blockIdx.x;
    const i32 form = write[1], count = write[3];
    u32* row = table + write[0] * stride;
    const u32* from = pool + write[2];
    for (i32 w = threadIdx.x; w < n_words; w += blockDim.x) {
        const i32 left = vocab_size - 32 * w;
        const u32 all = left < 32 ? (1u << left) - 1 : ~0u;
        row[w] = form == 2 ? from[w] : form == 1 ? all : 0;
    }
    if (form == 2) return;
    __syncthreads();
    for (i32 i = threadIdx.x; i < count; i += blockDim.x) {
        const u32 token = from[i], bit = 1u << (token & 31);
        if (form == 0)
            atomicOr(row + (token >> 5), bit);
        else
            atomicAnd(row + (token >> 5), ~bit);
    }
}

// out[i] is the union of the rows ids[i, :]; -1 and ids that are not in the table add nothing. A thread has a word of a row.
// Traffic: k * n_words words read, n_words written, for each i.
extern "C" __global__ void __launch_bounds__(256)
union_rows(const u32* table, i64 stride, i32 n_words, i32 n_slots, const i32* ids, i32 n, i32 k, u32* out, i64 out_stride) {
    const i32 w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= n_words) return;
    for (i32 i = blockIdx.y; i < n; i += gridDim.y) {
        u32 word = 0;
        for (i32 j = 0; j < k; ++j) {
            const i32 id = ids[(i64)i * k + j];
            if (id >= 0 && id < n_slots) word |= table[id * stride + w];
        }
        out[i * out_stride + w] = word;
    }
}
