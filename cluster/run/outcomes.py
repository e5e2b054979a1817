"""The outcome of a batch run: per job its status and result, per task where and when it ran. All of it is plain data.

The scheduler fills it in as tasks end; the reports, and the simulator that predicts other clusters from it, read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

SCHEMA = "psc.batch-report.v1"

Status = Literal["compiled", "present", "not published", "failed", "not run"]
"""How a job ended: compiled now; its artifact was there already; the artifact is in the store, but a registry does not have it;
there is no artifact, for a cause of the job's own; or the run ended before it."""


@dataclass(frozen=True)
class TaskRun:
    """One attempt at one piece of work on one worker. Times are in seconds since the run began, on the driver's clock."""

    job: str
    what: str
    """"compile", or the part of a job that was split: "sequences", "classifier 2 of 4", "assembly"."""
    worker: str
    """Where: a node's address and a process number, or "in process"."""
    begin: float
    end: float
    peak_memory_bytes: int = 0
    attempt: int = 1
    error: str | None = None
    """Why the attempt failed, or that its worker was lost."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds per stage of the compiler."""

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass
class JobOutcome:
    """How a job, one grammar for one tokenizer, ended."""

    name: str
    """``grammar/tokenizer``, by the names of the artifact."""
    grammar: str
    tokenizer: str
    status: Status
    input_key: str | None = None
    digest: str | None = None
    size: int = 0
    """Bytes of the artifact."""
    own_seconds: float = 0.0
    """The time of its tasks together, failed attempts left out."""
    attempts: int = 0
    memory_estimate_bytes: int = 0
    """The memory reserved for it."""
    peak_memory_bytes: int = 0
    """The most that one of its tasks had, above what its worker had before it."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The artifact's counts: states, transitions, token classes…"""
    stages: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    error: str | None = None
    published: tuple[str, ...] = ()
    """Registries that it was pushed to."""


@dataclass
class RunReport:
    """A whole run."""

    jobs: list[JobOutcome]
    tasks: list[TaskRun]
    wall_seconds: float
    executor: str
    """"in process", or "ray" and what it was connected to."""
    cpus: int
    memory_bytes: int
    started: str
    """When, in ISO 8601 with the time zone."""
    psc_version: str
    setup_seconds: float = 0.0
    """The time to connect to, or start, Ray; not part of ``wall_seconds``."""
    interrupted: bool = False
    """Whether it was stopped before all jobs were done."""

    @property
    def ok(self) -> bool:
        """Whether every job has its artifact, and every requested registry has it too."""
        return all(job.status in ("compiled", "present") for job in self.jobs)

    def to_json(self) -> dict[str, Any]:
        """As JSON-like data, for ``from_json``."""
        return {"schema": SCHEMA, "ok": self.ok, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunReport:
        """Reads the result of ``to_json``. Raises ValueError when it is something else."""
        if data.get("schema") != SCHEMA:
            raise ValueError(f"not a report of psc batch: schema {data.get('schema')!r} instead of {SCHEMA!r}")
        try:
            content = {k: v for k, v in data.items() if k not in ("schema", "ok")}
            jobs = [
                JobOutcome(**{**job, "warnings": tuple(job["warnings"]), "published": tuple(job["published"])})
                for job in content.pop("jobs")
            ]
            return cls(jobs=jobs, tasks=[TaskRun(**task) for task in content.pop("tasks")], **content)
        except (KeyError, TypeError, AttributeError) as e:
            raise ValueError(f"a damaged report of psc batch: {e}") from e
