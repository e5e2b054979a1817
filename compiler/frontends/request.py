"""The grammar of a request: text, its language, options and origin. One value from the API to the key and to the parser.

Nothing is parsed to make a request, or for its key: that takes 25 ms for a programming language in Lark's, and a serving host
finds the artifact by the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psc.artifacts.format import VERSION
from psc.artifacts.input_key import input_key
from psc.compiler.frontends.front_end import NO_SETTINGS, UNNAMED, FrontEnd, GrammarOptions, Imports, Settings
from psc.compiler.frontends.registry import front_end
from psc.compiler.revision import COMPILER_REVISION
from psc.support.cached_property import cached_property
from psc.support.serialization import field as entry

if TYPE_CHECKING:
    from psc.compiler.cfg.grammar import LexerKind
    from psc.compiler.expressions.tokens import TokenNames
    from psc.compiler.frontends.parsed import ParsedGrammar
    from psc.vocabulary.tokenizer_info import TokenizerInfo


@dataclass(frozen=True)
class GrammarRequest:
    """A requested grammar. Made by :meth:`of`, or by a `psc.compiler.frontends.lookup.GrammarFile`."""

    language: str
    """A name in the registry of front ends."""
    text: str
    """The text as it was given."""
    options: GrammarOptions
    origin: str = UNNAMED
    """Where the text is from: a `FileOrigin`, which relative imports start from, or a label for messages."""

    def __hash__(self) -> int:
        # Requests of one text differ in their options so seldom that these need no hash.
        return hash((self.language, self.text))

    @classmethod
    def of(
        cls,
        language: str,
        text: str,
        *,
        start: str | None = None,
        lexer: LexerKind | None = None,
        keep_all_actions: bool = False,
        settings: Settings = NO_SETTINGS,
        origin: str = UNNAMED,
    ) -> GrammarRequest:
        """A request with the language's own options where none are given.

        Args:
            language: of the text: ``"lark"``, ``"ebnf"``, ``"regex"``, or another name in the registry.
            text: the grammar.
            start: the rule that a whole text must match.
            lexer: how text becomes terminals, where the language has the choice; by default what the text says.
            keep_all_actions: take any context-free grammar, where the language would resolve conflicts.
            settings: the language's own options.
            origin: a `FileOrigin`, or a label.

        Raises:
            GrammarError: there is no such language, or an option does not fit it.
        """
        reader = front_end(language)
        lexer = reader.lexer_of(text) if lexer is None and isinstance(text, str) else lexer
        options = reader.options(start=start, lexer=lexer, keep_all_actions=keep_all_actions, settings=settings, origin=origin)
        return cls(language, text, options, origin)

    @staticmethod
    def of_json(document: Mapping[str, Any], what: str = "a grammar", origin: str = UNNAMED) -> GrammarRequest:
        """The request that :meth:`to_json` has described; an artifact's metadata describe a grammar so, too.

        Args:
            document: the description. Two of its entries have earlier names, which are read, too: ``source`` and ``root``.
            what: what it describes, for messages.
            origin: where the text is from.

        Raises:
            DeserializeFormatError: an entry is missing or of another type.
            GrammarError: there is no such language, or the language has no such settings.
        """
        language = entry(document, "language", str, what)
        text = entry(document, "source" if "source" in document else "text", str, what)
        options = GrammarOptions(
            entry(document, "root" if "root" in document else "start", str, what),
            entry(document, "lexer", str, what),
            entry(document, "keep_all_actions", bool, what),
            front_end(language).settings_of(entry(document, "settings", str, what) if "settings" in document else ""),
        )
        return GrammarRequest(language, text, options, origin)

    def to_json(self) -> dict[str, Any]:
        """All but the origin, as values that JSON has."""
        options = self.options
        return {
            "language": self.language,
            "text": self.text,
            "start": options.start,
            "lexer": options.lexer,
            "keep_all_actions": options.keep_all_actions,
            "settings": options.settings.text,
        }

    @property
    def front_end(self) -> FrontEnd:
        """What reads the text."""
        return front_end(self.language)

    @cached_property
    def names_tokens(self) -> bool:
        """Whether the text may name tokens, found without parsing; see ``FrontEnd.names_tokens``."""
        return self.front_end.names_tokens(self.text, self.options.settings)

    def names_of(self, tokenizer: TokenizerInfo) -> TokenNames | None:
        """What the front end may ask of a vocabulary; None where the text names no token."""
        if not self.names_tokens:
            return None
        from psc.compiler.expressions.tokens import TokenNames

        return TokenNames(tokenizer)

    def parse(self, names: TokenNames | None = None) -> ParsedGrammar:
        """Reads the text.

        Args:
            names: of the vocabulary's tokens; None where it is not known yet.

        Raises:
            GrammarError: the text is malformed, an option does not fit the language, or there is no such language.
        """
        reader = self.front_end
        reader.check(self.options, self.origin)
        return reader.parse(self.text, self.options, self.origin, names)

    def key(self) -> GrammarKey | None:
        """The grammar's part of the key of an artifact; None if it cannot be computed without parsing."""
        imports = self.front_end.imports(self.text, self.origin)
        return None if imports is None else self.key_with(imports)

    def key_with(self, imports: Imports) -> GrammarKey:
        """The same, where it is known which files the grammar imports."""
        text = self.front_end.canonical(self.text)
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()  # the front end says what is wrong
        return GrammarKey(self.language, digest, imports, self.options, self.names_tokens)


@dataclass(frozen=True)
class GrammarKey:
    """The grammar's part of an input key; see ``psc.artifacts.input_key``."""

    language: str
    text_sha256: str
    imports: Imports
    options: GrammarOptions
    names_tokens: bool = False
    """Whether the text may name tokens; see ``FrontEnd.names_tokens``."""

    def fingerprint_of(self, tokenizer: TokenizerInfo) -> str:
        """What the grammar's artifacts depend on of a vocabulary: its text, or all of it."""
        return tokenizer.tokens_fingerprint if self.names_tokens else tokenizer.fingerprint

    def for_tokenizer(self, tokenizer: TokenizerInfo) -> str:
        """The key of the artifact for a vocabulary, by this compiler."""
        return self.with_vocabulary(self.fingerprint_of(tokenizer))

    def without_vocabulary(self, layout: int) -> str:
        """The key of what the grammar has for any vocabulary, in a layout of files."""
        return self.with_vocabulary("", format_version=layout)

    def with_vocabulary(
        self, fingerprint: str, *, compiler_revision: int = COMPILER_REVISION, format_version: int = VERSION
    ) -> str:
        """The key of the artifact for a vocabulary, by this compiler or another one.

        Args:
            fingerprint: as `fingerprint_of` gives it.
            compiler_revision: of the compiler.
            format_version: of the artifact's file.
        """
        return input_key(
            compiler_revision=compiler_revision,
            language=self.language,
            text_sha256=self.text_sha256,
            imports=self.imports,
            start=self.options.start,
            lexer=self.options.lexer,
            keep_all_actions=self.options.keep_all_actions,
            settings=self.options.settings.text,
            fingerprint=fingerprint,
            format_version=format_version,
        )
