"""Where a compiler looks for the artifact of an input key: in the local store, then in the registries, never waiting long.

The store is a file read. Registries are asked in the background: who asks waits a little, then goes on without, and the artifact is
in the store when it has arrived. While the registries cannot be reached nobody waits for them at all.
"""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from psc.artifacts.format import Artifact
from psc.artifacts.references import Reference
from psc.artifacts.store import Store
from psc.errors import PscError, RegistryError, RegistryNotFoundError

_ASK_AGAIN_AFTER_S = 60.0


class Registries(Protocol):
    """What has artifacts; see ``psc.artifacts.registry``."""

    def pull(self, store: Store, *, key: str) -> Reference:
        """Downloads an artifact into a store.

        Raises:
            RegistryNotFoundError: nobody has it.
            RegistryError: nobody has it whole, and not all could be asked.
        """

    def problems(self) -> list[str]:
        """What was wrong with some of them since this was last asked."""


class ArtifactLookup:
    """The store and the registries of one compiler.

    Args:
        store: looked at first; None: nothing is looked for.
        registries: asked when the store has nothing; None: nobody.
        patience_s: how long `find` waits for them.

    May be used from several threads.
    """

    def __init__(self, store: Store | None, registries: Registries | None = None, *, patience_s: float = 2.0) -> None:
        self.store = store
        self._registries = registries
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._asked: dict[str, Future[Reference | None]] = {}
        self._not_before: dict[str, float] = {}  # when to ask for a key that nobody had again
        self._silent_until = 0.0

    def find(self, key: str, on_arrival: Callable[[], None] | None = None) -> tuple[Artifact, Store, Reference] | None:
        """Looks for an artifact.

        Args:
            key: of its inputs.
            on_arrival: called when it arrives from a registry after this has given up waiting.

        Returns:
            The artifact, and where it lies; None when there is none, or not yet.

        A store that cannot be read is a warning, and counts as empty.
        """
        if self.store is None:
            return None
        try:
            found = self._in_store(key)
        except RegistryError as e:
            _warn(f"the store of artifacts cannot be read: {e}")
            return None
        if found is not None or self._registries is None:
            return found
        asked = self._ask(key)
        if asked is None:
            return None
        try:
            reference = asked.result(timeout=self._patience_s)
        except TimeoutError:
            self._silent_until = time.monotonic() + _ASK_AGAIN_AFTER_S
            if on_arrival is not None:
                asked.add_done_callback(lambda f: on_arrival() if f.exception() is None and f.result() is not None else None)
            return None
        except PscError:
            return None  # said by _ask
        return None if reference is None else self._in_store(key)

    def wait(self, key: str) -> tuple[Artifact, Store, Reference] | None:
        """Waits for a download that `find` has begun, as long as it takes. Raises RegistryError when it fails."""
        asked = self._asked.get(key)
        if asked is None or asked.result() is None:
            return None
        return self._in_store(key)

    def _in_store(self, key: str) -> tuple[Artifact, Store, Reference] | None:
        assert self.store is not None
        for _ in range(2):  # a garbage collection may come between the reference and the artifact
            reference = self.store.find(key)
            if reference is None:
                return None
            artifact = self.store.load(reference)
            if artifact is not None:
                return artifact, self.store, reference
        return None

    def _ask(self, key: str) -> Future[Reference | None] | None:
        now = time.monotonic()
        with self._lock:
            running = self._asked.get(key)
            if running is not None and not running.done():
                return running if now >= self._silent_until else None
            if now < self._silent_until or now < self._not_before.get(key, 0.0):
                return None
            asked = self._asked[key] = Future()
        threading.Thread(target=self._download, args=(key, asked), name="psc download", daemon=True).start()
        return asked

    def _download(self, key: str, asked: Future[Reference | None]) -> None:
        assert self._registries is not None and self.store is not None
        try:
            reference = self._registries.pull(self.store, key=key)
        except RegistryNotFoundError:
            self._not_before[key] = time.monotonic() + _ASK_AGAIN_AFTER_S
            asked.set_result(None)
            return
        except BaseException as e:
            self._silent_until = time.monotonic() + _ASK_AGAIN_AFTER_S
            _warn(
                f"no registry could be asked for an artifact; grammars are built here, and nobody is asked again for "
                f"{_ASK_AGAIN_AFTER_S:.0f} s: {e}"
            )
            asked.set_exception(e)
            return
        self._silent_until = 0.0
        for problem in self._registries.problems():
            _warn(f"another registry helped out: {problem}")
        asked.set_result(reference)


def _warn(text: str) -> None:
    with contextlib.suppress(RuntimeWarning):  # where warnings are errors: a download must end all the same
        warnings.warn(f"psc: {text}", RuntimeWarning, stacklevel=3)
