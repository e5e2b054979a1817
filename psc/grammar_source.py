"""Grammar text and its options, before anything is parsed: enough to look for an artifact, which then saves the parsing too.

Lark's loader takes 0.1 s for a programming language, and a serving host may not have it; the key of the inputs needs neither.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal as OneOf

from psc.artifacts.format import VERSION
from psc.artifacts.input_key import input_key
from psc.compiler.frontends.lark.imports import UNNAMED, Imports, find_imports
from psc.compiler.revision import COMPILER_REVISION
from psc.grammar import Grammar, Language, LarkLexer


@dataclass(frozen=True)
class GrammarSource:
    """What ``Grammar``'s static methods take, as a value."""

    language: Language
    text: str
    root: str = "root"
    """The rule that a whole text must match."""
    lexer: OneOf["any", "contextual", "basic"] = "any"
    keep_all_actions: bool = True
    source_name: str = UNNAMED

    @classmethod
    def lark(cls, text: str, *, start: str, lexer: LarkLexer, keep_all_actions: bool, source_name: str) -> GrammarSource:
        """Text in Lark's language; see ``Grammar.from_lark``."""
        return cls("lark", text, start, lexer, keep_all_actions, source_name)

    def key_parts(self) -> KeyParts | None:
        """What the key of an artifact has of a grammar; None when it cannot be told without parsing, see ``find_imports``."""
        imports: Imports | None = ()
        if self.language == "lark":
            imports = find_imports(self.text, self.source_name)
        if imports is None:
            return None
        return KeyParts.of(self.language, self.text, imports, self.root, self.lexer, self.keep_all_actions)

    def input_key(self, fingerprint: str) -> str | None:
        """The key of the artifact for a vocabulary; None as ``key_parts``."""
        parts = self.key_parts()
        return None if parts is None else parts.key(fingerprint)

    def parse(self) -> Grammar:
        """The grammar. Raises GrammarError, and MissingExtraError, as ``Grammar.from_lark`` and the others."""
        if self.language == "ebnf":
            return Grammar.from_ebnf(self.text, root_rule_name=self.root, source_name=self.source_name)
        if self.language == "regex":
            return Grammar.from_regex(self.text)
        assert self.lexer != "any"
        return Grammar.from_lark(
            self.text,
            start=self.root,
            lexer=self.lexer,
            keep_all_actions=self.keep_all_actions,
            source_name=self.source_name,
        )


@dataclass(frozen=True)
class KeyParts:
    """The grammar's part of an input key; see ``psc.artifacts.input_key``."""

    language: str
    text_sha256: str
    imports: Imports
    start: str
    lexer: str
    keep_all_actions: bool

    @classmethod
    def of(cls, language: str, text: str, imports: Imports, start: str, lexer: str, keep_all_actions: bool) -> KeyParts:
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()  # the front end says what is wrong
        return cls(language, digest, imports, start, lexer, keep_all_actions)

    @classmethod
    def of_grammar(cls, grammar: Grammar) -> KeyParts:
        """Of a grammar that is parsed already."""
        return cls.of(grammar.language, grammar.source, grammar.imports, grammar.root, grammar.lexer, grammar.keep_all_actions)

    def key(self, fingerprint: str, *, compiler_revision: int = COMPILER_REVISION, format_version: int = VERSION) -> str:
        """The key of the artifact for a vocabulary, by this compiler or another one."""
        return input_key(
            compiler_revision=compiler_revision,
            language=self.language,
            text_sha256=self.text_sha256,
            imports=self.imports,
            start=self.start,
            lexer=self.lexer,
            keep_all_actions=self.keep_all_actions,
            fingerprint=fingerprint,
            format_version=format_version,
        )


def grammar_key(grammar: Grammar, fingerprint: str) -> str:
    """The key of the artifact of a grammar that is parsed already."""
    return KeyParts.of_grammar(grammar).key(fingerprint)
