"""What is said, in seconds, when there is no Ray, no cluster, or something else where one should be."""

import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import psc.cluster.run.ray_connection as ray_connection
from psc.cluster.run.ray_connection import open_connection
from psc.cluster.run.ray_executor import RayExecutor
from psc.errors import ClusterError, MissingExtraError

pytestmark = [
    pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="Ray does not run under the sanitizer"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


@contextmanager
def listener(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Something that listens on a port of this machine, and answers one connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(autouse=True)
def not_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    assert not ray.is_initialized()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.mark.parametrize("spec", ["", "somewhere", "host:", ":6379", "host:port", "host:0", "host:65536", "Local"])
def test_no_address(spec: str) -> None:
    with pytest.raises(ClusterError, match=r"give local, auto, or the HOST:PORT"):
        open_connection(spec)


def test_the_client_server_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"Run psc batch on a node of the cluster with --ray auto"):
        open_connection("ray://10.0.0.1:10001")


def test_nobody_there() -> None:
    with pytest.raises(ClusterError, match=r"no Ray cluster at 127\.0\.0\.1:\d+: Connection refused.* --ray local"):
        open_connection(f"127.0.0.1:{closed_port()}")


def test_no_such_host() -> None:
    with pytest.raises(ClusterError, match=r"no Ray cluster at no-such-host\.invalid:6379"):
        open_connection("no-such-host.invalid:6379")


def test_somebody_who_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_connection, "_PROBE_S", 0.2)
    over = threading.Event()
    with listener(lambda connection: over.wait(30) and None) as address:
        try:
            with pytest.raises(ClusterError, match=r"no Ray cluster at .*: it does not answer"):
                open_connection(address)
        finally:
            over.set()


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"-ERR unknown command\r\n", b""])
def test_somebody_else(answer: bytes) -> None:
    with (
        listener(lambda connection: connection.sendall(answer)) as address,
        pytest.raises(ClusterError, match=f"what listens at {re.escape(address)} is no Ray cluster"),
    ):
        open_connection(address)


def test_no_cluster_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def init(**options: object) -> None:
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setattr(ray, "init", init)  # for Ray itself finds any cluster that happens to run here
    with pytest.raises(ClusterError, match=r"--ray auto: no Ray cluster runs on this machine; start one with: ray start --head"):
        open_connection("auto")


@pytest.mark.parametrize("noted", [True, False])
def test_a_cluster_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: bool) -> None:
    address = f"127.0.0.1:{closed_port()}"
    if noted:
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray" / "ray_current_cluster").write_text(address)
        monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    else:
        monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ClusterError, match=r"--ray auto: no Ray cluster at 127\.0\.0\.1"):
        open_connection("auto")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Version mismatch: The cluster was started with:\n    Ray: 2.9.0\n    Python: 3.10.2\nThis process",
            "Version mismatch: The cluster was started with: Ray: 2.9.0 Python: 3.10.2 This process; install the cluster's",
        ),
        (
            "This node has an IP address of 10.0.0.9, and Ray can not find the matched Raylet address",
            "ray start --address=127.0.0.1:",
        ),
        ("something new\nin Ray", "cannot connect to the cluster at 127.0.0.1:"),
    ],
)
def test_what_ray_says(monkeypatch: pytest.MonkeyPatch, message: str, expected: str) -> None:
    import ray

    def init(**options: object) -> None:
        raise RuntimeError(message)

    monkeypatch.setattr(ray, "init", init)
    with (
        listener(lambda connection: connection.sendall(SETTINGS)) as address,
        pytest.raises(ClusterError, match=re.escape(expected)) as caught,
    ):
        open_connection(address)
    assert "\n" not in str(caught.value)


def test_ray_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"the package 'ray', which is not installed: pip install .*psc\[cluster\]"):
        open_connection("local")


class FakeNodes:
    """As much of Ray as is asked for its nodes."""

    def __init__(self) -> None:
        self.memory: list[int] = []

    def remote(self, function: object) -> None: ...

    def cluster_resources(self) -> dict[str, float]:
        return {}

    def nodes(self) -> list[dict[str, object]]:
        head = {"Alive": True, "Resources": {"memory": 1e15}}
        dead = {"Alive": False, "Resources": {"memory": 1e15, "CPU": 8.0}}
        return [head, dead, *({"Alive": True, "Resources": {"memory": float(m), "CPU": 1.0}} for m in self.memory)]


def test_a_node_may_be_away_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("psc.cluster.run.ray_executor.time.monotonic", lambda: now[0])
    nodes = FakeNodes()
    executor = RayExecutor(ray_connection.Connection(nodes, "ray", owned=False))
    assert executor.largest_memory() == 0, "neither the head, which has no CPU for tasks, nor a dead node counts"
    for seconds, memory, largest in [(5, [10, 20], 20), (100, [10], 20), (100, [10], 10), (5, [10, 30], 30), (130, [], 0)]:
        now[0] += seconds
        nodes.memory = memory
        assert executor.largest_memory() == largest
