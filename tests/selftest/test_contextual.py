"""The contextual oracle against the basic one, against maximal munch as it is stated, and against Lark itself."""

import itertools
import random
import re
from collections.abc import Iterator

import lark
import pytest
import strategies
from bounded import bounded
from hypothesis import assume, given
from hypothesis import strategies as st
from lark.lexer import Token
from lark.utils import TextSlice
from oracle import ContextualOracle, Oracle, Undecided
from oracle.parsing import Stack

Lexeme = tuple[int, str]  # its end, its terminal


def words(alphabet: str, longest: int) -> Iterator[str]:
    """All words up to a length, shortest first."""
    for length in range(longest + 1):
        yield from map("".join, itertools.product(alphabet, repeat=length))


def longest_lexeme(oracle: ContextualOracle, stack: Stack, text: bytes, begin: int) -> Lexeme | None:
    """The lexing rule as it is stated, for one lexeme with all the text in view."""
    d = oracle.automaton(stack)
    lexeme, committed, state = None, False, d.start
    for i in range(begin, len(text)):
        if text[i] not in d.next[state]:
            break
        state = d.next[state][text[i]]
        winner = d.winner[state]
        if winner is not None:
            lexeme, committed = (i + 1, winner), False
        else:
            committed = committed or d.commits[state]
    return None if committed else lexeme


def larks_lexeme(oracle: ContextualOracle, stack: Stack, text: str, begin: int) -> Lexeme | None:
    """What Lark's contextual lexer takes there; ends and beginnings in characters."""
    lexer = oracle.lark.parser.lexer.lexers[stack[-1]]
    match = lexer.match(TextSlice.cast_from(text), begin)
    if match is None:
        return None
    value, regex_name = match
    if regex_name not in lexer.callback:
        return begin + len(value), regex_name
    # A string wins over the regex that matched it. But Lark has asked before whether to ignore it: where only one of the
    # two is ignored, it passes an ignored terminal to the parser, or drops one that is not: then no lexeme compares equal.
    name = lexer.callback[regex_name](Token(regex_name, value)).type
    confused = (name in lexer.ignore_types) != (regex_name in lexer.ignore_types)
    return (begin if confused else begin + len(value)), name


def parse(oracle: ContextualOracle, text: str) -> tuple[bool, bool]:
    """Whether the text is a sentence, lexed by `longest_lexeme`, and whether Lark takes the same lexemes all along."""
    encoded, stack, begin, as_lark = text.encode(), oracle.parser.start, 0, True
    while begin < len(encoded):
        lexeme = longest_lexeme(oracle, stack, encoded, begin)
        in_characters = lexeme and (len(encoded[: lexeme[0]].decode()), lexeme[1])
        as_lark = as_lark and larks_lexeme(oracle, stack, text, len(encoded[:begin].decode())) == in_characters
        after = lexeme and oracle.parser.shift(stack, lexeme[1])
        if lexeme is None or after is None:
            return False, as_lark
        begin, stack = lexeme[0], after
    return oracle.parser.accepts(stack), as_lark


def lark_accepts(oracle: ContextualOracle, text: str) -> bool:
    try:
        oracle.lark.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    return True


def grown(oracle: ContextualOracle, seed: int, walks: int, steps: int) -> set[str]:
    """Texts that grow by characters which are allowed, with all their beginnings."""
    rng, found = random.Random(seed), {""}
    characters = [c.encode() for c in strategies.ALPHABET]
    for _ in range(walks):
        text = b""
        for _ in range(steps):
            mask = oracle.allowed(text, characters)
            if not any(mask):
                break
            text += rng.choice([c for c, allowed in zip(characters, mask, strict=True) if allowed])
            found.add(text.decode())
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Against the basic oracle


class AllTerminals(ContextualOracle):
    """The contextual oracle in the context of all terminals everywhere."""

    def context(self, stack: Stack) -> frozenset[str]:
        return frozenset(t.name for t in self.lark.terminals)


@given(strategies.grammars(fancy=True), strategies.vocabularies(max_size=20), st.integers(0, 2**16))
@bounded
def test_in_the_context_of_all_terminals_it_is_the_basic_oracle(text: str, vocabulary: list[bytes], seed: int) -> None:
    contextual, basic, rng = AllTerminals(text), Oracle(text), random.Random(seed)
    prefix = b""
    try:
        for _ in range(6):
            mask = contextual.allowed(prefix, vocabulary)
            assert mask == basic.allowed(prefix, vocabulary), prefix
            assert contextual.eos_allowed(prefix) == basic.eos_allowed(prefix), prefix
            choices = [token for token, allowed in zip(vocabulary, mask, strict=True) if allowed]
            if not choices:
                return
            prefix += rng.choice(choices)
    except Undecided:
        assume(False)


# ---------------------------------------------------------------------------------------------------------------------
# Against whole texts


@given(strategies.contextual_grammars(fancy=True), st.integers(0, 2**16), st.lists(strategies.texts(8), max_size=20))
@bounded
def test_accepts_what_maximal_munch_and_lark_accept(grammar: str, seed: int, texts: list[bytes]) -> None:
    oracle = ContextualOracle(grammar)
    try:
        some = grown(oracle, seed, walks=8, steps=8)
    except Undecided:
        some = set()
    for text in sorted(some | {t.decode() for t in texts}) + list(words("ab. ", 3)):
        accepted, as_lark = parse(oracle, text)
        assert oracle.accepts(text.encode()) == accepted, text
        if as_lark:
            assert lark_accepts(oracle, text) == accepted, text


@given(strategies.contextual_grammars())
@bounded
def test_every_beginning_of_a_sentence_is_allowed(grammar: str) -> None:
    oracle = ContextualOracle(grammar)
    for word in words("abcd. ", 4):
        text = word.encode()
        if oracle.accepts(text):
            for i in range(len(text) + 1):
                assert all(oracle.allowed(text[:i], [text[i:j] for j in range(i, len(text) + 1)]))


@given(strategies.contextual_grammars(fancy=True), strategies.vocabularies(max_size=20), st.integers(0, 2**16))
@bounded
def test_masks_agree_with_themselves(grammar: str, vocabulary: list[bytes], seed: int) -> None:
    oracle, rng = ContextualOracle(grammar), random.Random(seed)
    prefix = b""
    try:
        for _ in range(6):
            mask = oracle.allowed(prefix, vocabulary)
            for token, allowed in zip(vocabulary, mask, strict=True):
                assert oracle.allowed(prefix + token, [b""]) == [allowed]
                assert not allowed or all(oracle.allowed(prefix, [token[:i] for i in range(len(token))]))
                assert allowed or not oracle.accepts(prefix + token)
            choices = [token for token, allowed in zip(vocabulary, mask, strict=True) if allowed]
            if not choices:
                return
            prefix += rng.choice(choices)
    except Undecided:
        assume(False)


STATEMENTS = """
start: statement*
statement: "set" NAME "=" value ";" | "print" value ";" | "if" value "then" statement
value: NAME | NUMBER | "set" "(" value ")"
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore /[ \\n]+/
%ignore /#[^\\n]*/
"""
CLASSES = """
start: "class" NAME "{" member* "}"
member: type NAME ";" | "where" "(" NAME ")" ";"
type: NAME [ "<" type ("," type)* ">" ]
NAME: /[a-z]\\w*/
SHIFT: ">>"
SPACE: " "
%ignore SPACE
"""


@pytest.mark.parametrize(
    ("grammar", "text", "least"),
    [
        (STATEMENTS, "set set = 1; print print; #x\nif if then set a = set (b);", 40),
        (CLASSES, "class class { a<b<c>> if; where (where) ; }", 40),
    ],
)
def test_broken_copies_are_judged_as_lark_does(grammar: str, text: str, least: int) -> None:
    oracle = ContextualOracle(grammar)
    copies = {text}
    for i in range(len(text)):
        copies |= {text[:i] + text[i + 1 :], text[: i + 1] + text[i:], text[:i], text[:i] + text[-1 - i] + text[i + 1 :]}
    judged = accepted = 0
    for copy in sorted(copies):
        by_rule, as_lark = parse(oracle, copy)
        assert oracle.accepts(copy.encode()) == by_rule, copy
        if as_lark:
            assert lark_accepts(oracle, copy) == by_rule, copy
            judged, accepted = judged + 1, accepted + by_rule
    assert judged > 0.9 * len(copies)
    assert accepted >= least


# ---------------------------------------------------------------------------------------------------------------------
# Texts whose meaning is plain

KEYWORDS = 'start: "if" NAME | NAME "=" NAME\nNAME: /[a-z]+/\n%ignore " "\n'
VERDICTS = [
    # grammar, text, is a sentence
    (KEYWORDS, "if if", True),  # after IF only a name can follow
    (KEYWORDS, "iffi", False),  # the longest at the start is a name
    (KEYWORDS, "x = if", True),
    (KEYWORDS, "if = x", False),  # both can stand there: the string wins
    (KEYWORDS, "if  = x", False),
    ('start: "a" B\nB: /b+/\nC: "bb"', "abb", True),
    # ">>" is no terminal that could follow here, so the two ">" are
    ('start: "<" start ">" | "x" ">>"?', "<<x>>", False),
    ('start: "<" start ">" | "x" | "y" ">>"', "<<x>>", True),
    ('start: "<" start ">" | "x" | "y" ">>"', "<y>>>", True),
    # an ignored terminal leaves the context: after the space, still a name
    (KEYWORDS, "if  if ", True),
    # an ignored terminal is allowed everywhere, even where it is longer than what the parser wants
    ('start: "a" "." "a"\n%ignore /\\.\\.+/', "a.a", True),
    ('start: "a" "." "a"\n%ignore /\\.\\.+/', "a..a", False),
    ('start: "a" "." "a"\n%ignore /\\.\\.+/', "a...a", False),
    ('start: "a" "." "a"\n%ignore /\\.\\.+/', "..a.a..", True),
    # the longer lexeme is no lexeme here: no fall-back needed; basic lexing would be committed to /b[^c]*c/
    ('start: "a" "b" "d" | "x" /b[^c]*c/', "abd", True),
    ('start: "a" "b" "d" | "x" /b[^c]*c/', "xbdc", True),
    # commitment in its own context only
    ('start: "(" ("b" "d" | /b[^c]*c/) | "a" "b" "d"', "(bd", False),
    ('start: "(" ("b" "d" | /b[^c]*c/) | "a" "b" "d"', "abd", True),
    # the bytes read since are lexed again in the context after the terminal: there "bc" is one terminal, "b" none
    ('start: "a" "bc" | "abcd" | "x" "b" "c"', "abc", True),
    ('start: "a" "bc" | "abcd" | "x" "b" "c"', "abcd", True),
    ('start: "a" ("bc" "e" | "b" "f") | "abcd"', "abce", True),
    ('start: "a" ("bc" "e" | "b" "f") | "abcd"', "abf", True),
    ('start: "a" ("bc" "e" | "b" "f") | "abcd"', "abcf", False),
    # the longest is taken though only the shorter could go on
    ('start: A "b" | B "d"\nA: "a"\nB: /ab/', "ab", False),
    ('start: A "b" | B "d"\nA: "a"\nB: /ab/', "abd", True),
    # priority decides among those allowed only
    ("start: A B | B\nA.2: /a+/\nB: /[ab]+/", "aab", True),
    ('start: "x" A | "y" B\nA.2: /a+/\nB: /[ab]+/', "yaa", True),
    ('start: "x" A | "y" B | "z" (A "." | B)\nA.2: /a+/\nB: /[ab]+/', "zaa", False),
    # the state on top has an action for "c", the rest of the stack does not take it
    ('start: "x" a "b" | "y" a "c"\na: "a"', "xac", False),
    ('start: "x" a "b" | "y" a "c"\na: "a"', "yac", True),
    # "bcd" would be such an action: after "xabc" it can only be that "b" and "c" are lexed again
    ('start: "x" a "b" "c" | "y" a "bcd"\na: "a"', "xabc", True),
    ('start: "x" a "b" "c" "e" | "y" a "bcd"\na: "a"', "xabce", True),
    ('start: "x" a "b" "c" ("d" | "e") | "y" a "bcd"\na: "a"', "xabcd", False),
]  # fmt: skip


@pytest.mark.parametrize(("grammar", "text", "is_sentence"), VERDICTS)
def test_verdicts(grammar: str, text: str, is_sentence: bool) -> None:
    oracle = ContextualOracle(grammar)
    assert oracle.accepts(text.encode()) == is_sentence
    if is_sentence:
        assert all(oracle.allowed(b"", [text.encode()[:i] for i in range(len(text) + 1)]))
    accepted, as_lark = parse(oracle, text)
    assert accepted == is_sentence
    assert not as_lark or lark_accepts(oracle, text) == is_sentence


MASKS = [
    # grammar, prefix, tokens, those allowed, the end
    (KEYWORDS, "", ["if", "iff", " i", "=", "if if", "if=", "if x=", "x=if"], ["if", "iff", " i", "if if", "x=if"], False),
    (KEYWORDS, "if ", ["if", "i", "=", " ", "if ="], ["if", "i", " "], False),
    (KEYWORDS, "i", ["f", "f ", "f=", "=", "ff=", " ="], ["f", "f ", "=", "ff=", " ="], False),
    (KEYWORDS, "if if", ["f", " ", "=", " x"], ["f", " "], True),
    ('start: "a" ("bc" "e" | "b" "f") | "abcd"', "ab", ["c", "f", "d", "cd", "ce", "cf"], ["c", "f", "cd", "ce"], False),
    ('start: "a" "b" "d" | "x" /b[^c]*c/', "ab", ["d", "c", "b"], ["d"], False),
    ('start: "x" a "b" | "y" a "c"\na: "a"', "xa", ["b", "c"], ["b"], False),
]


@pytest.mark.parametrize(("grammar", "prefix", "tokens", "allowed", "eos"), MASKS)
def test_masks(grammar: str, prefix: str, tokens: list[str], allowed: list[str], eos: bool) -> None:
    oracle = ContextualOracle(grammar)
    mask = oracle.allowed(prefix.encode(), [t.encode() for t in tokens])
    assert [t for t, bit in zip(tokens, mask, strict=True) if bit] == allowed
    assert oracle.eos_allowed(prefix.encode()) == eos


# After "a.." the parser wants ".", which has no spelling there: it would be lexed as more of the ignored terminal.
UNSPELLABLE = 'start: "a" "." "a"\n%ignore /\\.\\.+/'


@pytest.mark.parametrize("grammar", dict.fromkeys(grammar for grammar, *_ in VERDICTS if grammar != UNSPELLABLE))
def test_masks_against_every_short_sentence(grammar: str) -> None:
    oracle = ContextualOracle(grammar)
    alphabet = sorted(set(re.sub(r'"(.+?)"|/(.+?)/|.|\n', r"\1\2", grammar)) - set("[]^*+\\"))
    longest = 7 if len(alphabet) < 6 else 6
    slack = 5 if "start >" in grammar.replace('"', "") else 3  # a beginning is that much shorter than some sentence
    sentences = {word for word in words("".join(alphabet), longest) if oracle.accepts(word.encode())}
    begun = {sentence[:i] for sentence in sentences for i in range(len(sentence) + 1)}
    assert sentences
    for word in words("".join(alphabet), longest - slack):
        assert oracle.allowed(b"", [word.encode()]) == [word in begun], word
