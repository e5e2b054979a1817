"""``psc bench``: the cost of psc on this machine, beside other engines where they are installed.

Each benchmark is a module with a function `run` from settings to a report (`psc.bench.reports`). The parts that they share (clocks,
texts, grammars, engines in processes of their own) also serve the scripts of a clone's `benchmarks/`.
"""
