"""``psc bench corpus``: a grammar beside its language's own parser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import click

from psc.cli.arguments import GRAMMAR, TOKENIZER, json_option, quiet_option
from psc.cli.progress import Steps
from psc.cli.report import write_json
from psc.compiler.cfg.grammar import LarkLexer
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.grammars import bundled_lexer
from psc.corpus.comparison import Subject, compare
from psc.corpus.references.reference import SECONDS_FOR_A_TEXT
from psc.corpus.references.registry import OTHER_PYTHON, REFERENCES, find_reference, language_of, open_reference
from psc.corpus.report import Comparison
from psc.corpus.texts import sampled, source_files


@click.command("corpus")
@click.argument("grammar", type=GRAMMAR)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="FILE_OR_FOLDER...")
@click.option("--reference", type=click.Choice(REFERENCES), help="The parser that judges; by default the language's own.")
@click.option("--second", type=click.Choice(REFERENCES), help="Another; what both judge alike is counted for itself, too.")
@click.option(
    "--python", "other_python", metavar="PATH", help="The Python whose parser judges Python; by default the one that runs psc."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=SECONDS_FOR_A_TEXT,
    show_default=True,
    metavar="N",
    help="For a text, where a program of its own judges; after them the text is not judged.",
)
@click.option("--lexer", type=click.Choice(get_args(LarkLexer)), help="Of a Lark grammar; by default the grammar's own.")
@click.option("--suffix", metavar=".EXT", help="The files to take of folders; by default the language's.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Take N files drawn at random.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Of the sample and the mutants.")
@click.option("--mutants", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Of each file.")
@click.option("--max-bytes", type=int, metavar="N", help="Leave out longer texts.")
@click.option("--max-mutated-bytes", type=int, default=20_000, show_default=True, metavar="N", help="Longer texts have no mutants.")
@click.option("--split", metavar="TEXT", help=r"Cut files into texts after each TEXT (';\n' for SQL).")
@click.option(
    "--tokenizer", "-t", type=TOKENIZER, metavar="SPEC", help="Read token by token, and compare each mask with the parser."
)
@click.option("--jobs", "-j", type=click.IntRange(min=1), metavar="N", help="Processes; by default one for each CPU.")
@click.option("--constructs", type=int, default=20, show_default=True, metavar="K", help="Show the K most frequent.")
@click.option("--examples", type=int, default=2, show_default=True, metavar="K", help="Show K texts of each construct.")
@json_option
@quiet_option("Show no progress.")
@click.pass_context
def command(
    ctx: click.Context,
    grammar: str,
    paths: tuple[Path, ...],
    reference: str | None,
    second: str | None,
    other_python: str | None,
    seconds: float,
    lexer: LarkLexer | None,
    suffix: str | None,
    sample: int | None,
    seed: int,
    mutants: int,
    max_bytes: int | None,
    max_mutated_bytes: int,
    split: str | None,
    tokenizer: str | None,
    jobs: int | None,
    constructs: int,
    examples: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare GRAMMAR with its language's own parser on real files.

    javac judges Java (JAVA_HOME says which), Kotlin's compiler Kotlin, gofmt Go, rustc Rust, Roslyn C#, bash Bash, GCC C and C++,
    Neo4j's parser Cypher, Python's own parsers Python, JSON, TOML, XML and CSV, graphql-core GraphQL, markdown-it-py Markdown,
    PyYAML YAML, protoc Protocol Buffers, Graphviz DOT, Git diffs, packages of PyPI SPARQL, SMILES, PDDL, cron, versions and
    Dockerfiles, pglast, SQLite, ZetaSQL and servers of MySQL and MariaDB SQL, node JavaScript and regular expressions,
    TypeScript's compiler TypeScript and JSX, the Nu checker HTML, Lightning CSS CSS, Mermaid and KaTeX theirs; of other grammars
    Lark does. With --mutants, texts in which one token is left out, doubled, changed, put in or moved are judged, too. What one
    of the two refuses and the other accepts is listed by construct. SQL's core is of no one parser: by pglast and SQLite, what
    both judge alike has lines of its own. The exit code is 1 where a mask is wrong.
    """
    found = find_grammar(grammar)
    path = found.path
    if path.suffix == ".lark":
        lexer = lexer or (bundled_lexer(path.stem) if found.bundled else "contextual")
    language = language_of(path.stem)
    files = sampled(source_files(paths, suffix or language.suffix), sample, seed)
    if not files:
        raise click.UsageError(f"there are no files that end in {suffix or language.suffix} there")
    if other_python is not None:
        if reference is not None or language.references != ("ast",):
            raise click.UsageError("--python: names the parser of a grammar of Python, without --reference")
        reference = OTHER_PYTHON + other_python
    name, missing = find_reference((reference,) if reference else language.references, path)
    if second is None and reference is None:
        second = language.second
    second = None if second == name else second
    version = _version(name, path, lexer)
    other = None if second is None else _version(second, path, lexer)
    subject = Subject(grammar, path, name, lexer, tokenizer, mutants, seed, split, max_bytes, max_mutated_bytes, second, seconds)
    with Steps("comparing", quiet=quiet) as steps:
        read = 0

        def more(n: int) -> None:
            nonlocal read
            read += n
            steps.step(f"{read:,} of {len(files):,} files", read, len(files))

        tally = compare(subject, files, min(jobs or os.cpu_count() or 1, len(files)), more)
    comparison = Comparison(grammar, version, tuple(missing), seed, tally, other)
    if as_json:
        write_json(comparison.as_data())
    else:
        click.echo("\n".join(comparison.lines(constructs, examples)))
    ctx.exit(1 if tally.counts["mask wrong"] else 0)


def _version(reference: str, grammar: Path, lexer: LarkLexer | None) -> str:
    opened = open_reference(reference, grammar, lexer or "basic")
    opened.close()
    return opened.version
