"""What is wrong with a text in Lark's language, in psc's words: position, cause, way out.

Lark's parser says which token it found and which it would have taken, by the names that its loader has for them (``_RPAR``); its
builder says a sentence without a position. Here a token is what an author sees, and a sentence gets its position from the names in
it.

Cost: paid by texts with errors alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from lark import utils
from lark.exceptions import LarkError, UnexpectedInput, UnexpectedToken

from psc.compiler.frontends.lark.places import Places
from psc.errors import GrammarError
from psc.support.readable import shortened
from psc.support.similar import similar

_REGEX: Final = vars(utils).get("regex")  # Lark reads with it where it is installed, and its errors are none of Python's
TEXT_ERRORS: Final[tuple[type[Exception], ...]] = (
    *(LarkError, re.error, AssertionError, ImportError, LookupError, TypeError, ValueError),
    *([] if _REGEX is None else [_REGEX.error]),
)
"""What Lark and the readers of regexes raise because of a text. MemoryError is none, and what a signal's handler raises."""

_TOKENS: Final[Mapping[str, str]] = {
    "_LPAR": '"("',
    "_RPAR": '")"',
    "_LBRA": '"["',
    "_RBRA": '"]"',
    "_LBRACE": '"{"',
    "_RBRACE": '"}"',
    "OP": '"?", "*" or "+"',
    "_COLON": '":"',
    "_COMMA": '","',
    "_OR": '"|"',
    "_NL_OR": '"|"',
    "_DOT": '"."',
    "_DOTDOT": '".."',
    "TILDE": '"~"',
    "RULE_MODIFIERS": '"?" or "!"',
    "RULE": "the name of a rule",
    "TERMINAL": "the name of a terminal",
    "STRING": "text in double quotes",
    "REGEXP": "a regular expression in slashes",
    "_NL": "the end of the line",
    "_TO": '"->"',
    "NUMBER": "a number",
    "$END": "the end of the text",
}
_ORDER: Final = list(_TOKENS)
_OPENED: Final = {"_RPAR": ("(", ")"), "_RBRA": ("[", "]"), "_RBRACE": ("{", "}")}
_CHARACTERS: Final[Mapping[str, str]] = {
    "'": 'text is written in double quotes: "…"',
    '"': 'this text has no closing " on its line; write a line break in it as \\n',
    "/": "this regular expression has no closing /; write a slash in it as \\/, and a comment with //",
    ";": "a rule ends with its line, without a semicolon",
    "=": "a rule is written name: …",
    "<": "put text into double quotes; tokens like <name> are those of llguidance's dialect, which begins with %llguidance {}",
    "@": "references like @name are those of llguidance's dialect, which begins with %llguidance {}",
    "&": "& is of llguidance's dialect, which begins with %llguidance {}",
    "%": "the directives are %import, %ignore, %declare, %override and %extend",
    "\\": "an escape stands within quotes or slashes",
    "-": 'an alias is written "-> name", at the end of an alternative',
}
_LIBRARY: Final = ("common", "lark", "python", "unicode")
_MAX_REGEXES: Final = 100
_MAX_UNDEFINED: Final = 100
_WORD: Final = re.compile(r"\w+")
_WORD_END: Final = re.compile(r"\w*\Z")
_ASSIGN: Final = re.compile(r"::?[ \t]*=")
_EBNF: Final = "a rule is written name: … here; with ::= the text is EBNF, which compile_grammar and .ebnf files take"
_QUOTES: Final = "put text into double quotes"
_JSON: Final = "the text looks like JSON: compile_json_schema and .json files take a schema"


def unexpected(error: UnexpectedInput, places: Places) -> GrammarError:
    """The error for what Lark's parser or lexer says of the text."""
    at = error.pos_in_stream
    at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    offset = len(places.text) if at is None or at < 0 or at_end else min(at, len(places.text))
    return cannot_be_read(offset, places, error)


def cannot_be_read(offset: int, places: Places, error: UnexpectedInput | None = None) -> GrammarError:
    """The error for a text that stops to be one at an offset."""
    text = places.text
    begin = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    if text.startswith(("{", "["), begin):
        return places.at(begin, _JSON)
    assign = text.rfind(":", 0, offset + 1)
    if assign >= 0 and _ASSIGN.match(text, assign - (text[assign - 1 : assign] == ":")) and offset - assign < 3:
        return places.at(assign - (text[assign - 1 : assign] == ":"), _EBNF)
    if isinstance(error, UnexpectedToken) and error.token.type in ("RULE", "TERMINAL"):
        offset = _WORD_END.search(text, 0, offset).start()  # type: ignore[union-attr]  # `Aa` is one word to its author
    return places.at(offset, _found(text, offset, error))


def _found(text: str, offset: int, error: UnexpectedInput | None) -> str:
    character = text[offset : offset + 1]
    if isinstance(error, UnexpectedToken):
        found = _shown(error, text, offset)
        expected = set(error.accepts or error.expected or ())
        hint = _hint(error, expected, text, offset)
        listed = _listed(expected)
        return f"found {found}, expected {listed}{'; ' + hint if hint else ''}"
    if not character:
        return "the text ends early"
    advice = _CHARACTERS.get(character)
    if advice is None:
        advice = "the text cannot go on so" if character.isalnum() or character in " \t\r\n()[]{}|:.,~?!*+" else _QUOTES
    return f"found {ascii(character) if not character.isprintable() else repr(character)}; {advice}"


def _shown(error: UnexpectedToken, whole: str, offset: int) -> str:
    kind, text = error.token.type, str(error.token)
    if kind in ("_NL", "$END") or not text.strip():
        return _TOKENS.get(kind, kind)
    if kind in ("STRING", "REGEXP"):
        return shortened(text, 60)
    if kind in ("RULE", "TERMINAL"):
        text = _WORD.match(whole, offset)[0]  # type: ignore[index]
    return f'"{shortened(text.strip(), 60)}"'


def _listed(expected: Iterable[str]) -> str:
    if "_IMPORT" in expected:
        return "a rule, a terminal or a directive such as %import"
    known = sorted(set(expected), key=lambda k: _ORDER.index(k) if k in _ORDER else len(_ORDER))
    names = list(dict.fromkeys(_TOKENS.get(kind, f"%{kind.lstrip('_').lower()}") for kind in known if kind != "$END"))
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "the end of the text"


def _hint(error: UnexpectedToken, expected: set[str], text: str, offset: int) -> str:
    kind = error.token.type
    for closing, (opens, closes) in _OPENED.items():
        if closing in expected and kind in ("_NL", "$END", "_COLON"):
            opened = _open_bracket(text, offset, opens, closes)
            if opened is not None:
                line, column = text.count("\n", 0, opened) + 1, opened - text.rfind("\n", 0, opened)
                return f'the "{opens}" of line {line}, column {column} is not closed'
    if "_IMPORT" in expected and kind in ("STRING", "REGEXP", "_LPAR", "_LBRA"):
        return "a line that continues a rule begins with |"
    if kind in ("_RPAR", "_RBRA", "_RBRACE"):
        return f"this {_TOKENS[kind]} closes nothing; a bracket as text is written in double quotes"
    if expected <= {"_COLON", "_DOT", "_LBRACE"} and expected:
        if kind == "TERMINAL" or kind == "RULE":
            return "a name is all lower case (a rule) or all upper case (a terminal), and a rule is written name: …"
        return "a rule is written name: …"
    if kind == "_COLON":
        return "a rule begins on a line of its own"
    if kind == "OP":
        return "an operator stands behind what it repeats"
    return ""


def _open_bracket(text: str, offset: int, opens: str, closes: str) -> int | None:
    depth = 0
    for token in reversed([m for m in _BRACKETS.finditer(text, 0, offset) if m.lastgroup]):
        if token.group() == closes:
            depth += 1
        elif token.group() == opens:
            if depth == 0:
                return token.start()
            depth -= 1
    return None


_BRACKETS: Final = re.compile(r'"(?:\\[^\n]|[^"\\\n])*"|/(?!/)(?:\\.|[^/\\\n])+/|(?://|#)[^\n]*|(?P<bracket>[()\[\]{}])')


def no_file(path: Sequence[str], in_library: bool, places: Places) -> GrammarError:
    """The error for an import whose file is not there.

    Args:
        path: the names before the last one.
        in_library: whether it is looked for in Lark's own library, rather than beside the grammar.
        places: of the text.
    """
    name = ".".join(path)
    offset = places.directive("%import", *path)
    if in_library:
        way_out = _similar(name, _LIBRARY, f"; it has {', '.join(_LIBRARY)}; a file beside the grammar has a dot: %import .{name}")
        message = f"%import {name}: Lark's library has no {name}.lark{way_out}"
    else:
        message = f"%import .{name}: there is no file {'/'.join(path)}.lark beside the grammar"
    return places.at(0 if offset is None else offset, message)


@dataclass(frozen=True)
class Definitions:
    """What a message can say of the names that there are."""

    names: Sequence[str] = ()
    missing: Mapping[str, tuple[str, str, list[str]]] = field(default_factory=dict)
    """What was imported from a file that has it not: the file, the name there, and what the file has."""
    undefined: Callable[[], list[tuple[str, str]]] = list
    """Gives what is used and not defined, and in which definition, if somebody asks."""


_NOTHING: Final = Definitions()
_EMPTY: Final = re.compile(r"Empty terminals are not allowed \((?P<literal>.*)\)", re.S)
_TWICE: Final = re.compile(r"(?P<kind>Rule|Terminal) '(?P<name>\w+)' defined more than once")
_USED: Final = re.compile(r"(?:Rule|Terminal) '(?P<name>\w+)' used but not defined \(in \w+ (?P<within>\w+)\)")


def undefined(name: str, within: str, places: Places, definitions: Definitions) -> GrammarError:
    """The error for a name that is used and not defined.

    Args:
        name: of a rule or terminal.
        within: the rule or terminal that uses it; the empty text for ``%ignore``.
        places: of the text.
        definitions: what is defined.
    """
    defined, missing = definitions.names, definitions.missing
    what = "terminal" if name.lstrip("_")[:1].isupper() else "rule"
    offset = _offset_of_use(name, within, places, definitions)
    if name in missing:
        file, there, names = missing[name]
        message = f"{file} has no {what} {there!r}{_similar(there, names, '; rename it, or define it here')}"
    else:
        same = [n for n in defined if n.lstrip("_")[:1].isupper() == (what == "terminal") and not n.startswith("__")]
        message = f"{what} {name!r} is not defined{_similar(name, same, '; define it, or put text into double quotes')}"
    if offset is None:
        user = f" (in {within!r})" if within else ""
        return GrammarError.at(places.source_name, shortened(message) + user)
    return places.at(offset, message)


def _offset_of_use(name: str, within: str, places: Places, definitions: Definitions) -> int | None:
    """Where a name that is not defined is used; where it is imported, if the text uses it nowhere else."""
    offset = next(places.uses(name, within=within or None), None)
    if offset is None:
        offset = next(places.uses(name), None)
    if name in definitions.missing and (offset is None or not within):
        return places.directive("%import", definitions.missing[name][1])
    return offset


def _first_undefined(used: Iterable[tuple[str, str]], places: Places, definitions: Definitions) -> GrammarError:
    """The error for the first of names that are used and not defined, each with the definition that uses it."""
    found = [(_offset_of_use(name, within, places, definitions), name, within) for name, within in used]
    _, name, within = min(found, key=lambda f: (-1 if f[0] is None else f[0], *f[1:]))
    return undefined(name, within, places, definitions)


def _similar(name: str, names: Iterable[str], otherwise: str) -> str:
    close = similar(name, map(str, names))
    return f"; did you mean {close[0]!r}?" if close else otherwise


def malformed(name: str, raw: str | None, error: BaseException, places: Places) -> GrammarError:
    """The error for a terminal whose text or regex cannot be read.

    Args:
        name: of the terminal.
        raw: how it is written, where it has no name.
        error: what the reader of regexes, or of escapes, says.
        places: of the text.
    """
    message = str(error).strip() or "malformed literal or range"
    candidates = (
        places.regexes(name)
        if raw is None or next(places.definitions(name), None) is not None
        else [(offset, raw) for offset in places.literals(raw)]
    )
    if "newlines in regular expressions" in message:
        broken = next((offset for offset, written in places.regexes() if "\n" in written), None)
        if broken is not None:
            return places.at(broken, "a line break in a regular expression is written \\n, or stands in one with the flag x")
    for offset, written in (candidates or places.regexes())[:_MAX_REGEXES]:
        problem = _problem_of(written)
        if problem is not None:
            at, why = problem
            what = "this regular expression" if name.startswith("__ANON") else f"terminal {name}"
            return places.at(offset + at, f"{what}: {shortened(why)}")
    if name.startswith("__ANON") and candidates:
        return places.at(candidates[0][0], shortened(message))
    return places.positioned(GrammarError(f"{places.of(name)}: terminal {name}: {shortened(message)}"))


def malformed_text(body: str, places: Places) -> GrammarError:
    """The error for a text in quotes with an escape that means nothing."""
    offset = next((at for quotes in ('"{}"', '"{}"i', "/{}/") for at in places.literals(quotes.format(body))), None)
    message = 'an escape in this text is malformed; there are \\n, \\t, \\r, \\f, \\\\, \\", \\xHH, \\uHHHH and \\UHHHHHHHH'
    return GrammarError.at(places.source_name, message) if offset is None else places.at(offset, message)


def _problem_of(written: str) -> tuple[int, str] | None:
    """Where in a regex in slashes, as it is written, Python's reader stops, and why; None where it does not."""
    end = written.rindex("/")
    body = written[1:end]
    try:
        re.compile(body)
    except re.error as e:
        return 1 + (e.pos or 0), e.msg
    except (RecursionError, OverflowError, ValueError):  # a count of many digits
        pass
    return None


_Where = Literal["definition", "use", "import", "nowhere"]

_SENTENCES: Final[tuple[tuple[str, _Where, str], ...]] = (
    (
        r"Cannot import '(?P<name>\w+)' from '(?P<file>.*)': Symbol already defined",
        "import",
        "{name!r} is imported twice, the second time from {file}; leave one out",
    ),
    (
        r"Cannot override a nonexisting (?P<kind>\w+) (?P<name>\w+)",
        "definition",
        "%override: no {kind} {name!r} was imported or defined before",
    ),
    (
        r"Can't extend (?P<kind>\w+) (?P<name>\w+) as it wasn't defined before",
        "definition",
        "%extend: no {kind} {name!r} was imported or defined before",
    ),
    (
        r"Names starting with double-underscore are reserved \(Error at (?P<name>\w+)\)",
        "definition",
        "{name!r}: names that begin with two underscores are reserved; rename it",
    ),
    (
        r"Template Parameter conflicts with rule (?P<parameter>\w+) \(in template (?P<name>\w+)\)",
        "definition",
        "template {name!r} has the parameter {parameter!r}, which is a rule, too; rename it",
    ),
    (
        r"Duplicate Template Parameter (?P<parameter>\w+) \(in template (?P<name>\w+)\)",
        "definition",
        "template {name!r} has the parameter {parameter!r} twice; rename one",
    ),
    (
        r"Template '(?P<name>\w+)' used but not defined \(in \w+ (?P<within>\w+)\)",
        "use",
        "template {name!r} is not defined; define it as {name}{{…}}: …",
    ),
    (
        r"Wrong number of template arguments used for (?P<name>\w+) \(expected (?P<want>\d+), got (?P<got>\d+)\) "
        r"\(in \w+ (?P<within>\w+)\)",
        "use",
        "template {name!r} takes {want} arguments, not {got}",
    ),
    (
        r"Inlined rules \(_rule\) cannot use the \?rule modifier",
        "nowhere",
        "a rule whose name begins with an underscore is always inlined, so it cannot have a ?; leave one of them out",
    ),
    (
        r"Nothing was imported from grammar `(?P<name>\w+)`",
        "import",
        "%import {name} names no rule or terminal; write %import {name}.NAME",
    ),
)
"""What Lark's builder says, what its position is that of, and what is said instead."""


def _position_of(where: _Where, said: Mapping[str, str], places: Places) -> int | None:
    if where == "definition":
        return next(places.definitions(said["name"]), None)
    if where == "use":
        return next(places.uses(said["name"], within=said["within"]), None)
    return places.directive("%import", said["name"]) if where == "import" else None


def _twice(kind: str, name: str, places: Places) -> GrammarError:
    offsets = list(places.definitions(name))
    if len(offsets) > 1:
        line = places.text.count("\n", 0, offsets[0]) + 1
        return places.at(offsets[1], f"{kind} {name!r} is defined twice, first in line {line}; join the two with | or rename one")
    message = f"{kind} {name!r} is imported and defined; rename one, or write %override or %extend"
    return places.at(offsets[0], message) if offsets else GrammarError.at(places.source_name, message)


def in_words(error: BaseException, places: Places, definitions: Definitions = _NOTHING) -> GrammarError:
    """The error for a sentence of Lark's builder.

    Args:
        error: Lark's.
        places: of the text.
        definitions: what was defined.
    """
    message = str(error).strip() or type(error).__name__
    used = _USED.match(message)
    if used:
        pairs = definitions.undefined() or [(used["name"], used["within"])]
        return _first_undefined(pairs[:_MAX_UNDEFINED], places, definitions)
    if message.startswith("Terminals {") and "were marked to ignore" in message:
        names = re.findall(r"'(\w+)'", message)
        return _first_undefined([(name, "") for name in names[:_MAX_UNDEFINED]], places, definitions)
    if len(error.args) == 2 and isinstance(error.args[0], str):  # a literal whose escapes Python does not read
        return malformed_text(error.args[0], places)
    empty = _EMPTY.fullmatch(message)
    if empty:
        rule = "a text or a regular expression is empty; a terminal must match at least one character, so leave it out"
        offset = next(places.literals(empty["literal"]), None)
        return GrammarError.at(places.source_name, rule) if offset is None else places.at(offset, rule)
    twice = _TWICE.match(message)
    if twice:
        return _twice(twice["kind"].lower(), twice["name"], places)
    for pattern, where, instead in _SENTENCES:
        found = re.match(pattern, message)
        if found:
            said = found.groupdict()
            offset, text = _position_of(where, said, places), instead.format(**said)
            return GrammarError.at(places.source_name, text) if offset is None else places.at(offset, text)
    return GrammarError.at(places.source_name, f"Lark cannot load this grammar: {shortened(message)}")
