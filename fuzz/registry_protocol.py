"""A registry's server asked badly, and its client answered badly: `python -m fuzz.registry_protocol --seconds 60 --seed 1`.

The server gets requests over the loopback that are well formed, wrong in a part, or no HTTP: it answers every one that can be
answered with a status below 500, closes the others or waits for more, serves the next well, and has afterwards the files that it
had. The client gets answers that are right, wrong in a part, cut off, too long or no HTTP: it gives the artifact that was
published, or raises an error of psc's, and the store holds that artifact or none.

Cost: a case is a few requests, about 20 ms; an answer that stalls costs what the client waits.
"""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from registries import IMPATIENT, TOKEN, artifact, ask, misbehaving, path_of, reference, respond, server

from fuzz.session import Case, main
from psc.artifacts.folder import files_in
from psc.artifacts.registry.client import open_registry
from psc.artifacts.store import Store
from psc.errors import PscError

_DATA = artifact()
_FOUND = reference(_DATA)
_PATHS = (f"/{_FOUND.key_path}", f"/{_FOUND.name_path}", f"/{_FOUND.blob_path}", "/index.json", "/", "/healthz", "/metrics")
_WORDS = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"%00",
    b"%2e%2e%2f",
    b"../",
    b"/" * 300,
    b"A" * 9000,
    b"\r\n",
    b" ",
    b":",
    b"-1",
    b"99999999999999999999",
)


_ANSWER_S = 0.3
"""A server that has not answered by then waits for the rest of the request, which never comes."""


def _altered(case: Case, data: bytes) -> bytes:
    """With something put in, taken out or written over."""
    changed = bytearray(data)
    for _ in range(case.rng.choice((1, 1, 2, 4))):
        at = case.rng.randrange(len(changed) + 1)
        end = min(len(changed), at + case.rng.choice((0, 1, 5, 40)))
        changed[at:end] = case.rng.choice((*_WORDS, bytes([case.rng.randrange(256)])))
    return bytes(changed)


# ---------------------------------------------------------------------------------------------------------------------
# The server


def _request(case: Case) -> bytes:
    rng = case.rng
    method = rng.choice(("GET", "GET", "HEAD", "PUT", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "get"))
    path = rng.choice((*_PATHS, "/blobs/sha256/" + "0" * 64, "/refs/x/y", "/../../etc/passwd", "*", "/index.json?x=%zz"))
    body = rng.choice((b"", b"{}", _DATA, _DATA[:100], _FOUND.encode(), b"[" * 5000, b'{"a":' * 3000, b"\xff" * 100))
    length = rng.choice((len(body), len(body), len(body), len(body) + 7, 0, -1, 10**30, "x"))
    headers = [f"Host: {rng.choice(('127.0.0.1', '', 'x' * 5000))}", "Connection: close"]
    if method in ("PUT", "POST", "PATCH") or rng.random() < 0.2:
        headers.append(rng.choice((f"Content-Length: {length}", "Transfer-Encoding: chunked", f"Content-Length: {len(body)}")))
    headers += rng.sample(
        [
            f"Authorization: Bearer {TOKEN}",
            f"Authorization: Bearer {TOKEN}",
            "Authorization: Bearer " + "é" * 50,
            "Authorization: Basic !",
            "Range: bytes=5-2",
            "Range: bytes=-",
            "Range: bytes=" + "9" * 5000 + "-",
            "If-Match: *",
            'If-None-Match: "x", W/"y"',
            "If-Modified-Since: never",
            "Expect: 100-continue",
            "Content-Encoding: gzip",
            "Accept-Encoding: *;q=nan",
        ],
        rng.randrange(4),
    )
    whole = f"{method} {path} HTTP/1.{rng.choice('110')}\r\n".encode() + "\r\n".join(headers).encode("utf-8") + b"\r\n\r\n" + body
    if rng.random() < 0.5:
        head, _, rest = whole.partition(b"\r\n\r\n")
        whole = _altered(case, head) + b"\r\n\r\n" + rest
    return whole if rng.random() < 0.8 else whole[: rng.randrange(len(whole))]


def _files(root: Path) -> set[str]:
    """What is there whole: the server may be writing its listing."""
    return {str(p.relative_to(root)) for p in files_in(root, "**/*") if "incoming" not in p.parts}


def ask_server(case: Case) -> None:
    with tempfile.TemporaryDirectory(prefix="psc-fuzz-") as folder, server(Path(folder)) as url:
        with open_registry(url, token=TOKEN) as registry:
            registry.push(_DATA, _FOUND)
        before = _files(Path(folder))
        address = urlsplit(url)
        for _ in range(20):
            request = _request(case)
            case.attach("request", request)
            with socket.create_connection((address.hostname or "", address.port or 0), timeout=20.0) as connection:
                answer = b""
                try:
                    connection.sendall(request)
                    connection.settimeout(_ANSWER_S)
                    while piece := connection.recv(1 << 16):
                        answer += piece
                except TimeoutError:
                    case.counts["waited for more"] += 1
                except ConnectionError:
                    pass
            case.counts["requests"] += 1
            status = answer[9:12] if answer.startswith(b"HTTP/1.") else b"closed"
            case.counts[f"answered {status[:1].decode()}xx" if status.isdigit() else "closed"] += 1
            assert not status.startswith(b"5") or status in (b"501", b"505"), f"{answer[:300]!r} to {request[:500]!r}"
        well = ask(url, "GET", f"/{_FOUND.blob_path}")
        assert (well.status, well.body) == (200, _DATA), "the server does not serve any more"
        gone = before - _files(Path(folder))
        assert not gone, f"files of the registry are gone: {sorted(gone)}"


# ---------------------------------------------------------------------------------------------------------------------
# The client


def answer_client(case: Case) -> None:
    rng = case.rng
    hostile = rng.choice((_FOUND.key_path, _FOUND.blob_path, _FOUND.name_path))

    def good(path: str) -> bytes | None:
        if path in (f"/{_FOUND.key_path}", f"/{_FOUND.name_path}"):
            return _FOUND.encode()
        return _DATA if path == f"/{_FOUND.blob_path}" else None

    def behave(connection: socket.socket, head: bytes, _number: int) -> None:
        path = path_of(head)
        body = good(path)
        if path != f"/{hostile}" or rng.random() < 0.2:
            return respond(connection, body or b"", status="404 Not Found" if body is None else "200 OK")
        how = rng.randrange(7)
        body = body or b""
        if how == 0:
            respond(connection, _altered(case, body))
        elif how == 1:
            status = rng.choice(
                (
                    "206 Partial Content",
                    "301 Moved",
                    "302 Found",
                    "401 No",
                    "403 No",
                    "404 No",
                    "416 No",
                    "500 No",
                    "503 No",
                    "999 x",
                )
            )
            location = rng.choice(("/", f"/{hostile}", "http://127.0.0.1:1/", "file:///etc/passwd", "//", "x" * 9000, "http://[::"))
            wait = rng.choice(("0", "-1", "1e999", "x", "99999999999", "Sun, 06 Nov 1994 08:49:37 GMT"))
            extra = (f"Location: {location}", f"Retry-After: {wait}", "Content-Range: bytes 5-2/1", "Content-Type: \xe9")
            respond(connection, body, status=status, headers=tuple(rng.sample(extra, rng.randrange(len(extra)))))
        elif how == 2:
            length = rng.choice((len(body) + 1, len(body) - 1, 0, -1, 10**25, "x"))
            respond(connection, body, headers=(f"Content-Length: {length}",), length=False)
        elif how == 3:
            head_and_body = (
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
            )
            connection.sendall(_altered(case, head_and_body[:200]) + head_and_body[200:])
        elif how == 4:
            connection.sendall(
                rng.choice((b"", b"\0" * 1000, b"HTTP/1.1 200\r\n\r\n", b"HTTP/9.9 1 x\r\n\r\n", b"SSH-2.0-x\r\n", b"H" * 100_000))
            )
        elif how == 5:
            coding = rng.choice(("gzip", "br", "deflate", "x", "gzip, gzip"))
            respond(
                connection, body, headers=(f"Content-Encoding: {coding}", "Transfer-Encoding: chunked"), length=rng.random() < 0.5
            )
        else:
            respond(connection, b"x" * rng.choice((0, 1, 70_000, 1 << 20)))

    with tempfile.TemporaryDirectory(prefix="psc-fuzz-") as folder, misbehaving(behave) as url:
        store = Store(Path(folder))
        try:
            with open_registry(url, patience=IMPATIENT) as registry:
                found = (
                    registry.find(_FOUND.input_key) if rng.random() < 0.8 else registry.find_named(_FOUND.grammar, _FOUND.tokenizer)
                )
                if found is not None:
                    registry.pull(found, store)
                    case.counts["pulled"] += 1
        except PscError as e:
            case.counts[type(e).__name__] += 1
        for kept in store.references():
            assert kept.digest == _FOUND.digest and store.read(kept) == _DATA, "the store holds what was not published"
        case.counts["conversations"] += 1


def run_case(case: Case) -> None:
    case.rng.choice((ask_server, answer_client, answer_client))(case)


if __name__ == "__main__":
    main("registry_protocol", __doc__.partition("\n")[0], run_case)
