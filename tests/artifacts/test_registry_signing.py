"""The signed index: what is signed is believed and nothing else, old ones are refused, and several can sign at once."""

import base64
import json
import stat
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from registries import TOKEN, artifact, put, reference, server

from psc.artifacts.registry.client import Registry, canonical_address, open_registry
from psc.artifacts.registry.registries import Registries
from psc.artifacts.registry.signing import (
    PAYLOAD_TYPE,
    SignedIndex,
    Signer,
    TrustedKeys,
    pre_authentication_encoding,
    write_key_pair,
)
from psc.artifacts.store import Store
from psc.errors import RegistryError

A, B = reference(artifact("a")), reference(artifact("b"))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    write_key_pair(tmp_path / "ours")
    return tmp_path / "ours"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "registry"


@pytest.fixture(params=["folder", "http", "memory"])
def url(request: pytest.FixtureRequest, root: Path) -> Iterator[str]:
    if request.param == "http":
        with server(root) as found:
            yield found
    elif request.param == "memory":
        pytest.importorskip("fsspec")
        yield f"memory://{uuid.uuid4().hex}"
    else:
        yield str(root)


def trusting(url: str, key: Path, memory: Path) -> Registry:
    public = key.with_name(key.name + ".pub")
    return open_registry(url, token=TOKEN, require_signature=TrustedKeys.from_files([public]), memory=memory)


def test_a_key_pair(tmp_path: Path, key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert b"PRIVATE" not in key.with_name("ours.pub").read_bytes()
    assert Signer(key).trusted.key_ids == TrustedKeys.from_files([key.with_name("ours.pub")]).key_ids
    before = key.read_bytes()
    with pytest.raises(RegistryError, match="there is such a file already"):
        write_key_pair(key)
    key.unlink()
    with pytest.raises(RegistryError, match="there is such a file already"):
        write_key_pair(key)
    assert not key.exists() and before  # neither half of a pair without the other


def test_files_that_are_no_keys(tmp_path: Path, key: Path) -> None:
    (tmp_path / "garbage").write_text("garbage")
    public = key.with_name("ours.pub")
    for file in (tmp_path / "garbage", public, tmp_path / "absent"):
        with pytest.raises(RegistryError, match=file.name):
            Signer(file)
    for file in (tmp_path / "garbage", key, tmp_path / "absent"):
        with pytest.raises(RegistryError, match=file.name):
            TrustedKeys.from_files([file])


def test_the_encoding_that_is_signed_is_that_of_the_standard() -> None:
    # The example of the DSSE specification.
    assert pre_authentication_encoding("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_only_what_is_signed_is_believed(url: str, key: Path, tmp_path: Path) -> None:
    with open_registry(url, token=TOKEN) as registry:
        registry.push(artifact("a"), A, sign=Signer(key))
        registry.push(artifact("b"), B)
        assert registry.find(B.input_key) == B
    with trusting(url, key, tmp_path / "seen") as registry:
        assert registry.find(A.input_key) == A and registry.find_named("a", "bytes") == A
        assert registry.find(B.input_key) is None and registry.find_named("b", "bytes") is None
        assert registry.references() == [A] and registry.verify() == []
        store = Store(tmp_path / "store")
        assert registry.pull(A, store) == A
    with open_registry(url, token=TOKEN) as registry:
        registry.push(artifact("b"), B, sign=Signer(key))
    with trusting(url, key, tmp_path / "seen") as registry:
        assert registry.references() == [A, B]


def test_without_a_signed_index_nothing_is_believed(url: str, key: Path, tmp_path: Path) -> None:
    with open_registry(url, token=TOKEN) as registry:
        registry.push(artifact("a"), A)
    with trusting(url, key, tmp_path / "seen") as registry, pytest.raises(RegistryError, match=r"no signed index.*--sign"):
        registry.find(A.input_key)


def test_another_key(root: Path, key: Path, tmp_path: Path) -> None:
    write_key_pair(tmp_path / "theirs")
    with open_registry(str(root)) as registry:
        registry.push(artifact("a"), A, sign=Signer(tmp_path / "theirs"))
        with pytest.raises(RegistryError, match="not that of a key required"):
            registry.push(artifact("b"), B, sign=Signer(key))
    with trusting(str(root), key, tmp_path / "seen") as registry, pytest.raises(RegistryError, match="not that of a key required"):
        registry.find(A.input_key)
    both = TrustedKeys.from_files([tmp_path / "ours.pub", tmp_path / "theirs.pub"])
    with open_registry(str(root), require_signature=both, memory=tmp_path / "seen") as registry:
        assert registry.find(A.input_key) == A
        registry.push(artifact("b"), B, sign=Signer(key))  # a new key takes over
    with trusting(str(root), key, tmp_path / "seen") as registry:
        assert registry.references() == [A, B]


def signed(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "index.signed.json").read_bytes())
    return found


@pytest.mark.parametrize("change", ["payload", "signature", "type", "no signatures", "garbage", "not base64", "key id"])
def test_a_changed_envelope(root: Path, key: Path, tmp_path: Path, change: str) -> None:
    with open_registry(str(root)) as registry:
        registry.push(artifact("a"), A, sign=Signer(key))
    envelope = signed(root)
    if change == "payload":
        lie = SignedIndex.decode(base64.b64decode(envelope["payload"]), origin="x").with_references([B])
        envelope["payload"] = base64.b64encode(lie.encode()).decode()
    elif change == "signature":
        envelope["signatures"][0]["sig"] = base64.b64encode(b"x" * 64).decode()
    elif change == "type":
        envelope["payloadType"] = "text/plain"
    elif change == "no signatures":
        envelope["signatures"] = []
    elif change == "not base64":
        envelope["payload"] = "%%%"
    elif change == "key id":
        envelope["signatures"][0]["keyid"] = "0" * 64
    (root / "index.signed.json").write_text("<html>" if change == "garbage" else json.dumps(envelope))
    with trusting(str(root), key, tmp_path / "seen") as registry, pytest.raises(RegistryError, match=r"index\.signed\.json"):
        registry.find(A.input_key)


def test_a_signature_without_a_key_id_is_tried(root: Path, key: Path, tmp_path: Path) -> None:
    with open_registry(str(root)) as registry:
        registry.push(artifact("a"), A, sign=Signer(key))
    envelope = signed(root)
    del envelope["signatures"][0]["keyid"]
    (root / "index.signed.json").write_text(json.dumps(envelope))
    with trusting(str(root), key, tmp_path / "seen") as registry:
        assert registry.find(A.input_key) == A


def test_an_old_index_is_not_played_back(root: Path, key: Path, tmp_path: Path) -> None:
    with open_registry(str(root)) as registry:
        registry.push(artifact("a"), A, sign=Signer(key))
        old = (root / "index.signed.json").read_bytes()
        registry.push(artifact("b"), B, sign=Signer(key))
    with trusting(str(root), key, tmp_path / "seen") as registry:
        assert registry.find(B.input_key) == B
    (root / "index.signed.json").write_bytes(old)
    with (
        trusting(str(root), key, tmp_path / "seen") as registry,
        pytest.raises(RegistryError, match="version 1, but version 2 was seen"),
    ):
        registry.find(A.input_key)
    with trusting(str(root), key, tmp_path / "elsewhere") as registry:  # whoever has not seen the newer one cannot know
        assert registry.find(A.input_key) == A


SPELLINGS = [
    *("{root}", "{root}/", "{root}/.", "file://{root}", "file://localhost{root}"),
    *("{parent}/link", "registry", "./registry", "x/../registry"),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("keys", ["the same", "one more", "another order", "one more that signed nothing, first"])
def test_an_old_index_under_another_spelling_or_with_more_keys(
    root: Path, key: Path, tmp_path: Path, spelling: str, keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version is remembered for the registry and the key, not for the way in which both are given."""
    write_key_pair(tmp_path / "theirs")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(root)
    ours, theirs = tmp_path / "ours.pub", tmp_path / "theirs.pub"
    with open_registry(str(root)) as registry:
        registry.push(artifact("a"), A, sign=Signer(key))
        old = (root / "index.signed.json").read_bytes()
        registry.push(artifact("b"), B, sign=Signer(key))

    def reader(address: str, *files: Path) -> Registry:
        return open_registry(address, require_signature=TrustedKeys.from_files(files), memory=tmp_path / "seen")

    before = (ours, theirs) if keys == "another order" else (ours,)
    now = {"the same": (ours,), "one more": (ours, theirs), "another order": (theirs, ours)}.get(keys, (theirs, ours))
    with reader(str(root), *before) as registry:
        assert registry.find(B.input_key) == B
    address = spelling.format(root=root, parent=tmp_path)
    with reader(address, *now) as registry:
        assert registry.find(B.input_key) == B
    (root / "index.signed.json").write_bytes(old)
    for trusted in (before, now):
        with reader(address, *trusted) as registry, pytest.raises(RegistryError, match="version 1, but version 2 was seen"):
            registry.find(A.input_key)
    with reader(address, theirs) as registry, pytest.raises(RegistryError, match="not that of a key required"):
        registry.find(A.input_key)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://Host.example/r", "HTTPS://host.EXAMPLE:443/r/"),
        ("http://host/r", "http://host:80//r/./"),
        ("http://host", "http://host./"),
        ("s3://bucket/a/b", "S3://bucket/a//b/"),
        ("/srv/psc", "file:///srv/psc/"),
        ("/srv/a b", "file:///srv/a%20b"),
    ],
)
def test_spellings_of_one_address(one: str, other: str) -> None:
    assert canonical_address(one) == canonical_address(other)


def test_addresses_that_differ() -> None:
    of_host = ["http://host/r", "https://host/r", "http://host:81/r", "http://host/R", "http://host/r/s", "http://hosts/r"]
    assert len({canonical_address(address) for address in (*of_host, "/r", "/s")}) == len(of_host) + 2


@pytest.mark.parametrize("value", [":", "::", " ", " : ", "\n"])
def test_a_demand_that_names_no_key(value: str, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.setenv("PSC_REGISTRY_REQUIRE_SIGNATURE", value)
    with pytest.raises(RegistryError, match="names no file of a public key"):
        Registries([str(root)])


def test_a_lying_blob_is_found_out_with_signatures_too(root: Path, key: Path, tmp_path: Path) -> None:
    with open_registry(str(root)) as registry:
        registry.push(artifact("a"), A, sign=Signer(key))
    (root / A.blob_path).write_bytes(b"x" * A.size)
    with trusting(str(root), key, tmp_path / "seen") as registry, pytest.raises(RegistryError, match="sha256"):
        registry.pull(A, Store(tmp_path / "store"))


def test_what_was_collected_is_not_signed_again(root: Path, key: Path) -> None:
    with open_registry(str(root)) as registry:
        registry.push(artifact("a"), A, sign=Signer(key))
        for path in (A.key_path, A.name_path, A.blob_path):
            (root / path).unlink()
        registry.push(artifact("b"), B, sign=Signer(key))
    index = Signer(key).trusted.open((root / "index.signed.json").read_bytes(), origin="x")
    assert index.references() == [B] and index.version == 2


def test_an_index_that_is_older_for_an_instant_takes_no_signature_away(
    url: str, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_registry(url, token=TOKEN) as registry:
        registry.push(artifact("a"), A, sign=Signer(key))
        monkeypatch.setattr(registry, "_listed", lambda: [B])  # as another that pushes B has written it, before A was there
        registry.push(artifact("b"), B, sign=Signer(key))
        index = Signer(key).trusted.open(_signed_bytes(registry), origin="x")
    assert index.references() == [A, B] and index.version == 2


def test_several_sign_at_once(url: str, key: Path) -> None:
    words = "abcdef"
    found = [reference(artifact(word)) for word in words]
    failed: list[BaseException] = []

    def push(word: str) -> None:
        try:
            with open_registry(url, token=TOKEN) as registry:
                registry.push(artifact(word), reference(artifact(word)), sign=Signer(key))
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=push, args=(word,)) for word in words]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    if not url.startswith("memory"):  # fsspec has no conditional write, so in a bucket one signature may overwrite another
        with open_registry(url, token=TOKEN) as registry:
            signed_now = Signer(key).trusted.open(_signed_bytes(registry), origin="x")
        assert signed_now.references() == found and signed_now.version == len(words)


def _signed_bytes(registry: Registry) -> bytes:
    from psc.artifacts.references import SIGNED_INDEX_PATH

    found = registry._transport.read(SIGNED_INDEX_PATH, 1 << 20)
    assert found is not None
    return found.data


def test_the_server_takes_no_nonsense(root: Path, key: Path) -> None:
    signer = Signer(key)
    with server(root) as url, open_registry(url, token=TOKEN) as registry:
        registry.push(artifact("a"), A)
        assert put(url, "index.signed.json", b"{}").status == 422
        assert put(url, "index.signed.json", signer.sign(SignedIndex().with_references([A, B]))).status == 409
        gone = SignedIndex().with_references([replace(A, size=A.size + 1)])
        assert put(url, "index.signed.json", signer.sign(gone)).status == 409
        first = put(url, "index.signed.json", signer.sign(SignedIndex().with_references([A])), If_None_Match="*")
        assert first.status == 201
        assert put(url, "index.signed.json", signer.sign(SignedIndex(5).with_references([A])), If_Match='"other"').status == 412
        assert (
            put(url, "index.signed.json", signer.sign(SignedIndex(5).with_references([A])), If_Match=first.headers["etag"]).status
            == 200
        )


def test_a_payload_lists_nothing_twice(key: Path) -> None:
    content = json.loads(SignedIndex().with_references([A]).encode())
    content["keys"] *= 2
    with pytest.raises(RegistryError, match="twice"):
        SignedIndex.decode(json.dumps(content).encode(), origin="x")
    for bad in ({"schema": "other"}, {}, [], {**content, "version": "1"}, {**content, "version": -1}, {**content, "keys": {}}):
        with pytest.raises(RegistryError, match=r"^x: "):
            SignedIndex.decode(json.dumps(bad).encode(), origin="x")


def test_the_documented_payload_type() -> None:
    page = (Path(__file__).parents[2] / "docs" / "registry-protocol.md").read_text()
    assert PAYLOAD_TYPE in page
