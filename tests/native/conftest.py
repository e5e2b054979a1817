"""Programs of C++ that test one part of the native core each, built with the sanitizers from that part's own sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"


@pytest.fixture(scope="session")
def run_native(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Builds ROOM/PROGRAM.cpp with these sources of the core, runs it, and gives what it prints; a report of a sanitizer fails."""
    compiler = next((found for name in (os.environ.get("CXX"), "g++", "c++") if name and (found := shutil.which(name))), None)
    if compiler is None or not NATIVE.is_dir():
        pytest.skip("needs a C++ compiler and the native sources")
    folder = tmp_path_factory.mktemp("native")

    @cache
    def build(name: str, sources: tuple[str, ...]) -> Path:
        options = [
            "-std=c++20",
            "-O0",
            "-g1",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            f"-I{NATIVE}",
            f"-I{HERE}",
        ]
        program = folder / name.replace("/", "_")
        files = [HERE / f"{name}.cpp", *(NATIVE / source for source in sources)]
        unit = program.with_suffix(".cpp")  # of all: the headers of the library are read once
        unit.write_text("".join(f'#include "{file}"\n' for file in files))
        subprocess.run([compiler, *options, unit, "-o", program], check=True, timeout=300)
        return program

    def run(name: str, *arguments: str, sources: tuple[str, ...] = ()) -> str:
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        program = build(name, sources)
        ran = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, env=environment)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run
