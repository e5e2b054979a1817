"""``psc inspect``: what an artifact holds and where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from psc.artifacts.format import Artifact, read_file
from psc.artifacts.scalars import is_closed, is_partly_closed
from psc.cli.progress import Steps
from psc.cli.report import write_json, write_pairs
from psc.compiler.frontends.registry import title
from psc.errors import ArtifactError
from psc.grammars.compile_file import read_build_record
from psc.support.readable import duration, size

_BUILT = {
    "whole": "to its end",
    "partly": "all but the stack classifier, which is built just in time, as texts come to it",
    "tables": "its tables; the rest is built just in time, as texts come to it",
}
_LEXERS = {
    "basic": "basic: the longest lexeme of any terminal",
    "flush": "flush: the longest lexeme of any terminal, and nothing ignored before the first",
    "modal": "modal: the longest lexeme of any terminal, and in some places only of those that the parser can take",
    "flush-modal": "flush-modal: as modal, and no lexeme begins with what is ignored before the first",
    "contextual": "contextual: the longest lexeme of a terminal that the parser can take",
    "flush-contextual": "flush-contextual: as contextual, and nothing ignored before the first",
    "indented": "indented: the longest lexeme of a terminal that the parser can take, or of a line end",
    "any": "any: a lexeme may end wherever it matches",
}


@click.command("inspect")
@click.argument("artifact", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--terminals", is_flag=True, help="List the terminals too.")
@click.option("--rules", is_flag=True, help="List the productions too.")
@click.option(
    "--fst",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Build the paper's transducers into DIR, of a grammar with at most 200 LR states and 5000 terminal sequences: json has "
    "that, java, go and sql are larger. Needs the extra openfst.",
)
def command(artifact: Path, as_json: bool, terminals: bool, rules: bool, fst: Path | None) -> None:
    """Show what is in ARTIFACT: sizes, states, provenance, warnings."""
    content = read_file(artifact)
    try:
        report = describe(artifact, content)
        listed = content.metadata["grammar"]
        if terminals:
            report["terminals"] = listed["terminals"]
        if rules:
            report["rules"] = listed["productions"]
        text = None if as_json else _pairs(report)
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise ArtifactError(f"{artifact}: the metadata are malformed: {type(e).__name__} {e}") from e
    if fst is not None:
        from psc.cli.transducers import export_transducers

        with Steps(f"building transducers of {artifact}"):
            report["transducers"] = [str(p) for p in export_transducers(artifact, content, fst)]
    if text is None:
        write_json(report)
        return
    write_pairs(text)
    for section in ("sections", "terminals", "rules", "transducers"):
        if section in report:
            click.echo(f"\n{section}")
            _write_list(section, report[section])
    for warning in report["warnings"]:
        click.echo(f"\nwarning: {warning}")


def describe(path: Path, artifact: Artifact) -> dict[str, Any]:
    """The report for machines."""
    metadata = artifact.metadata
    grammar = metadata["grammar"]
    record, record_note = read_build_record(path, artifact.digest)
    return {
        "artifact": str(path),
        "sha256": artifact.digest,
        "size_bytes": artifact.size,
        "memory_bytes": sum(a.nbytes for a in artifact.arrays.values()),
        "compiler_revision": metadata["compiler_revision"],
        "grammar": {key: grammar[key] for key in ("name", "sha256", "imports", "start", "language", "lexer", "keep_all_actions")},
        "tokenizer": metadata["tokenizer"],
        "closed": is_closed(artifact.arrays),
        "closing": "whole" if is_closed(artifact.arrays) else "partly" if is_partly_closed(artifact.arrays) else "tables",
        "counts": metadata["counts"],
        "warm_rows": sum(len(artifact.arrays[name]) for name in ("warm_row_state", "warm_union_first") if name in artifact.arrays),
        "build": record,
        "build_note": record_note,
        "sections": {name: {"elements": len(a), "memory_bytes": a.nbytes} for name, a in sorted(artifact.arrays.items())},
        "warnings": list(metadata["warnings"]),
    }


def _pairs(report: Mapping[str, Any]) -> list[tuple[str, object]]:
    grammar, tokenizer, build = report["grammar"], report["tokenizer"], report["build"]
    special = len(tokenizer["special_token_ids"])
    pairs: list[tuple[str, object]] = [
        ("artifact", report["artifact"]),
        ("sha256", report["sha256"]),
        ("size", f"{size(report['size_bytes'])}, {size(report['memory_bytes'])} in memory"),
        ("compiler revision", report["compiler_revision"]),
        ("grammar", f"{grammar['name']}, start {grammar['start']}"),
        ("  language", title(grammar["language"])),
        ("  lexer", _LEXERS.get(grammar["lexer"], grammar["lexer"])),
        ("  conflicts", "every way is followed" if grammar["keep_all_actions"] else "resolved as Lark does"),
        ("  sha256", grammar["sha256"]),
        *(("  imports", f"{name} {digest}") for name, digest in grammar["imports"]),
        ("tokenizer", f"{tokenizer['name']}, {tokenizer['vocab_size']:,} ids, {special:,} of them special"),
        ("  fingerprint", tokenizer["fingerprint"] + (", of all its tokens" if "text_fingerprint" in tokenizer else "")),
        *((("  of its text", tokenizer["text_fingerprint"]),) if "text_fingerprint" in tokenizer else ()),
        ("  stop tokens", ", ".join(map(str, tokenizer["stop_token_ids"])) or "none"),
        ("built", _BUILT[report["closing"]]),
        *((name.replace("_", " "), f"{n:,}") for name, n in report["counts"].items()),
    ]
    if report["warm_rows"]:
        pairs.append(("warm", f"{report['warm_rows']:,} masks of the texts are made in advance"))
    if build is not None:
        pairs.append(("built in", f"{duration(build['total_seconds'])}, peak memory {size(build['peak_memory_bytes'])}"))
        pairs.extend((f"  {stage}", duration(seconds)) for stage, seconds in build["seconds"].items())
    if report["build_note"]:
        pairs.append(("build", report["build_note"]))
    return pairs


def _write_list(section: str, items: Any) -> None:
    if section == "sections":
        write_pairs(((name, f"{s['elements']:>10,}  {size(s['memory_bytes'])}") for name, s in items.items()), indent=2)
    elif section == "terminals":
        write_pairs(((t["name"], t["pattern"] + ("  (ignored)" if t["ignored"] else "")) for t in items), indent=2)
    else:
        for item in items:
            click.echo(f"  {item}")
