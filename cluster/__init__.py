"""Batch compilation: from a jobs file to artifacts in a store and in registries, in this process or on a Ray cluster.

`jobs` reads a jobs file. `run` plans its tasks and has an executor run them, here or on Ray. `costs` says what a task will take,
`report` what a run took, and `simulate` what it would take on another cluster. See docs/cluster.md.
"""
