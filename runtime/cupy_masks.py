"""Mask rows in a GPU's memory, and logits under them, through CuPy: what `numpy_masks` does on a CPU, by the same names.

The idea: rows stay on the device, and a step sends four bytes for each sequence: the number of its row. A new row is
sent once, as the tokens that it allows or refuses where those are few, and made on the device. Everything happens in the order of
the caller's stream. Nothing waits for the device, with one exception: a step waits for the copy of `n_buffers` steps ago, whose
pinned buffer it uses again.

Logits are CuPy arrays, torch tensors (their memory is used, nothing is copied, nor is torch imported), or others that DLPack
carries. docs/gpu.md says how streams and CUDA graphs go with this.

Cost: a step some 0.15 us a sequence and 20 us of the CPU; a function here some 20 us of the CPU, and on the device what its
kernel's source says (psc/runtime/kernels).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc.errors import BitmaskError
from psc.runtime import mask_kernels, mask_table
from psc.runtime.cuda_device import CudaDevice, DeviceArray, cuda_device, current_ordinal, device_array
from psc.runtime.mask_arguments import (
    FloatFormat,
    check_counts,
    check_dimensions,
    check_seeds,
    checked_ids,
    checked_rows,
    float_format,
    masked_width,
)
from psc.runtime.mask_kernels import Matrix
from psc.runtime.mask_table import MaskStep
from psc.runtime.row_slots import MaskUpdate, RowSlots, RowWrites, VocabularyName

__all__ = ["MaskTable", "MaskUpdate", "Step", "apply_bitmask", "apply_rows", "masked_argmax", "masked_sample", "union_rows"]

Integers = DeviceArray | NDArray[np.int32]

_STAGING_BYTES = 1 << 20


class Step(MaskStep):
    """What a step of a batch left on the device: the ids of the sequences' mask rows. ``replicas`` has the step on other GPUs."""

    __slots__ = ("_buffer", "_device", "replicas")

    def __init__(
        self, ids: Any, refused: list[int], slots: RowSlots, host_ids: Any, writes: RowWrites | None, buffer: _Buffer, device: Any
    ) -> None:
        super().__init__(ids, refused, slots, host_ids, writes)
        self.replicas: list[Step] = []
        self._buffer = buffer
        self._device = device

    def wait(self, stream: Any = None) -> None:
        """Makes a stream wait for the ids and rows of this step; needed where it is not the one that ``step`` was given."""
        self._device.wait_for(self._buffer.event, self._device.stream(stream))


class _Buffer:
    """One of the rotation: pinned memory, what it is copied to, and when the copy has ended."""

    def __init__(self, device: Any, max_batch: int) -> None:
        self._device = device
        self.host_ids = device.pinned(4 * max_batch).view(np.int32)
        self.ids = device.filled((max_batch,), np.int32, -1)
        self.event = device.event()
        self._in_use = False
        self._host: Any = device.pinned(_STAGING_BYTES)
        self._staged: Any = device.empty((_STAGING_BYTES,), np.uint8)

    def finish(self) -> None:
        """Returns when the memory can be written again."""
        if self._in_use:
            self._device.finish(self.event)
            self._in_use = False

    def record(self, stream: Any) -> None:
        """What the stream was given until now uses this memory."""
        self._device.record(self.event, stream)
        self._in_use = True

    def stage(self, writes: RowWrites, stream: Any) -> tuple[int, int]:
        """Sends what is to be written; where it will be on the device: the writes, and their pool."""
        n_bytes, split = writes.nbytes, writes.writes.nbytes
        if n_bytes > len(self._host):
            size = 1 << (n_bytes - 1).bit_length()
            self._host = self._device.pinned(size)
            self._staged = self._device.empty((size,), np.uint8, stream)
        self._host[:split] = writes.writes.view(np.uint8)
        self._host[split:n_bytes] = writes.pool.view(np.uint8)
        pointer = _required(self._staged).pointer
        self._device.upload(pointer, self._host[:n_bytes], stream)
        return pointer, pointer + split


class MaskTable(mask_table.MaskTable[Step]):
    """The mask rows in use, of all grammars of a vocabulary, in a GPU's memory. Not for several threads at once.

    A step sends the ids to the device, and is not to be made within the capture of a graph. Its ``stream`` is CuPy's, torch's, a
    handle, or one with ``__cuda_stream__``, by default CuPy's current one; it must come after what used the ids of the step before.
    Its ``into`` is an int32 array on the device, such as ``fixed_ids``.
    """

    def __init__(
        self,
        tokenizer_info: VocabularyName,
        *,
        max_bytes: int = 256 << 20,
        max_batch: int = 1024,
        n_buffers: int = 3,
        device: int | Sequence[int] | None = None,
    ) -> None:
        """An empty table.

        Args:
            tokenizer_info: the vocabulary; for a table that follows, an update of its leader does.
            max_bytes: size of the table, which is allocated now and never has more than a million rows. Rows that were not used
                lately make room when it is full.
            max_batch: sequences in a step at most; each may need a row of its own.
            n_buffers: steps that can be on their way at once.
            device: the number of a GPU, by default CuPy's current one. Several: this table is on the first, and ``replicas`` has
                tables on the others, which get each step too.

        Raises:
            MissingExtraError: CuPy is not installed.
            DeviceError: no driver, one that is too old, or no such GPU.
            BitmaskError: ``max_bytes`` does not hold ``max_batch`` rows, or the GPU has not as much free memory.

        Cost: the kernels are compiled when a GPU is first used.
        """
        ordinals = [current_ordinal()] if device is None else [device] if isinstance(device, int) else list(device)
        if not ordinals or len(set(ordinals)) != len(ordinals):
            raise BitmaskError(f"device={device!r}: a GPU's number, or a list of different ones, was expected")
        self._info = tokenizer_info
        self._max_bytes = max_bytes
        self._n_buffers = n_buffers
        self._slots = RowSlots(tokenizer_info, max_bytes, max_batch, n_buffers)
        self._allocate(_device(ordinals[0]))
        self.replicas: list[MaskTable] = []
        for ordinal in ordinals[1:]:
            self.replicas.append(self.replica(ordinal))

    def _allocate(self, device: Any) -> None:
        self._device: CudaDevice = device
        # Rows begin at 16 bytes' boundaries, so that words are read together.
        pitch = -(-max(self._slots.n_words, 1) // 4) * 4
        wanted = 4 * pitch * self.n_slots + self._n_buffers * (_STAGING_BYTES + 4 * self._slots.max_batch)
        if (free := device.free_bytes()) < wanted:
            raise BitmaskError(
                f"a table of {self.n_slots} mask rows takes {wanted} bytes, and GPU {device.ordinal} has {free} free: "
                "make max_bytes smaller"
            )
        self.rows: Any = device.filled((self.n_slots, pitch), np.int32, 0)[:, : self._slots.n_words]
        """int32 of shape (n_slots, n_words), on the device: the row with id i is ``rows[i]``."""
        self.fixed_ids: Any = device.filled((self._slots.max_batch,), np.int32, -1)
        """For ``step(into=...)``: always the same memory, as a CUDA graph needs it."""
        self._matrix = _matrix(_required(self.rows))
        self._buffers = [_Buffer(device, self._slots.max_batch) for _ in range(self._n_buffers)]
        self._turn = 0

    @property
    def device(self) -> int:
        """The number of the GPU."""
        return self._device.ordinal

    @property
    def nbytes(self) -> int:
        """Bytes of the rows on the device."""
        return 4 * self._matrix.row_stride * self.n_slots

    def replica(self, device: int) -> MaskTable:
        """A table on another GPU with the same rows now. It follows: give it each step, by ``apply_update(step.update())``.

        Raises as the constructor. Cost: a copy of the rows.
        """
        other = object.__new__(MaskTable)
        other._info, other._max_bytes, other._n_buffers = self._info, self._max_bytes, self._n_buffers
        other._slots = self._slots.copy_for_follower(self._info, self._max_bytes, self._n_buffers)
        other.replicas = []
        other._allocate(_device(device))
        if self.n_used:
            self._device.copy_rows(_required(self.rows), _required(other.rows), self.nbytes)
        return other

    def _begin(self, n: int, stream: Any, into: Any) -> tuple[Any, tuple[_Buffer, Any, Any]]:
        """A buffer's pinned memory; the buffer, the array on the device that the ids are for, and the stream."""
        order = self._device.stream(stream)
        buffer = self._buffers[self._turn]
        if into is not None:
            array = self._own(into, "into=")
            if array.dtype != "int32" or len(array.shape) != 1 or array.strides != (1,):
                raise BitmaskError("into= must be a contiguous int32 array of one dimension")
            if not n <= array.shape[0] <= self._slots.max_batch:
                raise BitmaskError(
                    f"into= has room for {array.shape[0]} ids; it must be for {n} sequences at least, and for max_batch at most"
                )
        buffer.finish()
        return buffer.host_ids, (buffer, buffer.ids if into is None else into, order)

    def _own(self, array: Any, what: str) -> DeviceArray:
        found = _array(array)
        if found is None or found.device != self.device:
            where = "no GPU" if found is None else f"GPU {found.device}"
            raise BitmaskError(f"{what} is on {where}, and the table on GPU {self.device}")
        return found

    def _finish(self, n: int, ids: Any, refused: list[int], writes: RowWrites | None, target: tuple[_Buffer, Any, Any]) -> Step:
        buffer, array, stream = target
        if writes is not None:
            pointer, pool = buffer.stage(writes, stream)
            self._device.launch(mask_kernels.write_rows(self._matrix, self._slots.vocab_size, len(writes), pointer, pool), stream)
        sent = n if array is buffer.ids else len(array)
        ids[n:sent] = -1
        if sent:
            self._device.upload(_required(array).pointer, ids[:sent], stream)
        buffer.record(stream)
        self._turn = (self._turn + 1) % len(self._buffers)
        step = Step(array[:n], refused, self._slots, ids[:n], writes, buffer, self._device)
        if self.replicas and not self._slots.follows:
            update = step.update()
            step.replicas = [replica.apply_update(update) for replica in self.replicas]
        return step


def apply_rows(
    logits: Any, table_rows: Any, ids: Any, *, rows: Any = None, vocab_size: int | None = None, stream: Any = None
) -> None:
    """Sets the logits of tokens that a mask row does not allow to minus infinity, in place; the others are not touched.

    Args:
        logits: (batch, width) or (width,), float16, bfloat16, float32 or float64, any strides, on a GPU.
        table_rows: ``MaskTable.rows``, on the same one.
        ids: the mask row for each row of logits, int32; -1 leaves it alone. Ids on the CPU are checked and sent; those on the
            device cannot be looked at, and one that is in no table allows nothing.
        rows: which rows of the logits the ids are for, on the CPU or, as int32, on the device, where those out of range are left
            out.
        vocab_size: mask only this many logits. By default all; those that no mask row covers are padding, and not allowed.
        stream: in whose order; by default the current one of the logits' library.

    Raises:
        BitmaskError: a dtype, shape, device or layout does not fit, or an id or row on the CPU is out of range; nothing has been
        launched.
    """
    _apply(_Call(logits, table_rows, stream), ids, rows, vocab_size)


def apply_bitmask(logits: Any, bitmask: Any, *, rows: Any = None, vocab_size: int | None = None, stream: Any = None) -> None:
    """As ``apply_rows``, with a mask row for each row of logits: ``bitmask`` is int32 of shape (batch, n_words), on the same GPU.

    ``rows`` are rows of both. Raises BitmaskError as ``apply_rows`` does.
    """
    call = _Call(logits, bitmask, stream)
    if rows is None and call.table.n_rows != call.logits.n_rows:
        raise BitmaskError(
            f"{call.logits.n_rows} rows of logits and {call.table.n_rows} of bitmask; without rows= they must be equally many"
        )
    _apply(call, None, rows, vocab_size)


def union_rows(table_rows: Any, ids: Any, out: Any = None, *, stream: Any = None) -> Any:
    """The union of k mask rows for each sequence: int32 of shape (n, n_words), where ``ids`` has shape (n, k).

    -1 adds nothing. ``out`` is where to write, if given. Raises BitmaskError as ``apply_rows`` does.
    """
    call = _Call(None, table_rows, stream)
    listed = call.ids(ids, ndim=2)
    n, k = listed.shape
    shape = (n, call.table.n_columns)
    if out is None:
        out = call.device.empty(shape, np.int32, call.stream)
    array = call.own(out, "out=")
    if array.dtype != "int32" or array.shape != shape or (array.strides[1] != 1 and shape[1] > 1):
        raise BitmaskError(f"out= must be int32 of shape {shape}, its rows contiguous")
    if n and shape[1]:
        call.launch(mask_kernels.union_rows(call.table, call.pointer(listed), n, k, _matrix(array)))
    return out


def masked_argmax(logits: Any, table_rows: Any, ids: Any, *, out: Any = None, stream: Any = None) -> Any:
    """The largest logit that the mask row allows, for each row of logits; the first of equals. int32 of shape (batch,), on the GPU.

    Where the id is -1 every logit is allowed; NaN is less than any number; -1 is the answer where nothing is allowed. The logits
    are float16, bfloat16 or float32, and are not changed. With ``out`` nothing is allocated. Raises BitmaskError as ``apply_rows``
    does.
    """
    call = _Call(logits, table_rows, stream, at_most=4)
    listed, out = call.tokens(ids, out)
    if call.logits.n_rows:
        call.launch(mask_kernels.argmax(call.form, call.logits, call.pointer(listed), call.table, call.own(out, "out=").pointer))
    return out


def masked_sample(
    logits: Any,
    table_rows: Any,
    ids: Any,
    *,
    temperature: float = 1.0,
    seed: int,
    step: int,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """A token drawn from the softmax of logits / temperature over what the mask row allows. int32 of shape (batch,), on the GPU.

    The same seed, step and row of the batch draw the same token, on a CPU and on a GPU; each step of a generation needs another
    ``step``, and so must not be replayed from a graph. The rest is as in ``masked_argmax``.

    Raises:
        BitmaskError: as ``apply_rows``; or the temperature is not positive, or ``seed`` or ``step`` does not fit 64 bits.
    """
    check_seeds(temperature, seed, step)
    call = _Call(logits, table_rows, stream, at_most=4)
    listed, out = call.tokens(ids, out)
    if call.logits.n_rows:
        pointer = call.own(out, "out=").pointer
        call.launch(
            mask_kernels.sample(
                call.form, call.logits, call.pointer(listed), call.table, pointer, temperature=temperature, seed=seed, step=step
            )
        )
    return out


class _Call:
    """The arguments of a function here, checked: nothing is launched before they all are."""

    logits: Matrix
    form: FloatFormat

    def __init__(self, logits: Any, table_rows: Any, stream: Any, *, at_most: int = 8) -> None:
        table = _array(table_rows)
        if table is None:
            raise BitmaskError(f"the mask rows must be on a GPU: {_described(table_rows)}; psc.runtime.numpy_masks is for the CPU")
        if table.dtype != "int32":
            raise BitmaskError(f"mask rows are {table.dtype}; they must be int32")
        check_dimensions(len(table.shape), "mask rows")
        self.table = _matrix(table)
        if self.table.column_stride != 1 and self.table.n_columns > 1:
            raise BitmaskError("the words of a mask row must be side by side")
        self.ordinal = table.device
        self._kept: list[Any] = []
        if logits is not None:
            array = self.own(logits, "logits")
            self.form = float_format(array.dtype, at_most=at_most)
            check_dimensions(len(array.shape), "logits")
            self.logits = _matrix(array)
            masked_width(self.logits.n_columns, self.table.n_columns, None)
        self.device = _device(self.ordinal)
        self.stream = self.device.stream(stream, logits if logits is not None else table_rows)

    def own(self, array: Any, what: str) -> DeviceArray:
        """An array of the caller's, which must be on the GPU where the mask rows are."""
        found = _array(array)
        if found is None:
            raise BitmaskError(f"{what}: {_described(array)}, and the mask rows are on GPU {self.ordinal}; move one to the other")
        if found.device != self.ordinal:
            raise BitmaskError(f"{what} on GPU {found.device}, and the mask rows on GPU {self.ordinal}; move one to the other")
        return found

    def ids(self, ids: Any, ndim: int = 1) -> Integers:
        """Ids of mask rows: on the device, or checked and still to be sent."""
        if _array(ids) is None:
            return checked_ids(_on_cpu(ids), self.table.n_rows, ndim)
        return self._integers(ids, "ids", ndim)

    def rows(self, rows: Any, n_rows: int) -> Integers:
        """Numbers of rows of logits, as `ids`."""
        if _array(rows) is None:
            return checked_rows(_on_cpu(rows), n_rows).astype(np.int32)
        return self._integers(rows, "rows=", 1)

    def tokens(self, ids: Any, out: Any) -> tuple[Integers, Any]:
        """Ids for all rows of logits, and room for a token each."""
        n = self.logits.n_rows
        listed = self.ids(ids)
        check_counts(listed.shape[0], n, None)
        if out is None:
            return listed, self.device.empty((n,), np.int32, self.stream)
        if self._integers(out, "out=", 1).shape != (n,):
            raise BitmaskError(f"out= must be int32 of shape {(n,)}")
        return listed, out

    def _integers(self, array: Any, what: str, ndim: int) -> DeviceArray:
        found = self.own(array, what)
        if found.dtype != "int32" or len(found.shape) != ndim:
            raise BitmaskError(f"{what} on a GPU must be int32 of {ndim} dimensions, not {found.dtype} of {len(found.shape)}")
        expected = (found.shape[-1], 1)[-ndim:]
        if any(n > 1 and s != e for n, s, e in zip(found.shape, found.strides, expected, strict=True)):
            raise BitmaskError(f"{what} on a GPU must be contiguous")
        return found

    def pointer(self, integers: Integers | None) -> int:
        """Where they are on the device, sent if they were not there."""
        if integers is None:
            return 0
        if not isinstance(integers, DeviceArray):
            self._kept.append(self.device.uploaded(integers, self.stream))
            return _required(self._kept[-1]).pointer
        return integers.pointer

    def launch(self, launch: mask_kernels.Launch) -> None:
        """In the order of the caller's stream."""
        self.device.launch(launch, self.stream)


def _apply(call: _Call, ids: Any, rows: Any, vocab_size: int | None) -> None:
    width = masked_width(call.logits.n_columns, call.table.n_columns, vocab_size)
    n_rows = call.logits.n_rows if ids is not None else min(call.logits.n_rows, call.table.n_rows)
    chosen = None if rows is None else call.rows(rows, n_rows)
    listed = None if ids is None else call.ids(ids)
    if listed is not None:
        check_counts(listed.shape[0], n_rows, None if chosen is None else chosen.shape[0])
    n = n_rows if chosen is None else chosen.shape[0]
    if n and width:
        call.launch(
            mask_kernels.apply(
                call.form,
                call.logits,
                width,
                call.pointer(chosen),
                call.pointer(listed),
                n,
                call.table,
            )
        )


def _device(ordinal: int) -> Any:
    return cuda_device(ordinal)


def _array(array: Any) -> DeviceArray | None:
    return device_array(array)


def _required(array: Any) -> DeviceArray:
    found = _array(array)
    assert found is not None
    return found


def _matrix(array: DeviceArray) -> Matrix:
    if len(array.shape) == 1:
        return Matrix(array.pointer, 1, array.shape[0], array.shape[0], array.strides[0])
    return Matrix(array.pointer, *array.shape, *array.strides)


def _on_cpu(array: Any) -> Any:
    torch = sys.modules.get("torch")
    return array.numpy() if torch is not None and isinstance(array, torch.Tensor) else array


def _described(array: Any) -> str:
    where = f" on {array.device}" if hasattr(array, "device") else ""
    return f"{type(array).__module__.partition('.')[0]}.{type(array).__name__}{where} is on no GPU"
