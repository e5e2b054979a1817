"""Registries that lie or send something else: a clear error, nothing in the store, and no endless wait."""

import json
import re
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from registries import (
    IMPATIENT,
    TOKEN,
    WAITING,
    artifact,
    certificate,
    header,
    misbehaving,
    path_of,
    reference,
    respond,
    server,
)
from registry_pulls import FOUND, nothing_came, published, pull

from psc.artifacts.format import decode, encode
from psc.artifacts.registry import http_transport
from psc.artifacts.registry.access_tokens import AcceptedTokens
from psc.artifacts.registry.client import open_registry
from psc.artifacts.registry.registries import Registries
from psc.artifacts.store import Store
from psc.errors import ArtifactError, RegistryError, RegistryUnreachableError, StoreError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_the_well_behaved_one(store: Store) -> None:
    with misbehaving(published()) as url:
        assert pull(url, store, WAITING) == FOUND
    assert store.read(FOUND) == artifact() and not list((store.root / "incoming").iterdir())


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (artifact()[:-1] + bytes([artifact()[-1] ^ 1]), "sha256 is"),
        (artifact()[:-1], "announces .* but the reference says"),
        (artifact() + b"x", "announces .* but the reference says"),
    ],
    ids=["flipped", "shorter", "longer"],
)
def test_other_bytes_than_the_digest_says(store: Store, content: bytes, what: str) -> None:
    with misbehaving(published(content)) as url, pytest.raises(RegistryError, match=what):
        pull(url, store)
    assert nothing_came(store) and not [p for p in (store.root / "incoming").iterdir() if p.stat().st_size]


def test_more_bytes_than_the_reference_says_are_not_read(store: Store) -> None:
    sent = 0

    def endless(connection: socket.socket, head: bytes, _number: int) -> None:
        nonlocal sent
        if "/blobs/" not in path_of(head):
            return published()(connection, head, 0)
        respond(connection, length=False)
        while sent < 200 << 20:
            sent += connection.send(b"x" * 65536)

    with misbehaving(endless) as url, pytest.raises(RegistryError, match="more bytes than the reference says"):
        pull(url, store)
    assert sent < 100 << 20 and nothing_came(store)


@pytest.mark.parametrize("said", ["9" * 5000, "٣", "x"])
def test_a_length_that_is_no_number_is_not_believed(store: Store, said: str) -> None:
    """Python reads numbers of 4,300 digits at most."""

    def behave(connection: socket.socket, head: bytes, number: int) -> None:
        if "/blobs/" in path_of(head):
            respond(connection, artifact(), length=False, headers=(f"Content-Length: {said}",))
        else:
            respond(connection, FOUND.encode(), length=False, headers=(f"Content-Length: {said}",))

    with misbehaving(behave) as url:
        pull(url, store)
    assert store.read(FOUND) == artifact()


def test_an_endless_reference_is_not_read(store: Store) -> None:
    def endless(connection: socket.socket, head: bytes, _number: int) -> None:
        respond(connection, length=False)
        for _ in range(10_000):
            connection.sendall(b" " * 65536)

    with misbehaving(endless) as url, pytest.raises(RegistryError, match="more than 65,536 bytes"):
        pull(url, store)


def test_a_reference_of_another_key_or_name(store: Store) -> None:
    other = reference(artifact("b"))

    def lie(connection: socket.socket, _head: bytes, _number: int) -> None:
        respond(connection, other.encode())

    with misbehaving(lie) as url, open_registry(url, patience=IMPATIENT) as registry:
        with pytest.raises(RegistryError, match="that of another input key"):
            registry.find(FOUND.input_key)
        with pytest.raises(RegistryError, match="the reference is that of b and bytes"):
            registry.find_named("a", "bytes")


def test_a_reference_to_an_artifact_made_from_something_else(store: Store) -> None:
    data = artifact("b")
    lie = replace(reference(data), input_key=FOUND.input_key, grammar="a")
    with misbehaving(published(data, lie)) as url, pytest.raises(RegistryError, match="made from something else"):
        pull(url, store)
    assert nothing_came(store)


def test_a_reference_that_describes_the_artifact_wrongly(store: Store) -> None:
    lie = replace(FOUND, compiler_revision=99)
    with misbehaving(published(found=lie)) as url, pytest.raises(RegistryError, match="does not describe the artifact"):
        pull(url, store)
    assert nothing_came(store)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"[" * 50_000,
        b'{"schema": "psc.reference.v9"}',
        FOUND.encode().replace(b'"size"', b'"sice"'),
    ],
)
def test_malformed_references(content: bytes) -> None:
    def garbage(connection: socket.socket, _head: bytes, _number: int) -> None:
        respond(connection, content)

    with misbehaving(garbage) as url, open_registry(url, patience=IMPATIENT) as registry, pytest.raises(RegistryError, match=url):
        registry.find(FOUND.input_key)


@pytest.mark.parametrize("changed", ["digest", "grammar", "size"])
def test_references_with_hostile_fields(changed: str) -> None:
    content = json.loads(FOUND.encode())
    if changed == "digest":
        content["artifact"]["digest"] = "sha256:../../../etc/passwd"
    elif changed == "grammar":
        content["grammar"] = "../../x"
    else:
        content["artifact"]["size"] = 1 << 50

    def hostile(connection: socket.socket, _head: bytes, _number: int) -> None:
        respond(connection, json.dumps(content).encode())

    with misbehaving(hostile) as url, open_registry(url, patience=IMPATIENT) as registry, pytest.raises(RegistryError, match=url):
        registry.find(FOUND.input_key)


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/octet-stream"])
def test_html(store: Store, kind: str) -> None:
    page = b"<!doctype html><title>Sign in</title>"

    def portal(connection: socket.socket, _head: bytes, _number: int) -> None:
        respond(connection, page, headers=(f"Content-Type: {kind}",))

    with misbehaving(portal) as url, pytest.raises(RegistryError, match=r"HTML page.*is the address that of a registry"):
        pull(url, store)
    assert nothing_came(store)


def test_html_in_place_of_a_blob(store: Store) -> None:
    def portal(connection: socket.socket, head: bytes, _number: int) -> None:
        if "/blobs/" in path_of(head):
            respond(connection, b"<html>" + b" " * (FOUND.size - 6), headers=("Content-Type: text/html",))
        else:
            published()(connection, head, 0)

    with misbehaving(portal) as url, pytest.raises(RegistryError, match="HTML page"):
        pull(url, store)
    assert nothing_came(store)


def test_a_decompression_bomb(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psc.artifacts.references.MAX_PAYLOAD_BYTES", 8 << 20)
    small = decode(artifact())
    bomb = encode({**small.arrays, "zz": np.zeros(9 << 20, np.uint8)}, small.metadata)
    found = replace(FOUND, digest=decode(bomb).digest, size=len(bomb))
    assert len(bomb) < 1 << 20
    with misbehaving(published(bomb, found)) as url, pytest.raises(ArtifactError, match="declares a payload of"):
        pull(url, store)
    assert nothing_came(store)


def test_what_was_not_asked_for_compressed(store: Store) -> None:
    def compressed(connection: socket.socket, head: bytes, _number: int) -> None:
        assert header(head, "Accept-Encoding") == "identity"
        respond(connection, FOUND.encode(), headers=("Content-Encoding: gzip",))

    with misbehaving(compressed) as url, pytest.raises(RegistryError, match="compressed"):
        pull(url, store)


@pytest.mark.parametrize(
    "target", ["https://127.0.0.1:1/x", "ftp://127.0.0.1/x", "file:///etc/passwd", "gopher://x", "javascript:x"]
)
def test_redirects_to_another_scheme_are_not_followed(store: Store, target: str) -> None:
    def redirect(connection: socket.socket, _head: bytes, _number: int) -> None:
        respond(connection, status="302 Found", headers=(f"Location: {target}",))

    with misbehaving(redirect) as url, pytest.raises(RegistryError, match="another scheme"):
        pull(url, store)


@pytest.mark.parametrize("target", ["http://user:secret@127.0.0.1/", "http://[", "http://"])
def test_redirects_to_what_is_no_address(store: Store, target: str) -> None:
    def redirect(connection: socket.socket, _head: bytes, _number: int) -> None:
        respond(connection, status="302 Found", headers=(f"Location: {target}",))

    with misbehaving(redirect) as url, pytest.raises(RegistryError) as e:
        pull(url, store)
    assert "secret" not in str(e.value)


def test_redirects_are_followed_a_few_times(store: Store) -> None:
    def redirect(connection: socket.socket, head: bytes, _number: int) -> None:
        path = path_of(head)
        times = path.count("/again")
        if times < 5:
            respond(connection, status="307 Temporary Redirect", headers=(f"Location: {path}/again",))
        else:
            published()(connection, head.replace(b"/again", b""), 0)

    def for_ever(connection: socket.socket, head: bytes, _number: int) -> None:
        respond(connection, status="301 Moved Permanently", headers=(f"Location: {path_of(head)}/again",))

    with misbehaving(redirect) as url:
        assert pull(url, store, WAITING) == FOUND
    with misbehaving(for_ever) as url, pytest.raises(RegistryError, match="redirects more than 5 times"):
        pull(url, store)


def test_the_token_does_not_follow_a_redirect_to_another_host(store: Store) -> None:
    seen: list[tuple[str, str | None]] = []

    def target(connection: socket.socket, head: bytes, _number: int) -> None:
        seen.append(("target", header(head, "Authorization")))
        published()(connection, head, 0)

    with misbehaving(target) as other:

        def redirect(connection: socket.socket, head: bytes, _number: int) -> None:
            seen.append(("first", header(head, "Authorization")))
            respond(connection, status="302 Found", headers=(f"Location: {other}{path_of(head)}",))

        with misbehaving(redirect) as url, open_registry(url, token=TOKEN, patience=IMPATIENT) as registry:
            assert registry.find(FOUND.input_key) == FOUND
    assert seen == [("first", f"Bearer {TOKEN}"), ("target", None)]


def test_a_push_is_not_redirected() -> None:
    def redirect(connection: socket.socket, head: bytes, _number: int) -> None:
        if head.startswith(b"HEAD"):
            respond(connection, status="404 Not Found")
        else:
            respond(connection, status="307 Temporary Redirect", headers=("Location: http://127.0.0.1:1/",))

    with (
        misbehaving(redirect) as url,
        open_registry(url, token=TOKEN, patience=IMPATIENT) as registry,
        pytest.raises(RegistryError, match="redirects a push"),
    ):
        registry.push(artifact(), FOUND)


@pytest.mark.parametrize(
    "said",
    ["bytes 0-9/10", "bytes 1-{last}/{size}", "bytes 100-{last}/999999", "bytes 100-{other}/{size}", "nonsense", ""],
)
def test_another_range_than_asked_for(store: Store, said: str) -> None:
    (store.root / "incoming").mkdir(parents=True)
    (store.root / "incoming" / f"{FOUND.digest}.part").write_bytes(artifact()[:100])
    text = said.format(last=FOUND.size - 1, size=FOUND.size, other=FOUND.size - 2)

    def wrong(connection: socket.socket, head: bytes, _number: int) -> None:
        if "/blobs/" in path_of(head):
            assert header(head, "Range") == "bytes=100-"
            respond(connection, artifact()[100:], status="206 Partial Content", headers=(f"Content-Range: {text}",))
        else:
            published()(connection, head, 0)

    with misbehaving(wrong) as url, pytest.raises(RegistryError, match="psc requested bytes 100-"):
        pull(url, store)
    assert nothing_came(store)


def test_a_server_without_ranges(store: Store) -> None:
    (store.root / "incoming").mkdir(parents=True)
    (store.root / "incoming" / f"{FOUND.digest}.part").write_bytes(artifact()[:100])

    def whole(connection: socket.socket, head: bytes, _number: int) -> None:
        respond(connection, artifact()) if "/blobs/" in path_of(head) else published()(connection, head, 0)

    with misbehaving(whole) as url:
        assert pull(url, store, WAITING) == FOUND
    assert store.read(FOUND) == artifact()


def test_a_full_disk_while_pulling(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int, _data: object, _at: int) -> int:
        raise OSError(28, "No space left on device")

    with misbehaving(published()) as url:
        with monkeypatch.context() as patched:
            patched.setattr("os.pwrite", full)
            with pytest.raises(StoreError, match=r"incoming/.*: cannot write the file: No space left.*psc registry gc"):
                pull(url, store)
        assert nothing_came(store)
        assert pull(url, store, WAITING) == FOUND


@pytest.mark.parametrize(("call", "what"), [("ftruncate", "write"), ("pread", "read")])
def test_a_part_file_that_cannot_be_cut_off_or_read(store: Store, monkeypatch: pytest.MonkeyPatch, call: str, what: str) -> None:
    """Bytes of an earlier pull that are too many are cut off first."""

    def failing(*_arguments: object) -> int:
        raise OSError(5, "Input/output error")

    part = store.root / "incoming" / f"{FOUND.digest}.part"
    with misbehaving(published()) as url:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(bytes(FOUND.size + 1))
        with monkeypatch.context() as patched:
            patched.setattr(f"os.{call}", failing)
            with pytest.raises(StoreError, match=rf"incoming/.*\.part: cannot {what} the file: Input/output error"):
                pull(url, store)
        assert pull(url, store, WAITING) == FOUND


def test_a_full_disk_is_no_registrys_fault(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another registry cannot help with it, so none is asked; a folder that is a registry is not the local store."""

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        with open_registry(str(folder)) as registry:
            registry.push(artifact(), FOUND)
    with Registries(map(str, folders)) as registries, monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(StoreError, match=r"\A[^\n]*No space left[^\n]*\Z") as e:
            registries.pull(store, key=FOUND.input_key)
        assert str(store.root) in str(e.value) and registries.problems() == []
        with open_registry(str(tmp_path / "third")) as registry, pytest.raises(RegistryError, match="No space left") as pushed:
            registry.push(artifact(), FOUND)
        assert not isinstance(pushed.value, StoreError)


@pytest.mark.parametrize("token", [None, "wrong-token-0123456789", "expired-token-0123456789"])
def test_tokens_that_are_not_accepted(tmp_path: Path, token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSC_REGISTRY_TOKEN", raising=False)
    (tmp_path / "tokens").write_text("expired-token-0123456789 2001-01-01\n")
    accepted = AcceptedTokens(file=tmp_path / "tokens")
    said = {
        None: "wants a token; give it in PSC_REGISTRY_TOKEN",
        "w": "does not accept.*not known",
        "e": "does not accept.*expired on 2001",
    }
    with server(tmp_path / "registry", push=accepted, read=accepted) as url, open_registry(url, token=token) as registry:
        for ask in (lambda: registry.find(FOUND.input_key), lambda: registry.push(artifact(), FOUND)):
            with pytest.raises(RegistryError, match=said[token and token[0]]) as e:
                ask()
            assert token is None or token not in str(e.value)


def test_the_token_is_not_sent_unencrypted_to_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    def guarded(connection: socket.socket, head: bytes, _number: int) -> None:
        seen.append(header(head, "Authorization"))
        respond(connection, status="401 Unauthorized")

    monkeypatch.setattr(http_transport, "_LOOPBACK", re.compile("elsewhere"))  # as if 127.0.0.1 were another machine
    with misbehaving(guarded) as url:
        for in_clear, said in ((False, r"not sent unencrypted.*PSC_REGISTRY_TOKEN_IN_CLEAR"), (True, "does not accept")):
            with (
                open_registry(url, token=TOKEN, token_in_clear=in_clear, patience=IMPATIENT) as registry,
                pytest.raises(RegistryError, match=said),
            ):
                registry.find(FOUND.input_key)
    assert seen == [None, f"Bearer {TOKEN}"]


def test_tls_is_verified(tmp_path: Path, store: Store) -> None:
    ours, key = certificate(tmp_path)
    with server(tmp_path / "registry", certificate=ours, private_key=key) as url:
        assert url.startswith("https://")
        with open_registry(url, token=TOKEN, ca_file=ours) as registry:
            registry.push(artifact(), FOUND)
            assert registry.pull(FOUND, store) == FOUND
        with open_registry(url) as registry, pytest.raises(RegistryUnreachableError, match=r"no secure connection.*--ca-file"):
            registry.find(FOUND.input_key)
        with open_registry(url.replace("https", "http"), patience=IMPATIENT) as registry, pytest.raises(RegistryError):
            registry.find(FOUND.input_key)
    with pytest.raises(RegistryError, match="cannot read the certificates"):
        open_registry("https://127.0.0.1", ca_file=tmp_path / "absent.pem")


def test_a_lying_registry_does_not_spoil_an_honest_one(store: Store) -> None:
    flipped = bytes([artifact()[0] ^ 1]) + artifact()[1:]
    with (
        misbehaving(published(flipped)) as liar,
        misbehaving(published()) as honest,
        Registries([liar, honest], patience=IMPATIENT) as registries,
    ):
        assert registries.pull(store, key=FOUND.input_key) == FOUND
        assert ["sha256" in problem for problem in registries.problems()] == [True]
        assert registries.problems() == []
    assert store.read(FOUND) == artifact()


def test_a_proxy_of_the_environment_is_used(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def proxy(connection: socket.socket, head: bytes, _number: int) -> None:
        asked.append(path_of(head))
        published()(connection, head.replace(b"http://registry.invalid", b"", 1), 0)

    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with misbehaving(proxy) as url:
        monkeypatch.setenv("http_proxy", url)
        assert pull("http://registry.invalid", store) == FOUND
        monkeypatch.setenv("no_proxy", "registry.invalid")
        with pytest.raises(RegistryUnreachableError, match="cannot be resolved"):
            pull("http://registry.invalid", store)
    assert asked == [f"http://registry.invalid/{path}" for path in (FOUND.key_path, FOUND.blob_path)]
