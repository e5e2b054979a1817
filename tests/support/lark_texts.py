"""Texts in Lark's language: one for each form that expands, and random ones."""

from random import Random

CASES = {
    "options": 'start: "a"? ["b"] ("c" | "d" "e")? [A [B]]\nA: "x"\nB: "y"\n',
    "groups": 'start: ("a" | ("b" | "c") "d") ("e" | "f" ("g" | "h"))\n',
    "equal alternatives": 'start: ("a" | "a") ("b" | "b" | "c") | "a" "b"\n',
    "empty alternative": 'start: "a" | | x\nx: | "b"\n',
    "repetitions share a rule": 'start: ("a" "b")* "c" x\nx: ("a" "b")+ "d"*\n',
    "repetition in repetition": 'start: (("a" "b"+)* "c")+\n',
    "small counts": 'start: "a"~3 "b"~0..2 ("c" | "d")~2\n',
    "large counts": 'start: "a"~3..130 x~77 ("b" "c")~50..51\nx: "d"~200\n',
    "templates": 'start: list{A, ","} | list{"b", ";"}\nlist{x, s}: x (s x)* wrap{x}?\n'
    'wrap{y}: "(" y ")" | wrap2{wrap}\nwrap2{t}: t{A}\nA: "a"\n',
    "priorities": 'start.3: a | b\na.-2: "x"+\nb: "x" "y"\n',
    "aliases": 'start: "a" -> x | ("b" | "c") "d" -> y\n',
    "extend and override": 'start: "a" A\n%extend start: "b" | "c" -> z\nA: "x"\n%extend A: "y"\n'
    '%override A: "z" | "w"\n%extend A: "v"\n',
    "modifiers": '!start: "a" ["b"] _x y\n_x: "c" ["d" A]\n?y: ["e"] | "f"\nA: "g"\n',
    "terminals of terminals": 'start: A B C D\nA: B "x"i | C~2\nB: ("b" | "bb")+ [C]\n'
    'C: /[0-9]/ | "a".."f"\nD: "q" ["r"] ("s" | "tt" | /u/i)~1..3\n',
    "anonymous names": 'start: "if" "+" "_x" /r/ "\\n" "if"i B\nB: "else"\n',
    "imports": "start: WS NUMBER STR\n%import common (WS, NUMBER)\n%import common.ESCAPED_STRING -> STR\n"
    "%ignore WS\n%ignore /#.*/\n",
    "imported rules": "start: rule+\n%import lark.rule\n",
    "unused rules": 'start: "a"\nb: c\nc: b\nd: e "x"\ne: d2\nd2: "y"\n',
}


def random_rules(random: Random) -> str:
    """A few rules of every form that expands, most literals different, so that few alternatives clash."""

    def value() -> str:
        kind = random.random()
        if kind < 0.6:
            return f'"k{random.randrange(10**6)}"'
        if kind < 0.62:
            return '"n"~1..60'
        return random.choice(['"x"', "A", "B", "other", "_inline", "t{A}", "t{other}", "/[0-9]+/"])

    def item(depth: int) -> str:
        body = value() if depth > 1 or random.random() < 0.6 else f"({alternatives(depth + 1)})"
        if "~" in body and body[0] != "(":
            return body
        if body[0] == "(" and random.random() < 0.4:
            return f"[{body[1:-1]}]"
        return body + random.choice(["", "", "", "?", "*", "+", "~2", "~0..2"] if depth else ["", "", "?", "*"])

    def alternatives(depth: int) -> str:
        rows = [" ".join([item(depth) for _ in range(random.randint(1, 2))]) for _ in range(random.randint(1, 2))]
        return " | ".join(rows)

    lines = [f"{name}: {alternatives(0)}" for name in ("start", "other", "_inline", "t{p}")]
    lines[-1] += " | p"
    random.shuffle(lines)
    return "\n".join([*lines, 'A: "aa" | B "c"', "B: /b+/"]) + "\n"
