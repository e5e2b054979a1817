"""What ``psc registry serve`` answers, request by request."""

import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from registries import READ_TOKEN, TOKEN, artifact, ask, large_artifact, put, reference, server
from registry_pushes import files, pushed

from psc.artifacts.references import decode_index
from psc.artifacts.registry.client import open_registry
from psc.artifacts.store import Store
from psc.errors import RegistryError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "registry"


@pytest.fixture
def url(root: Path) -> Iterator[str]:
    with server(root) as found:
        yield found


def test_a_push_by_hand(url: str, root: Path) -> None:
    data = artifact()
    found = reference(data)
    first = put(url, found.blob_path, data)
    assert (first.status, first.headers["etag"]) == (201, f'"{found.digest}"')
    assert put(url, found.blob_path, data).status == 200
    assert put(url, found.key_path, found.encode()).status == 201
    assert put(url, found.name_path, found.encode()).status == 201
    assert put(url, found.name_path, found.encode()).status == 200
    assert decode_index(ask(url, "GET", "/index.json").body, origin="index") == [found]
    assert files(root) == {"index.json", str(found.blob_path), str(found.key_path), str(found.name_path)}
    assert Store(root).verify() == []


def test_a_blob_has_its_digest_as_entity_tag_and_may_be_kept(url: str) -> None:
    found = pushed(url, artifact())
    whole = ask(url, "GET", f"/{found.blob_path}")
    assert (whole.status, whole.body) == (200, artifact())
    assert whole.headers["etag"] == f'"{found.digest}"'
    assert "immutable" in whole.headers["cache-control"] and whole.headers["accept-ranges"] == "bytes"
    head = ask(url, "HEAD", f"/{found.blob_path}")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(found.size))
    for tags in (f'"{found.digest}"', f'W/"{found.digest}"', f'"x", "{found.digest}"', "*"):
        same = ask(url, "GET", f"/{found.blob_path}", If_None_Match=tags)
        assert (same.status, same.body, same.headers["etag"]) == (304, b"", f'"{found.digest}"')
    assert ask(url, "GET", f"/{found.blob_path}", If_None_Match='"other"').status == 200


@pytest.mark.parametrize(
    ("asked", "begin", "end"),
    [("bytes=0-", 0, None), ("bytes=5-", 5, None), ("bytes=5-9", 5, 10), ("bytes=-7", -7, None), ("bytes=0-99999999", 0, None)],
)
def test_ranges(url: str, asked: str, begin: int, end: int | None) -> None:
    found = pushed(url, artifact())
    part = ask(url, "GET", f"/{found.blob_path}", Range=asked)
    expected = artifact()[begin:end]
    at = begin % found.size
    assert (part.status, part.body) == (206, expected)
    assert part.headers["content-range"] == f"bytes {at}-{at + len(expected) - 1}/{found.size}"
    assert ask(url, "HEAD", f"/{found.blob_path}", Range=asked).headers["content-length"] == str(len(expected))
    unchanged = ask(url, "GET", f"/{found.blob_path}", Range=asked, If_Range=f'"{found.digest}"')
    assert (unchanged.status, unchanged.body) == (206, expected)
    changed = ask(url, "GET", f"/{found.blob_path}", Range=asked, If_Range='"other"')
    assert (changed.status, changed.body) == (200, artifact())


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("bytes=99999999-", 416),
        (f"bytes={'9' * 5000}-", 416),  # Python reads numbers of 4,300 digits at most
        (f"bytes=5-{'9' * 5000}0", 206),
        (f"bytes=-{'9' * 5000}", 206),
        (f"bytes={'0' * 5000}9-5", 200),
        ("bytes=-0", 416),
        ("bytes=9-5", 200),
        ("lines=1-2", 200),
        ("bytes=0-1,4-5", 200),
    ],
)
def test_ranges_that_cannot_be_had(url: str, asked: str, status: int) -> None:
    found = pushed(url, artifact())
    answer = ask(url, "GET", f"/{found.blob_path}", Range=asked)
    assert answer.status == status
    if status == 416:
        assert answer.headers["content-range"] == f"bytes */{found.size}"
    else:
        assert answer.body == artifact()[5 if asked.startswith("bytes=5-") else 0 :]


def test_references_are_conditional_too(url: str) -> None:
    found = pushed(url, artifact())
    first = ask(url, "GET", f"/{found.key_path}")
    assert (first.status, first.body, first.headers["content-type"]) == (200, found.encode(), "application/json")
    assert first.headers["cache-control"] == "no-cache"
    assert first.headers["etag"] == f'"{hashlib.sha256(found.encode()).hexdigest()}"'
    assert ask(url, "GET", f"/{found.key_path}", If_None_Match=first.headers["etag"]).status == 304


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/../secret",
        "/names/../../secret",
        "/names/a/..%2f..%2fsecret.json",
        "/names/%2e%2e/secret.json",
        "/names/a%2Fb.json",
        "/keys/../index.json",
        "//index.json",
        "/index.json/",
        "/blobs/sha256/../../index.json",
        "/blobs/sha256/" + "0" * 63,
        "/blobs/sha256/" + "A" * 64,
        "/blobs/sha512/" + "0" * 64,
        "/keys/" + "0" * 64,
        "/names/.hidden/x.json",
        "/names/a/b",
        "/names/a%00b/c.json",
        "/names/a\\b/c.json",
        "/incoming/x",
        "/.tmp-x",
    ],
)
def test_only_the_layout_is_served_and_taken(url: str, root: Path, path: str) -> None:
    (root.parent / "secret").write_text("secret")
    (root.parent / "secret.json").write_text("secret")
    found = ask(url, "GET", path)
    assert found.status == 404 and b"secret" not in found.body
    assert put(url, path.removeprefix("/"), artifact()).status == 404
    assert sorted(p.name for p in root.parent.iterdir()) == ["registry", "secret", "secret.json"]


def test_names_may_come_escaped(url: str) -> None:
    found = pushed(url, artifact(), grammar="c++=@v1")
    assert ask(url, "GET", "/names/c++=@v1/bytes.json").body == found.encode()
    assert ask(url, "GET", "/names/c%2B%2b%3D%40v1/bytes.json").body == found.encode()


def test_symbolic_links_out_of_the_folder_are_not_followed(url: str, root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "x.json").write_text("secret")
    (root / "names").mkdir(parents=True)
    (root / "keys").mkdir()
    (root / "names" / "linked").symlink_to(outside)
    (root / "keys" / ("0" * 64 + ".json")).symlink_to(outside / "x.json")
    (root / "keys" / ("1" * 64 + ".json")).mkdir()
    for path in ("/names/linked/x.json", f"/keys/{'0' * 64}.json", f"/keys/{'1' * 64}.json"):
        found = ask(url, "GET", path)
        assert found.status == 404 and b"secret" not in found.body


def test_named_pipes_are_not_waited_for(url: str, root: Path) -> None:
    """Nobody writes into them: who opens one would wait for ever, and with it everybody whom the server answers."""
    made = pushed(url, artifact())
    blob = root / made.blob_path
    blob.unlink()
    os.mkfifo(blob)
    assert ask(url, "GET", f"/{made.blob_path}").status == 404
    assert ask(url, "GET", "/healthz").status == 200
    with open_registry(str(root)) as folder, pytest.raises(RegistryError, match="0 bytes, but the reference says"):
        folder.pull(made, Store(root.parent / "store"))
    (root / made.key_path).unlink()
    os.mkfifo(root / made.key_path)
    assert ask(url, "GET", f"/{made.key_path}").status == 404


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods(url: str, method: str) -> None:
    answer = ask(url, method, "/index.json", token=TOKEN)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, PUT")


@pytest.mark.parametrize(
    ("expected", "status"),
    [(b"100-continue", b"100"), (b"100-Continue", b"100"), (b"more", b"417"), (b"100-conti\xff\xfex", b"417")],
)
def test_what_a_client_may_expect(url: str, expected: bytes, status: bytes) -> None:
    found = reference(artifact())
    head = [f"PUT /{found.key_path} HTTP/1.1".encode(), b"Host: x", b"Content-Length: 9", b"Expect: " + expected]
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=20) as connection:
        connection.sendall(b"\r\n".join(head) + b"\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 " + status + b" ")


def test_health_and_metrics(url: str) -> None:
    assert ask(url, "GET", "/healthz").text == "ok\n"
    found = pushed(url, artifact())
    put(url, found.blob_path, b"other", token=None)
    put(url, f"blobs/sha256/{'0' * 64}", b"other")
    ask(url, "GET", f"/{found.blob_path}")
    ask(url, "GET", "/index.json")
    page = ask(url, "GET", "/metrics")
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = dict(line.rsplit(" ", 1) for line in page.text.splitlines() if not line.startswith("#"))
    assert values['psc_registry_requests_total{method="PUT",status="201"}'] == "3"
    assert values['psc_registry_pushes_refused_total{cause="token"}'] == "1"
    assert values['psc_registry_pushes_refused_total{cause="digest"}'] == "1"
    assert float(values["psc_registry_sent_bytes_total"]) >= found.size
    assert float(values["psc_registry_received_bytes_total"]) >= found.size
    assert (values["psc_registry_references"], values["psc_registry_blobs"]) == ("2", "1")
    assert values["psc_registry_blob_bytes"] == str(found.size)
    assert float(values["psc_registry_uptime_seconds"]) > 0


@pytest.mark.parametrize("where", ["blob", "reference"])
def test_a_full_disk_keeps_nothing_half(url: str, root: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    found = reference(artifact())
    if where == "reference":
        put(url, found.blob_path, artifact())
    before = files(root)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        answer = put(url, found.blob_path if where == "blob" else found.key_path, artifact() if where == "blob" else found.encode())
    assert answer.status == 507 and "no room" in answer.text
    assert files(root) == before
    with open_registry(url, token=TOKEN) as registry:
        registry.push(artifact(), found)
    assert Store(root).verify() == []


def test_the_index_is_right_after_a_crash_and_after_others_wrote(root: Path) -> None:
    a, b = Store(root).add(artifact("a")), Store(root).add(artifact("b"))
    (root / "index.json").write_text("half")
    with server(root) as url:
        assert decode_index(ask(url, "GET", "/index.json").body, origin="index") == [a, b]
        c = pushed(url, artifact("c"))
        assert decode_index(ask(url, "GET", "/index.json").body, origin="index") == [a, b, c]
        (root / a.key_path).unlink()
        (root / a.name_path).unlink()
        d = pushed(url, artifact("d"))
        assert decode_index(ask(url, "GET", "/index.json").body, origin="index") == [b, c, d]
    assert decode_index((root / "index.json").read_bytes(), origin="index") == [b, c, d]


def test_leftovers_of_a_crash_go_at_the_start(root: Path) -> None:
    (root / "incoming").mkdir(parents=True)
    old, young = root / "incoming" / ".tmp-old", root / "incoming" / ".tmp-young"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    with server(root):
        assert not old.exists() and young.exists()


def test_the_access_log_has_a_line_a_request_and_no_secret(root: Path) -> None:
    entries: list[dict[str, object]] = []
    with server(root, log=entries.append) as url:
        found = pushed(url, artifact())
        ask(url, "GET", f"/{found.blob_path}?token=secret", token=READ_TOKEN)
        ask(url, "GET", "/nothing")
    by_path = {(e["method"], e["path"]): e for e in entries}
    got = by_path["GET", f"/{found.blob_path}"]
    assert (got["status"], got["sent_bytes"], got["remote"]) == (200, found.size, "127.0.0.1")
    assert by_path["GET", "/nothing"]["status"] == 404
    assert "secret" not in json.dumps(entries) and TOKEN not in json.dumps(entries) and READ_TOKEN not in json.dumps(entries)


def test_transfers_under_way_finish_at_the_end(root: Path) -> None:
    data = large_artifact(n_bytes=16 << 20)
    found = Store(root).add(data)
    with server(root, grace_s=20.0) as url:
        connection = socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=20)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.sendall(f"GET /{found.blob_path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        got = bytearray(connection.recv(1000))

        # The server is told to end while most is still to be sent, and this thread reads on meanwhile.
        def read_on() -> None:
            time.sleep(0.3)
            while piece := connection.recv(1 << 20):
                got.extend(piece)

        reader = threading.Thread(target=read_on)
        reader.start()
    reader.join()
    connection.close()
    assert bytes(got).partition(b"\r\n\r\n")[2] == data


def test_a_port_that_is_taken(root: Path) -> None:
    import asyncio

    from psc.artifacts.registry.listening import Listening, running
    from psc.artifacts.registry.serving import Served

    async def listen(port: int) -> None:
        async with running(Served(root, lambda _artifact: None), Listening(port=port)):
            raise AssertionError("listens")

    root.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(RegistryError, match=r"cannot listen on .*in use"):
        asyncio.run(listen(taken.getsockname()[1]))
