"""The bundled grammars of small languages: what each accepts and refuses, the languages' own parsers beside them, and masks.

Every language has four rows of texts: what the grammar and the parser take; what both refuse; what the grammar alone refuses; what
it alone takes. The pages docs/small-languages.md and docs/more-small-languages.md say why the last two differ.
"""

import random
from collections.abc import Callable
from functools import cache

import pytest
from bundled_texts import takes
from masks_along_texts import go_where_masks_allow, read_by_tokens
from references import check_reference, reference_or_skip
from small_languages import (
    cron,
    css,
    cypher,
    diff,
    dockerfile,
    dot,
    hcl,
    html,
    latex_math,
    mermaid,
    pddl,
    proto,
    regex,
    semver,
    smiles,
    sparql,
)
from small_languages.rows import Rows

import psc
from psc.compiler.grammars import bundled_text
from psc.compiler.grammars.writers import css as css_writer
from psc.compiler.grammars.writers import dockerfile as dockerfile_writer
from psc.compiler.grammars.writers import hcl as hcl_writer
from psc.compiler.grammars.writers import html as html_writer
from psc.corpus.references.reference import Reference
from psc.corpus.references.registry import language_of
from psc.vocabulary.tokenizer_info import TokenizerInfo

ROWS = {
    "semver": semver.ROWS,
    "cron": cron.ROWS,
    "proto": proto.ROWS,
    "dot": dot.ROWS,
    "sparql": sparql.ROWS,
    "smiles": smiles.ROWS,
    "diff": diff.ROWS,
    "hcl": hcl.ROWS,
    "cypher": cypher.ROWS,
    "dockerfile": dockerfile.ROWS,
    "mermaid": mermaid.ROWS,
    "regex": regex.ROWS,
    "pddl": pddl.ROWS,
    "latex_math": latex_math.ROWS,
    "css": css.ROWS,
    "html": html.ROWS,
}
WRITERS = {"hcl": hcl_writer, "dockerfile": dockerfile_writer, "css": css_writer, "html": html_writer}


@cache
def reference(name: str) -> Reference:
    """The language's own parser; the test is skipped where it is not installed."""
    return reference_or_skip(language_of(name).references[0], name)


@pytest.mark.parametrize("name", ROWS)
def test_accepts(name: str) -> None:
    assert [text for text in (*ROWS[name].accepted, *ROWS[name].looser) if not takes(name, text)] == []


@pytest.mark.parametrize("name", ROWS)
def test_refuses(name: str) -> None:
    assert [text for text in (*ROWS[name].refused, *ROWS[name].stricter) if takes(name, text)] == []


@pytest.mark.parametrize("name", ROWS)
def test_the_parser_says_the_same(name: str) -> None:
    rows = ROWS[name]
    check_reference(reference(name), [*rows.accepted, *rows.stricter], [*rows.refused, *rows.looser])


@pytest.mark.parametrize("name", [name for name, rows in ROWS.items() if rows.texts and (rows.pieces or rows.words)])
def test_random_texts_beside_the_parser(name: str) -> None:
    """Texts of pieces, whole or put into a text that is accepted."""
    rows, rng = ROWS[name], random.Random(3)
    texts = [random_text(rows, rng) for _ in range(rows.texts)]
    taken = 0
    for text, verdict in zip(texts, reference(name).judge(texts), strict=True):
        if (verdict is None or (verdict.judged and not verdict.of_names)) and not rows.differs(text):
            assert takes(name, text) == (verdict is None), text
            taken += verdict is None
    assert 20 < taken < rows.texts - 20


def random_text(rows: Rows, rng: random.Random) -> str:
    within = rng.choice(rows.accepted)
    if rows.words:
        words = within.split(" ")
        at = rng.randrange(len(words) + 1)
        words[at : at + rng.randrange(3)] = rng.choices(rows.words, k=rng.randrange(3))
        return " ".join(words)
    at = rng.randrange(len(within) + 1)
    pieces = [rng.choice(rows.pieces) for _ in range(rng.randrange(1, 4))]
    return within[:at] + "".join(pieces) + within[at + rng.randrange(4) :]


@pytest.mark.parametrize("name", ROWS)
def test_masks_are_what_is_taken(name: str) -> None:
    """Over tokens of several characters, along a text and at random places of it, then wherever the masks allow."""
    rows, rng = ROWS[name], random.Random(name)
    tokens = [bytes([b]) for b in range(256)] + sorted({p.encode() for p in (*rows.pieces, *rows.tokens) if len(p.encode()) > 1})
    info = TokenizerInfo([*tokens, b"</s>"], stop_token_ids=[len(tokens)])
    compiled = psc.GrammarCompiler(info, store=False).compile_file(name)
    for text in rng.sample(rows.accepted, min(6, len(rows.accepted))):
        read_by_tokens(psc.GrammarMatcher(compiled), info, tokens, text.encode(), rng)
    go_where_masks_allow(psc.GrammarMatcher(compiled), info, len(tokens), rng)


@pytest.mark.parametrize(("name", "written"), [(name, writer.grammar) for name, writer in WRITERS.items()])
def test_a_file_is_what_its_writer_writes(name: str, written: Callable[[], str]) -> None:
    assert bundled_text(name) == written()


@pytest.mark.parametrize(("field", "low", "high"), [(0, 0, 59), (1, 0, 23), (2, 1, 31), (3, 1, 12), (4, 0, 7)])
def test_ranges_of_cron_go_up(field: int, low: int, high: int) -> None:
    """All ranges of a field's numbers and those beside them."""
    for first in range(high + 2):
        for last in range(high + 2):
            fields = ["*"] * 5
            fields[field] = f"{first}-{last}"
            assert takes("cron", " ".join(fields)) == (low <= first <= last <= high), fields


@pytest.mark.parametrize(("field", "names"), [(3, cron.MONTHS), (4, cron.WEEKDAYS)])
def test_ranges_of_names_go_up(field: int, names: tuple[str, ...]) -> None:
    for i, first in enumerate(names):
        for j, last in enumerate(names):
            fields = ["*"] * 5
            fields[field] = f"{first}-{last.upper()}"
            assert takes("cron", " ".join(fields)) == (i <= j), fields
