r"""Writes the bundled grammar of Bash, `bash.lark`: words for each place, and here-documents for each tag.

    python -m psc.compiler.grammars.writers.bash

What is not repeated is in `bash.txt`, where PARTS stands for quotes and expansions.

* *Words.* Behind a word and a blank, what the next word may be depends on the place: an array behind `declare`, a command behind a
  redirection. So each place has rules of its own for its words, and the LR state behind a word tells where it stands. With one rule
  for all, tokens such as `"a" "b" "c"` had exponentially many readings, one for each choice of places.
* *Here-documents.* One ends with the line that is its tag, and a context-free grammar cannot compare two words. So there is a copy
  of its rules for each tag, and the parser's stack remembers which one is open.
* *Lines.* A line of a here-document is a terminal of its own: LINE, which is no tag, or a tag's, which ends the here-document of
  this tag and is a line of the others. Whole bodies as terminals, side by side in one lexer state, would need states for each set
  of tags that may be open; with lines for each tag, 36 tags passed the limit of one automaton.
* *Tags.* One that begins like another is written as that one and the rest of it: a longer terminal would have the lexer give back
  a part of a lexeme, which closing does not follow. The rest is a terminal of its own. In quotes a tag is one terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from psc.compiler.grammars.writers import sections, write

# fmt: off
TAGS: Final = (
    "EOF", "_EOF", "_EOF_", "__EOF__", "EOF1", "EOF2", "EOT", "END", "EOS", "EOM", "EOL", "EOD", "EOC", "EOH", "EOI", "EOU",
    "EOSQL", "EOSH", "EOHELP", "EOUSAGE", "USAGE", "_USAGE", "HELP", "TEXT", "MSG", "DOC", "SCRIPT", "HEREDOC", "CMD", "CONF",
    "CONFIG", "SH", "BASH", "PY", "PYEOF", "PYTHON", "JS", "NODE", "RUBY", "PERL", "SQL", "JSON", "YAML", "XML", "HTML",
    "PATCH", "DIFF", "DATA",
)
# fmt: on

_TEXTS: Final = sections("bash")

_PARTS: Final = (
    "SINGLE_QUOTED",
    "DOLLAR_NAME",
    '"$"',
    "BACKQUOTED",
    "OPEN_QUOTE _quoted? CLOSE_QUOTE",
    '"${" _parameter "}"',
    '_command_open ")"',
    '"$((" _arithmetic? ")" ")"',
)


def grammar() -> str:
    """The text of `bash.lark`."""
    simple = _simple("") + _simple("line_")
    words = "".join(map(_word, ("choice", "subject", "alternative", "operand"))) + _pieces("item", "ITEM", '"[" _subscript? "]"')
    pattern = _pieces("pattern", "WORD", '"(" _arithmetic? ")"', also=('"(" _arithmetic? ")"',))
    rules = _TEXTS["rules"].replace("PARTS", "\n            | ".join(_PARTS))
    return "".join(
        (_TEXTS["header"], "\n", rules, _here_documents(), "\n", simple, words, pattern, "\n", _TEXTS["terminals"], _tags())
    )


def _rule(name: str, *alternatives: str) -> str:
    return f"{name}: " + f"\n{' ' * len(name)}| ".join(alternatives) + "\n"


def _pieces(name: str, *first: str, also: tuple[str, ...] = ()) -> str:
    """A word, by what it may begin with besides a quote or an expansion, and what else may be in it."""
    part = f"_part_of_{name}"
    parts = _rule(part, *_PARTS, '_process_open ")"')
    return parts + _rule(name, *first, part, *(f"{name} {piece}" for piece in ("LITERAL", part, *also)))


def _word(name: str) -> str:
    return _pieces(name, "WORD")


def _simple(at: str) -> str:
    """Simple commands; those of the rest of a here-document's line have rules of their own, whose names begin with `line_`."""
    part = f"_part_of_{at}first"
    return "".join(
        (
            _rule(f"{at}simple", *(f"{at}{kind} BLANK?" for kind in ("elements", "assignments", "declaration"))),
            _rule(
                f"{at}elements",
                f"{at}first",
                f"{at}assignments BLANK {at}first_behind",
                f"{at}elements BLANK {at}word",
                f"{at}elements BLANK? {at}redirect",
            ),
            _rule(f"{at}first", "FIRST", f"FIRST _{at}first_parts", f"_{at}first_parts"),
            _rule(f"_{at}first_parts", part, *(f"_{at}first_parts {piece}" for piece in ("LITERAL", part))),
            _rule(part, *_PARTS, '_process_open ")"'),
            _pieces(f"{at}first_behind", "FIRST_BEHIND"),
            _word(f"{at}word"),
            _rule(
                f"{at}assignments",
                f"_{at}assignment",
                f"{at}redirect",
                f"{at}assignments BLANK _{at}assignment",
                f"{at}assignments BLANK? {at}redirect",
            ),
            _rule(f"_{at}assignment", f"{at}assignment", "array"),
            _pieces(f"{at}assignment", "ASSIGN", 'SUBSCRIPT_OPEN _subscript? "]"').replace(f"| _part_of_{at}assignment\n", "", 1),
            _rule(
                f"{at}declaration",
                "DECLARE",
                f"{at}assignments BLANK DECLARE",
                f"{at}declaration BLANK {at}declared",
                f"{at}declaration BLANK array",
                f"{at}declaration BLANK? {at}redirect",
            ),
            _word(f"{at}declared"),
            _rule(f"{at}redirect", f"REDIRECT {at}target"),
            _word(f"{at}target"),
        )
    )


def _here_documents() -> str:
    """`<<` and `<<-`, whose lines and tag may follow tabs, with each tag, for each way in which the line may go on."""
    rules = []
    for kind in ("", "_on", "_do", "_brace"):
        ways = [
            f"{opening} _tag_{tag.lower()} _line{kind} _body_{tabs}{tag.lower()}"
            for tag in TAGS
            for opening, tabs in (("HERE", ""), ("HERE_TABS", "tabs_"))
        ]
        rules.append(_rule(f"_here{kind}", *ways))
    for tag in TAGS:
        name, shorter = tag.lower(), _longest_beginning(tag)
        plain = f"PLAIN_{tag}" if shorter is None else f"_plain_{shorter.lower()} REST_{tag}"
        rules.append(_rule(f"_plain_{name}", plain))
        rules.append(_rule(f"_tag_{name}", f"_plain_{name}", f"IN_QUOTES_{tag}"))
    for tabs in ("", "tabs_"):
        rules += _bodies(tabs)
    return "".join(rules)


def _bodies(tabs: str) -> list[str]:
    """The lines behind the one of `<<`, up to the tag's own: the line of another tag is one of them.

    The tags are the leaves of a tree, whose inner nodes are rules. All others than one are the siblings of what is above it.
    """
    rules = [_rule(f"_tag_line_{tabs}{tag.lower()}", f"END_{tabs.upper()}{tag}") for tag in TAGS]
    above: dict[str, list[str]] = {tag: [] for tag in TAGS}
    level: list[tuple[str, tuple[str, ...]]] = [(f"_tag_line_{tabs}{tag.lower()}", (tag,)) for tag in TAGS]
    while len(level) > 1:
        nodes: list[tuple[str, tuple[str, ...]]] = []
        for (left, on_left), (right, on_right) in zip(level[::2], level[1::2], strict=False):
            for tag in on_left:
                above[tag].append(right)
            for tag in on_right:
                above[tag].append(left)
            tags = on_left + on_right
            name = f"_tag_lines_{tabs}{tags[0].lower()}_to_{tags[-1].lower()}"
            nodes.append((name, tags))
            rules.append(_rule(name, left, right))
        level = nodes + level[len(nodes) * 2 :]
    rules.pop()  # of all tags
    for tag in TAGS:
        name = f"{tabs}{tag.lower()}"
        rules.append(_rule(f"_body_{name}", f"NL _lines_{name}? END_{tabs.upper()}{tag}"))
        rules.append(_rule(f"_lines_{name}", f"_line_{name}", f"_lines_{name} _line_{name}"))
        rules.append(_rule(f"_line_{name}", f"LINE_{tabs.upper()}".rstrip("_"), *above[tag]))
    return rules


def _longest_beginning(tag: str) -> str | None:
    """The longest other tag that a tag begins with."""
    return max((other for other in TAGS if tag != other and tag.startswith(other)), key=len, default=None)


def _tags() -> str:
    """The terminals of the tags."""
    out = []
    for tag in TAGS:
        shorter = _longest_beginning(tag)
        out.append(f"PLAIN_{tag}: /\\\\?{tag}/\n" if shorter is None else f'REST_{tag}: "{tag.removeprefix(shorter)}"\n')
        out.append(f"IN_QUOTES_{tag}: /'{tag}'|\"{tag}\"/\n")
        out += [f"END_{tabs}{tag}: /{some}{tag}\\n?/\n" for tabs, some in (("", ""), ("TABS_", r"\t*"))]
    out.append(f"LINE: /{_other_than(TAGS)}\\n/\n")
    out.append(r"LINE_TABS: /\t*" + _other_than(TAGS, but=r"\t") + "\\n/\n")
    return "".join(out)


def _other_than(tags: Sequence[str], but: str = "") -> str:
    """A line that is none of some tags, without its line end: it leaves them at a letter, or is longer."""
    firsts = "".join(sorted({tag[0] for tag in tags if tag}))
    leaves = rf"[^{but}{firsts}\n][^\n]*"
    stays = [first + _other_than([tag[1:] for tag in tags if tag.startswith(first)]) for first in firsts]
    return f"({'|'.join((leaves, *stays))})" + ("" if "" in tags else "?")


def main() -> None:
    """Writes the file."""
    write("bash.lark", grammar())


if __name__ == "__main__":
    main()
