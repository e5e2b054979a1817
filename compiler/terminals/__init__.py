"""Terminals as expressions become programs for the native core, and Python's ``re`` patterns become expressions.

Lives here: the reader of ``re`` syntax (`regex/`), programs (`programs.py`), and patterns written for Lark (`python_pattern.py`).
It may import `psc.compiler.expressions`. Begin with `regex/expression.py`.
"""
