"""EBNF in W3C's notation: what is taken, what it means, what each refusal says, and which texts are in it."""

import random
from itertools import product
from pathlib import Path

import pytest
from bounded import bounded
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from masks_along_texts import check_masks_along
from oracle.w3c import sentences
from vocabularies import byte_tokenizer

import psc
from psc import Grammar
from psc.compiler.expressions.expression import Chars
from psc.compiler.frontends.ebnf import MAX_NESTING, load_ebnf
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.frontends.w3c import load_w3c
from psc.compiler.frontends.w3c.recognition import is_w3c
from psc.errors import GrammarError, ResourceLimitError
from psc.serving.kinds import request_of
from psc.serving.options import ServiceOptions

INFO = byte_tokenizer()

COMPILER = psc.GrammarCompiler(INFO, store=False)


def takes(grammar: str, text: str) -> bool:
    """Whether a text is one of a grammar's."""
    matcher = psc.GrammarMatcher(COMPILER.compile_grammar(grammar))
    return matcher.accept_string(text) and matcher.is_completed()


MEANING = [  # body of the first rule, texts of it, texts that are not
    ("'a'", ["a"], ["", "aa"]),
    ("\"'\" '\"'", ["'\""], ["''"]),
    ("'\\'", ["\\"], ["", "\\\\"]),
    ("'#x41'", ["#x41"], ["A"]),
    ("#x41 #x1F600", ["A\U0001f600"], ["A"]),
    ("'' | 'a'", ["", "a"], ["b"]),
    ("()", [""], ["a"]),
    ("'a' 'b' | 'c'", ["ab", "c"], ["ac", "abc"]),
    ("'a' ('b' | 'c')+ 'd'?", ["ab", "acbd"], ["a", "ad"]),
    ("'ab'*", ["", "abab"], ["aba"]),
    ("[abc]", ["a", "c"], ["d", "", "ab"]),
    ("[a-c#x78-#x7A#x21]", ["b", "y", "!"], ["#", "-", "d"]),
    ("[^a-c]", ["d", "\n", "\U0001f600"], ["a", ""]),
    ("[^#xA#xD]", ["a", "x"], ["\n", "\r"]),
    ("[-'()+,./:=?;!*#@$_%]", list("-'()+,./:=?;!*#@$_%"), ["a", '"']),
    ("[a-]", ["a", "-"], ["b"]),
    ("[a^]", ["a", "^"], ["b"]),
    (r"[^<>\]", ["]", "a"], ["<", "\\"]),
    ("[#xD7FF-#xE000]", ["\ud7ff", "\ue000"], ["a"]),
    ("[a-z]-[m-p]", ["a", "q"], ["m", "-"]),
    ("[a-z] - 'b' - [x-z]", ["a", "c"], ["b", "y"]),
    ("[a-z]* - 'if' '!'", ["!", "iff!", "i!"], ["if!", "if"]),  # tighter than a sequence, less tight than a repetition
    ("'x' | [ab]* - ([ab]* 'aa' [ab]*)", ["x", "", "aba"], ["baab"]),
    ("b - 'x'\nb ::= c c?\nc ::= 'x' | 'y'", ["y", "xx", "yx"], ["x", ""]),
    ("b - 'x'\nb ::= 'y' - c\nc ::= [^y]", ["y"], ["x", ""]),
    ("a-b a.c - 'd'\na-b ::= 'x'\na.c ::= 'd' | 'e'", ["xe"], ["xd"]),
    ("'(' g ')' | 'x'", ["x", "((x))"], ["((x)"]),
    ("'a' /* 'b' | \n * */ 'c'", ["ac"], ["abc"]),
    ("'a' [ wfc: Well ] [VC: Valid\nor not]", ["a"], []),
    ("[wfc:]", ["w", ":"], ["["]),
    ("'a'\n[2] b ::= 'c'", ["a"], ["a2"]),
    ("b\n\t[1a]\tb\t::=\t'c'", ["c"], []),
    ("b 'x'\r\n[12]\r\nb ::= 'c'", ["cx1", "cx2"], ["cx"]),  # a class: a number stands on its rule's line
    ("b [12]\nb ::= 'c'", ["c1", "c2"], ["c"]),
]


@pytest.mark.parametrize(("body", "inside", "outside"), MEANING)
def test_meaning(body: str, inside: list[str], outside: list[str]) -> None:
    grammar = f"[1] g ::= {body}"
    assert [t for t in inside if not takes(grammar, t)] == []
    assert [t for t in outside if takes(grammar, t)] == []


IGNORING = [  # rules, texts, texts that are not
    ("g ::= 'a' 'b'\nWS ::= #x20", ["ab", " a  b "], ["", "a\tb"]),
    ("g ::= N N\nN ::= [0-9]+\nWS ::= #x20", ["1 2", "12"], ["1"]),  # every way to cut the text is followed
    ("g ::= N\nN ::= [0-9]+ '.' [0-9]\nWS ::= #x20", ["1.0 "], ["1 .0", "1. 0"]),
    ("g ::= [0-9]+\nWS ::= #x20", ["1 2"], [""]),
    ("g ::= number 'a'\nnumber ::= [0-9]+ /* ws: explicit */\nWS ::= #x20", ["12 a"], ["1 2 a"]),
    ("g ::= [a-z]* - 'if' ';'\nWS ::= #x20", ["i ;", "iff;"], ["if ;", "i f;"]),
    ("g ::= '(' g ')' | ''\nWS ::= C | ' '\nC ::= '(:' C* ':)'", ["", "( (:(::):) )", " "], ["(:", "( : )"]),
]


@pytest.mark.parametrize(("rules", "inside", "outside"), IGNORING)
def test_ignored_text(rules: str, inside: list[str], outside: list[str]) -> None:
    grammar = f"{rules}\n%ignore WS"
    assert [t for t in inside if not takes(grammar, t)] == []
    assert [t for t in outside if takes(grammar, t)] == []


def test_a_terminal_as_the_start_has_ignored_text_around_it() -> None:
    grammar = "N ::= 'a' 'b'\n%ignore blank\nblank ::= ' '"
    assert takes(grammar, " ab ") and not takes(grammar, "a b")


def test_a_difference_of_characters_is_a_class() -> None:
    assert load_w3c("g ::= [a-z] - ('b' | [x-z])").rules["g"] == Chars(((97, 97), (99, 119)))


def test_the_start_is_root_or_the_first_rule() -> None:
    assert load_w3c("a ::= 'x'\nroot ::= 'y'").root == "root"
    assert load_w3c("a ::= 'x'\nb ::= 'y'").root == "a"
    assert load_w3c("a ::= 'x'\nb ::= 'y'", start="b").root == "b"
    assert load_w3c("/* none */\n a ::= 'x'\n\n[2]\tb ::= 'y'").lines == {"a": 2, "b": 4}


REFUSED = [  # text, place, what the message says
    ("", "", "there is no rule 'root' to start from, and no other rule"),
    ("'a'", "1:1", "expected a rule: name ::= …"),
    ("a ::= b", "1:7", "rule 'b' is not defined; define it"),
    ("a ::= item\nitems ::= 'x'", "1:7", "did you mean 'items'?"),
    ("a ::= a-b\nb ::= 'x'", "1:7", "(A - that takes texts away needs spaces around it.)"),
    ("a ::= 'x'\na ::= 'y'", "2:1", "rule 'a' is defined twice, first in line 1"),
    ("a ::= 'x' b ::= 'y'", "1:11", "rule 'b' must begin on a line of its own"),
    ("a ::= 'x", "1:7", "this literal has no closing ' on its line; a line break is #xA"),
    ('a ::= "x', "1:7", 'this literal has no closing " on its line'),
    ("a ::= [x", "1:7", "this character class has no closing ] on its line"),
    ("a ::= [^]]", "1:10", "a bracket in a class is #x5D"),
    ("a ::= []", "1:7", "this class is empty; any character is [#x0-#x10FFFF]"),
    ("a ::= 'x' ]", "1:11", "a bracket in a class is #x5D"),
    ("a ::= 'x' /* y", "1:11", "this comment has no closing */"),
    ("a ::= 'x' // y", "1:11", "a comment begins with /*"),
    ("a ::= 'x' # y", "1:11", "comments are /* … */"),
    ("a ::= 'x'{2}", "1:10", "W3C's notation has no {…}"),
    ("a ::= .", "1:7", "any character is [#x0-#x10FFFF]"),
    ("a ::= <b>", "1:7", "names of rules are written without < and >"),
    ("a ::= 'x';", "1:10", "without a semicolon"),
    ("a ::= 'x', 'y'", "1:10", "without commas"),
    ("a ::= 'x' ~", "1:11", "'~' means nothing here; put text into quotes"),
    ("a = 'x'", "1:3", "a rule is written name ::= …"),
    (r"a ::= 'x\n'", "1:9", r"a line break is #xA, a tab #x9; \n as text is '\' 'n'"),
    (r"a ::= [^\n]", "1:9", "a backslash before n is #x5C"),
    ("a ::= [z-a]", "1:8", "the range z-a runs backwards"),
    ("a ::= [#xD800]", "1:7", "no character is in this class"),
    ("a ::= #xD800", "1:7", "half of a surrogate pair"),
    ("a ::= #x110000", "1:7", "the last one is #x10FFFF"),
    ("a ::= [b#x0000000110000]", "1:9", "there is no character #x0000000110000"),
    ("a ::= [http://www.w3.org/TR/xml/#NT-Char]", "1:7", "this is a link to another specification"),
    ("a ::= * 'x'", "1:7", "there is nothing before * to repeat"),
    ("a ::= 'x' | + 'y'", "1:13", "there is nothing before + to repeat"),
    ("a ::= 'x' - * 'y'", "1:13", "there is nothing before * to repeat"),
    ("a ::= - 'x'", "1:7", "there is nothing before - to take texts from"),
    ("a ::= 'x' - | 'y'", "1:11", "there is nothing behind - to take away"),
    ("a ::= ('x' -) 'y'", "1:12", "there is nothing behind - to take away"),
    ("a ::= ('x'", "1:7", "this group has no closing )"),
    ("a ::= 'x')", "1:10", "this ) closes nothing"),
    ("a ::= b - 'x'\nb ::= '(' b ')' | 'x'", "1:9", "the rule 'b' in it refers to itself"),
    ("a ::= 'x' | 'y' - a", "1:17", "the rule 'a' in it refers to itself"),
    ("a ::= /* ws: explicit */ 'x'", "1:7", "/* ws: explicit */ stands at the end of a rule"),
    ("%ignore\na ::= 'x'\n", "1:1", "%ignore takes the name of a rule"),
    ("a ::= 'x'\n%ignore", "2:1", "%ignore takes the name of a rule"),
    ("a ::= 'x'\n%ignore 'y'", "2:1", "%ignore takes the name of a rule"),
    ("a ::= 'x'\n%ignore b", "2:9", "rule 'b' is not defined"),
    ("a ::= 'x' %ignore a", "1:11", "%ignore must begin on a line of its own"),
    ("%import a\na ::= 'x'", "1:1", "there is no directive %import; there are %ignore NAME and %w3c"),
    ("%ignore W\na ::= B\nB ::= c\nc ::= 'x'\nW ::= ' '", "3:7", "the terminal 'B' refers to 'c', inside which text is ignored"),
    ("%ignore W\na ::= c - 'x'\nc ::= 'x'\nW ::= ' '", "2:9", "inside a difference nothing is ignored, but inside the rule 'c'"),
]


@pytest.mark.parametrize(("text", "place", "message"), REFUSED)
def test_refusals(text: str, place: str, message: str) -> None:
    with pytest.raises(GrammarError) as e:
        load_w3c(text, source_name="g.ebnf")
    assert message in str(e.value) and str(e.value).startswith("g.ebnf:" + (place + ":" if place else ""))


@pytest.mark.parametrize(
    "text",
    ["a ::= " + "(" * (MAX_NESTING + 1), "a ::= 'x'" + "?" * 200, "a ::= ([a-z]* 'x' " + "[a-z]" + " [a-z]" * 20 + ") - 'x'"],
)
def test_limits(text: str) -> None:
    with pytest.raises(ResourceLimitError):
        load_w3c(text)


def test_a_long_line_of_rules_that_a_difference_needs() -> None:
    rules = "".join(f"r{i} ::= r{i + 1}\n" for i in range(5000))
    assert load_w3c(f"g ::= r0 - 'x'\n{rules}r5000 ::= [xy]").rules["g"] == Chars(((121, 121),))


RECOGNIZED = [  # text, whether it is in W3C's notation
    ("[1] a ::= 'x'", True),
    ("a ::= b\n\t[12b]\tb\t::=\t'x'", True),
    ("/* c */ a ::= 'x'", True),
    ('a ::= "x" /* c */', True),
    ("%w3c\na ::= 'x'", True),
    ('a ::= "x"\n  %ignore WS\nWS ::= [ ]', True),
    ("a ::= 'x'", False),  # the other EBNF says what to write
    ('root ::= "/*" # [1] a ::= b', False),
    ('root ::= [/*] "x" # /* no */', False),
    ('root ::= "%w3c"\n', False),
    ('root ::= [1] a\na ::= "x"', False),
    ('root ::= a\n[1] [2]\na ::= "x"', False),
    ('root ::= "[1] a ::= b"', False),
]


@pytest.mark.parametrize(("text", "is_one"), RECOGNIZED)
def test_recognition(text: str, is_one: bool) -> None:
    assert is_w3c(text) == is_one
    if is_one:  # nobody's grammar changes its meaning
        with pytest.raises(GrammarError):
            load_ebnf(text, root="a")


def test_everything_that_reads_ebnf_reads_it(tmp_path: Path) -> None:
    text = "[1] list ::= '[' (item (',' item)*)? ']'\nitem ::= [a-z]+\n"
    path = tmp_path / "list.ebnf"
    path.write_text(text)
    expected = Grammar.from_ebnf(text)
    assert expected.language == "w3c_ebnf"
    for request in (
        find_grammar(path).request(),
        request_of("ebnf", text, ServiceOptions()),
        request_of("grammar", text, ServiceOptions()),
        GrammarRequest.of("w3c_ebnf", text),
    ):
        assert request.language == "w3c_ebnf"
    for compiled in (
        COMPILER.compile_file(path),
        COMPILER.compile_grammar(text),
        COMPILER.compile_grammar(expected),
        psc.compile_ahead_of_time(expected, INFO),
    ):
        matcher = psc.GrammarMatcher(compiled)
        assert matcher.accept_string("[ab,c]") and matcher.is_completed()
        assert not psc.GrammarMatcher(compiled).accept_string("[,")
        check_masks_along(compiled, INFO, b"[ab,c]")
    assert psc.GrammarMatcher(COMPILER.compile_grammar(text, root_rule_name="item")).accept_string("ab")
    both = Grammar.union(expected, Grammar.from_ebnf('root ::= "x"'))
    assert psc.GrammarMatcher(COMPILER.compile_grammar(both)).accept_string("x")


ALPHABET, LONGEST = "ab ", 4


def a_grammar(rng: random.Random) -> str:
    """A random grammar in the notation, of the rules g, h and terminals A, B and W; differences need no rule that needs itself."""
    is_ignoring = rng.random() < 0.5

    def body(depth: int, names: list[str]) -> str:
        kind = rng.randrange(9) if depth else rng.randrange(3)
        if kind == 0:
            return rng.choice(["'a'", '"b"', "'ab'", "#x61", "' '", '""'])
        if kind == 1:
            return rng.choice(["[ab]", "[^a]", "[a-b]", "[^#x61-#x62]", "[ #x61]", "[^b ]"])
        if kind == 2:
            return rng.choice(names) if names else "'b'"
        if kind in (3, 4):
            return f"{body(depth - 1, names)} {body(depth - 1, names)}"
        if kind == 5:
            return f"({body(depth - 1, names)} | {body(depth - 1, names)})"
        if kind == 6:
            return f"({body(depth - 1, names)}){rng.choice('?*+')}"
        of_difference = [name for name in names if name in ("A", "B")]
        return f"({body(depth - 1, of_difference)}) - ({body(depth - 1, of_difference)})"

    rules = [
        f"[1] g ::= {body(3, ['g', 'h', 'A', 'B'])} | {body(1, ['h', 'A'])}",
        f"h ::= {body(2, ['g', 'h', 'A', 'B'])} | 'b'",
        f"A ::= {body(2, ['B'])} /* a terminal */",
        f"B ::= {body(2, [])} /* ws: explicit */",
        "W ::= #x20",
    ]
    return "\n".join(["%ignore W" if is_ignoring else "%w3c", *rules])


@given(seed=st.integers(0, 2**32))
@examples(100)
@bounded
def test_random_grammars_have_the_sentences_of_the_oracle(seed: int) -> None:
    text = a_grammar(random.Random(seed))
    expected = sentences(text, "g", ALPHABET, LONGEST)
    try:
        compiled = COMPILER.compile_grammar(text)
    except GrammarError:
        assert not expected, text  # no text at all is an error
        return
    for n in range(LONGEST + 1):
        for characters in product(ALPHABET, repeat=n):
            matcher = psc.GrammarMatcher(compiled)
            is_one = matcher.accept_string("".join(characters)) and matcher.is_completed()
            assert is_one == ("".join(characters) in expected), (text, "".join(characters))


PAIRS = [  # the same grammar in W3C's notation and in the other, and a text
    (
        "[1] object ::= '{' (S? string S? ':' S? value (',' S? string S? ':' S? value)*)? S? '}'\n"
        "value ::= object | string | [0-9]+\nstring ::= '\"' (Char - [\"\\])* '\"'\n"
        "Char ::= [#x20-#xD7FF] | [#xE000-#x10FFFF]\nS ::= (#x20 | #x9)+",
        'root ::= "{" (S? string S? ":" S? value ("," S? string S? ":" S? value)*)? S? "}"\n'
        'value ::= root | string | [0-9]+\nstring ::= "\\"" [^\\x00-\\x1f"\\\\]* "\\""\nS ::= [ \\t]+',
        '{"ä" : {"b":12}, "c": "" }',
    ),
    (
        "%ignore WS\n[1] query ::= 'SELECT' ( Var+ | '*' ) '{' (Var Var Var '.')* '}'\nVar ::= VAR\n"
        "VAR ::= '?' NAME\nNAME ::= [a-z]+ - 'x'\nWS ::= [#x9#x20]",
        'root ::= W "SELECT" W (Var+ | "*" W) "{" W (Var Var Var "." W)* "}" W\nVar ::= "?" name W\n'
        "name ::= [a-wy-z] | [a-z] [a-z]+\nW ::= [ \\t]*",
        " SELECT ?xa ?b{ ?a ?b?xx. }",
    ),
    (
        "[1] comment ::= '<!--' ((Char - '-') | ('-' (Char - '-')))* '-->'\nChar ::= [#x20-#x7E]",
        'root ::= "<!--" ([ -,.-~] | "-" [ -,.-~])* "-->"',
        "<!-- a-b -->",
    ),
]


@pytest.mark.parametrize(("w3c", "ebnf", "text"), PAIRS)
def test_the_masks_are_those_of_the_other_notation(w3c: str, ebnf: str, text: str) -> None:
    matchers = [psc.GrammarMatcher(COMPILER.compile_grammar(grammar)) for grammar in (w3c, ebnf)]
    for byte in text.encode():
        assert len({matcher.mask().tobytes() for matcher in matchers}) == 1
        assert all(matcher.accept_token(byte) for matcher in matchers)
    assert len({matcher.mask().tobytes() for matcher in matchers}) == 1
    assert matchers[0].is_completed()
