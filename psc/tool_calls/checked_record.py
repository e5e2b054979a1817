"""Records that check their fields when they are made, by their annotations; made of dictionaries and JSON, and dumped to them.

They behave as pydantic's models do where programs that were written for those look: keyword arguments only, dictionaries in the
place of records, unknown keys ignored, fields that can be set later (and are not checked then), ``model_validate``, ``model_dump``
and their JSON forms. A value is taken as it is or refused; texts are not read as numbers.

Cost: linear in what is given; about a microsecond a field.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from psc.errors import InvalidJSONError, InvalidStructuralTagError

_T = TypeVar("_T")


@dataclass(frozen=True)
class Within:
    """The annotation of a whole number that must lie between two."""

    least: int
    most: int


class CheckedRecord:
    """The base of the records. A subclass is a dataclass with this constructor: ``@dataclass(init=False, kw_only=True)``."""

    given_as: ClassVar[Mapping[str, str]] = {}
    """Names by which fields are given and dumped, where these are no names for attributes."""

    def __init__(self, **given: Any) -> None:
        """Takes the fields by name.

        Raises:
            InvalidStructuralTagError: a ValueError; a field is missing or has a value of another type. The message has the path.
        """
        _guarded(lambda: self._take(given, type(self).__name__))

    @classmethod
    def model_validate(cls, given: object) -> Self:
        """The record of a dictionary, or the record itself. Raises InvalidStructuralTagError."""
        return _guarded(lambda: cls._read(given, ""))

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """The record of JSON text. Raises InvalidJSONError or InvalidStructuralTagError."""
        try:
            given = json.loads(text)
        except ValueError as e:
            raise InvalidJSONError(f"{cls.__name__}: the text is not JSON: {e}") from None
        except RecursionError:
            raise InvalidStructuralTagError(f"{cls.__name__}: {_TOO_DEEP}") from None
        return cls.model_validate(given)

    def model_dump(
        self, *, mode: Literal["python", "json"] = "python", by_alias: bool = False, exclude_none: bool = False
    ) -> dict[str, Any]:
        """The record as a dictionary of dictionaries, lists and plain values.

        Args:
            mode: ``"json"`` makes lists of tuples.
            by_alias: names fields as they are given.
            exclude_none: leaves out fields that are None.

        Raises:
            InvalidStructuralTagError: a value contains itself, or is nested too deeply.
        """
        return _guarded(lambda: _dumped(self, mode == "json", by_alias, exclude_none))

    def model_dump_json(self, *, indent: int | None = None, by_alias: bool = False, exclude_none: bool = False) -> str:
        """The record as JSON text, without white space unless ``indent`` is given. Raises as :meth:`model_dump`."""
        dumped = self.model_dump(mode="json", by_alias=by_alias, exclude_none=exclude_none)
        separators = (",", ":") if indent is None else (",", ": ")
        return _guarded(lambda: json.dumps(dumped, ensure_ascii=False, indent=indent, separators=separators))

    @classmethod
    def _read(cls, given: object, path: str) -> Self:
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise _wrong(path or cls.__name__, f"must be a dictionary or a {cls.__name__}", given)
        made = cls.__new__(cls)
        made._take(given, path or cls.__name__, given_path=path)
        return made

    def _take(self, given: Mapping[str, Any], owner: str, given_path: str | None = None) -> None:
        prefix = f"{owner}: " if given_path is None else f"{given_path}." if given_path else ""
        for name, key, default, kind in _fields_of(type(self)):
            if key in given:
                value = kind.read(given[key], f"{prefix}{key}")
            elif name in given:
                value = kind.read(given[name], f"{prefix}{name}")
            elif default is MISSING:
                raise InvalidStructuralTagError(f"{prefix}{key}: is missing, and a {type(self).__name__} needs it")
            else:
                value = default() if callable(default) else default
            setattr(self, name, value)


@dataclass(frozen=True)
class _Kind:
    """What a field may be: its name for messages, which values are of this kind by their type, and how one is taken."""

    name: str
    fits: Callable[[object], bool]
    read: Callable[[Any, str], Any]


_Field = tuple[str, str, Any, _Kind]
"""The attribute, the key it is given by, its default (a function for lists), its kind."""
_known: dict[type, list[_Field]] = {}


def _fields_of(cls: type[CheckedRecord]) -> list[_Field]:
    found = _known.get(cls)
    if found is None:
        hints = get_type_hints(cls, include_extras=True)
        found = []
        for field in fields(cls):  # type: ignore[arg-type]
            default = field.default if field.default_factory is MISSING else field.default_factory
            found.append((field.name, cls.given_as.get(field.name, field.name), default, _kind(hints[field.name])))
        _known[cls] = found
    return found


_PLAIN = {str: "a text", int: "a whole number", bool: "true or false", type(None): "null", type: "a class"}


def _kind(hint: Any) -> _Kind:
    if hint is Any:
        return _Kind("anything", lambda _: True, lambda value, _: value)
    if hint in _PLAIN:
        return _plain(hint)
    if isinstance(hint, type) and issubclass(hint, CheckedRecord):
        return _Kind(f"a {hint.__name__}", lambda v: isinstance(v, (hint, Mapping)), hint._read)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _whole_number_within(parts[1])
    if origin is Literal:
        return _one_of(parts)
    if origin in (Union, types.UnionType):
        return _union([_kind(part) for part in parts])
    if origin is list:
        return _list(_kind(parts[0]))
    if origin is tuple:
        return _tuple([_kind(part) for part in parts])
    if origin is dict:
        return _Kind("an object", lambda v: isinstance(v, Mapping), _read_object)
    raise TypeError(f"no record has a field of {hint!r}")


def _plain(hint: type) -> _Kind:
    def fits(value: object) -> bool:
        return isinstance(value, hint) and not (hint is int and isinstance(value, bool))

    return _checked(_PLAIN[hint], fits)


def _checked(name: str, fits: Callable[[object], bool]) -> _Kind:
    def read(value: object, path: str) -> object:
        if not fits(value):
            raise _wrong(path, f"must be {name}", value)
        return value

    return _Kind(name, fits, read)


def _whole_number_within(bounds: Within) -> _Kind:
    def fits(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and bounds.least <= value <= bounds.most

    return _checked(f"a whole number from {bounds.least} to {bounds.most}", fits)


def _one_of(options: tuple[object, ...]) -> _Kind:
    return _checked(" or ".join([repr(o) for o in options]), lambda v: isinstance(v, str) and v in options)


def _union(kinds: list[_Kind]) -> _Kind:
    name = " or ".join([k.name for k in kinds])

    def read(value: object, path: str) -> object:
        for kind in kinds:
            if kind.fits(value):
                return kind.read(value, path)
        raise _wrong(path, f"must be {name}", value)

    return _Kind(name, lambda v: any(k.fits(v) for k in kinds), read)


def _list(item: _Kind) -> _Kind:
    def read(value: object, path: str) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise _wrong(path, "must be a list", value)
        return [item.read(v, f"{path}[{i}]") for i, v in enumerate(value)]

    return _Kind("a list", lambda v: isinstance(v, (list, tuple)), read)


def _tuple(kinds: list[_Kind]) -> _Kind:
    def read(value: object, path: str) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)) or len(value) != len(kinds):
            raise _wrong(path, f"must be a list of {len(kinds)}: {', '.join([k.name for k in kinds])}", value)
        return tuple([kind.read(v, f"{path}[{i}]") for i, (kind, v) in enumerate(zip(kinds, value, strict=True))])

    return _Kind("a list", lambda v: isinstance(v, (list, tuple)), read)


def _read_object(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise _wrong(path, "must be an object, its keys texts", value)
    return dict(value)


_TOO_DEEP = "formats or schemas are nested too deeply, or one contains itself"


def _guarded(work: Callable[[], _T]) -> _T:
    try:
        return work()
    except RecursionError:
        raise InvalidStructuralTagError(_TOO_DEEP) from None


def _wrong(path: str, rule: str, value: object) -> InvalidStructuralTagError:
    shown = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else f"a value of type {type(value).__name__}"
    return InvalidStructuralTagError(f"{path}: {rule}, not {shown if len(shown) <= 80 else shown[:77] + '...'}")


def _dumped(value: Any, as_json: bool, by_alias: bool, exclude_none: bool) -> Any:
    if isinstance(value, CheckedRecord):
        members = {key if by_alias else name: getattr(value, name) for name, key, _, _ in _fields_of(type(value))}
        kept = {n: v for n, v in members.items() if not (exclude_none and v is None)}
        return {name: _dumped(v, as_json, by_alias, exclude_none) for name, v in kept.items()}
    if isinstance(value, Mapping):
        return {name: _dumped(v, as_json, by_alias, exclude_none) for name, v in value.items()}
    if isinstance(value, list):
        return [_dumped(v, as_json, by_alias, exclude_none) for v in value]
    if isinstance(value, tuple):
        parts = [_dumped(v, as_json, by_alias, exclude_none) for v in value]
        return parts if as_json else tuple(parts)
    return value
