"""The runtime: compiled grammars and their matchers, and masks as rows of NumPy, CuPy or JAX arrays.

The matcher itself is native. Lives here: `compiled.py`, the tables of mask rows for each array library with what they share
(`mask_table.py`, `row_slots.py`), and the CUDA kernels. It imports NumPy, the vocabulary and the artifact format; never a grammar
tool. Begin with `compiled.py`.
"""
