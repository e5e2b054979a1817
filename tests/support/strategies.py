"""Hypothesis strategies for random small grammars (as text), vocabularies and texts, made to lex and to parse badly.

The terminals are drawn over one tiny alphabet so that they overlap, share prefixes, fall back and commit; the rules are
small context-free grammars whose nonterminals all derive some sentence. What Lark refuses (reduce/reduce collisions,
zero-width terminals) is filtered out of Lark grammars. EBNF grammars are ambiguous, with empty rules, cycles, and left,
right and hidden recursion. Cost: about 2 ms a Lark grammar, nearly all of it Lark's own loading.
"""

import functools

import lark
from hypothesis import strategies as st

ALPHABET = "abcd. é"  # letters to overlap on, a punctuation mark, something to ignore, one character of two bytes

_LITERALS = st.one_of(st.sampled_from("abcd. "), st.text("abcd", min_size=1, max_size=4), st.sampled_from(["é", "a.", ".."]))
_CLASSES = st.sampled_from(["[ab]", "[bc]", "[a-c]", "[a-d]", "[^a]", "[^ab.]", "[^b]", "[. ]", "[aé]", "[^é]", "."])
_REPEATS = st.sampled_from(["", "", "", "+", "*", "?", "{2}", "{1,3}", "{0,2}", "{2,}"])
_NONEMPTY_REPEATS = st.sampled_from(["", "", "+", "{2}", "{1,3}"])
_LAZY_REPEATS = st.sampled_from(["*?", "+?", "??", "{0,2}?"])
_LOOKAROUNDS = st.sampled_from(["(?=a)", "(?!a)", "(?!b+c)", "(?=.*d)", "(?<!a)", "(?<=b)", "(?<!bc)", "$"])
# Patterns that people write: a number with a fraction, a delimited comment, a quoted string with escapes.
_IDIOMS = st.sampled_from([r"a+(\.a+)?", r"\.\.([^.]|\.[^.])*\.\.", r"d(\.[^d]|[^.d])*d", "ab*", "bc?", "a(bc)*d", "(a|ab)(c|bcd)"])


def _regex_text(literal: str) -> str:
    return literal.replace(".", "\\.")


@st.composite
def regexes(draw: st.DrawFn, fancy: bool = False) -> str:
    """A regex over the alphabet that matches no empty text; `fancy` adds lazy quantifiers, lookaround and flags."""
    if draw(st.integers(0, 5)) == 0:
        return draw(_IDIOMS)
    pieces = [_group(draw) + draw(_NONEMPTY_REPEATS)]
    for _ in range(draw(st.integers(0, 2))):
        pieces.append(_group(draw) + draw(_LAZY_REPEATS if fancy and draw(st.booleans()) else _REPEATS))
    if fancy and draw(st.booleans()):
        pieces.append(draw(_LOOKAROUNDS))
    pieces = draw(st.permutations(pieces)) if len(pieces) > 1 else pieces
    text = "".join(pieces)
    return f"(?i:{text})" if fancy and draw(st.integers(0, 3)) == 0 else text


def _group(draw: st.DrawFn) -> str:
    """Something that a quantifier may follow."""
    kind = draw(st.integers(0, 6))
    if kind <= 2:
        return draw(_CLASSES)
    literal = _regex_text(draw(_LITERALS))
    if kind <= 4:
        return f"(?:{literal})"
    return f"(?:{literal}|{_regex_text(draw(_LITERALS))}{draw(_CLASSES) if kind == 6 else ''})"


# Terminals that match many keywords, and those keywords.
_WORDS = st.sampled_from(["/[a-d]+/", "/[a-c]+/", "/[^. ]+/", "/[ab]+(c[ab]+)*/", "/[a-d][^ ]?/", "/[bé]{1,2}/"])
_KEYWORDS = st.sampled_from(["a", "b", "ab", "abc", "ba", "cd", "d", ".", "..", "é", "bé"])


@st.composite
def grammar_texts(draw: st.DrawFn, fancy: bool = False, keywords: bool = False) -> str:
    """The text of a Lark grammar, which Lark may still refuse; with `keywords`, strings that other terminals match too."""
    names = [f"T{i}" for i in range(draw(st.integers(1, 4)))]
    lines, patterns = [], []
    for name in names:
        if keywords and (name == names[-1] or draw(st.booleans())):
            patterns.append(draw(_WORDS))
            lines.append(f"{name}: {patterns[-1]}")
            continue
        priority = draw(st.sampled_from(["", "", "", ".1", ".2", ".-1"]))
        is_string = draw(st.integers(0, 2)) == 0
        pattern = f'"{draw(_LITERALS)}"' if is_string else f"/{draw(regexes(fancy))}/"
        case = "i" if fancy and is_string and draw(st.integers(0, 3)) == 0 else ""
        patterns.append(pattern + case)
        lines.append(f"{name}{priority}: {pattern}{case}")
    ignored = draw(st.sampled_from(["", "", "/ +/", '" "', r"/\.\.[^.]*\.\./", "T0"]))
    if ignored == "T0":
        names = names[1:] or ["T0"]  # a rule that needs an ignored terminal can never be finished
        ignored = ignored if names[0] != "T0" else ""
    strings = st.lists(_KEYWORDS, min_size=2, max_size=4) if keywords else st.lists(_LITERALS, max_size=2)
    anonymous = [f'"{literal}"' for literal in draw(strings)]
    terminals = st.sampled_from(names + anonymous)
    # A string that is written as an ignored terminal is that terminal.
    spelled = patterns[0] if ignored == "T0" else ignored
    seen = st.sampled_from(names + [string for string in anonymous if string != spelled])
    nonterminals = ["start", "r1", "r2"][: draw(st.integers(1, 3))]
    symbols = st.one_of(terminals, st.sampled_from(nonterminals), terminals)
    rules = []
    for _ in nonterminals:
        # The first alternative has terminals only that the parser sees, so that every nonterminal derives something.
        alternatives = [draw(st.lists(seen, min_size=1, max_size=3))]
        if keywords and draw(st.booleans()):
            alternatives[0].append(names[-1])
        for _ in range(draw(st.integers(0, 2))):
            items = draw(st.lists(symbols, max_size=3))
            alternatives.append([item + draw(st.sampled_from(["", "", "", "", "?", "*", "+"])) for item in items])
        rules.append(alternatives)
    used = {item.rstrip("?*+") for alternatives in rules for items in alternatives for item in items}
    unused = [symbol for symbol in names + nonterminals[1:] if symbol not in used]
    while unused:  # Lark drops what no rule mentions, and then there is little left to overlap
        count = draw(st.integers(1, 3))
        rules[0].append(unused[:count] + ["start"] * draw(st.integers(0, 1)))
        unused = unused[count:]
    texts = [" | ".join(" ".join(items) for items in alternatives) for alternatives in rules]
    lines = [f"{name}: {text}" for name, text in zip(nonterminals, texts, strict=True)] + lines
    return "\n".join([*lines, *([f"%ignore {ignored}"] if ignored else [])]) + "\n"


@functools.lru_cache(maxsize=4096)
def loads(text: str, parser: str = "lalr", lexer: str = "basic") -> bool:
    """Whether Lark takes the grammar with this parser and lexer."""
    try:
        lark.Lark(text, parser=parser, lexer=lexer)
    except lark.exceptions.LarkError:
        return False
    return True


def grammars(fancy: bool = False) -> st.SearchStrategy[str]:
    """Grammars that Lark loads; `fancy` terminals may hold lazy quantifiers, lookaround and case-insensitive parts."""
    return grammar_texts(fancy).filter(loads)


def contextual_grammars(fancy: bool = False) -> st.SearchStrategy[str]:
    """Grammars that Lark loads with its contextual lexer, most of them with keywords that other terminals match too."""
    texts = st.one_of(grammar_texts(fancy, keywords=True), grammar_texts(fancy, keywords=True), grammar_texts(fancy))
    return texts.filter(lambda text: loads(text, lexer="contextual"))


def ambiguous_grammars(fancy: bool = False) -> st.SearchStrategy[str]:
    """Lark grammars of any kind, about half of them with conflicts that Lark's LALR parser refuses."""
    any_kind = grammar_texts(fancy).filter(lambda text: loads(text, parser="earley"))
    return st.one_of(any_kind, any_kind.filter(lambda text: not loads(text)))


# ---------------------------------------------------------------------------------------------------------------------
# EBNF

_EBNF_LITERALS = st.one_of(
    st.sampled_from("abcd. é"),
    st.text("abcd", min_size=2, max_size=4),
    st.sampled_from(["", "a.", "..", "éa", "\\x61", "\\u00e9", "\\u00E9b", "é漢"]),
)
_EBNF_CLASSES = st.sampled_from(
    ["[ab]", "[bc]", "[a-c]", "[a-d]", "[^a]", "[^ab.]", "[^b-d]", "[. ]", "[aé]", "[^é]", "[à-ü]", "[\\u00e0-é]"]
)
_EBNF_REPEATS = st.sampled_from(["", "", "", "", "", "?", "*", "+", "{2}", "{1,3}", "{0,2}", "{2,}", "{0,1}"])
# Right sides that ruin parsers; each is one more option of a rule, {0} and {1} are rules.
_EBNF_HARD = st.sampled_from(
    [
        "{0}",  # a cycle, straight or by way of another rule
        "{0} {0}",
        "{0} {1}",
        '{0} "a"',
        '"a" {0}',
        '"a" {0} "a"',
        '"a" {0} | "a" {0} "b" {0}',
        '{1}? {0} "b"',  # hidden left recursion
        '"b" {0} {1}*',
        '"" {0} ""',
        "({0} | {1})*",
        "({0}? {1}?)+",
        "{0}{{2,3}}",
    ]
)


@st.composite
def cfg_texts(draw: st.DrawFn) -> str:
    """EBNF text over the alphabet: any context-free shape, every rule used and with some sentence."""
    names = ["root", "r1", "r2", "r3"][: draw(st.integers(1, 4))]
    rules = []
    for name in names:
        # One option without references, so that every rule derives something.
        options = [_ebnf_sequence(draw, [], 0)]
        options += [_ebnf_sequence(draw, names, 1) for _ in range(draw(st.integers(0, 2)))]
        if draw(st.booleans()):
            first = name if draw(st.booleans()) else draw(st.sampled_from(names))
            options.append(draw(_EBNF_HARD).format(first, draw(st.sampled_from(names))))
        rules.append(draw(st.permutations(options)))
    for i, name in enumerate(names):
        reached = [0]
        for rule in reached:  # grows while we walk it
            mentioned = " ".join(rules[rule])
            reached += [j for j, other in enumerate(names) if other in mentioned and j not in reached]
        if i not in reached:
            rules[0].append(name + draw(st.sampled_from(["", "", " root", ' "d"'])))
    return "\n".join(f"{name} ::= {' | '.join(options)}" for name, options in zip(names, rules, strict=True)) + "\n"


def _ebnf_sequence(draw: st.DrawFn, names: list[str], depth: int) -> str:
    parts = []
    for _ in range(draw(st.integers(0 if names else 1, 3))):
        kind = draw(st.integers(0, 7))
        if kind <= 2 and names:
            part = draw(st.sampled_from(names))
        elif kind == 7 and depth < 2:
            options = [_ebnf_sequence(draw, names, depth + 1) for _ in range(draw(st.integers(1, 3)))]
            part = f"({' | '.join(options)})"
        elif kind in (3, 4):
            part = draw(_EBNF_CLASSES)
        else:
            part = f'"{draw(_EBNF_LITERALS)}"'
        parts.append(part + draw(_EBNF_REPEATS))
    return " ".join(parts) or '""'


_TOKEN_BYTES = st.one_of(
    st.sampled_from([c.encode() for c in ALPHABET]),
    st.sampled_from([c.encode() for c in "aabbccdd. A\n"]),
    st.sampled_from([b"\xc3", b"\xa9", b"\xff", "漢".encode()]),
)


def tokens() -> st.SearchStrategy[bytes]:
    """A token of 1 to 5 characters or stray bytes, mostly over the alphabet."""
    plain = st.text("abcd. ", min_size=1, max_size=5).map(str.encode)
    return st.one_of(plain, plain, st.lists(_TOKEN_BYTES, min_size=1, max_size=5).map(b"".join))


@st.composite
def vocabularies(draw: st.DrawFn, max_size: int = 40) -> list[bytes]:
    """A vocabulary: tokens in no order, sometimes with duplicates, sometimes with every single byte of the alphabet."""
    drawn = draw(st.lists(tokens(), min_size=1, max_size=max_size))
    if draw(st.booleans()):
        drawn += [c.encode() for c in ALPHABET]
    if draw(st.integers(0, 3)) == 0:
        drawn += drawn[: draw(st.integers(1, 3))]
    return draw(st.permutations(drawn)) if len(drawn) > 1 else drawn


def texts(max_size: int = 8) -> st.SearchStrategy[bytes]:
    """Short texts over the alphabet, in UTF-8; few of them are sentences."""
    return st.text(ALPHABET, max_size=max_size).map(str.encode)
