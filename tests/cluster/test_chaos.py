"""benchmarks/chaos.py, on small tokenizers: whatever breaks, a batch on Ray ends as a calm one does."""

import importlib.util
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from tokenizer_files import write_tokenizer
from vocabularies import byte_tokenizer

from psc.artifacts.store import Store
from psc.grammars.compile_file import compile_to_artifact

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "chaos.py"
EXPECTED_BLOWS = ["disk full", "worker killed", "driver killed", "driver started again", "node added and removed"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="Ray's processes are not built for it"),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs psc[cluster]"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
    pytest.mark.skipif(not SCRIPT.exists(), reason="not in the source tree"),
]


def pairs_and_triples(letters: bytes) -> list[bytes]:
    """So many that a grammar takes half a second."""
    return [bytes(p) for length in (2, 3) for p in product(letters, repeat=length)]


def test_whatever_breaks_the_artifacts_are_those_of_a_calm_run(tmp_path: Path) -> None:
    letters = [b"aeinorst (=*\n.", b'SELCTFROM ,;1"', b"abcdefgh{}()/'", b"ijklmnop<>=+-"]
    tokenizers = [write_tokenizer(tmp_path / f"letters{i}.json", pairs_and_triples(found)) for i, found in enumerate(letters)]
    command = [sys.executable, SCRIPT, "--grammar", "sql", "java", "go", "--tokenizer", *tokenizers]
    command += ["--disk", "patched", "--keep", tmp_path / "work", "--json", "-"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SCRIPT.parent), *(p for p in sys.path if p)]),
        "RAY_AUTH_MODE": "disabled",
    }
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert [blow["what"] for blow in found["blows"]] == EXPECTED_BLOWS
    assert found["wrong"] == [] and found["jobs"] == found["artifacts"] == 12
    assert found["digests"][0] == found["digests"][1]


def test_a_store_that_lacks_or_changed_something_is_noticed(tmp_path: Path) -> None:
    """What the run above is judged by."""
    spec = importlib.util.spec_from_file_location("chaos", SCRIPT)
    assert spec is not None and spec.loader is not None
    chaos = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(chaos)
    data = compile_to_artifact("json", byte_tokenizer(), tmp_path / "a.psc").path.read_bytes()
    other = compile_to_artifact("json", byte_tokenizer("more"), tmp_path / "b.psc").path.read_bytes()
    calm = Store(tmp_path / "calm")
    calm.add(data, grammar="json", tokenizer="a")
    for name, content, wrong in (
        ("same", {"a": data}, 0),
        ("empty", {}, 2),
        ("changed", {"a": other}, 3),
        ("extra", {"a": data, "b": other}, 1),
    ):
        store = Store(tmp_path / name)
        for tokenizer, artifact in content.items():
            store.add(artifact, grammar="json", tokenizer=tokenizer)
        assert len(chaos.compare(calm.root, store.root)[0]) == wrong, name
    damaged = Store(tmp_path / "same")
    blob = damaged.root / damaged.references()[0].blob_path
    blob.write_bytes(blob.read_bytes()[:-1])
    assert len(chaos.compare(calm.root, damaged.root)[0]) >= 2
