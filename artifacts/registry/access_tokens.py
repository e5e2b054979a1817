"""Bearer tokens: which one a client sends to which host, and which ones a server accepts until when.

A client's token is a secret of the registry that gave it: it never goes to another host, and never in the clear over a network. A
server compares in constant time. It reports an expired token as such, so that its owner can renew it.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from psc.errors import RegistryError
from psc.support.regular_file import open_regular, read_regular

TOKEN_ENVIRONMENT = "PSC_REGISTRY_TOKEN"
READ_TOKEN_ENVIRONMENT = "PSC_REGISTRY_READ_TOKEN"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_FOR_HOST = re.compile(r"(?P<host>[^=\s]+)=(?P<token>[A-Za-z0-9._~+/-]+=*)")
_SHORTEST = 16
_READ_ANEW_S = 2.0
_MAX_FILE_BYTES = 1 << 20
_PROBLEMS_LOGGED = 10

_log = logging.getLogger("psc.artifacts")


def token_for(host: str, port: int | None, given: str | None) -> str | None:
    """The token to send to a host.

    Args:
        host: of the registry.
        port: of the registry.
        given: by the caller, for this registry; by default what ``PSC_REGISTRY_TOKEN`` holds: a token for all registries, or
            ``HOST=TOKEN`` or ``HOST:PORT=TOKEN``, several of them separated by spaces or commas.

    Raises:
        RegistryError: what was given cannot be a token; it is not repeated.
    """
    if given is not None:
        return _checked(given.strip(), "the token given")
    default = None
    for item in re.split(r"[\s,]+", os.environ.get(TOKEN_ENVIRONMENT, "").strip()):
        if named := _FOR_HOST.fullmatch(item):
            if named["host"].lower() in (host.lower(), f"{host.lower()}:{port}"):
                return named["token"]
        elif item:
            default = _checked(item, f"the token in {TOKEN_ENVIRONMENT}")
    return default


@dataclass(frozen=True)
class AccessToken:
    """A token that a server accepts, stored as a hash."""

    digest: bytes
    expires: date | None = None
    """The last day on which it is accepted, in UTC."""

    @classmethod
    def of(cls, secret: str, expires: date | None = None) -> AccessToken:
        return cls(hashlib.sha256(secret.encode()).digest(), expires)


class AcceptedTokens:
    """The tokens that a server accepts for one purpose.

    The file is read again when it has changed, so tokens come and go without a restart. What cannot be read is not accepted: a line
    that is malformed is left out, and of a file that is empty, gone or unreadable no token holds until it can be read again. Each
    such change is a warning. Replace the file by renaming another one, so that the server never meets half of it.

    Args:
        tokens: given directly.
        file: a regular file of more, one a line: the token, then perhaps the last day on which it is accepted (``2027-01-31``);
            ``#`` begins a comment.
        report: called with each warning; by default the logger ``psc.artifacts`` is.

    Raises:
        RegistryError: the file cannot be read, has no token, others may write it, or a line is malformed; the message names the
            line and not the token.
    """

    def __init__(self, tokens: Iterable[str] = (), file: Path | None = None, report: Callable[[str], None] = _log.warning) -> None:
        self._given = tuple(AccessToken.of(_checked(t, "the token given")) for t in tokens)
        self._file = file
        self._from_file: tuple[AccessToken, ...] = ()
        self._report = report
        self._stamp: object = None
        self._looked_at = 0.0
        if file is not None:
            self._stamp = _stamp(file)
            self._from_file, problems = _read(file)
            if problems:
                raise RegistryError(problems[0])
            if not self._from_file:
                raise RegistryError(f"{file}: there is no token in it")

    def __bool__(self) -> bool:
        return bool(self._given or self._file)

    def judge(self, secret: str) -> str | None:
        """None when the token is accepted, else why not, in words for its owner."""
        self._read_anew()
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
        match = None
        for token in (*self._given, *self._from_file):
            if hmac.compare_digest(token.digest, digest):
                match = token
        if match is None:
            return "the token is not known here"
        if match.expires is not None and datetime.now(UTC).date() > match.expires:
            return f"the token expired on {match.expires.isoformat()}"
        return None

    def _read_anew(self) -> None:
        if self._file is None or time.monotonic() - self._looked_at < _READ_ANEW_S:
            return
        self._looked_at = time.monotonic()
        try:
            stamp: object = _stamp(self._file)
            if stamp == self._stamp:
                return
            tokens, problems = _read(self._file)
        except RegistryError as e:
            stamp, tokens, problems = str(e), (), [str(e)]
            if stamp == self._stamp:
                return
        self._from_file, self._stamp = tokens, stamp
        for problem in problems[:_PROBLEMS_LOGGED]:
            self._report(problem)
        if not tokens:
            self._report(f"{self._file}: no token of this file is accepted until it has one that can be read")
        _log.info("%s: read again; %d tokens", self._file, len(tokens))


def _stamp(file: Path) -> object:
    """Differs when the file does. The time of its last change cannot be set back, as that of its content can."""
    try:
        status = file.stat()
    except OSError as e:
        raise RegistryError(f"{file}: cannot read the tokens: {e.strerror or e}") from e
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _read(file: Path) -> tuple[tuple[AccessToken, ...], list[str]]:
    """The tokens of a file, and why lines are left out. Raises RegistryError: it cannot be read, or others may write it."""
    try:
        with open_regular(file) as stream:
            if os.fstat(stream.fileno()).st_mode & stat.S_IWOTH:
                raise RegistryError(f"{file}: everybody on this machine may write tokens into it; chmod 600 {file}")
        lines = read_regular(file, _MAX_FILE_BYTES).decode().splitlines()
    except OSError as e:
        raise RegistryError(f"{file}: cannot read the tokens: {e.strerror or e}") from e
    except UnicodeDecodeError as e:
        raise RegistryError(f"{file}: cannot read the tokens: byte {e.start} is no UTF-8") from None
    tokens, problems = [], []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        try:
            if words:
                tokens.append(_token_of(words, f"{file}:{number}"))
        except RegistryError as e:
            problems.append(str(e))
    return tuple(tokens), problems


def _token_of(words: list[str], origin: str) -> AccessToken:
    """The token of a line. Raises RegistryError, which does not repeat it."""
    if len(words) > 2:
        raise RegistryError(f"{origin}: expected a token, and perhaps the last day on which it is accepted")
    if len(words[0]) < _SHORTEST:
        raise RegistryError(
            f"{origin}: a token of fewer than {_SHORTEST} characters can be guessed; openssl rand -hex 32 makes one"
        )
    try:
        expires = date.fromisoformat(words[1]) if len(words) == 2 else None
    except ValueError as e:
        raise RegistryError(f"{origin}: {words[1]!r} is not a day such as 2027-01-31") from e
    return AccessToken.of(_checked(words[0], origin), expires)


def _checked(token: str, what: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise RegistryError(f"{what}: not a bearer token: letters, digits and . _ ~ + / -, then perhaps =")
    return token
