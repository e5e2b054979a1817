"""The mask that a request's first step asks for, made where the grammar is compiled."""

from __future__ import annotations

import logging

from psc.errors import ResourceLimitError
from psc.runtime.compiled import GrammarMatcher
from psc.serving.counters import Counters


def make_first_mask(matcher: GrammarMatcher, counters: Counters, log: logging.Logger) -> None:
    """Makes the first mask, on whichever thread compiles.

    Raises ResourceLimitError where it costs too much, so that no batch waits for that. A later call of the matcher raises other
    errors.
    """
    try:
        matcher.mask_row()
    except ResourceLimitError:
        counters.add("failures")
        raise
    except Exception:
        log.debug("the first mask of %r cannot be made", matcher, exc_info=True)
