"""The options of psc inside a serving engine, from the environment and from the engine's own configuration.

An option ``cache_mb`` is ``PSC_CACHE_MB`` in the environment and ``cache_mb`` in a mapping, such as vLLM's
``additional_config["psc"]``; the mapping wins. By default nothing is read from or written to a folder of the user.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal

from psc.errors import PscError
from psc.requests.json_schemas import BOUNDED, SchemaOptions, SchemaSettings
from psc.support.cached_property import cached_property

PREFIX: Final = "PSC_"
"""Of the environment variables."""
MASK_STEPS: Final = 4_000_000
"""Four times the largest need of a mask that was seen in bundled grammars, and in clients' schemas and tools."""


class _Unset:
    """Stands for what another option decides."""


_UNSET: Final = _Unset()


class OptionError(PscError, ValueError):
    """An option that does not exist, or a value that it cannot have; the message names it."""


def _fail(origin: str, wanted: str, value: object) -> OptionError:
    return OptionError(f"psc's option {origin} must be {wanted}, not {value!r}")


def _flag(value: object, origin: str) -> bool:
    if isinstance(value, bool):
        return value
    values = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    read = values.get(str(value).strip().lower())
    if read is None:
        raise _fail(origin, "true or false", value)
    return read


def _seconds(value: object, origin: str) -> float:
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else -1.0
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise _fail(origin, "a number of seconds, 0 or more", value)
    return number


def _count(value: object, origin: str) -> int:
    number = value.strip() if isinstance(value, str) else value
    if isinstance(number, str) and number.isdecimal():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise _fail(origin, "a whole number, 0 or more", value)
    return number


def _positive(value: object, origin: str) -> int:
    number = _count(value, origin)
    if not number:
        raise _fail(origin, "a whole number, 1 or more", value)
    return number


def _positive_or_none(value: object, origin: str) -> int | None:
    return None if value is None or str(value).strip().lower() == "none" else _positive(value, origin)


def _folder_or_none(value: object, origin: str) -> str | None:
    if value is None or isinstance(value, (str, os.PathLike)):
        return None if value is None else os.fspath(value)
    raise _fail(origin, "a folder", value)


def _texts(value: object, origin: str) -> tuple[str, ...]:
    parts = [p.strip() for p in value.split(",") if p.strip()] if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(p, str) for p in parts):
        raise _fail(origin, "a list of texts, or texts with commas between", value)
    return tuple(parts)


def _addresses(value: object, origin: str) -> tuple[str, ...]:
    return _texts(",".join(value.split()) if isinstance(value, str) else value, origin)


def _address_or_none(value: object, origin: str) -> str | None:
    if value is None:
        return None
    port = str(value).strip().rpartition(":")[2]
    if isinstance(value, bool) or not port.isdecimal() or int(port) > 65535:
        raise _fail(origin, "a port, or HOST:PORT", value)
    return str(value).strip()


def _one_of(*names: str) -> Callable[[object, str], str]:
    def read(value: object, origin: str) -> str:
        if value not in names:
            raise _fail(origin, " or ".join(map(repr, names)), value)
        return str(value)

    return read


def _option(default: Any, read: Callable[[object, str], object]) -> Any:
    return field(default=default, metadata={"read": read})


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """The options of a `psc.serving.GrammarService`."""

    store: str | None = _option(None, _folder_or_none)
    """The folder of artifacts, which may be read-only; None is none."""
    registry: tuple[str, ...] = _option((), _addresses)
    """URLs of registries, queried in turn. Without a store their artifacts are cached while the process runs."""
    warm: tuple[str, ...] = _option((), _texts)
    """Bundled grammars and files of grammars, schemas or structural tags that are compiled when the service starts."""
    fallback: Literal["engine", "none"] = _option("none", _one_of("engine", "none"))
    """The fate of a request that psc refuses: the engine's own backend takes it, or it fails."""
    cache_mb: int = _option(2048, _count)
    """What compiled grammars, and the masks that they have built, may take, in MB of 2^20 bytes, looked at once a second; those not
    used for longest go."""
    validations: int = _option(4096, _count)
    """The number of texts whose verdict, right or wrong, is cached."""
    masks_ahead: int = _option(1, _count)
    """How many masks of a new grammar are built while the model reads the prompt, by a thread but for one that admission makes; see
    ``GrammarCompiler``."""
    compile_timeout_s: float = _option(30.0, _seconds)
    """A compilation that takes longer is called off, and its request fails; 0 is no limit."""
    mask_steps: int = _option(MASK_STEPS, _positive)
    """The limit of one mask's cost, in steps of 10 to 100 ns. An ambiguous grammar that needs more fails its request, since
    the others of its batch wait meanwhile."""
    metrics: str | None = _option(None, _address_or_none)
    """A port, or HOST:PORT, at which each process of the engine serves its counters in Prometheus' format; None is none."""
    mask_table_mb: int = _option(0, _count)
    """Size of a table of mask rows, in MB of 2^20 bytes, in each of vLLM's workers, which are then sent four bytes a request and
    step instead of a mask; 0 is no table."""
    forced_drafts: bool = _option(False, _flag)
    """Whether vLLM, where it speculates, verifies the tokens that a grammar leaves, but for white space, instead of what its
    proposer found."""
    reasoning: Literal["grammar", "engine"] = _option("grammar", _one_of("grammar", "engine"))
    """Whether a model's reasoning is the first part of its grammar, with masks from the first token on, or the engine's alone: of
    vLLM and SGLang."""
    any_whitespace: bool = _option(True, _flag)
    """Whether JSON may have white space anywhere; else it has none, or that of `spaced`."""
    spaced: bool = _option(False, _flag)
    """Whether JSON that may not have white space anywhere has a space after each comma and colon."""
    bounded: bool = _option(True, _flag)
    """Whether a model that writes white space, zeros or digits as long as it may comes to an end anyway. False is what JSON
    Schema and the bundled languages say: the next four are then None, None, False and False, unless they are given."""
    max_whitespace: int | None = _option(_UNSET, _positive_or_none)
    """The limit of white space in one position of a value, in structural tags and calls too; by default 20; None is no limit."""
    max_digits: int | None = _option(_UNSET, _positive_or_none)
    """How many digits a number may have before its point, behind it and in its exponent, where its schema sets no bound, and
    digits in a row in formats; by default 20; None is no limit."""
    bounded_layout: bool = _option(_UNSET, _flag)
    """Whether a bundled programming language that is named without an option is read as ``java?layout=bounded`` where it can be: no
    comments, and no long runs of blanks; by default as ``bounded`` says. ``java?layout=any`` is still the whole language."""
    plain_integers: bool = _option(_UNSET, _flag)
    """Whether numbers that must be integers are written as such, and never as ``1.0``; by default they are."""
    strict: bool = _option(True, _flag)
    """Whether a schema's objects have no members but those that it names, where it says nothing of others."""
    any_order: bool = _option(False, _flag)
    """Whether the members that a schema declares may come in any order."""
    lenient: bool = _option(False, _flag)
    """Whether parts of a schema that cannot be enforced are left out, with a warning in the log, instead of refusing the schema."""

    def __post_init__(self) -> None:
        bounds = replace(SchemaSettings(), **BOUNDED) if self.bounded else SchemaSettings()
        for name in ("max_whitespace", "max_digits", "plain_integers"):
            if getattr(self, name) is _UNSET:
                object.__setattr__(self, name, getattr(bounds, "max_whitespace_cnt" if name == "max_whitespace" else name))
        if isinstance(self.bounded_layout, _Unset):
            object.__setattr__(self, "bounded_layout", self.bounded)

    @cached_property
    def schema_settings(self) -> SchemaSettings:
        """Those of JSON schemas, as the settings of a `GrammarRequest`."""
        return SchemaSettings.of(**self._schema_options)

    @cached_property
    def tag_settings(self) -> SchemaSettings:
        """The same of schemas in structural tags. White space around parameters is never fixed, so its limit counts."""
        return replace(self.schema_settings, max_whitespace_cnt=self.max_whitespace)

    @property
    def _schema_options(self) -> SchemaOptions:
        return {
            "any_whitespace": self.any_whitespace,
            "separators": (", ", ": ") if self.spaced else (",", ":"),
            "strict_mode": self.strict,
            "max_whitespace_cnt": self.max_whitespace,
            "plain_integers": self.plain_integers,
            "max_digits": self.max_digits,
            "any_order": self.any_order,
            "lenient": self.lenient,
        }

    @classmethod
    def of(cls, given: Mapping[str, object] | None = None, environment: Mapping[str, str] = os.environ) -> ServiceOptions:
        """The options of the environment and a mapping.

        Args:
            given: options by name, as numbers, booleans, lists or text; these win.
            environment: variables, as text; an empty one is not set.

        Raises:
            OptionError: there is no such option, or a value does not fit.
        """
        if given is not None and not isinstance(given, Mapping):
            raise OptionError(f"psc's options must be a mapping of names to values, not {type(given).__name__}")
        options = {f.name: f for f in fields(cls)}
        for name in given or {}:
            if name not in options:
                close = difflib.get_close_matches(str(name), options, n=3, cutoff=0.5)
                hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(options)}"
                raise OptionError(f"psc has no option {name!r}; {hint}")
        values: dict[str, Any] = {}
        for name, option in options.items():
            variable = PREFIX + name.upper()
            if given is not None and name in given:
                value, origin = given[name], name
            elif environment.get(variable):
                value, origin = environment[variable], variable
            else:
                continue
            values[name] = option.metadata["read"](value, origin)
        return cls(**values)
