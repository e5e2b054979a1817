"""Grammars as programs hold them: parsed, found as artifacts, compiled, kept, warmed and loaded.

It may import the compiler, artifacts, the runtime and requests. Begin with `grammar.py`, then `grammar_compiler.py`.
"""
