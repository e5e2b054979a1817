"""The fuzzer of artifacts alters each file for itself: what it puts into one is not altered with the next."""

import copy
import importlib
import random
from collections import Counter
from pathlib import Path

import pytest

import psc  # noqa: F401  (the installed one: the tree, in which the fuzzers are, has no native module)

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not (ROOT / "fuzz").is_dir(), reason="the fuzzers are not in this tree")


def test_cases_do_not_depend_on_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    artifacts, session = importlib.import_module("fuzz.artifacts"), importlib.import_module("fuzz.session")
    data = artifacts.original("json", few=True, closed="whole")
    before = copy.deepcopy(artifacts._HOSTILE)
    for seed in range(400):
        artifacts.altered_header(session.Case(random.Random(seed), Counter()), data)
    assert before == artifacts._HOSTILE
