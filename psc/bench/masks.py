"""The cost of a decoding step on texts: psc side by side with its peers, same texts, same tokens, one run.

Figures of different runs on a shared machine cannot be compared, so the engines take turns text by text. All follow the same tokens
(teacher forcing), and the mask is computed and timed at the same positions, spread evenly over the text, together with the accept
that follows. Caches are empty in the first pass only. Every engine is called in the way that is fastest from Python, on one thread.
`psc row` is the number of a mask row, `psc fill` the row copied into an array as the others do it; both run over a grammar that was
compiled ahead of time, `psc jit fill` over one that is built as it is visited.

An engine that is slow gets fewer masks of a text, and one that does not come back in time is out from there on, and named.

Cost: seconds a text and engine, as `_Effort` allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from psc.bench.engines import HostedEngine, Ready, Visit, installed
from psc.bench.isolated import Failed, Resident
from psc.bench.measure import Summary, number
from psc.bench.reports import Report, Settings, Table, about, ratio
from psc.bench.subjects import Subject, bundled_with_texts, find_subject, texts_of
from psc.bench.texts import encoder, tokenize
from psc.vocabulary import load_tokenizer

OURS = ("psc row", "psc fill", "psc jit fill")
_PASSES = ("first", "later")


@dataclass(frozen=True)
class _Effort:
    texts: int
    max_bytes: int
    passes: int
    """Over the texts, after the first."""
    steps: int
    """Masks of a text and pass."""
    seconds: float
    """For the masks of a text."""
    patience: float
    """Seconds until an engine that does not return from a text is given up; ten times this limit for compiling."""


_WHOLE = _Effort(8, 40_000, 2, 300, 2.0, 60.0)
_QUICK = _Effort(4, 20_000, 1, 150, 0.7, 12.0)


@dataclass
class _Pass:
    """Readings of one engine in the first pass, or in all later ones, in nanoseconds."""

    masks: list[int] = field(default_factory=list)
    accepts: list[int] = field(default_factory=list)

    def add(self, visit: Visit) -> None:
        self.masks += visit.masks
        self.accepts += visit.accepts


@dataclass
class _Contestant:
    """An engine of this run and its measurements."""

    name: str
    process: Resident
    ready: Ready
    problem: str = ""
    first: _Pass = field(default_factory=_Pass)
    later: _Pass = field(default_factory=_Pass)
    accepted: int = 0
    offered: int = 0

    def mask_seconds(self) -> float:
        """Mean seconds of a mask so far."""
        masks = self.first.masks + self.later.masks
        return sum(masks) / max(len(masks), 1) / 1e9

    def figures(self) -> dict[str, Any]:
        """Everything about it."""
        passes = {
            name: {
                "mask_us": asdict(Summary.of(part.masks, self.ready.overhead)),
                "accept_us": asdict(Summary.of(part.accepts, self.ready.overhead)),
            }
            for name, part in (("first", self.first), ("later", self.later))
        }
        return {
            "grammar": self.ready.grammar,
            "compile_seconds": self.ready.compile_seconds,
            "first_mask_seconds": self.ready.first_mask_seconds,
            "accepted": self.accepted,
            "offered": self.offered,
            "problem": self.problem,
            **passes,
        }


def run(settings: Settings, grammars: Sequence[str] = ()) -> Report:
    """Every grammar; by default the bundled ones that there are texts of, and that of a tool call."""
    info = load_tokenizer(settings.tokenizer)
    how, encode = encoder(settings.tokenizer, info)
    effort = _QUICK if settings.quick else _WHOLE
    conditions = about(settings, f"{info.name} ({info.vocab_size:,} tokens, tokenized by {how})")
    results: dict[str, Any] = {}
    notes: list[str] = []
    for name in grammars or [*bundled_with_texts(), "tool_call"]:
        subject = find_subject(name)
        paths = settings.corpus.get(subject.name, ())
        documents = texts_of(subject, effort.texts, seed=settings.seed, max_bytes=effort.max_bytes, paths=paths)
        tokenized, left_out = tokenize(documents, info, encode)
        if left_out:
            notes.append(f"{subject.name}: {left_out} texts are left out, since their tokens do not spell them.")
        texts = list(tokenized.values())
        figures, out = _compete(subject, texts, settings, effort)
        results[subject.name] = {"texts": len(texts), "tokens": sum(map(len, texts)), "engines": figures}
        notes += [f"{subject.name}: {engine}: {why}." for engine, why in out.items()]
    return Report(
        "masks",
        "What does a step cost?",
        "All engines follow the same tokens, take turns text by text on one thread, and are asked for masks at the same places. "
        "`psc row` gives the number of a mask row that is there already, the others write a bitmask. A `jit` machine is built as "
        "it is visited, the others' grammar was compiled ahead of time as far as they do that.",
        _tables(results),
        results,
        notes,
        conditions,
    )


def _compete(
    subject: Subject, texts: list[list[int]], settings: Settings, effort: _Effort
) -> tuple[dict[str, Any], dict[str, str]]:
    """Figures of each engine, and why others have none, or not all."""
    running: list[_Contestant] = []
    out: dict[str, str] = {}
    try:
        for name in (*OURS, *settings.peers):
            if installed(name) is None:
                out[name] = "is not installed"
                continue
            settings.announce(f"{subject.name}: {name} compiles")
            patience = 10 * effort.patience
            try:
                process = Resident(HostedEngine, name, subject, settings.tokenizer, timeout=patience)
                running.append(_Contestant(name, process, process.ask("ready", timeout=patience)))
            except Failed as error:
                out[name] = f"refuses the grammar, {error}" if "come back" not in str(error) else f"{error}, compiling"
        for turn in range(1 + effort.passes):
            for n, ids in enumerate(texts):
                settings.announce(f"{subject.name}: pass {turn + 1}, text {n + 1} of {len(texts)}")
                for contestant in running:
                    if not contestant.problem:
                        _take_turn(contestant, ids, effort, first=turn == 0)
    finally:
        for contestant in running:
            contestant.process.stop()
    out |= {c.name: f"{c.problem}; what it had done by then is counted" for c in running if c.problem}
    out |= {c.name: f"accepted {c.accepted:,} of {c.offered:,} tokens" for c in running if not c.problem and c.accepted < c.offered}
    return {c.name: c.figures() for c in running}, out


def _take_turn(contestant: _Contestant, ids: list[int], effort: _Effort, *, first: bool) -> None:
    try:
        mean = contestant.mask_seconds()
        if not contestant.first.masks:  # how slow is it? A few masks near the beginning, not recorded
            probe = contestant.process.ask("visit", ids[:100], _evenly(100, 5), timeout=effort.patience)
            mean = sum(probe.masks) / max(len(probe.masks), 1) / 1e9
        steps = effort.steps if mean * effort.steps <= effort.seconds else max(5, int(effort.seconds / mean))
        result = contestant.process.ask("visit", ids, _evenly(len(ids), steps), timeout=effort.patience)
    except Failed as error:
        contestant.problem = str(error)
        return
    (contestant.first if first else contestant.later).add(result)
    if first:
        contestant.offered += len(ids)
        contestant.accepted += result.accepted


def _evenly(length: int, n: int) -> frozenset[int]:
    """`n` positions spread over a text of `length` tokens."""
    n = min(n, length)
    return frozenset(i * length // n for i in range(n))


def _tables(results: dict[str, Any]) -> list[Table]:
    tables = []
    for which, caption in zip(_PASSES, ("Microseconds, texts met first:", "Microseconds, later passes:"), strict=True):
        rows = []
        for grammar, result in results.items():
            ours = result["engines"].get("psc fill", {}).get(which, {}).get("mask_us", {}).get("mean")
            for engine, figures in result["engines"].items():
                mask, accept = figures[which]["mask_us"], figures[which]["accept_us"]
                if mask["calls"]:
                    cells = [number(mask[k]) for k in ("mean", "p50", "p99", "max")]
                    rows.append([grammar, engine, f"{mask['calls']:,}", *cells, number(accept["mean"]), ratio(mask["mean"], ours)])
        head = ["grammar", "engine", "masks", "mask mean", "p50", "p99", "max", "accept mean", "mask, to psc fill's"]
        tables.append(Table(caption, head, rows))
    return tables
