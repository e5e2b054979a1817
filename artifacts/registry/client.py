"""One registry: its contents, and moving artifacts to and from it. Every answer of a registry is checked before it is used.

A reference must be the requested one, and a blob must match its reference (size, sha256, structure, input key). With required
signatures, references are taken from the signed index only. A push goes blob, key, names, index, signed index, so a reference
always refers to a complete blob, and an interrupted push has published only whole artifacts.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from urllib.parse import unquote, urlsplit

from psc.artifacts.folder import read_whole, write_whole
from psc.artifacts.references import (
    INDEX_PATH,
    MAX_INDEX_BYTES,
    MAX_REFERENCE_BYTES,
    SIGNED_INDEX_PATH,
    Reference,
    decode_index,
    key_path,
    name_path,
    parse_json,
    verified,
)
from psc.artifacts.registry.bucket_transport import BucketTransport
from psc.artifacts.registry.download import download
from psc.artifacts.registry.folder_transport import FolderTransport
from psc.artifacts.registry.http_transport import HttpTransport
from psc.artifacts.registry.signing import SignedIndex, Signer, TrustedKeys
from psc.artifacts.registry.transport import ABSENT, ChangedError, Patience, Progress, Transport, no_progress
from psc.artifacts.store import Store, default_store
from psc.errors import ArtifactError, RegistryError
from psc.support.forks import new_lock

_SIGNED_INDEX_HOLDS_S = 30.0
_SIGNING_ATTEMPTS = 20


def open_registry(
    url: str,
    *,
    token: str | None = None,
    ca_file: str | Path | None = None,
    patience: Patience | None = None,
    token_in_clear: bool = False,
    require_signature: TrustedKeys | None = None,
    memory: Path | None = None,
) -> Registry:
    """A registry; making one sends no request.

    Args:
        url: ``https://…``, ``http://…``, a folder (a path or ``file://…``), or an address of fsspec: ``s3://…``, ``gs://…``.
        token: for an HTTP registry; by default from the environment.
        ca_file: certificates to trust instead of the system's.
        patience: how long to wait.
        token_in_clear: send the token to another machine without TLS.
        require_signature: accept only references signed by one of these keys.
        memory: the folder that remembers the newest signed index seen; by default in the local store.

    Raises:
        RegistryError: the address cannot be one.
        MissingExtraError: the address is a bucket's, and fsspec is not installed.
    """
    patience = patience if patience is not None else Patience()
    scheme = url.partition("://")[0].lower() if "://" in url else ""
    transport: Transport
    if scheme in ("http", "https"):
        transport = HttpTransport(url, token=token, ca_file=ca_file, patience=patience, token_in_clear=token_in_clear)
    elif scheme == "file":
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise RegistryError(f"{url}: a folder's address has three slashes: file:///srv/psc")
        transport = FolderTransport(Path(unquote(parts.path)))
    elif scheme:
        transport = BucketTransport(url, patience)
    elif url.strip():
        transport = FolderTransport(Path(url))
    else:
        raise RegistryError("the address of a registry is empty")
    return Registry(transport, patience=patience, require_signature=require_signature, memory=memory)


class Registry:
    """A registry, from `open_registry`. May be used from several threads.

    Args:
        transport: to it.
        patience: how long to wait.
        require_signature: accept only references signed by one of these keys.
        memory: the folder that remembers the newest signed index seen.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        patience: Patience | None = None,
        require_signature: TrustedKeys | None = None,
        memory: Path | None = None,
    ) -> None:
        self._transport = transport
        self._patience = patience if patience is not None else Patience()
        self._required = require_signature
        self._memory = memory
        self._signed: tuple[float, SignedIndex] | None = None
        self._lock = new_lock()

    @property
    def url(self) -> str:
        """For messages."""
        return self._transport.url

    @property
    def is_local(self) -> bool:
        """Whether it is a folder, so never waits on a network."""
        return self._transport.is_local

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Gives back connections."""
        self._transport.close()

    def find(self, key: str) -> Reference | None:
        """The reference of an input key; None when the registry does not have it.

        Raises:
            RegistryError: what it sends is malformed, or belongs to another key.
            RegistryUnreachableError: it does not answer.
        """
        if self._required is not None:
            return self._signed_index().keys.get(key)
        reference = self._reference(key_path(key))
        if reference is not None and reference.input_key != key:
            raise RegistryError(f"{self.url}/{key_path(key)}: the reference is that of another input key, {reference.input_key}")
        return reference

    def find_named(self, grammar: str, tokenizer: str) -> Reference | None:
        """The reference of two names; see `find`."""
        path = name_path(grammar, tokenizer)
        if self._required is not None:
            return self._signed_index().names.get((grammar, tokenizer))
        reference = self._reference(path)
        if reference is not None and (reference.grammar, reference.tokenizer) != (grammar, tokenizer):
            raise RegistryError(f"{self.url}/{path}: the reference is that of {reference.grammar} and {reference.tokenizer}")
        return reference

    def references(self) -> list[Reference]:
        """All that its index lists. Raises as `find`, and RegistryError when there is no index."""
        if self._required is not None:
            return self._signed_index().references()
        return self._listed()

    def _listed(self) -> list[Reference]:
        origin = f"{self.url}/{INDEX_PATH}"
        file = self._transport.read(INDEX_PATH, MAX_INDEX_BYTES)
        if file is None:
            raise RegistryError(f"{origin}: there is no index: this is no registry, or nothing has been pushed to it")
        return decode_index(file.data, origin=origin)

    def pull(self, reference: Reference, store: Store, *, progress: Progress = no_progress) -> Reference:
        """An artifact into the local store, unless it is there; then its references.

        Args:
            reference: of this registry.
            store: the local store.
            progress: called for each piece that is downloaded.

        Raises:
            RegistryError: the registry does not have it, or something else under its name; or the store cannot be written.
            RegistryUnreachableError: the registry stopped answering; the next pull continues with the bytes received.
            ArtifactError: what it has is no artifact.
        """
        data = store.read(reference)
        if data is None:
            data = download(self._transport, reference, store, progress, self._patience)
        store.add_verified(data, reference)
        return reference

    def check_writable(self) -> None:
        """Sees whether it answers, and whether this client may push. Cost: reading the index, and a request without a body.

        Raises:
            RegistryError: it does not answer as a registry does, or refuses.
            RegistryUnreachableError: it does not answer.
        """
        if not self.is_local:
            self._transport.read(INDEX_PATH, MAX_INDEX_BYTES)
        self._transport.check_writable()

    def push(self, data: bytes, reference: Reference, *, sign: Signer | None = None, progress: Progress = no_progress) -> bool:
        """Publishes an artifact; see `push_all`. Returns whether its blob was sent: false when it was there."""
        return self.push_all([(data, reference)], sign=sign, progress=lambda _, done, total: progress(done, total)) == 1

    def push_all(
        self,
        artifacts: Iterable[tuple[bytes, Reference]],
        *,
        sign: Signer | None = None,
        progress: Callable[[Reference, int, int], None] = lambda _reference, _done, _total: None,
    ) -> int:
        """Publishes artifacts: each one's blob, then its references; then the index; then the signed index.

        Args:
            artifacts: bytes and references.
            sign: adds them to the signed index with this key.
            progress: called for each piece that is sent.

        Returns:
            The number of blobs sent; the others were there.

        Raises:
            RegistryError: an artifact is not what its reference says, or the registry refuses it; those before it are published.
            RegistryUnreachableError: the registry does not answer.
        """
        sent = 0
        pushed: list[Reference] = []
        try:
            for data, reference in artifacts:
                verified(data, reference, origin=f"{reference.grammar}/{reference.tokenizer}")

                def report(done: int, total: int, reference: Reference = reference) -> None:
                    progress(reference, done, total)

                sent += self._transport.write_blob(reference, data, report)
                self._transport.write(reference.key_path, reference.encode())
                self._transport.write(reference.name_path, reference.encode())
                pushed.append(reference)
        finally:
            if pushed:
                self._transport.publish(pushed)
        if sign is not None and pushed:
            self._sign(sign, pushed)
        return sent

    def verify(self, progress: Callable[[str, int, int], None] = lambda _what, _number, _total: None) -> list[str]:
        """Reads everything that the index lists, and reports what is damaged, missing or false. Cost: downloads every artifact.

        Raises:
            RegistryUnreachableError: the registry does not answer.
            RegistryError: there is no index, or it is malformed.
        """
        problems: list[str] = []
        listed = self.references()
        checked: dict[str, str | None] = {}
        for number, reference in enumerate(listed):
            progress(f"{reference.grammar}/{reference.tokenizer}", number, len(listed))
            if reference.digest not in checked:
                checked[reference.digest] = self._problem(lambda r=reference: self._read_verified(r))  # type: ignore[misc]
                if (wrong := checked[reference.digest]) is not None:
                    problems.append(wrong)
            for path in (reference.key_path, reference.name_path):
                wrong = self._problem(lambda p=path, r=reference: self._check_refers(p, r))  # type: ignore[misc]
                if wrong is not None and wrong not in problems:
                    problems.append(wrong)
        return problems

    def _problem(self, check: Callable[[], object]) -> str | None:
        try:
            check()
        except (RegistryError, ArtifactError) as e:
            return str(e)
        return None

    def _read_verified(self, reference: Reference) -> None:
        origin = f"{self.url}/{reference.blob_path}"
        data = bytearray()
        with self._transport.read_blob(reference, 0, None) as answer:
            if answer is None:
                raise RegistryError(f"{origin}: the index refers to it, but it is missing")
            for piece in answer.pieces:
                data += piece
        verified(bytes(data), reference, origin=origin)

    def _check_refers(self, path: PurePosixPath, reference: Reference) -> None:
        there = self._reference(path)
        if there is None:
            raise RegistryError(f"{self.url}/{path}: the index lists it, but it is missing")
        if path not in (there.key_path, there.name_path):
            raise RegistryError(f"{self.url}/{path}: the reference belongs to another place, {there.key_path}")

    def _reference(self, path: PurePosixPath) -> Reference | None:
        file = self._transport.read(path, MAX_REFERENCE_BYTES)
        return None if file is None else Reference.decode(file.data, origin=f"{self.url}/{path}")

    def _signed_index(self) -> SignedIndex:
        """The newest signed index, verified; not older than any seen here before."""
        assert self._required is not None
        with self._lock:
            if self._signed is not None and time.monotonic() - self._signed[0] < _SIGNED_INDEX_HOLDS_S:
                return self._signed[1]
            origin = f"{self.url}/{SIGNED_INDEX_PATH}"
            file = self._transport.read(SIGNED_INDEX_PATH, 2 * MAX_INDEX_BYTES)
            if file is None:
                raise RegistryError(f"{origin}: there is no signed index, and a signature is required; push with --sign")
            index, key_id = self._required.opened_by(file.data, origin=origin)
            self._remember(index, key_id, origin)
            self._signed = (time.monotonic(), index)
            return index

    def _remember(self, index: SignedIndex, key_id: str, origin: str) -> None:
        """Notes the version of an index for the registry and the key that signed it.

        An index is held against the versions that any of the keys trusted has signed: with one more key nothing is forgotten.

        Raises:
            RegistryError: a newer one was seen before.
        """
        assert self._required is not None
        folder = self._memory if self._memory is not None else default_store().root / "seen"
        address = canonical_address(self.url)
        by_set = ",".join(sorted(self._required.key_ids))  # as it was noted by earlier versions of psc
        seen = {
            path: self._seen_in(path) for path in (_seen_file(folder, address, signer) for signer in self._required.key_ids)
        } | {path: self._seen_in(path) for path in [_seen_file(folder, self.url, by_set)]}
        newest = max(seen.values())
        if index.version < newest:
            files = " and ".join(str(path) for path, version in seen.items() if version > index.version)
            raise RegistryError(
                f"{origin}: version {index.version}, but version {newest} was seen here before: an old index is played back, or "
                f"the registry was begun anew; in the latter case remove {files}"
            )
        file = _seen_file(folder, address, key_id)
        if index.version > seen[file]:
            write_whole(file, json.dumps({"registry": address, "version": index.version}).encode() + b"\n")

    def _seen_in(self, file: Path) -> int:
        """The version that a file notes; -1 where it is not there."""
        seen = read_whole(file, MAX_REFERENCE_BYTES)
        if seen is None:
            return -1
        said = parse_json(seen, str(file), MAX_REFERENCE_BYTES)
        version = said.get("version", -1) if isinstance(said, dict) else -1
        if type(version) is not int:
            raise RegistryError(f"{file}: malformed; remove it to trust {self.url} anew")
        return version

    def _sign(self, signer: Signer, pushed: Sequence[Reference]) -> None:
        """Adds to the signed index, again and again until they are in it: others may be adding at the same time."""
        origin = f"{self.url}/{SIGNED_INDEX_PATH}"
        trusted = signer.trusted.and_those_of(self._required)
        for attempt in range(_SIGNING_ATTEMPTS):
            file = self._transport.read(SIGNED_INDEX_PATH, 2 * MAX_INDEX_BYTES)
            before = SignedIndex() if file is None else trusted.open(file.data, origin=origin)
            collected = {r.digest for r in self._collected(before)}
            after = before.without(collected).with_references(pushed)
            if file is not None and after == before:
                return
            try:
                if_match = ABSENT if file is None else file.etag
                after = SignedIndex(before.version + 1, after.keys, after.names)
                self._transport.write(SIGNED_INDEX_PATH, signer.sign(after), if_match=if_match)
            except ChangedError:
                time.sleep(0.01 * 2 ** min(attempt, 6))
        raise RegistryError(f"{origin}: others kept changing the signed index; push again")

    def _collected(self, index: SignedIndex) -> list[Reference]:
        """The signed references that a garbage collection has removed. They are not signed again.

        A reference that the index does not list may still be there: while several push, the index can be older for an instant.
        """
        listed = {r.digest for r in self._listed()}
        return [r for r in index.references() if r.digest not in listed and not self._refers_to(r)]

    def _refers_to(self, reference: Reference) -> bool:
        found = (self._reference(path) for path in (reference.key_path, reference.name_path))
        return any(r is not None and r.digest == reference.digest for r in found)


def canonical_address(url: str) -> str:
    """One spelling for the ways to write an address: a folder's real path; scheme and host in lower case, no default port."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() == "file":
        path = unquote(urlsplit(url).path) if separator else url
        return f"file://{os.path.realpath(os.path.expanduser(path))}"
    host, _, path = rest.partition("/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    default = {"http": ":80", "https": ":443"}.get(scheme.lower(), "\0")
    return "/".join([f"{scheme.lower()}://{host.lower().rpartition('@')[2].removesuffix(default).removesuffix('.')}", *parts])


def _seen_file(folder: Path, address: str, signer: str) -> Path:
    return folder / f"{hashlib.sha256(f'{address} {signer}'.encode()).hexdigest()}.json"
