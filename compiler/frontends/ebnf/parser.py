"""EBNF tokens to rules of expressions: ``name ::= body``, one rule after the other.

A body is read with an explicit stack of open groups, so nesting costs no Python stack. A rule ends where the next ``name ::=``
begins, which must begin its line. A lookahead ``(= …)`` at the end of a rule is XGrammar's hint about what follows the rule; it is
read, checked, and does not change the language.

Cost: about 1 us a token.
"""

from __future__ import annotations

from collections.abc import Mapping

from psc._core import stop_if_cancelled
from psc.compiler.expressions.expression import Expression, Literal, RuleSet
from psc.compiler.expressions.regular_rules import TextLimits, limited_rules
from psc.compiler.expressions.tokens import TokenNames
from psc.compiler.expressions.words import RulePrograms
from psc.compiler.frontends.ebnf.escapes import ANY_CHARACTER, EscapeError, class_expression, literal_expression
from psc.compiler.frontends.ebnf.lexer import Source, Token, refusal_of, tokens_of
from psc.compiler.frontends.ebnf.macros import MACROS, Macros, read_arguments
from psc.compiler.frontends.ebnf.options import read_options
from psc.compiler.frontends.ebnf.vocabulary_tokens import VocabularyTokens
from psc.compiler.frontends.front_end import no_start
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit
from psc.support.similar import similar

MAX_TEXT = limit("ebnf_characters")
"""Characters of a grammar text."""
MAX_NESTING = limit("ebnf_groups")
"""Groups within each other. Expressions are trees, and other parts of Python walk trees by recursion."""
MAX_REPEAT = limit("ebnf_count")
"""The largest bound of a repetition."""
MAX_REPEATS = limit("ebnf_repetitions")
"""Repetitions right behind each other, as in ``x*?``."""

_REPEATS = frozenset(("*", "+", "?", "repeat"))
_SIMPLE_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def load_ebnf(text: str, *, source_name: str = "<string>", root: str = "root", names: TokenNames | None = None) -> RuleSet:
    """Reads grammar text in the EBNF of XGrammar and llama.cpp.

    Args:
        text: the grammar.
        source_name: its file or a label, for messages.
        root: the rule that a whole text must match.
        names: of the vocabulary's tokens; None where it is not known yet.

    Raises:
        GrammarError: the text is not a grammar, or uses what only a serving engine can do; the message has the place.
    """
    if len(text) > MAX_TEXT:
        raise ResourceLimitError(f"{source_name}: the grammar has {len(text):,} characters; the limit is {MAX_TEXT:,}")
    source = Source(text, source_name)
    tokens = tokens_of(text, source)
    options = {tokens[i - 1][1]: token for i, token in enumerate(tokens) if token[0] == "options"}
    if options:
        tokens = [token for token in tokens if token[0] != "options"]
    heads = [i - 1 for i, token in enumerate(tokens) if token[0] == "assign"]
    check_heads(tokens, heads, source)
    first_seen = defined_once([tokens[i] for i in heads], source)
    rules = RulePrograms(first_seen)
    macros = Macros(source, frozenset(first_seen), VocabularyTokens(names, source))
    body = _Body(source, rules, macros)
    for i, end in zip(heads, [*heads[1:], len(tokens)], strict=False):
        body.parse(tokens, i + 2, end)
        rules.finish()
    if root not in rules:
        raise GrammarError(f"{source_name}: {no_start(root, list(rules))}").with_position(path=source_name)
    read = {name: read_options(token, source, name, first_seen, body.literal) for name, token in options.items()}
    limits = {name: limit for name, (limit, _) in read.items()}
    marks = {name: mark for name, (_, mark) in read.items() if mark}
    limited = _limited(rules, limits, source, first_seen) if any(limits.values()) else rules
    lines = source.lines(first_seen)
    return RuleSet(limited, root, text, source_name, lines, reads_names=macros.tokens.were_named, marks=marks)


def check_heads(tokens: list[Token], heads: list[int], source: Source) -> None:
    """Raises GrammarError where a ``::=`` has no name before it that begins its line; `heads` are where those names should be."""
    if tokens and (not heads or heads[0] > 0):
        raise source.error(tokens[0][2], "expected a rule: name ::= …")
    for i in heads:
        stop_if_cancelled()
        if i < 0 or tokens[i][0] != "name":
            raise source.error(tokens[i + 1][2], "::= must follow the name of a rule")
        offset = tokens[i][2]
        if not source.begins_line(offset):
            raise source.error(offset, f"rule {tokens[i][1]!r} must begin on a line of its own")


def defined_once(names: list[Token], source: Source) -> dict[str, int]:
    """Where each name is defined. Raises GrammarError for one that is twice."""
    offsets: dict[str, int] = {}
    for _, name, offset in names:
        if name in offsets:
            line = source.line(offsets[name])
            raise source.error(offset, f"rule {name!r} is defined twice, first in line {line}; join the two with | or rename one")
        offsets[name] = offset
    return offsets


def _limited(
    rules: RulePrograms, limits: Mapping[str, TextLimits], source: Source, offsets: Mapping[str, int]
) -> Mapping[str, Expression]:
    """The rules, with the limits that the options of some say."""
    try:
        return limited_rules(dict(rules), limits)
    except ResourceLimitError as e:
        raise source.limit(offsets[next(iter(limits))], str(e)) from e
    except GrammarError as e:
        raise source.error(offsets[next(iter(limits))], str(e)) from e


class _Body:
    """Parses rule bodies."""

    def __init__(self, source: Source, rules: RulePrograms, macros: Macros) -> None:
        self._source = source
        self._rules = rules
        self._macros = macros
        self._known = {name: rules.words_of_reference(name) for name in rules.names}
        """The words of a token that stands for an expression."""

    def parse(self, tokens: list[Token], start: int, end: int) -> None:
        """Writes the expression of ``tokens[start:end]``."""
        source, rules, known = self._source, self._rules, self._known
        options = parts = 0  # finished ones of the group at hand
        open_groups: list[tuple[int, int, int, str, int]] = []
        i = start
        while i < end:
            stop_if_cancelled()
            kind, text, offset = tokens[i]
            i += 1
            if text in known:
                rules.words += known[text]
                parts += 1
            elif kind == "literal" or kind == "class":
                before = len(rules.words)
                rules.write(self.literal(text, offset) if kind == "literal" else self._class(text, offset))
                known[text] = tuple(rules.words[before:])
                parts += 1
            elif kind == "name":
                if i < end and tokens[i][0] == "(" and text in MACROS:
                    arguments = read_arguments(tokens, i - 1, end, source, self.literal)
                    rules.write(self._macros.expression(arguments))
                    i = arguments.end
                    parts += 1
                else:
                    raise self._undefined(text, offset)
            elif kind == "token":
                before = len(rules.words)
                rules.write(self._macros.tokens.written(text, offset))
                known[text] = tuple(rules.words[before:])
                parts += 1
            elif kind == "|":
                rules.sequence(parts)
                options, parts = options + 1, 0
            elif kind == "(" or kind == "(=":
                if len(open_groups) >= MAX_NESTING:
                    raise source.limit(
                        offset, f"groups are nested deeper than {MAX_NESTING}, which is the limit; name inner groups as rules"
                    )
                open_groups.append((options, parts, offset, kind, len(rules.words)))
                options = parts = 0
            elif kind == ")":
                if not open_groups:
                    raise source.error(offset, 'this ) closes nothing; a parenthesis as text is ")"')
                rules.sequence(parts)
                rules.choice(options + 1)
                options, parts, opened_at, opened, written = open_groups.pop()
                if opened == "(":
                    parts += 1
                    continue
                del rules.words[written:]
                if open_groups or i < end:
                    raise source.error(opened_at, "a lookahead (= …) can only stand at the end of a rule")
            elif kind == ".":
                rules.write(ANY_CHARACTER)
                parts += 1
            elif kind == "unknown":
                raise source.error(offset, refusal_of(text))
            else:  # a repetition: ::= was seen to follow names only
                if not parts:
                    raise source.error(offset, f"there is nothing before {text} to repeat")
                if i - start > MAX_REPEATS and all([kind in _REPEATS for kind, _, _ in tokens[i - 1 - MAX_REPEATS : i - 1]]):
                    raise source.limit(offset, f"more than {MAX_REPEATS} repetitions of each other, which is the limit; write one")
                rules.repeat(*(_SIMPLE_REPEATS.get(text) or self._bounds(text, offset)))
        if open_groups:
            raise source.error(open_groups[-1][2], "this group has no closing )")
        rules.sequence(parts)
        rules.choice(options + 1)

    def _undefined(self, name: str, offset: int) -> GrammarError:
        close = similar(name, self._rules.names)
        hint = f"did you mean {close[0]!r}?" if close else "define it, or put text into double quotes"
        if "." in name:
            hint += " (A . that stands for any character needs spaces around it.)"
        return self._source.error(offset, f"rule {name!r} is not defined; {hint}")

    def literal(self, text: str, offset: int) -> Literal:
        """What a quoted text stands for. Raises GrammarError."""
        try:
            return literal_expression(text[1:-1])
        except EscapeError as e:
            raise self._source.error(offset + 1 + e.offset, str(e)) from None

    def _class(self, text: str, offset: int) -> Expression:
        try:
            return class_expression(text[1:-1])
        except EscapeError as e:
            raise self._source.error(offset + 1 + e.offset, str(e)) from None

    def _bounds(self, text: str, offset: int) -> tuple[int, int | None]:
        low, comma, high = [part.strip() for part in text[1:-1].partition(",")]
        if max(len(low), len(high)) > 18 or max(int(low), int(high or 0)) > MAX_REPEAT:
            raise self._source.limit(offset, f"the limit of a repetition is {MAX_REPEAT:,}; leave the bound open, as {{3,}}")
        least = int(low)
        if not comma:
            return least, least
        if high in ("", "-1"):  # XGrammar prints an open bound as -1
            return least, None
        most = int(high)
        if most < least:
            raise self._source.error(offset, f"the repetition {text} has its lower bound above its upper bound; swap them")
        return least, most
