"""Connecting to Ray so that an error is reported in seconds, with the remedy: Ray itself would wait a minute, or without end.

The address is tried first, by a TCP connection and the first frame of HTTP/2, which Ray's control service speaks. Whether versions
fit Ray says itself, if at length.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from psc.cluster.run.memory import usable_cpus
from psc.errors import ClusterError, needs_extra

_PROBE_S = 5.0
_OBJECT_STORE_BYTES = 512 << 20
"""For vocabularies and artifacts, a few MB each; the rest goes to disk."""
_LONGEST_TEMPORARY = 40
"""Of a folder in which Ray makes sockets: their paths may have 107 bytes, and it adds some 60."""

_START = "start one with: ray start --head (then --ray auto), or use --ray local"


@dataclass
class Connection:
    """Ray, connected."""

    ray: Any
    name: str
    owned: bool
    """Whether to disconnect in the end; a program that was connected before stays so."""

    def close(self) -> None:
        """Disconnects, and stops a Ray that it has started."""
        if self.owned and self.ray.is_initialized():
            self.ray.shutdown()


def open_connection(spec: str) -> Connection:
    """Connects.

    Args:
        spec: "local", "auto" or HOST:PORT.

    Raises:
        MissingExtraError: Ray is not installed.
        ClusterError: see the messages.
    """
    address = checked_address(spec)
    ray = _import()
    if ray.is_initialized():
        return Connection(ray, f"ray, {ray.get_runtime_context().gcs_address}", owned=False)
    if address is not None:
        _probe(address)
    elif spec == "auto":
        address = _running_cluster()
    _init(ray, spec, address)
    return Connection(ray, f"ray {spec}", owned=True)


def _import() -> Any:
    # Before Ray reads its settings. Of its own retries none is wanted, least of all the endless ones after running out of memory.
    os.environ.setdefault("RAY_task_oom_retries", "0")
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "30")
    with needs_extra("cluster"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray

    assert isinstance(ray, ModuleType)
    return ray


def _init(ray: Any, spec: str, address: str | None) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if address is None:
        options.update(address="local", num_cpus=usable_cpus(), include_dashboard=False, object_store_memory=_OBJECT_STORE_BYTES)
        if len(os.environ.get("RAY_TMPDIR", tempfile.gettempdir())) > _LONGEST_TEMPORARY:
            options["_temp_dir"] = "/tmp/ray"
    else:
        options["address"] = address
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Ray puts the driver's folder before everything else on its workers' path, where a clone of psc, not built, or any file
            # with a module's name would be imported instead of what is installed.
            with contextlib.chdir(sys.prefix):
                ray.init(**options)
    except KeyboardInterrupt:
        raise
    except Exception as e:
        with contextlib.suppress(Exception):
            ray.shutdown()
        raise ClusterError(_refused(spec, address, e)) from e


def _refused(spec: str, address: str | None, error: Exception) -> str:
    text = " ".join(str(error).split())
    if "ersion mismatch" in text:
        return f"--ray {spec}: {text}; install the cluster's versions of Ray and Python here, or these there"
    if spec == "auto" and isinstance(error, ConnectionError):
        return f"--ray auto: no Ray cluster runs on this machine; {_START}"
    if address is None:
        return f"--ray {spec}: Ray cannot be started here: {text[:400]}"
    if "can not find the matched Raylet" in text or "node_ip" in text or "Raylet" in text:
        return (
            f"--ray {spec}: there is a cluster, but this machine is not part of it. Join it without offering a CPU: "
            f"ray start --address={address} --num-cpus=0, or run psc batch on one of its nodes"
        )
    return f"--ray {spec}: cannot connect to the cluster at {address}: {text[:400] or type(error).__name__}"


def checked_address(spec: str) -> str | None:
    """The address in a specification; None where it has none. Raises ClusterError when it is no specification at all."""
    if spec in ("local", "auto"):
        return None
    if spec.startswith("ray://"):
        raise ClusterError(
            f"--ray {spec}: psc does not run through Ray's client server. Run psc batch on a node of the cluster with --ray auto, "
            "or submit it as a job: ray job submit -- psc batch … --ray auto"
        )
    host, _, port = spec.rpartition(":")
    if not host.strip("[]") or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ClusterError(f"--ray {spec}: give local, auto, or the HOST:PORT of a cluster's head, such as 10.0.0.5:6379")
    return spec


def _running_cluster() -> str:
    """The address of the cluster that this machine is part of: as the environment says, or as ``ray start`` has noted it."""
    address = os.environ.get("RAY_ADDRESS") or _noted_address()
    if address in (None, "", "auto", "local"):
        return "auto"  # Ray looks for processes
    if address.startswith("ray://"):
        raise ClusterError(
            f"--ray auto: RAY_ADDRESS is {address}: psc does not run through Ray's client server; give --ray HOST:PORT"
        )
    try:
        _probe(address)
    except ClusterError as e:
        raise ClusterError(f"--ray auto: {e}") from e
    return address


def _noted_address() -> str | None:
    """The address that ``ray start`` has recorded; it may be gone since, and Ray would wait for it."""
    folder = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    try:
        return Path(folder, "ray", "ray_current_cluster").read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _probe(address: str) -> None:
    """Raises ClusterError unless something at the address speaks as Ray's control service does."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PROBE_S) as connection:
            if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
                return
            # The client's preface and an empty SETTINGS frame; the answer begins with the server's SETTINGS.
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
            answer = b""
            deadline = time.monotonic() + _PROBE_S
            while len(answer) < 9 and time.monotonic() < deadline:
                piece = connection.recv(9 - len(answer))
                if not piece:
                    break
                answer += piece
    except OSError as e:
        why = "it does not answer" if isinstance(e, TimeoutError) else e.strerror or str(e)
        raise ClusterError(
            f"no Ray cluster at {address}: {why}; look at the address (ray status on its head prints it), or {_START}"
        ) from e
    if answer[3:4] != b"\x04":
        raise ClusterError(
            f"what listens at {address} is no Ray cluster; its head's port is 6379 unless it was started with another"
        )
