r"""Writes the bundled grammar of HTML, `html.lark`: elements by their names, and within some of them CSS and JSON.

    python -m psc.compiler.grammars.writers.html

*Elements.* An element of each name has its own start tags and end tag, so that what is opened last is closed first. A rule that
names BLOCK, INLINE, PHRASE or VOID has an alternative for each of their names. A start tag without attributes is one terminal,
`BARE_DIV`; one with attributes begins with `OPEN_DIV`.

*End tags* are `</` and the rest, so that what may stand in an element is lexed alike in all of them. Those of WHOLE are one
terminal: where an end tag may be left out, the parser has to see whether it is there, and in raw text `<` is text. These have no
blanks before `>`, for which the lexer would be bound to `</p` in `</pre>`.
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.grammars.writers import sections, write

_TEXTS: Final = sections("html")
ELEMENTS: Final = {
    kind: names.split() for kind, _, names in (part.partition(":") for part in re.split(r"\n(?=\w+:)", _TEXTS["elements"].strip()))
}
WHOLE: Final = frozenset(
    [
        "P",
        "LI",
        "DT",
        "DD",
        "TD",
        "TH",
        "TR",
        "ROWS",
        "COLGROUP",
        "OPTION",
        "OPTGROUP",
        "RT",
        "RP",
        "HTML",
        "HEAD",
        "BODY",
        "TITLE",
        "TEXTAREA",
        "IFRAME",
        "SCRIPT",
        "STYLE",
    ]
)
_GENERIC: Final = ("CUSTOM", "IN_SVG", "IN_MATH")


def element(name: str, content: str) -> str:
    """An element with both tags."""
    return f"start_{name} {content} CLOSE_{name.upper()}"


def alternatives() -> dict[str, list[str]]:
    """What the words in capitals of the rules are."""
    inline = [*ELEMENTS["inline"], *ELEMENTS["formatting"], "custom"]
    return {
        "BLOCK": [element(name, "flow") for name in ELEMENTS["blocks"]],
        "INLINE": [element(name, "closed") for name in inline],
        "PHRASE": [element(name, "phrasing") for name in inline],
        "VOID": [f"void_{name}" for name in ELEMENTS["void"] if name != "col"],
    }


def rules() -> str:
    """The rules of elements, and of their start tags."""
    text = _TEXTS["rules"]
    for word, found in alternatives().items():
        text = re.sub(rf"\b{word}\b", "\n     | ".join(found), text)
    text = re.sub(r"\bCLOSE_(\w+)\b", lambda m: m[0] if m[1] in WHOLE else f"LT_SLASH NAME_{m[1]}", text)
    tags = []
    for kind, name in sorted(set(re.findall(r"\b(start|void|empty)_(\w+)\b", text))):
        bare, end = {"start": ("BARE", "GT"), "void": ("BARE", "end_of_void"), "empty": ("EMPTY", "SLASH_GT")}[kind]
        tags.append(f"{kind}_{name}: {bare}_{name.upper()} | OPEN_{name.upper()} attributes {end}\n")
    return text + "".join(tags)


def terminals_of_tags(text: str) -> str:
    """The terminals of the tags that rules name."""
    out = []
    void = set(re.findall(r"\bvoid_(\w+):", text))
    for way, name in sorted(set(re.findall(r"\b(OPEN|BARE|EMPTY|CLOSE|NAME)_(\w+)\b", text))):
        if name == "ROWS":
            continue
        word = f"{name}_NAME" if name in _GENERIC else f'"{name.lower()}"i'
        end = {"OPEN": "BLANKS_OF_HTML", "EMPTY": '"/>"', "CLOSE": '">"', "BARE": '"/"? ">"' if name.lower() in void else '">"'}
        begin = {"CLOSE": '"</" ', "NAME": ""}.get(way, '"<" ')
        out.append(f"{way}_{name}: {begin}{word} {end.get(way, 'TAG_END')}\n")
    return "".join(out)


def names() -> str:
    """The terminals of character references and of the elements of SVG and MathML."""
    of_old, of_others = ("|".join(_TEXTS[kind].split()) for kind in ("old_references", "references"))
    out = f"OLD_NAME: /({of_old})/\nREFERENCE_NAME: OLD_NAME | /({of_others})/\n"
    before = f"(?!{of_old})"
    out += f"AMPERSAND: /&+{before}[A-Za-z0-9]*[^A-Za-z0-9;<&#\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f]/\n"
    return out + "".join(f"IN_{kind.upper()}_NAME: /({'|'.join(ELEMENTS[kind])})/i\n" for kind in ("svg", "math"))


def grammar() -> str:
    """The text of the file."""
    html = rules()
    return (
        _TEXTS["header"]
        + html
        + _TEXTS["css_rules"]
        + _TEXTS["json_rules"]
        + _TEXTS["terminals"]
        + terminals_of_tags(html)
        + names()
        + _TEXTS["css_terminals"]
        + _TEXTS["json_terminals"]
    )


def main() -> None:
    """Writes the file."""
    write("html.lark", grammar())


if __name__ == "__main__":
    main()
