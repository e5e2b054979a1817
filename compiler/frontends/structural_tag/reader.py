"""The values of a document to formats, each field checked; a message has the path of what is wrong.

A format is read by a generator, which asks for the formats inside of it by yielding them. So it reads like recursion, and one loop
keeps what is open, however deep it is nested.

Cost: some microseconds a format.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

from psc.compiler.expressions.markers import Marker
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.compiler.frontends.structural_tag import formats
from psc.compiler.frontends.structural_tag.document import SchemaText
from psc.compiler.frontends.structural_tag.formats import Format
from psc.compiler.frontends.structural_tag.parameter_styles import STYLES
from psc.compiler.frontends.structural_tag.required import FORMAT, FORMAT_TYPE, required
from psc.errors import GrammarError, InvalidStructuralTagError

if TYPE_CHECKING:
    from psc.compiler.expressions.tokens import TokenNames

_log = logging.getLogger("psc.compiler")
MAX_NESTING: Final = 1_000
"""Formats inside each other."""
MAX_COUNT: Final = 2**31 - 1
"""A repetition up to more is one without limit; characters cannot be counted higher."""
_LONGEST_PATH: Final = 300
_BEGINS: Final = {
    "a text": "Tags in triggered_tags must have a string begin, not a token format",
    "a token": "Tags in token_triggered_tags must have a token format begin, not a string",
}

_Object = Mapping[str, Any]
_Reading = Generator[tuple[Any, str], Format, Format]
"""Yields a value and its path, is sent the format that it is, and returns the format that was asked for."""


class Reader:
    """Reads the formats of one document.

    Args:
        names: of the vocabulary's tokens; None where it is not known.
        texts: all of the document: special tokens whose name is in none of them are no matter.
    """

    def __init__(self, names: TokenNames | None, texts: str) -> None:
        self._names = names
        self._special = {} if names is None else {n: i for n, i in names.special_names.items() if n and n in texts}
        self._readers: Mapping[str, Callable[[_Object, str], _Reading]] = {
            "tag": self._tag,
            "const_string": self._const_string,
            "json_schema": self._json_schema,
            "any_text": self._any_text,
            "sequence": self._sequence,
            "or": self._or,
            "triggered_tags": self._triggered_tags,
            "tags_with_separator": self._tags_with_separator,
            "optional": self._optional,
            "plus": self._plus,
            "star": self._star,
            "repeat": self._repeat,
            "dispatch": self._dispatch,
            "token_dispatch": self._token_dispatch,
            "grammar": self._grammar,
            "regex": self._regex,
            "token": self._token,
            "exclude_token": self._exclude_token,
            "any_tokens": self._any_tokens,
            "token_triggered_tags": self._token_triggered_tags,
            "qwen_xml_parameter": self._qwen_xml_parameter,
        }

    def read(self, value: Any, path: str = "format") -> Format:
        """The format that a value describes. Raises InvalidStructuralTagError with the path of what is wrong."""
        open_readings = [self._format(value, path)]
        result: Any = None
        while True:
            try:
                inner, inner_path = open_readings[-1].send(result)
            except StopIteration as e:
                result = e.value
                open_readings.pop()
                if not open_readings:
                    found: Format = result
                    return found
                continue
            if len(open_readings) >= MAX_NESTING:
                refuse(inner_path, f"formats are nested deeper than {MAX_NESTING:,}, which is the limit")
            open_readings.append(self._format(inner, inner_path))
            result = None

    def _format(self, value: Any, path: str) -> _Reading:
        if not isinstance(value, dict):
            refuse(path, f"{FORMAT}, not {_shown(value)}")
        kind = value["type"] if "type" in value else _kind_by_fields(value, path)
        if not isinstance(kind, str):
            refuse(f"{path}.type", f"must be text, not {_shown(kind)}; {FORMAT_TYPE}")
        reader = self._readers.get(kind)
        if reader is None:
            close = difflib.get_close_matches(kind, self._readers, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(self._readers))}"
            refuse(f"{path}.type", f"there is no format {kind!r}; {hint}. Format type not recognized: {kind}"[:1000])
        return reader(value, path)

    # Formats. Each takes the value, which is an object, and its path.

    def _const_string(self, value: _Object, path: str) -> _Reading:
        return formats.ConstString(path=path, value=self._marker(_text(value, "value", path)))
        yield  # as a generator

    def _json_schema(self, value: _Object, path: str, style: str | None = None) -> _Reading:
        schema = value.get("json_schema")
        if "json_schema" not in value:
            refuse_field(value, "json_schema", path, "is missing")
        if not isinstance(schema, SchemaText) or schema.text[0] not in "{tf":
            refuse_field(value, "json_schema", path, "a schema must be an object, true or false")
        if style is None:
            style = _text(value, "style", path) if "style" in value else "json"
        if style != "json" and style not in STYLES:
            refuse(f"{path}.style", f"there is no style {style!r}; there are json, {', '.join(STYLES)}")
        return formats.JsonSchema(
            path=path, schema=schema.text, style=style, settings=_settings(value, path), excludes=_texts(value, "excludes", path)
        )
        yield

    def _qwen_xml_parameter(self, value: _Object, path: str) -> _Reading:
        return self._json_schema(value, path, "qwen_xml")

    def _grammar(self, value: _Object, path: str) -> _Reading:
        return formats.Text(path=path, language="ebnf", text=_text(value, "grammar", path, may_be_empty=False))
        yield

    def _regex(self, value: _Object, path: str) -> _Reading:
        return formats.Text(path=path, language="regex", text=_text(value, "pattern", path, may_be_empty=False))
        yield

    def _any_text(self, value: _Object, path: str) -> _Reading:
        most = _count(value, "max_chars", path)
        tokens = _count(value, "max_tokens", path)
        return formats.AnyText(path=path, excludes=_texts(value, "excludes", path), most=most, most_tokens=tokens)
        yield

    def _token(self, value: _Object, path: str) -> _Reading:
        if "token" not in value:
            refuse_field(value, "token", path, "is missing")
        ids = (self._id(value["token"], f"{path}.token"),)
        return formats.Tokens(path=path, ids=ids, all_but=False, least=1, most=1)
        yield

    def _exclude_token(self, value: _Object, path: str) -> _Reading:
        ids = self._ids(value, "exclude_tokens", path)
        return formats.Tokens(path=path, ids=ids, all_but=True, least=1, most=1)
        yield

    def _any_tokens(self, value: _Object, path: str) -> _Reading:
        most = _count(value, "max_tokens", path)
        ids = self._ids(value, "exclude_tokens", path)
        return formats.Tokens(path=path, ids=ids, all_but=True, least=0, most=most)
        yield

    def _sequence(self, value: _Object, path: str) -> _Reading:
        elements = []
        for i, element in enumerate(_list(value, "elements", path)):
            elements.append((yield element, f"{path}.elements[{i}]"))
        return formats.Sequence(path=path, elements=tuple(elements))

    def _or(self, value: _Object, path: str) -> _Reading:
        elements = []
        for i, element in enumerate(_list(value, "elements", path)):
            elements.append((yield element, f"{path}.elements[{i}]"))
        return formats.Or(path=path, elements=tuple(elements))

    def _optional(self, value: _Object, path: str) -> _Reading:
        return formats.Repeat(path=path, content=(yield _content(value, path)), least=0, most=1)

    def _plus(self, value: _Object, path: str) -> _Reading:
        return formats.Repeat(path=path, content=(yield _content(value, path)), least=1, most=None)

    def _star(self, value: _Object, path: str) -> _Reading:
        return formats.Repeat(path=path, content=(yield _content(value, path)), least=0, most=None)

    def _repeat(self, value: _Object, path: str) -> _Reading:
        least = _whole(value, "min", path)
        most: int | None = _whole(value, "max", path)
        assert most is not None
        if least < 0:
            refuse(f"{path}.min", f"must be 0 or more, not {least}; Repeat min must be >= 0")
        if most != -1 and most < least:
            required = "min must be <= max" if most >= 0 else "max must be -1 (unbounded) or >= 0"
            refuse(f"{path}.max", f"must be -1, for no limit, or at least min, {least}, not {most}; Repeat {required}")
        if most > MAX_COUNT:
            _log.warning("%s.max: %d is taken for no limit", shortened(path), most)
            most = None
        return formats.Repeat(path=path, content=(yield _content(value, path)), least=least, most=None if most == -1 else most)

    def _tag(self, value: _Object, path: str) -> _Reading:
        begin = self._text_or_token(value, "begin", path)
        ends, may_stop = self._ends(value, path)
        content = yield _content(value, path)
        if not ends and (free := _free_without_limit(content)):
            refuse(
                f"{path}.end",
                f"the free text at {shortened(free)} has no limit, so the tag needs an end that is not empty; or exclude a text",
            )
        body = formats.Enclosed(path=f"{path}.body", content=content, ends=ends, may_stop=may_stop)
        return formats.Tag(path=path, begin=begin, body=body)

    def _triggered_tags(self, value: _Object, path: str) -> _Reading:
        triggers = _texts(value, "triggers", path, least=1)
        at_least_one, stop_after_first = _flag(value, "at_least_one", path), _flag(value, "stop_after_first", path)
        tags = yield from self._tags(value, path, "a text")
        of: dict[str, list[tuple[Marker, Format]]] = {trigger: [] for trigger in triggers}
        for tag in tags:
            begin = tag.begin.text
            fitting = [trigger for trigger in of if begin.startswith(trigger)]
            place = f"{tag.path}.begin"
            if not fitting:
                refuse(place, f"{_shown(begin)} begins with none of the triggers ({', '.join(map(_shown, triggers[:5]))})")
            if len(fitting) > 1:
                refuse(place, f"{_shown(begin)} begins with more than one trigger: {', '.join(map(_shown, fitting))}")
            of[fitting[0]].append((tag.begin, tag.body))
        return formats.Dispatch(
            path=path,
            rules=tuple([(self._marker(trigger), tuple(options)) for trigger, options in of.items()]),
            excludes=_texts(value, "excludes", path),
            at_least_one=at_least_one,
            stop_after_first=stop_after_first,
        )

    def _token_triggered_tags(self, value: _Object, path: str) -> _Reading:
        triggers = self._ids(value, "trigger_tokens", path, least=1)
        tags = yield from self._tags(value, path, "a token")
        of: dict[int, list[Format]] = {trigger: [] for trigger in triggers}
        for tag in tags:
            token = tag.begin.tokens[0][1]
            if token not in of:
                refuse(f"{tag.path}.begin", f"the token {token} is none of the trigger_tokens")
            of[token].append(tag.body)
        return formats.TokenDispatch(
            path=path,
            rules=tuple([(trigger, tuple(bodies)) for trigger, bodies in of.items()]),
            exclude_tokens=self._ids(value, "exclude_tokens", path),
            at_least_one=_flag(value, "at_least_one", path),
            stop_after_first=_flag(value, "stop_after_first", path),
        )

    def _tags_with_separator(self, value: _Object, path: str) -> _Reading:
        separator = self._marker(_text(value, "separator", path))
        tags = yield from self._tags(value, path, "")
        return formats.TagsWithSeparator(
            path=path,
            tags=tuple(tags),
            separator=separator,
            at_least_one=_flag(value, "at_least_one", path),
            stop_after_first=_flag(value, "stop_after_first", path),
        )

    def _dispatch(self, value: _Object, path: str) -> _Reading:
        of: dict[str, list[tuple[Marker, Format]]] = {}
        for i, (pattern, inner) in enumerate(_pairs(value, path)):
            place = f"{path}.rules[{i}]"
            if not isinstance(pattern, str) or not pattern:
                refuse(f"{place}[0]", f"must be a text that is not empty, not {_shown(pattern)}")
            _check_characters(pattern, f"{place}[0]")
            of.setdefault(pattern, []).append((self._marker(pattern), (yield inner, f"{place}[1]")))
        return formats.Dispatch(
            path=path,
            rules=tuple([(self._marker(pattern), tuple(options)) for pattern, options in of.items()]),
            excludes=_texts(value, "excludes", path),
            stop_after_first=not _flag(value, "loop", path, default=True),
        )

    def _token_dispatch(self, value: _Object, path: str) -> _Reading:
        of: dict[int, list[Format]] = {}
        for i, (token, inner) in enumerate(_pairs(value, path)):
            place = f"{path}.rules[{i}]"
            of.setdefault(self._id(token, f"{place}[0]"), []).append((yield inner, f"{place}[1]"))
        return formats.TokenDispatch(
            path=path,
            rules=tuple([(token, tuple(inner)) for token, inner in of.items()]),
            exclude_tokens=self._ids(value, "exclude_tokens", path),
            stop_after_first=not _flag(value, "loop", path, default=True),
        )

    # Parts of formats.

    def _tags(self, value: _Object, path: str, begin: str) -> Generator[tuple[Any, str], Format, list[formats.Tag]]:
        """The tags of a list, in an order that does not depend on the list's; `begin`: what each has to begin with, or nothing."""
        tags = []
        all_given = _list(value, "tags", path)
        for i, given in enumerate(all_given):
            place = f"{path}.tags[{i}]"
            if isinstance(given, dict) and given.get("type", "tag") != "tag":
                refuse(f"{place}.type", f"must be 'tag', not {_shown(given['type'])}")
            tag = yield {"type": "tag", **given} if isinstance(given, dict) else given, place
            assert isinstance(tag, formats.Tag)
            is_token = bool(tag.begin.tokens) and not tag.begin.text
            if begin and is_token != (begin == "a token"):
                refuse(f"{place}.begin", f"must be {begin} here; {_BEGINS[begin]}")
            tags.append(tag)
        begins = [(tag.begin.text, tag.begin.tokens) for tag in tags]
        distinct = len(set(begins)) == len(begins)
        order = sorted(range(len(tags)), key=lambda i: (begins[i], "" if distinct else repr(all_given[i])))
        return [tags[i] for i in order]

    def _ends(self, value: _Object, path: str) -> tuple[tuple[Marker, ...], bool]:
        given = value.get("end")
        if not isinstance(given, list):
            end = self._text_or_token(value, "end", path)
            return ((end,) if end.length else ()), end.length == 0
        texts = _texts(value, "end", path, least=1, may_be_empty=True)
        return tuple([self._marker(text) for text in dict.fromkeys(texts) if text]), "" in texts

    def _marker(self, text: str) -> Marker:
        return Marker.of_text(text, self._special)

    def _text_or_token(self, value: _Object, key: str, path: str) -> Marker:
        given = value.get(key)
        if isinstance(given, dict) and given.get("type") == "token" and "token" in given:
            return Marker.of_token(self._id(given["token"], f"{path}.{key}.token"))
        if key in value and not isinstance(given, str):
            what = "a text, a list of texts, or a token" if key == "end" else "a text or a token"
            refuse_field(value, key, path, f"must be {what}, not {_shown(given)}")
        return self._marker(_text(value, key, path))

    def _ids(self, value: _Object, key: str, path: str, *, least: int = 0) -> tuple[int, ...]:
        given = value.get(key, [])
        if not isinstance(given, list) or len(given) < least:
            refuse(f"{path}.{key}", f"must be a list of tokens, by id or text{', with one at least' if least else ''}")
        return tuple(dict.fromkeys([self._id(token, f"{path}.{key}[{i}]") for i, token in enumerate(given)]))

    def _id(self, token: Any, path: str) -> int:
        """The id of a token, given as such or by its text."""
        names = self._names
        if isinstance(token, dict) and token.get("type") == "token":
            return self._id(token.get("token"), f"{path}.token")
        if isinstance(token, int) and not isinstance(token, bool):
            if token < 0 or (names is not None and not names.is_token(token)):
                size = "" if names is None else f"; the vocabulary's are below {names.size}"
                refuse(path, f"there is no token {token}{size}")
            return token
        if not isinstance(token, str) or not token:
            refuse(path, f"a token must be an integer, its id, or a text, not {_shown(token)}")
        if names is None:
            refuse(path, f"the token {_shown(token)} is given by its text, which needs the vocabulary; compile it with a tokenizer")
        found = names.id_of(token)
        if found is None:
            close = names.close_names(token)
            hint = f"; there are {', '.join(map(_shown, close))}" if close else ""
            refuse(path, f"no token of the vocabulary is {_shown(token)} as a whole{hint}")
        return found


def refuse(path: str, problem: str) -> NoReturn:
    """Says what is wrong where."""
    raise InvalidStructuralTagError(f"{shortened(path)}: {problem}")


def refuse_field(value: _Object, key: str, path: str, problem: str, *, item: int | None = None) -> NoReturn:
    """Says what is wrong with a field of a format, or with an item of its list, and what it must be."""
    words = required(value.get("type"), key, value.get(key))
    place = f"{path}.{key}" if item is None else f"{path}.{key}[{item}]"
    refuse(place, problem if words is None else f"{problem}; {words}")


def shortened(path: str) -> str:
    """A path as messages have it."""
    return path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH // 2]}…{path[-_LONGEST_PATH // 2 :]}"


def _kind_by_fields(value: _Object, path: str) -> str:
    """The type of a format without one: in XGrammar's order, the first of which the fields are there."""
    for kind, needed in (
        ("tag", ("begin", "content", "end")),
        ("const_string", ("value",)),
        ("json_schema", ("json_schema",)),
        ("any_text", ("excludes",)),
        ("sequence", ("elements",)),
        ("triggered_tags", ("triggers", "tags")),
        ("tags_with_separator", ("tags", "separator")),
        ("optional", ("content",)),
    ):
        if all(key in value for key in needed) and not (kind == "any_text" and value.keys() & {"triggers", "rules"}):
            return kind
    if isinstance(rules := value.get("rules"), list):
        is_text = all(isinstance(rule, list) and rule and isinstance(rule[0], str) for rule in rules)
        return "dispatch" if is_text else "token_dispatch"
    refuse(f"{path}.type", "is missing, and no format has these fields. Invalid format")


def _text(value: _Object, key: str, path: str, *, may_be_empty: bool = True) -> str:
    if key not in value:
        refuse_field(value, key, path, "is missing")
    given = value[key]
    if not isinstance(given, str):
        refuse_field(value, key, path, f"must be text, not {_shown(given)}")
    if not given and not may_be_empty:
        refuse_field(value, key, path, "must not be empty")
    _check_characters(given, f"{path}.{key}")
    return given


def _texts(value: _Object, key: str, path: str, *, least: int = 0, may_be_empty: bool = False) -> tuple[str, ...]:
    if key not in value and not least:
        return ()
    found = []
    for i, text in enumerate(_list(value, key, path, least=least)):
        if not isinstance(text, str) or (not text and not may_be_empty):
            problem = f"must be a text{'' if may_be_empty else ' that is not empty'}, not {_shown(text)}"
            refuse_field(value, key, path, problem, item=i)
        _check_characters(text, f"{path}.{key}[{i}]")
        found.append(text)
    return tuple(dict.fromkeys(found))


def _check_characters(text: str, path: str) -> None:
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        refuse(path, "has half of a surrogate pair, which is no character; write both halves")


def _list(value: _Object, key: str, path: str, *, least: int = 1) -> list[Any]:
    if key not in value:
        refuse_field(value, key, path, "is missing")
    given = value[key]
    if not isinstance(given, list):
        refuse_field(value, key, path, f"must be a list, not {_shown(given)}")
    if len(given) < least:
        refuse_field(value, key, path, "must not be empty")
    return given


def _pairs(value: _Object, path: str) -> list[list[Any]]:
    rules = _list(value, "rules", path)
    for i, rule in enumerate(rules):
        if not isinstance(rule, list) or len(rule) != 2:
            refuse(f"{path}.rules[{i}]", f"must be a list of two, what begins it and a format, not {_shown(rule)}")
    return rules


def _content(value: _Object, path: str) -> tuple[Any, str]:
    if "content" not in value:
        refuse_field(value, "content", path, "is missing")
    return value["content"], f"{path}.content"


def _flag(value: _Object, key: str, path: str, *, default: bool = False) -> bool:
    given = value.get(key, default)
    if not isinstance(given, bool):
        refuse_field(value, key, path, f"must be true or false, not {_shown(given)}")
    return given


def _whole(value: _Object, key: str, path: str) -> int:
    if key not in value:
        refuse_field(value, key, path, "is missing")
    given = value[key]
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if not isinstance(given, int) or isinstance(given, bool):
        refuse_field(value, key, path, f"must be a whole number, not {_shown(given)}")
    return given


def _count(value: _Object, key: str, path: str) -> int | None:
    """A number that may be absent or null."""
    given = value.get(key)
    if given is None:
        return None
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MAX_COUNT:
        refuse_field(value, key, path, f"must be a non-negative 32-bit integer, not {_shown(given)}")
    return given


_SETTINGS: Final = {
    "any_order": bool,
    "max_whitespace_cnt": int,
    "any_whitespace": bool,
    "strict_mode": bool,
    "separators": list,
}


def _settings(value: _Object, path: str) -> SchemaSettings:
    given: dict[str, Any] = {}
    for key, kind in _SETTINGS.items():
        if (found := value.get(key)) is None:
            continue
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            what = {bool: "true or false", int: "a whole number", list: "a list of two texts"}[kind]
            refuse_field(value, key, path, f"must be {what}, not {_shown(found)}")
        given[key] = tuple(found) if isinstance(found, list) else found
    try:
        return SchemaSettings(**given)
    except GrammarError as e:
        refuse(path, str(e))


def _free_without_limit(content: Format) -> str | None:
    """The path of free text that goes on for ever, at the end of a content, if there is some."""
    todo = [content]
    for found in todo:
        if isinstance(found, formats.AnyText):
            if not found.excludes and found.most is None and found.most_tokens is None:
                return found.path
        elif isinstance(found, formats.Dispatch):
            if not found.excludes and not (found.at_least_one and found.stop_after_first):
                return found.path
        elif isinstance(found, formats.Sequence):
            todo.append(found.elements[-1])
        elif isinstance(found, formats.Or):
            todo += found.elements
        elif isinstance(found, formats.Repeat):
            todo.append(found.content)
    return None


def _shown(value: object) -> str:
    if isinstance(value, SchemaText):
        return value.text[:60]
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
