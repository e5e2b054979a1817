"""What a registry's server takes: artifacts and references that are whole and agree, from those with a token."""

import hashlib
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from registries import READ_TOKEN, TOKEN, Answer, artifact, ask, put, reference, server
from registry_pushes import files, pushed

from psc.artifacts.format import decode, encode
from psc.artifacts.registry.access_tokens import AcceptedTokens
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


def refused_blob(url: str, root: Path, data: bytes, digest: str | None = None, **headers: str) -> Answer:
    digest = digest if digest is not None else hashlib.sha256(data).hexdigest()
    answer = put(url, f"blobs/sha256/{digest}", data, **headers)
    assert {p for p in files(root) if p != "index.json"} == set(), "nothing is left of a push that was refused"
    return answer


def test_content_of_another_digest_is_refused(url: str, root: Path) -> None:
    answer = refused_blob(url, root, artifact(), digest="0" * 64)
    assert answer.status == 422 and "sha256" in answer.text


def test_what_is_no_artifact_is_refused(url: str, root: Path) -> None:
    assert refused_blob(url, root, b"<html>not an artifact</html>").status == 422
    assert refused_blob(url, root, b"").status == 400
    damaged = bytearray(artifact())
    damaged[-1] ^= 1
    assert "checksum" in refused_blob(url, root, bytes(damaged)).text


def test_malformed_tables_are_refused(url: str, root: Path) -> None:
    found = decode(artifact())
    arrays = {**found.arrays, "gotos": found.arrays["gotos"] + 1_000_000}
    answer = refused_blob(url, root, encode(arrays, found.metadata))
    assert answer.status == 422 and "malformed" in answer.text
    del arrays["gotos"]
    assert refused_blob(url, root, encode(arrays, found.metadata)).status == 422


def test_metadata_that_do_not_say_what_it_was_made_from_are_refused(url: str, root: Path) -> None:
    found = decode(artifact())
    changed = json.loads(json.dumps(found.metadata))
    changed["grammar"]["text"] += " "
    assert refused_blob(url, root, encode(found.arrays, changed)).status == 422


def test_a_decompression_bomb_is_refused_unread(url: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psc.artifacts.registry.pushing.MAX_PAYLOAD_BYTES", 8 << 20)
    found = decode(artifact())
    bomb = encode({**found.arrays, "zz": np.zeros(9 << 20, np.uint8)}, found.metadata)
    assert len(bomb) < 1 << 20
    answer = refused_blob(url, root, bomb)
    assert answer.status == 422 and "declares a payload of" in answer.text


@pytest.mark.parametrize("n_bytes", [20 << 20, 200 << 20])
def test_a_bomb_within_the_limit_is_refused_unread(url: str, root: Path, n_bytes: int) -> None:
    found = decode(artifact())
    bomb = encode({**found.arrays, "zz": np.zeros(n_bytes, np.uint8)}, found.metadata)
    assert len(bomb) < 100_000
    answer = refused_blob(url, root, bomb)
    assert answer.status == 422 and "decompression bomb" in answer.text


def test_what_is_too_large_is_refused_before_it_is_sent(root: Path) -> None:
    with server(root, max_blob_bytes=1000) as url:
        answer = put(url, f"blobs/sha256/{'0' * 64}", b"x" * 1001)
        assert answer.status == 413 and "1,000" in answer.text
        declared = ask(url, "PUT", f"/blobs/sha256/{'0' * 64}", token=TOKEN, Content_Length=str(1 << 60))
        assert declared.status == 413
        assert put(url, f"keys/{'0' * 64}.json", b" " * 70_000).status == 413


def test_a_push_needs_a_length(url: str) -> None:
    answer = ask(url, "PUT", f"/blobs/sha256/{'0' * 64}", token=TOKEN, Transfer_Encoding="chunked")
    assert answer.status in (400, 411)


def test_a_push_that_is_cut_short_leaves_nothing(root: Path) -> None:
    data = artifact()
    logged: list[dict[str, object]] = []
    lines = [
        f"PUT /{reference(data).blob_path} HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {TOKEN}",
        f"Content-Length: {len(data)}",
    ]
    with server(root, log=logged.append) as url:
        with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port)) as connection:
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data[:100])
        deadline = time.monotonic() + 20
        while not logged and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [entry["status"] in (400, 499) for entry in logged] == [True]
    assert files(root) == {"index.json"}


def test_references_must_agree_with_the_artifact(url: str, root: Path) -> None:
    data, other = artifact("a"), reference(artifact("b"))
    found = reference(data)
    assert put(url, found.key_path, found.encode()).status == 409  # the blob first
    put(url, found.blob_path, data)
    assert put(url, other.key_path, replace(found, input_key=other.input_key).encode()).status == 422
    for lie in (replace(found, size=found.size + 1), replace(found, fingerprint="0" * 64), replace(found, compiler_revision=77)):
        assert put(url, found.key_path, lie.encode()).status == 422
    assert put(url, other.key_path, found.encode()).status == 422  # another one's place
    assert put(url, "names/x/y.json", found.encode()).status == 422
    for garbage in (b"{}", b"[1]", b"<html>", b"\xff", b"[" * 5000, b"1" * 5000):
        assert put(url, found.key_path, garbage).status == 422
    assert put(url, "index.json", b"{}").status == 405
    assert files(root) == {"index.json", str(found.blob_path)}
    restarted = reference(data)
    assert put(url, restarted.key_path, restarted.encode()).status == 201


def test_references_are_checked_against_blobs_of_before_the_start(root: Path) -> None:
    found = reference(artifact())
    Store(root).add_blob(artifact(), found)
    with server(root) as url:
        assert put(url, found.key_path, replace(found, fingerprint="0" * 64).encode()).status == 422
        assert put(url, found.key_path, found.encode()).status == 201


def test_names_can_be_replaced_on_condition(url: str) -> None:
    first, second = pushed(url, artifact("a"), grammar="g"), reference(artifact("b"), grammar="g")
    put(url, second.blob_path, artifact("b"))
    etag = ask(url, "GET", f"/{first.name_path}").headers["etag"]
    assert put(url, second.name_path, second.encode(), If_None_Match="*").status == 412
    assert put(url, second.name_path, second.encode(), If_Match='"other"').status == 412
    changed = put(url, second.name_path, second.encode(), If_Match=etag)
    assert changed.status == 200
    assert changed.headers["etag"] == ask(url, "GET", f"/{first.name_path}").headers["etag"] != etag
    assert put(url, "names/new/bytes.json", replace(second, grammar="new").encode(), If_Match="*").status == 412
    assert put(url, "names/new/bytes.json", replace(second, grammar="new").encode(), If_None_Match="*").status == 201


def test_tokens(root: Path, tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    tokens = tmp_path / "tokens"
    expired, good, last_day = "expired-token-0123456789", "good-token-0123456789ab", "last-day-token-0123456"
    tokens.write_text(
        f"# pushers\n{expired} {today - timedelta(days=1)}\n\n{good} {today + timedelta(days=1)} # ours\n{last_day} {today}\n"
    )
    found = reference(artifact())
    with server(root, push=AcceptedTokens(file=tokens)) as url:
        assert put(url, found.blob_path, artifact(), token=None).status == 401
        wrong = put(url, found.blob_path, artifact(), token="wrong-token-0123456789")
        assert wrong.status == 401 and "invalid_token" in wrong.headers["www-authenticate"]
        late = put(url, found.blob_path, artifact(), token=expired)
        assert late.status == 401 and "expired" in late.text and "expired" in late.headers["www-authenticate"]
        assert expired not in late.text
        assert put(url, found.blob_path, artifact(), token=good).status == 201
        assert put(url, found.key_path, found.encode(), token=last_day).status == 201
        assert ask(url, "GET", f"/{found.key_path}").status == 200  # reading is open
        assert put(url, found.key_path, found.encode(), Authorization="Basic abc", token=None).status == 401


def test_tokens_change_without_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psc.artifacts.registry.access_tokens._READ_ANEW_S", 0.0)
    file = tmp_path / "tokens"
    file.write_text("first-token-0123456789\n")
    tokens = AcceptedTokens(file=file)
    assert tokens.judge("first-token-0123456789") is None
    file.write_text("second-token-0123456789ab\n")
    assert tokens.judge("first-token-0123456789") is not None and tokens.judge("second-token-0123456789ab") is None
    file.unlink()
    assert tokens.judge("second-token-0123456789ab") is not None
    file.write_text("second-token-0123456789ab\n")
    assert tokens.judge("second-token-0123456789ab") is None


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "there is no token"),
        ("short\n", ":1: a token of fewer than 16"),
        ("\nlong-enough-token-1234 2027-13-01\n", ":2: '2027-13-01' is not a day"),
        ("long-enough-token-1234 2027-01-01 more\n", ":1: expected a token"),
        ("long,enough,token,12345\n", ":1: not a bearer token"),
    ],
)
def test_malformed_token_files(tmp_path: Path, content: str, what: str) -> None:
    (tmp_path / "tokens").write_text(content)
    with pytest.raises(RegistryError, match=what) as e:
        AcceptedTokens(file=tmp_path / "tokens")
    assert "enough" not in str(e.value)


def test_reading_may_need_a_token(root: Path) -> None:
    with server(root, read=AcceptedTokens([READ_TOKEN])) as url:
        found = reference(artifact())
        with open_registry(url, token=TOKEN) as registry:
            registry.push(artifact(), found)  # who may push may read
            assert registry.references() == [found]
        for path in (found.blob_path, found.key_path, "index.json", "metrics", "nothing"):
            assert ask(url, "GET", f"/{path}").status == 401
            assert ask(url, "GET", f"/{path}", token="wrong-token-0123456789").status == 401
        assert ask(url, "GET", f"/{found.blob_path}", token=READ_TOKEN).headers["cache-control"].startswith("private")
        assert ask(url, "GET", "/healthz").status == 200
        assert put(url, found.blob_path, artifact(), token=READ_TOKEN).status == 401


def test_without_tokens_nothing_can_be_pushed(root: Path) -> None:
    with server(root, push=AcceptedTokens()) as url:
        answer = put(url, reference(artifact()).blob_path, artifact())
        assert answer.status == 403 and "read-only" in answer.text
