"""SGLang with psc: a plugin that replaces SGLang's XGrammar backend, and adds the grammar backend ``psc``.

SGLang calls :func:`register` in each of its processes (entry point ``sglang.srt.plugins``). ``PSC_SGLANG=add`` adds the backend and
leaves ``xgrammar`` as it is, ``PSC_SGLANG=0`` leaves all of SGLang as it is; see docs/serving.md.

Cost: importing this imports nothing of SGLang; registering takes a second, most of it for the engine's own modules.
"""

from __future__ import annotations

import logging
import os
from typing import Final

__all__ = ["NAME", "SWITCH", "register"]

SWITCH: Final = "PSC_SGLANG"
"""The environment variable: ``add``, 0, or 1, which is the default."""
NAME: Final = "psc"
"""Of the grammar backend that is added."""

_log = logging.getLogger("psc.adapters.sglang")
_MODES: Final = {
    "replace": ("", "1", "true", "yes", "on", "replace"),
    "add": ("add",),
    "off": ("0", "false", "no", "off"),
}


def register() -> bool:
    """Registers psc with SGLang, whose own plugin loader then puts it in place.

    Returns:
        Whether it did. False, with an error in the log: the switch has another value, this SGLang lacks a name that is needed, or
        SGLang is not installed; or, with no more than a line of information, psc is switched off.
    """
    value = os.environ.get(SWITCH, "").strip().lower()
    mode = next((mode for mode, spellings in _MODES.items() if value in spellings), None)
    if mode is None:
        _log.error("%s=%s: it must be 1, add or 0; SGLang is as it was", SWITCH, value)
        return False
    if mode == "off":
        _log.info("psc is switched off (%s), so SGLang is as it was", SWITCH)
        return False
    from psc.adapters.sglang.seams import fits

    if not fits():
        return False
    from psc.adapters.sglang.installation import install

    install(replace=mode == "replace")
    return True
