"""``jobs.toml``: which grammars to compile for which tokenizers, checked against the format of jobs files.

The idea: every value is taken out of the parsed document together with its line, and every error is noted and skipped, so that one
reading finds all problems. `psc.cluster.jobs.expansion` reads what the tables mean together (globs, names).
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from psc.artifacts.references import check_name
from psc.cluster.jobs.toml_lines import key_lines
from psc.cluster.units import parse_bytes, parse_seconds
from psc.compiler.cfg.grammar import LarkLexer
from psc.errors import JobsFileError, RegistryError
from psc.support.limits import limit

_MAX_BYTES = limit("jobs_file_bytes")
_LEXERS: tuple[LarkLexer, ...] = get_args(LarkLexer)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Written(Generic[_T]):
    """A value, and the line where the jobs file says it."""

    value: _T
    line: int


@dataclass(frozen=True)
class TokenizerTable:
    """A ``[[tokenizer]]``: a name for a specification with options."""

    name: Written[str]
    spec: Written[str]
    stop_token_ids: tuple[int, ...] | None
    vocab_size: int | None


@dataclass(frozen=True)
class JobsTable:
    """A ``[[jobs]]``: every one of some grammars for every one of some tokenizers."""

    line: int
    grammars: tuple[Written[str], ...]
    tokenizers: tuple[Written[str], ...]
    exclude: tuple[Written[str], ...]
    name: Written[str] | None
    names: Mapping[str, Written[str]]
    start: str | None
    lexer: LarkLexer | None
    keep_all_actions: bool
    priority: int
    memory_limit: int | None
    time_limit: float | None
    pieces: int | None
    """The number of parts to cut each job's classifier into; None: the best number."""


@dataclass
class JobsFile:
    """The content of a jobs file, and its problems."""

    path: Path
    tokenizers: list[TokenizerTable] = field(default_factory=list)
    tables: list[JobsTable] = field(default_factory=list)
    store: Path | None = None
    registries: tuple[str, ...] = ()
    problems: list[tuple[int, str]] = field(default_factory=list)
    """Line and problem."""

    @property
    def folder(self) -> Path:
        """The base of its relative paths."""
        return self.path.parent

    def problem(self, line: int, what: str) -> None:
        """Notes something that is wrong."""
        self.problems.append((line, what))

    def check(self) -> None:
        """Raises JobsFileError with all problems, if there are any."""
        if not self.problems:
            return
        lines = [f"{self.path}:{line}: {what}" for line, what in sorted(set(self.problems))]
        head = "" if len(lines) == 1 else f"{self.path}: {len(lines)} problems; nothing was compiled\n"
        raise JobsFileError(head + "\n".join(lines))


def read_jobs_file(path: str | Path) -> JobsFile:
    """Reads a jobs file; see docs/cluster.md for its format.

    Returns:
        The tables that are well-formed, and the problems of the others.

    Raises:
        JobsFileError: it cannot be read, or is not TOML.
    """
    path = Path(path)
    text = _text(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise JobsFileError(_syntax_error(path, text, str(e))) from e
    except RecursionError as e:
        raise JobsFileError(f"{path}: nested too deeply") from e
    result = JobsFile(path)
    root = _Table(result, key_lines(text), (), document)
    defaults = root.table("defaults")
    result.store = _path(defaults.string("store"), result.folder) if defaults else None
    result.registries = tuple(w.value for w in defaults.strings("registry")) if defaults else ()
    limits = _Limits.of(defaults) if defaults else _Limits()
    if defaults:
        defaults.nothing_else()
    result.tokenizers = [t for table in root.tables("tokenizer") if (t := _tokenizer_table(table)) is not None]
    _refuse_one_name_twice(result)
    tables = root.tables("jobs")
    result.tables = [j for table in tables if (j := _jobs_table(table, limits)) is not None]
    if "jobs" not in document:
        result.problem(1, "there are no jobs; write a table [[jobs]] with grammars = […] and tokenizers = […]")
    root.nothing_else()
    return result


def _text(path: Path) -> str:
    try:
        with path.open("rb") as f:
            data = f.read(_MAX_BYTES + 1)
    except OSError as e:
        raise JobsFileError(f"{path}: cannot read the jobs file: {e.strerror or e}") from e
    if len(data) > _MAX_BYTES:
        raise JobsFileError(f"{path}: longer than {_MAX_BYTES >> 20} MiB; is it a jobs file?")
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise JobsFileError(f"{path}:{line}: not UTF-8 text (byte {e.start})") from e


def _syntax_error(path: Path, text: str, message: str) -> str:
    match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if match:
        return f"{path}:{match[2]}:{match[3]}: not TOML: {match[1]}"
    what = message.removesuffix(" (at end of document)")
    return f"{path}:{max(1, len(text.splitlines()))}: not TOML: {what}, at the end of the file"


@dataclass(frozen=True)
class _Limits:
    priority: int = 0
    memory: int | None = None
    time: float | None = None
    pieces: int | None = None

    @classmethod
    def of(cls, table: _Table, default: _Limits | None = None) -> _Limits:
        default = default or cls()
        priority = table.integer("priority")
        memory = table.parsed("memory", (str, int), parse_bytes, 'an amount of memory such as "2GiB"')
        time = table.parsed("time", (str, int, float), parse_seconds, 'a time such as "10m"')
        pieces = table.integer("pieces", at_least=1)
        return cls(
            default.priority if priority is None else priority,
            default.memory if memory is None else memory,
            default.time if time is None else time,
            default.pieces if pieces is None else pieces,
        )


def _tokenizer_table(table: _Table) -> TokenizerTable | None:
    name, spec = table.name("name"), table.string("spec")
    vocab_size = table.integer("vocab_size", at_least=1)
    stop = table.integers("stop_token_ids")
    table.require("name", "spec")
    table.nothing_else()
    return None if name is None or spec is None else TokenizerTable(name, spec, stop, vocab_size)


def _jobs_table(table: _Table, defaults: _Limits) -> JobsTable | None:
    grammars, tokenizers = table.strings("grammars"), table.strings("tokenizers")
    exclude = table.strings("exclude")
    name, names = table.name("name"), table.names("names")
    start, lexer = table.string("start"), table.string("lexer")
    keep_all_actions = table.boolean("keep_all_actions")
    limits = _Limits.of(table, defaults)
    chosen = next((name for name in _LEXERS if lexer is not None and lexer.value == name), None)
    if lexer is not None and chosen is None:
        table.file.problem(lexer.line, f'lexer = "{lexer.value}": there are {", ".join(_LEXERS)}')
    table.require("grammars", "tokenizers")
    table.nothing_else()
    for key, values in (("grammars", grammars), ("tokenizers", tokenizers)):
        if table.says(key, []):
            table.file.problem(table.line(key), f"{key} is empty; name some, or remove the table")
        elif not values:
            return None
    if not grammars or not tokenizers:
        return None
    return JobsTable(
        line=table.line(),
        grammars=grammars,
        tokenizers=tokenizers,
        exclude=exclude,
        name=name,
        names=names,
        start=None if start is None else start.value,
        lexer=chosen,
        keep_all_actions=keep_all_actions,
        priority=limits.priority,
        memory_limit=limits.memory,
        time_limit=limits.time,
        pieces=limits.pieces,
    )


def _refuse_one_name_twice(file: JobsFile) -> None:
    first: dict[str, int] = {}
    for table in file.tokenizers:
        name, line = table.name.value, table.name.line
        if name in first:
            file.problem(line, f'a tokenizer called "{name}" is declared on line {first[name]} already; give this one another name')
        first.setdefault(name, line)


def _path(written: Written[str] | None, folder: Path) -> Path | None:
    return None if written is None else folder / Path(written.value).expanduser()


class _Table:
    """A table whose values are taken by name and type. A wrong value is noted, and counts as absent."""

    def __init__(
        self, file: JobsFile, lines: Mapping[tuple[str | int, ...], int], path: tuple[str | int, ...], content: Mapping[str, Any]
    ) -> None:
        self.file = file
        self._lines = lines
        self._path = path
        self._content = content
        self._taken: list[str] = []

    def line(self, *keys: str | int) -> int:
        """The line of the table, or of something in it."""
        return self._lines.get((*self._path, *keys), 1)

    def says(self, key: str, value: object) -> bool:
        return bool(self._content.get(key) == value)

    def table(self, key: str) -> _Table | None:
        written = self._take(key, dict, "a table")
        return None if written is None else _Table(self.file, self._lines, (*self._path, key), written.value)

    def tables(self, key: str) -> list[_Table]:
        written = self._take(key, list, f"a list of tables, each headed [[{key}]]")
        if written is None:
            return []
        if not all(isinstance(item, dict) for item in written.value):
            self._wrong(self.line(key), key, written.value, f"a list of tables, each headed [[{key}]]")
            return []
        return [_Table(self.file, self._lines, (*self._path, key, i), item) for i, item in enumerate(written.value)]

    def string(self, key: str) -> Written[str] | None:
        written = self._take(key, str, "a string")
        if written is not None and not written.value.strip():
            self.file.problem(written.line, f"{key} is an empty string")
            return None
        return written

    def name(self, key: str) -> Written[str] | None:
        written = self.string(key)
        return written if written is None or self._is_name(written) else None

    def names(self, key: str) -> dict[str, Written[str]]:
        written = self._take(key, dict, "a table from grammars to names")
        result = {}
        for grammar, name in written.value.items() if written else ():
            line = self.line(key, grammar)
            if not isinstance(name, str):
                self._wrong(line, f"{key}.{grammar}", name, "a string")
            elif self._is_name(Written(name, line)):
                result[grammar] = Written(name, line)
        return result

    def strings(self, key: str) -> tuple[Written[str], ...]:
        written = self._take(key, (list, str), "a list of strings")
        if written is None:
            return ()
        if isinstance(written.value, str):
            self._wrong(written.line, key, written.value, f'a list of strings, ["{written.value}"]')
            return ()
        result = []
        for i, item in enumerate(written.value):
            line = self.line(key, i)
            if not isinstance(item, str):
                self._wrong(line, f"{key}, element {i + 1},", item, "a string")
            elif not item.strip():
                self.file.problem(line, f"{key}, element {i + 1}, is an empty string")
            else:
                result.append(Written(item, line))
        return tuple(result)

    def integer(self, key: str, at_least: int | None = None) -> int | None:
        written: Written[int] | None = self._take(key, int, "a whole number")
        if written is None:
            return None
        if at_least is not None and written.value < at_least:
            self._wrong(written.line, key, written.value, f"at least {at_least}")
            return None
        return written.value

    def integers(self, key: str) -> tuple[int, ...] | None:
        written = self._take(key, list, "a list of whole numbers")
        if written is None:
            return None
        if not all(type(item) is int and item >= 0 for item in written.value):
            self._wrong(written.line, key, written.value, "a list of whole numbers")
            return None
        return tuple(written.value)

    def boolean(self, key: str) -> bool:
        written = self._take(key, bool, "true or false")
        return written is not None and bool(written.value)

    def parsed(self, key: str, kinds: tuple[type, ...], parse: Callable[[Any], _T], expected: str) -> _T | None:
        written = self._take(key, kinds, expected)
        if written is None:
            return None
        try:
            return parse(written.value)
        except ValueError as e:
            self.file.problem(written.line, f"{key}: {e}")
            return None

    def require(self, *keys: str) -> None:
        for key in keys:
            if key not in self._content:
                self.file.problem(self.line(), f"the table [[{self._path[0]}]] lacks {key}; it needs {' and '.join(keys)}")

    def nothing_else(self) -> None:
        """Notes the keys that were never taken."""
        where = f"[{self._path[0]}]" if self._path else "a jobs file"
        for key in self._content:
            if key not in self._taken:
                near = difflib.get_close_matches(key, self._taken, 1)
                meant = f"did you mean {near[0]!r}? " if near else ""
                self.file.problem(self.line(key), f"unknown key {key!r}; {meant}{where} may have {_listed(self._taken)}")

    def _take(self, key: str, kind: type | tuple[type, ...], expected: str) -> Written[Any] | None:
        self._taken.append(key)
        if key not in self._content:
            return None
        value, line = self._content[key], self.line(key)
        # Python takes true for a number; the author of the file does not.
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self._wrong(line, key, value, expected)
            return None
        return Written(value, line)

    def _is_name(self, written: Written[str]) -> bool:
        try:
            check_name(written.value, "grammar or tokenizer")
        except RegistryError as e:
            self.file.problem(written.line, str(e))
            return False
        return True

    def _wrong(self, line: int, key: str, value: object, expected: str) -> None:
        self.file.problem(line, f"{key} is {_shown(value)}, but must be {expected}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys[:-1]) + " and " + keys[-1] if len(keys) > 1 else "".join(keys)
