"""The parsers of each grammar's language, the best first, and the other facts on a language that a comparison needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from psc.compiler.cfg.grammar import LarkLexer
from psc.corpus.references.conversation import (
    Conversation,
    css_tree,
    googlesql,
    javac,
    katex,
    kotlinc,
    lightningcss,
    mermaid,
    neo4j,
    node,
    node_patterns,
    python,
    roslyn,
    typescript,
)
from psc.corpus.references.formats import comma_separated, graphql, markdown, toml, xml, yaml
from psc.corpus.references.gcc import Gcc
from psc.corpus.references.gofmt import Gofmt
from psc.corpus.references.html import Html
from psc.corpus.references.lark import lark_parser
from psc.corpus.references.libraries import postgresql, python_ast, python_json, sqlglot, sqlite
from psc.corpus.references.programs import bash, git_apply, graphviz
from psc.corpus.references.reference import SECONDS_FOR_A_TEXT, ProcessForEachText, Reference
from psc.corpus.references.rustc import Rustc
from psc.corpus.references.small_languages import Dockerfiles, cron, hcl, planning, protobuf, semantic_version, smiles, sparql
from psc.corpus.references.sql_servers import either, mariadb, mysql
from psc.errors import ReferenceMissingError

_OPEN: dict[str, Callable[[], Reference]] = {
    "javac": javac,
    "kotlinc": kotlinc,
    "gofmt": Gofmt,
    "rustc": Rustc,
    "roslyn": roslyn,
    "bash": bash,
    "gcc": Gcc,
    "g++": partial(Gcc, cpp=True),
    "ast": python_ast,
    "json": python_json,
    "pglast": postgresql,
    "sqlite3": sqlite,
    "node": node,
    "typescript": typescript,
    "typescript-jsx": partial(typescript, "jsx", checked=True),
    "typescript-tsx": partial(typescript, "tsx"),
    "typescript-checked": partial(typescript, checked=True),
    "typescript-tsx-checked": partial(typescript, "tsx", checked=True),
    "zetasql": googlesql,
    "mysqld": mysql,
    "mariadbd": mariadb,
    "mysqld-or-mariadbd": either,
    "sqlglot": sqlglot,
    "tomllib": toml,
    "expat": xml,
    "csv": comma_separated,
    "graphql-core": graphql,
    "pyyaml": yaml,
    "markdown-it": markdown,
    "semver": semantic_version,
    "croniter": cron,
    "protoc": protobuf,
    "graphviz": graphviz,
    "git": git_apply,
    "rdflib": sparql,
    "rdkit": smiles,
    "python-hcl2": hcl,
    "neo4j": neo4j,
    "dockerfile": Dockerfiles,
    "mermaid": mermaid,
    "node-regexp": node_patterns,
    "pddl": planning,
    "katex": katex,
    "nu-html": Html,
    "lightningcss": lightningcss,
    "css-tree": css_tree,
}
REFERENCES = (*_OPEN, "lark")
"""Names of parsers; `lark` reads the grammar itself."""


@dataclass(frozen=True)
class Language:
    """The language of a bundled grammar."""

    suffix: str
    references: tuple[str, ...]
    """Names in `REFERENCES`, the best first."""
    comments: str = ""
    """The start of a comment of a line, see `psc.corpus.mutants.COMMENTS`."""
    second: str | None = None
    """For a language without a single parser: another name in `REFERENCES`, whose agreement is counted."""


_LANGUAGES = {
    "java": Language(".java", ("javac",), "//"),
    "kotlin": Language(".kt", ("kotlinc",), "//"),
    "c": Language(".c", ("gcc",), "//"),
    "cpp": Language(".cpp", ("g++",), "//"),
    "go": Language(".go", ("gofmt",), "//"),
    "rust": Language(".rs", ("rustc",), "//"),
    "csharp": Language(".cs", ("roslyn",), "//"),
    "bash": Language(".sh", ("bash",), "#"),
    "python": Language(".py", ("ast",), "#"),
    "javascript": Language(".js", ("node",), "//"),
    "jsx": Language(".jsx", ("typescript-jsx",), "//"),
    "typescript": Language(".ts", ("typescript",), "//"),
    "tsx": Language(".tsx", ("typescript-tsx",), "//"),
    "json": Language(".json", ("json",)),
    "toml": Language(".toml", ("tomllib",), "#"),
    "yaml": Language(".yaml", ("pyyaml",), "#"),
    "xml": Language(".xml", ("expat",), "<!--"),
    "csv": Language(".csv", ("csv",)),
    "markdown": Language(".md", ("markdown-it",)),
    "graphql": Language(".graphql", ("graphql-core",), "#"),
    "semver": Language(".semver", ("semver",)),
    "cron": Language(".cron", ("croniter",)),
    "proto": Language(".proto", ("protoc",), "//"),
    "dot": Language(".dot", ("graphviz",), "//"),
    "diff": Language(".diff", ("git",)),
    "sparql": Language(".rq", ("rdflib",), "#"),
    "smiles": Language(".smi", ("rdkit",)),
    "hcl": Language(".tf", ("python-hcl2",), "#"),
    "cypher": Language(".cypher", ("neo4j",), "//"),
    "dockerfile": Language(".dockerfile", ("dockerfile",), "#"),
    "mermaid": Language(".mmd", ("mermaid",)),
    "regex": Language(".regex", ("node-regexp",)),
    "pddl": Language(".pddl", ("pddl",), ";"),
    "latex_math": Language(".tex", ("katex",)),
    "html": Language(".html", ("nu-html",), "<!--"),
    "css": Language(".css", ("lightningcss", "css-tree"), "/*", second="css-tree"),
    "sql": Language(".sql", ("pglast", "sqlite3"), "--", second="sqlite3"),
    "postgresql": Language(".sql", ("pglast",), "--"),
    "sqlite": Language(".sql", ("sqlite3",), "--"),
    "bigquery": Language(".sql", ("zetasql",), "--"),
    "mysql": Language(".sql", ("mysqld-or-mariadbd", "sqlglot"), "--"),
}


def language_of(grammar: str) -> Language:
    """The facts on a grammar's language, by its name; for another grammar, that Lark reads it."""
    return _LANGUAGES.get(grammar) or Language(f".{grammar}", ("lark",), "//")


OTHER_PYTHON = "python:"
"""What the name of a parser begins with that is the one of another Python; the path of its program follows."""


def open_reference(name: str, grammar: Path, lexer: LarkLexer = "basic", *, seconds: float = SECONDS_FOR_A_TEXT) -> Reference:
    """The parser of this name.

    Args:
        name: in `REFERENCES`, or `OTHER_PYTHON` and the path of a program.
        grammar: the file that `lark` reads.
        lexer: with which Lark reads it.
        seconds: after which a text is not judged, where a program of its own judges; a library in this process takes its time.

    Raises:
        ReferenceMissingError: it is not installed.
        KeyError: there is none of this name.
    """
    if name == "lark":
        return lark_parser(grammar, lexer)
    other = name.removeprefix(OTHER_PYTHON)
    found = _OPEN[name]() if other == name else python(other)
    if isinstance(found, (Conversation, ProcessForEachText)):
        found.seconds = seconds
    return found


def find_reference(names: tuple[str, ...], grammar: Path) -> tuple[str, list[str]]:
    """The first of several that is installed, and why those before it are not used.

    Raises:
        ReferenceMissingError: none is installed; the message says what each needs.
    """
    missing: list[str] = []
    for name in names:
        try:
            open_reference(name, grammar).close()
        except ReferenceMissingError as e:
            missing.append(f"{name}: {e}")
            continue
        return name, missing
    raise ReferenceMissingError(f"no reference parser is installed for {grammar.stem}: {'; '.join(missing)}")
