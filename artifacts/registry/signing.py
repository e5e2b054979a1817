"""Ed25519 signatures over the index, so that neither a registry nor a proxy need be trusted. Needs the extra `signing`.

The signed index is a DSSE envelope (Dead Simple Signing Envelope, secure-systems-lab/dsse, protocol version 1) in one file, so
that content and signature cannot fall apart. Its payload lists the artifact of each input key and of each pair of names, and counts
up: a client that has seen version 7 refuses version 6, so an old index cannot be replayed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psc.artifacts.references import MAX_INDEX_BYTES, Reference, parse_json
from psc.errors import RegistryError, needs_extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PAYLOAD_TYPE = "application/vnd.psc.signed-index.v1+json"
SCHEMA = "psc.signed-index.v1"


@dataclass(frozen=True)
class SignedIndex:
    """The signed content."""

    version: int = 0
    """Counts up with every change."""
    keys: Mapping[str, Reference] = field(default_factory=dict)
    """By input key."""
    names: Mapping[tuple[str, str], Reference] = field(default_factory=dict)
    """By names of grammar and tokenizer."""

    def with_references(self, references: Iterable[Reference]) -> SignedIndex:
        """With these too, and the next version; the same when all of them are in it."""
        added = list(references)
        keys = {**self.keys, **{r.input_key: r for r in added}}
        names = {**self.names, **{(r.grammar, r.tokenizer): r for r in added}}
        if keys == self.keys and names == self.names:
            return self
        return SignedIndex(self.version + 1, keys, names)

    def without(self, gone: Iterable[str]) -> SignedIndex:
        """Without the blobs of these digests; the version stays."""
        absent = set(gone)
        return SignedIndex(
            self.version,
            {k: r for k, r in self.keys.items() if r.digest not in absent},
            {k: r for k, r in self.names.items() if r.digest not in absent},
        )

    def references(self) -> list[Reference]:
        """All of them, each once, sorted."""
        return sorted({*self.keys.values(), *self.names.values()})

    def encode(self) -> bytes:
        """The payload's bytes: the same for the same content."""
        content = {
            "schema": SCHEMA,
            "version": self.version,
            "keys": [r.to_json() for _, r in sorted(self.keys.items())],
            "names": [r.to_json() for _, r in sorted(self.names.items())],
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, data: bytes, *, origin: str) -> SignedIndex:
        """Reads a payload's bytes. Raises RegistryError with the origin and the error."""
        payload = parse_json(data, origin, MAX_INDEX_BYTES)
        try:
            if payload["schema"] != SCHEMA:
                raise RegistryError(f"{origin}: a signed index of schema {payload['schema']!r}; this psc reads {SCHEMA}")
            version, keys, names = payload["version"], payload["keys"], payload["names"]
            if type(version) is not int or version < 0 or not isinstance(keys, list) or not isinstance(names, list):
                raise TypeError("version, keys or names")
        except (KeyError, TypeError) as e:
            raise RegistryError(f"{origin}: not a signed index: {type(e).__name__} {e}") from e
        by_key = [Reference.from_json(r, origin=f"{origin}: keys, {i}") for i, r in enumerate(keys)]
        by_name = [Reference.from_json(r, origin=f"{origin}: names, {i}") for i, r in enumerate(names)]
        result = cls(version, {r.input_key: r for r in by_key}, {(r.grammar, r.tokenizer): r for r in by_name})
        if len(result.keys) != len(by_key) or len(result.names) != len(by_name):
            raise RegistryError(f"{origin}: lists an input key, or a pair of names, twice")
        return result


class Signer:
    """A private key. Raises RegistryError when the file holds none."""

    def __init__(self, file: str | Path) -> None:
        with needs_extra("signing"):
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
            from cryptography.hazmat.primitives.serialization import load_pem_private_key
        try:
            key = load_pem_private_key(Path(file).read_bytes(), None)
        except OSError as e:
            raise RegistryError(f"{file}: cannot read the key: {e.strerror or e}") from e
        except (ValueError, TypeError) as e:
            raise RegistryError(f"{file}: not a private key in PEM without a password; psc registry keygen makes one") from e
        if not isinstance(key, Ed25519PrivateKey):
            raise RegistryError(f"{file}: not an Ed25519 key; psc registry keygen makes one")
        self._key: Ed25519PrivateKey = key
        self.trusted = TrustedKeys([key.public_key()])

    def sign(self, index: SignedIndex) -> bytes:
        """The envelope's bytes."""
        payload = index.encode()
        signature = self._key.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
        envelope = {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"keyid": self.trusted.key_ids[0], "sig": base64.b64encode(signature).decode()}],
        }
        return json.dumps(envelope, sort_keys=True, indent=1).encode() + b"\n"


class TrustedKeys:
    """Public keys, any one of which may have signed."""

    def __init__(self, keys: Sequence[Ed25519PublicKey]) -> None:
        self._keys = {_key_id(key): key for key in keys}

    @classmethod
    def from_files(cls, files: Iterable[str | Path]) -> TrustedKeys:
        """Reads PEM files. Raises RegistryError when one does not hold an Ed25519 public key."""
        with needs_extra("signing"):
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
            from cryptography.hazmat.primitives.serialization import load_pem_public_key
        keys = []
        for file in files:
            try:
                key = load_pem_public_key(Path(file).read_bytes())
            except OSError as e:
                raise RegistryError(f"{file}: cannot read the key: {e.strerror or e}") from e
            except ValueError as e:
                raise RegistryError(f"{file}: not a public key in PEM; psc registry keygen makes one") from e
            if not isinstance(key, Ed25519PublicKey):
                raise RegistryError(f"{file}: not an Ed25519 key")
            keys.append(key)
        return cls(keys)

    @property
    def key_ids(self) -> list[str]:
        """sha256, in hex, of each key's 32 bytes."""
        return list(self._keys)

    def and_those_of(self, other: TrustedKeys | None) -> TrustedKeys:
        """Both."""
        return self if other is None else TrustedKeys([*self._keys.values(), *other._keys.values()])

    def open(self, data: bytes, *, origin: str) -> SignedIndex:
        """The signed content of an envelope. Raises RegistryError as `opened_by`."""
        return self.opened_by(data, origin=origin)[0]

    def opened_by(self, data: bytes, *, origin: str) -> tuple[SignedIndex, str]:
        """The signed content of an envelope, and the id of the key that signed it.

        Raises:
            RegistryError: it is malformed, or none of these keys has signed it.
        """
        from cryptography.exceptions import InvalidSignature

        payload, signatures = read_envelope(data, origin=origin)
        message = pre_authentication_encoding(PAYLOAD_TYPE, payload)
        for key_id, key in self._keys.items():
            for said_id, signature in signatures:
                if said_id in ("", key_id):  # the id is a hint, which a signer may leave out
                    try:
                        key.verify(signature, message)
                    except InvalidSignature:
                        continue
                    return SignedIndex.decode(payload, origin=origin), key_id
        said = ", ".join(i[:12] + "…" for i, _ in signatures) or "nobody"
        raise RegistryError(f"{origin}: the signature is not that of a key required (signed by {said})")


def read_envelope(data: bytes, *, origin: str) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Payload and signatures of an envelope, not verified. Raises RegistryError when it is malformed."""
    envelope = parse_json(data, origin, 2 * MAX_INDEX_BYTES)
    try:
        if envelope["payloadType"] != PAYLOAD_TYPE:
            raise RegistryError(f"{origin}: signed content of type {envelope['payloadType']!r}; this psc reads {PAYLOAD_TYPE}")
        payload = _from_base64(envelope["payload"])
        signatures = [(_text(s.get("keyid", "")), _from_base64(s["sig"])) for s in envelope["signatures"]]
    except (KeyError, TypeError, AttributeError, binascii.Error, ValueError) as e:
        raise RegistryError(f"{origin}: not a signed index: {type(e).__name__} {e}") from e
    return payload, signatures


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """The bytes that a signature covers: DSSE's PAE, in which no two (type, payload) look alike."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def write_key_pair(private: Path) -> tuple[Path, str]:
    """Makes a key pair: the private key, readable by its owner only, and beside it ``NAME.pub``.

    Returns:
        The public key's file, and the key's id.

    Raises:
        RegistryError: a file is there, or cannot be written.
    """
    with needs_extra("signing"):
        from cryptography.hazmat.primitives import serialization as s
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    key = Ed25519PrivateKey.generate()
    public = private.with_name(private.name + ".pub")
    secret = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    opened = key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    written: list[Path] = []
    try:
        for path, data, mode in ((private, secret, 0o600), (public, opened, 0o644)):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            written.append(path)
            with os.fdopen(descriptor, "wb") as f:
                f.write(data)
                f.flush()
                os.fsync(f.fileno())
    except OSError as e:
        for path in written:
            path.unlink(missing_ok=True)
        why = "there is such a file already" if isinstance(e, FileExistsError) else e.strerror or e
        raise RegistryError(f"{e.filename or private}: cannot write the key: {why}") from e
    return public, _key_id(key.public_key())


def _key_id(key: Ed25519PublicKey) -> str:
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


def _from_base64(text: Any) -> bytes:
    return base64.b64decode(_text(text), validate=True)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
