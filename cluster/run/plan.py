"""The plan of a batch: which artifacts are there, which jobs cannot be done at all, and the others as tasks, the urgent and long
first.

The input key of an artifact needs only its grammar and vocabulary. Only what several jobs share is compiled here: the
tables of a grammar that is compiled for several vocabularies.

Cost: parsing each grammar once (0.1 s for a programming language), and reading every artifact that is there, which verifies it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from psc.artifacts.format import decode
from psc.artifacts.input_key import input_key_of
from psc.artifacts.references import Reference
from psc.artifacts.store import Store
from psc.cluster.costs.estimates import Costs, Estimate, cost_key_of
from psc.cluster.jobs.expansion import Job, NamedGrammar
from psc.cluster.run.compilation import compile_artifact
from psc.cluster.run.outcomes import JobOutcome
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.frontends.tables import CfgTables
from psc.compiler.pipeline.build import describe, make_tables
from psc.errors import GrammarError, RegistryError
from psc.vocabulary.tokenizer_info import TokenizerInfo


@dataclass(frozen=True)
class Task:
    """A piece of a job. The result of a job's last task is its `Compiled`."""

    what: str
    work: Callable[..., Any]
    """See `psc.cluster.run.task.Call`."""
    _: KW_ONLY
    options: Mapping[str, Any]
    shared: tuple[str, ...]
    """Names of things in `Plan.shared`: the first arguments."""
    needs: tuple[int, ...] = ()
    """The tasks of the job, by number, whose results are the arguments after them."""
    memory_bytes: int = 0
    """To reserve."""
    seconds: float = 0.0
    """Expected."""


@dataclass(frozen=True)
class PlannedJob:
    """A job that has to be done."""

    job: Job
    outcome: JobOutcome
    input_key: str
    fingerprint: str
    costs_key: str
    estimate: Estimate
    tasks: tuple[Task, ...]
    followers: list[JobOutcome] = field(default_factory=list)
    """Jobs of other names whose artifact is the same: done when this one is."""


@dataclass(frozen=True)
class Present:
    """An artifact that is there, for publishing."""

    outcome: JobOutcome
    reference: Reference


@dataclass
class Plan:
    """A batch, before it runs."""

    outcomes: list[JobOutcome]
    """Of all jobs, in the jobs file's order; those that are to be done say "not run" yet."""
    todo: list[PlannedJob]
    """In the order in which to start them."""
    present: list[Present]
    shared: dict[str, Any]
    """The tables of grammars, and vocabularies, each once."""
    costs: Costs


def outcomes_of(jobs: list[Job]) -> list[JobOutcome]:
    """The outcomes of jobs of which nothing has been looked at."""
    return [JobOutcome(job.name, job.grammar.name, job.tokenizer.name, "not run") for job in jobs]


def plan(
    jobs: list[Job],
    store: Store,
    *,
    outcomes: list[JobOutcome] | None = None,
    force: bool = False,
    on_grammar: Callable[[str], None] = lambda name: None,
) -> Plan:
    """Plans a batch.

    Args:
        jobs: from `psc.cluster.jobs.expansion.find_jobs`.
        store: of the artifacts, present and future.
        outcomes: of the jobs, from `outcomes_of`, for a caller that needs them should this be interrupted.
        force: compile what is there, too.
        on_grammar: called with each grammar before it is read.
    """
    return _Planner(store, force, on_grammar).plan(jobs, outcomes_of(jobs) if outcomes is None else outcomes)


class _Planner:
    def __init__(self, store: Store, force: bool, on_grammar: Callable[[str], None]) -> None:
        self._store = store
        self._force = force
        self._on_grammar = on_grammar
        self._grammars: dict[tuple[GrammarRequest, str], Cfg | str] = {}
        self._names: dict[tuple[object, ...], str] = {}
        self._todo: dict[str, PlannedJob] = {}
        self._plan = Plan([], [], [], {}, Costs(store))

    def plan(self, jobs: list[Job], outcomes: list[JobOutcome]) -> Plan:
        self._plan.outcomes = outcomes
        for job, outcome in zip(jobs, outcomes, strict=True):
            request = job.grammar.request
            info = job.tokenizer.info
            if request is None or info is None:
                outcome.status, outcome.error = "failed", job.tokenizer.error or str(job.grammar.error)
                continue
            grammar = self._grammar(job.grammar, request, info)
            if isinstance(grammar, str):
                outcome.status, outcome.error = "failed", grammar
            else:
                self._add(job, outcome, request, grammar, info)
        self._share_tables()
        # The longest of the most urgent first: short ones fill the gaps at the end.
        self._plan.todo = sorted(self._todo.values(), key=lambda p: (-p.job.priority, -p.estimate.seconds))
        return self._plan

    def _share_tables(self) -> None:
        """Makes the tables of grammars that several jobs need, once. A grammar that has none fails its jobs here and now."""
        jobs_of: dict[str, list[str]] = {}
        for key, planned in self._todo.items():
            jobs_of.setdefault(planned.tasks[0].shared[0], []).append(key)
        for name, keys in jobs_of.items():
            if len(keys) < 2:
                continue
            self._on_grammar(self._todo[keys[0]].job.grammar.name)
            try:
                make_tables(self._plan.shared[name])
            except GrammarError as e:
                for key in keys:
                    planned = self._todo.pop(key)
                    for outcome in (planned.outcome, *planned.followers):
                        outcome.status, outcome.error = "failed", str(e)

    def _grammar(self, named: NamedGrammar, request: GrammarRequest, info: TokenizerInfo) -> Cfg | str:
        """The grammar for a vocabulary, or why there is none; one for all vocabularies if it names no tokens."""
        identity = _identity(request, info)
        if identity not in self._grammars:
            self._on_grammar(named.name)
            try:
                parsed = request.parse(request.names_of(info))
                parsed.require_productions()
                # Not the path as it is from here, so that the bytes do not depend on where the batch is run.
                self._grammars[identity] = replace(parsed.cfg, source_name=named.label)
            except GrammarError as e:
                self._grammars[identity] = str(e)
        return self._grammars[identity]

    def _add(self, job: Job, outcome: JobOutcome, request: GrammarRequest, grammar: Cfg, info: TokenizerInfo) -> None:
        description = describe(grammar, info)
        key = outcome.input_key = input_key_of(description)
        try:
            if not self._force and self._is_stored(job, outcome, key):
                return
        except RegistryError as e:
            outcome.status, outcome.error = "failed", str(e)
            return
        if key in self._todo:
            self._todo[key].followers.append(outcome)
            return
        costs_key = cost_key_of(description["grammar"])
        estimate = self._plan.costs.estimate(costs_key, grammar, info)
        grammar_name = self._shared("grammar", _identity(request, info), CfgTables(grammar))
        vocabulary_name = self._shared("vocabulary", (info.name, info.tokens_fingerprint), info)
        tasks = _tasks(job, estimate, grammar_name, vocabulary_name)
        outcome.memory_estimate_bytes = max(task.memory_bytes for task in tasks)
        self._todo[key] = PlannedJob(job, outcome, key, info.fingerprint, costs_key, estimate, tasks)

    def _is_stored(self, job: Job, outcome: JobOutcome, key: str) -> bool:
        """Whether the artifact is in the store, whole; then it also has the job's name there from now on."""
        there = self._store.find(key)
        data = self._store.read(there) if there is not None else None
        if there is None or data is None:
            return False
        reference = replace(there, grammar=job.grammar.name, tokenizer=job.tokenizer.name)
        if self._store.find_named(reference.grammar, reference.tokenizer) != reference:
            self._store.add_verified(data, reference)
        outcome.status, outcome.digest, outcome.size = "present", reference.digest, reference.size
        metadata = decode(data).metadata
        outcome.counts, outcome.warnings = metadata["counts"], tuple(metadata["warnings"])
        self._plan.present.append(Present(outcome, reference))
        return True

    def _shared(self, kind: str, identity: tuple[object, ...], thing: object) -> str:
        """The name under which something is shared."""
        name = self._names.setdefault((kind, *identity), f"{kind} {len(self._names)}")
        self._plan.shared.setdefault(name, thing)
        return name


def _identity(request: GrammarRequest, info: TokenizerInfo) -> tuple[GrammarRequest, str]:
    """Jobs of which this is equal have one grammar."""
    return request, info.tokens_fingerprint if request.names_tokens else ""


def _tasks(job: Job, estimate: Estimate, grammar: str, vocabulary: str) -> tuple[Task, ...]:
    """A job in one piece; see `psc.cluster.run.splitting` for more."""
    reserve = estimate.reserve_bytes
    return (
        Task(
            "compile",
            compile_artifact,
            options={"grammar_name": job.grammar.name, "tokenizer_name": job.tokenizer.name},
            shared=(grammar, vocabulary),
            memory_bytes=reserve if job.memory_limit is None else min(reserve, job.memory_limit),
            seconds=estimate.seconds,
        ),
    )
