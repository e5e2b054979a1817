"""From the tables of a jobs file to jobs, each one grammar for one tokenizer: globs, names, and that nothing is written twice.

Tokenizers are loaded here, since only loading shows whether a name exists; grammars are read, not parsed. A broken file is no
problem of the jobs file: its jobs fail, and no others.

Cost: loading each tokenizer once, 0.1 to 0.5 s.
"""

from __future__ import annotations

import glob
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from psc.artifacts.references import check_name
from psc.cluster.jobs.jobs_file import JobsFile, JobsTable, TokenizerTable, Written
from psc.compiler.frontends.front_end import NO_SETTINGS, Settings
from psc.compiler.frontends.lookup import GrammarFile, find_grammar, names_bundled
from psc.compiler.frontends.registry import front_end
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import GrammarError, RegistryError, TokenizerError
from psc.vocabulary import load_tokenizer
from psc.vocabulary.tokenizer_info import TokenizerInfo

_TOKENIZER_SUFFIXES = (".json", ".model", ".zst", ".tiktoken")
_GENERIC_NAMES = ("tokenizer", "tekken", "tiktoken")
"""Stems of tokenizer files that are called after their format; their folder says which model it is."""


@dataclass(frozen=True)
class NamedGrammar:
    """A grammar, read if it could be, and its name."""

    name: str
    """The name of its artifacts."""
    label: str
    """The name that they record: a bundled name, or the path from the jobs file's folder."""
    request: GrammarRequest | None
    error: str | None
    """Why it could not be read."""


@dataclass(frozen=True)
class TokenizerInput:
    """A tokenizer, loaded if it could be."""

    name: str
    """The name of the artifacts for it."""
    info: TokenizerInfo | None
    error: str | None
    """Why it could not be loaded."""


@dataclass(frozen=True)
class Job:
    """One grammar for one tokenizer."""

    grammar: NamedGrammar
    tokenizer: TokenizerInput
    priority: int
    memory_limit: int | None
    time_limit: float | None
    pieces: int | None
    """The number of parts to cut its classifier into; None: the best number."""
    line: int

    @property
    def name(self) -> str:
        return f"{self.grammar.name}/{self.tokenizer.name}"


def find_jobs(
    file: JobsFile, *, on_tokenizer: Callable[[str], None] = lambda name: None, schema_settings: Settings = NO_SETTINGS
) -> list[Job]:
    """All jobs of a jobs file, in its order.

    Args:
        file: from `read_jobs_file`.
        on_tokenizer: called with each tokenizer before it is loaded.
        schema_settings: of all grammars in languages that have settings.

    Raises:
        JobsFileError: with every problem of the file, those of `read_jobs_file` included.
    """
    return _Finder(file, on_tokenizer, schema_settings).jobs()


class _Finder:
    def __init__(self, file: JobsFile, on_tokenizer: Callable[[str], None], schema_settings: Settings) -> None:
        self._file = file
        self._schema_settings = schema_settings
        self._on_tokenizer = on_tokenizer
        self._declared: dict[str, TokenizerTable] = {t.name.value: t for t in reversed(file.tokenizers)}
        self._loaded: dict[tuple[str, object], TokenizerInput | None] = {}
        self._of_name: dict[str, tuple[TokenizerInput, str, int]] = {}
        self._clashing: set[tuple[str, str]] = set()

    def jobs(self) -> list[Job]:
        jobs: list[Job] = []
        first: dict[str, Job] = {}
        for table in self._file.tables:
            for job in self._of_table(table):
                other = first.setdefault(job.name, job)
                if other is not job and job.tokenizer is other.tokenizer:  # two of one name are reported by themselves
                    self._file.problem(
                        job.line,
                        f"{job.name} is what the job of line {other.line} writes already; give one of them another name, by "
                        'name = "…" or names = {…}, or declare the tokenizer under another name with [[tokenizer]]',
                    )
                jobs.append(job)
        self._file.check()
        return jobs

    def _of_table(self, table: JobsTable) -> list[Job]:
        excluded = {path for written in table.exclude for path in (written.value, *self._matches(written.value))}
        grammars = self._grammars(table, excluded)
        names_tokens = any(grammar.request is not None and grammar.request.names_tokens for grammar, _ in grammars)
        tokenizers = self._tokenizers(table, excluded, names_tokens=names_tokens)
        return [
            Job(grammar, tokenizer, table.priority, table.memory_limit, table.time_limit, table.pieces, line)
            for grammar, line in grammars
            for tokenizer in tokenizers
        ]

    def _grammars(self, table: JobsTable, excluded: set[str]) -> list[tuple[NamedGrammar, int]]:
        found: dict[str, tuple[NamedGrammar, int]] = {}
        renamed: set[str] = set()
        for written in table.grammars:
            for spec in self._expanded(written, excluded):
                label = str(PurePosixPath(spec))
                if label in found:
                    continue
                grammar = self._grammar_file(Written(spec, written.line))
                if grammar is None:
                    continue
                if grammar.bundled:
                    label = spec
                new_name = next((key for key in (spec, label) if key in table.names), None)
                renamed |= {new_name} if new_name else set()
                name = self._name(
                    table.names[new_name].value if new_name else table.name.value if table.name else grammar.stem,
                    "grammar",
                    written.line,
                    f'names = {{ "{spec}" = "…" }}',
                )
                if name is not None:
                    found[label] = (_read(name, label, grammar, table, self._schema_settings), written.line)
        for key, name_written in table.names.items():
            if key not in renamed and found:
                self._file.problem(name_written.line, f"names: {key!r} is none of this table's grammars: {', '.join(found)}")
        if table.name is not None and len(found) > 1:
            self._file.problem(
                table.name.line, f"name is for one grammar, but this table has {len(found)}; use names = {{ grammar = name, … }}"
            )
            return []
        return list(found.values())

    def _grammar_file(self, written: Written[str]) -> GrammarFile | None:
        spec = written.value
        path = self._file.folder / Path(spec).expanduser()
        try:
            return find_grammar(spec if _is_word(spec) else path)
        except GrammarError as e:
            self._file.problem(written.line, str(e))
            return None

    def _tokenizers(self, table: JobsTable, excluded: set[str], *, names_tokens: bool) -> list[TokenizerInput]:
        found: dict[str, TokenizerInput] = {}
        for written in table.tokenizers:
            for spec in [written.value] if written.value in self._declared else self._expanded(written, excluded):
                if spec in found or spec in excluded:
                    continue
                tokenizer = self._tokenizer(Written(spec, written.line))
                if tokenizer is not None:
                    found[spec] = self._one_of_its_name(tokenizer, spec, written.line, names_tokens=names_tokens)
        return list({id(tokenizer): tokenizer for tokenizer in found.values()}.values())

    def _one_of_its_name(self, tokenizer: TokenizerInput, spec: str, line: int, *, names_tokens: bool) -> TokenizerInput:
        """The tokenizer, or the one before of the same name if artifacts are the same for both; else they are a problem, said once.

        Args:
            tokenizer: the tokenizer.
            spec: as the jobs file has it.
            line: of the jobs file.
            names_tokens: whether a grammar may name tokens: then they must be the same in special and stop tokens and size, too.
        """
        other, before, before_line = self._of_name.setdefault(tokenizer.name, (tokenizer, spec, line))
        if other is tokenizer or _same(other.info, tokenizer.info, names_tokens=names_tokens):
            return other
        if (before, spec) not in self._clashing:
            self._clashing.add((before, spec))
            self._file.problem(
                line,
                f"{spec} and {before} (line {before_line}) are different tokenizers of one name, {tokenizer.name!r}, which their "
                f'artifacts would share; give one another name: [[tokenizer]] with name = "…" and spec = "{spec}"',
            )
        return tokenizer

    def _tokenizer(self, written: Written[str]) -> TokenizerInput | None:
        declared = self._declared.get(written.value)
        if declared is not None:
            key: tuple[str, object] = (declared.name.value, "declared")
            name: str | None = declared.name.value
            spec, stop, vocab_size = declared.spec, declared.stop_token_ids, declared.vocab_size
        else:
            key = (written.value, "spec")
            spec, stop, vocab_size = written, None, None
            name = self._name(
                _tokenizer_name(written.value), "tokenizer", written.line, "[[tokenizer]] with a name of its own and this spec"
            )
        if key not in self._loaded:
            self._loaded[key] = None if name is None else self._load(spec, name, vocab_size, stop)
        return self._loaded[key]

    def _load(self, spec: Written[str], name: str, vocab_size: int | None, stop: tuple[int, ...] | None) -> TokenizerInput | None:
        path = self._file.folder / Path(spec.value).expanduser()
        is_path = spec.value.startswith((".", "/", "~")) or path.suffix.lower() in _TOKENIZER_SUFFIXES
        is_path = is_path or ("/" in spec.value and path.exists())
        self._on_tokenizer(name)
        try:
            info = load_tokenizer(path if is_path else spec.value, vocab_size=vocab_size, stop_token_ids=stop)
        except TokenizerError as e:
            if is_path and path.exists():
                return TokenizerInput(name, None, str(e))
            self._file.problem(spec.line, str(e))
            return None
        # The owner of the artifact can look up a name again; a path of this machine, not.
        recorded = name if is_path else spec.value
        return TokenizerInput(name, TokenizerInfo.from_arrays(info.to_arrays(), name=recorded), None)

    def _expanded(self, written: Written[str], excluded: set[str]) -> list[str]:
        """The matches of a glob, or the one that is named."""
        if (_is_word(written.value) and names_bundled(written.value)) or not glob.has_magic(written.value):
            return [] if written.value in excluded else [written.value]
        matches = self._matches(written.value)
        if not matches:
            self._file.problem(
                written.line, f"{written.value}: no file matches, looked for from {self._file.folder.resolve()}; ** is any folders"
            )
        return [match for match in matches if match not in excluded]

    def _matches(self, pattern: str) -> list[str]:
        if not glob.has_magic(pattern):
            return []
        pattern = str(Path(pattern).expanduser())
        return sorted(PurePosixPath(m).as_posix() for m in glob.glob(pattern, root_dir=self._file.folder, recursive=True))

    def _name(self, name: str, what: str, line: int, way_out: str) -> str | None:
        try:
            return check_name(name, what)
        except RegistryError as e:
            self._file.problem(line, f"{e}; give it one by {way_out}")
            return None


def _is_word(spec: str) -> bool:
    """Whether a grammar is a name, as on the command line: a bare word; ./word is a file."""
    return "/" not in spec and not Path(spec).suffix


def _read(name: str, label: str, file: GrammarFile, table: JobsTable, schema_settings: Settings) -> NamedGrammar:
    settings = schema_settings if front_end(file.language).has_schema_settings else NO_SETTINGS
    try:
        request = file.request(start=table.start, lexer=table.lexer, keep_all_actions=table.keep_all_actions, settings=settings)
    except GrammarError as e:
        return NamedGrammar(name, label, None, str(e))
    return NamedGrammar(name, label, request, None)


def _same(one: TokenizerInfo | None, other: TokenizerInfo | None, *, names_tokens: bool) -> bool:
    """Whether artifacts for one serve the other; not where one could not be loaded."""
    if one is None or other is None:
        return False
    return one.tokens_fingerprint == other.tokens_fingerprint if names_tokens else one.fingerprint == other.fingerprint


def _tokenizer_name(spec: str) -> str:
    """The name of artifacts for a tokenizer: the short name, the model's part of an id, the file's stem or its folder's name."""
    path = PurePosixPath(spec)
    if path.suffix.lower() not in _TOKENIZER_SUFFIXES:
        return path.name.partition("@")[0]
    stem = path.name
    while PurePosixPath(stem).suffix.lower() in _TOKENIZER_SUFFIXES:
        stem = PurePosixPath(stem).stem
    return path.parent.name if stem in _GENERIC_NAMES and path.parent.name else stem
