"""A warning about a grammar that is compiled anyway: a record of the log, or a warning where nobody reads the log.

Servers configure logging, and get a record for each grammar. A script does not: it gets a `RuntimeWarning` at the line that called
psc, once for each text. (Python remembers every such text, so a server must not get them.)

Cost: some microseconds.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings

from psc.errors import without_long_words
from psc.support import ending


def warn(logger: logging.Logger, text: str) -> None:
    """Logs a text as a warning. Where no handler gets the record, the caller of psc gets a `RuntimeWarning`."""
    text = without_long_words(text)
    logger.warning("%s", text)
    if not _is_read(logger):
        warn_caller(text)


def warn_caller(text: str) -> None:
    """Gives the caller of psc a `RuntimeWarning`, but where the program ends; where warnings are errors, nothing is raised."""
    if ending.has_begun():
        return
    with contextlib.suppress(RuntimeWarning):
        warnings.warn(f"psc: {text}", RuntimeWarning, stacklevel=_frames_of_psc())


def _is_read(logger: logging.Logger) -> bool:
    at: logging.Logger | None = logger
    while at is not None:
        if not all(isinstance(handler, logging.NullHandler) for handler in at.handlers):
            return True
        at = at.parent if at.propagate else None
    return False


def _frames_of_psc() -> int:
    """The stack level, for a caller of `warnings.warn` one call above, of the program that called psc."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "psc":
        level, frame = level + 1, frame.f_back
    return level
