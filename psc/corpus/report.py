"""The results of a comparison: as data, and as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from psc.corpus.comparison import Difference, Tally


@dataclass(frozen=True)
class Shares:
    """The rates of files or of mutants; each is 0 of 0 where nothing was judged."""

    accepted: int
    """By the reference."""
    of_these_refused: int
    """By psc: false refusals."""
    refused: int
    """By the reference."""
    of_these_accepted: int
    """By psc: false acceptances."""

    @classmethod
    def of(cls, tally: Tally, kind: str) -> Shares:
        """Of ``files`` or ``mutants``, ``agreed`` before them for those on which two parsers agree."""
        n = {verdict: tally.counts[f"{kind}, {verdict}"] for verdict in _VERDICTS}
        return cls(
            n["both accept"] + n["only psc refuses"],
            n["only psc refuses"],
            n["both refuse"] + n["only the reference refuses"],
            n["only the reference refuses"],
        )

    def row(self) -> tuple[str, str, str, str, str, str]:
        """For a table: counts and shares."""
        return (
            f"{self.accepted:,}",
            f"{self.of_these_refused:,}",
            percentage(self.of_these_refused, self.accepted),
            f"{self.refused:,}",
            f"{self.of_these_accepted:,}",
            percentage(self.of_these_accepted, self.refused),
        )


_VERDICTS = ("both accept", "both refuse", "only psc refuses", "only the reference refuses")


@dataclass(frozen=True)
class Comparison:
    """A whole run."""

    grammar: str
    reference: str
    """The reference parser, with its version."""
    not_used: tuple[str, ...]
    """Parsers that would have been better, and what they need."""
    seed: int
    tally: Tally
    second: str | None = None
    """The parser, with its version, that judged beside it."""

    def as_data(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "grammar": self.grammar,
            "reference": self.reference,
            "not used": list(self.not_used),
            "seed": self.seed,
            "not UTF-8": self.tally.counts["not UTF-8"],
            "not judged": self.tally.counts["not judged"],
            "mask wrong": self.tally.counts["mask wrong"],
            "files": asdict(Shares.of(self.tally, "files")),
            "mutants": asdict(Shares.of(self.tally, "mutants")),
            "only names differ": self._only_names_differ(),
            "second": self.second,
            "files on which both agree": asdict(Shares.of(self.tally, "agreed files")),
            "mutants on which both agree": asdict(Shares.of(self.tally, "agreed mutants")),
            "differences": [asdict(d) for d in self.tally.differences],
        }

    def lines(self, constructs: int, examples: int) -> Iterator[str]:
        """A Markdown table of the rates, then the constructs, the most frequent first, each with some examples."""
        yield f"{self.grammar} beside {self.reference}"
        yield from (f"not used: {missing}" for missing in self.not_used)
        yield ""
        yield "| | reference accepts | psc refuses of these | share | reference refuses | psc accepts of these | share |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        for kind in ("files", "mutants"):
            yield f"| {kind} | {' | '.join(Shares.of(self.tally, kind).row())} |"
        for kind in ("files", "mutants") if self.second else ():
            yield f"| {kind} on which {self.second} agrees | {' | '.join(Shares.of(self.tally, f'agreed {kind}').row())} |"
        names = self._only_names_differ()
        if names:
            yield f"not counted, for names that are not equal, which no context-free grammar compares: {names:,}"
        for what in ("not UTF-8", "not judged", "mask wrong"):
            if self.tally.counts[what]:
                yield f"{what}: {self.tally.counts[what]:,}"
        for by, title in (("psc", "only psc refuses"), ("reference", "only the reference refuses"), ("mask", "the mask is wrong")):
            differences = [d for d in self.tally.differences if d.refused_by == by]
            if differences:
                yield ""
                yield f"{title}: {len(differences):,}"
                yield from _by_construct(differences, constructs, examples)

    def _only_names_differ(self) -> int:
        return sum(self.tally.counts[f"{kind}, only names differ"] for kind in ("files", "mutants"))


def _by_construct(differences: list[Difference], constructs: int, examples: int) -> Iterator[str]:
    counts = Counter(d.construct for d in differences)
    for construct, n in counts.most_common(constructs):
        yield f"  {n:6,}  {construct}"
        for d in [d for d in differences if d.construct == construct][:examples]:
            change = f" [{d.change}]" if d.change else ""
            yield f"          {d.text}:{d.line}:{d.column}{change}: {d.excerpt}"
    if len(counts) > constructs:
        yield f"          and {len(counts) - constructs:,} more"


def percentage(part: int, whole: int) -> str:
    """A share with two digits, or a dash of nothing."""
    return f"{100 * part / whole:.2f} %" if whole else "-"
