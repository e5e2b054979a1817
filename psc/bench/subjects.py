"""The subjects of measurements: a grammar in any language that psc reads, and texts of it.

One name says both. `json` is the JSON grammar that `compile_builtin_json_grammar` has; a name from the folder `grammars/` is an
EBNF file of the kind that requests bring; other names are bundled Lark grammars; anything else is a path. Texts come from files
where some are named, else from what every machine has: Python's own standard library, and generators.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from psc.artifacts.store import Store
from psc.bench.sample_texts import TEXTS, sample_texts
from psc.bench.texts import documents_below, json_documents, python_documents
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.grammars import bundled_names, bundled_text
from psc.corpus.texts import Text
from psc.errors import BenchError
from psc.grammars.grammar import Grammar

OWN = Path(__file__).parent / "grammars"
BUILTIN_JSON = "json"


@dataclass(frozen=True)
class Subject:
    """A grammar as text; small, so that it travels to other processes."""

    name: str
    spec: str
    """A bundled name or a path, as `find_grammar` takes it; of a regular expression, the expression."""
    language: Literal["ebnf", "lark", "builtin"]
    text: str

    def open(self, store: Store | None = None) -> Grammar:
        """The grammar, parsed; or, a Lark grammar whose tables are in the store, read from there."""
        if self.language == "builtin":
            return Grammar.builtin_json_grammar()
        if self.language == "ebnf":
            return Grammar.from_ebnf(self.text)
        return Grammar.parse(find_grammar(self.spec).request(), store=store)


def find_subject(name: str) -> Subject:
    """A grammar by the name or path that a user types. Raises GrammarError when there is none."""
    if name in (BUILTIN_JSON, "builtin-json"):
        return Subject(name, BUILTIN_JSON, "builtin", bundled_text("json"))
    own = OWN / f"{name}.ebnf"
    found = find_grammar(own if own.exists() else name)
    text = found.path.read_text(encoding="utf-8")
    if found.language not in ("ebnf", "lark"):
        raise BenchError(f"{name}: grammars in Lark's language and in EBNF are measured, not {found.language}")
    return Subject(found.path.stem, found.name, "lark" if found.language == "lark" else "ebnf", text)


def bundled_with_texts() -> list[str]:
    """The bundled grammars that there are texts of on every machine."""
    return [name for name in bundled_names() if has_texts(name)]


def own_names() -> list[str]:
    """The grammars of the kind that requests bring."""
    return sorted(path.stem for path in OWN.glob("*.ebnf"))


def has_texts(name: str) -> bool:
    """Whether texts of a grammar can be had without files."""
    return name in TEXTS or name in ("json", "builtin-json", "python")


def texts_of(subject: Subject, n: int, *, seed: int, max_bytes: int, paths: Sequence[Path] = ()) -> list[Text]:
    """At most `n` texts of a grammar; the same ones for the same seed. Raises BenchError where there are none."""
    if paths:
        texts = documents_below(paths, f".{subject.name}", max_bytes=max_bytes, split=r";\n" if "sql" in subject.name else None)
        if not texts:
            raise BenchError(f"no texts of at most {max_bytes:,} bytes, suffix .{subject.name}, in {', '.join(map(str, paths))}")
        return random.Random(seed).sample(texts, min(n, len(texts)))
    if subject.name in ("json", "builtin-json"):
        return json_documents(n, seed)
    if subject.name == "python":
        return python_documents(n, seed, max_bytes)
    if subject.name in TEXTS:
        return [Text(f"{subject.name}-{i}", text) for i, text in enumerate(sample_texts(subject.name, n, seed))]
    raise BenchError(f"{subject.name}: there are no texts of it; name files: --corpus {subject.name}=PATH")
