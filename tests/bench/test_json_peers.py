"""The peers as compilers of JSON schemas: those that are installed take a value to its end, and refuse others."""

import json
from typing import Any

import numpy as np
import pytest

import psc
from psc.bench.engines import ENGINES
from psc.bench.json_engines import passes
from psc.bench.json_peers import SCHEMA_PEERS

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.mark.parametrize("name", SCHEMA_PEERS)
def test_a_peer(name: str) -> None:
    pytest.importorskip(ENGINES[name])
    info = psc.TokenizerInfo([bytes([byte]) for byte in range(256)] + [b'{"n"', b"<end>"], stop_token_ids=[257])
    bits = np.zeros((info.vocab_size + 31) // 32, np.int32)
    compiled = SCHEMA_PEERS[name](info, bits, list)(json.dumps(SCHEMA))
    for text, valid in (('{"n": 12}', True), ('{"n": 12', False), ('{"n": "1"}', False), ('{"m": 1}', False)):
        times: list[int] = []
        assert passes(compiled(), bits, list(text.encode()), 257, times) == valid, text
        assert 0 < len(times) <= len(text) + 1
    assert passes(compiled(), bits, [256, *b": 3}"], 257, [])


@pytest.mark.parametrize("name", ["outlines", "formatron"])
def test_a_schema_that_a_peer_refuses(name: str) -> None:
    pytest.importorskip(ENGINES[name])
    info: Any = psc.TokenizerInfo([bytes([byte]) for byte in range(256)] + [b"<end>"], stop_token_ids=[256])
    with pytest.raises(RuntimeError):
        SCHEMA_PEERS[name](info, np.zeros(9, np.int32), list)('{"type": "no"}')
