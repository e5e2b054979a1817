"""Batch compilation: from a jobs file to artifacts in a store and in registries, in this process or on a Ray cluster.

A jobs file (`jobs_file`, `jobs`) becomes a plan (`plan`, `estimates`) of tasks (`task`, `compilation`), which a driver (`batch`)
has an executor run (`in_process`, `ray_executor`); what happened is a report (`outcomes`, `report`). See docs/cluster.md.
"""
