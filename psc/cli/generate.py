"""``psc generate``: a model on this machine writes inside a grammar."""

from __future__ import annotations

import os
import random
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psc.cli.arguments import GRAMMAR, quiet_option, with_paragraph
from psc.cli.grammars import GRAMMAR_FILE, Chosen, grammar_options, open_compiled
from psc.cli.progress import Steps
from psc.cli.report import note
from psc.cli.schema_options import SchemaOptions
from psc.compiler.frontends.lookup import GrammarFile, find_grammar, is_grammar, with_bounded_layout
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.grammars import bundled_description
from psc.errors import GrammarError
from psc.generation.converted import prepared
from psc.generation.instructions import Instruction, language_instruction, schema_instruction
from psc.generation.models import NAMED_MODELS, ModelFiles, find_model
from psc.grammars.compiled_grammar import CompiledGrammar, compile_just_in_time
from psc.grammars.grammar import Grammar
from psc.inspection.checking import Checker
from psc.requests.json_schemas import BOUNDED, SchemaSettings
from psc.support.readable import duration
from psc.vocabulary import load_tokenizer

if TYPE_CHECKING:
    from psc.generation.writing import Written

_STEPS = ("model", "grammar", "Transformers", "tokenizer", "weights")


@click.command("generate")
@click.argument("words", nargs=-1, required=True, type=GRAMMAR, metavar="[GRAMMAR] PROMPT")
@click.option(
    "--schema", "schema_file", metavar="FILE", help="Hold the text to the JSON schema in a file, or to the one that is given here."
)
@click.option("--regex", metavar="PATTERN", help="Hold the text to a regular expression.")
@click.option(
    "--model",
    default=NAMED_MODELS[0].name,
    show_default=True,
    metavar="SPEC",
    help="A short name of a model that a package brings, a model's folder, a .gguf file, or a Hugging Face id in the local cache.",
)
@click.option("--no-grammar", is_flag=True, help="Hold the text to nothing; whether it fits the grammar is said at its end.")
@click.option("--system", metavar="TEXT", help="The system prompt, instead of one that names the language or shows the schema.")
@click.option("--max-tokens", type=click.IntRange(1), default=512, show_default=True, help="Stop after this many tokens.")
@click.option(
    "--temperature", type=click.FloatRange(0), default=0.0, show_default=True, help="How freely tokens are drawn; 0: the likeliest."
)
@click.option("--seed", type=int, help="Of what is drawn; without it, another one every time.")
@click.option(
    "--no-drafts",
    is_flag=True,
    help="Read one token in each forward pass, also where the grammar leaves one way; the text is the same.",
)
@click.option("--no-cache", is_flag=True, help="Convert a .gguf file for this text only, and keep nothing of it.")
@grammar_options
@quiet_option("Print nothing but the text.")
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    schema_file: str | None,
    regex: str | None,
    model: str,
    no_grammar: bool,
    system: str | None,
    max_tokens: int,
    temperature: float,
    seed: int | None,
    no_drafts: bool,
    no_cache: bool,
    chosen: Chosen,
    quiet: bool,
) -> None:
    """Let a language model on this machine write a text that is inside GRAMMAR.

    The text is printed as it comes, and its speed on stderr at the end. PROMPT may be -, for standard input. A JSON schema is read
    with --bounded, unless options of JSON schemas are given. The exit code is 1 where the text was cut before its end, or is not
    inside the GRAMMAR that --no-grammar left aside.
    """
    asked, prompt = _read(words, schema_file, regex, no_grammar)
    files = find_model(model)
    os.environ.setdefault("TQDM_DISABLE", "1")  # reading a .gguf file would show bars of its own
    with Steps(f"loading {files.name}", quiet=quiet) as steps:

        def step(name: str, of: str | None = None) -> None:
            steps.step(name, _STEPS.index(of or name), len(_STEPS))

        with prepared(files, keep=not no_cache, progress=lambda name: step(f"{name}, once", _STEPS[0])) as prepared_files:
            step("grammar")
            compiled = asked.compiled(prepared_files, chosen) if asked else None
            info = load_tokenizer(prepared_files.path) if compiled is None else compiled.tokenizer_info
            step("Transformers")
            from psc.generation.language_model import LanguageModel
            from psc.generation.writing import Sampling, write

            loaded = LanguageModel(prepared_files, progress=step)
    told = asked.instruction() if asked else Instruction()
    opening = "" if no_grammar else told.opening
    printed = _Printed()
    with printed:
        written = write(
            loaded,
            info,
            loaded.chat_prompt(told.system if system is None else system, prompt, opening),
            compiled=None if no_grammar else compiled,
            sampling=Sampling(max_tokens, temperature, random.SystemRandom().getrandbits(32) if seed is None else seed),
            fence_ends=bool(opening),
            drafts=not no_drafts,
            on_text=printed.add,
        )
    if not quiet:
        speed = written.tokens_per_second
        rate = f", {speed:.1f} tokens a second" if speed else ""
        passes = f" in {written.n_passes} forward passes" if written.n_passes < written.n_tokens else ""
        click.echo(f"psc: {written.n_tokens} tokens{passes}, the first after {duration(written.first_s)}{rate}", err=True)
    problem = _misfit(compiled, written) if no_grammar and compiled is not None else None
    if problem is None and not written.finished:
        more = "--max-tokens allows more" if written.n_tokens == max_tokens else f"{files.name} reads no more"
        problem = f"cut after {written.n_tokens} tokens, before the text's end: {more}"
    if problem:
        note(problem)
    ctx.exit(1 if problem else 0)


@dataclass(frozen=True)
class Asked:
    """The grammar that the command line names."""

    spec: str
    """As GRAMMAR is given, or the option's name."""
    file: GrammarFile | None
    """None for an artifact."""
    text: str | None = None
    """Of a schema or a regex that an option gives; else it is in the file."""

    def instruction(self) -> Instruction:
        """What the model reads about it."""
        if self.file is None:
            return Instruction()
        if self.file.language == "json_schema":
            return schema_instruction(self.file.request().text if self.text is None else self.text)
        name = self.file.path.stem
        return language_instruction(name, bundled_description(name)) if self.file.bundled else Instruction()

    def compiled(self, model: ModelFiles, chosen: Chosen) -> CompiledGrammar:
        """For the model's tokenizer. JSON schemas are bounded, as servers read them, unless an option of theirs is given."""
        is_schema = self.file is not None and self.file.language == "json_schema"
        if is_schema and chosen.schema is not None and not chosen.schema.names:
            chosen = replace(chosen, schema=SchemaOptions((), SchemaSettings.of(**BOUNDED)))
        spec = with_bounded_layout(self.spec) if self.file is not None and self.file.bundled else self.spec
        if self.text is None or self.file is None:
            return open_compiled(spec, str(model.path), chosen)
        request = GrammarRequest.of(self.file.language, self.text, **chosen.of(self.file), origin=self.spec)
        info = load_tokenizer(model.path)
        return compile_just_in_time(Grammar.parse(request, names=request.names_of(info)), info)


def _read(words: tuple[str, ...], schema: str | None, regex: str | None, no_grammar: bool) -> tuple[Asked | None, str]:
    """What the text is to be inside, and the prompt.

    Raises:
        click.UsageError: there are two grammars, or none.
        GrammarError: it is not there, or cannot be read.
    """
    *grammars, prompt = words
    n_asked = len(grammars) + (schema is not None) + (regex is not None)
    if n_asked > 1:
        raise click.UsageError("one grammar and one prompt: put the prompt in quotes, and give GRAMMAR, --schema or --regex")
    if n_asked == 0 and not no_grammar:
        raise click.UsageError("name a grammar before the prompt, or give --schema, --regex or --no-grammar")
    if prompt == "-":
        prompt = sys.stdin.read()
    if schema is not None:
        return _given("--schema", "json_schema", _schema_text(schema)), prompt
    if regex is not None:
        return _given("--regex", "regex", regex), prompt
    if not grammars:
        return None, prompt
    return Asked(grammars[0], find_grammar(grammars[0]) if is_grammar(grammars[0]) else None), prompt


def _given(option: str, language: str, text: str) -> Asked:
    return Asked(option, GrammarFile(option, Path(option), bundled=False, language=language), text)


def _schema_text(schema: str) -> str:
    if schema.lstrip().startswith("{"):
        return schema
    try:
        return Path(schema).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise GrammarError(f"{schema}: cannot read the schema: {getattr(e, 'strerror', None) or e}") from e


class _Printed:
    """A text on stdout, shown as it comes. Its line ends however the text ends, by Ctrl-C, too."""

    def __init__(self) -> None:
        self._last = ""

    def add(self, piece: str) -> None:
        click.echo(piece, nl=False)
        self._last = piece

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._last.endswith("\n") and (self._last or kind is None):
            click.echo()


def _misfit(compiled: CompiledGrammar, written: Written) -> str | None:
    """Where a text that was held to nothing leaves the grammar; what is only cut does not."""
    stop = Checker(compiled).check_file(written.text).stop
    if stop is None or (stop.offset == len(written.text) and not written.finished):
        return None
    return f"not inside the grammar: line {stop.line}, column {stop.column}: {stop.message()}"


with_paragraph(command, f"GRAMMAR is an artifact for the model's tokenizer, or a bundled name or the path of a {GRAMMAR_FILE}.")
