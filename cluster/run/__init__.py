"""Running jobs: the plan, the driver, and executors of tasks (this process, or Ray).

Begin with `plan.py`, then `batch.py`, the driver; `task.py` is what a worker runs. Executors share `executor.py`; all that knows
Ray is in the files with Ray in their names. It may import the compiler's pipeline and artifacts.
"""
