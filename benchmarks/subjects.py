"""What the benchmarks of building just in time run over: a grammar in any language that psc reads, and texts of it.

The idea: one name says both. `builtin-json` is the JSON grammar that `compile_builtin_json_grammar` has, which the bundled name
`json` is too; a name from the folder `grammars/` is an EBNF file here; `java`, `go`, `sql` are the bundled Lark grammars; anything
else is a path. Texts come from files when the command line names some (`--corpus java=DIR`), else from generators
(`sample_texts.py`, `corpus.json_documents`).

The cost: reading files.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corpus import Document, json_documents, read_corpus
from sample_texts import TEXTS, sample_texts

import psc
from psc.artifacts.store import Store
from psc.compiler.frontends.found import find_grammar
from psc.compiler.grammars import bundled_text
from psc.grammar import Grammar

OWN = Path(__file__).parent / "grammars"
BUILTIN_JSON = "builtin-json"
DEFAULT = (BUILTIN_JSON, *sorted(path.stem for path in OWN.glob("*.ebnf")), "java", "go", "sql")
"""Every grammar that there are figures of."""


@dataclass(frozen=True)
class Subject:
    """A grammar as text; small, so that it travels to other processes."""

    name: str
    spec: str
    """A bundled name or a path, as `find_grammar` takes it; of a regular expression, the expression."""
    language: Literal["ebnf", "lark", "regex", "builtin"]
    text: str

    def open(self, store: Store | None = None) -> psc.Grammar:
        """The grammar, parsed; or, a Lark grammar whose tables are in the store, read from there."""
        if self.language == "builtin":
            return psc.Grammar.builtin_json_grammar()
        if self.language == "ebnf":
            return psc.Grammar.from_ebnf(self.text)
        if self.language == "regex":
            return psc.Grammar.from_regex(self.text)
        return Grammar.parse(find_grammar(self.spec).request(), store=store)


def find_subject(name: str) -> Subject:
    """A grammar by the name or path that a user types. Raises psc.GrammarError when there is none."""
    if name == BUILTIN_JSON:
        text = bundled_text("json")
        return Subject(name, name, "builtin", text)
    own = OWN / f"{name}.ebnf"
    found = find_grammar(own if own.exists() else name)
    text = found.path.read_text(encoding="utf-8")
    return Subject(found.stem, found.name, found.language, text)


def ebnf(name: str, text: str) -> Subject:
    """A grammar that is no file."""
    return Subject(name, name, "ebnf", text)


def regex(pattern: str) -> Subject:
    """A regular expression."""
    return Subject(pattern, pattern, "regex", pattern)


def add_subject_options(options: argparse.ArgumentParser, default: tuple[str, ...] = DEFAULT, documents: int = 20) -> None:
    """The command line's options that say what to run over."""
    options.add_argument("grammars", nargs="*", metavar="GRAMMAR", help=f"a bundled name or a path; default: {' '.join(default)}")
    options.add_argument("--corpus", nargs="+", default=[], metavar="GRAMMAR=PATH", help="take a grammar's texts from these files")
    options.add_argument(
        "--documents", type=int, default=documents, metavar="N", help=f"texts of each grammar (default {documents})"
    )
    options.add_argument("--max-bytes", type=int, default=40_000, metavar="N", help="leave out longer files (default 40000)")
    options.add_argument("--seed", type=int, default=0, metavar="S", help="of texts and samples (default 0)")
    options.set_defaults(default_grammars=default)


def chosen(args: argparse.Namespace) -> list[Subject]:
    """The grammars that the command line names."""
    return [find_subject(name) for name in args.grammars or args.default_grammars]


def documents_of(subject: Subject, args: argparse.Namespace) -> list[Document]:
    """The texts that the command line asks for. Exits when there are none."""
    paths = [Path(path) for name, _, path in (c.partition("=") for c in args.corpus) if name == subject.name]
    if paths:
        split = r";\n" if subject.name == "sql" else None
        wanted = argparse.Namespace(
            paths=paths,
            suffix=None,
            sample=args.documents,
            seed=args.seed,
            min_bytes=200,
            max_bytes=args.max_bytes,
            split=split,
            json_documents=0,
        )
        return read_corpus(wanted, "." + subject.name)
    if subject.name in ("json", BUILTIN_JSON):
        return json_documents(args.documents, args.seed)
    if subject.name in TEXTS:
        texts = sample_texts(subject.name, args.documents, args.seed)
        return [Document(f"{subject.name}-{i}", text) for i, text in enumerate(texts)]
    raise SystemExit(f"{subject.name}: no texts; name files of it: --corpus {subject.name}=PATH")
