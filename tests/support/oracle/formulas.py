"""Boolean formulas over numbered variables, each kept as the one decision diagram it has, so that equal means `==`.

A formula is an int: 0 is false, 1 is true, any other is the node (variable, if false, if true) with variables in
ascending order from the root. Such reduced ordered diagrams are canonical (Bryant, "Graph-Based Algorithms for Boolean
Function Manipulation", 1986), which is what makes the automata built from formulas finite.
Cost: one operation takes at most the product of the sizes of its arguments.
"""

from collections.abc import Callable

FALSE, TRUE = 0, 1
_NO_VARIABLE = 1 << 60  # below every variable: the two constants


class Formulas:
    """A table of formulas; ints from different tables must not be mixed."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, int, int]] = [(_NO_VARIABLE, 0, 0), (_NO_VARIABLE, 1, 1)]
        self._ids: dict[tuple[int, int, int], int] = {}
        self._choices: dict[tuple[int, int, int], int] = {}

    def _node(self, variable: int, if_false: int, if_true: int) -> int:
        if if_false == if_true:
            return if_false
        key = (variable, if_false, if_true)
        if key not in self._ids:
            self._ids[key] = len(self._nodes)
            self._nodes.append(key)
        return self._ids[key]

    def variable(self, number: int) -> int:
        """The formula that is true when the variable `number` is."""
        return self._node(number, FALSE, TRUE)

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """`then` where `condition` is true, `otherwise` where it is false."""
        if condition in (FALSE, TRUE):
            return then if condition == TRUE else otherwise
        if then == otherwise:
            return then
        key = (condition, then, otherwise)
        if key not in self._choices:
            top = min(self._nodes[f][0] for f in key)
            self._choices[key] = self._node(
                top,
                self.choose(*(self._given(f, top, False) for f in key)),
                self.choose(*(self._given(f, top, True) for f in key)),
            )
        return self._choices[key]

    def _given(self, formula: int, variable: int, value: bool) -> int:
        node = self._nodes[formula]
        return node[2 if value else 1] if node[0] == variable else formula

    def both(self, a: int, b: int) -> int:
        return self.choose(a, b, FALSE)

    def either(self, a: int, b: int) -> int:
        return self.choose(a, TRUE, b)

    def negation(self, a: int) -> int:
        return self.choose(a, FALSE, TRUE)

    def substitute(self, formula: int, replacement: Callable[[int], int]) -> int:
        """`formula` with each variable replaced by the formula `replacement(variable)`."""
        done: dict[int, int] = {FALSE: FALSE, TRUE: TRUE}

        def walk(f: int) -> int:
            if f not in done:
                variable, if_false, if_true = self._nodes[f]
                done[f] = self.choose(replacement(variable), walk(if_true), walk(if_false))
            return done[f]

        return walk(formula)

    def evaluate(self, formula: int, value: Callable[[int], bool]) -> bool:
        """The truth of `formula` when each variable has the truth `value(variable)`."""
        while formula not in (FALSE, TRUE):
            variable, if_false, if_true = self._nodes[formula]
            formula = if_true if value(variable) else if_false
        return formula == TRUE
