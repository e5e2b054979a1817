r"""Lark's `Indenter`: with it psc takes exactly the texts that Lark's own parser takes with the same Indenter as `postlex`.

Columns that a grammar was not compiled for are left out of the comparison; all else is Lark's.
"""

import heapq
import itertools
import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import lark
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from lark.indenter import Indenter, PythonIndenter
from masks_along_texts import check_mask
from vocabularies import byte_tokenizer

import psc
from psc.compiler.frontends.lark.indenter_settings import IndenterSettings
from psc.compiler.frontends.lookup import find_grammar
from psc.errors import GrammarError
from psc.grammars.compile_file import compile_to_artifact

COLUMNS = (0, 1, 2, 3, 4, 6, 8)
VOCABULARY = byte_tokenizer("\n  ", "\n\t", "x\n", "\n\n    ", "i\n", ")\n", "  #", "e x", "#\n ", "\n x\n x", "()", "k:\n ")


class Blocks(Indenter):
    NL_type = "_NL"
    OPEN_PAREN_types = ["LPAR", "LSQB"]  # noqa: RUF012
    CLOSE_PAREN_types = ["RPAR", "RSQB"]  # noqa: RUF012
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 2
    columns = COLUMNS


class WithinColumns(Blocks):
    """The oracle's: says where a text has a column that the grammar was not compiled for."""

    def handle_NL(self, token: Any) -> Any:
        if not self.paren_level and "\n" in token:
            last = token.rsplit("\n", 1)[1]
            if last.count(" ") + last.count("\t") * self.tab_len not in COLUMNS:
                raise OtherColumnError
        return super().handle_NL(token)


class OtherColumnError(Exception):
    """A line begins elsewhere."""


# By name: the grammar, and the characters that its texts are drawn from.
GRAMMARS = {
    # Lark's documentation: an indented tree.
    "tree": (
        r"""
?start: _NL* tree
tree: "x" _NL [_INDENT tree+ _DEDENT]
_NL: /(\r?\n[\t ]*)+/
%ignore " "
""",
        "x \n\t",
    ),
    # As Python: blocks or a simple statement, an else, brackets, comments that belong to line ends and are ignored, too.
    "statements": (
        r"""
start: (_NL | stmt)*
stmt: "x" _NL | "i" suite ["e" suite] | "(" inner ")" _NL
inner: "x"* | "(" inner ")" | "[" "x" "]"
suite: "x" _NL | _NL _INDENT stmt+ _DEDENT
_NL: ( /\n[\t ]*/ | COMMENT )+
COMMENT: /#[^\n]*/
%ignore " "
%ignore COMMENT
""",
        "xie()[] \n#",
    ),
    # Empty blocks, line ends that are left out, blocks that the text's end closes.
    "loose": (
        r"""
start: a*
a: "x" b?
b: _NL _INDENT (a | c)* _DEDENT _NL?
c: "[" a ("," a)* "]" _NL | "y"
_NL: /\n */
%ignore " "
""",
        "xy[], \n",
    ),
    # Something follows a block in its rule, and stands at the block's outer column.
    "ends": (
        r"""
start: s+
s: "k" ":" body "d" _NL | "k" _NL
body: _NL _INDENT s+ _DEDENT
_NL: /(\n *)+/
""",
        "k:d \n",
    ),
    # A block directly within a block, and one behind a block.
    "nested": (
        r"""
start: s+
s: "x" _NL | "k" _NL _INDENT t _DEDENT | "i" _NL _INDENT t _DEDENT _NL? _INDENT t _DEDENT
t: s+ | "j" _NL _INDENT s+ _DEDENT
_NL: /\n */
""",
        "xkij \n",
    ),
    # Words that are names where the parser cannot take them, at the beginning of lines, too.
    "words": (
        r"""
start: s+
s: N _NL | "i" N t ["e" N? t] | "(" N* ")" _NL
t: _NL _INDENT s+ _DEDENT
N: /[ie]+/
_NL: /(\n *)+/
%ignore " "
""",
        "ie() \n",
    ),
    # A conflict on one line, in which Lark lets the shift win: `m(` is no call.
    "shift": (
        r"""
start: s+
s: e _NL | "m" e ":" _NL _INDENT s+ _DEDENT
e: n | e "(" e ")" | "(" e ")"
n: "m" | "x"
_NL: /(\n *)+/
""",
        "mx(): \n",
    ),
}
HEAD = "%declare _INDENT _DEDENT\n"


@dataclass
class Both:
    """A grammar to Lark and to psc."""

    theirs: Lark
    ours: psc.CompiledGrammar
    characters: str

    def takes(self, text: str) -> bool | None:
        """Whether Lark takes the text; None where it has a column that was not compiled."""
        try:
            self.theirs.parse(text)
        except OtherColumnError:
            return None
        except (lark.exceptions.LarkError, IndexError, AssertionError):  # a last line end without a line feed; a bracket too many
            return False
        return True

    def check(self, text: str) -> None:
        matcher = psc.GrammarMatcher(self.ours)
        ours = matcher.accept_string(text) and matcher.is_completed()
        theirs = self.takes(text)
        assert theirs is None or theirs == ours, text

    def viable(self, text: str) -> bool:
        return psc.GrammarMatcher(self.ours).accept_string(text)


@cache
def both(name: str) -> Both:
    text, characters = GRAMMARS[name]
    compiler = psc.GrammarCompiler(VOCABULARY)
    return Both(
        Lark(HEAD + text, parser="lalr", postlex=WithinColumns()),
        compiler.compile_lark(HEAD + text, indenter=Blocks),
        characters,
    )


@pytest.mark.parametrize("name", GRAMMARS)
def test_short_texts(name: str) -> None:
    grammar = both(name)
    for length in range(6 if len(grammar.characters) > 5 else 7):
        for text in itertools.product(grammar.characters, repeat=length):
            grammar.check("".join(text))


@pytest.mark.parametrize("name", GRAMMARS)
@given(seed=st.integers(min_value=0))
def test_texts_along_masks(name: str, seed: int) -> None:
    """Texts that grow by what psc allows, and each change of a character of them."""
    grammar, rng = both(name), random.Random(seed)
    text = ""
    for _ in range(rng.randint(1, 30)):
        allowed = [c for c in grammar.characters if grammar.viable(text + c)]
        for c in grammar.characters:
            if c not in allowed:
                assert not grammar.takes(text + c), text + c
        assert allowed or grammar.takes(text) is not False, f"nothing can follow {text!r}"
        if not allowed:
            break
        text += rng.choice(allowed)
        grammar.check(text)
    for _ in range(5):
        i = rng.randrange(len(text) + 1)
        grammar.check(text[:i] + rng.choice([*grammar.characters, ""]) + text[i + rng.randint(0, 1) :])


@pytest.mark.parametrize("name", GRAMMARS)
@given(seed=st.integers(min_value=0))
def test_what_is_allowed_can_be_finished(name: str, seed: int) -> None:
    """A text that psc allows begins one that Lark takes: psc finds the rest."""
    grammar, rng = both(name), random.Random(seed)
    text = ""
    for _ in range(rng.randint(1, 12)):
        text += rng.choice([c for c in grammar.characters if grammar.viable(text + c)] or [""])
    todo = [(0, text)]
    for _ in range(3_000):  # those with few brackets open first
        if not todo:
            break
        _, found = heapq.heappop(todo)
        matcher = psc.GrammarMatcher(grammar.ours)
        assert matcher.accept_string(found)
        if matcher.is_completed():
            assert grammar.takes(found) is not False, found
            return
        for c in grammar.characters:
            if c not in "#([" and grammar.viable(found + c):
                outside = re.sub(r"#[^\n]*", "##", found + c)
                n_open = sum(map(outside.count, "([#")) - sum(map(outside.count, ")]"))
                heapq.heappush(todo, (10 * n_open + len(found), found + c))
    pytest.fail(f"psc allows {text!r}, and finds no end")


@pytest.mark.parametrize("name", GRAMMARS)
@given(seed=st.integers(min_value=0))
def test_masks_of_tokens(name: str, seed: int) -> None:
    grammar, rng = both(name), random.Random(seed)
    matcher = psc.GrammarMatcher(grammar.ours)
    text = ""
    for _ in range(rng.randint(0, 10)):
        check_mask(matcher, VOCABULARY, text)
        allowed = [c for c in grammar.characters if grammar.viable(text + c)]
        if not allowed:
            break
        text += rng.choice(allowed)
        assert matcher.accept_string(text[-1])


def test_artifact(tmp_path: Path) -> None:
    path = tmp_path / "statements.lark"
    path.write_text(HEAD + GRAMMARS["statements"][0])
    request = find_grammar(path).request(settings=IndenterSettings.of(Blocks))
    assert request == type(request).of_json(request.to_json(), origin=request.origin)
    report = compile_to_artifact(path, VOCABULARY, tmp_path / "a.psc", settings=IndenterSettings.of(Blocks))
    assert report.warnings == (), report.warnings
    loaded, rng = psc.load(tmp_path / "a.psc", tokenizer_info=VOCABULARY), random.Random(1)
    for _ in range(300):
        text = "".join(rng.choice("xie()\n ") for _ in range(rng.randint(0, 12)))
        assert psc.GrammarMatcher(loaded).accept_string(text) == both("statements").viable(text), text


PYTHON = Path(lark.__file__).parent / "grammars" / "python.lark"
TEXTS = [
    "", "x = 1\n", "if a:\n  b\nelse:\n\tc\n", "if a:\n  b\n c\n",
    "def f(_, a=(1,\n2)):\n    # c\n    return [\n# d\n_]\n",
    "x.if = 3\n", "match(x)\n", "match (x):\n case _:\n  pass\n", "match[x]\n", "x = # c\n", "x = 3 # c",
    "if a:\n  b\nelifx:\n  c\n",
    "else = 3\n", "x\nelse = 3\n", "@a\n\nclass B: pass\n", "if a:\n        b\n\tc\n", "if a:\n  if b:\n    c\n  ",
    "f(x)(\n", "\n  x\n",
    "try:\n    x\nexcept A as b: y\nfinally:\n    z\n", "for x in y: pass\nelse: pass\n", "if a:\n  b", "x = '''a\n b'''\n",
]  # fmt: skip


def test_larks_python() -> None:
    text = PYTHON.read_text()
    theirs = Both(Lark(text, parser="lalr", postlex=PythonIndenter(), start="file_input"), python(), "")
    assert sum(theirs.takes(t) or False for t in TEXTS) > len(TEXTS) / 3
    for t in [*TEXTS, Path(__file__).read_text()[:5000].rpartition("\n")[0] + "\n"]:
        theirs.check(t)


@cache
def python() -> psc.CompiledGrammar:
    return psc.GrammarCompiler(VOCABULARY).compile_lark(PYTHON.read_text(), start="file_input", indenter=PythonIndenter)


class Property(Blocks):
    @property
    def tab_len(self) -> int:  # type: ignore[override]
        return 3


class Overridden(Blocks):
    def handle_NL(self, token: Any) -> Any:
        return super().handle_NL(token)


@pytest.mark.parametrize(
    ("indenter", "settings"),
    [
        (True, IndenterSettings()),
        (PythonIndenter, IndenterSettings()),
        (PythonIndenter(), IndenterSettings()),
        ({"NL_type": "_NL", "tab_len": 4}, IndenterSettings(NL_type="_NL", tab_len=4)),
        (Property, IndenterSettings(**{**IndenterSettings.of(Blocks).__dict__, "tab_len": 3})),
        (
            IndenterSettings.named("NL_type=_NL tab_len=4 columns=0-2,8"),
            IndenterSettings(NL_type="_NL", tab_len=4, columns=(1, 2, 8)),
        ),
        (IndenterSettings.named("python"), IndenterSettings()),
    ],
)
def test_ways_to_say_it(indenter: object, settings: IndenterSettings) -> None:
    found = IndenterSettings.of(indenter)
    assert found == settings and IndenterSettings.of_text(found.text) == settings


TREE = HEAD + GRAMMARS["tree"][0]
NAMES = {"NL_type": "_NL"}


@pytest.mark.parametrize(
    ("text", "indenter", "message"),
    [
        (TREE, None, r"2:1|1:1.*If Lark's Indenter makes them, say so with --indenter"),
        (TREE, True, "NL_type _NEWLINE is no terminal of the grammar"),
        (TREE, Overridden, "Overridden overrides handle_NL, which is Python that a mask cannot run"),
        (TREE, Indenter, "does not define"),
        (TREE, 3, "3 is no Indenter"),
        (TREE, {"NL": "_NL"}, "there is no attribute 'NL'"),
        (TREE, {"tab_len": 0}, "tab_len is a number from 1 to 400, not 0"),
        (TREE, {"columns": range(100)}, "columns is at most 64 numbers"),
        (TREE, {"OPEN_PAREN_types": "LPAR"}, "OPEN_PAREN_types is a list of names"),
        (TREE.replace("_DEDENT", "_DEDENT _OTHER", 1), NAMES, "_OTHER.*The indenter makes _INDENT and _DEDENT alone"),
        (TREE + "%ignore _NL", NAMES, "NL_type _NL is ignored"),
        ('%declare _DEDENT\n_INDENT: "a"\n' + GRAMMARS["tree"][0], NAMES, "makes _INDENT, which has a text"),
        (HEAD + 'start: a _DEDENT\na: "x" _NL _INDENT "y" _NL\n_NL: /\\n */\n', NAMES, "brackets or blocks do not match"),
        (HEAD + 'start: "(" _NL\n_NL: /\\n */\n', NAMES, "brackets or blocks do not match"),
        (
            HEAD + 'start: s+\ns: "i" t ["e" t] | "x" _NL\nt: s | _NL _INDENT s+ _DEDENT\n_NL: /\\n */\n',
            NAMES,
            "this cannot be decided as Lark does.*may hold line ends",
        ),
        (HEAD + 'start: (a | b) _NL\na.2: "x"\nb: "x"\n_NL: /\\n */\n', NAMES, "priorities cannot decide"),
    ],
)  # fmt: skip
def test_errors(text: str, indenter: object, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        psc.Grammar.from_lark(text, indenter=indenter)


def test_lexer_and_dialect() -> None:
    with pytest.raises(GrammarError, match="with an indenter the lexer is 'contextual'"):
        psc.Grammar.from_lark(TREE, indenter=NAMES, lexer="basic")
    with pytest.raises(GrammarError, match="llguidance's dialect has none"):
        psc.Grammar.from_lark(TREE, indenter=NAMES, dialect="llguidance")


def test_every_way() -> None:
    """The dangling `e`, which Lark gives to the nearest `i`: every way of it is one language."""
    text = HEAD + 'start: s+\ns: "i" t ["e" t] | "x" _NL\nt: s | _NL _INDENT s+ _DEDENT\n_NL: /\\n */\n'
    compiled = psc.GrammarCompiler(VOCABULARY).compile_lark(text, indenter=Blocks, keep_all_actions=True)
    theirs = Both(Lark(text, parser="lalr", postlex=WithinColumns()), compiled, "")
    rng = random.Random(2)
    for _ in range(2000):
        theirs.check("".join(rng.choice(["i", "x\n", "e", "\n ", "\n", " ", "x"]) for _ in range(rng.randint(0, 8))))
