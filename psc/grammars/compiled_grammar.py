"""A compiled grammar with what it was compiled from: what programs hold, hand to matchers, and send to other processes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psc._core import Machine
from psc.artifacts.format import Artifact, decode, write_file
from psc.artifacts.scalars import has_lexer
from psc.errors import ArtifactError, DeserializeFormatError, GrammarError, PscError
from psc.grammars.build_grammar import artifact_bytes, build_machine, describe_grammar
from psc.grammars.grammar import Grammar, deserialized
from psc.grammars.recorded_tokenizer import recorded_tokenizer
from psc.grammars.warming import WARMER, Warming, composed_rows, masks_ahead
from psc.runtime.compiled import FindTokenizer, LoadedGrammar, terminal_names
from psc.support.arguments import check_type
from psc.support.cached_property import cached_property
from psc.support.cancellation import Cancellation, obeying
from psc.support.serialization import field, read_document, write_document
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from psc._core import VocabularyIndex
    from psc.artifacts.store import Store
    from psc.compiler.frontends.request import GrammarRequest
    from psc.compiler.pipeline.part_cache import PartCache
    from psc.rule_records.record import MarkedRules, RuleRecord

_KIND = "compiled grammar"
_WHAT = "serialized compiled grammar"
_MARKING = frozenset(("ebnf", "llguidance", "structural_tag"))
"""Languages in which rules can have marks."""


class CompiledGrammar(LoadedGrammar):
    """A grammar compiled for a vocabulary. Shared by any number of matchers; mask rows are made once and kept here.

    Made by ``GrammarCompiler`` (built just in time: what matchers visit is added as they go) or by ``load`` (ahead of time:
    everything is there). Both give the same masks.
    """

    def __init__(
        self,
        machine: Machine,
        metadata: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
        *,
        tokenizer_info: TokenizerInfo | FindTokenizer,
        place: str = "grammar",
        grammar: Grammar | None = None,
        request: GrammarRequest | None = None,
        read_file: Callable[[], bytes | None] = lambda: None,
        names_of_terminals: Callable[[], tuple[str, ...]] | None = None,
    ) -> None:
        """Not called by programs.

        Args:
            machine: as of a ``LoadedGrammar``, with the next three.
            metadata: as the compiler wrote it.
            tokenizer_info: the vocabulary, or a function that finds it.
            place: the file, for messages.
            grammar: what was compiled, if the caller has it; else it is read when it is needed.
            request: what it is read from then; None is the metadata.
            read_file: gives the bytes of the artifact that this is from, or None when there are none (any more).
            names_of_terminals: gives the names of the machine's terminals, where they are not those of the metadata.
        """
        self._grammar = grammar
        self._request = request
        self._read_file = read_file
        self._names_of_terminals = names_of_terminals
        self._warming: Warming | None = None
        super().__init__(machine, metadata, tokenizer_info=tokenizer_info, place=place)

    @cached_property
    def terminal_names(self) -> tuple[str, ...]:
        """Of all terminals by number; the last one is the end of the text."""
        if self._names_of_terminals is not None:
            return self._names_of_terminals()
        return terminal_names(self.metadata)

    @property
    def is_linked(self) -> bool:
        """Whether its machine is one of several, for a grammar that is made of parts."""
        return self._names_of_terminals is not None

    @property
    def grammar(self) -> Grammar:
        """The grammar that was compiled; an artifact's is read again from the text that it keeps.

        Raises:
            GrammarError: the text cannot be read here: it is a Lark grammar that imports files, and an artifact that was loaded
                does not say where these are.
            TokenizerError: it names tokens, and the vocabulary cannot be found; see ``tokenizer_info``.
        """
        if self._grammar is None:
            if self._request is not None:
                self._grammar = Grammar.parse(self._request, names=self._request.names_of(self.tokenizer_info))
                return self._grammar
            names_tokens = "text_fingerprint" in self.metadata["tokenizer"]
            self._grammar = Grammar.from_metadata(self.metadata["grammar"], self.tokenizer_info if names_tokens else None)
        return self._grammar

    @cached_property
    def marks_rules(self) -> bool:
        """Whether the grammar may have rules with the options ``capture`` or ``temperature``, of which matchers tell.

        Read from the text; nothing is parsed.
        """
        if self._grammar is not None:
            return _may_mark_rules(self._grammar.language, self._grammar.source, self._grammar.request.options.settings.text)
        described = self.metadata["grammar"]
        return _may_mark_rules(described["language"], described["text"], described.get("settings", ""))

    def rule_record(self) -> RuleRecord:
        """What tells temperatures and captures of one text. Raises as ``grammar`` does."""
        from psc.rule_records.record import RuleRecord

        return RuleRecord(self._marked_rules, self.tokenizer_info)

    @cached_property
    def _marked_rules(self) -> MarkedRules:
        from psc.rule_records.record import marked_rules

        return marked_rules(self.grammar.for_vocabulary(self.tokenizer_info).parsed.rules)

    def build_ahead(self, masks: int) -> None:
        """Has a thread build the first mask, and the masks a few bytes further on, in advance.

        A grammar that came closed from an artifact has everything, and needs none of it. A second call builds nothing more.

        Args:
            masks: how many; 0 is none.
        """
        if masks > 0 and self.is_lazy and self._warming is None:
            self._warming = WARMER.add(self, masks_ahead(self._machine, masks), self.place)

    def wait_until_warm(self, timeout_s: float | None = None) -> bool:
        """Waits until what is built in advance is there. Without that a matcher builds what it needs itself.

        Args:
            timeout_s: None waits until then.

        Returns:
            Whether it is there, or nothing is built in advance.
        """
        return self._warming is None or self._warming.wait(timeout_s)

    def save(self, path: str | Path) -> Path:
        """Writes the grammar as an artifact file, whole or not at all, for ``psc.load`` and ``psc registry push``.

        What was built just in time is built to its end for it, and stays as it is itself; what came from an artifact is that
        artifact again, byte for byte.

        Args:
            path: the file, replaced if it is there.

        Raises:
            ArtifactError: the file cannot be written.
            GrammarError: building the rest exceeds a limit.

        Cost: that of ``compile_ahead_of_time`` for a grammar that is lazy, else writing the file.
        """
        path = Path(path)
        data = self._read_file()
        write_file(path, data if data is not None else artifact_bytes(self.grammar, self.tokenizer_info))
        return path

    def __reduce__(self) -> tuple[Callable[..., CompiledGrammar], tuple[object, ...]]:
        """Pickled with its vocabulary, where it has that: an artifact as its bytes, else the grammar, built again as visited.

        Matchers cannot be pickled: they share what their grammar has built. Send the grammar and the tokens accepted.
        """
        data = self._read_file()
        if data is not None:
            return _from_pickled_file, (data, self._tokenizer, self.place)
        return _from_pickled_grammar, (self.grammar, self.tokenizer_info)

    def serialize_json(self) -> str:
        """As JSON, for ``deserialize_json`` in another process with the same vocabulary.

        A grammar that was built just in time travels as its text, and is built again as it is visited; one that came from an
        artifact travels as the artifact. Vocabularies do not travel: their fingerprint does.
        """
        content: dict[str, Any] = {"fingerprint": self.fingerprint}
        file = self._read_file()
        if file is not None:
            content["artifact"] = base64.b64encode(file).decode()
        else:
            content["grammar"] = self.grammar.serialize_json()
        return write_document(_KIND, content)

    @staticmethod
    def deserialize_json(json_str: str, tokenizer_info: TokenizerInfo) -> CompiledGrammar:
        """Rebuilds what ``serialize_json`` wrote.

        Args:
            json_str: the JSON.
            tokenizer_info: the vocabulary that it was compiled for.

        Raises:
            InvalidJSONError: it is not JSON.
            DeserializeVersionError: it was written in another version of the format, or by XGrammar.
            DeserializeFormatError: it is damaged, or was compiled for another vocabulary.
        """
        document = read_document(json_str, _KIND)
        fingerprint = field(document, "fingerprint", str, _WHAT)
        if fingerprint != tokenizer_info.fingerprint:
            raise DeserializeFormatError(
                f"{_WHAT}: compiled for a vocabulary with fingerprint {fingerprint[:12]}…, but the one given "
                f"({tokenizer_info.name or 'unnamed'}) has {tokenizer_info.fingerprint[:12]}…"
            )
        if "artifact" in document:
            try:
                data = base64.b64decode(field(document, "artifact", str, _WHAT), validate=True)
                return compiled_from_file(data, tokenizer_info=tokenizer_info, place=_WHAT)
            except (binascii.Error, ArtifactError) as e:
                raise DeserializeFormatError(f"{_WHAT}: {e}") from e
        grammar = deserialized(field(document, "grammar", str, _WHAT), tokenizer_info)
        try:
            return compile_just_in_time(grammar, tokenizer_info)
        except GrammarError as e:
            raise DeserializeFormatError(f"{_WHAT}: {e}") from e


def _may_mark_rules(language: str, text: str, settings: str) -> bool:
    return language in _MARKING and any(word in part for part in (text, settings) for word in ("capture", "temperature"))


def _from_pickled_file(data: bytes, tokenizer_info: TokenizerInfo | None, place: str) -> CompiledGrammar:
    return compiled_from_file(data, tokenizer_info=tokenizer_info or recorded_tokenizer, place=place)


def _from_pickled_grammar(grammar: Grammar, tokenizer_info: TokenizerInfo) -> CompiledGrammar:
    return compile_just_in_time(grammar, tokenizer_info)


def compile_just_in_time(
    grammar: Grammar,
    tokenizer_info: TokenizerInfo,
    *,
    cache_limit_bytes: int = -1,
    store: Store | None = None,
    parts: Callable[[], PartCache] | None = None,
    index: VocabularyIndex | None = None,
) -> CompiledGrammar:
    """A grammar that is built as matchers visit it.

    Args:
        grammar: the grammar.
        tokenizer_info: the vocabulary.
        cache_limit_bytes: what was built is dropped when it takes more; -1 is no limit.
        store: where the tables of a grammar that takes long to parse are kept.
        parts: gives those of other grammars, for one that is made of parts, as a structural tag is of schemas; None makes one
            grammar of all.
        index: of the vocabulary, see `psc.grammars.build_grammar.build_machine`.

    Raises:
        GrammarError: it cannot be compiled; ResourceLimitError, one of them, names a limit that it exceeds.

    Cost: some milliseconds for a small grammar, 0.1 to 0.3 s for a programming language; then each visit to something new.
    """
    made = build_machine(grammar, tokenizer_info, cache_limit_bytes=cache_limit_bytes, store=store, parts=parts, index=index)
    return CompiledGrammar(
        made.machine,
        made.describe,
        tokenizer_info=tokenizer_info,
        place=grammar.origin,
        grammar=grammar,
        names_of_terminals=made.terminal_names,
    )


def keeping_all_actions(compiled: CompiledGrammar) -> tuple[CompiledGrammar, str] | None:
    """A grammar with every LR action, and what was dropped in words; None where nothing was, or nothing is known of it.

    Args:
        compiled: a grammar that may have shift/reduce conflicts.
    """
    options = compiled.metadata["grammar"]
    if options["language"] != "lark" or options["keep_all_actions"]:
        return None
    try:
        said = Grammar.from_metadata(options, compiled.tokenizer_info).tables().conflicts
        if said is None:
            return None
        every = Grammar.from_metadata({**options, "keep_all_actions": True}, compiled.tokenizer_info)
        return compile_just_in_time(every, compiled.tokenizer_info), said
    except (PscError, OSError):  # what it imports, or its vocabulary, is not here
        return None


def compiled_like(like: CompiledGrammar, grammar: Grammar, parts: Callable[[], PartCache]) -> CompiledGrammar:
    """A grammar that means the same as another one and has terminals of the same numbers, over that one's machine.

    Args:
        like: of the same vocabulary, linked.
        grammar: whose rules are read when they are needed.
        parts: gives those of other grammars.

    Cost: some microseconds.
    """

    def names() -> tuple[str, ...]:
        named = build_machine(grammar, like.tokenizer_info, parts=parts).terminal_names
        assert named is not None
        return named()

    return CompiledGrammar(
        like._machine,
        lambda: describe_grammar(grammar, like.tokenizer_info),
        tokenizer_info=like.tokenizer_info,
        place=grammar.origin,
        grammar=grammar,
        names_of_terminals=names,
    )


def compile_ahead_of_time(
    grammar: Grammar, tokenizer_info: TokenizerInfo, *, cancellation: Cancellation | None = None
) -> CompiledGrammar:
    """A grammar with everything built, as ``load`` gives it: no mask waits for building, and ``save`` has nothing left to do.

    Args:
        grammar: a ``Grammar``.
        tokenizer_info: the vocabulary.
        cancellation: calls the compilation off from another thread.

    Raises:
        GrammarError: it cannot be compiled; ResourceLimitError, one of them, names a limit that it exceeds.
        CompilationCancelledError: it was called off.

    Cost: 0.1 s for JSON, seconds for a programming language. The masks are those of ``GrammarCompiler``.
    """
    check_type("grammar", grammar, Grammar)
    check_type("tokenizer_info", tokenizer_info, TokenizerInfo)
    with obeying(cancellation):
        data = artifact_bytes(grammar, tokenizer_info)
    return compiled_from_file(data, tokenizer_info=tokenizer_info, place="artifact")


def compiled_from_file(
    data: bytes, *, tokenizer_info: TokenizerInfo | FindTokenizer, place: str, cache_limit_bytes: int = -1
) -> CompiledGrammar:
    """The grammar in an artifact's bytes. Raises ArtifactError with the first thing that is wrong."""
    return compiled_from_artifact(
        decode(data, origin=place),
        lambda: data,
        tokenizer_info=tokenizer_info,
        place=place,
        cache_limit_bytes=cache_limit_bytes,
    )


def compiled_from_artifact(
    artifact: Artifact,
    read_file: Callable[[], bytes | None],
    *,
    tokenizer_info: TokenizerInfo | FindTokenizer,
    place: str,
    cache_limit_bytes: int = -1,
    request: GrammarRequest | None = None,
) -> CompiledGrammar:
    """The grammar in an artifact.

    Args:
        artifact: decoded.
        read_file: gives the artifact's bytes, for ``serialize_json``, or None when they are gone.
        tokenizer_info: the vocabulary, or a function that finds it.
        place: the file, for messages.
        cache_limit_bytes: mask rows are dropped when they take more; -1 is no limit.
        request: what the artifact was looked up by; None where nothing but the artifact says what it is of.

    Raises:
        ArtifactError: a table is malformed, or the vocabulary is another one.
    """
    own = {"read_file": read_file, "request": request}
    compiled = CompiledGrammar.from_artifact(
        artifact, tokenizer_info=tokenizer_info, place=place, cache_limit_bytes=cache_limit_bytes, **own
    )
    if "warm_row_state" in artifact.arrays and has_lexer(artifact.arrays):
        compiled._warming = WARMER.add(compiled, composed_rows(compiled._machine), compiled.grammar_name)
    return compiled
