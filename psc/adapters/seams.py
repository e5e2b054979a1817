"""The names that an adapter relies on in an engine's release, checked before anything of the engine is replaced.

An engine's internal names move between releases. A seam is one of them, with the parameters that the adapter gives or takes. An
adapter that finds one missing leaves the engine as it is, and says which.
"""

from __future__ import annotations

import inspect
import logging
import pkgutil
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from psc.errors import PscError


@dataclass(frozen=True)
class Seam:
    """A name in an engine.

    Attributes:
        path: ``module:name.name``.
        parameters: which a function or a class has to take by these names; empty for anything else.
        by_position: whether they have to be its first ones, in this order.
    """

    path: str
    parameters: tuple[str, ...] = ()
    by_position: bool = False


def broken_seams(seams: Iterable[Seam]) -> list[str]:
    """The seams that differ from an adapter's needs, one sentence each; empty where everything is there. Imports the modules."""
    return [problem for seam in seams if (problem := _problem(seam)) is not None]


def _problem(seam: Seam) -> str | None:
    try:
        target = pkgutil.resolve_name(seam.path)
    except (ImportError, AttributeError) as e:
        return f"{seam.path} is not there ({e})"
    if not seam.parameters:
        return None
    try:
        taken = inspect.signature(target).parameters
    except (TypeError, ValueError) as e:
        return f"{seam.path} has no signature ({e})"
    if seam.by_position:
        fits = tuple(taken)[: len(seam.parameters)] == seam.parameters
        return None if fits else f"{seam.path} takes ({', '.join(taken)}) and not ({', '.join(seam.parameters)})"
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values()):
        return None
    lacking = [name for name in seam.parameters if name not in taken]
    return f"{seam.path} takes ({', '.join(taken)}) and no {', '.join(lacking)}" if lacking else None


def warn_of_another_release(distribution: str, first: str, last: str, log: logging.Logger) -> None:
    """Says so in the log when an engine is of a release before the first or after the last that the adapter was tested with."""
    installed = installed_release(distribution)
    if not numbers_of(first) <= numbers_of(installed) <= numbers_of(last):
        log.warning("psc's adapter was tested with %s %s to %s, and this is %s", distribution, first, last, installed)


def installed_release(distribution: str) -> str:
    """The release of a distribution that is installed, in words where it has no metadata."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of an unknown release"


def numbers_of(release: str) -> tuple[int, ...]:
    """The first three numbers of a release, by which releases are ordered."""
    return tuple(int(n) for n in re.findall(r"\d+", release)[:3])


class NotAtWorkError(PscError, RuntimeError):
    """An engine that requires psc would serve without it."""


class BrokenSeamError(PscError, RuntimeError):
    """An engine whose names are not those that an adapter needs. Nothing of it was replaced."""


def require_seams(seams: Iterable[Seam]) -> None:
    """Raises BrokenSeamError where something is not as an adapter needs it; the message names all of it. Imports the modules."""
    if problems := broken_seams(seams):
        raise BrokenSeamError(f"psc does not fit this release: {'; '.join(problems)}")
