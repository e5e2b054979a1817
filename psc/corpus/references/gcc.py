"""GCC as the parser of C, one process a text.

It looks at names and types while it parses, so the kind of the first error decides: a text whose first error is not about syntax
is accepted, and nothing after it is judged. A name that is no type's counts as an error of syntax, which it is in C.

Cost: 20 ms a text, more for long ones.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence

from psc.corpus.references.reference import Refusal
from psc.errors import ReferenceMissingError

_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\.|[^\\\n])*", re.MULTILINE | re.DOTALL)
_ERROR = re.compile(r"^<stdin>:(\d+):(\d+): (?:fatal )?error: (.*)$", re.MULTILINE)
_OF_SYNTAX = re.compile(
    r"expected|unknown type name|stray|missing terminating|empty character|unterminated|invalid (?:suffix|digit)|exponent has|"
    r"too many decimal|two or more data types|duplicate .(?:short|signed|unsigned)|both .* in declaration specifiers|empty enum|"
    r".* is too long for|(?:return )?type (?:of .* )?defaults to|parameter .* forward|.else. without"
)


class Gcc:
    """``gcc -fsyntax-only`` of C 17 with GNU's extensions, and without `int` that is not said. Directives are left out."""

    def __init__(self) -> None:
        self._program = shutil.which("gcc")
        if self._program is None:
            raise ReferenceMissingError("no gcc on the PATH")
        answer = subprocess.run([self._program, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
        self._version = f"GCC {answer.strip()}"

    @property
    def version(self) -> str:
        return self._version

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        return [self._judge(text) for text in texts]

    def _judge(self, text: str) -> Refusal | None:
        assert self._program is not None
        command = [self._program, "-fsyntax-only", "-x", "c", "-std=gnu17", "-Werror=implicit-int", "-"]
        without = _DIRECTIVE.sub(lambda directive: "\n" * directive[0].count("\n"), text)
        done = subprocess.run(command, input=without, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        error = _ERROR.search(done.stderr)
        if error is None or not _OF_SYNTAX.match(error[3]):
            return None
        return Refusal(error[3], int(error[1]), int(error[2]))

    def close(self) -> None:
        pass
