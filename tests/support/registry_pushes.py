"""Pushes to a registry's server, and the files that it has then."""

from pathlib import Path

from registries import TOKEN, reference

from psc.artifacts.references import Reference
from psc.artifacts.registry.client import open_registry


def pushed(url: str, data: bytes, grammar: str | None = None) -> Reference:
    found = reference(data, grammar=grammar)
    with open_registry(url, token=TOKEN) as registry:
        registry.push(data, found)
    return found


def files(root: Path) -> set[str]:
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}
