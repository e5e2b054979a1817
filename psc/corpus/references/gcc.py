"""GCC as the parser of C and of C++, a process a text.

It looks at names and types while it parses. Errors about them are passed over, and the first one about syntax decides. A name that
is nowhere declared is an object to GCC, so that a cast to it (`(size_t) x`, where the header is missing) looks like an error of
syntax: GCC is asked again with the name declared as a type, and that counts where it comes further. A name that GCC itself takes
for a type's, and that is none, stays an error of syntax, which it is in C.

Of C++ the whole translation unit is needed, after the preprocessor: GCC does not parse on where names are not declared. So a text
whose errors are all about names and types counts as one in which only names differ.

Cost: 20 ms a text, more for long ones; a few times that where an error of syntax follows a name that is not declared.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable

from psc.corpus.references.reference import SECONDS_FOR_A_TEXT, ProcessForEachText, Refusal
from psc.errors import ReferenceMissingError

_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\.|[^\\\n])*", re.MULTILINE | re.DOTALL)
_ERROR = re.compile(r"^<stdin>:(\d+):(\d+): (?:fatal )?error: (.*)$", re.MULTILINE)
_OF_SYNTAX = re.compile(
    r"expected|unknown type name|stray|missing terminating|empty character|unterminated|invalid (?:suffix|digit)|exponent has|"
    r"too many decimal|two or more data types|duplicate .(?:short|signed|unsigned)|both .* in declaration specifiers|empty enum|"
    r".* is too long for|(?:return )?type (?:of .* )?defaults to|parameter .* forward|.else. without"
)
_OF_SYNTAX_OF_CPP = re.compile(
    rf"{_OF_SYNTAX.pattern}|duplicate .(?!base|case|member)|multiple types in one|declaration does not declare|invalid declarator|"
    r".* (?:does not name a|is not a) (?:type|class|namespace)|ISO C\+\+ forbids declaration|conflicting specifiers|"
    r"a function-definition is not allowed|qualified-id in declaration|unable to find|.* requires .template|parse error|"
    r".* specified together|invalid use of .?(?:template-name|auto)|.* declared as (?:an? )?.(?:inline|virtual|friend|explicit)|"
    r".* cannot be (?:declared|nested)|.*non-type"
)
_UNDECLARED = re.compile(r"(\w+)\W undeclared")
_MOST_TYPES = 8
"""Names that are tried as types."""


_C = ("-x", "c", "-std=gnu17", "-Werror=implicit-int")
_CPP = ("-x", "c++", "-std=c++20", "-w")


class Gcc(ProcessForEachText):
    """``gcc -fsyntax-only`` of C 17 with GNU's extensions and without `int` that is not said, or of C++20. Directives are left out.

    Args:
        seconds: for a text.
        cpp: whether of C++.
    """

    def __init__(self, seconds: float = SECONDS_FOR_A_TEXT, *, cpp: bool = False) -> None:
        self.seconds = seconds
        name = "g++" if cpp else "gcc"
        self._options, self._of_syntax = (_CPP, _OF_SYNTAX_OF_CPP) if cpp else (_C, _OF_SYNTAX)
        self._program = shutil.which(name)
        if self._program is None:
            raise ReferenceMissingError(f"no {name} on the PATH")
        answer = subprocess.run([self._program, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
        self._version = f"GCC {answer.strip()}"

    def _judge(self, text: str) -> Refusal | None:
        without = _DIRECTIVE.sub(lambda directive: "\n" * directive[0].count("\n"), text)
        types: list[str] = []
        refusal, undeclared = self._first_error(without, types)
        while refusal is not None and undeclared and len(types) < _MOST_TYPES:
            types.append(undeclared[-1])
            further, more = self._first_error(without, types)
            if further is not None and (further.line, further.column) <= (refusal.line, refusal.column):
                break
            refusal, undeclared = further, [name for name in more if name not in types]
        return refusal

    def _first_error(self, text: str, types: Iterable[str]) -> tuple[Refusal | None, list[str]]:
        """The first error of syntax, and the names before it that are not declared."""
        assert self._program is not None
        command = [self._program, "-fsyntax-only", *self._options, "-fmax-errors=0", "-"]
        declared = "".join(f"typedef int {name}; " for name in types)
        done = subprocess.run(
            command,
            input=f'{declared}\n# 1 "<stdin>"\n{text}',
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            timeout=self.seconds,
        )
        undeclared: list[str] = []
        errors = _ERROR.findall(done.stderr)
        for line, column, message in errors:
            if self._of_syntax.match(message):
                return Refusal(message, int(line), int(column)), undeclared
            undeclared += _UNDECLARED.findall(message)
        if errors and self._options == _CPP:
            line, column, message = errors[0]
            return Refusal(message, int(line), int(column), of_names=True), []
        return None, undeclared
