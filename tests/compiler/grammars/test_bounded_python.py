"""Bounded layout of Python: the whole grammar's texts, less those whose layout a scanner refuses.

The scanner knows strings, comments and brackets, and nothing of the grammar.
"""

import random
import re

import pytest
from bundled_texts import takes

from psc.compiler.frontends.layout import BOUNDED

EMPTY = 8  # lines
TEXTS = [
    "import a.b as c, d\n\nx = f(\n    a,\n\n    b=[1, 2],\n)\n",
    "def f(a, b: int = 1, *, c=2) -> g:\n    '''A text.\n\n      # no comment\n    '''\n    return a + \\\n        b\n",
    "class A(B):\n    x = 1\n\n    def g(self):\n        pass\n\n\nif a:\n  b = c\n",
    "if a:\n\tb = {'c': d}\nelif e: f\nelse:\n\twhile g:\n\t\th()\n\n\t\ti\nj\n",
    "@a\n@b(c)\n\nasync def d():\n  async with e as f, g:\n    await h; i\n  try: k\n  finally:\n        l\n",
    "match a:\n    case [b, c] if d:\n        e\n    case _: f\nx = (\n  [\n    1,\n  ],\n)\n",
]
PIECES = [
    " ",
    "\n",
    "\t",
    "\r\n",
    "# c\n",
    "# c",
    "\f",
    "\\\n",
    "\n\\\n\n",
    "\n    ",
    "    \n",
    "\n \n  \n",
    "\n\n \n\n\n",
    "\u00a0",
]
PIECES += [piece * n for piece in (" ", "\\\n", "\t") for n in (BOUNDED - 1, BOUNDED, BOUNDED + 1)]
PIECES += ["\n" * n for n in range(EMPTY - 2, EMPTY + 2)] + ["\n" + " " * n + "\n" for n in (BOUNDED, BOUNDED + 1)]

_LEXEME = re.compile(
    r"""(?P<string>'''.*?'''|'(?:[^'\\\n]|\\.)*')|(?P<open>[(\[{])|(?P<close>[)\]}])"""
    r"""|(?P<run>(?:[ \t\r\n]|\\\r?\n)+)|(?P<other>.)""",
    re.DOTALL,
)
_LINE_END, _BLANK = r"(?:\r\n?|\n)", r"(?:[ \t]|\\(?:\r\n?|\n))"
_BLANKS = rf"{_BLANK}{{0,{BOUNDED}}}"
_WITHIN_BRACKETS = re.compile(rf"{_BLANKS}(?:{_LINE_END}{_BLANKS}){{0,{EMPTY + 1}}}")
_LINES = re.compile(
    rf"{_BLANKS}(?:{_LINE_END}(?:[ \t]{{0,{BOUNDED}}}{_LINE_END}){{0,{EMPTY}}}[ \t]{{0,{BOUNDED}}}(?:(?=\\){_BLANKS})?)?"
)


def is_bounded(text: str) -> bool:
    """Whether a text begins with a word, has no comments and no form feeds, and only short runs of blanks and of empty lines."""
    if re.match(r"[ \t\r\n\\]", text):
        return False
    depth = 0
    for found in _LEXEME.finditer(text):
        depth += (found.lastgroup == "open") - (found.lastgroup == "close")
        if found.lastgroup == "run" and not (_WITHIN_BRACKETS if depth > 0 else _LINES).fullmatch(found[0]):
            return False
        if found.lastgroup == "other" and found[0] in "#\f":
            return False
    return True


def test_what_is_left_of_texts() -> None:
    assert [
        text for text in TEXTS if not (takes("python", text) and is_bounded(text) and takes("python?layout=bounded", text))
    ] == []


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_of_mutants(seed: int) -> None:
    """Layout put in at one or two places, of which some are within literals, or where the whole language has none."""
    rng, counts = random.Random(seed), {(whole, bounded): 0 for whole in (False, True) for bounded in (False, True)}
    for _ in range(800):
        text = rng.choice(TEXTS)
        for _ in range(rng.choice([1, 1, 2])):
            # Half of them at a line's end or beginning.
            places = [m.end() for m in re.finditer(r"\n|$|(?=\n)", text)] if rng.random() < 0.5 else range(len(text) + 1)
            at = rng.choice(places)
            text = text[:at] + rng.choice(PIECES) + text[at:]
        whole, bounded = takes("python", text), takes("python?layout=bounded", text)
        assert bounded == (whole and is_bounded(text)), repr(text)
        counts[whole, bounded] += 1
    assert min(counts[False, False], counts[True, False], counts[True, True]) > 50
