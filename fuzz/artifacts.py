"""Artifacts that were altered, loaded and used: `python -m fuzz.artifacts --seconds 60 --seed 1`.

Three kinds of damage. Bytes of the file: refused by a checksum. The header, its checksum right again: refused by name, or harmless.
Tables, both checksums right again, with numbers out of range or, mostly, within: refused, or at worst useless. Whatever loads is
walked at random. Nothing may crash, hang or raise what is not psc's own error; there is no oracle for what a damaged grammar means.

Cost: a case is one altered artifact and up to 60 calls on its matchers, some milliseconds.
"""

from __future__ import annotations

import copy
import json
import random
import struct
from contextlib import nullcontext
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from grammar_tables import ahead_bytes, cutting
from not_closed import not_closed_bytes
from small_grammars import GRAMMARS
from token_grammars import TOKENIZER, random_expression, rule_set
from vocabularies import tokenizer

import psc
from fuzz.grammars_of_walks import vocabulary
from fuzz.session import Case, main
from psc._core import MatcherView
from psc.artifacts.format import decode, encode
from psc.artifacts.mapped import open_mapped, write_mapped
from psc.errors import ArtifactError, PscError
from psc.grammars.build_grammar import artifact_bytes
from psc.grammars.compiled_grammar import CompiledGrammar, compiled_from_artifact, compiled_from_file
from psc.grammars.recorded_tokenizer import recorded_tokenizer
from psc.grammars.warm_texts import rows_met

_TOKENS = ["a", "b", "=", ",", "(", ")", " ", "ab", "=(", "),", "a=", ";", ".", "..", "1", "é", "none", "[", "]", '"', "{", ":"]
_TEXTS = ["a=b", "a = (ab);", "a,b", "aabcc", "[1]", "((a)"]
_HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**400,
    0.5,
    1e308,
    float("inf"),
    float("nan"),
    "",
    "x",
    [],
    [[]],
    {},
    {"a": 1},
)


@cache
def original(name: str, few: bool, closed: Literal["whole", "partly", "not"], cut: bool = False) -> bytes:
    """An artifact, with names of rows if it is closed, and with leads if it is cut; or that of a grammar that speaks of tokens."""
    if name == "tokens":
        return ahead_bytes(rule_set(random_expression(random.Random(few + 2 * (closed == "whole")), 3)), TOKENIZER)
    grammar, info = GRAMMARS[name](), tokenizer(_TOKENS) if few else vocabulary(False)
    with cutting() if cut else nullcontext():
        if closed != "whole":
            return not_closed_bytes(grammar, info, partly=closed == "partly")
        artifact = decode(artifact_bytes(grammar, info))
    met = rows_met(artifact.arrays, artifact.metadata, info, [(text, text.encode()) for text in _TEXTS])
    return encode({**artifact.arrays, **met.arrays}, artifact.metadata)


def altered_bytes(case: Case, data: bytes) -> bytes:
    """Flipped, cut, doubled or filled somewhere."""
    rng, file = case.rng, bytearray(data)
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(len(file))
        end = min(len(file), at + rng.choice((1, 4, 100)))
        how = rng.randrange(5)
        if how == 0:
            file[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            del file[at:end]
        elif how == 2:
            file[at:at] = file[at:end]
        elif how == 3:
            file[at:end] = bytes([rng.choice((0, 255))]) * (end - at)
        else:
            del file[at:]
        if not file:
            break
    return bytes(file)


def altered_header(case: Case, data: bytes) -> bytes:
    """One of the header's values is another, or gone."""
    (length,) = struct.unpack_from("<I", data, 12)
    header = json.loads(data[16 : 16 + length])
    for _ in range(case.rng.choice((1, 1, 2))):
        at: Any = header
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            key = case.rng.choice(keys)
            if not isinstance(at[key], (dict, list)) or not at[key] or case.rng.random() < 0.2:
                break
            at = at[key]
        if case.rng.random() < 0.2:
            del at[key]
        else:
            # A copy: the next alteration may be within it.
            at[key] = copy.deepcopy(case.rng.choice((*_HOSTILE, case.rng.randrange(-5, 300))))
        if not header:
            break
    encoded = json.dumps(header).encode()
    head = data[:12] + struct.pack("<I", len(encoded)) + encoded
    return head + sha256(head).digest() + data[48 + length :]


def altered_tables(case: Case, data: bytes) -> bytes:
    """Numbers of tables are others of the same table, neighbours, or anything."""
    rng, artifact = case.rng, decode(data)
    arrays = {name: array.copy() for name, array in artifact.arrays.items()}
    names = sorted(name for name, array in arrays.items() if len(array))
    within = rng.random() < 0.8
    for _ in range(rng.choice((1, 1, 2, 5, 20, 200))):
        name = rng.choice(names)
        array = arrays[name]
        at = rng.randrange(len(array))
        if within:
            other = int(array[rng.randrange(len(array))])
            value = rng.choice((other, int(array[at]) + rng.choice((-1, 1)), rng.randint(int(array.min()), int(array.max())), 0))
        else:
            value = rng.choice((-1, 0, 1, 2, 5, len(array), 1000, 2**20, 2**30, 2**31 - 2))
        if array.dtype == np.uint8:
            value %= 256
        array[at] = max(-1, value)
    if within and rng.random() < 0.2:  # a whole table is one number: cycles
        array = arrays[rng.choice(names)]
        array[:] = array[rng.randrange(len(array))]
    if not within and rng.random() < 0.3:
        name = rng.choice(names)
        arrays[name] = arrays[name][: rng.randrange(len(arrays[name]) + 1)]
    return encode(arrays, artifact.metadata)


def load(case: Case, data: bytes) -> CompiledGrammar:
    if case.rng.random() < 0.8 or case.folder is None:
        return compiled_from_file(data, tokenizer_info=recorded_tokenizer, place="altered")
    # As a store loads it the second time: from the copy that is mapped into memory.
    artifact = decode(data, origin="altered")
    copy = Path(case.folder) / "mapped"
    assert write_mapped(copy, artifact)
    mapped = open_mapped(copy, artifact.digest)
    assert mapped is not None
    return compiled_from_artifact(mapped, lambda: data, tokenizer_info=recorded_tokenizer, place="altered")


def use(case: Case, compiled: CompiledGrammar) -> None:
    """As a server would, and more."""
    rng = case.rng
    matchers = [psc.GrammarMatcher(compiled)]
    for _ in range(rng.choice((20, 60))):
        m = rng.choice(matchers)
        case.counts["calls"] += 1
        try:
            call(case, m, matchers)
        except PscError as e:
            case.counts[type(e).__name__] += 1


def call(case: Case, m: psc.GrammarMatcher, matchers: list[psc.GrammarMatcher]) -> None:
    rng = case.rng
    what = rng.randrange(20)
    if what < 9:
        allowed = m.allowed_tokens()
        m.accept_token(int(rng.choice(allowed)) if len(allowed) else 0)
    elif what == 9:
        m.accept_token(rng.randrange(m.compiled.vocab_size))
    elif what == 10:
        m.accept_string(rng.choice(("a=b;", "((((", "[1,", '{"a": ', "abcabc", "none..", "if 1 then ", "")))
    elif what == 11:
        m.accept_prefix(b"a = 1..2;# \n" * 3)
    elif what == 12:
        m.find_jump_forward_string()
    elif what == 13:
        m.expected_terminals()
        m.is_completed()
    elif what == 14:
        view = MatcherView(m)
        view.continuations()
        view.stacks_after(0, [rng.randrange(len(m.compiled.terminal_names))])
    elif what == 15 and len(matchers) < 5:
        matchers.append(m.fork())
    elif what == 16:
        m.rollback(rng.randint(0, m.n_steps))
    elif what == 17:
        n, words = 4, (m.compiled.vocab_size + 31) // 32
        tokens = np.array([rng.randrange(m.compiled.vocab_size) for _ in range(n)], np.int64)
        m.traverse_draft_tree(np.array([1, 2, 3, -1]), np.full(n, -1), tokens, np.zeros((n, words), np.int32))
    elif what == 18:
        m.reset()
    else:
        m.mask()


def run_case(case: Case) -> None:
    name, few = case.rng.choice([*sorted(GRAMMARS), "tokens"]), case.rng.random() < 0.7
    closed: Literal["whole", "partly", "not"] = case.rng.choice(("whole", "whole", "partly", "partly", "not"))
    data = original(name, few, closed, case.rng.random() < 0.5)
    alter = case.rng.choice((altered_bytes, altered_header, *[altered_tables] * 4))
    altered = alter(case, data)
    case.attach("artifact.psc", altered)
    case.counts[alter.__name__] += 1
    try:
        compiled = load(case, altered)
    except ArtifactError:
        case.counts["refused"] += 1
        return
    assert alter is not altered_bytes or altered == data, "a file with other bytes was loaded"
    case.counts["loaded"] += 1
    use(case, compiled)


if __name__ == "__main__":
    main("artifacts", __doc__.partition("\n")[0], run_case)
