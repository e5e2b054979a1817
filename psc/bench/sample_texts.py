"""Texts of the grammars in `grammars/`, and of Java, Go and SQL, as a model might write them; the same ones for the same seed.

The idea: the cost of a mask depends on the text before it, so the texts are ordinary ones: words, names, numbers of every form,
nesting as deep as people nest. They are drawn from lists, not from the masks: nothing measured decides what is measured.

The cost: some milliseconds a text of 10 KB.
"""

import json
import random
from collections.abc import Callable
from typing import Any

_THINGS = """
order customer price total index value node buffer result count name offset length cache token state parser index_map user message
weather shipping address unit table query stream worker session request response image model layer window
"""
_PEOPLE = "Anna Björn Chloé Dmitri Élodie Fátima Grace Hans Ines José Kaspar Léa María Nils Østen Pablo Quinn Rósa Søren Zoë"
_CITIES = "München, Zürich, São Paulo, New York, Reykjavík, Oslo, Paris, Kraków, Lisboa, Tōkyō, 東京, Łódź"
_COLUMNS = """
customer price total item node buffer shipping address unit worker session response image model layer
"""
_NOT_RESERVED = _COLUMNS.split()
_WORDS, _NAMES, _TOWNS = _THINGS.split(), _PEOPLE.split(), _CITIES.split(", ")


def arithmetic(rng: random.Random) -> str:
    """Statements, some of them long."""

    def atom(depth: int) -> str:
        kind = rng.randrange(5 if depth else 3)
        if kind == 0:
            return rng.choice([str(rng.randrange(1000)), f"{rng.uniform(0, 100):.3f}", f"{rng.random():.2e}"])
        if kind <= 2:
            return rng.choice(_WORDS)
        if kind == 3:
            return f"({expression(depth - 1)})"
        arguments = ", ".join(expression(depth - 1) for _ in range(rng.randint(1, 3)))
        return f"{rng.choice(['sqrt', 'sin', 'max', 'log', 'abs'])}({arguments})"

    def expression(depth: int) -> str:
        parts = [rng.choice(["", "", "", "-"]) + atom(depth) + rng.choice(["", "", "", "**2"]) for _ in range(rng.randint(1, 4))]
        text = parts[0]
        for part in parts[1:]:
            text += rng.choice([" + ", " - ", " * ", " / ", "*", "+", " % "]) + part
        return text

    def statement() -> str:
        if rng.random() < 0.2:
            return f"print({expression(1)}, {expression(2)})\n"
        return f"{rng.choice(_WORDS)} = {expression(4)}\n"

    return "".join(statement() for _ in range(rng.randint(20, 60)))


def tool_call(rng: random.Random) -> str:
    """A thought and a call or two, as `json.dumps` writes them."""

    def sentence(min_words: int = 3, max_words: int = 20) -> str:
        words = rng.choices(_WORDS + _NAMES + _TOWNS, k=rng.randint(min_words, max_words))
        return " ".join(words).capitalize() + rng.choice([".", "?", "!\n", ' "quoted".', " \\ done"])

    def call() -> str:
        kind = rng.randrange(3)
        arguments: dict[str, Any]
        if kind == 0:
            arguments = {"city": rng.choice(_TOWNS), "unit": rng.choice(["celsius", "fahrenheit"])}
            if rng.random() < 0.5:
                arguments["days"] = rng.randint(1, 14)
            name = "get_weather"
        elif kind == 1:
            arguments = {"query": sentence(2, 8), "limit": rng.randrange(500)}
            if rng.random() < 0.7:
                values = [sentence(1, 3), rng.randrange(10**6), rng.uniform(-10, 10), True, None]
                arguments["filters"] = [
                    {"field": rng.choice(_WORDS), "op": rng.choice(["=", "<", ">", "contains"]), "value": rng.choice(values)}
                    for _ in range(rng.randint(0, 5))
                ]
            name = "search"
        else:
            to = [f"{n.lower()}@example.org" for n in rng.sample(_NAMES, rng.randint(1, 4))]
            arguments = {"to": to, "body": " ".join(sentence() for _ in range(rng.randint(1, 12))), "urgent": rng.random() < 0.3}
            name = "send_message"
        return f"<call>{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=rng.random() < 0.5)}</call>"

    thought = f"<thought>{sentence(5, 30)}</thought>\n" if rng.random() < 0.8 else ""
    return thought + "\n".join(call() for _ in range(rng.randint(1, 2)))


def contacts(rng: random.Random) -> str:
    """People."""

    def person() -> str:
        name = " ".join(rng.sample(_NAMES, rng.randint(2, 3)))
        date = f"{rng.randint(1930, 2019)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        local = rng.choice(_WORDS) + rng.choice(["", ".", "_"]).join(["", rng.choice(["smith", "k", "2000"])])
        host = rng.choice(["mail.", "", "my-host."]) + rng.choice(_WORDS).replace("_", "-")
        email = f"{local}@{host}.{rng.choice(['org', 'com', 'de'])}"
        phone = f"+{rng.randint(1, 99)} {rng.randint(10, 999)} {rng.randint(10000, 99999)}" if rng.random() < 0.7 else ""
        tags = ",".join(f"#{t.replace('_', '')}" for t in rng.sample(_WORDS, rng.randint(0, 4)))
        return f"{name};{date};{email};{phone};{tags}\n"

    return "name;born;email;phone;tags\n" + "".join(person() for _ in range(rng.randint(10, 60)))


def csv(rng: random.Random) -> str:
    """A table of a few columns, some fields quoted and over several lines."""
    width = rng.randint(3, 9)

    def field() -> str:
        kind = rng.randrange(6)
        if kind == 0:
            return ""
        if kind == 1:
            return f"{rng.uniform(-1000, 1000):.2f}"
        if kind == 2:
            return str(rng.randrange(10**6))
        text = " ".join(rng.choices(_WORDS + _TOWNS, k=rng.randint(1, 8))).replace(",", "")
        if kind == 3:
            return '"' + text.replace(" ", rng.choice([" ", ", ", '""', "\n"])) + '"'
        return text

    end = rng.choice(["\n", "\r\n"])
    return end.join(",".join(field() for _ in range(width)) for _ in range(rng.randint(10, 60)))


def chess(rng: random.Random) -> str:
    """A game whose moves are written as moves are; they need not be legal."""

    def square() -> str:
        return rng.choice("abcdefgh") + rng.choice("12345678")

    def move() -> str:
        kind = rng.randrange(8)
        if kind == 0:
            text = rng.choice(["O-O", "O-O-O"])
        elif kind <= 3:
            text = rng.choice(["", "", rng.choice("abcdefgh") + "x"]) + square()
        else:
            text = rng.choice("NBRQK") + rng.choice(["", "", "", "a", "4"]) + rng.choice(["", "", "x"]) + square()
        return text + rng.choice(["", "", "", "", "+", "!", "?!", "#"])

    def note() -> str:
        kind = rng.randrange(12)
        if kind == 0:
            return " {" + " ".join(rng.choices(_WORDS, k=rng.randint(2, 20))) + "}"
        if kind == 1:
            return f" ({rng.randint(1, 40)}... {move()} {move()})"
        return ""

    tags = {
        "Event": "Club match",
        "Site": rng.choice(_TOWNS),
        "White": rng.choice(_NAMES),
        "Black": rng.choice(_NAMES),
        "Date": "1992.11.04",
    }
    head = "".join(f'[{name} "{value}"]\n' for name, value in tags.items())
    turns = "".join(
        f"{n}. {move()}{note()} {move()}{note()}{rng.choice([' ', ' ', ' ', chr(10)])}" for n in range(1, rng.randint(20, 60))
    )
    return f"{head}\n{turns}{rng.choice(['1-0', '0-1', '1/2-1/2', '*'])}\n"


def java(rng: random.Random, methods: int | None = None) -> str:
    """A class of fields and methods, some 2 KB each; 5 to 25 unless their number is given."""

    def expression(depth: int) -> str:
        kind = rng.randrange(8 if depth else 4)
        name = rng.choice(_WORDS)
        if kind == 0:
            return rng.choice([str(rng.randrange(1000)), "0x7fL", f"{rng.uniform(0, 9):.2f}f", "'\\n'", "true", "null"])
        if kind <= 2:
            return name
        if kind == 3:
            return json.dumps(" ".join(rng.choices(_WORDS, k=rng.randint(1, 6))) + rng.choice(["", "\n", ": %d"]))
        if kind == 4:
            return f"{expression(depth - 1)} {rng.choice(['+', '-', '*', '==', '<=', '&&', '>>>'])} {expression(depth - 1)}"
        if kind == 5:
            return f"{name}.{rng.choice(['get', 'size', 'append', 'compute'])}({expression(depth - 1)})"
        if kind == 6:
            return f"({expression(depth - 1)})"
        return f"new ArrayList<Map<String, {name.capitalize()}>>({expression(depth - 1)})"

    def statement(indent: str, depth: int) -> str:
        kind = rng.randrange(7 if depth else 4)
        name = rng.choice(_WORDS)
        if kind == 0:
            return f"{indent}// {' '.join(rng.choices(_WORDS, k=6))}\n{indent}this.{name} = {expression(2)};\n"
        if kind <= 2:
            return f"{indent}{rng.choice(['int', 'final var', 'String[]', 'List<? extends Node>'])} {name} = {expression(2)};\n"
        if kind == 3:
            return f"{indent}return {expression(2)};\n"
        inner = "".join(statement(indent + "    ", depth - 1) for _ in range(rng.randint(1, 4)))
        if kind == 4:
            return f"{indent}for (int i = 0; i < {name}.length; i++) {{\n{inner}{indent}}}\n"
        if kind == 5:
            return f"{indent}if ({expression(2)}) {{\n{inner}{indent}}} else {{\n{inner}{indent}}}\n"
        return f"{indent}try {{\n{inner}{indent}}} catch (IOException | RuntimeException e) {{\n{indent}    throw e;\n{indent}}}\n"

    def method(n: int) -> str:
        body = "".join(statement("        ", 3) for _ in range(rng.randint(2, 8)))
        note = f"    /** {' '.join(rng.choices(_WORDS, k=12))}. */\n    @Override\n"
        name = f"{rng.choice(['void', 'int', 'T'])} {rng.choice(_WORDS)}{n}"
        return f"{note}    public static <T> {name}(final T a, int[] b) throws IOException {{\n{body}    }}\n"

    head = "package org.example.sample;\n\nimport java.util.*;\nimport static java.lang.Math.max;\n\n"
    fields = "".join(f"    private final Map<String, Integer> {w} = {expression(1)};\n" for w in rng.sample(_WORDS, 4))
    body = "\n".join(method(n) for n in range(methods or rng.randint(5, 25)))
    return f"{head}public final class Sample extends Base implements Runnable {{\n{fields}\n{body}}}\n"


def go(rng: random.Random) -> str:
    """A file of types, methods and functions, some 1 KB each."""

    def expression(depth: int) -> str:
        kind = rng.randrange(8 if depth else 4)
        name = rng.choice(_WORDS)
        if kind == 0:
            return rng.choice([str(rng.randrange(1000)), "0x7f", f"{rng.uniform(0, 9):.2f}", "'\\n'", "true", "nil"])
        if kind <= 2:
            return name
        if kind == 3:
            return json.dumps(" ".join(rng.choices(_WORDS, k=rng.randint(1, 6))) + rng.choice(["", "\n", ": %v"]))
        if kind == 4:
            return f"{expression(depth - 1)} {rng.choice(['+', '-', '*', '==', '<=', '&&', '>>'])} {expression(depth - 1)}"
        if kind == 5:
            return f"{name}.{rng.choice(['Get', 'Len', 'Append', 'Compute'])}({expression(depth - 1)})"
        if kind == 6:
            return f"({expression(depth - 1)})"
        return f"append({name}, {expression(depth - 1)})"

    def statement(indent: str, depth: int) -> str:
        kind = rng.randrange(8 if depth else 5)
        name = rng.choice(_WORDS)
        if kind == 0:
            return f"{indent}// {' '.join(rng.choices(_WORDS, k=6))}\n{indent}s.{name} = {expression(2)}\n"
        if kind <= 2:
            return f"{indent}{name} := {rng.choice(['', 'make(map[string]int)', '[]byte(text)', '&node{}']) or expression(2)}\n"
        if kind == 3:
            return f"{indent}return {expression(2)}\n"
        if kind == 4:
            return f"{indent}defer {name}.Close()\n"
        inner = "".join(statement(indent + "\t", depth - 1) for _ in range(rng.randint(1, 4)))
        if kind == 5:
            return f"{indent}for i, {name} := range {rng.choice(_WORDS)} {{\n{inner}{indent}}}\n"
        if kind == 6:
            return f"{indent}if err := {name}.Check(); err != nil {{\n{inner}{indent}}} else {{\n{inner}{indent}}}\n"
        return f"{indent}switch {name} {{\n{indent}case 1, 2:\n{inner}{indent}default:\n{inner}{indent}}}\n"

    def function(n: int) -> str:
        body = "".join(statement("\t", 3) for _ in range(rng.randint(2, 8)))
        receiver = rng.choice(["", "(s *sample) "])
        note = f"// {' '.join(rng.choices(_WORDS, k=12))}.\n"
        return f"{note}func {receiver}{rng.choice(_WORDS)}{n}(a []string, b map[string]int) (int, error) {{\n{body}}}\n"

    fields = "".join(
        f'\t{w.capitalize()} {rng.choice(["int", "string", "[]float64"])} `json:"{w}"`\n' for w in rng.sample(_WORDS, 5)
    )
    body = "\n".join(function(n) for n in range(rng.randint(5, 25)))
    return f'package sample\n\nimport (\n\t"errors"\n\t"fmt"\n)\n\ntype sample struct {{\n{fields}}}\n\n{body}'


def sql(rng: random.Random) -> str:
    """A query with joins, groups and subqueries, or a change of data."""

    def column() -> str:
        return f"{rng.choice('abc')}.{rng.choice(_NOT_RESERVED)}"

    def value(depth: int) -> str:
        kind = rng.randrange(8 if depth else 4)
        if kind == 0:
            return rng.choice([str(rng.randrange(1000)), f"{rng.uniform(0, 100):.2f}", "null"])
        if kind == 1:
            return "'" + " ".join(rng.choices(_NAMES + _WORDS, k=rng.randint(1, 4))) + rng.choice(["", "''s"]) + "'"
        if kind <= 3:
            return column()
        if kind == 4:
            return f"{value(depth - 1)} {rng.choice(['+', '-', '*', '/', '||'])} {value(depth - 1)}"
        if kind == 5:
            return f"{rng.choice(['sum', 'count', 'avg', 'max', 'coalesce'])}({value(depth - 1)})"
        if kind == 6:
            return f"case when {condition(0)} then {value(depth - 1)} else {value(depth - 1)} end"
        return f"cast({value(depth - 1)} as decimal(12, 2))"

    def condition(depth: int) -> str:
        kind = rng.randrange(7 if depth else 4)
        if kind <= 1:
            return f"{column()} {rng.choice(['=', '<>', '<', '>='])} {value(1)}"
        if kind == 2:
            return f"{column()} between {value(0)} and {value(0)}"
        if kind == 3:
            return f"{column()} like '%{rng.choice(_WORDS)}%'"
        if kind == 4:
            return f"{column()} in ({query(depth - 1)})"
        if kind == 5:
            return f"not exists ({query(depth - 1)})"
        return f"({condition(depth - 1)} or {condition(depth - 1)})"

    def query(depth: int) -> str:
        columns = ",\n       ".join(f"{value(depth)} as {rng.choice(_NOT_RESERVED)}_{i}" for i in range(rng.randint(1, 6)))
        tables = [f"{rng.choice(_NOT_RESERVED)}s a"]
        for alias in "bc"[: rng.randint(0, 2)]:
            table, key = rng.choice(_NOT_RESERVED), rng.choice(_NOT_RESERVED)
            tables.append(f"{rng.choice(['join', 'left join'])} {table}s {alias} on a.id = {alias}.{key}_id")
        where = "\n  and ".join(condition(depth) for _ in range(rng.randint(1, 4)))
        text = f"select {columns}\nfrom {' '.join(tables)}\nwhere {where}"
        if rng.random() < 0.5:
            text += f"\ngroup by {column()}, {column()} having count(*) > {rng.randrange(10)}"
        if depth == 2 and rng.random() < 0.5:
            text += f"\norder by {column()} desc limit {rng.randrange(100)}"
        return text

    kind = rng.randrange(5)
    name = rng.choice(_NOT_RESERVED)
    if kind == 0:
        return f"insert into {name}s (id, name, price) values\n" + ",\n".join(
            f"({i}, '{rng.choice(_NAMES)}', {rng.uniform(0, 100):.2f})" for i in range(rng.randint(1, 20))
        )
    if kind == 1:
        return f"update {name}s set price = price * 1.1, note = 'by {rng.choice(_NAMES)}' where id = {rng.randrange(100)}"
    if kind == 2:
        return f"with {name}_best as (\n{query(1)}\n)\n{query(2)}"
    return query(2)


TEXTS: dict[str, Callable[[random.Random], str]] = {
    "arithmetic": arithmetic,
    "tool_call": tool_call,
    "contacts": contacts,
    "csv": csv,
    "chess": chess,
    "java": java,
    "go": go,
    "sql": sql,
}
"""Grammar -> the function that writes one of its texts."""


def sample_texts(grammar: str, n: int, seed: int) -> list[bytes]:
    """`n` texts of a grammar. Raises KeyError when none can be written here."""
    write = TEXTS[grammar]
    rng = random.Random(f"{grammar} {seed}")
    return [write(rng).encode() for _ in range(n)]
