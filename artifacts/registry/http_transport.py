"""A registry behind HTTP or HTTPS: psc's own server, or any that serves the files as they are.

A registry is not trusted and a serving host must not hang, so some work is not left to the HTTP library. Redirects are followed
by hand (never to another scheme, never with the token to another host), every wait is bounded (`watchdog`), lengths are checked
before and while reading, and a request is sent again only where that can help.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import re
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path, PurePosixPath
from typing import TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

import urllib3
from urllib3 import exceptions

from psc._version import __version__
from psc.artifacts.references import Reference, blob_path
from psc.artifacts.registry.access_tokens import TOKEN_ENVIRONMENT, token_for
from psc.artifacts.registry.transport import (
    ABSENT,
    PIECE_BYTES,
    BrokenOffError,
    ChangedError,
    Part,
    Patience,
    Progress,
    SmallFile,
    StalledError,
)
from psc.artifacts.registry.watchdog import Watchdog, watched
from psc.errors import RegistryError, RegistryUnreachableError

_REDIRECTS = 5
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1|.*\.localhost")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NOTHING = blob_path(hashlib.sha256(b"").hexdigest())
_T = TypeVar("_T")


class _AgainError(RegistryUnreachableError):
    """A failure that may pass."""

    def __init__(self, message: str, *, wait: float | None = None, attempts: int = 1 << 30) -> None:
        super().__init__(message)
        self.wait = wait
        self.attempts = attempts


@dataclass
class _Answer:
    origin: str
    response: urllib3.BaseHTTPResponse
    watchdog: Watchdog
    token_withheld: bool

    @property
    def status(self) -> int:
        return self.response.status

    @property
    def etag(self) -> str | None:
        return self.response.headers.get("ETag")

    @property
    def length(self) -> int | None:
        """Of the body in bytes, as the server announces it; None where it does not, or sends no valid length."""
        said = self.response.headers.get("Content-Length", "")
        return int(said) if re.fullmatch("[0-9]{1,18}", said) else None

    def pieces(self) -> Iterator[bytes]:
        """The body. Raises BrokenOffError where the connection breaks."""
        while True:
            try:
                piece = self.response.read1(PIECE_BYTES, decode_content=False)
            except (exceptions.HTTPError, OSError, ValueError) as e:
                if self.watchdog.has_bitten or isinstance(e, exceptions.ReadTimeoutError):
                    raise self._stalled() from e
                raise BrokenOffError(f"{self.origin}: the connection broke: {_clean(str(e))}") from e
            if not piece:
                if self.watchdog.has_bitten:
                    raise self._stalled()
                return
            self.watchdog.progress(len(piece))
            yield piece

    def _stalled(self) -> StalledError:
        return StalledError(f"{self.origin}: too little came within {self.watchdog.seconds:g} s: the registry stalls")


class HttpTransport:
    """The files below a URL.

    Args:
        url: with scheme http or https, and no user, query or fragment.
        token: sent to this host; by default from the environment, see `token_for`.
        ca_file: certificates to trust instead of the system's.
        patience: how long to wait.
        token_in_clear: send the token even without TLS to another machine.

    Raises:
        RegistryError: the URL is malformed, or the certificates cannot be read.
    """

    is_local = False

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        ca_file: str | Path | None = None,
        patience: Patience | None = None,
        token_in_clear: bool = False,
    ) -> None:
        parts = _checked(url, url)
        self._base = url.rstrip("/") + "/"
        self._origin = _origin(parts)
        host = parts.hostname or ""
        self._token = token_for(host, self._origin[2], token)
        self._withhold = parts.scheme == "http" and not token_in_clear and not _LOOPBACK.fullmatch(host)
        self._patience = patience if patience is not None else Patience()
        timeout = urllib3.Timeout(connect=self._patience.connect, read=self._patience.stall)
        options = {"timeout": timeout, "maxsize": 4, "ssl_context": _tls(ca_file) if parts.scheme == "https" else None}
        proxy = _proxy(parts)
        self._pools = urllib3.ProxyManager(proxy, **options) if proxy else urllib3.PoolManager(**options)  # type: ignore[arg-type]
        watched(self._pools)

    @property
    def url(self) -> str:
        return self._base.rstrip("/")

    def read(self, path: PurePosixPath, limit: int) -> SmallFile | None:
        def once() -> SmallFile | None:
            with self._exchange("GET", path) as answer:
                if answer.status in (404, 410):
                    return None
                self._expect(answer, 200)
                declared = answer.length
                if declared is not None and declared > limit:
                    raise RegistryError(f"{answer.origin}: {declared:,} bytes, where at most {limit:,} are expected")
                data = bytearray()
                for piece in answer.pieces():
                    data += piece
                    if len(data) > limit:
                        raise RegistryError(f"{answer.origin}: more than {limit:,} bytes")
                return SmallFile(bytes(data), answer.etag)

        return self._persistently(once)

    @contextmanager
    def read_blob(self, reference: Reference, offset: int, etag: str | None) -> Iterator[Part | None]:
        headers = {}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if etag is not None and not etag.startswith("W/"):
                headers["If-Range"] = etag
        # Only opening is tried again here: the caller decides what follows a broken body.
        with contextlib.ExitStack() as stack:
            answer = self._persistently(lambda: stack.enter_context(self._exchange("GET", reference.blob_path, headers)))
            yield self._part(answer, reference, offset)

    def _part(self, answer: _Answer, reference: Reference, offset: int) -> Part | None:
        if answer.status in (404, 410):
            return None
        if answer.status == 206:
            said = answer.response.headers.get("Content-Range", "")
            if not re.fullmatch(rf"bytes {offset}-{reference.size - 1}/({reference.size}|\*)", said):
                raise RegistryError(
                    f"{answer.origin}: psc requested bytes {offset}-{reference.size - 1} of {reference.size}, got {_clean(said)!r}"
                )
        elif answer.status == 416:
            raise RegistryError(f"{answer.origin}: has at most {offset:,} bytes, but the reference says {reference.size:,}")
        else:
            self._expect(answer, 200)
            offset = 0
        declared = answer.length
        if declared is not None and declared != reference.size - offset:
            raise RegistryError(
                f"{answer.origin}: the server announces {declared:,} bytes, but the reference says {reference.size - offset:,}"
            )
        return Part(offset, answer.etag, self._blob_pieces(answer, reference.size - offset))

    def _blob_pieces(self, answer: _Answer, expected: int) -> Iterator[bytes]:
        got = 0
        for piece in answer.pieces():
            got += len(piece)
            if got > expected:
                raise RegistryError(f"{answer.origin}: sends more bytes than the reference says")
            yield piece
        if got < expected:
            raise BrokenOffError(f"{answer.origin}: the connection ended {expected - got:,} bytes early")

    def write(self, path: PurePosixPath, data: bytes, *, if_match: str | None = None) -> None:
        condition = {} if if_match is None else {"If-None-Match": "*"} if if_match == ABSENT else {"If-Match": if_match}
        self._put(path, data, {"Content-Type": "application/json", **condition}, None)

    def write_blob(self, reference: Reference, data: bytes, progress: Progress) -> bool:
        if self._has(reference):
            progress(len(data), len(data))
            return False
        self._put(reference.blob_path, data, {"Content-Type": "application/octet-stream"}, progress)
        return True

    def _has(self, reference: Reference) -> bool:
        def once() -> bool:
            with self._exchange("HEAD", reference.blob_path) as answer:
                if answer.status in (404, 410):
                    return False
                self._expect(answer, 200)
                return answer.response.headers.get("Content-Length") == str(reference.size)

        return self._persistently(once)

    def _put(self, path: PurePosixPath, data: bytes, headers: dict[str, str], progress: Progress | None) -> None:
        def once() -> None:
            with self._exchange("PUT", path, headers, data, progress) as answer:
                if answer.status == 412:
                    raise ChangedError(f"{answer.origin}: somebody else has changed it meanwhile")
                self._expect(answer, 200, 201, 204)

        self._persistently(once)

    def check_writable(self) -> None:
        # A blob without bytes under its own name. The server first refuses a client that may not push. It tells any other client
        # that this is no artifact. A server that accepts every file then has a harmless one.
        def once() -> None:
            with self._exchange("PUT", _NOTHING, {"Content-Type": "application/octet-stream"}, b"") as answer:
                if answer.status in (401, 403, 404, 405):
                    self._expect(answer)

        self._persistently(once)

    def publish(self, references: Sequence[Reference]) -> None:
        pass  # the server keeps its index

    def close(self) -> None:
        self._pools.clear()

    def _persistently(self, once: Callable[[], _T]) -> _T:
        """Calls ``once`` again while its failures may pass."""
        attempt = 1
        while True:
            try:
                return once()
            except (_AgainError, BrokenOffError) as e:
                allowed = (
                    e.attempts if isinstance(e, _AgainError) else 2 if isinstance(e, StalledError) else self._patience.attempts
                )
                if attempt >= min(self._patience.attempts, allowed):
                    raise
                pause = self._patience.backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
                time.sleep(max(pause, getattr(e, "wait", None) or 0.0))
                attempt += 1

    @contextmanager
    def _exchange(
        self,
        method: str,
        path: PurePosixPath,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        progress: Progress | None = None,
    ) -> Iterator[_Answer]:
        """One request, its redirects, and the answer, whose body is read inside."""
        origin = urljoin(self._base, str(path))
        with Watchdog(self._patience.stall, self._patience.least_bytes) as watchdog:
            answer = self._follow(method, origin, headers or {}, body, progress, watchdog)
            try:
                if answer.status == 429 or answer.status >= 500:
                    raise self._failing(answer)
                yield answer
            finally:
                if answer.response.length_remaining == 0:
                    answer.response.release_conn()  # for the next request
                answer.response.close()

    def _follow(
        self, method: str, origin: str, headers: dict[str, str], body: bytes | None, progress: Progress | None, watchdog: Watchdog
    ) -> _Answer:
        begun = origin
        for _ in range(_REDIRECTS + 1):
            same_origin = _origin(urlsplit(origin)) == self._origin
            sent = {"User-Agent": f"psc/{__version__}", "Accept-Encoding": "identity", **headers}
            if self._token and same_origin and not self._withhold:
                sent["Authorization"] = f"Bearer {self._token}"
            if body is not None:
                sent["Content-Length"] = str(len(body))
            read = self._patience.stall if body is None else self._patience.answer
            try:
                response = self._pools.urlopen(
                    method,
                    origin,
                    headers=sent,
                    body=None if body is None else self._sending(body, progress, watchdog),
                    redirect=False,
                    retries=False,
                    preload_content=False,
                    decode_content=False,
                    timeout=urllib3.Timeout(connect=self._patience.connect, read=read),
                )
            except (exceptions.HTTPError, OSError, ValueError) as e:
                raise self._translated(e, origin, watchdog) from e
            if response.status not in (301, 302, 303, 307, 308):
                watchdog.wait(self._patience.stall)
                return _Answer(origin, response, watchdog, bool(self._token) and same_origin and self._withhold)
            location = response.headers.get("Location", "")
            response.close()
            try:
                target = urljoin(origin, location).partition("#")[0]
            except ValueError as e:
                raise RegistryError(f"{origin}: redirects to {_clean(location)!r}, which is no address") from e
            if body is not None:
                raise RegistryError(f"{origin}: redirects a push to {_clean(target)}; push to that registry's own address")
            scheme = urlsplit(origin).scheme
            if urlsplit(target).scheme != scheme:
                raise RegistryError(
                    f"{origin}: redirects from {scheme} to {_clean(target)}, another scheme, which is not followed; "
                    "give that address if you trust it"
                )
            _checked(target.partition("?")[0], origin)
            origin = target
        raise RegistryError(f"{begun}: redirects more than {_REDIRECTS} times")

    def _sending(self, body: bytes, progress: Progress | None, watchdog: Watchdog) -> Iterator[bytes]:
        view = memoryview(body)
        for at in range(0, len(body), PIECE_BYTES):
            piece = view[at : at + PIECE_BYTES]
            yield bytes(piece)
            watchdog.progress(len(piece))
            if progress is not None:
                progress(at + len(piece), len(body))
        watchdog.wait(self._patience.answer)

    def _expect(self, answer: _Answer, *statuses: int) -> None:
        if answer.status in statuses:
            kind = answer.response.headers.get("Content-Type", "")
            if kind.lower().startswith("text/html") and answer.response.headers.get("Content-Length") != "0":
                raise RegistryError(f"{answer.origin}: sent an HTML page instead of the file: is the address that of a registry?")
            if answer.response.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
                raise RegistryError(f"{answer.origin}: sent the file compressed, which psc did not request")
            return
        said = self._said(answer)
        if answer.status == 401:
            raise RegistryError(f"{answer.origin}: {self._unauthorized(answer)}{said}")
        if answer.status == 403:
            raise RegistryError(f"{answer.origin}: the registry does not allow this{said}")
        raise RegistryError(f"{answer.origin}: the registry refuses, status {answer.status}{said}")

    def _unauthorized(self, answer: _Answer) -> str:
        if answer.token_withheld:
            return (
                "the registry wants a token, which is not sent unencrypted to another machine; "
                "use https, or set PSC_REGISTRY_TOKEN_IN_CLEAR=1 if the network is trusted"
            )
        if self._token is None:
            return f"the registry wants a token; give it in {TOKEN_ENVIRONMENT}"
        return f"the registry does not accept the token (from {TOKEN_ENVIRONMENT}, unless given otherwise)"

    def _said(self, answer: _Answer) -> str:
        """The server's words about a refusal, if they are short and plain."""
        described = re.search(r'error_description="([^"]{1,300})"', answer.response.headers.get("WWW-Authenticate", ""))
        if described is not None:
            return f": {_clean(described[1])}"
        if not answer.response.headers.get("Content-Type", "").startswith("text/plain"):
            return ""
        data = bytearray()
        with contextlib.suppress(RegistryError):
            for piece in answer.pieces():
                data += piece
                if len(data) > 2000:
                    break
        text = _clean(data[:500].decode("utf-8", "replace").strip())
        return f": {text}" if text else ""

    def _failing(self, answer: _Answer) -> RegistryError:
        what = f"{answer.origin}: the registry fails, status {answer.status}{self._said(answer)}"
        wait = _retry_after(answer.response.headers.get("Retry-After"))
        if wait is not None and wait > self._patience.longest_wait:
            return RegistryUnreachableError(f"{what}, and asks to wait {wait:,.0f} s")
        if answer.status in (501, 507):
            return RegistryUnreachableError(what)
        return _AgainError(what, wait=wait)

    def _translated(self, error: Exception, origin: str, watchdog: Watchdog) -> RegistryError:
        if watchdog.has_bitten or isinstance(error, exceptions.ReadTimeoutError):
            return _AgainError(f"{origin}: no answer within {watchdog.seconds:g} s: the registry stalls", attempts=2)
        cause: BaseException = error
        while isinstance(cause, exceptions.ProxyError | exceptions.MaxRetryError) and cause.args:
            inner = cause.args[-1]
            if not isinstance(inner, BaseException):
                break
            cause = inner
        if isinstance(cause, exceptions.SSLError | ssl.SSLError):
            hint = "; give the authority's certificate with --ca-file" if "CERTIFICATE_VERIFY_FAILED" in str(cause) else ""
            return RegistryUnreachableError(f"{origin}: no secure connection: {_clean(str(cause))}{hint}")
        if isinstance(cause, exceptions.NameResolutionError):
            return _AgainError(f"{origin}: the host's name cannot be resolved", attempts=1)
        if isinstance(cause, exceptions.ConnectTimeoutError) and not isinstance(cause, exceptions.NewConnectionError):
            return _AgainError(f"{origin}: no connection within {self._patience.connect:g} s", attempts=2)
        if isinstance(cause, exceptions.NewConnectionError):
            reason = getattr(cause.__cause__, "strerror", None) or str(cause)
            return _AgainError(f"{origin}: no connection: {_clean(reason)}", attempts=2)
        return _AgainError(f"{origin}: the connection broke: {_clean(str(cause))}")


def _checked(url: str, origin: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as e:
        raise RegistryError(f"{origin}: not an address: {e}") from e
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or re.search(r"[\x00-\x20\x7f]", url):
        raise RegistryError(f"{origin}: not the address of a registry, such as https://artifacts.example.com/psc")
    if parts.username is not None or parts.password is not None:
        raise RegistryError(f"{parts.hostname}: no user or password in the address; a token goes into {TOKEN_ENVIRONMENT}")
    if parts.query or parts.fragment:
        raise RegistryError(f"{origin}: the address of a registry has no ? and no #")
    return parts


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, (parts.hostname or "").lower(), parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)


def _tls(ca_file: str | Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except (OSError, ssl.SSLError) as e:
        raise RegistryError(f"{ca_file}: cannot read the certificates: {e}") from e


def _proxy(parts: SplitResult) -> str | None:
    host = parts.hostname or ""
    if _LOOPBACK.fullmatch(host) or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _retry_after(said: str | None) -> float | None:
    if said is None:
        return None
    if said.strip().isdecimal():
        return float(said.strip())
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _clean(text: str) -> str:
    """Text from a server, fit for a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)[:300]
