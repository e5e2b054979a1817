"""rustc as the parser of Rust, editions 2021 and 2024, one process a text.

It stops behind the parser: files of modules are not read, macros are not expanded, and nothing is said of names, of types or of
what the compiler checks on the tree (`fn f();` outside of a trait passes). The option is one of the nightly compiler's; a
stable one takes it with ``RUSTC_BOOTSTRAP=1``.

A text that edition 2021 refuses since it is of edition 2024 (`if let A = b && c`) is judged as one of 2024.

Cost: 20 ms a text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from psc.corpus.references.reference import ProcessForEachText, Refusal
from psc.errors import ReferenceMissingError, ReferenceParserError

_OPTIONS = ("parse-crate-root-only", "parse-only")
"""The first since rustc 1.81."""
_ERROR = re.compile(r"^(?:<anon>:(\d+):(\d+): )?error(?:\[\w+\])?: (.*)$", re.MULTILINE)
_OF_THE_TEXT = re.compile(r"`[^`\n]*`")


class Rustc(ProcessForEachText):
    """rustc on the ``PATH``; raises `ReferenceMissingError` if there is none that stops behind its parser."""

    def __init__(self) -> None:
        program = shutil.which("rustc")
        if program is None:
            raise ReferenceMissingError("no rustc on the PATH")
        self._command = [program, "--error-format", "short", "-"]
        self._environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        self._version = " ".join(answer.stdout.split()[:2])
        for option in _OPTIONS:
            self._option = f"-Z{option}"
            if self._run("").returncode == 0:
                return
        raise ReferenceMissingError(
            f"{program} does not stop behind its parser: {(answer.stderr or self._run('').stderr).strip()[:200]}"
        )

    def _judge(self, text: str) -> Refusal | None:
        done = self._run(text)
        if "Rust 2024" in done.stderr:
            done = self._run(text, "2024")
        if done.returncode == 0:
            return None
        error = _ERROR.search(done.stderr)
        if done.returncode != 1 or error is None:
            raise ReferenceParserError(f"rustc ended with {done.returncode}: {done.stderr[:500]}")
        return Refusal(_OF_THE_TEXT.sub("`...`", error[3]), int(error[1] or 0), int(error[2] or 0))

    def _run(self, text: str, edition: str = "2021") -> subprocess.CompletedProcess[str]:
        command = [*self._command, self._option, "--edition", edition]
        return subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="surrogatepass",
            env=self._environment,
            timeout=self.seconds,
            check=False,
        )
