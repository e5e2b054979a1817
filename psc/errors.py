"""Every exception that psc raises on purpose. Messages say the place, the cause and the way out.

XGrammar raises ``RuntimeError`` for most of what can go wrong, and four subclasses of it that callers catch by name. A program
written for it catches ours too: the four names are here, and what XGrammar reports as ``RuntimeError`` is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

MAX_REPEATED: Final = 200
"""Characters of a word of what was sent that a message repeats."""
_LONG_WORD: Final = re.compile(rf"\S{{{MAX_REPEATED + 1},}}")


def without_long_words(text: str) -> str:
    """The text with an ellipsis in the middle of each word of more than 200 characters: a name or a number can be a megabyte.

    What has spaces in it is cut where the message is made, see `psc.support.readable.shortened`.
    """
    return _LONG_WORD.sub(lambda m: f"{m[0][: MAX_REPEATED // 2]}…{m[0][1 - MAX_REPEATED // 2 :]}", text)


class PscError(Exception):
    """Base of all of psc's own errors. No message repeats more than 200 characters of a word of what was sent."""

    def __init__(self, *arguments: object, **options: Any) -> None:
        super().__init__(*[without_long_words(a) if isinstance(a, str) else a for a in arguments], **options)


class GrammarError(PscError, ValueError, RuntimeError):
    """A grammar that cannot be loaded or compiled.

    The message begins with the position, where one is known. Editors and annotations have it as attributes, each None where it is
    not known: a schema has a pointer, other texts have a line and mostly a column.
    """

    path: str | None = None
    """The grammar's file, or the label that messages begin with, such as ``<regex>``."""
    line: int | None = None
    """The line of the text, from 1."""
    column: int | None = None
    """The column in characters, from 1."""
    pointer: str | None = None
    """The part of a JSON schema, as an RFC 6901 pointer in a fragment: ``#/properties/a``."""

    @classmethod
    def at(cls, path: str, message: str, *, line: int | None = None, column: int | None = None) -> Self:
        """The error about a position of a text; its message begins with it, ``path:line:column``."""
        place = ":".join(str(part) for part in (path, line, column) if part is not None)
        return cls(f"{place}: {message}").with_position(path=path, line=line, column=column)

    def with_position(
        self, *, path: str | None = None, line: int | None = None, column: int | None = None, pointer: str | None = None
    ) -> Self:
        """This error, with the attributes that are given."""
        for name, value in (("path", path), ("line", line), ("column", column), ("pointer", pointer)):
            if value is not None:
                setattr(self, name, value)
        return self

    def reworded(self, message: str) -> GrammarError:
        """An error of the same kind about the same position, with another message."""
        kind = ResourceLimitError if isinstance(self, ResourceLimitError) else GrammarError
        return kind(message).with_position(path=self.path, line=self.line, column=self.column, pointer=self.pointer)


class ResourceLimitError(GrammarError):
    """A limit was exceeded; the message names it."""


class CompilationCancelledError(PscError, RuntimeError):
    """A compilation that was called off by its ``Cancellation``. The compiler is as it was before; asking again begins anew."""


class TokenizerError(PscError, ValueError, RuntimeError):
    """A tokenizer that cannot be read, or does not fit."""


class BitmaskError(PscError, ValueError, RuntimeError):
    """A bitmask, or logits, of the wrong shape, dtype or device."""


class DeviceError(PscError, RuntimeError):
    """A GPU that is not there, or cannot be used."""


class MatcherError(PscError, ValueError, RuntimeError):
    """A call that a matcher's state, or an argument, does not allow; the matcher is as it was before."""


class ArtifactError(PscError, ValueError):
    """An artifact that is damaged, of another version, or made for another tokenizer."""


class VerificationError(PscError):
    """A classifier that is not the paper's construction: an error in psc."""


class RegistryError(PscError):
    """A registry or store that cannot be reached, is malformed, or lacks what its references name; or a name that cannot be one."""


class StoreError(RegistryError):
    """A file of the local store that cannot be written: the disk is full, say, or the folder belongs to somebody else.

    The disk of this machine is the cause, so asking another registry does not help. ``except RegistryError`` catches this, too.
    """


class RegistryUnreachableError(RegistryError):
    """A registry that is down or fails (a status of 500 and more). Trying later, or another registry, may help."""


class RegistryNotFoundError(RegistryError):
    """An artifact that none of the registries has; all of them have answered."""


class JobsFileError(PscError, ValueError):
    """A batch's jobs file that is malformed or names something that does not exist. The message has every problem with its line."""


class ReferenceMissingError(PscError):
    """A parser to compare with that is not installed; the message says what it needs."""


class ReferenceParserError(PscError):
    """A parser to compare with that failed: it does not start, or ended before it had answered."""


class BenchError(PscError):
    """A measurement that cannot be made: texts or data are not there."""


class ReportError(PscError):
    """A report that cannot be written."""


class ClusterError(PscError):
    """A Ray cluster that cannot be reached or started, or that lacks what a task needs."""


class SimulationError(PscError, ValueError):
    """A cluster, or the costs of jobs on it, that cannot be simulated."""


class InvalidJSONError(PscError, ValueError, RuntimeError):
    """Text that should be JSON and is not."""


class DeserializeFormatError(PscError, ValueError, RuntimeError):
    """JSON that does not describe what was requested, or describes it for another tokenizer."""


class DeserializeVersionError(PscError, ValueError, RuntimeError):
    """A serialized object without a version, or of another one."""


class InvalidStructuralTagError(PscError, ValueError, RuntimeError):
    """A structural tag that is malformed."""


class MissingExtraError(PscError, ImportError):
    """A request needs a package that is not installed; the message names the extra and the package."""


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Turns a failed import inside into :class:`MissingExtraError`, which says what to install.

    A :class:`MissingExtraError` from inside passes as it is.
    """
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as e:
        package = (e.name or "").partition(".")[0]
        if not isinstance(e, ModuleNotFoundError):  # a shared library that does not load
            raise MissingExtraError(f"this needs what psc[{extra}] asks for, which is there but cannot be imported: {e}") from e
        raise MissingExtraError(
            f"this needs the package {package!r}, which is not installed: {install_line(extra, package)}", name=package
        ) from e


def install_line(extra: str, package: str) -> str:
    """The command that installs an extra of psc, wherever psc came from.

    psc itself is on no index, so the command does not name psc: it names what the installed psc's metadata list for the extra.

    Args:
        extra: the extra's name.
        package: what was missing; all that can be named where psc runs without metadata, from a folder.
    """
    import shlex
    from importlib.metadata import PackageNotFoundError, requires

    try:
        listed = [r.partition(";") for r in requires("psc") or ()]
    except PackageNotFoundError:
        listed = []
    marker = f'extra=="{extra}"'
    wanted = [r.strip() for r, _, m in listed if marker in m.replace(" ", "").replace("'", '"') and not r.startswith("psc")]
    return f"pip install {' '.join(map(shlex.quote, wanted or [package]))} (which is what psc[{extra}] asks for)"
