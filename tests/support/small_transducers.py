"""Small grammars as cases, with their LR tables, lexer states and stacks, for the machines of the paper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pynini

from psc import _core
from psc._core import ClosedLexer, LrTables, TerminalSequences
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.lr_tables import lr_tables
from psc.compiler.cfg.terminals import terminal_arrays, terminal_automaton
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.paper import Names, state_label
from psc.vocabulary.tokenizer_info import TokenizerInfo

JSON = r"""
start: value
value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" [pair ("," pair)*] "}"
pair: STRING ":" value
array: "[" [value ("," value)*] "]"
STRING: /"[^"\\]*"/
NUMBER: /-?[0-9]+(\.[0-9]+)?/
%ignore /[ \n]+/
"""
PRECEDENCE = r"""
start: sum
sum: sum "+" product | sum "-" product | product
product: product "*" power | power
power: atom "**" power | atom
atom: "(" sum ")" | "-" atom | NUMBER | NAME
NUMBER: /[0-9]+/
NAME: /[a-z]+/
%ignore " "
"""
EMPTY_RULES = r"""
start: opening items closing
opening: | "a"
closing: | "b" closing
items: | items item
item: "(" nothing items nothing ")" | "x" nothing "y"
nothing:
"""
RIGHT_RECURSION = r"""
start: list
list: X | X "," list | X ";" tail
tail: "(" list ")" | list
X: /x+/
"""
DANGLING_ELSE = r"""
start: statement+
statement: "if" NAME statement | "if" NAME statement "else" statement | NAME "=" NAME ";" | "{" statement* "}"
NAME: /[a-z]+/
%ignore " "
"""
UNBOUNDED_POPS = r"""
start: a
a: "x" a "y" | "x" b "z" | "q"
b: "x" b | c c c
c: "u" "v" "w" | "u"
"""
GRAMMARS = {
    "json": JSON,
    "precedence": PRECEDENCE,
    "empty rules": EMPTY_RULES,
    "right recursion": RIGHT_RECURSION,
    "dangling else": DANGLING_ELSE,
    "unbounded pops": UNBOUNDED_POPS,
}
TOKENS = {  # _ is a space
    "json": r"""{ } [ ] , : " "a" ": 1 - . 0 tr ue null }} ]] ],[ {" "} 1] 1, }]} ,, _ _}""",
    "precedence": "+ - * ** ( ) a 7 (( )) )* a+ -a 1)+( ))) *b**c) a( ab _ )_",
    "empty rules": "a b ( ) x y a( () (( )) xy )xy yb bb (xy)( )))b",
    "right recursion": "x xx , ; ;( ) )) ,x x,x;( x) )))",
    "dangling else": "if i f else a = ; { } }} a=b; }else{ a; _ ;_else_ _else_if_x_",
    "unbounded pops": "x y z u v w q xx qy yy yyy uv wu uu uuu zy uuuzy uvwz",
}


@dataclass
class Case:
    """A grammar compiled for a vocabulary."""

    grammar: Cfg
    lr: LrTables
    lexer: ClosedLexer
    sequences: TerminalSequences
    classifier: dict[str, Any]
    representatives: list[bytes]


def compiled(text: str, tokens: Sequence[bytes], *, keep_all: bool = False) -> Case:
    grammar = load_lark(text, lexer="basic")
    lr = lr_tables(grammar, keep_all=keep_all)
    tokenizer = TokenizerInfo.from_tokens([*tokens, b"</s>"], stop_token_ids=[len(tokens)])
    text = tokenizer.without_stop_tokens
    lexer = _core.close_lexer(lr, **terminal_arrays(grammar, terminal_automaton(grammar)), lexer=grammar.lexer)
    classes = _core.classify_tokens(lexer, text.data, text.offsets, text.text_token_ids, 1 << 20)
    sequences = _core.find_sequences(classes)
    classifier = _core.assemble(_core.close_classifier(sequences), sequences)
    return Case(grammar, lr, lexer, sequences, classifier, [tokens[t] for t in classes.representatives.tolist()])


def named(name: str, *, keep_all: bool = False) -> Case:
    tokens = [token.replace("_", " ").encode() for token in TOKENS[name].split()]
    return compiled(GRAMMARS[name], tokens, keep_all=keep_all)


def step(lr: LrTables, stack: tuple[int, ...], terminal: int) -> set[tuple[int, ...]]:
    """Every stack (top first) that reading the terminal can lead to; the given one need not be one of the parser's."""
    outcomes: set[tuple[int, ...]] = set()
    todo, seen = [stack], {stack}
    offsets, actions = lr.action_offsets, lr.actions
    while todo:
        top, *_ = at = todo.pop()
        cell = top * lr.n_terminals + terminal
        for action in actions[offsets[cell] : offsets[cell + 1]].tolist():
            if action % 2 == 0:
                outcomes.add((action // 2, *at))
                continue
            rest = at[int(np.diff(lr.rhs_offsets)[action // 2]) :]
            if not rest:
                continue
            to = int(lr.gotos[rest[0] * lr.n_nonterminals + lr.production_lhs[action // 2]])
            if to >= 0 and (to, *rest) not in seen:
                seen.add((to, *rest))
                todo.append((to, *rest))
    return outcomes


def reachable_stacks(lr: LrTables, count: int) -> list[tuple[int, ...]]:
    """The first stacks that the parser can have, shortest text first."""
    found = {(0,): None}
    for stack in iter_growing(found):
        for terminal in range(lr.n_terminals - 1):
            for after in sorted(step(lr, stack, terminal)):
                found.setdefault(after)
        if len(found) >= count:
            break
    return list(found)[:count]


def iter_growing(found: dict[tuple[int, ...], None]) -> Iterator[tuple[int, ...]]:
    done = 0
    while done < len(found):
        batch = list(found)[done:]
        done += len(batch)
        yield from batch


def labels_of(symbols: Sequence[int]) -> pynini.Fst:
    fst = pynini.Fst()
    at = fst.add_state()
    fst.set_start(at)
    for label in symbols:
        to = fst.add_state()
        fst.add_arc(at, pynini.Arc(label, label, None, to))
        at = to
    fst.set_final(at)
    return fst


def outputs(fst: pynini.Fst, stack: tuple[int, ...]) -> set[tuple[int, ...]]:
    """What a transducer of stacks makes of one stack."""
    image = pynini.compose(labels_of([state_label(s) for s in stack]), fst).project("output").rmepsilon()
    found: set[tuple[int, ...]] = set()
    todo = [(image.start(), ())] if image.start() != pynini.NO_STATE_ID else []
    while todo:
        state, read = todo.pop()
        if image.final(state) != pynini.Weight.zero("tropical"):
            found.add(tuple(label - 1 for label in read))
        todo.extend((arc.nextstate, (*read, arc.ilabel)) for arc in image.arcs(state))
    return found


def pruned_sequences(case: Case, lexer_state: int) -> dict[tuple[int, ...], set[int]]:
    """As the compilation has them: without the sequences that it found no stack for."""
    return {w: set(classes.tolist()) for w, classes in case.sequences.of_state(lexer_state)}


def live_states(case: Case) -> list[int]:
    return [q for q in range(case.lexer.n_states) if len(case.sequences.of_state(q))]


def names_of(grammar: Cfg) -> Names:
    symbols = range(len(grammar.terminals) + 1 + len(grammar.nonterminals))
    productions = range(len(grammar.productions))
    return Names(grammar.source_name, tuple(map(grammar.symbol_name, symbols)), tuple(map(grammar.production_text, productions)))
