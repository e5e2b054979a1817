"""A small tokenizer file and artifacts compiled for it, so that nothing is downloaded."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from vocabularies import PIECES

from psc.cli import main
from psc.vocabulary.spelling import byte_level_alphabet

ROOT = Path(__file__).parents[2]
Run = Callable[..., Result]

ASSIGNMENTS = """\
start: assignment+
assignment: NAME "=" value ";"
value: NAME | NUMBER | "none" | "(" value ")"
NAME: /[a-zé]+/
NUMBER: /[0-9]+/
%ignore /[ \\n]+/
"""


def write_tokenizer(path: Path, pieces: list[bytes]) -> Path:
    """A tokenizer.json in byte-level spelling: the pieces, then <|endoftext|>, which stops."""
    spelling = {byte: character for character, byte in byte_level_alphabet().items()}
    vocab = {"".join(spelling[b] for b in piece): i for i, piece in enumerate(pieces)}
    stop = {"id": len(pieces), "content": "<|endoftext|>", "special": True, "normalized": False}
    model = {"type": "BPE", "vocab": vocab, "merges": [], "byte_fallback": False}
    layout = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    path.write_text(json.dumps({"added_tokens": [stop], "pre_tokenizer": layout, "decoder": layout, "model": model}))
    return path


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pieces = dict.fromkeys([*(bytes([b]) for b in range(256)), *(p.encode() for p in PIECES if p), "é".encode()])
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "small.json", list(pieces))


@pytest.fixture(scope="session")
def other_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "bytes.json", [bytes([b]) for b in range(256)])


@pytest.fixture(scope="session")
def run() -> Run:
    """Calls ``psc`` in this process."""

    def call(*arguments: object, stdin: bytes | None = None) -> Result:
        result = CliRunner().invoke(main, [str(a) for a in arguments], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


@pytest.fixture(scope="session")
def assignments(tmp_path_factory: pytest.TempPathFactory, run: Run, tokenizer: Path) -> Path:
    """An artifact of the grammar ASSIGNMENTS."""
    folder = tmp_path_factory.mktemp("assignments")
    (folder / "assignments.lark").write_text(ASSIGNMENTS)
    result = run("compile", folder / "assignments.lark", "-t", tokenizer, "-o", folder / "assignments.psc")
    assert result.exit_code == 0, result.output
    return folder / "assignments.psc"


@pytest.fixture(scope="session")
def python() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs Python in another process, with this psc."""

    def call(*arguments: object, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, timeout=120)

    return call
