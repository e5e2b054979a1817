"""``psc batch --simulate SPEC``: what the batch would take on the cluster that a spec describes, instead of running it."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from psc.cli.report import warning, write_json
from psc.cluster.costs.job_costs import tasks_for, wanted_jobs
from psc.cluster.costs.measured_costs import MeasuredCosts, read_costs, with_measured
from psc.cluster.run.plan import Plan
from psc.cluster.simulate.cluster_spec import read_spec
from psc.cluster.simulate.prediction_table import prediction_table
from psc.cluster.simulate.simulation import simulate, what_if

_WIDTH_OF_NO_TERMINAL = 120


def run_simulation(plan: Plan, spec_path: str | Path, *, as_json: bool) -> None:
    """Predicts what a plan's jobs would take, and prints that.

    Args:
        plan: the work; of a batch that is planned with ``force``, all of it, else what is not in the store.
        spec_path: of the cluster's description, see `psc.cluster.simulate.cluster_spec`.
        as_json: print data, for machines.

    Raises:
        SimulationError: the spec or a report is wrong, or a job fits on no node.
    """
    spec = read_spec(spec_path)
    costs = read_costs(spec.costs) if spec.costs else MeasuredCosts()
    for outcome in plan.outcomes:
        if outcome.status == "failed":
            warning(f"{outcome.name} is left out: {outcome.error}")
    tasks = tasks_for(wanted_jobs(plan), costs)
    spec = with_measured(spec, costs)
    prediction, sizes = simulate(tasks, spec), what_if(tasks, spec)
    if as_json:
        write_json({**prediction.to_json(), "other_sizes": [row.to_json() for row in sizes]})
        return
    prediction_table(prediction, sizes, Console(width=None if sys.stdout.isatty() else _WIDTH_OF_NO_TERMINAL))
