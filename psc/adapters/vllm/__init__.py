"""vLLM with psc: a plugin that replaces vLLM's XGrammar backend and keeps the name ``xgrammar``.

vLLM calls :func:`register` in each of its processes (entry point ``vllm.general_plugins``). It replaces the backend class, its
validator, the manager's filling of masks, and two constructors that see the configuration, and only where this vLLM has the tested
names. ``PSC_VLLM=0`` leaves vLLM untouched, and with ``PSC_VLLM=require`` vLLM starts with psc only; see docs/serving/vllm.md.

Cost: importing this imports nothing of vLLM, and 10 ms of psc when it is registered.
"""

from __future__ import annotations

import logging
from typing import Final

from psc.adapters.switches import OFF, REQUIRE, mode_of, start_only_with

__all__ = ["SWITCH", "register"]

SWITCH: Final = "PSC_VLLM"
"""The environment variable: ``require``, 0, which leaves vLLM untouched, or 1, which is the default."""

_log = logging.getLogger("psc.adapters.vllm")


def register() -> bool:
    """Replaces vLLM's XGrammar backend by psc. A second call changes nothing.

    Returns:
        Whether psc is in place. False, with an error in the log: this vLLM lacks a name that is needed, or vLLM is not installed;
        or, with no more than a line of information, psc is switched off. vLLM is untouched then.

    Raises:
        SystemExit: the switch has another value, or it asks that vLLM start with psc only, and psc is not in place.
    """
    mode = mode_of(SWITCH)
    if mode == OFF:
        _log.info("psc is switched off (%s), so vLLM is as it was", SWITCH)
        return False
    return start_only_with(SWITCH, _register) if mode == REQUIRE else _register()


def _register() -> bool:
    try:
        from psc.adapters.vllm.log import log_as_vllm_does
        from psc.adapters.vllm.seams import find_seams
    except ImportError as e:
        _log.error("psc is not at work in vLLM: %s cannot be imported", e.name or e)
        return False
    log_as_vllm_does()
    seams = find_seams()
    if seams is None:
        return False
    from psc.adapters.vllm.installation import install

    install(seams)
    return True
