"""``psc registry``, end to end."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from psc.cli.progress import Transfers

Run = Callable[..., Result]
TOKEN = "a-token-for-the-command-line"


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of its own for each test, and no settings of whoever runs them."""
    for name in list(os.environ):
        if name.startswith("PSC_") and name != "PSC_SANITIZED":
            monkeypatch.delenv(name)
    monkeypatch.setenv("PSC_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


Serve = Callable[..., "tuple[str, subprocess.Popen[str]]"]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts ``psc registry serve`` in another process; gives its URL once it listens."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: object, **environment: str) -> "tuple[str, subprocess.Popen[str]]":
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
        command = [sys.executable, "-m", "psc", "registry", "serve", *map(str, arguments), "--port", "0"]
        log = (tmp_path / f"log{len(processes)}").open("w")
        with log:
            process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=log, text=True)
        processes.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " at http" in line, (line, (tmp_path / "log0").read_text())
        return line.rpartition(" at ")[2].strip(), process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_push_list_pull_verify_over_http(
    run: Run, serve: Serve, assignments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_store: Path
) -> None:
    url, process = serve(tmp_path / "registry", PSC_REGISTRY_TOKEN=TOKEN)
    monkeypatch.setenv("PSC_REGISTRY", url)
    refused = run("registry", "push", assignments)
    assert refused.exit_code == 1 and "wants a token; give it in PSC_REGISTRY_TOKEN" in refused.output
    monkeypatch.setenv("PSC_REGISTRY_TOKEN", TOKEN)
    pushed = run("registry", "push", assignments)
    assert pushed.exit_code == 0 and f"{url}: 1 published, 1 of them new there" in pushed.output
    again = run("registry", "push", assignments, "--as", "other/tok", "--json")
    assert json.loads(again.output)[0]["sent"] == 0
    listed = run("registry", "list")
    assert "assignments  small" in listed.output and "other        tok" in listed.output
    pulled = run("registry", "pull", "assignments", "small", "-o", tmp_path / "out.psc")
    assert pulled.exit_code == 0 and (tmp_path / "out.psc").read_bytes() == assignments.read_bytes()
    assert run("registry", "pull", "other/tok").exit_code == 0
    key = json.loads(run("registry", "list", "--json").output)[0]["artifacts"][0]["input_key"]
    shutil.rmtree(own_store)
    by_key = run("registry", "pull", "--key", key, "--json")
    assert json.loads(by_key.output)["pulled"][0]["input_key"] == key
    shutil.rmtree(own_store)
    everything = run("registry", "pull", "--all")
    assert everything.exit_code == 0 and len(everything.output.splitlines()) == 2
    for arguments in ((), (url,), ("--registry", url), (tmp_path / "registry",)):
        verified = run("registry", "verify", *arguments)
        assert verified.exit_code == 0 and "no problems" in verified.output
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and output == ""
    gone = run("registry", "pull", "assignments", "small")
    assert gone.exit_code == 1 and "Connection refused" in gone.output
    log = [json.loads(line) for line in (tmp_path / "log0").read_text().splitlines()]
    assert {e["method"] for e in log} == {"GET", "HEAD", "PUT"}


def test_a_folder_is_a_registry_and_the_store_can_be_pushed(run: Run, assignments: Path, tmp_path: Path, own_store: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert run("registry", "push", assignments, "--registry", first, "--quiet").output == ""
    assert run("registry", "pull", "assignments", "small", "--registry", second, "--registry", first).exit_code == 0
    assert run("registry", "push", "--named", "assignments/small", "--registry", second).exit_code == 0
    assert run("registry", "push", "--all", "--registry", second, "--registry", first).exit_code == 0
    assert [p.name for p in sorted(second.iterdir())] == ["blobs", "index.json", "keys", "names"]
    assert "assignments" in run("registry", "list", "--store", own_store).output
    assert "assignments" in run("registry", "list").output
    (second / "blobs" / "sha256" / next((second / "blobs" / "sha256").iterdir()).name).write_bytes(b"damaged")
    bad = run("registry", "verify", second)
    assert bad.exit_code == 1 and "sha256" in bad.output
    assert run("registry", "verify", "--registry", second, "--json").exit_code == 1


def test_signatures(run: Run, assignments: Path, tmp_path: Path) -> None:
    key, registry = tmp_path / "key", tmp_path / "registry"
    made = run("registry", "keygen", key)
    assert made.exit_code == 0 and "keep it secret" in made.output
    assert run("registry", "keygen", key).exit_code == 1
    run("registry", "push", assignments, "--registry", registry)
    unsigned = run("registry", "pull", "assignments", "small", "--registry", registry, "--require-signature", f"{key}.pub")
    assert unsigned.exit_code == 1 and "no signed index" in unsigned.output
    assert "signed" in run("registry", "push", assignments, "--registry", registry, "--sign", key).output
    good = run("registry", "pull", "assignments", "small", "--registry", registry, "--require-signature", f"{key}.pub")
    assert good.exit_code == 0, good.output
    run("registry", "keygen", tmp_path / "other")
    other = run("registry", "pull", "assignments", "small", "--registry", registry, "--require-signature", tmp_path / "other.pub")
    assert other.exit_code == 1 and "not that of a key required" in other.output


def test_gc(run: Run, assignments: Path, own_store: Path) -> None:
    run("registry", "push", assignments, "--registry", own_store)
    for path in own_store.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 90 * 86400,) * 2)
    assert "1 artifact would go" in run("registry", "gc", "--max-age", "30d", "--dry-run").output
    assert "0 artifacts gone" in run("registry", "gc", "--max-size", "1GB").output
    report = json.loads(run("registry", "gc", own_store, "--max-age", "30d", "--json").output)
    assert (report["blobs"], report["kept_bytes"], len(report["removed"])) == (1, 0, 1)
    assert json.loads((own_store / "index.json").read_text())["references"] == []


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("push",), "nothing to publish"),
        (("push", "--all", "--as", "a/b"), "--as names one artifact"),
        (("pull",), "give GRAMMAR TOKENIZER"),
        (("pull", "java"), "give GRAMMAR TOKENIZER"),
        (("pull", "a", "b", "--all"), "give GRAMMAR TOKENIZER"),
        (("pull", "--all", "-o", "x"), "-o takes one"),
        (("gc", "--max-age", "soon"), "not an age"),
        (("gc", "--max-size", "big"), "not a size"),
        (("serve", "x", "--tls-cert", "y"), "go together"),
    ],
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...], what: str) -> None:
    result = run("registry", *arguments)
    assert result.exit_code == 2 and what in result.output


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("pull", "java", "qwen3"), "no registry is named: give --registry URL, or set PSC_REGISTRY"),
        (("pull", "../../etc", "passwd", "--registry", "."), "cannot be the name of a grammar"),
        (("pull", "a/b/c", "--registry", "."), "expected GRAMMAR/TOKENIZER"),
        (("pull", "--key", "xyz", "--registry", "."), "no input key"),
        (("pull", "java", "qwen3", "--registry", "ftp://x"), "ftp://x"),
        (("pull", "java", "qwen3", "--registry", "absent-folder"), "no such folder"),
        (("push", "absent.psc", "--registry", "x"), "cannot read the artifact"),
        (("push", "--named", "a/b", "--registry", "x"), "not in the store"),
        (("serve", "x", "--token-file", "absent"), "cannot read the tokens"),
    ],
)
def test_what_cannot_be(run: Run, arguments: tuple[str, ...], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("registry", *arguments)
    assert result.exit_code == 1 and what in result.output.replace("\n", " "), result.output
    assert not (tmp_path / "x").exists() or not list((tmp_path / "x").iterdir())


def test_offline(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSC_OFFLINE", "1")
    result = run("registry", "pull", "java", "qwen3", "--registry", "https://registry.invalid")
    assert result.exit_code == 1 and "PSC_OFFLINE is set" in result.output


def test_what_is_no_artifact_is_not_pushed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.psc").write_bytes(b"nonsense")
    result = run("registry", "push", tmp_path / "x.psc", "--registry", tmp_path / "registry")
    assert result.exit_code == 1 and "not a psc artifact" in result.output
    assert not (tmp_path / "registry").exists()


def test_pull_all_says_what_failed(run: Run, assignments: Path, tmp_path: Path) -> None:
    run("registry", "push", assignments, "--registry", tmp_path / "good")
    result = run("registry", "pull", "--all", "--registry", tmp_path / "absent", "--registry", tmp_path / "good")
    assert result.exit_code == 1 and "no such folder" in result.output and "assignments/small" in result.output


def test_a_server_without_a_token_says_that_it_is_read_only(serve: Serve, tmp_path: Path, run: Run, assignments: Path) -> None:
    run("registry", "push", assignments, "--registry", tmp_path / "registry")
    url, _ = serve(tmp_path / "registry", "--quiet")
    with urllib.request.urlopen(f"{url}/index.json") as answer:
        assert json.load(answer)["references"][0]["grammar"] == "assignments"
    assert "read-only" in (tmp_path / "log0").read_text()
    refused = run("registry", "push", assignments, "--registry", url)
    assert refused.exit_code == 1 and "read-only" in refused.output


@pytest.mark.parametrize("stderr", ["closed", "a broken pipe", "a full disk"])
def test_a_server_serves_whatever_becomes_of_its_log(stderr: str, tmp_path: Path, run: Run, assignments: Path) -> None:
    """Nobody to tell about a request is no reason to refuse it; requests that fail and warnings are not told either."""
    run("registry", "push", assignments, "--registry", tmp_path / "registry")
    command = [sys.executable, "-m", "psc", "registry", "serve", str(tmp_path / "registry"), "--port", "0"]
    shell = {"closed": 'exec "$@" 2>&-', "a broken pipe": 'exec "$@" 2>"$0"', "a full disk": 'exec "$@" 2>/dev/full'}[stderr]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK) if stderr == "a broken pipe" else None
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with subprocess.Popen(["sh", "-c", shell, str(pipe), *command], env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().rpartition(" at ")[2].strip()
            if reader is not None:
                os.close(reader)
            for path, status in (("index.json", 200), ("nothing", 404), ("index.json", 200)):
                try:
                    with urllib.request.urlopen(f"{url}/{path}", timeout=60) as answer:
                        assert answer.status == status
                except urllib.error.HTTPError as e:
                    assert e.code == status
            process.terminate()
            assert "Traceback" not in process.communicate(timeout=60)[0]
        finally:
            process.kill()


def test_a_warning_where_tokens_travel_in_clear(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(TOKEN)
    (tmp_path / "tokens").chmod(0o644)
    # An address that this machine does not have, so that nothing listens to the world.
    result = run("registry", "serve", tmp_path / "registry", "--host", "192.0.2.1", "--token-file", tmp_path / "tokens")
    assert result.exit_code == 1 and "cannot listen on 192.0.2.1:8750" in result.output
    assert "unencrypted" in result.output and "chmod 600" in result.output


def test_transfers_that_take_long_are_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("psc.cli.progress._PATIENCE_S", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    terminal, pipe = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Transfers("pulling") as transfers:
        deadline = time.monotonic() + 20
        while "1.5/3.0 MB" not in terminal.getvalue() and time.monotonic() < deadline:
            transfers.moved("java/qwen3", 1_500_000, 3_000_000)
            time.sleep(0.01)
    assert "pulling: java/qwen3" in terminal.getvalue() and "1.5/3.0 MB" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", pipe)
    with Transfers("pulling") as transfers:
        time.sleep(0.05)
        transfers.moved("java/qwen3", 1, 2)
    assert pipe.getvalue() == ""
