"""A language model on this machine writes inside a grammar: what `psc generate` does, as functions that take no terminal.

Read `models.py` (from a name to a model's files), `converted.py` (from a GGUF file to a folder), then `language_model.py`
(Transformers), then `writing.py` (text as it comes). Nothing here is imported with psc, and only `language_model.py` and a
conversion import Transformers.
"""
