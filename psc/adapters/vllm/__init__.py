"""vLLM with psc: a plugin that replaces vLLM's XGrammar backend and keeps the name ``xgrammar``.

vLLM calls :func:`register` in each of its processes (entry point ``vllm.general_plugins``). It replaces the backend class, its
validator, the manager's filling of masks, and two constructors that see the configuration, and only where this vLLM has the tested
names. ``PSC_VLLM=0`` leaves vLLM untouched; see docs/serving.md.

Cost: importing this imports nothing of vLLM, and 10 ms of psc when it is registered.
"""

from __future__ import annotations

import logging
import os
from typing import Final

__all__ = ["SWITCH", "register"]

SWITCH: Final = "PSC_VLLM"
"""The environment variable that leaves vLLM untouched when it is 0."""

_log = logging.getLogger("psc.adapters.vllm")


def register() -> bool:
    """Replaces vLLM's XGrammar backend by psc. A second call changes nothing.

    Returns:
        Whether psc is in place. False, with an error in the log: this vLLM lacks a name that is needed, or vLLM is not installed;
        or, with no more than a line of information, psc is switched off. vLLM is untouched then.
    """
    if os.environ.get(SWITCH, "1").strip().lower() in ("0", "false", "no", "off"):
        _log.info("psc is switched off (%s), so vLLM is as it was", SWITCH)
        return False
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
