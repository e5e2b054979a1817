"""Rules with `max_tokens` that match no text are left out as without it: masks are equal where budgets are large.

Machines of several are compared with the one machine of the same grammar, along random texts.
"""

import random

import pytest
from vocabularies import byte_tokenizer

import psc

COMPILER = psc.GrammarCompiler(byte_tokenizer(), store=False)
DEAD = [
    'root ::= r1 | "c"\nr1% ::= "b" r2\nr2 ::= "x" r2\n',
    'root ::= r1 | "c"\nr1% ::= "b" | "d" r2\nr2% ::= "x" r2\n',
    'root ::= r1 | "c"\nr1% ::= "y" r2\nr2% ::= "x" r1\n',
    'root ::= r1 | "c"\nr1% ::= "x" r1\n',
    'root ::= r1 "c"\nr1% ::= "x" r2 | ""\nr2% ::= "z" r2\n',
    'root ::= (r1 | "a")* "c"\nr1% ::= "x" [^\\u0000-\\U0010FFFF]\n',
    'root ::= "a" (r1)? "c"\nr1% ::= "x" r2 "y"\nr2% ::= "z" r3\nr3% ::= "w" r1\n',
    'root ::= r1 | r4\nr1% ::= "x" r2 | "b"\nr2% ::= "z" r2\nr4% ::= "d" r1 r2\n',
    'root ::= r1{0,3} "c"\nr1% ::= "x" r1 "y"\n',
    '%llguidance {}\nstart: r1 | "c"\nr1%: "b" T1\nT1: "a" & "b"\n',
    '%llguidance {}\nstart: r1* "c"\nr1%: "b" T1 | "d"\nT1: /a+/ & /b+/\n',
    '%llguidance {}\nstart: (r1 | "a" r2) "c" | "e"\nr1%: T1\nr2%: T1 | "q"\nT1: "a" & ~"a"\n',
]
NOTHING = [
    'root ::= r1\nr1% ::= "x" r1\n',
    'root ::= r1 "c"\nr1% ::= "x" r2\nr2 ::= "b" r2\n',
    'root ::= "a" r1\nr1% ::= "x" [^\\u0000-\\U0010FFFF]\n',
    'root ::= r1 | r2\nr1% ::= "x" r2\nr2% ::= "y" r1\n',
    '%llguidance {}\nstart: r1\nr1%: "b" T1\nT1: "a" & "b"\n',
]


def _compiled(text, budget):
    text = text.replace("%", budget).replace(f"{budget}llguidance", "%llguidance")
    return COMPILER.compile_grammar(psc.Grammar.from_lark(text) if text.startswith("%ll") else text)


def _allowed(matcher):
    return frozenset() if matcher.is_terminated() else frozenset(t for t in range(257) if matcher.is_allowed(t))


def _same_masks(text, seed):
    """Walks both; a walk that never comes to a mask without tokens ends at a sentence or after some steps."""
    plain, counted = _compiled(text, ""), _compiled(text, "[max_tokens=60]")
    rng = random.Random(seed)
    for _ in range(12):
        matchers = psc.GrammarMatcher(plain), psc.GrammarMatcher(counted)
        for _ in range(10):
            allowed = _allowed(matchers[0])
            assert _allowed(matchers[1]) == allowed
            if not allowed:
                break
            token = rng.choice(sorted(allowed))
            assert all(m.accept_token(token) for m in matchers)


@pytest.mark.parametrize("text", DEAD)
def test_rules_without_a_text_are_left_out(text):
    _same_masks(text, text)
    _compiled(text, "[max_tokens=2]")


@pytest.mark.parametrize("text", NOTHING)
def test_a_grammar_without_a_text_is_refused_by_the_name_of_a_rule(text):
    messages = []
    for budget in ("", "[max_tokens=2]"):
        with pytest.raises(psc.GrammarError, match=r"can never finish|matches no text at all") as e:
            _compiled(text, budget)
        messages.append(str(e.value))
    assert not any(inner in messages[1] for inner in ("linked root", " call", " counted"))
    assert ("can never finish" in messages[0]) == ("can never finish" in messages[1])


def _random_grammar(rng):
    names = [f"r{i}" for i in range(4)]

    def part(depth):
        kind = rng.random()
        if kind < 0.45:
            return f'"{rng.choice("abc")}"'
        if kind < 0.8:
            return rng.choice(names)
        if kind < 0.9 and depth:
            return f"({part(depth - 1)} {part(depth - 1)})" + rng.choice("?*")
        return '"d"'

    rules = ["root ::= " + " | ".join(f'"{c}" {rng.choice(names)}' for c in "xy") + ' | "z"']
    for name in names:  # each begins with a character, so that no rule with a budget begins with itself
        options = [f'"{rng.choice("ef")}" ' + " ".join(part(1) for _ in range(rng.randint(0, 2))) for _ in range(rng.randint(1, 2))]
        rules.append(f"{name}{'%' if rng.random() < 0.7 else ''} ::= " + " | ".join(options))
    return "\n".join(rules) + "\n"


@pytest.mark.parametrize("seed", range(60))
def test_random_grammars_with_rules_that_need_one_another(seed):
    _same_masks(_random_grammar(random.Random(seed)), seed)
