"""Context-free grammars over terminals: how rules are lowered to them, their normal form, their automaton of terminals, their LR
tables.

Lives here: the form that every front end ends in (`grammar.py`), and the tables that know no vocabulary. It may import the
expressions and terminals. Begin with `grammar.py`, then `lowering.py`.
"""
