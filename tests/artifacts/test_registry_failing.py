"""Registries that stall, fail for a while, cut connections or cannot be reached: a pull goes on, or gives up in time."""

import itertools
import random
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from registries import (
    IMPATIENT,
    TOKEN,
    WAITING,
    artifact,
    header,
    large_artifact,
    misbehaving,
    path_of,
    python,
    reference,
    respond,
    server,
)
from registry_pulls import FOUND, nothing_came, published, pull

from psc.artifacts.registry.client import open_registry
from psc.artifacts.store import Store
from psc.errors import RegistryUnreachableError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def drip(connection: socket.socket, data: bytes) -> None:
    """A byte now and then, so that no single wait is long."""
    for i in range(len(data)):
        connection.sendall(data[i : i + 1])
        time.sleep(0.05)


@pytest.mark.parametrize("where", ["nothing", "status", "headers", "reference", "blob", "blob dripping", "chunks"])
def test_stalls_and_drips_are_given_up(store: Store, where: str) -> None:
    over = threading.Event()

    def stall(connection: socket.socket, head: bytes, _number: int) -> None:
        is_blob = "/blobs/" in path_of(head)
        if where.startswith("blob") and not is_blob:
            return published()(connection, head, 0)
        if where == "status":
            drip(connection, b"HTTP/1.1 200 " + b"O" * 1000)
        elif where == "headers":
            drip(connection, b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000)
        elif where == "reference":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{")
        elif where == "blob":
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {FOUND.size}\r\n\r\n".encode() + artifact()[:1000])
        elif where == "blob dripping":
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {FOUND.size}\r\n\r\n".encode())
            drip(connection, artifact())
        elif where == "chunks":
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            drip(connection, b"0" * 1000)
        over.wait(5)

    began = time.monotonic()
    try:
        with misbehaving(stall) as url, pytest.raises(RegistryUnreachableError, match="stalls"):
            try:
                pull(url, store)
            finally:
                took = time.monotonic() - began
                over.set()
    finally:
        over.set()
    assert took < 30  # a bound against hanging; a few tenths of a second are usual
    assert nothing_came(store)


@pytest.mark.parametrize(
    "status", ["500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "429 Too Many Requests"]
)
def test_passing_failures_pass(store: Store, status: str) -> None:
    counts = itertools.count()

    def fails_twice(connection: socket.socket, head: bytes, _number: int) -> None:
        if next(counts) % 3 < 2:
            respond(connection, b"overloaded", status=status, headers=("Retry-After: 0",))
        else:
            published()(connection, head, 0)

    with misbehaving(fails_twice) as url:
        assert pull(url, store, WAITING) == FOUND


def test_failures_that_do_not_pass(store: Store) -> None:
    counts = itertools.count()

    def fails(connection: socket.socket, _head: bytes, _number: int) -> None:
        next(counts)
        respond(connection, status="503 Service Unavailable")

    with misbehaving(fails) as url, pytest.raises(RegistryUnreachableError, match="fails, status 503"):
        pull(url, store)
    assert next(counts) == IMPATIENT.attempts


def test_a_server_that_asks_to_wait_for_long_is_given_up(store: Store) -> None:
    counts = itertools.count()

    def later(connection: socket.socket, _head: bytes, _number: int) -> None:
        next(counts)
        respond(connection, status="429 Too Many Requests", headers=("Retry-After: 86400",))

    with misbehaving(later) as url, pytest.raises(RegistryUnreachableError, match="asks to wait 86,400 s"):
        pull(url, store)
    assert next(counts) == 1


def test_nobody_listens(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(RegistryUnreachableError, match="Connection refused"):
        pull(f"http://127.0.0.1:{port}", store)


def test_a_name_that_does_not_resolve(store: Store) -> None:
    with pytest.raises(RegistryUnreachableError, match="cannot be resolved"):
        pull("http://registry.invalid", store)


def test_no_http_at_all(store: Store) -> None:
    def other(connection: socket.socket, _head: bytes, _number: int) -> None:
        connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")

    with misbehaving(other) as url, pytest.raises(RegistryUnreachableError, match="the connection broke"):
        pull(url, store)


def test_wrong_bytes_of_an_earlier_pull_are_fetched_again(store: Store) -> None:
    (store.root / "incoming").mkdir(parents=True)
    for earlier in (b"x" * 100, b"x" * FOUND.size, b"x" * (FOUND.size + 5)):
        (store.root / "incoming" / f"{FOUND.digest}.part").write_bytes(earlier)
        with misbehaving(published()) as url:
            assert pull(url, store, WAITING) == FOUND
        assert store.read(FOUND) == artifact()
        (store.root / FOUND.blob_path).unlink()


def test_a_connection_cut_a_hundred_times_at_random_points(store: Store) -> None:
    rng = random.Random(7)
    data = large_artifact(n_bytes=1 << 20)
    found = reference(data)
    cuts = 0

    def cut(connection: socket.socket, head: bytes, _number: int) -> None:
        nonlocal cuts
        wanted = header(head, "Range")
        at = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        extra = f"Content-Range: bytes {at}-{len(data) - 1}/{len(data)}\r\n" if at else ""
        status = "206 Partial Content" if at else "200 OK"
        top = f'HTTP/1.1 {status}\r\nETag: "x"\r\nContent-Length: {len(data) - at}\r\n{extra}\r\n'.encode()
        answer = top + data[at:]
        if cuts < 100:
            cuts += 1
            # In the head now and then, else in the body.
            end = rng.randrange(len(top)) if cuts % 10 == 0 else len(top) + rng.randrange(64, 2 * len(data) // 200)
            connection.sendall(answer[:end])
        else:
            connection.sendall(answer)

    with misbehaving(cut) as url, open_registry(url, patience=IMPATIENT) as registry:
        registry.pull(found, store)
    assert cuts == 100 and store.read(found) == data


_PULL = """
import sys
from psc.artifacts.references import Reference
from psc.artifacts.registry.client import open_registry
from psc.artifacts.store import Store
store, url, found = Store({store!r}), {url!r}, Reference.decode({found!r}, origin="test")
print("begins", flush=True)
open_registry(url).pull(found, store)
print("done", flush=True)
"""


def test_a_pull_killed_again_and_again_goes_on_where_it_was(store: Store) -> None:
    data = large_artifact(n_bytes=1 << 20)
    found = reference(data)
    asked: list[int] = []

    def slowly(connection: socket.socket, head: bytes, _number: int) -> None:
        wanted = header(head, "Range")
        at = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        asked.append(at)
        extra = f"Content-Range: bytes {at}-{len(data) - 1}/{len(data)}\r\n" if at else ""
        connection.sendall(f"HTTP/1.1 {'206 P' if at else '200 OK'}\r\nContent-Length: {len(data) - at}\r\n{extra}\r\n".encode())
        for begin in range(at, len(data), 1 << 16):
            connection.sendall(data[begin : min(begin + (1 << 16), len(data))])
            time.sleep(0.02)

    part = store.root / "incoming" / f"{found.digest}.part"
    rng = random.Random(3)
    with misbehaving(slowly) as url:
        program = _PULL.format(store=str(store.root), url=url, found=found.encode())
        for _ in range(4):
            process = python(program)
            before = part.stat().st_size if part.exists() else 0
            enough = before + rng.randrange(1, 1 << 18)
            while process.poll() is None and not (part.exists() and part.stat().st_size >= enough):
                time.sleep(0.002)
            process.kill()
            process.communicate()
        process = python(program)
        output, errors = process.communicate()
    assert (output.split(), errors) == (["begins", "done"], "")
    assert store.read(found) == data and not part.exists()
    assert asked[0] == 0 and asked == sorted(asked) and asked[-1] > 0, "each went on behind what was there"


def test_two_processes_pull_the_same_at_once(store: Store) -> None:
    data = large_artifact(n_bytes=1 << 20)
    found = reference(data)
    with server(store.root.parent / "registry") as url:
        with open_registry(url, token=TOKEN) as registry:
            registry.push(data, found)
        program = _PULL.format(store=str(store.root), url=url, found=found.encode())
        processes: list[subprocess.Popen[str]] = [python(program) for _ in range(4)]
        assert [(p.communicate(), p.returncode) for p in processes] == [(("begins\ndone\n", ""), 0)] * 4
    assert store.read(found) == data and store.verify() == []
    assert list((store.root / "incoming").iterdir()) == []
