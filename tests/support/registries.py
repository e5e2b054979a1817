"""Artifacts to publish, a registry server in a thread, and servers that misbehave, for tests."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from grammar_tables import tables_of
from vocabularies import byte_tokenizer

from psc.artifacts.format import Artifact, decode, encode
from psc.artifacts.references import Reference
from psc.artifacts.registry.access_tokens import AcceptedTokens
from psc.artifacts.registry.listening import Listening, running
from psc.artifacts.registry.serving import Served
from psc.artifacts.registry.transport import Patience
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.pipeline.build import build
from psc.runtime.compiled import LoadedGrammar

TOKEN = "a-token-for-pushing-in-tests"
READ_TOKEN = "a-token-for-reading-in-tests"
IMPATIENT = Patience(connect=1.0, stall=0.4, least_bytes=64, answer=20.0, attempts=3, backoff=0.01, longest_wait=0.5)
"""For servers that misbehave; well-behaved ones get the default."""
WAITING = replace(IMPATIENT, connect=30.0, stall=30.0)
"""For servers that misbehave and answer all the same, be the machine as busy as it may."""


@cache
def artifact(word: str = "a") -> bytes:
    """A small real artifact; another word gives another one."""
    result = build(tables_of(load_lark(f'start: "{word}" ("," "{word}")*\n%ignore " "\n', lexer="basic")), byte_tokenizer())
    result.metadata["grammar"]["name"] = f"{word}.lark"
    return encode(result.arrays, result.metadata)


@cache
def large_artifact(word: str = "large", n_bytes: int = 1 << 20) -> bytes:
    """One that does not compress: a real one with a section that nothing reads."""
    small = decode(artifact(word))
    noise = np.random.default_rng(len(word)).integers(0, 256, n_bytes, dtype=np.uint8)
    return encode({**small.arrays, "zz_noise": noise}, small.metadata)


def python(program: str, **environment: str) -> subprocess.Popen[str]:
    """Another process that runs a program of Python, in which this module and psc can be imported."""
    paths = os.pathsep.join(p for p in sys.path if p)
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths, **environment}, stdout=pipe, stderr=pipe, text=True
    )


def reference(data: bytes, grammar: str | None = None, tokenizer: str | None = None) -> Reference:
    return Reference.of(decode(data), grammar=grammar, tokenizer=tokenizer)


def check(found: Artifact) -> None:
    """What the command line has a server check: that a machine can be built."""

    def no_tokenizer(_metadata: object, _place: str) -> object:
        raise AssertionError("not asked for")

    LoadedGrammar.from_artifact(found, tokenizer_info=no_tokenizer, place="upload")  # type: ignore[arg-type]


@contextlib.contextmanager
def server(
    root: Path,
    *,
    push: AcceptedTokens | None = None,
    read: AcceptedTokens | None = None,
    max_blob_bytes: int = 64 << 20,
    certificate: Path | None = None,
    private_key: Path | None = None,
    log: Callable[[dict[str, object]], None] | None = None,
    grace_s: float = 5.0,
    max_connections: int = 2_000,
) -> Iterator[str]:
    """A registry server in a thread of this process; gives its URL."""
    served = Served(
        root,
        check,
        push_tokens=push if push is not None else AcceptedTokens([TOKEN]),
        read_tokens=read if read is not None else AcceptedTokens(),
        max_blob_bytes=max_blob_bytes,
    )
    listening = Listening("127.0.0.1", 0, certificate, private_key, grace_s, max_connections)
    begun, end = threading.Event(), asyncio.Event()
    found: list[str] = []
    loops: list[asyncio.AbstractEventLoop] = []
    failed: list[BaseException] = []

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        async with running(served, listening, log) as url:
            found.append(url)
            begun.set()
            await end.wait()

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as e:
            failed.append(e)
        finally:
            begun.set()

    thread = threading.Thread(target=run, name="registry-server")
    thread.start()
    begun.wait()
    try:
        if failed:
            raise failed[0]
        yield found[0]
    finally:
        if not failed:
            loops[0].call_soon_threadsafe(end.set)
        thread.join()


Behaviour = Callable[[socket.socket, bytes, int], None]
"""Answers one request: the connection, the request's head, how many there have been before."""


@contextlib.contextmanager
def misbehaving(behaviour: Behaviour) -> Iterator[str]:
    """A server that reads one request a connection, and then does as told; gives its URL."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    listener.settimeout(0.1)
    over = threading.Event()
    threads: list[threading.Thread] = []

    def answer(connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10.0)
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(65536)
                if not piece:
                    return
                head += piece
            behaviour(connection, head, number)

    def run() -> None:
        number = 0
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            thread = threading.Thread(target=answer, args=(connection, number))
            number += 1
            thread.start()
            threads.append(thread)

    acceptor = threading.Thread(target=run)
    acceptor.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        acceptor.join()
        for thread in threads:
            thread.join()
        listener.close()


def respond(
    connection: socket.socket, body: bytes = b"", *, status: str = "200 OK", headers: tuple[str, ...] = (), length: bool = True
) -> None:
    """One HTTP answer, then the connection is closed."""
    lines = [f"HTTP/1.1 {status}", "Connection: close", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def path_of(head: bytes) -> str:
    return head.split(b" ", 2)[1].decode()


def header(head: bytes, name: str) -> str | None:
    """A request's header."""
    for line in head.decode("latin-1").split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name.lower():
            return value.strip()
    return None


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(url: str, method: str, path: str, body: bytes | None = None, token: str | None = None, **headers: str) -> Answer:
    """One request; a header's name is given with _ for -."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        if token is not None:
            connection.putheader("Authorization", f"Bearer {token}")
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def put(url: str, path: object, body: bytes, token: str | None = TOKEN, **headers: str) -> Answer:
    return ask(url, "PUT", f"/{path}", body, token, **headers)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, which is its own authority, and its private key."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "registry in a test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    certificate_file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate_file, key_file
