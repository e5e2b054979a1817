"""Where CuPy runs in tests: on an emulated device or a GPU; grammars and matchers over bytes."""

import random
from typing import Any

import numpy as np
import pytest
from emulated_cuda import EmulatedDevice, on_device
from numpy.typing import NDArray
from vocabularies import byte_tokenizer

import psc
from psc.runtime import cuda_device

INFO = byte_tokenizer()
COMPILER = psc.GrammarCompiler(INFO, store=False)
EXPRESSIONS = COMPILER.compile_grammar(
    'root ::= term (("+" | "-" | "*") term)*\n'
    'term ::= [0-9]+ | "int" [a-m] | "(" root ")" | "<" [n-z] [^a-z<>]{1,3} ">" | "0x" [0-9a-f]{2} | "if" root "then" [p-r]'
)
STRINGS = COMPILER.compile_grammar(
    'root ::= "{" (pair ("," pair)*)? "}"\npair ::= "\\"" [^"{}\\x00-\\x1f]* "\\"" ":" ("true" | root)'
)
needs_gpu = pytest.mark.skipif(not cuda_device.is_usable(), reason="there is no GPU that CuPy can use")


class Place:
    """A GPU, or what plays one."""

    def __init__(self, emulated: dict[int, EmulatedDevice] | None = None) -> None:
        self.emulated = emulated

    def put(self, array: NDArray[Any]) -> Any:
        """A copy there, with the same strides."""
        if self.emulated is not None:
            return on_device(array)
        import cupy

        if str(array.dtype) == "bfloat16":
            return self.put(array.view(np.uint16)).view(array.dtype)
        # CuPy's own copies are contiguous.
        low = sum(min(0, s * (n - 1)) for s, n in zip(array.strides, array.shape, strict=True))
        high = sum(max(0, s * (n - 1)) for s, n in zip(array.strides, array.shape, strict=True)) + array.itemsize
        memory = cupy.zeros(high - low, np.uint8)
        there = cupy.ndarray(array.shape, array.dtype, memory.data - low, array.strides)
        there[...] = cupy.asarray(np.ascontiguousarray(array))
        return there

    def get(self, array: Any) -> NDArray[Any]:
        """What is there when all that was asked for is done."""
        if self.emulated is not None:
            for device in self.emulated.values():
                device.current.synchronize()
            return np.array(array)
        import cupy

        copy: NDArray[Any] = cupy.asnumpy(array)
        return copy


def matchers(*compiled: Any) -> list[psc.GrammarMatcher]:
    return [psc.GrammarMatcher(c) for c in compiled]


def some_token(matcher: psc.GrammarMatcher, rng: random.Random) -> int:
    going_on = [int(t) for t in matcher.allowed_tokens() if t not in INFO.stop_token_ids]
    return rng.choice(going_on) if going_on else -1
