"""Jobs in pieces, for more than one worker each: the terminal sequences, the classifier in groups of them, the assembly.

A job is cut when CPUs would otherwise wait for it: when it alone takes longer than all jobs together would on CPUs that are never
idle. Small jobs never are: passing the pieces on, and merging them, costs more than it brings. The artifact is the same to the byte
however it was made (`psc.compiler.pipeline.pieces`), unless it is only the whole that meets a limit; and a lost worker costs only
the pieces that it was at work on.
"""

from __future__ import annotations

from dataclasses import replace

from psc._core import ClosedClassifier
from psc.cluster.run.compilation import N_STAGES, Compiled, encoded
from psc.cluster.run.plan import Plan, PlannedJob, Task
from psc.cluster.run.task import Progress
from psc.compiler.frontends.tables import GrammarTables
from psc.compiler.pipeline import pieces
from psc.compiler.pipeline.build import NotClosed, make_tables
from psc.compiler.pipeline.stages import Stage
from psc.errors import GrammarError
from psc.vocabulary.tokenizer_info import TokenizerInfo

LEAST_SECONDS = 2.0
"""A job that is expected to take less stays whole."""
_MAX_PIECES = 16
_LONGER_THAN_ITS_SHARE = 1.2
# Of a whole job's seconds, measured on SQL: the stages before the classifier, the classifier, and the assembly of pieces.
_SEQUENCES, _CLASSIFIER, _ASSEMBLY = 0.35, 0.5, 0.3


def split_long_jobs(plan: Plan, cpus: int) -> None:
    """Cuts the jobs of a plan that request it, and those that would leave CPUs idle.

    Args:
        plan: its tasks are replaced.
        cpus: the number of CPUs.
    """
    share = sum(p.estimate.seconds for p in plan.todo) / max(cpus, 1)
    for i, planned in enumerate(plan.todo):
        n = planned.job.pieces
        if n is None:
            n = 1
            if cpus > 1 and planned.estimate.seconds >= max(LEAST_SECONDS, _LONGER_THAN_ITS_SHARE * share):
                n = max(2, min(cpus, _MAX_PIECES, round(planned.estimate.seconds / share)))
        if n > 1 and _has_tables(plan, planned):
            plan.todo[i] = replace(planned, tasks=_pieces(planned, n))


def _has_tables(plan: Plan, planned: PlannedJob) -> bool:
    """Whether its grammar has tables, which all pieces need; makes those that are not made."""
    try:
        make_tables(plan.shared[planned.tasks[0].shared[0]])
    except GrammarError:  # its own task will say why
        return False
    return True


def _pieces(planned: PlannedJob, n: int) -> tuple[Task, ...]:
    (whole,) = planned.tasks
    names = {"grammar_name": planned.job.grammar.name, "tokenizer_name": planned.job.tokenizer.name}
    seconds, memory = whole.seconds, whole.memory_bytes
    grammar, vocabulary = whole.shared
    first = Task(
        "sequences",
        sequences,
        options={"n_groups": n},
        shared=(grammar, vocabulary),
        memory_bytes=memory,
        seconds=_SEQUENCES * seconds,
    )
    groups = tuple(
        Task(
            f"classifier {i + 1} of {n}",
            classifier,
            options={"group": i},
            shared=(grammar,),
            needs=(0,),
            memory_bytes=memory,
            seconds=_CLASSIFIER * seconds / n,
        )
        for i in range(n)
    )
    last = Task(
        "assembly",
        assembly,
        options=names,
        shared=(grammar, vocabulary),
        needs=tuple(range(n + 1)),
        memory_bytes=memory,
        seconds=_ASSEMBLY * seconds,
    )
    return (first, *groups, last)


def sequences(
    tables: GrammarTables, tokenizer: TokenizerInfo, *, n_groups: int, progress: Progress
) -> pieces.FoundSequences | NotClosed:
    """The first piece."""
    return pieces.find_sequences(tables, tokenizer, n_groups, progress=progress)


def classifier(
    tables: GrammarTables, sequences: pieces.FoundSequences | NotClosed, *, group: int, progress: Progress
) -> ClosedClassifier | NotClosed | None:
    """The classifier of a group; None where the grammar has fewer groups."""
    progress(Stage.STACK_CLASSIFIER.title, Stage.STACK_CLASSIFIER.number, N_STAGES)
    if isinstance(sequences, NotClosed) or group >= len(sequences.groups):
        return None
    return pieces.classify(tables, sequences.trie, sequences.groups[group])


def assembly(
    tables: GrammarTables,
    tokenizer: TokenizerInfo,
    sequences: pieces.FoundSequences | NotClosed,
    *classifiers: ClosedClassifier | NotClosed | None,
    grammar_name: str,
    tokenizer_name: str,
    progress: Progress,
) -> Compiled:
    """The last piece."""
    result = pieces.assemble(tables, tokenizer, sequences, [c for c in classifiers if c is not None], progress=progress)
    return encoded(result, grammar_name, tokenizer_name, progress)
