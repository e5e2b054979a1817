"""Memory that runs out anywhere while a grammar is built just in time: an error of psc's, and no mask that is wrong, then or later.

A library that is loaded before all others makes the n-th large allocation of C++ fail, in a process of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_FAILING = """
#include <cstdlib>
#include <new>
static thread_local long left = -1;
// The bindings' own small allocations are not asked for: they may not fail.
extern "C" void fail_after(long n) { left = n; }
void* operator new(std::size_t n) {
    if (left >= 0 && n >= 200 && left-- == 0) throw std::bad_alloc();
    if (void* p = std::malloc(n ? n : 1)) return p;
    throw std::bad_alloc();
}
void* operator new[](std::size_t n) { return operator new(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
"""
_PROGRAM = '''
import ctypes, random, sys

import numpy as np
from small_grammars import GRAMMARS
from vocabularies import byte_tokenizer

import psc
from psc.grammars.compiled_grammar import compile_just_in_time
from psc.errors import ResourceLimitError

fail_after = ctypes.CDLL(None).fail_after
fail_after.argtypes = [ctypes.c_long]
info, rng = byte_tokenizer("none"), random.Random(5)
schema = {"type": "object", "properties": {"a": {"maxLength": 5}, "b": {"items": {"enum": [1, 12]}}}}
grammars = {**GRAMMARS, "schema": lambda: psc.Grammar.from_json_schema(schema)}
failures = retired = 0


def trying(call, *arguments):
    """What the call gives, with memory that ends somewhere in it; or that it ended."""
    global failures
    fail_after(rng.choice((0, 0, 1, 2, 3, 5, 9, 20, 50)))
    try:
        return call(*arguments)
    except (ResourceLimitError, MemoryError):
        failures += 1
        return None
    finally:
        fail_after(-1)


for name, grammar in grammars.items():
    alone = compile_just_in_time(grammar(), info)
    for _ in range(12):
        compiled = compile_just_in_time(grammar(), info)
        matcher, other = psc.GrammarMatcher(compiled), psc.GrammarMatcher(alone)
        for _ in range(15):
            if other.is_terminated():
                break
            expected = other.mask()
            for call in (matcher.mask, matcher.fork().mask, matcher.find_jump_forward_string, matcher.expected_terminals):
                got = trying(call)
                assert not isinstance(got, np.ndarray) or np.array_equal(got, expected), name
            token = int(rng.choice(other.allowed_tokens()))
            steps = matcher.n_steps
            taken = trying(matcher.accept_token, token)
            assert taken is not False, f"{name}: a token that is allowed is refused"
            try:
                if taken is None:
                    assert matcher.n_steps == steps, name
                    assert matcher.accept_token(token), name
                other.accept_token(token)
                assert other.is_terminated() or np.array_equal(matcher.mask(), other.mask()), name
            except ResourceLimitError as e:
                assert "compile the grammar again" in str(e), e
                assert compiled._machine.is_broken
                retired += 1
                break
assert failures > 100 and retired > 5, (failures, retired)

# A compiler does not hand out again what has run out of memory.
compiler = psc.GrammarCompiler(info, store=False, registry=False)
while True:
    broken = compiler.compile_json_schema(schema)
    trying(psc.GrammarMatcher(broken).mask)
    if broken._machine.is_broken:
        break
    compiler.clear_cache()
assert compiler.compile_json_schema(schema) is not broken
print("done")
'''


@pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="the sanitizers' allocator is loaded in the same place")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD")
def test_masks_are_right_wherever_memory_ends(tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    source, library = tmp_path / "failing.cpp", tmp_path / "failing.so"
    source.write_text(_FAILING)
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    paths = os.pathsep.join([str(Path(__file__).parents[1] / "support"), *filter(None, sys.path)])
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": paths}
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, env=environment, timeout=300)
    assert ran.stdout == "done\n", ran.stderr
