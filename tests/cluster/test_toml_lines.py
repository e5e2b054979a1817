"""The line of every value in a TOML file: the paths are those that tomllib finds, whatever the spelling."""

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psc.cluster.jobs.toml_lines import key_lines

EVERYTHING = '''# comment
title = "x # no" # yes
a.b."c d".'e' = [1, [2, 3,], # x
  {k = "v", z.y = [true]},
  """multi
] line "" \\""" """, \'\'\'raw ]\'\'\'
]
[t]
x=1
[t.sub]
d = 2020-01-01 10:00:00
[[jobs]]
g = ["a",
 "b"]
[jobs.names]
"x\\u0041" = "y"
[[jobs]]
[[jobs.inner]]
q = 1.0
[[jobs.inner]]
[jobs.inner.more]
w = {}
'''


def paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_path_has_a_line(newline: str) -> None:
    text = EVERYTHING.replace("\n", newline)
    assert set(key_lines(text)) == set(paths(tomllib.loads(text)))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("a", "b", "c d", "e", 1, 1), 3),
        (("a", "b", "c d", "e", 2, "z", "y", 0), 4),
        (("a", "b", "c d", "e", 4), 6),
        (("t", "sub", "d"), 11),
        (("jobs", 0, "g", 1), 14),
        (("jobs", 0, "names", "xA"), 16),
        (("jobs", 1), 17),
        (("jobs", 1, "inner", 1), 20),
        (("jobs", 1, "inner", 1, "more", "w"), 22),
    ],
)
def test_lines(path: tuple[str | int, ...], line: int) -> None:
    assert key_lines(EVERYTHING)[path] == line


_keys = st.text(alphabet="ab.# \"'é=\n", min_size=1, max_size=4)
_strings = st.text(alphabet="ab]}#,\"'\\\n\té", max_size=6)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


@given(st.lists(st.tuples(_keys, st.lists(_strings, max_size=3)), max_size=5, unique_by=lambda pair: pair[0]), st.booleans())
def test_any_keys_and_strings(pairs: list[tuple[str, list[str]]], multiline: bool) -> None:
    """One pair a line; elements on lines of their own where asked."""
    lines, expected = [], {}
    for key, values in pairs:
        expected[(key,)] = len(lines) + 1
        if multiline and values:
            lines.append(f"{_literal(key)} = [")
            for i, value in enumerate(values):
                expected[(key, i)] = len(lines) + 1
                lines.append(f"  {_literal(value)}, # ] }}")
            lines.append("]")
        else:
            expected.update({(key, i): len(lines) + 1 for i in range(len(values))})
            lines.append(f"{_literal(key)} = [{', '.join(map(_literal, values))}]")
    text = "\n".join(lines)
    assert tomllib.loads(text) == dict(pairs)
    assert key_lines(text) == expected
