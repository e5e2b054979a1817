"""Grammar text and its options, before anything is parsed: enough to look for an artifact, which then saves the parsing too.

Lark's loader takes 0.1 s for a programming language, and a serving host may not have it; the key of the inputs needs neither.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal as OneOf

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

    def input_key(self, fingerprint: str) -> str | None:
        """The key of the artifact for a vocabulary; None when it cannot be told without parsing, see ``find_imports``."""
        imports: Imports | None = ()
        if self.language == "lark":
            imports = find_imports(self.text, self.source_name)
        if imports is None:
            return None
        return _key(self.language, self.text, imports, self.root, self.lexer, self.keep_all_actions, fingerprint)

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


def grammar_key(grammar: Grammar, fingerprint: str) -> str:
    """The key of the artifact of a grammar that is parsed already."""
    return _key(
        grammar.language, grammar.source, grammar.imports, grammar.root, grammar.lexer, grammar.keep_all_actions, fingerprint
    )


def _key(language: str, text: str, imports: Imports, root: str, lexer: str, keep_all_actions: bool, fingerprint: str) -> str:
    return input_key(
        compiler_revision=COMPILER_REVISION,
        language=language,
        text_sha256=hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest(),  # the front end says what is wrong
        imports=imports,
        start=root,
        lexer=lexer,
        keep_all_actions=keep_all_actions,
        fingerprint=fingerprint,
    )
