"""Token files of a registry server that change while it runs: what is taken out of one is never accepted again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from psc.artifacts.registry.access_tokens import AcceptedTokens
from psc.errors import RegistryError

TAKEN_OUT = "taken-out-token-0123456789"
STAYS = "staying-token-0123456789ab"


def replaced(file: Path, content: bytes) -> None:
    file.unlink()
    file.write_bytes(content)


def renamed(file: Path, content: bytes) -> None:
    file.with_name("new").write_bytes(content)
    file.with_name("new").replace(file)


def same_time(file: Path, content: bytes) -> None:
    status = file.stat()
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


LATER: dict[str, tuple[bytes | None, bool, str]] = {
    "one is left": (f"{STAYS}\n".encode(), True, ""),
    "one is left, and was moved": (f"\n\n{STAYS} # ours".encode(), True, ""),
    "a comment is left": (b"# nobody\n", False, "no token of this file"),
    "commented out": (f"# {TAKEN_OUT}\n#{STAYS}\n".encode(), False, "no token of this file"),
    "emptied": (b"", False, "no token of this file"),
    "blank": (b"\n \t\n", False, "no token of this file"),
    "gone": (None, False, "cannot read the tokens"),
    "a typo in the other's day": (f"{STAYS} 2027-31-01\n".encode(), False, ":1: '2027-31-01' is not a day"),
    "a day of the past": (f"{STAYS} 2001-01-01\n".encode(), False, ""),
    "a line too short": (f"short\n{STAYS}\n".encode(), True, ":1: a token of fewer than"),
    "a line of three words": (f"{STAYS}\n{TAKEN_OUT} 2099-01-01 and\n".encode(), True, ":2: expected a token"),
    "a line that is no token": (f"{STAYS}\n{{json: yes}}\n".encode(), True, ":2: "),
    "no text": (b"\xff\xfe" + f"{TAKEN_OUT}\n{STAYS}\n".encode(), False, "is no UTF-8"),
    "utf-16": (f"{TAKEN_OUT}\n{STAYS}\n".encode("utf-16"), False, "is no UTF-8"),
    "nul bytes": (bytes(60), False, "not a bearer token"),
    "as long as before": (f"{'x' * len(TAKEN_OUT)}\n{STAYS}\n".encode(), True, ""),
    "half of a line": (f"{TAKEN_OUT[:20]}".encode(), False, ""),
    "very long": (f"{STAYS}\n".encode() * 50_000, False, "larger than"),
}


@pytest.mark.parametrize("write", [Path.write_bytes, replaced, renamed, same_time])
@pytest.mark.parametrize("name", LATER)
def test_a_token_that_is_taken_out_is_never_accepted(
    name: str, write: Callable[[Path, bytes], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is in the file; and whoever looks after the server is told."""
    monkeypatch.setattr("psc.artifacts.registry.access_tokens._READ_ANEW_S", 0.0)
    content, stays, said = LATER[name]
    file, reported = tmp_path / "tokens", []
    file.write_text(f"{TAKEN_OUT}\n{STAYS}\n")
    tokens = AcceptedTokens(file=file, report=reported.append)
    assert tokens.judge(TAKEN_OUT) is None and tokens.judge(STAYS) is None
    file.unlink() if content is None else write(file, content)
    for _ in range(3):
        assert tokens.judge(TAKEN_OUT) is not None
        assert (tokens.judge(STAYS) is None) == stays
        assert tokens, "so nobody may do what needs a token"
    assert (said in "\n".join(reported)) if said else not any("no token" in line for line in reported)
    assert len(reported) <= 2 and TAKEN_OUT not in "".join(reported)
    replaced(file, f"{STAYS}\n".encode()) if file.exists() else file.write_text(f"{STAYS}\n")
    assert tokens.judge(STAYS) is None and tokens.judge(TAKEN_OUT) is not None


def test_token_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "open").write_text(f"{STAYS}\n")
    (tmp_path / "open").chmod(0o666)
    for name, why in (
        ("pipe", "no regular file"),
        ("open", "everybody on this machine"),
        (".", "directory"),
        ("no", "No such file"),
    ):
        with pytest.raises(RegistryError, match=why):
            AcceptedTokens(file=tmp_path / name)
    with pytest.raises(RegistryError, match="no regular file"):
        AcceptedTokens(file=Path("/dev/zero"))
    monkeypatch.setattr("psc.artifacts.registry.access_tokens._READ_ANEW_S", 0.0)
    (tmp_path / "tokens").write_text(f"{STAYS}\n")
    tokens = AcceptedTokens(file=tmp_path / "tokens", report=lambda _: None)
    (tmp_path / "open").replace(tmp_path / "tokens")
    assert tokens.judge(STAYS) is not None
    (tmp_path / "pipe").replace(tmp_path / "tokens")
    assert tokens.judge(STAYS) is not None
