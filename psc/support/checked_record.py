"""Records that check their fields when they are made, by their annotations; made of dictionaries and JSON, and dumped to them.

They behave as pydantic's models do where programs that were written for those look: keyword arguments only, dictionaries in the
place of records, unknown keys ignored, fields that can be set later (and are not checked then), ``model_validate``,
``model_dump`` and their JSON forms. A warning names an ignored key that is like a field, of the first 100 in all. A value is taken
as it is or refused; texts are not read as numbers.

One :class:`Reading` reads all of them. It makes a record before it fills it, and fills records from a list, so nesting costs no
stack. A kind of documents that asks for more than the annotations say, or has other words for it, has a subclass.

Cost: linear in what is given; about a microsecond a field.
"""

from __future__ import annotations

import json
import logging
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from psc._core import stop_if_cancelled
from psc.errors import InvalidJSONError, InvalidStructuralTagError
from psc.support.limits import limit
from psc.support.readable import shortened
from psc.support.similar import similar
from psc.support.warning import warn

_log = logging.getLogger("psc.compiler")

_T = TypeVar("_T")
_Record = TypeVar("_Record", bound="CheckedRecord")
MAX_NESTING: Final = limit("tag_formats")
"""Records inside each other."""
_MAX_LIST_VALUES: Final = limit("tag_list_values")
_MAX_UNKNOWN: Final = 100
"""Names that no record has, of which one reading looks for a field that is like them: 60 us each."""
_TOO_DEEP: Final = "formats or schemas are nested too deeply, or one contains itself"


@dataclass(frozen=True)
class Within:
    """The annotation of a whole number that must lie between two."""

    minimum: int
    maximum: int


class CheckedRecord:
    """The base of the records. A subclass is a dataclass with this constructor: ``@dataclass(init=False, kw_only=True)``."""

    given_as: ClassVar[Mapping[str, str]] = {}
    """Names by which fields are given and dumped, where these are no names for attributes."""

    def __init__(self, **given: Any) -> None:
        """Takes the fields by name.

        Raises:
            InvalidStructuralTagError: a ValueError; a field is missing or has a value of another type. The message has the path.
        """
        Reading().fill(self, given, f"{type(self).__name__}: ")

    @classmethod
    def model_validate(cls, given: object) -> Self:
        """The record of a dictionary, or the record itself. Raises InvalidStructuralTagError."""
        return Reading().read(cls, given)

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
    def class_of(cls, given: Mapping[str, Any], path: str) -> type[Self]:
        """The class of the record that is given: this one, unless a subclass is chosen by a field."""
        return cls


class Reading:
    """One reading of a value to records; the methods below :meth:`fill` are what another kind of documents may say otherwise."""

    too_deep: ClassVar[str] = _TOO_DEEP

    def __init__(self) -> None:
        self._open: list[tuple[CheckedRecord, Mapping[str, Any], str, int]] = []
        """The records to be filled, the next one last: each with what it is filled with, its path, and how deep it is nested."""
        self._depth = 0
        self.record: CheckedRecord | None = None
        """The one that is being filled."""
        self.given: Mapping[str, Any] = {}
        """What it is filled with."""
        self.key = ""
        """Which of it is being read."""
        self._n_values = 0
        """In lists, so far."""
        self._n_unknown = 0
        """Names that no record has, so far."""

    def read(self, cls: type[_Record], given: object, path: str = "") -> _Record:
        """The record that a value describes, or the record itself. Raises InvalidStructuralTagError."""
        self._depth = 0
        made = self.begin(cls, given, path)
        self._fill_open()
        return made

    def begin(self, cls: type[_Record], given: object, path: str) -> _Record:
        """The record that a value describes, not filled yet."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise self.no_record(cls, given, path)
        chosen, members = self.choose(cls, given, path)
        if self._depth >= MAX_NESTING:
            raise InvalidStructuralTagError(f"{path}: {self.too_deep}")
        made = chosen.__new__(chosen)
        self._open.append((made, members, path, self._depth + 1))
        return made

    def fill(self, record: CheckedRecord, given: Mapping[str, Any], prefix: str) -> None:
        """Sets the fields of a record, and of all records in it. Raises InvalidStructuralTagError."""
        self._set_fields(record, given, prefix)
        self._fill_open()

    def _fill_open(self) -> None:
        while self._open:
            record, given, path, self._depth = self._open.pop()
            self._set_fields(record, given, f"{path}." if path else "")

    def _set_fields(self, record: CheckedRecord, given: Mapping[str, Any], prefix: str) -> None:
        self.record, self.given = record, given
        n_open = len(self._open)
        for name, key, default, kind in fields_of(type(record)):
            if key not in given and name in given:
                key = name
            self.key = key
            if key in given:
                value = kind.read(given[key], f"{prefix}{key}", self)
            elif default is MISSING:
                raise self.refusal(f"{prefix}{key}", f"is missing, and a {type(record).__name__} needs it")
            else:
                value = default() if callable(default) else default
            setattr(record, name, value)
        self._open[n_open:] = reversed(self._open[n_open:])
        known = _keys_of(type(record))
        missing = [name for name in known if name not in given]
        for name in given:
            if name in known:
                continue
            stop_if_cancelled()
            self._n_unknown += 1
            if self._n_unknown > _MAX_UNKNOWN:
                break
            meant = similar(name, missing) if isinstance(name, str) else ()
            if meant:
                ignored = f"{shortened(prefix)}{shortened(name)}"
                warn(_log, f"{ignored}: there is no such field, so it is ignored; did you mean {meant[0]!r}?")

    def choose(self, cls: type[_Record], given: Mapping[str, Any], path: str) -> tuple[type[_Record], Mapping[str, Any]]:
        """The class of the record that members describe, and the members that fill it."""
        return cls.class_of(given, path), given

    def noted(self, note: object, value: Any, path: str) -> tuple[Any, str]:
        """A value of a field that has a note in its annotation, and its path, before it is checked."""
        return value, path

    def refusal(self, path: str, problem: str) -> InvalidStructuralTagError:
        """The error that says what is wrong with a field."""
        return InvalidStructuralTagError(f"{path}: {problem}")

    def no_record(self, cls: type[CheckedRecord], given: object, path: str) -> InvalidStructuralTagError:
        """The error for a value that is no object."""
        return self.wrong(path or cls.__name__, f"must be a dictionary or a {cls.__name__}", given)

    def count(self, path: str, n_values: int) -> None:
        """Counts the values of a list before they are read. Raises InvalidStructuralTagError."""
        self._n_values += n_values
        if self._n_values > _MAX_LIST_VALUES:
            rule = f"the limit of {_MAX_LIST_VALUES:,} values in all lists together is passed here, with {n_values:,} more"
            raise self.refusal(path, f"{rule}; name what is allowed, where that is less")

    def wrong(self, path: str, rule: str, value: object) -> InvalidStructuralTagError:
        """The error that says what a field must be, and what it is."""
        return self.refusal(path, f"{rule}, not {self.shown(value)}")

    def shown(self, value: object) -> str:
        """A value as messages have it."""
        shown = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else f"a value of type {type(value).__name__}"
        return shown if len(shown) <= 80 else shown[:77] + "..."


@dataclass(frozen=True)
class _Kind:
    """What a field may be: its name for messages, which values are of this kind by their type, and how one is read."""

    name: str
    fits: Callable[[object], bool]
    read: Callable[[Any, str, Reading], Any]


_Field = tuple[str, str, Any, _Kind]
"""The attribute, the key it is given by, its default (a function for lists), its kind."""
_fields: dict[type, list[_Field]] = {}
_keys: dict[type, frozenset[str]] = {}


def fields_of(cls: type[CheckedRecord]) -> list[_Field]:
    """The fields of a class, in the order of its declaration."""
    if cls not in _fields:
        hints = get_type_hints(cls, include_extras=True)
        _fields[cls] = [
            (
                field.name,
                cls.given_as.get(field.name, field.name),
                field.default if field.default_factory is MISSING else field.default_factory,
                _kind(hints[field.name]),
            )
            for field in fields(cls)  # type: ignore[arg-type]
        ]
    return _fields[cls]


def _keys_of(cls: type[CheckedRecord]) -> frozenset[str]:
    """By which the fields of a class may be given."""
    if cls not in _keys:
        _keys[cls] = frozenset([part for name, key, *_ in fields_of(cls) for part in (name, key)])
    return _keys[cls]


_PLAIN = {str: "a text", int: "a whole number", bool: "true or false", type(None): "null", type: "a class"}


def _kind(hint: Any) -> _Kind:
    if hint is Any:
        return _Kind("anything", lambda _: True, lambda value, _, __: value)
    if isinstance(hint, type) and issubclass(hint, CheckedRecord):
        return _Kind(f"a {hint.__name__}", lambda v: isinstance(v, (hint, Mapping)), lambda v, path, r: r.begin(hint, v, path))
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(parts[0], parts[1])
    if origin is Literal:
        return _checked(" or ".join([repr(o) for o in parts]), lambda v: isinstance(v, str) and v in parts)
    if origin in (Union, types.UnionType):
        return _union([_kind(part) for part in parts])
    if origin is list:
        return _list(_kind(parts[0]))
    if origin is tuple:
        return _tuple([_kind(part) for part in parts])
    if origin is dict:
        return _Kind("an object", lambda v: isinstance(v, Mapping), _read_object)
    if isinstance(hint, type):
        return _checked(_PLAIN.get(hint, f"a {hint.__name__}"), lambda v: _is_plain(v, hint))
    raise TypeError(f"no record has a field of {hint!r}")


def _is_plain(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _checked(name: str, fits: Callable[[object], bool]) -> _Kind:
    def read(value: object, path: str, reading: Reading) -> object:
        if not fits(value):
            raise reading.wrong(path, f"must be {name}", value)
        return value

    return _Kind(name, fits, read)


def _annotated(hint: Any, note: object) -> _Kind:
    if isinstance(note, Within):
        low, high = note.minimum, note.maximum
        return _checked(f"a whole number from {low} to {high}", lambda v: _is_plain(v, int) and low <= v <= high)  # type: ignore[operator]
    kind = _kind(hint)

    def read(value: object, path: str, reading: Reading) -> object:
        return kind.read(*reading.noted(note, value, path), reading)

    return _Kind(kind.name, kind.fits, read)


def _union(kinds: list[_Kind]) -> _Kind:
    name = " or ".join([k.name for k in kinds])

    def read(value: object, path: str, reading: Reading) -> object:
        for kind in kinds:
            if kind.fits(value):
                return kind.read(value, path, reading)
        raise reading.wrong(path, f"must be {name}", value)

    return _Kind(name, lambda v: any(k.fits(v) for k in kinds), read)


def _list(item: _Kind) -> _Kind:
    def read(value: object, path: str, reading: Reading) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise reading.wrong(path, "must be a list", value)
        reading.count(path, len(value))
        made = []
        for i, v in enumerate(value):
            stop_if_cancelled()
            made.append(item.read(v, f"{path}[{i}]", reading))
        return made

    return _Kind("a list", lambda v: isinstance(v, (list, tuple)), read)


def _tuple(kinds: list[_Kind]) -> _Kind:
    def read(value: object, path: str, reading: Reading) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)) or len(value) != len(kinds):
            raise reading.wrong(path, f"must be a list of {len(kinds)}: {', '.join([k.name for k in kinds])}", value)
        return tuple([kind.read(v, f"{path}[{i}]", reading) for i, (kind, v) in enumerate(zip(kinds, value, strict=True))])

    return _Kind("a list", lambda v: isinstance(v, (list, tuple)), read)


def _read_object(value: object, path: str, reading: Reading) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise reading.wrong(path, "must be an object, its keys texts", value)
    return dict(value)


def _guarded(work: Callable[[], _T]) -> _T:
    try:
        return work()
    except RecursionError:
        raise InvalidStructuralTagError(_TOO_DEEP) from None


def _dumped(value: Any, as_json: bool, by_alias: bool, exclude_none: bool) -> Any:
    if isinstance(value, CheckedRecord):
        members = {key if by_alias else name: getattr(value, name) for name, key, _, _ in fields_of(type(value))}
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
