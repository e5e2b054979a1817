r"""Writes the bundled grammar of Dockerfiles, `dockerfile.ebnf`: here-documents for each tag, words in letters of either case.

    python -m psc.compiler.grammars.writers.dockerfile

What is not repeated is in `dockerfile.txt`, where `i"FROM"` is a word in letters of either case. A here-document ends with the line
that is its tag, so each tag has rules of its own, of which `line` is any line but the tag's:

    body-eof ::= (line-eof? eol)* "EOF"
    line-eof ::= what leaves the tag, and then anything; or the tag with more behind it
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.grammars.writers import sections, write

TAGS: Final = ("EOF", "EOT", "END", "HEREDOC", "SCRIPT")
_DIRECTIVES: Final = ("syntax", "check", "escape")


def grammar() -> str:
    """The text of `dockerfile.ebnf`."""
    rules = sections("dockerfile")["rules"].replace("NO-DIRECTIVE", _no_directive())
    rules = rules.replace("HERE-IN-SCRIPT", _here("more")).replace("HERE-IN-COPY", _here("(sp word)+ end"))
    return re.sub(r'\bi"(\w+)"', _in_either_case, rules) + "\n# Here-documents.\n" + "".join(map(_here_document, TAGS))


def _in_either_case(word: re.Match[str]) -> str:
    return " ".join(f"[{c.upper()}{c.lower()}]" for c in word[1])


def _no_directive() -> str:
    """A comment that begins with none of the directives' words, or has no `=` and a value behind it."""
    ways = [r"[^CcEeSs \t\r\n] [^\r\n]*"]
    for word in _DIRECTIVES:
        way = r'([ \t]* ("=" [ \t]* | [^= \t\r\n] [^\r\n]*)?)'
        for letter in reversed(word[1:]):
            either = f"{letter.upper()}{letter}"
            way = rf"([^{either}\r\n] [^\r\n]* | [{either}] {way})?"
        ways.append(f"[{word[0].upper()}{word[0]}] {way}")
    return f"({' | '.join(ways)})?"


def _here(line: str) -> str:
    """Here-documents from behind `<<` on, of which `line` is the rest of the line."""
    return " | ".join(
        f'"-" [ \\t]* open-{t} {line} eol dashed-{t} | [ \\t]* open-{t} {line} eol body-{t}' for t in map(str.lower, TAGS)
    )


def _here_document(tag: str) -> str:
    name = tag.lower()
    line = rf"[{tag[-1]}] [^\r\n]+"
    for at in reversed(range(len(tag) - 1)):
        line = rf"[{tag[at]}] ([^{tag[at + 1]}\r\n] [^\r\n]* | {line})?"
    return (
        f'open-{name} ::= "{tag}" | "\'{tag}\'" | "\\"{tag}\\""\n'
        f'body-{name} ::= (line-{name}? eol)* "{tag}"\n'
        f'dashed-{name} ::= ("\\t"* dashed-line-{name}? eol)* "\\t"* "{tag}"\n'
        f"line-{name} ::= [^{tag[0]}\\r\\n] [^\\r\\n]* | {line}\n"
        f"dashed-line-{name} ::= [^{tag[0]}\\t\\r\\n] [^\\r\\n]* | {line}\n"
    )


def main() -> None:
    """Writes the file."""
    write("dockerfile.ebnf", grammar())


if __name__ == "__main__":
    main()
