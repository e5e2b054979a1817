"""Registries of every kind that behave: what is pushed is found, listed, pulled and verified; and lists of them."""

import functools
import hashlib
import http.server
import json
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from registries import IMPATIENT, TOKEN, artifact, large_artifact, misbehaving, reference, respond, server

from psc.artifacts.input_key import input_key
from psc.artifacts.references import Reference, decode_index, encode_index
from psc.artifacts.registry.access_tokens import token_for
from psc.artifacts.registry.client import open_registry
from psc.artifacts.registry.registries import Registries
from psc.artifacts.store import Store
from psc.errors import RegistryError, RegistryNotFoundError

KINDS = ["http", "path", "file", "memory"]


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A registry of each kind, empty."""
    root = tmp_path / "registry with a space"
    if request.param == "http":
        with server(root) as found:
            yield found
    elif request.param == "memory":
        pytest.importorskip("fsspec")
        yield f"memory://{uuid.uuid4().hex}/folder"
    else:
        yield root.as_uri() if request.param == "file" else str(root)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_what_is_pushed_is_found_listed_pulled_and_verified(url: str, store: Store) -> None:
    data = [artifact("a"), large_artifact()]
    found = [reference(d) for d in data]
    with open_registry(url, token=TOKEN) as registry:
        seen: list[tuple[str, int, int]] = []
        sent = registry.push_all(
            zip(data, found, strict=True), progress=lambda r, done, total: seen.append((r.grammar, done, total))
        )
        assert sent == 2 and ("large", len(data[1]), len(data[1])) in seen
        assert registry.push_all(zip(data, found, strict=True)) == 0
        assert registry.references() == sorted(found)
        assert registry.verify() == []
        for one, content in zip(found, data, strict=True):
            assert registry.find(one.input_key) == one
            assert registry.find_named(one.grammar, one.tokenizer) == one
            moved: list[int] = []
            assert registry.pull(one, store, progress=lambda done, _total, moved=moved: moved.append(done)) == one  # type: ignore[misc]
            assert moved[-1] == len(content) and moved == sorted(moved)
            assert store.read(one) == content
        assert registry.find("0" * 64) is None
        assert registry.find_named("nothing", "bytes") is None
    assert store.references() == sorted(found) and store.verify() == []


def test_what_is_in_the_store_is_not_downloaded_again(url: str, store: Store) -> None:
    found = reference(artifact())
    with open_registry(url, token=TOKEN) as registry:
        registry.push(artifact(), found)
        store.add(artifact())
        registry.pull(found, store, progress=lambda _done, _total: pytest.fail("downloads"))
        (store.root / found.blob_path).write_bytes(b"damaged")
        registry.pull(found, store)
    assert store.read(found) == artifact()


def test_a_name_can_be_published_anew(url: str) -> None:
    first, second = reference(artifact("a"), grammar="g"), reference(artifact("b"), grammar="g")
    with open_registry(url, token=TOKEN) as registry:
        registry.push(artifact("a"), first)
        registry.push(artifact("b"), second)
        assert registry.find_named("g", "bytes") == second
        assert registry.find(first.input_key) == first
        assert registry.references() == sorted([first, second])


def test_a_reference_that_is_not_the_artifacts_is_not_pushed(url: str) -> None:
    found = reference(artifact())
    with open_registry(url, token=TOKEN) as registry:
        for lie in (replace(found, size=found.size + 1), replace(found, input_key="0" * 64), reference(artifact("b"))):
            with pytest.raises(RegistryError):
                registry.push(artifact(), lie)
    if url.startswith("http"):
        with open_registry(url) as registry:
            assert registry.references() == []


def test_an_artifact_that_fails_does_not_take_the_ones_before_along(url: str) -> None:
    good, bad = reference(artifact("a")), replace(reference(artifact("b")), input_key="0" * 64)
    with open_registry(url, token=TOKEN) as registry:
        with pytest.raises(RegistryError, match="made from something else"):
            registry.push_all([(artifact("a"), good), (artifact("b"), bad)])
        assert registry.references() == [good] and registry.verify() == []


def test_nothing_has_been_pushed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with open_registry(str(tmp_path / "empty")) as registry, pytest.raises(RegistryError, match="there is no index"):
        registry.references()
    with open_registry(str(tmp_path / "absent")) as registry, pytest.raises(RegistryError, match="no such folder"):
        registry.find("0" * 64)


def test_verify_says_what_is_wrong(tmp_path: Path) -> None:
    a, b, c = (reference(artifact(word)) for word in "abc")
    root = tmp_path / "registry"
    with open_registry(str(root)) as registry:
        registry.push_all([(artifact("a"), a), (artifact("b"), b), (artifact("c"), c)])
        (root / a.blob_path).write_bytes(b"x" * a.size)
        (root / b.blob_path).unlink()
        (root / c.name_path).unlink()
        (root / c.key_path).write_bytes(a.encode())
        problems = "\n".join(registry.verify())
    assert "sha256" in problems and "index refers to it, but it is missing" in problems
    assert "belongs to another place" in problems and "the index lists it, but it is missing" in problems


def test_a_plain_static_server_is_a_registry(tmp_path: Path, store: Store) -> None:
    root = tmp_path / "registry"
    data = large_artifact()
    found = reference(data)
    with open_registry(str(root)) as registry:
        registry.push(data, found)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root))) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        try:
            with open_registry(f"http://127.0.0.1:{httpd.server_port}") as registry:
                assert registry.references() == [found] and registry.find("0" * 64) is None
                (store.root / "incoming").mkdir(parents=True)
                (store.root / "incoming" / f"{found.digest}.part").write_bytes(data[:1000])  # it knows no ranges
                registry.pull(found, store)
                assert registry.verify() == []
                with pytest.raises(RegistryError, match="501"):
                    registry.push(artifact(), reference(artifact()))
        finally:
            httpd.shutdown()
            thread.join()
    assert store.read(found) == data


def test_buckets_merge_what_others_list(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    a, b = reference(artifact("a")), reference(artifact("b"))
    with open_registry(f"memory://{uuid.uuid4().hex}") as registry:
        registry.push(artifact("a"), a)
        # Another writer has read the index before that, and writes it back without it.
        transport = registry._transport
        write: Callable[..., None] = transport.write
        lost = []

        def late(path: object, data: bytes, *, if_match: str | None = None) -> None:
            if str(path) == "index.json" and not lost:
                lost.append(path)
                data = encode_index([b])
            write(path, data, if_match=if_match)

        monkeypatch.setattr(transport, "write", late)
        registry.push(artifact("b"), b)
        assert lost and registry.references() == [a, b]


@pytest.mark.slow
def test_a_registry_in_s3(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    fsspec = pytest.importorskip("fsspec")
    for name, value in (("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(name, value)
    s3 = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    s3.start()
    try:
        host, port = s3.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        fsspec.filesystem("s3", skip_instance_cache=True).mkdir("artifacts")
        found = reference(large_artifact())
        with open_registry("s3://artifacts/psc") as registry:
            assert registry.find(found.input_key) is None
            registry.push(large_artifact(), found)
            assert registry.find_named("large", "bytes") == found and registry.references() == [found]
            registry.pull(found, store)
            assert registry.verify() == []
    finally:
        s3.stop()
    assert store.read(found) == large_artifact()


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("http://", "not the address"),
        ("https://user:secret@host/", "no user or password"),
        ("https://host/?a=b", "has no \\?"),
        ("https://host/#a", "has no \\?"),
        ("https://host:port/", "not an address"),
        ("http://ho st/", "not the address"),
        ("http://[::1/", "not an address"),
        ("file://host/path", "three slashes"),
        ("nonsense://x", "cannot be opened"),
        ("", "empty"),
    ],
)
def test_addresses_that_cannot_be_one(address: str, what: str) -> None:
    with pytest.raises(RegistryError, match=what) as e:
        open_registry(address)
    assert "secret" not in str(e.value)


def test_which_token_goes_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSC_REGISTRY_TOKEN", raising=False)
    assert token_for("a.example", 443, None) is None
    assert token_for("a.example", 443, "given==") == "given=="
    monkeypatch.setenv("PSC_REGISTRY_TOKEN", "for-all==")
    assert token_for("a.example", 443, None) == "for-all=="
    monkeypatch.setenv("PSC_REGISTRY_TOKEN", "a.example=one, B.example:8750=two=")
    assert token_for("A.example", 443, None) == "one"
    assert token_for("b.example", 8750, None) == "two="
    assert token_for("b.example", 443, None) is None
    for bad in ("with space", "new\nline", "ü"):
        with pytest.raises(RegistryError) as e:
            token_for("a.example", 443, bad)
        assert bad not in str(e.value)


def test_a_list_falls_through_to_the_one_that_has_it(tmp_path: Path, store: Store) -> None:
    a, b = reference(artifact("a")), reference(artifact("b"))
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    for url, word, one in ((first, "a", a), (second, "b", b)):
        with open_registry(url) as registry:
            registry.push(artifact(word), one)
    with Registries([first, second]) as registries:
        assert registries.lookup(a.input_key) == a and registries.lookup(b.input_key) == b
        assert registries.pull(store, key=b.input_key) == b
        assert registries.pull_named(store, "a", "bytes") == a
        assert registries.lookup("0" * 64) is None
        with pytest.raises(RegistryNotFoundError, match="not in any registry"):
            registries.pull(store, key="0" * 64)
        assert registries.problems() == []
    assert store.references() == [a, b]


def test_a_list_whose_first_is_damaged(tmp_path: Path, store: Store) -> None:
    found = reference(artifact())
    for name in ("first", "second"):
        with open_registry(str(tmp_path / name)) as registry:
            registry.push(artifact(), found)
    (tmp_path / "first" / found.key_path).write_text("<html>")
    (tmp_path / "first" / found.blob_path).write_bytes(b"x" * found.size)
    with Registries([str(tmp_path / "first"), str(tmp_path / "second")]) as registries:
        assert registries.pull(store, key=found.input_key) == found
        (store.root / found.blob_path).unlink()
        assert registries.pull_named(store, "a", "bytes") == found  # the name's reference is whole, the blob is not
        assert len(registries.problems()) == 1
    (tmp_path / "second" / found.key_path).unlink()
    with Registries([str(tmp_path / "first"), str(tmp_path / "second")]) as registries:
        with pytest.raises(RegistryError, match=r"cannot be had \(1 other does not have it\)") as e:
            registries.lookup(found.input_key)
        assert not isinstance(e.value, RegistryNotFoundError) and "HTML" in str(e.value)


def test_one_that_does_not_answer_is_left_alone_for_a_while(tmp_path: Path) -> None:
    asked = []

    def fails(connection: object, _head: bytes, number: int) -> None:
        asked.append(number)
        respond(connection, status="503 Service Unavailable")  # type: ignore[arg-type]

    with open_registry(str(tmp_path / "good")) as registry:
        registry.push(artifact(), reference(artifact()))
    with misbehaving(fails) as url, Registries([url, str(tmp_path / "good")], patience=IMPATIENT) as registries:
        for _ in range(5):
            assert registries.lookup(reference(artifact()).input_key) is not None
        assert len(asked) == IMPATIENT.attempts
        assert len(registries.problems()) == 1


def test_offline_only_folders_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = reference(artifact())
    with open_registry(str(tmp_path / "good")) as registry:
        registry.push(artifact(), found)
    monkeypatch.setenv("PSC_REGISTRY", f"https://registry.invalid, {tmp_path / 'good'}")
    monkeypatch.setenv("PSC_OFFLINE", "1")
    monkeypatch.setattr("socket.getaddrinfo", lambda *_a, **_k: pytest.fail("uses the network"))
    with Registries.from_environment() as registries:
        assert [r.url for r in registries.registries] == [str(tmp_path / "good")]
        assert registries.lookup(found.input_key) == found
    monkeypatch.setenv("PSC_REGISTRY", "")
    assert not Registries.from_environment()


def test_many_references_are_listed(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    one = Store(root).add(artifact())
    many = [replace(one, input_key=f"{i:064x}", grammar=f"g{i}") for i in range(300)]
    for found in many:
        (root / found.key_path).write_bytes(found.encode())
    with server(root) as url, open_registry(url, token=TOKEN) as registry:
        assert registry.references() == sorted([one, *many])
        time.sleep(0.01)
        changed = replace(many[0], grammar="changed")
        (root / changed.key_path).write_bytes(changed.encode())
        registry.push(artifact("b"), reference(artifact("b")))
        assert changed in registry.references() and many[0] not in registry.references()


def test_use_is_noted_for_garbage_collection(tmp_path: Path, store: Store) -> None:
    root = tmp_path / "registry"
    used, unused = Store(root).add(artifact("a")), Store(root).add(artifact("b"))
    for found in (used, unused):
        for path in (found.key_path, found.name_path, found.blob_path):
            os.utime(root / path, (1, 1))
    with server(root) as url, open_registry(url) as registry:
        registry.pull(used, store)
        assert Store(root).collect(max_age_s=86400).references == [unused]
        assert registry.find(used.input_key) == used
        with pytest.raises(RegistryError, match="refers to it, but does not have it"):
            registry.pull(unused, store)


def test_the_index_is_json_that_others_can_read(tmp_path: Path) -> None:
    with open_registry(str(tmp_path / "r")) as registry:
        registry.push(artifact(), reference(artifact()))
    data = (tmp_path / "r" / "index.json").read_bytes()
    content = json.loads(data)
    assert content["schema"] == "psc.index.v1"
    assert content["references"][0] == json.loads((tmp_path / "r" / reference(artifact()).key_path).read_bytes())
    assert decode_index(data, origin="x") == [reference(artifact())]


def test_the_examples_of_the_protocols_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "registry-protocol.md").read_text()
    example = dict(re.findall(r"<!-- example: (\w+) -->\n```json\n(.*?)```", page, re.S))
    found = Reference.decode(example["reference"].encode(), origin="reference")
    assert decode_index(example["index"].encode(), origin="index") == [found]
    key = hashlib.sha256(example["canonical"].strip().encode()).hexdigest()
    assert f"`{key}`" in page
    parts = json.loads(example["canonical"])
    fields = {name: parts[name] for name in parts if name != "format"}
    assert input_key(**fields, format_version=parts["format"]) == key
    for path in (str(found.blob_path), str(found.key_path), str(found.name_path)):
        assert path.split("/")[0] in page
