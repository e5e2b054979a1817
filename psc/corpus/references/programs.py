"""Parsers that are programs which read one text from their input, one process a text, and say by their exit code what they think.

Cost: what the program takes to start.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from tempfile import gettempdir

from psc.corpus.references.reference import SECONDS_FOR_A_TEXT, ProcessForEachText, Refusal
from psc.errors import ReferenceMissingError, ReferenceParserError


class Program(ProcessForEachText):
    """A program that ends with 0 if it takes a text, and else writes why. Its messages are in English.

    Args:
        command: the program and its arguments.
        version: its name and version.
        error: what its first error is found with: groups `message` and, where it says one, `line`.
        warns: whether a warning refuses a text that it ends with 0 for; else it prints what it has read, which is something.
        seconds: for a text.
    """

    def __init__(
        self, command: Sequence[str], version: str, error: str, *, warns: bool = False, seconds: float = SECONDS_FOR_A_TEXT
    ) -> None:
        self._command, self._version, self._warns, self.seconds = list(command), version, warns, seconds
        self._error = re.compile(error, re.MULTILINE)
        self._environment = {**os.environ, "LC_ALL": "C.UTF-8"}

    def _judge(self, text: str) -> Refusal | None:
        data = text.encode("utf-8", "surrogatepass")
        done = subprocess.run(
            self._command, input=data, capture_output=True, env=self._environment, timeout=self.seconds, check=False
        )
        said = done.stderr.decode("utf-8", "replace")
        if done.returncode == 0 and not (self._warns and said):
            return None if self._warns or done.stdout else Refusal("nothing is in it")
        error = self._error.search(said)
        if error is None:
            raise ReferenceParserError(f"{self._command[0]} ended with {done.returncode}: {said[:500]}")
        return Refusal(_OF_THE_TEXT.sub("`...'", error["message"]), int(error.groupdict().get("line") or 0))


_OF_THE_TEXT = re.compile(r"`[^'\n]*'?")


def program(name: str, where: str) -> str:
    """The path of a program; raises `ReferenceMissingError`, which says where it is to be had, if it is not on the ``PATH``."""
    path = shutil.which(name)
    if path is None:
        raise ReferenceMissingError(f"no {name} on the PATH ({where})")
    return path


def bash() -> Program:
    """Bash, which reads a text and runs nothing of it, so extended patterns are those of `[[ ]]` alone.

    It does not look into backquotes, `${ }` and arithmetic. It warns of a here-document that the text does not end.
    """
    path = program("bash", "Bash")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"version (\S+)", said)
    return Program([path, "--norc", "-n"], f"bash {version[1] if version else ''}".strip(), _BASH, warns=True)


_BASH = r"^(?:bash|/dev/stdin|[^:\n]*bash): line (?P<line>\d+): (?P<message>.*)$"


def graphviz() -> Program:
    """Graphviz's parser, in its program that prints a graph again."""
    dot = program("dot", "Graphviz")
    said = subprocess.run([dot, "-V"], capture_output=True, text=True, check=False).stderr
    version = re.search(r"version (\S+)", said)
    return Program([program("nop", "Graphviz")], f"Graphviz {version[1] if version else ''}".strip(), _GRAPHVIZ)


_GRAPHVIZ = r"(?P<message>syntax error)(?: in line (?P<line>\d+))?"


def git_apply() -> Program:
    """Git, which reads a patch and applies nothing. It counts the lines of a hunk itself, and skips text around files."""
    git = program("git", "Git")
    version = subprocess.run([git, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return Program([git, "-C", gettempdir(), "apply", "--numstat", "--recount", "-"], version, _GIT)


_GIT = r"error: (?P<message>[^\n]*?)(?: (?:at|on) line (?P<line>\d+).*)?(?:\n|$)"
