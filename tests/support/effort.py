"""How many random examples a property test has, where the profile's number is not the one it needs.

A test whose examples are cheap, or of many kinds, asks for a number of the default profile. In the other profiles (conftest.py)
it has as many times more, or fewer, as all tests have.
"""

from hypothesis import settings

DEFAULT = 40
"""Of the default profile."""


def times(n: int) -> int:
    """Of a loop that draws its cases itself: n in the default profile."""
    return max(1, n * settings.default.max_examples // DEFAULT)


def examples(n: int) -> settings:
    """A decorator of a property test: so many examples where other tests have DEFAULT."""
    return settings(max_examples=times(n))
