"""A process with Ray in it, seen from outside: started, queried, and ended with everything that it has started.

Waiting for an answer ends when the process ends, or when one of Ray's servers does. Ray itself notices the latter after half a
minute, or never. The output of the process goes into error messages only.

Cost: a second or two to start, most of it Ray's; a query takes a tenth of a millisecond.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any

import psc.errors
from psc.cluster.run.ray_host import Answer, Ready, Refused, Request
from psc.cluster.run.tagged_processes import VARIABLE, alive, kill_tagged
from psc.errors import ClusterError

START_S = 180.0
"""For how long Ray may start: on a machine at its limit a minute is not unheard of."""
_LOOK_EVERY_S = 0.2
_CLOSE_S = 15.0

_PROGRAM = """\
import sys
sys.path[:] = {path!r}
from psc.cluster.run.ray_host import main
main({descriptor}, {spec!r})
"""


class RayGoneError(Exception):
    """Ray, or the process that it is used in, is gone; the message has the cause, as far as it was seen."""


class RayProcess:
    """A process with Ray in it, being started. To be ended by `close` or `kill`.

    Args:
        spec: see `psc.cluster.run.ray_executor.connect`.
    """

    def __init__(self, spec: str) -> None:
        self._spec = spec
        self._tag = secrets.token_hex(16)
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  closed by `kill`
        self._servers: tuple[int, ...] = ()
        self._forgotten: list[int] = []
        self._asking = False
        ours, theirs = socket.socketpair()
        with theirs:
            program = _PROGRAM.format(path=sys.path, descriptor=theirs.fileno(), spec=spec)
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                env={**os.environ, VARIABLE: self._tag},
                start_new_session=True,  # a terminal's signals are for the command
            )
        self._connection = Connection(ours.detach())

    def ready(self) -> Ready:
        """Waits until Ray can be used.

        Raises:
            MissingExtraError, ClusterError: as `psc.cluster.run.ray_executor.connect`.
        """
        self._asking = True
        try:
            answer = self._answer(time.monotonic() + START_S)
        except RayGoneError as e:
            raise ClusterError(f"--ray {self._spec}: Ray cannot be started here: {e}") from e
        if isinstance(answer, Refused):
            raise getattr(psc.errors, answer.kind)(answer.why)
        assert isinstance(answer, Ready)
        self._asking = False
        self._servers = answer.servers
        return answer

    def ask(self, method: str, *arguments: Any) -> Any:
        """Calls a method of `psc.cluster.run.ray_host`.

        Raises:
            LookupError: a result is lost.
            RayGoneError: Ray is gone, or an earlier answer was not waited for.
        """
        if self._asking:
            raise RayGoneError("it was interrupted")
        self._asking = True
        forgotten, self._forgotten = tuple(self._forgotten), []
        try:
            self._connection.send(Request(method, arguments, forgotten))
            answer = self._answer(None)
        except OSError as e:
            raise RayGoneError(self._last_words()) from e
        self._asking = False
        assert isinstance(answer, Answer)
        if answer.error == "lost":
            raise LookupError(answer.value)
        if answer.error == "gone":
            raise RayGoneError(answer.value)
        return answer.value

    def forget(self, output: int) -> None:
        """A result is not needed any more; said with the next request."""
        self._forgotten.append(output)

    def close(self) -> None:
        """Disconnects in good order, if that takes no longer than a while, and leaves no process. In the middle of work:
        `kill`."""
        if not self._asking:
            self._asking = True
            with contextlib.suppress(RayGoneError, OSError, subprocess.TimeoutExpired):
                self._connection.send(Request("close", ()))
                self._answer(time.monotonic() + _CLOSE_S)
                self._process.wait(_CLOSE_S)
        self.kill()

    def kill(self) -> None:
        """Ends it, and all processes that it has started, at once."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        kill_tagged(self._tag)
        self._process.wait()
        self._output.close()

    def _answer(self, deadline: float | None) -> Any:
        while not self._connection.poll(_LOOK_EVERY_S):
            gone = [process for process in self._servers if not alive(process)]
            if self._process.poll() is not None and not self._connection.poll(0):
                raise RayGoneError(self._last_words())
            if gone:
                raise RayGoneError(f"one of Ray's servers (process {gone[0]}) is gone")
            if deadline is not None and time.monotonic() > deadline:
                raise RayGoneError(f"it takes longer than {START_S:.0f} s")
        try:
            return self._connection.recv()
        except (EOFError, OSError) as e:
            raise RayGoneError(self._last_words()) from e

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.poll()
        ended = "does not answer" if code is None else f"ended with {code}" if code >= 0 else f"ended by signal {-code}"
        self._output.seek(0)
        said = [line.strip() for line in self._output.read().decode(errors="replace").splitlines() if line.strip()]
        return f"its process {ended}" + (f": {said[-1][:300]}" if said else "")
