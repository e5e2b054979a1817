"""Bounded layout of grammars in EBNF, and of PDDL: the whole grammars' texts, less those whose layout a scanner refuses.

The scanner knows what holds no layout in a language, such as strings, and comments, and nothing of the grammars. Where a run is
short on each side of a line end and long as a whole, it leaves open whether a text is bounded.
"""

import random
import re
from dataclasses import dataclass

import pytest
from bundled_texts import compiled, takes
from masks_along_texts import check_mask
from vocabularies import byte_tokenizer

import psc
from psc.compiler.frontends.layout import BOUNDED


@dataclass(frozen=True)
class Layout:
    """Texts of a language, comments, what holds no layout, what begins a comment, what leaves open whether a text is bounded."""

    texts: tuple[str, ...]
    comments: tuple[str, ...] = ()
    opaque: str = r'"(?:[^"\\]|\\.)*"'
    comment: str = "(?!)"
    open: str = "(?!)"


LAYOUTS = {
    "dockerfile": Layout(
        (
            'ARG A=1\nFROM a:b AS c\nENV D=e F="g h"\n\nCOPY --from=a b /c/\nCMD ["a", "b"]\nEXPOSE 80 \\\n  81\n',
            "FROM a\nWORKDIR /b\n\nUSER c\nLABEL d=e \\\n  f=g\n",
        ),
        ("\n# c\n", "\n  # c\n\n", "\\\n# c\n"),
        comment=r"(?m:^)[ \t]*\#",
        open=r"\\\n|\\\Z",
    ),
    "hcl": Layout(
        (
            'resource "a" "b" {\n  c = 4 / 2\n  d = [1, -e.f,\n 3]\n\n  g { h = "# no" }\n}\n',
            "a = b ? [for c in d : e if f] : { g = h,\n i : j(k, 2) }\n",
        ),
        ("# c\n", "// c\n", "/* c */", "/* c\n */"),
        comment=r"\#|//|/\*",
    ),
    "json": Layout(('{"a": [1, -2.5e3,\n\ttrue], "b c": {}, "d": "/* no */"}',)),
    "pddl": Layout(
        (
            "(define (domain a)\n  (:requirements :strips)\n  (:predicates (b ?c - d))\n\n"
            "  (:action e :parameters (?f)\n   :precondition (b ?f) :effect (not (b ?f))))\n",
        ),
        ("; c\n", ";\n"),
        comment=";",
    ),
    "toml": Layout(
        ("a = 1\n[b]\nc.d = [1,\n 2 ]\ne = \"# no\"\n\n[[f]]\ng = { h = 'i # no' }\n", "", "a = 1979-05-27 07:32:00"),
        ("# c\n", " # c\n", "\n# c\n"),
        r""""(?:[^"\\\n]|\\.)*"|'[^'\n]*'""",
        r"\#",
    ),
    "xml": Layout(
        (
            '<?xml version="1.0"?>\n<!DOCTYPE a [ <!ELEMENT b ANY>\n<!ATTLIST b c CDATA #IMPLIED> ]>\n'
            '<a b = "c  d">e f <g />\n <h><![CDATA[<!-- no -->]]></h >\n</a >\n',
            "<a>\n  <?b c?>\n</a>",
        ),
        ("<!-- c -->", "<!-- c\n -->"),
        r""""[^"]*"|'[^']*'|<!\[CDATA\[.*?\]\]>|<\?(?!xml ).*?\?>""",
        "<!--",
    ),
}
PIECES = [" ", "\n", "\t", "\r\n", "  \n\n  ", "\\\n"]
PIECES += [end * n for end in " \n" for n in (BOUNDED - 2, BOUNDED - 1, BOUNDED, BOUNDED + 1, BOUNDED + 2)]
PIECES += [" " * n + "\n" * m for n in (BOUNDED, BOUNDED + 1) for m in (1, BOUNDED, BOUNDED + 2)]


def judged(name: str, text: str) -> bool | None:
    """Whether the layout of a text is bounded; None where that is open."""
    layout = LAYOUTS[name]
    if text[:1].isspace():
        return False
    verdict = None if re.search(layout.open, text) else True
    for found in re.finditer(rf"(?s:(?P<opaque>{layout.opaque})|(?P<comment>{layout.comment})|(?P<run>[ \t\n\r]+|\\\n)|.)", text):
        if found.lastgroup == "comment":
            return False
        if found.lastgroup == "run":
            line, _, behind = found[0].partition("\n")
            if len(line) > BOUNDED or len(behind) > BOUNDED:
                return False
            if len(found[0]) > BOUNDED or "\\" in found[0]:
                verdict = None
    return verdict


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_left_of_texts(name: str) -> None:
    for text in LAYOUTS[name].texts:
        assert takes(name, text), text
        assert judged(name, text) is not False and takes(f"{name}?layout=bounded", text), text


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_left_of_mutants(name: str) -> None:
    """Layout put in at one or two places, of which some are within literals, or where the whole language has none."""
    rng, counts = random.Random(name), {(whole, bounded): 0 for whole in (False, True) for bounded in (False, True)}
    for _ in range(300):
        text = rng.choice(LAYOUTS[name].texts)
        for _ in range(rng.choice([1, 1, 2])):
            blank = [found.start() for found in re.finditer(r"[ \n]", text)] or [0]
            at = rng.choice(blank) if rng.random() < 0.7 else rng.randint(0, len(text))
            text = text[:at] + rng.choice([*PIECES, *LAYOUTS[name].comments * 2]) + text[at:]
        whole, bounded, verdict = takes(name, text), takes(f"{name}?layout=bounded", text), judged(name, text)
        assert bounded <= whole, text
        assert verdict is None or bounded == (whole and verdict), text
        counts[whole, bounded] += 1
    assert counts[True, False] > 10 and counts[True, True] > 10


VOCABULARY = byte_tokenizer(
    " " * 4, " " * 16, "\n\n", "\n" * 8, "\n    ", " {", "{ ", " }\n", "/*", " #", "<!--", "//", "; ", " a", "a ", "\\\n"
)


@pytest.mark.parametrize("name", LAYOUTS)
def test_masks_and_tokens_agree(name: str) -> None:
    """Along a text with a long run at a random place: the mask has exactly the tokens that may come, of which some pass a bound."""
    rng, text = random.Random(name), LAYOUTS[name].texts[0]
    grammar = psc.GrammarCompiler(VOCABULARY, store=False).compile_file(f"{name}?layout=bounded")
    for _ in range(2):
        at = rng.choice([found.start() for found in re.finditer(r"[ \n]", text)])
        matcher = psc.GrammarMatcher(grammar)
        run = " " * 70
        for byte in (text[:at] + run).encode():
            if not matcher.accept_string(bytes([byte])):
                break
            if rng.random() < 0.25:
                check_mask(matcher, VOCABULARY)
        check_mask(matcher, VOCABULARY)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_model_that_loves_blanks(name: str) -> None:
    """It writes the blankest token that is allowed: what it writes is in the whole language, and is not blanks alone."""
    matcher, rng, text = psc.GrammarMatcher(compiled(f"{name}?layout=bounded")), random.Random(name), b""
    info = byte_tokenizer()
    tokens, stops = info.decoded_vocab, info.stop_token_ids
    for _ in range(400):
        allowed = [t for t in matcher.allowed_tokens() if t not in stops]
        if not allowed:
            break
        blank = [t for t in allowed if tokens[t].isspace()]
        token = rng.choice(blank or allowed)
        assert matcher.accept_token(token)
        text += tokens[token]
    assert psc.GrammarMatcher(compiled(name)).accept_string(text)
    assert len(re.findall(rb"[^ \t\n\r\f]", text)) > 2


MARKDOWN = 'a\n\n```json\n{"a": [1, 2]}\n\n```\n'
SHELL = "FROM a\nRUN b && \\\n  c\n"


@pytest.mark.parametrize(
    ("name", "text", "old", "new", "bounded"),
    [
        ("markdown", MARKDOWN, "1,", "1," + "\n" * BOUNDED, False),
        ("markdown", MARKDOWN, "1,", "1," + "\n" * (BOUNDED - 1), True),
        ("markdown", MARKDOWN, "\n\n```\n", "\n" * (BOUNDED + 5) + "```\n", False),
        ("markdown", MARKDOWN, "a\n", "a\n" + "\n" * 100, True),
        ("dockerfile", SHELL, "  c", " " * 100 + "c", True),
        ("dockerfile", SHELL, "  c", "# no\n  c", False),
        ("dockerfile", SHELL, "  c", "\\\n" + "  c", False),
        ("hcl", 'a = "${ b }"\n', "b ", "b" + " " * BOUNDED, True),
        ("hcl", 'a = "${ b }"\n', "b ", "b" + " " * (BOUNDED + 1), False),
        ("hcl", "a = <<EOF\nb\nEOF\n", "b", " " * 100 + "b # c", True),
        ("toml", 'a = """b"""\n', "b", "b\\" + " " * 100 + "\n c", True),
    ],
)
def test_what_holds_layout(name: str, text: str, old: str, new: str, bounded: bool) -> None:
    text = text.replace(old, new, 1)
    assert takes(name, text) and takes(f"{name}?layout=bounded", text) == bounded
