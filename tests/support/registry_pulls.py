"""An artifact that a registry of a test publishes, and pulls of it."""

import socket

from registries import (
    IMPATIENT,
    Behaviour,
    artifact,
    header,
    path_of,
    reference,
    respond,
)

from psc.artifacts.references import Reference
from psc.artifacts.registry.client import open_registry
from psc.artifacts.registry.transport import Patience
from psc.artifacts.store import Store

FOUND = reference(artifact())


def published(data: bytes | None = None, found: Reference = FOUND) -> Behaviour:
    """What a well-behaved registry with one artifact does."""
    content = artifact() if data is None else data

    def behave(connection: socket.socket, head: bytes, _number: int) -> None:
        path = path_of(head)
        if path in (f"/{found.key_path}", f"/{found.name_path}"):
            respond(connection, found.encode())
        elif path == f"/{found.blob_path}":
            wanted = header(head, "Range")
            at = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
            if at:
                headers = (f"Content-Range: bytes {at}-{len(content) - 1}/{len(content)}",)
                respond(connection, content[at:], status="206 Partial Content", headers=headers)
            else:
                respond(connection, content)
        else:
            respond(connection, status="404 Not Found")

    return behave


def pull(url: str, store: Store, patience: Patience = IMPATIENT) -> Reference:
    with open_registry(url, patience=patience) as registry:
        found = registry.find(FOUND.input_key)
        assert found is not None
        return registry.pull(found, store)


def nothing_came(store: Store) -> bool:
    kept = [p for p in store.root.rglob("*") if p.is_file() and p.parent.name != "incoming"]
    return store.references() == [] and kept == []
