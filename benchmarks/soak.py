"""Do thousands of requests leave each other alone, and a server as it was?

    python benchmarks/soak.py [--tokenizer SPEC] [--requests N] [--at-once N] [--seed S] [--json FILE]

The idea: what an engine does, in one process and without its model. Requests of all kinds (`soak_requests.py`) come in, 64 at a
time. Threads compile; a loop of steps fills the masks of all sequences that run (`BatchGrammarMatcher`), draws a token for each,
and accepts them. A step in eight also tries drafts and takes them back. Clients go away while their grammar is compiled and while
their text is written; some constraints are malformed, some are made to be expensive. Every text that ends is checked by another
program than psc (`jsonschema`, `re`, `json`) against its own request's constraint, with its own request's number in it.

What is told, for each tenth of the run: how requests ended, what masks and accepts of a step took (steps with a hostile grammar in
the batch apart: its masks take as long as they take), what compilations took, and the process's memory. The exit code says whether
a text was wrong, an error was none of psc's, a draft changed a mask, or memory grew by more than a quarter in the second half.

The cost: some minutes for 10,000 requests on two cores.
"""

import argparse
import random
import sys
import threading
import time
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from soak_requests import Request, request

import psc
from psc.bench.measure import in_words, machine, number, report, table

COMPILE_THREADS = 4
COMPILE_SECONDS = 5.0
LIMIT_BYTES = 256 << 20
DRAFTS = 4


@dataclass
class Running:
    """A sequence that is being written."""

    request: Request
    matcher: psc.GrammarMatcher
    tokens: list[int] = field(default_factory=list)


@dataclass
class Tenth:
    """What happened in a tenth of the run."""

    ends: Counter[str] = field(default_factory=Counter)
    steps_ms: list[float] = field(default_factory=list)
    hostile_steps_ms: list[float] = field(default_factory=list)
    """Steps in whose batch a hostile grammar was."""
    batches: list[int] = field(default_factory=list)
    compile_ms: list[float] = field(default_factory=list)
    memory_mb: float = 0.0

    def row(self, name: str) -> list[str]:
        """A line of the table."""
        steps, hostile = np.array(self.steps_ms or [0]), np.array(self.hostile_steps_ms or [0])
        figures = [*np.percentile(steps, [50, 99]), steps.max(), *np.percentile(hostile, [50, 99])]
        figures += np.percentile(self.compile_ms or [0], [50, 99]).tolist()
        counts = [self.ends[e] for e in ("right", "refused", "cancelled", "cut off", "limit", "late", "wrong")]
        return [
            name,
            *map(str, counts),
            number(float(np.mean(self.batches or [0]))),
            *(number(float(f)) for f in figures),
            number(self.memory_mb),
        ]


HEAD = ["requests", "right", "refused", "cancelled", "cut off", "limit", "late", "wrong", "batch"]
HEAD += ["step p50 ms", "step p99", "step max", "hostile p50", "hostile p99", "compile p50 ms", "compile p99", "memory MB"]


class Sampler:
    """Draws tokens as a model would that likes to end texts."""

    def __init__(self, info: psc.TokenizerInfo, rng: np.random.Generator) -> None:
        spelled = [info.token_bytes(token) for token in range(info.vocab_size)]
        self._closing = np.array([t for t, s in enumerate(spelled) if s and len(s) < 3 and not s.strip(b'":}])>;!')])
        self._stop = np.array(info.stop_token_ids)
        self._rng = rng

    def draw(self, mask: NDArray[np.int32], length: int) -> int:
        """A token that the mask allows; -1 where there is none. The longer the text, the likelier it is one that ends something."""
        for group, share in ((self._stop, 0.9), (self._closing, min(0.9, 0.2 + length / 60))):
            if self._rng.random() < share:
                allowed = group[_bits(mask, group)]
                if len(allowed):
                    return int(self._rng.choice(allowed))
        probe = self._rng.integers(0, len(mask) * 32, 48)
        hits = probe[_bits(mask, probe)]
        if len(hits):
            return int(hits[0])
        words = np.flatnonzero(mask)
        if not len(words):
            return -1
        word = int(self._rng.choice(words))
        bits = np.unpackbits(mask[word : word + 1].view(np.uint8), bitorder="little")
        return word * 32 + int(self._rng.choice(np.flatnonzero(bits)))


def _bits(mask: NDArray[np.int32], tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (mask[tokens >> 5] >> (tokens & 31) & 1).astype(bool)


class Engine:
    """Compiles in threads, and writes in steps."""

    def __init__(self, info: psc.TokenizerInfo, at_once: int, seed: int) -> None:
        self._info, self._at_once = info, at_once
        self._compiler = psc.GrammarCompiler(info, store=False, registry=False, cache_limit_bytes=LIMIT_BYTES)
        self._pool = ThreadPoolExecutor(COMPILE_THREADS)
        self._batch = psc.BatchGrammarMatcher()
        self._bitmask = psc.allocate_token_bitmask(at_once, info.vocab_size, library="numpy")
        self._rng = np.random.default_rng(seed)
        self._sampler = Sampler(info, self._rng)
        self._compiling: dict[Future[psc.CompiledGrammar], Request] = {}
        self._running: list[Running] = []
        self._special = {token: name for name, token in info.special_tokens.items()}
        self.problems: list[str] = []
        self.tenth = Tenth()

    @property
    def n_requests(self) -> int:
        """Those that are not over."""
        return len(self._compiling) + len(self._running)

    def admit(self, asked: Request) -> None:
        """Takes a request."""
        cancellation = psc.Cancellation()
        self._compiling[self._pool.submit(self._compile, asked, cancellation)] = asked
        if asked.cancel_after == 0:
            cancellation.cancel()

    def _compile(self, asked: Request, cancellation: psc.Cancellation) -> psc.CompiledGrammar:
        late = threading.Timer(COMPILE_SECONDS, cancellation.cancel)
        late.start()
        began = time.perf_counter()
        try:
            compiled = asked.compile(self._compiler, cancellation)
            psc.GrammarMatcher(compiled).mask_row()  # the first mask is found here, where no step waits for it
            return compiled
        finally:
            late.cancel()
            self.tenth.compile_ms.append((time.perf_counter() - began) * 1e3)

    def step(self) -> None:
        """One token for each sequence."""
        self._take_compiled()
        if not self._running:
            time.sleep(0.001)
            return
        self.tenth.batches.append(len(self._running))
        hostile = any(r.request.kind == "hostile" for r in self._running)
        began = time.perf_counter()
        self._fill()
        filled = time.perf_counter()
        drawn = [self._sampler.draw(self._bitmask[i], len(r.tokens)) for i, r in enumerate(self._running)]
        accepting = time.perf_counter()
        accepted = self._accept(drawn)
        steps = self.tenth.hostile_steps_ms if hostile else self.tenth.steps_ms
        steps.append((time.perf_counter() - accepting + filled - began) * 1e3)
        self._running = [r for r, token, ok in zip(self._running, drawn, accepted, strict=True) if self._goes_on(r, token, ok)]
        if self._rng.random() < 1 / 8:
            self._try_drafts()

    def _take_compiled(self) -> None:
        room = self._at_once - len(self._running)
        for future in [f for f in self._compiling if f.done()][:room]:
            asked = self._compiling.pop(future)
            error = future.exception()
            if error is None and asked.refused:
                self._end(asked, "wrong", "was compiled, and there is no such grammar")
            elif error is None:
                self._running.append(Running(asked, psc.GrammarMatcher(future.result())))
            elif isinstance(error, psc.CompilationCancelledError):
                self._end(asked, "cancelled" if asked.cancel_after == 0 else "late")
            elif isinstance(error, psc.PscError) and (asked.refused or asked.kind == "hostile"):
                self._end(asked, "refused" if asked.refused else "limit")
            else:
                self._end(asked, "wrong", f"{type(error).__name__}: {error}")

    def _fill(self) -> None:
        try:
            self._batch.batch_fill_next_token_bitmask([r.matcher for r in self._running], self._bitmask)
        except psc.PscError:  # one met a limit; the other rows are filled
            self._drop_those_at_a_limit()
            self._batch.batch_fill_next_token_bitmask([r.matcher for r in self._running], self._bitmask)

    def _drop_those_at_a_limit(self) -> None:
        kept = []
        for running in self._running:
            try:
                running.matcher.mask_row()
                kept.append(running)
            except psc.PscError as error:
                known = isinstance(error, psc.ResourceLimitError) and running.request.kind == "hostile"
                self._end(running.request, "limit" if known else "wrong", str(error))
        self._running = kept

    def _accept(self, tokens: list[int]) -> list[bool | None]:
        """Whether each was accepted; None where a limit was met."""
        try:
            return list(self._batch.batch_accept_token([r.matcher for r in self._running], tokens))
        except psc.ResourceLimitError:
            return [self._accept_alone(r, token) for r, token in zip(self._running, tokens, strict=True)]

    @staticmethod
    def _accept_alone(running: Running, token: int) -> bool | None:
        try:
            return running.matcher.n_steps > len(running.tokens) or running.matcher.accept_token(token)
        except psc.ResourceLimitError:
            return None

    def _goes_on(self, running: Running, token: int, accepted: bool | None) -> bool:
        asked = running.request
        if accepted is None:
            self._end(asked, "limit" if asked.kind == "hostile" else "wrong", "met a limit")
            return False
        if not accepted:
            self._end(asked, "wrong", f"token {token} was in the mask, and was refused" if token >= 0 else "an empty mask")
            return False
        if running.matcher.is_terminated():
            self._check(running)
            return False
        running.tokens.append(token)
        if asked.cancel_after is not None and len(running.tokens) >= asked.cancel_after:
            self._end(asked, "cancelled")
            return False
        if len(running.tokens) >= asked.most_tokens:
            self._end(asked, "cut off")
            return False
        return True

    def _check(self, running: Running) -> None:
        asked = running.request
        text = b"".join(self._info.token_bytes(t) or self._special.get(t, b"") for t in running.tokens)
        try:
            right = asked.check is None or asked.check(text.decode())
        except (ValueError, RecursionError) as error:
            self._end(asked, "wrong", f"{error}: {text!r}")
            return
        self._end(asked, "right" if right else "wrong", repr(text))

    def _try_drafts(self) -> None:
        """Drafts for some sequences, taken back: the masks are as before."""
        for running in self._running[:DRAFTS]:
            matcher = running.matcher
            try:
                before = matcher.mask().copy()
                n = 0
                while n < DRAFTS and not matcher.is_terminated():
                    token = self._sampler.draw(matcher.mask(), len(running.tokens))
                    if token < 0 or not matcher.accept_token(token):
                        break
                    n += 1
                matcher.rollback(n)
                if not np.array_equal(before, matcher.mask()):
                    self.problems.append(f"request {running.request.seed}: another mask after {n} drafts were taken back")
            except psc.ResourceLimitError:
                continue  # the next step meets it, too

    def _end(self, asked: Request, how: str, said: str = "") -> None:
        self.tenth.ends[how] += 1
        if how == "wrong":
            self.problems.append(f"request {asked.seed}, {asked.kind}: {said[:300]}")

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown()


def memory_mb() -> float:
    """What the process holds now."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def soak(engine: Engine, n_requests: int, at_once: int, seed: int) -> list[Tenth]:
    """The tenths of a run."""
    rng = random.Random(seed)
    coming = deque(range(n_requests))
    tenths = []
    while coming or engine.n_requests:
        while coming and engine.n_requests < at_once:
            engine.admit(request(coming.popleft(), rng))
        engine.step()
        n_over = n_requests - len(coming) - engine.n_requests
        if n_over >= (len(tenths) + 1) * n_requests // 10:
            engine.tenth.memory_mb = memory_mb()
            tenths.append(engine.tenth)
            print(" ".join(engine.tenth.row(f"{n_over:,}")), file=sys.stderr, flush=True)
            engine.tenth = Tenth()
    return tenths


def main() -> int:
    """The command."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tokenizer", default="qwen3", metavar="SPEC")
    options.add_argument("--requests", type=int, default=10_000, metavar="N")
    options.add_argument("--at-once", type=int, default=64, metavar="N")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--json", metavar="FILE")
    args = options.parse_args()
    about = machine()
    engine = Engine(psc.load_tokenizer(args.tokenizer), args.at_once, args.seed)
    began = time.perf_counter()
    tenths = soak(engine, args.requests, args.at_once, args.seed)
    engine.close()
    print(f"{args.requests:,} requests, {args.at_once} at a time, in {time.perf_counter() - began:,.0f} s; {in_words(about)}\n")
    done = np.cumsum([sum(t.ends.values()) for t in tenths])
    print(table(HEAD, [t.row(f"{n:,}") for n, t in zip(done.tolist(), tenths, strict=True)]))
    grown = tenths[-1].memory_mb / tenths[len(tenths) // 2 - 1].memory_mb
    print(f"\nmemory of the end over that of the middle: {grown:.2f}")
    for problem in engine.problems[:20]:
        print(f"PROBLEM {problem}")
    rows = [dict(zip(HEAD, t.row(f"{n:,}"), strict=True)) for n, t in zip(done.tolist(), tenths, strict=True)]
    document: dict[str, Any] = {"machine": about, "requests": args.requests, "problems": engine.problems, "tenths": rows}
    report(document, args.json)
    return int(bool(engine.problems) or grown > 1.25)


if __name__ == "__main__":
    sys.exit(main())
