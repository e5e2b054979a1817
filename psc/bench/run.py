"""The benchmarks by name, as `psc bench all` runs them."""

from __future__ import annotations

from collections.abc import Callable

from psc.bench import compiling, first_masks, maskbench, masks, serving
from psc.bench.end_to_end import run as end_to_end
from psc.bench.reports import Report, Settings

RUNS: dict[str, Callable[[Settings], Report]] = {
    "masks": masks.run,
    "first-masks": first_masks.run,
    "compile": compiling.run,
    "serve": serving.run,
    "maskbench": maskbench.run,
    "end-to-end": end_to_end.run,
}
