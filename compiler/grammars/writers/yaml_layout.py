r"""Writes the bundled grammar of YAML, `yaml.lark`: rules for a block at each column.

    python -m psc.compiler.grammars.writers.yaml_layout

A context-free grammar does not know how far lines are indented. So there is a copy of the rules of a block for each column, and a
terminal for each column: `LINE_4` is a line end, the empty lines behind it, and four blanks. A block within a block is of a column
further right, so the open columns are on the parser's stack, and a mask knows them.

* *One lookahead decides.* What ends a value is the next `LINE_n`, whose column says which blocks are over. It begins with the line
  end, so a text may end without one.
* *No way back.* All that may follow a value begins with the same line end: `LINE_n`, a comment, another line of a plain scalar
  (`MORE_n` is further right than n), of a block scalar (`TEXT_n`). The longest wins, and a lexeme never has to be given up.
* *Keys.* `a:` is a key, since a plain scalar that continues (`a:b`) is longer. A plain or quoted scalar takes the blanks behind it.
* *Flow.* Within brackets each terminal takes the blanks and line ends behind it. What the outermost closes with does not.
"""

from __future__ import annotations

from typing import Final

from psc.compiler.grammars.writers import sections, write

COLUMNS: Final = (*range(17), *range(18, 25, 2))
"""Columns at which a block may begin."""
BLANKS: Final = (1, 2, 3, 4)
"""Numbers of columns from a dash to a block that begins behind it on its line, less one."""

FIGURES: Final = (2, 4)
"""Numbers in the header of a block scalar: columns that its text is further right than the block around it."""

ANY_LAYOUT: Final = "// any layout\n"
"""The line before comments, carriage returns, tabs and long runs of blanks. The text before it has bounded layout."""
_TEXTS: Final = sections("yaml_layout")

Rules = dict[str, list[str]]


def grammar() -> str:
    """The text of `yaml.lark`."""
    rules: Rules = {}
    for column in COLUMNS:
        rules |= _blocks(column)
    rules |= _dashes()
    bounded = {name: [_without_comments(each) for each in rules[name]] for name in rules}
    commented = {f"%extend {name}": [each.replace("_end?", "_end") for each in rules[name] if "_end?" in each] for name in rules}
    commented = {name: alternatives for name, alternatives in commented.items() if alternatives}
    texts = [_TEXTS["header"], _TEXTS["rules"], _text_of(bounded), _TEXTS["terminals"], _line_terminals()]
    return "".join([*texts, ANY_LAYOUT, _TEXTS["layout"], _text_of(commented)])


def _without_comments(alternative: str) -> str:
    return " ".join(word for word in alternative.split() if word != "_end?")


def _blocks(c: int) -> Rules:
    """A mapping and a sequence of which the entries begin at a column, and the scalars of such an entry.

    What may follow a mapping's last entry depends on it, so there are three kinds: `open` ends with a key without a value,
    which a sequence at its own column may follow, `listed` with such a sequence, and `closed` with any other entry.
    """
    right = [column for column in COLUMNS if column > c]
    behind = [(n, c + 1 + n) for n in BLANKS if c + 1 + n in COLUMNS]
    below = [f"below_{c}"] if right else []
    rules: Rules = {
        "mapping": [f"{kind}_{c}" for kind in ("closed", "open", "listed")],
        "before": [f"{kind}_{c} LINE_{c}" for kind in ("closed", "open", "listed")],
        "open": [f"before_{c}? empty"],
        "closed": [f"before_{c}? entry_{c}"],
        "entry": [f"_key scalar_{c}", *(f"{head} {x}" for head in ("_key_alone", "_key _properties_alone") for x in below)],
        "listed": [f"open_{c} LINE_{c} item_{c}", f"listed_{c} LINE_{c} item_{c}"],
        "sequence": [f"item_{c}", f"sequence_{c} LINE_{c} item_{c}"],
        "item": [
            "_dash_alone _end?",
            "_dash _properties_alone _end?",
            *(f"{head} {x}" for head in ("_dash_alone", "_dash _properties_alone") for x in below),
            f"_dash scalar_{c}",
            *(f"DASH_{n} {what}_{column}" for n, column in behind for what in ("mapping", "sequence")),
        ],
        "scalar": [f"bare_{c}", f"_properties bare_{c}", "ALIAS _end?"],
        "bare": [
            f"plain_{c} _end?",
            "_quoted _end?",
            "flow _end?",
            "HEADER _end?",
            *(f"HEADER _text_below_{c}" for _ in right[:1]),
            *(f"HEADER_{n}{text}" for n in FIGURES if c + n in COLUMNS for text in (" _end?", f" _texts_{c + n} _end?")),
        ],
        "plain": ["PLAIN", f"plain_{c} MORE_{c}"],
    }
    if right:
        nearest = right[0]
        inner = [nearest] if len(right) > 1 else []
        rules["below"] = [f"_end? _line_below_{c} scalar_{c}", f"_end? _block_below_{c}"]
        rules["_text_below"] = [f"text_{nearest}", *(f"_text_below_{r}" for r in inner)]
        rules["_line_below"] = [f"LINE_{nearest}", *(f"_line_below_{r}" for r in inner)]
        rules["_block_below"] = [
            *(f"LINE_{nearest} {what}_{nearest}" for what in ("mapping", "sequence")),
            *(f"_block_below_{r}" for r in inner),
        ]
    rules = {f"{name}_{c}": alternatives for name, alternatives in rules.items()}
    if c:
        rules[f"text_{c}"] = [f"FIRST_{c} _end?", f"FIRST_{c} _texts_{c} _end?"]
        rules[f"_texts_{c}"] = [f"TEXT_{c}", f"_texts_{c} TEXT_{c}"]
    return rules


def _text_of(rules: Rules) -> str:
    return "".join(f"{name}: " + ("\n" + " " * len(name) + "| ").join(rules[name]) + "\n" for name in rules)


def _dashes() -> Rules:
    widths = [f"DASH_{n}" for n in BLANKS]
    return {"_dash": ["DASH", *widths], "_dash_alone": ["DASH_ALONE", "DASH", *widths]}


def _line_terminals() -> str:
    """The terminals of the columns."""
    out = [""]
    for c in COLUMNS:
        out.append(f"LINE_{c}: LINE_ENDS" + f" / {{{c}}}/" * (c > 0))
        out.append(rf"MORE_{c}: LINE_ENDS / {{{c + 1}}}/ BLANKS? BEHIND_BLANK PLAIN_REST")
        if c:
            out.append(
                rf"FIRST_{c}.3: BREAK (/ {{0,{c}}}/ BREAK)* / {{{c}}}[^ \t\n\x00-\x08\x0b-\x1f\x7f][^\n\x00-\x08\x0b-\x1f\x7f]*/"
            )
            out.append(rf"TEXT_{c}.3: BREAK (/ */ BREAK)* / {{{c}}}[^\n\x00-\x08\x0b-\x1f\x7f]*/")
    out += [rf"HEADER_{n}: /[|>]({n}[+-]?|[+-]{n})/ REST?" for n in FIGURES]
    out += [rf"DASH_{n}.1: /- {{{n}}}/" for n in BLANKS]
    return "\n".join(out) + "\n"


def main() -> None:
    """Writes the file."""
    write("yaml.lark", grammar())


if __name__ == "__main__":
    main()
