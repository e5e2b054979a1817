"""Every command ends when it is told to, wherever it is, with the exit code that says by what."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]

# What a command may be at when the signal comes: Python, or a native stage, which gives the interpreter's lock back and in which no
# handler runs. This one never ends, and no signal disturbs it.
WAITING = "time.sleep(600)"
NATIVE = "libc.pthread_join(ctypes.c_ulong(endless.ident), None)"
PROGRAM = """
import ctypes, threading, time
from psc.cli import compile, ending, main
libc = ctypes.CDLL(None)
endless = threading.Thread(target=time.sleep, args=(600,), daemon=True)
endless.start()
def busy(*_, **__):
    print("here", flush=True)
    while True:
        {what}
compile.command.callback = busy
main(["compile", "json", "-t", "nothing", "-o", "x"], prog_name="psc")
"""


def wait_for(found: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    """Until it is there; the process must be alive until then."""
    deadline = time.monotonic() + 120
    while not found():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts Python with this psc; what still runs in the end is killed."""
    processes: list[subprocess.Popen[str]] = []

    def call(*arguments: object, **more: object) -> "subprocess.Popen[str]":
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        command = [sys.executable, *map(str, arguments)]
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, **more))  # type: ignore[call-overload]
        return processes[-1]

    yield call
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def reached(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"


@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_command(start: Callable[..., "subprocess.Popen[str]"], number: signal.Signals, code: int) -> None:
    process = start("-c", PROGRAM.format(what=WAITING))
    reached(process)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert err == ("psc: interrupted\n" if number == signal.SIGINT else f"psc: ended by {number.name}\n")


def test_a_native_stage(start: Callable[..., "subprocess.Popen[str]"]) -> None:
    """The interpreter runs no handler before it is over."""
    process = start("-c", PROGRAM.format(what=NATIVE))
    reached(process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 143, err


STUBBORN = """
import time
from psc.cli import compile, ending, main
def busy(*_, **__):
    with ending.last_act(lambda: print("last act", flush=True)):
        try:
            print("here", flush=True)
            time.sleep(600)
        except KeyboardInterrupt:
            print("cleaning", flush=True)
            time.sleep(600)
compile.command.callback = busy
main(["compile", "json", "-t", "nothing", "-o", "x"], prog_name="psc")
"""


def test_a_second_signal_ends_it_at_once(start: Callable[..., "subprocess.Popen[str]"]) -> None:
    process = start("-c", STUBBORN)
    reached(process)
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None and process.stdout.readline() == "cleaning\n"
    time.sleep(0.3)  # two that come together are one
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "last act\n")


def test_two_that_come_together_are_one(start: Callable[..., "subprocess.Popen[str]"]) -> None:
    program = STUBBORN.replace('print("cleaning", flush=True)\n            time.sleep(600)', "time.sleep(3); raise")
    program = program.replace(
        'print("here"', 'os.kill(os.getpid(), signal.SIGHUP); os.kill(os.getpid(), signal.SIGHUP); print("here"'
    )
    process = start("-c", f"import os, signal\n{program}")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 129 and "last act" not in out, out + err


def test_what_is_ignored_stays_ignored(start: Callable[..., "subprocess.Popen[str]"]) -> None:
    """As nohup has it."""
    program = PROGRAM.format(what='time.sleep(0.1); print("alive", flush=True)')
    process = start("-c", f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n{program}")
    reached(process)
    process.send_signal(signal.SIGHUP)
    assert process.stdout is not None
    for _ in range(5):
        assert process.stdout.readline() == "alive\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 143


def test_nothing_is_changed_for_who_calls_it(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from psc.cli import main

    before = [signal.getsignal(number) for number, _ in CODES]
    assert CliRunner().invoke(main, ["inspect", str(tmp_path / "nothing.psc")]).exit_code == 1
    assert [signal.getsignal(number) for number, _ in CODES] == before


def test_one_that_the_thread_hears_of_late_is_not_a_second(start: Callable[..., "subprocess.Popen[str]"]) -> None:
    """On a busy machine the thread is woken long after the handler ran."""
    program = STUBBORN.replace(
        'print("cleaning", flush=True)\n            time.sleep(600)', 'time.sleep(3); print("cleaned"); raise'
    )
    late = (
        "import os, time\nread = os.read\ndef late(*arguments):\n    time.sleep(0.5)\n    return read(*arguments)\nos.read = late"
    )
    process = start("-c", f"{late}\n{program}")
    reached(process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 143 and out == "cleaned\n", out + err
