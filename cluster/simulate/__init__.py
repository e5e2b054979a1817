"""A discrete event simulation of a run on a cluster that need not exist: time, cost, memory.

Begin with `simulation.py`; `schedule.py` follows the driver's order. It may import the costs and plans of a run.
"""
