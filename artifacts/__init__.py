"""Artifacts: the file format, the local store, and registries.

Lives here: the format (`format.py`, its tables are declared in the native core), the store (`store.py`), uncompressed copies that
processes share (`mapped.py`), and the names of artifacts (`input_key.py`, `references.py`). It may import the
vocabulary, and neither the compiler nor the runtime. Begin with `format.py`.
"""
