"""Structural tags: JSON documents that say what a model's output looks like, with XGrammar's formats; docs/structural-tags.md.

The text becomes JSON values (`document.py`), formats (`reader.py`, each field checked as `formats.py` declares it) and rules
(`rules.py`). Schemas, grammars and regexes inside of a tag go to their own front ends. Begin with `formats.py`.
"""
