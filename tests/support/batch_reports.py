"""Reports of batch runs for tests: what a run of a few jobs on a few workers leaves behind."""

from psc.cluster.run.outcomes import JobOutcome, RunReport, TaskRun

STAGES = {
    "terminals": 0.1,
    "LR tables": 0.05,
    "lexer": 0.05,
    "token classes": 0.2,
    "terminal sequences": 0.15,
    "stack classifier": 0.3,
    "assembly": 0.1,
}
"""What part of a job each stage takes; the rest is reading and writing."""


def compiled(
    name: str, seconds: float, *, begin: float = 0.0, worker: str = "10.0.0.1 7", peak: int = 300_000_000
) -> tuple[JobOutcome, TaskRun]:
    """A job that was compiled in one task."""
    grammar, _, tokenizer = name.partition("/")
    stages = {stage: part * seconds for stage, part in STAGES.items()}
    counts = {"classifier_states": 10_000, "classifier_transitions": 123_456, "token_classes": 4_321, "token_sets": 987}
    job = JobOutcome(
        name,
        grammar,
        tokenizer,
        "compiled",
        input_key=f"{hash_of(name)}",
        digest=f"{hash_of('artifact ' + name)}",
        size=450_000,
        own_seconds=seconds,
        attempts=1,
        memory_estimate_bytes=500_000_000,
        peak_memory_bytes=peak,
        counts=counts,
        stages=stages,
    )
    return job, TaskRun(name, "compile", worker, begin, begin + seconds, peak, stages=stages)


def failed(
    name: str, error: str, *, begin: float = 0.0, seconds: float = 1.0, worker: str = "10.0.0.1 7"
) -> tuple[JobOutcome, TaskRun]:
    """A job that failed in its only attempt."""
    grammar, _, tokenizer = name.partition("/")
    job = JobOutcome(name, grammar, tokenizer, "failed", attempts=1, memory_estimate_bytes=500_000_000, error=error)
    return job, TaskRun(name, "compile", worker, begin, begin + seconds, 1_000_000, error=error)


def report(
    *ended: tuple[JobOutcome, TaskRun], wall: float | None = None, cpus: int = 2, more: tuple[JobOutcome, ...] = ()
) -> RunReport:
    """A run in which these jobs ended, and more that had no task."""
    return RunReport(
        jobs=[*(job for job, _ in ended), *more],
        tasks=[task for _, task in ended],
        wall_seconds=wall if wall is not None else max((task.end for _, task in ended), default=0.0),
        executor="ray, started here",
        cpus=cpus,
        memory_bytes=16_000_000_000,
        started="2025-03-01T10:00:00+00:00",
        psc_version="0.0",
        setup_seconds=4.2,
    )


def hash_of(text: str) -> str:
    """64 hexadecimal digits."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()
