"""Structural tags and tool calls: the formats as Python objects, OpenAI's tools, and the tag that each model family writes.

It imports nothing of the compiler. Begin with `structural_tag.py`; `models/formats.py` has what each family writes.
"""
