"""``psc registry serve`` and ``keygen``: the server's side."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from psc.artifacts.format import Artifact
from psc.artifacts.registry.access_tokens import READ_TOKEN_ENVIRONMENT, TOKEN_ENVIRONMENT, AcceptedTokens
from psc.artifacts.registry.signing import write_key_pair
from psc.cli.registries import n_bytes
from psc.cli.report import note, warning
from psc.errors import RegistryError
from psc.runtime.compiled import LoadedGrammar
from psc.vocabulary.tokenizer_info import TokenizerInfo

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("serve")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 for all.")
@click.option("--port", type=click.IntRange(0, 65535), default=8750, show_default=True, help="0: any free one, which is printed.")
@click.option(
    "--token-file",
    type=_FILE,
    help=f"Tokens that may push, one a line, perhaps with the last day on which it may: TOKEN 2027-01-31. Or {TOKEN_ENVIRONMENT}.",
)
@click.option("--read-token-file", type=_FILE, help=f"Tokens that may read; without, everybody may. Or {READ_TOKEN_ENVIRONMENT}.")
@click.option("--tls-cert", type=_FILE, help="Certificate chain, PEM: speak HTTPS.")
@click.option("--tls-key", type=_FILE, help="Its private key, PEM.")
@click.option("--max-blob-bytes", default="256MiB", show_default=True, callback=n_bytes, help="Larger artifacts are refused.")
@click.option(
    "--max-connections",
    type=click.IntRange(1),
    default=2_000,
    show_default=True,
    help="Connections at once, half of them from one address; fewer where the limit of open files is low. Idle ones give way.",
)
@click.option(
    "--grace", type=click.FloatRange(0), default=30.0, show_default=True, help="Seconds for transfers to finish at the end."
)
@click.option("--quiet", is_flag=True, help="No access log.")
def serve(
    folder: Path,
    host: str,
    port: int,
    token_file: Path | None,
    read_token_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    max_blob_bytes: int,
    max_connections: int,
    grace: float,
    quiet: bool,
) -> None:
    """Serve the registry in DIR over HTTP: reading to everybody, pushing to those with a token.

    Ends in order at SIGTERM or SIGINT. /healthz and /metrics (Prometheus) are served too. One line of JSON a request goes to
    stderr.
    """
    from psc.artifacts.registry.listening import Listening, log_to_stderr
    from psc.artifacts.registry.listening import serve as serve_folder
    from psc.artifacts.registry.serving import Served

    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    push = _tokens(TOKEN_ENVIRONMENT, token_file)
    reading = _tokens(READ_TOKEN_ENVIRONMENT, read_token_file)
    for file in (token_file, read_token_file, tls_key):
        _warn_if_open(file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise RegistryError(f"{folder}: cannot make the folder: {e.strerror or e}") from e
    if not push:
        note(f"no token for pushing was given (--token-file or {TOKEN_ENVIRONMENT}), so the registry is read-only")
    if tls_cert is None and (push or reading) and not _is_loopback(host):
        warning("tokens will travel unencrypted over the network; give --tls-cert and --tls-key, or let a proxy speak TLS")
    served = Served(folder, check_tables, push_tokens=push, read_tokens=reading, max_blob_bytes=max_blob_bytes)
    serve_folder(
        served,
        Listening(host, port, tls_cert, tls_key, grace, max_connections),
        ready=lambda url: click.echo(f"serving {folder} at {url}"),
        log=None if quiet else log_to_stderr,
    )


def check_tables(artifact: Artifact) -> None:
    """Raises ArtifactError unless the artifact's tables make a machine, so that no reader of the registry finds out first."""
    LoadedGrammar.from_artifact(artifact, tokenizer_info=_no_tokenizer, place="artifact")


def _no_tokenizer(metadata: Mapping[str, Any], origin: str) -> TokenizerInfo:
    raise RegistryError(f"{origin}: a registry needs no tokenizer")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _tokens(variable: str, file: Path | None) -> AcceptedTokens:
    given = os.environ.get(variable, "").split()
    if any(len(token) < 16 for token in given):
        raise RegistryError(f"{variable}: a token of fewer than 16 characters can be guessed; openssl rand -hex 32 makes one")
    return AcceptedTokens(given, file, report=warning)


def _warn_if_open(file: Path | None) -> None:
    try:
        if file is not None and file.stat().st_mode & 0o077:
            warning(f"{file}: others on this machine can read it; chmod 600 {file}")
    except OSError:
        pass  # the later read reports the error


@click.command("keygen")
@click.argument("file", type=_FILE)
def keygen(file: Path) -> None:
    """Make a key pair for signing: the private key in FILE, the public one in FILE.pub."""
    public, key_id = write_key_pair(file)
    click.echo(f"{file}: private key, for psc registry push --sign; keep it secret")
    click.echo(f"{public}: public key, for --require-signature; key id {key_id}")
