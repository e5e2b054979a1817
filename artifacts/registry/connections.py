"""The open connections of a registry server: their number leaves descriptors for files, and half of them may be of one address.

This module accepts connections one by one. asyncio would accept every connection, and log a traceback for each entry of its
backlog, a thousand at a time, when descriptors run out. A connection on which no request is being answered gives way to a
new one, the one that waits longest first, so connections that do nothing keep nobody out. Where all of them are at work, a new one
is closed at once. What happens often is reported once a minute.

Cost: two lookups for a new connection; 0.2 ms where a thousand are looked through for those that have ended or are idle.
Tried and dropped: counting in the protocol, which asyncio makes only after the TLS handshake.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import resource
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

BACKLOG = 128
_HANDSHAKE_S = 10.0
_TRY_AGAIN_S = 0.5
_REPORT_AGAIN_S = 60.0
_OTHER_DESCRIPTORS = 48
"""What a process has open besides connections and their files."""


class Reports:
    """Lines for the log of which each kind is written once a minute, with how many there were.

    Args:
        report: writes a line.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._silent_until: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def say(self, kind: str, text: str) -> None:
        """Reports something, unless something of its kind was reported less than a minute ago."""
        now = time.monotonic()
        if now < self._silent_until.get(kind, 0.0):
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
            return
        self._silent_until[kind] = now + _REPORT_AGAIN_S
        n = self._left_out.pop(kind, 0)
        self._report(f"psc: warning: {text}" + (f" ({n:,} times more since this was last reported)" if n else ""))

    def of_loop(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An exception handler of an event loop: a line rather than a traceback."""
        error = context.get("exception")
        said = str(context.get("message"))
        self.say(said, said if error is None else f"{said}: {type(error).__name__}: {error}")


def most_connections(wanted: int) -> int:
    """How many connections there may be, each with an open file; the limit of descriptors is raised for them where it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * wanted + _OTHER_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, (soft - _OTHER_DESCRIPTORS) // 2))


@dataclass(eq=False)
class _Connection:
    """A connection that was accepted."""

    address: str
    """Of the client, or the network that a client of IPv6 has whole."""
    client: socket.socket
    protocol: Any
    """aiohttp's; its `transport` is None before a handshake is done, and after the end."""
    opening: asyncio.Task[None] | None = None
    since: float = field(default_factory=time.monotonic)
    """When it was opened, or the last request on it was answered."""
    at_work: int = 0
    """Requests that are being answered."""

    @property
    def is_open(self) -> bool:
        return (self.opening is not None and not self.opening.done()) or self.protocol.transport is not None

    def close(self) -> None:
        if self.protocol.transport is not None:
            self.protocol.transport.abort()
        else:  # a handshake, which asyncio ends at the end of the stream; a socket that it uses cannot be closed under it
            with contextlib.suppress(OSError):
                self.client.shutdown(socket.SHUT_RDWR)


class Connections:
    """Accepts connections for a server, up to a limit.

    Args:
        most: at once.
        report: writes a line into the log.
    """

    def __init__(self, most: int, report: Callable[[str], None]) -> None:
        self.most = most
        self.most_of_one_address = max(1, most // 2)
        self.reports = Reports(report)
        self._connections: dict[int, _Connection] = {}  # and some that have ended
        self._of_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(c.is_open for c in self._connections.values())

    @contextlib.contextmanager
    def at_work(self, protocol: object) -> Any:
        """While a request on a connection is being answered, the connection gives way to none."""
        connection = self._connections.get(id(protocol))
        if connection is None:
            yield
            return
        connection.at_work += 1
        try:
            yield
        finally:
            connection.at_work -= 1
            connection.since = time.monotonic()

    async def accept(self, listener: socket.socket, new_protocol: Callable[[], Any], tls: ssl.SSLContext | None) -> None:
        """Accepts from a socket until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, address = await loop.sock_accept(listener)
            except OSError as e:  # descriptors or memory ran out, or the client is gone
                self.reports.say("accept", f"a connection cannot be accepted: {e.strerror or e}")
                if not self._make_room(None):
                    await asyncio.sleep(_TRY_AGAIN_S)
                continue
            network = _network(address)
            if not self._has_room(network):
                client.close()
                continue
            connection = _Connection(network, client, new_protocol())
            self._connections[id(connection.protocol)] = connection
            self._of_address[network] += 1
            connection.opening = loop.create_task(self._open(connection, tls))

    async def close(self) -> None:
        """Ends those whose handshake is not done; a server ends the others."""
        opening = [c for c in self._connections.values() if c.opening is not None and not c.opening.done()]
        for connection in opening:
            connection.close()
        await asyncio.gather(*(c.opening for c in opening if c.opening is not None), return_exceptions=True)

    async def _open(self, connection: _Connection, tls: ssl.SSLContext | None) -> None:
        timeouts = {} if tls is None else {"ssl_handshake_timeout": _HANDSHAKE_S, "ssl_shutdown_timeout": _HANDSHAKE_S}
        with contextlib.suppress(OSError):  # of TLS and timeouts, too: it spoke something else, or nothing
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection.protocol, connection.client, ssl=tls, **timeouts
            )

    def _has_room(self, network: str) -> bool:
        """Whether a new connection can be taken, perhaps in the place of an idle one."""
        if len(self._connections) < self.most and self._of_address[network] < self.most_of_one_address:
            return True
        self._connections = {key: c for key, c in self._connections.items() if c.is_open}
        self._of_address = Counter(c.address for c in self._connections.values())
        of_one = self._of_address[network]
        if of_one >= self.most_of_one_address:
            self.reports.say(
                "address", f"{network} has {of_one:,} connections, the most for one address; those that are idle are closed"
            )
            return self._make_room(network)
        if len(self._connections) >= self.most:
            self.reports.say("most", f"there are {len(self._connections):,} connections, the most; those that are idle are closed")
            return self._make_room(None)
        return True

    def _make_room(self, network: str | None) -> bool:
        """Closes the connection that is idle for longest, of an address or of any. Returns whether there was one."""
        idle = [c for c in self._connections.values() if c.is_open and not c.at_work and network in (None, c.address)]
        if not idle:
            return False
        longest = min(idle, key=lambda c: c.since)
        longest.close()
        del self._connections[id(longest.protocol)]
        self._of_address[longest.address] -= 1
        return True


def _network(address: Any) -> str:
    """What a client has to itself: an address of IPv4, 64 bits of one of IPv6."""
    text = str(address[0]).partition("%")[0]
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return text
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return text
