"""The local store: a registry's folder on this machine, into which artifacts are compiled and downloaded.

Several processes may read, write and collect garbage at once; nothing is locked. What makes that right: blobs and the references of
input keys never change their meaning, so writing one twice is harmless; every file appears whole; and whatever is read is checked
against its name, set aside if it is damaged, and then simply missing.

Cost: finding an artifact is one small file read; loading see `psc.artifacts.mapped`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
import uuid
import weakref
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from psc.artifacts.folder import files_in, read_whole, remove_leftovers, way_out, write_whole
from psc.artifacts.format import Artifact, decode
from psc.artifacts.mapped import mapped_path, open_mapped, write_mapped
from psc.artifacts.references import (
    INDEX_PATH,
    MAX_BLOB_BYTES,
    MAX_INDEX_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_REFERENCE_BYTES,
    Reference,
    blob_path,
    encode_index,
    key_path,
    name_path,
    verified,
)
from psc.artifacts.table_cache import collect_tables
from psc.errors import ArtifactError, RegistryError, StoreError

ENVIRONMENT = "PSC_STORE"
_USED_ANEW_S = 3600.0
_WRITER_MAY_TAKE_S = 3600.0


def default_store() -> Store:
    """The store of this user: the folder named by ``PSC_STORE``, else one in the platform's cache folder."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Store(named)
    from platformdirs import user_cache_path

    return Store(user_cache_path("psc", appauthor=False) / "store")


def temporary_store() -> Store:
    """A store in a folder of its own that is removed with the object, or when the process ends that made it.

    Raises:
        StoreError: there is no folder for temporary files.
    """
    try:
        folder = tempfile.mkdtemp(prefix="psc-")
    except OSError as e:
        raise StoreError(f"there is no folder for temporary files ({e.strerror or e}); set TMPDIR to one, or name a store") from e
    store = Store(folder)
    weakref.finalize(store, _remove_folder, folder, os.getpid())
    return store


def _remove_folder(folder: str, process: int) -> None:
    if os.getpid() == process:  # a fork's copy is none of its own
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Problem:
    """A problem that `Store.verify` reports."""

    path: Path
    what: str


@dataclass
class Collected:
    """The result of `Store.collect`."""

    references: list[Reference] = field(default_factory=list)
    blobs: int = 0
    freed_bytes: int = 0
    kept_bytes: int = 0


class Store:
    """A folder of artifacts.

    Args:
        root: the folder; made when the first artifact is added.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).expanduser()

    @property
    def others_may_write(self) -> bool:
        """Whether every user of the machine may put artifacts here: files follow the umask of who makes them."""
        try:
            return bool(self.root.stat().st_mode & stat.S_IWOTH) and self.root.is_dir()
        except OSError:
            return False

    def check_writable(self) -> None:
        """Makes the folders of artifacts and references, and writes and removes a file in each. Raises StoreError."""
        for folder in ("blobs/sha256", "keys", "names"):
            probe = self.root / folder / f".tmp-{uuid.uuid4().hex}"
            try:
                probe.parent.mkdir(parents=True, exist_ok=True)
                try:
                    probe.write_bytes(b"psc")
                finally:
                    probe.unlink(missing_ok=True)
            except OSError as e:
                raise StoreError(f"{self.root}: cannot write into the store: {e.strerror or e}{way_out(e)}") from e

    def add(self, data: bytes, *, grammar: str | None = None, tokenizer: str | None = None) -> Reference:
        """Takes in an artifact: the blob, then the references to it.

        Args:
            data: the artifact's bytes.
            grammar: its name, by default after the recorded one.
            tokenizer: in the same way.

        Raises:
            ArtifactError: the bytes are no artifact.
            RegistryError: a name cannot be one.
            StoreError: a file cannot be written; then no reference points to what is not there.
        """
        reference = Reference.of(decode(data, max_payload=MAX_PAYLOAD_BYTES), grammar=grammar, tokenizer=tokenizer)
        self.add_verified(data, reference)
        return reference

    def add_verified(self, data: bytes, reference: Reference) -> None:
        """Takes in an artifact that `verified` has accepted under this reference. Raises StoreError as `add`."""
        for attempt in (1, 2):
            self.add_blob(data, reference)
            write_whole(self.root / reference.key_path, reference.encode())
            write_whole(self.root / reference.name_path, reference.encode())
            if (self.root / reference.blob_path).exists() or attempt == 2:
                return
            # A garbage collection took the blob for unreachable just before the reference was written.

    def add_blob(self, data: bytes, reference: Reference) -> bool:
        """Takes in a verified artifact's bytes only. Returns whether they were written: false when they are there, undamaged."""
        path = self.root / reference.blob_path
        try:
            same = path.stat().st_size == len(data) and hashlib.sha256(path.read_bytes()).hexdigest() == reference.digest
        except OSError:
            same = False
        if same:
            with contextlib.suppress(OSError):
                os.utime(path)  # a garbage collection lets young blobs be
            return False
        write_whole(path, data)
        return True

    def find(self, key: str) -> Reference | None:
        """The reference of an input key, if the artifact is here.

        A damaged reference is set aside, and counts as none.

        Raises:
            RegistryError: the folder cannot be read.
        """
        reference = self._reference(self.root / key_path(key))
        if reference is None or reference.input_key != key:
            return None
        return reference

    def find_named(self, grammar: str, tokenizer: str) -> Reference | None:
        """The reference of two names; see `find`."""
        return self._reference(self.root / name_path(grammar, tokenizer))

    def named(self, grammar: str) -> list[Reference]:
        """The references of a grammar's name, for all tokenizers. Raises RegistryError as `find`."""
        folder = (self.root / name_path(grammar, "any")).parent
        return [r for path in files_in(folder, "*.json") if (r := self._reference(path)) is not None]

    def read(self, reference: Reference) -> bytes | None:
        """The bytes of an artifact, verified; None when it is not here.

        A damaged one is set aside, and counts as none.

        Raises:
            RegistryError: the folder cannot be read.
        """
        read = self._read(reference)
        return None if read is None else read[0]

    def load(self, reference: Reference) -> Artifact | None:
        """An artifact, verified; None when it is not here.

        Its arrays are mapped from an uncompressed copy, which is made when there is none; see `psc.artifacts.mapped`.

        Raises:
            RegistryError: the folder cannot be read.

        Cost: 3 ms for a programming language; 30 ms when the copy has to be made.
        """
        copy = mapped_path(self.root, reference.digest)
        artifact = open_mapped(copy, reference.digest)
        if artifact is None:
            read = self._read(reference)
            if read is None:
                return None
            artifact = read[1]
            if write_mapped(copy, artifact):
                artifact = open_mapped(copy, reference.digest) or artifact
        self.used(reference)
        return artifact

    def _read(self, reference: Reference) -> tuple[bytes, Artifact] | None:
        path = self.root / reference.blob_path
        data = read_whole(path, MAX_BLOB_BYTES)
        if data is None:
            return None
        try:
            artifact = verified(data, reference, origin=str(path))
        except (RegistryError, ArtifactError):
            self.set_aside(path)
            return None
        self.used(reference)
        return data, artifact

    def used(self, reference: Reference) -> None:
        """Notes that an artifact is in use, for garbage collection by age. Cost: a file status; a write once an hour."""
        path = self.root / reference.key_path
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _USED_ANEW_S:
                os.utime(path)

    def references(self) -> list[Reference]:
        """All references, by input key and by name, each once, sorted."""
        return sorted({r for path in self._reference_files() if (r := self._reference(path)) is not None})

    def n_reference_files(self) -> int:
        """The number of references, damaged ones included."""
        return sum(1 for _ in self._reference_files())

    def verify(self) -> list[Problem]:
        """Reads everything, and reports what is damaged, missing or false; changes nothing. Cost: reads every artifact."""
        problems: list[Problem] = []
        good: dict[str, Reference] = {}
        for path in files_in(self.root / "blobs" / "sha256", "*"):
            try:
                data = read_whole(path, MAX_BLOB_BYTES)
                if data is None:
                    continue
                if hashlib.sha256(data).hexdigest() != path.name:
                    raise RegistryError(f"{path}: the content does not have the sha256 that its name says")
                artifact = decode(data, origin=str(path), max_payload=MAX_PAYLOAD_BYTES)
                good[path.name] = Reference.of(artifact, grammar="any", tokenizer="any")
            except (RegistryError, ArtifactError) as e:
                problems.append(Problem(path, str(e)))
        damaged = {p.path.name for p in problems}
        for path in self._reference_files():
            try:
                data = read_whole(path, MAX_REFERENCE_BYTES)
                if data is None:
                    continue
                reference = Reference.decode(data, origin=str(path))
                if path not in (self.root / reference.key_path, self.root / reference.name_path):
                    raise RegistryError(f"{path}: the reference belongs to another place, {reference.key_path}")
                if reference.digest in damaged:
                    raise RegistryError(f"{path}: the artifact that it refers to is damaged")
                if reference.digest not in good:
                    raise RegistryError(f"{path}: the artifact that it refers to is missing: {reference.blob_path}")
                if replace(good[reference.digest], grammar=reference.grammar, tokenizer=reference.tokenizer) != reference:
                    raise RegistryError(f"{path}: it does not describe the artifact that it refers to")
            except RegistryError as e:
                problems.append(Problem(path, str(e)))
        return problems

    def collect(
        self,
        *,
        max_age_s: float | None = None,
        max_bytes: int | None = None,
        grace_s: float = _WRITER_MAY_TAKE_S,
        dry_run: bool = False,
    ) -> Collected:
        """Removes unneeded files: artifacts unused for long, the least recently used until the rest fits, unreachable blobs.

        Args:
            max_age_s: artifacts not used for longer go.
            max_bytes: the size of the artifacts that stay with their uncompressed copies; tables of grammars get the rest.
            grace_s: younger unreachable blobs and unfinished files stay: a reference to them may be about to be written.
            dry_run: report only, remove nothing.

        Raises:
            StoreError: a file cannot be removed.
        """
        result = Collected()
        now = time.time()
        remove = _size if dry_run else _remove
        by_digest, last_used = self._references_by_digest()
        newest_first = sorted(by_digest, key=lambda digest: -last_used.get(digest, 0.0))
        total = 0
        gone: set[str] = set()
        for digest in newest_first:
            size = by_digest[digest][0][1].size + _size(mapped_path(self.root, digest))
            too_old = max_age_s is not None and now - last_used.get(digest, 0.0) > max_age_s
            if too_old or (max_bytes is not None and total + size > max_bytes):
                for path, _ in by_digest[digest]:
                    remove(path)
                result.references += sorted({r for _, r in by_digest.pop(digest)})
                gone.add(digest)
                result.freed_bytes += remove(self.root / blob_path(digest)) + remove(mapped_path(self.root, digest))
                result.blobs += 1
            else:
                total += size
        for path in self._unreferenced(by_digest, gone, now - grace_s):
            with contextlib.suppress(FileNotFoundError):
                result.freed_bytes += remove(path)
                result.blobs += path.parent.name == "sha256"
        if not dry_run:
            result.freed_bytes += remove_leftovers(self.root, grace_s)
            if result.references and (self.root / INDEX_PATH).exists():
                self.write_index()
        freed, remaining = collect_tables(
            self.root,
            max_age_s=max_age_s,
            max_bytes=None if max_bytes is None else max(0, max_bytes - total),
            remove=remove,
        )
        result.freed_bytes += freed
        result.kept_bytes = total + remaining
        return result

    def _references_by_digest(self) -> tuple[dict[str, list[tuple[Path, Reference]]], dict[str, float]]:
        """Per blob the references to it, with their files, and when one of these files was last used."""
        by_digest: dict[str, list[tuple[Path, Reference]]] = {}
        last_used: dict[str, float] = {}
        for path in self._reference_files():
            reference = self._reference(path)
            if reference is None:
                continue
            by_digest.setdefault(reference.digest, []).append((path, reference))
            for touched in (path, self.root / reference.blob_path):
                with contextlib.suppress(OSError):
                    last_used[reference.digest] = max(last_used.get(reference.digest, 0.0), touched.stat().st_mtime)
        return by_digest, last_used

    def _unreferenced(self, staying: Collection[str], gone: Collection[str], before: float) -> Iterator[Path]:
        """Files older than `before` that belong to no artifact, and the copies of those that are gone."""
        for path in files_in(self.root / "blobs" / "sha256", "*"):
            with contextlib.suppress(FileNotFoundError):
                if path.name not in staying and path.name not in gone and path.stat().st_mtime < before:
                    yield path
        for folder in ("mapped", "damaged", "incoming"):
            for path in files_in(self.root / folder, "*"):
                digest = path.name.partition(".")[0]
                if folder == "mapped" and digest in staying:
                    continue
                with contextlib.suppress(FileNotFoundError):
                    if (folder == "mapped" and digest in gone) or path.stat().st_mtime < before:
                        yield path

    def set_aside(self, path: Path) -> None:
        """Moves a damaged file into ``damaged/``, where it can be examined."""
        origin = self.root / "damaged" / f"{path.name}.{uuid.uuid4().hex[:8]}"
        with contextlib.suppress(OSError):
            origin.parent.mkdir(parents=True, exist_ok=True)
            path.replace(origin)

    def write_index(self) -> bytes:
        """Writes ``index.json``, the list of all references, and returns it.

        Of two writers at once, the last one has listed the folder after both had added to it, or lists it again.
        """
        while True:
            listed = self.references()
            data = encode_index(listed)
            path = self.root / INDEX_PATH
            if read_whole(path, MAX_INDEX_BYTES) != data:
                write_whole(path, data)
            if self.references() == listed:
                return data

    def _reference_files(self) -> Iterable[Path]:
        yield from files_in(self.root / "keys", "*.json")
        yield from files_in(self.root / "names", "*/*.json")

    def _reference(self, path: Path) -> Reference | None:
        data = read_whole(path, MAX_REFERENCE_BYTES)
        if data is None:
            return None
        try:
            return Reference.decode(data, origin=str(path))
        except RegistryError:
            self.set_aside(path)
            return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _remove(path: Path) -> int:
    try:
        size = path.stat().st_size
        path.unlink()
    except FileNotFoundError:
        return 0
    except OSError as e:
        raise StoreError(f"{path}: cannot remove the file: {e.strerror or e}") from e
    return size
