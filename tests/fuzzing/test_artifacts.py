"""The fuzzer of artifacts alters each file for itself: what it puts into one is not altered with the next."""

import copy
import random
from collections import Counter

from fuzz import artifacts
from fuzz.session import Case


def test_cases_do_not_depend_on_those_before() -> None:
    data = artifacts.original("json", few=True, closed=True)
    before = copy.deepcopy(artifacts._HOSTILE)
    for seed in range(400):
        artifacts.altered_header(Case(random.Random(seed), Counter()), data)
    assert before == artifacts._HOSTILE
