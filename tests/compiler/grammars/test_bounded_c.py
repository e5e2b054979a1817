"""Bounded layout of C: the whole grammar's texts, less those whose layout a scanner refuses.

The scanner knows strings, characters, comments and lines of the preprocessor, and nothing of the grammar.
"""

import random
import re

import pytest
from bundled_texts import takes

from psc.compiler.frontends.layout import BOUNDED

TEXTS = [
    "#include <a.h>\n#define B(c) \\\n    ((c) / 2)\n\nint main(void)\n{\n    return B(4) / 2;\n}\n",
    'struct a {\n\tint b;\n#if C\n\tchar *d, e[2];\n#  endif\n};\n\nstatic const char f = \'/\', *g = "// no /* \\" no";\n',
    "int a(int b) {\n  for (int c = 0; c < b; c++) {\n    if (c / 2) continue; else break;\n  }\n  return b;\n}\n#undef D\n",
]
PIECES = [
    " ",
    "\n",
    "\t",
    "\r\n",
    "\f",
    "// c\n",
    "/* c */",
    "/* c\n */",
    "\\\n",
    "\\\r\n",
    "\n#e f\n",
    "\n #\n",
    "/",
    "\n\\\n#g\n",
]
PIECES += ["\n#h \\\n i\n", "\n#j / k /l\n", "\n#m /* n */\n", "\n#o // p\n", "\n#q/", "\u00a0", "\\ "]
PIECES += [piece * n for piece in (" ", "\n", "\\\n", "\t") for n in (BOUNDED - 1, BOUNDED, BOUNDED + 1)]
PIECES += [" " * n + "\n" * m for n in (BOUNDED, BOUNDED + 1) for m in (1, BOUNDED, BOUNDED + 1)]
PIECES += ["\n" * n + "#r\n" for n in (BOUNDED, BOUNDED + 1)]

_LEXEME = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<comment>//|/\*)"""
    r"""|(?P<run>(?:[\t\v\f\r \n]|\\\n)+)|(?P<other>.)""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"#(?:[^\n\\]|\\.)*", re.DOTALL)


def is_bounded(text: str) -> bool:
    """Whether a text begins with a word or a directive, and has no comments and only short runs of blanks."""
    if re.match(r"[\t\v\f\r \n\\]", text):
        return False
    at, run = 0, ""
    while at < len(text):
        found = _LEXEME.match(text, at)
        assert found
        if text[at] == "#" and (at == 0 or re.search(r"(?<!\\)\n[\t\v\f\r ]*$", run)):
            found = _DIRECTIVE.match(text, at)
            assert found
            if not _is_bounded_directive(run, found[0]):
                return False
        elif found.lastgroup == "comment" or text.startswith("\\\r", at) or (found.lastgroup == "run" and not _is_short(found[0])):
            return False
        run, at = found[0] if found.lastgroup == "run" else "", found.end()
    return True


def _is_short(run: str) -> bool:
    before, line_end, behind = run.replace("\\\n", " ").partition("\n")
    return len(before) <= BOUNDED and len(line_end + behind) <= BOUNDED


def _is_bounded_directive(before: str, line: str) -> bool:
    """Of a line of the preprocessor, and the blanks before it: among these is no backslash from the first line end on."""
    of_lines = re.sub(r"^(?:[\t\v\f\r ]|\\\n)*", "", before)
    runs = [found[0].replace("\\\n", "\n") for found in re.finditer(r"(?:[\t\v\f\r ]|\\\n)+", line)]
    return "\\" not in of_lines and not re.search(r"//|/\*|\\[\t\v\f\r ]", line) and all(map(_is_short, runs))


def test_what_is_left_of_texts() -> None:
    assert [text for text in TEXTS if not (takes("c", text) and is_bounded(text) and takes("c?layout=bounded", text))] == []


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_of_mutants(seed: int) -> None:
    """Layout and directives put in at one or two places, of which some are within literals, or where C has none."""
    rng, counts = random.Random(seed), {(whole, bounded): 0 for whole in (False, True) for bounded in (False, True)}
    for _ in range(800):
        text = rng.choice(TEXTS)
        for _ in range(rng.choice([1, 1, 2])):
            at = rng.randint(0, len(text))
            text = text[:at] + rng.choice(PIECES) + text[at:]
        whole, bounded = takes("c", text), takes("c?layout=bounded", text)
        assert bounded == (whole and is_bounded(text)), repr(text)
        counts[whole, bounded] += 1
    assert min(counts[False, False], counts[True, False], counts[True, True]) > 50
