"""SGLang with psc: a plugin that replaces SGLang's XGrammar backend, and adds the grammar backend ``psc``.

SGLang calls :func:`register` in each of its processes (entry point ``sglang.srt.plugins``). ``PSC_SGLANG=add`` adds the backend and
leaves ``xgrammar`` as it is, ``PSC_SGLANG=0`` leaves all of SGLang as it is, and with ``PSC_SGLANG=require`` SGLang starts with psc
only; see docs/serving/sglang.md.

Cost: importing this imports nothing of SGLang; registering takes a second, most of it for the engine's own modules.
"""

from __future__ import annotations

import logging
from typing import Final

from psc.adapters.switches import OFF, REQUIRE, mode_of, start_only_with

__all__ = ["NAME", "SWITCH", "register"]

SWITCH: Final = "PSC_SGLANG"
"""The environment variable: ``add``, ``require``, 0, or 1, which is the default."""
NAME: Final = "psc"
"""Of the grammar backend that is added."""
ADD: Final = "add"

_log = logging.getLogger("psc.adapters.sglang")


def register() -> bool:
    """Registers psc with SGLang, whose own plugin loader then puts it in place.

    Returns:
        Whether it did. False, with an error in the log: this SGLang lacks a name that is needed, or SGLang is not installed; or,
        with no more than a line of information, psc is switched off.

    Raises:
        SystemExit: the switch has another value, or it asks that SGLang start with psc only, and psc is not there.
    """
    mode = mode_of(SWITCH, ADD)
    if mode == OFF:
        _log.info("psc is switched off (%s), so SGLang is as it was", SWITCH)
        return False
    return start_only_with(SWITCH, _register) if mode == REQUIRE else _register(replace=mode != ADD)


def _register(*, replace: bool = True) -> bool:
    from psc.adapters.sglang.seams import fits

    if not fits():
        return False
    from psc.adapters.sglang.installation import install

    install(replace=replace)
    return True
