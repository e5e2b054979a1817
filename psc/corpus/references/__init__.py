"""Parsers that define what a language is: its own compiler's where there is one, each behind the same three names.

`registry.py` lists the parsers of each grammar's language. A parser that takes long to start runs in a process of its own
(`conversation.py`). Begin with `reference.py`.
"""
