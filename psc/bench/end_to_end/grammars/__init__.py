"""Subsets of Java, Go and SQL that all engines take, in each one's own language, from one text.

The idea: engines that are compared must have the same language, and each is to have it in the form that it is good at: psc and
llguidance a Lark grammar, with terminals, and XGrammar an EBNF of characters. So white space is written out, as a part of the
operators and of the words that need it: then it does not matter whether there is a lexer. llguidance's lexer never falls back, so
where a terminal may end, no other continues with text that both could have. Words of the language are no names; that is a lookahead
in psc's Lark, an intersection in llguidance's, and in EBNF the rules of a trie.

`java.txt` and the others are lines `name ::= expression` of EBNF. Names in capitals are terminals, whose expressions name only
terminals; `[a-z]+ but not if else` are the names that are no such words.

The cost: milliseconds. `tests/bench/test_common_grammars.py` compares the three on texts and on mutants of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_RULE = re.compile(r"^(\w+)\s*::=\s*", re.M)
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\w+|[()|*+?]')
_EXCEPT: Final = " but not "
LANGUAGES: Final = ("java", "go", "sql")


@dataclass(frozen=True)
class CommonGrammar:
    """A grammar that is written once: expressions by their names, in order."""

    rules: dict[str, str]

    def lark(self) -> str:
        """In Lark's language, as psc reads it; `psc.bench.lark_dialects.for_llguidance` makes llguidance's of it."""
        lines = []
        for name, expression in self.rules.items():
            if name.isupper():
                if name in self._used():
                    lines.append(f"{name}: /{self._regex(name)}/")
            else:
                lines.append(f"{'start' if name == 'root' else name}: {expression}")
        return "\n".join(lines) + "\n"

    def ebnf(self) -> str:
        """In EBNF, as XGrammar reads it."""
        lines = []
        for name, expression in self.rules.items():
            pattern, found, words = expression.partition(_EXCEPT)
            if found:
                lines += _but_not(name, pattern, words.split())
            else:
                lines.append(f"{name} ::= {pattern}")
        return "\n".join(lines) + "\n"

    def _used(self) -> set[str]:
        """Terminals that rules name."""
        return {part for name, text in self.rules.items() if not name.isupper() for part in _PART.findall(text) if part.isupper()}

    def _regex(self, name: str) -> str:
        pattern, found, words = self.rules[name].partition(_EXCEPT)
        regex = "".join(self._regex_parts(pattern))
        if not found:
            return regex
        rest = _PART.findall(pattern)[-2]
        return f"(?!(?:{'|'.join(words.split())})(?!{rest})){regex}"

    def _regex_parts(self, pattern: str) -> Iterator[str]:
        for part in _PART.findall(pattern):
            if part.startswith('"'):
                text = re.sub(r"\\(.)", r"\1", part[1:-1]) if part != '"\\n"' else "\n"
                yield f"(?:{re.escape(text)})".replace("/", "\\/").replace("\n", "n")
            elif part[0].isalpha():
                yield f"(?:{self._regex(part)})"
            elif part == "(":
                yield "(?:"
            else:
                yield part.replace("/", "\\/")


def common_grammar(language: str) -> CommonGrammar:
    """The subset of a language. Raises FileNotFoundError where there is none."""
    text = files(__name__).joinpath(f"{language}.txt").read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    parts = _RULE.split(text)[1:]
    return CommonGrammar({name: " ".join(body.split()) for name, body in zip(parts[::2], parts[1::2], strict=True)})


def _but_not(name: str, pattern: str, words: list[str]) -> list[str]:
    """Rules for the texts of `[first] [rest]*` that are none of the words: a trie of the words, left where a text leaves it."""
    first, rest = (part for part in _PART.findall(pattern) if part.startswith("["))
    prefixes = sorted({word[:n] for word in words for n in range(len(word))}) + sorted(words)
    lines = []
    for prefix in dict.fromkeys(prefixes):
        following = sorted({word[len(prefix)] for word in words if len(word) > len(prefix) and word.startswith(prefix)})
        ways = [f'"{letter}" {name}_{prefix}{letter}' for letter in following]
        characters = _without(rest if prefix else first, following)
        ways.append(f"{characters} {rest}*")
        if prefix and prefix not in words:
            ways.append('""')
        lines.append(f"{name}_{prefix} ::= {' | '.join(ways)}" if prefix else f"{name} ::= {' | '.join(ways)}")
    return lines


def _without(characters: str, left_out: list[str]) -> str:
    """A class of ASCII characters without some of them."""
    found = [chr(c) for c in range(128) if re.fullmatch(characters, chr(c)) and chr(c) not in left_out]
    runs: list[list[str]] = []
    for c in found:
        if runs and ord(c) == ord(runs[-1][-1]) + 1:
            runs[-1].append(c)
        else:
            runs.append([c])
    return "[" + "".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) + "]"
