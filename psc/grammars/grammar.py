"""Grammars as callers of the API hold them: text in one of the languages that psc reads, parsed and checked, not yet compiled.

EBNF, regular expressions and the built-in JSON grammar become rule sets over characters, and combine. Lark files keep Lark's
meaning, which is more than a language of characters: text is cut into lexemes by maximal munch before the rules see it. In a
union or a concatenation such a grammar is a part with a lexer of its own, which a compiler links with the others just in time.

Cost: parsing. EBNF and regex take about a millisecond for a page of text; a programming language in Lark's 25 ms, and 3 ms
where its tables are known, see ``psc.grammars.known_grammars``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex, Unpack

from psc.compiler.expressions.words import MANY_TRIGGERS, native_rules
from psc.compiler.frontends.front_end import UNNAMED, Imports, RefusedTextError, check_text
from psc.compiler.frontends.registry import combined, front_end
from psc.compiler.frontends.request import GrammarKey, GrammarRequest
from psc.errors import DeserializeFormatError, GrammarError
from psc.grammars import known_grammars
from psc.requests.ebnf_texts import ebnf_request
from psc.requests.json_schemas import Resolver, Schema, SchemaOptions, schema_request, takes_schema_options
from psc.requests.lark_texts import LarkDialect, lark_request
from psc.requests.other_kinds import looks_like
from psc.requests.structural_tag_request import structural_tag_request
from psc.support.arguments import check_type
from psc.support.readable import shortened
from psc.support.serialization import read_document, write_document

if TYPE_CHECKING:
    from psc.artifacts.store import Store
    from psc.compiler.cfg.grammar import Cfg, LarkLexer, LexerKind
    from psc.compiler.expressions.tokens import TokenNames
    from psc.compiler.frontends.parsed import ParsedGrammar
    from psc.compiler.frontends.tables import GrammarTables
    from psc.vocabulary.tokenizer_info import TokenizerInfo

_KIND = "grammar"
_WHAT = "serialized grammar"


@dataclass(frozen=True, eq=False)
class Grammar:
    """A grammar, immutable; made by the static methods. Two are equal if they have the same text, imports and options."""

    request: GrammarRequest
    """The text, its language, the options and where the text is from."""
    parsed: ParsedGrammar = field(repr=False)
    """What the language's front end made of the text."""

    @staticmethod
    def parse(request: GrammarRequest, *, store: Store | None = None, names: TokenNames | None = None) -> Grammar:
        """Reads text in any language that has a front end.

        Args:
            request: see ``GrammarRequest.of``.
            store: where the tables of a grammar that was read before may lie.
            names: of the vocabulary's tokens; None where it is not known yet.

        Raises:
            GrammarError: the text is malformed, an option does not fit its language, or there is no such language.
        """
        check_type("request", request, GrammarRequest)
        request.front_end.check(request.options, request.origin)
        try:
            return Grammar(request, known_grammars.find(request, store) or request.parse(names))
        except GrammarError as e:
            hint = looks_like(request.language, request.text)
            if hint is None:
                raise
            raise e.reworded(f"{e}; {hint}") from e

    @staticmethod
    def unread(request: GrammarRequest, names: TokenNames | None) -> Grammar:
        """The grammar of a text in which nothing is wrong, see ``FrontEnd.unread``; arguments as of :meth:`parse`."""
        return Grammar(request, request.front_end.unread(request.text, request.options, request.origin, names))

    @staticmethod
    def from_ebnf(ebnf_string: str, *, root_rule_name: str = "root", source_name: str = UNNAMED) -> Grammar:
        """Reads EBNF text, in the notation of XGrammar and llama.cpp (GBNF), in W3C's or in ISO's: see docs/ebnf.md.

        Args:
            ebnf_string: the grammar.
            root_rule_name: the rule that a whole text must match; the first one of a text in W3C's or ISO's notation without a rule
                `root`.
            source_name: the file it came from, for messages.

        Raises:
            GrammarError: the text is malformed, or a rule is missing.
        """
        ebnf_string = check_text(ebnf_string, "ebnf_string")
        return Grammar.parse(ebnf_request(ebnf_string, root=root_rule_name, origin=source_name))

    @staticmethod
    def from_regex(regex_string: str, *, print_converted_ebnf: bool = False) -> Grammar:
        """Reads a regular expression, which the whole text must match.

        Args:
            regex_string: the pattern.
            print_converted_ebnf: whether to print the grammar that it becomes.

        Raises:
            GrammarError: the pattern is malformed, or uses what no automaton can do (lookaround, backreferences).
        """
        regex_string = check_text(regex_string, "regex_string")
        grammar = Grammar.parse(GrammarRequest.of("regex", regex_string))
        if print_converted_ebnf:
            print(f"Converted EBNF: {grammar}")
        return grammar

    @staticmethod
    def from_lark(
        lark_string: str,
        *,
        tokenizer_info: TokenizerInfo | None = None,
        named_grammars: Mapping[str, Grammar | str] | None = None,
        dialect: LarkDialect | None = None,
        start: str = "start",
        lexer: LarkLexer | None = None,
        keep_all_actions: bool = False,
        indenter: object = None,
        refuse_conflicts: bool = False,
        source_name: str = UNNAMED,
    ) -> Grammar:
        """Reads a grammar in Lark's language, with Lark's meaning, or in llguidance's dialect of it, see docs/llguidance.md.

        Args:
            lark_string: the grammar.
            tokenizer_info: the vocabulary, in which the tokens that the dialect names are looked up now rather than when compiled.
            named_grammars: the grammars that the dialect refers to as ``@name``, and texts in the dialect that may do so too.
            dialect: what the text is in: "lark" or "llguidance"; None: the dialect, if there are named grammars, the text has
                anything that only the dialect has, or Lark cannot read it.
            start: the rule that a whole text must match.
            lexer: "contextual", Lark's default with LALR, tries the terminals that the parser can take; "basic" tries all; "modal"
                tries some only where the parser can take them; "flush" and "flush-modal" are "basic" and "modal" for texts that do
                not begin with what is ignored, see docs/language.md. None is what the text's first line says, or "contextual".
            keep_all_actions: take any context-free grammar, where Lark would refuse it or let a shift win over a reduction.
            indenter: what Lark's ``postlex=`` has, where that is an ``Indenter``: a subclass of ``lark.indenter.Indenter``, an
                instance, a dict of its attributes, or True for those of Lark's ``PythonIndenter``; see docs/indenter.md.
            refuse_conflicts: raise where a shift wins over a reduction, as ``Lark(strict=True)`` does, rather than warn when the
                grammar is compiled.
            source_name: the file it came from, for relative imports and messages.

        Raises:
            GrammarError: it is in neither of the two, and the message says why not; or it has conflicts that are to be refused.
        """
        lark_string = check_text(lark_string, "lark_string")
        request = lark_request(
            lark_string,
            named_requests(named_grammars),
            dialect=dialect,
            start=start,
            lexer=lexer,
            keep_all_actions=keep_all_actions,
            indenter=indenter,
            origin=source_name,
        )
        from psc.compiler.expressions.tokens import TokenNames

        names = None if tokenizer_info is None else TokenNames(tokenizer_info)
        try:
            grammar = Grammar.parse(request, names=names)
        except RefusedTextError as e:
            if dialect is not None:
                raise
            return read_instead(request, e, names)
        if refuse_conflicts:
            grammar.require_no_conflicts()
        return grammar

    @staticmethod
    @takes_schema_options
    def from_json_schema(
        schema: Schema,
        *,
        print_converted_ebnf: bool = False,
        resolver: Resolver | None = None,
        source_name: str = UNNAMED,
        **options: Unpack[SchemaOptions],
    ) -> Grammar:
        """Reads a JSON schema, of draft 4 to 2020-12 by its ``$schema``, else 2020-12; see docs/json-schema.md.

        The grammar has a spelling of every value that is valid, and of no other.

        Args:
            schema: JSON text, a dictionary, or a pydantic model.
            print_converted_ebnf: whether to print the grammar that it becomes.
            resolver: gives a schema by its absolute URI, for references to others; psc fetches nothing.
            source_name: the file it came from, for messages.
            options: how the schema is meant and its values are written; docs/json-schema.md and ``SchemaOptions`` explain them.

        Raises:
            GrammarError: not JSON, not a schema, true of no value, or something in it cannot be enforced; the message has the place
                as a JSON pointer, and the keyword.
            ResourceLimitError: a GrammarError, names a limit that is exceeded.
            TypeError: the schema is none of these.
        """
        request = schema_request(schema, resolver=resolver, origin=source_name, **options)
        grammar = Grammar.parse(request)
        grammar.parsed.require_texts()  # which raises where no value is valid
        if print_converted_ebnf:
            print(f"Converted EBNF: {grammar}")
        return grammar

    @staticmethod
    def from_structural_tag(
        structural_tag: object,
        triggers: Sequence[str] | None = None,
        *,
        tokenizer_info: TokenizerInfo | None = None,
        source_name: str = UNNAMED,
    ) -> Grammar:
        """Reads a structural tag: a JSON document that says what a model's output looks like; see docs/structural-tags.md.

        Args:
            structural_tag: a ``StructuralTag``, a dictionary or JSON text; with triggers, ``StructuralTagItem`` of the older form.
            triggers: of the older form.
            tokenizer_info: the vocabulary, in which tokens that are given by their text are looked up.
            source_name: the file it came from, for messages.

        Raises:
            InvalidStructuralTagError: the document has another shape, with the path of what is wrong; or a token is given by its
                text and there is no vocabulary, or none of it has that text.
            InvalidJSONError: it is text, and not JSON.
            GrammarError: a schema, a grammar or a regular expression in it cannot be read.
            TypeError: it is of none of these types.
        """
        request = structural_tag_request(structural_tag, triggers, origin=source_name)
        if tokenizer_info is None:
            return Grammar.parse(request)
        from psc.compiler.expressions.tokens import TokenNames

        return Grammar.parse(request, names=TokenNames(tokenizer_info))

    @staticmethod
    def builtin_json_grammar() -> Grammar:
        """JSON as RFC 8259 has it: an object or an array, with any white space inside and none around it.

        It is the bundled grammar ``json``: what ``psc compile json`` and ``psc batch`` compile is what is looked up for it.
        """
        from psc.compiler.frontends.lookup import find_grammar

        return Grammar.parse(find_grammar("json").request())

    @staticmethod
    def concat(*grammars: Grammar) -> Grammar:
        """A text of each grammar, one after the other.

        Raises:
            GrammarError: there is no grammar.
        """
        return _combined("concat", grammars)

    @staticmethod
    def union(*grammars: Grammar) -> Grammar:
        """The texts of any of the grammars.

        Raises:
            GrammarError: there is no grammar.
        """
        return _combined("union", grammars)

    @property
    def reads_names(self) -> bool:
        """Whether it names tokens, so that what it comes to depends on the vocabulary's tokens themselves."""
        return self.parsed.reads_names

    @property
    def counts_tokens(self) -> bool:
        """Whether it says how many tokens some text may have at most, so that only matchers of its compiled form know its texts."""
        return self.parsed.counts_tokens

    def for_vocabulary(self, tokenizer_info: TokenizerInfo) -> Grammar:
        """The grammar as it is for a vocabulary: itself, unless it names tokens.

        Args:
            tokenizer_info: the vocabulary.

        Raises:
            GrammarError: it names a token that the vocabulary has not.
        """
        if self.parsed.is_for(tokenizer_info):
            return self
        from psc.compiler.expressions.tokens import TokenNames

        return Grammar.parse(self.request, names=TokenNames(tokenizer_info))

    @property
    def language(self) -> str:
        """What the text is written in: ``"lark"``, ``"ebnf"``, ``"regex"``, or another front end's."""
        return self.request.language

    @property
    def source(self) -> str:
        """The text as it was given, in ``language``."""
        return self.request.text

    @property
    def origin(self) -> str:
        """Where the text is from, for messages."""
        return self.parsed.source_name

    @property
    def root(self) -> str:
        """The rule that a whole text must match."""
        return self.request.options.start

    @property
    def lexer(self) -> LexerKind:
        """How text becomes terminals, see docs/language.md."""
        return self.request.options.lexer

    @property
    def keep_all_actions(self) -> bool:
        """Whether any context-free grammar is taken as it is, or clashes are resolved as Lark does."""
        return self.request.options.keep_all_actions

    @property
    def imports(self) -> Imports:
        """(name relative to the grammar's folder, sha256 of the text) of every file that the grammar imports.

        Of a structural tag: of every bundled grammar that it names.
        """
        return self.parsed.imports

    @property
    def key(self) -> GrammarKey:
        """The grammar's part of the key of its artifacts."""
        return self.request.key_with(self.imports)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grammar):
            return NotImplemented
        mine, theirs = self.request, other.request
        same_text = (mine.language, mine.text, mine.options) == (theirs.language, theirs.text, theirs.options)
        return same_text and self.imports == other.imports

    def __hash__(self) -> int:
        return hash((self.request.language, self.request.text, self.request.options))

    def __repr__(self) -> str:
        text = shortened(self.source, 60) if isinstance(self.source, str) else "…"
        return f"Grammar({self.language}, {self.origin!r}, root={self.root!r}, {text!r})"

    def __str__(self) -> str:
        """EBNF text that ``from_ebnf`` reads as the same language.

        For one with a lexer (Lark's), or made of such, for a structural tag that counts tokens, and for a schema with items that
        must differ: its own text.
        """
        text = self.parsed.ebnf()
        return self.source if text is None else text

    def to_cfg(self) -> Cfg:
        """The grammar as terminals and productions, which is what is compiled.

        Raises:
            GrammarError: it matches no text, exceeds a limit, or counts tokens; or productions cannot say all of it, as where
                more than eight members come in any order, or free text has hundreds of triggers.
        """
        self.parsed.require_productions()
        rules = self.parsed.linked_rules
        if rules is not None and native_rules(rules.rules, rules.root).has_searches:
            raise GrammarError(f"{self.origin}: {MANY_TRIGGERS}")
        return self.parsed.cfg

    def tables(self, *, store: Store | None = None) -> GrammarTables:
        """The tables that the grammar has for any vocabulary, in which nothing need be made yet.

        Args:
            store: where they are stored, where the grammar's language is one that takes long to parse.

        Raises:
            GrammarError: it matches no text, or exceeds a limit.
        """
        if self.request.front_end.keeps_tables and not self.parsed.has_tables:
            known_grammars.remember(self.request, self.parsed, store)
        return self.parsed.tables()

    def machine_tables(self, *, store: Store | None = None) -> GrammarTables:
        """The same for a machine that is built as it is visited, where they may be smaller; arguments and errors as of `tables`."""
        return self.tables(store=store) if self.request.front_end.keeps_tables else self.parsed.machine_tables()

    def require_no_conflicts(self) -> None:
        """Raises GrammarError where shift/reduce conflicts are decided for the shift, unless the grammar is a bundled one."""
        conflicts = self.tables().conflicts
        if conflicts is not None:
            raise GrammarError(f"{self.origin}: {conflicts}").with_position(path=self.origin)

    def artifact_tables(self) -> GrammarTables:
        """The same for an artifact, which holds one grammar. Raises GrammarError as ``to_cfg``."""
        self.parsed.require_productions()
        return self.tables()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        if not self.parsed.can_be_pickled:
            return Grammar.parse, (self.request,)
        return super().__reduce_ex__(protocol)

    @staticmethod
    def from_metadata(metadata: Mapping[str, Any], tokenizer_info: TokenizerInfo | None = None) -> Grammar:
        """The grammar that an artifact's metadata (``metadata["grammar"]``) describe.

        Args:
            metadata: the description.
            tokenizer_info: the vocabulary, which a text that names tokens may need to be read.

        Raises:
            GrammarError: the text cannot be read.
        """
        request = GrammarRequest.of_json(metadata, origin=metadata["name"])
        return Grammar.parse(request, names=None if tokenizer_info is None else request.names_of(tokenizer_info))

    def serialize_json(self) -> str:
        """The grammar as JSON, for ``deserialize_json``: its text and its options."""
        return write_document(_KIND, self.request.to_json())

    @staticmethod
    def deserialize_json(json_string: str) -> Grammar:
        """Rebuilds what ``serialize_json`` wrote; the result is equal to it.

        Raises:
            InvalidJSONError: it is not JSON.
            DeserializeVersionError: it was written in another version of the format, or by XGrammar.
            DeserializeFormatError: it is damaged, or describes something else.
        """
        return deserialized(json_string)


def deserialized(json_string: str, tokenizer_info: TokenizerInfo | None = None) -> Grammar:
    """As ``Grammar.deserialize_json``, for a vocabulary, which a text that names tokens may need to be read."""
    document = read_document(json_string, _KIND)
    try:
        request = GrammarRequest.of_json(document, _WHAT)
        return Grammar.parse(request, names=None if tokenizer_info is None else request.names_of(tokenizer_info))
    except GrammarError as e:
        raise DeserializeFormatError(f"{_WHAT}: {e}") from e


def read_instead(request: GrammarRequest, refused: RefusedTextError, names: TokenNames | None) -> Grammar:
    """The text of a request in the other language, for one that its own language refuses. Raises GrammarError: neither has it."""
    from psc.compiler.frontends.parsed import parsed_grammar

    if isinstance(refused.instead, GrammarError):  # nothing in the text is of the other language alone
        raise refused.refused from None
    try:
        other = GrammarRequest.of(refused.language, request.text, start=request.options.start, origin=request.origin)
        grammar = Grammar(other, parsed_grammar(refused.instead, names))
        grammar.parsed.require_texts()
        return grammar
    except GrammarError as e:
        if e.line is not None and e.line == refused.line:  # both say the same
            raise refused.refused from None
        raise refused.reworded(f"{refused.refused}\nIt is not in {front_end(refused.language).title} either: {e}") from e


def _combined(kind: str, grammars: tuple[Grammar, ...]) -> Grammar:
    for grammar in grammars:
        if not isinstance(grammar, Grammar):
            raise TypeError(f"{kind} takes grammars, not {type(grammar).__name__}")
    return Grammar(*combined(kind, [grammar.request for grammar in grammars], [grammar.parsed for grammar in grammars]))


def named_requests(named_grammars: object) -> dict[str, str | GrammarRequest]:
    """What ``named_grammars`` stands for. Raises TypeError unless it is None, or a dictionary of grammars and texts."""
    if named_grammars is None:
        return {}
    if not isinstance(named_grammars, Mapping):
        raise TypeError(f"named_grammars must be a dictionary, not {type(named_grammars).__name__}")
    requests: dict[str, str | GrammarRequest] = {}
    for name, grammar in named_grammars.items():
        if not isinstance(name, str):
            raise TypeError(f"named_grammars: names must be strings, not {type(name).__name__}")
        if not isinstance(grammar, (Grammar, str)):
            raise TypeError(f"named_grammars: values must be Grammar instances or Lark strings, not {type(grammar).__name__}")
        requests[name] = grammar if isinstance(grammar, str) else grammar.request
    return requests
