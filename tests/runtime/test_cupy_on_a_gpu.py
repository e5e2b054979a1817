"""Masks by CuPy on a GPU that is there: tensors of torch, streams, graphs, real sizes; and what is said where there is none."""

import random

import numpy as np
import pytest
from cupy_places import EXPRESSIONS, INFO, STRINGS, Place, matchers, needs_gpu, some_token
from mask_cases import DTYPES, random_logits, random_table, same_bits

import psc
from psc.errors import DeviceError
from psc.runtime import cuda_device, numpy_masks
from psc.runtime.cupy_masks import MaskTable, apply_rows, masked_argmax, masked_sample


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=needs_gpu)])
def place(request: pytest.FixtureRequest) -> Place:
    """Where masks are."""
    return Place(request.getfixturevalue("emulated") if request.param == "emulated" else None)


class Runtime:
    """CUDA's runtime, as CuPy shows it."""

    class CUDARuntimeError(RuntimeError):
        """As CuPy's."""

    def __init__(self, driver: int, runtime: int = 12_090) -> None:
        self.driverGetVersion = lambda: driver
        self.runtimeGetVersion = lambda: runtime

    def getDeviceCount(self) -> int:
        raise self.CUDARuntimeError("cudaErrorNoDevice")


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        (0, "there is no NVIDIA driver"),
        (11_080, r"driver is too old: it knows CUDA 11\.8, and CuPy needs 12\.9"),
        (13_000, "there is no GPU"),
    ],
)
def test_why_there_is_no_gpu(driver: int, message: str) -> None:
    with pytest.raises(DeviceError, match=rf"{message}.*numpy_masks does the same on the CPU"):
        cuda_device._device_count(Runtime(driver))


def test_cupy_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(psc.MissingExtraError, match=r"pip install .*cupy.*psc\[gpu\].*numpy_masks"):
        MaskTable(INFO)


@pytest.mark.skipif(cuda_device.is_usable(), reason="there is a GPU")
def test_a_table_without_a_gpu() -> None:
    pytest.importorskip("cupy")
    with pytest.raises(DeviceError, match="numpy_masks does the same on the CPU"):
        MaskTable(INFO)
    with pytest.raises(psc.BitmaskError, match="mask rows must be on a GPU"):
        apply_rows(np.zeros((2, 64), np.float32), np.zeros((1, 2), np.int32), [0, 0])


@needs_gpu
@pytest.mark.parametrize("dtype", list(DTYPES))
def test_torch_tensors_are_masked_in_place(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA")
    rng = np.random.default_rng(0)
    table, before = random_table(rng, 3, 3), random_logits(rng, (2, 90), dtype)
    signed = f"i{before.itemsize}"
    ids = torch.tensor([1, 2], dtype=torch.int32, device="cuda")
    expected = before.copy()
    numpy_masks.apply_rows(expected, table, [1, 2])
    for rows in (torch.from_numpy(table).cuda(), Place().put(table)):
        tensor = torch.from_numpy(before.view(signed).copy()).view(getattr(torch, dtype)).cuda()
        apply_rows(tensor, rows, ids)
        assert same_bits(tensor.view(getattr(torch, f"int{8 * before.itemsize}")).cpu().numpy(), expected)
    through_psc = torch.from_numpy(before.view(signed).copy()).view(getattr(torch, dtype)).cuda()
    psc.apply_token_bitmask_inplace(through_psc, torch.from_numpy(table[[1, 2]]).cuda())
    assert same_bits(through_psc.view(getattr(torch, f"int{8 * before.itemsize}")).cpu().numpy(), expected)


@needs_gpu
@pytest.mark.parametrize("indices", [None, [1, 0], [1]])
@pytest.mark.parametrize("vocab_size", [None, 70])
def test_bitmasks_of_tensors_by_cupy_and_by_torch_are_one(indices: list[int] | None, vocab_size: int | None) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA")
    bitmask = torch.from_numpy(random_table(np.random.default_rng(0), 2, 3)).cuda()
    mine, theirs = (torch.zeros((2, 100), dtype=torch.bfloat16, device="cuda") for _ in range(2))
    psc.apply_token_bitmask_inplace(mine, bitmask, indices=indices, vocab_size=vocab_size)
    psc.apply_token_bitmask_inplace(theirs, bitmask, indices=indices, vocab_size=vocab_size, backend="torch_native")
    assert torch.equal(mine, theirs) and bool(mine.isneginf().any())


@needs_gpu
def test_the_callers_stream_is_used() -> None:
    """A stream that is kept busy: what was asked for on it comes after."""
    cupy = pytest.importorskip("cupy")
    table = MaskTable(INFO, max_batch=2)
    matcher = matchers(STRINGS)[0]
    expected = np.zeros((1, INFO.vocab_size), np.float32)
    psc.apply_token_bitmask_inplace(expected, np.asarray(matcher.mask())[None])
    stream = cupy.cuda.Stream(non_blocking=True)
    for given_stream in (stream, stream.ptr):
        logits = cupy.ones((1, INFO.vocab_size), np.float32)
        cupy.cuda.get_current_stream().synchronize()
        with stream:
            busy = cupy.ones((4096, 4096), np.float32)
            for _ in range(100):
                busy = cupy.sin(busy)
            logits -= 1 + 0 * busy[0, 0]
        step = table.step([matcher], stream=given_stream)
        apply_rows(logits, table.rows, step.ids, stream=given_stream)
        stream.synchronize()
        assert same_bits(cupy.asnumpy(logits), expected)
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        side = torch.cuda.Stream()
        step = table.step([matcher], stream=side)
        with torch.cuda.stream(side):
            tensor = torch.zeros((1, INFO.vocab_size), device="cuda")
            apply_rows(tensor, table.rows, step.ids)
        side.synchronize()
        assert same_bits(tensor.cpu().numpy(), expected)


@needs_gpu
def test_a_cuda_graph_is_replayed_with_other_ids() -> None:
    cupy = pytest.importorskip("cupy")
    rng = random.Random(0)
    table = MaskTable(INFO, max_batch=2)
    batch = matchers(EXPRESSIONS, STRINGS)
    logits, chosen = cupy.zeros((2, INFO.vocab_size), np.float16), cupy.zeros(2, np.int32)
    stream = cupy.cuda.Stream(non_blocking=True)
    table.step(batch, into=table.fixed_ids, stream=stream)
    stream.synchronize()
    with stream:
        stream.begin_capture()
        apply_rows(logits, table.rows, table.fixed_ids, stream=stream)
        masked_argmax(logits, table.rows, table.fixed_ids, out=chosen, stream=stream)
        graph = stream.end_capture()
    for _ in range(30):
        table.step(batch, [some_token(m, rng) for m in batch], into=table.fixed_ids, stream=stream)
        with stream:
            logits[...] = 0
        graph.launch(stream)
        stream.synchronize()
        expected = np.zeros((2, INFO.vocab_size), np.float16)
        psc.apply_token_bitmask_inplace(expected, np.stack([np.asarray(m.mask()) for m in batch]))
        assert same_bits(cupy.asnumpy(logits), expected)
        assert cupy.asnumpy(chosen).tolist() == expected.argmax(axis=1).tolist()


@needs_gpu
def test_at_the_size_of_a_real_vocabulary() -> None:
    rng = np.random.default_rng(0)
    place = Place()
    table = random_table(rng, 64, 4008)
    ids = rng.integers(-1, 64, 256).astype(np.int32)
    for dtype, width in (("bfloat16", 128_256), ("float16", 128_261), ("float32", 128_256)):
        before = rng.normal(0, 3, (256, width)).astype(DTYPES[dtype])
        logits, expected = place.put(before), before.copy()
        there = place.put(table)
        drawn = place.get(masked_sample(logits, there, ids, seed=1, step=2))
        assert np.array_equal(drawn[:8], numpy_masks.masked_sample(before[:8], table, ids[:8], seed=1, step=2))
        assert np.array_equal(place.get(masked_argmax(logits, there, ids)), numpy_masks.masked_argmax(before, table, ids))
        apply_rows(logits, there, ids)
        numpy_masks.apply_rows(expected, table, ids)
        assert same_bits(place.get(logits), expected)


@needs_gpu
def test_no_such_gpu() -> None:
    with pytest.raises(DeviceError, match="there is no GPU 99"):
        MaskTable(INFO, device=99)


@needs_gpu
def test_what_is_no_stream() -> None:
    with pytest.raises(psc.BitmaskError, match="stream='x'"):
        MaskTable(INFO, max_batch=2).step(matchers(STRINGS), stream="x")


@needs_gpu
def test_a_replica_on_the_other_gpu() -> None:
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU only")
    rng = random.Random(0)
    table = MaskTable(INFO, max_batch=2, device=[0, 1])
    batch = matchers(EXPRESSIONS, STRINGS)
    for _ in range(20):
        step = table.step(batch, [some_token(m, rng) for m in batch])
        for tab, there in ((table, step), (table.replicas[0], step.replicas[0])):
            with cupy.cuda.Device(tab.device):
                rows, ids = cupy.asnumpy(tab.rows), cupy.asnumpy(there.ids)
            assert [rows[i].tolist() for i in ids] == [np.asarray(m.mask()).tolist() for m in batch]
