"""The bundled C# grammar, as a table of what it accepts and what it rejects.

Each row is one construct of the language, or one of the places where names, types and comparisons look alike, written where it may
stand. Roslyn's own parser judges the rows where it is installed; those under "stricter" and "looser" are the exceptions that the
grammar's header lists. What `#if` leaves out is compared with a reader of a few lines.
"""

import random
import re
from contextlib import closing

import pytest
from bundled_texts import takes
from csharp_texts import (
    EXPRESSIONS,
    FILES,
    LOOSER,
    MEMBERS,
    NOT_EXPRESSIONS,
    NOT_FILES,
    NOT_MEMBERS,
    NOT_STATEMENTS,
    STATEMENTS,
    STRICTER,
    expression,
    member,
    statement,
)
from masks_along_texts import check_masks_along
from references import check_reference, reference_or_skip
from vocabularies import byte_tokenizer

import psc

ACCEPTED = [*map(expression, EXPRESSIONS), *map(statement, STATEMENTS), *map(member, MEMBERS), *FILES]
REJECTED = [*map(expression, NOT_EXPRESSIONS), *map(statement, NOT_STATEMENTS), *map(member, NOT_MEMBERS), *NOT_FILES]


def test_accepts() -> None:
    assert [text for text in [*ACCEPTED, *LOOSER] if not takes("csharp", text)] == []


def test_rejects() -> None:
    assert [text for text in [*REJECTED, *STRICTER] if takes("csharp", text)] == []


def test_roslyn_says_the_same() -> None:
    with closing(reference_or_skip("roslyn", "csharp")) as reference:
        check_reference(reference, [*ACCEPTED, *STRICTER], [*REJECTED, *LOOSER])


@pytest.mark.parametrize("text", ["/* a */", "// a\n", "#nullable enable\n", " ", "\n", "\ufeff"])
def test_bounded_layout_begins_with_a_word_and_has_no_comments(text: str) -> None:
    bounded = "csharp?layout=bounded"
    assert takes(bounded, "class A { }") and not takes(bounded, f"{text}class A {{ }}")
    assert takes("csharp", f"{text}class A {{ }}")
    assert not takes(bounded, "class A { }\n#region B\n#endregion")
    assert takes("csharp", "class A { }\n#region B\n#endregion")


def test_masks_along_texts() -> None:
    vocabulary = byte_tokenizer('$"', "{{", "}}", ">>", "?.", "\n#if ", "#else\n", '"""', "=> ", "<int>", "\n\n", "//", ": ")
    compiled = psc.GrammarCompiler(vocabulary, store=False).compile_file("csharp")
    for text in (*ACCEPTED[::5], *FILES[-4:]):
        check_masks_along(compiled, vocabulary, text.encode())


# ---- directives

CONDITIONS = [
    "A",
    "!A",
    "true",
    "false",
    "!true",
    "! false",
    "A || !B",
    "A && !B",
    "!A && !B || C",
    "(A)",
    "!(A)",
    "!(A && B) && !C",
    "(!A || B) // c",
]


def holds(condition: str) -> bool:
    """Whether a condition is true where no symbol is defined, by Python's words."""
    text = condition.partition("//")[0].replace("||", " or ").replace("&&", " and ").replace("!", " not ")
    values = {"A": "False", "B": "False", "C": "False", "true": "True", "false": "False"}
    return bool(eval(re.sub(r"\b(A|B|C|true|false)\b", lambda found: values[found[1]], text)))


def random_part(rng: random.Random, depth: int) -> list[str]:
    """Lines, some in parts that directives begin and end."""
    lines = []
    for _ in range(rng.randrange(4)):
        if depth and rng.random() < 0.6:
            lines.append(f"#if {rng.choice(CONDITIONS)}")
            lines += random_part(rng, depth - 1)
            for _ in range(rng.randrange(3)):
                lines += [f" # elif {rng.choice(CONDITIONS)}", *random_part(rng, depth - 1)]
            if rng.random() < 0.5:
                lines += ["#else // d", *random_part(rng, depth - 1)]
            lines.append("\t#endif")
        else:
            lines.append(rng.choice(["int a;", "{", "}", "", "  #region e", '"', "int b { get; }"]))
    return lines


def what_is_read(lines: list[str]) -> list[str]:
    """The lines that no directive leaves out, without directives."""
    read: list[str] = []
    parts: list[tuple[bool, bool]] = []  # whether the part is read, and whether one of its `#if` was
    for line in lines:
        directive = re.match(r"\s*#\s*(if|elif|else|endif|region)\s*(.*)", line)
        word = directive[1] if directive else ""
        if directive is None or word == "region":
            if all(now for now, _ in parts) and directive is None:
                read.append(line)
        elif word == "if":
            parts.append((holds(directive[2]),) * 2)
        elif word == "endif":
            parts.pop()
        else:
            one = word == "else" or holds(directive[2])
            parts[-1] = (one and not parts[-1][1], one or parts[-1][1])
    return read


def test_what_directives_leave_out() -> None:
    """A text is taken if what is read of it is, whatever lies in the parts that are left out."""
    rng, taken, refused = random.Random(11), 0, 0
    for _ in range(1500):
        lines = ["class X", "{", *random_part(rng, 2), "}", ""]
        wanted = takes("csharp", "\n".join(what_is_read(lines)))
        text = rng.choice(["\n", "\r\n"]).join(lines)
        assert takes("csharp", text) == wanted, text
        left_out = len(what_is_read(lines)) < len([line for line in lines if "#" not in line])
        taken += wanted and left_out
        refused += not wanted
    assert taken > 200 and refused > 200
