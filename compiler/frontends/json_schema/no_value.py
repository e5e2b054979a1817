"""The error about a schema that is true of no value: the smallest part of it that has none.

Cost: some compilations of the schema, at most a second; nobody pays it but for a schema that is refused.
"""

from __future__ import annotations

from psc import _core
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.errors import GrammarError
from psc.support.readable import shortened_pointer


def no_value_error(text: str, settings: SchemaSettings, origin: str, only_objects: bool) -> GrammarError:
    """The error about a schema of which no value is valid.

    Args:
        text: the schema.
        settings: how it is meant.
        origin: for the message.
        only_objects: whether no object is valid, and other values do not count.
    """
    part = _core.part_without_value(
        text,
        strict=settings.strict_mode,
        assert_format=settings.assert_format,
        only_objects=only_objects,
        unique_items=not settings.lenient,
        resolver=settings.resources.get,
    )
    if part is None:
        pointer, said = "#", "#: no value is left that can be written here"
    else:
        pointer, said = part.pointer, _words(part)
        if only_objects and pointer == "#":
            said += ": no object is valid, and a list of parameters is what an object is written as"
        else:
            said += f": no value is left{_why(part)}, so no value is valid"
    return GrammarError(f"{origin}: {said}").with_position(path=origin, pointer=pointer)


def _words(part: _core.NoValue) -> str:
    place = shortened_pointer(part.pointer)
    return f"{place}, {_listed(part.keywords)}" if part.keywords else place


def _why(part: _core.NoValue) -> str:
    if part.endless:
        return ", because each one needs another one inside, without end"
    why = f" that has the member {shortened_pointer(part.name)!r}" if part.name else ""
    return f"{why}; the parts are {', '.join(map(shortened_pointer, part.parts))}" if part.parts else why


def _listed(keywords: list[str]) -> str:
    return keywords[0] if len(keywords) == 1 else f"{', '.join(keywords[:-1])} and {keywords[-1]}"
