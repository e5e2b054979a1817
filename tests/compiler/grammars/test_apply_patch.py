"""The bundled grammar of apply_patch's patches, beside a reader of them that goes line by line."""

import random

from bundled_texts import takes
from masks_along_texts import check_masks_along
from vocabularies import byte_tokenizer

import psc

UPDATE = "*** Update File: src/a.py\n@@ class A:\n@@ def f():\n-    old\n+    new\n same\n"
PIECES = [
    *("*** Begin Patch\n", "*** End Patch", "*** Add File: b\n", "*** Delete File: c d\n", UPDATE, "*** Move to: e\n"),
    *(
        "@@\n",
        "@@ x\n",
        "+\n",
        "+a\n",
        "-b\n",
        " c\n",
        "*** End of File\n",
        "*** Update File: f\n",
        "\n",
        "x\n",
        "*** Add File: \n",
    ),
]
"""Lines, and what is none."""
ACCEPTED = [
    "*** Begin Patch\n*** Add File: a\n+\n*** End Patch",
    "*** Begin Patch\n*** Delete File: a b\n*** End Patch\n",
    f"*** Begin Patch\n{UPDATE}*** End Patch",
    "*** Begin Patch\n*** Update File: a\n*** Move to: b\n+x\n*** End of File\n@@\n-y\n*** End Patch\n",
    f"*** Begin Patch\n*** Add File: a\n+x\n+y\n{UPDATE}{UPDATE}*** Delete File: c\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a\n@@ *** End of File\n+*** End Patch\n*** End Patch\n",
]
REFUSED = [
    "",
    "*** Begin Patch\n*** End Patch",
    "*** Add File: a\n+x\n",
    "*** Begin Patch\n*** Add File: a\n*** End Patch\n",
    "*** Begin Patch\n*** Add File: a\n x\n*** End Patch\n",
    "*** Begin Patch\n*** Add File:  a\n+x\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a\n@@\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a\n+x\n*** Move to: b\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a\n+x\n*** End of File\n-y\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a\n@@x\n+y\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a\n\n+y\n*** End Patch\n",
    f"*** Begin Patch\n{UPDATE}",
    f"*** Begin Patch\n{UPDATE}*** End Patch\n\n",
]


def reads(text: str) -> bool:
    """Whether a text is a patch: what a line may be depends on the line before it."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 3 or lines[0] != "*** Begin Patch" or lines[-1] != "*** End Patch":
        return False
    before = "begin"
    for line in lines[1:-1]:
        kind = next((kind for kind, sign in HEADS.items() if line.startswith(sign) and line[len(sign) :].strip(" \t")[:1]), "")
        if kind and line[len(HEADS[kind])] in " \t":
            return False
        if not kind and before in ("add", "added") and line.startswith("+"):
            kind = "added"
        elif not kind and line == "*** End of File":
            kind = "end"
        elif not kind and (line == "@@" or (line.startswith("@@ ") and line != "@@ ")):
            kind = "place"
        elif not kind and line[:1] in ("+", "-", " ") and line:
            kind = "line"
        if before not in MAY_FOLLOW.get(kind, ()):
            return False
        before = kind
    return before in WHOLE


HEADS = {"add": "*** Add File: ", "delete": "*** Delete File: ", "update": "*** Update File: ", "move": "*** Move to: "}
WHOLE = ("added", "delete", "line", "end")
MAY_FOLLOW = {
    **dict.fromkeys(("add", "delete", "update"), ("begin", *WHOLE)),
    "added": ("add", "added"),
    "move": ("update",),
    "place": ("update", "move", "place", "line", "end"),
    "line": ("update", "move", "place", "line"),
    "end": ("line",),
}


def test_accepts() -> None:
    assert [text for text in ACCEPTED if not (takes("apply_patch", text) and reads(text))] == []


def test_refuses() -> None:
    assert [text for text in REFUSED if takes("apply_patch", text) or reads(text)] == []


def test_random_lines_beside_the_reader() -> None:
    rng, taken = random.Random(2), 0
    for _ in range(20_000):
        text = rng.choice(ACCEPTED)
        for _ in range(rng.randrange(1, 4)):
            at = rng.choice([i for i in range(len(text) + 1) if i == 0 or text[i - 1] == "\n"] or [0])
            text = text[:at] + rng.choice(PIECES) + text[at + rng.choice([0, 0, 0, 4]) :]
        assert takes("apply_patch", text) == reads(text), text
        taken += reads(text)
    assert 1_000 < taken < 19_000


def test_masks_allow_what_is_accepted() -> None:
    tokenizer = byte_tokenizer(*PIECES, "*** ", "\n*** End", "@@ a\n+")
    compiled = psc.GrammarCompiler(tokenizer, store=False).compile_file("apply_patch")
    for text in ACCEPTED[1:5]:
        check_masks_along(compiled, tokenizer, text.encode())
