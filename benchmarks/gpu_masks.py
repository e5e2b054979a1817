"""Measure masking on a GPU, beside what its memory allows and beside others, in one run.

    python benchmarks/gpu_masks.py [--batch 256] [--vocab-size 128256] [--dtype bfloat16] [--json FILE]

The idea: the same logits and the same masks for all. Masks are of four kinds: few tokens allowed (an operator is next), few refused
(inside a string), half in runs (an identifier is next), half at random (the worst for groups of logits).

    touched     a kernel that reads the masked logits and writes them: what masking must do at least, given what is masked
    rows        apply_rows: ids of rows that are in the table
    rows, step  the same with the upload of the ids before it
    bitmask     apply_bitmask: a bitmask that is on the device
    torch       the masks by torch's operations (backend "torch_native"), a bitmask that is on the device
    xgrammar    its kernels, with the upload of the bitmask from pinned memory before them

Device times are medians of CUDA events around each call, which the CPU has issued before the first event happens, over logits that
no cache holds: several batches in turn, together larger than the L2 cache. The order of the contestants changes from round to
round. Without a GPU that CuPy can use this script says so and ends.

The cost: half a minute, and 2 GB of the GPU's memory.
"""

import argparse
import random
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psc
from psc.bench.measure import in_words, machine, number, report, table
from psc.runtime import cuda_device
from psc.runtime.cupy_masks import apply_bitmask, apply_rows, masked_argmax, masked_sample

ROUNDS = 60
ASKED = 1.3

TOUCHED = r"""
// A thread has 16 bytes; those whose group has a masked logit are read, changed so that nothing is left out, and written.
extern "C" __global__ void touched(uint4* logits, const unsigned char* group_touched, long long n) {
    const long long g = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (g >= n || !group_touched[g]) return;
    uint4 v = logits[g];
    v.x ^= 1; v.y ^= 1; v.z ^= 1; v.w ^= 1;
    logits[g] = v;
}
"""

SPIN = r"""
extern "C" __global__ void spin(long long cycles) {
    const long long began = clock64();
    while (clock64() - began < cycles) {}
}
"""


def kinds(rng: np.random.Generator, batch: int, vocab_size: int) -> dict[str, NDArray[np.bool_]]:
    """Allowed tokens, by kind of mask: (batch, vocab_size)."""
    runs = np.repeat(rng.random((batch, -(-vocab_size // 96))) < 0.5, 96, axis=1)[:, :vocab_size]
    return {
        "few allowed": rng.random((batch, vocab_size)) < 0.0005,
        "few refused": rng.random((batch, vocab_size)) > 0.002,
        "half, in runs": runs,
        "half, at random": rng.random((batch, vocab_size)) < 0.5,
    }


def packed(allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
    """As bitmasks."""
    padded = np.zeros((len(allowed), -(-allowed.shape[1] // 32) * 32), bool)
    padded[:, : allowed.shape[1]] = allowed
    return np.packbits(padded, axis=1, bitorder="little").view(np.int32)


class Timer:
    """Microseconds of the device."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.spin = cupy.RawKernel(SPIN, "spin")

    def medians(self, calls: dict[str, Callable[[int], object]]) -> dict[str, float]:
        """Each called many times in turn; the argument says which of the batches of logits."""
        took: dict[str, list[float]] = {name: [] for name in calls}
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        names = list(calls)
        for round_number in range(ROUNDS + 5):
            random.Random(round_number).shuffle(names)
            for name in names:
                self.spin((1,), (1,), (np.int64(1_000_000),))  # so that the CPU is ahead, and its time is not in the device's
                start.record()
                calls[name](round_number)
                end.record()
                end.synchronize()
                if round_number >= 5:
                    took[name].append(self.cupy.cuda.get_elapsed_time(start, end) * 1000)
        return {name: float(np.median(t)) for name, t in took.items()}


def xgrammar_kernels() -> dict[str, Callable[..., object]]:
    """Its ways of masking tensors on a GPU, as far as they are installed."""
    try:
        xgrammar = import_module("xgrammar")
    except ImportError:
        return {}
    return {
        f"xgrammar {backend}": lambda logits, bitmask, backend=backend: xgrammar.apply_token_bitmask_inplace(
            logits, bitmask, backend=backend
        )
        for backend in ("triton", "cuda")
    }


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--batch", type=int, default=256, metavar="N", help="sequences (default 256)")
    options.add_argument("--vocab-size", type=int, default=128_256, metavar="N", help="columns (default 128256)")
    options.add_argument("--dtype", choices=["bfloat16", "float16", "float32"], default="bfloat16")
    options.add_argument("--json", metavar="FILE", help="write what was measured; - for standard output")
    args = options.parse_args()
    try:
        cuda_device.cuda_device(cuda_device.current_ordinal())
    except (psc.MissingExtraError, psc.DeviceError) as e:
        sys.exit(f"gpu_masks.py measures a GPU: {e}")
    cupy: Any = import_module("cupy")
    try:
        torch: Any = import_module("torch")
        torch = torch if torch.cuda.is_available() else None
    except ImportError:
        torch = None
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    about = {
        **machine(),
        "gpu": properties["name"].decode(),
        "l2_bytes": properties["l2CacheSize"],
        "cupy": cupy.__version__,
        "torch": torch.__version__ if torch else None,
        "driver": cupy.cuda.runtime.driverGetVersion(),
    }
    print(f"{in_words(about)}; {about['gpu']}, CUDA driver {about['driver']}, CuPy {about['cupy']}, torch {about['torch']}")
    print(f"logits ({args.batch}, {args.vocab_size}) {args.dtype}, microseconds of the device, median of {ROUNDS}\n")

    itemsize = 4 if args.dtype == "float32" else 2
    n_bytes = args.batch * args.vocab_size * itemsize
    copies = max(2, 1 + 3 * int(properties["l2CacheSize"]) // n_bytes)
    memory = [cupy.zeros((args.batch, args.vocab_size), f"u{itemsize}") for _ in range(copies)]
    if torch:
        logits = [torch.from_dlpack(m.view(f"i{itemsize}")).view(getattr(torch, args.dtype)) for m in memory]
    else:
        import ml_dtypes

        logits = [m.view(getattr(ml_dtypes, args.dtype, args.dtype)) for m in memory]
    touched = cupy.RawKernel(TOUCHED, "touched")
    timer = Timer(cupy)
    contestants = xgrammar_kernels() if torch else {}
    failed: dict[str, str] = {}
    found: dict[str, dict[str, float]] = {}
    for kind, allowed in kinds(np.random.default_rng(0), args.batch, args.vocab_size).items():
        bitmask = packed(allowed)
        per_group = 16 // itemsize
        groups = np.zeros((args.batch, -(-args.vocab_size // per_group) * per_group), bool)
        groups[:, : args.vocab_size] = ~allowed
        flags = cupy.asarray(groups.reshape(args.batch, -1, per_group).any(axis=2).astype(np.uint8).ravel()[: n_bytes // 16])
        rows, ids = cupy.asarray(bitmask), cupy.arange(args.batch, dtype=np.int32)
        host_ids = cupy.cuda.alloc_pinned_memory(4 * args.batch)
        pinned_ids = np.frombuffer(host_ids, np.int32, args.batch)
        pinned_ids[:] = np.arange(args.batch)
        n = n_bytes // 16

        def read_and_write(i: int, flags: Any = flags, n: int = n) -> None:
            touched((-(-n // 256),), (256,), (memory[i % copies], flags, np.int64(n)))

        def with_upload(i: int, ids: Any = ids, rows: Any = rows, pinned_ids: Any = pinned_ids) -> None:
            ids.set(pinned_ids)
            apply_rows(logits[i % copies], rows, ids)

        calls: dict[str, Callable[[int], object]] = {
            "touched": read_and_write,
            "rows": lambda i, rows=rows, ids=ids: apply_rows(logits[i % copies], rows, ids),
            "rows, step": with_upload,
            "bitmask": lambda i, rows=rows: apply_bitmask(logits[i % copies], rows),
        }
        if args.dtype != "float64":
            calls["argmax"] = lambda i, rows=rows, ids=ids: masked_argmax(logits[i % copies], rows, ids)
            calls["sample"] = lambda i, rows=rows, ids=ids: masked_sample(logits[i % copies], rows, ids, seed=0, step=i)
        if torch:
            on_device, pinned = torch.from_numpy(bitmask).cuda(), torch.from_numpy(bitmask).pin_memory()
            calls["torch"] = lambda i, m=on_device: psc.apply_token_bitmask_inplace(logits[i % copies], m, backend="torch_native")
            for name, kernel in contestants.items():
                if name in failed:
                    continue
                try:
                    kernel(logits[0], pinned.cuda(non_blocking=True))
                    calls[name] = lambda i, kernel=kernel, pinned=pinned: kernel(logits[i % copies], pinned.cuda(non_blocking=True))
                except Exception as e:  # whatever another package raises where it cannot
                    failed[name] = f"{type(e).__name__}: {e}".splitlines()[0]
        found[kind] = {"masked_fraction": float((~allowed).mean()), **timer.medians(calls)}
    names = [name for name in found["few allowed"] if name != "masked_fraction"]
    lines = [[kind, f"{f['masked_fraction']:.1%}", *(number(f.get(name)) for name in names)] for kind, f in found.items()]
    print(table(["masks", "masked", *names], lines))
    for name, why in failed.items():
        print(f"{name}: {why}")
    ratios = {kind: f["rows"] / f["touched"] for kind, f in found.items()}
    worst = max(ratios.values())
    print(f"\nrows / touched: {', '.join(f'{k}: {r:.2f}' for k, r in ratios.items())}")
    print(f"asked: at most {ASKED}: {'kept' if worst <= ASKED else 'NOT kept'}")
    for name in contestants:
        if name not in failed:
            faster = all(f["rows, step"] < f[name] for f in found.values())
            print(f"asked: faster than {name} with its upload: {'kept' if faster else 'NOT kept'}")
    report({"machine": about, "options": vars(args), "microseconds": found, "failed": failed}, args.json)


if __name__ == "__main__":
    main()
