"""The committed stub of the native module is what nanobind makes of the module as built."""

import importlib.resources
import subprocess
import sys
from pathlib import Path

import psc


def test_stub_is_current(tmp_path: Path) -> None:
    out = tmp_path / "_core.pyi"
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-q", "-P", "-m", "psc._core", "-o", str(out)], check=True, cwd=tmp_path
    )
    committed = importlib.resources.files(psc).joinpath("_core.pyi").read_text()
    assert out.read_text() == committed
