"""``psc playground`` as a process: it prints its address, answers there, and ends in order."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

REQUEST = {"grammar": {"language": "regex", "text": "a+"}, "tokenizer": "bytes", "text": "aa"}


@pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="processes that it starts are not instrumented")
def test_serves_until_it_is_ended(tmp_path: Path) -> None:
    (tmp_path / "own.ebnf").write_text('root ::= "a"')
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "psc", "playground", str(tmp_path / "own.ebnf"), "-t", "bytes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            address = process.stdout.readline().removeprefix("playground at ").strip()
            request = urllib.request.Request(address + "look", json.dumps(REQUEST).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert json.load(answer)["n_read"] == 2
            with urllib.request.urlopen(address + "choices", timeout=60) as answer:
                assert json.load(answer)["grammar"] == str(tmp_path / "own.ebnf")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()


def test_a_grammar_that_is_not_there(run) -> None:  # type: ignore[no-untyped-def]
    result = run("playground", "jsn")
    assert result.exit_code == 1
    assert "Did you mean 'json'?" in result.stderr
