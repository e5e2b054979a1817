"""Structural tags and tool calls: the formats as Python objects, OpenAI's tools, and the tag that each model family writes.

Of the compiler it imports the declaration of the formats and no more. Begin with `structural_tag.py`; `models/formats.py` has what
each family writes.
"""
