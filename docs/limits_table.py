"""Writes the table of limits into docs/limits.md: ``python docs/limits_table.py``. A test fails where the page is stale."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from psc.support.limits import LIMITS

PAGE = Path(__file__).parent / "limits.md"
_BEGIN, _END = "<!-- limits: written by docs/limits_table.py -->\n", "<!-- end of limits -->\n"


def table() -> str:
    """The rows, by topic; what happens beyond a limit is said where it is not the usual error."""
    lines = ["| limit | at most | each costs |", "| --- | ---: | --- |"]
    for topic, rows in groupby(LIMITS, key=lambda row: row.topic):
        lines.append(f"| **{topic}** | | |")
        for row in rows:
            past_it = "" if row.past_it == "`ResourceLimitError`" else f" (beyond: {row.past_it})"
            lines.append(f"| {row.of}{past_it} | {row.value:,} | {row.cost} |")
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{table()}\n{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
