"""Arguments of a wrong type, named where they come in: further inside, an AttributeError would say what they lack alone."""

from __future__ import annotations


def check_type(name: str, value: object, kind: type, *, optional: bool = False) -> None:
    """Raises TypeError with an argument's name, the type that it must have, and the one that it has.

    Args:
        name: of the argument.
        value: of the argument.
        kind: the type that it must have.
        optional: whether it may be None.
    """
    if isinstance(value, kind) or (optional and value is None):
        return
    # The name by which callers know it, as `psc.Cancellation`.
    raise TypeError(f"{name} must be a psc.{kind.__name__}{' or None' if optional else ''}, not {type(value).__name__}")
