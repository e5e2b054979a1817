"""Many clients at once: nobody sees an error, half a file, or wrong bytes."""

import hashlib
import threading
from pathlib import Path

import pytest
from registries import TOKEN, artifact, large_artifact, reference, server

from psc.artifacts.registry.client import open_registry
from psc.artifacts.registry.transport import Patience
from psc.artifacts.store import Store

PATIENT = Patience(connect=30.0, stall=60.0)
"""The machine may be slow, and this is about being right."""
N_CLIENTS = 64


@pytest.mark.slow
def test_64_clients_pull_while_two_push(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    versions = [large_artifact(word, 1 << 18) for word in ("v1", "v22", "v333")]
    named = [reference(data, grammar="g") for data in versions]  # one name, pointed to each of them in turn
    steady = reference(large_artifact("steady", 1 << 18))
    failed: list[str] = []
    seen: set[str] = set()
    over = threading.Event()
    begin = threading.Barrier(N_CLIENTS + 2)

    def guarded(work: object) -> None:
        try:
            begin.wait(60)
            work()  # type: ignore[operator]
        except BaseException as e:
            failed.append(repr(e))

    def push(number: int) -> None:
        with open_registry(url, token=TOKEN, patience=PATIENT) as registry:
            turn = number
            while not over.is_set():
                turn += 1
                registry.push(versions[turn % 3], named[turn % 3])
                registry.push(artifact(f"w{number}{turn % 4}"), reference(artifact(f"w{number}{turn % 4}")))

    def pull(number: int) -> None:
        with open_registry(url, patience=PATIENT) as registry:
            for turn in range(4):
                store = Store(tmp_path / "stores" / f"{number}-{turn}")
                found = registry.find_named("g", "bytes")
                assert found in named, found
                registry.pull(found, store)
                data = store.read(found)
                assert data is not None and hashlib.sha256(data).hexdigest() == found.digest
                seen.add(found.digest)
                assert registry.find(steady.input_key) == steady
                registry.pull(steady, store)
                assert {steady, *(r for r in registry.references() if r.grammar == "g")} <= {steady, *named}
                assert store.verify() == []

    for number in range(2):
        for turn in range(4):
            artifact(f"w{number}{turn}")  # compiled before it counts
    with server(root) as url:
        with open_registry(url, token=TOKEN) as registry:
            registry.push(versions[0], named[0])
            registry.push(large_artifact("steady", 1 << 18), steady)
        pushers = [threading.Thread(target=guarded, args=(lambda n=n: push(n),)) for n in range(2)]
        pullers = [threading.Thread(target=guarded, args=(lambda n=n: pull(n),)) for n in range(N_CLIENTS)]
        for thread in (*pushers, *pullers):
            thread.start()
        for thread in pullers:
            thread.join()
        over.set()
        for thread in pushers:
            thread.join()
    assert failed == []
    assert len(seen) > 1, "the name was pointed elsewhere meanwhile"
    assert Store(root).verify() == []


def test_two_pushers_of_different_artifacts_are_both_listed(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    words = [f"word{chr(97 + i)}" for i in range(12)]
    failed: list[str] = []

    def push(mine: list[str]) -> None:
        try:
            with open_registry(url, token=TOKEN, patience=PATIENT) as registry:
                for word in mine:
                    registry.push(artifact(word), reference(artifact(word)))
                    assert reference(artifact(word)) in registry.references()  # what was pushed is listed at once
        except BaseException as e:
            failed.append(repr(e))

    with server(root) as url:
        threads = [threading.Thread(target=push, args=(words[i::2],)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
    assert [r.grammar for r in Store(root).references()] == words
