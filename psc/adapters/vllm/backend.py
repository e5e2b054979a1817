"""The backend that vLLM's manager makes instead of its XGrammar backend."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from psc._core import stop_if_cancelled
from psc.adapters.vllm.configuration import options_of
from psc.adapters.vllm.grammar import PscGrammar
from psc.errors import TokenizerError
from psc.grammars.compiled_grammar import CompiledGrammar
from psc.runtime.bitmask import allocate_token_bitmask
from psc.serving import GrammarService, Kind, ServiceOptions
from psc.support import threads
from psc.support.forks import new_lock
from psc.support.pending import Pending
from psc.vocabulary.token_table import VocabType
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    import torch

KIND_OF: Final[Mapping[StructuredOutputOptions, Kind]] = {
    StructuredOutputOptions.JSON: "json",
    StructuredOutputOptions.JSON_OBJECT: "json_object",
    StructuredOutputOptions.REGEX: "regex",
    StructuredOutputOptions.GRAMMAR: "grammar",
    StructuredOutputOptions.CHOICE: "choice",
    StructuredOutputOptions.STRUCTURAL_TAG: "structural_tag",
}
"""The names of vLLM's kinds of requests here."""

_log = logging.getLogger("psc.adapters.vllm")


class PscBackend(StructuredOutputBackend):  # type: ignore[misc]
    """vLLM's backend by psc, for one vocabulary. Where the configuration switches psc off, making one gives vLLM's own backend.

    Args:
        vllm_config: the engine's configuration.
        tokenizer: the model's.
        vocab_size: the number of logits.

    Raises:
        OptionError: the configuration has an option of psc that does not exist, or a value that does not fit.
        TokenizerError: psc cannot read the tokenizer, and there is no fallback.
    """

    original: ClassVar[type[StructuredOutputBackend]]
    """vLLM's own; set by :meth:`replacing`."""

    @classmethod
    def replacing(cls, original: type[StructuredOutputBackend]) -> type[PscBackend]:
        """The class that replaces vLLM's own."""
        return type(cls.__name__, (cls,), {"original": original, "__module__": cls.__module__})

    def __new__(cls, vllm_config: Any, tokenizer: Any, vocab_size: int) -> Any:
        options = options_of(vllm_config)
        if options is None:
            return cls.original(vllm_config, tokenizer, vocab_size)
        try:
            SERVICES.get(options, tokenizer, vocab_size)
        except TokenizerError as e:
            if options.fallback != "engine":
                raise
            _log.warning("all requests go to vLLM's own backend: %s", e)
            return cls.original(vllm_config, tokenizer, vocab_size)
        return super().__new__(cls)

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        super().__init__(vllm_config, tokenizer, vocab_size)
        options = options_of(vllm_config)
        assert options is not None
        self.service: Final = SERVICES.get(options, tokenizer, vocab_size)
        self._engine: StructuredOutputBackend | None = None
        self._lock = new_lock()

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> StructuredOutputGrammar:
        """The grammar of a request.

        Args:
            request_type: its kind.
            grammar_spec: its text.
            stop_token_ids: the tokens that end its text; None or none are the vocabulary's.

        Raises:
            REFUSALS: psc refuses it, and there is no fallback; or its first mask costs too much. vLLM shows the client the message.
        """
        compiled = self.service.compile_or_fall_back(
            KIND_OF[request_type],
            grammar_spec,
            lambda: self._engine_backend().compile_grammar(request_type, grammar_spec, stop_token_ids=stop_token_ids),
        )
        if not isinstance(compiled, CompiledGrammar):
            return compiled
        stops = sorted(stop_token_ids) if stop_token_ids else None
        if stops == list(compiled.stop_token_ids):
            stops = None
        grammar = PscGrammar(compiled, stops, self.service.counters, self.service.options.mask_steps)
        grammar.make_first_mask()
        self.service.build_ahead(compiled, has_first=True)
        return grammar

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """A bitmask that allows everything, int32 of shape (max_num_seqs, ceil(vocab_size / 32))."""
        bitmask: torch.Tensor = allocate_token_bitmask(max_num_seqs, self.vocab_size, library="torch")
        return bitmask

    def destroy(self) -> None:
        """Drops vLLM's own backend; the service serves the next backend of this process."""
        if self._engine is not None:
            self._engine.destroy()

    def _engine_backend(self) -> StructuredOutputBackend:
        """vLLM's own backend, made when it is first needed."""
        with self._lock:
            if self._engine is None:
                engine = self.original(self.vllm_config, self.tokenizer, self.vocab_size)
                if -(-engine.vocab_size // 32) != -(-self.vocab_size // 32):
                    raise TokenizerError(
                        f"vLLM's own backend has masks for {engine.vocab_size} tokens, and the model has {self.vocab_size}: "
                        "with this tokenizer there is no fallback"
                    )
                self._engine = engine
            return self._engine


_Key = tuple[int, int, ServiceOptions]


class Services:
    """The services of a process. One is begun on a thread when its engine starts, so that no request waits for the vocabulary.

    Beam search makes a backend for each call: these have one service, too.
    """

    _MAX_SERVICES = 4

    def __init__(self) -> None:
        self._lock = new_lock()
        # The tokenizer is held, so that its id stays its own.
        self._services: OrderedDict[_Key, tuple[object, Pending[GrammarService]]] = OrderedDict()

    def begin(self, options: ServiceOptions, tokenizer: Any, vocab_size: int) -> None:
        """Begins to make a service."""
        begin = threading.Thread(target=self._begin, args=(options, tokenizer, vocab_size), name="psc vocabulary", daemon=True)
        threads.start(begin)

    def get(self, options: ServiceOptions, tokenizer: Any, vocab_size: int) -> GrammarService:
        """The service of a tokenizer with these options.

        Raises:
            TokenizerError: psc cannot read the tokenizer.
            RegistryError: the address of a registry is malformed.
        """
        key = id(tokenizer), vocab_size, options
        while True:
            mine: Pending[GrammarService] = Pending()
            with mine.making:
                cached = self._registered(key, tokenizer, mine)
                if cached is mine:
                    with mine.ends(self._drop, key):
                        made = GrammarService(vocabulary_of(tokenizer, vocab_size), options=options)
                        mine.set(made)
                    return made
            service = cached.wait(stop_if_cancelled)
            if service is not None:
                return service
            self._drop(key, cached)  # the thread that made it gave up, or is gone

    def _registered(self, key: _Key, tokenizer: object, mine: Pending[GrammarService]) -> Pending[GrammarService]:
        """The service of a key: ``mine``, where it had none."""
        with self._lock:
            _, cached = self._services.setdefault(key, (tokenizer, mine))
            self._services.move_to_end(key)
            if len(self._services) > self._MAX_SERVICES:
                self._services.popitem(last=False)
            return cached

    def _begin(self, options: ServiceOptions, tokenizer: Any, vocab_size: int) -> None:
        with suppress(Exception):  # `get` makes it again, and raises
            self.get(options, tokenizer, vocab_size)

    def _drop(self, key: _Key, pending: Pending[GrammarService]) -> None:
        with self._lock:
            if self._services.get(key, (None, None))[1] is pending:
                del self._services[key]


SERVICES: Final = Services()


def vocabulary_of(tokenizer: Any, vocab_size: int) -> TokenizerInfo:
    """The vocabulary of vLLM's tokenizer, as wide as the logits.

    Raises:
        TokenizerError: psc cannot read it.
    """
    try:
        return TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocab_size)
    except TokenizerError:
        describes_itself = getattr(tokenizer, "init_xgrammar", None)  # Plamo 3
        if not callable(describes_itself):
            raise
        theirs, _ = describes_itself()
        return TokenizerInfo(theirs.decoded_vocab, VocabType.RAW, vocab_size=vocab_size, stop_token_ids=theirs.stop_token_ids)
