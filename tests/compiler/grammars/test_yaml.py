"""The bundled YAML grammar, as a table of what it accepts and what it rejects; PyYAML's parser judges the same rows.

The rows under "stricter" and "looser" are the exceptions that the grammar's header lists.
"""

import random

import pytest
from bundled_texts import takes
from masks_along_texts import go_where_masks_allow, read_by_tokens

import psc
from psc.compiler.grammars import bundled_path, bundled_text
from psc.compiler.grammars.writers import yaml_layout
from psc.corpus.references.registry import open_reference

ACCEPTED = [
    "",
    "\n",
    "# c",
    "a",
    "a\n",
    "a: b",
    "a: b\n",
    "a:",
    "a:\n",
    "- a",
    "-",
    "-\n- b\n",
    "a: b # c\n# d",
    "a: b\n\n# c\n",
    "# c\n\na: b",
    "a:   b",
    "a : b",
    "a: b:c",
    "a: b#c",
    "a: -1",
    "a: ?x",
    "a: :x",
    "a::b: c",
    "a b c: d e",
    "a: 'b'",
    'a: "b"',
    '"a": b',
    "'a' : b",
    "'a':\n  b: c",
    "a: 'it''s'",
    'a: "\\"\\n\\x41\\u00e9"',
    'a: "b\n  c\n\n  d"',
    "a: 'b\n  c'",
    # blocks
    "a:\n  b: c\n  d: e\nf: g",
    "a:\n b:\n   c:\n    d",
    "a:\n- b\n- c\nd:\n  - e",
    "a:\n- b: 1\n  c:\n  - d\n- e\nf:",
    "- - a\n  - b\n- c",
    "- a: b\n  c: d\n- e: f",
    "-   a: b\n    c: d",
    "-\n  a: b",
    "- a:\n    b\n- c:\n  - d",
    "a:\n  - b\n  -\n  - c",
    "a:\n- b\n-\nc: d",
    # scalars over lines
    "a: b\n  c\n d",
    "a: b\n\n\n  c",
    "a:\n  b\n  c\nd: e",
    "- a\n  b\n- c",
    "a: b\n  - c",
    "a: b\n  'c'",
    # block scalars
    "a: |\n  b\n   c\n\n  d\ne: f",
    "a: >-\n  b\n\n\nc: d",
    "a: |+\n  b\n\n",
    "a: |\n  # b\n  c\n# d\ne: f",
    "a: |\nb: c",
    "a: | # c\n  b",
    "- |\n b\n- >\n c",
    "a: |\n  b",
    "a:\n  b: |\n   c\n  d: |\n      e\n   # c\n  f: g",
    "a: |\n\n\n  b: c: d",
    # flow
    "a: []",
    "a: {}",
    "a: [b, c]",
    "a: [b, c,]",
    "a: {b: c, d: e}",
    "a: {b, c: }",
    '{"a":1,"b":[]}',
    "a: [b: c]",
    "a: [\n  b,\n  c\n]\nd: e",
    "a: [b, # c\n  d]",
    "a: {b: [c, {d: e}], f: 'g'} # h",
    "a: [b c\n  d]",
    "[a]\n",
    "a: [http://b:80/c#d]",
    "- [a]\n- {b: c}",
    "a:\n  [b]\nc: d",
    # anchors, tags
    "a: &b c",
    "a: *b",
    "a: &b\n  c: d\ne: *b",
    "<<: *a\nb: c",
    "a: !t b",
    "a: !!str 1",
    "a: !t\n- b",
    "- &a b",
    "- &a\n  b: c",
    "a: &b !t c",
    "a: !t [b]",
    "a: &b |\n  c",
    # documents
    "---\na: b",
    "---\n",
    "--- a",
    "--- # c\na: b\n---\n- c\n",
    "a: b\n---\nc: d\n\n---\n# e\nf: g",
    "a: |\n b\n---\nc: d",
    "---\n---\n",
    "a: b\n# c\n---\nd",
    "a: b\n...\n",
    "a: b\n...\n---\nc: d\n... # e\n...\n",
    "a: |\n b\n...\n",
    "%YAML 1.2\n---\na: b",
    "# c\n%YAML 1.1 # d\n# e\n--- b\n---\nf\n",
    # columns of block scalars in figures
    "a: |2\n   b\n  c\n",
    "a: >-2\n  b\n\n   c\nd: e",
    "a: |2\nb: c",
    "- a: |4-\n      b\n",
    "--- |2\n   a\n",
    # properties within brackets
    "a: [&b c, !t d, *b]",
    "a: {b: &c [d], e: !!str f}",
    # carriage returns
    "a: b # c\r\n\r\nd:\r\n  - e\r\n",
    "a: |\r\n  b\r\n\r\n  c\r\n",
    "a: 'b\r\n c'\r\nd: [e,\r\n  f]\r\n",
    'a: "b\\\r\n c"\r\n---\r\na\r\n...\r\n',
]

REJECTED = [
    "a: b: c",
    "a: 'b'c",
    'a: "b" c',
    "a: 'it's'",
    "a: [b",
    "a: [b]]",
    "a: [b] c",
    "a: {b: c",
    "a: {b: c]",
    "a: @b",
    "a: `b",
    "a: %b",
    "a: ]",
    "a: , b",
    "a:\n   b: c\n  d: e",
    "a: b\n  c: d",
    "a: b\nc",
    "- a\nb: c",
    "a: b\n- c",
    "- a\n- b: c\n d: e",
    "a:\n  - b\n c: d",
    "a:\n  - b\n  c: d",
    "a: - b",
    "- a\n-b",
    "a: b\n # c\n  d",
    "a: 'b'\n  c",
    "a:\n\tb: c",
    "a: |\n  b\n c",
    "a: |b\n  c",
    "a: |\n    b\n  c: d",
    "a: | b",
    "[a]]",
    "a: [b c: d: e]",
    "'a'b: c",
    '"a":b',
    "a: &b *c",
    "a: *b c",
    "a: & b",
    "a: !t *b",
    'a: "\\q"',
    'a: "b',
    "a: 'b",
    "a: 'b\nc: d",
    " a: b\nc: d",
    "a: [,]",
    "a: \x01",
    "--- a: b",
    "a: b\n...\nc: d",
    "%YAML 1.2\na: b",
    "%YAML 2.0\n---\na",
    "a: |2\n b",
    "a:\n  b: |2\n    c\n   d",
    "a: [&b *c]",
]

STRICTER = [
    "? a\n: b",
    "a: |1\n b",
    "%TAG ! b\n---\na: b",
    "&a b: c",
    "*a : b",
    "a:\n                   b: c",
    "-      a: b",
    "a: b\r",
    "a: b\n  ",
    "a\nb",
    "[a]: b",
    "a: b\n---c: d",
    "a: --- b",
]
LOOSER = ["a: [b\n---\nc]", "a: 'b\n--- c'"]


def test_accepts() -> None:
    assert [text for text in [*ACCEPTED, *LOOSER] if not takes("yaml", text)] == []


def test_rejects() -> None:
    assert [text for text in [*REJECTED, *STRICTER] if takes("yaml", text)] == []


def test_bounded_layout() -> None:
    """Comments, tabs, carriage returns, a fifth blank and a third empty line are refused, and nothing is added."""
    bounded = "yaml?layout=bounded"
    odd = ("#", "\t", "\r", "a:   b", "\n\n\n")
    for text in [*ACCEPTED, MANIFEST]:
        if takes(bounded, text):
            assert takes("yaml", text)
        assert takes(bounded, text) or text.startswith("\n") or any(each in text for each in odd), text
    for good in ("a:    b", "a: b\n\n\nc: d", "a: [b,\n\n    c]", "a: b  \nc: |\n\n\n\n  d"):
        assert takes(bounded, good)
    for bad in ("a:     b", "a: b\n\n\n\nc: d", "a: [b,\n\n\nc]", "a: b # c", "# c\na: b", "\na: b", "a: b\r\n", "a: b\n\n\n\n"):
        assert takes("yaml", bad) and not takes(bounded, bad), bad


def test_pyyaml_says_the_same() -> None:
    reference = open_reference("pyyaml", bundled_path("yaml"))
    taken = [*ACCEPTED, *STRICTER]
    assert [(t, v.message) for t, v in zip(taken, reference.judge(taken), strict=True) if v is not None] == []
    refused = [*REJECTED, *LOOSER]
    assert [t for t, v in zip(refused, reference.judge(refused), strict=True) if v is None] == []


def test_blocks_at_random_columns() -> None:
    """Beside PyYAML: lines of keys and dashes, each at a column drawn at random."""
    reference, rng, taken = open_reference("pyyaml", bundled_path("yaml")), random.Random(5), 0
    texts = []
    for _ in range(3000):
        column, lines = 0, [rng.choice(["z:", "-", "# z\n- z:"])]
        for _ in range(rng.randrange(2, 7)):
            lines.append(
                " " * column + rng.choice(["a:", "b: c", "- d", "-", "- e:", "- f: g", "- - h", "i: |", "# j", "", "k: [l]", "m"])
            )
            column = max(0, column + rng.choice([-4, -2, -2, 0, 0, 0, 0, 1, 2, 2, 2]))
        texts.append("\n".join(lines).rstrip(" "))
    for text, verdict in zip(texts, reference.judge(texts), strict=True):
        assert takes("yaml", text) == (verdict is None), text
        taken += verdict is None
    assert 300 < taken < 2700


def test_the_file_is_what_its_writer_writes() -> None:
    assert bundled_text("yaml") == yaml_layout.grammar()


MANIFEST = """# a manifest
kind: Deployment
metadata: {name: web, labels: [a, 'b']}
spec:
  containers:
  - name: "web"
    args:
      - --port=80
      - |
        echo 1
          two

        three
    env: &e
    - {name: A, value: '1'}
  replicas: !!int 2
---
other: *e
"""
PIECES = ["\n", "\n  ", "\n    ", "\n      - ", "\n\n", "\n---\n", "---", "  ", ": ", ":\n", "- ", "- -", " |\n", "|", ">-", "#"]
PIECES += [" #", "'", '"', "{", "}", "[", "]", ", ", ",", "a", "a: b\n", "\n# c\n", "&e", "*e", "!!str", "\t", "\u00e9", "\n      "]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spec", ["yaml", "yaml?layout=bounded"])
def test_masks_are_what_is_taken(spec: str, seed: int) -> None:
    """Over tokens of several lines and columns, along a manifest and at random places of it."""
    tokens = [bytes([b]) for b in range(256)] + [piece.encode() for piece in PIECES]
    info = psc.TokenizerInfo([*tokens, b"</s>"], stop_token_ids=[len(tokens)])
    compiled = psc.GrammarCompiler(info, store=False).compile_file(spec)
    rng, matcher = random.Random(seed), psc.GrammarMatcher(compiled)
    read_by_tokens(matcher, info, tokens, MANIFEST.partition("\n")[2].encode(), rng)
    assert go_where_masks_allow(matcher, info, len(tokens), rng) == 40
