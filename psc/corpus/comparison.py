"""A grammar beside a reference parser: the texts that only one of them takes.

Files are dealt to processes, each of which has the grammar and the reference. Mutants are made of the texts that both accept:
what one file does wrong would otherwise be counted again with each of its mutants.

Cost: psc reads some MB a second, javac and gofmt about as much; a mutant costs what its text does.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path

from psc.compiler.cfg.grammar import LarkLexer
from psc.corpus.mutants import Tokens
from psc.corpus.references.reference import SECONDS_FOR_A_TEXT, Reference, Refusal
from psc.corpus.references.registry import language_of, open_reference
from psc.corpus.texts import read_texts
from psc.grammars.grammar_compiler import GrammarCompiler
from psc.inspection.checking import Check, Checker
from psc.vocabulary import load_tokenizer
from psc.vocabulary.segment import Segmenter
from psc.vocabulary.tokenizer_info import TokenizerInfo

_FILES_AT_ONCE = 40
_EXCERPT = 100


@dataclass(frozen=True)
class Subject:
    """A comparison: grammar, reference and limits."""

    grammar: str
    """A bundled name or a path."""
    path: Path
    """The grammar's file."""
    reference: str
    """A name that `psc.corpus.references.registry.open_reference` knows."""
    lexer: LarkLexer | None = None
    """Of a grammar in Lark's language."""
    tokenizer: str | None = None
    """With one, texts are read token by token and each mask bit is compared with the parser; without, byte by byte."""
    mutants: int = 0
    """Of each text."""
    seed: int = 0
    split: str | None = None
    max_bytes: int | None = None
    max_mutated_bytes: int | None = None
    """Longer texts have no mutants."""
    second: str | None = None
    """Another parser. Texts that both judge alike are counted apart, too: they are a core that dialects share."""
    seconds: float = SECONDS_FOR_A_TEXT
    """After which a text is not judged, see `open_reference`."""


@dataclass(frozen=True)
class Difference:
    """A text that one of the two takes."""

    text: str
    """The name."""
    change: str
    """The mutant's change; empty for a file as it is."""
    refused_by: str
    """``psc`` or ``reference``."""
    construct: str
    """The group of the difference: for a refusal by psc the tokens at the position; else the reference's message."""
    line: int
    column: int
    excerpt: str
    """The line of the position, in short."""
    message: str
    agreed: bool = False
    """Whether the second parser agreed with the reference."""


@dataclass
class Tally:
    """The judged texts, by the verdicts of both."""

    counts: Counter[str] = field(default_factory=Counter)
    """``files`` or ``mutants``, then ``both accept``, ``both refuse``, ``only psc refuses``, ``only the reference refuses``
    or ``only names differ``, which is the reference's refusal, too; again with ``agreed files`` and ``agreed mutants`` where there
    is a second parser and it agrees with the reference; also ``not UTF-8``, ``not judged`` and ``mask wrong``."""
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Takes the other's counts and differences in."""
        self.counts.update(other.counts)
        self.differences += other.differences


def compare(subject: Subject, files: Sequence[Path], jobs: int, progress: Callable[[int], None] = lambda files: None) -> Tally:
    """Judges files and their mutants.

    Args:
        subject: the grammar and the reference, which must be installed.
        files: to read.
        jobs: in how many processes; with one, in this one.
        progress: called with the number of files that were read since the last call.

    Raises:
        GrammarError: the grammar cannot be compiled.
        ReferenceMissingError: the reference is not installed.
        ReferenceParserError: the reference failed.
    """
    dealt = [files[i : i + _FILES_AT_ONCE] for i in range(0, len(files), _FILES_AT_ONCE)]
    total = Tally()
    if jobs == 1:
        with _Bench(subject) as bench:
            for some in dealt:
                total.add(bench.judge(some))
                progress(len(some))
        return total
    # Not forked: the threads that build masks just in time do not survive that.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        under_way: dict[Future[Tally], int] = {pool.submit(_judge, subject, some): len(some) for some in dealt}
        try:
            for done in as_completed(under_way):
                total.add(done.result())
                progress(under_way[done])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    total.differences.sort(key=lambda d: (d.text, d.line, d.column, d.change))
    return total


_BENCHES: dict[Subject, _Bench] = {}
"""The one of this process, which ends with it."""


def _judge(subject: Subject, files: Sequence[Path]) -> Tally:
    # Made here and not as the process starts, where an error would reach the caller as a broken pool.
    if subject not in _BENCHES:
        _BENCHES[subject] = _Bench(subject)
    return _BENCHES[subject].judge(files)


class _Bench:
    """The grammar and the reference, ready."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._tokens = Tokens(language_of(subject.path.stem).comments)
        self._checker = _checker(subject)
        self._keywords = _keywords(self._checker)
        lexer, seconds = subject.lexer or "basic", subject.seconds
        self._reference: Reference = open_reference(subject.reference, subject.path, lexer, seconds=seconds)
        self._second: Reference | None = None
        if subject.second is not None:
            self._second = open_reference(subject.second, subject.path, lexer, seconds=seconds)

    def __enter__(self) -> _Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self._reference.close()
        if self._second is not None:
            self._second.close()

    def judge(self, files: Sequence[Path]) -> Tally:
        tally = Tally()
        texts: list[tuple[str, str, str, int]] = []
        for text in read_texts(files, split=self._subject.split, max_bytes=self._subject.max_bytes):
            try:
                texts.append((text.name, text.data.decode("utf-8"), "", 0))
            except UnicodeDecodeError:
                tally.counts["not UTF-8"] += 1
        accepted = self._judge("files", texts, tally)
        max_bytes = self._subject.max_mutated_bytes
        changed: list[tuple[str, str, str, int]] = []
        for name, whole in accepted if self._subject.mutants else ():
            if max_bytes is None or len(whole) <= max_bytes:
                mutants = self._tokens.mutants(whole, self._subject.mutants, random.Random(f"{self._subject.seed} {whole}"))
                changed += [(name, m.text, m.change, m.offset) for m in mutants]
        self._judge("mutants", changed, tally)
        return tally

    def _judge(self, kind: str, texts: Sequence[tuple[str, str, str, int]], tally: Tally) -> list[tuple[str, str]]:
        """Adds texts to the tally; names and texts of those that both accept."""
        accepted = []
        refusals = self._reference.judge([t[1] for t in texts])
        others: Sequence[Refusal | bool | None] = [False] * len(texts)
        if self._second is not None:
            others = self._second.judge([t[1] for t in texts])
        for (name, text, change, offset), refusal, other in zip(texts, refusals, others, strict=True):
            if refusal is not None and not refusal.judged:
                tally.counts["not judged"] += 1
                continue
            check = self._checker.check_file(text.encode())
            if check.disagreement is not None:
                tally.counts["mask wrong"] += 1
                tally.differences.append(Difference(name, change, "mask", check.disagreement, 0, 0, "", check.disagreement))
                continue
            verdict = _VERDICTS[check.passed, refusal is None]
            if check.passed and refusal is not None and refusal.of_names:
                verdict = "only names differ"
            tally.counts[f"{kind}, {verdict}"] += 1
            agreed = not isinstance(other, bool) and (other is None or other.judged) and (other is None) == (refusal is None)
            tally.counts[f"agreed {kind}, {verdict}"] += agreed
            if verdict == "both accept":
                accepted.append((name, text))
            elif verdict == "only psc refuses":
                tally.differences.append(replace(self._refused(name, text, change, check), agreed=agreed))
            elif verdict == "only the reference refuses":
                assert refusal is not None
                tally.differences.append(replace(_taken(name, text, change, offset, refusal), agreed=agreed))
        return accepted

    def _refused(self, name: str, text: str, change: str, check: Check) -> Difference:
        stop = check.stop
        assert stop is not None
        at = len(text.encode()[: stop.offset].decode("utf-8", "ignore"))
        before, after = map(self._kind, self._tokens.around(text, at))
        construct = f"{before or 'nothing'} before {after or 'the end'}"
        return Difference(name, change, "psc", construct, stop.line, stop.column, _excerpt(text, stop.line), stop.message(8))

    def _kind(self, token: str) -> str:
        """The token itself, if the language reserves it or it is an operator, else its kind."""
        if token[:1] in ("'", '"', "`") and len(token) > 1:
            return "STRING"
        if token[:1].isdecimal():
            return "NUMBER"
        if (token[:1].isalpha() or token[:1] == "_") and token.lower() not in self._keywords:
            return "NAME"
        return token


_VERDICTS = {
    (True, True): "both accept",
    (False, False): "both refuse",
    (False, True): "only psc refuses",
    (True, False): "only the reference refuses",
}


def _checker(subject: Subject) -> Checker:
    if subject.tokenizer is None:
        texts = [bytes([byte]) for byte in range(256)]
        info = TokenizerInfo.from_tokens([*texts, b"<stop>"], special_token_ids=[256], stop_token_ids=[256], name="bytes")
    else:
        info = load_tokenizer(subject.tokenizer)
    compiler = GrammarCompiler(info, store=False, registry=False)
    compiled = compiler.compile_file(subject.grammar, lexer=subject.lexer)
    return Checker(compiled, None if subject.tokenizer is None else Segmenter(info))


def _keywords(checker: Checker) -> frozenset[str]:
    terminals = checker.compiled.metadata["grammar"]["terminals"]
    return frozenset(t["text"].lower() for t in terminals if t["text"] is not None)


def _taken(name: str, text: str, change: str, offset: int, refusal: Refusal) -> Difference:
    line = refusal.line or text.count("\n", 0, offset) + 1
    return Difference(name, change, "reference", refusal.message, line, refusal.column, _excerpt(text, line), refusal.message)


def _excerpt(text: str, line: int) -> str:
    lines = text.split("\n")
    return lines[min(line, len(lines)) - 1].strip()[:_EXCERPT]
