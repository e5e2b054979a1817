"""Grammars where another reading of docs/language.md seemed possible: tokens that are refused, and why.

Each was found at random, and worked out by hand and by an oracle of the language in question.
"""

from collections.abc import Callable
from typing import Any

import pytest
from languages import allowed, contextual_keep_all
from oracle import KeepAllOracle, Oracle
from vocabularies import tokenizer

import psc
from psc.grammars.compiled_grammar import compile_ahead_of_time, compile_just_in_time

LANGUAGES: dict[str, tuple[Callable[[str], Any], dict[str, Any]]] = {
    "basic": (Oracle, {"lexer": "basic"}),
    "keep all": (KeepAllOracle, {"lexer": "basic", "keep_all_actions": True}),
    "contextual keep all": (contextual_keep_all, {"keep_all_actions": True}),
}

REFUSED: list[tuple[str, bytes, list[bytes], str]] = [
    # r1 never finishes and T1 is ignored, so `"  b" T1 r0` is no alternative, and nothing that may follow r0 begins with a space.
    (
        "contextual keep all",
        b" ",
        [b" \n\n "],
        r"""start: " \n"
    | T1
    | r0 (T0~2 T2 | ["  b" T1 r0] T1 T0) T0
?r0: " "i~2 T2~1..2
    | (r1 T1)~2
?r1: T2* r1
    | r1 T1
T0.2: "a"
T1: "ab"
T2.-1: "\n"
%ignore T1
""",
    ),
    # T0 is ignored, so a text is T1 "è" or "è" with T0 between. After T1, `èb` could only become T1 again, and `b` alone
    # begins nothing.
    (
        "keep all",
        b"\xc3\xa9a1\xc3\xa9\xc3\xa8a",
        [b"\xc3\xa9\xc3", b"\xc3\xa8b", b"\xc3\xa8b\xc3\xa8"],
        r"""start: (T0 T0* T0)+ T0
    | (T1 ("è" | r3 r0) | (T1 T0 | "è"))
    | r2 T0
?r0: T0 -> al48
r1: T0
r2.1: T1 T1 T1
r3.2: T0
T0: /(?:é[a-c]é)+(\w|è)(é|[a-c\s])/s
T1.-1: /([èé]|é)[^è][è\w]é[è][a-ca-c]/
%ignore T0
""",
    ),
    # The string /[^\n]|a/ is longer than /\w/, and of two regexes of one width Lark tries the longer first: `1` and `a` are
    # it, and the text is over.
    (
        "contextual keep all",
        b"",
        [b"\n 1b", b"\n a\n ", b"\n ab"],
        r"""start: " "* r0
    | (r2 /(?:[^\n]|a)/ | T0)
r0: r0
    | (T0? r3)* r2
r1: T0
r2: T2*
    | T4 T1~0..3
r3: r2+
    | T4
T0: "b "i
T1: "b"
T2: /\w/
T3: /a\n (?:a)+/s
T4: "\n "
""",
    ),
    # A space and a quote are T1, which Lark tries before the ignored /[^\/]/, its pattern being longer. After three T1, `b/`
    # can only be `b//` or `b/*`, which
    # do not follow; or it falls back to an ignored `b` and a fourth T1, after which only `b//` may come, which that slash
    # would have begun with `b`.
    (
        "basic",
        b' "',
        [b"1b/", b" *b/"],
        r"""start: "//a"i /\/b/
    | T1 [T1~2 T1 _r1] (r0 (/\*\*/ _r1)*)+
r0: T3
    | "b/*" T1
_r1: T0 T0~2
T0.2: "b//"
T1: /(?:[^b\*]|\d)/
T2.1: /(?:[a\*]|[a-ca-cb])/i
T3.1: "/a"
T4.-1: /ba[\s]/is
%ignore /[^\/]/
""",
    ),
    # T1 follows in another place that shares the LR state, so the table has an action for it, and `==` is T1: longer, and
    # higher in priority, than `=`.
    (
        "contextual keep all",
        b">=>>><>=><",
        [b"=a=>", b"=="],
        r"""start: /[a-c][=a-c]./
    | ">" (T4* r3)+ r3
r0.2: [T0 T3]
    | [T0] r2 T4
    | T2
_r1: T4
?r2: (r0 T3 | T2 (T3 T4 "<<"i)* ">") -> al41
    | ([T3 r2] T2 | (r2 _r1)+ "=" (T5 "<=>")~0..3) ([r2 T1] r0 | ["><"i T0] _r1 (T4 T4)~1..2)
r3: _r1 r0 T4
T0: /(?:=[<a-c\s])+/is
T1.2: (T0 | /(?:=){1,3}/)~2
T2: /((?:<){2}|(?:>)+)/is
T3: /[<=]/
T4.1: "=>"
T5: /(<|=)/
""",
    ),
    # T3 follows `start` inside r2, so the LALR lookahead of the state after the first T3 has it; `_a` and `1a` are T3, longer
    # than what is ignored.
    (
        "contextual keep all",
        b"",
        [b"1a_a1", b"Aa1aA_", b"aa_a"],
        r"""start: r0 _sep{T3, "aa_"}
r0: T3 _r3
    | [T4 T5~0..3] -> al74
r1: [T1 T2 "_1"]
r2: ("a1" | (T1 T4 | r0 r0) start~2 (T4 "1a")~0..3) "a1a" -> al64
    | T3
    | T4
_r3: ("_1" | T5+ r2) (T5 | T4 (T5 T1)+) T1
_sep{x, s}: x (s x)*
opt{x}: "(" x ")" | x
T0.2: /[0-9A]/is
T1: T0+
T2: /A/
T3: /(?:(\d|[11a])|\wa)/is
T4.-1: "a"
T5: /A/
%ignore /(?:(?:[a-c1_]|\w)|A_[a0-9\s])/
""",
    ),
]


@pytest.mark.parametrize("build", [compile_just_in_time, compile_ahead_of_time])
@pytest.mark.parametrize(("language", "prefix", "tokens", "text"), REFUSED)
def test_refused(language: str, prefix: bytes, tokens: list[bytes], text: str, build: Callable[..., psc.CompiledGrammar]) -> None:
    oracle, options = LANGUAGES[language]
    reader = oracle(text)
    assert reader.allowed(b"", [prefix]) == [True]
    assert reader.allowed(prefix, tokens) == [False] * len(tokens)
    single = [bytes([b]) for b in range(256)]
    matcher = psc.GrammarMatcher(build(psc.Grammar.from_lark(text, **options), tokenizer([*tokens, *single])))
    assert all(matcher.accept_token(len(tokens) + b) for b in prefix)
    assert allowed(matcher, len(tokens)) == [False] * len(tokens)
