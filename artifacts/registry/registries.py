"""A list of registries, queried in order: the next one may have an artifact that one lacks, or has only damaged.

A registry that does not answer is skipped for a while, so that a host without a network does not wait at every grammar.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from psc.artifacts.references import Reference, check_digest, check_name
from psc.artifacts.registry.client import Registry, open_registry
from psc.artifacts.registry.signing import TrustedKeys
from psc.artifacts.registry.transport import Patience, Progress, no_progress
from psc.artifacts.store import Store
from psc.errors import ArtifactError, RegistryError, RegistryNotFoundError, RegistryUnreachableError, StoreError
from psc.support.forks import new_lock

REGISTRIES_ENVIRONMENT = "PSC_REGISTRY"
OFFLINE_ENVIRONMENT = "PSC_OFFLINE"
CA_ENVIRONMENT = "PSC_REGISTRY_CA_FILE"
IN_CLEAR_ENVIRONMENT = "PSC_REGISTRY_TOKEN_IN_CLEAR"
SIGNATURE_ENVIRONMENT = "PSC_REGISTRY_REQUIRE_SIGNATURE"
_LEFT_ALONE_S = 30.0
_T = TypeVar("_T")


def addresses_in(text: str) -> list[str]:
    """The addresses in ``PSC_REGISTRY``: separated by commas or white space."""
    return [a for a in re.split(r"[\s,]+", text) if a]


def _keys_of(text: str) -> list[str]:
    """The files of keys in ``PSC_REGISTRY_REQUIRE_SIGNATURE``. Raises RegistryError where it is set and names none."""
    files = [file for file in (part.strip() for part in text.split(os.pathsep)) if file]
    if text and not files:
        raise RegistryError(
            f"{SIGNATURE_ENVIRONMENT}={text!r} names no file of a public key, so it would demand nothing; name one, or unset it"
        )
    return files


def is_offline() -> bool:
    """Whether ``PSC_OFFLINE`` forbids the network."""
    return _is_set(OFFLINE_ENVIRONMENT)


class Registries:
    """Registries, in the order in which they are queried.

    Args:
        addresses: see `open_registry`.
        token: for all of them; by default from the environment.
        ca_file: certificates to trust instead of the system's; by default from ``PSC_REGISTRY_CA_FILE``.
        patience: how long to wait for one.
        require_signature: files of public keys: only references signed by one of them are accepted; by default from
            ``PSC_REGISTRY_REQUIRE_SIGNATURE``.
        memory: the folder that remembers the newest signed index seen; by default in the local store.
        offline: leave out all but folders; by default as ``PSC_OFFLINE`` says.

    Raises:
        RegistryError: an address cannot be one, or a key cannot be read.
    """

    def __init__(
        self,
        addresses: Iterable[str],
        *,
        token: str | None = None,
        ca_file: str | Path | None = None,
        patience: Patience | None = None,
        require_signature: Sequence[str | Path] | None = None,
        memory: Path | None = None,
        offline: bool | None = None,
    ) -> None:
        if require_signature is None:
            require_signature = _keys_of(os.environ.get(SIGNATURE_ENVIRONMENT, ""))
        trusted = TrustedKeys.from_files(require_signature) if require_signature else None
        opened = [
            open_registry(
                address,
                token=token,
                ca_file=ca_file or os.environ.get(CA_ENVIRONMENT) or None,
                patience=patience,
                token_in_clear=_is_set(IN_CLEAR_ENVIRONMENT),
                require_signature=trusted,
                memory=memory,
            )
            for address in addresses
        ]
        offline = is_offline() if offline is None else offline
        self.registries = [r for r in opened if r.is_local or not offline]
        self._problems: dict[str, str] = {}
        self._left_alone: dict[str, tuple[float, RegistryUnreachableError]] = {}
        self._lock = new_lock()

    @classmethod
    def from_environment(cls, memory: Path | None = None) -> Registries:
        """Those that ``PSC_REGISTRY`` names; none when it is not set, and only folders when ``PSC_OFFLINE`` is."""
        return cls(addresses_in(os.environ.get(REGISTRIES_ENVIRONMENT, "")), memory=memory)

    def __bool__(self) -> bool:
        return bool(self.registries)

    def __enter__(self) -> Registries:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Gives back connections."""
        for registry in self.registries:
            registry.close()

    def problems(self) -> list[str]:
        """The problems of registries since the last call, each once, even where another registry helped."""
        with self._lock:
            problems, self._problems = list(self._problems.values()), {}
        return problems

    def lookup(self, key: str) -> Reference | None:
        """The reference of an input key, from the first registry that has it; None when all report that they do not.

        Raises:
            RegistryError: none has it, and at least one did not answer or sent nonsense; the message has each one's reason.
        """
        check_digest(key, "input key")
        return self._first(f"input key {key}", lambda registry: registry.find(key))

    @property
    def urls(self) -> list[str]:
        """Their addresses, for messages."""
        return [r.url for r in self.registries]

    def listed(self, grammar: str, tokenizer: str) -> list[Reference]:
        """The references under these two names, and all that the indexes list. A registry that fails is left out.

        For messages that name alternatives to a missing artifact. The references are not verified.
        """
        check_name(grammar, "grammar")
        check_name(tokenizer, "tokenizer")
        references: list[Reference] = []
        for registry in self.registries:
            with contextlib.suppress(RegistryError, ArtifactError):
                named = self._ask(registry, lambda r: r.find_named(grammar, tokenizer))
                references += [named] if named is not None else []
                references += self._ask(registry, lambda r: r.references()) or []
        return references

    def pull(self, store: Store, *, key: str, progress: Progress = no_progress) -> Reference:
        """The artifact of an input key into the local store, from the first registry that has it whole.

        Args:
            store: the local store.
            key: the input key.
            progress: called for each piece that is downloaded.

        Raises:
            RegistryNotFoundError: all registries report that they do not have it.
            StoreError: it cannot be written here; no further registry is tried.
            RegistryError: no registry has it whole, and at least one did not answer, or lied; the message has each one's reason.
        """
        check_digest(key, "input key")
        return self._pulled(f"input key {key}", lambda r: r.find(key), store, progress)

    def pull_named(self, store: Store, grammar: str, tokenizer: str, *, progress: Progress = no_progress) -> Reference:
        """The artifact of two names; see `pull`."""
        check_name(grammar, "grammar")
        check_name(tokenizer, "tokenizer")
        try:
            return self._pulled(f"{grammar} for {tokenizer}", lambda r: r.find_named(grammar, tokenizer), store, progress)
        except RegistryNotFoundError as e:
            raise RegistryNotFoundError(f"{e}{self._names_like(grammar, tokenizer)}") from None

    def _names_like(self, grammar: str, tokenizer: str) -> str:
        """Similar names in the registries' indexes."""
        listed: set[str] = set()
        for registry in self.registries:
            with contextlib.suppress(RegistryError, ArtifactError):
                listed.update(f"{r.grammar} {r.tokenizer}" for r in registry.references())
        close = difflib.get_close_matches(f"{grammar} {tokenizer}", sorted(listed), n=1)
        return f"; did you mean {close[0]}?" if close else ""

    def _pulled(self, what: str, find: Callable[[Registry], Reference | None], store: Store, progress: Progress) -> Reference:
        def pull(registry: Registry) -> Reference | None:
            reference = find(registry)
            return None if reference is None else registry.pull(reference, store, progress=progress)

        answer = self._first(what, pull)
        if answer is None:
            queried = ", ".join(r.url for r in self.registries) or "no registry is named: give --registry or set PSC_REGISTRY"
            raise RegistryNotFoundError(f"{what}: not in any registry ({queried})")
        return answer

    def _first(self, what: str, ask: Callable[[Registry], _T | None]) -> _T | None:
        failed: list[str] = []
        for registry in self.registries:
            try:
                answer = self._ask(registry, ask)
            except StoreError:  # with which another registry cannot help
                raise
            except (RegistryError, ArtifactError) as e:
                failed.append(str(e))
                with self._lock:
                    self._problems[registry.url] = str(e)
                continue
            if answer is not None:
                return answer
        if failed:
            others = len(self.registries) - len(failed)
            also = f" ({others} other{'s do' if others > 1 else ' does'} not have it)" if others else ""
            raise RegistryError(f"{what}: cannot be had{also}:" + "".join(f"\n  {f}" for f in failed))
        return None

    def _ask(self, registry: Registry, ask: Callable[[Registry], _T | None]) -> _T | None:
        with self._lock:
            until, why = self._left_alone.get(registry.url, (0.0, None))
        if why is not None and time.monotonic() < until:
            raise RegistryUnreachableError(str(why))
        try:
            answer = ask(registry)
        except RegistryUnreachableError as e:
            with self._lock:
                self._left_alone[registry.url] = (time.monotonic() + _LEFT_ALONE_S, e)
            raise
        with self._lock:
            self._left_alone.pop(registry.url, None)
        return answer


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() not in ("", "0", "false", "no")
