"""The environment variables that switch psc off in an engine, or have the engine start with psc only."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

ON: Final = "on"
OFF: Final = "off"
REQUIRE: Final = "require"
_SPELLINGS: Final = {
    "": ON,
    **dict.fromkeys(("1", "true", "yes", ON, "replace"), ON),
    **dict.fromkeys(("0", "false", "no", OFF), OFF),
    **dict.fromkeys((REQUIRE, "required"), REQUIRE),
}


def mode_of(switch: str, *more: str) -> str:
    """What an engine's environment variable says: `ON` where it is not set, `OFF`, `REQUIRE`, or one of the engine's own words.

    Args:
        switch: the variable's name.
        more: the words that this engine has besides.

    Raises:
        SystemExit: another value. Engines log other errors of a plugin, and would serve as if nothing had been said.
    """
    value = os.environ.get(switch, "").strip().lower()
    if value in more:
        return value
    if value not in _SPELLINGS:
        raise SystemExit(f"{switch}={value[:40]}: it must be {', '.join(('1', *more, REQUIRE))} or 0; or unset it, which is 1")
    return _SPELLINGS[value]


def start_only_with(switch: str, place: Callable[[], bool]) -> bool:
    """Puts psc in its place in an engine that must not start without it.

    Args:
        switch: the name of the variable that says so.
        place: does it, and says whether psc is there.

    Raises:
        SystemExit: psc is not there.
    """
    try:
        if place():
            return True
        reason = "the line before says why"
    except Exception as e:
        reason = f"{type(e).__name__}: {e}"
    raise SystemExit(f"{switch}={REQUIRE}, and psc is not at work: {reason}. {switch}=1 starts the engine anyway, without psc")
