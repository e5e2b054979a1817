"""Serving a folder as a registry over HTTP: reading. Needs the extra `server`.

Exactly the files of the layout are served: a path is matched against the patterns of names and digests before any file is
touched, and the file found must lie inside the folder, symbolic links followed. Blobs are sent by the kernel (`sendfile`) where
there is no TLS, carry their digest as entity tag and may be cached without end; everything else must be requested again.

`pushing` has the other half, `listening` the sockets.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal

from psc.artifacts.folder import open_to_read
from psc.artifacts.format import Artifact
from psc.artifacts.references import (
    INDEX_PATH,
    MAX_INDEX_BYTES,
    SIGNED_INDEX_PATH,
    blob_path,
    is_reference_path,
)
from psc.artifacts.registry.access_tokens import AcceptedTokens
from psc.artifacts.registry.listing import Listing
from psc.artifacts.registry.metrics import Metrics
from psc.errors import RegistryError, needs_extra

with needs_extra("server"):
    from aiohttp import web

Kind = Literal["blob", "reference", "index", "signed index"]
Check = Callable[[Artifact], None]
"""Raises ArtifactError when an artifact that can be decoded still is none: its tables are malformed."""

_BLOB = re.compile(r"blobs/sha256/([0-9a-f]{64})")
_ESCAPED = {"%40": "@", "%2B": "+", "%2b": "+", "%3D": "=", "%3d": "="}
_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)")
_END_OF_NUMBERS = 10**18
"""Past any size. Longer numbers are not read: a header has room for digits that take Python seconds, or that it refuses."""
_USED_ANEW_S = 3600.0
_PIECE_BYTES = 1 << 20
_PIECE_TAKES_S = 60.0
"""A client that does not take a piece in this time is gone."""


@dataclass(frozen=True)
class Resource:
    """A file of the layout that a request names."""

    kind: Kind
    path: PurePosixPath
    digest: str = ""
    """Of a blob."""


@dataclass
class Sent:
    """The part of an answer's body that has been sent."""

    n_bytes: int = 0
    began: bool = False
    """The head is out, so nothing else can be answered any more."""


@dataclass
class Served:
    """A folder that is served, and how."""

    root: Path
    check: Check
    push_tokens: AcceptedTokens = field(default_factory=AcceptedTokens)
    """Without any, nothing can be pushed."""
    read_tokens: AcceptedTokens = field(default_factory=AcceptedTokens)
    """Without any, everybody may read."""
    max_blob_bytes: int = 256 << 20
    metrics: Metrics = field(default_factory=Metrics)
    listing: Listing = field(init=False)

    def __post_init__(self) -> None:
        self.root = Path(os.path.realpath(self.root.expanduser()))
        self.listing = Listing(self.root)

    def open(self, path: PurePosixPath) -> BinaryIO | None:
        """A file of the layout, for reading; None when there is none, or it is not inside the folder. The caller closes it."""
        try:
            inside = os.path.realpath(self.root / path, strict=True)
            if not inside.startswith(f"{self.root}{os.sep}"):
                return None
            f = open(inside, "rb", opener=open_to_read)  # noqa: SIM115
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as e:
            raise RegistryError(f"{path}: {e.strerror or e}") from e
        if not stat.S_ISREG(os.fstat(f.fileno()).st_mode):
            f.close()
            return None
        return f


def resource_of(raw_path: str) -> Resource | None:
    """The file that a request's path names, as it came over the wire; None when it is not one of the layout."""
    path = raw_path.partition("?")[0].removeprefix("/")
    if "%" in path:
        path = re.sub("%..", lambda m: _ESCAPED.get(m[0], m[0]), path)
    if named := _BLOB.fullmatch(path):
        return Resource("blob", PurePosixPath(path), named[1])
    if is_reference_path(path):
        return Resource("reference", PurePosixPath(path))
    if path == str(INDEX_PATH):
        return Resource("index", INDEX_PATH)
    if path == str(SIGNED_INDEX_PATH):
        return Resource("signed index", SIGNED_INDEX_PATH)
    return None


def refusal(status: int, why: str, **headers: str) -> web.Response:
    """An answer that says in plain words why not."""
    return web.Response(status=status, text=why + "\n", headers={"Cache-Control": "no-store", **headers})


def refused_token(request: web.Request, tokens: tuple[AcceptedTokens, ...]) -> web.Response | None:
    """None when the request carries a token that one of these accepts, else the answer that says why not."""
    kind, _, secret = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or not secret:
        return refusal(401, "a bearer token is needed", **{"WWW-Authenticate": 'Bearer realm="psc registry"'})
    reasons = [t.judge(secret.strip()) for t in tokens if t]
    if None in reasons:
        return None
    why = next((r for r in reasons if r and "expired" in r), reasons[0] if reasons else "nobody may do this")
    challenge = f'Bearer realm="psc registry", error="invalid_token", error_description="{why}"'
    return refusal(401, str(why), **{"WWW-Authenticate": challenge})


async def read(served: Served, request: web.Request, sent: Sent) -> web.StreamResponse:
    """Answers GET and HEAD; ``sent`` counts the bytes already sent here."""
    if served.read_tokens and request.path != "/healthz":
        refused = refused_token(request, (served.read_tokens, served.push_tokens))
        if refused is not None:
            return refused
    if request.path == "/healthz":
        return web.Response(text="ok\n", headers={"Cache-Control": "no-store"})
    if request.path == "/metrics":
        return await _metrics(served)
    resource = resource_of(request.raw_path)
    if resource is None:
        return refusal(404, "there is no such file in a registry")
    if resource.kind == "index" and not served.listing.is_current:
        await asyncio.to_thread(served.listing.write_index)
    f = served.open(resource.path)
    if f is None:
        return refusal(404, "there is no such file in this registry")
    with f:
        if resource.kind in ("blob", "reference") and request.method == "GET":
            _note_use(f)
        if resource.kind == "blob":
            return await _send_blob(served, request, resource, f, sent)
        data = f.read(2 * MAX_INDEX_BYTES + 1)
    etag = f'"{hashlib.sha256(data).hexdigest()}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if _matches(request.headers.get("If-None-Match"), etag):
        return web.Response(status=304, headers=headers)
    return web.Response(body=data, content_type="application/json", headers=headers)


def _note_use(f: BinaryIO) -> None:
    """For garbage collection by age; once an hour is enough."""
    with contextlib.suppress(OSError):
        if time.time() - os.fstat(f.fileno()).st_mtime > _USED_ANEW_S:
            os.utime(f.fileno())


async def _send_blob(served: Served, request: web.Request, resource: Resource, f: BinaryIO, sent: Sent) -> web.StreamResponse:
    etag = f'"{resource.digest}"'
    size = os.fstat(f.fileno()).st_size
    scope = "private" if served.read_tokens else "public"
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": f"{scope}, max-age=31536000, immutable",
        "Content-Type": "application/octet-stream",
        "X-Content-Type-Options": "nosniff",
    }
    if _matches(request.headers.get("If-None-Match"), etag):
        return web.Response(status=304, headers=headers)
    begin, end, status = 0, size, 200
    wanted = request.headers.get("Range")
    if wanted is not None and request.headers.get("If-Range", etag) == etag:
        span = _range(wanted, size)
        if span == "unsatisfiable":
            return refusal(416, f"there are {size} bytes", **{"Content-Range": f"bytes */{size}"})
        if span is not None:
            begin, end = span
            status = 206
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
    response = web.StreamResponse(status=status, headers=headers)
    response.content_length = end - begin
    sent.began = True
    await response.prepare(request)
    if request.method != "HEAD":
        await _send(request, response, f, begin, end, sent)
    await response.write_eof()
    return response


async def _send(request: web.Request, response: web.StreamResponse, f: BinaryIO, begin: int, end: int, sent: Sent) -> None:
    """The bytes, piece by piece, so that a client that stopped reading is noticed."""
    loop = asyncio.get_running_loop()
    transport = request.transport
    by_kernel = transport is not None and transport.get_extra_info("sslcontext") is None
    at = begin
    while at < end:
        n = min(_PIECE_BYTES if not by_kernel else 16 * _PIECE_BYTES, end - at)
        async with asyncio.timeout(_PIECE_TAKES_S):
            if by_kernel:
                assert transport is not None
                if transport.is_closing():
                    raise ConnectionResetError("the client is gone")
                n = await loop.sendfile(transport, f, at, n)
            else:
                data = os.pread(f.fileno(), n, at)
                n = len(data)
                await response.write(data)
        if n == 0:
            raise ConnectionResetError("the file has become shorter")
        at += n
        sent.n_bytes += n


def _range(wanted: str, size: int) -> tuple[int, int] | Literal["unsatisfiable"] | None:
    """Begin and end of the one requested range; None where the header is to be ignored."""
    match = _RANGE.fullmatch(wanted.replace(" ", ""))
    if match is None or match[1] == match[2] == "":
        return None
    first, last = _number(match[1]), _number(match[2])
    if match[1] == "":
        return (max(0, size - last), size) if last and size else "unsatisfiable"
    begin, end = first, min(last + 1, size) if match[2] else size
    if match[2] and last < begin:
        return None
    return (begin, end) if begin < size else "unsatisfiable"


def _number(digits: str) -> int:
    digits = digits.lstrip("0")
    return min(int(digits[:19] or 0), _END_OF_NUMBERS)


def _matches(condition: str | None, etag: str) -> bool:
    """Whether an If-None-Match or If-Match header names this entity tag."""
    if condition is None:
        return False
    return condition.strip() == "*" or etag in (tag.strip().removeprefix("W/") for tag in condition.split(","))


def matches(condition: str, etag: str | None) -> bool:
    """Whether an If-Match header allows replacing a file with this entity tag; None: there is no file."""
    return etag is not None and _matches(condition, etag)


async def _metrics(served: Served) -> web.Response:
    def blobs() -> tuple[int, int]:
        try:
            with os.scandir((served.root / blob_path("0" * 64)).parent) as entries:
                sizes = [e.stat().st_size for e in entries if e.is_file() and not e.name.startswith(".")]
        except OSError:
            return 0, 0
        return len(sizes), sum(sizes)

    n_blobs, blob_bytes = await asyncio.to_thread(blobs)
    text = served.metrics.text(n_references=served.listing.n_references, n_blobs=n_blobs, blob_bytes=blob_bytes)
    return web.Response(body=text.encode(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
