"""Lark's grammar language, read as Lark reads it.

The text becomes trees (`syntax.py`), definitions (`building.py`, `definitions.py`), productions (`expansion.py`) and terminals
(`terminal_patterns.py`); `loader.py` puts these together. `differences.py` says where Lark's own lexing of a grammar differs from
psc's. Only the loader needs Lark. Begin with `loader.py`.
"""
