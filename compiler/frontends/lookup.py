"""From what a user types for a grammar to its file, a bundled name or a path, and to the request for the grammar in it.

A bundled name wins over a file of the same name, so that `java` means the same in every directory; write `./java` for
the file. A bundled name may have an option: `java?layout=bounded` has no comments and no long runs of blanks
(`psc.compiler.frontends.lark.layout`), `java?layout=any` is `java`. `c?preprocessed` is a part of `c`, and
`c?preprocessed&layout=bounded` is that with an option. The bundled grammars are package data of
``psc.compiler``, which a base install has too, though it cannot compile those in Lark's language.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from psc.compiler.frontends.front_end import NO_SETTINGS, Settings
from psc.compiler.frontends.registry import front_end, front_end_of, suffixes
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.grammars import (
    bundled_bounds_layout,
    bundled_keeps_all_actions,
    bundled_lexer,
    bundled_names,
    bundled_parts,
    bundled_path,
    bundled_text,
    why_unbounded,
)
from psc.errors import GrammarError
from psc.support.limits import limit
from psc.support.readable import shortened
from psc.support.regular_file import FileOrigin, read_regular_text
from psc.support.similar import similar

if TYPE_CHECKING:
    from psc.compiler.cfg.grammar import LexerKind

_MAX_BYTES = limit("json_bytes")
"""Of a file: the largest limit of a language; the others have smaller ones."""


@dataclass(frozen=True)
class GrammarFile:
    """A grammar that was found: what it is called, and where its text is."""

    name: str
    """A bundled name with its part and option, or the path as it was given: what an artifact records."""
    path: Path
    bundled: bool
    language: str
    settings: str = ""
    """The text of those that the name says."""
    part: str = ""
    """Which one of a bundled grammar the name says."""

    @property
    def stem(self) -> str:
        """The name without folder and suffix, for naming an artifact after; `java-layout=bounded` of a name with an option."""
        return self.name.replace("?", "-").replace("&", "-") if self.bundled else self.path.stem

    def request(
        self,
        *,
        start: str | None = None,
        lexer: LexerKind | None = None,
        keep_all_actions: bool = False,
        settings: Settings | str = NO_SETTINGS,
    ) -> GrammarRequest:
        """Reads the text, and parses nothing.

        Args:
            start: the rule that a whole text must match; by default ``start`` in Lark's language and ``root`` in the others.
            lexer: of a Lark grammar; by default "contextual"; a bundled grammar has its own, which reserves its language's
                keywords: "basic", or "modal" for Python, JavaScript, TypeScript, JSX, TSX and C#; with bounded layout "flush"
                or "flush-modal".
            keep_all_actions: of a Lark grammar, see ``Grammar.from_lark``. Those of C, C++, C#, Cypher, TypeScript and TSX do.
            settings: the language's own options, or their text, see ``Settings.text``; by default those that the name says.

        Raises:
            GrammarError: the file cannot be read, or an option does not fit its language.
        """
        text = self._text()
        reader = front_end(self.language if self.bundled else front_end(self.language).language_of(text))
        if lexer is None and self.bundled and bundled_lexer(self.path.stem) in reader.lexers:
            lexer = bundled_lexer(self.path.stem, flush=bool(self.settings))
        given = settings if isinstance(settings, str) else settings.text
        return GrammarRequest.of(
            reader.language,
            text,
            start=start or None,
            lexer=lexer,
            keep_all_actions=keep_all_actions or (self.bundled and bundled_keeps_all_actions(self.path.stem)),
            settings=reader.settings_of(given or self.settings) if isinstance(settings, str) or not given else settings,
            origin=self.name if self.bundled else FileOrigin(self.name),
        )

    def _text(self) -> str:
        if self.part:
            return bundled_text(f"{self.path.stem}?{self.part}")
        try:
            return read_regular_text(self.path, _MAX_BYTES)
        except OSError as e:
            raise GrammarError(f"{self.path}: cannot read the grammar: {e.strerror or e}") from e
        except UnicodeDecodeError as e:
            raise GrammarError(f"{self.path}: the grammar is not UTF-8 text (byte {e.start})") from e


def find_grammar(spec: str | Path) -> GrammarFile:
    """Finds a grammar.

    Args:
        spec: a bundled name, alone or with `?layout=bounded`, or with a part as in `c?preprocessed&layout=bounded`; or the path
            of a file with the suffix of a front end: `.lark`, `.ebnf`, `.gbnf`, or `.json` for a JSON schema. A ``Path`` is never
            a name.

    Raises:
        GrammarError: there is no such name or file, or the file is of another kind.
    """
    if isinstance(spec, str) and names_bundled(spec):
        name, part, option = _split(spec)
        path = bundled_path(name)
        language = _language(path)
        settings = front_end(language).named_settings(option).text
        if settings and not bundled_bounds_layout(name):
            raise GrammarError(f"{spec}: the layout of {name} cannot be bounded: {why_unbounded(name)}")
        named = _joined(name, part, option if settings else "")
        return GrammarFile(named, path, bundled=True, language=language, settings=settings, part=part)
    if not isinstance(spec, (str, Path)):
        raise TypeError(f"a grammar is found by its name or path, not by {type(spec).__name__}")
    path = Path(spec)
    if _is_there(path) and path.is_dir():
        raise GrammarError(f"{spec}: is a folder; {_what_there_is()}")
    if not _is_there(path):
        # Names of files are compared without their folder, which may be longer than any word that is looked for.
        close = similar(str(spec), bundled_names()) or [str(path.with_name(n)) for n in similar(path.name, _files_beside(path))]
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise GrammarError(f"{shortened(str(spec))}: no such file, nor a bundled grammar ({', '.join(bundled_names())}).{hint}")
    return GrammarFile(str(spec), path, bundled=False, language=_language(path))


def with_bounded_layout(spec: str) -> str:
    """The name of a bundled grammar with bounded layout, where it can have that and the name has no option; else as it is."""
    if not names_bundled(spec):
        return spec
    name, part, option = _split(spec)
    return spec if option or not bundled_bounds_layout(name) else _joined(name, part, "layout=bounded")


def without_option(spec: str) -> str:
    """The name of a bundled grammar without its option, part and all; another spec as it is."""
    return _joined(*_split(spec)[:2], "") if names_bundled(spec) else spec


def names_bundled(spec: str) -> bool:
    """Whether a text is the name of a bundled grammar, alone or with an option."""
    return spec.partition("?")[0] in bundled_names() and not any(c.isspace() for c in spec)


def _split(spec: str) -> tuple[str, str, str]:
    """What a spec of a bundled grammar says: its name, a part, an option; the last two may be empty."""
    name, _, rest = spec.partition("?")
    first, _, others = rest.partition("&")
    return (name, first, others) if first in bundled_parts(name) else (name, "", rest)


def _joined(name: str, part: str, option: str) -> str:
    said = "&".join(filter(None, (part, option)))
    return f"{name}?{said}" if said else name


def is_grammar(spec: str) -> bool:
    """Whether a user who may name a grammar or an artifact means a grammar: a bundled name, a grammar's suffix, or no file at all.

    What is not there and is not called ``.psc`` counts as a grammar too, since `find_grammar` says what could have been meant.
    """
    path = Path(spec)
    suffix = path.suffix.lower()
    is_one = spec in bundled_names() or front_end_of(suffix) is not None
    return is_one or (suffix != ".psc" and not _is_there(path))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is longer than names of files are
        return False


def _language(path: Path) -> str:
    reader = front_end_of(path.suffix)
    if reader is None:
        raise GrammarError(
            f"{path}: unknown kind of grammar {path.suffix!r}; psc reads {', '.join(suffixes())} files, so rename it if it is one"
        )
    return reader.language


def _files_beside(path: Path) -> list[str]:
    """The names of the grammars in the folder of a file that is not there."""
    try:
        return [p.name for p in path.parent.iterdir() if front_end_of(p.suffix) is not None]
    except OSError:
        return []


def _what_there_is() -> str:
    return f"give a {', '.join(suffixes())} file or one of {', '.join(bundled_names())}"
