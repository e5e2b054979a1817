"""Running jobs: the plan, the driver, and what executes tasks (this process, or Ray)."""
