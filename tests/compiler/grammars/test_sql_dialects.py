"""What the grammars of SQL's dialects accept and refuse, statement by statement, and their reserved words.

The tables are `dialects/NAME.accepted.sql` and `dialects/NAME.refused.sql`: a statement a line, an indented line goes on with it.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from vocabularies import byte_tokenizer

import psc
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.grammars import bundled_text

CASES = Path(__file__).parent / "dialects"
DIALECTS = sorted(path.name.partition(".")[0] for path in CASES.glob("*.accepted.sql"))


@cache
def grammar(dialect: str) -> psc.Grammar:
    return psc.Grammar.parse(find_grammar(dialect).request())


@cache
def matcher(dialect: str) -> psc.GrammarMatcher:
    return psc.GrammarMatcher(psc.GrammarCompiler(byte_tokenizer(), store=False).compile_grammar(grammar(dialect)))


def accepts(dialect: str, text: str) -> bool:
    of_dialect = matcher(dialect)
    of_dialect.reset()
    data = text.encode()
    return of_dialect.accept_prefix(data) == len(data) and of_dialect.is_completed()


def statements(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").strip().replace("\n  ", " ").split("\n")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_accepts(dialect: str) -> None:
    assert [text for text in statements(CASES / f"{dialect}.accepted.sql") if not accepts(dialect, text)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_refuses(dialect: str) -> None:
    assert [text for text in statements(CASES / f"{dialect}.refused.sql") if accepts(dialect, text)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_scripts_may_have_empty_statements(dialect: str) -> None:
    texts = ["", " ", "-- nothing", "/* nothing */;", ";; select 1;;", "select 1; -- the end", "select 1;\nselect 2"]
    assert [text for text in texts if not accepts(dialect, text)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_dialect_accepts(dialect: str) -> None:
    texts = ["select", "select 1 select 2", "1", "select 'a", "select (1", "select 1)", "create", "a; select 1"]
    # PostgreSQL takes a SELECT of nothing.
    assert [text for text in texts if accepts(dialect, text)] in ([], ["select"] if dialect == "postgresql" else [])


WORDS = re.compile(r"\(\?a:\(\?i:(?:\(\?x:)?(?:\(\?:)?([a-z0-9_]+(?:\|[a-z0-9_]+)*)\)+")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_words_of_terminals_that_are_regexes_are_no_names(dialect: str) -> None:
    """Strings win over NAME as they are; an alternation of words is a regex and wins only if NAME leaves it out."""
    found = re.search(r"^(?:%override )?NAME: /\(\?!\(\?:([a-z0-9_|\s]+)\)", bundled_text(dialect), re.M)
    assert found
    left_out = set("".join(found[1].split()).split("|"))
    terminals = grammar(dialect).to_cfg().terminals
    regexes = [alternation[1] for t in terminals if t.text is None and (alternation := WORDS.fullmatch("".join(t.pattern.split())))]
    assert regexes
    words = {word for alternation in regexes for word in alternation.split("|")}
    assert words <= left_out
    assert not {t.text for t in terminals if t.text is not None and t.text.isidentifier()} & words
