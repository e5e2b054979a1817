"""The arena of native/arena.hpp, alone and under the sanitizers: attempts, copies and rewinds in random order."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "native"


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = next((found for name in (os.environ.get("CXX"), "g++", "c++") if name and (found := shutil.which(name))), None)
    if compiler is None or not SOURCES.is_dir():
        pytest.skip("needs a C++ compiler and the native sources")
    program = tmp_path_factory.mktemp("arena") / "arena_walk"
    source = Path(__file__).with_name("arena_walk.cpp")
    options = ["-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run([compiler, *options, f"-I{SOURCES}", str(source), "-o", str(program)], check=True, timeout=120)
    return program


@pytest.mark.parametrize("seed", [1, 1_000_001])
def test_what_is_kept_stays_as_it_was(walk: Path, seed: int) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    ran = subprocess.run([walk, str(seed), "300"], capture_output=True, text=True, timeout=120, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("objects\n")
