"""A prediction on the terminal: the figures, the use of the nodes, the jobs that decide the end, and other sizes of the cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from psc.cluster.simulate.simulation import NodeUse, Prediction, WhatIf
from psc.support.readable import NOTHING, duration, printable, share, size

_MAX_NODES_SHOWN = 12


def prediction_table(prediction: Prediction, sizes: Sequence[WhatIf], console: Console) -> None:
    """Prints a prediction.

    Args:
        prediction: of a cluster.
        sizes: the same jobs on other numbers of nodes.
        console: where to.
    """
    console.print(Text(_figures(prediction)))
    console.print(_nodes(prediction))
    if prediction.tail:
        console.print(Text(_tail(prediction)))
    if sizes:
        console.print(Text("\nOther numbers of nodes:"))
        console.print(_sizes(sizes))
    if prediction.estimated_jobs:
        listed = ", ".join(prediction.estimated_jobs[:10]) + (" …" if len(prediction.estimated_jobs) > 10 else "")
        text = f"{len(prediction.estimated_jobs)} jobs were never measured, and are estimated from the others: {listed}"
        console.print(Text(printable(text), style="yellow"))


def money(amount: float | None) -> str:
    """An amount in the currency of the prices."""
    return NOTHING if amount is None else f"{amount:.2f}" if amount >= 0.995 or amount == 0 else f"{amount:.2g}"


def _figures(prediction: Prediction) -> str:
    jobs = len({task.job for task in prediction.tasks})
    lines = [f"{jobs} jobs would take {duration(prediction.makespan_seconds)}"]
    if prediction.trials > 1:
        lines[0] += (
            f" ({duration(prediction.makespan_p5)} to {duration(prediction.makespan_p95)} in 90 % of {prediction.trials} trials)"
        )
    lines[0] += f", {duration(prediction.startup_seconds)} of it to start"
    cost = f", which cost {money(prediction.cost)}" if prediction.cost is not None else ""
    lines.append(f"{prediction.node_hours:.3g} node-hours{cost}")
    longest = f"; the longest job is {printable(prediction.longest_job)}" if prediction.longest_job else ""
    lines.append(f"no schedule on this cluster takes less than {duration(prediction.shortest_seconds)}{longest}")
    if prediction.lost_attempts:
        lines.append(f"{prediction.lost_attempts:.2g} tasks per run go down with their node, and run again")
    return "\n".join(lines)


def _nodes(prediction: Prediction) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("node", overflow="fold")
    for head in ("CPUs", "tasks", "busy", "memory reserved at most", "of"):
        table.add_column(head, justify="right")
    shown = prediction.nodes[:_MAX_NODES_SHOWN]
    for node in shown:
        _add_node(table, printable(node.name), [node])
    if len(prediction.nodes) > len(shown):
        rest: dict[tuple[int, int], list[NodeUse]] = defaultdict(list)
        for node in prediction.nodes[len(shown) :]:
            rest[node.cpus, node.memory_bytes].append(node)
        for nodes in rest.values():
            _add_node(table, f"{len(nodes)} more, each on average", nodes)
    return table


def _add_node(table: Table, name: str, nodes: Sequence[NodeUse]) -> None:
    n = len(nodes)
    table.add_row(
        Text(name),
        str(nodes[0].cpus),
        f"{sum(node.tasks for node in nodes) / n:.3g}",
        share(sum(node.busy_share for node in nodes) / n),
        size(max(node.peak_reserved_bytes for node in nodes)),
        size(nodes[0].memory_bytes),
    )


def _tail(prediction: Prediction) -> str:
    listed = ", ".join(map(printable, prediction.tail))
    return f"For the last {duration(prediction.tail_seconds)} nothing waits, and CPUs fall idle. Then still at work: {listed}"


def _sizes(sizes: Sequence[WhatIf]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for head in ("nodes", "CPUs", "makespan", "node-hours", "cost"):
        table.add_column(head, justify="right")
    for row in sizes:
        took = duration(row.makespan_seconds) if row.makespan_seconds is not None else "does not fit"
        hours = f"{row.node_hours:.3g}" if row.makespan_seconds is not None else NOTHING
        style = "bold" if row.as_specified else ""
        table.add_row(f"{row.nodes}{' *' if row.as_specified else ''}", str(row.cpus), took, hours, money(row.cost), style=style)
    table.caption = "* as specified"
    table.caption_justify = "left"
    return table
