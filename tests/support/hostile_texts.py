"""Grammar texts that are made to cost much, by name; and the program that compiles them one after the other in its own process.

A text is the worst of its kind: large, deep, doubling, or malformed where an error is expensive. Each has a word that its error
must have; None where the text compiles.
"""

from __future__ import annotations

import json
import signal
import time

MAX_SECONDS = 60
"""Of processor time for one text: a guard against hangs on a loaded machine, not a measure."""

COSTLY_MASKS = 'root ::= root "a" root | "a" root | root "a" | "b" | ""'
"""Compiles at once (GBNF). Of `a` after `a` each may stand before, between or behind, so that a mask costs more after each."""

Texts = dict[str, tuple[str, str | None]]


def _row(item: str, count: int) -> str:
    return " ".join([item.replace("#", str(i)) for i in range(count)])


def _lines(line: str, count: int) -> str:
    return "".join([line.replace("#+", str(i + 1)).replace("#", str(i)) + "\n" for i in range(count)])


def _nested(count: int, inner: str, close: str) -> str:
    return "(" * count + inner + close * count


LARK: Texts = {
    "blank lines": ('start: "a"' + "\n" * 200_000, None),
    "a name before blank lines": ('start: "a" \\\n A' + "\n" * 200_000 + 'A: "b"', None),
    "blank lines before an error": ("start: " + "\n" * 200_000 + ")", ":200001:1: found ')'"),
    "backslashes in an open string": ('start: "' + "\\" * 1000, ":1:8: "),
    "backslashes in an open regex": ("start: /a" + "\\" * 1000, ":1:8: "),
    "backslashes after a quoted quote": ('start: "\\" // ' + "\\" * 1000 + "\n)", ":2:1: "),
    "choices in a row": ("start: " + _row('("a#"|"b#")', 40), "rule start"),
    "options in a row": ("start: " + _row('"a#"?', 40), "250,000"),
    "brackets in a row": ("start: " + _row('["a#"]', 40), "rule start"),
    "lists in a row": ("start: " + _row('"a#"*', 40), "rule start"),
    "counts in a row": ("start: " + _row('"a#"~1..49', 20), "rule start"),
    "counts in counts": ("start: " + _nested(12, '"x"', "~10)"), "rule start"),
    "choices in choices": ("start: " + _nested(60, '"a"', '|"b") ("c"|"d")'), "rule start"),
    "list of counts in counts": ("start: (" + _nested(12, '"x"', "~9)") + ")*", "rule start"),
    "huge count": ('start: "x"~' + "9" * 20, "1,000,000,000"),
    "count of many digits": ('start: "x"~1..' + "9" * 6000, "1,000,000,000"),
    "huge rule priority": ("start." + "9" * 50 + ': "x"', "priority"),
    "huge terminal priority": ("start: A\nA." + "9" * 50 + ': "x"', "priority"),
    "terminals that double": ('start: T30\nT0: "ab"\n' + _lines("T#+: T# T#", 30), "1,000,000"),
    "chain of terminals": ('start: T2000\nT0: "a"\n' + _lines('T#+: "b" T#', 2000), "1,000,000"),
    "counts in counts in a terminal": ("start: A\nA: " + _nested(12, '"x"', "~10)"), "terminal A"),
    "rules that double": ('start: r30\nr0: "ab"\n' + _lines("r#+: r# r#", 30), None),
    "templates that double": (
        'start: t25{A}\nA: "a"\nB: "b"\np{x}: x A\nq{x}: x B\nt0{x}: x x\n' + _lines("t#+{x}: t#{p{x}} t#{q{x}}", 25),
        "templates",
    ),
    "template that grows": ('start: f{A}\nA: "a"\nf{x}: x f{g{x}}\ng{x}: x', "templates"),
    "template of many parameters": ('start: "a"\nt{' + ",".join([f"p{i}" for i in range(20000)]) + '}: "b"', "parameters"),
    "template without arguments": ('start: t\nt{x}: x "a"', "without arguments"),
    "nested groups": ("start: " + _nested(5000, '"a"', ")"), "nested"),
    "nested lists": ("start: " + _nested(5000, '"a"', ")*"), "nested"),
    "nested groups in a terminal": ("start: A\nA: " + _nested(5000, '"a"', ")"), "nested"),
    "nested groups without end": ("start: " + "(" * 50000 + '"a"', 'expected ")"'),
    "nested groups of a regex": ("start: A\nA: /" + _nested(5000, "a", ")") + "/", "terminal A"),
    "groups in a row": ("start: " + _row('("a#")', 1000), None),
    "huge count in a regex": ("start: A\nA: /a{" + "9" * 20 + "}/", "terminal A"),
    "count of many digits in a regex": ("start: A\nA: /a{" + "9" * 5000 + "}/", "terminal A"),
    "counts in counts in a regex": ("start: A\nA: /(a{1000}){1000}/", "terminal A"),
    "counts in counts behind a lookahead": ("start: A\nA: /(?=x)(a{1000}){1000}/", "200,000"),
    "lazy counts in counts": ("start: A\nA: /(a{1000}?){1000}b*?/", "200,000"),
    "long regex": ("start: A\nA: /" + "a*" * 5000 + "/", None),  # may be empty: it is in the dialect
    "range of a regex backwards": ('start: A\nA: "z".."a"', "terminal A"),
    "range of words": ('start: A\nA: "a".."zz"', "terminal A"),
    "large text": ('start: "a"\n' + 'x: "a" "b"\n' * 900_000, "characters"),
    "error at the end": ("start: " + '"a" ' * 20_000 + "((", "line 1"),
    "unused chain of rules": ('start: "a"\n' + _lines('r#: "k" r#+', 2000) + 'r2000: "z"', None),
    "surrogate": ('start: "\ud800"', ""),
    "null": ('start: "\0"', None),
    "malformed escapes": ('start: "\\U99999999"', ""),
}

EBNF: Texts = {
    "long sequence": ("root ::= " + '"a" [b] ' * 60_000, None),
    "large text": ("root ::= " + '"a" [b] ' * 240_000, "characters"),
    "nested groups": ("root ::= " + _nested(5000, '"a"', ")"), "200"),
    "nested lists": ("root ::= " + _nested(199, '"a"', ")*"), None),
    "nested lists of choices": ("root ::= " + _nested(199, '"x" | "y"', ")+ "), None),
    "repetitions of repetitions": ('root ::= "a"' + "?+*" * 100_000, "repetitions"),
    "counts of counts": ('root ::= "a"' + "{2,3}" * 100_000, "repetitions"),
    "counts in counts": ("root ::= " + _nested(60, '"a" "b"', "){1000}"), "rule root"),
    "ranges in ranges": ("root ::= " + _nested(60, '"a" "b"', "){0,1000}"), "rule root"),
    "huge count": ('root ::= "a"{' + "9" * 20 + "}", "1,000,000,000"),
    "count of many digits": ('root ::= "a"{' + "9" * 6000 + "}", "1,000,000,000"),
    "nested groups of a regex": ('root ::= Regex("' + _nested(5000, "a", ")") + '")', "250"),
    "large regex": ('root ::= Regex("' + "a*" * 200_000 + '")', "250,000"),
    "rules that double": ('root ::= r30\nr0 ::= "ab"\n' + _lines("r#+ ::= r# r#", 30), None),
    "choices that double": ('root ::= r30\nr0 ::= "ab" | "c"\n' + _lines('r#+ ::= r# r# | "d" r#', 30), None),
    "chain of rules": ("root ::= r0\n" + _lines('r# ::= "a" r#+', 2000) + 'r2000 ::= "z"', None),
    "undefined name": ("root ::= a0\n" + _lines('averylongrulename# ::= "x"', 10_000), "'a0'"),
    "error at the end": ("root ::= " + '"a" ' * 100_000 + " %", "'%'"),
    "surrogate": ('root ::= "\ud800"', "surrogate"),
    "surrogate in a comment": ('root ::= "a" # \ud800', "surrogate"),
}

REGEX: Texts = {
    "nested groups": (_nested(5000, "a", ")"), "250"),
    "nested lists": (_nested(240, "a", ")*"), None),
    "large text": ("ab[cd]" * 1_700_000, "250,000"),
    "stars in a row": ("a*" * 20_000, None),
    "long": ("ab[cd]" * 10_000, None),
    "words": ("|".join([f"w{i}" for i in range(20_000)]), None),
    "huge count": ("a{" + "9" * 20 + "}", "1,000,000"),
    "count of many digits": ("a{" + "9" * 6000 + "}", "1,000,000"),
    "counts in counts": (_nested(100, "ab", "){1000}"), "count above"),
    "options": ("a?" * 3000 + "a" * 3000, None),
    "brackets": ("[" * 5000, "not closed"),
    "many ranges": ("[" + "a-z" * 60_000 + "]", None),
    "anchors": ("(^a$|b)" * 5000, None),
    "flags in flags": ("(?i:" * 200 + "k" + ")" * 200, None),
    "error at the end": ("a\n" * 100_000 + "(", "not closed"),
    "code point of many digits": ("\\u{" + "9" * 100_000 + "}", ""),
    "character of a long name": ("\\N{" + "A" * 100_000 + "}", ""),
    "surrogate": ("\ud800", "surrogate"),
}

ISO: Texts = {
    "nested groups": ("a = " + _nested(5000, "'a'", ")") + ";", "200"),
    "groups in lists": ("a = " + "{[(" * 66 + "'a'" + ")]}" * 66 + ";", None),
    "counts in counts": ("a = " + "1000 * (" * 60 + "'a', 'b'" + ")" * 60 + ";", "rule a"),
    "huge count": ("a = " + "9" * 20 + " * 'a';", "1,000,000,000"),
    "count of many digits": ("a = " + "9" * 6000 + " * 'a';", "1,000,000,000"),
    "long sequence": ("a = 'a'" + ", 'b'" * 60_000 + ";", None),
    "differences of differences": ("a = {'a' | 'b'}" + " - 'a'" * 2_000 + ";", None),
    "nested comments": ("a = " + "(*" * 200_000 + "'a';", "no closing"),
    "a name of many words": ("a = 'x'; " + "b " * 100_000, "cannot stand here"),
    "large text": ("a = " + "'a' | " * 240_000 + "'b';", "characters"),
}
ANTLR: Texts = {
    "nested groups": ("grammar G; a : " + _nested(5000, "'a'", ")") + ";", "100"),
    "nested sets": ("grammar G; a : A ; A : " + "~" * 50_000 + "'a' ;", "one ~ is enough"),
    "rules that double": ("grammar G; a : R30 ; R0 : 'ab' ; " + _lines("R#+ : R# R# ;", 30), "200,000"),
    "rules of the parser that double": ("grammar G; a : r30 ; r0 : 'ab' ; " + _lines("r#+ : r# r# ;", 30), None),
    "lazy loops in lazy loops": ("grammar G; a : A ; A : " + "(" * 12 + "'a' .*? 'b'" + ")*? 'c'" * 12 + " ;", None),
    "a rule in itself": ("grammar G; a : A ; A : '(' (A | B | ~[()])* ')' ; B : '[' (A | B)* ']' ;", None),
    "modes that push": (
        "grammar G; a : A+ B* ; A : 'a' -> pushMode(M) ; B : 'b' -> popMode ; "
        "mode M; C : 'c' -> pushMode(M) ; D : 'd' -> popMode ;",
        None,
    ),
    "huge character": ("grammar G; a : A ; A : '\\u{FFFFFFFFFFFF}' ;", "there is no character"),
    "long sequence": ("grammar G; a : " + "'a' " * 30_000 + ";", None),
}
TEXTS: dict[str, Texts] = {"lark": LARK, "ebnf": EBNF, "regex": REGEX, "iso_ebnf": ISO, "antlr": ANTLR}


def compile_all(language: str) -> None:
    """Prints a line of JSON for each text: name, error, message, CPU seconds, peak memory. A text that hangs ends the process."""
    from vocabularies import byte_tokenizer

    import psc
    from psc.compiler.frontends.request import GrammarRequest
    from psc.support.process_memory import peak_memory

    compiler = psc.GrammarCompiler(byte_tokenizer())
    compile_text = {"lark": compiler.compile_lark, "regex": compiler.compile_regex}.get(
        language, lambda text: compiler.compile_grammar(GrammarRequest.of(language, text))
    )
    for name, (text, _) in TEXTS[language].items():
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)  # its signal ends the process, native code or not
        began = time.process_time()
        found = message = ""
        try:
            compile_text(text)
        except Exception as e:
            found, message = type(e).__name__, str(e).encode("ascii", "replace").decode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        megabytes = peak_memory() >> 20
        print(json.dumps([name, found, message[:3000], round(time.process_time() - began, 2), megabytes]), flush=True)
