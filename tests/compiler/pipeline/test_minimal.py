"""The stored machine is minimal: OpenFst, with labels encoded, finds no smaller one. Artifacts do not depend on hash seeds."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pynini
import pytest
from grammar_tables import tables_of
from lark_grammars import lark_text
from oracle.openfst import Automaton, to_fst
from vocabularies import byte_tokenizer

from psc.artifacts.scalars import SCALARS
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.pipeline.build import build


@pytest.mark.parametrize("name", ["json", "go"])
def test_no_smaller_machine(name: str) -> None:
    arrays = build(tables_of(load_lark(lark_text(name), lexer="basic")), byte_tokenizer()).arrays
    scalars = dict(zip(SCALARS, arrays["scalars"].tolist(), strict=True))
    n, offsets = scalars["n_classifier_states"], arrays["arc_offsets"]
    columns = np.stack([arrays["arc_symbol"], arrays["arc_skip"], arrays["arc_emission"]], axis=1)
    label = np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1) + 1
    source = np.repeat(np.arange(n), np.diff(offsets))
    # State 0, where reading is done, is like any other here: a machine that reads nothing more. OpenFst's start is our start.
    swap = np.arange(n)
    swap[0], swap[scalars["start"]] = scalars["start"], 0
    machine = to_fst(Automaton(np.ones(n, bool), swap[source], label.astype(np.int64), swap[arrays["arc_next"]]))
    assert machine.num_states() == n
    machine.connect()
    assert machine.num_states() == n, "states that nothing reaches"
    assert pynini.determinize(machine).minimize().num_states() == n


def test_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    script = (
        "import hashlib; from vocabularies import byte_tokenizer; from psc.artifacts.format import encode;"
        "from psc.compiler.pipeline.build import build; from psc.compiler.grammars import bundled_text;"
        "from psc.compiler.frontends.lark.loader import load_lark;"
        "from grammar_tables import tables_of;"
        "r = build(tables_of(load_lark(bundled_text('sql'), lexer='basic')), byte_tokenizer());"
        "print(hashlib.sha256(encode(r.arrays, r.metadata)).hexdigest())"
    )
    here = Path(__file__).parents[2] / "support"
    path = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            cwd=tmp_path,
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(digests) == 1
