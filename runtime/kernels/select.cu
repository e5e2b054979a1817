// The next tokens at once, out of logits that stay as they are: the largest allowed one, or one drawn from the softmax of the allowed ones.
//
// The idea: a token's score becomes an integer of the same order, and the column's complement its low half, so that the greatest
// 64-bit number is the best token, and of equals the first. A block has a row; four columns a time for each thread. Only logits
// that are allowed are read.
//
// Drawing is the Gumbel-max trick: the largest of logit / temperature + g, where g = -log(-log(u)), is distributed as the softmax. u comes from
// a counter (Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), so a token's number
// depends on the seed, the step, the row and its column, and on no order of evaluation. The logarithms are spelled in operations that
// IEEE 754 rounds in one way only, none contracted, so that NumPy draws the very same tokens (psc/runtime/gumbel.py).
//
// Traffic: n_words words and the allowed logits read, rounded up to 32 bytes; four bytes written a row.

constexpr u32 kMax = 0xffffffffu;

// The bits of a float as an integer of the same order. NaN is the least, +0 and -0 are equal.
__device__ u32 order_of(u32 bits, u32 infinity) {
    if ((bits & 0x7fffffffu) > infinity) return 0;
    if (bits == 0x80000000u) bits = 0;
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ float f16_value(u32 h) {
    u32 bits = (h & 0x7fffu) << 13;
    float value = __fmul_rn(__uint_as_float(bits), 0x1p112f);  // subnormals too
    if ((h & 0x7c00u) == 0x7c00u) value = __uint_as_float(bits | 0x7f800000u);
    return h & 0x8000u ? -value : value;
}

// 2 * atanh(s) for |s| < 0.18, which is log((1 + s) / (1 - s)).
__device__ float twice_atanh(float s) {
    const float z = __fmul_rn(s, s), twice = __fadd_rn(s, s);
    float p = __fadd_rn(__fmul_rn(z, 1.0f / 9), 1.0f / 7);
    p = __fadd_rn(__fmul_rn(z, p), 1.0f / 5);
    p = __fadd_rn(__fmul_rn(z, p), 1.0f / 3);
    return __fadd_rn(twice, __fmul_rn(twice, __fmul_rn(z, p)));
}

// -log(t) of a normal number.
__device__ float minus_log(float t) {
    const u32 bits = __float_as_uint(t);
    i32 e = (i32)(bits >> 23) - 127;
    float m = __uint_as_float((bits & 0x7fffffu) | 0x3f800000u);
    if (m > 0x1.6a09e6p+0f) {
        m = __fmul_rn(m, 0.5f);
        ++e;
    }
    const float s = __fdiv_rn(__fadd_rn(m, -1.0f), __fadd_rn(m, 1.0f));
    return -__fadd_rn(__fmul_rn((float)e, 0x1.62e430p-1f), twice_atanh(s));
}

// Gumbel's distribution out of 32 random bits, u = 1 - (h + 1/2) / 2^32; exact to a few units where it decides, which is at u near 1.
__device__ float gumbel(u32 h) {
    float exponential;
    if (h < 0x40000000u) {
        const float v = __fmul_rn(__fadd_rn((float)h, 0.5f), 0x1p-32f);
        exponential = twice_atanh(__fdiv_rn(v, __fadd_rn(2.0f, -v)));
    } else {
        exponential = minus_log(__fmul_rn(__fadd_rn((float)~h, 0.5f), 0x1p-32f));
    }
    return minus_log(exponential);
}

struct Philox {
    u32 c[4];

    __device__ Philox(u32 c0, u32 c1, u32 c2, u32 c3, u32 k0, u32 k1) : c{c0, c1, c2, c3} {
        for (int round = 0; round < 10; ++round) {
            const u64 a = (u64)0xD2511F53u * c[0], b = (u64)0xCD9E8D57u * c[2];
            c[0] = (u32)(b >> 32) ^ c[1] ^ k0;
            c[1] = (u32)b;
            c[2] = (u32)(a >> 32) ^ c[3] ^ k1;
            c[3] = (u32)a;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
    }
};

// What scores four columns: their bits in, the order of the scores out.
template <class Bits>
struct Greedy {
    u32 infinity;  // of 32 bits, the upper half for a 16-bit float

    __device__ void operator()(const u32* bits, u32 (&order)[4], i32, i32) const {
        for (int i = 0; i < 4; ++i) order[i] = order_of(sizeof(Bits) == 2 ? bits[i] << 16 : bits[i], infinity);
    }
};

enum Kind { kF32, kF16, kBF16 };

template <Kind kind>
struct Draw {
    float inverse_temperature;
    u64 seed, step;

    __device__ void operator()(const u32* bits, u32 (&order)[4], i32 group, i32 row) const {
        const Philox random((u32)group, (u32)row, (u32)step, (u32)(step >> 32), (u32)seed, (u32)(seed >> 32));
        for (int i = 0; i < 4; ++i) {
            const float logit = kind == kF16 ? f16_value(bits[i]) : __uint_as_float(kind == kBF16 ? bits[i] << 16 : bits[i]);
            order[i] = order_of(__float_as_uint(__fadd_rn(__fmul_rn(logit, inverse_temperature), gumbel(random.c[i]))), 0x7f800000u);
        }
    }
};

template <class Bits>
struct alignas(4 * sizeof(Bits)) Four {
    Bits value[4];
};

template <class Bits, class Score>
__device__ void choose(const Bits* logits, i64 row_stride, i64 column_stride, i32 width, const i32* ids, i32 n, const u32* table, i64 stride,
                       i32 n_words, i32 n_slots, i32* out, const Score& score) {
    __shared__ u64 best_of_warp[32];
    const i32 k = blockIdx.x;
    const Row mask(table, stride, n_words, n_slots, ids[k]);
    const Bits* row = logits + k * row_stride;
    const bool aligned = column_stride == 1 && reinterpret_cast<size_t>(row) % sizeof(Four<Bits>) == 0;
    u64 best = 0;
    for (i32 group = threadIdx.x; 4 * group < width; group += blockDim.x) {
        const i32 column = 4 * group, left = width - column;
        u32 allowed = mask.free ? 0xf : mask.bits(column, 4) & 0xf;
        if (left < 4) allowed &= (1u << left) - 1;
        if (!allowed) continue;
        u32 bits[4] = {}, order[4];
        if (aligned && left >= 4) {
            const Four<Bits> four = *reinterpret_cast<const Four<Bits>*>(row + column);
            for (int i = 0; i < 4; ++i) bits[i] = four.value[i];
        } else {
            for (int i = 0; i < 4; ++i)
                if (allowed >> i & 1) bits[i] = row[(column + i) * column_stride];
        }
        score(bits, order, group, k);
        for (int i = 0; i < 4; ++i) {
            const u64 candidate = (u64)order[i] << 32 | (kMax - (u32)(column + i));
            if (allowed >> i & 1 && candidate > best) best = candidate;
        }
    }
    for (int distance = 16; distance; distance /= 2) {
        const u64 other = __shfl_down_sync(kMax, best, distance);
        if (other > best) best = other;
    }
    if (threadIdx.x % 32 == 0) best_of_warp[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x) return;
    for (i32 w = 1; w < blockDim.x / 32; ++w)
        if (best_of_warp[w] > best) best = best_of_warp[w];
    out[k] = best ? (i32)(kMax - (u32)best) : -1;
}

#define SELECTED const i32 *ids, i32 n, const u32 *table, i64 stride, i32 n_words, i32 n_slots, i32 *out
#define ARGMAX(name, Bits)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(1024)                                                                       \
    name(const Bits* logits, i64 row_stride, i64 column_stride, i32 width, SELECTED, u32 infinity) {                         \
        choose(logits, row_stride, column_stride, width, ids, n, table, stride, n_words, n_slots, out, Greedy<Bits>{infinity}); \
    }
#define SAMPLE(name, Bits, kind)                                                                                             \
    extern "C" __global__ void __launch_bounds__(1024)                                                                       \
    name(const Bits* logits, i64 row_stride, i64 column_stride, i32 width, SELECTED, float inverse_temperature, u64 seed, u64 step) { \
        choose(logits, row_stride, column_stride, width, ids, n, table, stride, n_words, n_slots, out,                       \
               Draw<kind>{inverse_temperature, seed, step});                                                                 \
    }

ARGMAX(argmax_16, u16)
ARGMAX(argmax_32, u32)
SAMPLE(sample_f32, u32, kF32)
SAMPLE(sample_f16, u16, kF16)
SAMPLE(sample_bf16, u16, kBF16)
