"""One GPU, as much of it as masks need: memory, pinned memory, copies, events, kernels. CuPy is imported here and nowhere else.

The idea: `cupy_masks` decides what happens in which order, and this carries it out. So the order can be tested where there is no
GPU, with another object that has these methods.

Cost: a launch or a copy some 5 to 10 us of the CPU. The kernels are compiled when a device is first used, in about a second, and
CuPy keeps them on disk.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc.errors import BitmaskError, DeviceError, MissingExtraError, install_line
from psc.runtime.mask_kernels import COMPILE_OPTIONS, KERNELS, Launch, source

_FALLBACK = "psc.runtime.numpy_masks does the same on the CPU"


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """An array on a GPU, of any library."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    dtype: str
    device: int
    owner: Any
    """Keeps the memory."""


@dataclass(frozen=True)
class _Handle:
    """A stream that is known by its handle, in CUDA's protocol for streams."""

    handle: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)


class CudaDevice:
    """A GPU, through CuPy. `cuda_device` makes them."""

    def __init__(self, cupy: Any, ordinal: int) -> None:
        """Compiles the kernels. Raises DeviceError when that fails."""
        self._cupy = cupy
        self.ordinal = ordinal
        self._streams: dict[int, Any] = {}  # wrappers, which are not worth making each time
        with self._here():
            try:
                module = cupy.RawModule(code=source(), options=COMPILE_OPTIONS)
                # Loaded now: within a graph's capture they could not be.
                self._kernels = {name: module.get_function(name) for name in KERNELS}
                for kernel in self._kernels.values():
                    _ = kernel.kernel
            except Exception as e:
                raise DeviceError(f"the kernels cannot be compiled for GPU {ordinal}: {e}. {_FALLBACK}") from e

    @contextmanager
    def _here(self, stream: Any = None) -> Iterator[None]:
        with self._cupy.cuda.Device(self.ordinal):
            if stream is None:
                yield
            else:
                with stream:
                    yield

    def free_bytes(self) -> int:
        """Bytes of its memory that can be had."""
        with self._here():
            return int(self._cupy.cuda.runtime.memGetInfo()[0]) + int(self._cupy.get_default_memory_pool().free_bytes())

    def empty(self, shape: tuple[int, ...], dtype: Any, stream: Any = None) -> Any:
        """A new array in the memory of the device."""
        with self._here(stream):
            return self._cupy.empty(shape, dtype)

    def filled(self, shape: tuple[int, ...], dtype: Any, value: int) -> Any:
        """A new array of one value, which is there when this returns."""
        with self._here():
            array = self._cupy.full(shape, value, dtype)
            self._cupy.cuda.get_current_stream().synchronize()
            return array

    def pinned(self, n_bytes: int) -> NDArray[np.uint8]:
        """Page-locked memory of the CPU, from which copies are asynchronous."""
        import cupyx

        with self._here():
            memory: NDArray[np.uint8] = cupyx.empty_pinned((n_bytes,), np.uint8)
            return memory

    def stream(self, stream: Any, like: Any = None) -> Any:
        """A caller's stream: CuPy's, torch's, a handle, any with ``__cuda_stream__``; None: the current one of ``like``'s
        library."""
        cuda = self._cupy.cuda
        if stream is None:
            torch = sys.modules.get("torch")
            if torch is None or not isinstance(like, torch.Tensor):
                with self._here():
                    return cuda.get_current_stream()
            stream = torch.cuda.current_stream(self.ordinal)
        if isinstance(stream, (cuda.Stream, cuda.ExternalStream)):
            return stream
        handle = stream if isinstance(stream, int) else getattr(stream, "cuda_stream", None)
        if isinstance(handle, int):
            return self._wrapped(handle)
        if hasattr(stream, "__cuda_stream__"):
            return cuda.Stream.from_external(stream)
        raise BitmaskError(f"stream={stream!r}: a stream of CuPy's or torch's, or a handle, was expected")

    def _wrapped(self, handle: int) -> Any:
        if handle not in self._streams:
            with self._here():
                self._streams[handle] = self._cupy.cuda.Stream.from_external(_Handle(handle))
        return self._streams[handle]

    def upload(self, pointer: int, source: NDArray[Any], stream: Any) -> None:
        """Copies pinned memory to the device, in the stream's order."""
        runtime = self._cupy.cuda.runtime
        with self._here():
            runtime.memcpyAsync(pointer, source.ctypes.data, source.nbytes, runtime.memcpyHostToDevice, stream.ptr)

    def uploaded(self, source: NDArray[Any], stream: Any) -> Any:
        """A small array of the CPU's, on the device, in the stream's order. CuPy copies it to pinned memory of its own first."""
        with self._here(stream):
            return self._cupy.asarray(source)

    def copy_rows(self, source: DeviceArray, target: DeviceArray, n_bytes: int) -> None:
        """Copies memory of this device to another one's, when everything here is done, and waits for it."""
        runtime = self._cupy.cuda.runtime
        with self._here():
            runtime.deviceSynchronize()
            runtime.memcpyPeer(target.pointer, target.device, source.pointer, source.device, n_bytes)
            runtime.deviceSynchronize()

    def event(self) -> Any:
        """A new event: ``record``, ``wait_for`` and ``finish`` take it."""
        with self._here():
            return self._cupy.cuda.Event(disable_timing=True)

    def record(self, event: Any, stream: Any) -> None:
        """The event happens when the stream has come here."""
        with self._here():
            event.record(stream)

    def wait_for(self, event: Any, stream: Any) -> None:
        """The stream continues when the event has happened."""
        with self._here():
            stream.wait_event(event)

    def finish(self, event: Any) -> None:
        """Returns when the event has happened."""
        event.synchronize()

    def launch(self, launch: Launch, stream: Any) -> None:
        """Runs a kernel in the stream's order."""
        with self._here(stream):
            self._kernels[launch.kernel](launch.grid, (launch.block,), launch.arguments)


@cache
def cuda_device(ordinal: int) -> CudaDevice:
    """The GPU with this number, its kernels compiled.

    Raises:
        MissingExtraError: CuPy is not installed.
        DeviceError: no driver, one that is too old, no such GPU, or the kernels cannot be compiled for it.
    """
    cupy = _cupy()
    n = _device_count(cupy.cuda.runtime)
    if not 0 <= ordinal < n:
        raise DeviceError(f"there is no GPU {ordinal}: this process sees {n}, from 0 on (CUDA_VISIBLE_DEVICES limits them)")
    return CudaDevice(cupy, ordinal)


def current_ordinal() -> int:
    """The number of CuPy's current GPU. Raises as `cuda_device`."""
    cupy = _cupy()
    _device_count(cupy.cuda.runtime)
    return int(cupy.cuda.runtime.getDevice())


@cache
def is_usable() -> bool:
    """Whether there is a GPU on which CuPy runs these kernels."""
    try:
        cuda_device(current_ordinal())
    except (MissingExtraError, DeviceError):
        return False
    return True


def device_array(array: Any) -> DeviceArray | None:
    """An array on a GPU: CuPy's, torch's, or another library's that DLPack carries, with no copy. None for one that is on no
    GPU."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if array.device.type != "cuda":
            return None
        dtype = str(array.dtype).removeprefix("torch.")
        return DeviceArray(array.data_ptr(), tuple(array.shape), tuple(array.stride()), dtype, array.device.index, array)
    cupy = sys.modules.get("cupy")
    if cupy is None or isinstance(array, (np.ndarray, list, tuple)):
        return None
    if not isinstance(array, cupy.ndarray):
        if not hasattr(array, "__dlpack_device__") or array.__dlpack_device__()[0] != 2:  # kDLCUDA
            return None
        array = cupy.from_dlpack(array)
    strides = tuple(s // array.itemsize for s in array.strides)
    return DeviceArray(array.data.ptr, array.shape, strides, str(array.dtype), array.device.id, array)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as e:
        raise MissingExtraError(
            f"masks on a GPU need CuPy, which is not installed: {install_line('gpu', 'cupy-cuda12x')}. {_FALLBACK}"
        ) from e
    return cupy


def _device_count(runtime: Any) -> int:
    try:
        return int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as e:
        driver, wanted = int(runtime.driverGetVersion()), int(runtime.runtimeGetVersion())
        if driver == 0:
            cause = "there is no NVIDIA driver"
        elif driver < wanted:
            cause = f"the NVIDIA driver is too old: it knows CUDA {_version(driver)}, and CuPy needs {_version(wanted)}"
        else:
            cause = f"there is no GPU ({e}); CUDA_VISIBLE_DEVICES may hide it"
        raise DeviceError(f"masks on a GPU: {cause}. {_FALLBACK}") from e


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
