"""Artifacts altered within their ranges, their checksums right again: perhaps useless, but every call ends, with no foreign error.

No check of one table finds that two of them disagree, or that reductions lead in a circle; what reads them counts its steps.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vocabularies import tokenizer

import psc
from psc._core import MatcherView
from psc.artifacts.format import IntArray, decode, encode
from psc.errors import ArtifactError, ResourceLimitError
from psc.grammars.build_grammar import artifact_bytes

GRAMMAR = 'start: pair ("," pair)*\npair: NAME "=" (NAME | "(" start ")")\nNAME: /[a-z]+/\n%ignore " "\n'
TOKENS = ["a", "b", "=", ",", "(", ")", " ", "ab", "=(", "),", "a="]


@pytest.fixture(scope="module")
def data() -> bytes:
    return artifact_bytes(psc.Grammar.from_lark(GRAMMAR), tokenizer(TOKENS))


def places(matcher: psc.GrammarMatcher) -> list[tuple[int, list[int]]]:
    """Lexer states and parser stacks."""
    return MatcherView(matcher).configurations()


def altered(data: bytes, path: Path, change: Callable[[dict[str, IntArray]], None]) -> psc.CompiledGrammar:
    artifact = decode(data)
    arrays = {name: array.copy() for name, array in artifact.arrays.items()}
    change(arrays)
    path.write_bytes(encode(arrays, artifact.metadata))
    return psc.load(path)


def reduce_for_ever(arrays: dict[str, IntArray]) -> None:
    """Every state reduces under every terminal, which takes nothing off the stack."""
    arrays["rhs_offsets"][:] = 0
    arrays["rhs"] = arrays["rhs"][:0]
    arrays["gotos"][:] = 0
    n_cells = len(arrays["action_offsets"]) - 1
    arrays["action_offsets"] = np.arange(n_cells + 1, dtype=np.int32)
    arrays["actions"] = np.ones(n_cells, np.int32)  # production 0


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.accept_string("a=b,"),
        lambda m: m.accept_prefix("a=b,"),
        lambda m: m.is_completed(),
        lambda m: m.expected_terminals(),
        lambda m: MatcherView(m).continuations(),
        lambda m: MatcherView(m).stacks_after(0, [0, 1, 2, 3]),
    ],
)
def test_tables_that_reduce_for_ever(data: bytes, tmp_path: Path, call: Callable[[psc.GrammarMatcher], object]) -> None:
    matcher = psc.GrammarMatcher(altered(data, tmp_path / "x.psc", reduce_for_ever))
    with pytest.raises(ResourceLimitError, match=r"for one token or mask|under one terminal"):
        call(matcher)
    assert matcher.n_steps == 0
    assert places(matcher) == places(psc.GrammarMatcher(matcher.compiled))


def test_what_is_forced_under_tables_that_reduce_for_ever(data: bytes, tmp_path: Path) -> None:
    """What was found before the limit is forced all the same; here that is nothing."""
    matcher = psc.GrammarMatcher(altered(data, tmp_path / "x.psc", reduce_for_ever))
    assert matcher.find_jump_forward_string() == ""
    assert matcher.n_steps == 0
    assert places(matcher) == places(psc.GrammarMatcher(matcher.compiled))


def test_a_draft_tree_that_fails_leaves_the_matcher_where_it_was(data: bytes, tmp_path: Path) -> None:
    def change(arrays: dict[str, IntArray]) -> None:
        arrays["gotos"][:] = -1  # the masks are right, and what they allow cannot be read beyond a first reduction

    matcher = psc.GrammarMatcher(altered(data, tmp_path / "x.psc", change))
    tree = np.array([1, 2, 3, 4, -1]), np.full(5, -1), np.array([0, 0, 2, 1, 3])
    with pytest.raises(ArtifactError, match="mask and tables disagree"):
        matcher.traverse_draft_tree(*tree, np.zeros((5, matcher.mask().size), np.int32))
    assert matcher.n_steps == 0


def test_a_class_named_twice_is_refused(data: bytes, tmp_path: Path) -> None:
    def change(arrays: dict[str, IntArray]) -> None:
        widest = int(np.argmax(np.diff(arrays["set_offsets"])))
        first = arrays["set_offsets"][widest]
        arrays["set_classes"][first + 1] = arrays["set_classes"][first]

    with pytest.raises(ArtifactError, match="set_classes"):
        altered(data, tmp_path / "x.psc", change)


def test_a_list_of_a_hundred_thousand_ends_in_one_step() -> None:
    """The limit is on what goes in circles: taking a deep stack down is not."""
    compiled = psc.GrammarCompiler(tokenizer(["a", "b"])).compile_lark('start: "a" start | "b"\n')
    matcher = psc.GrammarMatcher(compiled)
    assert matcher.accept_string(b"a" * 100_000 + b"b")
    assert matcher.is_completed()
    assert matcher.accept_token(2)


def forged(data: bytes, change: Callable[[Any], None]) -> bytes:
    """The file with its header changed, and the header's checksum right again."""
    (length,) = struct.unpack_from("<I", data, 12)
    header = json.loads(data[16 : 16 + length])
    change(header)
    encoded = json.dumps(header).encode()
    head = data[:12] + struct.pack("<I", len(encoded)) + encoded
    return head + sha256(head).digest() + data[48 + length :]


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e300, 1.5, True, "1", None, [], {}, -1, 10**400])
@pytest.mark.parametrize("where", ["n", "bytes", "vocab_size", "stop_token_ids", "name", "terminals", "pattern", "productions"])
def test_whatever_stands_in_the_header(data: bytes, tmp_path: Path, where: str, value: object) -> None:
    def change(header: Any) -> None:
        of = {
            "n": header["sections"][0],
            "bytes": header["payload"],
            "vocab_size": header["metadata"]["tokenizer"],
            "stop_token_ids": header["metadata"]["tokenizer"],
            "name": header["metadata"]["tokenizer"],
            "terminals": header["metadata"]["grammar"],
            "pattern": header["metadata"]["grammar"]["terminals"][0],
            "productions": header["metadata"]["grammar"],
        }[where]
        of[where] = value

    (tmp_path / "x.psc").write_bytes(forged(data, change))
    fits = (where, type(value).__name__) in {
        ("name", "str"),
        ("pattern", "str"),
        ("productions", "list"),
        ("stop_token_ids", "list"),
    }
    if fits:
        assert psc.load(tmp_path / "x.psc").vocab_size == len(TOKENS) + 1
        return
    with pytest.raises(ArtifactError, match=r"x\.psc"):
        psc.load(tmp_path / "x.psc")
