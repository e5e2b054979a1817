"""Rewrite a grammar in Lark's language for engines that read a part of it, without changing what it means there.

The idea: side by side with other engines, each should get the same language. What they lack is taken out where there
is another way to say it:

* priorities of terminals and rules: dropped. They settle ties between terminals that match the same text; engines that
  follow all readings at once have no ties;
* `(?!(?:WORDS)(?![CLASS]))NAME` at the start of a terminal, which keeps keywords from being names: the intersection of
  `NAME` with the complement of `WORDS`, written `/NAME/ & ~/WORDS/`. It is the same set when NAME is made of
  characters of CLASS, as it is where this is used;
* the flag `x` of such a terminal: the pattern without its white space;
* ignored text before the first terminal, which both refuse: an optional terminal of its own at the start.

Templates, lazy quantifiers, `%declare` and other lookaround stay as they are; the engine then says what it refuses.

Source: llguidance, docs/syntax.md.
"""

import re

_PRIORITY = re.compile(r"^([?!]*_?[A-Za-z][A-Za-z0-9_]*)\.-?\d+(\s*:)", re.M)
_KEYWORDS = re.compile(
    r"^(?P<name>_?[A-Z][A-Z0-9_]*)\s*:\s*/\(\?!\(\?:(?P<words>[^()\[\]/]*)\)\(\?!\[[^\]]*\]\)\)(?P<rest>[^/]*)/(?P<flags>[a-z]*)",
    re.M,
)


_IGNORE = re.compile(r"^%ignore[ \t]+(.+?)[ \t]*$", re.M)


def for_llguidance(text: str) -> str:
    """The grammar in llguidance's dialect, as far as it goes."""
    return _begin_with_ignored(_KEYWORDS.sub(_without_keywords, _PRIORITY.sub(r"\1\2", text)))


def for_xgrammar(text: str) -> str:
    """The grammar in XGrammar's dialect, as far as it goes; it has no intersection, so keywords stay a problem."""
    return _begin_with_ignored(_PRIORITY.sub(r"\1\2", text))


def _begin_with_ignored(text: str) -> str:
    ignored = _IGNORE.findall(text)
    if not ignored:
        return text
    start = "start: BEFORE_START? after_ignored\nafter_ignored:"
    text = re.sub(r"^[?!]*start[ \t]*:", start, text, count=1, flags=re.M)
    return text + f"\nBEFORE_START: ({' | '.join(ignored)})+\n"


def _without_keywords(match: re.Match[str]) -> str:
    words, rest, flags = match["words"], match["rest"], match["flags"]
    if "x" in flags:
        words, rest = re.sub(r"\s+", "", words), re.sub(r"\s+", "", rest)
        flags = flags.replace("x", "")
    return f"{match['name']}: /{rest}/{flags} & ~/{words}/{flags}"
