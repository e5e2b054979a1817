"""Grammars as callers of the API hold them: text in one of the languages that psc reads, parsed and checked, not yet compiled.

EBNF, regular expressions and the built-in JSON grammar become rule sets over characters, and combine. Lark files keep Lark's
meaning, which is more than a language of characters: text is cut into lexemes by maximal munch before the rules see it, so a Lark
grammar put after another one would have to say where its lexer takes over. ``union`` and ``concat`` therefore refuse them.

Cost: parsing. EBNF and regex take about a millisecond for a page of text; Lark's loader 0.1 s for a programming language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from psc.errors import DeserializeFormatError, GrammarError
from psc.serialization import field as entry
from psc.serialization import read_document, write_document

if TYPE_CHECKING:
    from psc.compiler.expressions import RuleSet
    from psc.compiler.grammar import Grammar as CompilerGrammar
    from psc.vocabulary.tokenizer_info import TokenizerInfo

Language = OneOf["ebnf", "regex", "lark"]
LarkLexer = OneOf["contextual", "basic"]

_KIND = "grammar"
_WHAT = "serialized grammar"


@dataclass(frozen=True, slots=True)
class Grammar:
    """A grammar, immutable; made by the static methods. Two are equal if they have the same text and the same options."""

    language: Language
    source: str
    """The text as it was given, in ``language``."""
    root: str
    """The rule that a whole text must match."""
    lexer: OneOf["any", "contextual", "basic"]
    """How text becomes terminals, see docs/language.md."""
    keep_all_actions: bool
    """Whether any context-free grammar is taken as it is, or clashes are resolved as Lark does."""
    _parsed: RuleSet | CompilerGrammar = field(compare=False, repr=False)

    @staticmethod
    def from_ebnf(ebnf_string: str, *, root_rule_name: str = "root", source_name: str = "<string>") -> Grammar:
        """Reads EBNF (GBNF) text.

        Args:
            ebnf_string: the grammar.
            root_rule_name: the rule that a whole text must match.
            source_name: the file it came from, for messages.

        Raises:
            GrammarError: the text is malformed, or a rule is missing.
        """
        from psc.compiler.frontends.ebnf import load_ebnf

        _check_text(ebnf_string, "ebnf_string")
        return _of_rules("ebnf", ebnf_string, root_rule_name, load_ebnf(ebnf_string, root=root_rule_name, source_name=source_name))

    @staticmethod
    def from_regex(regex_string: str, *, print_converted_ebnf: bool = False) -> Grammar:
        """Reads a regular expression, which the whole text must match.

        Args:
            regex_string: the pattern.
            print_converted_ebnf: whether to print the grammar that it becomes.

        Raises:
            GrammarError: the pattern is malformed, or uses what no automaton can do (lookaround, backreferences).
        """
        from psc.compiler.frontends.regex import regex_rule_set

        _check_text(regex_string, "regex_string")
        grammar = _of_rules("regex", regex_string, "root", regex_rule_set(regex_string))
        if print_converted_ebnf:
            print(f"Converted EBNF: {grammar}")
        return grammar

    @staticmethod
    def from_lark(
        lark_string: str,
        *,
        tokenizer_info: TokenizerInfo | None = None,
        named_grammars: Mapping[str, Grammar | str] | None = None,
        start: str = "start",
        lexer: LarkLexer = "contextual",
        keep_all_actions: bool = False,
        source_name: str = "<string>",
    ) -> Grammar:
        """Reads a grammar in Lark's language, with Lark's meaning.

        Args:
            lark_string: the grammar.
            tokenizer_info: not used; for callers of XGrammar, whose dialect can name special tokens.
            named_grammars: must be empty; for callers of XGrammar, whose dialect can refer to them.
            start: the rule that a whole text must match.
            lexer: "contextual", Lark's default with LALR, tries the terminals that the parser can take; "basic" tries all.
            keep_all_actions: take any context-free grammar, where Lark would refuse it or let a shift win over a reduction.
            source_name: the file it came from, for relative imports and messages.

        Raises:
            GrammarError: Lark refuses the grammar, or it has named grammars.
            MissingExtraError: Lark is not installed.
        """
        from psc.errors import needs_extra

        with needs_extra("compiler"):
            from psc.compiler.frontends.lark.loader import load_lark

        _check_text(lark_string, "lark_string")
        refuse_named_grammars(named_grammars)
        if lexer not in ("contextual", "basic"):
            raise GrammarError(f"lexer={lexer!r}: a Lark grammar is lexed by 'contextual' or 'basic'")
        loaded = load_lark(lark_string, start=start, lexer=lexer, keep_all_actions=keep_all_actions, source_name=source_name)
        return Grammar("lark", lark_string, start, lexer, keep_all_actions, loaded)

    @staticmethod
    def builtin_json_grammar() -> Grammar:
        """JSON as RFC 8259 has it: an object or an array, with any white space inside and none around it.

        It is the bundled grammar ``json``: what ``psc compile json`` and ``psc batch`` compile is what is looked up for it.
        """
        from psc.compiler.grammars import bundled_text

        return Grammar.from_ebnf(bundled_text("json"), source_name="json")

    @staticmethod
    def concat(*grammars: Grammar) -> Grammar:
        """A text of each grammar, one after the other.

        Raises:
            GrammarError: there is no grammar, or one is in Lark's language.
        """
        from psc.compiler import rule_sets

        return _combined("concat", rule_sets.concat, grammars)

    @staticmethod
    def union(*grammars: Grammar) -> Grammar:
        """The texts of any of the grammars.

        Raises:
            GrammarError: there is no grammar, or one is in Lark's language.
        """
        from psc.compiler import rule_sets

        return _combined("union", rule_sets.union, grammars)

    @property
    def imports(self) -> tuple[tuple[str, str], ...]:
        """(name relative to the grammar's folder, sha256 of the text) of every file that a Lark grammar imports."""
        from psc.compiler.expressions import RuleSet

        return () if isinstance(self._parsed, RuleSet) else self._parsed.imports

    def __str__(self) -> str:
        """EBNF text that ``from_ebnf`` reads as the same language; for a Lark grammar, its own text."""
        from psc.compiler import rule_sets
        from psc.compiler.expressions import RuleSet

        if not isinstance(self._parsed, RuleSet):
            return self.source
        rules = self._parsed if self._parsed.root == "root" else rule_sets.union([self._parsed])
        return rule_sets.to_ebnf(rules)

    def to_compiler_grammar(self) -> CompilerGrammar:
        """The grammar as terminals and productions, which is what is compiled.

        Raises:
            GrammarError: it matches no text, or exceeds a limit.
        """
        from psc.compiler.expressions import RuleSet
        from psc.compiler.lowering import lower

        return lower(self._parsed) if isinstance(self._parsed, RuleSet) else self._parsed

    @staticmethod
    def from_metadata(metadata: Mapping[str, Any]) -> Grammar:
        """The grammar that an artifact's metadata (``metadata["grammar"]``) describe. Raises GrammarError."""
        source, root = metadata["text"], metadata["start"]
        if metadata["language"] == "ebnf":
            return Grammar.from_ebnf(source, root_rule_name=root, source_name=metadata["name"])
        if metadata["language"] == "regex":
            return Grammar.from_regex(source)
        return Grammar.from_lark(
            source,
            start=root,
            lexer=metadata["lexer"],
            keep_all_actions=metadata["keep_all_actions"],
            source_name=metadata["name"],
        )

    def serialize_json(self) -> str:
        """The grammar as JSON, for ``deserialize_json``: its text and its options."""
        content = {
            "language": self.language,
            "source": self.source,
            "root": self.root,
            "lexer": self.lexer,
            "keep_all_actions": self.keep_all_actions,
        }
        return write_document(_KIND, content)

    @staticmethod
    def deserialize_json(json_string: str) -> Grammar:
        """Rebuilds what ``serialize_json`` wrote; the result is equal to it.

        Raises:
            InvalidJSONError: it is not JSON.
            DeserializeVersionError: it was written in another version of the format, or by XGrammar.
            DeserializeFormatError: it is damaged, or describes something else.
            MissingExtraError: it is in Lark's language, and Lark is not installed.
        """
        document = read_document(json_string, _KIND)
        language = entry(document, "language", str, _WHAT)
        source = entry(document, "source", str, _WHAT)
        root = entry(document, "root", str, _WHAT)
        lexer = entry(document, "lexer", str, _WHAT)
        keep_all_actions = entry(document, "keep_all_actions", bool, _WHAT)
        try:
            if language == "lark":
                return Grammar.from_lark(source, start=root, lexer=lexer, keep_all_actions=keep_all_actions)
            if language == "ebnf":
                return Grammar.from_ebnf(source, root_rule_name=root)
            if language == "regex":
                return Grammar.from_regex(source)
        except GrammarError as e:
            raise DeserializeFormatError(f"{_WHAT}: {e}") from e
        raise DeserializeFormatError(f"{_WHAT}: there is no language {language!r}")


def _of_rules(language: Language, source: str, root: str, rules: RuleSet) -> Grammar:
    return Grammar(language, source, root, "any", True, rules)


def _combined(name: str, combine: Callable[[list[RuleSet]], RuleSet], grammars: tuple[Grammar, ...]) -> Grammar:
    from psc.compiler.expressions import RuleSet

    rule_sets = []
    for grammar in grammars:
        if not isinstance(grammar, Grammar):
            raise TypeError(f"{name} takes grammars, not {type(grammar).__name__}")
        if not isinstance(grammar._parsed, RuleSet):
            raise GrammarError(
                f"{name}: a Lark grammar cannot be combined with others. Its text is cut into lexemes by maximal munch, and the "
                "others' is not; write the combination in Lark's language, or all of it in EBNF"
            )
        rule_sets.append(grammar._parsed)
    combined = combine(rule_sets)
    return _of_rules("ebnf", combined.source, combined.root, combined)


def _check_text(text: object, what: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as e:
            line = text.count("\n", 0, e.start) + 1
            raise GrammarError(
                f"{what}: line {line} has U+{ord(text[e.start]):04X}, half of a surrogate pair, which is no character; "
                "write both halves"
            ) from None


def refuse_named_grammars(named_grammars: object) -> None:
    if named_grammars is not None and not isinstance(named_grammars, Mapping):
        raise TypeError(f"named_grammars must be a dictionary, not {type(named_grammars).__name__}")
    if named_grammars:
        raise GrammarError(
            f"named_grammars ({', '.join(map(str, named_grammars))}): references like @name are not in Lark's language, which psc "
            "reads; copy the rules into the grammar, or %import them"
        )
