"""Fuzzers of psc: random use that no test wrote down, against an oracle or a sanitizer. See README.md.

They share the tests' vocabularies, grammars and oracles, so the folder ``tests`` is put on the path.
"""

import os
import sys
from pathlib import Path

_TESTS = str(Path(__file__).resolve().parent.parent / "tests" / "support")
if _TESTS not in sys.path:
    sys.path.append(_TESTS)
os.environ.setdefault("PSC_STORE", os.devnull)
