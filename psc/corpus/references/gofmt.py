"""Go's own parser, as gofmt runs it: a folder of files at a time."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from psc.corpus.references.reference import Refusal
from psc.errors import ReferenceMissingError, ReferenceParserError

# A comment with which a file says that its lines are another file's, as generated ones do; gofmt's messages would follow it.
_LINE = re.compile(r"^//line |/\*line ", re.MULTILINE)
_ERROR = re.compile(r"(?:.*/)?(\d+)\.go:(\d+):(\d+): (.*)")


class Gofmt:
    """gofmt on the ``PATH``; raises `ReferenceMissingError` if there is none."""

    def __init__(self) -> None:
        program = shutil.which("gofmt")
        if program is None:
            raise ReferenceMissingError("no gofmt on the PATH")
        self._program = program
        self._version = f"gofmt of {_go_version(Path(program))}"

    @property
    def version(self) -> str:
        return self._version

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        with tempfile.TemporaryDirectory(prefix="psc-gofmt-") as folder:
            for i, text in enumerate(texts):
                unmarked = _LINE.sub(lambda match: match[0].replace("line", "Line"), text)
                Path(folder, f"{i}.go").write_bytes(unmarked.encode("utf-8", "surrogatepass"))
            done = subprocess.run([self._program, "-e", "-l", folder], capture_output=True, text=True, errors="replace")
        if done.returncode not in (0, 2):
            raise ReferenceParserError(f"gofmt ended with {done.returncode}: {done.stderr[:500]}")
        verdicts: list[Refusal | None] = [None] * len(texts)
        for line in done.stderr.splitlines():
            match = _ERROR.fullmatch(line)
            if match and verdicts[int(match[1])] is None:
                verdicts[int(match[1])] = Refusal(match[4], int(match[2]), int(match[3]))
        return verdicts

    def close(self) -> None:
        pass


def _go_version(program: Path) -> str:
    """gofmt does not report its version; the toolchain beside it does."""
    go = program.with_name("go")
    command = [str(go), "version"] if go.exists() else [shutil.which("go") or "go", "version"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[2]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "an unknown version"
