"""A GPU that is none: the kernels' own source compiled for this processor, and a device whose streams do nothing before they must.

The idea: `EmulatedDevice` has the methods of `psc.runtime.cuda_device.CudaDevice`. A stream is a list of what it was given, done
when somebody waits; a copy reads the CPU's memory only then. So what overwrites a pinned buffer too early, or forgets to wait,
computes nonsense here, while on a GPU it would only now and then. Around every array lies memory that nothing may write to.

The cost: a compilation of some seconds, once a session.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc.runtime import mask_kernels
from psc.runtime.cuda_device import DeviceArray
from psc.runtime.mask_kernels import KERNELS, Launch

GUARD = 64
_GUARD_BYTE = 0xA5


def compiler() -> str | None:
    """A C++ compiler: what built psc's native module."""
    return next((found for name in (os.environ.get("CXX"), "g++", "c++") if name and (found := shutil.which(name))), None)


class HostKernels:
    """The kernels, as functions of this process."""

    def __init__(self, folder: Path) -> None:
        here = Path(__file__).parent
        entries = "\n".join(
            f'extern "C" void launch_{name}(unsigned x, unsigned y, unsigned block, void** a) '
            f"{{ shim::launch({name}, x, y, block, a); }}\n"
            f'extern "C" int sizes_{name}(int* out) {{ return shim::sizes({name}, out); }}'
            for name in KERNELS
        )
        unit = folder / "kernels.cpp"
        # Two of the kernels' functions by themselves, for all their arguments.
        functions = "\n".join(
            f'extern "C" void each_{name}(const u32* in, float* out, i64 n) '
            f"{{ for (i64 i = 0; i < n; ++i) out[i] = {name}(in[i]); }}"
            for name in ("f16_value", "gumbel")
        )
        unit.write_text(f'#include "{here / "cuda_shim.hpp"}"\n{mask_kernels.source()}\n{entries}\n{functions}\n')
        library = folder / "kernels.so"
        command = [compiler() or "c++", "-std=c++20", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC"]
        command.append("-U_FORTIFY_SOURCE")
        done = subprocess.run([*command, str(unit), "-o", str(library)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self._library = ctypes.CDLL(str(library))

    def launch(self, launch: Launch) -> None:
        """Runs one to its end."""
        sizes = (ctypes.c_int * 32)()
        n = getattr(self._library, f"sizes_{launch.kernel}")(sizes)
        given = [a.itemsize for a in launch.arguments]
        assert given == list(sizes[:n]), f"{launch.kernel} takes arguments of {list(sizes[:n])} bytes, not {given}"
        values = [np.array(a) for a in launch.arguments]
        pointers = (ctypes.c_void_p * len(values))(*(v.ctypes.data for v in values))
        (x, y), block = launch.grid, launch.block
        assert x > 0 and 0 < y <= 65_535 and 0 < block <= 1024 and block % 32 == 0, launch
        getattr(self._library, f"launch_{launch.kernel}")(x, y, block, pointers)

    def f16_values(self, bits: NDArray[np.uint32]) -> NDArray[np.float32]:
        """What the kernels read in these half-precision numbers."""
        return self._each("f16_value", bits)

    def gumbels(self, bits: NDArray[np.uint32]) -> NDArray[np.float32]:
        """What the kernels draw from these random bits."""
        return self._each("gumbel", bits)

    def _each(self, name: str, bits: NDArray[np.uint32]) -> NDArray[np.float32]:
        out = np.empty(bits.shape, np.float32)
        pointers = (ctypes.c_void_p(bits.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_longlong(bits.size))
        getattr(self._library, f"each_{name}")(*pointers)
        return out


class DeviceMemory(np.ndarray[Any, Any]):
    """An array that plays being on a GPU. Tests look into it after they have waited for its stream."""

    ordinal: int

    def __array_finalize__(self, other: Any) -> None:
        self.ordinal = getattr(other, "ordinal", 0)


def on_device(array: NDArray[Any], ordinal: int = 0) -> DeviceMemory:
    """The same values, with the same strides, in new memory of a GPU, between guards."""
    first = sum(min(0, s * (n - 1)) for s, n in zip(array.strides, array.shape, strict=True))
    last = sum(max(0, s * (n - 1)) for s, n in zip(array.strides, array.shape, strict=True)) + array.itemsize
    # At the same place within 16 bytes as there.
    memory = np.full(last - first + 2 * GUARD + 16, _GUARD_BYTE, np.uint8)
    offset = GUARD + (array.ctypes.data + first - memory.ctypes.data - GUARD) % 16
    copy: Any = np.ndarray(array.shape, array.dtype, memory.data, offset - first, array.strides)
    copy[...] = array
    seen = copy.view(DeviceMemory)
    seen.ordinal = ordinal
    return seen  # type: ignore[no-any-return]


def guards_hold(array: NDArray[Any]) -> bool:
    """Whether nothing was written where the array made by `on_device` has no elements."""
    base: Any = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    memory = np.frombuffer(base, np.uint8).copy()
    touched = np.zeros(len(memory), bool)
    start = array.ctypes.data - np.frombuffer(base, np.uint8).ctypes.data
    where = sum(np.arange(n).reshape([-1] + [1] * (array.ndim - 1 - d)) * array.strides[d] for d, n in enumerate(array.shape))
    for byte in range(array.itemsize):
        touched[(start + np.asarray(where) + byte).reshape(-1)] = True
    return bool((memory[~touched] == _GUARD_BYTE).all())


def seen_array(array: Any) -> DeviceArray | None:
    """`psc.runtime.cuda_device.device_array` of it."""
    if not isinstance(array, DeviceMemory):
        return None
    strides = tuple(s // array.itemsize for s in array.strides)
    return DeviceArray(array.ctypes.data, array.shape, strides, str(array.dtype), array.ordinal, array)


class Stream:
    """Work in order, done when somebody waits."""

    def __init__(self) -> None:
        self.work: deque[Callable[[], object]] = deque()
        self._working = False

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Does its work, or as much of it as is wanted."""
        while self.work and not until():
            self.work.popleft()()

    def synchronize(self) -> None:
        """Does all its work."""
        self.run()


class Event:
    """A place in a stream."""

    def __init__(self) -> None:
        self.stream: Stream | None = None
        self.happened = True


class EmulatedDevice:
    """What `CudaDevice` does, late."""

    def __init__(self, kernels: HostKernels, ordinal: int = 0, free: int = 1 << 40) -> None:
        self.ordinal = ordinal
        self.current = Stream()
        self.launches: list[Launch] = []
        self.uploaded_bytes = 0
        self.n_waits = 0
        self._kernels = kernels
        self._free = free

    def free_bytes(self) -> int:
        return self._free

    def empty(self, shape: tuple[int, ...], dtype: Any, stream: Any = None) -> DeviceMemory:
        return self.filled(shape, dtype, 77)

    def filled(self, shape: tuple[int, ...], dtype: Any, value: int) -> DeviceMemory:
        n = int(np.prod(shape))
        memory = np.empty(n * np.dtype(dtype).itemsize + 16, np.uint8)
        offset = -memory.ctypes.data % 16
        array = memory[offset : offset + n * np.dtype(dtype).itemsize].view(dtype).reshape(shape).view(DeviceMemory)
        array[...] = value
        array.ordinal = self.ordinal
        return array

    def pinned(self, n_bytes: int) -> NDArray[np.uint8]:
        return np.zeros(n_bytes, np.uint8)

    def stream(self, stream: Any, like: Any = None) -> Stream:
        return self.current if stream is None else stream

    def upload(self, pointer: int, source: NDArray[Any], stream: Stream) -> None:
        self.uploaded_bytes += source.nbytes
        stream.work.append(lambda: ctypes.memmove(pointer, source.ctypes.data, source.nbytes))

    def uploaded(self, source: NDArray[Any], stream: Stream) -> DeviceMemory:
        array = self.empty(source.shape, source.dtype)
        array[...] = source
        return array

    def copy_rows(self, source: DeviceArray, target: DeviceArray, n_bytes: int) -> None:
        self.current.synchronize()
        ctypes.memmove(target.pointer, source.pointer, n_bytes)

    def event(self) -> Event:
        return Event()

    def record(self, event: Event, stream: Stream) -> None:
        event.stream, event.happened = stream, False
        stream.work.append(lambda: setattr(event, "happened", True))

    def wait_for(self, event: Event, stream: Stream) -> None:
        stream.work.append(lambda: self._until(event))

    def finish(self, event: Event) -> None:
        self.n_waits += 1
        self._until(event)

    def launch(self, launch: Launch, stream: Stream) -> None:
        self.launches.append(launch)
        stream.work.append(lambda: self._kernels.launch(launch))

    def _until(self, event: Event) -> None:
        if event.stream is not None and not event.happened:
            event.stream.run(lambda: event.happened)
