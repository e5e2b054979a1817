"""The front ends, by the language that they read: one entry each, and the only place that names them all.

The API, the command line, keys, artifacts and batches ask here. To add a language, add its folder and its entry.
"""

from __future__ import annotations

from psc.compiler.frontends.front_end import FrontEnd, GrammarOptions
from psc.errors import GrammarError

_PACKAGE = "psc.compiler.frontends"
_CHARACTERS = GrammarOptions(start="root", lexer="any", keep_all_actions=True)
"""What languages of characters have: no lexer, and every way is followed."""

FRONT_ENDS: dict[str, FrontEnd] = {
    front_end.language: front_end
    for front_end in (
        FrontEnd(
            language="lark",
            title="Lark",
            a_grammar="a Lark grammar",
            module=f"{_PACKAGE}.lark.front_end",
            defaults=GrammarOptions(start="start", lexer="contextual", keep_all_actions=False),
            suffixes=(".lark",),
            lexers=("contextual", "basic", "modal"),
            has_imports=True,
            differs=True,
            extra="compiler",
            keeps_tables=True,
            has_dialects=True,
        ),
        FrontEnd(
            language="ebnf",
            title="EBNF",
            a_grammar="an EBNF grammar",
            module=f"{_PACKAGE}.ebnf.front_end",
            defaults=_CHARACTERS,
            suffixes=(".ebnf", ".gbnf"),
            has_tokens=True,
            tokens_look_like=r"<[^\s<>]|Token",
        ),
        FrontEnd(
            language="regex",
            title="regular expression",
            a_grammar="a regular expression",
            module=f"{_PACKAGE}.regex.front_end",
            defaults=_CHARACTERS,
            has_rules=False,
        ),
        FrontEnd(
            language="json_schema",
            title="JSON Schema",
            a_grammar="a JSON schema",
            module=f"{_PACKAGE}.json_schema.front_end",
            defaults=_CHARACTERS,
            suffixes=(".json",),
            has_rules=False,
            has_settings=True,
            has_canonical_text=True,
            has_dialects=True,
        ),
        FrontEnd(
            language="llguidance",
            title="llguidance's dialect of Lark",
            a_grammar="a grammar in llguidance's dialect of Lark",
            module=f"{_PACKAGE}.llguidance.front_end",
            defaults=GrammarOptions(start="start", lexer="any", keep_all_actions=True),
            has_settings=True,
            has_tokens=True,
        ),
        FrontEnd(
            language="structural_tag",
            title="structural tag",
            a_grammar="a structural tag",
            module=f"{_PACKAGE}.structural_tag.front_end",
            defaults=_CHARACTERS,
            has_rules=False,
            has_imports=True,
            has_tokens=True,
            has_canonical_text=True,
            has_order_free_text=True,
        ),
        FrontEnd(
            language="combination",
            title="combination of grammars",
            a_grammar="a combination of grammars",
            module=f"{_PACKAGE}.combination.front_end",
            defaults=_CHARACTERS,
            has_rules=False,
            has_tokens=True,
        ),
    )
}


def front_end(language: str) -> FrontEnd:
    """The front end of a language. Raises GrammarError where there is none."""
    found = FRONT_ENDS.get(language)
    if found is None:
        raise GrammarError(f"there is no language {language!r}; psc reads {', '.join(FRONT_ENDS)}")
    return found


def front_end_of(suffix: str) -> FrontEnd | None:
    """The front end of files with a suffix, such as ``.ebnf``, in any case; None where there is none."""
    return next((f for f in FRONT_ENDS.values() if suffix.lower() in f.suffixes), None)


def suffixes() -> list[str]:
    """The suffixes of all grammar files."""
    return [suffix for f in FRONT_ENDS.values() for suffix in f.suffixes]


def title(language: str) -> str:
    """What people call a language; its own name, where this psc does not know the language (an artifact of a newer one)."""
    return FRONT_ENDS[language].title if language in FRONT_ENDS else language
