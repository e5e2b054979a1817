"""Measure the registry: many clients at once, bytes a second from one core, and pulls that are interrupted again and again.

    python benchmarks/registry.py [load] [throughput] [interruptions] [--clients N] [--megabytes N] [--times N] [--json FILE]

The idea: `psc registry serve` runs in a process of its own, pinned to one core for the throughput; everything goes over the
loopback. `load`: clients, threads in several processes, pull small and large artifacts, and one whose name is pointed
elsewhere all the time, while two processes push; every pull is checked by its digest and structure. `throughput`: a blob is
fetched over and over by as little of a client as there can be (a socket that throws away what it reads), pinned to another
core, and by psc's own client, which writes and verifies. `interruptions`: a proxy between client and server passes bytes on
slowly; the client's process is killed, or its connection cut, at random moments; what is then in the store must be whole, and
hardly a byte fetched twice.

The cost: about a minute.
"""

import argparse
import contextlib
import hashlib
import multiprocessing
import os
import random
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from psc.artifacts.format import decode, encode
from psc.artifacts.references import Reference
from psc.artifacts.registry.client import open_registry
from psc.artifacts.registry.transport import Patience
from psc.artifacts.store import Store
from psc.bench.measure import in_words, machine, report, table
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.frontends.tables import CfgTables
from psc.compiler.pipeline.build import build
from psc.vocabulary.tokenizer_info import TokenizerInfo

TOKEN = "a-token-for-the-benchmark"
PARTS = ("load", "throughput", "interruptions")
PATIENT = Patience(connect=30.0, stall=60.0)


@dataclass(frozen=True)
class Load:
    """Many clients at once."""

    clients: int
    pulls: int
    megabytes: float
    errors: int
    wrong: int
    """Pulls whose bytes, or whose reference, are not what they should be."""
    pushes: int
    seconds: float


@dataclass(frozen=True)
class Throughput:
    """One way to fetch one blob over and over."""

    protocol: str
    client: str
    megabytes: float
    """Of the blob."""
    best: float
    """MB/s."""
    median: float


@dataclass(frozen=True)
class Interruptions:
    """One artifact pulled with interruptions."""

    kind: str
    interruptions: int
    megabytes: float
    fetched: float
    """Megabytes that the server sent, for every megabyte of the artifacts."""
    pulls: int
    whole: int
    """Pulls that ended with the right bytes: all of them should."""


def artifacts(n_bytes: int, words: list[str]) -> list[bytes]:
    """Real artifacts, each with a section of noise, so that they have a size."""
    vocabulary = TokenizerInfo.from_tokens(
        [*(bytes([b]) for b in range(256)), b"<stop>"], special_token_ids=[256], stop_token_ids=[256]
    )
    made = []
    for i, word in enumerate(words):
        result = build(CfgTables(load_lark(f'start: "{word}"+\n', lexer="basic")), vocabulary)
        result.metadata["grammar"]["name"] = word
        result.metadata["tokenizer"]["name"] = "bytes"
        noise = np.random.default_rng(i).integers(0, 256, n_bytes, dtype=np.uint8)
        made.append(encode({**result.arrays, "zz_noise": noise}, result.metadata))
    return made


def reference(data: bytes, grammar: str | None = None) -> Reference:
    """To an artifact."""
    return Reference.of(decode(data), grammar=grammar)


@contextlib.contextmanager
def server(root: Path, *arguments: str, core: int | None = None) -> Iterator[str]:
    """`psc registry serve` in another process, perhaps pinned to a core; gives its URL."""
    pin = "" if core is None else f"import os; os.sched_setaffinity(0, {{{core}}}); "
    program = f"{pin}from psc.cli import main; main()"
    command = [sys.executable, "-c", program, "registry", "serve", str(root), "--port", "0", "--quiet", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PSC_REGISTRY_TOKEN": TOKEN})
    assert process.stdout is not None
    try:
        yield process.stdout.readline().rpartition(" at ")[2].strip()
    finally:
        process.terminate()
        process.communicate()


def load(folder: Path, n_clients: int) -> Load:
    """Many clients pull while two push."""
    small, large = artifacts(10_000, ["small"]), artifacts(2_000_000, ["large"])
    turns = artifacts(300_000, ["first", "second", "third"])
    n_processes = min(8, n_clients)
    context = multiprocessing.get_context("spawn")
    with server(folder / "registry") as url:
        with open_registry(url, token=TOKEN) as registry:
            registry.push_all([(data, reference(data)) for data in (*small, *large)])
            registry.push(turns[0], reference(turns[0], "turning"))
        over = context.Event()
        pushers, pullers = [], []
        for i in range(2):
            ours, theirs = context.Pipe()
            pushers.append((context.Process(target=_push, args=(url, turns, i, over, theirs)), ours))
        for i in range(n_processes):
            ours, theirs = context.Pipe()
            threads = n_clients // n_processes + (i < n_clients % n_processes)
            pullers.append((context.Process(target=_pull, args=(url, str(folder / f"stores{i}"), threads, theirs)), ours))
        for process, _ in (*pushers, *pullers):
            process.start()
        ready = [connection.recv() for _, connection in (*pushers, *pullers)]
        assert all(word == "ready" for word in ready)
        began = time.perf_counter()
        for _, connection in (*pushers, *pullers):
            connection.send("begin")
        counts = [connection.recv() for _, connection in pullers]
        seconds = time.perf_counter() - began
        over.set()
        pushed = [connection.recv() for _, connection in pushers]
        for process, _ in (*pushers, *pullers):
            process.join()
    damaged = len(Store(folder / "registry").verify())
    return Load(
        n_clients,
        sum(c["pulls"] for c in counts),
        sum(c["bytes"] for c in counts) / 1e6,
        sum(c["errors"] for c in (*counts, *pushed)),
        sum(c["wrong"] for c in counts) + damaged,
        sum(c["pushes"] for c in pushed),
        seconds,
    )


def _push(url: str, turns: list[bytes], number: int, over: Any, connection: Connection) -> None:
    count = {"pushes": 0, "errors": 0}
    connection.send("ready")
    connection.recv()
    with open_registry(url, token=TOKEN, patience=PATIENT) as registry:
        while not over.is_set():
            data = turns[(number + count["pushes"]) % len(turns)]
            try:
                registry.push(data, reference(data, "turning"))
            except Exception as e:
                print(f"push: {e}", file=sys.stderr)
                count["errors"] += 1
            count["pushes"] += 1
    connection.send(count)


def _pull(url: str, folder: str, n_threads: int, connection: Connection) -> None:
    count = {"pulls": 0, "bytes": 0, "errors": 0, "wrong": 0}
    lock = threading.Lock()

    def client(number: int) -> None:
        with open_registry(url, patience=PATIENT) as registry:
            for turn in range(6):
                store = Store(Path(folder) / f"{number}-{turn}")
                for name in ("small", "large", "turning"):
                    errors = wrong = size = 0
                    try:
                        found = registry.find_named(name, "bytes")
                        assert found is not None
                        registry.pull(found, store)
                        data = (store.root / found.blob_path).read_bytes()
                        size = len(data)
                        wrong = int(hashlib.sha256(data).hexdigest() != found.digest or found.grammar != name)
                    except Exception as e:
                        print(f"pull: {e}", file=sys.stderr)
                        errors = 1
                    with lock:
                        for key, n in (("pulls", 1), ("bytes", size), ("errors", errors), ("wrong", wrong)):
                            count[key] += n
                shutil.rmtree(store.root, ignore_errors=True)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(n_threads)]
    connection.send("ready")
    connection.recv()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection.send(count)


def throughput(folder: Path, megabytes: int, times: int) -> list[Throughput]:
    """A large blob over and over, without and with TLS."""
    data = artifacts(megabytes << 20, ["large"])[0]
    found = reference(data)
    Store(folder / "registry").add(data)
    certificate = _certificate(folder)
    cores = sorted(os.sched_getaffinity(0))
    results = []
    for protocol, arguments in (("HTTP", ()), ("HTTPS", ("--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1])))):
        with server(folder / "registry", *arguments, core=cores[0]) as url:
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {cores[-1]})
            try:
                raw = [len(data) / 1e6 / _drained(url, found, certificate[0]) for _ in range(times + 1)][1:]
                results.append(Throughput(protocol, "a socket", len(data) / 1e6, max(raw), statistics.median(raw)))
                own = []
                for i in range(max(2, times // 2)):
                    store = Store(folder / f"store{i}")
                    with open_registry(url, ca_file=certificate[0]) as registry:
                        began = time.perf_counter()
                        registry.pull(found, store)
                        own.append(len(data) / 1e6 / (time.perf_counter() - began))
                    shutil.rmtree(store.root)
                results.append(Throughput(protocol, "psc, verified", len(data) / 1e6, max(own), statistics.median(own)))
            finally:
                os.sched_setaffinity(0, before)
    return results


def _drained(url: str, found: Reference, ca_file: Path) -> float:
    """Seconds from the request to the last byte."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection: socket.socket = socket.create_connection((parts.hostname, parts.port))
    if parts.scheme == "https":
        connection = ssl.create_default_context(cafile=str(ca_file)).wrap_socket(connection, server_hostname=parts.hostname)
    buffer = bytearray(1 << 20)
    with connection:
        began = time.perf_counter()
        connection.sendall(f"GET /{found.blob_path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        got = 0
        while n := connection.recv_into(buffer):
            got += n
        took = time.perf_counter() - began
    if got <= found.size:
        raise RuntimeError(f"{got} bytes came, {found.size} were expected")
    return took


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, and its key, by openssl."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=benchmark",
    ]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


class SlowProxy:
    """Passes bytes on at a limited rate, counts them, and cuts so many connections at random points."""

    def __init__(self, url: str, bytes_per_s: float, cuts: int, rng: random.Random, largest: int) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)
        self._rate = bytes_per_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.passed = 0
        self.cuts_left = cuts
        self._rng = rng
        self._largest = largest
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        left = self._rng.randrange(1, self._largest) if self.cuts_left > 0 else None
        with contextlib.suppress(OSError), client, socket.create_connection(self._target) as upstream:
            threading.Thread(target=self._forward, args=(client, upstream), daemon=True).start()
            while piece := upstream.recv(1 << 15):
                if left is not None:
                    piece = piece[:left]
                    left -= len(piece)
                client.sendall(piece)
                self.passed += len(piece)
                if left == 0:
                    self.cuts_left -= 1
                    break
                time.sleep(len(piece) / self._rate)
            client.shutdown(socket.SHUT_RDWR)  # closing alone does nothing while the other thread reads

    def _forward(self, client: socket.socket, upstream: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := client.recv(1 << 15):
                upstream.sendall(piece)

    def close(self) -> None:
        self._listener.close()


_CLIENT = """
import sys
from psc.artifacts.references import Reference
from psc.artifacts.registry.client import open_registry
from psc.artifacts.store import Store
url, store, found = sys.argv[1:]
registry = open_registry(url)
print("begins", flush=True)
registry.pull(Reference.decode(found.encode(), origin="argument"), Store(store))
"""


def interruptions(folder: Path, megabytes: int, times: int) -> list[Interruptions]:
    """Pulls, killed or cut so many times in all; each goes on until its artifact is there."""
    data = artifacts(megabytes << 20, ["large"])[0]
    found = reference(data)
    Store(folder / "registry").add(data)
    rng = random.Random(1)
    results = []
    with server(folder / "registry") as url:
        for kind in ("client killed", "connection cut"):
            kills = times if kind == "client killed" else 0
            proxy = SlowProxy(url, 30e6, times - kills, rng, len(data) // 8)
            whole = pulls = 0
            while kills > 0 or proxy.cuts_left > 0:
                store = Store(folder / f"store {kind} {pulls}")
                while (status := _pull_once(proxy.url, store, found, rng.uniform(0, 0.1) if kills > 0 else None)) != 0:
                    if status != -signal.SIGKILL:
                        raise RuntimeError(f"the client failed with {status}")
                    kills -= 1
                pulls += 1
                whole += (store.root / found.blob_path).read_bytes() == data and store.verify() == []
                shutil.rmtree(store.root)
            proxy.close()
            results.append(Interruptions(kind, times, len(data) / 1e6, proxy.passed / (pulls * len(data)), pulls, whole))
    return results


def _pull_once(url: str, store: Store, found: Reference, killed_after: float | None) -> int:
    """Exit status of a client, which is perhaps killed so many seconds after it began."""
    command = [sys.executable, "-c", _CLIENT, url, str(store.root), found.encode().decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            return process.wait(killed_after)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def main() -> None:
    """Measures, prints tables, and says whether what is asked for is kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--clients", type=int, default=64, help="that pull at once (%(default)s)")
    parser.add_argument("--megabytes", type=int, default=64, help="of the blob for the throughput (%(default)s)")
    parser.add_argument("--times", type=int, default=100, help="interruptions of each kind (%(default)s)")
    parser.add_argument("--json", help="write everything that was measured to this file")
    options = parser.parse_args()
    parts = options.parts or PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    about = machine()
    print(in_words(about), file=sys.stderr)
    found: dict[str, Any] = {"machine": about}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "load" in parts:
            (folder / "load").mkdir()
            result = load(folder / "load", options.clients)
            found["load"] = asdict(result)
            figures = (result.clients, result.pulls, round(result.megabytes), result.errors, result.wrong, result.pushes)
            row = [*(f"{n:,}" for n in figures), f"{result.seconds:.1f}"]
            print(table(("clients", "pulls", "MB", "errors", "wrong", "pushes meanwhile", "s"), [row]) + "\n")
        if "throughput" in parts:
            (folder / "throughput").mkdir()
            measured = throughput(folder / "throughput", options.megabytes, 10)
            found["throughput"] = [asdict(m) for m in measured]
            rows = [(m.protocol, m.client, f"{m.megabytes:,.0f}", f"{m.best:,.0f}", f"{m.median:,.0f}") for m in measured]
            print(table(("protocol", "client", "blob, MB", "best, MB/s", "median, MB/s"), rows) + "\n")
        if "interruptions" in parts:
            (folder / "interruptions").mkdir()
            interrupted = interruptions(folder / "interruptions", 8, options.times)
            found["interruptions"] = [asdict(i) for i in interrupted]
            lines = [
                (i.kind, str(i.interruptions), str(i.pulls), str(i.whole), f"{i.megabytes:,.1f}", f"{i.fetched:.2f}")
                for i in interrupted
            ]
            print(table(("what", "interruptions", "pulls", "whole", "MB", "fetched / size"), lines))
    report(found, options.json)


if __name__ == "__main__":
    main()
