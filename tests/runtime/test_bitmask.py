"""Bitmasks and masked logits, for NumPy arrays and torch tensors, against a loop over bits."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psc
from psc.errors import BitmaskError
from psc.runtime.bitmask import _apply_with_torch

DTYPES = ["float16", "float32", "float64", "bfloat16"]


def words(*allowed: list[int], width: int = 1) -> np.ndarray:
    """A bitmask that allows these tokens in these rows."""
    mask = np.zeros((len(allowed), width), np.uint32)
    for row, tokens in enumerate(allowed):
        for token in tokens:
            mask[row, token // 32] |= np.uint32(1 << (token % 32))
    return mask.view(np.int32)


def expected(logits, mask, vocab_size, indices):
    """The definition: bit `j % 32` of word `j // 32`; what the bitmask does not cover is not allowed."""
    result = logits.copy()
    covered = mask.shape[1] * 32
    for row in range(len(logits)) if indices is None else indices:
        for j in range(logits.shape[1] if vocab_size is None else vocab_size):
            if j >= covered or not int(mask[row, j // 32]) >> (j % 32) & 1:
                result[row, j] = -np.inf
    return result


class Library:
    """Arrays of one library: made from float64 NumPy values, and read back as such."""

    def __init__(self, name):
        self.torch = pytest.importorskip("torch") if name == "torch" else None

    def logits(self, values, dtype):
        if self.torch is None:
            return values.astype(dtype)
        return self.torch.from_numpy(values.copy()).to(getattr(self.torch, dtype))

    def bitmask(self, mask):
        return mask.copy() if self.torch is None else self.torch.from_numpy(mask.copy())

    def values(self, array):
        return array.astype(np.float64) if self.torch is None else array.to(self.torch.float64).numpy()


@pytest.fixture(params=["numpy", "torch"])
def library(request):
    return Library(request.param)


@given(data=st.data())
def test_masked_logits(library, data):
    dtype = data.draw(st.sampled_from(DTYPES[:3] if library.torch is None else DTYPES))
    rows, width, mask_words = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 140)), data.draw(st.integers(0, 5))
    mask_rows = rows + data.draw(st.integers(0, 2))
    word = st.one_of(st.sampled_from([0, -1, 1, -(2**31)]), st.integers(-(2**31), 2**31 - 1))
    mask = np.array(data.draw(st.lists(word, min_size=mask_rows * mask_words, max_size=mask_rows * mask_words)), np.int32)
    mask = mask.reshape(mask_rows, mask_words)
    indices = None
    if mask_rows != rows or data.draw(st.booleans()):
        indices = data.draw(st.lists(st.integers(0, rows - 1), max_size=4)) if rows else []
    vocab_size = data.draw(st.one_of(st.none(), st.integers(0, min(width, mask_words * 32))))
    values = np.arange(rows * width, dtype=np.float64).reshape(rows, width)
    column_step = data.draw(st.sampled_from([1, 1, 2]))
    whole = library.logits(np.repeat(values, column_step, axis=1), dtype)
    before = library.values(whole)
    logits = whole[:, ::column_step]
    psc.apply_token_bitmask_inplace(logits, library.bitmask(mask), vocab_size=vocab_size, indices=indices)
    after = library.values(whole)
    np.testing.assert_array_equal(after[:, ::column_step], expected(before[:, ::column_step], mask, vocab_size, indices))
    if column_step == 2:
        np.testing.assert_array_equal(after[:, 1::2], before[:, 1::2])  # what lies between is not the caller's


@given(data=st.data())
def test_masked_with_torch_alone_is_the_same(data):
    """What tensors on a GPU get, here on the CPU."""
    torch = pytest.importorskip("torch")
    rows, width, mask_words = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 70)), data.draw(st.integers(1, 3))
    word = st.integers(-(2**31), 2**31 - 1)
    mask = np.array(data.draw(st.lists(word, min_size=rows * mask_words, max_size=rows * mask_words)), np.int32)
    mask = mask.reshape(rows, mask_words)
    indices = data.draw(st.one_of(st.none(), st.lists(st.integers(0, rows - 1), max_size=3)))
    width_masked = data.draw(st.integers(0, width))
    logits, native = torch.zeros(rows, width), torch.zeros(rows, width)
    chosen = None if indices is None else np.array(indices, np.int64)
    _apply_with_torch(torch, logits, torch.from_numpy(mask), width_masked, chosen)
    psc._core.apply_bitmask(native, torch.from_numpy(mask), width_masked, chosen)
    assert torch.equal(logits, native)


def test_one_row(library):
    for mask in (words([0, 2]), words([0, 2])[0]):
        logits = library.logits(np.zeros(4), "float32")
        psc.apply_token_bitmask_inplace(logits, library.bitmask(mask))
        assert library.values(logits).tolist() == [0, -np.inf, 0, -np.inf]


def test_padding_of_the_output_layer_is_masked(library):
    """40 logits and a bitmask for 32 tokens: logits 32 to 39 are no tokens, unless `vocab_size` says to leave them."""
    logits = library.logits(np.zeros((1, 40)), "float32")
    psc.apply_token_bitmask_inplace(logits, library.bitmask(words([0, 31])))
    assert np.flatnonzero(library.values(logits)[0] == 0).tolist() == [0, 31]
    logits = library.logits(np.zeros((1, 40)), "float32")
    psc.apply_token_bitmask_inplace(logits, library.bitmask(words([0, 31])), vocab_size=32)
    assert np.flatnonzero(library.values(logits)[0] == 0).tolist() == [0, 31, *range(32, 40)]


def test_nothing_beyond_vocab_size_is_written(library):
    whole = library.logits(np.zeros((2, 10)), "float32")
    psc.apply_token_bitmask_inplace(whole[:, :5], library.bitmask(words([0, 1, 2, 3, 4], [0])))
    assert np.argwhere(library.values(whole) < 0).tolist() == [[1, 1], [1, 2], [1, 3], [1, 4]]


def test_allowed_logits_keep_their_bits(library):
    logits = library.logits(np.array([np.nan, np.nan, -0.0, np.inf]), "float32")
    psc.apply_token_bitmask_inplace(logits, library.bitmask(words([0, 2, 3])))
    values = library.values(logits)
    assert np.isnan(values[0])
    assert (values[1], values[3], np.signbit(values[2])) == (-np.inf, np.inf, True)


@pytest.mark.parametrize("make", [list, tuple, np.array, iter], ids=["list", "tuple", "array", "iterator"])
def test_kinds_of_indices(library, make):
    logits = library.logits(np.zeros((3, 2)), "float32")
    psc.apply_token_bitmask_inplace(logits, library.bitmask(words([], [1], [0])), indices=make([2, 0]))
    assert library.values(logits).tolist() == [[-np.inf, -np.inf], [0, 0], [0, -np.inf]]


def test_tensors_of_indices():
    torch = pytest.importorskip("torch")
    logits = torch.zeros(2, 2)
    psc.apply_token_bitmask_inplace(logits, torch.from_numpy(words([], [])), indices=torch.tensor([1]))
    assert logits.tolist() == [[0, 0], [-np.inf, -np.inf]]


def test_a_tensor_that_records_gradients():
    torch = pytest.importorskip("torch")
    logits = torch.zeros(1, 2, requires_grad=True)
    psc.apply_token_bitmask_inplace(logits, torch.from_numpy(words([1])))
    assert logits.tolist() == [[-np.inf, 0]]


def f32(*shape):
    return np.zeros(shape, np.float32)


def i32(*shape):
    return np.zeros(shape, np.int32)


def read_only():
    array = f32(1, 5)
    array.flags.writeable = False
    return array


REFUSED = {
    "integer logits": (lambda: (i32(1, 5), i32(1, 1)), {}, "logits are int32"),
    "logits of the other byte order": (lambda: (np.zeros((1, 5), ">f4"), i32(1, 1)), {}, "logits are >f4"),
    "list of logits": (lambda: ([[0.0]], i32(1, 1)), {}, "must be a NumPy array or a torch tensor, not list"),
    "read-only logits": (lambda: (read_only(), i32(1, 1)), {}, "read-only"),
    "bitmask of int64": (lambda: (f32(1, 5), np.zeros((1, 1), np.int64)), {}, "the bitmask is int64; it must be int32"),
    "bitmask of uint32": (lambda: (f32(1, 5), np.zeros((1, 1), np.uint32)), {}, "the bitmask is uint32"),
    "no bitmask": (lambda: (f32(1, 5), None), {}, "not NoneType"),
    "three dimensions": (lambda: (f32(1, 1, 5), i32(1, 1)), {}, "logits have 3 dimensions"),
    "bitmask of three dimensions": (lambda: (f32(1, 5), i32(1, 1, 1)), {}, "bitmask have 3 dimensions"),
    "fewer masks": (lambda: (f32(2, 5), i32(1, 1)), {}, "2 rows of logits and 1 of bitmask"),
    "more masks": (lambda: (f32(1, 5), i32(2, 1)), {}, "1 rows of logits and 2 of bitmask"),
    "vocab_size beyond the logits": (lambda: (f32(1, 5), i32(1, 1)), {"vocab_size": 6}, "vocab_size=6: the logits are 5 wide"),
    "vocab_size beyond the bitmask": (lambda: (f32(1, 40), i32(1, 1)), {"vocab_size": 33}, "cover 32 tokens"),
    "vocab_size below zero": (lambda: (f32(1, 5), i32(1, 1)), {"vocab_size": -1}, "vocab_size=-1"),
    "no such row": (lambda: (f32(3, 5), i32(2, 1)), {"indices": [0, 2]}, "no row 2; .* rows 0 to 1"),
    "negative row": (lambda: (f32(3, 5), i32(3, 1)), {"indices": [-1]}, "no row -1"),
    "row 1.5": (lambda: (f32(3, 5), i32(3, 1)), {"indices": [1.5]}, "indices= are float64; they must be integers"),
    "huge row": (lambda: (f32(3, 5), i32(3, 1)), {"indices": [1 << 70]}, "indices= are object; they must be integers"),
    "a row": (lambda: (f32(3, 5), i32(3, 1)), {"indices": 1}, "list of row numbers"),
    "rows of rows": (lambda: (f32(3, 5), i32(3, 1)), {"indices": [[0], [1, 2]]}, "list of row numbers"),
    "unknown backend": (lambda: (f32(1, 5), i32(1, 1)), {"backend": "x"}, "unknown backend 'x'; it is one of auto"),
    "GPU backend": (lambda: (f32(1, 5), i32(1, 1)), {"backend": "triton"}, "cannot mask logits on cpu"),
    "torch backend": (lambda: (f32(1, 5), i32(1, 1)), {"backend": "torch_native"}, "torch tensors only"),
}


@pytest.mark.parametrize(("arrays", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(arrays, options, message):
    logits, mask = arrays()
    with pytest.raises(BitmaskError, match=message):
        psc.apply_token_bitmask_inplace(logits, mask, **options)
    assert not np.any(np.asarray(logits, dtype=np.float64) < 0)  # nothing was masked


def test_different_devices():
    torch = pytest.importorskip("torch")
    with pytest.raises(BitmaskError, match="the logits are on cpu and the bitmask is on meta"):
        psc.apply_token_bitmask_inplace(torch.zeros(1, 5), torch.zeros(1, 1, dtype=torch.int32, device="meta"))


@pytest.mark.parametrize(("batch", "vocab", "shape"), [(2, 33, (2, 2)), (1, 32, (1, 1)), (0, 1, (0, 1)), (3, 0, (3, 0))])
def test_shape(batch, vocab, shape):
    assert psc.get_bitmask_shape(batch, vocab) == shape
    assert psc.allocate_token_bitmask(batch, vocab, library="numpy").shape == shape


def test_negative_sizes():
    for batch, vocab in ((-1, 5), (1, -5)):
        with pytest.raises(BitmaskError, match="neither can be negative"):
            psc.allocate_token_bitmask(batch, vocab)


def test_allocated_is_all_allowed_and_reset_again():
    torch = pytest.importorskip("torch")
    for mask in (psc.allocate_token_bitmask(2, 40), psc.allocate_token_bitmask(2, 40, library="numpy")):
        assert mask.tolist() == [[-1, -1], [-1, -1]]
        mask[1, 0] = 5
        psc.reset_token_bitmask(mask)
        assert mask.tolist() == [[-1, -1], [-1, -1]]
    assert psc.allocate_token_bitmask(1, 1).dtype == psc.bitmask_dtype == torch.int32
    with pytest.raises(BitmaskError, match="must be int32"):
        psc.reset_token_bitmask(np.zeros((1, 1), np.int64))


def test_allocate_options():
    with pytest.raises(BitmaskError, match="it is 'torch', 'numpy' or None"):
        psc.allocate_token_bitmask(1, 1, library="jax")
    with pytest.raises(BitmaskError, match="only memory of a torch tensor"):
        psc.allocate_token_bitmask(1, 1, library="numpy", pin_memory=True)


WITHOUT_TORCH = """
import sys
{block}
import numpy as np, psc
mask = psc.allocate_token_bitmask(1, 40{library})
assert isinstance(mask, np.ndarray), type(mask)
mask[0] = [5, 0]
logits = np.zeros((1, 4), np.float32)
psc.apply_token_bitmask_inplace(logits, mask)
psc.reset_token_bitmask(mask)
assert logits.tolist() == [[0, -np.inf, 0, -np.inf]]
assert sys.modules.get("torch") is None
"""


def test_without_torch():
    """Where torch is not installed, NumPy does."""
    script = WITHOUT_TORCH.format(block="sys.modules['torch'] = None", library="")
    script += "assert psc.bitmask_dtype == np.int32\n"
    script += "try: psc.allocate_token_bitmask(1, 1, library='torch')\nexcept ModuleNotFoundError as e: assert e.name == 'torch'\n"
    script += "else: raise AssertionError\n"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_torch_is_not_imported_for_numpy_arrays():
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH.format(block="", library=", library='numpy'")], check=True)
