"""Amounts of memory and time as people write them."""

import pytest

from psc.cluster.units import parse_bytes, parse_seconds


@pytest.mark.parametrize(
    ("text", "n"),
    [("2GiB", 2 << 30), ("500 MB", 500_000_000), ("1.5gib", 3 << 29), ("7", 7), (4096, 4096), ("64 KiB", 65536), ("1TB", 10**12)],
)
def test_bytes(text: str | int, n: int) -> None:
    assert parse_bytes(text) == n


@pytest.mark.parametrize("text", ["", "GiB", "2 GiB or so", "-1GB", "2GG", 0, -5, "999999999999TiB"])
def test_no_amount(text: str | int) -> None:
    with pytest.raises(ValueError, match="amount of memory"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("1h 30m", 5400), ("0.5 s", 0.5), (30, 30), (1.5, 1.5)]
)
def test_seconds(text: str | float, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "ten minutes", "m", "0s", 0, -1, float("nan"), float("inf")])
def test_no_time(text: str | float) -> None:
    with pytest.raises(ValueError, match="time"):
        parse_seconds(text)
