// CUDA C++ on a CPU, as much as the kernels in psc/runtime/kernels use: enough to run them against NumPy where there is no GPU.
//
// A block's threads are coroutines that take turns at barriers and shuffles, so a missing barrier shows; blocks run one after the other. 32
// threads are a warp. A shuffle in which a thread of the warp takes no part ends the process with a message.
//
// The cost: a context of ucontext.h is entered once, since each switch of those asks the operating system for the mask of signals. After
// that a coroutine is left with _setjmp and entered with _longjmp, a hundredth of that. To be compiled with -U_FORTIFY_SOURCE, which
// takes a jump to another stack for an error.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __shared__ static

namespace shim {

struct Index {
    unsigned x = 0, y = 0, z = 0;
};

struct Thread {
    jmp_buf place;  // where it goes on, once it has begun
    std::unique_ptr<char[]> stack;
    std::uint64_t barriers = 0, shuffles = 0;  // passed or waiting at
    bool begun = false, done = false;          // done: with this block
};

constexpr std::size_t kStack = 64 << 10;

inline std::vector<Thread> threads;
inline std::vector<std::uint64_t> shuffled;  // what each thread gives
inline jmp_buf scheduler;
inline std::size_t running = 0;
inline const std::function<void()>* body = nullptr;

}  // namespace shim

inline shim::Index threadIdx, blockIdx, blockDim, gridDim;

namespace shim {

// Not inline: nothing of the caller's may live in registers across a jump.
[[gnu::noinline]] inline void yield() {
    if (_setjmp(threads[running].place) == 0) _longjmp(scheduler, 1);
}

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "cuda_shim: %s\n", what);
    std::abort();
}

// Until every thread of [first, last) that has not returned has come as often as this one.
inline void meet(std::uint64_t Thread::*count, std::size_t first, std::size_t last) {
    Thread& me = threads[running];
    const std::uint64_t mine = ++(me.*count);
    last = std::min(last, threads.size());
    const auto come = [&](const Thread& t) { return t.done || t.*count >= mine; };
    for (;;) {
        // From the last one, who comes last.
        while (last > first && come(threads[last - 1])) --last;
        if (last == first) return;
        yield();
    }
}

// One block after the other.
inline void trampoline() {
    for (;;) {
        (*body)();
        threads[running].done = true;
        yield();
    }
}

// Until it waits, or is done.
[[gnu::noinline]] inline void resume(Thread& t) {
    if (_setjmp(scheduler) != 0) return;
    if (t.begun) _longjmp(t.place, 1);
    t.begun = true;
    t.stack = std::make_unique<char[]>(kStack);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = t.stack.get();
    context.uc_stack.ss_size = kStack;
    context.uc_link = nullptr;
    makecontext(&context, trampoline, 0);
    setcontext(&context);
}

inline void run_block(unsigned n, const std::function<void()>& kernel) {
    if (threads.size() != n) threads = std::vector<Thread>(n);
    shuffled.assign(n, 0);
    body = &kernel;
    for (Thread& t : threads) {
        t.barriers = t.shuffles = 0;
        t.done = false;
    }
    for (bool left = true; left;) {
        left = false;
        for (running = 0; running < n; ++running) {
            if (threads[running].done) continue;
            left = true;
            threadIdx = {static_cast<unsigned>(running), 0, 0};
            resume(threads[running]);
        }
    }
}

template <class... A, std::size_t... i>
void launch(void (*kernel)(A...), unsigned grid_x, unsigned grid_y, unsigned block, void** arguments, std::index_sequence<i...>) {
    const std::function<void()> call = [&] { kernel(*static_cast<A*>(arguments[i])...); };
    gridDim = {grid_x, grid_y, 1};
    blockDim = {block, 1, 1};
    for (unsigned y = 0; y < grid_y; ++y)
        for (unsigned x = 0; x < grid_x; ++x) {
            blockIdx = {x, y, 0};
            run_block(block, call);
        }
}

template <class... A>
void launch(void (*kernel)(A...), unsigned grid_x, unsigned grid_y, unsigned block, void** arguments) {
    launch(kernel, grid_x, grid_y, block, arguments, std::index_sequence_for<A...>{});
}

// The sizes of a kernel's parameters, so that a wrong width of an argument is found.
template <class... A>
int sizes(void (*)(A...), int* out) {
    int n = 0;
    ((out[n++] = static_cast<int>(sizeof(A))), ...);
    return n;
}

}  // namespace shim

inline void __syncthreads() { shim::meet(&shim::Thread::barriers, 0, shim::threads.size()); }

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
    using namespace shim;
    const std::size_t me = running, first = me / 32 * 32;
    if (mask != ~0u) fail("a shuffle of a part of a warp");
    std::memcpy(&shuffled[me], &value, sizeof value);
    meet(&Thread::shuffles, first, first + 32);
    for (std::size_t i = first; i < first + 32; ++i)
        if (i >= threads.size() || threads[i].shuffles < threads[me].shuffles) fail("a shuffle without the whole warp");
    T other = value;
    if (me % 32 + distance < 32) std::memcpy(&other, &shuffled[me + distance], sizeof other);
    meet(&Thread::shuffles, first, first + 32);
    return other;
}

inline unsigned atomicOr(unsigned* at, unsigned bits) { return std::exchange(*at, *at | bits); }
inline unsigned atomicAnd(unsigned* at, unsigned bits) { return std::exchange(*at, *at & bits); }

template <class To, class From>
To shim_cast(From from) {
    To to;
    static_assert(sizeof to == sizeof from);
    std::memcpy(&to, &from, sizeof to);
    return to;
}
inline float __uint_as_float(unsigned bits) { return shim_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return shim_cast<unsigned>(value); }
// To be compiled with -ffp-contract=off.
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
