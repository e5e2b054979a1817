"""Hypothesis profiles, by HYPOTHESIS_PROFILE, and the order of tests.

`default` and `sanitized` draw the same examples in every run: if a run fails, the change is the cause. `fresh` draws new ones, and
more of them; it runs every night. `wide` draws many new ones; run it before you call a change of the core done.
"""

import gc
import os
import signal
from importlib.util import find_spec
from pathlib import Path

# Subprocesses of tests import psc as this process does, not from the folder they happen to run in.
os.environ["PYTHONSAFEPATH"] = "1"
# Compilers look for artifacts in a store that is not there, and not in the developer's.
os.environ["PSC_STORE"] = os.devnull
# JAX takes three quarters of a GPU's memory when it is first used, and tests that run beside each other share the GPU.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# OpenBLAS has a thread for each core, which waits busily: thirty requests of the example server took 90 s so, and take 2 s.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from effort import DEFAULT
from hypothesis import HealthCheck, settings

_common = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
settings.register_profile("default", max_examples=DEFAULT, derandomize=True, **_common)
settings.register_profile("sanitized", max_examples=10, derandomize=True, **_common)
settings.register_profile("fresh", max_examples=100, **_common)
settings.register_profile("wide", max_examples=2000, **_common)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    # After nohup, or in the background of a script, some are ignored, and would be in every process that a test starts and then
    # signals. A handler that does nothing is not passed on.
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "sanitized" if "PSC_SANITIZED" in os.environ else "default"))


# Over a sanitizer build, pytest runs every third row of a test. Rows differ in texts, and hardly in what the core does with them.
# tests/exactness has a case for each thing that the core does, so it keeps all rows. The night runs all: PSC_SANITIZED=whole.
_EVERY = 1 if os.environ.get("PSC_SANITIZED", "whole") == "whole" else 3
_WHOLE = Path(__file__).parent / "exactness"


def _some_rows(items: list[pytest.Item]) -> list[pytest.Item]:
    """Every third row of a test that has more than three, of which the first is one."""
    rows: dict[str, list[pytest.Item]] = {}
    for item in items:
        rows.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {i for of in rows.values() for i in (of[::_EVERY] if len(of) > _EVERY and _WHOLE not in of[0].path.parents else of)}
    return [item for item in items if item in kept]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: with several processes, one that began at the end would keep the others waiting."""
    items[:] = _some_rows(items)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """What collecting the tests has made, millions of objects, is no garbage: no later collection looks at it."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """At its end the interpreter frees it, so that nothing of the core seems to leak."""
    gc.unfreeze()


# The oracles and the construction by OpenFst, which is not to be had everywhere: PyPI has it for Linux on x86-64 only.
collect_ignore = (
    []
    if find_spec("pynini")
    else [
        "compiler/pipeline/test_minimal.py",
        "compiler/terminals/test_regex.py",
        "compiler/cfg/test_terminal_automaton.py",
        "compiler/paper/test_export.py",
        "compiler/paper/test_transducers.py",
        "compiler/paper/test_verification.py",
        "cli/test_transducers.py",
    ]
)
