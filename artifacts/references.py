"""References: small JSON files that say which blob is the artifact of an input key, or of a grammar's and a tokenizer's name.

A registry, and the local store, is a folder, after the image layout of the Open Container Initiative::

    blobs/sha256/<digest>              artifacts, named by their content
    keys/<input key>.json              a reference: what was compiled from exactly these inputs
    names/<grammar>/<tokenizer>.json   a reference: what has these names now
    index.json                         all references, for readers of servers that cannot list a folder

Blobs and keys never change their meaning; a name may be pointed to another artifact. Everything is written whole or not at all, and
checked against its name when read, so any static file server or bucket that has these files is a registry.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from psc.artifacts.format import Artifact, decode
from psc.artifacts.input_key import input_key_of
from psc.errors import RegistryError
from psc.support.limits import limit
from psc.support.readable import shortened
from psc.support.serialization import bounded_json

SCHEMA = "psc.reference.v1"
MAX_REFERENCE_BYTES = limit("registry_reference_bytes")
MAX_BLOB_BYTES = limit("registry_blob_bytes")
"""Larger ones are refused unread: no artifact comes near it."""
MAX_PAYLOAD_BYTES = limit("registry_payload_bytes")
"""The limit of an artifact's decompressed size: a bound on the memory that a hostile registry can take."""
INDEX_PATH = PurePosixPath("index.json")
SIGNED_INDEX_PATH = PurePosixPath("index.signed.json")
INDEX_SCHEMA = "psc.index.v1"
MAX_INDEX_BYTES = limit("registry_index_bytes")

_SUFFIXES = (".lark", ".ebnf", ".gbnf", ".g4", ".psc", ".zst", ".json", ".model", ".tiktoken", ".gz")
"""Left out of names, in this order. They are a part of the layout: hosts of another version, with other front ends, have to give a
file the same name. tests/compiler/frontends/test_front_ends.py fails if the suffix of a front end is missing here."""

_HEX = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@=-]{0,99}")
_REFERENCE_PATH = re.compile(rf"keys/{_HEX.pattern}\.json|names/{_NAME.pattern}/{_NAME.pattern}\.json")


@dataclass(frozen=True, order=True)
class Reference:
    """The blob of an artifact, and its inputs."""

    grammar: str
    """The grammar's name, as people say it: `java`."""
    tokenizer: str
    """The tokenizer's name, as people say it: `qwen3`."""
    input_key: str
    digest: str
    """sha256 of the artifact's bytes, in hex."""
    size: int
    """Bytes of the artifact."""
    fingerprint: str
    """Of the vocabulary."""
    compiler_revision: int
    format_version: int

    def __post_init__(self) -> None:
        check_name(self.grammar, "grammar")
        check_name(self.tokenizer, "tokenizer")
        check_digest(self.input_key, "input key")
        check_digest(self.digest, "digest")
        check_digest(self.fingerprint, "fingerprint")
        if not 0 < self.size <= MAX_BLOB_BYTES:
            raise RegistryError(f"a reference with a size of {self.size} bytes; an artifact has at most {MAX_BLOB_BYTES:,}")

    @property
    def blob_path(self) -> PurePosixPath:
        return blob_path(self.digest)

    @property
    def key_path(self) -> PurePosixPath:
        return key_path(self.input_key)

    @property
    def name_path(self) -> PurePosixPath:
        return name_path(self.grammar, self.tokenizer)

    def to_json(self) -> dict[str, Any]:
        """As JSON-like data; see docs/registry-protocol.md."""
        return {
            "schema": SCHEMA,
            "artifact": {"digest": f"sha256:{self.digest}", "size": self.size, "format": self.format_version},
            "input_key": self.input_key,
            "compiler_revision": self.compiler_revision,
            "grammar": self.grammar,
            "tokenizer": {"name": self.tokenizer, "fingerprint": self.fingerprint},
        }

    def encode(self) -> bytes:
        """The file's bytes: the same for the same reference."""
        return json.dumps(self.to_json(), sort_keys=True, indent=1).encode() + b"\n"

    @classmethod
    def from_json(cls, data: Any, *, origin: str) -> Reference:
        """Reads JSON-like data. Raises RegistryError with the origin and the error."""
        try:
            if data["schema"] != SCHEMA:
                raise RegistryError(f"{origin}: a reference of schema {data['schema']!r}; this psc reads {SCHEMA}")
            algorithm, _, digest = str(data["artifact"]["digest"]).partition(":")
            if algorithm != "sha256":
                raise RegistryError(f"{origin}: a digest by {algorithm!r}; this psc knows sha256")
            return cls(
                grammar=_of_type(str, data["grammar"]),
                tokenizer=_of_type(str, data["tokenizer"]["name"]),
                input_key=_of_type(str, data["input_key"]),
                digest=digest,
                size=_of_type(int, data["artifact"]["size"]),
                fingerprint=_of_type(str, data["tokenizer"]["fingerprint"]),
                compiler_revision=_of_type(int, data["compiler_revision"]),
                format_version=_of_type(int, data["artifact"]["format"]),
            )
        except RegistryError as e:
            raise e if str(e).startswith(origin) else RegistryError(f"{origin}: {e}") from e
        except (KeyError, TypeError, IndexError) as e:
            raise RegistryError(f"{origin}: not a reference to an artifact: {type(e).__name__} {e}") from e

    @classmethod
    def decode(cls, data: bytes, *, origin: str) -> Reference:
        """Reads a file's bytes. Raises RegistryError with the origin and the error."""
        return cls.from_json(parse_json(data, origin, MAX_REFERENCE_BYTES), origin=origin)

    @classmethod
    def of(cls, artifact: Artifact, *, grammar: str | None = None, tokenizer: str | None = None) -> Reference:
        """The reference to an artifact.

        Args:
            artifact: decoded, so verified.
            grammar: its name; by default the recorded one without folder and suffix.
            tokenizer: its name; by default the recorded one.

        Raises:
            RegistryError: a name cannot be part of a path.
            ArtifactError: the metadata do not say what the artifact was made from.
        """
        metadata: Mapping[str, Any] = artifact.metadata
        key = input_key_of(metadata)
        return cls(
            grammar=grammar if grammar is not None else short_name(str(metadata["grammar"].get("name", ""))),
            tokenizer=tokenizer if tokenizer is not None else short_name(str(metadata["tokenizer"].get("name", ""))),
            input_key=key,
            digest=artifact.digest,
            size=artifact.size,
            fingerprint=str(metadata["tokenizer"]["fingerprint"]),
            compiler_revision=int(metadata["compiler_revision"]),
            format_version=artifact.version,
        )


def blob_path(digest: str) -> PurePosixPath:
    """The path of a blob in a registry. Raises RegistryError unless the digest is a sha256 in hex."""
    return PurePosixPath("blobs", "sha256", check_digest(digest, "digest"))


def key_path(key: str) -> PurePosixPath:
    """The path of an input key's reference. Raises RegistryError unless it is a sha256 in hex."""
    return PurePosixPath("keys", check_digest(key, "input key") + ".json")


def name_path(grammar: str, tokenizer: str) -> PurePosixPath:
    """The path of two names' reference. Raises RegistryError unless they can be part of a path."""
    return PurePosixPath("names", check_name(grammar, "grammar"), check_name(tokenizer, "tokenizer") + ".json")


def is_reference_path(path: str) -> bool:
    """Whether this is the path of a reference in a registry, by input key or by names."""
    return _REFERENCE_PATH.fullmatch(path) is not None


def check_name(name: str, what: str) -> str:
    """The name. Raises RegistryError unless it can be part of a path and a URL."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RegistryError(
            f"{name!r} cannot be the name of a {what}: at most 100 letters, digits and . _ + @ = -, first a letter or digit"
        )
    return name


def check_digest(digest: str, what: str) -> str:
    """The digest. Raises RegistryError unless it is 64 hexadecimal digits, in lower case."""
    if not isinstance(digest, str) or not _HEX.fullmatch(digest):
        raise RegistryError(f"{digest!r} is no {what}: that is 64 hexadecimal digits")
    return digest


def short_name(label: str) -> str:
    """The name in a registry of a grammar or tokenizer recorded as ``label``, perhaps a path."""
    name = label.replace("\\", "/").rstrip("/").rpartition("/")[2]
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    name = re.sub(r"[^A-Za-z0-9._+@=-]", "-", name).lstrip("._+@=-")[:100]
    return name or "unnamed"


def parse_json(data: bytes, origin: str, limit: int) -> Any:
    """JSON from somewhere not trusted. Raises RegistryError when it is too long or no JSON."""
    if len(data) > limit:
        raise RegistryError(f"{origin}: {len(data):,} bytes, where at most {limit:,} are expected")
    try:
        return bounded_json(data)
    except (ValueError, RecursionError) as e:
        looks_like = " It looks like an HTML page: is the address that of a registry?" if data.lstrip()[:1] == b"<" else ""
        raise RegistryError(f"{origin}: not JSON that psc reads: {shortened(str(e))}.{looks_like}") from e


def verified(data: bytes, reference: Reference, *, origin: str) -> Artifact:
    """The artifact in a blob's bytes, as a reference promises it.

    Raises:
        RegistryError: size, digest, input key or another thing that the reference says are not the artifact's.
        ArtifactError: the bytes are no artifact of this format, or it is larger than `MAX_PAYLOAD_BYTES`.
    """
    if len(data) != reference.size:
        raise RegistryError(f"{origin}: {len(data):,} bytes, but the reference says {reference.size:,}")
    digest = hashlib.sha256(data).hexdigest()
    if digest != reference.digest:
        raise RegistryError(f"{origin}: the content's sha256 is {digest}, but the reference says {reference.digest}")
    artifact = decode(data, origin=origin, max_payload=MAX_PAYLOAD_BYTES)
    check_agrees(artifact, reference, origin=origin)
    return artifact


def check_agrees(artifact: Artifact, reference: Reference, *, origin: str) -> None:
    """Raises RegistryError unless the artifact matches the reference; its names are free."""
    actual = Reference.of(artifact, grammar=reference.grammar, tokenizer=reference.tokenizer)
    if actual.input_key != reference.input_key:
        raise RegistryError(f"{origin}: the artifact was made from something else than input key {reference.input_key}")
    if actual != reference:
        raise RegistryError(
            f"{origin}: the reference does not describe the artifact: size, digest, fingerprint, compiler revision or format differ"
        )


def encode_index(references: Iterable[Reference]) -> bytes:
    """The index file's bytes: the same for the same references."""
    content = {"schema": INDEX_SCHEMA, "references": [r.to_json() for r in sorted(set(references))]}
    return json.dumps(content, sort_keys=True, indent=1).encode() + b"\n"


def decode_index(data: bytes, *, origin: str) -> list[Reference]:
    """Reads an index file's bytes. Raises RegistryError with the origin and the error."""
    index = parse_json(data, origin, MAX_INDEX_BYTES)
    if not isinstance(index, dict) or index.get("schema") != INDEX_SCHEMA or not isinstance(index.get("references"), list):
        raise RegistryError(f"{origin}: not an index of schema {INDEX_SCHEMA}")
    return [Reference.from_json(r, origin=f"{origin}: reference {i}") for i, r in enumerate(index["references"])]


def _of_type(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value
