"""What users ask of a model, in words: facts to be written as JSON, and small tasks in Java, Go, SQL and Python.

The idea: each prompt is a template and words from lists. One combination after the other is drawn, none twice, with the same
random numbers each time, so the first n prompts of a language are the same whatever n is. Of JSON the facts are known, so an
answer can be right or wrong.

The cost: a millisecond for 200 prompts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

PERSON: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "city": {"type": "string"},
        "likes": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
    },
    "required": ["name", "age", "city", "likes"],
    "additionalProperties": False,
}
"""The schema of the answers to the prompts of `json`."""

_NAMES: Final = (
    *("Maria", "Jonas", "Aiko", "Samuel", "Fatima", "Lucas", "Ingrid", "Omar", "Priya", "Tom", "Elena"),
    *("Pavel", "Nadia", "Hugo", "Leila", "Felix", "Amara", "Viktor", "Rosa", "Dmitri", "Clara", "Kenji"),
)
_CITIES: Final = (
    *("Lisbon", "Oslo", "Kyoto", "Nairobi", "Lyon", "Dublin", "Quito"),
    *("Prague", "Hanoi", "Turin", "Boston", "Cairo", "Perth"),
)
_LIKES: Final = (
    *("sailing and old maps", "chess", "baking bread", "running and jazz", "gardening", "birds and long walks"),
    *("painting", "films and cooking", "swimming", "poems and tea", "cycling and photography"),
)
_TOLD: Final = (
    "{name} is {age}, lives in {city} and likes {likes}.",
    "In {city} lives {name}, who is {age} years old and likes {likes}.",
    "{name} likes {likes}. At the age of {age}, {name} moved to {city}.",
)
_AGES: Final = range(19, 79)

_CLASSES: Final = (
    *("bank account", "point with x and y", "stack of integers", "temperature converter", "library book", "student with grades"),
    *("shopping cart", "circle", "queue of strings", "counter", "rectangle", "car with a speed", "clock", "linked list node"),
    *("matrix of doubles", "fraction", "phone book", "employee with a salary", "dice", "calculator", "playlist of songs"),
    *(
        "binary tree",
        "date",
        "color with red, green and blue",
        "player with a score",
        "elevator",
        "message",
        "hotel room",
        "ticket",
    ),
    *("pair of two values", "timer", "house with rooms", "dog that barks", "list of tasks", "coin", "complex number", "recipe"),
    *(
        "movie with a rating",
        "address",
        "train with wagons",
        "simple logger",
        "cache of strings",
        "vector",
        "chess piece",
        "invoice",
    ),
    *("range of integers", "password checker", "word counter", "traffic light", "vending machine"),
)
_WITH: Final = ("", " with getters", " with a constructor and a toString method", " that is immutable", " with an equals method")
_FUNCTIONS: Final = (
    *("adds all numbers of a list", "finds the largest number of a list", "reverses a text", "counts the words of a text"),
    *("says whether a number is prime", "says whether a text is a palindrome", "computes a factorial", "sorts numbers"),
    *("removes duplicates from a list", "merges two sorted lists", "computes the n-th Fibonacci number", "counts vowels"),
    *("finds the average of a list", "converts Celsius to Fahrenheit", "searches a sorted list", "joins texts with commas"),
    *("finds the greatest common divisor of two numbers", "counts how often each word comes", "says whether a year is a leap year"),
    *("turns a number into binary digits", "rotates a list by k places", "finds the longest word of a text"),
)
_HOW: Final = (
    *("", " without recursion", " with a loop", " and prints the result for an example", " and returns an error for empty input"),
    *(
        " and has a short name",
        " and is called twice",
        " in as few lines as possible",
        " with clear names",
        " and checks its arguments",
    ),
)
_TABLES: Final = {
    "customers": ("name", "city", "age", "email"),
    "orders": ("total", "customer_id", "created_at", "status"),
    "employees": ("name", "salary", "department", "hired_at"),
    "books": ("title", "author", "year", "price"),
    "products": ("name", "price", "stock", "category"),
}
_COLUMNS: Final = tuple((table, column) for table, columns in _TABLES.items() for column in columns)
_QUERIES: Final = (
    *(
        "the number of rows for each {column} of {table}",
        "all {table}, ordered by {column}",
        "the ten {table} with the largest {column}",
    ),
    *(
        "the {table} whose {column} is not known",
        "every {column} that occurs more than once in {table}",
        "each {column} of {table} once",
    ),
    *("the {table} whose {column} lies between two values", "the smallest and the largest {column} of {table}"),
    *(
        "the {table} that have the same {column} as the one with id 7",
        "the {table} without those whose {column} is one of three values",
    ),
)


@dataclass(frozen=True)
class Prompt:
    """What a user asks."""

    text: str
    facts: dict[str, Any] = field(default_factory=dict)
    """Of JSON, the members that are known."""


def prompts_of(language: str, n: int) -> list[Prompt]:
    """The first n prompts of a language.

    Args:
        language: a name of `LANGUAGES`.
        n: how many; each language has 200 at least.

    Raises:
        KeyError: there is no such language.
        ValueError: it has fewer prompts.
    """
    lists, made = LANGUAGES[language]
    sizes = [len(each) for each in lists]
    n_all = math.prod(sizes)
    if n > n_all:
        raise ValueError(f"{language} has {n_all} prompts, not {n}")
    rng, prompts, met = random.Random(f"prompts {language}"), list[Prompt](), set[int]()
    while len(prompts) < n:
        place = rng.randrange(n_all)
        if place in met:
            continue
        met.add(place)
        words = []
        for each in lists:
            place, at = divmod(place, len(each))
            words.append(each[at])
        prompts.append(made(*words))
    return prompts


def _person(name: str, city: str, age: int, likes: str, told: str) -> Prompt:
    return Prompt(told.format(name=name, city=city, age=age, likes=likes), {"name": name, "age": age, "city": city})


def _article(word: str) -> str:
    return "an" if word[0] in "aeio" else "a"


def _function(language: str) -> tuple[Sequence[Sequence[Any]], Callable[..., Prompt]]:
    return (_FUNCTIONS, _HOW), lambda does, how: Prompt(f"A function in {language} that {does}{how}.")


LANGUAGES: Final[dict[str, tuple[Sequence[Sequence[Any]], Callable[..., Prompt]]]] = {
    "json": ((_NAMES, _CITIES, _AGES, _LIKES, _TOLD), _person),
    "java": ((_CLASSES, _WITH), lambda of, having: Prompt(f"A class for {_article(of)} {of}{having}.")),
    "go": _function("Go"),
    "sql": ((_COLUMNS, _QUERIES), lambda of, query: Prompt(f"A query for {query.format(table=of[0], column=of[1])}.")),
    "python": _function("Python"),
}
"""Name -> lists of words, and what makes a prompt of one of each."""
