"""Grammars in llguidance's dialect of Lark with texts of theirs and others, and what asks psc about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psc

SPECIAL = ("<|eos|>", "<|tool|>", "<think>", "</think>")
"""Names of the tokens from 256 on; the first one ends the text."""
INFO = psc.TokenizerInfo.from_tokens(
    [bytes([i]) for i in range(256)] + [name.encode() for name in SPECIAL],
    special_token_ids=[256, 257, 258, 259],
    stop_token_ids=[256],
)


@dataclass(frozen=True)
class Case:
    """A grammar, texts that it accepts, and texts that it does not. A text may be tokens."""

    grammar: str
    accepted: tuple[str | list[int], ...]
    rejected: tuple[str | list[int], ...]


def tokens_of(text: str | Sequence[int]) -> list[int]:
    """A text as tokens of one byte."""
    return list(text.encode()) if isinstance(text, str) else list(text)


def read_up_to(compiled: psc.CompiledGrammar, text: str | Sequence[int]) -> int:
    """How many tokens are taken; one more where the text may end behind the last."""
    matcher = psc.GrammarMatcher(compiled)
    tokens = [*tokens_of(text), 256]
    return next((i for i, token in enumerate(tokens) if not matcher.accept_token(token)), len(tokens))


def matches(compiled: psc.CompiledGrammar, text: str | Sequence[int]) -> bool:
    """Whether the whole text is accepted."""
    return read_up_to(compiled, text) == len(tokens_of(text)) + 1


TOOL_CALLS = r"""
start: tool* tail
tail: TEXT
tool_head[lazy]: TEXT "<t>"
tool: tool_head %json {"type": "integer"} "</t>"
TEXT: /(\n|.)*/
"""
SHARED_TRIGGER = r"""
start: (foo | bar)* tail
tail: TEXT
foo_head[lazy]: TEXT "<f"
foo: foo_head "=foo>" /[a-z]+/ "</f>"
bar_head[lazy]: TEXT "<f"
bar: bar_head "=bar>" /[A-Z]+/ "</f>"
TEXT: /(\n|.)*/
"""
SUFFIXED = r"""
start: tool* tail
tail: TEXT
head[suffix="<t>"]: TEXT
tool: head /[a-z]+/ "</t>"
TEXT: /(\n|.)*/
"""

CASES: dict[str, Case] = {
    # Limits
    "max_chars": Case(
        'start: some ">"\nsome[max_chars=3]: /[a-zé]*/',
        (">", "aé>", "aéa>"),
        ("aéaa>", "a", "aaa"),
    ),
    "max_chars of a rule of rules": Case(
        'start: a ":" a\na[max_chars=3]: "x" b*\nb[max_chars=1]: /[a-z]{0,2}/ | "-"',
        ("x:x", "xab:x--", "x:xyz"),
        (":", "xabc:x", "x:x---"),
    ),
    "max_chars of nothing": Case('start: none "."\nnone[max_chars=0]: /[a-z]*/', (".",), ("a.", "")),
    "max_chars and a suffix": Case(
        'start: some "!"\nsome[max_chars=3, suffix=">"]: /.*/', (">!", "ab>!"), ("abc>!", "abc!", ">>!", "ab!")
    ),
    "max_chars and what is ignored": Case('%ignore " "\nstart: a "!"\na[max_chars=3]: "x"+', ("xx !", "x  !"), ("xx  !", "xxxx!")),
    "max_chars and a token": Case('start: a "!"\na[max_chars=1]: <think> | "ab"', ([258, ord("!")],), ("ab!", "!")),
    # Names, layout, strings
    "hyphens": Case('start: foo-bar FOO-BAR\nfoo-bar: "a"\nFOO-BAR: "b"', ("ab",), ("", "a-b", "a")),
    "an alias without a space": Case('start: foo->bar\nfoo: "a"{1}', ("a",), ("", "aa")),
    "comments": Case('start: x{1} // one\n# two\nx: "a" # three', ("a",), ("", "x")),
    "a bar on the next line": Case('start: "a"{1}\n\n  // or\n  | "b"', ("a", "b"), ("", "ab")),
    "a group over lines": Case('start: (\n"a"\n| "b"\n){2}', ("ab", "bb"), ("a", "")),
    "empty alternatives": Case('start: "x"{1} (| "a") ("b" |)', ("x", "xa", "xb", "xab"), ("", "a")),
    "escapes": Case(r'start: "\n\t\"\\\u03bb\x41\ud83d\ude00"{1}', ('\n\t"\\λA😀',), ("", "n")),
    "any case": Case('start: "Ab-é"i{1}', ("ab-é", "AB-É"), ("ab-e", "")),
    "any case, as Unicode folds": Case(
        r"%llguidance {}" "\n" r'start: /[a-z]s/i | "i"i | /[\x{130}\x{131}]/i "2"',
        ("K\u017f", "I", "\u212as", "\u01302"),
        ("\u0131s", "\u0130", "i2"),
    ),
    "prefixes of rules": Case('start: item suffix{1}\n?item: "a"\n!suffix: "b"', ("ab",), ("", "a")),
    "recursion": Case('start: "x" | "(" start{1} ")"', ("x", "((x))"), ("", "()", "(x")),
    # Repetition
    "exactly": Case('start: "a"{2}', ("aa",), ("", "a", "aaa")),
    "from to": Case('start: "a"{2,4}', ("aa", "aaaa"), ("a", "aaaaa")),
    "at least": Case('start: "a"{2,}', ("aa", "aaaaaa"), ("", "a")),
    "at most": Case('start: "a"{,2}', ("", "a", "aa"), ("aaa",)),
    "none": Case('start: "a"{0}', ("",), ("a",)),
    "tilde": Case('%llguidance {}\nstart: "a"~2..3 "b" ~ 2', ("aabb", "aaabb"), ("abb", "aaaabb", "aab")),
    "of a rule": Case('start: item{2,3}\nitem: "x" | "(" item ")"', ("xx", "(x)x((x))"), ("x", "xxxx")),
    # Terminals
    "range": Case('%llguidance {}\nstart: "a".."c"+ "0".."9"?', ("a", "abc7"), ("", "d", "7")),
    "and not": Case("start: A\nA: /[ab]+/ & ~/a+/", ("b", "ab", "ba"), ("", "a", "aa", "c")),
    "and before or": Case('start: A\nA: /[ab]/ & /[bc]/ | "d"', ("b", "d"), ("a", "c")),
    "not before star": Case("start: A\nA: ~/[^a]|..+|/* & /(?s:.)*/", ("", "a", "aa"), ("b", "ab")),
    "no text twice": Case(r"start: A" "\n" r"A: /[a-c\n]*/ & ~/(?s:.*)\n\n(?s:.*)/", ("", "a\nb\n", "\nc"), ("a\n\nb", "\n\n")),
    "rows in a conjunction": Case('start: A\nA: "a" /./ & /./ "b"', ("ab",), ("aa", "bb", "a")),
    "terminals of terminals": Case(
        'start: SIGNED{1}\nSIGNED: SIGN? DIGIT+\nSIGN: "+" | "-"\nDIGIT: "0".."9"', ("0", "-12"), ("", "+")
    ),
    "substring of chars": Case('start: %regex {"substring_chars": "aab"}', ("", "a", "aa", "aab", "b"), ("ba", "aaa")),
    "substring of words": Case(
        'start: %regex {"substring_words": "foo bar. baz"}', ("", "foo bar", ". baz", " "), ("oo", "foobar")
    ),
    "substring of chunks": Case(
        'start: %regex {"substring_chunks": ["abc", "de", "ab"]}', ("", "abc", "abcde", "deab"), ("bc", "abab")
    ),
    "chunks that begin alike": Case(
        'start: %regex {"substring_chunks": ["a", "ab", "a"]}', ("", "a", "ab", "aab", "aba"), ("b", "aa")
    ),
    "planned form of substring": Case('start: %regex {"type": "substring", "chunks": ["a", "b"]}', ("", "ab"), ("ba",)),
    # Rust's regular expressions
    "flags": Case("%llguidance {}\nstart: /a./is", ("A\n", "aB"), ("a", "b\n")),
    "classes inside classes": Case("%llguidance {}\nstart: /[a-z&&[^aeiou]]+/", ("bcd",), ("", "a", "ba")),
    "difference of classes": Case(r"%llguidance {}" "\n" r"start: /[\w--[\d_]]/", ("a", "é"), ("1", "_")),
    "symmetric difference": Case("%llguidance {}\nstart: /[a-c~~b-d]/", ("a", "d"), ("b", "c")),
    "classes that overlap": Case("%llguidance {}\nstart: /[a-c&&b-d]/ /[a-c--b-d]/", ("ba", "ca"), ("aa", "da", "bb", "bd")),
    "POSIX classes": Case("%llguidance {}\nstart: /[[:alpha:][:^ascii:]]+/", ("aZé",), ("", "1")),
    "a bracket that comes first": Case("%llguidance {}\nstart: /[]a-]+/", ("]a-",), ("", "b")),
    "a dot is a character": Case('%llguidance {}\nstart: /.../ "abc"', ("🔵🟠✅abc", "aaaabc"), ("aaabc", "a\nbabc")),
    "one-letter properties": Case(r"%llguidance {}" "\n" r"start: /\pL\p{Nd}\x{41}/", ("a1A", "é٣A"), ("11A", "aaA")),
    # What is ignored
    "ignored": Case('%llguidance {}\n%ignore / /\nstart: "a" "b"', ("ab", "a b", "a  b", "ab "), (" ab", "a\nb")),
    "ignored at the start": Case('%llguidance {"allow_initial_skip": true}\n%ignore / /\nstart: "a"', ("a", "  a"), ("\na", "")),
    "ignored once": Case('%llguidance {"skip_repetition": "once"}\n%ignore / {1,2}/\nstart: "a" "b"', ("a b", "a  b"), ("a   b",)),
    "several ignored": Case(
        '%import common (WS, SH_COMMENT)\n%ignore WS\n%ignore SH_COMMENT\nstart: "a" "b"{1}', ("ab", "a # c\n b"), ("a x b",)
    ),
    "imports": Case(
        '%import common (\n CNAME, WS_INLINE)\n%import common.INT -> NUMBER\nstart: CNAME "="{1} NUMBER', ("x=1", "_y=42"), ("1=x",)
    ),
    "an import under a name in lower case": Case("%import common.INT -> int\nstart: int{1}", ("12",), ("", "a")),
    # Rules that end early
    "tool calls": Case(
        TOOL_CALLS, ("", "x", "a<", "x<t>1</t>", "x<t>1</t>y<t>-2</t>"), ("<t>", "x<t>a", "x<t>1</t", "x<t> 1</t>", "a<t>b")
    ),
    "two tools with one trigger": Case(
        SHARED_TRIGGER, ("", "a<f=foo>abc</f>b", "<f=bar>A</f><f=foo>x</f>"), ("<f", "<f=foo>A</f>", "<f=baz>", "<f=bar>a</f>")
    ),
    "suffix": Case(SUFFIXED, ("", "x<t>abc</t>y", "<"), ("<t>", "<t>1", "<t>abc")),
    "suffix that is a terminal": Case('start: h "!"\nh[suffix=END]: /[a-z]*/\nEND: "x" | "y"', ("x!", "aby!"), ("ab!", "xx!", "!")),
    "shortest match": Case('start: l "c"\nl[lazy]: /a+b?/', ("ac",), ("abc", "aac")),
    "empty or shortest": Case('start: l "b"\nl[lazy]: /a*/', ("b", "ab"), ("aab",)),
    "ends before another one": Case('start: l "x" | G "y"\nl[lazy]: /[a-z]*;/\nG: /[a-z]+;/', ("ab;x",), ("ab;y",)),
    "the earlier of two": Case('start: a "1" | b "2"\na[lazy]: /x+/\nb[lazy]: /x*y/', ("x1", "y2"), ("xx1", "xy2")),
    "behind a use of its own": Case(
        'start: "a" value "b" | "c" value (head "!" | TEXT)\nvalue: "v"\nhead[lazy]: TEXT ";"\nTEXT: /[a-z;]*/',
        ("avb", "cvx", "cvx;!"),
        ("cvx;", "av"),
    ),
    "nothing is taken away": Case(
        'start: list\nlist: item list | ";" | head "!"\nitem: "x"\nhead[lazy]: /[0-9]*#/', ("xx;", "x12#!", "#!"), ("x12#", "x")
    ),
    "stop at the end of the text": Case('start: gen\ngen[stop=""]: /[a-z]*/', ("", "abc"), ("1",)),
    "capture and temperature": Case(
        'start[capture]: a b\na[capture="x", temperature=0.5]: /a+/\nb[temperature=1]: "b"', ("ab", "aab"), ("b",)
    ),
    # Schemas and grammars inside
    "schemas": Case('start: "v=" v (";" v)* "."\nv: %json {"type": "integer"}', ("v=1.", "v=1;-2."), ("v=.", 'v="1".')),
    "schemas allow other members": Case(
        'start: %json {"properties": {"a": {"type": "null"}}}', ('{"b": 1}', "3"), ('{"a": 1}', "{")
    ),
    "white space in a schema": Case(
        'start: %json {"x-guidance": {"whitespace_flexible": false, "item_separator": ", "}, "type": "array"}',
        ("[1, 2]",),
        ("[1,2]",),
    ),
    "nested": Case('start: item %lark {\n start: item\n item: "b"\n} item\nitem: "a"', ("aba",), ("aaa", "bbb")),
    "nested twice": Case('start: %lark { start: "a" %lark { start: "b" | "c" } }', ("ab", "ac"), ("a", "b")),
    "nested ignores by itself": Case(
        'start: "[" %lark {\n%llguidance {"allow_initial_skip": true}\n%ignore / /\nstart: "a" "b"\n} "]"',
        ("[ a b ]", "[ab]"),
        ("[a b] ",),
    ),
    # Tokens
    "a special token": Case('start: <|tool|> "x"', ([257, 120],), ("<|tool|>x", "x", [257], [258, 120])),
    "ids": Case("start: <[97,257-258]>", ([97], [257], [258]), ([98], [259], [97, 97])),
    "all but some": Case("start: <[^97,257]>", ([98], [258]), ([97], [257], [256])),
    "any token": Case("start: <[*]>{2}", ([97, 257], "ab"), ([97], [256, 97])),
    "text before a token": Case(
        'start: (TEXT <|tool|> "x")* TEXT\nTEXT: /[a-z]*/', ([], "ab", [97, 257, 120, 98]), ([257], [97, 257, 98])
    ),
    "thinking": Case('start: <think> /(.|\\n)*/ </think> "a"', ([258, 97, 10, 259, 97],), ([258, 97], "a", [258, 258, 259, 97])),
    "tokens in a nested grammar": Case('start: "a" %lark { start: <|tool|> }', ([97, 257],), ("a", [257])),
}
