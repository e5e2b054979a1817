"""Lark grammar files: text to :class:`~psc.compiler.cfg.grammar.Cfg`.

    syntax.py              text to trees; text with errors is Lark's to read
    building.py            trees, and those of imports, to definitions, by Lark
    definitions.py         limits, and terminals kept apart
    terminal_patterns.py   trees of terminals to strings and regexes
    names.py               literals and uses of templates in rules to names
    templates.py           uses of templates to rules
    expansion.py           groups, options and repetitions to productions

Everything is done in Lark's way, name by name, so that a grammar means here what it means to Lark; but sizes are known before
anything is written out, and text from strangers cannot make the loader hang.

Cost: 25 ms for a programming language, where Lark's loader takes 0.1 s and more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from lark.exceptions import LarkError, VisitError
from lark.lexer import PatternStr, TerminalDef

from psc._core import stop_if_cancelled
from psc.compiler.cfg.grammar import Cfg, LexerKind, Production, Terminal
from psc.compiler.cfg.normal_form import normal_form, without_unproductive
from psc.compiler.cfg.terminals import empty_lexeme
from psc.compiler.frontends.front_end import no_start
from psc.compiler.frontends.lark.definitions import Definitions, read_definitions
from psc.compiler.frontends.lark.expansion import ExpandedRule, RuleExpander
from psc.compiler.frontends.lark.first_line import said
from psc.compiler.frontends.lark.imports import import_name
from psc.compiler.frontends.lark.indenter import with_indenter
from psc.compiler.frontends.lark.indenter_settings import IndenterSettings
from psc.compiler.frontends.lark.names import RuleNames
from psc.compiler.frontends.lark.places import Places
from psc.compiler.frontends.lark.templates import Templates
from psc.compiler.frontends.lark.terminal_patterns import check_widths, terminal_patterns
from psc.compiler.frontends.lark.wording import TEXT_ERRORS, in_words
from psc.errors import GrammarError, ResourceLimitError
from psc.support.line_numbers import LineNumbers

_MAX_NAMES = 6


def load_lark(
    text: str,
    *,
    source_name: str = "<string>",
    start: str = "start",
    lexer: LexerKind = "contextual",
    keep_all_actions: bool = False,
    indenter: IndenterSettings | None = None,
) -> Cfg:
    """Reads grammar text in Lark's language.

    Args:
        text: the grammar.
        source_name: its `FileOrigin`, so that relative imports are found, or a label for messages.
        start: the rule that a whole text must match.
        lexer: "contextual", Lark's default with LALR, tries the terminals that the parser can take at a place; "basic" tries all;
            "modal" tries some only where the parser can take them; "flush" and "flush-modal" are "basic" and "modal" for texts that
            do not begin with what is ignored.
        keep_all_actions: keep every LR action, so that any context-free grammar is taken, instead of resolving conflicts as Lark
            does. The productions are then brought into the form of :func:`~psc.compiler.cfg.normal_form.normal_form`.
        indenter: what Lark's `Indenter` does between lexer and parser, see `psc.compiler.frontends.lark.indenter`; every action is
            kept then.

    Raises:
        GrammarError: Lark or its lexer refuses the grammar, or it uses ``%declare`` beyond an indenter's terminals.
        ResourceLimitError: the grammar is too large, or would be when Lark's short forms are written out.
    """
    places = Places(text, source_name)
    place = places.of
    try:
        definitions = read_definitions(text, source_name)
        made = set() if indenter is None else {indenter.INDENT_type, indenter.DEDENT_type}
        if undeclared := [name for name in definitions.declared if name not in made]:
            raise _declared(undeclared, indenter, places)
        if not any(r.name == start and not r.parameters for r in definitions.rules):
            raise GrammarError(f"{source_name}: {no_start(start, [r.name for r in definitions.rules if not r.parameters])}")
        terminals = terminal_patterns(definitions, places)
        if indenter is not None:
            _check_indenter(indenter, definitions, source_name)
        terminals += [TerminalDef(name, PatternStr(name)) for name in definitions.declared]  # what the indenter makes
        productions = _productions(definitions, terminals, place, compact=keep_all_actions and indenter is None)
        used = _used(productions, start, place)
        grammar = _convert(text, source_name, start, definitions, terminals, used, places, indenter)
    except GrammarError as e:
        raise places.positioned(e) from e.__cause__
    except VisitError as e:
        if isinstance(e.orig_exc, GrammarError):
            raise places.positioned(e.orig_exc) from None
        if not isinstance(e.orig_exc, TEXT_ERRORS):
            raise e.orig_exc from None
        raise in_words(e.orig_exc, places) from e
    except RecursionError as e:
        raise ResourceLimitError(f"{source_name}: the grammar is nested too deep for Python's stack; name inner groups") from e
    except (LarkError, ValueError, AssertionError) as e:
        raise in_words(e, places) from e
    grammar = finished(replace(grammar, lexer=lexer, keep_all_actions=keep_all_actions and indenter is None))
    patterns = {t.name: t.pattern for t in terminals}
    for terminal in grammar.terminals:  # Lark's lexer refuses these, too; a pattern's width is cheaper than its automaton
        if patterns[terminal.name].min_width == 0 and _matches_empty_text(terminal.pattern):
            raise empty_lexeme(grammar, terminal)
    return grammar if indenter is None else with_indenter(grammar, indenter)


def _matches_empty_text(pattern: str) -> bool:
    try:
        return re.fullmatch(pattern, "") is not None
    except (re.error, RecursionError, OverflowError):  # `\p{L}*`: the terminals' automaton says what is wrong
        return False


def finished(grammar: Cfg) -> Cfg:
    """A grammar as Lark expands it, without what can never finish; and in normal form where every action is kept."""
    grammar = without_unproductive(grammar)
    return normal_form(grammar) if grammar.keep_all_actions else grammar


def _declared(declared: Sequence[str], indenter: IndenterSettings | None, places: Places) -> GrammarError:
    names = ", ".join(declared[:_MAX_NAMES]) + (", …" if len(declared) > _MAX_NAMES else "")
    message = f"%declare'd terminals have no text of their own ({names}): Python code makes them, which a mask cannot run. "
    if indenter is not None:
        message += (
            f"The indenter makes {indenter.INDENT_type} and {indenter.DEDENT_type} alone. Define others as regular expressions."
        )
    elif any("INDENT" in name or "DEDENT" in name for name in declared):
        message += (
            "If Lark's Indenter makes them, say so with --indenter (indenter=…), which takes its attributes; else define them as "
            "regular expressions. Python's own layout is in the bundled grammar python."
        )
    else:
        message += "Define them as regular expressions instead."
    offset = places.directive("%declare")
    return GrammarError.at(places.source_name, message) if offset is None else places.at(offset, message)


def _check_indenter(indenter: IndenterSettings, definitions: Definitions, source_name: str) -> None:
    """Says which name of an indenter is none of the grammar's, or means something else there."""
    terminals = [d.name for d in definitions.terminals]
    if indenter.NL_type not in terminals:
        names = ", ".join(terminals[:_MAX_NAMES]) + (", …" if len(terminals) > _MAX_NAMES else "")
        raise GrammarError(
            f"{source_name}: the indenter's NL_type {indenter.NL_type} is no terminal of the grammar ({names}); name the one that "
            "matches line ends"
        )
    if indenter.NL_type in definitions.ignored:
        raise GrammarError(f"{source_name}: the indenter's NL_type {indenter.NL_type} is ignored, so the Indenter never sees one")
    for name in (indenter.INDENT_type, indenter.DEDENT_type):
        if name in terminals:
            raise GrammarError(f"{source_name}: the indenter makes {name}, which has a text in the grammar; %declare it instead")


def _productions(
    definitions: Definitions, terminals: list[TerminalDef], place: Callable[[str], str], *, compact: bool
) -> list[ExpandedRule]:
    """Every rule's productions; anonymous terminals are added to `terminals`."""
    rules = list(definitions.rules)
    names = RuleNames(terminals, Templates(rules, place).use)
    expander = RuleExpander(place, compact=compact)
    for rule in rules:  # grows when templates are used
        stop_if_cancelled()
        if rule.parameters:
            continue
        keep_all_tokens = bool(rule.options and rule.options.keep_all_tokens)
        priority = (rule.options.priority if rule.options else None) or 0
        rows = names.rows(rule.tree, keep_all_tokens=keep_all_tokens)
        if rows is not None:
            expander.add_rows(rule.name, rows, priority)
            continue
        parts = names.resolve(rule.tree, keep_all_tokens=keep_all_tokens)
        expander.add(rule.name, parts, priority, keep_all_tokens=keep_all_tokens)
    return expander.expanded()


def _used(productions: list[ExpandedRule], start: str, place: Callable[[str], str]) -> list[ExpandedRule]:
    """Without rules that no other rule uses, over and over, as Lark leaves them out; unused rules in a circle stay."""
    uses = Counter({start: 1})
    of: dict[str, list[ExpandedRule]] = {}
    for p in productions:
        stop_if_cancelled()
        of.setdefault(p.origin, []).append(p)
    used_by = {o: {s for p in rules for is_terminal, s in p.symbols if not is_terminal and s != o} for o, rules in of.items()}
    for origin, used in used_by.items():
        stop_if_cancelled()
        uses.update(used)
        if absent := sorted(used.difference(of)):  # `used - of.keys()` takes as long as there are rules
            raise GrammarError(f"{place(origin)}: rule {origin} uses the template {absent[0]} without arguments")
    unused = [origin for origin in of if not uses[origin]]
    for origin in unused:  # grows while it is read
        stop_if_cancelled()
        for other in used_by[origin]:
            uses[other] -= 1
            if not uses[other]:
                unused.append(other)
    return [p for p in productions if uses[p.origin]]


def _convert(
    text: str,
    source_name: str,
    start: str,
    definitions: Definitions,
    terminal_defs: list[TerminalDef],
    rules: list[ExpandedRule],
    places: Places,
    indenter: IndenterSettings | None = None,
) -> Cfg:
    ignored = frozenset(definitions.ignored)
    used = {name for r in rules for is_terminal, name in r.symbols if is_terminal} | ignored
    if indenter is not None:  # in brackets it may stand where no rule has it
        used.add(indenter.NL_type)
    terminal_defs = [t for t in terminal_defs if t.name in used]
    for t in terminal_defs:
        check_widths(t, places)
    numbers = LineNumbers(text)
    lines = {m[1]: numbers.of(m.start(1)) for m in _DEFINITION.finditer(text)}
    rank = {t.name: i for i, t in enumerate(sorted(terminal_defs, key=_precedence))}
    lark_order = {t.name: i for i, t in enumerate(sorted(terminal_defs, key=_lark_order))}
    in_ascii = {t.name for t in terminal_defs if "i" in t.pattern.flags} if _is_ascii_case(text, places) else set()
    patterns = [_with_flags_sorted(t.pattern.to_regexp()) for t in terminal_defs]
    terminals = tuple(
        Terminal(
            name=t.name,
            pattern=f"(?a:{pattern})" if t.name in in_ascii else pattern,
            text=t.pattern.value if isinstance(t.pattern, PatternStr) else None,
            flags=frozenset((*t.pattern.flags, "a") if t.name in in_ascii else t.pattern.flags),
            priority=t.priority,
            lark_order=lark_order[t.name],
            rank=rank[t.name],
            ignored=t.name in ignored,
            line=lines.get(t.name) or _line_of_pattern(text, numbers, t),
        )
        for t, pattern in zip(terminal_defs, patterns, strict=True)
    )
    number = {t.name: i for i, t in enumerate(terminals)}
    nonterminals = tuple(dict.fromkeys(r.origin for r in rules))
    first = len(terminals) + 1
    nonterminal_number = {name: first + i for i, name in enumerate(nonterminals)}
    productions = tuple(
        Production(
            nonterminal_number[r.origin],
            tuple([number[name] if is_terminal else nonterminal_number[name] for is_terminal, name in r.symbols]),
            r.priority,
        )
        for r in rules
    )
    imports = tuple(sorted((import_name(k, source_name), v) for k, v in definitions.used_files.items()))
    return Cfg(
        source=text,
        source_name=source_name,
        imports=imports,
        start=start,
        terminals=terminals,
        nonterminals=nonterminals,
        productions=productions,
    )


def _is_ascii_case(text: str, places: Places) -> bool:
    """Whether the flag `i` is of letters of ASCII; else `s` is the long s too, and `k` the Kelvin sign, as in Python's `re`."""
    settings = said(text)
    if unknown := settings.keys() - {"lexer", "case"}:
        raise places.at(0, f"the first line sets {min(unknown)!r}; a text may set lexer and case")
    if settings.get("case", "ascii") != "ascii":
        raise places.at(0, f"case={settings['case']!r} in the first line; there is only case=ascii")
    return "case" in settings


def _lark_order(t: TerminalDef) -> tuple[int, int, int, str]:
    """The order in which Lark's lexer tries terminals."""
    return (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name)


def _precedence(t: TerminalDef) -> tuple[int, bool, int, int, str]:
    """Which of several terminals that match a lexeme wins: priority, a string before a regex, and else as Lark orders them."""
    priority, *rest = _lark_order(t)
    return (priority, not isinstance(t.pattern, PatternStr), *rest)  # type: ignore[return-value]


_FLAG_GROUPS = re.compile(r"\((?<!\\\()\?[a-z]:(?:\(\?[a-z]:)+")  # begins with a character, so that it is searched for


def _with_flags_sorted(pattern: str) -> str:
    """Lark nests flag groups, `(?i:(?s:…))`, in the order of a set, which differs from process to process."""
    return _FLAG_GROUPS.sub(lambda m: "".join(sorted(re.findall(r"\(\?[a-z]:", m.group()))), pattern)


_DEFINITION = re.compile(r"^[ \t]*(?:%(?:override|extend)[ \t]+)?(_?[A-Z][A-Z0-9_]*)(?:[ \t]*\.[ \t]*[-+]?\d+)?[ \t]*:", re.M)


def _line_of_pattern(text: str, numbers: LineNumbers, t: TerminalDef) -> int | None:
    """The line where an anonymous terminal's text first stands."""
    stop_if_cancelled()
    raw = t.pattern.raw or t.pattern.value
    at = text.find(raw)
    return None if at < 0 else numbers.of(at)
