"""A registry in a bucket: S3, GCS, Azure, or any other file system of fsspec.

Needs the extra `buckets` and the protocol's package.

Objects appear whole. fsspec has no conditional write, so the index is merged: read, compared with a listing of the references and
written, again and again until it no longer changes. So the last writer sees the references of all writers before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from psc.artifacts.references import (
    INDEX_PATH,
    MAX_INDEX_BYTES,
    MAX_REFERENCE_BYTES,
    Reference,
    decode_index,
    encode_index,
    is_reference_path,
)
from psc.artifacts.registry.transport import (
    ABSENT,
    PIECE_BYTES,
    BrokenOffError,
    ChangedError,
    Part,
    Patience,
    Progress,
    SmallFile,
)
from psc.errors import RegistryError, RegistryUnreachableError, needs_extra
from psc.support.forks import new_lock

_MERGES = 20


class BucketTransport:
    """The objects below an fsspec address.

    Args:
        url: as fsspec writes it: ``s3://bucket/folder``.
        patience: how long to wait, where the protocol's package takes a limit.

    Raises:
        RegistryError: fsspec has no such protocol, or its package is not installed.
        MissingExtraError: fsspec is not installed.
    """

    is_local = False

    def __init__(self, url: str, patience: Patience) -> None:
        with needs_extra("buckets"):
            import fsspec
        self._url = url.rstrip("/")
        self._patience = patience
        self._opened: tuple[Any, str] | None = None
        self._lock = new_lock()
        try:
            fsspec.get_filesystem_class(url.partition("://")[0].partition("::")[0])
        except (ValueError, ImportError) as e:
            raise RegistryError(f"{url}: cannot be opened: {e}") from e

    def _open(self) -> tuple[Any, str]:
        """The file system and the folder in it; some protocols connect here already."""
        with self._lock:
            if self._opened is None:
                import fsspec

                options: dict[str, Any] = {}
                if self._url.startswith(("s3://", "s3a://")):
                    times = {"connect_timeout": self._patience.connect, "read_timeout": self._patience.stall}
                    options["config_kwargs"] = {**times, "retries": {"max_attempts": self._patience.attempts}}
                try:
                    self._opened = fsspec.core.url_to_fs(self._url, **options)
                except Exception as e:  # every protocol's package has errors of its own
                    raise RegistryUnreachableError(f"{self._url}: cannot be opened: {_text(e)}") from e
            assert self._opened is not None
            return self._opened

    @property
    def _fs(self) -> Any:
        return self._open()[0]

    @property
    def _root(self) -> str:
        return self._open()[1]

    @property
    def url(self) -> str:
        return self._url

    def read(self, path: PurePosixPath, limit: int) -> SmallFile | None:
        try:
            data = self._fs.cat_file(self._address(path), start=0, end=limit + 1)
        except FileNotFoundError:
            return None
        except RegistryError:
            raise
        except Exception as e:
            if self._is_empty(path):  # a range of an empty object cannot be had
                return SmallFile(b"", None)
            raise self._unreachable(path, e) from e
        if len(data) > limit:
            raise RegistryError(f"{self._url}/{path}: longer than {limit:,} bytes")
        return SmallFile(data, hashlib.sha256(data).hexdigest())

    @contextmanager
    def read_blob(self, reference: Reference, offset: int, etag: str | None) -> Iterator[Part | None]:
        path = reference.blob_path
        try:
            self._fs.invalidate_cache()
            size = self._fs.size(self._address(path))
        except FileNotFoundError:
            yield None
            return
        except RegistryError:
            raise
        except Exception as e:
            raise self._unreachable(path, e) from e
        if size is not None and size != reference.size:
            raise RegistryError(f"{self._url}/{path}: {size:,} bytes, but the reference says {reference.size:,}")
        yield Part(offset, None, self._pieces(path, offset, reference.size))

    def _pieces(self, path: PurePosixPath, offset: int, size: int) -> Iterator[bytes]:
        step = 16 * PIECE_BYTES
        while offset < size:
            try:
                piece = self._fs.cat_file(self._address(path), start=offset, end=min(offset + step, size))
            except RegistryError:
                raise
            except Exception as e:
                raise BrokenOffError(f"{self._url}/{path}: cannot be read: {_text(e)}") from e
            if not piece:
                raise BrokenOffError(f"{self._url}/{path}: ended after {offset:,} of {size:,} bytes")
            offset += len(piece)
            yield piece

    def write(self, path: PurePosixPath, data: bytes, *, if_match: str | None = None) -> None:
        if if_match is not None:
            now = self.read(path, 2 * MAX_INDEX_BYTES)
            if (ABSENT if now is None else now.etag) != if_match:
                raise ChangedError(f"{self._url}/{path}: somebody else has changed it meanwhile")
        try:
            self._fs.pipe_file(self._address(path), data)
        except RegistryError:
            raise
        except Exception as e:
            raise RegistryUnreachableError(f"{self._url}/{path}: cannot be written: {_text(e)}") from e

    def write_blob(self, reference: Reference, data: bytes, progress: Progress) -> bool:
        path = reference.blob_path
        try:
            there = self._fs.exists(self._address(path)) and self._fs.cat_file(self._address(path)) == data
        except FileNotFoundError:
            there = False
        except RegistryError:
            raise
        except Exception as e:
            raise self._unreachable(path, e) from e
        if not there:
            self.write(path, data)
        progress(len(data), len(data))
        return not there

    def check_writable(self) -> None:
        pass  # only a write shows whether the bucket allows it

    def publish(self, references: Sequence[Reference]) -> None:
        origin = f"{self._url}/{INDEX_PATH}"
        for _ in range(_MERGES):
            file = self.read(INDEX_PATH, MAX_INDEX_BYTES)
            before = set(decode_index(file.data, origin=origin)) if file is not None else set()
            there = self._reference_paths()
            merged = {r for r in before if str(r.key_path) in there or str(r.name_path) in there}.union(references)
            listed = {str(path) for r in merged for path in (r.key_path, r.name_path)}
            for path in sorted(there - listed):  # others have written these, and their index may be lost to one of ours
                data = self.read(PurePosixPath(path), MAX_REFERENCE_BYTES)
                if data is not None:
                    merged.add(Reference.decode(data.data, origin=f"{self._url}/{path}"))
            if merged == before:
                return
            self.write(INDEX_PATH, encode_index(merged))
        raise RegistryError(f"{origin}: others kept changing the index; push again")

    def _reference_paths(self) -> set[str]:
        try:
            self._fs.invalidate_cache()
            names = [name for folder in ("keys", "names") for name in self._fs.find(f"{self._root}/{folder}")]
        except FileNotFoundError:
            return set()
        except RegistryError:
            raise
        except Exception as e:
            raise RegistryUnreachableError(f"{self._url}: cannot be listed: {_text(e)}") from e
        root = self._root.strip("/") + "/"
        return {path for name in names if is_reference_path(path := name.strip("/").removeprefix(root))}

    def close(self) -> None:
        pass

    def _address(self, path: PurePosixPath) -> str:
        return f"{self._root}/{path}"

    def _is_empty(self, path: PurePosixPath) -> bool:
        try:
            return bool(self._fs.size(self._address(path)) == 0)
        except Exception:
            return False

    def _unreachable(self, path: PurePosixPath, error: Exception) -> RegistryUnreachableError:
        return RegistryUnreachableError(f"{self._url}/{path}: cannot be read: {_text(error)}")


def _text(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
