"""``psc check``: files against an artifact or a grammar."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from psc.cli.arguments import FILE, GRAMMAR, json_option, quiet_option, with_paragraph
from psc.cli.check_formats import github_line, sarif
from psc.cli.grammars import GRAMMAR_HELP, Chosen, grammar_options, open_compiled
from psc.cli.progress import Steps
from psc.cli.report import note, write_json
from psc.cli.tokenizers import recorded_tokenizer_option
from psc.errors import PscError
from psc.grammars.compiled_grammar import CompiledGrammar
from psc.inspection.checking import Check, Checker
from psc.vocabulary.segment import Segmenter

STDIN = "<stdin>"


@click.command("check")
@click.argument("grammar", type=GRAMMAR)
@click.argument("files", nargs=-1, required=True, type=FILE)
@recorded_tokenizer_option
@grammar_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "github", "sarif"]),
    default="text",
    show_default=True,
    help="github: annotations of a workflow, for files that fail. sarif: a SARIF document on standard output.",
)
@json_option
@quiet_option("Print only what fails.")
@click.pass_context
def command(
    ctx: click.Context,
    grammar: str,
    files: tuple[str, ...],
    tokenizer: str | None,
    chosen: Chosen,
    form: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check FILES (- is standard input) against GRAMMAR, token by token.

    Each file is cut into tokens, longest first; every token must be allowed by the mask at its place, and the text
    may end after the last. A file that fails is reported as FILE:LINE:COLUMN, with what was found there and what was
    expected; the exit code is then 1.
    """
    if as_json and form != "text":
        raise click.UsageError(f"--json and --format {form} exclude each other")
    with Steps("checking", quiet=quiet) as steps:
        steps.step("reading the grammar", 0, len(files))
        compiled = open_compiled(grammar, tokenizer, chosen)
        checker, remark = checker_for(compiled)
        if remark:
            note(remark)
        results = []
        for i, name in enumerate(files):
            steps.step(name, i, len(files))
            results.append(check_file(checker, name))
            if form == "github" and not results[-1].passed:
                click.echo(github_line(results[-1]))
            if form == "text" and not as_json and not (quiet and results[-1].passed):
                click.echo(results[-1].line())
    if form == "sarif":
        write_json(sarif(results))
    elif as_json:
        notes = [remark] if remark else []
        write_json({"grammar": grammar, "notes": notes, "files": [r.as_data() for r in results]})
    elif len(files) > 1 and not quiet:
        click.echo(f"{sum(r.passed for r in results)} of {len(files)} files passed", err=True)
    ctx.exit(0 if all(r.passed for r in results) else 1)


with_paragraph(command, f"GRAMMAR is {GRAMMAR_HELP}.")


def checker_for(compiled: CompiledGrammar) -> tuple[Checker, str | None]:
    """A checker; without the vocabulary it reads texts byte by byte, and there is a remark on that."""
    try:
        return Checker(compiled, Segmenter(compiled.tokenizer_info)), None
    except (PscError, OSError) as e:
        remark = f"the tokenizer was not found, so files are read byte by byte and the masks are not checked: {e}"
        return Checker(compiled), remark


@dataclass(frozen=True)
class FileResult:
    """The result for a file: it was checked, or could not be read."""

    name: str
    check: Check | None
    error: str | None = None

    @property
    def passed(self) -> bool:
        return self.check is not None and self.check.passed

    def line(self) -> str:
        """The report for people."""
        stop = self.check.stop if self.check and not self.check.disagreement else None
        return f"{self.name}{f':{stop.line}:{stop.column}' if stop else ''}: {self.message()}"

    def message(self) -> str:
        """What is wrong, without the place; or ok."""
        if self.check is None:
            return str(self.error)
        if self.check.disagreement:
            return f"internal error of psc, please report it: {self.check.disagreement}"
        return self.check.stop.message() if self.check.stop else "ok"

    def as_data(self) -> dict[str, Any]:
        """The report for machines."""
        out: dict[str, Any] = {"file": self.name, "passed": self.passed}
        if self.check is None:
            return {**out, "error": self.error}
        out.update(bytes=self.check.bytes, tokens=self.check.tokens)
        if self.check.stop:
            out["stop"] = asdict(self.check.stop)
        if self.check.disagreement:
            out["internal_error"] = self.check.disagreement
        return out


def check_file(checker: Checker, name: str) -> FileResult:
    """Reads and checks one file; ``-`` is standard input."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as e:
        return FileResult(name, None, f"cannot read the file: {e.strerror or e}")
    shown = STDIN if name == "-" else name
    try:
        return FileResult(shown, checker.check_file(data))
    except PscError as e:
        return FileResult(shown, None, str(e))
