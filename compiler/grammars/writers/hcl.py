r"""Writes the bundled grammar of HCL, `hcl.ebnf`: here-documents for each tag.

    python -m psc.compiler.grammars.writers.hcl

What is not repeated is in `hcl.txt`. A here-document ends with the line that is its tag, and a context-free grammar cannot compare
two words. So each tag has rules of its own, of which `line` is any line but the tag's:

    tag-eof       ::= "EOF" nl tag-eof-line* blank "EOF" blank nl
    tag-eof-other ::= what begins a line and leaves the tag: a character that it does not have there, or more behind it
"""

from __future__ import annotations

from typing import Final

from psc.compiler.grammars.writers import sections, write

TAGS: Final = ("EOF", "EOT", "EOS", "EOM", "END", "POLICY", "JSON", "YAML", "SCRIPT", "CONFIG")


def grammar() -> str:
    """The text of `hcl.ebnf`."""
    tags = " | ".join(f"tag-{tag.lower()}" for tag in TAGS)
    return sections("hcl")["rules"] + f'heredoc  ::= "<<" "-"? ({tags})\n' + "".join(map(_here_document, TAGS))


def _here_document(tag: str) -> str:
    name = f"tag-{tag.lower()}"
    other, begun = r"blank [^$%{\n \t\r]", ""
    for at in reversed(range(len(tag))):
        blanks = "" if at else r" \t\r"  # which stand before the tag, too
        other = rf'([^$%{{\n{tag[at]}{blanks}] | "{tag[at]}" {other})'
    for character in reversed(tag[:-1]):
        begun = f'("{character}"{" " * bool(begun)}{begun})?'
    return (
        f'{name} ::= "{tag}" nl {name}-line* blank "{tag}" blank nl\n'
        f'{name}-line ::= ({name}-other text | blank {begun} (dollars | open text) | blank "{tag}" blank ([$%]+ | open text)) nl\n'
        f"{name}-other ::= blank {other}\n"
    )


def main() -> None:
    """Writes the file."""
    write("hcl.ebnf", grammar())


if __name__ == "__main__":
    main()
