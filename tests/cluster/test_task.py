"""A task by itself: what it says, and that every way to fail becomes a message."""

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from psc.cluster.run.memory import machine_memory, measured
from psc.cluster.run.task import TASK_THREAD, Attempt, Began, Call, Ended, Progress, StageBegan
from psc.errors import GrammarError

MIB = 1 << 20


def two_stages(text: str, *, progress: Progress) -> str:
    progress("first", 0, 2)
    progress("second", 1, 2)
    return text.upper()


def hungry(n_bytes: int, *, progress: Progress) -> int:
    progress("eating", 0, 1)
    return len(bytearray(n_bytes))


def hungry_in_bites(n_bytes: int, *, progress: Progress) -> int:
    """Small allocations, which an allocator serves from what it has reserved."""
    progress("eating", 0, 1)
    bites = []
    for _ in range(n_bytes // 1000):
        bites.append(bytes(1000))
        if len(bites) % 10_000 == 0:
            time.sleep(0.01)
    return len(bites)


def slow(seconds: float, *, progress: Progress) -> None:
    for i in range(100):
        progress(f"stage {i}", i, 100)
        time.sleep(seconds / 100)


def wrong(*, progress: Progress) -> None:
    raise GrammarError("x.lark:3: nothing good")


def broken(*, progress: Progress) -> None:
    raise KeyError("oops")


def out_of_memory_below(*, progress: Progress) -> None:
    try:
        raise MemoryError
    except MemoryError as e:
        raise GrammarError("cannot") from e


def of(work: Callable[..., Any], *inputs: Any, memory: int | None = None, seconds: float | None = None) -> list[Any]:
    return list(Attempt("here", Call(work, memory_limit=memory, time_limit=seconds), inputs).messages())


def ended(messages: list[Any]) -> Ended:
    return next(m for m in messages if isinstance(m, Ended))


def test_messages_then_the_result() -> None:
    began, first, second, end, result = of(two_stages, "abc")
    assert isinstance(began, Began) and began.worker == "here"
    assert isinstance(first, StageBegan) and (first.name, first.number, first.of) == ("first", 0, 2)
    assert isinstance(second, StageBegan) and second.name == "second"
    assert isinstance(end, Ended) and end.failure is None and set(end.stages) == {"first", "second"}
    assert began.at <= first.at <= second.at <= end.at
    assert result == "ABC"


@pytest.mark.parametrize(
    ("work", "failure", "error"),
    [
        (wrong, "error", "x.lark:3: nothing good"),
        (broken, "error", "an error in psc, please report it: KeyError: 'oops' (test_task.py:"),
        (out_of_memory_below, "memory", "needed more memory than the machine has"),
    ],
)
def test_failures(work: Callable[..., Any], failure: str, error: str) -> None:
    messages = of(work)
    end = messages[-1]
    assert isinstance(end, Ended)
    assert end.failure == failure
    assert (end.error or "").startswith(error)


LIMIT = """
import resource, sys
sys.path.insert(0, {folder!r})
from test_task import MIB, ended, hungry, hungry_in_bites, of

before = resource.getrlimit(resource.RLIMIT_AS)
for work in (hungry, hungry_in_bites):
    for needed in (600, 8):
        end = ended(of(work, needed * MIB, memory=64 * MIB))
        print(work.__name__, needed, end.failure, resource.getrlimit(resource.RLIMIT_AS) == before, end.error, sep=" | ")
"""


@pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="the sanitizer ends the process where an allocation fails")
def test_a_limit_on_memory() -> None:
    """In a process of its own: in this one other tests have left room between what they keep, which bites fit in."""
    too_much = "memory | True | needed more memory than 67.1 MB, which is what it was given"
    lines = in_a_process(LIMIT.format(folder=str(Path(__file__).parent))).splitlines()
    assert [line.split("; ")[0] for line in lines] == [
        f"hungry | 600 | {too_much}",
        "hungry | 8 | None | True | None",
        f"hungry_in_bites | 600 | {too_much}",
        "hungry_in_bites | 8 | None | True | None",
    ]


def test_limits_that_overlap_leave_none_behind() -> None:
    """A task that was given up is still at work when the next one begins."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    first, second = measured(64 * MIB), measured(64 * MIB)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert resource.getrlimit(resource.RLIMIT_AS) != before
    second.__exit__(None, None, None)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


LIMITS = """
from psc.cluster.run.compilation import compile_artifact
from psc.cluster.run.task import Attempt, Call, Ended
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.frontends.tables import CfgTables
from psc.grammars.grammar import Grammar
from vocabularies import byte_tokenizer

grammar = Grammar.parse(find_grammar("java").request()).to_cfg()
vocabulary = byte_tokenizer()
for limit in (1, 3, 6, 1024):
    call = Call(compile_artifact, {"grammar_name": "java", "tokenizer_name": "bytes"}, memory_limit=limit << 20)
    (end,) = [m for m in Attempt("here", call, (CfgTables(grammar), vocabulary)).messages() if isinstance(m, Ended)]
    print(end.failure, "|", end.error)
"""


@pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="the sanitizer ends the process where an allocation fails")
def test_a_limit_on_memory_wherever_the_compiler_meets_it() -> None:
    """In Python, in the native core or in between: the same message, and the process goes on. In a process of its own: in this one
    other tests have left memory that would be used again without being asked for."""
    expected = [f"memory | needed more memory than {n} MB, which is what it was given" for n in ("1.05", "3.15", "6.29")]
    assert in_a_process(LIMITS).splitlines() == [*expected, "None | None"]


def in_a_process(program: str) -> str:
    """What a program prints, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True).stdout


PEAKS = """
from psc.cluster.run.memory import measured
for n in (200, 50):
    with measured(None) as memory:
        held = bytearray(n << 20)
    del held
    print(memory.peak_bytes >> 20)
"""


@pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="the sanitizer keeps what was freed")
def test_the_peak_is_the_tasks_own() -> None:
    """In a process of its own: in this one other tests' memory may be given back meanwhile."""
    big, small = map(int, in_a_process(PEAKS).split())
    assert 195 < big < 230
    assert 45 < small < 80


def test_a_limit_on_time() -> None:
    end = ended(of(slow, 60.0, seconds=0.2))
    assert (end.failure, end.error) == (
        "time",
        "took longer than its limit of 200 ms; raise time = in the jobs file, or make the grammar smaller",
    )


def test_stopped_at_its_next_stage() -> None:
    attempt = Attempt("here", Call(slow), (60.0,))
    messages = attempt.messages()
    assert [type(next(messages)) for _ in range(3)] == [Began, StageBegan, StageBegan]
    assert any(t.name == TASK_THREAD for t in threading.enumerate())
    attempt.stop()
    assert not attempt.alive


def test_measured_without_a_limit() -> None:
    with measured(None) as memory:
        memory.check()
        assert len(bytearray(50 * MIB))
    assert memory.peak_bytes > 25 * MIB
    assert machine_memory() > 64 * MIB
