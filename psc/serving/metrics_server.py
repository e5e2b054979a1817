"""Counters over HTTP, in Prometheus' text format, for engines whose own endpoint is in another process.

Cost: a thread that sleeps until a request comes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from psc.support import threads

_log = logging.getLogger("psc.serving")
_PROCESSES: Final = 64
"""The number of ports tried: the processes of an engine take one after the other."""


class MetricsServer:
    """Serves a text at ``/metrics``.

    Args:
        address: ``PORT``, on this machine alone, or ``HOST:PORT``. Where another process has the port, the next free one is taken,
            and said in the log.
        text: gives it.
    """

    def __init__(self, address: str, text: Callable[[], str]) -> None:
        host, _, port = address.rpartition(":")
        self._server = _listen(host or "127.0.0.1", int(port), text)
        self.port: Final = 0 if self._server is None else int(self._server.server_address[1])
        """The port; 0 where all ports are taken."""
        if self._server is None:
            _log.error("metrics: none of the ports from %s on is free, so there are none", address)
            return
        _log.info("metrics: http://%s:%d/metrics", host or "127.0.0.1", self.port)
        threads.start(threading.Thread(target=self._server.serve_forever, name="psc metrics", daemon=True))

    def close(self) -> None:
        """Listens no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


def _listen(host: str, port: int, text: Callable[[], str]) -> ThreadingHTTPServer | None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            exists = self.path.partition("?")[0] == "/metrics"
            body = text().encode() if exists else b"there is /metrics\n"
            self.send_response(200 if exists else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    for attempt in range(_PROCESSES if port else 1):
        try:
            server = ThreadingHTTPServer((host, port + attempt), Handler)
        except (OSError, OverflowError):
            continue
        server.daemon_threads = True
        return server
    return None
