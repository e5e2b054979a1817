"""The options that ``psc registry``'s commands share, and what is done with them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from psc.artifacts.registry.access_tokens import TOKEN_ENVIRONMENT
from psc.artifacts.registry.registries import REGISTRIES_ENVIRONMENT, Registries, addresses_in, is_offline
from psc.artifacts.store import Store, default_store
from psc.errors import RegistryError

_F = TypeVar("_F", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path, dir_okay=False)
_AGES = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}


@dataclass(frozen=True)
class Chosen:
    """The store, the registries and how these are reached, as `registry_options` say."""

    addresses: tuple[str, ...]
    token_file: Path | None
    ca_file: Path | None
    folder: Path | None
    required: tuple[Path, ...]

    @property
    def store(self) -> Store:
        """The store that ``--store`` names, or the user's."""
        return store_at(self.folder)

    def registries(self, addresses: tuple[str, ...] | None = None) -> Registries:
        """The registries of ``--registry``, else of the environment; perhaps none.

        Args:
            addresses: instead of ``--registry``.

        Raises:
            RegistryError: an address cannot be one, a file cannot be read, or the network is forbidden.
        """
        named = self.addresses if addresses is None else addresses
        chosen = list(named) or addresses_in(os.environ.get(REGISTRIES_ENVIRONMENT, ""))
        registries = Registries(
            chosen,
            token=_token(self.token_file),
            ca_file=self.ca_file,
            require_signature=self.required or None,
            memory=self.store.root / "seen",
        )
        if chosen and not registries and is_offline():
            raise RegistryError("PSC_OFFLINE is set, and none of the registries is a folder")
        return registries

    def some_registries(self) -> Registries:
        """The same. Raises RegistryError when there is none."""
        registries = self.registries()
        if not registries:
            raise RegistryError(f"no registry is named: give --registry URL, or set {REGISTRIES_ENVIRONMENT}")
        return registries


def registry_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--registry`` and how it is reached, ``--store`` and ``--require-signature``, given to the command as ``chosen``."""

    @functools.wraps(command)
    def with_options(
        *arguments: Any,
        addresses: tuple[str, ...],
        token_file: Path | None,
        ca_file: Path | None,
        folder: Path | None,
        required: tuple[Path, ...],
        **others: Any,
    ) -> Any:
        return command(*arguments, chosen=Chosen(addresses, token_file, ca_file, folder, required), **others)

    decorated: Callable[..., Any] = with_options
    for option in (
        click.option(
            "--require-signature",
            "required",
            multiple=True,
            type=_FILE,
            metavar="PUBKEYFILE",
            help="Believe only what this key has signed; may be repeated.",
        ),
        store_option,
        click.option("--ca-file", type=_FILE, help="Certificates to trust, PEM; by default the system's."),
        click.option(
            "--token-file",
            type=_FILE,
            help=f"A file with the bearer token; by default {TOKEN_ENVIRONMENT} in the environment.",
        ),
        click.option(
            "--registry",
            "addresses",
            multiple=True,
            metavar="URL",
            help=f"http(s)://…, a folder, s3://…; may be repeated. By default {REGISTRIES_ENVIRONMENT} in the environment.",
        ),
    ):
        decorated = option(decorated)
    return decorated


def store_option(function: _F) -> _F:
    """``--store``."""
    return click.option(
        "--store",
        "folder",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The local store; by default PSC_STORE in the environment, or one in the cache folder.",
    )(function)


def store_at(folder: Path | None) -> Store:
    """The store that ``--store`` names, or the user's."""
    return Store(folder) if folder is not None else default_store()


def age(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """``30d`` in seconds."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", value.strip().lower())
    if match is None:
        raise click.BadParameter(f"{value!r} is not an age such as 12h, 30d or 4w")
    return float(match[1]) * _AGES[match[2]]


def n_bytes(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """``10GB`` in bytes."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?", value.strip().lower())
    if match is None or match[2] not in _SIZES:
        raise click.BadParameter(f"{value!r} is not a size such as 500MB, 10GB or 10GiB")
    return int(float(match[1]) * _SIZES[match[2]])


def two_names(text: str) -> tuple[str, str]:
    """``java/qwen3`` as two names. Raises RegistryError."""
    grammar, slash, tokenizer = text.partition("/")
    if not slash or not grammar or not tokenizer or "/" in tokenizer:
        raise RegistryError(f"{text!r}: expected GRAMMAR/TOKENIZER, such as java/qwen3")
    return grammar, tokenizer


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        words = file.read_text().split()
    except (OSError, UnicodeDecodeError) as e:
        raise RegistryError(f"{file}: cannot read the token: {e}") from e
    if not words:
        raise RegistryError(f"{file}: there is no token in it")
    return words[0]
