"""Lark grammar files: text to :class:`~psc.compiler.grammar.Grammar`, through Lark's own loader.

Lark parses the file, resolves imports and templates and expands EBNF, so a grammar means here what it means to Lark. Its parser
and its tables are not built: those are ours.

Cost: dominated by Lark's grammar loader, about 0.1 s for a programming language.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal as OneOf

from lark.exceptions import LarkError
from lark.grammar import NonTerminal, Rule
from lark.grammar import Terminal as LarkTerminal
from lark.lexer import PatternStr, TerminalDef
from lark.load_grammar import Grammar as LarkGrammar
from lark.load_grammar import load_grammar

from psc.compiler.expressions import Expression
from psc.compiler.frontends.lark.imports import import_name
from psc.compiler.grammar import Grammar, Production, Terminal
from psc.compiler.normal_form import normal_form
from psc.compiler.terminal_regex import literal_expression, pattern_expression
from psc.errors import GrammarError

LarkLexer = OneOf["contextual", "basic"]


def load_lark_file(
    path: str | Path, *, start: str = "start", lexer: LarkLexer = "contextual", keep_all_actions: bool = False
) -> Grammar:
    """Reads a ``.lark`` file. Raises :class:`GrammarError` with Lark's message, and the file, when it does not load."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as e:
        raise GrammarError(f"{path}: cannot read the grammar: {e.strerror or e}") from e
    except UnicodeDecodeError as e:
        raise GrammarError(f"{path}: the grammar is not UTF-8 text (byte {e.start})") from e
    return load_lark(text, source_name=str(path), start=start, lexer=lexer, keep_all_actions=keep_all_actions)


def load_lark(
    text: str,
    *,
    source_name: str = "<string>",
    start: str = "start",
    lexer: LarkLexer = "contextual",
    keep_all_actions: bool = False,
) -> Grammar:
    """Reads grammar text in Lark's language.

    Args:
        text: the grammar.
        source_name: its file, so that relative imports are found, or a label for messages.
        start: the rule that a whole text must match.
        lexer: "contextual", Lark's default with LALR, tries the terminals that the parser can take at a place; "basic" tries all.
        keep_all_actions: keep every LR action, so that any context-free grammar is taken, instead of resolving conflicts as Lark
            does. The productions are then brought into the form of :func:`~psc.compiler.normal_form.normal_form`.

    Raises:
        GrammarError: Lark refuses the grammar, or it uses ``%declare``.
    """
    try:
        lark_grammar, used_files = load_grammar(text, source_name, [], False)  # type: ignore[no-untyped-call]
        _refuse_declared(lark_grammar, text, source_name)
        if not any(name == start and not params for name, params, _tree, _options in lark_grammar.rule_defs):
            rules = ", ".join(sorted(r[0] for r in lark_grammar.rule_defs if not r[1])[:8])
            raise GrammarError(f"{source_name}: there is no rule {start!r} to start from; the rules are {rules}, …")
        terminals, rules, ignored = lark_grammar.compile([start], ())
    except (LarkError, OSError, ValueError, AssertionError, RecursionError) as e:
        raise GrammarError(f"{source_name}: Lark cannot load this grammar: {_one_message(e)}") from e
    grammar = _convert(text, source_name, start, used_files, terminals, rules, frozenset(ignored))
    grammar = replace(grammar, lexer=lexer, keep_all_actions=keep_all_actions)
    return normal_form(grammar) if keep_all_actions else grammar


def _one_message(error: BaseException) -> str:
    message = str(error).strip()
    return message or type(error).__name__


def _refuse_declared(grammar: LarkGrammar, text: str, source_name: str) -> None:
    declared = [name for name, (tree, _priority) in grammar.term_defs if tree is None]
    if declared:
        line = next((i for i, t in enumerate(text.splitlines(), 1) if t.lstrip().startswith("%declare")), None)
        place = f"{source_name}:{line}" if line else source_name
        raise GrammarError(
            f"{place}: %declare'd terminals have no text of their own ({', '.join(declared)}); they need a lexer callback in "
            "Python, which a decoding mask cannot run. Define them as regular expressions instead."
        )


def _convert(
    text: str,
    source_name: str,
    start: str,
    used_files: dict[object, str],
    terminal_defs: list[TerminalDef],
    rules: list[Rule],
    ignored: frozenset[str],
) -> Grammar:
    lines = _definition_lines(text)
    rank = {t.name: i for i, t in enumerate(sorted(terminal_defs, key=_precedence))}
    lark_order = {t.name: i for i, t in enumerate(sorted(terminal_defs, key=_lark_order))}
    patterns = [_with_flags_sorted(t.pattern.to_regexp()) for t in terminal_defs]
    terminals = tuple(
        Terminal(
            name=t.name,
            pattern=pattern,
            text=t.pattern.value if isinstance(t.pattern, PatternStr) else None,
            flags=frozenset(t.pattern.flags),
            priority=t.priority,
            lark_order=lark_order[t.name],
            rank=rank[t.name],
            ignored=t.name in ignored,
            line=lines.get(t.name) or _line_of_pattern(text, t),
            expression=_expression(t, pattern),
        )
        for t, pattern in zip(terminal_defs, patterns, strict=True)
    )
    number = {t.name: i for i, t in enumerate(terminals)}
    nonterminals = tuple(dict.fromkeys(str(r.origin.name) for r in rules))
    first = len(terminals) + 1
    nonterminal_number = {name: first + i for i, name in enumerate(nonterminals)}

    def symbol(s: object) -> int:
        if isinstance(s, LarkTerminal):
            return number[s.name]
        assert isinstance(s, NonTerminal)
        return nonterminal_number[s.name]

    productions = tuple(Production(symbol(r.origin), tuple(symbol(s) for s in r.expansion), r.options.priority or 0) for r in rules)
    imports = tuple(sorted((import_name(k, source_name), v) for k, v in used_files.items()))
    return Grammar(
        source=text,
        source_name=source_name,
        imports=imports,
        start=start,
        terminals=terminals,
        nonterminals=nonterminals,
        productions=productions,
    )


def _expression(t: TerminalDef, pattern: str) -> Expression | None:
    if isinstance(t.pattern, PatternStr):
        return literal_expression(t.pattern.value, ignoring_case="i" in t.pattern.flags)
    return pattern_expression(pattern)


def _lark_order(t: TerminalDef) -> tuple[int, int, int, str]:
    """The order in which Lark's lexer tries terminals."""
    return (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name)


def _precedence(t: TerminalDef) -> tuple[int, bool, int, int, str]:
    """Which of several terminals that match a lexeme wins: priority, a string before a regex, and else as Lark orders them."""
    priority, *rest = _lark_order(t)
    return (priority, not isinstance(t.pattern, PatternStr), *rest)  # type: ignore[return-value]


_FLAG_GROUPS = re.compile(r"(?<!\\)(?:\(\?[a-z]:){2,}")


def _with_flags_sorted(pattern: str) -> str:
    """Lark nests flag groups, `(?i:(?s:…))`, in the order of a set, which differs from process to process."""
    return _FLAG_GROUPS.sub(lambda m: "".join(sorted(re.findall(r"\(\?[a-z]:", m.group()))), pattern)


_DEFINITION = re.compile(r"^\s*(?:%(?:override|extend)\s+)?(_?[A-Z][A-Z0-9_]*)\s*(?:\.\s*[-+]?\d+)?\s*:", re.M)


def _definition_lines(text: str) -> dict[str, int]:
    return {m.group(1): text.count("\n", 0, m.start(1)) + 1 for m in _DEFINITION.finditer(text)}


def _line_of_pattern(text: str, t: TerminalDef) -> int | None:
    """The line where an anonymous terminal's text first stands."""
    raw = t.pattern.raw or t.pattern.value
    at = text.find(raw)
    return None if at < 0 else text.count("\n", 0, at) + 1
