"""The local store: several writers at once, damage, garbage collection, a full disk, and names that are no names."""

import json
import os
import time
from pathlib import Path

import pytest
from registries import artifact, python, reference

from psc.artifacts.input_key import input_key, input_key_of
from psc.artifacts.references import Reference, decode_index, encode_index, name_path, short_name
from psc.artifacts.store import Store, default_store
from psc.errors import ArtifactError, RegistryError, StoreError

OLD = time.time() - 40 * 86400


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def age(store: Store, found: Reference, when: float = OLD) -> None:
    """As if the artifact had not been used since then."""
    for path in (found.key_path, found.name_path, found.blob_path):
        os.utime(store.root / path, (when, when))


def files(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


def test_what_was_added_is_found_by_key_and_by_name(store: Store) -> None:
    found = store.add(artifact())
    assert store.find(found.input_key) == found
    assert store.find_named("a", "bytes") == found
    assert store.read(found) == artifact()
    assert store.references() == [found]
    assert store.verify() == []
    assert store.find("0" * 64) is None
    assert store.find_named("b", "bytes") is None


def test_an_empty_store_has_nothing_and_is_not_made(store: Store) -> None:
    assert store.find("0" * 64) is None
    assert store.references() == [] and store.verify() == []
    assert store.collect(max_age_s=0).blobs == 0
    assert not store.root.exists()


def test_the_users_store_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSC_STORE", str(tmp_path / "mine"))
    assert default_store().root == tmp_path / "mine"
    monkeypatch.delenv("PSC_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert default_store().root == tmp_path / "cache" / "psc" / "store"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", "-x", ".hidden", "a b", "a\n", "ü", "%2e%2e", "a" * 101, "a\0"]
)
def test_names_that_cannot_be_part_of_a_path(store: Store, name: str) -> None:
    with pytest.raises(RegistryError, match="cannot be the name of a grammar"):
        name_path(name, "t")
    with pytest.raises(RegistryError, match="cannot be the name of a tokenizer"):
        store.find_named("g", name)
    with pytest.raises(RegistryError):
        store.add(artifact(), grammar=name)
    assert not store.root.exists()


@pytest.mark.parametrize("key", ["", "0" * 63, "0" * 65, "A" * 64, "../" + "0" * 61, "0" * 63 + "\n"])
def test_keys_that_are_none(store: Store, key: str) -> None:
    with pytest.raises(RegistryError, match="is no input key"):
        store.find(key)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("java", "java"),
        ("/a/b/java.lark", "java"),
        ("C:\\x\\My Grammar.ebnf", "My-Grammar"),
        ("Qwen/Qwen3-8B", "Qwen3-8B"),
        ("..", "unnamed"),
    ],
)
def test_recorded_labels_become_names(label: str, name: str) -> None:
    assert short_name(label) == name


_WRITE_OFTEN = """
from registries import artifact
from psc.artifacts.store import Store
data = artifact({word!r})
for _ in range(10):
    Store({root!r}).add(data)
    Store({root!r}).write_index()
"""


def test_concurrent_writers_of_the_same_and_of_other_keys(store: Store) -> None:
    processes = [python(_WRITE_OFTEN.format(word=word, root=str(store.root))) for word in "aabc"]
    seen = 0
    while any(process.poll() is None for process in processes):
        for found in store.references():
            assert store.read(found) is not None  # never a reference without its blob, never half of one
            seen += 1
    assert [(process.communicate()[1], process.returncode) for process in processes] == [("", 0)] * 4
    assert seen > 0 and store.verify() == []
    assert [r.grammar for r in store.references()] == ["a", "b", "c"]
    assert decode_index((store.root / "index.json").read_bytes(), origin="index") == store.references()
    assert not [name for name in files(store.root) if ".tmp-" in name]


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied"])
def test_a_damaged_blob_is_set_aside_and_comes_back(store: Store, damage: str) -> None:
    found = store.add(artifact())
    path = store.root / found.blob_path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes({"cut": bytes(data[:-1]), "flipped": bytes(data), "emptied": b""}[damage])
    assert next(iter(store.verify())).path == path
    assert store.read(found) is None
    assert not path.exists() and len(list((store.root / "damaged").iterdir())) == 1
    store.add(artifact())
    assert store.read(found) == artifact()


def test_adding_heals_a_damaged_blob(store: Store) -> None:
    found = store.add(artifact())
    (store.root / found.blob_path).write_bytes(b"x" * found.size)
    store.add(artifact())
    assert store.read(found) == artifact()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"<html>", b'{"schema": "other"}', b"\xff" * 10, b"[" * 60_000])
def test_a_damaged_reference_is_set_aside(store: Store, content: bytes) -> None:
    found = store.add(artifact())
    path = store.root / found.key_path
    path.write_bytes(content)
    assert [p.path for p in store.verify()] == [path]
    assert store.find(found.input_key) is None
    assert not path.exists()
    assert store.find_named("a", "bytes") == found


def test_a_reference_in_another_ones_place_is_none(store: Store) -> None:
    found = store.add(artifact())
    elsewhere = store.root / "keys" / ("0" * 64 + ".json")
    elsewhere.write_bytes(found.encode())
    assert store.find("0" * 64) is None
    assert [p.path for p in store.verify()] == [elsewhere]


def test_a_reference_that_lies_about_its_artifact_is_found(store: Store) -> None:
    found = store.add(artifact())
    other = reference(artifact("b"))
    lie = json.loads(found.encode())
    lie["input_key"] = other.input_key
    (store.root / other.key_path).write_bytes(json.dumps(lie).encode())
    assert "does not describe" in store.verify()[0].what
    assert store.read(store.find(other.input_key) or other) is None  # what it refers to was made from something else


def test_collection_by_age_takes_the_unused(store: Store) -> None:
    old, young = store.add(artifact("a")), store.add(artifact("b"))
    store.write_index()
    age(store, old)
    would = store.collect(max_age_s=30 * 86400, dry_run=True)
    assert would.references == [old] and store.find(old.input_key) == old
    done = store.collect(max_age_s=30 * 86400)
    assert (done.references, done.blobs, done.freed_bytes) == (would.references, would.blobs, would.freed_bytes)
    assert done.freed_bytes >= old.size
    assert store.references() == [young] and store.verify() == []
    assert decode_index((store.root / "index.json").read_bytes(), origin="index") == [young]


def test_use_keeps_from_collection(store: Store) -> None:
    found = store.add(artifact())
    age(store, found)
    assert store.read(found) is not None
    assert store.collect(max_age_s=30 * 86400).references == []


def test_collection_by_size_takes_the_least_recently_used(store: Store) -> None:
    found = [store.add(artifact(word)) for word in "abc"]
    for i, one in enumerate(found):
        age(store, one, OLD + i)
    done = store.collect(max_bytes=found[1].size + found[2].size)
    assert done.references == [found[0]]
    assert done.kept_bytes == found[1].size + found[2].size


def test_collection_takes_the_unreachable_but_not_the_young(store: Store) -> None:
    found = store.add(artifact("a"))
    lost = store.add(artifact("b"))
    for path in (lost.key_path, lost.name_path):
        (store.root / path).unlink()
    half = store.root / "blobs" / "sha256" / ".tmp-half"
    half.write_bytes(b"half")
    (store.root / "incoming").mkdir()
    part = store.root / "incoming" / f"{found.digest}.part"
    part.write_bytes(b"part")
    assert store.collect().blobs == 0 and half.exists() and part.exists()
    for path in (half, part, store.root / lost.blob_path):
        os.utime(path, (OLD, OLD))
    assert store.collect().blobs == 1
    assert not half.exists() and not part.exists() and not (store.root / lost.blob_path).exists()
    assert store.references() == [found] and store.verify() == []


def test_a_name_can_be_pointed_to_another_artifact_and_both_stay_reachable(store: Store) -> None:
    first = store.add(artifact("a"), grammar="g")
    second = store.add(artifact("b"), grammar="g")
    assert store.find_named("g", "bytes") == second
    assert store.find(first.input_key) == first
    for found in (first, second):
        os.utime(store.root / found.blob_path, (OLD, OLD))
    assert store.collect().blobs == 0


def test_a_full_disk_leaves_nothing_half_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    before = store.add(artifact("a"))
    there = files(store.root)
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(StoreError, match=r"blobs/.*: cannot write the file: No space left.*psc registry gc"):
            store.add(artifact("b"))
    assert files(store.root) == there and store.references() == [before]
    assert store.verify() == []


def test_what_is_no_artifact_is_not_taken(store: Store) -> None:
    with pytest.raises(ArtifactError):
        store.add(b"not an artifact")
    assert not store.root.exists()


def test_the_index_is_the_same_bytes_in_any_order() -> None:
    found = [reference(artifact(word)) for word in "abc"]
    assert encode_index(found) == encode_index([*reversed(found), found[0]])
    assert decode_index(encode_index(found), origin="index") == sorted(found)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"schema": "psc.index.v1", "references": {}}', b"<html></html>"])
def test_a_malformed_index(content: bytes) -> None:
    with pytest.raises(RegistryError, match=r"^place: "):
        decode_index(content, origin="place")


def test_the_input_key_is_that_of_the_worked_example() -> None:
    key = input_key(
        compiler_revision=2,
        language="lark",
        text_sha256="ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        imports=[("b.lark", "0" * 64), ("a.lark", "1" * 64)],
        start="start",
        lexer="basic",
        keep_all_actions=False,
        fingerprint="2" * 64,
        format_version=2,
    )
    page = (Path(__file__).parents[2] / "docs" / "registry-protocol.md").read_text()
    assert key in page, "the worked example of docs/registry-protocol.md"


def test_an_artifact_names_its_own_key_and_every_part_counts() -> None:
    from psc.artifacts.format import decode

    metadata = json.loads(json.dumps(decode(artifact()).metadata))
    key = input_key_of(metadata)
    changes = [
        ("compiler_revision", lambda m: m.update(compiler_revision=99)),
        ("start", lambda m: m["grammar"].update(start="other")),
        ("lexer", lambda m: m["grammar"].update(lexer="contextual")),
        ("imports", lambda m: m["grammar"].update(imports=[["x.lark", "0" * 64]])),
        ("language", lambda m: m["grammar"].update(language="ebnf")),
        ("options", lambda m: m["grammar"].update(keep_all_actions=True)),
        ("fingerprint", lambda m: m["tokenizer"].update(fingerprint="3" * 64)),
    ]
    keys = {key}
    for what, change in changes:
        other = json.loads(json.dumps(metadata))
        change(other)
        assert input_key_of(other) not in keys, what
        keys.add(input_key_of(other))
    relabelled = json.loads(json.dumps(metadata))
    relabelled["grammar"]["name"] = relabelled["tokenizer"]["name"] = "something else"
    assert input_key_of(relabelled) == key
    with pytest.raises(ArtifactError, match="sha256"):
        input_key_of({**metadata, "grammar": {**metadata["grammar"], "text": "start: /other/"}})
    for missing in ("grammar", "tokenizer", "compiler_revision"):
        with pytest.raises(ArtifactError, match="do not say what"):
            input_key_of({k: v for k, v in metadata.items() if k != missing})
