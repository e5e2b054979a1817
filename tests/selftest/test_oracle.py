"""The oracle against `re`, against Lark, and against enumeration of every short text.

Each part of the oracle has a definition that is slower and simpler than its code; here each is held to it: the regex
automata to `re` on all short words, the byte-by-byte lexer to maximal munch on whole texts, the masks to the set of all
sentences up to a length.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import lark
import pytest
import strategies
from bounded import bounded
from hypothesis import given
from hypothesis import strategies as st
from oracle import LexError, Oracle, Undecided, Unsupported
from oracle.automaton import RegexAutomaton
from oracle.lexing import preference


def words(alphabet: str, longest: int) -> Iterator[str]:
    """All words up to a length, shortest first."""
    for length in range(longest + 1):
        yield from map("".join, itertools.product(alphabet, repeat=length))


# ---------------------------------------------------------------------------------------------------------------------
# One regex


def assert_like_re(regex: str, alphabet: str, longest: int) -> None:
    automaton = RegexAutomaton(regex)
    compiled = re.compile(regex)
    states = {b"": automaton.start}
    for word in words(alphabet, longest):
        match = compiled.match(word) if automaton.pattern.lazy else compiled.fullmatch(word)
        state = automaton.start
        for byte in word.encode():
            after = automaton.next(state, byte)
            if after is None:
                break
            state = after
        else:
            states[word.encode()] = state
            assert automaton.accepts(state) == bool(match and match.end() == len(word)), (regex, word)
            continue
        assert not (match and match.end() == len(word)), (regex, word)


@pytest.mark.parametrize(
    ("regex", "alphabet"),
    [
        (r'"(\\.|[^"\\])*"', 'a"\\'),
        (r'".*?(?<!\\)(\\\\)*?"', 'a"\\'),  # Lark's ESCAPED_STRING
        (r"\/\*(\*(?!\/)|[^*])*\*\/", "a/*"),  # Lark's C_COMMENT
        (r"/\*(.|\n)*?\*/", "/*\n"),
        (r"/\*.*?\*/", "/*\n"),
        (r"/\*.*?\*/(?!/)", "/*"),
        (r"""(?is:[ubf]?r?("(?!"").*?(?<!\\)(\\\\)*?"))""", 'uR"\\'),  # as in Lark's Python grammar
        (r"(?m:^a$\n?)+", "a\n"),
        (r"a\b.?\b", "a é"),
        (r"\Aa\Z|b\B.", "abé"),
        (r"(?i:aé[^b])", "aAéÉb"),
        (r"(?a:\w)\w", "aé_"),
        (r"(a|ab)(c|bcd)(d*)", "abcd"),
        (r"(?:a|b??)*?b", "ab"),
        (r"(?:a*?)*?(?=b)b|a+", "ab"),
        (r"a(?:|b)*c??", "abc"),  # the empty alternative leaves the loop
        ("[^é]{2}|é漢?𝄞", "aé漢𝄞"),
        (r"(?=.*b)a?.+", "ab"),
        (r"(?!.*bb)[ab]+", "ab"),
        (r"(?:(?!ab)[ab])+", "ab"),
        (r"a+(?<=aa)b|(?<!a)b", "ab"),
    ],
)
def test_patterns_that_people_write(regex: str, alphabet: str) -> None:
    assert_like_re(regex, alphabet, 7 if len(alphabet) < 4 else 5)


@given(strategies.regexes(fancy=True))
@bounded
def test_random_patterns(regex: str) -> None:
    assert_like_re(regex, "abc.é", 4)


@pytest.mark.parametrize("regex", [r"(a)\1", "(?>a)b", "a*+", "(?<=a(?=b))b", r"\p{L}"])
def test_refused_patterns(regex: str) -> None:
    with pytest.raises(Unsupported):
        RegexAutomaton(regex)


# ---------------------------------------------------------------------------------------------------------------------
# All terminals together


class Winners(dict[str, str | None]):
    """The terminal that wins on a word, asked of `re` and remembered."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__()
        self._regexes = []
        for terminal in sorted(oracle.lark.terminals, key=preference):
            regex = terminal.pattern.to_regexp()
            lazy = re.search(r"[*+?}]\?", regex)  # no test has this in a class or escaped
            self._regexes.append((terminal.name, re.compile(regex).match if lazy else re.compile(regex).fullmatch))

    def __missing__(self, word: str) -> str | None:
        matches = ((name, match(word)) for name, match in self._regexes)
        self[word] = next((name for name, match in matches if match and match.end() == len(word)), None)
        return self[word]


def maximal_munch(oracle: Oracle, text: bytes) -> tuple[str, ...] | None:
    """The lexing rule as it is stated, on a whole text."""
    d = oracle.lexer.automaton
    terminals: tuple[str, ...] = ()
    begin = 0
    while begin < len(text):
        longest, winner, committed = begin, "", False
        state = d.start
        for i in range(begin, len(text)):
            if text[i] not in d.next[state]:
                break
            state = d.next[state][text[i]]
            accepted = d.winner[state]
            if accepted is not None:
                longest, winner, committed = i + 1, accepted, False
            else:
                committed = committed or d.commits[state]
        if longest == begin or committed:
            return None
        terminals, begin = (*terminals, winner), longest
    return terminals


@given(strategies.grammars(fancy=True))
@bounded
def test_winner_of_every_short_word(grammar: str) -> None:
    oracle = Oracle(grammar)
    d = oracle.lexer.automaton
    winners = Winners(oracle)
    for word in words("abcd. é", 3):
        state: int | None = d.start
        for byte in word.encode():
            state = None if state is None else d.next[state].get(byte)
        if word:
            assert (None if state is None else d.winner[state]) == winners[word], word


@given(strategies.grammars(), st.lists(strategies.texts(12), min_size=20, max_size=20))
@bounded
def test_bytewise_lexing_is_maximal_munch(grammar: str, texts: list[bytes]) -> None:
    oracle = Oracle(grammar)
    for text in texts:
        try:
            found: tuple[str, ...] | None = oracle.lexer.terminals(text)
        except LexError:
            found = None
        assert found == maximal_munch(oracle, text), text


LEXINGS = [
    # grammar, text, terminals without the ignored ones; None for an error
    ('start: (NUM|".."|".")*\nNUM: /[0-9]+(\\.[0-9]+)?/', "1..2", ["NUM", "__ANON_0", "NUM"]),
    ('start: (NUM|".."|".")*\nNUM: /[0-9]+(\\.[0-9]+)?/', "1.2.", ["NUM", "DOT"]),
    ('start: ("if"|ID)*\nID: /[a-z]+/\n%ignore " "', "if iff i", ["IF", "ID", "ID"]),
    ('start: ("if"|ID)*\nID.1: /[a-z]+/\n%ignore " "', "if iff", ["ID", "ID"]),
    ("start: (A|B)*\nA: /ab*/\nB: /bc?/", "abbbbc", None),
    ("start: (A|B)*\nA: /ab*/\nB: /bc?/", "bcbabb", ["B", "B", "A"]),
    ('start: ("a"|"ab"|"abcd"|"bcde"|"b"|"c")*', "abcabcd", ["AB", "C", "ABCD"]),
    ('start: ("a"|"ab"|"abcd"|"bcde"|"b"|"c")*', "abcdabc", ["ABCD", "AB", "C"]),
    ('start: ("a"|"ab"|"abcd"|"bcde"|"b"|"c")*', "aabcbcde", ["A", "AB", "C", "BCDE"]),
    ('start: ("a"|"b"|"c"|"d"|"abcdx")*', "abcdabcdxab", ["A", "B", "C", "D", "ABCDX", "A", "B"]),
    # "/" falls back while nothing is open; an open comment does not
    ('start: ("/"|"*"|"a")*\n%ignore /\\/\\*(.|\\n)*?\\*\\//', "a/a", ["A", "SLASH", "A"]),
    ('start: ("/"|"*"|"a")*\n%ignore /\\/\\*(.|\\n)*?\\*\\//', "a/*/", None),
    ('start: ("/"|"*"|"a")*\n%ignore /\\/\\*(.|\\n)*?\\*\\//', "a/*/*/*", ["A", "STAR"]),
    # the commitment ends where the lexeme is complete again
    ("start: (A|B|C)*\nA: /a(b+c)?/\nB: /b/\nC: /c?d/", "abbb", None),
    ("start: (A|B|C)*\nA: /a(b+c)*/\nB: /b/\nC: /c?d/", "abbcd", ["A", "C"]),
    # the state after "ax" is the state after "axyx", so it lies on a cycle of the minimal automaton
    ("start: (A|X)*\nA: /a(xyz|xy(xy)*z)?/\nX: /x/", "ax", None),
    ("start: (A|X)*\nA: /a(xyz)?/\nX: /x/", "ax", ["A", "X"]),
    # same longest lexeme: the larger maximal width, then the longer pattern, then the name
    ("start: A|B\nA: /a{1,2}/\nB: /a{1,3}/", "a", ["B"]),
    ("start: A|B\nA: /aa?/\nB: /a{1,2}/", "a", ["B"]),
    ("start: A|B\nB: /a{1,2}/\nA: /a{1,2}/", "a", ["A"]),
    ("start: A|B\nB.2: /a{1,2}/\nA: /a{1,2}/", "a", ["B"]),
]


@pytest.mark.parametrize(("grammar", "text", "terminals"), LEXINGS)
def test_lexings(grammar: str, text: str, terminals: list[str] | None) -> None:
    oracle = Oracle(grammar)
    if terminals is None:
        with pytest.raises(LexError):
            oracle.terminals(text.encode())
    else:
        assert oracle.terminals(text.encode()) == terminals


# ---------------------------------------------------------------------------------------------------------------------
# Whole texts against Lark

ARITHMETIC = """
start: sum
?sum: product | sum "+" product | sum "-" product
?product: atom | product "*" atom | product "/" atom
?atom: NUMBER | "-" atom | NAME | "(" sum ")" | NAME "(" [sum ("," sum)*] ")"
%import common.NUMBER
%import common.CNAME -> NAME
%import common.WS
%ignore WS
"""
JSON = """
start: value
value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
array: "[" [value ("," value)*] "]"
object: "{" [pair ("," pair)*] "}"
pair: ESCAPED_STRING ":" value
%import common.ESCAPED_STRING
%import common.SIGNED_NUMBER
%import common.WS
%ignore WS
"""
STATEMENTS = """
start: statement*
statement: "if" NAME "then" statement ["else" statement] | NAME "=" (NAME | STRING) ";" | "{" statement* "}"
STRING: /'(''|[^'])*'/
%import common.CNAME -> NAME
%import common.C_COMMENT
%import common.WS
%ignore WS
%ignore C_COMMENT
"""


def broken_copies(text: str) -> Iterator[str]:
    """The text, and the text with one character taken out, doubled or replaced by another of it."""
    yield text
    for i in range(len(text)):
        yield text[:i] + text[i + 1 :]
        yield text[: i + 1] + text[i:]
        yield text[:i] + text[-1 - i] + text[i + 1 :]
        yield text[:i]


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (ARITHMETIC, "f(1, -x2) * (3.5e2+y) - 4./z"),
        (JSON, '{"a": [1, -2.5e3, {"b\\"": null}], "": "\\\\", "é": [true ,false]}'),
        (STATEMENTS, "if a then { b = 'it''s'; /* c **/ d=b; } else if thenx then e = /**/ f;\n"),
    ],
)
def test_accepts_what_lark_accepts(grammar: str, text: str) -> None:
    oracle = Oracle(grammar)
    accepted = 0
    for copy in broken_copies(text):
        try:
            oracle.lark.parse(copy)
            by_lark = True
        except lark.exceptions.UnexpectedInput:
            by_lark = False
        assert oracle.accepts(copy.encode()) == by_lark, copy
        accepted += by_lark
    assert accepted > 20


# ---------------------------------------------------------------------------------------------------------------------
# Masks against enumeration


@dataclass(frozen=True)
class Enumerated:
    """A grammar whose sentences are known by other means: a regex over one letter for each terminal."""

    grammar: str
    letters: dict[str, str]  # terminal name to letter; ignored terminals have none
    sentences: str  # regex over letters
    alphabet: str
    longest: int
    slack: int  # a text that begins a sentence begins one at most this much longer
    committed: str = r"(?!)"  # regex of the beginnings of a lexeme that must then be finished

    def is_sentence(self, winners: Winners, text: str) -> bool:
        letters, begin = "", 0
        while begin < len(text):
            ends = (end for end in range(len(text), begin, -1) if winners[text[begin:end]])
            end = next(ends, begin)
            open_comment = re.match(self.committed, text[begin:])
            if end == begin or (open_comment and end < begin + open_comment.end()):
                return False
            letters += self.letters.get(winners[text[begin:end]] or "", "")
            begin = end
        return re.fullmatch(self.sentences, letters) is not None


ENUMERATED = {
    "number or range": Enumerated(
        'start: (NUM ".." NUM | NUM ".")?\nNUM: /1+(\\.1+)?/',
        {"NUM": "n", "__ANON_0": "r", "DOT": "d"}, "(nrn|nd)?", "1.", 9, 3,
    ),
    "range, then a dot": Enumerated(
        'start: NUM ".." "." NUM\nNUM: /1(\\.1)?/',
        {"NUM": "n", "__ANON_0": "r", "DOT": "d"}, "nrdn", "1.", 10, 3,
    ),
    "keyword or identifier": Enumerated(
        'start: "if" ID | ID "=" ID\nID: /[if]+/\n%ignore " "',
        {"IF": "k", "ID": "i", "EQUAL": "="}, "ki|i=i", "if =", 7, 3,
    ),
    "comment or operators": Enumerated(
        'start: "a" (("/" | "*" "/"?) "a")*\n%ignore /\\/\\*(.|\\n)*?\\*\\//',
        {"A": "a", "SLASH": "/", "STAR": "*"}, r"a((/|\*/?)a)*", "a/*", 9, 4, r"/\*",
    ),
    "greedy past the other": Enumerated(
        "start: (A B)+\nA: /ab*/\nB: /bc?|c/",
        {"A": "a", "B": "b"}, "(ab)+", "abc", 7, 2,
    ),
    "blanks first and last": Enumerated(
        'start: "a" "b" | \n%ignore / +/',
        {"A": "a", "B": "b"}, "(ab)?", "ab ", 7, 2,
    ),
    "a word that priority takes away": Enumerated(
        'start: "x" (A | B) | B "x"\nA.2: /a+/\nB: /[ab]+/',
        {"A": "a", "B": "b", "X": "x"}, "x[ab]|bx", "abx", 7, 3,
    ),
    "a string before a regex, not before a priority": Enumerated(
        'start: "aa" | W "b"\nW: /a+/\nB.-1: "b"',
        {"AA": "s", "W": "w", "B": "b"}, "s|wb", "ab", 8, 2,
    ),
    "fall-back within a fall-back": Enumerated(
        'start: "ab" "c" "x" | "a" "bcde" | "abcd" | "abcd" "e"\nB: "b"',
        {"AB": "1", "C": "2", "X": "3", "A": "4", "BCDE": "5", "ABCD": "6", "E": "7"}, "123|45|67?", "abcdex", 5, 2,
    ),
    "fall-back twice": Enumerated(
        'start: "a" "b" "a" "x" | "abac" | "bax" "b"',
        {"A": "a", "B": "b", "X": "x", "ABAC": "1", "BAX": "2"}, "abax|1|2b", "abcx", 6, 3,
    ),
    "three terminals to lex again": Enumerated(
        'start: "a" "b" "c" "d" "y" | "abcdx" "y" | "d"',
        {"A": "a", "B": "b", "C": "c", "D": "d", "Y": "y", "ABCDX": "1"}, "abcdy|1y|d", "abcdxy", 6, 3,
    ),
    "an ignored terminal lexed again": Enumerated(
        'start: "a" "b" "." | "a b c"\n%ignore / /',
        {"A": "a", "B": "b", "DOT": ".", "__ANON_0": "1"}, r"ab\.|1", "abc .", 6, 3,
    ),
    "fall-back only after more of the longer": Enumerated(
        'start: "1" "." "a" "c" | "1.abd" "c"\n',
        {"__ANON_0": "1", "DOT": ".", "A": "a", "C": "c", "__ANON_1": "2"}, r"1\.ac|2c", "1.abcd", 6, 3,
    ),
    "the longer is out of place, a byte away": Enumerated(
        'start: "x" "a" "b" "c" "y" | "abcz"',
        {"X": "x", "A": "a", "B": "b", "C": "c", "Y": "y", "ABCZ": "1"}, "xabcy|1", "abcxyz", 6, 2,
    ),
    "the longer is out of place, two bytes away": Enumerated(
        'start: "1" "." "a" "c" | "d" "1.abd"',
        {"__ANON_0": "1", "DOT": ".", "A": "a", "C": "c", "D": "d", "__ANON_1": "2"}, r"1\.ac|d2", "1.abcd", 6, 2,
    ),
    "the longer is out of place, at the end of the text": Enumerated(
        'start: "x" "a" "b" | "abc"',
        {"X": "x", "A": "a", "B": "b", "ABC": "1"}, "xab|1", "abcx", 6, 2,
    ),
    "the longer is out of place twice": Enumerated(
        'start: "x" "a" "b" "a" "y" | "abac" | "bax"',
        {"X": "x", "A": "a", "B": "b", "Y": "y", "ABAC": "1", "BAX": "2"}, "xabay|1|2", "abcxy", 6, 2,
    ),
    "one character of two bytes": Enumerated(
        "start: A E\nA: /a|aéa/\nE: /é+b?/",
        {"A": "a", "E": "e"}, "ae", "aéb", 7, 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENUMERATED.values(), ids=ENUMERATED.keys())
def test_masks_against_every_short_sentence(case: Enumerated) -> None:
    oracle = Oracle(case.grammar)
    assert set(case.letters) <= {t.name for t in oracle.lark.terminals}, [t.name for t in oracle.lark.terminals]
    winners = Winners(oracle)
    sentences = {text.encode() for text in words(case.alphabet, case.longest) if case.is_sentence(winners, text)}
    assert sentences
    beginnings = {sentence[:i] for sentence in sentences for i in range(len(sentence) + 1)}
    tokens = [token.encode() for token in words(case.alphabet, 3)]
    tokens += [token[:-1] for token in tokens if token and token[-1] > 0x7F] + [b"\xa9", b"\xff", b"\xa9a"]
    refused = 0
    for prefix in beginnings:
        for token, allowed in zip(tokens, oracle.allowed(prefix, tokens), strict=True):
            if prefix + token in beginnings:
                assert allowed, (prefix, token)
            elif len(prefix + token) <= case.longest - case.slack:
                assert not allowed, (prefix, token)
            refused += not allowed
        assert oracle.eos_allowed(prefix) == (prefix in sentences), prefix
    assert refused


# ---------------------------------------------------------------------------------------------------------------------
# Masks of random grammars


@given(strategies.grammars(fancy=True), strategies.vocabularies(max_size=20), st.randoms(use_true_random=False))
@bounded
def test_masks_agree_with_themselves(grammar: str, vocabulary: list[bytes], random: object) -> None:
    oracle = Oracle(grammar)
    prefix = b""
    try:
        for _ in range(6):
            mask = oracle.allowed(prefix, vocabulary)
            for token, allowed in zip(vocabulary, mask, strict=True):
                assert oracle.allowed(prefix + token, [b""]) == [allowed]
                shorter = oracle.allowed(prefix, [token[:i] for i in range(len(token))])
                assert all(shorter) if allowed else True
                assert allowed or not oracle.accepts(prefix + token)
            choices = [token for token, allowed in zip(vocabulary, mask, strict=True) if allowed]
            if not choices:
                return
            prefix += random.choice(choices)  # type: ignore[attr-defined]
    except Undecided:
        return


@given(strategies.grammars())
@bounded
def test_every_beginning_of_a_sentence_is_allowed(grammar: str) -> None:
    oracle = Oracle(grammar)
    for word in words("abcd. ", 4):
        text = word.encode()
        if oracle.accepts(text):
            for i in range(len(text) + 1):
                assert all(oracle.allowed(text[:i], [text[i:j] for j in range(i, len(text) + 1)]))
