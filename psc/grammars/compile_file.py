"""A grammar to an artifact file, and beside it the record of how that went.

The same grammar, vocabulary and compiler give the same bytes, so what differs from run to run (times, memory,
machine) has a file of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psc.artifacts.format import write_file
from psc.artifacts.scalars import has_lexer
from psc.compiler.frontends.lookup import GrammarFile, find_grammar
from psc.errors import ArtifactError
from psc.grammars.build_grammar import build_artifact
from psc.grammars.grammar import Grammar
from psc.grammars.verification import verify_build
from psc.grammars.warm_texts import WarmRowNames, read_texts, rows_met
from psc.support.regular_file import read_regular
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from psc.compiler.cfg.grammar import LarkLexer
    from psc.compiler.frontends.front_end import Settings
    from psc.compiler.pipeline.build import Build
    from psc.compiler.pipeline.stages import Progress


MAX_RECORD_BYTES = 16 << 20
"""Of a build record, which has some kilobytes."""


@dataclass(frozen=True)
class CompileReport:
    """What was written, and how it went."""

    path: Path
    digest: str
    """sha256 of the artifact, in hex."""
    size: int
    """Bytes of the artifact."""
    metadata: Mapping[str, Any]
    warnings: tuple[str, ...]
    record: Mapping[str, Any]
    """Times, peak memory, machine and the files that were read."""
    verification: Mapping[str, int] | None = None
    """What was compared with the paper's construction, and found equal; None where that was not requested."""
    warm: WarmRowNames | None = None
    """The rows that texts use; None where no texts were given, or the artifact has no lexer that is closed."""

    @property
    def is_closed(self) -> bool:
        """Whether nothing is left to be built just in time."""
        return "not_closed" not in self.metadata


def compile_to_artifact(
    grammar: str | Path,
    tokenizer_info: TokenizerInfo,
    path: str | Path,
    *,
    start: str | None = None,
    lexer: LarkLexer | None = None,
    keep_all_actions: bool = False,
    settings: Settings | str = "",
    tokenizer_file: str | Path | None = None,
    verify: bool = False,
    warm: Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> CompileReport:
    """Compiles a grammar into an artifact file. It and its `build_record_path` are each written whole or not at all.

    Args:
        grammar: a bundled name, or the path of a ``.lark``, ``.ebnf`` or ``.gbnf`` file, or a ``.json`` file with a JSON schema.
        tokenizer_info: the vocabulary; its name is recorded, for `psc.load` to look it up by.
        path: the artifact, replaced if it is there.
        start: the rule that a whole text must match; by default ``start`` in Lark's language and ``root`` in EBNF.
        lexer: of a Lark grammar, see ``Grammar.from_lark``; by default "contextual"; a bundled grammar has its own.
        keep_all_actions: of a Lark grammar: take any context-free grammar.
        settings: the options of a JSON schema, or their text, see ``SchemaSettings``.
        tokenizer_file: where the vocabulary is from, if that is a path: kept in the build record, for `psc.load` on this machine.
        verify: before anything is written, prove that the classifier equals the paper's construction, see
            `psc.grammars.verification`.
        warm: texts of the language, as files or folders of files. The artifact lists the mask rows that they need, and a process
            that loads it composes these in advance, see docs/serving/artifacts.md. An artifact that is not closed lists none.
        progress: called as each stage begins.

    Raises:
        GrammarError: the grammar is not found or cannot be compiled; it is too large to be verified, or speaks of tokens.
        VerificationError: the classifier differs from the paper's construction.
        ArtifactError: a file cannot be written; what was there before is still there.
        PscError: a text cannot be read. One that the grammar refuses is a warning.
        MissingExtraError: the ``openfst`` extra is not installed, to verify.
    """
    path = Path(path)
    found = find_grammar(grammar)
    texts = read_texts(warm)
    _check_writable(path)  # found out now rather than after the compilation
    request = found.request(start=start, lexer=lexer, keep_all_actions=keep_all_actions, settings=settings)
    built = build_artifact(Grammar.parse(request, names=request.names_of(tokenizer_info)), tokenizer_info, progress=progress)
    result = built.build
    verification = verify_build(result, progress) if verify else None
    rows = _rows_met(result, tokenizer_info, texts, progress)
    data = built.encoded(rows.arrays if rows is not None else {})
    digest = hashlib.sha256(data).hexdigest()
    record = {**result.record(), **_circumstances(found, tokenizer_file)}
    write_file(path, data)
    write_file(build_record_path(path), json.dumps({"artifact": digest, **record}, indent=1).encode() + b"\n")
    warnings = [*result.warnings, *([] if built.unspelled is None else [built.unspelled])]
    if rows is not None:
        warnings += [text.problem for text in rows.texts if text.problem is not None]
    elif texts:
        warnings.append("no rows are named that texts meet: the artifact is not closed, and has none")
    return CompileReport(path, digest, len(data), result.metadata, tuple(warnings), record, verification, rows)


def _rows_met(
    result: Build, tokenizer_info: TokenizerInfo, texts: Sequence[tuple[str, bytes]], progress: Progress | None
) -> WarmRowNames | None:
    if not texts or not has_lexer(result.arrays):
        return None
    if progress is not None:
        progress("texts to be warm for", 0, 1)
    return rows_met(result.arrays, result.metadata, tokenizer_info, texts)


def _circumstances(found: GrammarFile, tokenizer_file: str | Path | None) -> dict[str, Any]:
    """The machine, and the paths that were read, which are no part of the artifact: the record stays on the machine."""
    machine = {
        "machine": platform.machine(),
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }
    files = {} if found.bundled else {"grammar_file": str(found.path.absolute())}
    if tokenizer_file is not None:
        files["tokenizer_file"] = str(Path(tokenizer_file).expanduser().absolute())
    return {**machine, **files}


def build_record_path(path: str | Path) -> Path:
    """Where the record of how an artifact was built lies: beside it."""
    path = Path(path)
    return path.with_name(path.name + ".build.json")


def read_build_record(path: str | Path, digest: str) -> tuple[dict[str, Any] | None, str | None]:
    """The record beside an artifact.

    Args:
        path: of the artifact.
        digest: its sha256, in hex: the record must name it.

    Returns:
        The record if there is one that fits; and what to tell the user if there is one that does not.
    """
    place = build_record_path(path)
    try:
        record = json.loads(read_regular(place, MAX_RECORD_BYTES))
    except FileNotFoundError:
        return None, None
    except (OSError, ValueError, RecursionError) as e:
        return None, f"{place} cannot be read: {e}"
    if not isinstance(record, dict) or record.get("artifact") != digest:
        return None, f"{place} belongs to another build of this artifact"
    return record, None


def _check_writable(path: Path) -> None:
    if not path.parent.is_dir():
        raise ArtifactError(f"{path}: cannot write the file: there is no folder {path.parent}")
    if path.is_dir():
        raise ArtifactError(f"{path}: cannot write the file: it is a folder; give a file name")
    if not os.access(path.parent, os.W_OK):
        raise ArtifactError(f"{path}: cannot write the file: the folder {path.parent} is not writable")
