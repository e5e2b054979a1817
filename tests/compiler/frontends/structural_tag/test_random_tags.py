"""Random structural tags over two letters: all short texts, and their beginnings, against reading the definitions."""

import random

import pytest
from structural_tags.random_tags import check, random_format


@pytest.mark.parametrize("seed", range(12))
def test_texts_of_random_tags(seed: int) -> None:
    rng = random.Random(seed)
    depths = [rng.choice([1, 1, 2]) for _ in range(25)]
    compared = sum([check(random_format(rng, depth), is_short=depth == 1) for depth in depths])
    assert compared >= 8


@pytest.mark.parametrize("seed", range(4))
def test_texts_of_random_tags_ahead_of_time(seed: int) -> None:
    rng = random.Random(1000 + seed)
    assert sum([check(random_format(rng, 1), ahead=True) for _ in range(10)]) >= 2
