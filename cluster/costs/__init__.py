"""The costs of jobs: estimates before a run, and measurements of earlier runs.

It may import `psc.cluster.jobs`. The queue and memory reservations use `estimates.py`; the simulator uses the other two.
"""
