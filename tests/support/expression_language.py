"""The texts of an expression, by way of the native automaton; and its pattern in the syntax of Python's `re`."""

from psc._core import build_terminal_automaton
from psc.compiler.cfg.grammar import Cfg, Terminal
from psc.compiler.expressions.expression import Chars, Choice, Expression, Literal, Repeat, Sequence
from psc.compiler.terminals.programs import TerminalPrograms


class Language:
    """A set of texts that can be asked about any one of them."""

    def __init__(self, expression: Expression) -> None:
        programs = TerminalPrograms()
        programs.write(expression)
        programs.finish()
        found = build_terminal_automaton(*programs.arrays(), max_states=100_000, max_positions=10**7, max_steps=10**8)
        assert not found.exceeded
        self.next = found.next.reshape(-1, 256)
        self.final = (found.match_offsets[1:] > found.match_offsets[:-1]).tolist()

    def __contains__(self, text: str | bytes) -> bool:
        state = 0
        for byte in text.encode() if isinstance(text, str) else text:
            state = int(self.next[state, byte])
            if state < 0:
                return False
        return self.final[state]


def pattern_of(expression: Expression) -> str:
    """The expression as a pattern of `re`."""
    match expression:
        case Literal(text):
            return "".join(f"\\U{ord(c):08x}" for c in text) or "(?:)"
        case Chars(ranges):
            members = "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in ranges)
            return f"[{members}]" if ranges else "(?!)"
        case Sequence(parts):
            return "".join(map(pattern_of, parts))
        case Choice(options):
            return f"(?:{'|'.join(map(pattern_of, options))})" if options else "(?!)"
        case Repeat(body, least, most):
            return f"(?:{pattern_of(body)}){{{least},{'' if most is None else most}}}"
    raise AssertionError(expression)


def grammar_of(*expressions: Expression) -> Cfg:
    """A grammar whose terminals are these, the first of highest rank, and which has no rules."""
    terminals = tuple(
        Terminal(
            name=f"T{i}",
            pattern=pattern_of(e),
            text=None,
            flags=frozenset(),
            priority=0,
            lark_order=i,
            rank=i,
            ignored=False,
            line=None,
            expression=e,
        )
        for i, e in enumerate(expressions)
    )
    return Cfg(source="", source_name="<test>", imports=(), start="start", terminals=terminals, nonterminals=(), productions=())
