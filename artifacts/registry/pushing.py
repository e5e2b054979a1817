"""Taking in pushes to a served registry: everything is checked, and no file is there before it is right.

A blob is gathered in a temporary file, hashed on the way, then decoded and its tables checked in a thread; only then does it get
its name. A reference is taken only when its blob is there and is what the reference says, the signed index only when everything
that it lists is there. Two writes of one file wait for each other, so conditions (`If-Match`) are exact.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import uuid
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path, PurePosixPath
from weakref import WeakValueDictionary

from psc.artifacts.folder import flush_folder, read_whole, write_whole
from psc.artifacts.format import decode
from psc.artifacts.references import MAX_INDEX_BYTES, MAX_PAYLOAD_BYTES, MAX_REFERENCE_BYTES, Reference, blob_path
from psc.artifacts.registry.serving import Resource, Served, matches, refusal, refused_token, resource_of
from psc.artifacts.registry.signing import SignedIndex, read_envelope
from psc.errors import ArtifactError, PscError, RegistryError, needs_extra

with needs_extra("server"):
    from aiohttp import web

_PIECE_BYTES = 1 << 18
_PIECE_TAKES_S = 60.0
"""A client that does not send a piece in this time is gone."""
_CHECKS_AT_ONCE = 2
_MAX_FACTS = 4096


class _RefusedError(Exception):
    """A push that is not taken: status, cause for the metrics, words for the client."""

    def __init__(self, status: int, cause: str, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.cause = cause


class Pushes:
    """The writing half of a server."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._locks: WeakValueDictionary[PurePosixPath, asyncio.Lock] = WeakValueDictionary()
        self._checks = asyncio.Semaphore(_CHECKS_AT_ONCE)
        self._facts: OrderedDict[str, Reference] = OrderedDict()

    async def write(self, request: web.Request) -> web.StreamResponse:
        """Answers PUT."""
        served = self._served
        try:
            if not served.push_tokens:
                raise _RefusedError(403, "read only", "this registry is read-only: it was started without a token for pushing")
            refused = refused_token(request, (served.push_tokens,))
            if refused is not None:
                served.metrics.refused["token"] += 1
                return refused
            resource = resource_of(request.raw_path)
            if resource is None:
                raise _RefusedError(404, "path", "there is no such file in a registry")
            if resource.kind == "index":
                raise _RefusedError(405, "path", "the server keeps the index itself")
            try:
                return await (self._take_blob(request, resource) if resource.kind == "blob" else self._take_json(request, resource))
            except OSError as e:
                if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise
                raise _RefusedError(507, "disk full", "there is no room left on the registry's disk; nothing was kept") from e
            except RegistryError as e:
                if isinstance(e.__cause__, OSError):
                    full = e.__cause__.errno in (errno.ENOSPC, errno.EDQUOT)
                    why = "there is no room left on the registry's disk" if full else "the registry's disk cannot be written"
                    raise _RefusedError(507 if full else 500, "disk full" if full else "disk", why) from e
                raise
        except _RefusedError as e:
            served.metrics.refused[e.cause] += 1
            return refusal(e.status, str(e))

    async def _take_blob(self, request: web.Request, resource: Resource) -> web.Response:
        length = _length(request, self._served.max_blob_bytes)
        target = self._served.root / resource.path
        folder = self._served.root / "incoming"
        temporary = folder / f".tmp-{uuid.uuid4().hex}"
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        try:
            digest = await self._gather(request, temporary, length)
            if digest != resource.digest:
                raise _RefusedError(422, "digest", f"the content's sha256 is {digest}, not {resource.digest}")
            async with self._checks:
                await asyncio.to_thread(self._check, temporary, resource.digest)
            there = target.exists()
            await asyncio.to_thread(_move, temporary, target)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        return web.Response(status=200 if there else 201, headers={"ETag": f'"{resource.digest}"'})

    async def _gather(self, request: web.Request, temporary: Path, length: int) -> str:
        digest = hashlib.sha256()
        got = 0
        with temporary.open("xb") as f:
            while got < length:
                try:
                    async with asyncio.timeout(_PIECE_TAKES_S):
                        piece = await request.content.read(_PIECE_BYTES)
                except TimeoutError as e:
                    raise _RefusedError(408, "stalled", f"nothing came for {_PIECE_TAKES_S:.0f} s") from e
                if not piece:
                    raise _RefusedError(400, "cut short", f"{got} bytes came, {length} were announced")
                got += len(piece)
                self._served.metrics.received_bytes += len(piece)
                digest.update(piece)
                f.write(piece)
            f.flush()
            await asyncio.to_thread(os.fsync, f.fileno())
        return digest.hexdigest()

    def _check(self, file: Path, digest: str) -> Reference:
        """A blob's reference. Raises _RefusedError unless it is a whole artifact. Cost: reads, unpacks and checks all of it."""
        try:
            artifact = decode(file.read_bytes(), origin=f"sha256:{digest}", max_payload=MAX_PAYLOAD_BYTES)
            self._served.check(artifact)
            facts = Reference.of(artifact, grammar="any", tokenizer="any")
        except (ArtifactError, RegistryError) as e:
            raise _RefusedError(422, "not an artifact", str(e)) from e
        except MemoryError as e:
            raise _RefusedError(422, "not an artifact", "checking the artifact takes more memory than there is") from e
        self._facts[digest] = facts
        while len(self._facts) > _MAX_FACTS:
            self._facts.popitem(last=False)
        return facts

    async def _take_json(self, request: web.Request, resource: Resource) -> web.Response:
        limit = 2 * MAX_INDEX_BYTES if resource.kind == "signed index" else MAX_REFERENCE_BYTES
        length = _length(request, limit)
        data = bytearray()
        while len(data) < length:
            try:
                async with asyncio.timeout(_PIECE_TAKES_S):
                    piece = await request.content.read(length - len(data))
            except TimeoutError as e:
                raise _RefusedError(408, "stalled", f"nothing came for {_PIECE_TAKES_S:.0f} s") from e
            if not piece:
                raise _RefusedError(400, "cut short", f"{len(data)} bytes came, {length} were announced")
            data += piece
        self._served.metrics.received_bytes += len(data)
        lock = self._locks.get(resource.path) or asyncio.Lock()
        self._locks[resource.path] = lock
        async with lock:
            if resource.kind == "reference":
                blob = await self._check_reference(bytes(data), resource)
                with contextlib.suppress(OSError):
                    os.utime(blob)  # a garbage collection lets young blobs be
                answer = await self._write_if_allowed(request, resource, bytes(data))
                if not blob.is_file():
                    raise _RefusedError(409, "no blob", "the artifact was collected as garbage just now; push it again")
                return answer
            await asyncio.to_thread(self._check_signed_index, bytes(data))
            return await self._write_if_allowed(request, resource, bytes(data))

    async def _write_if_allowed(self, request: web.Request, resource: Resource, data: bytes) -> web.Response:
        target = self._served.root / resource.path
        before = await asyncio.to_thread(read_whole, target, 2 * MAX_INDEX_BYTES)
        etag = None if before is None else _etag(before)
        if_match, if_none_match = request.headers.get("If-Match"), request.headers.get("If-None-Match")
        if (if_match is not None and not matches(if_match, etag)) or (if_none_match is not None and matches(if_none_match, etag)):
            raise _RefusedError(412, "changed", "the file is not the one that was to be replaced")
        if before != data:
            await asyncio.to_thread(write_whole, target, data)
        if resource.kind == "reference":
            self._served.listing.changed()
        return web.Response(status=201 if before is None else 200, headers={"ETag": _etag(data)})

    async def _check_reference(self, data: bytes, resource: Resource) -> Path:
        """The blob that the reference describes. Raises _RefusedError unless it is here."""
        try:
            reference = Reference.decode(data, origin=str(resource.path))
        except RegistryError as e:
            raise _RefusedError(422, "not a reference", str(e)) from e
        if resource.path not in (reference.key_path, reference.name_path):
            raise _RefusedError(422, "not a reference", f"{resource.path}: the reference belongs to {reference.key_path}")
        blob = self._served.root / reference.blob_path
        if not blob.is_file():
            raise _RefusedError(409, "no blob", f"{reference.blob_path} is not here; push the artifact first")
        facts = self._facts.get(reference.digest)
        if facts is None:
            async with self._checks:
                facts = await asyncio.to_thread(self._check, blob, reference.digest)
        if replace(facts, grammar=reference.grammar, tokenizer=reference.tokenizer) != reference:
            raise _RefusedError(422, "not a reference", f"{resource.path}: the reference does not describe {reference.blob_path}")
        return blob

    def _check_signed_index(self, data: bytes) -> None:
        origin = "index.signed.json"
        try:
            payload, _ = read_envelope(data, origin=origin)
            index = SignedIndex.decode(payload, origin=origin)
        except PscError as e:
            raise _RefusedError(422, "not a signed index", str(e)) from e
        for reference in index.references():
            try:
                size = (self._served.root / blob_path(reference.digest)).stat().st_size
            except OSError:
                size = -1
            if size != reference.size or not (self._served.root / reference.key_path).is_file():
                raise _RefusedError(
                    409, "no blob", f"{origin}: {reference.grammar}/{reference.tokenizer} is not here; push it first"
                )


def _length(request: web.Request, limit: int) -> int:
    length = request.content_length
    if length is None:
        raise _RefusedError(411, "length", "a push needs a Content-Length")
    if length > limit:
        raise _RefusedError(413, "too large", f"{length:,} bytes; at most {limit:,} are taken here")
    if length == 0:
        raise _RefusedError(400, "empty", "there is nothing in the body")
    return length


def _move(temporary: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary.replace(target)
    flush_folder(target.parent)


def _etag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()}"'
