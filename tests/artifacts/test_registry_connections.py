"""Connections to a registry server that do nothing, or too many of them: others are served, and the log stays short."""

from __future__ import annotations

import contextlib
import re
import resource
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from registries import TOKEN, artifact, ask, certificate, large_artifact, put, reference, server

from psc.artifacts.registry import connections
from psc.artifacts.registry.connections import Reports, _network, most_connections

HEADS = {
    "nothing": b"",
    "half of a head": b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-",
    "a byte": b"G",
    "a body that does not come": f"PUT /blobs/sha256/{'0' * 64} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n".encode(),
    "answered and kept": b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(60),
}


@contextlib.contextmanager
def many(url: str, n: int, sent: bytes) -> Iterator[list[socket.socket]]:
    address = urlsplit(url)
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(n):
            s = stack.enter_context(socket.create_connection((address.hostname, address.port), timeout=10))
            with contextlib.suppress(OSError):
                s.sendall(sent)
            opened.append(s)
        yield opened


@pytest.mark.parametrize("name", HEADS)
def test_idle_connections_give_way(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with server(tmp_path / "registry", max_connections=16) as url, many(url, 60, HEADS[name]):
        for _ in range(5):
            assert ask(url, "GET", "/healthz").status == 200
        with many(url, 60, HEADS[name]):
            assert put(url, reference(artifact()).blob_path, artifact()).status in (200, 201)
    written = capfd.readouterr().err
    assert written.count("psc: warning") <= 2 and "the most for one address" in written and "Traceback" not in written


def test_transfers_do_not_give_way(tmp_path: Path) -> None:
    data = large_artifact(n_bytes=8 << 20)
    with server(tmp_path / "registry", max_connections=8) as url:
        found = reference(data)
        assert put(url, found.blob_path, data).status == 201
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port), timeout=30) as s:
            s.sendall(f"GET /{found.blob_path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            parts = [s.recv(1000)]
            with many(url, 40, b""):
                assert ask(url, "GET", "/healthz").status == 200
                while piece := s.recv(1 << 20):
                    parts.append(piece)
            assert b"".join(parts).endswith(data)


def test_where_all_are_at_work_a_new_one_is_closed(tmp_path: Path) -> None:
    data = large_artifact(n_bytes=8 << 20)
    with server(tmp_path / "registry", max_connections=4) as url:
        found = reference(data)
        put(url, found.blob_path, data)
        head = f"GET /{found.blob_path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        with many(url, 2, head) as opened:
            for s in opened:
                assert s.recv(100)
            with many(url, 1, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") as (new,), contextlib.suppress(ConnectionError):
                assert new.recv(100) == b""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if ask(url, "GET", "/healthz").status == 200:
                    return
            time.sleep(0.1)
        raise AssertionError("nobody is served after the transfers have ended")


FLOOD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
from psc.cli import main
main(["registry", "serve", sys.argv[1], "--port", "0", "--quiet"])
"""


def test_more_connections_than_descriptors(tmp_path: Path) -> None:
    """As many as the process has descriptors, and more: asyncio would log a thousand tracebacks twice a second."""
    log = tmp_path / "log"
    with log.open("w") as errors:
        process = subprocess.Popen([sys.executable, "-c", FLOOD, tmp_path / "r"], stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[-1]
        with many(url, 300, b""):
            end = time.monotonic() + 4
            while time.monotonic() < end:
                assert ask(url, "GET", "/healthz").status == 200
                time.sleep(0.2)
        assert ask(url, "GET", "/index.json").status == 200
    finally:
        process.terminate()
        assert process.wait(30) == 0
        process.stdout.close()
    assert log.stat().st_size < 2_000, log.read_text()[:2_000]


def test_handshakes_that_never_end(tmp_path: Path) -> None:
    ours, key = certificate(tmp_path)
    context = ssl.create_default_context(cafile=str(ours))
    with server(tmp_path / "registry", max_connections=16, certificate=ours, private_key=key) as url:
        address = urlsplit(url)
        for sent in (b"", HEADS["no HTTP"], b"GET / HTTP/1.1\r\n\r\n"):
            with (
                many(url, 60, sent),
                socket.create_connection((address.hostname, address.port), timeout=10) as plain,
                context.wrap_socket(plain, server_hostname="127.0.0.1") as s,
            ):
                s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert s.recv(1000).startswith(b"HTTP/1.1 200")


def test_many_at_once_from_one_address(tmp_path: Path) -> None:
    """A proxy in front of the server has one address."""
    with server(tmp_path / "registry") as url:
        answered: list[int] = []

        def client() -> None:
            for _ in range(3):
                answered.append(ask(url, "GET", "/healthz", token=TOKEN).status)

        threads = [threading.Thread(target=client) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answered == [200] * 150


def test_reports_come_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now, lines = [1000.0], []
    monkeypatch.setattr(connections.time, "monotonic", lambda: now[0])
    reports = Reports(lines.append)
    for _ in range(1_000):
        reports.say("a", "full")
        reports.of_loop(
            None, {"message": "socket.accept() out of system resource", "exception": OSError(24, "Too many open files")}
        )
    assert len(lines) == 2 and "OSError" in lines[1]
    now[0] += 61
    reports.say("a", "full")
    assert re.search(r"full \(999 times more", lines[2])


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("nowhere", "nowhere"),
    ],
)
def test_networks(address: str, network: str) -> None:
    assert _network((address, 1)) == network


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "most"),
    [
        (1_024, 1_024, 2_000, 488),
        (1_024, 1 << 20, 2_000, 2_000),
        (256, 4_096, 3_000, 2_024),
        (50, 50, 2_000, 1),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 7, 7),
        (100, resource.RLIM_INFINITY, 500, 500),
    ],
)
def test_descriptors(soft: int, hard: int, wanted: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    raised = []
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(connections.resource, "setrlimit", lambda _, limits: raised.append(limits))
    assert most_connections(wanted) == most
    assert all(limits[1] == hard for limits in raised)
