"""From what a user types for a grammar to its file, a bundled name or a path, and to the grammar in it.

A bundled name wins over a file of the same name, so that `java` means the same in every directory; write `./java` for
the file. The bundled grammars are package data of ``psc.compiler``, which a base install has too, though it cannot
compile them.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from psc.compiler.grammars import bundled_names, bundled_path
from psc.errors import GrammarError
from psc.grammar import Grammar, Language, LarkLexer
from psc.grammar_source import GrammarSource

_LANGUAGES: dict[str, Language] = {".lark": "lark", ".ebnf": "ebnf", ".gbnf": "ebnf"}
_KINDS = ", ".join(_LANGUAGES)
# The bundled grammars are written for it: what their languages reserve, no name may be.
_BUNDLED_LEXER: LarkLexer = "basic"


@dataclass(frozen=True)
class GrammarFile:
    """A grammar that was found: what it is called, and where its text is."""

    name: str
    """A bundled name, or the path as it was given: what an artifact records."""
    path: Path
    bundled: bool
    language: Language = "lark"

    @property
    def stem(self) -> str:
        """The name without folder and suffix, for naming an artifact after."""
        return self.name if self.bundled else self.path.stem


def find_grammar(spec: str | Path) -> GrammarFile:
    """Finds a grammar.

    Args:
        spec: a bundled name, or the path of a `.lark`, `.ebnf` or `.gbnf` file. A ``Path`` is never a name.

    Raises:
        GrammarError: there is no such name or file, or the file is of another kind.
    """
    if isinstance(spec, str) and spec in bundled_names():
        path = bundled_path(spec)
        return GrammarFile(spec, path, bundled=True, language=_LANGUAGES[path.suffix])
    path = Path(spec)
    if path.suffix.lower() == ".json":
        raise GrammarError(
            f"{spec}: JSON Schemas are not supported yet; give a {_KINDS} file or one of {', '.join(bundled_names())}"
        )
    if path.is_dir():
        raise GrammarError(f"{spec}: is a folder; give a {_KINDS} file or one of {', '.join(bundled_names())}")
    if not path.exists():
        close = difflib.get_close_matches(str(spec), [*bundled_names(), *_files_beside(path)], n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise GrammarError(f"{spec}: no such file, nor a bundled grammar ({', '.join(bundled_names())}).{hint}")
    language = _LANGUAGES.get(path.suffix.lower())
    if language is None:
        raise GrammarError(f"{spec}: unknown kind of grammar {path.suffix!r}; psc reads {_KINDS} files, so rename it if it is one")
    return GrammarFile(str(spec), path, bundled=False, language=language)


def _files_beside(path: Path) -> list[str]:
    """The grammars in the folder of a file that is not there, called as it was."""
    try:
        return [str(path.with_name(p.name)) for p in path.parent.iterdir() if p.suffix.lower() in _LANGUAGES]
    except OSError:
        return []


def is_grammar(spec: str) -> bool:
    """Whether a user who may name a grammar or an artifact means a grammar: a bundled name, a grammar's suffix, or no file at all.

    What is not there and is not called ``.psc`` counts as a grammar too, since `find_grammar` says what could have been meant.
    """
    path = Path(spec)
    suffix = path.suffix.lower()
    return spec in bundled_names() or suffix in _LANGUAGES or suffix == ".json" or (suffix != ".psc" and not path.exists())


def read_source(
    found: GrammarFile, *, start: str | None = None, lexer: LarkLexer | None = None, keep_all_actions: bool = False
) -> GrammarSource:
    """Reads the text of a grammar that was found, and parses nothing.

    Args:
        found: the file.
        start: the rule that a whole text must match; by default ``start`` in Lark's language and ``root`` in EBNF.
        lexer: of a Lark grammar; by default "contextual", and "basic" for a bundled grammar, whose language reserves its keywords.
        keep_all_actions: of a Lark grammar, see ``Grammar.from_lark``.

    Raises:
        GrammarError: the file cannot be read, or an option does not fit its language.
    """
    try:
        text = found.path.read_text(encoding="utf-8")
    except OSError as e:
        raise GrammarError(f"{found.path}: cannot read the grammar: {e.strerror or e}") from e
    except UnicodeDecodeError as e:
        raise GrammarError(f"{found.path}: the grammar is not UTF-8 text (byte {e.start})") from e
    # A bundled grammar is called by its name; it imports nothing by a relative path.
    if found.language == "ebnf":
        if lexer is not None or keep_all_actions:
            raise GrammarError(
                f"{found.name}: an EBNF grammar is a language of characters: it has no lexer to choose, and keeps all actions"
            )
        return GrammarSource("ebnf", text, start or "root", source_name=found.name)
    return GrammarSource.lark(
        text,
        start=start or "start",
        lexer=lexer or (_BUNDLED_LEXER if found.bundled else "contextual"),
        keep_all_actions=keep_all_actions,
        source_name=found.name,
    )


def open_grammar(
    found: GrammarFile, *, start: str | None = None, lexer: LarkLexer | None = None, keep_all_actions: bool = False
) -> Grammar:
    """Reads and parses a grammar that was found; the arguments are those of `read_source`.

    Raises:
        GrammarError: the file cannot be read, the text is malformed, or an option does not fit its language.
        MissingExtraError: it is in Lark's language, and Lark is not installed.
    """
    return read_source(found, start=start, lexer=lexer, keep_all_actions=keep_all_actions).parse()
