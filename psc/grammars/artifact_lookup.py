"""Where a compiler looks for the artifact of an input key: in the local store, then in the registries, never waiting long.

The store is a file read. Registries are asked in the background. A compilation waits a little for them, then builds the grammar
itself; an artifact that arrives later goes into the store. While the registries cannot be reached, no compilation waits for them.

What happens is logged by ``psc.artifacts``: hits, misses and downloads as information; as warnings a near miss (the same
grammar for a vocabulary that is nearly ours), a store that cannot be read and registries that cannot be asked. The last two are
Python warnings, too, at the line of the program that asked.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol, Self

from psc.artifacts.format import Artifact
from psc.artifacts.references import Reference
from psc.artifacts.store import Store, default_store, temporary_store
from psc.errors import ArtifactError, CompilationCancelledError, PscError, RegistryError, RegistryNotFoundError, StoreError
from psc.grammars.near_artifacts import Wanted, difference, is_of_this_grammar, near, serves_as_well
from psc.support import threads
from psc.support.cancellation import Cancellation, result_unless_cancelled
from psc.support.forks import new_lock
from psc.support.pending import Pending
from psc.support.warning import warn_caller

_log = logging.getLogger("psc.artifacts")
_ASK_AGAIN_AFTER_S = 60.0
_NEAR_TOLD = 3
_NEAR_READ_BYTES = 32 << 20
"""A near artifact larger than this is not fetched only to say how it differs."""


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

    def listed(self, grammar: str, tokenizer: str) -> list[Reference]:
        """What they have by these two names, and all that their indexes list; nothing where one cannot be asked."""

    @property
    def urls(self) -> list[str]:
        """Their addresses, for messages."""


class _Download(Pending[Reference]):
    """Of the artifact of a key, by a thread of its own; its result is None where nobody has the artifact.

    Args:
        download: does it, and calls ``end``.
    """

    def __init__(self, download: Callable[[_Download], None]) -> None:
        self.thread = threading.Thread(target=download, args=(self,), name="psc download", daemon=True)
        super().__init__(self.thread)
        self._has_arrived = False
        self._on_arrival: list[Callable[[], None]] = []

    def end(self, reference: Reference | None, error: BaseException | None = None) -> None:
        """Sets the result."""
        self.set(reference, error)
        self._has_arrived = reference is not None
        self._call()

    def call_on_arrival(self, call: Callable[[], None]) -> None:
        """Has a function called when the artifact arrives, or now where it has."""
        self._on_arrival.append(call)
        self._call()

    def _call(self) -> None:
        with contextlib.suppress(IndexError):
            while self._has_arrived:
                self._on_arrival.pop()()


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
        self._place = store
        if store is not None and store.others_may_write:
            _log.warning(
                "%s: everybody on this machine may write into this store, and so decide what masks allow; chmod o-w %s",
                store.root,
                store.root,
            )
        self._registries = registries
        self._patience_s = patience_s
        self._lock = new_lock()
        self._requested: dict[str, _Download] = {}
        self._not_before: dict[str, float] = {}  # when to ask for a key that nobody had again
        self._silent_until = 0.0
        self._near_misses: set[str] = set()  # keys that nobody had, whose nearest artifacts were looked for
        self.n_near_misses = 0
        """How many grammars have no artifact, where there is one of their name that does not serve; the log says how it differs."""
        self._substitutes: dict[str, str] = {}  # per key that nobody had, the key of an artifact that serves as well

    @classmethod
    def of(
        cls,
        store: Store | str | Path | Literal[False] | None,
        registry: str | Sequence[str] | Registries | Literal[False] | None,
        patience_s: float,
    ) -> Self:
        """As the arguments of a ``GrammarCompiler`` say. Raises RegistryError: a URL is malformed."""
        if store is None:
            store = default_store()
        elif isinstance(store, (str, Path)):
            store = Store(store)
        if store:
            return cls(store, _registries(registry), patience_s=patience_s)
        lookup = cls(None, patience_s=patience_s)
        if registry is not False and (registry is not None or os.environ.get("PSC_REGISTRY")):
            lookup._keep_for_now(registry)
        return lookup

    def _keep_for_now(self, registry: str | Sequence[str] | Registries | None) -> None:
        """Has downloads kept in a temporary folder, as long as this object lives: the caller has registries, and no store."""
        try:
            place = temporary_store()
        except StoreError as e:
            self._warn(f"psc asks no registry for artifacts, because it cannot keep downloads anywhere: {e}")
            return
        self._registries = _registries(registry, memory=place.root)
        if self._registries is not None:
            self._place = place
            _log.info("there is no store (store=False): downloads are kept in %s while this compiler lives", place.root)

    @property
    def finds_nothing(self) -> bool:
        """Whether there is neither a store nor a registry."""
        return self._place is None

    def find(
        self, wanted: Wanted, on_arrival: Callable[[], None] | None = None, cancellation: Cancellation | None = None
    ) -> tuple[Artifact, Store, Reference] | None:
        """Looks for an artifact.

        Args:
            wanted: which.
            on_arrival: called when it arrives from a registry after this has given up waiting.
            cancellation: calls the waiting off.

        Returns:
            The artifact, and where it lies; None when there is none, or not yet.

        Raises:
            CompilationCancelledError: it was called off; the download continues.

        A store that cannot be read is a warning, and counts as empty.
        """
        if self._place is None:
            return None
        try:
            found = self._in_store(wanted.key) or self._substitute(wanted)
        except RegistryError as e:
            self._warn(f"the store of artifacts cannot be read: {e}")
            return None
        if found is not None:
            _log.info("%s: found in the store %s", wanted.label, self._place.root)
            return found
        if self._registries is None:
            _log.info("%s: not in the store %s", wanted.label, self._place.root)
            self._look_near(wanted)
            return self._substitute(wanted)
        asked = self._ask(wanted)
        if asked is None:
            _log.info("%s: not in the store %s; the registries were asked a short while ago", wanted.label, self._place.root)
            return None
        try:
            reference = result_unless_cancelled(asked, cancellation, self._patience_s)
        except TimeoutError:
            self._silent_until = time.monotonic() + _ASK_AGAIN_AFTER_S
            _log.info("%s: no registry has answered within %.1f s; what arrives later is used then", wanted.label, self._patience_s)
            if on_arrival is not None:
                asked.call_on_arrival(on_arrival)
            return None
        except CompilationCancelledError:
            raise
        except PscError as e:
            self._warn(_unreachable(e), logged=True)
            return None
        for problem in self._registries.problems():
            self._warn(f"another registry helped out: {problem}")
        return None if reference is None else self._in_store(reference.input_key)

    def _substitute(self, wanted: Wanted) -> tuple[Artifact, Store, Reference] | None:
        """The artifact that serves as well, if `_look_near` has found one."""
        key = self._substitutes.get(wanted.key)
        return None if key is None else self._in_store(key)

    def _in_store(self, key: str) -> tuple[Artifact, Store, Reference] | None:
        assert self._place is not None
        for _ in range(2):  # a garbage collection may come between the reference and the artifact
            reference = self._place.find(key)
            if reference is None:
                return None
            artifact = self._place.load(reference)
            if artifact is not None:
                return artifact, self._place, reference
        return None

    def _ask(self, wanted: Wanted) -> _Download | None:
        now, key = time.monotonic(), wanted.key
        with self._lock:
            running = self._requested.get(key)
            if running is not None and not running.is_over and not running.is_abandoned:
                return running if now >= self._silent_until else None
            if now < self._silent_until or now < self._not_before.get(key, 0.0):
                return None
            asked = self._requested[key] = _Download(lambda download: self._download(wanted, download))
            try:
                threads.start(asked.thread)
            except RuntimeError as e:  # too many threads, or the program ends
                _log.warning("%s: no registry is asked: %s", wanted.label, e)
                return None
        return asked

    def _download(self, wanted: Wanted, asked: _Download) -> None:
        assert self._registries is not None and self._place is not None
        began = time.monotonic()
        try:
            reference = self._registries.pull(self._place, key=wanted.key)
        except RegistryNotFoundError:
            self._not_before[wanted.key] = time.monotonic() + _ASK_AGAIN_AFTER_S
            _log.info("%s: in none of the registries %s", wanted.label, ", ".join(self._registries.urls))
            self._look_near(wanted)
            instead = self._substitutes.get(wanted.key)
            asked.end(None if instead is None else self._place.find(instead))
            return
        except BaseException as e:
            self._silent_until = time.monotonic() + _ASK_AGAIN_AFTER_S
            _log.warning("%s: %s", wanted.label, _unreachable(e))
            asked.end(None, e)
            return
        self._silent_until = 0.0
        _log.info("%s: downloaded %d bytes in %.2f s", wanted.label, reference.size, time.monotonic() - began)
        asked.end(reference)

    def _look_near(self, wanted: Wanted) -> None:
        """Says what is nearly the artifact that nobody has; once a key, and never an error."""
        assert self._place is not None
        if wanted.key in self._near_misses:
            return
        try:
            listed = []
            for name in dict.fromkeys((wanted.grammar, wanted.whole)):
                listed += self._place.named(name)
                if self._registries is not None:
                    listed += self._registries.listed(name, wanted.tokenizer_name)
            found = near(wanted, listed)[:_NEAR_TOLD]
            differences = []
            for i, reference in enumerate(found):
                artifact = self._artifact(wanted, reference) if i == 0 else None
                differences.append(difference(wanted, reference, artifact))
                if artifact is not None and serves_as_well(wanted, reference, artifact):
                    if self._place.find(reference.input_key) is None and self._registries is not None:
                        self._registries.pull(self._place, key=reference.input_key)
                    self._substitutes[wanted.key] = reference.input_key
                    _log.info("%s: %s; all of ours are among them, so it is used", wanted.label, differences[0])
                    return
        except PscError as e:
            _log.debug("%s: what differs in the nearest artifact cannot be found out: %s", wanted.label, e)
            differences = []
        self._near_misses.add(wanted.key)
        if differences:
            self.n_near_misses += 1
            _log.warning("%s: no artifact; there is: %s", wanted.label, "; ".join(differences))

    def _artifact(self, wanted: Wanted, reference: Reference) -> Artifact | None:
        """A near artifact, to see which tokens differ. From a registry it is read into a folder that is deleted afterwards."""
        assert self._place is not None
        if not is_of_this_grammar(wanted, reference) or reference.size > _NEAR_READ_BYTES:
            return None
        here = self._place.load(reference)
        if here is not None or self._registries is None:
            return here
        with tempfile.TemporaryDirectory(prefix="psc-") as folder, contextlib.suppress(RegistryError, ArtifactError):
            elsewhere = Store(Path(folder))
            return elsewhere.load(self._registries.pull(elsewhere, key=reference.input_key))
        return None

    def _warn(self, text: str, *, logged: bool = False) -> None:
        if not logged:
            _log.warning("%s", text)
        warn_caller(text)


def _unreachable(error: BaseException) -> str:
    if isinstance(error, StoreError):
        return f"psc cannot keep an artifact here, and downloads none for {_ASK_AGAIN_AFTER_S:.0f} s: {error}"
    return f"no registry answered, and psc asks none again for {_ASK_AGAIN_AFTER_S:.0f} s: {error}"


def _registries(
    registry: str | Sequence[str] | Registries | Literal[False] | None, memory: Path | None = None
) -> Registries | None:
    if registry is False or (registry is None and not os.environ.get("PSC_REGISTRY")):
        return None  # a caller without a registry does not pay for the client's imports
    if registry is None or isinstance(registry, (str, Sequence)):
        from psc.artifacts.registry import registries

        if registry is None:
            named = registries.Registries.from_environment(memory=memory)
        else:
            named = registries.Registries([registry] if isinstance(registry, str) else registry, memory=memory)
        return named if named else None
    return registry
