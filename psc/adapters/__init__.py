"""Grammars in other people's decoding loops: a thin file for each engine, and their common parts.

No file here imports its engine before it is imported itself: `psc.adapters.transformers`, `psc.adapters.llama_cpp`,
`psc.adapters.mlx`.
"""
